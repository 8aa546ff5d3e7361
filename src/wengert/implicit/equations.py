"""`root` and `fixed_point`: the solution of equations as a function of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.forward_mode import jvp
from wengert.implicit.certificates import certified, largest
from wengert.implicit.definitions import (
    MOST_DENSE,
    LinearSolve,
    Solve,
    by_user,
    converged,
    equations_of,
    linear_solver,
    solution_of,
)
from wengert.implicit.linear import tolerance_of
from wengert.implicit.vectors import Form


@with_callbacks
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Sequence[Any] = (),
    *,
    solver: str | Callable[..., Any] = "newton",
    linear: str = "direct",
    tol: float | None = None,
    maxiter: int = 100,
) -> Any:
    """Return x with ``fun(x, *args) = 0``, as a differentiable function of what ``fun`` depends on.

    Derivatives are those of the implicit function theorem, ``F_x x' = - F_p p'``, in any order and mode; they do not
    depend on the iterations, or on ``x0``.

    Args:
        fun: returns as many numbers as x has, in the same containers and shapes.
        x0: where to begin: an array, a number or a container of them.
        args: further arguments. Values that ``fun`` closes over have derivatives as well.
        solver: "newton", with steps that are halved until the residual falls; or a function ``(fun, x0) -> x``, such as
            ``lambda f, x: scipy.optimize.root(f, x).x``, whose value is trusted; a derivative needs a certificate.
        linear: how to solve the linear equations of steps and derivatives: "direct", or "cg", "gmres" or "bicgstab",
            which form no matrix.
        tol: Newton ends when no element of the step is larger than this, relative to that of x; by default 1e-10, or
            1e-5 for float32.
        maxiter: the largest number of steps.

    Returns:
        x, in the containers of ``x0``.

    Raises:
        LimitError: Newton's method does not converge; or its end is not a certified root: the Newton step is not small
            relative to x, or the residual is not small relative to the values around.
        MatrixError: the matrix of derivatives is singular.
        ShapeError: ``fun`` does not return the shapes of ``x0``.

    Example:
        >>> import wengert as wg
        >>> square_root = lambda a: root(lambda x: x * x - a, 1.0)
        >>> round(float(square_root(2.0)), 9), round(wg.grad(square_root)(4.0), 9)
        (1.414213562, 0.25)
    """
    equations = equations_of("root", fun, x0, args)
    limit = tolerance_of(equations.start, tol)
    linear_solve = linear_solver("root", linear, equations.start, limit)
    if callable(solver):
        solve = _by_user("root", equations.form, solver)
    elif solver == "newton":
        solve = functools.partial(_newton, "root", linear_solve, limit, maxiter)
    else:
        raise ArgumentError(message("root", 'the solver must be "newton" or a function', repr(solver)))
    return solution_of("root", equations, solve, linear_solve, is_trusted=callable(solver))


@with_callbacks
def fixed_point(
    fun: Callable[..., Any],
    x0: Any,
    args: Sequence[Any] = (),
    *,
    solver: str | Callable[..., Any] = "iteration",
    linear: str = "direct",
    tol: float | None = None,
    maxiter: int = 1000,
) -> Any:
    """Return x with ``fun(x, *args) = x``, as a differentiable function of what ``fun`` depends on.

    Derivatives are those of the implicit function theorem, ``(1 - F_x) x' = F_p p'``, in any order and mode.

    Args:
        fun: returns the next x, in the same containers and shapes.
        x0: where to begin: an array, a number or a container of them.
        args: further arguments. Values that ``fun`` closes over have derivatives as well.
        solver: "iteration" applies ``fun`` until x stays; "newton" converges fast where ``fun`` contracts little; or
            a function ``(fun, x0) -> x``, whose value is trusted; a derivative needs a certificate.
        linear: how to solve the linear equations of derivatives: "direct", or "cg", "gmres" or "bicgstab", which form
            no matrix.
        tol: the iteration ends when the rest of the way is at most this, relative to the largest element or 1: the
            rate of the last changes tells. A few of Newton's steps then make it relative to each element.
        maxiter: the largest number of iterations.

    Returns:
        x, in the containers of ``x0``.

    Raises:
        LimitError: the iteration does not converge, or its end is not a certified solution.
        MatrixError: 1 is an eigenvalue of the derivative of ``fun``.
        ShapeError: ``fun`` does not return the shapes of ``x0``.

    Example:
        >>> import numpy as np, wengert as wg
        >>> dottie = lambda a: fixed_point(lambda x: np.cos(a * x), 1.0)
        >>> round(float(dottie(1.0)), 6), round(wg.grad(dottie)(1.0), 6)
        (0.739085, -0.297474)
    """
    equations = equations_of("fixed_point", fun, x0, args)
    step = equations.residual
    residual = equations._replace(residual=lambda x, *parameters: step(x, *parameters) - x)
    limit = tolerance_of(equations.start, tol)
    linear_solve = linear_solver("fixed_point", linear, equations.start, limit)
    if callable(solver):
        users = _by_user("fixed_point", equations.form, solver)
        solve: Solve = lambda difference, x: users(lambda x: difference(x) + x, x)  # noqa: E731
    elif solver == "newton":
        solve = functools.partial(_newton, "fixed_point", linear_solve, limit, maxiter)
    elif solver == "iteration":
        by_products = "gmres" if linear == "direct" and shape_of(equations.start)[0] > MOST_DENSE else linear
        at_end = linear_solver("fixed_point", by_products, equations.start, limit)
        solve = functools.partial(_iterate, at_end, limit, maxiter)
    else:
        requirement = 'the solver must be "iteration", "newton" or a function'
        raise ArgumentError(message("fixed_point", requirement, repr(solver)))
    return solution_of("fixed_point", residual, solve, linear_solve, is_trusted=callable(solver))


def _by_user(operation: str, form: Form, solver: Callable[..., Any]) -> Solve:
    """Return the user's solver, whose function returns a container."""
    return lambda function, x: by_user(operation, form, solver, lambda x: form.container(function(x)), x)


def _newton(
    operation: str,
    linear: LinearSolve,
    tolerance: float,
    most: int,
    residual: Callable[[Any], Any],
    x0: Any,
) -> Any:
    """Take Newton steps, each halved until the residual falls, until they are small or rounding errors stop them."""

    def unfinished(state: Any) -> Any:
        moves, turn = state[-2:]
        return moves & (turn < most)

    def step(state: Any) -> Any:
        x, value, size, _, _, turn = state
        (direction,) = linear(lambda v: jvp(residual, (x,), (v,))[1], [-value])

        def too_long(trial: Any) -> Any:
            share, reached = trial[0], trial[3]
            return ~(reached <= (1 - 1e-4 * share) * size) & (share > 1e-9)

        def shorter(trial: Any) -> Any:
            share = trial[0] / 2
            there = x + share * direction
            value = residual(there)
            return share, there, value, largest(value)

        there = x + direction
        value = residual(there)
        share, there, value, reached = while_loop(too_long, shorter, (1.0, there, value, largest(value)))
        move = share * direction
        moves = (share > 1e-9) & (reached > 0.0) & np.any(np.abs(move) > tolerance * np.abs(there))
        return there, value, reached, largest(direction), moves, turn + 1

    first = residual(x0)
    size = largest(first)
    start = (x0, first, size, 0.0 * size, ~(size == 0.0), 0)
    x, value, size, move, moves, _ = while_loop(unfinished, step, start)
    is_near = move <= tolerance**0.5 * (1.0 + largest(x))  # else no share of a step lets the residual fall
    x = converged(operation, x, ~moves & (is_near | (size == 0.0)), value, move, most)
    return certified(operation, residual, linear, x, tolerance)


def _iterate(
    linear: LinearSolve, tolerance: float, most: int, difference: Callable[[Any], Any], x0: Any
) -> Any:
    """Repeat the step until the rest of the way, as far as the rate of the last changes tells, is short.

    Changes of a geometric series with the ratio q sum to ``1 / (1 - q)`` of the next one. Newton's steps end the way.
    """

    def unfinished(state: Any) -> Any:
        is_near, turn = state[-2:]
        return ~is_near & (turn < most)

    def step(state: Any) -> Any:
        x, change, size, before, _, turn = state
        x = x + change
        change = difference(x)
        following = largest(change)
        rate = np.where(size > 0.0, following / np.where(size > 0.0, size, 1.0), 0.0)
        slowest = np.maximum(rate, before)  # changes may grow for a turn
        is_near = following <= tolerance * (1.0 + largest(x)) * (1.0 - slowest)
        return x, change, following, rate, is_near, turn + 1

    first = difference(x0)
    size = largest(first)
    start = (x0, first, size, 0.0 * size, size == 0.0, 0)
    x, change, size, _, is_near, _ = while_loop(unfinished, step, start)
    x = converged("fixed_point", x, is_near, change, size, most)
    return _newton("fixed_point", linear, tolerance, most, difference, x)
