"""What a value refers to: the objects in it, and those that its functions close over."""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wengert.engine.boxes import RUNNING, Box, on_graph

_MAX_OBJECTS = 10_000
"""Objects that the search visits at most, the nearest first."""


def objects_behind(value: Any) -> Iterator[Any]:
    """Yield a value and the objects that it refers to or closes over, the nearest first; boxes are not opened."""
    waiting, seen = deque([value]), {id(value): value}
    while waiting:
        item = waiting.popleft()
        yield item
        for referent in () if isinstance(item, Box) else _referents(item):
            if len(seen) == _MAX_OBJECTS:
                break
            if id(referent) not in seen:
                seen[id(referent)] = referent
                waiting.append(referent)


def _referents(value: Any) -> Sequence[Any]:
    """Return the objects that a value refers to, without those that it refers to by name only."""
    if isinstance(value, (type, types.ModuleType, types.CodeType)):
        return ()
    if isinstance(value, types.FunctionType):
        return value.__closure__ or (), value.__defaults__ or (), value.__kwdefaults__ or ()
    return gc.get_referents(value)


def closes_over_graph(*functions: Callable[..., Any]) -> bool:
    """Return whether a function closes over a value of which only the type is known."""
    if not RUNNING.traced:
        return False
    objects = (item for function in functions for item in objects_behind(function))
    return any(isinstance(item, Box) and on_graph(item) for item in objects)
