"""Loops that a trace unrolls: a run that takes a line very often ends, and begins anew with loops of the program."""

from __future__ import annotations

import operator
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

#: How often a run writes down one operation of a line before it is taken for a loop of many turns.
MOST_TURNS = 64
#: How many equations a run writes at least before: fewer compile fast as they are.
LEAST_EQUATIONS = 1500
_NOTHING: dict[Any, int] = {}


class ManyTurns(BaseException):
    """Ends a run of a user's function, whose handlers do not catch it.

    Args:
        run: the run.
    """

    def __init__(self, run: Any) -> None:
        super().__init__()
        self.run = run


class _State(threading.local):
    def __init__(self) -> None:
        self.watched: list[tuple[Any, dict[Any, int], int]] = []
        """Runs, how often each operation of a line had been written when they began, and how many in all."""
        self.counts: Counter[Any] = Counter()
        self.total = 0


_state = _State()


def watch(run: Any) -> None:
    """Begin to count the operations of a run."""
    state = _state
    if not state.watched and state.total:
        state.counts.clear()
        state.total = 0
    state.watched.append((run, dict(state.counts) if state.total else _NOTHING, state.total))


def forget(run: Any) -> None:
    """Count the operations of a run no longer."""
    watched = _state.watched
    if watched and any(entry[0] is run for entry in watched):
        while watched.pop()[0] is not run:
            pass


def busiest() -> Callable[[], tuple[str, int]]:
    """Return a function that any thread may call while this one traces: the line taken most often, and how often."""
    counts = _state.counts

    def found() -> tuple[str, int]:
        (_, location), count = max(dict(counts).items(), key=operator.itemgetter(1), default=(("", ""), 0))
        return location, count

    return found


def note(primitive: str, location: str) -> None:
    """Count an operation; end a run that has written it too often."""
    state = _state
    if not state.watched:
        return
    key = primitive, location
    count = state.counts[key] = state.counts[key] + 1
    state.total += 1
    if count > MOST_TURNS:
        for run, counts, total in reversed(state.watched):
            if state.total - total > LEAST_EQUATIONS and run.has_many(count - counts.get(key, 0)):
                raise ManyTurns(run)
