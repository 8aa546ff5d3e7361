"""Elements of lists and tuples at a place that only a run knows: all elements as one array, of which one is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box, Unsized, boxed, concrete
from wengert.engine.core import tree
from wengert.engine.core.dtypes import PYTHON_TYPE
from wengert.engine.ops.cells import array_of, cells, kind_of, packed, strong, types_of
from wengert.engine.ops.comparison import equal, logical_and, logical_or, where
from wengert.engine.ops.conversion import python_number
from wengert.engine.ops.indexing import gather, scatter
from wengert.engine.staged.aliases import link
from wengert.engine.staged.branches import choice
from wengert.engine.staged.columns import READING, WRITING, structure_of
from wengert.engine.staged.counted import interval
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.growing import is_held, part_of_list
from wengert.engine.staged.raising import keep_strict
from wengert.engine.staged.regions import FLOW, grows, has_no_axes, show_value, without_axes
from wengert.engine.staged.shared import Made, freeze_shared
from wengert.engine.staged.tables import numbers_of
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.math_errors import guarded

#: For so few lists nothing stands.
_FEW = 4
_WRITE_HINT = "write into an array: np.zeros(n)"


def item(container: Any, *indices: Any) -> Any:
    """Return the value of ``container[first][second]``."""
    found: Any = container
    for number, index in enumerate(indices):
        is_list: bool = type(found) is list
        if is_list and isinstance(index, slice) and _is_unknown(index):
            found = part_of_list(found, index)
            continue
        if not (type(found) in (list, tuple) and is_place(index)):
            # An array of the user's that no transform has met takes no index that only a run knows.
            is_plain = type(found) is np.ndarray and found.dtype.kind in "biufc" and _is_unknown(index)
            found = (boxed(found) if is_plain else found)[index]
            continue
        rest = indices[number + 1 :]
        if rest and _are_alike(found):
            return _read_inside(found, index, rest)
        _stand_for_rows(found)
        found = _read(found, index)
    return found


def _stand_for_rows(container: Any) -> None:
    """Have a loop let something stand for a list of lists that it reads or writes as only a run knows, if it can."""
    if type(container) is not list or FLOW.memory is None or len(cast("list[Any]", container)) <= _FEW:
        return
    if type(container[0]) is list and is_held(container):
        problem = grows(container, 0, container)
        if problem.rows is not None:
            raise problem


READING.append(item)


def _is_unknown(index: Any) -> bool:
    """Return whether only a run knows a part of a subscript."""
    match index:
        case tuple() | list():
            return any(map(_is_unknown, cast("Sequence[Any]", index)))
        case slice():
            return any(map(_is_unknown, (index.start, index.stop, index.step)))
        case _:
            return isinstance(index, Unsized) or (isinstance(index, Box) and concrete(index) is None)


def _are_alike(container: Sequence[Any]) -> bool:
    """Return whether all elements are lists, or all are tuples, of one length."""
    kinds: set[type] = {type(part) for part in container}
    return kinds in ({list}, {tuple}) and len({len(part) for part in container}) == 1


def _read_inside(container: Sequence[Any], index: Any, rest: Sequence[Any]) -> Any:
    """Return what stands in one of several lists, which is not made anew: a write into it would be lost."""
    number = position(index, len(container), f"{type(container).__name__} index out of range")
    width, column = len(container[0]), rest[0]
    is_known = type(column) is int and -width <= column < width
    if width and (is_known or is_place(column)):
        elements = numbers_of(container)
        # Columns of numbers may have several types, but for those of one array.
        if array_of(elements) is not None if is_known else kind_of(elements) is not None:
            if is_known:
                column += width * (column < 0)
            else:
                column = position(column, width, f"{type(container[0]).__name__} index out of range")
            found = _chosen(elements, number * width + column, "the elements of lists")
            return item(found, *rest[1:])
    return _chosen([item(part, *rest) for part in container], number, "the elements of lists")


class Target:
    """What is written at ``container[first][second]``, as an object that has one element."""

    __slots__ = ("_container", "_index")

    def __init__(self, container: Any, *indices: Any) -> None:
        self._container, self._index = container, indices
        while len(self._index) > 1 and not (type(self._container) is list and is_place(self._index[0])):
            self._container = item(self._container, self._index[0])
            self._index = self._index[1:]

    def __getitem__(self, _: int) -> Any:
        return item(self._container, *self._index)

    def __setitem__(self, _: int, value: Any) -> None:
        write(self._container, self._index, value)


def is_place(index: Any) -> bool:
    """Return whether an index is an integer that only a run knows."""
    return isinstance(index, Box) and not index.shape and index.dtype.kind in "iu" and concrete(index) is None


def position(index: Any, length: int, problem: str) -> Any:
    """Return the number of an element, given an index that may count from the end; the program raises `IndexError`."""
    if not length:
        raise IndexError(problem)
    index = python_number(index, int)
    limits = interval(index)
    low, high = limits if limits is not None else (-length - 1, length)
    if low < 0:
        index = where(index < 0, index + length, index)
    if low >= -length and high < length:
        return index
    inside = logical_and(index >= 0, index < length)
    return guarded(where(inside, index, 0), inside, IndexError(problem))


def _read(container: Any, index: Any) -> Any:
    number = position(index, len(container), f"{type(container).__name__} index out of range")
    return _chosen(container, number, "the elements of a list")


def _chosen(items: Sequence[Any], number: Any, name: str) -> Any:
    """Return one of some elements of one type or structure."""
    kind = kind_of(items)
    if kind is not None:
        note_kinds(items)
        value = gather(packed(items, kind), number)
        value = python_number(value, PYTHON_TYPE[kind.dtype.kind]) if kind.weak else value
        no_axes = any(map(has_no_axes, items))
        value = without_axes(value) if no_axes else value
        if kind.shape or no_axes:
            link(value, items)
        return value
    flat = [tree.flatten(one) for one in items]
    structures = [structure for _, structure in flat]
    if structures[0].kind is None or any(one != structures[0] for one in structures):
        first = items[0]
        if all(one is first or (type(one) is type(first) is str and one == first) for one in items):
            return first
        got = " and ".join(dict.fromkeys(map(show_value, items)))
        raise refusal("list", f"{name} must be of one type where only a run knows which is read", got)
    leaves = [_chosen(column, number, name) for column in zip(*(found for found, _ in flat), strict=True)]
    made = tree.unflatten(structures[0], leaves)
    freeze_shared([Made(made, items)])
    return made


def note_kinds(items: Sequence[Any]) -> None:
    """Note that numbers of several types take one where only a run knows which is meant."""
    if len(types_of(items)) > 1:
        keep_strict("the numbers of a list have several types")
        FLOW.is_widened = True


def write(container: Any, indices: Sequence[Any], value: Any) -> None:
    """Carry out ``container[first][second] = value``.

    Args:
        container: any object.
        indices: what stands in the brackets: of several, the first one is a place in a list.
        value: what is written.
    """
    index, *rest = indices
    if not (type(container) is list and is_place(index)):
        container[index] = value
        return
    number = position(
        index, len(container), "list assignment index out of range" if not rest else "list index out of range"
    )
    if rest:
        _write_inside(container, number, rest, value)
        return
    _stand_for_rows(container)
    structure = structure_of([*container, value])
    if structure is None:
        container[:] = _written(container, number, value)
        return
    columns = zip(*map(tree.leaves, container), strict=True)
    pairs = zip(columns, tree.leaves(value), strict=True)
    rows = zip(*(_written(column, number, leaf) for column, leaf in pairs), strict=True)
    container[:] = [tree.unflatten(structure, [*row]) for row in rows]


def _written(items: Sequence[Any], number: Any, value: Any) -> Sequence[Any]:
    """Return the numbers of a list with another one in a place that only a run knows."""
    kind = kind_of([*items, value])
    if kind is None or kind.shape or any(map(has_no_axes, items)):
        kinds = dict.fromkeys(map(show_value, [*items, value]))
        requirement = "the elements must be numbers of one type where only a run knows which is written"
        raise refusal("list", requirement, " and ".join(kinds), _WRITE_HINT)
    note_kinds([*items, value])
    return cells(scatter(packed(items, kind), strong(value, kind), number), kind.weak)


WRITING.append(lambda container, index, value: write(container, [index], value))


def _write_inside(container: list[Any], number: Any, rest: Sequence[Any], value: Any) -> None:
    """Write into one of several arrays or lists: into each of them what it is to hold."""
    places: dict[int, list[int]] = {}
    for n, part in enumerate(container):
        places.setdefault(id(part), []).append(n)
    _stand_for_rows(container)
    if len({len(part) for part in container if hasattr(part, "__len__")}) != 1:
        raise refusal("list", "the lists must be of one length where only a run knows which is written")
    for numbers in places.values():
        part = container[numbers[0]]
        is_meant: Any = equal(number, numbers[0])
        for n in numbers[1:]:
            is_meant = logical_or(is_meant, equal(number, n))
        before = item(part, *rest)
        if not (is_number(before) and is_number(value)):
            requirement = "numbers alone are written where only a run knows into which list"
            raise refusal("list", requirement, f"{show_value(before)} and {show_value(value)}", _WRITE_HINT)
        new = choice(is_meant, lambda: value, lambda before=before: before)
        write(part, rest, new)
