"""Lists that blocks append to, or pop from: what stands for them, and what a loop carries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CellType, FunctionType
from typing import Any

import numpy as np

from wengert.engine.boxes import OBSERVED, Box, concrete
from wengert.engine.control.values import bytes_of
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType
from wengert.engine.ops.cells import cells, kind_of, packed
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.shape import slice_
from wengert.engine.staged.aliases import hold, is_outside, is_seen
from wengert.engine.staged.columns import Columns
from wengert.engine.staged.counted import COUNTER, limit, limits
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import Grown, Held, keeps_length
from wengert.engine.staged.objects import DICT, LIST, parts_of, visited
from wengert.engine.staged.raising import keep_strict
from wengert.engine.staged.regions import FLOW, GrowthError, grows, has_no_axes, without_axes
from wengert.engine.staged.tables import Row, Table
from wengert.engine.transforms.copied_globals import Globals
from wengert.engine.transforms.math_errors import guarded

#: The room of a list that grows in a loop of which only a run knows how many turns it takes: elements, and bytes.
_MOST, _MOST_BYTES = 1 << 14, 1 << 20
_HINT = "write into an array: np.zeros(n)"


class _Tools:
    """What lists need to know of numbers of places, and do with arrays."""

    hold = staticmethod(hold)
    limits = staticmethod(limits)
    guarded = staticmethod(guarded)
    has_no_axes = staticmethod(has_no_axes)
    without_axes = staticmethod(without_axes)
    is_seen = staticmethod(is_seen)

    def freeze(self, items: Any) -> None:
        """Refuse that a list changes."""
        FLOW.frozen.add([items])

    def widened(self) -> None:
        """Note that numbers of several types take one."""
        keep_strict("the numbers of a list have several types")
        FLOW.is_widened = True

    def is_integer(self, index: Any) -> bool:
        """Return whether an index is an integer."""
        if isinstance(index, Box):
            return not index.shape and index.dtype.kind in "iu" and concrete(index) is None
        return isinstance(index, (int, np.integer))


_TOOLS = _Tools()


class _Holder(NamedTuple):
    """A variable, an element or an attribute that shows a list."""

    item: Any
    """A cell, a list or a dict; the attributes of an object are one."""
    key: Any

    @property
    def content(self) -> Any:
        """What it shows now."""
        if isinstance(self.item, CellType):
            return next(iter(parts_of(self.item)), None)
        return (DICT if isinstance(self.item, DICT) else LIST).__getitem__(self.item, self.key)

    def show(self, value: Any) -> None:
        """Give it another value."""
        if isinstance(self.item, CellType):
            self.item.cell_contents = value
        else:
            (DICT if isinstance(self.item, DICT) else LIST).__setitem__(self.item, self.key, value)


def _holders(container: Any, functions: Sequence[FunctionType]) -> list[_Holder]:
    """Return what shows a list; refuse one that an object holds of which no element can be exchanged."""
    found: list[_Holder] = []
    for item in visited(functions):
        parts: Any = ()
        if isinstance(item, CellType):
            parts = [(None, part) for part in parts_of(item)]
        elif isinstance(item, DICT) and not isinstance(item, Globals):
            parts = DICT.items(item)
        elif isinstance(item, LIST) and type(item) not in (Grown, Columns, Table, Row):
            parts = enumerate(item)
        elif any(part is container for part in parts_of(item)) and not isinstance(item, FunctionType):
            requirement = "a list grows in a loop or a branch that another object holds"
            raise refusal("list", requirement, type(item).__name__, _HINT)
        found += [_Holder(item, key) for key, part in parts if part is container]
    return found


def _check_inside(container: Any) -> None:
    """Refuse a list that the program would change for later calls."""
    if is_outside(container):
        raise refusal("list", "a list from outside of the function grows as only a run knows", hint=_HINT)


def is_held(container: Any) -> bool:
    """Return whether a block around has met a container before."""
    return any(region.holds(container) for region in OBSERVED)


def _check_passed(container: Any) -> None:
    """Refuse a list that a ``for`` statement goes through, which would not come to what stands for it."""
    if FLOW.passed and any(item is container for item in visited(FLOW.passed)):
        raise keeps_length()


def columns_with(
    container: Any, kind: TensorType, functions: Sequence[FunctionType]
) -> list[tuple[Any, Any]]:
    """Return a list that grows and the others of a list of tuples, which grow with it, and the types of their elements.

    Args:
        container: the list, or what stands for it.
        kind: the type of its elements.
        functions: what reaches it.
    """
    for item in visited(functions):
        if type(item) is Columns and any(one is container for one in item.lists):
            kinds = [one.kind if type(one) is Grown else kind_of(one) for one in item.lists]
            if None not in kinds and len(set(map(type, item.lists))) == 1:
                return [*zip(item.lists, kinds, strict=True)]
    return [(container, kind)]


def is_of_block(problem: GrowthError) -> bool:
    """Return whether something may stand for a list that a block makes longer: no block around has met it before."""
    is_list = isinstance(problem.container, LIST)
    is_list = is_list and not (problem.kind is None and problem.structure is None and problem.rows is None)
    return is_list and not is_held(problem.container)


def stand_for(problem: GrowthError, functions: Sequence[FunctionType]) -> None:
    """Let something stand for a list that a branch makes longer."""
    container, kind = problem.container, problem.kind
    if not is_of_block(problem) or type(container) is Grown:
        raise problem
    if kind is None:
        Split(problem, functions)
        return
    _check_inside(container)
    _check_passed(container)
    stand = Grown(kind, _TOOLS)
    array = packed([*container], kind) if container else None
    stand.held = Held.of(array, len(container))
    stand.make_room(len(container) + max(problem.change, 0))
    holders = _holders(container, functions)
    for holder in holders:
        holder.show(stand)
    if is_seen([container]):
        for holder in holders:
            holder.show(container)
        raise problem
    stand.take(container)


def part_of_list(items: list[Any], part: slice) -> Grown:
    """Return the elements of a slice whose ends only a run knows.

    Args:
        items: a list of numbers, or arrays of one shape.
        part: the slice.
    """
    kind = kind_of(items) if items else TensorType(np.dtype(np.float64), (), True)
    if kind is None:
        requirement = "a slice whose ends only a run knows is one of numbers, or arrays of one shape"
        raise refusal("list", requirement, hint=_HINT)
    stand = Grown(kind, _TOOLS)
    stand.held = Held.of(packed(items, kind) if items else None, len(items))
    stand.make_room(max(len(items), 1))
    stand.take(items)
    return stand[part]


class Split:
    """The exchange of a list of tuples of numbers for a list for each number, or of lists for one list."""

    def __init__(self, problem: GrowthError, functions: Sequence[FunctionType]) -> None:
        container = self._container = problem.container
        _check_inside(container)
        _check_passed(container)
        self.columns: Any
        """What stands for the list."""
        if problem.structure is not None:
            self.columns = Columns(problem.structure, container)
        else:
            assert problem.rows is not None
            self.columns = Table(container or problem.rows, _TOOLS, is_empty=not container)
        self._holders = _holders(container, functions)
        for holder in self._holders:
            holder.show(self.columns)
        if is_seen([container, *(container if problem.structure is None else ())]):
            self.undo()
            raise problem

    @property
    def is_table(self) -> bool:
        """Whether the list holds lists."""
        return type(self.columns) is Table

    @property
    def container(self) -> Any:
        """The list."""
        return self._container

    def undo(self) -> None:
        """Put the list back, which holds what it held."""
        for holder in self._holders:
            if holder.content is self.columns:
                holder.show(self._container)

    def end(self) -> None:
        """Put the list back if its length is known after all."""
        if self.columns.is_known:
            rows = self.columns.rows([*self._container]) if self.is_table else self.columns.rows()
            LIST.__setitem__(self._container, slice(None), rows)
            self.undo()


@dataclass
class GrowingList:
    """A list that changes its length in the turns of a loop.

    Args:
        container: the list, or what stands for it.
        kind: the type of its elements.
        most: the largest number of turns; None if that is not known.
        ends_early: whether only a run knows how many turns the loop takes.
        low: by how much it grows in a turn, at least, as far as is known.
    """

    container: Any
    kind: TensorType
    most: int | None
    ends_early: bool
    low: int

    def __post_init__(self) -> None:
        self.high = self.low
        """By how much it grows in a turn, at most."""
        is_list = type(self.container) is not Grown
        if is_list:
            _check_inside(self.container)
        self.stand: Grown = Grown(self.kind, _TOOLS) if is_list else self.container
        self.items: list[Any] = [*self.container] if is_list else []
        if is_list:
            self.stand.held = Held.of(None, len(self.items))
        self.stand.take(self.items)
        self.before = self.stand.held
        self.peak_before = self.stand.peak
        self.peak = max(self.high, 0)
        """By how much it grows within a turn, at most."""
        self.kind = kind_of(self.items, self.kind) or self.kind
        self.stand.kind = self.kind
        self._holders: list[_Holder] = []

    @property
    def is_open(self) -> bool:
        """Whether only a run knows by how much it grows: the length is part of the carry."""
        return self.ends_early or self.low != self.high

    # -- in the place of the list ------------------------------------------------------------------------

    def enter(self, functions: Sequence[FunctionType]) -> None:
        """Put the stand-in in the place of the list."""
        if self.stand is self.container:
            return
        _check_passed(self.container)
        self._holders = _holders(self.container, functions)
        self._show(self.stand)
        if self.is_open and is_seen([self.container]):  # no variable shows the list after the loop
            raise grows(self.container)

    def _show(self, item: Any) -> None:
        for holder in self._holders:
            holder.show(item)

    def leave(self) -> None:
        """Put the list back."""
        self._show(self.container)

    # -- the carry ---------------------------------------------------------------------------------------

    def _grown(self, turns: int) -> tuple[int, int]:
        """Return by how much it has grown after some turns, at least and at most."""
        low, high = self.low * turns, self.high * turns
        if self._is_unbounded and self.is_open:
            return min(self.low, 0) and -self.room, self.room
        return (min(low, 0), max(high, 0)) if self.ends_early else (low, high)

    @property
    def _is_unbounded(self) -> bool:
        return self.most is None or self.stand.is_unbounded

    @property
    def room(self) -> int:
        """How many elements the array has."""
        if self.before.has_room:
            return self.stand.room
        _, before = self.before.limits
        least = 1 if self.before.array is None else max(shape_of(self.before.array)[0], 1)
        if self._is_unbounded:
            return max(before + min(_MOST, _MOST_BYTES // max(bytes_of([self.kind]), 1)), least)
        return max(before + max(self.high, 0) * max((self.most or 1) - 1, 0) + self.peak, before, least)

    @property
    def types(self) -> list[TensorType]:
        """The types of the array, and of the length."""
        return [TensorType(self.kind.dtype, (self.room, *self.kind.shape)), *[COUNTER] * self.is_open]

    def initial(self) -> list[Any]:
        """Return the array before the loop, and the length."""
        stand, dtype = self.stand, self.kind.dtype
        array = self.before.array if not self.items else packed(self.items, self.kind)
        if array is not None and array.dtype != dtype:
            array = cast(array, dtype=dtype)
        stand.held = self.before._replace(array=array)
        stand.make_room(self.room)
        array, stand.held = stand.held.array, self.before
        return [array, *[self.before.length] * self.is_open]

    def _limits(self, turns: int) -> tuple[int, int]:
        """Return between which numbers the length lies after some turns."""
        least, most = self.before.limits
        low, high = self._grown(turns)
        return max(least + min(low, 0), 0), min(most + max(high, 0), self.room)

    def start(self, carry: Iterator[Any], turn: Any) -> None:
        """Begin a turn.

        Args:
            carry: the array, and the length, if it is part of the carry.
            turn: the number of the turn.
        """
        array, first = next(carry), self.before.length
        ends = self._limits(max((self.most or 1) - 1, 0))
        if self.is_open:
            start = limit(next(carry), *ends)
        elif self.low:
            start = first + (turn if self.low == 1 else turn * self.low)
        else:
            start = first
        self.stand.held = Held(array, start, *ends, has_room=True)
        self.stand.peak = 0

    def finish(self, names: Sequence[Any]) -> tuple[list[Any], bool]:
        """Return the array, and the length, after a turn; and whether the carry had to change.

        A turn is refused that gives one of some variables another value, if it shows the list before the loop.
        """
        stand = self.stand
        for name in names:
            is_shown = any(name.cell is holder.item for holder in self._holders)
            if is_shown and name.content is not stand:
                raise grows(self.container)
        array = stand.held.array
        before = self.low, self.high, self.kind, self.room
        self.low, self.high, self.kind = stand.held.low, stand.held.high, stand.kind
        self.peak = max(self.peak, stand.peak)
        if array.dtype != self.kind.dtype:
            array = cast(array, dtype=self.kind.dtype)
        changes = before != (self.low, self.high, self.kind, self.room)
        return [array, *[stand.length()] * self.is_open], changes

    def end(self, results: Iterator[Any]) -> None:
        """Give the list what it holds after the loop."""
        array = next(results)
        number = next(results) if self.is_open else None
        turns, before = self.most or 0, self.before
        if self.stand is not self.container and number is None:
            self._fill(array, before.start + self.low * turns)
            return
        if number is not None:
            number = limit(number, *self._limits(turns))
        elif before.number is not None:
            number = before.number + self.low * turns
        low, high = self._grown(turns)
        self.stand.is_unbounded = self._is_unbounded
        self.stand.held = before._replace(
            array=array, low=before.low + low, high=before.high + high, number=number
        )
        reached = before.high + max(self.high, 0) * max(turns - 1, 0) + self.peak
        self.stand.peak = max(self.peak_before, reached)
        self._show(self.stand)

    def _fill(self, array: Any, length: int) -> None:
        """Give a list the elements of an array."""
        if length < 0:
            raise grows(self.container)
        extents = shape_of(array)
        if length != extents[0]:
            array = slice_(array, index=((0, length, 1), *((0, extent, 1) for extent in extents[1:])))
        made = cells(array, self.kind.weak)
        if self.stand.has_no_axes:
            made = [without_axes(cell) for cell in made]
        LIST.__setitem__(self.container, slice(None), made)
        if self.kind.shape or self.stand.has_no_axes:
            for cell in made:
                hold(cell, is_whole=not self.stand.has_no_axes)
