"""Arrays put together: concatenation, stacking, repetition, rotation, padding, insertion."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import axis_index, resolve_reshape, shape_of, size
from wengert.ir.types import show
from wengert.numpy.registry import check_axes, implements, integers, is_sequence, rank_of, refuse, strong
from wengert.numpy.shaping import atleast_1d, atleast_2d, atleast_3d, ravel
from wengert.ops.indexing import gather
from wengert.ops.shape import broadcast_to, concatenate, reshape, slice_, transpose, whole


def _operands(operation: str, arrays: Any, dtype: Any, casting: str) -> list[Any]:
    """Return arrays to be joined, in the dtype that is asked for."""
    found = [operand(one) for one in (arrays if is_sequence(arrays) else operand(arrays))]
    if not found:
        raise ShapeError(message(operation, "at least one array is required"))
    if dtype is None:
        return found
    wanted = np.dtype(dtype)
    for one in found:
        if not np.can_cast(dtype_of(one), wanted, casting):  # pyright: ignore[reportArgumentType]
            raise ArgumentError(message(operation, f"casting={casting!r} does not allow {wanted}", show(one)))
    return [strong(one, wanted) for one in found]


@implements(np.concatenate)
def concatenate_(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Join arrays along an axis, as `np.concatenate`."""
    if out is not None:
        refuse("np.concatenate", out)
    found = _operands("concatenate", arrays, dtype, casting)
    if axis is None:
        found, axis = [ravel(one) for one in found], 0
    return concatenate(*found, axis=axis_index("concatenate", axis, rank_of(found[0])))


@implements(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Join arrays of one shape along a new axis, as `np.stack`."""
    refuse("np.stack", out)
    found = _operands("stack", arrays, dtype, casting)
    shape = shape_of(found[0])
    if any(shape_of(one) != shape for one in found):
        raise ShapeError(message("stack", "all arrays must have the same shape", show(*found)))
    axis = axis_index("stack", axis, len(shape) + 1)
    longer = (*shape[:axis], 1, *shape[axis:])
    return concatenate(*(reshape(one, shape=longer) for one in found), axis=axis)


def _padded(arrays: Any, at_least: Any) -> list[Any]:
    padded = at_least(*arrays)
    return list(padded) if is_sequence(padded) else [padded]


@implements(np.vstack)
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join rows, as `np.vstack`."""
    return concatenate_(_padded(tup, atleast_2d), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join along the second axis, or the only one, as `np.hstack`."""
    found = _padded(tup, atleast_1d)
    return concatenate_(found, 0 if rank_of(found[0]) == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    """Join along the third axis, as `np.dstack`."""
    return concatenate_(_padded(tup, atleast_3d), 2)


@implements(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    """Join vectors as columns, as `np.column_stack`."""
    columns = [
        reshape(one, shape=(size(shape_of(one)), 1)) if rank_of(one) < 2 else one for one in map(operand, tup)
    ]
    return concatenate_(columns, 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    """Join nested lists of blocks, the innermost along the last axis, as `np.block`."""

    def depth(nested: Any) -> int:
        return 1 + max(map(depth, nested)) if is_sequence(nested) else 0

    def highest(nested: Any) -> int:
        return max(map(highest, nested)) if is_sequence(nested) else rank_of(operand(nested))

    def joined(nested: Any, level: int) -> Any:
        if is_sequence(nested):
            return concatenate_([joined(one, level - 1) for one in nested], rank - level)
        value = operand(nested)
        return reshape(value, shape=(1,) * (rank - rank_of(value)) + shape_of(value))

    levels = depth(arrays)
    rank = max(highest(arrays), levels)
    return joined(arrays, levels)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join two arrays, flattened unless an axis is named, as `np.append`."""
    check_axes("append", axis, arr)
    return concatenate_([operand(arr), operand(values)], axis)


# -- repetition and rotation -----------------------------------------------------------------------------


def along_axis(x: Any, index: Any, axis: int) -> Any:
    """Return the elements at known positions along an axis."""
    rank = rank_of(x)
    if axis == 0:
        return gather(x, index)
    order = (axis, *(one for one in range(rank) if one != axis))
    taken = gather(transpose(x, permutation=order), index)
    return transpose(taken, permutation=(*range(1, axis + 1), 0, *range(axis + 1, rank)))


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Repeat elements along an axis, as `np.repeat`."""
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_index("repeat", axis, rank_of(a))
    shape = shape_of(a)
    if np.size(repeats) != 1:
        if np.shape(repeats) != (shape[axis],):
            got = f"{np.shape(repeats)} for {show(a)} along axis {axis}"
            raise ShapeError(message("repeat", "there must be one count for each element", got))
        return along_axis(a, np.repeat(np.arange(shape[axis]), repeats), axis)
    count = operator.index(np.reshape(repeats, ())[()])
    if count < 0:
        raise ArgumentError(message("repeat", "counts must not be negative", str(count)))
    before, after = shape[: axis + 1], shape[axis + 1 :]
    longer = broadcast_to(reshape(a, shape=(*before, 1, *after)), shape=(*before, count, *after))
    return reshape(longer, shape=(*before[:-1], before[-1] * count, *after))


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """Repeat an array along each axis, as `np.tile`."""
    counts = tuple(integers(reps))
    shape = shape_of(A)
    rank = max(len(counts), len(shape))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - len(shape)) + shape
    spread = reshape(A, shape=tuple(extent for one in shape for extent in (1, one)))
    repeated = broadcast_to(
        spread, shape=tuple(extent for pair in zip(counts, shape, strict=True) for extent in pair)
    )
    return reshape(repeated, shape=tuple(count * extent for count, extent in zip(counts, shape, strict=True)))


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """Return an array of a new shape, its elements repeated as needed, as `np.resize`."""
    shape = tuple(integers(new_shape))
    flat = ravel(a)
    count = shape_of(flat)[0]
    if not count:
        return np.zeros(shape, dtype=dtype_of(a))
    return reshape(gather(flat, np.arange(size(shape)) % count), shape=resolve_reshape((size(shape),), shape))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Rotate elements along axes, as `np.roll`."""
    if axis is None:
        return reshape(roll(ravel(a), int(np.sum(shift)), 0), shape=shape_of(a))
    for distance, one in np.broadcast(shift, axis):
        position = axis_index("roll", one, rank_of(a))
        extent = shape_of(a)[position]
        distance = int(distance) % extent if extent else 0
        if distance:
            index = whole(shape_of(a))
            index[position] = (extent - distance, distance, 1)
            end = slice_(a, index=tuple(index))
            index[position] = (0, extent - distance, 1)
            a = concatenate(end, slice_(a, index=tuple(index)), axis=position)
    return a.copy()


# -- insertion and deletion ------------------------------------------------------------------------------


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Leave out positions along an axis, as `np.delete`."""
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_index("delete", axis, rank_of(arr))
    return along_axis(arr, np.delete(np.arange(shape_of(arr)[axis]), obj), axis)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Insert values before positions along an axis, as `np.insert`."""
    arr = operand(arr)
    values = strong(operand(values), dtype_of(arr))
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_index("insert", axis, rank_of(arr))
    shape = shape_of(arr)
    values = reshape(values, shape=(1,) * (len(shape) - rank_of(values)) + shape_of(values))
    if hasattr(obj, "__index__") and not rank_of(obj):
        rank = rank_of(values)
        values = transpose(values, permutation=(*range(1, axis + 1), 0, *range(axis + 1, rank)))
        count = shape_of(values)[axis]
    else:
        count = len(np.insert(np.arange(shape[axis]), obj, 0)) - shape[axis]
    values = broadcast_to(values, shape=(*shape[:axis], count, *shape[axis + 1 :]))
    order = np.insert(np.arange(shape[axis]), obj, np.arange(shape[axis], shape[axis] + count))
    return along_axis(concatenate(arr, values, axis=axis), order, axis)
