"""Choice of elements: `where`, `select`, `clip`, `take` and their kind, triangles and diagonals."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from wengert.array import indexing
from wengert.array.array import operand
from wengert.boxes import concrete
from wengert.core.dtypes import BOOL, INT64, dtype_of, is_float
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import axis_index, broadcast, shape_of, size
from wengert.ir.types import is_weak, promote, show, type_of
from wengert.numpy.diagonals import diagonal
from wengert.numpy.joining import stack
from wengert.numpy.registry import check_axes, implements, is_array, is_box, known, rank_of, refuse, strong
from wengert.numpy.shaping import ravel
from wengert.ops.arithmetic import maximum, minimum, positive, remainder
from wengert.ops.comparison import not_equal, where
from wengert.ops.indexing import check_bounds, gather
from wengert.ops.shape import broadcast_to, embed, reshape

_MASK_HINT = "write np.where(mask, x, 0), whose shape does not depend on the mask"


def _condition(value: Any) -> Any:
    value = operand(value)
    return value if dtype_of(value) == BOOL else not_equal(value, 0)


@implements(np.where)
def where_(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Choose between two values, as `np.where`; the derivative of the value not taken never counts.

    With the condition alone: the positions where it holds, which need concrete values.
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ArgumentError(message("where", "either both or neither of x and y must be given"))
    chosen = where(_condition(condition), operand(x), operand(y))
    return strong(chosen) if is_weak(chosen) else chosen


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Choose the first value whose condition holds, as `np.select`."""
    if len(condlist) != len(choicelist) or not len(condlist):
        got = f"{len(condlist)} and {len(choicelist)}"
        raise ArgumentError(
            message("select", "there must be as many conditions as choices, at least one", got)
        )
    conditions, choices = [operand(one) for one in condlist], [operand(one) for one in choicelist]
    if any(dtype_of(one) != BOOL for one in conditions):
        raise DtypeError(message("select", "conditions must be booleans", show(*conditions)))
    values = [*choices, operand(default)]
    dtype = promote(*map(type_of, values))[0]
    *choices, result = (strong(one, dtype) for one in values)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return result


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Evaluate a function where its condition holds, as `np.piecewise`; of several conditions the last counts.

    A function is called with the elements that it is for; with all of them where the conditions are not concrete,
    or the value is a number.
    """
    conditions: list[Any] = list(condlist) if rank_of(condlist[0]) or not rank_of(x) else [condlist]
    conditions = [_condition(one) for one in conditions]
    if len(funclist) == len(conditions) + 1:
        conditions.append(np.logical_not(reduce(np.logical_or, conditions)))
    if len(funclist) != len(conditions):
        got = f"{len(conditions)} conditions and {len(funclist)} functions"
        raise ArgumentError(
            message("piecewise", "each condition needs a function, and one more may follow", got)
        )
    result = np.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result = where(condition, strong(operand(function), dtype_of(x)), result)
        elif concrete(condition) is None or not rank_of(x):
            result = where(condition, strong(function(x, *args, **kw), dtype_of(x)), result)
        elif np.any(mask := concrete(condition)):
            chosen = np.nonzero(np.broadcast_to(mask, shape_of(x)))
            result[chosen] = function(x[chosen], *args, **kw)
    return result


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Choose among arrays by number, as `np.choose`."""
    refuse("np.choose", out)
    options = [operand(one) for one in choices]
    count = len(options)
    numbers = _wrapped("choose", operand(a), count, mode)
    if mode == "raise":  # here nothing counts from the end
        requirement = f"numbers must lie in [0, {count}), as there are {count} choices"
        numbers = check_bounds(numbers, count=count, operation="choose", requirement=requirement)
    shape = broadcast("choose", shape_of(numbers), *map(shape_of, options))
    dtype = promote(*map(type_of, options))[0]
    stacked = stack([broadcast_to(strong(one, dtype), shape=shape) for one in options])
    numbers = broadcast_to(numbers, shape=shape)
    grids = np.indices(shape, sparse=True)
    return gather(stacked, numbers, *grids)


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    **kwargs: Any,
) -> Any:
    """Keep values between bounds, as `np.clip`.

    At a bound, value and bound each get half of the derivative, as for `np.maximum`.
    """
    refuse("np.clip", out, **kwargs)
    low, high = _one_bound("a_min", a_min, "min", min), _one_bound("a_max", a_max, "max", max)
    result = operand(a)
    if dtype_of(result).kind in "iu":  # a Python integer out of the dtype's range is no bound at all
        limits = np.iinfo(dtype_of(result))
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
        low, high = _within_limits(low, limits), _within_limits(high, limits)
    if low is None and high is None:
        return strong(positive(result))
    if low is not None:
        result = maximum(result, operand(low))
    if high is not None:
        result = minimum(result, operand(high))
    return strong(result)


def _one_bound(name: str, bound: Any, other: str, same: Any) -> Any:
    """Return a bound that has two names."""
    if bound is not None and same is not None:
        raise ArgumentError(message("clip", f"{name} and {other} are one bound", "both"))
    return same if bound is None else bound


def _within_limits(bound: Any, limits: Any) -> Any:
    """Return a bound, of which a Python integer that only a call knows is moved into the dtype's range."""
    if is_box(bound) and bound.weak and bound.dtype == INT64 != limits.dtype:
        return minimum(maximum(bound, max(int(limits.min), -(2**63))), min(int(limits.max), 2**63 - 1))
    return bound


# -- elements at positions -------------------------------------------------------------------------------


def _wrapped(operation: str, indices: Any, extent: int, mode: str) -> Any:
    """Return indices inside the extent: checked, wrapped around or clipped."""
    if is_float(dtype_of(indices)):
        raise DtypeError(message(operation, "indices must be integers", show(indices), "write i.astype(int)"))
    indices = strong(
        indexing.signed(indices) if mode == "raise" else indices, INT64
    )  # also of truth values, and an extent may be none of few bits
    if mode == "wrap":
        return remainder(indices, extent)
    if mode == "clip":
        return minimum(maximum(indices, 0), extent - 1)
    if mode != "raise":
        raise ArgumentError(message(operation, 'mode must be "raise", "wrap" or "clip"', repr(mode)))
    return indices


def _integers(indices: Any) -> Any:
    """Return indices as an array or a box; an empty list holds integers."""
    if is_array(indices):
        return indices
    array = operand(indices)
    return strong(array, INT64) if not size(shape_of(array)) else array


@implements(np.take)
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    """Return the elements at positions along an axis, as `np.take`."""
    refuse("np.take", out)
    a, indices = operand(a), _integers(indices)
    if axis is None:
        a, axis = reshape(a, shape=(size(shape_of(a)),)), 0
    axis = axis_index("take", axis, rank_of(a))
    shape = shape_of(a)
    wrapped = _wrapped("take", indices, shape[axis], mode)
    if not rank_of(wrapped) and not is_box(wrapped):
        wrapped = operator.index(wrapped)
    return indexing.take(a, indexing.parse(shape, (slice(None),) * axis + (wrapped,)))


def _grids(operation: str, shape: Sequence[int], indices: Any, axis: int) -> tuple[Any, ...]:
    """Return the index that meets ``indices`` along an axis, and runs along all others."""
    rank = len(shape)
    if rank_of(indices) != rank:
        got = f"{show(indices)} for an array of {rank} axes"
        raise ShapeError(message(operation, "indices must have as many axes as the array", got))
    grids: list[Any] = [
        np.arange(extent).reshape((*(1,) * one, extent, *(1,) * (rank - one - 1)))
        for one, extent in enumerate(shape)
    ]
    grids[axis] = indices
    return tuple(grids)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Return the elements at positions along an axis, different for each line, as `np.take_along_axis`."""
    arr, indices = operand(arr), _integers(indices)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_index("take_along_axis", axis, rank_of(arr))
    shape = shape_of(arr)
    return indexing.take(arr, indexing.parse(shape, _grids("take_along_axis", shape, indices, axis)))


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write at positions along an axis, different for each line, as `np.put_along_axis`."""
    if not is_box(arr):  # which boxes of integers alone may say where and what
        np.put_along_axis(arr, np.asarray(indices), np.asarray(values), axis)
        return
    target = ravel(arr) if axis is None else arr
    axis = axis_index("put_along_axis", 0 if axis is None else axis, rank_of(target))
    target[_grids("put_along_axis", shape_of(target), _integers(indices), axis)] = values


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """Return the parts along an axis where a condition holds, as `np.compress`."""
    refuse("np.compress", out)
    check_axes("compress", axis, a)
    if rank_of(condition := operand(condition)) != 1:
        requirement, hint = "the condition must have one axis", "np.extract takes any"
        raise ShapeError(message("compress", requirement, show(condition), hint))
    return take(a, np.flatnonzero(known("compress", condition, _MASK_HINT)), axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """Return the elements where a condition holds, as `np.extract`."""
    return take(arr, np.flatnonzero(known("extract", operand(condition), _MASK_HINT)))


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[Any, ...]:
    """Return the positions of elements that are not zero, as `np.nonzero`; values must be concrete."""
    return np.nonzero(known("nonzero", a, _MASK_HINT))


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    """Return the positions of elements that are not zero as rows, as `np.argwhere`; values must be concrete."""
    return np.argwhere(known("argwhere", a, _MASK_HINT))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """Return the flat positions of elements that are not zero, as `np.flatnonzero`; values must be concrete."""
    return np.flatnonzero(known("flatnonzero", a, _MASK_HINT))


# -- triangles and diagonals -----------------------------------------------------------------------------


def _triangle(m: Any, mask: Any) -> Any:
    return where(mask, m, dtype_of(m).type(0))


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """Return the lower triangle, zeros elsewhere, as `np.tril`."""
    m = operand(m)
    shape = shape_of(m)
    return _triangle(m, np.tri(*(shape[-2:] if len(shape) > 1 else 2 * shape), k=k, dtype=bool))


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """Return the upper triangle, zeros elsewhere, as `np.triu`."""
    m = operand(m)
    shape = shape_of(m)
    return _triangle(m, ~np.tri(*(shape[-2:] if len(shape) > 1 else 2 * shape), k=k - 1, dtype=bool))


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix with a diagonal, as `np.diag`."""
    v = operand(v)
    if rank_of(v) == 2:
        return diagonal(v, k)
    if rank_of(v) != 1:
        raise ShapeError(message("diag", "one or two axes are required", show(v)))
    (count,) = shape_of(v)
    extent = count + abs(k)
    start = k if k >= 0 else -k * extent
    flat = embed(v, shape=(extent * extent,), index=((start if count else 0, count, extent + 1),))
    return reshape(flat, shape=(extent, extent))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """Return the matrix with the flattened input as a diagonal, as `np.diagflat`."""
    return diag(ravel(operand(v)), k)
