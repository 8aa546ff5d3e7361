"""Lists of lists of numbers of one length as one list, where only a run knows which is read or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.ir.types import show
from wengert.engine.ops.cells import cells, kind_of, packed
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import reshape, slice_
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import FIRST, Grown, Held, place_of
from wengert.engine.staged.stands import Stand


def width_of(elements: Sequence[Any]) -> int | None:
    """Return the length that all elements have as lists of numbers of one type; None if there is none."""
    if not elements or not all(type(element) is list for element in elements):
        return None
    widths = {len(element) for element in elements}
    if len(widths) > 1 or len({id(element) for element in elements}) < len(elements):
        return None
    kind = kind_of(numbers_of(elements))
    (width,) = widths
    return width if width and kind is not None and not kind.shape else None


def numbers_of(rows: Iterable[Iterable[Any]]) -> list[Any]:
    """Return the elements of some lists in one."""
    return [element for row in rows for element in row]


class Table(Stand):
    """Stands for a list of lists of one length.

    Args:
        rows: the lists.
        tools: what finds out about numbers of places, and keeps lists from being written.
        is_empty: whether it has no row yet, and the lists are like those that follow.
    """

    __slots__ = ("flat", "taken", "tools", "width")
    REQUIREMENT = (
        "lists in a list of which only a run knows which one is written keep their length, are read and written by "
        "index, and gone through by a for statement"
    )
    REMEDY = "write into an array: np.zeros((n, m))"

    def __init__(self, rows: Sequence[Any], tools: Any, is_empty: bool = False) -> None:
        super().__init__()
        self.width, self.tools = len(rows[0]), tools
        """The number of elements of each list."""
        elements = numbers_of(rows)
        kind = kind_of(elements)
        assert kind is not None
        self.flat = Grown(kind, tools)
        """All elements, row by row."""
        if not is_empty:
            self.flat.held = Held.of(packed(elements, kind), len(elements))
        self.taken: list[Any] = []
        """Lists that the program has put there: each is the row, which no row of the table shows."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape as an array, whose first extent only a run may know."""
        return self.length(), self.width

    def length(self) -> Any:
        """Return the number of rows, which only a run may know."""
        return self.flat.length() // self.width

    def is_filled(self) -> Any:
        """Return whether it has a row."""
        return self.flat.is_filled()

    @property
    def is_known(self) -> bool:
        """Whether its length is known."""
        return not isinstance(self.flat.length(), Box)

    def row(self, number: Any) -> Row:
        """Return the row of a number to which a ``for`` statement comes, whose turns do not know the table."""
        return Row(self, number, is_passed=True)

    def rows(self, before: Sequence[list[Any]] = ()) -> list[list[Any]]:
        """Return lists of the elements, whose number is known.

        Args:
            before: lists that are to hold the first rows.
        """
        flat, count = self.flat, self.flat.length()
        if not count:
            return []
        array = flat.typed(flat.held.array)
        if array.shape[0] != count:
            array = slice_(array, index=((0, count, 1),))
        found = cells(array, flat.kind.weak)
        made: list[list[Any]] = []
        for number, start in enumerate(range(0, count, self.width)):
            row = before[number] if number < len(before) else []
            row[:] = found[start : start + self.width]
            made.append(row)
        return made

    # -- what a turn may do ------------------------------------------------------------------------------

    def _place(self, index: Any, problem: str) -> Any:
        least, _ = self.flat.held.limits
        return place_of(index, self.length(), least // self.width, problem, self.tools)

    def _numbers(self, values: Any) -> list[Any]:
        """Return the elements of a list that is to be a row."""
        given = cast("list[Any]", values)
        if type(values) is not list or len(given) != self.width:
            requirement = "a list of lists that a loop writes holds lists of numbers, all of one length"
            raise refusal("list", requirement, _shown(values))
        self.taken.append(given)
        self.tools.freeze(given)
        return [*given]

    def append(self, values: Any) -> None:
        """Append a row."""
        self.flat.extend(self._numbers(values))

    def __getitem__(self, index: Any) -> Row:
        if isinstance(index, slice):
            raise self.refused("a slice")
        return Row(self, self._place(index, "list index out of range"))

    def __setitem__(self, index: Any, values: Any) -> None:
        if isinstance(index, slice):
            raise self.refused("an assignment to a slice")
        number = self._place(index, "list assignment index out of range")
        for column, value in enumerate(self._numbers(values)):
            self.flat.put(number * self.width + column, value)

    def __iter__(self) -> Iterator[Row]:
        if self.is_known:
            return iter([Row(self, number) for number in range(self.length())])
        requirement = "the number of elements must be known here"
        raise ConcreteError(message("iteration", requirement, show(self.length()), "write a for statement"))

    def __len__(self) -> int:
        return len([*iter(self)])

    def __bool__(self) -> bool:
        return bool(len(self))

    # -- as an array -------------------------------------------------------------------------------------

    def _made(self) -> Any:
        (first,) = FIRST
        flat = self.flat
        array = flat.typed(flat.held.array)
        room = array.shape[0] // self.width
        array = reshape(slice_(array, index=((0, room * self.width, 1),)), shape=(room, self.width))
        return first(array, self.length())

    def __repr__(self) -> str:
        return "a list of lists of one length"


class Row(Stand):
    """Stands for one of the lists of a table: what is written into it is written there.

    Args:
        table: the table.
        number: of the row.
        is_passed: whether a ``for`` statement goes through the table, and nothing may be written.
    """

    __slots__ = ("is_passed", "number", "table")
    REQUIREMENT, REMEDY = Table.REQUIREMENT, Table.REMEDY

    def __init__(self, table: Table, number: Any, is_passed: bool = False) -> None:
        super().__init__()
        self.table, self.number, self.is_passed = table, number, is_passed

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape as an array."""
        return (self.table.width,)

    def _place(self, index: Any, problem: str) -> Any:
        width = self.table.width
        return self.number * width + place_of(index, width, width, problem, self.table.tools)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.elements()[index]
        return self.table.flat.element(self._place(index, "list index out of range"))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            raise self.refused("an assignment to a slice")
        if self.is_passed:
            raise self.refused("a write into a list to which a for statement comes")
        place, tools = self._place(index, "list assignment index out of range"), self.table.tools
        if self.table.taken and tools.is_seen(self.table.taken):
            requirement = "a list is written that another variable shows"
            raise refusal("list", requirement, hint="append a copy: rows.append(list(row))")
        self.table.flat.put(place, value)

    def elements(self) -> list[Any]:
        """Return a list of the elements."""
        return [self[column] for column in range(self.table.width)]

    def copy(self) -> list[Any]:
        """Return a list of the elements."""
        return self.elements()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.elements())

    def __len__(self) -> int:
        return self.table.width

    def __add__(self, other: Any) -> Any:
        return self.elements() + (other.elements() if type(other) is Row else other)

    def __radd__(self, other: Any) -> Any:
        return other + self.elements()

    def __mul__(self, count: Any) -> Any:
        return self.elements() * count

    __rmul__ = __mul__

    def _made(self) -> Any:
        flat, width = self.table.flat, self.table.width
        return gather(flat.typed(flat.held.array), self.number * width + np.arange(width))

    def __repr__(self) -> str:
        return "one of several lists"


def _shown(values: Any) -> str:
    is_list = type(values) is list
    return f"a list of {len(values)} elements" if is_list else type(values).__name__
