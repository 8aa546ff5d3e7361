"""Lists of numbers or arrays of one type as one array, whose elements are read when they are first needed."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, Lens, View, boxed, concrete, unrecorded
from wengert.engine.core.dtypes import NUMPY_VALUE, PYTHON_TYPE, dtype_of
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.types import TensorType, promote, type_of
from wengert.engine.ops.conversion import cast, python_number
from wengert.engine.ops.shape import Index, concatenate, place, reshape, slice_

_NUMBERS: Any = (Box, *NUMPY_VALUE, bool, int, float, complex)


class _Cell(NamedTuple):
    """An element of an array."""

    box: weakref.ref[Box]
    array: Box
    number: int
    weak: bool


#: The elements of arrays, by their identities.
_cells: dict[int, _Cell] = {}


def _index(number: int, shape: Shape) -> Index:
    return (number, *((0, extent, 1) for extent in shape[1:]))


class _Pending(Lens):
    """Stands for the value of an element until it is needed; then the element is no view.

    Args:
        box: the element.
        array: the array.
        number: of the element.
        weak: whether it is a number of Python's.
    """

    __slots__ = ("_array", "_box", "_number", "_weak")

    def __init__(self, box: Box, array: Box, number: int, weak: bool) -> None:
        super().__init__(array, View())
        self._box, self._array, self._number, self._weak = box, array, number, weak
        self.origin = None
        self.is_short = False

    def shorten(self) -> None:
        """Read the element."""
        box, value = self._box, boxed(unrecorded(self._read, self._array))
        box.owner, box.state, box.lens = value.owner, value.state, None

    def _read(self, array: Box) -> Any:
        part = slice_(array, index=_index(self._number, array.shape))
        return python_number(part, PYTHON_TYPE[array.dtype.kind]) if self._weak else part


def cells(array: Any, weak: bool) -> list[Any]:
    """Return the elements along the first axis of an array that nothing writes.

    Args:
        array: the array.
        weak: whether they are numbers of Python's.
    """
    if not isinstance(array, Box):
        return [element.item() if weak else element for element in array]
    made: list[Any] = []
    for number in range(array.shape[0]):
        box = array.owner.box(array.state)
        box.lens = _Pending(box, array, number, weak)
        key = id(box)
        _cells[key] = _Cell(weakref.ref(box, lambda _, key=key: _cells.pop(key, None)), array, number, weak)
        made.append(box)
    return made


def _cell(item: Any) -> _Cell | None:
    found = _cells.get(id(item))
    return found if found is not None and found.box() is item else None


def unread_type(item: Any) -> TensorType | None:
    """Return the type of an element of an array that only a run knows, which is not read for this; None for others."""
    cell = _cell(item)
    if cell is None or concrete(cell.array) is not None:
        return None
    return TensorType(cell.array.dtype, cell.array.shape[1:], cell.weak)


def array_of(items: Sequence[Any]) -> Box | None:
    """Return the array of whose elements a list consists, in their order; None if there is none."""
    found = [_cell(item) for item in items]
    if not found or found[0] is None or found[0].array.shape[0] != len(found):
        return None
    array = found[0].array
    is_whole = all(
        cell is not None and cell.array is array and cell.number == n for n, cell in enumerate(found)
    )
    return array if is_whole else None


def are_cells(items: Sequence[Any]) -> bool:
    """Return whether most elements of a list are those of one array, in their order."""
    return _base(items) is not None


def _base(items: Sequence[Any]) -> Box | None:
    found = [(n, _cell(item)) for n, item in enumerate(items)]
    arrays = [cell.array for n, cell in found if cell is not None and cell.number == n]
    counts = Counter(map(id, arrays))
    if not arrays:
        return None
    name, count = counts.most_common(1)[0]
    array = next(array for array in arrays if id(array) == name)
    return array if 2 * count >= len(items) and array.shape[0] == len(items) else None


def types_of(items: Sequence[Any]) -> set[TensorType]:
    """Return the types of numbers and arrays; no element of an array is read for this."""
    found: set[TensorType] = set()
    for item in items:
        cell = _cell(item)
        if cell is None:
            found.add(type_of(item))
        else:
            found.add(TensorType(cell.array.dtype, cell.array.shape[1:], cell.weak))
    return found


def kind_of(items: Sequence[Any], *others: TensorType) -> TensorType | None:
    """Return the type that numbers or arrays have, or take together; None if they have none.

    Only numbers of Python's take another type.
    """
    if not all(isinstance(item, _NUMBERS) for item in items):
        return None
    types = {*types_of(items), *others}
    if len({type_.shape for type_ in types}) != 1:
        return None
    dtype, weak = promote(*types)
    if any(type_.dtype != dtype for type_ in types if not type_.weak) or dtype.kind not in "biufc":
        return None
    return TensorType(dtype, next(iter(types)).shape, weak)


def packed(items: Sequence[Any], kind: TensorType) -> Any:
    """Return a list as an array.

    Args:
        items: the list, which is not empty.
        kind: the type of its elements.
    """
    array = array_of(items)
    if array is not None:
        return array if array.dtype == kind.dtype else cast(array, dtype=kind.dtype)
    base = _base(items)
    if base is None or base.dtype != kind.dtype:
        if not any(isinstance(item, Box) for item in items):
            return np.array(items, kind.dtype)
        return concatenate(*(_row(item, kind) for item in items), axis=0)
    for number, item in enumerate(items):
        cell = _cell(item)
        if cell is None or cell.array is not base or cell.number != number:
            value = strong(item, kind)
            base = place(base, value, index=_index(number, shape_of(base)))
    return base


def strong(value: Any, kind: TensorType) -> Any:
    """Return a number or an array in the dtype of a type."""
    is_typed = dtype_of(value) == kind.dtype and not getattr(
        value, "weak", not isinstance(value, NUMPY_VALUE)
    )
    return value if is_typed else cast(value, dtype=kind.dtype)


def _row(item: Any, kind: TensorType) -> Any:
    return reshape(strong(item, kind), shape=(1, *kind.shape))
