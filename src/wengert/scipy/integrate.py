"""`scipy.integrate` for values inside transforms: integrals of samples, and Gauss's quadrature of a function.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> wg.grad(lambda y: simpson(y, x=x))(x**2).round(4)
    array([0.0833, 0.3333, 0.1667, 0.3333, 0.0833])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import equal, where
from wengert.numpy.finite_differences import trapezoid as _trapezoid
from wengert.numpy.registry import rank_of
from wengert.numpy.shaping import part
from wengert.scipy.registry import floats, number, others_of

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "fixed_quad", "romb", "simpson", "trapezoid"]
__dir__ = __all__.copy
__getattr__ = others_of(__name__)


def _over(a: Any, b: Any) -> Any:
    """Return ``a / b``, and 0 where b is 0."""
    zero = equal(b, 0)
    return where(zero, 0.0, a / where(zero, 1.0, b))


def _samples(operation: str, y: Any, axis: int) -> tuple[Any, int]:
    y = floats(y)
    if not rank_of(y):
        raise ShapeError(message(operation, "an array of at least one axis is required", show(y)))
    return y, axis_index(operation, axis, rank_of(y))


def _steps(operation: str, x: Any, y: Any, axis: int) -> Any:
    """Return the differences of the abscissas, with the axes of y."""
    x = floats(x)
    rank, count = rank_of(y), shape_of(y)[axis]
    if rank_of(x) == 1:
        x = np.reshape(x, (-1, *(1,) * (rank - axis - 1)))
        along = 0
    else:
        along = axis
    if rank_of(x) not in (rank, rank - axis) or shape_of(x)[along] != count:
        requirement = "x must have the shape of y, or one axis as long as the axis of y that is integrated"
        raise ShapeError(message(operation, requirement, show(x, y)))
    x = np.reshape(x, (1,) * (rank - rank_of(x)) + shape_of(x))
    return np.diff(x, axis=axis)


@substitutes("scipy.integrate.trapezoid", "scipy.integrate.trapz")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by the trapezoidal rule, ``sum (x[i + 1] - x[i]) (y[i] + y[i + 1]) / 2``.

    Example:
        >>> float(trapezoid([1.0, 2.0, 3.0]))
        4.0
    """
    return _trapezoid(y, x, dx, axis)


@substitutes("scipy.integrate.cumulative_trapezoid", "scipy.integrate.cumtrapz")
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Integrate samples by the trapezoidal rule up to each of them.

    Raises:
        ArgumentError: ``initial`` is neither None nor 0.

    Example:
        >>> cumulative_trapezoid(np.array([1.0, 2.0, 3.0]), initial=0)
        array([0. , 1.5, 4. ])
    """
    operation = "cumulative_trapezoid"
    y, axis = _samples(operation, y, axis)
    if initial is not None and number(operation, "initial", initial) != 0:
        raise ArgumentError(message(operation, "initial must be None or 0", repr(initial)))
    steps = dx if x is None else _steps(operation, x, y, axis)
    total = np.cumsum(steps * (part(y, axis, slice(1, None)) + part(y, axis, slice(None, -1))) / 2.0, axis)
    if initial is None:
        return total
    return np.concatenate([part(total, axis, slice(0, 1)) * 0.0, total], axis)


# -- Simpson's rule --------------------------------------------------------------------------------------


def _pairs(y: Any, steps: Any, dx: Any, axis: int) -> Any:
    """Integrate the parabola through each even sample and its two successors."""
    first, middle, last = (
        part(y, axis, slice(start, stop, 2)) for start, stop in ((0, -2), (1, -1), (2, None))
    )
    if steps is None:
        return np.sum(first + 4.0 * middle + last, axis) * (dx / 3.0)
    before, after = part(steps, axis, slice(0, None, 2)), part(steps, axis, slice(1, None, 2))
    both, ratio = before + after, _over(before, after)
    terms = (
        first * (2.0 - _over(1.0, ratio)) + middle * both * _over(both, before * after) + last * (2.0 - ratio)
    )
    return np.sum(both / 6.0 * terms, axis)


@substitutes("scipy.integrate.simpson", "scipy.integrate.simps")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by Simpson's rule: the parabolas through three neighbours each.

    For an even number of samples, the last interval has the parabola through the last three of them (Cartwright,
    "Simpson's rule cumulative integration with MS Excel and irregularly-spaced data", 2017).

    Example:
        >>> print(f"{simpson(np.array([0.0, 1.0, 4.0])):.4f}")  # x^2 from 0 to 2
        2.6667
    """
    y, axis = _samples("simpson", y, axis)
    steps = None if x is None else _steps("simpson", x, y, axis)
    count = shape_of(y)[axis]
    if count == 0:
        return np.sum(y, axis)
    if count == 2:
        step = dx if steps is None else part(steps, axis, 0)
        return step * (part(y, axis, 0) + part(y, axis, 1)) * 0.5
    if count % 2:
        return _pairs(y, steps, dx, axis)
    leading = None if steps is None else part(steps, axis, slice(None, -1))
    total = _pairs(part(y, axis, slice(None, -1)), leading, dx, axis)
    h, k = (dx, dx) if steps is None else (part(steps, axis, -2), part(steps, axis, -1))
    weights = (
        -_over(k * k * k, 6.0 * h * (h + k)),
        _over(k * k + 3.0 * h * k, 6.0 * h),
        _over(2.0 * k * k + 3.0 * h * k, 6.0 * (h + k)),
    )
    return total + sum(
        weight * part(y, axis, place) for weight, place in zip(weights, (-3, -2, -1), strict=True)
    )


def _first_of_two(y: Any, steps: Any) -> Any:
    """Integrate the parabola through three neighbours over the first of their two intervals, along the last axis."""
    first, middle, last = y[..., :-2], y[..., 1:-1], y[..., 2:]
    before, after = steps[..., :-1], steps[..., 1:]
    outer, inner = before / (before + after), before / after
    mixed = outer * inner
    return before / 6.0 * ((3.0 - outer) * first + (3.0 + mixed + outer) * middle - mixed * last)


@substitutes("scipy.integrate.cumulative_simpson")
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Integrate samples by Simpson's rule up to each of them (Cartwright, 2017).

    Example:
        >>> cumulative_simpson(np.array([0.0, 1.0, 4.0])).round(4)
        array([0.3333, 2.6667])
    """
    operation = "cumulative_simpson"
    y, axis = _samples(operation, y, axis)
    shape = shape_of(y)
    count = shape[axis]
    intervals = (*shape[:axis], count - 1, *shape[axis + 1 :])
    steps = dx if x is None else _steps(operation, x, y, axis)
    if rank_of(steps) == 1 and x is None:
        steps = np.reshape(steps, (-1, *(1,) * (rank_of(y) - axis - 1)))
    steps = np.moveaxis(np.broadcast_to(floats(steps), intervals), axis, -1)
    y = np.moveaxis(y, axis, -1)
    if count < 3:
        parts = steps * (y[..., 1:] + y[..., :-1]) / 2.0
    else:
        ahead = _first_of_two(y, steps)
        behind = _first_of_two(y[..., ::-1], steps[..., ::-1])[..., ::-1]
        # Even intervals belong to the parabola that begins there, odd ones to the parabola that ends there.
        even = np.concatenate([ahead, behind[..., -1:]], -1)
        odd = np.concatenate([ahead[..., :1], behind], -1)
        parts = where((np.arange(count - 1) % 2 == 0) & (np.arange(count - 1) < count - 2), even, odd)
    total = np.cumsum(parts, -1)
    if initial is not None:
        begin = np.moveaxis(
            np.broadcast_to(floats(initial), (*shape[:axis], 1, *shape[axis + 1 :])), axis, -1
        )
        total = np.concatenate([begin, total + begin], -1)
    return np.moveaxis(total, -1, axis)


# -- extrapolation and quadrature ------------------------------------------------------------------------


@substitutes("scipy.integrate.romb")
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Integrate ``2^k + 1`` samples at equal distances by Romberg's extrapolation of the trapezoidal rule.

    ``show``: print the table, as SciPy does for plain arrays; it is not supported here.

    Raises:
        ArgumentError: the number of samples is not a power of two and one.

    Example:
        >>> print(f"{romb(np.array([0.0, 1.0, 4.0])):.4f}")  # x^2 from 0 to 2
        2.6667
    """
    y, axis = _samples("romb", y, axis)
    intervals = shape_of(y)[axis] - 1
    if intervals < 1 or intervals & (intervals - 1):
        raise ArgumentError(message("romb", "the number of samples must be 2^k + 1", str(intervals + 1)))
    if show:
        raise ArgumentError(message("romb", "show=True is not supported", hint="leave it out"))
    levels = intervals.bit_length() - 1
    step = intervals * dx
    row = [(part(y, axis, 0) + part(y, axis, -1)) / 2.0 * step]
    for level in range(1, levels + 1):
        stride = intervals >> level
        step = step / 2.0
        added = np.sum(part(y, axis, slice(stride, None, 2 * stride)), axis)
        following = [row[0] / 2.0 + step * added]
        for order, coarser in enumerate(row, 1):
            following.append(following[-1] + (following[-1] - coarser) / (4.0**order - 1.0))
        row = following
    return row[-1]


@substitutes("scipy.integrate.fixed_quad")
def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """Integrate a function by Gauss and Legendre's quadrature with ``n`` points.

    The derivative in ``a`` and ``b`` is that of the sum, which also moves the points.

    ``n``: the number of points, a known integer.

    Raises:
        ArgumentError: a limit is infinite.

    Example:
        >>> print(f"{fixed_quad(np.exp, 0.0, 1.0)[0]:.6f}")
        1.718282
    """
    if any(np.any(np.isinf(x)) for x in map(concrete, (a, b)) if x is not None):
        raise ArgumentError(message("fixed_quad", "the limits must be finite", f"{a}, {b}"))
    points, weights = np.polynomial.legendre.leggauss(n)
    half = (b - a) / 2.0
    return half * np.sum(weights * func(half * (points + 1.0) + a, *args), -1), None
