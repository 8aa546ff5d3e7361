"""Contestants in processes of their own, taking turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from workloads import workload

TURN_SECONDS = 0.25


class Entry(NamedTuple):
    """Who takes part: a library and its variant, on a number of threads."""

    contestant: str
    threads: int


class WorkerError(Exception):
    """A contestant ended: which, and its last words."""


class Worker:
    """The process of one contestant, ready for requests."""

    def __init__(self, entry: Entry, name: str, folder: Path, interpreter: str) -> None:
        self.entry = entry
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        command = [interpreter, str(Path(__file__).with_name("worker.py"))]
        self._process = subprocess.Popen(
            [*command, entry.contestant, name, str(entry.threads), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            text=True,
            env=environment(entry.threads),
        )

    def request(self, line: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(line, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            self._words.seek(0)
            raise WorkerError(f"{self.entry}\n{self._words.read()[-2000:]}")
        return json.loads(answer)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._words.close()


def environment(threads: int) -> dict[str, str]:
    """Return the environment in which a library takes the given number of threads."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    return {
        **os.environ,
        **{f"{name}_NUM_THREADS": str(threads) for name in names},
        "WENGERT_THREADS": str(threads),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


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
