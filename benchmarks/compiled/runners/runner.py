"""The interface of a prepared contestant."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from workloads import Data, Training


def batches(training: Training, data: Data, steps: int) -> Iterator[Any]:
    """Yield the indices of ``steps`` batches without end, a row for each step; a single row is not stacked."""
    rows, position = data.batches(training.batch), 0
    while True:
        yield rows[position] if steps == 1 else rows.take(range(position, position + steps), 0, mode="wrap")
        position = (position + steps) % len(rows)


class Runner:
    """A workload that is ready to run.

    ``advance(steps)`` takes the steps, waits for them, and returns the last loss or value; ``restart()`` returns to the
    first weights.
    """

    def __init__(
        self, advance: Callable[[int], Any], chunk: int, restart: Callable[[], None] = lambda: None
    ) -> None:
        self.advance, self.chunk, self.restart = advance, chunk, restart

    def values(self) -> list[float] | None:
        """Take the first steps and return a summary of the result; None if it cannot be compared."""
        result = self.advance(self.chunk)
        parts = [
            np.asarray(part, np.float64) for part in (result if isinstance(result, tuple) else (result,))
        ]
        return [float(f(part)) for part in parts for f in (np.mean, np.linalg.norm, lambda p: p.flat[-1])]

    def seconds(self, steps: int) -> float:
        """Take steps, a multiple of the chunk, from the first weights; return the seconds of one.

        Without the restart, a fast contestant would train further than a slow one and compute with other numbers:
        moments of Adam become subnormal after some thousand steps. The first chunk, on new weights, is not counted.
        """
        self.restart()
        self.advance(self.chunk)
        start = time.perf_counter()
        self.advance(steps)
        return (time.perf_counter() - start) / steps


def repeat(function: Callable[..., Any], arguments: tuple[Any, ...], finish: Callable[[Any], Any]) -> Runner:
    """Return the runner of a calculation; ``finish`` waits for a result and converts it to NumPy."""

    def advance(steps: int) -> Any:
        for _ in range(steps):
            result = function(*arguments)
        return finish(result)

    return Runner(advance, 1)
