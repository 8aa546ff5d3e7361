"""Lists that the turns of a loop append to, or pop from: what a loop carries of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, concrete
from wengert.engine.control.values import zeros
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType
from wengert.engine.ops.cells import cells, kind_of, packed
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.shape import concatenate, slice_
from wengert.engine.staged.aliases import hold
from wengert.engine.staged.counted import limits
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import Grown, Held
from wengert.engine.staged.objects import LIST, parts_of, visited
from wengert.engine.staged.raising import keep_strict
from wengert.engine.staged.regions import FLOW, grows
from wengert.engine.transforms.math_errors import guarded

#: Methods of lists by which a turn makes them longer or shorter.
_METHODS = {"append", "extend", "pop"}


class _Tools:
    """What lists need to know of numbers of places, and do with arrays."""

    hold = staticmethod(hold)
    limits = staticmethod(limits)
    guarded = staticmethod(guarded)

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


def may_grow(functions: Sequence[FunctionType], contents: Sequence[Any]) -> bool:
    """Return whether a turn seems to make a list longer or shorter.

    Args:
        functions: the parts of the loop.
        contents: what the variables hold that it binds.
    """
    return any(isinstance(x, LIST) for x in contents) or any(
        _names_method(function.__code__) for function in functions
    )


def _names_method(code: CodeType) -> bool:
    return not _METHODS.isdisjoint(code.co_names) or any(
        _names_method(part) for part in code.co_consts if isinstance(part, CodeType)
    )


@dataclass
class GrowingList:
    """A list that changes its length by the same number in each turn of a loop.

    Args:
        container: the list, or what stands for it in a turn of a loop around.
        change: by how much it grows in a turn, as far as is known.
        kind: the type of its elements.
        count: the number of turns.
    """

    container: Any
    change: int
    kind: TensorType
    count: int
    peak: int = 0
    """The largest change within a turn."""

    def __post_init__(self) -> None:
        self.is_inner = type(self.container) is Grown
        self.stand: Grown = self.container if self.is_inner else Grown(self.kind, _TOOLS)
        self.before: Held | None = self.stand.held if self.is_inner else None
        self.peak_before = self.stand.peak
        self.peak = max(self.change, 0)
        self.first: Any = self.stand.length() if self.is_inner else len(self.container)
        self.items: list[Any] = [] if self.is_inner else [*self.container]
        self.kind = kind_of(self.items, self.kind) or self.kind
        self.stand.kind = self.kind
        self._cells: list[CellType] = []

    # -- in the place of the list ------------------------------------------------------------------------

    def enter(self, functions: Sequence[FunctionType]) -> None:
        """Put the stand-in in the place of the list, which variables alone may show."""
        if self.is_inner:
            return
        for item in visited(functions):
            if isinstance(item, CellType):
                if _content(item) is self.container:
                    self._cells.append(item)
            elif any(part is self.container for part in parts_of(item)) and not isinstance(
                item, FunctionType
            ):
                requirement = "a list grows in a loop that another object holds"
                raise refusal("list", requirement, type(item).__name__, "write into an array: np.zeros(n)")
        for cell in self._cells:
            cell.cell_contents = self.stand

    def check(self, names: Sequence[Any]) -> None:
        """Refuse a turn that gives a variable, which shows the list before the loop, another value."""
        for name in names:
            if any(name.cell is cell for cell in self._cells) and name.content is not self.stand:
                raise grows(self.container)

    def leave(self) -> None:
        """Put the list back."""
        for cell in self._cells:
            cell.cell_contents = self.container
        self._cells = []

    # -- the carry ---------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """How many elements the array has."""
        if self.before is not None:
            return shape_of(self.before.array)[0]
        return max(self.first, self.first + max(self.change, 0) * max(self.count - 1, 0) + self.peak, 1)

    @property
    def type(self) -> TensorType:
        """The type of the array."""
        return TensorType(self.kind.dtype, (self.room, *self.kind.shape))

    def initial(self) -> Any:
        """Return the array before the loop."""
        dtype, room = self.kind.dtype, self.room
        if self.before is not None:
            array = self.before.array
            return array if array.dtype == dtype else cast(array, dtype=dtype)
        rest = zeros(TensorType(dtype, (room - self.first, *self.kind.shape)))
        if not self.items:
            return rest
        array = packed(self.items, self.kind)
        if room == self.first:
            return array
        return concatenate(array, rest, axis=0)

    def start(self, array: Any, number: Any) -> None:
        """Begin a turn."""
        grown = number if self.change == 1 else number * self.change
        base = self.first + grown if self.change else self.first
        self.stand.held = Held(array, base, 0)
        self.stand.peak = 0

    def finish(self) -> tuple[Any, bool]:
        """Return the array after a turn, and whether the carry had to change."""
        stand = self.stand
        array, _, change = stand.held
        before = self.change, self.kind, self.room
        self.change, self.kind = change, stand.kind
        self.peak = max(self.peak, stand.peak)
        if array.dtype != self.kind.dtype:
            array = cast(array, dtype=self.kind.dtype)
        return array, before != (self.change, self.kind, self.room)

    def end(self, array: Any) -> None:
        """Give the list what it holds after the loop."""
        whole = self.change * self.count
        if self.before is not None:
            reached = self.before.change + max(self.change, 0) * max(self.count - 1, 0) + self.peak
            self.stand.held = self.before._replace(array=array, change=self.before.change + whole)
            self.stand.peak = max(self.peak_before, reached)
            return
        length = self.first + whole
        if length < 0:
            raise grows(self.container)
        extents = shape_of(array)
        if length != extents[0]:
            array = slice_(array, index=((0, length, 1), *((0, extent, 1) for extent in extents[1:])))
        made = cells(array, self.kind.weak)
        LIST.__setitem__(self.container, slice(None), made)
        if self.kind.shape:
            for cell in made:
                hold(cell, is_whole=True)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
