"""Shape operations, which are views: reshape, transpose, broadcasting, splitting, reversal, diagonals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.sparse import left_of_function
from wengert.engine.array.views import FunctionView, Permuted, Reshaped, view_of
from wengert.engine.boxes import Box
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import (
    Shape,
    axes_tuple,
    axis_index,
    broadcast,
    drop_axes,
    resolve_reshape,
    shape_of,
    size,
)
from wengert.engine.memory import is_in_rows, iterated, memory_of
from wengert.engine.ops.shape import (
    Index,
    broadcast_to,
    inverse_permutation,
    place,
    reshape,
    slice_,
    transpose,
)
from wengert.numpy.registry import ALL_AXES, implements, integers, is_array, rank_of, refuse, since

# -- reshape ---------------------------------------------------------------------------------------------


def reshaped(x: Any, shape: Shape) -> Any:
    """Return the elements in another shape, as a view of a box where NumPy's result is one."""
    result = reshape(x, shape=shape)
    if not isinstance(x, Box) or _is_copy(x, shape):
        return result
    return view_of(x, result, Reshaped(shape))


def unfolded(x: Any, shape: Shape) -> Any:
    """Return an operand with axes of extent one added, in the same memory."""
    return reshape(x, shape=shape) if is_in_rows(x) else reshaped(x, shape)


def _is_copy(x: Box, shape: Shape) -> bool:
    """Report whether NumPy would have to copy: the elements are not in a row."""
    if (x.lens is None and x.memory is None) or shape == x.shape:
        return False
    memory = memory_of(x)
    return not (memory.flags.c_contiguous or np.may_share_memory(memory, memory.reshape(shape)))


def _by_rows(operation: str, order: Any, x: Any, orders: str) -> bool:
    """Report whether elements are read by rows, as opposed to columns."""
    if order not in tuple(orders):
        allowed = ", ".join(map(repr, orders))
        raise ArgumentError(message(operation, f"order must be one of {allowed}", repr(order)))
    return order != "F" and (order == "C" or is_in_rows(x) or not memory_of(x).flags.fnc)


@implements(np.reshape)
def reshape_(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    target = resolve_reshape(shape_of(a), shape if type(shape) in (tuple, int) else integers(shape))
    if not _by_rows("reshape", order, a, "CFA"):
        return transposed(reshape_(transposed(a), target[::-1], copy=copy))
    if copy is False and isinstance(a, Box) and _is_copy(a, target):
        got = f"{shape_of(a)} as {target} with copy=False"
        raise ArgumentError(
            message("reshape", "these elements do not lie in one row", got, "leave out copy=")
        )
    result = reshaped(a, target)
    return result.copy() if copy else result


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    a = operand(a)
    if not _by_rows("ravel", order, a, "CFAK"):
        a = transposed(a)
    elif order == "K" and not is_in_rows(a):
        steps = iterated([memory_of(a)], None, "K").strides
        a = permuted(a, tuple(sorted(range(len(steps)), key=lambda axis: -steps[axis])))
    flat = (size(shape_of(a)),)
    if isinstance(a, Box) and (a.lens or a.memory is not None) and not memory_of(a).flags.c_contiguous:
        return reshape(a, shape=flat)  # where `reshape` would still be a view, NumPy's ravel copies
    return reshaped(a, flat)


# -- order of axes ---------------------------------------------------------------------------------------


_REVERSED = tuple(axes[::-1] for axes in ALL_AXES)


def permuted(x: Any, permutation: tuple[int, ...]) -> Any:
    """Return the axes in another order, as a view."""
    result = transpose(x, permutation=permutation)
    if not isinstance(x, Box):
        return result
    return view_of(x, result, Permuted(permutation))


def transposed(x: Any) -> Any:
    """Return the axes in reverse order, as a view."""
    return permuted(x, _REVERSED[rank_of(x)])


@implements(np.transpose)
def transpose_(a: Any, axes: Any = None) -> Any:
    if axes is None and isinstance(a, Box):
        return permuted(a, _REVERSED[len(a.shape)])
    a = operand(a)
    if axes is None:
        return transposed(a)
    rank = rank_of(a)
    permutation = tuple(axis_index("transpose", axis, rank) for axis in axes)
    if sorted(permutation) != list(range(rank)):
        raise ShapeError(message("transpose", f"axes must be a permutation of {rank} axes", str(axes)))
    return permuted(a, permutation)


def _require_rank(operation: str, a: Any, least: str, rank: int) -> None:
    if rank_of(a) < rank:
        requirement = f"an array of at least {least} axes is required"
        raise ShapeError(message(operation, requirement, str(shape_of(a))))


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    _require_rank("matrix_transpose", x, "two", 2)
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    rank = rank_of(a)
    first, second = axis_index("swapaxes", axis1, rank), axis_index("swapaxes", axis2, rank)
    order = list(range(rank))
    order[first], order[second] = second, first
    return permuted(a, tuple(order))


def distinct_axes(operation: str, axis: Any, rank: int) -> list[int]:
    """Return axes in the order given, counted from the first; each may be named once."""
    axes = [axis_index(operation, index, rank) for index in integers(axis)]
    if len(set(axes)) != len(axes):
        raise ShapeError(message(operation, "an axis may be named once only", repr(axis)))
    return axes


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    rank = rank_of(a)
    sources = distinct_axes("moveaxis", source, rank)
    destinations = distinct_axes("moveaxis", destination, rank)
    if len(sources) != len(destinations):
        got = f"{source}, {destination}"
        raise ShapeError(message("moveaxis", "source and destination must have the same number of axes", got))
    order = [axis for axis in range(rank) if axis not in sources]
    for position, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(position, axis)
    return permuted(a, tuple(order))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    rank = rank_of(a)
    axis = axis_index("rollaxis", axis, rank)
    start = axis_index("rollaxis", start + rank * (start < 0), rank + 1)
    order = [dim for dim in range(rank) if dim != axis]
    order.insert(start - (axis < start), axis)
    return permuted(a, tuple(order))


# -- axes of extent one ----------------------------------------------------------------------------------


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    shape = shape_of(a)
    if axis is None:
        axes = tuple(dim for dim, extent in enumerate(shape) if extent == 1)
    else:
        axes = axes_tuple("squeeze", axis, len(shape))
        if any(shape[dim] != 1 for dim in axes):
            requirement = "only axes of extent one can be dropped"
            raise ShapeError(message("squeeze", requirement, f"axis={axis} of {shape}"))
    return reshaped(a, drop_axes(shape, axes))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    a = operand(a)
    named = integers(axis)
    rank = rank_of(a) + len(named)
    axes = axes_tuple("expand_dims", named, rank)
    extents = iter(shape_of(a))
    return reshaped(a, tuple(1 if dim in axes else next(extents) for dim in range(rank)))


def _at_least(arrays: tuple[Any, ...], pad: Callable[[Shape], Shape]) -> Any:
    """Return arrays with axes added: a single array by itself, several as a tuple."""
    padded: list[Any] = []
    for array in map(operand, arrays):
        shape = pad(shape_of(array))
        same = shape == shape_of(array) and is_array(array)
        padded.append(array if same else reshaped(array, shape))
    return padded[0] if len(padded) == 1 else tuple(padded)


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return _at_least(arys, lambda shape: shape or (1,))


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    if (left := left_of_function(arys[0] if len(arys) == 1 else None)) is not None:
        return np.atleast_2d(left)
    return _at_least(arys, lambda shape: (1,) * (2 - len(shape)) + shape)


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    return _at_least(arys, _three_axes)


def _three_axes(shape: Shape) -> Shape:
    if len(shape) > 2:
        return shape
    return (*shape, 1) if len(shape) == 2 else (1, *(shape or (1,)), 1)


# -- broadcasting ----------------------------------------------------------------------------------------


def _read_only(base: Any, value: Any) -> NoReturn:
    hint = "write to a copy: x = x.copy()"
    raise ArgumentError(message("assignment", "this view is read-only, as NumPy's is", hint=hint))


def read_only_view(base: Any, result: Any, read: Any, layout: Any = None) -> Any:
    """Make a result follow writes to its base, and refuse writes itself."""
    return view_of(base, result, FunctionView(read, _read_only, layout))


@implements(np.broadcast_to)
def broadcast_to_(array: Any, shape: Any, subok: bool = False) -> Any:
    target = tuple(integers(shape))
    result = broadcast_to(array, shape=target)
    return read_only_view(
        array,
        result,
        lambda base: broadcast_to(base, shape=target),
        lambda memory: np.broadcast_to(memory, target),
    )


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = [operand(array) for array in args]
    shape = broadcast("broadcast_arrays", *map(shape_of, arrays))
    return tuple(
        array if shape_of(array) == shape and is_array(array) else broadcast_to_(array, shape)
        for array in arrays
    )


# -- parts -----------------------------------------------------------------------------------------------


def part(x: Any, axis: int, index: Any) -> Any:
    """Return ``x[:, ..., index]`` with the index at an axis, as a view."""
    return x[(slice(None),) * axis + (index,)]


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    axis = axis_index("array_split", axis, rank_of(ary))
    extent = shape_of(ary)[axis]
    if np.ndim(indices_or_sections) == 0:
        count = int(indices_or_sections)
        if count <= 0:
            raise ArgumentError(message("array_split", "the number of parts must be positive", str(count)))
        bounds = [number * (extent // count) + min(number, extent % count) for number in range(count + 1)]
    else:
        bounds = [0, *map(int, indices_or_sections), extent]
    return [part(ary, axis, slice(start, stop)) for start, stop in itertools.pairwise(bounds)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    axis = axis_index("split", axis, rank_of(ary))
    if np.ndim(indices_or_sections) == 0 and shape_of(ary)[axis] % int(indices_or_sections):
        got = f"{shape_of(ary)} along axis {axis} in {indices_or_sections} parts"
        raise ShapeError(message("split", "the parts must be equal", got, "use np.array_split"))
    return array_split(ary, indices_or_sections, axis)


implements(np.hsplit)(
    lambda ary, indices_or_sections: split(ary, indices_or_sections, 1 if rank_of(ary) > 1 else 0)
)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_rank("vsplit", ary, "two", 2)
    return split(ary, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_rank("dsplit", ary, "three", 3)
    return split(ary, indices_or_sections, 2)


@implements(*since("unstack"))
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    axis = axis_index("unstack", axis, rank_of(x))
    return tuple(part(x, axis, position) for position in range(shape_of(x)[axis]))


# -- reversal --------------------------------------------------------------------------------------------


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    axes = axes_tuple("flip", axis, rank_of(m))
    return m[tuple(slice(None, None, -1 if dim in axes else None) for dim in range(rank_of(m)))]


implements(np.fliplr)(lambda m: flip(m, 1))
implements(np.flipud)(lambda m: flip(m, 0))


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    first, second = distinct_axes("rot90", tuple(axes), rank_of(m))
    match k % 4:
        case 0:
            return m[...]
        case 1:
            return swapaxes(flip(m, second), first, second)
        case 2:
            return flip(m, (first, second))
        case _:
            return flip(swapaxes(m, first, second), second)


@implements(*since("astype"))
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Any:
    refuse("np.astype", **({} if device in (None, "cpu") else {"device": device}))
    return x.astype(np.dtype(dtype), copy=copy)


# -- diagonals -------------------------------------------------------------------------------------------


def _rows_joined(a: Any, offset: int, axis1: int, axis2: int) -> tuple[Any, Index]:
    """Return an array with two axes merged into a last one, and the index of their diagonal there.

    In row-major order the elements of a diagonal are ``columns + 1`` apart.
    """
    moved = transpose(a, permutation=_last(rank_of(a), axis1, axis2))
    *outer, rows, columns = shape_of(moved)
    start = offset if offset >= 0 else -offset * columns
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    index = (*((0, extent, 1) for extent in outer), (start if count else 0, count, columns + 1))
    return reshape(moved, shape=(*outer, rows * columns)), index


def _last(rank: int, *axes: int) -> tuple[int, ...]:
    """Return the permutation that puts axes last."""
    return (*(axis for axis in range(rank) if axis not in axes), *axes)


def _diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    joined, index = _rows_joined(a, offset, axis1, axis2)
    return slice_(joined, index=index)


def _with_diagonal(a: Any, value: Any, offset: int, axis1: int, axis2: int) -> Any:
    """Return an array with its diagonal replaced."""
    joined, index = _rows_joined(a, offset, axis1, axis2)
    order = _last(rank_of(a), axis1, axis2)
    moved = reshape(place(joined, value, index=index), shape=tuple(shape_of(a)[axis] for axis in order))
    return transpose(moved, permutation=inverse_permutation(order))


def diagonal_view(a: Any, axis1: int, axis2: int) -> Any:
    """Return the diagonal of two axes as a last axis: a view that can be written to, as `np.einsum` gives it."""
    view = FunctionView(
        lambda base: _diagonal(base, 0, axis1, axis2),
        lambda base, value: _with_diagonal(base, value, 0, axis1, axis2),
        lambda memory: np.diagonal(memory, 0, axis1, axis2),
    )
    return view_of(a, _diagonal(a, 0, axis1, axis2), view)


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    axis1, axis2 = distinct_axes("diagonal", (axis1, axis2), rank_of(a))
    return read_only_view(
        a,
        _diagonal(a, offset, axis1, axis2),
        lambda base: _diagonal(base, offset, axis1, axis2),
        lambda memory: np.diagonal(memory, offset, axis1, axis2),
    )


@implements(np.linalg.diagonal)
def diagonal_of_matrices(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)
