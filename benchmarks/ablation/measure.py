"""Calls that take turns, their time and memory, and a table of what a change gains."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Call = Callable[[], Any]


def compare(
    first: Call, second: Call, turns: int, clock: Callable[[], float] = time.process_time, least: float = 0.02
) -> tuple[float, float, float]:
    """Return the median times of two calls that take turns, and the median of the first over the second.

    The time is that of the processor, which other programs do not lengthen much; short calls are repeated to the least
    seconds of a turn.
    """
    times: list[list[float]] = []
    counts = [1, 1]
    for number in range(
        -2, turns
    ):  # the first time, compiled code is made ready; the second time tells the counts
        turn = []
        for place, call in enumerate((first, second)):
            start = clock()
            for _ in range(counts[place]):
                call()
            turn.append((clock() - start) / counts[place])
        if number >= 0:
            times.append(turn)
        elif number == -1:
            counts = [max(1, round(least / max(seconds, 1e-7))) for seconds in turn]
    before, after = (statistics.median(column) for column in zip(*times, strict=True))
    return before, after, statistics.median(a / b for a, b in times)


def peak(call: Call) -> int:
    """Return the most bytes that a call holds at a time, beside what there was before: NumPy's and Python's."""
    call()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


class Side(NamedTuple):
    """A call, and the bytes that compiled code holds in its arena meanwhile."""

    call: Call
    arena: int = 0

    @property
    def memory(self) -> int:
        return peak(self.call) + self.arena


class Change(NamedTuple):
    """Two calls with the same result, and what differs."""

    what: str
    place: str
    before: Side
    after: Side
    turns: int = 9

    def row(self) -> list[str]:
        """Measure, and return the row of the table."""
        first, second, ratio = compare(self.before.call, self.after.call, self.turns)
        faster = f"{ratio:.2f} x" if ratio < 10 else f"{ratio:,.0f} x"
        held = megabytes(self.before.memory), megabytes(self.after.memory)
        return [self.what, self.place, milliseconds(first), milliseconds(second), faster, *held]


def milliseconds(seconds: float) -> str:
    """Format a time."""
    number = 1000 * seconds
    return f"{number:,.0f} ms" if number >= 100 else f"{number:.3g} ms"


def megabytes(count: float) -> str:
    """Format bytes."""
    return f"{count / 1e6:,.0f} MB" if count >= 1e7 else f"{count / 1e6:.1f} MB"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return a Markdown table, whose first columns are texts and the others numbers."""
    first, *others = (f"| {' | '.join(line)} |" for line in (head, *rows))
    return "\n".join([first, "|" + "---|" * texts + "---:|" * (len(head) - texts), *others])
