"""`minimum`: the point where a function is least, as a function of its parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.transforms.arguments import objective_value
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import grad, value_and_grad
from wengert.implicit.certificates import certified, epsilon_of, largest
from wengert.implicit.definitions import (
    LinearSolve,
    by_user,
    check_callable,
    converged,
    linear_solver,
    solution_of,
    unknowns_of,
)
from wengert.implicit.linear import tolerance_of

_LEAST = 1e-12
"""The least damping: Newton's steps converge as fast, and a Hessian that is singular still has a step."""

_FIRST = 1e-6
"""The damping of a step that replaces one without."""


@with_callbacks
def minimum(
    fun: Callable[..., Any],
    x0: Any,
    args: Sequence[Any] = (),
    *,
    solver: str | Callable[..., Any] = "newton",
    linear: str = "direct",
    tol: float | None = None,
    maxiter: int = 200,
) -> Any:
    """Return x where ``fun(x, *args)`` has a minimum, as a differentiable function of what ``fun`` depends on.

    The gradient is zero there, so derivatives are those of the implicit function theorem, ``f_xx x' = - f_xp p'``, in
    any order and mode: of a fit by its data, or by a hyperparameter.

    Args:
        fun: returns a number; smooth near the minimum, where its Hessian is positive definite.
        x0: where to begin: an array, a number or a container of them.
        args: further arguments. Values that ``fun`` closes over have derivatives as well.
        solver: "newton", with the step of Levenberg: a multiple of the identity is added to the Hessian until ``fun``
            falls; or a function ``(fun, x0) -> x``, such as ``lambda f, x: scipy.optimize.minimize(f, x).x``, whose
            value is trusted; a derivative needs a certificate.
        linear: how to solve the linear equations of steps and derivatives: "direct", or "cg", "gmres" or "bicgstab",
            which form no matrix.
        tol: Newton ends when no element of the step is larger than this, relative to that of x; by default 1e-10, or
            1e-5 for float32.
        maxiter: the largest number of steps.

    Returns:
        x, in the containers of ``x0``.

    Raises:
        LimitError: the iteration does not converge; or its end is not a certified minimum: the Newton step is not small
            relative to x, or a curvature is not positive.
        MatrixError: the Hessian at the end is singular.
        ArgumentError: ``fun`` does not return a number.

    Example:
        >>> import numpy as np, wengert as wg
        >>> data = np.array([1.0, 2.0, 6.0])
        >>> mean = lambda data: minimum(lambda x: np.sum((x - data) ** 2), 0.0)
        >>> round(float(mean(data)), 9), wg.grad(mean)(data)
        (3.0, array([0.33333333, 0.33333333, 0.33333333]))
    """

    def number(x: Any, *parameters: Any) -> Any:
        return objective_value("minimum", fun(x, *parameters))

    check_callable("minimum", fun)
    problem = unknowns_of("minimum", number, x0, args)
    objective = problem.residual
    limit = tolerance_of(problem.start, tol)
    linear_solve = linear_solver("minimum", linear, problem.start, limit)
    if callable(solver):
        solve = functools.partial(by_user, "minimum", problem.form, solver)
    elif solver == "newton":
        solve = functools.partial(_newton, linear_solve, limit, maxiter)
    else:
        raise ArgumentError(message("minimum", 'the solver must be "newton" or a function', repr(solver)))
    gradients = problem._replace(residual=grad(objective))
    trusted = callable(solver)
    return solution_of("minimum", gradients, solve, linear_solve, objective=objective, is_trusted=trusted)


def _newton(
    linear: LinearSolve, tolerance: float, most: int, objective: Callable[[Any], Any], x0: Any
) -> Any:
    """Take Newton steps with a damping that grows until the value falls (Levenberg, 1944).

    They end where they are small, or where an undamped one changes the value within rounding errors and the slope no
    longer falls.
    """
    slopes = grad(objective)
    value, slope = value_and_grad(objective)(x0)
    rounding = 4 * epsilon_of(x0)

    def unfinished(state: Any) -> Any:
        moves, turn = state[-2:]
        return moves & (turn < most)

    def step(state: Any) -> Any:
        x, value, slope, damping, _, _, turn = state
        scale = damping * (1.0 + largest(slope))
        (move,) = linear(lambda v: jvp(slopes, (x,), (v,))[1] + scale * v, [-slope])
        there = x + move
        reached, turned = value_and_grad(objective)(there)
        falls = reached <= value + 1e-4 * np.sum(slope * move)
        is_level = np.abs(reached - value) <= rounding * np.abs(value)
        is_nearer = (is_level | (reached <= value)) & (largest(turned) < largest(slope))
        taken = (falls & (np.sum(slope * move) < 0)) | is_nearer
        is_small = np.all(np.abs(move) <= tolerance * np.abs(there))
        is_free = damping <= _FIRST
        ends = (is_small & (is_free | ~taken)) | (is_free & is_level & ~taken) | (largest(turned) == 0.0)
        smaller, larger = np.maximum(_LEAST, damping / 10), np.maximum(_FIRST, damping * 10)
        return (
            np.where(taken, there, x),
            np.where(taken, reached, value),
            np.where(taken, turned, slope),
            np.where(taken, smaller, larger),
            largest(move),
            ~ends,
            turn + 1,
        )

    least = np.full(shape_of(value), _LEAST, dtype_of(x0))
    start = (x0, value, slope, least, 0.0 * least, ~(largest(slope) == 0.0), 0)
    x, _, slope, _, move, moves, _ = while_loop(unfinished, step, start)
    x = converged("minimum", x, ~moves, slope, move, most)
    return certified("minimum", slopes, linear, x, tolerance, is_minimum=True)
