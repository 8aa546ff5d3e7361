"""Draws from distributions, differentiable in the parameters of continuous ones; random orders and choices."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.boxes import concrete
from wengert.engine.core.calls import advising
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import BOOL, FLOAT32, FLOAT64, INT64, Dtype, dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import Shape, axis_index, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import minimum
from wengert.engine.ops.comparison import less, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.exponential import log, log1p, sqrt
from wengert.engine.ops.random import UINT64
from wengert.engine.ops.sorting import argsort
from wengert.engine.ops.trigonometric import cos
from wengert.numpy.registry import floating, is_array
from wengert.numpy.selecting import take
from wengert.numpy.shaping import moveaxis
from wengert.numpy.sorting import searchsorted
from wengert.random.keys import SECOND, blocks, narrowed, shape_for, unsigned

_INT32: Dtype = np.dtype(np.int32)
_UINT32: Dtype = np.dtype(np.uint32)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)

_TERMS = {
    "key": "a key: see `key`, `split` and `fold_in`.",
    "shape": "the shape of the result; by default that of the parameters.",
    "low": "the lower bound, which broadcasts to the shape.",
    "high": "the upper bound, likewise. Rounding may reach it, unless the bounds are 0 and 1.",
    "mean": "the mean, which broadcasts to the shape.",
    "deviation": "the standard deviation, likewise.",
    "scale": "the mean, which broadcasts to the shape.",
    "dtype": "float64 or float32.",
}
_continuous = functools.partial(
    documented,
    _TERMS,
    Returns="An array of the shape and the dtype.",
    Raises="""\
ShapeError: the parameters do not broadcast to the shape.
DtypeError: the dtype is neither float32 nor float64, or ``key`` is not a key.""",
)


# -- continuous distributions ----------------------------------------------------------------------------


def _float_dtype(operation: str, dtype: Any) -> Dtype:
    dtype = np.dtype(dtype)
    if dtype not in (FLOAT32, FLOAT64):
        raise DtypeError(message(operation, "float32 or float64 is required", str(dtype)))
    return dtype


def _parameters(operation: str, shape: Any, dtype: Any, *parameters: Any) -> tuple[Shape, Dtype, list[Any]]:
    """Return the shape of a draw, its dtype, and its parameters in that dtype."""
    dtype = _float_dtype(operation, dtype)
    values = [operand(parameter) for parameter in parameters]
    return shape_for(operation, shape, *values), dtype, [cast(value, dtype=dtype) for value in values]


def _standard_uniform(operation: str, key: Any, shape: Shape, dtype: Dtype) -> Any:
    """Draw from [0, 1): multiples of 2^-24 in float32, of 2^-53 in float64."""
    block = blocks(operation, key, shape)
    if dtype == FLOAT32:
        return cast(cast(narrowed(block) >> np.uint32(8), dtype=_INT32), dtype=FLOAT32) * 2.0**-24
    return cast(cast(block >> np.uint64(11), dtype=INT64), dtype=FLOAT64) * 2.0**-53


def _open_uniform(operation: str, key: Any, shape: Shape, dtype: Dtype) -> Any:
    """Draw from (0, 1], with the resolution of the dtype near zero."""
    block = blocks(operation, key, shape)
    if dtype == FLOAT32:
        return (cast(narrowed(block), dtype=FLOAT32) + 0.5) * 2.0**-32
    return (cast(block, dtype=FLOAT64) + 0.5) * 2.0**-64


def _standard_normal(key: Any, shape: Shape, dtype: Dtype) -> Any:
    """Draw by the method of Box and Muller (1958): a radius and an angle.

    The radius is the root of ``-2 ln u``. The resolution of u near zero lets the tails reach 6.7 standard deviations in
    float32 and 9.4 in float64, one draw in 2^33 and in 2^65.
    """
    if dtype == FLOAT32:  # the two words of one block
        block = blocks("normal", key, shape)
        unit = (cast(cast(block >> np.uint64(32), dtype=_UINT32), dtype=dtype) + 0.5) * 2.0**-32
        turn = cast(cast(cast(block, dtype=_UINT32), dtype=_INT32), dtype=dtype) * (math.pi * 2.0**-31)
    else:
        unit = _open_uniform("normal", key, shape, dtype)
        block = blocks("normal", key, shape, SECOND)
        turn = cast(cast(block, dtype=INT64), dtype=dtype) * (math.pi * 2.0**-63)
    return sqrt(-2.0 * log(unit)) * cos(turn)


@advising("wg.random.uniform(key, shape)")
@_continuous(dtype="float64 or float32; u is a multiple of 2^-53 or of 2^-24.")
def uniform(key: Any, shape: Any = None, low: Any = 0.0, high: Any = 1.0, dtype: Any = np.float64) -> Any:
    """Draw from the uniform distribution on [low, high): ``low + (high - low) u``.

    Example:
        >>> from wengert.random import key
        >>> print(uniform(key(0), 3).round(4))
        [0.4185 0.2163 0.9653]
    """
    shape, dtype, (lowest, highest) = _parameters("uniform", shape, dtype, low, high)
    unit = _standard_uniform("uniform", key, shape, dtype)
    if type(low) in (int, float) and type(high) in (int, float) and (low, high) == (0, 1):
        return unit
    return lowest + (highest - lowest) * unit


@advising("wg.random.normal(key, shape)")
@_continuous()
def normal(
    key: Any, shape: Any = None, mean: Any = 0.0, deviation: Any = 1.0, dtype: Any = np.float64
) -> Any:
    """Draw from the normal distribution: ``mean + deviation z``.

    Example:
        >>> from wengert.random import key
        >>> z = normal(key(0), 10_000, mean=2.0, deviation=0.5)
        >>> print(np.mean(z).round(1), np.std(z).round(1))
        2.0 0.5
    """
    shape, dtype, (mean, deviation) = _parameters("normal", shape, dtype, mean, deviation)
    return mean + deviation * _standard_normal(key, shape, dtype)


@_continuous()
def exponential(key: Any, shape: Any = None, scale: Any = 1.0, dtype: Any = np.float64) -> Any:
    """Draw from the exponential distribution with a given mean: ``-scale ln u``.

    Example:
        >>> from wengert.random import key
        >>> print(np.mean(exponential(key(0), 100_000, scale=3.0)).round(1))
        3.0
    """
    shape, dtype, (scale,) = _parameters("exponential", shape, dtype, scale)
    return -log(_open_uniform("exponential", key, shape, dtype)) * scale


@_continuous(shape="the shape of the result.")
def gumbel(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw from the standard Gumbel distribution, the limit of the maximum of many exponential draws.

    The numbers are ``-ln(-ln(1 - u))``. The largest of ``logits + gumbel`` is at i with probability
    ``softmax(logits)[i]``.

    Example:
        >>> from wengert.random import key
        >>> print(np.mean(gumbel(key(0), 100_000)).round(1))  # Euler's constant
        0.6
    """
    dtype = _float_dtype("gumbel", dtype)
    u = _open_uniform("gumbel", key, shape_for("gumbel", shape), dtype)
    u = minimum(u, 1 - float(np.finfo(dtype).epsneg))  # ln(1 - u) has a pole at 1
    return -log(-log1p(-u))


# -- truth values and integers ---------------------------------------------------------------------------


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """Draw truth values that are true with a given probability.

    Args:
        key: a key: see `key`, `split` and `fold_in`.
        p: the probability, which broadcasts to the shape; multiples of 2^-53 are exact.
        shape: the shape of the result; by default that of p.

    Returns:
        bool.

    Raises:
        ArgumentError: a probability is not in [0, 1].
        ShapeError: p does not broadcast to the shape.

    Example:
        >>> from wengert.random import key
        >>> print(np.mean(bernoulli(key(0), 0.25, 10_000)).round(2))
        0.25
    """
    p = operand(p)
    values = concrete(p)
    if values is not None and not np.all((np.asarray(values) >= 0) & (np.asarray(values) <= 1)):
        raise ArgumentError(message("bernoulli", "probabilities must lie in [0, 1]", str(values)))
    shape = shape_for("bernoulli", shape, p)
    return less(_standard_uniform("bernoulli", key, shape, FLOAT64), cast(p, dtype=FLOAT64))


def _product(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the upper and the lower half of the product of two 64-bit numbers."""
    x1, x0, y1, y0 = x >> _HALF, x & _LOW, y >> _HALF, y & _LOW
    low, left, right = x0 * y0, x1 * y0, x0 * y1
    middle = (low >> _HALF) + (left & _LOW) + (right & _LOW)
    upper = x1 * y1 + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF)
    return upper, middle << _HALF | low & _LOW


def _below(key: Any, shape: Shape, span: Any) -> Any:
    """Draw from 0 ... span - 1: the integral part of span times a fraction of 128 bits.

    The probabilities of any two numbers differ by at most one part in 2^64.
    """
    upper, lower = _product(blocks("randint", key, shape), span)
    carried = _product(blocks("randint", key, shape, SECOND), span)[0]
    return upper + cast(less(lower + carried, lower), dtype=UINT64)


def _check_interval(low: Any, high: Any, dtype: Dtype) -> None:
    bounds = [bound if isinstance(bound, int) else concrete(operand(bound)) for bound in (low, high)]
    if any(bound is None for bound in bounds):
        return
    lowest, highest = (np.asarray(bound, dtype=object) for bound in bounds)
    limits, got = np.iinfo(dtype), f"{low}, {high}"
    if np.any(lowest >= highest):
        raise ArgumentError(message("randint", "low must be below high", got))
    if np.any(lowest < limits.min) or np.any(highest - 1 > limits.max):
        raise ArgumentError(message("randint", f"the numbers must be of {dtype}", got))
    if np.any(highest - lowest >= 2**64):
        requirement = "the interval must hold fewer than 2^64 numbers"
        raise ArgumentError(message("randint", requirement, got, "use wg.random.bits"))


def randint(key: Any, shape: Any, low: Any, high: Any, dtype: Any = np.int64) -> Any:
    """Draw integers from low, low + 1, ..., high - 1, with equal probabilities.

    Args:
        key: a key: see `key`, `split` and `fold_in`.
        shape: the shape of the result; None means that of the bounds.
        low: the lowest number, which broadcasts to the shape.
        high: one more than the highest, likewise. If traced bounds leave no number, the result is ``low``.
        dtype: any integer dtype.

    Returns:
        Integers of the dtype.

    Raises:
        ArgumentError: low is not below high, or the dtype does not hold the numbers.
        DtypeError: the bounds or the dtype are not integers.
        ShapeError: the bounds do not broadcast to the shape.

    Example:
        >>> from wengert.random import key
        >>> print(randint(key(0), 6, 1, 7))
        [3 2 6 4 4 3]
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "iu":
        raise DtypeError(message("randint", "an integer dtype is required", str(dtype)))
    shape = shape_for("randint", shape, low, high)
    first, end = unsigned("randint", low), unsigned("randint", high)
    _check_interval(low, high, dtype)
    with np.errstate(over="ignore"):  # NumPy warns where a scalar wraps
        span = end - first
        # Compare the bounds themselves: as uint64, negative numbers are large.
        empty = np.less_equal(high, low)
        return cast(first + _below(key, shape, where(empty, np.uint64(1), span)), dtype=dtype)


# -- orders and elements ---------------------------------------------------------------------------------


def permutation(key: Any, x: Any, axis: int = 0) -> Any:
    """Return an array, or the integers below a number, in random order.

    Args:
        key: a key: see `key`, `split` and `fold_in`.
        x: an array, or an integer n that stands for ``arange(n)``.
        axis: the axis whose slices are reordered.

    Returns:
        The array with its slices in random order.

    Raises:
        ArgumentError: the integer is negative.
        IndexingError: the array does not have the axis.

    Example:
        >>> from wengert.random import key
        >>> print(np.sort(permutation(key(0), 5)))
        [0 1 2 3 4]
    """
    if not is_array(x) or shape_of(x) == ():
        return _order("permutation", key, _count("permutation", x))
    x = operand(x)
    axis = axis_index("permutation", axis, len(shape_of(x)))
    return take(x, _order("permutation", key, shape_of(x)[axis]), axis)


def _count(operation: str, n: Any) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        raise DtypeError(message(operation, "an integer or an array is required", show(n))) from None
    if count < 0:
        raise ArgumentError(message(operation, "the number of elements must be >= 0", str(count)))
    return count


def _order(operation: str, key: Any, count: int) -> Any:
    return argsort(blocks(operation, key, (count,)), axis=0)


def _probabilities(p: Any, count: int) -> Any:
    p = operand(p)
    if shape_of(p) != (count,):
        raise ShapeError(message("choice", f"one probability for each of {count} is required", show(p)))
    values = concrete(p)
    if values is not None and not (np.all(np.asarray(values) >= 0) and abs(np.sum(values) - 1) < 1e-6):
        raise ArgumentError(message("choice", "probabilities must be >= 0 and sum to 1", str(values)))
    return floating(p)


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """Choose elements at random.

    Args:
        key: a key: see `key`, `split` and `fold_in`.
        a: an array, or an integer n that stands for ``arange(n)``.
        shape: the shape of the choices.
        replace: whether an element may be chosen more than once.
        p: the probability of each element; by default they are equal.
        axis: the axis whose slices are the elements.

    Returns:
        The elements, with the axes of ``shape`` in the place of their axis.

    Raises:
        ArgumentError: probabilities are negative or do not sum to 1, or there are fewer elements than choices.
        ShapeError: the numbers of probabilities and elements differ.

    Example:
        >>> from wengert.random import key
        >>> print(choice(key(0), np.array(["a", "b"]) == "a", 3).dtype)
        bool
    """
    is_range = not is_array(a) or shape_of(a) == ()
    axis = 0 if is_range else axis_index("choice", axis, len(shape_of(operand(a))))
    count = _count("choice", a) if is_range else shape_of(operand(a))[axis]
    shape = shape_for("choice", shape)
    if size(shape) > count and not (replace and count):
        hint = "replace=True may choose an element again" if count else ""
        raise ArgumentError(message("choice", f"there are {count} elements", str(shape), hint))
    positions = _positions(key, count, shape, replace, None if p is None else _probabilities(p, count))
    return positions if is_range else take(operand(a), positions, axis)


def _positions(key: Any, count: int, shape: Shape, replace: bool, p: Any) -> Any:
    if not replace:
        order = _order("choice", key, count) if p is None else _weighted_order(key, count, p)
        return np.reshape(order[: size(shape)], shape)
    if p is None:
        return randint(key, shape, 0, count) if size(shape) else np.zeros(shape, INT64)
    sums = np.cumsum(p)
    drawn = _standard_uniform("choice", key, shape, FLOAT64) * sums[-1]
    return minimum(searchsorted(sums, drawn, side="right"), count - 1)


def _weighted_order(key: Any, count: int, p: Any) -> Any:
    with np.errstate(divide="ignore"):
        logits = log(p)
    return argsort(-(logits + gumbel(key, count)), axis=0)


def categorical(key: Any, logits: Any, shape: Any = None, axis: int = -1) -> Any:
    """Draw positions with the probabilities ``softmax(logits)``, by the largest of ``logits + gumbel``.

    Args:
        key: a key: see `key`, `split` and `fold_in`.
        logits: logarithms of probabilities, which need not sum to 1; -inf is never drawn.
        shape: the shape of the result, to which that of the logits without the axis broadcasts; by default the latter.
        axis: the axis of the alternatives.

    Returns:
        int64: positions along the axis.

    Example:
        >>> from wengert.random import key
        >>> print(categorical(key(0), np.log([0.1, 0.2, 0.7]), 8))
        [1 2 2 2 2 2 2 2]
    """
    logits = floating(operand(logits))
    if shape_of(logits) == ():
        raise ShapeError(message("categorical", "there must be an axis of alternatives", show(logits)))
    logits = moveaxis(logits, axis_index("categorical", axis, len(shape_of(logits))), -1)
    *rows, count = shape_of(logits)
    if not count:
        raise ShapeError(message("categorical", "there must be an alternative", show(logits)))
    shape = shape_for("categorical", shape, np.broadcast_to(BOOL.type(0), tuple(rows)))
    return np.argmax(logits + gumbel(key, (*shape, count), dtype_of(logits)), axis=-1)
