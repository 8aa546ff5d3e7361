"""SciPy's integrals, `solve_ivp` and `odeint` inside a followed program: Wengert's run where the function is followed.

A program that a transform follows calls SciPy's function with one of its own, which may read followed values. One
evaluation at the start tells: if its result is followed, Wengert's function of the same meaning takes the call, with
the same tolerances; otherwise SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.array.substitutes import as_tuple, enter_caller, holds_box, in_place_of, is_followed
from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.forward_mode import jvp
from wengert.integrate import ivp, quadrature
from wengert.integrate.solution import OdeResult
from wengert.integrate.states import is_scipys
from wengert.numpy.registry import is_sequence

#: Our method for LSODA, which we lack.
_LSODA = "Rodas5P"
#: The options of `quad` in one of `nquad`.
_LIMITS = {"epsabs", "epsrel", "limit", "points"}
#: The options of SciPy's methods of `solve_ivp`.
_OPTIONS = {"atol", "rtol", "first_step", "max_step", "min_step", "jac", "jac_sparsity", "lband", "uband"}


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


@in_place_of("scipy.integrate.quad")
def _quad(call: Any) -> Any:
    if not holds_box(call.a, call.b) and not is_followed(call.func, _within(call.a, call.b), *call.args):
        return NotImplemented
    _refuse(
        "scipy.integrate.quad",
        full_output=call.full_output,
        weight=call.weight,
        complex_func=call.complex_func,
    )
    settings = {"epsabs": call.epsabs, "epsrel": call.epsrel, "points": call.points}
    return quadrature.quad(call.func, call.a, call.b, call.args, limit=max(call.limit, 200), **settings)


@in_place_of("scipy.integrate.quad_vec")
def _quad_vec(call: Any) -> Any:
    if not holds_box(call.a, call.b) and not is_followed(call.f, _within(call.a, call.b), *call.args):
        return NotImplemented
    _refuse("scipy.integrate.quad_vec", full_output=call.full_output, quadrature=call.quadrature)
    settings = {"epsabs": call.epsabs, "epsrel": call.epsrel, "points": call.points}
    return quadrature.quad(
        call.f, call.a, call.b, call.args, limit=min(max(call.limit, 200), 1000), **settings
    )


@in_place_of("scipy.integrate.cubature")
def _cubature(call: Any) -> Any:
    """Return the integral over a box, by the rule of Genz and Malik for several axes."""
    middle = np.array([[_within(*ends) for ends in zip(call.a, call.b, strict=True)]])
    if not holds_box(call.a, call.b) and not is_followed(call.f, middle, *call.args):
        return NotImplemented
    _refuse("scipy.integrate.cubature", points=call.points)
    given: dict[str, Any] = call.__dict__
    del given["points"], given["workers"], given["rule"]
    return quadrature.cubature(given.pop("f"), given.pop("a"), given.pop("b"), **given)


@in_place_of("scipy.integrate.tanhsinh")
def _tanhsinh(call: Any) -> Any:
    """Return SciPy's result with the integrals over one interval or several finite ones, and estimates of their errors.

    A logarithm of the integrand, and levels, are SciPy's alone.
    """
    func, a, b, args = call.f, call.a, call.b, call.args
    middle = _within(a, b) if not np.ndim(a) and not np.ndim(b) else 0.5 * (a + b)
    if not holds_box(a, b) and not is_followed(func, middle, *args):
        return NotImplemented
    _refuse("scipy.integrate.tanhsinh", log=call.log, maxlevel=call.maxlevel, callback=call.callback)
    settings: dict[str, Any] = {"epsabs": call.atol or 0.0, "epsrel": call.rtol or 1e-10}
    if np.ndim(a) or np.ndim(b):
        width = b - a
        found = quadrature.quad(lambda t: width * func(a + t * width, *args), 0.0, 1.0, **settings)
    else:
        found = quadrature.quad(func, a, b, args, **settings)
    return _result(integral=found[0], error=found[1])


@in_place_of("scipy.integrate.nsum")
def _nsum(call: Any) -> Any:
    """Return SciPy's result with the sum of ``f(a) + f(a + step) + ... + f(b)``, where b may be infinite.

    Beyond 1,000 terms an infinite sum is its integral, with corrections by derivatives (Euler and Maclaurin).
    """
    a, b, step, args = (float(call.a), float(call.b), float(call.step), call.args)
    if not is_followed(call.f, a, *args):
        return NotImplemented
    _refuse("scipy.integrate.nsum", log=call.log, tolerances=call.tolerances)
    count = min(np.floor((b - a) / step) + 1.0, 1000.0 if np.isinf(b) else np.inf)
    if not 0 <= count <= call.maxterms or np.isinf(a):
        requirement = f"a followed sum begins at a number, and has at most {call.maxterms} terms, or no end"
        raise ArgumentError(message("scipy.integrate.nsum", requirement, f"{a:g} to {b:g}"))
    terms = a + step * cast("Any", np.arange(count))
    axes = (1,) * max((np.ndim(arg) for arg in args), default=0)
    total, error = np.sum(call.f(terms.reshape(-1, *axes), *args), axis=0), 0.0
    if np.isinf(b):
        last = a + step * count
        slope = _derivative(lambda x: call.f(x, *args))
        third = _derivative(_derivative(slope))
        integral, error = quadrature.quad(call.f, last, np.inf, args, epsabs=1e-12, epsrel=1e-10)
        total = total + integral / step + 0.5 * call.f(last, *args)
        total = total - step / 12 * slope(last) + step**3 / 720 * third(last)
    return _result(sum=total, error=error)


def _derivative(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(function, (x,), (1.0,))[1]


def _result(**parts: Any) -> Any:
    from scipy.optimize import OptimizeResult

    return OptimizeResult(success=True, status=0, nfev=np.nan, **parts)


@in_place_of("scipy.integrate.nquad")
def _nquad(call: Any) -> Any:
    """Return the integral over several variables by `quad` of `quad`; the first range is that of the innermost one."""
    func, ranges, opts, further = call.func, call.ranges, call.opts, call.args
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
        return NotImplemented
    _refuse("scipy.integrate.nquad", full_output=call.full_output)
    return integral(())


@in_place_of("scipy.integrate.dblquad")
def _dblquad(call: Any) -> Any:
    """Return the integral of ``func(y, x)`` for x from a to b and y between two functions of x."""
    ranges = [_between(call.gfun, call.hfun), (call.a, call.b)]
    return _nquad(call.func, ranges, call.args, {"epsabs": call.epsabs, "epsrel": call.epsrel})


@in_place_of("scipy.integrate.tplquad")
def _tplquad(call: Any) -> Any:
    """Return the integral of ``func(z, y, x)`` between functions of (x, y), functions of x, and numbers."""
    innermost = _between(call.qfun, call.rfun, is_reversed=True)
    ranges = [innermost, _between(call.gfun, call.hfun), (call.a, call.b)]
    return _nquad(call.func, ranges, call.args, {"epsabs": call.epsabs, "epsrel": call.epsrel})


def _between(low: Any, high: Any, *, is_reversed: bool = False) -> Callable[..., Any]:
    """Return a range of `nquad`: it gets the outer variables, the outermost last, and then further arguments."""

    def ends(*variables: Any) -> Any:
        outer = variables[1::-1] if is_reversed else variables[:1]
        return [end(*outer) if callable(end) else end for end in (low, high)]

    return ends


@in_place_of("scipy.integrate.solve_ivp")
def _solve_ivp(call: Any) -> Any:
    """Solve by Wengert's method of the name; "LSODA" is "Rodas5P", for stiff problems, with the same tolerances."""
    start = call.y0 if holds_box(call.y0) else np.asarray(call.y0, float)
    if not holds_box(call.t_span, call.t_eval) and not is_followed(
        call.fun, call.t_span[0], start, *call.args
    ):
        return NotImplemented
    if wrong := call.options.keys() - _OPTIONS:
        requirement, hint = "SciPy's function has no such option", "write wg.integrate.solve_ivp"
        raise ArgumentError(message("scipy.integrate.solve_ivp", requirement, ", ".join(sorted(wrong)), hint))
    given: dict[str, Any] = call.__dict__
    given["method"] = _LSODA if call.method == "LSODA" else call.method
    return ivp.solve_ivp(**given.pop("options"), **given)


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
    args = as_tuple(args)

    def rate(t: Any, y: Any, *args: Any) -> Any:
        return func(t, y, *args) if tfirst else func(y, t, *args)

    is_own = mass is not None or not is_scipys(y0)
    start = y0 if is_own or holds_box(y0) else np.atleast_1d(np.asarray(y0, float))
    if not is_own and not holds_box(t) and not is_followed(rate, t[0], start, *args):
        others |= {"rtol": rtol, "atol": atol, "tfirst": tfirst}
        from scipy import integrate

        return getattr(integrate, "odeint")(func, y0, t, args, Dfun, *options, **others)  # noqa: B009 (without a type)
    _refuse("scipy.integrate.odeint", positional=len(options), full_output=others.get("full_output"))
    tolerances: dict[str, Any] = {
        "rtol": 1.49012e-8 if rtol is None else rtol,
        "atol": 1.49012e-8 if atol is None else atol,
    }
    found: OdeResult = ivp.solve_ivp(
        rate, (t[0], t[-1]), start, _LSODA, t_eval=t, args=args, max_steps=100_000, mass=mass, **tolerances
    )
    return tree.map_tree(lambda leaf: np.moveaxis(leaf, -1, 0), found.y)


enter_caller("scipy.integrate.odeint", odeint)
