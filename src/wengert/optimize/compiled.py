"""`lbfgs` and `newton_cg`: whole minimisations as one compiled program, also of many problems at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.boxes import Box as EngineBox
from wengert.engine.boxes import inside_transform
from wengert.engine.control.values import checked_count
from wengert.engine.core.dtypes import SEQUENCE
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.optimize.bounded import Box, descend_within, least_squares_within
from wengert.optimize.descent import CONVERGED, NOT_FINITE, End, Limits, Method, descend
from wengert.optimize.directions import LimitedMemory, Truncated
from wengert.optimize.flat import Flat
from wengert.optimize.limits import checked_number, ordered
from wengert.optimize.passes import passes_of
from wengert.optimize.scipys import as_tuple
from wengert.optimize.sensitivity import differentiable_end


class Minimum(NamedTuple):
    """The result of a compiled minimisation.

    Under `wengert.vmap` every field has an axis of examples.
    """

    x: Any
    """The variables, in the container of the start."""
    fun: Any
    """The value."""
    jac: Any
    """The gradient, in the container of the start."""
    nit: Any
    """The number of steps."""
    nfev: Any
    """The number of evaluations of the value and the gradient."""
    converged: Any
    """Whether a tolerance was reached, and the gradients around say that a minimum is near."""
    status: Any
    """0: converged; 1: the most steps; 2: no step falls enough, for rounding errors; 3: not finite at the start; 4: the
    function falls without end along a line; 5: a tolerance was reached where no minimum is near: the function falls
    further, is flat, or has a negative curvature."""


@with_callbacks
def lbfgs(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    memory: int = 10,
    gtol: float = 1e-5,
    ftol: float = 2.2e-9,
    maxiter: int = 15_000,
    maxls: int = 40,
    bounds: Any = None,
) -> Minimum:
    """Minimise a function by limited-memory BFGS, as one compiled program.

    Each step satisfies the Wolfe conditions with c1 = 1e-4 and c2 = 0.9. The whole minimisation is a
    `wengert.while_loop`, so it may be a part of a larger program: ``wg.jit(wg.vmap(lambda y: lbfgs(f, x0, (y,))))``
    solves thousands of problems in one call. Outside of other transforms it is compiled for each call, and once for a
    function that was compiled with `wengert.jit`. All computation is in float64. Derivatives of ``x`` and ``fun`` are
    those of the minimum, ``f_xx x' = - f_xp p'`` (see `wengert.implicit`), not of the steps.

    Args:
        fun: takes the variables and ``args``, and returns one number.
        x0: the start: an array, a number, or any container of them. A list of numbers is an array.
        args: further arguments of ``fun``.
        memory: how many steps describe the Hessian.
        gtol: the greatest element of the gradient of a minimum, in absolute value.
        ftol: the least decrease of a step, relative to the value or to 1. With either tolerance the next step must be
            short, too: at most 1e-6, ``gtol / 10`` or ``sqrt(ftol)`` of x, or of 1; and a Newton step at the end, at
            most 1e-3.
        maxiter: the most steps.
        maxls: the most trials of a line search.
        bounds: a pair of lower and upper bounds, which are numbers, arrays or containers like ``x0``, or
            `scipy.optimize.Bounds`; None for no bound. Steps are projected on them, and fall sufficiently by Armijo's
            condition. A variable that ends at a bound has the derivative zero.

    Returns:
        A `Minimum`; whether it has converged is in ``converged`` and ``status``.

    Raises:
        ArgumentError: the objective does not return one number, or is not finite at the start; a limit is no
            count, or a tolerance is negative; bounds do not fit.
        ConcreteError: the objective needs known numbers, for example for Python's ``if``.
        DtypeError: a variable is not a real number.
        LimitError: a derivative is asked for, and the descent has not converged, or a Newton step there is not small,
            or a bound is reached where the slope is zero.

    Example:
        >>> import numpy as np, wengert as wg
        >>> def error(p, y):
        ...     return np.sum((p["a"] * np.exp(-p["k"] * np.arange(4.0)) - y) ** 2)
        >>> data = np.array([[2.0, 1.0, 0.5, 0.25], [1.0, 0.1, 0.01, 0.001]])
        >>> fit = wg.jit(wg.vmap(lambda y: lbfgs(error, {"a": 1.0, "k": 1.0}, (y,), gtol=1e-9, ftol=0.0)))
        >>> fit(data).x["k"].round(6)
        array([0.693147, 2.302585])
    """
    limits = _limits("lbfgs", gtol, ftol, maxiter, maxls)
    rows = checked_count("lbfgs", "memory", memory)
    method, box = _limited_memory(rows), _box("lbfgs", x0, bounds)

    def minimise(
        objective: Callable[[Any], Any], start: Any, is_batched: bool, limits: Limits, box: Any
    ) -> End:
        directions = method(objective, limits, is_batched)
        if box is None:
            return descend(objective, start, directions, limits)
        return descend_within(objective, start, directions, limits, box)

    return _minimum("lbfgs", fun, x0, args, minimise, limits, rows, box)


@with_callbacks
def levenberg_marquardt(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    bounds: Any = None,
    ftol: float = 1e-14,
    xtol: float = 1e-10,
    gtol: float = 0.0,
    maxiter: int = 1000,
) -> Minimum:
    """Minimise half the sum of squares of residuals by Levenberg's and Marquardt's method, as one compiled program.

    Use it as `lbfgs`, for few variables: each step solves the damped normal equations. It may be a part of a larger
    program, so that ``wg.jit(wg.vmap(...))`` makes thousands of fits in one call, and derivatives are those of the
    minimum. For one fit, and for many variables, use `least_squares`.

    Args:
        fun: takes the variables and ``args``, and returns the residuals: numbers in any container.
        x0: the start: an array, a number, or any container of them. A list of numbers is an array.
        args: further arguments of ``fun``.
        bounds: as for `lbfgs`. Steps are projected on them.
        ftol: the least decrease that the linear model promises, relative to the sum of squares.
        xtol: the least step, relative to the largest variable.
        gtol: the greatest element of the gradient of a minimum, in absolute value.
        maxiter: the most steps.

    Returns:
        A `Minimum`, whose ``fun`` is half the sum of squares, and ``jac`` its gradient.

    Raises:
        ArgumentError: a residual is not finite at the start; bounds do not fit; a limit is no count, or a tolerance is
            negative.
        ConcreteError: the residuals need known numbers, for example for Python's ``if``.
        DtypeError: a variable is not a real number.
        LimitError: a derivative is asked for, and the end is not a certified minimum, or a bound is reached where the
            slope is zero.

    Example:
        >>> import numpy as np, wengert as wg
        >>> t, rates = np.arange(4.0), np.array([0.5, 1.0, 3.0])
        >>> def residuals(p, y):
        ...     return p["a"] * np.exp(-p["k"] * t) - y
        >>> fit = wg.jit(
        ...     wg.vmap(
        ...         lambda y: levenberg_marquardt(residuals, {"a": 1.0, "k": 1.0}, (y,), bounds=(0.0, 2.0))
        ...     )
        ... )
        >>> fit(np.exp(-rates[:, None] * t)).x["k"].round(6)
        array([0.5, 1. , 2. ])
    """
    checked_number("levenberg_marquardt", "xtol", xtol)
    limits = _limits("levenberg_marquardt", gtol, ftol, maxiter, 1, xtol)
    box = _box("levenberg_marquardt", x0, bounds, is_needed=True)

    def minimise(
        residual: Callable[[Any], Any], start: Any, is_batched: bool, limits: Limits, box: Any
    ) -> End:
        return least_squares_within(residual, start, limits, box)

    return _minimum("levenberg_marquardt", fun, x0, args, minimise, limits, 0, box, goal=_half_square)


def _half_square(residuals: Any) -> Any:
    return 0.5 * np.sum(residuals**2)


def _box(operation: str, x0: Any, bounds: Any, *, is_needed: bool = False) -> Box | None:
    """Return bounds as vectors; None for none."""
    if bounds is None and not is_needed:
        return None
    given: Any = (None, None) if bounds is None else bounds
    pair = (given.lb, given.ub) if hasattr(given, "lb") else given
    if not isinstance(pair, (*SEQUENCE, np.ndarray)) or len(pair) != 2:
        requirement = "bounds must be a pair (lower, upper), scipy.optimize.Bounds, or None"
        raise ArgumentError(message(operation, requirement, type(bounds).__name__))
    lower, upper = pair
    return Box(*ordered(Flat(operation, x0), lower, upper, "bound"))


@with_callbacks
def newton_cg(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    gtol: float = 1e-5,
    ftol: float = 0.0,
    maxiter: int | None = None,
    maxcg: int | None = None,
    maxls: int = 40,
) -> Minimum:
    """Minimise a function by Newton's method with conjugate gradients, as one compiled program.

    Conjugate gradients solve ``H p = -g`` with Hessian-vector products until the residual is at most
    ``min(1/2, |g|^(1/2)) |g|``, at the end ``1e-8 |g|``, or the curvature is not positive. Steps satisfy the Wolfe
    conditions. Use it as `lbfgs`, with the same derivatives: near a minimum it needs few steps, each with some
    products.

    Args:
        fun: takes the variables and ``args``, and returns one number.
        x0: the start: an array, a number, or any container of them. A list of numbers is an array.
        args: further arguments of ``fun``.
        gtol: the greatest element of the gradient of a minimum, in absolute value.
        ftol: the least decrease of a step, relative to the value or to 1. With either tolerance the next step must be
            short, too: at most 1e-6, ``gtol / 10`` or ``sqrt(ftol)`` of x, or of 1.
        maxiter: the most steps; by default 200 for each variable.
        maxcg: the most steps of conjugate gradients; by default 20 for each variable.
        maxls: the most trials of a line search.

    Returns:
        A `Minimum`; whether it has converged is in ``converged`` and ``status``.

    Raises:
        ArgumentError: the objective does not return one number, or is not finite at the start; a limit is no
            count, or a tolerance is negative.
        ConcreteError: the objective needs known numbers, for example for Python's ``if``.
        DtypeError: a variable is not a real number.
        LimitError: a derivative is asked for, and the descent has not converged, or a Newton step there is not small.

    Example:
        >>> import numpy as np
        >>> found = newton_cg(
        ...     lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), [-1.2, 1.0]
        ... )
        >>> found.x.round(6), bool(found.converged)
        (array([1., 1.]), True)
    """
    size = Flat("newton_cg", x0).size
    limits = _limits("newton_cg", gtol, ftol, 200 * size if maxiter is None else maxiter, maxls)
    turns = 20 * size if maxcg is None else checked_count("newton_cg", "maxcg", maxcg)
    method = _truncated(turns)

    def minimise(
        objective: Callable[[Any], Any], start: Any, is_batched: bool, limits: Limits, box: Any
    ) -> End:
        return descend(objective, start, method(objective, limits, is_batched), limits)

    return _minimum("newton_cg", fun, x0, args, minimise, limits, turns, None)


def _limited_memory(rows: int) -> Callable[[Callable[[Any], Any], Limits, bool], Method]:
    return lambda objective, limits, is_batched: LimitedMemory(rows, not is_batched)


def _truncated(turns: int) -> Callable[[Callable[[Any], Any], Limits, bool], Method]:
    return lambda objective, limits, is_batched: Truncated(objective, turns, limits.gtol)


def _limits(
    operation: str, gtol: float, ftol: float, maxiter: int, maxls: int, xtol: float | None = None
) -> Limits:
    checked_number(operation, "gtol", gtol)
    checked_number(operation, "ftol", ftol)
    steps, trials = checked_count(operation, "maxiter", maxiter), checked_count(operation, "maxls", maxls, 1)
    return Limits(gtol, ftol, np.int64(steps), np.int64(trials), xtol)


def _minimum(
    operation: str,
    fun: Callable[..., Any],
    x0: Any,
    args: Any,
    method: Callable[[Callable[[Any], Any], Any, bool, Limits, Any], End],
    limits: Limits,
    setting: int,
    box: Box | None,
    goal: Callable[[Any], Any] | None = None,
) -> Minimum:
    """Return the minimum of a function, or of a goal of its values.

    ``method``: ``(function of a vector, start, whether examples of a batch differ, limits, bounds) -> End``.
    """
    flat = Flat(operation, x0)
    passes, arrays = passes_of(operation, fun, flat, as_tuple(args))

    def minimise(objective: Callable[[Any], Any], start: Any, is_batched: bool = False) -> End:
        return method(objective, start, is_batched, limits, box)

    def objective(x: Any, *arrays: Any) -> Any:
        return passes.scalar(x, arrays) if goal is None else passes.values(x, arrays)

    def program(start: Any, arrays: Any, limits: Limits, box: Any) -> End:
        return method(lambda x: objective(x, *arrays), start, False, limits, box)

    with np.errstate(all="ignore"):  # trials may overflow, as in a compiled program
        if inside_transform():
            goals = () if goal is None else (goal,)
            end = differentiable_end(operation, objective, flat.start, arrays, minimise, box, *goals)
        else:
            name = f"{operation} {setting} {box is None}"
            end = passes.get(name, lambda: program)(flat.start, arrays, limits, box)
    if not isinstance(end.status, EngineBox) and end.status == NOT_FINITE:
        requirement = "the objective and its gradient must be finite at the start"
        raise ArgumentError(message(operation, requirement, f"{end.point.value:g}", "start elsewhere"))
    x, gradient = flat.users(end.point.x), flat.users(end.point.gradient)
    return Minimum(
        x,
        end.point.value,
        gradient,
        end.steps,
        end.evaluations,
        end.status == CONVERGED,
        end.status,
    )
