"""Loops that a trace unrolls: a run that takes a line very often ends, and begins anew with loops of the program."""

from __future__ import annotations

import operator
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from wengert.engine.core.named_tuples import NamedTuple

#: How often a run writes down one operation of a line before it is taken for a loop of many turns.
MOST_TURNS = 64
#: How often a run with loops of the program writes it in one draft, or in how many drafts, before it is taken for one
#: that unrolls some loops all the same.
MOST_DRAFTS = 128
#: How many equations a run writes at least before: fewer compile fast as they are.
LEAST_EQUATIONS = 500


class ManyTurns(BaseException):
    """Ends a run of a user's function, whose handlers do not catch it."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        self.run = run


class _Watched(NamedTuple):
    run: Any
    counts: dict[Any, int]
    """How often each operation of a line had been written when the run began."""
    total: int
    """How many in all."""
    begun: dict[Any, int]
    """The number of equations that each trace had when the run began to write there."""
    most: Counter[Any]
    """How often, at most, a draft has written each operation of a line that is taken often."""


class _State(threading.local):
    def __init__(self) -> None:
        self.watched: list[_Watched] = []
        self.counts: Counter[Any] = Counter()
        self.total = 0


_state = _State()


def watch(run: Any) -> None:
    """Begin to count the operations of a run."""
    state = _state
    if not state.watched and state.total:
        state.counts.clear()
        state.total = 0
    begun = dict(state.counts) if state.total else {}
    state.watched.append(_Watched(run, begun, state.total, {}, Counter()))


def forget(run: Any) -> dict[Any, int]:
    """Count the operations of a run no longer; return the number of equations of each trace when it began to write."""
    watched = _state.watched
    if not any(entry.run is run for entry in watched):
        return {}
    while (entry := watched.pop()).run is not run:
        pass
    return entry.begun


def busiest() -> Callable[[], tuple[str, int]]:
    """Return a function that any thread may call while this one traces: the line taken most often, and how often."""
    counts = _state.counts

    def found() -> tuple[str, int]:
        (_, location, *_), count = max(
            dict(counts).items(), key=operator.itemgetter(1), default=(("", ""), 0)
        )
        return location, count

    return found


def note(primitive: str, location: str, trace: Any, draft: int) -> None:
    """Count an operation that a trace is going to write; end a run that has written it too often.

    Args:
        primitive: the operation.
        location: the line.
        trace: writes it.
        draft: the same number for all that is written at once: a loop of the program is written more than once, until
            its types settle, and has no more turns for that.
    """
    state = _state
    if not state.watched:
        return
    both = (primitive, location), (primitive, location, draft)
    for key in both:
        state.counts[key] += 1
    state.total += 1
    for entry in state.watched:
        if trace not in entry.begun:
            entry.begun[trace] = len(trace.equations)
    if state.counts[both[0]] > MOST_TURNS:
        for entry in reversed(state.watched):
            in_all, in_one = (state.counts[key] - entry.counts.get(key, 0) for key in both)
            entry.most[both[0]] = most = max(entry.most[both[0]], in_one)
            is_long = state.total - entry.total > LEAST_EQUATIONS
            if is_long and entry.run.has_many(in_all, in_one, most):
                raise ManyTurns(entry.run)
