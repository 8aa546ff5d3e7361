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
from wengert.engine.array.substitutes import holds_box, in_place_of, is_followed
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
from wengert.optimize.scipys import part_of, scipy_optimize

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


def _bracketed(name: str) -> None:
    """Enter what stands for one of SciPy's solvers in a bracket: Chandrupatla's method."""

    @in_place_of(f"scipy.optimize.{name}")
    def _(call: Any) -> Any:
        if not is_followed(call.f, call.a, *call.args) and not holds_box(call.b):
            return NotImplemented
        _refuse_report(name, call.full_output)
        return _root_in(name, call.f, call.a, call.b, call.args)


for _name in ("brentq", "brenth", "ridder", "bisect", "toms748"):
    _bracketed(_name)


@in_place_of("scipy.optimize.fsolve")
def _fsolve(call: Any) -> Any:
    start = _vector(call.x0)
    if not is_followed(call.func, start, *call.args):
        return NotImplemented
    _refuse_report("fsolve", call.full_output)
    return _root_from(call.func, start, call.args)


@in_place_of("scipy.optimize.newton")
def _newton(call: Any) -> Any:
    """Return a root near x0, or one for each element of x0, with exact slopes."""
    start = _floats(call.x0)
    if not is_followed(call.func, start, *call.args):
        return NotImplemented
    _refuse_report("newton", call.full_output)
    return _root_from(call.func, start, call.args)


@in_place_of("scipy.optimize.root_scalar")
def _root_scalar(call: Any) -> Any:
    """Return SciPy's result with the root in its bracket, or near its start."""
    value_of = part_of(call.f, 0) if call.fprime is True else call.f
    low, high = (_floats(call.x0), 0.0) if call.bracket is None else call.bracket
    if not is_followed(value_of, low, *call.args) and not holds_box(high):
        return NotImplemented
    if call.bracket is None:
        found: Any = _root_from(value_of, low, call.args)
    else:
        found = _root_in("root_scalar", value_of, low, high, call.args)
    return scipy_optimize("root_scalar").RootResults(
        root=found, iterations=np.nan, function_calls=np.nan, flag=0, method=call.method or "newton"
    )


@in_place_of("scipy.optimize.root")
def _root(call: Any) -> Any:
    """Return the result of SciPy's with the x, fun and success of Newton's method.

    Methods for large systems solve the linear equations by products with the Jacobian.
    """
    value_of = part_of(call.fun, 0) if call.jac is True else call.fun
    has_matrix = call.method.lower() in ("hybr", "lm")
    start = _vector(call.x0) if has_matrix else _floats(call.x0)
    if not is_followed(value_of, start, *call.args):
        return NotImplemented
    x = _root_from(value_of, start, call.args, "direct" if has_matrix else "gmres")
    return scipy_optimize("root").OptimizeResult(
        x=x, fun=value_of(x, *call.args), success=True, status=1, message="the root of the program"
    )


def _floats(x0: Any) -> Any:
    return x0 if holds_box(x0) else np.asarray(x0) * 1.0


def _vector(x0: Any) -> Any:
    """Return a start as a vector, as SciPy's solvers with a Jacobian pass it."""
    return np.ravel(_floats(x0))


@in_place_of("scipy.optimize.minimize")
def minimize(call: Any) -> Any:
    """Return SciPy's result with the x, fun, success and message of the minimum.

    The method is Newton's, whatever the options say, and between bounds projected L-BFGS. With constraints
    `wengert.optimize.minimize` takes the call.
    """
    optimize, args, bounds = scipy_optimize("minimize"), call.args, call.bounds
    start = _vector(call.x0)
    if not is_followed(call.fun, start, *args):
        return NotImplemented
    if np.size(call.constraints):  # an object has size 1
        return constrained(call.fun, start, args, bounds=bounds, constraints=call.constraints)
    objective = part_of(call.fun, 0) if call.jac is True else call.fun
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


@in_place_of("scipy.optimize.curve_fit")
def _curve_fit(call: Any) -> Any:
    """Return the estimates and the covariance of Wengert's fit."""
    start = np.ones(len(inspect.signature(call.f).parameters) - 1) if call.p0 is None else call.p0
    if not holds_box(call.ydata, call.sigma) and not is_followed(call.f, call.xdata, *np.atleast_1d(start)):
        return NotImplemented
    given: dict[str, Any] = call.__dict__
    if isinstance(call.bounds, tuple) and np.all(np.isinf(call.bounds)):
        given["bounds"] = None
    del given["jac"]
    return fitting.curve_fit(**given.pop("kwargs"), **given)


@in_place_of("scipy.optimize.least_squares")
def least_squares(call: Any) -> Any:
    """Return SciPy's result with the x, fun, cost and grad of a minimum by Levenberg's and Marquardt's method."""
    optimize, start = scipy_optimize("least_squares"), _vector(call.x0)
    residuals = functools.partial(call.fun, **(call.kwargs or {}))
    if not is_followed(residuals, start, *call.args):
        return NotImplemented
    if call.loss != "linear":
        requirement = "a minimum that is followed has the linear loss"
        raise ArgumentError(message("scipy.optimize.least_squares", requirement, repr(call.loss)))
    bounds = call.bounds
    limits = (bounds.lb, bounds.ub) if isinstance(bounds, optimize.Bounds) else bounds
    found = levenberg_marquardt(residuals, start, call.args, bounds=limits)
    x = _converged("least_squares", found)
    return optimize.OptimizeResult(
        x=x,
        fun=asarray(residuals(x, *call.args)),
        cost=found.fun,
        grad=found.jac,
        success=True,
        status=1,
        message="the minimum of the program",
    )


@in_place_of("scipy.optimize.leastsq")
def _leastsq(call: Any) -> Any:
    """Return the variables of a minimum and 1."""
    if not is_followed(call.func, _vector(call.x0), *call.args):
        return NotImplemented
    _refuse_report("leastsq", call.full_output)
    return least_squares(call.func, call.x0, args=call.args).x, 1
