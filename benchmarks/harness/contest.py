"""A round: contestants train side by side and take turns, an epoch each."""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness import shared, workloads
from harness.contestants import Contestant
from harness.engine import Contest, ContestantError, Process, environment
from wengert.data import Dataset
from wengert.engine.core.progress import Bar


class Round(NamedTuple):
    """The training that all contestants do side by side."""

    network: str
    threads: int
    seed: int


class Epoch(NamedTuple):
    """An epoch of a contestant."""

    seconds: float
    fresh: int
    """Bytes that the system handed out to the process."""
    test_loss: float
    test_score: float
    """The mean over the examples: for a classifier, the accuracy."""


class Trial(NamedTuple):
    """The training of one contestant from one seed."""

    network: str
    contestant: Contestant
    threads: int
    seed: int
    first: float
    """Seconds that the first call takes more than a later call."""
    before: int
    """Bytes of the process before the first call: the interpreter, the library and the data."""
    peak: int
    """Peak memory of the process in bytes."""
    losses: list[float]
    """Of each step of the first epoch."""
    epochs: list[Epoch]


class Worker(Process):
    """The process of one contestant in a round, and its measurements so far."""

    def __init__(self, contestant: Contestant, round_: Round, folder: Path) -> None:
        self.contestant = contestant
        self._round, self._folder = round_, folder
        self._cache = tempfile.TemporaryDirectory()
        self._prepared: Any = None
        self._epochs: list[Epoch] = []
        self._losses: list[float] = []
        self._peak = 0
        arguments = (*contestant, round_.network, str(round_.threads), str(folder))
        command = [sys.executable, "-m", "harness.worker", *arguments]
        super().__init__(command, environment(round_.threads, self._cache.name))

    def __str__(self) -> str:
        return str(self.contestant)

    def prepare(self) -> None:
        """Compile and warm up."""
        self._prepared = self.request("prepare")

    def weights(self) -> tuple[list[Any], int]:
        """Return the weights, and the peak memory of the process."""
        answer = self.request("weights", "learned")
        return shared.load_arrays(self._folder, "learned"), answer["peak"]

    def epoch(self, number: int, evaluate: Callable[[Any], tuple[float, float]]) -> None:
        """Train for an epoch and evaluate the weights."""
        answer = self.request("epoch", number)
        weights, self._peak = self.weights()
        self._losses = self._losses or answer["losses"]
        self._epochs.append(Epoch(answer["seconds"], answer["fresh"], *evaluate(weights)))

    def trial(self, steps: int) -> Trial:
        """Return the measurements, for epochs of the given number of steps."""
        network, threads, seed = self._round
        fastest = min(epoch.seconds for epoch in self._epochs)
        first = max(0.0, self._prepared["first"] - fastest * self._prepared["steps"] / steps)
        memory = self._prepared["before"], self._peak
        return Trial(network, self.contestant, threads, seed, first, *memory, self._losses, self._epochs)

    def close(self) -> None:
        """End the process."""
        super().close()
        self._cache.cleanup()


def hold(
    round_: Round,
    chosen: Sequence[Contestant],
    dataset: Dataset,
    examples: int | None,
    epochs: int,
    failed: Callable[[Contestant, ContestantError], None],
) -> list[Trial]:
    """Train with all contestants side by side, an epoch each in turn, and return their trials.

    Args:
        round_: the network, the number of threads and the seed.
        chosen: the contestants.
        dataset: the data.
        examples: the number of training examples; all by default.
        epochs: their number.
        failed: receives each contestant that fails, and its error; the others go on.
    """
    inputs = workloads.draw(round_.network, dataset, examples, epochs, round_.seed)
    evaluate = workloads.evaluator(round_.network, dataset)

    def left_out(worker: Worker, error: ContestantError) -> None:
        failed(worker.contestant, error)

    with tempfile.TemporaryDirectory() as name, Contest(left_out) as contest:
        shared.save(Path(name), inputs)
        with Bar(f"{round_.network}, seed {round_.seed}", (1 + epochs) * len(chosen)) as bar:
            turns = itertools.count(1)

            def prepare(worker: Worker) -> None:
                worker.prepare()
                bar.show(next(turns), f"{worker} compiled")

            def train(worker: Worker, number: int) -> None:
                worker.epoch(number, evaluate)
                bar.show(next(turns), f"{worker} after epoch {number + 1}")

            for contestant in chosen:
                contest.add(Worker(contestant, round_, Path(name)), prepare)
            for number in range(epochs):
                contest.turn(lambda worker, number=number: train(worker, number))
        return [worker.trial(inputs.order.shape[1]) for worker in contest.contestants]


REFERENCES = Contestant("torch", "reference"), Contestant("wengert", "reference")
"""Both in double precision."""


def agreement(
    network: str,
    dataset: Dataset,
    examples: int | None,
    steps: int,
    pair: tuple[Contestant, Contestant] = REFERENCES,
) -> float:
    """Return by how much the losses of the first steps differ, from the same weights: see `difference`.

    In single precision the CNN's losses do not measure a program. Where the maximum of a pool is nearly a tie, as on
    the blank border of a digit, rounding decides which weights move; a hundred steps turn 1e-7 into 1e-3.
    """
    losses: list[list[float]] = []
    with tempfile.TemporaryDirectory() as name:
        shared.save(Path(name), workloads.draw(network, dataset, examples, 1, 0))
        for contestant in pair:
            with contextlib.closing(Worker(contestant, Round(network, 1, 0), Path(name))) as worker:
                losses.append(worker.request("losses", steps))
    return difference(losses[0], losses[1], steps)


def difference(losses: Sequence[float], others: Sequence[float], steps: int) -> float:
    """Return the largest difference between losses of the first steps, relative to the loss where it is over 1.

    Example:
        >>> difference([100.0, 1.0], [101.0, 1.0], 1)
        0.01
    """
    first, second = (np.asarray(values[:steps], np.float64) for values in (losses, others))
    return float(np.max(np.abs(first - second) / np.maximum(1, np.abs(first))))
