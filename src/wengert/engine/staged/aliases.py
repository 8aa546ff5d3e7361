"""Arrays that may be one, as only a run knows: a write into one is refused as long as the program can see another."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable, Sequence
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from wengert.engine.boxes import GUARDED, Box, Unsized, boxed
from wengert.engine.ir.types import show
from wengert.engine.staged.columns import Columns
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.exits import RETURNED, VALUE
from wengert.engine.staged.objects import named, parts_of, visited
from wengert.engine.staged.regions import FLOW, known, root_of
from wengert.engine.staged.tables import Row, Table
from wengert.engine.transforms.copied_globals import Globals
from wengert.engine.transforms.substitution import staged_call

#: The folder of Wengert.
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "")
#: How many objects the search for an array looks at.
_MOST = 1 << 14


class _Guard:
    """Refuses writes into an array as long as the program can see one that it may be."""

    def __init__(self, box: Box) -> None:
        key = id(box)
        self._box = weakref.ref(box, lambda _: GUARDED.pop(key, None))
        self.others: list[weakref.ref[Any]] = []
        self.is_held = False
        """Whether a list holds the array, of which the loop knows the elements alone."""

    def __call__(self, box: Box) -> None:
        """Raise an error if a write into the array is not allowed."""
        others = [other for other in (ref() for ref in self.others) if other is not None and other is not box]
        if self.is_held or _HELD in map(id, others) or (others and is_seen(others)):
            requirement = "an array is written that, as only a run knows, another variable may show"
            raise refusal("setitem", requirement, show(box), "copy it where the names part: x = y.copy()")


#: Stands for the arrays that lists hold.
_ELEMENT = boxed(np.zeros(1))
_HELD = id(_ELEMENT)


def hold(array: Any, is_whole: bool = False) -> None:
    """Refuse writes into an array that a list holds; a number has no writes.

    Args:
        array: a box or a plain array.
        is_whole: whether it is no view, and no number.
    """
    root = array if is_whole else root_of(array)
    if not isinstance(root, Box):
        if root is not None:
            FLOW.frozen.add([root])
        return
    guard: Any = GUARDED.get(id(root))
    if guard is None:
        guard = GUARDED[id(root)] = _Guard(root)
    if not guard.is_held:
        guard.is_held = True
        FLOW.held.append(guard)


def release(first: int) -> None:
    """Allow the writes into the arrays that were held from a number on: the lists do not hold them after all."""
    for guard in FLOW.held[first:]:
        guard.is_held = False
    del FLOW.held[first:]


def link(array: Any, others: Iterable[Any]) -> None:
    """Refuse writes into an array as long as the program can see one of others, and the other way round."""
    root = root_of(array)
    direct = [other for other in map(root_of, others) if other is not None]
    found = {id(other): other for one in direct for other in (one, *linked(one))}
    for other in found.values():
        if root is not None and root is not other:
            _note(root, other)
            _note(other, root)


def linked(array: Any) -> list[Any]:
    """Return the arrays that one may be, as only a run knows."""
    guard: Any = GUARDED.get(id(array)) if isinstance(array, Box) else None
    if not isinstance(guard, _Guard):
        return []
    others = [other for other in (ref() for ref in guard.others) if other is not None and other is not array]
    others += [_ELEMENT] * guard.is_held
    # What an earlier draft of a turn has made is gone.
    return [other for other in others if not isinstance(other, Box) or other.owner.open]


def may_be_seen(array: Any) -> bool:
    """Return whether a list, or a variable of the program, shows an array or one that it may be."""
    others = linked(array)
    return _HELD in map(id, others) or is_seen([array, *others])


def _note(root: Any, other: Any) -> None:
    if isinstance(root, Box):
        guard: Any = GUARDED.get(id(root))
        if guard is None:
            guard = GUARDED[id(root)] = _Guard(root)
        if not any(ref() is other for ref in guard.others):
            guard.others.append(weakref.ref(other))
    else:
        FLOW.frozen.add([root])


def is_seen(arrays: Sequence[Any]) -> bool:
    """Return whether a variable of the program, or an object that it holds, shows one of some arrays or containers."""
    wanted = {id(array) for array in arrays}
    waiting: list[Any] = []
    for frame in _frames():
        waiting += [*_shown(frame), *named(frame.f_code, frame.f_globals)]
    seen: set[int] = set()
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if len(seen) > _MOST:
            return True
        if id(item) in wanted:
            return True
        if isinstance(item, (Box, np.ndarray, Unsized)) and type(item) not in (Columns, Table, Row):
            if id(root_of(item)) in wanted:
                return True
        elif isinstance(item, FunctionType) and VALUE in item.__code__.co_freevars:
            waiting += _shown_by(item)
        elif not isinstance(item, (str, int, float, type(None), type)):
            waiting += parts_of(item)
    return False


def is_outside(item: Any) -> bool:
    """Return whether a global name, or the closure of the function that is being staged, leads to an object."""
    frames = [*_frames()]
    roots = [part for frame in frames for part in named(frame.f_code, frame.f_globals)]
    roots += [frames[-1].f_locals.get(name) for name in frames[-1].f_code.co_freevars] if frames else []
    return any(part is item for part in visited(roots))


def _shown(frame: FrameType) -> Iterable[Any]:
    """Return what the variables of a function hold, without what it returns where it is known to go on."""
    held = frame.f_locals
    if VALUE not in held or not _goes_on(held.get(RETURNED)):
        return held.values()
    return [value for name, value in held.items() if name != VALUE]


def _shown_by(block: FunctionType) -> Iterable[Any]:
    """Return what a block of rewritten source holds, without what the function returns where it is known to go on."""
    cells = dict(zip(block.__code__.co_freevars, block.__closure__ or (), strict=True))
    if RETURNED not in cells or not _goes_on(*parts_of(cells[RETURNED])):
        return parts_of(block)
    hidden = [cells[VALUE], *parts_of(cells[VALUE])]
    return [part for part in parts_of(block) if not any(part is other for other in hidden)]


def _goes_on(returned: Any = None) -> bool:
    return returned is False or known(returned) is False


def _frames() -> Iterable[FrameType]:
    """Yield the running functions of the program that is being staged."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code is not staged_call.__code__:
        if isinstance(frame.f_globals, Globals) or not frame.f_code.co_filename.startswith(_PACKAGE):
            yield frame
        frame = frame.f_back
