"""SciPy's integrals, `solve_ivp` and `odeint` inside a followed program: Wengert's run where the function is followed.

A program that a transform follows calls SciPy's function with one of its own, which may read followed values. One
evaluation at the start tells: if its result is followed, Wengert's function of the same meaning takes the call, with
the same tolerances; otherwise SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import enter_caller, holds_box, is_followed
from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.integrate import ivp, quadrature
from wengert.integrate.solution import OdeResult
from wengert.integrate.states import is_scipys
from wengert.numpy.registry import is_sequence

#: Our methods for SciPy's that we lack.
_METHODS = dict.fromkeys(("BDF", "LSODA"), "Rodas5P")
_ODEINT = "Rodas5P"
#: The options of `quad` in one of `nquad`.
_LIMITS = {"epsabs", "epsrel", "limit", "points"}


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)  # pyright: ignore[reportUnknownVariableType]


def _scipys(name: str) -> Any:
    """Return a function of `scipy.integrate`."""
    from scipy import integrate

    return getattr(integrate, name)


def _refuse(operation: str, **given: Any) -> None:
    """Raise `ArgumentError` for options of SciPy's that have no meaning here."""
    wrong = [name for name, value in given.items() if value is not None and value is not False and value != 0]
    if wrong:
        requirement = "only the tolerances are options where the function is followed"
        raise ArgumentError(message(operation, requirement, ", ".join(wrong)))


def _within(a: Any, b: Any) -> Any:
    """Return a number between two bounds, which may be infinite."""
    low, high = (float(x) if not isinstance(x, Box) else 0.0 for x in (a, b))
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    return low if np.isfinite(low) else high if np.isfinite(high) else 0.0


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    **options: Any,
) -> Any:
    """Return what `wengert.integrate.quad` does of a followed function, and else what SciPy's does."""
    args = _as_tuple(args)
    if not holds_box(a, b) and not is_followed(func, _within(a, b), *args):
        return _scipys("quad")(func, a, b, args, full_output, epsabs, epsrel, limit, points, **options)
    _refuse("scipy.integrate.quad", full_output=full_output, **options)
    limit = max(limit, 200)
    return quadrature.quad(func, a, b, args, epsabs=epsabs, epsrel=epsrel, limit=limit, points=points)


def nquad(
    func: Callable[..., Any], ranges: Any, args: Any = None, opts: Any = None, full_output: Any = False
) -> Any:
    """Return the integral over several variables by `quad` of `quad`; the first range is that of the innermost one."""
    further = () if args is None else _as_tuple(args)
    options: Any = opts if is_sequence(opts) else [opts] * len(ranges)

    def called(value: Any, *arguments: Any) -> Any:
        return value(*arguments) if callable(value) else value

    def within(outer: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a point of the region; outer variables are the last ones."""
        if len(outer) == len(ranges):
            return outer
        ends = called(ranges[len(ranges) - len(outer) - 1], *outer, *further)
        limits.extend(ends)
        return within((_within(*ends), *outer))

    def integral(outer: tuple[Any, ...]) -> Any:
        if len(outer) == len(ranges):
            return func(*outer, *further), 0.0
        axis = len(ranges) - len(outer) - 1
        ends = called(ranges[axis], *outer, *further)
        given: dict[str, Any] = called(options[axis], *outer, *further) or {}
        _refuse("scipy.integrate.nquad", **{name: given[name] for name in set(given) - _LIMITS})
        settings: dict[str, Any] = {"epsabs": 1.49e-8, "epsrel": 1.49e-8, **given}
        settings["limit"] = max(given.get("limit", 0), 200)
        return quadrature.quad(lambda x: integral((x, *outer))[0], *ends, **settings)

    limits: list[Any] = []
    point = within(())
    if not holds_box(limits) and not is_followed(func, *point, *further):
        return _scipys("nquad")(func, ranges, args, opts, full_output)
    _refuse("scipy.integrate.nquad", full_output=full_output)
    return integral(())


def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Return the integral of ``func(y, x)`` for x from a to b and y between two functions of x."""
    return nquad(func, [_between(gfun, hfun), (a, b)], args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Return the integral of ``func(z, y, x)`` between functions of (x, y), functions of x, and numbers."""
    innermost = _between(qfun, rfun, is_reversed=True)
    ranges = [innermost, _between(gfun, hfun), (a, b)]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


def _between(low: Any, high: Any, *, is_reversed: bool = False) -> Callable[..., Any]:
    """Return a range of `nquad`: it gets the outer variables, the outermost last, and then further arguments."""

    def ends(*variables: Any) -> Any:
        outer = variables[1::-1] if is_reversed else variables[:1]
        return [end(*outer) if callable(end) else end for end in (low, high)]

    return ends


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Return what `wengert.integrate.solve_ivp` does of a followed function, and else what SciPy's does.

    "BDF" and "LSODA" are "Rodas5P", a method for stiff problems with the same tolerances.
    """
    first = t_span[0], np.asarray(y0, float) if not holds_box(y0) else y0
    if not holds_box(t_span, t_eval) and not is_followed(fun, *first, *(args or ())):
        return _scipys("solve_ivp")(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )
    method = _METHODS.get(method, method)
    return ivp.solve_ivp(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options)


@with_callbacks
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    *options: Any,
    rtol: Any = None,
    atol: Any = None,
    tfirst: bool = False,
    mass: Any = None,
    **others: Any,
) -> Any:
    """Return the states at times, of shape (len(t), n), as `scipy.integrate.odeint`; t[0] is the time of ``y0``.

    A followed function is solved by "Rodas5P" of `solve_ivp`, which is for stiff and other problems as LSODA is, with
    the tolerances of SciPy's; so is one of states that SciPy does not have, containers and arrays of other shapes, and
    one with a mass matrix. ``Dfun`` and the options of LSODA's steps have no effect then.

    Args:
        func: ``(y, t, *args) -> dy/dt``; ``(t, y, *args)`` with ``tfirst``.
        y0: the state at the first time, a number or of shape (n,); or a container, as for `solve_ivp`.
        t: the times.
        args: more arguments of ``func``.
        Dfun: the Jacobian, for SciPy alone.
        options: SciPy's options by position, which a followed function does not take.
        rtol: the relative tolerance, 1.49e-8 by default.
        atol: the absolute tolerance, 1.49e-8 by default.
        tfirst: whether ``func`` takes the time first.
        mass: the matrix of ``mass dy/dt = func``, as for `solve_ivp`.
        others: SciPy's other options.

    Returns:
        The states, of shape (len(t), n); a container has leaves with a first axis of the times.

    Raises:
        ArgumentError: ``full_output`` is asked for.
        LimitError: the steps do not reach the last time.

    Example:
        >>> import wengert as wg
        >>> decay = lambda rate: odeint(lambda y, t: -rate * y, [1.0], [0.0, 1.0])[-1, 0]
        >>> print(f"{wg.grad(decay)(1.0):.5f}")  # -e^-1
        -0.36788
    """
    args = _as_tuple(args)

    def rate(t: Any, y: Any, *args: Any) -> Any:
        return func(t, y, *args) if tfirst else func(y, t, *args)

    is_own = mass is not None or not is_scipys(y0)
    start = y0 if is_own or holds_box(y0) else np.atleast_1d(np.asarray(y0, float))
    if not is_own and not holds_box(t) and not is_followed(rate, t[0], start, *args):
        others |= {"rtol": rtol, "atol": atol, "tfirst": tfirst}
        return _scipys("odeint")(func, y0, t, args, Dfun, *options, **others)
    _refuse("scipy.integrate.odeint", positional=len(options), full_output=others.get("full_output"))
    tolerances: dict[str, Any] = {
        "rtol": 1.49012e-8 if rtol is None else rtol,
        "atol": 1.49012e-8 if atol is None else atol,
    }
    found: OdeResult = ivp.solve_ivp(
        rate, (t[0], t[-1]), start, _ODEINT, t_eval=t, args=args, max_steps=100_000, mass=mass, **tolerances
    )
    return tree.map_tree(lambda leaf: np.moveaxis(leaf, -1, 0), found.y)


for _function in (quad, nquad, dblquad, tplquad, odeint, solve_ivp):
    enter_caller(f"scipy.integrate.{_function.__name__}", _function)
