"""`root` and `root_scalar`: SciPy's solvers of equations with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.ir.types import show
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.forward_mode import jvp
from wengert.optimize.confirmation import confirmed_root, is_root
from wengert.optimize.limits import checked_options
from wengert.optimize.scipys import as_tuple, callback_for, in_containers, part_of, scipy_optimize
from wengert.optimize.systems import System

_WITH_JACOBIAN = ("hybr", "lm")
_ORDERS = {"newton": 1, "halley": 2}
"""The number of derivatives that each method of `root_scalar` uses."""


@with_callbacks
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Solve a system of equations ``f(x) = 0`` as `scipy.optimize.root` does, with the exact Jacobian.

    Args:
        fun: takes the variables and ``args``, and returns as many numbers as there are variables, in any container.
        x0: the start: an array, a number, or any container of them. A list of numbers is an array.
        args: further arguments of ``fun``.
        method: a method of SciPy's; "hybr" and "lm" use the Jacobian.
        jac: None for the exact Jacobian; otherwise as in SciPy.
        tol: as in SciPy.
        callback: as in SciPy; it gets containers.
        options: as in SciPy.

    Returns:
        SciPy's `OptimizeResult`; ``x`` is a container like ``x0``. There is no success where the Newton step at x is
        not small, or the equations do not change around x as their Jacobian says.

    Raises:
        ArgumentError: a value is not finite at the start, or there are more or fewer equations than variables, or a
            tolerance is NaN.
        DtypeError: a variable is not a real number.
        MissingExtraError: SciPy is not installed.

    Example:
        >>> import numpy as np
        >>> found = root(
        ...     lambda p: {"circle": p["x"] ** 2 + p["y"] ** 2 - 2.0, "line": p["x"] - p["y"]},
        ...     {"x": 2.0, "y": 0.5},
        ... )
        >>> round(found.x["x"], 9), found.success
        (1.0, True)
    """
    optimize, args = scipy_optimize("root"), as_tuple(args)
    if not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(message("root", "method must be a name, such as 'hybr'", repr(method)))
    name = method.lower()
    if jac is True:
        fun, jac = part_of(fun, 0), part_of(fun, 1)
    system = System("root", fun, x0, args)
    count = len(system.fun(system.x0))
    if count != system.flat.size and name != "lm":
        requirement = f"there must be as many equations as variables, {system.flat.size}"
        raise ArgumentError(message("root", requirement, str(count), "use wg.optimize.least_squares"))
    uses = jac is not None or name in _WITH_JACOBIAN
    result = optimize.root(
        system.fun,
        system.x0,
        method=method,
        jac=system.jac_or_users(jac, args) if uses else None,
        tol=tol,
        callback=callback_for(callback, system.flat),
        options=checked_options("root", tol, options),
    )
    return in_containers(confirmed_root(result, system.values), system.flat, "x")


@with_callbacks
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Solve an equation ``f(x) = 0`` of one number as `scipy.optimize.root_scalar` does, with exact derivatives.

    Newton's method gets the first derivative, and Halley's the second one, too, from one forward pass. A solution takes
    few evaluations, so the function is not compiled.

    Args:
        f: takes a number and ``args``, and returns a number.
        args: further arguments of ``f``.
        method: a method of SciPy's; by default "brentq" with a bracket, "newton" with a start, "secant" with two.
        bracket: two numbers at which ``f`` has opposite signs.
        fprime: None for the exact derivative; otherwise as in SciPy.
        fprime2: None for the exact second derivative; otherwise as in SciPy.
        x0: the start.
        x1: a second start, for "secant".
        xtol: as in SciPy.
        rtol: as in SciPy.
        maxiter: as in SciPy.
        options: as in SciPy.

    Returns:
        SciPy's `RootResults`; not converged at a pole, and where the Newton step is not small.

    Raises:
        ArgumentError: a start is not one real number.
        MissingExtraError: SciPy is not installed.

    Example:
        >>> print(f"{root_scalar(lambda x: x**3 - 2.0, x0=1.0).root:.9f}")
        1.259921050
    """
    optimize, args = scipy_optimize("root_scalar"), as_tuple(args)
    if method is None and bracket is None and x0 is not None and x1 is None:
        method = "newton"
    order = _ORDERS.get((method or "").lower(), 0)
    users = part_of(f, 0) if fprime is True else f
    if fprime is None and fprime2 is None and order:
        f, fprime, fprime2 = _with_derivatives(f, order), True, order == 2
    result = optimize.root_scalar(
        f,
        args=args,
        method=method,
        bracket=bracket,
        fprime=fprime,
        fprime2=fprime2,
        x0=_start("x0", x0),
        x1=_start("x1", x1),
        xtol=xtol,
        rtol=rtol,
        maxiter=maxiter,
        options=options,
    )
    if result.converged and not _is_solution(users, args, bracket, result.root):
        result.converged, result.flag = False, "no root: the value there is not small beside those around"
    return result


def _is_solution(f: Callable[..., Any], args: tuple[Any, ...], bracket: Any, x: Any) -> bool:
    """Return whether the values at the ends of a bracket are larger, so that it is not a pole; or x is certified."""
    if bracket is not None:
        ends = [abs(f(float(end), *args)) for end in bracket]
        if abs(f(x, *args)) <= 0.5 * max(ends):
            return True
    return is_root(lambda v: np.stack([f(v[0], *args)]), np.array([x]))


def _start(name: str, value: Any) -> float | None:
    """Return a start as a float, or raise `ArgumentError` if it is not one number."""
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        requirement = f"{name} must be one real number"
        got = show(value) if isinstance(value, np.ndarray) else repr(value)
        raise ArgumentError(
            message("root_scalar", requirement, got, "use wg.optimize.root for systems")
        ) from None


def _with_derivatives(f: Callable[..., Any], order: int) -> Callable[..., tuple[Any, ...]]:
    """Return a function of a number that returns its value and one or two derivatives."""

    def first(x: Any, *args: Any) -> tuple[Any, Any]:
        return jvp(lambda x: f(x, *args), (x,), (1.0,))

    def second(x: Any, *args: Any) -> tuple[Any, Any, Any]:
        (value, slope), (_, curvature) = jvp(lambda x: first(x, *args), (x,), (1.0,))
        return value, slope, curvature

    return first if order == 1 else second
