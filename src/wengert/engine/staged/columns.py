"""A list of tuples of numbers whose length only a run knows: a list for each number of a tuple."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import equal, logical_and
from wengert.engine.ops.conversion import python_number
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import ARRANGING, FIRST, Grown
from wengert.engine.staged.stands import Stand
from wengert.engine.transforms.arguments import is_number

#: Read and write an element of a list at a place that only a run may know; `subscripts` enters them.
READING: list[Callable[[Any, Any], Any]] = []
WRITING: list[Callable[[Any, Any, Any], None]] = []


def structure_of(elements: Sequence[Any]) -> tree.Structure | None:
    """Return the structure that all elements have as tuples of numbers; None if there is none."""
    if not elements or not all(isinstance(element, tuple) for element in elements):
        return None
    found = [tree.flatten(element) for element in elements]
    structure = found[0][1]
    is_one = all(other == structure for _, other in found) and _is_of_tuples(structure)
    has_numbers = all(leaves and all(map(is_number, leaves)) for leaves, _ in found)
    return structure if is_one and has_numbers else None


def _is_of_tuples(structure: tree.Structure) -> bool:
    """Return whether numbers stand in tuples alone, which nothing changes."""
    is_tuple = isinstance(structure.kind, type) and issubclass(structure.kind, tuple)
    return is_tuple and all(child == tree.LEAF or _is_of_tuples(child) for child in structure.children)


class Columns(Stand):
    """Stands for a list of tuples of one structure."""

    __slots__ = ("lists", "structure")
    REQUIREMENT = (
        "a list of tuples whose length only a run knows is read and written by index, appended to, popped from, "
        "gone through by a for statement, or made an array"
    )

    def __init__(self, structure: tree.Structure, elements: Sequence[Any]) -> None:
        super().__init__()
        self.structure = structure
        rows = [tree.leaves(element) for element in elements]
        self.lists: list[Any] = [[row[k] for row in rows] for k in range(structure.leaf_count())]
        """For each number of a tuple a list, or what stands for it."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape as an array, whose first extent only a run may know."""
        return self.length(), len(self.lists)

    def length(self) -> Any:
        """Return the number of tuples, which only a run may know."""
        first = self.lists[0]
        return first.length() if type(first) is Grown else len(first)

    def is_filled(self) -> Any:
        """Return whether it has an element."""
        first = self.lists[0]
        return first.is_filled() if type(first) is Grown else bool(first)

    @property
    def is_known(self) -> bool:
        """Whether its length is known, and nothing stands for its lists."""
        return not any(type(one) is Grown for one in self.lists)

    def rows(self) -> list[Any]:
        """Return the tuples, whose number is known."""
        return [self._tuple(row) for row in zip(*self.lists, strict=True)]

    def _tuple(self, leaves: Iterable[Any]) -> Any:
        return tree.unflatten(self.structure, list(leaves))

    def _leaves(self, value: Any) -> list[Any]:
        """Return the numbers of a tuple that the list is to hold."""
        if structure_of([value]) != self.structure:
            requirement = (
                "a list of tuples that grows in a loop or a branch holds tuples of numbers of one form"
            )
            got = tree.show(tree.flatten(value)[1]) if isinstance(value, tuple) else type(value).__name__
            raise refusal("list", requirement, got)
        return tree.leaves(value)

    # -- what a turn may do ------------------------------------------------------------------------------

    def append(self, value: Any) -> None:
        """Append a tuple."""
        for one, leaf in zip(self.lists, self._leaves(value), strict=True):
            one.append(leaf)

    def extend(self, values: Iterable[Any]) -> None:
        """Append some tuples."""
        if type(values) not in (list, tuple):
            raise self.refused("extend")
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Columns:
        self.extend(values)
        return self

    def sort(self, **options: Any) -> None:
        """Sort the tuples."""
        ARRANGING["sort"](self, **options)

    def insert(self, index: Any, value: Any) -> None:
        """Put a tuple before an element; those behind move down."""
        for one, leaf in zip(self.lists, self._leaves(value), strict=True):
            one.insert(index, leaf)

    def pop(self, index: Any = -1) -> Any:
        """Return the last element, and drop it."""
        return self._tuple(one.pop(index) for one in self.lists)

    def clear(self) -> None:
        """Drop all elements."""
        for one in self.lists:
            one.clear()

    def copy(self) -> Columns:
        """Return another list of the elements."""
        return self._of(one.copy() for one in self.lists)

    def _of(self, lists: Iterable[Any]) -> Columns:
        made = Columns(self.structure, ())
        made.lists = list(lists)
        return made

    def __getitem__(self, index: Any) -> Any:
        (read,) = READING
        found = [read(one, index) for one in self.lists]
        return self._of(found) if isinstance(index, slice) else self._tuple(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            raise self.refused("an assignment to a slice")
        (write,) = WRITING
        for one, leaf in zip(self.lists, self._leaves(value), strict=True):
            write(one, index, leaf)

    def __delitem__(self, index: Any) -> None:
        for one in self.lists:
            del one[index]

    def __iter__(self) -> Iterator[Any]:
        if self.is_known:
            return iter(self.rows())
        requirement = "the number of elements must be known here"
        raise ConcreteError(message("iteration", requirement, show(self.length()), "write a for statement"))

    def __len__(self) -> int:
        return len(self.rows()) if self.is_known else len(self.lists[0])

    def __bool__(self) -> bool:
        return bool(self.lists[0])

    def __eq__(self, other: object) -> Any:
        return self.lists[0] == [] if type(other) is list and not other else super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        return self.lists[0] != [] if type(other) is list and not other else not self.__eq__(other)

    def holding(self, value: Any) -> Any:
        """Return whether an element equals a tuple of integers."""
        if self.is_known or structure_of([value]) != self.structure:
            raise self.refused("in")
        pairs = [*zip(self.lists, tree.leaves(value), strict=True)]
        if any(one.kind.shape or one.kind.dtype.kind not in "biu" for one, _ in pairs):
            raise self.refused("in")  # Python finds NaN if it is the same object
        if not self.lists[0].room:
            return False
        tests = [equal(one.array, leaf) for one, leaf in pairs]
        room = min(one.room for one, _ in pairs)
        found = functools.reduce(logical_and, [test[:room] for test in tests], self.lists[0].present()[:room])
        found = np.any(found)
        return python_number(found, bool) if isinstance(found, Box) else bool(found)

    # -- as an array -------------------------------------------------------------------------------------

    def _made(self) -> Any:
        """Return an array with a row for each element."""
        if self.is_known:
            return np.array(self.rows())
        if any(child != tree.LEAF for child in self.structure.children):
            raise self.refused("an array of tuples of tuples")
        (first,) = FIRST
        room = min(one.room for one in self.lists)
        return first(np.stack([one.array[:room] for one in self.lists], axis=1), self.length())

    def __repr__(self) -> str:
        return "a list of tuples whose length only a run knows"
