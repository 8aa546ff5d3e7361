"""Draws of truth values, integers, orders and elements."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.boxes import concrete
from wengert.core.dtypes import BOOL, FLOAT64, INT64, Dtype, dtype_of
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import Shape, axis_index, shape_of, size
from wengert.ir.types import show
from wengert.numpy.registry import floating, is_array
from wengert.numpy.selecting import take
from wengert.numpy.shaping import moveaxis
from wengert.numpy.sorting import searchsorted
from wengert.ops.arithmetic import minimum
from wengert.ops.comparison import less, where
from wengert.ops.conversion import cast
from wengert.ops.exponential import log
from wengert.ops.random import UINT64
from wengert.ops.reduction import argsort
from wengert.random.continuous import gumbel, standard_uniform
from wengert.random.keys import SECOND, blocks, shape_for, unsigned

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """Draw truth values that hold with a probability.

    Args:
        key: of `key`, `split` or `fold_in`.
        p: the probability, which broadcasts to the shape; multiples of 2^-53 are exact.
        shape: of the result; by default that of p.

    Raises:
        ArgumentError: a probability lies outside of [0, 1].
        ShapeError: p does not broadcast to the shape.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> print(np.mean(bernoulli(key(0), 0.25, 10_000)).round(2))
        0.25
    """
    p = operand(p)
    known = concrete(p)
    if known is not None and not np.all((np.asarray(known) >= 0) & (np.asarray(known) <= 1)):
        raise ArgumentError(message("bernoulli", "probabilities must lie in [0, 1]", str(known)))
    shape = shape_for("bernoulli", shape, p)
    return less(standard_uniform("bernoulli", key, shape, FLOAT64), cast(p, dtype=FLOAT64))


# -- integers --------------------------------------------------------------------------------------------


def _product(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the upper and the lower half of the product of two 64-bit numbers."""
    x1, x0, y1, y0 = x >> _HALF, x & _LOW, y >> _HALF, y & _LOW
    low, left, right = x0 * y0, x1 * y0, x0 * y1
    middle = (low >> _HALF) + (left & _LOW) + (right & _LOW)
    upper = x1 * y1 + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF)
    return upper, middle << _HALF | low & _LOW


def _below(key: Any, shape: Shape, span: Any) -> Any:
    """Draw from 0 ... span - 1: the integral part of span times a fraction of 128 bits.

    No number is more likely than another by more than one part in 2^64.
    """
    upper, lower = _product(blocks("randint", key, shape), span)
    carried = _product(blocks("randint", key, shape, SECOND), span)[0]
    return upper + cast(less(lower + carried, lower), dtype=UINT64)


def _check_bounds(low: Any, high: Any, dtype: Dtype) -> None:
    bounds = [one if isinstance(one, int) else concrete(operand(one)) for one in (low, high)]
    if any(bound is None for bound in bounds):
        return
    lowest, highest = (np.asarray(bound, dtype=object) for bound in bounds)
    limits = np.iinfo(dtype)
    if np.any(lowest >= highest):
        raise ArgumentError(message("randint", "low must be below high", f"{low}, {high}"))
    if np.any(lowest < limits.min) or np.any(highest - 1 > limits.max):
        raise ArgumentError(message("randint", f"the numbers must be of {dtype}", f"{low}, {high}"))
    if np.any(highest - lowest >= 2**64):
        raise ArgumentError(message("randint", "there is nothing to choose", hint="use wg.random.bits"))


def randint(key: Any, shape: Any, low: Any, high: Any, dtype: Any = np.int64) -> Any:
    """Draw integers from low, low + 1, ..., high - 1, each as likely as any other.

    Args:
        key: of `key`, `split` or `fold_in`.
        shape: of the result; None is that of the bounds.
        low: the lowest number, which broadcasts to the shape.
        high: one more than the highest, likewise. Where it is known at run time only that there is none, low is drawn.
        dtype: any integer dtype.

    Raises:
        ArgumentError: low is not below high, or the numbers are none of the dtype.
        DtypeError: bounds that are no integers, or no integer dtype.
        ShapeError: the bounds do not broadcast to the shape.

    Example:
        >>> from wengert.random import key
        >>> print(randint(key(0), 6, 1, 7))
        [3 2 6 4 4 3]
    """
    wanted: Dtype = np.dtype(dtype)
    if wanted.kind not in "iu":
        raise DtypeError(message("randint", "an integer dtype is required", str(wanted)))
    shape = shape_for("randint", shape, low, high)
    first, end = unsigned("randint", low), unsigned("randint", high)
    _check_bounds(low, high, wanted)
    with np.errstate(over="ignore"):  # NumPy warns where a scalar wraps
        span = end - first
        # The numbers are signed unless the bounds are not: compare them as what they are.
        empty = np.less_equal(high, low)
        return cast(first + _below(key, shape, where(empty, np.uint64(1), span)), dtype=wanted)


# -- orders and elements ---------------------------------------------------------------------------------


def permutation(key: Any, x: Any, axis: int = 0) -> Any:
    """Return an array, or the integers below a number, in random order.

    Args:
        key: of `key`, `split` or `fold_in`.
        x: an array, or an integer n that stands for ``arange(n)``.
        axis: the axis along which slices change places.

    Raises:
        ArgumentError: a negative integer.
        IndexingError: there is no such axis.

    Example:
        >>> import numpy as np
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
        raise ArgumentError(message(operation, "there cannot be fewer than 0 elements", str(count)))
    return count


def _order(operation: str, key: Any, count: int) -> Any:
    return argsort(blocks(operation, key, (count,)), axis=0)


def _probabilities(p: Any, count: int) -> Any:
    p = operand(p)
    if shape_of(p) != (count,):
        raise ShapeError(message("choice", f"one probability for each of {count} is required", show(p)))
    known = concrete(p)
    if known is not None and not (np.all(np.asarray(known) >= 0) and abs(np.sum(known) - 1) < 1e-6):
        raise ArgumentError(message("choice", "probabilities must be >= 0 and sum to 1", str(known)))
    return floating(p)


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """Choose elements at random.

    Args:
        key: of `key`, `split` or `fold_in`.
        a: an array, or an integer n that stands for ``arange(n)``.
        shape: of the choices.
        replace: whether an element may be chosen more than once.
        p: the probability of each element; by default they are equal.
        axis: the axis whose slices are the elements.

    Returns:
        The elements, their axis replaced by the axes of ``shape``.

    Raises:
        ArgumentError: probabilities that are negative or do not sum to 1; more elements than there are.
        ShapeError: not as many probabilities as elements.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> print(choice(key(0), np.array(["a", "b"]) == "a", 3).dtype)
        bool
    """
    whole = not is_array(a) or shape_of(a) == ()
    axis = 0 if whole else axis_index("choice", axis, len(shape_of(operand(a))))
    count = _count("choice", a) if whole else shape_of(operand(a))[axis]
    shape = shape_for("choice", shape)
    if size(shape) > count and not (replace and count):
        hint = "replace=True may choose one again" if count else ""
        raise ArgumentError(message("choice", f"there are {count} elements", str(shape), hint))
    positions = _positions(key, count, shape, replace, None if p is None else _probabilities(p, count))
    return positions if whole else take(operand(a), positions, axis)


def _positions(key: Any, count: int, shape: Shape, replace: bool, p: Any) -> Any:
    if not replace and p is None:
        return np.reshape(_order("choice", key, count)[: size(shape)], shape)
    if not replace:
        with np.errstate(divide="ignore"):
            logits = log(p)
        return np.reshape(argsort(-(logits + gumbel(key, count)), axis=0)[: size(shape)], shape)
    if p is None:
        return randint(key, shape, 0, count) if size(shape) else np.zeros(shape, INT64)
    sums = np.cumsum(p)
    drawn = standard_uniform("choice", key, shape, FLOAT64) * sums[-1]
    return minimum(searchsorted(sums, drawn, side="right"), count - 1)


def categorical(key: Any, logits: Any, shape: Any = None, axis: int = -1) -> Any:
    """Draw positions with the probabilities ``softmax(logits)``, by the largest of ``logits + gumbel``.

    Args:
        key: of `key`, `split` or `fold_in`.
        logits: logarithms of probabilities, which need not sum to 1; -inf is never drawn.
        shape: of the result; by default that of the logits without the axis, and such that it broadcasts to it.
        axis: the axis of the alternatives.

    Returns:
        int64: positions along the axis.

    Example:
        >>> import numpy as np
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
