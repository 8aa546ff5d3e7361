"""What earlier drafts of a block found of the loops inside, so that a nest settles in time linear in its depth.

Each draft of a loop traces the loops inside its body. These start from the carry on which an earlier draft settled,
instead of finding it again. Types only widen from draft to draft, so a loop that starts from at least what it started
from before carries at least what it carried.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from wengert.engine.boxes import OBSERVED, Box, concrete
from wengert.engine.control.values import settle
from wengert.engine.core.copied_files import is_copied_file
from wengert.engine.core.errors import WengertError
from wengert.engine.ir.types import type_of
from wengert.engine.ops.cells import array_of, unread_type
from wengert.engine.staged.carried import Settled, Slot
from wengert.engine.staged.exchanged import is_given_up
from wengert.engine.staged.grown import Grown
from wengert.engine.staged.iterables import Rows
from wengert.engine.staged.objects import ARRAY, DICT, LIST, content_of_object, reached
from wengert.engine.staged.regions import Array, Element, Place, Unsure, Variable, root_of
from wengert.engine.transforms.arguments import is_number

_PLAIN = (str, bytes, type(None))


@dataclass
class Entry:
    """What the last draft found of a loop."""

    is_traced: bool = False
    """Whether a turn was found to depend on what only a run knows."""
    fills: bool = False
    """Whether a first turn was found to give a variable a value in the place of None."""
    start: tuple[Any, ...] | None = None
    """What the loop started from."""
    carry: list[tuple[Any, Place, Settled]] = field(default_factory=list[tuple[Any, Place, Settled]])
    raises: bool = False
    acts: bool = False
    """Whether the condition of a `while` statement changes something, or may raise an exception."""
    inner: Memory | None = None
    """What the drafts of the loop found of the loops inside."""


class Memory:
    """What the drafts of a block have found of the loops inside, in the order in which they come."""

    def __init__(self) -> None:
        self._entries: dict[tuple[CodeType, int], Entry] = {}
        self._met: Counter[CodeType] = Counter()

    def begin(self) -> Memory:
        """Begin with the next draft."""
        self._met.clear()
        return self

    def entry(self, code: CodeType) -> Entry:
        """Return what is known of the next loop with a body of some code."""
        self._met[code] += 1
        return self._entries.setdefault((code, self._met[code]), Entry())


# -- what a loop starts from -----------------------------------------------------------------------------


def start_of(functions: Sequence[FunctionType], rows: Rows | None) -> tuple[Any, ...]:
    """Return what the objects that a loop reaches hold: known values, and the types of others."""
    return (_abstract(rows), *map(_content, reached(functions)))


def _content(item: Any) -> Any:
    if isinstance(item, ARRAY):
        return _abstract(item)
    content: Any = content_of_object(item)
    array = array_of(content) if isinstance(item, LIST) and type(item) is not Grown else None
    if array is not None:
        return "elements", _abstract(array), concrete(array) is not None
    if isinstance(content, DICT):
        return "dict", *map(repr, content), *map(_abstract, content.values())
    if isinstance(content, (list, frozenset)):
        return type(item).__name__, *map(_abstract, content)
    return [type(item).__name__, content]  # compared as a whole


def _abstract(value: Any) -> Any:
    if isinstance(value, Unsure):
        return "unsure", _abstract(value.value), _abstract(value.bound)
    if isinstance(value, Box) and is_given_up(value):
        return ("exchanged",)
    unread = unread_type(value)
    if unread is not None:
        return _Number(unread, None)
    if is_number(value):
        held = concrete(value)
        return _Number(type_of(value), None if held is None else _checksum(held))
    if isinstance(value, tuple):
        return "tuple", *map(_abstract, value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, _PLAIN):
        return "plain", value
    if isinstance(value, Rows):
        return "rows", _abstract(value.length), _abstract(value.element)
    if isinstance(value, FunctionType):
        code = value.__code__
        cells = value.__closure__ if not is_copied_file(code.co_filename) else None
        return "function", id(code), *(_abstract(cell.cell_contents) for cell in cells or ())
    return "object", type(value)


def _checksum(value: Any) -> bytes:
    return hashlib.sha256(np.asarray(value).tobytes()).digest()


@dataclass(frozen=True)
class _Number:
    type: Any
    held: bytes | None
    """A checksum of the value; None where only a run knows it."""

    def is_at_least(self, other: _Number) -> bool:
        if self.held is not None:
            return self == other
        if self.type == other.type:
            return True
        try:
            return settle("loop", other.type, self.type, "") == self.type
        except WengertError:
            return False


def is_at_least(now: Any, before: Any) -> bool:
    """Return whether a loop starts from the same values, or from more general ones, than before."""
    if isinstance(now, _Number):
        return isinstance(before, _Number) and now.is_at_least(before)
    if isinstance(now, tuple):
        return (
            isinstance(before, tuple) and len(now) == len(before) and all(map(is_at_least, now, before))  # pyright: ignore[reportUnknownArgumentType]
        )
    return now is before or (type(now) is type(before) and now == before)


# -- the carry -------------------------------------------------------------------------------------------


def remember(entry: Entry, functions: Sequence[FunctionType], slots: dict[Any, Slot], raises: bool) -> None:
    """Note the carry on which a loop has settled."""
    names = {id(array): name for name, array in _named_arrays(functions).items()}
    entry.raises = raises
    entry.carry = []
    for slot in slots.values():
        name = _lasting_name(slot.place, names)
        if name is not None:
            entry.carry.append((name, slot.place, slot.settled()))


def recalled(entry: Entry, functions: Sequence[FunctionType]) -> list[tuple[Place, Settled]]:
    """Return the places that a loop carried in an earlier draft, and how, as far as they are there now."""
    arrays = _named_arrays(functions)
    containers = {id(item) for item in reached(functions)}
    found: list[tuple[Place, Settled]] = []
    for name, place, settled in entry.carry:
        if isinstance(place, Array):
            box = arrays.get(name) if name else place.box
            if box is not None:
                found.append((Array(box), settled))
        elif isinstance(place, Variable) or id(place.container) in containers:
            found.append((place, settled))
    return found


def _named_arrays(functions: Sequence[FunctionType]) -> dict[Any, Box]:
    """Return the arrays that the variables of a loop show, by the positions of the variables."""
    found: dict[Any, Box] = {}
    for number, function in enumerate(functions):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                root = root_of(cell.cell_contents)
            except ValueError:
                continue
            if isinstance(root, Box):
                found[number, name] = root
    return found


def _lasting_name(place: Place, names: dict[int, Any]) -> Any:
    """Return the name by which a later draft finds a place; None if there may be none."""
    if isinstance(place, Array):
        if id(place.box) in names:
            return names[id(place.box)]
        return None if any(id(place.box) in region.born for region in OBSERVED) else ()
    return (place.key if isinstance(place, Element) else place.name,)
