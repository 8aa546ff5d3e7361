"""Contestants in processes of their own, taking turns."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from workloads import workload

from wengert.bench.process import Answering, environment

TURN_SECONDS = 0.25


class Entry(NamedTuple):
    """Who takes part: a library and its variant, on a number of threads."""

    contestant: str
    threads: int


class Worker(Answering):
    """The process of one contestant, ready for requests."""

    def __init__(self, entry: Entry, name: str, folder: Path, interpreter: str) -> None:
        self.entry = entry
        command = [interpreter, str(Path(__file__).with_name("worker.py"))]
        arguments = (entry.contestant, name, str(entry.threads), str(folder))
        super().__init__([*command, *arguments], environment(entry.threads))

    def __str__(self) -> str:
        return f"{self.entry.contestant} on {self.entry.threads} threads"


class Contest:
    """The times of all entries of one workload, in seconds a step, a turn each."""

    def __init__(self, name: str, folder: Path, interpreters: Mapping[str, str]) -> None:
        self.name, self.folder, self.interpreters = name, folder, interpreters
        self.times: dict[Entry, list[float]] = {}

    def hold(self, entries: Iterable[Entry], turns: int) -> None:
        """Prepare the contestants, compare what they compute, let them take turns."""
        workers: list[Worker] = []
        try:
            values: dict[Entry, list[float]] = {}
            for entry in entries:
                library = entry.contestant.split()[0]
                interpreter = self.interpreters.get(library, sys.executable)
                workers.append(Worker(entry, self.name, self.folder, interpreter))
                if (value := workers[-1].request("values")) is not None:
                    values[entry] = value
            compare(self.name, values)
            self._take_turns(workers, turns)
        finally:
            for worker in workers:
                worker.close()

    def _take_turns(self, workers: list[Worker], turns: int) -> None:
        chunk = workload(self.name).chunk
        steps: dict[Entry, int] = {}
        for worker in workers:
            worker.request(f"run {chunk}")  # a second warm-up
            count = TURN_SECONDS / worker.request(f"run {chunk}") / chunk
            steps[worker.entry] = max(1, round(count)) * chunk
            worker.request(f"run {steps[worker.entry]}")
        for _ in range(turns):
            for worker in workers:
                seconds = worker.request(f"run {steps[worker.entry]}")
                self.times.setdefault(worker.entry, []).append(seconds)

    def seconds(self, entry: Entry) -> float:
        return statistics.median(self.times[entry])

    def ratio(self, above: Entry, below: Entry) -> float:
        """Return the median of the ratios of neighbouring turns."""
        pairs = zip(self.times[above], self.times[below], strict=True)
        return statistics.median(a / b for a, b in pairs)


def compare(name: str, values: Mapping[Entry, list[float]]) -> None:
    """Refuse to go on unless all have computed the same: otherwise the comparison means nothing."""
    (first, expected), *others = values.items()
    tolerance = workload(name).tolerance
    for entry, found in others:
        size = np.max(np.abs(expected))
        if len(found) != len(expected) or not np.allclose(found, expected, tolerance, tolerance * size):
            raise SystemExit(f"{name}: {first} computed {expected}, {entry} computed {found}")
