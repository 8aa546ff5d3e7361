"""Shares of the parts of a sum that follow the speed of the processes."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.parallel.group import Group
from wengert.parallel.reduction import Reduction
from wengert.parallel.tree import nodes_of, shares

_PERIOD = 16
"""Sums between two looks at the speeds."""
_GAIN = 0.95
"""Other shares must take at most this part of the time: speeds are noisy."""


class Balance:
    """Measures how long each process takes for a part, and divides the parts anew where that saves time.

    Processors differ, and some have other work. The sums have the same bits for all shares.
    """

    def __init__(self, group: Group, reduction: Reduction) -> None:
        self._group, self._reduction = group, reduction
        self._sums, self._computing, self._exchanging = 0, 0.0, 0.0

    def record(self, computing: float, exchanging: float) -> None:
        """Note the seconds of a sum in this process; all processes call this after each sum."""
        if self._group.size == 1 or self._reduction.parts < self._group.size:
            return
        self._sums += 1
        self._computing += computing
        self._exchanging += exchanging
        if self._sums == _PERIOD:
            part = self._computing / _PERIOD / len(self._reduction.own)
            times = self._group.gather((part, self._exchanging / _PERIOD))
            self._sums, self._computing, self._exchanging = 0, 0.0, 0.0
            # The last process to arrive waits for nobody.
            chosen = better(
                self._reduction.shares, [part for part, _ in times], min(wait for _, wait in times)
            )
            if chosen is not None:
                self._reduction.divide(chosen)


def better(now: Sequence[range], seconds: Sequence[float], exchange: float) -> list[range] | None:
    """Return shares that take less time than the present ones; None if there are none.

    Args:
        now: the present shares.
        seconds: how long each process takes for a part.
        exchange: the seconds of the exchange, which grow with the subtrees that a process holds.

    Example:
        >>> better([range(4), range(4, 8)], [1.0, 1.6], 0.1)
        [range(0, 5), range(5, 8)]
        >>> better([range(4), range(4, 8)], [1.0, 1.6], 10.0)
    """
    wanted = shares(now[-1].stop, seconds)
    growth = (1 + _subtrees(wanted)) / (1 + _subtrees(now))
    is_better = _end(wanted, seconds) + exchange * growth < _GAIN * (_end(now, seconds) + exchange)
    return wanted if is_better else None


def _end(divided: Sequence[range], seconds: Sequence[float]) -> float:
    return max(len(own) * each for own, each in zip(divided, seconds, strict=True))


def _subtrees(divided: Sequence[range]) -> int:
    return max(len(nodes_of(own)) for own in divided)
