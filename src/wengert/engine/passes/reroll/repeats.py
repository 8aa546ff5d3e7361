"""Repeats in a sequence: the longest parts in which each symbol equals the symbol one period before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.named_tuples import NamedTuple


class Repeat(NamedTuple):
    """A part of a sequence, ``sequence[start:stop]``, with a period."""

    period: int
    start: int
    stop: int

    @property
    def saved(self) -> int:
        """The symbols that a loop over the period saves."""
        return self.stop - self.start - self.period


def find_repeats(sequence: Sequence[int], least: int) -> list[Repeat]:
    """Return the repeats of at least three periods that save enough symbols, those that save the most first.

    Equal substrings of 1, 2, 4, ... symbols get equal numbers (Karp, Miller and Rosenberg 1972). Two neighbouring
    occurrences that touch or overlap are a repeat, and their distance is its period. The time is O(n log² n).

    Args:
        sequence: numbers that stand for symbols.
        least: the number of symbols that a repeat saves at least.

    Example:
        >>> find_repeats([7, 1, 2, 1, 2, 1, 2, 1, 8], 4)
        [Repeat(period=2, start=1, stop=8)]
    """
    names: Any = np.unique(np.asarray(sequence, np.int64), return_inverse=True)[1].reshape(-1)
    savings: dict[tuple[int, int], int] = {}
    length = 1
    while len(names) > length:
        for period, start, stop in _touching(names, length, least):
            savings[period, start] = max(stop, savings.get((period, start), 0))
        pairs = names[:-length] * (int(names.max()) + 1) + names[length:]
        names = np.unique(pairs, return_inverse=True)[1].reshape(-1)
        length *= 2
    repeats = [Repeat(period, start, stop) for (period, start), stop in savings.items()]
    return sorted(repeats, key=lambda repeat: (-repeat.saved, repeat.period, repeat.start))


def _touching(names: Any, length: int, least: int) -> list[Repeat]:
    """Return the repeats that consecutive substrings of a length make with their previous occurrences."""
    order = np.argsort(names, kind="stable")
    same = names[order[1:]] == names[order[:-1]]
    distance = np.zeros(len(names), np.int64)
    distance[order[1:][same]] = (order[1:] - order[:-1])[same]
    places = np.flatnonzero((distance > 0) & (distance <= length))
    if not len(places):
        return []
    apart = (np.diff(places) != 1) | (np.diff(distance[places]) != 0)
    first = np.concatenate([places[:1], places[1:][apart]])
    last = np.concatenate([places[:-1][apart], places[-1:]])
    saved = last + length - first
    worthwhile = saved >= least
    return [
        Repeat(int(distance[i]), int(i - distance[i]), int(j + length))
        for i, j in zip(first[worthwhile], last[worthwhile], strict=True)
    ]
