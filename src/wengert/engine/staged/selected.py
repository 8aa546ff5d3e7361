"""Arrays of which only a run knows how many elements they have: parts by slices with unknown ends, and by masks.

Such an array is held as one of a known shape, with the positions of each axis that are selected. An element stays where
it stands in its array, so that parts by equal ends need no move; what stands at other positions counts for nothing.
Operations compute at all positions; sums, extrema and writes take those that are selected.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from wengert.engine.boxes import Box, Unsized, boxed, concrete, own, snapshot
from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import ConcreteError, IndexingError, ShapeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ops.comparison import where
from wengert.engine.ops.conversion import cast as converted
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import FIRST, Grown
from wengert.engine.staged.raising import note
from wengert.engine.staged.shrunk import UNPACKING, Ends, Shrunk
from wengert.engine.staged.spans import (
    Mask,
    Selection,
    Span,
    check_step,
    distance,
    end,
    number,
    span,
    unknown_ends,
)

#: What each of NumPy's functions does with such arrays; `selected_functions` fills it.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_REMEDY = "keep the size: write np.where(mask, x, 0), or return a sum of the elements"
_OPERANDS: Any = (Box, np.ndarray, np.generic, bool, int, float, complex)
Axes = tuple[Selection | None, ...]


class Selected(Unsized):
    """An array some of whose axes have a length that only a run knows.

    Args:
        array: a box with the elements at their positions.
        axes: for each axis what is selected; None for all.
        place: the array and the subscript of which this is a view; None for a copy.
    """

    __slots__ = ("array", "axes", "is_positions", "place")
    __array_priority__ = 2000.0
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, array: Any, axes: Sequence[Selection | None], place: Any = None) -> None:
        super().__init__()
        self.array, self.axes, self.place = array, tuple(axes), place
        self.is_positions = False
        """Whether the elements are the positions themselves, as those of `np.flatnonzero` are."""

    # -- sizes -------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[Any, ...]:
        """The lengths of the axes, some of which only a run knows."""
        pairs = zip(self.array.shape, self.axes, strict=True)
        return tuple([extent if axis is None else axis.length for extent, axis in pairs])

    @property
    def size(self) -> Any:
        """The number of elements."""
        found: Any = 1
        for length in self.shape:
            found = length * found
        return found

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.array.dtype

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The axes in reverse order."""
        return Selected(self.array.T, self.axes[::-1])

    def __iter__(self) -> NoReturn:
        raise refused("iteration", "the number of elements must be known here", "write a for statement")

    def __len__(self) -> NoReturn:
        raise refused("len", "the number of elements must be known here")

    def _without_value(self, *_: Any, **__: Any) -> NoReturn:
        raise refused("conversion", "an array whose size only a run knows has no plain value", _REMEDY)

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = item = tolist = _without_value

    def __repr__(self) -> str:
        return f"an array of {self.dtype} whose size only a run knows"

    def packed(self) -> Any:
        """Return the array and the ends of its axes; what a mask selects has no such form."""
        if self.is_positions or any(isinstance(axis, Mask) for axis in self.axes):
            return self
        spans: Any = self.axes
        return Shrunk(self.array, tuple([axis and (axis.start.value, axis.stop.value) for axis in spans]))

    # -- parts -------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return taken(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        put(self, index, value)

    def mask(self, axes: Sequence[int] | None = None) -> Any:
        """Return a truth value for each position: whether it is selected; True if all are.

        Args:
            axes: those that count; all by default.
        """
        found: Any = True
        for place, axis in enumerate(self.axes):
            if axis is not None and (axes is None or place in axes):
                trailing = (1,) * (len(self.axes) - place - 1)
                part = np.reshape(axis.mask(), (-1, *trailing))
                found = part if found is True else found & part
        return found

    def filled(self, value: Any) -> Any:
        """Return the array with a value where nothing is selected."""
        mask = self.mask()
        return self.array if mask is True else where(mask, self.array, converted(value, dtype=self.dtype))

    def assign(self, value: Any, *, in_place: bool = True) -> Selected:
        """Write a value to the selected elements.

        Args:
            value: broadcasts to them.
            in_place: whether the value must fit the dtype, as that of an in-place operation must.
        """
        (_, new), axes = aligned("setitem", [self, value])
        if axes != self.axes or broadcast("setitem", shape_of(new), self.array.shape) != self.array.shape:
            raise ShapeError(message("setitem", "the value must broadcast to what is selected", repr(value)))
        if in_place and not np.can_cast(dtype_of(new), self.dtype, "same_kind"):
            self.array.fitted(np.broadcast_to(boxed(new), self.array.shape))
        self.array.check_writable(new)
        new = converted(new, dtype=self.dtype) if dtype_of(new) != self.dtype else new
        self.array.write(boxed(where(np.broadcast_to(self.mask(), self.array.shape), new, self.array)))
        return self

    # -- NumPy's protocols -------------------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        if method != "__call__" or options.get("where", True) is not True:
            raise refused(
                f"np.{ufunc.__name__}", "this has no meaning for arrays whose size only a run knows", _REMEDY
            )
        if ufunc.signature is not None:
            result = FUNCTIONS[ufunc](*inputs) if ufunc in FUNCTIONS else _unknown(ufunc.__name__)
        else:
            result = elementwise(ufunc, *inputs, **options)
        if out is None:
            return result
        target: Any = out[0] if len(out) == 1 else None
        if not isinstance(target, Selected):
            raise refused(f"np.{ufunc.__name__}", "out= must be an array of the same selection")
        return target.assign(result)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        handler = FUNCTIONS.get(function)
        if handler is None:
            _unknown(function.__name__)
        return handler(*arguments, **options)

    def __round__(self, digits: int = 0) -> Any:
        return elementwise(np.round, self, digits)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __matmul__(self, other: Any) -> Any:
        return FUNCTIONS[np.matmul](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return FUNCTIONS[np.matmul](other, self)

    def copy(self, order: str = "C") -> Selected:
        """Return a copy."""
        return Selected(own(self.array), self.axes)

    __copy__ = copy

    def as_array(self, dtype: Any = None) -> Selected:
        """Return a copy, converted to another dtype if one is given."""
        return self.copy() if dtype is None else self.astype(dtype)

    def __deepcopy__(self, memo: Any) -> Selected:
        return self.copy()

    def astype(self, dtype: Any, **options: Any) -> Selected:
        """Return the elements converted to another dtype."""
        return Selected(self.array.astype(dtype, **options), self.axes)

    def fill(self, value: Any) -> None:
        """Write one value to all elements."""
        self.assign(value, in_place=False)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name, None) if name in _METHODS else None
        if function is None:
            if name.startswith("__"):
                raise AttributeError(name)
            _unknown(name)

        def method(*arguments: Any, **options: Any) -> Any:
            return function(self, *arguments, **options)

        return method


_METHODS = {
    *("sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "argmax", "argmin", "dot", "cumsum"),
    *("round", "ptp", "clip", "conj"),
}


def _operators() -> None:
    """Give the class Python's operators, which mean NumPy's functions."""
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"),
        *("eq", "ne", "lt", "le", "gt", "ge"),
    ):
        python: Any = getattr(operator, name + "_" if name in ("and", "or") else name)

        def forward(self: Selected, other: Any, python: Any = python) -> Any:
            return elementwise(python, self, other)

        def reflected(self: Selected, other: Any, python: Any = python) -> Any:
            return elementwise(python, other, self)

        def in_place(self: Selected, other: Any, python: Any = python) -> Any:
            return self.assign(elementwise(python, self, other))

        setattr(Selected, f"__{name}__", forward)
        if name not in ("eq", "ne", "lt", "le", "gt", "ge"):
            setattr(Selected, f"__r{name}__", reflected)
            setattr(Selected, f"__i{name}__", in_place)
    for name in ("neg", "pos", "abs", "invert"):
        python = getattr(operator, name)
        setattr(Selected, f"__{name}__", lambda self, python=python: elementwise(python, self))


_operators()


def refused(operation: str, requirement: str, hint: str = "") -> ConcreteError:
    """Return the error of an operation on arrays whose size only a run knows."""
    return refusal(operation, requirement, hint=hint)


def _unknown(name: str) -> NoReturn:
    raise refused(name, "this needs the size of an array that only a run knows", _REMEDY)


def selected(array: Any, axes: Sequence[Selection | None], place: Any = None) -> Any:
    """Return an array with selected axes; without any, the box itself."""
    return array if all(axis is None for axis in axes) else Selected(array, axes, place)


def _unpacked(array: Any, ends: Ends) -> Any:
    """Return an array between some ends of its axes."""
    if all(pair is None or (type(pair[0]) is int and type(pair[1]) is int) for pair in ends):
        return array[tuple([slice(None) if pair is None else slice(pair[0], max(pair)) for pair in ends])]
    pairs = zip(array.shape, ends, strict=True)
    spans = [pair and Span(end(pair[0]), end(pair[1]), extent) for extent, pair in pairs]
    return selected(boxed(array), spans)


UNPACKING.append(_unpacked)


def _first(array: Any, length: Any) -> Any:
    """Return so many of the first elements of an array."""
    if not isinstance(length, Box):
        return array[:length]
    others = [None] * (len(shape_of(array)) - 1)
    return Selected(boxed(array), [Span(end(0), end(length), shape_of(array)[0]), *others])


FIRST.append(_first)


def parts_of(value: Any) -> tuple[Any, Axes]:
    """Return an operand as a box, an array or a number, and what is selected of its axes."""
    value = value.as_array() if type(value) is Grown else value
    if isinstance(value, Selected):
        return value.array, value.axes
    array = value if isinstance(value, _OPERANDS) else cast("Any", np.asarray(value))
    return array, (None,) * len(shape_of(array))


def aligned(operation: str, operands: Sequence[Any]) -> tuple[list[Any], Axes]:
    """Return operands whose selected elements stand at the positions of the first one's, and what is selected."""
    pairs = [parts_of(one) for one in operands]
    rank = max(len(axes) for _, axes in pairs)
    arrays: list[Any] = [array for array, _ in pairs]
    found: list[Selection | None] = []
    for back in range(rank, 0, -1):
        sides = [(k, axes[-back]) for k, (_, axes) in enumerate(pairs) if len(axes) >= back]
        target = next((axis for _, axis in sides if axis is not None), None)
        found.append(target)
        for k, axis in sides if target is not None else ():
            place = len(pairs[k][1]) - back
            if axis is not None:
                arrays[k] = _moved(operation, arrays[k], place, axis, cast("Selection", target))
            elif shape_of(arrays[k])[place] != 1:
                requirement = "an axis whose length only a run knows must meet another one of the same length"
                raise refused(operation, f"{requirement}, and meets {shape_of(arrays[k])[place]} elements")
    return arrays, tuple(found)


def _moved(operation: str, array: Any, place: int, axis: Selection, target: Selection) -> Any:
    """Return an array whose selected elements of an axis stand at the positions of another selection."""
    if axis.is_like(target) and axis.extent == target.extent:
        return array
    if isinstance(axis, Mask) or isinstance(target, Mask):
        raise refused(
            operation, "the elements that two masks select can only meet where the masks are one", _REMEDY
        )
    if not axis.is_as_long_as(target):
        requirement = "the lengths of two slices must be equal, also where one is 1"
        note(ShapeError(message(operation, requirement)), axis.length != target.length)
    moved = distance(axis, target)
    if (
        type(moved) is int and axis.extent == target.extent
    ):  # what comes round from the other end is not selected
        return np.roll(array, -moved, place)
    positions = np.clip(np.arange(target.extent) + moved, 0, axis.extent - 1)
    return np.take(array, positions, axis=place)


def elementwise(function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Apply a function to the elements of arrays that broadcast."""
    name = getattr(function, "__name__", "operation")
    arrays, axes = aligned(name, operands)
    if name in ("pow", "power") and all(dtype_of(array).kind in "biu" for array in arrays):
        mask = Selected(arrays[0], axes).mask()  # an integer has no negative powers, wherever it stands
        arrays = [np.where(mask, array, 1) for array in arrays]
    result = function(*arrays, **options)
    if isinstance(result, tuple):
        return tuple([selected(part, axes) for part in cast("tuple[Any, ...]", result)])
    return selected(result, axes)


# -- subscripts ------------------------------------------------------------------------------------------


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, Box) and entry.dtype == BOOL and concrete(entry) is None


def taken(value: Any, index: Any) -> Any:
    """Return ``value[index]``: a view, or a copy of what a mask selects."""
    array, inside, axes = _part(value, index)
    found = selected(array[inside], axes)
    if not isinstance(found, Selected):
        return found
    if any(isinstance(axis, Mask) for axis in found.axes):
        return found.copy()
    found.place = value, index
    return found


def put(value: Any, index: Any, new: Any) -> None:
    """Carry out ``value[index] = new``."""
    if isinstance(new, Selected) and new.place is not None:
        base, made_by = new.place
        if base is value and made_by is index:  # `x[a:b] += y` has written through the view already
            return
    array, inside, axes = _part(value, index, is_written=True)
    if any(axis is not None for axis in axes):
        Selected(array[inside], axes).assign(new, in_place=False)
    elif isinstance(new, Selected):
        raise refused("setitem", "the number of elements that are written must be known here", _REMEDY)
    else:
        array[inside] = new


def _part(value: Any, index: Any, *, is_written: bool = False) -> tuple[Any, Any, Axes]:
    """Return an array and the subscript of its part of which a subscript selects, and what it selects of each axis.

    Args:
        value: the array, or what is selected of one.
        index: the subscript.
        is_written: whether the part is written to.
    """
    entries = _expanded(value, index)
    array, axes = parts_of(value)
    place = 0
    for at, entry in enumerate(entries):  # masks of several axes or of none: one axis of all their elements
        rank = _rank(entry)
        if rank == 0 and _is_mask(entry):
            longer = (*entries[:at], np.reshape(entry, (1,)), *entries[at + 1 :])
            return _part(value[(slice(None),) * place + (None,)], longer, is_written=is_written)
        if rank > 1:
            if any(axis is not None for axis in axes) or not all(
                _is_whole(x) for x in entries if x is not entry
            ):
                raise refused("getitem", "a mask of several axes must be the only index")
            shape = array.shape
            if entry.shape != shape[place : place + rank]:
                raise _unfit(entry, shape[place : place + rank])
            flat = np.reshape(array, (*shape[:place], -1, *shape[place + rank :]))
            wholes = [slice(None)] * len(shape)
            return _part(
                flat, (*wholes[:place], np.ravel(entry), *wholes[place + rank :]), is_written=is_written
            )
        place += rank
    return _along(array, axes, entries, is_written)


def _along(array: Any, axes: Axes, entries: Sequence[Any], is_written: bool) -> tuple[Any, Any, Axes]:
    index: list[Any] = []
    found: list[Selection | None] = []
    shape = array.shape
    place = 0
    for entry in entries:
        if entry is None:
            index.append(None)
            found.append(None)
            continue
        axis, extent = axes[place], shape[place]
        place += 1
        if isinstance(entry, slice):
            taken_, left = _sliced(entry, axis, extent)
            index.append(taken_)
            found.append(left)
        elif isinstance(entry, Selected) or _is_mask(entry):
            taken_, left = _chosen(entry, axis, extent, is_written)
            index.append(taken_)
            found.append(left)
        elif shape_of(entry) == ():
            index.append(entry if axis is None else _position(axis, entry, place - 1))
        else:
            raise refused("getitem", "an index array and a slice of unknown ends must not be mixed", _REMEDY)
    kinds = "".join(map(_kind, entries))
    if kinds.count("m") > 1:
        raise refused("getitem", "one mask is supported in a subscript")
    if re.search("s.*m", kinds) and re.search("m.*s.*i|i.*s.*m", kinds):
        requirement = "a slice between an integer and a mask, which brings the mask's axis to the front"
        raise refused("getitem", requirement, "write x[i] first, then the mask: x[i][:, mask]")
    return array, tuple(index), tuple(found)


def _position(axis: Selection, index: Any, place: int) -> Any:
    """Return where an element of a selection stands; a run raises an error if there is none."""
    position, fails = axis.position(number(index))
    problem = IndexError(f"index is out of bounds for axis {place}")
    if isinstance(fails, Box):
        note(problem, fails)
        return where(fails, 0, position)
    if fails:
        raise problem
    return position


def _sliced(entry: slice, axis: Selection | None, extent: int) -> tuple[Any, Selection | None]:
    """Return the subscript of an axis for a slice, and what it selects of the axis."""
    if axis is None and not unknown_ends(entry):
        return entry, None
    check_step(entry)
    if axis is None:
        found, is_reversed = span(entry, extent)
        return slice(None, None, -1 if is_reversed else None), found
    if entry.step != -1:
        return slice(None), axis if _is_whole(entry) else axis.part(entry)
    if entry.start is not None or entry.stop is not None:
        raise refused("getitem", "a slice of unknown ends is reversed whole", "write x[a:b][::-1]")
    return slice(None, None, -1), axis.flipped()


def _chosen(entry: Any, axis: Selection | None, extent: int, is_written: bool) -> tuple[Any, Selection]:
    """Return the subscript of an axis for a mask or for positions, and what it selects."""
    if axis is not None:
        raise refused("getitem", "a mask of what another subscript selects", _REMEDY)
    if not isinstance(entry, Selected):
        if entry.shape != (extent,):
            raise _unfit(entry, (extent,))
        return slice(None), Mask(snapshot(entry), extent)
    (chosen,) = entry.axes if entry.ndim == 1 else (None,)
    if chosen is None or entry.dtype.kind not in "iu":
        raise refused("getitem", "an index array must have one axis of integers", _REMEDY)
    if entry.is_positions and chosen.extent == extent:
        return slice(None), chosen
    if is_written:
        raise refused("setitem", "a write at positions that only a run knows needs those of a mask", _REMEDY)
    return entry.filled(0), chosen


def _kind(entry: Any) -> str:
    if isinstance(entry, Selected) or _is_mask(entry):
        return "m"
    return "s" if entry is None or isinstance(entry, slice) else "i"


def _unfit(mask: Any, shape: tuple[int, ...]) -> Exception:
    requirement = f"a mask must have the shape {shape} of the axes that it indexes"
    return IndexingError(message("getitem", requirement, str(shape_of(mask))))


def _rank(entry: Any) -> int:
    """Return how many axes an entry of a subscript indexes."""
    if entry is None:
        return 0
    return len(entry.shape) if _is_mask(entry) else 1


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry.start is None and entry.stop is None and entry.step in (None, 1)


def _expanded(value: Any, index: Any) -> list[Any]:
    """Return the entries of a subscript, without an ellipsis and with whole slices for the axes behind."""
    entries = list(cast("tuple[Any, ...]", index)) if isinstance(index, tuple) else [index]
    used = sum(_rank(entry) for entry in entries if entry is not Ellipsis)
    rank = value.ndim
    if used > rank:
        raise IndexingError(message("getitem", f"{rank} axes can be indexed", f"{used} indices"))
    fill = [slice(None)] * (rank - used)
    at = next((k for k, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    return [*entries[:at], *fill, *entries[at + 1 :]]
