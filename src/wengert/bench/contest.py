"""A round: contestants train side by side, taking turns epoch by epoch."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.bench import shared, work
from wengert.bench.contestants import Contestant
from wengert.bench.process import ContestantError, Round, Worker
from wengert.data import Dataset


class Epoch(NamedTuple):
    """An epoch of a contestant."""

    seconds: float
    fresh: int
    """Bytes that the system handed out to the process."""
    test_loss: float
    test_score: float
    """The mean over the examples: of a classifier, the part that was right."""


class Trial(NamedTuple):
    """The training of one contestant from one seed."""

    network: str
    contestant: Contestant
    threads: int
    seed: int
    first: float
    """Seconds of the first call, what a call takes left out."""
    before: int
    """Bytes of the process before the first call: the interpreter, the library and the data."""
    peak: int
    """The most bytes that the process had."""
    losses: list[float]
    """Of each step of the first epoch."""
    epochs: list[Epoch]


def hold(
    round_: Round,
    chosen: Sequence[Contestant],
    dataset: Dataset,
    examples: int | None,
    epochs: int,
    failed: Callable[[Contestant, ContestantError], None],
) -> list[Trial]:
    """Train with all contestants side by side, epoch by epoch in turn, and return how it went.

    Args:
        round_: what is trained.
        chosen: who takes part.
        dataset: what is learned.
        examples: how many of its training examples, all by default.
        epochs: how often.
        failed: told of whoever fails and is left out.
    """
    given = work.draw(round_.network, dataset, examples, epochs, round_.seed)
    evaluate = work.evaluator(round_.network, dataset)
    parts: list[_Part] = []
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        shared.save(Path(name), given)

        def attempt(contestant: Contestant, step: Callable[[], None]) -> bool:
            try:
                step()
            except ContestantError as problem:
                failed(contestant, problem)
                return False
            return True

        for contestant in chosen:
            worker = stack.enter_context(contextlib.closing(Worker(contestant, round_, Path(name))))
            part = _Part(worker)
            if attempt(contestant, part.prepare):
                parts.append(part)
        for number in range(epochs):
            step = functools.partial(_Part.epoch, number=number, evaluate=evaluate)
            parts = [part for part in parts if attempt(part.worker.contestant, functools.partial(step, part))]
        return [part.trial(round_, given.order.shape[1]) for part in parts]


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

    In single precision the CNN is no measure of a program: where the maximum of a pool is nearly a tie, as on the blank
    border of a digit, rounding decides which weights move, and a hundred steps make 1e-3 of 1e-7.
    """
    round_ = Round(network, 1, 0)
    found: list[list[float]] = []
    with tempfile.TemporaryDirectory() as name:
        shared.save(Path(name), work.draw(network, dataset, examples, 1, 0))
        for contestant in pair:
            with contextlib.closing(Worker(contestant, round_, Path(name))) as worker:
                found.append(worker.request(f"losses {steps}"))
    return difference(found[0], found[1], steps)


def difference(losses: Sequence[float], others: Sequence[float], steps: int) -> float:
    """Return the largest difference between losses of the first steps, to the loss where it is over 1.

    Example:
        >>> difference([100.0, 1.0], [101.0, 1.0], 1)
        0.01
    """
    one, other = (np.asarray(values[:steps], np.float64) for values in (losses, others))
    return float(np.max(np.abs(one - other) / np.maximum(1, np.abs(one))))


class _Part:
    """What one contestant has done so far."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.prepared: Any = None
        self.epochs: list[Epoch] = []
        self.losses: list[float] = []
        self.peak = 0

    def prepare(self) -> None:
        self.prepared = self.worker.request("prepare")

    def epoch(self, number: int, evaluate: Callable[[Any], tuple[float, float]]) -> None:
        answer = self.worker.request(f"epoch {number}")
        weights, self.peak = self.worker.weights()
        self.losses = self.losses or answer["losses"]
        self.epochs.append(Epoch(answer["seconds"], answer["fresh"], *evaluate(weights)))

    def trial(self, round_: Round, steps: int) -> Trial:
        fastest = min(epoch.seconds for epoch in self.epochs)
        first = max(0.0, self.prepared["first"] - fastest * self.prepared["steps"] / steps)
        facts = (first, self.prepared["before"], self.peak, self.losses, self.epochs)
        return Trial(round_.network, self.worker.contestant, round_.threads, round_.seed, *facts)
