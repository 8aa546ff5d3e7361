"""Values that equations define, with the derivatives of the implicit function theorem."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.custom_derivatives import custom_jvp
from wengert.engine.control.values import is_followable, pack
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, MatrixError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import not_equal, require, where
from wengert.engine.ops.conversion import stop_gradient_primitive
from wengert.engine.transforms.forward_mode import jvp
from wengert.implicit.certificates import Certificate, certified, largest, require_certified
from wengert.implicit.linear import SOLVERS, solve_directly, solve_iteratively, tolerance_of
from wengert.implicit.vectors import Form, differentiable, lifted, vector_of

#: ``(residual, x) -> x``: takes the residual as a function of a vector, and returns its root.
Solve = Callable[[Callable[[Any], Any], Any], Any]
#: ``(product, right sides) -> solutions`` of the linear equations of a step, or of a derivative.
LinearSolve = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
MOST_DENSE = 100
"""The most unknowns for which a matrix of derivatives is written out where the user does not ask for it."""
LOOSE = 1e-4
"""The tolerance of a certificate of what another solver has found, to its own tolerance."""


class Equations(NamedTuple):
    """Equations ``F(x, parameters) = 0`` for a vector x."""

    residual: Callable[..., Any]
    """``(x, *parameters) -> vector``."""
    parameters: list[Any]
    start: Any
    form: Form
    """Of the unknowns."""


def check_callable(operation: str, function: Any) -> None:
    """Raise `ArgumentError` if a value is not a function."""
    if not callable(function):
        raise ArgumentError(message(operation, "a function is needed", type(function).__name__))


def unknowns_of(operation: str, function: Callable[..., Any], x0: Any, args: Any) -> Equations:
    """Return a function of containers as one of a vector and of parameters, those that it closes over included."""
    if not isinstance(args, (tuple, list)):
        raise ArgumentError(
            message(operation, "args must be a tuple", type(args).__name__, "write args=(a,)")
        )
    start, form = vector_of(operation, "x0", x0)
    operands, packed = pack(tuple(args), is_followable)

    def of_vector(x: Any, *parameters: Any) -> Any:
        return function(form.container(x), *packed.rebuild(parameters))

    explicit, captured = lifted(of_vector, start, *operands)
    count = len(captured)

    def residual(x: Any, *parameters: Any) -> Any:
        return explicit(*parameters[:count], x, *parameters[count:])

    return Equations(residual if captured else of_vector, [*captured, *operands], start, form)


def equations_of(operation: str, function: Callable[..., Any], x0: Any, args: Any) -> Equations:
    """Return equations of a vector, given a function that returns a container like ``x0``."""
    form = vector_of(operation, "x0", x0)[1]
    requirement = "the function must return values of the shapes of x0"

    def residual(x: Any, *parameters: Any) -> Any:
        return form.vector(operation, "the result of the function", requirement, function(x, *parameters))

    check_callable(operation, function)
    return unknowns_of(operation, residual, x0, args)


def solution_of(
    operation: str,
    equations: Equations,
    solve: Solve,
    linear: LinearSolve,
    objective: Callable[..., Any] | None = None,
    *,
    is_trusted: bool = False,
) -> Any:
    """Return the solution of ``F(x, p) = 0`` as a function of the parameters: ``F_x x' = - F_p p'``.

    ``solve`` finds x, by minimising ``objective`` where the equations are those of a gradient; ``linear`` solves the
    equations of the tangent. Where ``solve`` is trusted, it gives no certificate, and only a derivative needs one.
    """
    residual = equations.residual
    solvable = objective or residual

    @custom_jvp
    def solution(start: Any, *parameters: Any) -> Any:
        return solve(lambda x: solvable(x, *parameters), start)

    @solution.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        start, *parameters = primals
        x = solution(start, *parameters)
        if is_trusted:
            x = certified(
                operation,
                lambda x: residual(x, *parameters),
                linear,
                x,
                LOOSE,
                is_minimum=objective is not None,
            )
        return x, tangent_of(residual, linear, x, parameters, tangents[1:])

    return equations.form.container(solution(equations.start, *equations.parameters))


def tangent_of(
    residual: Callable[..., Any],
    linear: LinearSolve,
    x: Any,
    parameters: Sequence[Any],
    tangents: Sequence[Any],
) -> Any:
    """Return how the solution moves with the parameters: x' with ``F_x x' = - F_p p'``."""
    moves = differentiable(parameters)
    chosen = [p for p, flag in zip(parameters, moves, strict=True) if flag]
    directions = [t for t, flag in zip(tangents, moves, strict=True) if flag]

    def of_parameters(*values: Any) -> Any:
        moving = iter(values)
        return residual(x, *(next(moving) if flag else p for p, flag in zip(parameters, moves, strict=True)))

    def product(vector: Any) -> Any:
        return jvp(lambda x: residual(x, *parameters), (x,), (vector,))[1]

    return linear(product, [-jvp(of_parameters, tuple(chosen), tuple(directions))[1]])[0]


def linear_solver(operation: str, name: str, start: Any, tol: float) -> LinearSolve:
    """Return the solver of linear equations with a name."""
    if name not in SOLVERS:
        raise ArgumentError(message(operation, f"linear must be one of {SOLVERS}", repr(name)))
    if name == "direct":
        return functools.partial(_solve_directly, operation)
    limits = min(tol, tolerance_of(start, None)), 10 * shape_of(start)[0]
    return lambda product, rights: [solve_iteratively(name, product, b, limits) for b in rights]


_SINGULAR = "the matrix of derivatives must not be singular"
_REMEDY = "begin elsewhere; at a multiple root the solution has no derivative"


def _solve_directly(operation: str, multiply: Callable[[Any], Any], rights: Sequence[Any]) -> list[Any]:
    try:
        return solve_directly(multiply, rights, functools.partial(_regular, operation))
    except MatrixError:
        raise MatrixError(message(operation, _SINGULAR, hint=_REMEDY)) from None


def _regular(operation: str, matrix: Any, rights: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Return linear equations; in a program with a check, whose error says what it says outside."""
    if all(concrete(value) is not None for value in (matrix, *rights)):
        return matrix, rights
    holds = not_equal(
        np.linalg.slogdet(stop_gradient_primitive(matrix))[0], 0.0
    )  # the sign is 0 where a pivot is
    identity = np.eye(*shape_of(matrix), dtype=dtype_of(matrix))
    first = require(rights[0], holds, operation=operation, requirement=f"{_SINGULAR}; {_REMEDY}")
    return where(holds, matrix, identity), [first, *rights[1:]]


def by_user(
    operation: str, form: Form, solver: Callable[..., Any], function: Callable[[Any], Any], x: Any
) -> Any:
    """Return what the user's solver finds for a function of a vector; the solver takes and returns containers."""

    def of_container(value: Any) -> Any:
        return function(vector_of(operation, "the argument of the function", value)[0])

    result = vector_of(operation, "the result of the solver", solver(of_container, form.container(x)))[0]
    if shape_of(result) != shape_of(x):
        requirement = f"the solver must return as many numbers as x0 has, {shape_of(x)[0]}"
        raise ShapeError(message(operation, requirement, str(shape_of(result)[0])))
    return result


def converged(operation: str, x: Any, holds: Any, residual: Any, step: Any, most: int) -> Any:
    """Return x, or have the program raise `LimitError` where the iteration has not converged."""
    requirement = f"the iteration must converge in maxiter={most} steps"
    hint = "begin nearer, give maxiter or tol, or another solver"
    return require_certified(operation, x, Certificate(holds, largest(residual), step), requirement, hint)
