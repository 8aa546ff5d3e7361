"""`quad` and `cubature`: integrals of functions over intervals and boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import Box, concrete, inside_transform
from wengert.engine.control.values import fit
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import FLOAT64, as_float, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show
from wengert.engine.ops.conversion import cast
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.staging import stage
from wengert.integrate.adaptive import Tolerances
from wengert.integrate.arguments import array_of
from wengert.integrate.integral import Problem, Region, integral
from wengert.numpy.creation import asarray


@advising("wg.integrate.quad(f, a, b)")
@with_callbacks
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 200,
    points: Any = None,
) -> tuple[Any, Any]:
    """Return the integral of a function from a to b, and an estimate of its error, as `scipy.integrate.quad`.

    Each interval gets the rule of Gauss and Kronrod with 21 points; the interval with the largest error is halved until
    the sum of the errors is small (as in QUADPACK, 1983).

    The derivative with respect to a bound is the integrand there. That with respect to ``args``, and what ``func``
    closes over, is the integral of the derivative, with intervals of its own, in any order and mode: those that suit
    the function may be too coarse for its derivative. ``epsrel`` then bounds the error relative to the integral of the
    magnitude. The place of a jump, or of another point where the integrand is not continuous, must not depend on
    parameters: the derivative would lack its movement. Split the integral there: a bound has its derivative.

    Args:
        func: ``(x, *args) -> number or array``, of a number x.
        a: the lower bound, ``-np.inf`` included. An infinite bound must be known: no argument of `vmap` or `wg.jit`.
        b: the upper bound, which may be less than a, or ``np.inf``.
        args: more arguments of ``func``.
        epsabs: the error that is allowed in each component.
        epsrel: the same, relative to the component; the larger of both counts.
        limit: the largest number of intervals.
        points: where a finite interval is broken first: places of jumps, kinks and singularities.

    Returns:
        The integral, and an estimate of the error of its worst component. The integral of a function that returns an
        array has its shape.

    Raises:
        LimitError: the estimate exceeds the tolerances after ``limit`` intervals; compiled code raises it, too.
        ArgumentError: there are points in an infinite interval, or more than ``limit``.
        DtypeError: the function returns complex numbers.

    Example:
        >>> import numpy as np, wengert as wg
        >>> area = lambda width: quad(lambda x: np.exp(-((x / width) ** 2)), -np.inf, np.inf)[0]
        >>> print(round(area(2.0), 9), round(wg.grad(area)(2.0), 9))
        3.544907702 1.772453851
    """
    constants = _arguments(args)
    region, ends = _interval(a, b, points)
    if region.ends > limit + 1:
        raise ArgumentError(message("quad", "limit must be larger than the number of points", str(limit)))
    problem = Problem("quad", region, "gk21", limit, Tolerances(float(epsabs), float(epsrel)))

    def of_point(x: Any) -> Any:
        return func(x[0], *constants)

    leaves = tree.leaves(constants)
    return _integral(of_point, ends, problem, any(isinstance(x, Box) for x in (*ends, *leaves)))


class CubatureResult(NamedTuple):
    """The result of `cubature`."""

    estimate: Any
    """The integral."""
    error: Any
    """An estimate of the error of the worst component."""
    status: str
    """ "converged": anything else raises."""
    atol: float
    rtol: float


@with_callbacks
def cubature(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    rule: str | None = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    max_subdivisions: int = 10_000,
    args: Any = (),
) -> CubatureResult:
    """Return the integral of a function over a box, as `scipy.integrate.cubature`.

    The box with the largest error is halved along the axis in which the function is roughest (Genz and Malik, 1980).
    Derivatives with respect to both corners, ``args`` and what ``f`` closes over are integrals of derivatives, with
    boxes of their own, in any order and mode.

    Args:
        f: ``(x, *args) -> values``: takes points of shape (k, d) and returns values of shape (k, ...).
        a: the lower corner, of shape (d,); infinite bounds must be known.
        b: the upper corner.
        rule: "gk21" for one axis, "genz-malik" for several.
        rtol: the error that is allowed in each component, relative to it.
        atol: the same, absolutely; the larger of both counts.
        max_subdivisions: the largest number of boxes. A compiled function has room for all of them.
        args: more arguments of ``f``.

    Returns:
        A result with the fields ``estimate`` and ``error``.

    Raises:
        LimitError: the estimate exceeds the tolerances after ``max_subdivisions`` boxes; compiled code raises it, too.
        ShapeError: the corners are not vectors of the same length, or the function returns other shapes.

    Example:
        >>> import numpy as np, wengert as wg
        >>> volume = lambda height: (
        ...     cubature(lambda x: height * np.sin(x[:, 0] * x[:, 1]), [0, 0], [1, 1]).estimate
        ... )
        >>> print(round(volume(2.0), 9), round(wg.grad(volume)(2.0), 9))
        0.479623484 0.239811742
    """
    constants = _arguments(args)
    low, high = asarray(a) * 1.0, asarray(b) * 1.0
    if len(shape_of(low)) != 1 or shape_of(low) != shape_of(high) or not shape_of(low)[0]:
        raise ShapeError(message("cubature", "a and b must be vectors of the same length", show(low, high)))
    axes = shape_of(low)[0]
    kind = rule or ("gk21" if axes == 1 else "genz-malik")
    region = Region("box", 0, axes)
    problem = Problem("cubature", region, kind, max_subdivisions, Tolerances(float(atol), float(rtol)))
    lines = [_line(low[axis], high[axis]) for axis in range(axes)]

    def of_unit(u: Any) -> Any:
        placed = [line(u[axis]) for axis, line in enumerate(lines)]
        point = np.stack([x for x, _ in placed])
        stretch = placed[0][1]
        for _, factor in placed[1:]:
            stretch = stretch * factor
        values = asarray(f(np.reshape(point, (1, axes)), *constants))
        if not shape_of(values) or shape_of(values)[0] != 1:
            requirement = "f must return a value for each of the points, which have the shape (k, d)"
            raise ShapeError(message("cubature", requirement, show(values)))
        return stretch * values[0]

    leaves = tree.leaves(constants)
    followed = any(isinstance(x, Box) for x in (low, high, *leaves))
    estimate, error = _integral(of_unit, [], problem, followed)
    return CubatureResult(estimate, error, "converged", float(atol), float(rtol))


def _arguments(args: Any) -> Sequence[Any]:
    return args if isinstance(args, (tuple, list)) else (args,)  # pyright: ignore[reportUnknownVariableType]


def _integral(
    function: Callable[[Any], Any],
    ends: Sequence[Any],
    problem: Problem,
    followed: bool,
) -> tuple[Any, Any]:
    """Integrate a function of a point of shape (d,)."""
    if not followed and not inside_transform():
        return _in_python(function, ends, problem)

    def run(x: Any) -> list[Any]:
        return [_real(problem.operation, function(x))]

    types = [TensorType(FLOAT64, (problem.region.axes,))]
    graph, captured = stage(run, types, problem.operation)
    (value,), error = integral(graph, captured, ends, problem)
    return value, error


def _in_python(function: Callable[[Any], Any], ends: Sequence[Any], problem: Problem) -> tuple[Any, Any]:
    """Call the function at each point, with its values known."""
    shapes: list[Any] = []

    def of_points(points: Any) -> Any:
        values = [np.asarray(_real(problem.operation, function(x))) for x in points[:, 0]]
        shapes.append(values[0].shape)
        return np.reshape(np.stack(values), (len(values), 1, -1))

    outcome = problem.solve(of_points, ends, 1)
    return np.reshape(outcome.value, shapes[-1])[()], np.max(outcome.error, initial=0.0)


def _real(operation: str, value: Any) -> Any:
    """Return a value of the integrand in float64."""
    if not is_number(value):
        value = array_of(operation, "the result of the function", value)
    dtype = dtype_of(value)
    if is_complex(dtype):
        hint = "integrate the real and the imaginary part"
        raise DtypeError(message(operation, "the function must return real numbers", show(value), hint))
    if type(value) is int:
        return as_float(operation, value)
    return fit(value, TensorType(FLOAT64, shape_of(value)))


# -- ranges ----------------------------------------------------------------------------------------------


def _sign_of_infinity(value: Any) -> int:
    """Return 1 or -1 for an infinite number that is known, else 0."""
    plain = concrete(value)
    if plain is None or shape_of(plain) != () or not np.isinf(plain):
        return 0
    return 1 if plain > 0 else -1


def _interval(a: Any, b: Any, points: Any) -> tuple[Region, list[Any]]:
    """Return the range of an integral and its ends."""
    low, high = (_number(name, x) for name, x in (("a", a), ("b", b)))
    signs = _sign_of_infinity(low), _sign_of_infinity(high)
    if signs == (0, 0):
        breaks = [] if points is None else [_number("points", asarray(points)[n]) for n in range(len(points))]
        return Region("finite", 2 + len(breaks)), [low, *breaks, high]
    if points is not None:
        raise ArgumentError(message("quad", "points need a finite interval", f"{a} to {b}"))
    if signs == (-1, 1):
        return Region("whole", 0), []
    if signs == (0, 1):
        return Region("above", 1), [low]
    if signs == (-1, 0):
        return Region("below", 1), [high]
    requirement = "a must be less than b where a bound is infinite"
    raise ArgumentError(message("quad", requirement, f"{a} to {b}", "exchange them, and the sign"))


def _number(name: str, value: Any) -> Any:
    if not is_number(value) or shape_of(value) != ():
        raise ShapeError(
            message("quad", f"{name} must be a number", show(value) if is_number(value) else repr(value))
        )
    if not isinstance(value, Box):
        return np.float64(value)
    return cast(value, dtype=FLOAT64)


def _line(low: Any, high: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return the map from the unit interval to a range: ``u -> (x, dx/du)``."""
    signs = _sign_of_infinity(low), _sign_of_infinity(high)
    if signs == (0, 0):
        return lambda u: (low + (high - low) * u, high - low)
    if signs == (0, 1):
        return lambda u: (low + (1 - u) / u, 1 / u**2)
    if signs == (-1, 0):
        return lambda u: (high - (1 - u) / u, 1 / u**2)
    if signs == (-1, 1):
        return lambda u: ((2 * u - 1) / (u * (1 - u)), 1 / u**2 + 1 / (1 - u) ** 2)
    requirement = "a must be less than b where a bound is infinite"
    raise ArgumentError(message("cubature", requirement, f"{low} to {high}", "exchange them, and the sign"))
