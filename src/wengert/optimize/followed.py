"""SciPy's solvers of equations and minima inside a followed program: ours run where the function is followed.

A program that a transform follows calls SciPy's solver with a function of its own, which may read followed values. One
evaluation at the start tells: if its result is followed, a solver of ours takes the call, and the derivatives are those
of the implicit function theorem; otherwise SciPy's does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import enter_caller, holds_box, is_followed
from wengert.engine.boxes import concrete
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.arithmetic import absolute, multiply
from wengert.engine.ops.arithmetic import maximum as maximum_of
from wengert.engine.ops.arithmetic import minimum as minimum_of
from wengert.engine.ops.comparison import equal, greater, less, logical_and, logical_or, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.shape import reshape
from wengert.implicit import minimum, root
from wengert.numpy.creation import asarray
from wengert.optimize.scipys import as_tuple, scipy_optimize

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


def _bracketed(name: str) -> Callable[..., Any]:
    """Return what stands for one of SciPy's solvers in a bracket."""

    def solve(f: Callable[..., Any], a: Any, b: Any, args: Any = (), *options: Any, **others: Any) -> Any:
        """Return a root of ``f`` between a and b; of a followed function, by Chandrupatla's method."""
        args = as_tuple(args)
        if not is_followed(f, a, *args) and not holds_box(b):
            return getattr(scipy_optimize(name), name)(f, a, b, args, *options, **others)
        if others.get("full_output"):
            raise ArgumentError(message(f"scipy.optimize.{name}", "a followed root has no full_output"))
        signs = [concrete(f(end, *args)) for end in (a, b)]
        if None not in signs and signs[0] * signs[1] > 0:
            requirement = "f must have different signs at the ends of the bracket"
            raise ArgumentError(
                message(f"scipy.optimize.{name}", requirement, f"{signs[0]:g} and {signs[1]:g}")
            )
        low, high = (stop_gradient(end * 1.0) for end in (a, b))  # the root does not depend on them
        start = stop_gradient(_root_between(lambda x: stop_gradient(f(x, *args)), low, high))
        return root(f, start, args)

    solve.__name__ = name
    return solve


def fsolve(func: Callable[..., Any], x0: Any, args: Any = (), *options: Any, **others: Any) -> Any:
    """Return x with ``func(x, *args) = 0``; for a function that is followed, by Newton's method."""
    args = as_tuple(args)
    start = x0 if holds_box(x0) else np.atleast_1d(np.asarray(x0, float))
    if not is_followed(func, start, *args):
        return scipy_optimize("fsolve").fsolve(func, x0, args, *options, **others)
    if others.get("full_output"):
        raise ArgumentError(message("scipy.optimize.fsolve", "a followed root has no full_output"))

    def equations(x: Any) -> Any:
        return reshape(asarray(func(x, *args)), shape=shape_of(start))

    return root(equations, start)


def minimize(fun: Callable[..., Any], x0: Any, args: Any = (), *options: Any, **others: Any) -> Any:
    """Return SciPy's result; of a function that is followed, with the x, fun, success and message of its minimum.

    The method is Newton's then, whatever the options say; bounds and constraints are refused.
    """
    optimize, args = scipy_optimize("minimize"), as_tuple(args)
    start = x0 if holds_box(x0) else np.atleast_1d(np.asarray(x0, float))
    if not is_followed(fun, start, *args):
        return optimize.minimize(fun, x0, args, *options, **others)
    names = "method", "jac", "hess", "hessp", "bounds", "constraints", "tol", "callback", "options"
    given = dict(zip(names, options, strict=False)) | others
    limits = {name: given.get(name) for name in ("bounds", "constraints")}
    wrong = [
        name for name, value in limits.items() if value is not None and np.size(value)
    ]  # an object has size 1
    if wrong:
        requirement = "a minimum that is followed has no bounds and no constraints"
        raise ArgumentError(message("scipy.optimize.minimize", requirement, ", ".join(wrong)))
    x = minimum(lambda x: fun(x, *args), start)
    return optimize.OptimizeResult(
        x=x, fun=fun(x, *args), success=True, status=0, message="the minimum of the program"
    )


def enter() -> None:
    """Enter the solvers in SciPy's place."""
    for name in ("brentq", "brenth", "ridder", "bisect"):
        enter_caller(f"scipy.optimize.{name}", _bracketed(name))
    enter_caller("scipy.optimize.fsolve", fsolve)
    enter_caller("scipy.optimize.minimize", minimize)
