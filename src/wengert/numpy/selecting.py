"""Selection of elements: `where`, `select`, `clip`, `take`, triangles, diagonals, windows, and lines along an axis."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from wengert.engine.array import indexing
from wengert.engine.array.array import operand
from wengert.engine.boxes import concrete, selecting
from wengert.engine.core.dtypes import BOOL, INT64, check_plain, dtype_of, is_complex, is_float
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import axis_index, broadcast, shape_of, size
from wengert.engine.ir.types import is_weak, promote, show, type_of
from wengert.engine.memory import jointly, lay_like, placed
from wengert.engine.ops.arithmetic import maximum, minimum, positive, remainder
from wengert.engine.ops.comparison import not_equal, where
from wengert.engine.ops.contraction import along, contract
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.indexing import check_bounds, gather
from wengert.engine.ops.shape import broadcast_to, embed, reshape
from wengert.numpy.joining import stack
from wengert.numpy.registry import (
    check_axes,
    implements,
    integers,
    is_array,
    is_box,
    known,
    rank_of,
    refuse,
    strong,
)
from wengert.numpy.shaping import diagonal, moveaxis, ravel, read_only_view

_MASK_HINT = "write np.where(mask, x, 0), whose shape does not depend on the mask"


def _condition(value: Any) -> Any:
    value = operand(value)
    return value if dtype_of(value) == BOOL else not_equal(value, 0)


@implements(np.where)
def where_(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """The value not taken has no part in the derivative, even where its slope is infinite or NaN."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ArgumentError(message("where", "either both or neither of x and y must be given"))
    chosen = where(_condition(condition), operand(x), operand(y))
    return strong(chosen) if is_weak(chosen) else chosen


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not len(condlist):
        requirement = "there must be as many conditions as choices, at least one"
        raise ArgumentError(message("select", requirement, f"{len(condlist)} and {len(choicelist)}"))
    conditions, choices = list(map(operand, condlist)), list(map(operand, choicelist))
    if any(dtype_of(condition) != BOOL for condition in conditions):
        raise DtypeError(message("select", "conditions must be booleans", show(*conditions)))
    values = [*choices, operand(default)]
    dtype = promote(*map(type_of, values))[0]
    *choices, result = (strong(value, dtype) for value in values)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return lay_like(result, result, "C")


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """The last of several conditions that hold counts.

    A function is called with its own elements; with all elements where the conditions are not concrete or the value
    is a number.
    """
    conditions: list[Any] = list(condlist) if rank_of(condlist[0]) or not rank_of(x) else [condlist]
    conditions = [_condition(condition) for condition in conditions]
    if len(funclist) == len(conditions) + 1:
        conditions.append(np.logical_not(reduce(np.logical_or, conditions)))
    if len(funclist) != len(conditions):
        got = f"{len(conditions)} conditions and {len(funclist)} functions"
        requirement = "each condition needs a function, and one more may follow"
        raise ArgumentError(message("piecewise", requirement, got))
    result = np.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result = where(condition, strong(operand(function), dtype_of(x)), result)
        elif concrete(condition) is None or not rank_of(x):
            result = where(condition, strong(function(x, *args, **kw), dtype_of(x)), result)
        elif np.any(mask := concrete(condition)):
            chosen = np.nonzero(np.broadcast_to(mask, shape_of(x)))
            result[chosen] = function(x[chosen], *args, **kw)
    return lay_like(result, x)


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    options = list(map(operand, choices))
    check_plain("choose", a)
    count = len(options)
    numbers = in_mode("choose", operand(a), count, mode)
    if mode == "raise":  # `choose` takes no negative numbers
        requirement = f"numbers must lie in [0, {count}), as there are {count} choices"
        numbers = check_bounds(numbers, count=count, operation="choose", requirement=requirement)
    shape = broadcast("choose", shape_of(numbers), *map(shape_of, options))
    dtype = promote(*map(type_of, options))[0]
    stacked = stack([broadcast_to(strong(option, dtype), shape=shape) for option in options])
    return gather(stacked, broadcast_to(numbers, shape=shape), *np.indices(shape, sparse=True))


@implements(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **kwargs: Any
) -> Any:  # fmt: skip
    """At a bound, the value and the bound get half of the derivative each, as for `np.maximum`."""
    dtype = kwargs.pop("dtype", None)
    refuse("np.clip", **{name: kwargs[name] for name in kwargs if name not in ("order", "casting", "subok")})
    if dtype is not None and not is_complex(np.dtype(dtype)):
        check_real("clip", a := operand(a))
    a = operand(a) if dtype is None else strong(operand(a), dtype)
    low, high = _bound("a_min", a_min, "min", min), _bound("a_max", a_max, "max", max)
    result = operand(a)
    if dtype_of(result).kind in "iu":  # a Python integer beyond the dtype's range does not bound
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
    result = placed(jointly, result, [x for x in (a, low, high) if is_array(x)], {})
    return strong(result, dtype)


def _bound(name: str, bound: Any, alias: str, same: Any) -> Any:
    """Return a bound that has two names."""
    if bound is not None and same is not None:
        raise ArgumentError(message("clip", f"{name} and {alias} are one bound", "both"))
    return same if bound is None else bound


def _within_limits(bound: Any, limits: Any) -> Any:
    """Return a bound; a Python integer whose value only a call knows is clipped to the dtype's range."""
    if is_box(bound) and bound.weak and bound.dtype == INT64 != limits.dtype:
        return minimum(maximum(bound, max(int(limits.min), -(2**63))), min(int(limits.max), 2**63 - 1))
    return bound


# -- elements at positions -------------------------------------------------------------------------------


def in_mode(operation: str, indices: Any, extent: int, mode: str) -> Any:
    """Return indices wrapped around or clipped to the extent, or as they are for ``mode="raise"``."""
    if is_float(dtype_of(indices)):
        raise DtypeError(message(operation, "indices must be integers", show(indices), "write i.astype(int)"))
    # Truth values count as integers, and an extent may not fit an integer of few bits.
    indices = strong(indexing.signed(indices) if mode == "raise" else indices, INT64)
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
    """Return the elements at positions along an axis, as `np.take`; a plain array takes traced positions, too.

    Example:
        >>> import wengert as wg
        >>> wg.vmap(lambda i: wg.numpy.take(np.array([1.0, 4.0, 9.0]), i))(np.array([2, 0]))
        array([9., 1.])
    """
    a, indices = operand(a), _integers(indices)
    if axis is None:
        a, axis = reshape(a, shape=(size(shape_of(a)),)), 0
    axis = axis_index("take", axis, rank_of(a))
    shape = shape_of(a)
    indices = in_mode("take", indices, shape[axis], mode)
    if not rank_of(indices) and not is_box(indices):
        indices = operator.index(indices)
    return indexing.take(a, indexing.parse(shape, (slice(None),) * axis + (indices,)))


def _grids(operation: str, shape: Sequence[int], indices: Any, axis: int) -> tuple[Any, ...]:
    """Return an index that has ``indices`` for an axis, and runs along all others."""
    rank = len(shape)
    if rank_of(indices) != rank:
        got = f"{show(indices)} for an array of {rank} axes"
        raise ShapeError(message(operation, "indices must have as many axes as the array", got))
    grids: list[Any] = [
        np.arange(extent).reshape((*(1,) * dim, extent, *(1,) * (rank - dim - 1)))
        for dim, extent in enumerate(shape)
    ]
    grids[axis] = indices
    return tuple(grids)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    arr, indices = operand(arr), _integers(indices)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_index("take_along_axis", axis, rank_of(arr))
    shape = shape_of(arr)
    return indexing.take(arr, indexing.parse(shape, _grids("take_along_axis", shape, indices, axis)))


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    if not is_box(arr):  # boxes of known integers can be the indices and values of a plain array
        np.put_along_axis(arr, np.asarray(indices), np.asarray(values), axis)
        return
    target = ravel(arr) if axis is None else arr
    axis = axis_index("put_along_axis", 0 if axis is None else axis, rank_of(target))
    target[_grids("put_along_axis", shape_of(target), _integers(indices), axis)] = values


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    check_axes("compress", axis, a)
    if rank_of(condition := operand(condition)) != 1:
        requirement, hint = "the condition must have one axis", "np.extract takes any"
        raise ShapeError(message("compress", requirement, show(condition), hint))
    return take(a, np.flatnonzero(known("compress", condition, _MASK_HINT)), axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    check_plain("extract", condition)
    if selecting() is not None and concrete(condition) is None:
        arr, mask = operand(arr), _condition(condition)
        if not rank_of(arr):
            arr = reshape(arr, shape=(1,))
        return arr[mask if shape_of(mask) == shape_of(arr) else reshape(mask, shape=shape_of(arr))]
    return take(arr, np.flatnonzero(known("extract", operand(condition), _MASK_HINT)))


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[Any, ...]:
    stage = selecting()
    if stage is not None and concrete(a) is None:
        return stage.positions(_condition(a))
    return np.nonzero(known("nonzero", a, _MASK_HINT))


implements(np.argwhere)(lambda a: np.argwhere(known("argwhere", a, _MASK_HINT)))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return nonzero(reshape(operand(a), shape=(size(shape_of(a)),)))[0]


# -- triangles and diagonals -----------------------------------------------------------------------------


def _below(m: Any, k: int) -> Any:
    """Return the mask of the elements at and below a diagonal."""
    shape = shape_of(m)
    return np.tri(*(shape[-2:] if len(shape) > 1 else 2 * shape), k=k, dtype=bool)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    m = operand(m)
    return where(_below(m, k), m, dtype_of(m).type(0))


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    m = operand(m)
    return where(~_below(m, k - 1), m, dtype_of(m).type(0))


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
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


implements(np.diagflat)(lambda v, k=0: diag(ravel(operand(v)), k))


# -- windows and lines -----------------------------------------------------------------------------------


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    x = operand(x)
    if writeable:
        raise ArgumentError(message("sliding_window_view", "windows cannot be written to", "writeable=True"))
    extents, rank = integers(window_shape), rank_of(x)
    named = range(rank) if axis is None else integers(axis)
    axes = [axis_index("sliding_window_view", dim, rank) for dim in named]
    if len(extents) != len(axes):
        requirement = "one extent is required for each axis, of the array or named"
        raise ArgumentError(message("sliding_window_view", requirement, f"{window_shape}, axis={axis}"))
    left = list(shape_of(x))
    for dim, extent in zip(axes, extents, strict=True):
        if not 0 <= extent <= left[dim]:
            requirement = "windows must not be longer than the array, nor of negative extent"
            raise ShapeError(message("sliding_window_view", requirement, f"{window_shape} of {show(x)}"))
        left[dim] -= extent - 1

    def read(base: Any) -> Any:
        for dim, extent in zip(axes, extents, strict=True):
            base = _windows(base, dim, extent)
        return base

    layout: Any = np.lib.stride_tricks.sliding_window_view
    return read_only_view(x, read(x), read, lambda memory: layout(memory, extents, axes))


def _windows(x: Any, axis: int, extent: int) -> Any:
    """Return ``x[i + j]``, where j counts along a new last axis."""
    shape = shape_of(x)
    if dtype_of(x) == BOOL:
        return strong(_windows(strong(x, np.int8), axis, extent), BOOL)
    last = len(shape)
    extents = (*shape[:axis], shape[axis] - extent + 1, *shape[axis + 1 :], extent)
    access = tuple((0, ((axis, 1), (last, 1))) if dim == axis else along(dim) for dim in range(last))
    out = tuple(map(along, range(last + 1)))
    return contract(x, extents=extents, accesses=(access,), out=out, shape=extents)


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr = operand(arr)
    axis = axis_index("apply_along_axis", axis, rank_of(arr))
    lines = moveaxis(arr, axis, -1)
    lead = shape_of(lines)[:-1]
    if 0 in lead:
        raise ShapeError(message("apply_along_axis", "at least one line is required", show(arr)))
    results = [operand(func1d(lines[index], *args, **kwargs)) for index in np.ndindex(lead)]
    rank, shape = rank_of(results[0]), shape_of(results[0])
    result = reshape(stack(results), shape=(*lead, *shape))
    for dim in range(rank):
        result = moveaxis(result, len(lead) + dim, axis + dim)
    return result
