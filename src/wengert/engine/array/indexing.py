"""NumPy's subscripts, ``x[index]`` and ``x[index] = value``, in terms of primitives."""

from __future__ import annotations

import operator
import typing
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.engine.array.operators import FUNCTIONS
from wengert.engine.array.suggestions import SLICE
from wengert.engine.array.views import Axes, AxesView, axes_between
from wengert.engine.boxes import WINDOWS, Box, Unsized, boxed, concrete, selecting, snapshot
from wengert.engine.core.dtypes import BOOL, INT64, dtype_of
from wengert.engine.core.errors import ConcreteError, IndexingError, ShapeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape, broadcast, shape_of, show, size
from wengert.engine.ir.types import show as show_type
from wengert.engine.memory import is_in_rows, jointly, lay, memory_of, outside, rows
from wengert.engine.ops import arithmetic
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import gather, scatter, scatter_add
from wengert.engine.ops.shape import (
    Index,
    broadcast_to,
    indexed_shape,
    inverse_permutation,
    numpy_index,
    place,
    reshape,
    slice_,
    transpose,
    whole,
)

_UNSIGNED = np.dtype(np.uint64)


class Subscript(NamedTuple):
    """A parsed index: first the basic part, then axes of extent one, then the integer arrays."""

    basic: Index
    """Integers and slices; whole slices for axes that arrays index."""
    shape: Shape
    """The shape after the basic part, with new axes."""
    arrays: tuple[tuple[int, Any], ...]
    """The axis of ``shape`` that each array indexes, and the array."""
    in_front: bool
    """Whether the arrays' axes come first because a slice separates them."""
    part: Shape
    """The shape after the basic part, without new axes."""
    is_whole: bool
    """Whether the basic part is the whole array."""
    windows: tuple[int, ...] = ()
    """The extents of slices whose starts only a run knows; their positions are among the arrays."""


class SelectsUnknown(Exception):  # noqa: N818 (no error)
    """A subscript selects elements of which only a run knows how many there are, and the run is staged."""


class _Truth:
    """A single truth value as an index: a new axis of extent one, whose element True takes and False leaves out."""

    def __init__(self, value: bool) -> None:
        self.positions = np.zeros(int(value), np.intp)


def _takes_axis(entry: Any) -> bool:
    return entry is not None and entry is not Ellipsis and not isinstance(entry, _Truth)


def is_view(subscript: Subscript, index: Any) -> bool:
    """Return whether NumPy would return a view rather than a copy or a scalar.

    An integer of which only the type is known is among the arrays, but NumPy treats it as an integer.
    """
    if subscript.shape and not subscript.arrays:
        return True
    for _, array in subscript.arrays:
        if shape_of(array):
            return bool(subscript.windows)
    entries = typing.cast("tuple[Any, ...]", index if isinstance(index, tuple) else (index,))
    whole = any(entry is Ellipsis for entry in entries)
    return len(subscript.shape) > len(subscript.arrays) or whole


def is_array_of_one(index: Any) -> bool:
    """Return whether an index has an array without axes, for which NumPy copies, unlike for a number."""
    return any(type(entry) is np.ndarray for entry in (index if type(index) is tuple else (index,)))  # pyright: ignore[reportUnknownVariableType]


def frozen(subscript: Subscript) -> Subscript:
    """Return a subscript whose indices no later write reaches."""
    if not subscript.arrays:
        return subscript
    return subscript._replace(arrays=tuple((axis, snapshot(array)) for axis, array in subscript.arrays))


class Part(AxesView):
    """The view that a subscript selects."""

    __slots__ = ("index", "subscript")
    keeps_rows = True

    def __init__(self, subscript: Subscript, index: Any) -> None:
        self.subscript = subscript
        self.index = layout_of(index, subscript.windows) if subscript.windows else index

    def axes_of(self, shape: Shape) -> Axes | None:
        """Return the map of axes, unless an integer is not known."""
        subscript = self.subscript
        return None if subscript.arrays else axes_between(subscript.basic, subscript.shape)

    def read(self, base: Any) -> Any:
        """Return the view's value."""
        return take(base, self.subscript)

    def write(self, base: Any, value: Any) -> Any:
        """Return the base with a value of the view written into it."""
        return write(base, self.subscript, value)

    def layout(self, memory: Any) -> Any:
        """Return the same part of a plain array, as a view of it."""
        return memory[layout_of(self.index)]


def layout_of(index: Any, windows: Iterable[int] = ()) -> Any:
    """Return an index of plain numbers with the same memory layout as the index of a view."""
    extents = iter(windows)
    if isinstance(index, tuple):
        return tuple(layout_of(entry, extents) for entry in index)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(index, slice):
        return slice(0, next(extents, 0)) if _is_unknown_slice(index) else index  # pyright: ignore[reportUnknownVariableType]
    return 0 if isinstance(index, (Box, np.ndarray)) else index


def parse(shape: Shape, index: Any, *, checked: bool = True) -> Subscript:
    """Parse an index for an array of the given shape, or raise `IndexingError` where NumPy raises.

    The ranges of integer arrays are left to NumPy unless they are ``checked`` here.
    """
    first = index[0] if type(index) is tuple and index else index  # pyright: ignore[reportUnknownVariableType]
    if type(first) is not np.ndarray:
        subscript = _parse_basic(shape, index)
    else:
        subscript = None if checked else _parse_arrays(shape, index)
    return subscript or _parse(shape, index, checked)


_NUMBER_OR_NONE = (int, type(None))


def _parse_basic(shape: Shape, index: Any) -> Subscript | None:
    """Parse an index of Python integers inside the shape, slices with such ends and new axes; None for any other."""
    basic: list[Any] = []
    result: list[int] = []
    part: list[int] = []
    is_whole, rank = True, len(shape)
    for entry in index if type(index) is tuple else (index,):  # pyright: ignore[reportUnknownVariableType]
        if entry is None:
            result.append(1)
            continue
        axis = len(basic)
        if axis == rank:
            return None
        extent = shape[axis]
        if type(entry) is slice:
            ends = _ends_of(entry, extent)
            if ends is None:
                return None
            is_whole = is_whole and ends == (0, extent, 1)
            basic.append(ends)
            part.append(ends[1])
            result.append(ends[1])
        elif type(entry) is int and -extent <= entry < extent:
            basic.append(entry % extent)
            is_whole = False
        else:
            return None
    trailing = shape[len(basic) :]
    if not trailing:
        return _subscript((tuple(basic), tuple(result), (), False, tuple(part), is_whole, 0))
    return _subscript(
        ((*basic, *_whole(trailing)), (*result, *trailing), (), False, (*part, *trailing), is_whole, 0)
    )


def _subscript(fields: tuple[Any, ...]) -> Subscript:
    """Return a subscript, without the call that a named tuple makes."""
    return tuple.__new__(Subscript, fields)


def _ends_of(entry: slice, extent: int) -> tuple[int, int, int] | None:
    """Return the start, the number and the step of a slice of Python integers; None for any other."""
    first, last, step = entry.start, entry.stop, entry.step
    if step is None:
        if first is None and type(last) is int and 0 <= last <= extent:
            return 0, last, 1
        if last is None and type(first) is int and 0 <= first < extent:
            return first, extent - first, 1
    if not (
        type(first) in _NUMBER_OR_NONE and type(last) in _NUMBER_OR_NONE and type(step) in _NUMBER_OR_NONE
    ):
        return None
    start, stop, by = entry.indices(extent)
    count = len(range(start, stop, by))
    return start if count else 0, count, by


def _entries(index: Any) -> tuple[Any, ...]:
    return index if type(index) is tuple else (index,)  # pyright: ignore[reportUnknownVariableType]


def _parse_arrays(shape: Shape, index: Any) -> Subscript | None:
    """Parse an index of arrays of signed integers for the leading axes; None for any other."""
    entries = _entries(index)
    if len(entries) > len(shape):
        return None
    for entry in entries:
        if type(entry) is not np.ndarray or entry.dtype.kind != "i" or not entry.shape:
            return None
    return Subscript(_whole(shape), shape, tuple(enumerate(entries)), False, shape, True)


@lru_cache(maxsize=1024)
def _whole(shape: Shape) -> Index:
    return tuple(whole(shape))


def _parse(shape: Shape, index: Any, checked: bool) -> Subscript:
    entries = _expand(shape, list(index) if isinstance(index, tuple) else [index])
    advanced = any(_is_array(entry) or isinstance(entry, _Truth) for entry in entries)
    basic: list[Any] = []
    result: list[int] = []
    arrays: list[tuple[int, Any]] = []
    blocks, previous = 0, False
    windows: list[tuple[int, int]] = []
    for entry in entries:
        is_array = False
        if entry is None:
            result.append(1)
        elif isinstance(entry, _Truth):
            is_array = True
            arrays.append((len(result), entry.positions))
            result.append(1)
        elif entry is Ellipsis:
            pass
        elif isinstance(entry, slice):
            ends, positions = _slice_of(entry, shape[len(basic)])
            if positions is not None:
                is_array = True
                windows.append((len(arrays), size(shape_of(positions))))
                arrays.append((len(result), positions))
            basic.append(ends)
            result.append(ends[1])
        else:
            axis, extent = len(basic), shape[len(basic)]
            is_array = advanced
            if advanced:
                arrays.append((len(result), _positions_along(entry, axis, extent, checked)))
                basic.append((0, extent, 1))
                result.append(extent)
            else:
                basic.append(_integer(entry, axis, extent))
        blocks += is_array and not previous
        previous = is_array
    extents = _spread_windows(entries, arrays, windows, blocks) if windows else ()
    if len(arrays) > 1:
        _check_together([shape_of(array) for _, array in arrays])
    index_, is_whole = tuple(basic), tuple(basic) == _whole(shape)
    return Subscript(
        index_, tuple(result), tuple(arrays), blocks > 1, indexed_shape(index_), is_whole, extents
    )


def _spread_windows(
    entries: Sequence[Any], arrays: list[tuple[int, Any]], windows: Sequence[tuple[int, int]], blocks: int
) -> tuple[int, ...]:
    """Make an open mesh of windows side by side, given their places among the arrays and extents; return these.

    Raises:
        SelectsUnknown: NumPy has another order of axes for index arrays than for slices here.
    """
    if blocks > 1 or sum(bool(shape_of(array)) for _, array in arrays) > len(windows):
        raise (
            SelectsUnknown
            if selecting()
            else _unknown_ends(next(entry for entry in entries if isinstance(entry, slice)))
        )
    for behind, (number, count) in enumerate(reversed(windows)):
        if len(windows) > 1:
            axis, positions = arrays[number]
            arrays[number] = axis, reshape(positions, shape=(count, *[1] * behind))
    return tuple(count for _, count in windows)


def _is_unknown_slice(entry: slice) -> bool:
    return any(
        isinstance(end, Box) and concrete(end) is None for end in (entry.start, entry.stop, entry.step)
    )


def _slice_of(entry: slice, extent: int) -> tuple[tuple[int, int, int], Any]:
    """Return the start, the number and the step of a slice; the whole axis and positions if its ends are not known."""
    if WINDOWS and entry.step in (None, 1) and _is_unknown_slice(entry):
        start: Any = 0 if entry.start is None else entry.start
        count = WINDOWS[0](start, entry.stop, extent)
        if count is not None:
            return (0, extent, 1), start + np.arange(count)
    start, stop, step = _ends(entry, extent)
    count = len(range(start, stop, step))
    return (start if count else 0, count, step), None


def _unknown_ends(entry: slice) -> ConcreteError:
    end = next((end for end in (entry.start, entry.stop, entry.step) if isinstance(end, Box)), 0)
    return ConcreteError(message("getitem", "the ends of a slice must be known", show_type(end), SLICE))


def _ends(entry: slice, extent: int) -> tuple[int, int, int]:
    for end in (entry.start, entry.stop, entry.step):
        if isinstance(end, Box) and concrete(end) is None:
            raise SelectsUnknown if selecting() else _unknown_ends(entry)
    return entry.indices(extent)


def _check_together(shapes: list[Shape]) -> None:
    try:
        broadcast("getitem", *shapes)
    except ShapeError:
        got = ", ".join(map(show, shapes))
        raise IndexingError(message("getitem", "index arrays must broadcast together", got)) from None


def _is_array(entry: Any) -> bool:
    return isinstance(entry, (np.ndarray, Box)) and not (isinstance(entry, np.ndarray) and entry.ndim == 0)


def _expand(shape: Shape, entries: list[Any]) -> list[Any]:
    """Return one entry for each axis: expand the ellipsis and missing entries, and convert masks to positions."""
    expanded: list[Any] = []
    masks: list[tuple[int, Shape]] = []
    for entry in entries:
        if isinstance(entry, Unsized):
            raise SelectsUnknown
        if isinstance(entry, (list, tuple, range)):
            is_known = not any(isinstance(part, Box) for part in entry)  # pyright: ignore[reportUnknownVariableType]
            dtype = None if entry else np.intp
            entry = np.asarray(entry, dtype=dtype) if is_known else FUNCTIONS[np.array](entry)
        elif hasattr(entry, "__array__") and not isinstance(entry, (np.generic, Box)):
            entry = np.asarray(entry)  # a column of a table, or the data of a masked array, which NumPy takes
        if dtype_of(entry) == np.bool_ if isinstance(entry, (np.ndarray, Box, bool, np.bool_)) else False:
            masks.append((len(expanded), shape_of(entry)))
            expanded += _positions(entry)
        else:
            expanded.append(entry)
    used = sum(map(_takes_axis, expanded))
    if used > len(shape):
        axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
        raise IndexingError(
            message("getitem", f"an array of {axes} takes no more indices", f"{used} indices")
        )
    if sum(entry is Ellipsis for entry in expanded) > 1:
        raise IndexingError(message("getitem", "an index may have one ellipsis only"))
    fill = [slice(None)] * (len(shape) - used)
    where_ = next((i for i, entry in enumerate(expanded) if entry is Ellipsis), len(expanded))
    # An ellipsis of no axes still separates the arrays on either side of it.
    fill = fill or [Ellipsis] * (where_ < len(expanded))
    complete = expanded[:where_] + fill + expanded[where_ + 1 :]
    for start, mask_shape in masks:
        start += len(fill) - 1 if start > where_ else 0
        axis = sum(map(_takes_axis, complete[:start]))
        if (own := shape[axis : axis + len(mask_shape)]) != mask_shape:
            requirement = f"a mask must have the shape {own} of the axes that it indexes"
            raise IndexingError(message("getitem", requirement, str(mask_shape)))
    return complete


def is_mask_without_value(index: Any, shape: Shape) -> bool:
    """Return whether an index is a mask of the whole array with unknown values, which supports writing one value."""
    return isinstance(index, Box) and index.dtype == BOOL and index.shape == shape and concrete(index) is None


def _positions(mask: Any) -> list[Any]:
    values = concrete(mask)
    if values is None:
        if selecting():
            raise SelectsUnknown
        hint = (
            "write np.where(mask, x, 0), whose shape does not depend on the mask; "
            "for x[mask] = y[mask], x = np.where(mask, y, x); for x[mask] *= 2, x = np.where(mask, x * 2, x)"
        )
        raise ConcreteError(message("getitem", "a mask needs concrete values here", hint=hint))
    if np.ndim(values) == 0:
        return [_Truth(bool(values))]
    return list(np.nonzero(values))


def _integer(entry: Any, axis: int, extent: int) -> int:
    try:
        position = operator.index(entry)
    except TypeError:
        requirement = "an index must be an integer, a slice, an integer array or a mask"
        raise IndexingError(message("getitem", requirement, f"{type(entry).__name__}")) from None
    if not -extent <= position < extent:
        raise _outside(position, axis, extent)
    return position % extent


def _outside(position: int, axis: int, extent: int) -> IndexingError:
    return IndexingError(
        message("getitem", f"index {position} is out of bounds for axis {axis} with size {extent}")
    )


def _positions_along(entry: Any, axis: int, extent: int, checked: bool) -> Any:
    """Return an integer array as an index of an axis; check its range if its values are known."""
    if not _is_array(entry):
        return np.asarray(_integer(entry, axis, extent))
    if dtype_of(entry).kind not in "iu":
        got, hint = str(dtype_of(entry)), "write x[i.astype(int)]"
        raise IndexingError(message("getitem", "index arrays must hold integers", got, hint))
    values = concrete(entry)
    if values is None:
        return signed(entry)
    if (
        (checked or entry.dtype == _UNSIGNED)
        and values.size
        and (values.min() < -extent or values.max() >= extent)
    ):
        bad = values[(values < -extent) | (values >= extent)].flat[0]
        raise _outside(bad, axis, extent)
    return entry


def signed(indices: Any) -> Any:
    """Return uint64 indices as int64; those beyond its range become its largest number, which is out of range, too."""
    if dtype_of(indices) != _UNSIGNED:
        return indices
    return cast(arithmetic.minimum(indices, _UNSIGNED.type(2**63 - 1)), dtype=INT64)


def take_basic(x: Any, subscript: Subscript) -> Any:
    """Return the basic part of ``x[index]``."""
    if not subscript.is_whole:
        x = slice_(x, index=subscript.basic)
    return x if subscript.part == subscript.shape else reshape(x, shape=subscript.shape)


def take(x: Any, subscript: Subscript) -> Any:
    """Return ``x[index]``."""
    taken = take_basic(x, subscript)
    if not subscript.arrays:
        return taken
    if len(subscript.arrays) == 1 and subscript.arrays[0][0] == 0:
        return gather(taken, subscript.arrays[0][1])
    axes, arrays = zip(*subscript.arrays, strict=True)
    if axes == tuple(range(len(axes))):
        return gather(taken, *arrays)
    places = _places_of_numbers(subscript)
    if places is not None and size(subscript.shape):
        return gather(taken, *places)
    order, arrays = _arrays_first(subscript)
    gathered = gather(_permuted(taken, order), *arrays)
    return _permuted(gathered, _result_order(subscript, arrays))


def checked_take(x: Any, subscript: Subscript, index: Any) -> Any:
    """Return ``x[index]``, with the error of `parse` where an integer array points outside.

    NumPy finds such an index as it evaluates, so that the range is checked before only where nothing is evaluated.
    """
    if subscript.arrays and type(getattr(x.state, "value", None)) is not np.ndarray and concrete(x) is None:
        subscript = parse(shape_of(x), index)
    try:
        taken = take(x, subscript)
    except IndexError:
        parse(shape_of(x), index)
        raise
    if taken is not x and len(shape_of(taken)) > 1 and isinstance(taken, Box):
        lay(taken, _memory(x, subscript))
    return taken


def _memory(x: Box, subscript: Subscript) -> Any:
    """Return how NumPy's ``x[index]`` lies: axes of arrays are the slowest, the others as in the array."""
    order, arrays = _arrays_first(subscript)
    lead = broadcast("getitem", *map(shape_of, arrays))
    result = _result_order(subscript, arrays)
    if len(order) == len(arrays):
        return None if all(map(is_in_rows, arrays)) else jointly(list(map(memory_of, arrays)), (), BOOL)
    if (is_in_rows(x) and result == tuple(range(len(result)))) or not size(subscript.shape):
        return None
    part = memory_of(x)[numpy_index(subscript.basic)].reshape(subscript.shape)
    remainder = np.empty_like(part.transpose(order)[(0,) * len(arrays)], BOOL)
    return outside(rows(lead), remainder).transpose(result)


def _permuted(x: Any, order: tuple[int, ...]) -> Any:
    return x if order == tuple(range(len(order))) else transpose(x, permutation=order)


def _arrays_first(subscript: Subscript) -> tuple[tuple[int, ...], list[Any]]:
    axes = [axis for axis, _ in subscript.arrays]
    remaining = [axis for axis in range(len(subscript.shape)) if axis not in axes]
    return (*axes, *remaining), [array for _, array in subscript.arrays]


def _result_order(subscript: Subscript, arrays: list[Any]) -> tuple[int, ...]:
    """Return the permutation that moves the arrays' axes from the front to their position in NumPy's result."""
    rank = len(broadcast("getitem", *map(shape_of, arrays)))
    remaining = len(subscript.shape) - len(arrays)
    before = 0 if subscript.in_front else subscript.arrays[0][0]
    return (*range(rank, rank + before), *range(rank), *range(rank + before, rank + remaining))


def write(x: Any, subscript: Subscript, value: Any) -> Any:
    """Return ``x`` after ``x[index] = value``."""
    if not subscript.arrays:
        return place(x, _part(x, subscript, value), index=subscript.basic)
    if dtype_of(value) != dtype_of(x):
        value = cast(value, dtype=dtype_of(x))
    value = _write_arrays(take_basic(x, subscript), subscript, value)
    if subscript.is_whole:
        return reshape(value, shape=shape_of(x))
    return place(x, reshape(value, shape=subscript.part), index=subscript.basic)


def write_into(cell: Box, subscript: Subscript, value: Any) -> None:
    """Carry out ``x[index] = value``: in place where no other value can see it, else in a new array."""
    if cell.lens is None and not subscript.arrays:
        part, index = snapshot(_part(cell, subscript, value)), subscript.basic
        if not cell.owner.overwrite(cell, part, index, numpy_index(index)):
            cell.hold(boxed(place(cell, part, index=index)))
    else:
        cell.write(boxed(write(cell, subscript, value)))


def _part(x: Any, subscript: Subscript, value: Any) -> Any:
    """Return a value with the dtype of x and the shape of the part that a basic index selects."""
    if dtype_of(value) != dtype_of(x):
        value = cast(value, dtype=dtype_of(x))
    shape = subscript.part
    value = _fit(value, subscript.shape)
    return value if shape_of(value) == shape else reshape(value, shape=shape)


def _fit(value: Any, shape: Shape) -> Any:
    """Broadcast a value to the shape that it is assigned to; drop extra leading axes of extent one."""
    own = shape_of(value)
    if own == shape:
        return value
    while len(own) > len(shape) and own[0] == 1:
        own = own[1:]
    if len(own) > len(shape) or any(m not in (1, n) for m, n in zip(own[::-1], shape[::-1], strict=False)):
        raise ShapeError(message("setitem", f"the value must broadcast to {shape}", str(shape_of(value))))
    return broadcast_to(reshape(value, shape=own), shape=shape)


def _write_arrays(before: Any, subscript: Subscript, value: Any) -> Any:
    """Write at integer arrays; the last of several writes to one element stays."""
    places = _places_of_numbers(subscript)
    if places is not None and size(subscript.shape):
        return scatter(before, _fit(value, _shape_of_part(subscript)), *places)
    order, arrays = _arrays_first(subscript)
    target = _permuted(before, order)
    rows = _in_front(subscript, arrays, shape_of(target), value)
    if not size(shape_of(rows)):
        return before
    return _permuted(scatter(target, rows, *arrays), inverse_permutation(order))


def _places_of_numbers(subscript: Subscript) -> list[Any] | None:
    """Return an index for each axis up to the last one that a number indexes, which is not the first; None for others.

    The whole axes before have all their positions: so the array keeps the order of its axes.
    """
    numbers = dict(subscript.arrays)
    last = max(numbers)
    if last < len(numbers) or any(shape_of(array) for array in numbers.values()):
        return None
    wholes = [axis for axis in range(last) if axis not in numbers]
    grid = np.indices([subscript.shape[axis] for axis in wholes], sparse=True)
    places = {**numbers, **dict(zip(wholes, grid, strict=True))}
    return [places[axis] for axis in range(last + 1)]


def _shape_of_part(subscript: Subscript) -> Shape:
    indexed = dict(subscript.arrays)
    return tuple([extent for axis, extent in enumerate(subscript.shape) if axis not in indexed])


def _in_front(subscript: Subscript, arrays: list[Any], shape: Shape, value: Any) -> Any:
    """Broadcast a value for an array of ``shape``, whose indexed axes come first, and move the arrays' axes there."""
    lead = broadcast("setitem", *map(shape_of, arrays))
    order = _result_order(subscript, arrays)
    in_front = (*lead, *shape[len(arrays) :])
    return _permuted(_fit(value, tuple(in_front[axis] for axis in order)), inverse_permutation(order))


def add(x: Any, subscript: Subscript, value: Any) -> Any:
    """Return ``x`` with ``value`` added at ``x[index]``; repeated indices add repeatedly."""
    if subscript.arrays:
        order, arrays = _arrays_first(subscript)
        shape = tuple(subscript.shape[axis] for axis in order)
        sums = scatter_add(_in_front(subscript, arrays, shape, value), *arrays, shape=shape)
        value = _permuted(sums, inverse_permutation(order))
    else:
        value = _fit(value, subscript.shape)
    value = reshape(value, shape=subscript.part)
    if not subscript.is_whole:
        value = place(np.zeros(shape_of(x), dtype_of(value)), value, index=subscript.basic)
    return arithmetic.add(x, value)
