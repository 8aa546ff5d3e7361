"""SciPy's solvers of equations, minima and fits inside a followed program: ours run where the function is followed.

A program that a transform follows calls SciPy's solver with a function of its own, which may read followed values. One
evaluation at the start tells: if its result is followed, a solver of ours takes the call, and the derivatives are those
of the implicit function theorem; otherwise SciPy's does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import implicit
from wengert.engine.array.substitutes import enter_caller, holds_box, is_followed
from wengert.engine.boxes import concrete
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.arithmetic import absolute, multiply
from wengert.engine.ops.arithmetic import maximum as maximum_of
from wengert.engine.ops.arithmetic import minimum as minimum_of
from wengert.engine.ops.comparison import equal, greater, less, logical_and, logical_or, require_end, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.shape import reshape
from wengert.numpy.creation import asarray
from wengert.optimize import fitting
from wengert.optimize.compiled import Minimum, lbfgs, levenberg_marquardt
from wengert.optimize.flat import Flat
from wengert.optimize.limits import flat_bounds
from wengert.optimize.minimizing import minimize as constrained
from wengert.optimize.scipys import as_tuple, part_of, scipy_optimize

#: SciPy's tolerances of a root in a bracket.
_ABSOLUTE, _RELATIVE = 2e-12, 4 * float(np.finfo(np.float64).eps)
_MOST_TURNS = 200


class _Bracket(NamedTuple):
    """A root lies between a and b; a is the newest point, and c was left. The next point is ``a + t (b - a)``."""

    a: Any
    b: Any
    c: Any
    at_a: Any
    at_b: Any
    at_c: Any
    t: Any
    ends: Any
    """Whether the bracket is as narrow as the tolerance says."""


def _root_between(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return a root between two points at which a function has different signs.

    The next point is that of inverse quadratic interpolation where this is safe, and the middle elsewhere. Source:
    Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without using
    derivatives" (1997).
    """

    def turn(state: tuple[Any, _Bracket]) -> tuple[Any, _Bracket]:
        number, (a, b, c, at_a, at_b, at_c, t, _) = state
        x = a + t * (b - a)
        at_x = function(x) * 1.0
        is_same = equal(greater(at_x, 0.0), greater(at_a, 0.0))
        c, at_c = where(is_same, a, b), where(is_same, at_a, at_b)
        b, at_b = where(is_same, b, a), where(is_same, at_b, at_a)
        a, at_a = x, at_x
        best = where(less(absolute(at_a), absolute(at_b)), a, b)
        width = absolute(b - a)
        least = (_ABSOLUTE + _RELATIVE * absolute(best)) / where(greater(width, 0.0), width, 1.0)
        ends = logical_or(greater(least, 0.5), equal(at_a, 0.0))
        xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        is_safe = logical_and(less(phi * phi, xi), less((1.0 - phi) * (1.0 - phi), 1.0 - xi))
        near = at_a / (at_b - at_a) * at_c / (at_b - at_c)
        near = near + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        t = where(is_safe, near, 0.5)
        t = minimum_of(1.0 - least, maximum_of(least, t))
        return number + 1, _Bracket(a, b, c, at_a, at_b, at_c, t, ends)

    at_low, at_high = function(low) * 1.0, function(high) * 1.0
    begin = _Bracket(
        high, low, high, at_high, at_low, at_high, 0.5 + 0.0 * low, equal(multiply(at_low, at_high), 0.0)
    )
    with np.errstate(all="ignore"):
        _, found = while_loop(
            lambda state: logical_and(less(state[0], _MOST_TURNS), equal(state[1].ends, False)),
            turn,
            (np.int64(0), begin),
        )
    root = where(less(absolute(found.at_a), absolute(found.at_b)), found.a, found.b)
    return where(greater(multiply(at_low, at_high), 0.0), np.nan, root)


def _refuse_report(name: str, is_asked: Any) -> None:
    if is_asked:
        raise ArgumentError(message(f"scipy.optimize.{name}", "a followed root has no full_output"))


def _root_in(name: str, f: Callable[..., Any], a: Any, b: Any, args: tuple[Any, ...]) -> Any:
    """Return a root of ``f`` between a and b."""
    signs = [concrete(f(end, *args)) for end in (a, b)]
    if None not in signs and signs[0] * signs[1] > 0:
        requirement = "f must have different signs at the ends of the bracket"
        raise ArgumentError(message(f"scipy.optimize.{name}", requirement, f"{signs[0]:g} and {signs[1]:g}"))
    low, high = (stop_gradient(end * 1.0) for end in (a, b))  # the root does not depend on them
    start = stop_gradient(_root_between(lambda x: stop_gradient(f(x, *args)), low, high))
    return implicit.root(f, start, args)


def _root_from(f: Callable[..., Any], start: Any, args: tuple[Any, ...], linear: str = "direct") -> Any:
    """Return a root of equations, whose values may be in another container than the start, by Newton's method."""

    def equations(x: Any) -> Any:
        return reshape(asarray(f(x, *args)), shape=shape_of(start))

    return implicit.root(equations, start, linear=linear)


def _bracketed(name: str) -> Callable[..., Any]:
    """Return what stands for one of SciPy's solvers in a bracket."""

    def solve(f: Callable[..., Any], a: Any, b: Any, args: Any = (), *options: Any, **others: Any) -> Any:
        """Return a root of ``f`` between a and b; of a followed function, by Chandrupatla's method."""
        args = as_tuple(args)
        if not is_followed(f, a, *args) and not holds_box(b):
            return getattr(scipy_optimize(name), name)(f, a, b, args, *options, **others)
        _refuse_report(name, others.get("full_output"))
        return _root_in(name, f, a, b, args)

    solve.__name__ = name
    return solve


def fsolve(func: Callable[..., Any], x0: Any, args: Any = (), *options: Any, **others: Any) -> Any:
    """Return x with ``func(x, *args) = 0``; for a function that is followed, by Newton's method."""
    args, start = as_tuple(args), _vector(x0)
    if not is_followed(func, start, *args):
        return scipy_optimize("fsolve").fsolve(func, x0, args, *options, **others)
    _refuse_report("fsolve", others.get("full_output"))
    return _root_from(func, start, args)


def newton(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), *options: Any, **others: Any
) -> Any:
    """Return a root near x0, or one for each element of x0; for a function that is followed, with exact slopes."""
    args, start = as_tuple(args), _floats(x0)
    if not is_followed(func, start, *args):
        return scipy_optimize("newton").newton(func, x0, fprime, args, *options, **others)
    given = dict(zip(("tol", "maxiter", "fprime2", "x1", "rtol", "full_output"), options, strict=False))
    _refuse_report("newton", (given | others).get("full_output"))
    return _root_from(func, start, args)


def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: Any = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    *options: Any,
    **others: Any,
) -> Any:
    """Return SciPy's result; for a function that is followed, with the root in its bracket, or near its start."""
    optimize, args = scipy_optimize("root_scalar"), as_tuple(args)
    value_of = part_of(f, 0) if fprime is True else f
    low, high = (_floats(x0), 0.0) if bracket is None else bracket
    if not is_followed(value_of, low, *args) and not holds_box(high):
        return optimize.root_scalar(f, args, method, bracket, fprime, fprime2, x0, *options, **others)
    if bracket is None:
        found: Any = _root_from(value_of, low, args)
    else:
        found = _root_in("root_scalar", value_of, low, high, args)
    return optimize.RootResults(
        root=found, iterations=np.nan, function_calls=np.nan, flag=0, method=method or "newton"
    )


def solved(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    *options: Any,
    **others: Any,
) -> Any:
    """Return the result of SciPy's `root`; of a function that is followed, with the x, fun and success of Newton's.

    Methods for large systems solve the linear equations by products with the Jacobian.
    """
    optimize, args = scipy_optimize("root"), as_tuple(args)
    value_of = part_of(fun, 0) if jac is True else fun
    has_matrix = method.lower() in ("hybr", "lm")
    start = _vector(x0) if has_matrix else _floats(x0)
    if not is_followed(value_of, start, *args):
        return optimize.root(fun, x0, args, method, jac, *options, **others)
    x = _root_from(value_of, start, args, "direct" if has_matrix else "gmres")
    return optimize.OptimizeResult(
        x=x, fun=value_of(x, *args), success=True, status=1, message="the root of the program"
    )


def _floats(x0: Any) -> Any:
    return x0 if holds_box(x0) else np.asarray(x0) * 1.0


def _vector(x0: Any) -> Any:
    """Return a start as a vector, as SciPy's solvers with a Jacobian pass it."""
    return np.ravel(_floats(x0))


def minimize(fun: Callable[..., Any], x0: Any, args: Any = (), *options: Any, **others: Any) -> Any:
    """Return SciPy's result; of a function that is followed, with the x, fun, success and message of its minimum.

    The method is Newton's then, whatever the options say, and between bounds projected L-BFGS. With constraints
    `wengert.optimize.minimize` takes the call.
    """
    optimize, args = scipy_optimize("minimize"), as_tuple(args)
    start = _vector(x0)
    if not is_followed(fun, start, *args):
        return optimize.minimize(fun, x0, args, *options, **others)
    names = "method", "jac", "hess", "hessp", "bounds", "constraints", "tol", "callback", "options"
    given = dict(zip(names, options, strict=False)) | others
    bounds, constraints = given.get("bounds"), given.get("constraints", ())
    if np.size(constraints):  # an object has size 1
        return constrained(fun, start, args, bounds=bounds, constraints=constraints)
    objective = part_of(fun, 0) if given.get("jac") is True else fun
    if bounds is None or not np.size(bounds):
        x = implicit.minimum(lambda x: objective(x, *args), start)
    else:
        limits = flat_bounds(optimize, Flat("scipy.optimize.minimize", start), bounds)
        found = lbfgs(objective, start, args, bounds=limits, gtol=1e-8, ftol=1e-15)
        x = _converged("minimize", found)
    return optimize.OptimizeResult(
        x=x, fun=objective(x, *args), success=True, status=0, message="the minimum of the program"
    )


def _converged(name: str, found: Minimum) -> Any:
    requirement = "the minimisation must converge to a minimum; begin nearer"
    return require_end(found.x, found.converged, operation=f"scipy.optimize.{name}", requirement=requirement)


# -- fits ------------------------------------------------------------------------------------------------


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = (-np.inf, np.inf),
    method: Any = None,
    jac: Any = None,
    **others: Any,
) -> Any:
    """Return SciPy's estimates and covariance; of data or a function that is followed, those of Wengert's fit."""
    start = np.ones(len(inspect.signature(f).parameters) - 1) if p0 is None else p0
    operands = xdata, ydata, p0, sigma, absolute_sigma, check_finite
    if not holds_box(ydata, sigma) and not is_followed(f, xdata, *np.atleast_1d(start)):
        return scipy_optimize("curve_fit").curve_fit(f, *operands, bounds, method, jac, **others)
    is_free = isinstance(bounds, tuple) and np.all(np.isinf(bounds))
    return fitting.curve_fit(f, *operands, None if is_free else bounds, method, **others)


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    *options: Any,
    args: Any = (),
    kwargs: Any = None,
    **others: Any,
) -> Any:
    """Return SciPy's result; of residuals that are followed, with the x, fun, cost and grad of a minimum.

    The method is Levenberg's and Marquardt's then.
    """
    optimize, args, start = scipy_optimize("least_squares"), as_tuple(args), _vector(x0)
    residuals = functools.partial(fun, **(kwargs or {}))
    if not is_followed(residuals, start, *args):
        return optimize.least_squares(
            fun, x0, jac, bounds, *options, args=args, kwargs=kwargs or {}, **others
        )
    names = "method", "ftol", "xtol", "gtol", "x_scale", "loss"
    loss = (dict(zip(names, options, strict=False)) | others).get("loss", "linear")
    if loss != "linear":
        requirement = "a minimum that is followed has the linear loss"
        raise ArgumentError(message("scipy.optimize.least_squares", requirement, repr(loss)))
    limits = (bounds.lb, bounds.ub) if isinstance(bounds, optimize.Bounds) else bounds
    found = levenberg_marquardt(residuals, start, args, bounds=limits)
    x = _converged("least_squares", found)
    return optimize.OptimizeResult(
        x=x,
        fun=asarray(residuals(x, *args)),
        cost=found.fun,
        grad=found.jac,
        success=True,
        status=1,
        message="the minimum of the program",
    )


def leastsq(func: Callable[..., Any], x0: Any, args: Any = (), *options: Any, **others: Any) -> Any:
    """Return SciPy's result; of residuals that are followed, the variables of a minimum and 1."""
    args = as_tuple(args)
    if not is_followed(func, _vector(x0), *args):
        return scipy_optimize("leastsq").leastsq(func, x0, args, *options, **others)
    _refuse_report("leastsq", others.get("full_output"))
    return least_squares(func, x0, args=args).x, 1


def enter() -> None:
    """Enter the solvers in SciPy's place."""
    for name in ("brentq", "brenth", "ridder", "bisect", "toms748"):
        enter_caller(f"scipy.optimize.{name}", _bracketed(name))
    for function in (fsolve, newton, root_scalar, minimize, curve_fit, least_squares, leastsq):
        enter_caller(f"scipy.optimize.{function.__name__}", function)
    enter_caller("scipy.optimize.root", solved)
