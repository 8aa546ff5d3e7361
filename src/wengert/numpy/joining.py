"""Arrays put together: concatenation, stacking, repetition, rotation, insertion, and the brackets `r_` and `c_`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, resolve_reshape, shape_of, size
from wengert.engine.ir.types import promote, show, type_of
from wengert.engine.memory import lay_like
from wengert.engine.ops.cells import array_of
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, slice_, transpose, whole
from wengert.numpy.creation import arange, contains_box, fresh, linspace
from wengert.numpy.creation import array as new_array
from wengert.numpy.registry import (
    check_axes,
    implements,
    integers,
    is_box,
    is_sequence,
    known,
    rank_of,
    strong,
)
from wengert.numpy.shaping import atleast_1d, atleast_2d, atleast_3d, ravel, unfolded


def _operands(operation: str, arrays: Any, dtype: Any, casting: str) -> list[Any]:
    """Return the arrays to join, in the given dtype."""
    operands = list(map(operand, arrays if is_sequence(arrays) else operand(arrays)))
    if not operands:
        raise ShapeError(message(operation, "at least one array is required"))
    if dtype is None:
        return operands
    wanted = np.dtype(dtype)
    for array in operands:
        if not np.can_cast(dtype_of(array), wanted, casting):  # pyright: ignore[reportArgumentType]
            raise ArgumentError(
                message(operation, f"casting={casting!r} does not allow {wanted}", show(array))
            )
    return [strong(array, wanted) for array in operands]


@implements(np.concatenate)
def concatenate_(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    operands = _operands("concatenate", arrays, dtype, casting)
    if axis is None:
        operands, axis = [ravel(array) for array in operands], 0
    return concatenate(*operands, axis=axis_index("concatenate", axis, len(shape_of(operands[0]))))


@implements(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    if type(arrays) is list and axis == 0 and dtype is None and array_of(arrays) is not None:
        return new_array(arrays)
    operands = _operands("stack", arrays, dtype, casting)
    shape = shape_of(operands[0])
    if any(shape_of(array) != shape for array in operands):
        raise ShapeError(message("stack", "all arrays must have the same shape", show(*operands)))
    axis = axis_index("stack", axis, len(shape) + 1)
    longer = (*shape[:axis], 1, *shape[axis:])
    return concatenate(*(unfolded(array, longer) for array in operands), axis=axis)


def _padded(arrays: Any, at_least: Any) -> list[Any]:
    padded = at_least(*arrays)
    return list(padded) if is_sequence(padded) else [padded]


@implements(np.vstack)
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate_(_padded(tup, atleast_2d), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    arrays = _padded(tup, atleast_1d)
    return concatenate_(arrays, 0 if rank_of(arrays[0]) == 1 else 1, dtype=dtype, casting=casting)


implements(np.dstack)(lambda tup: concatenate_(_padded(tup, atleast_3d), 2))


@implements(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    arrays = [operand(array) for array in tup]
    return concatenate_(
        [a if rank_of(a) > 1 else reshape(a, shape=(size(shape_of(a)), 1)) for a in arrays], 1
    )


@implements(np.block)
def block(arrays: Any) -> Any:
    def depth(nested: Any) -> int:
        return 1 + max(map(depth, nested)) if is_sequence(nested) else 0

    def highest_rank(nested: Any) -> int:
        return max(map(highest_rank, nested)) if is_sequence(nested) else rank_of(operand(nested))

    def joined(nested: Any, level: int) -> Any:
        if is_sequence(nested):
            return concatenate_([joined(item, level - 1) for item in nested], rank - level)
        value = operand(nested)
        return unfolded(value, (1,) * (rank - rank_of(value)) + shape_of(value))

    levels = depth(arrays)
    rank = max(highest_rank(arrays), levels)
    return joined(arrays, levels)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    check_axes("append", axis, arr)
    return concatenate_([operand(arr), operand(values)], axis)


# -- repetition and rotation -----------------------------------------------------------------------------


def along_axis(x: Any, index: Any, axis: int) -> Any:
    """Return the elements at known positions along an axis."""
    rank = rank_of(x)
    if axis == 0:
        return gather(x, index)
    order = (axis, *(dim for dim in range(rank) if dim != axis))
    taken = gather(transpose(x, permutation=order), index)
    return transpose(taken, permutation=(*range(1, axis + 1), 0, *range(axis + 1, rank)))


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
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
    counts, shape = tuple(integers(reps)), shape_of(A)
    if all(count == 1 for count in counts):
        return new_array(A, copy=True, ndmin=len(counts))
    rank = max(len(counts), len(shape))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - len(shape)) + shape
    pairs = list(zip(counts, shape, strict=True))
    spread = reshape(A, shape=tuple(extent for last in shape for extent in (1, last)))
    repeated = broadcast_to(spread, shape=tuple(extent for pair in pairs for extent in pair))
    return reshape(repeated, shape=tuple(count * extent for count, extent in pairs))


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    shape = tuple(integers(new_shape))
    flat = ravel(a)
    count = shape_of(flat)[0]
    if not count:
        return np.zeros(shape, dtype=dtype_of(a))
    return reshape(gather(flat, np.arange(size(shape)) % count), shape=resolve_reshape((size(shape),), shape))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return reshape(roll(ravel(a), int(np.sum(shift)), 0), shape=shape_of(a))
    rolled = a
    for distance, dim in np.broadcast(shift, axis):
        position = axis_index("roll", dim, rank_of(a))
        extent = shape_of(rolled)[position]
        distance = int(distance) % extent if extent else 0
        if distance:
            index = whole(shape_of(rolled))
            index[position] = (extent - distance, distance, 1)
            end = slice_(rolled, index=tuple(index))
            index[position] = (0, extent - distance, 1)
            rolled = concatenate(end, slice_(rolled, index=tuple(index)), axis=position)
    return lay_like(rolled.copy(), a)


# -- insertion and deletion ------------------------------------------------------------------------------


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    arr = operand(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis, obj = axis_index("delete", axis, rank_of(arr)), _positions("delete", obj)
    positions = np.delete(np.arange(shape_of(arr)[axis]), obj)
    if isinstance(obj, slice) or (np.size(obj) == 1 and np.asarray(obj).dtype.kind in "iu"):
        return lay_like(along_axis(arr, positions, axis), arr, "A")
    return arr[(slice(None),) * axis + (positions,)]


def _positions(operation: str, obj: Any) -> Any:
    """Return positions, a mask or a slice with known numbers, such as a program's own array holds."""
    return known(operation, obj) if is_box(obj) else obj


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    arr = operand(arr)
    values = strong(operand(values), dtype_of(arr))
    if axis is None:
        arr, axis = ravel(arr), 0
    axis, obj = axis_index("insert", axis, rank_of(arr)), _positions("insert", obj)
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
    return lay_like(along_axis(concatenate(arr, values, axis=axis), order, axis), arr, "A")


# -- brackets --------------------------------------------------------------------------------------------


class Joiner:
    """Joins the arrays, numbers and ranges between its brackets, which may be boxes; as `np.r_` and `np.c_`.

    Args:
        name: of the object, for errors.
        numpys: NumPy's object, for plain values.
        directive: the axis, the least number of axes, and the position of an array's own axes among them. A first
            entry ``"axis,ndim,start"`` overrides it, as for NumPy.

    Example:
        >>> import wengert as wg
        >>> wg.jacobian(lambda x: wg.numpy.r_[x, 1.0, x * x])(3.0)
        array([1., 0., 6.])
    """

    def __init__(self, name: str, numpys: Any, directive: tuple[int, int, int]) -> None:
        self._name = name
        self._numpys = numpys
        self._directive = directive

    def __getitem__(self, key: Any) -> Any:
        entries = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
        if not any(map(_has_box, entries)):
            return fresh(self._numpys[key])
        axis, least, start = self._directive
        if isinstance(entries[0], str):
            axis, least, start = _directive(self._name, entries[0], self._directive)
            entries = entries[1:]
        values = [_range(entry) if isinstance(entry, slice) else operand(entry) for entry in entries]
        dtype, _ = promote(*map(type_of, values))
        parts = [_with_axes(strong(value, dtype), least, start) for value in values]
        return concatenate(*parts, axis=axis_index(self._name, axis, rank_of(parts[0])))

    def __len__(self) -> int:
        return 0


def _has_box(entry: Any) -> bool:
    """Report whether an entry is or contains a box; the ends and the step of a range count."""
    return contains_box([entry.start, entry.stop, entry.step] if isinstance(entry, slice) else entry)


def _directive(name: str, text: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        numbers = ()
    if not 1 <= len(numbers) <= 3:
        requirement = "a text must name axis, number of axes and where an array's own begin, such as '0,2,1'"
        raise ArgumentError(message(name, requirement, repr(text), "write np.concatenate or np.stack"))
    axis, least, start = (*numbers, *default[len(numbers) :])
    return axis, least, start


def _range(entry: slice) -> Any:
    """Return the numbers of ``start:stop:step``; an imaginary step is their count."""
    start, step = 0 if entry.start is None else entry.start, 1 if entry.step is None else entry.step
    if isinstance(step, (complex, np.complexfloating)):
        return operand(linspace(start, entry.stop, int(abs(step))))
    return operand(arange(start, entry.stop, step))


def _with_axes(value: Any, least: int, start: int) -> Any:
    """Return an array with at least ``least`` axes, its own ones from ``start`` on; -1 puts them last."""
    rank = rank_of(value)
    if rank >= least:
        return value
    added = least - rank
    longer = reshape(value, shape=(*(1,) * added, *shape_of(value)))
    first = start + added + 1 if start < 0 else start
    axes = [*range(least)]
    order = (*axes[:first], *axes[added:], *axes[first:added])
    return longer if order == tuple(axes) else transpose(longer, permutation=order)


r_ = Joiner("r_", np.r_, (0, 1, -1))
c_ = Joiner("c_", np.c_, (-1, 2, 0))
