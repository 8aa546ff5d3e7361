"""A workload's contestants in processes of their own, which take turns."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness.engine import Contest, ContestantError, Process, environment
from workloads import workload

TURN_SECONDS = 0.25


class Entry(NamedTuple):
    """A library with its variant, on a number of threads."""

    contestant: str
    threads: int


class Worker(Process):
    """The process of one entry."""

    def __init__(self, entry: Entry, name: str, folder: Path, interpreter: str) -> None:
        self.entry, self.steps = entry, 0
        command = [interpreter, str(Path(__file__).with_name("worker.py"))]
        arguments = (entry.contestant, name, str(entry.threads), str(folder))
        super().__init__([*command, *arguments], environment(entry.threads))

    def __str__(self) -> str:
        return f"{self.entry.contestant} on {self.entry.threads} threads"

    def warm_up(self, chunk: int) -> None:
        """Warm up a second time, and choose the number of steps in a turn."""
        self.request("seconds", chunk)
        self.steps = max(1, round(TURN_SECONDS / self.request("seconds", chunk) / chunk)) * chunk
        self.request("seconds", self.steps)


class Times:
    """The times of all entries of one workload, in seconds a step, one for each turn."""

    def __init__(self, name: str, folder: Path, interpreters: Mapping[str, str]) -> None:
        self.name, self.folder, self.interpreters = name, folder, interpreters
        self.times: dict[Entry, list[float]] = {}

    def measure(self, entries: Iterable[Entry], turns: int) -> None:
        """Prepare the contestants, compare their results, let them take turns."""
        values: dict[Entry, list[float]] = {}

        def prepare(worker: Worker) -> None:
            if (value := worker.request("values")) is not None:
                values[worker.entry] = value

        def turn(worker: Worker) -> None:
            self.times.setdefault(worker.entry, []).append(worker.request("seconds", worker.steps))

        with Contest(failed) as contest:
            for entry in entries:
                interpreter = self.interpreters.get(entry.contestant.split()[0], sys.executable)
                contest.add(Worker(entry, self.name, self.folder, interpreter), prepare)
            compare(self.name, values)
            contest.turn(lambda worker: worker.warm_up(workload(self.name).chunk))
            for _ in range(turns):
                contest.turn(turn)

    def seconds(self, entry: Entry) -> float:
        return statistics.median(self.times[entry])

    def ratio(self, above: Entry, below: Entry) -> float:
        """Return the median of the ratios of neighbouring turns."""
        pairs = zip(self.times[above], self.times[below], strict=True)
        return statistics.median(a / b for a, b in pairs)


def failed(worker: Worker, error: ContestantError) -> None:
    raise error


def compare(name: str, values: Mapping[Entry, list[float]]) -> None:
    """End the program unless all contestants computed the same."""
    (first, expected), *others = values.items()
    tolerance = workload(name).tolerance
    for entry, computed in others:
        size = np.max(np.abs(expected))
        if len(computed) != len(expected) or not np.allclose(computed, expected, tolerance, tolerance * size):
            raise SystemExit(f"{name}: {first} computed {expected}, {entry} computed {computed}")
