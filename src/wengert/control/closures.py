"""What a function closes over: a loop asks whether its step will meet a value of a graph."""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wengert.boxes import RUNNING, Box, on_graph

_MOST_OBJECTS = 10_000
"""Objects behind a value that the search visits at most, the nearest first."""


def objects_behind(value: Any) -> Iterator[Any]:
    """Yield a value and the objects that it is made of or closes over, the nearest first; boxes are not opened."""
    waiting, seen = deque([value]), {id(value): value}
    while waiting:
        one = waiting.popleft()
        yield one
        for other in () if isinstance(one, Box) else _referents(one):
            if len(seen) == _MOST_OBJECTS:
                break
            if id(other) not in seen:
                seen[id(other)] = other
                waiting.append(other)


def _referents(value: Any) -> Sequence[Any]:
    """Return the objects that one is made of, without those that it refers to by name only."""
    if isinstance(value, (type, types.ModuleType, types.CodeType)):
        return ()
    if isinstance(value, types.FunctionType):
        return value.__closure__ or (), value.__defaults__ or (), value.__kwdefaults__ or ()
    return gc.get_referents(value)


def closes_over_graph(*functions: Callable[..., Any]) -> bool:
    """Tell whether some function closes over a value of which only the type is known."""
    if not RUNNING.traced:
        return False
    behind = (one for function in functions for one in objects_behind(function))
    return any(isinstance(one, Box) and on_graph(one) for one in behind)
