"""Contestants in processes of their own, taking turns epoch by epoch."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.bench import shared, work
from wengert.bench.contestants import Contestant
from wengert.data import Dataset
from wengert.errors import WengertError


class ContestantError(WengertError, RuntimeError):
    """A contestant ended before its time."""


class Epoch(NamedTuple):
    """An epoch of a contestant."""

    seconds: float
    fresh: int
    """Bytes that the system handed out to the process."""
    test_loss: float
    test_score: float
    """The mean over the examples: of a classifier, the part that was right."""


class Run(NamedTuple):
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


class Round(NamedTuple):
    """What all contestants train side by side."""

    network: str
    threads: int
    seed: int


class Worker:
    """The process of one contestant."""

    def __init__(self, contestant: Contestant, round_: Round, folder: Path) -> None:
        self.contestant = contestant
        self._folder = folder
        self._own = tempfile.TemporaryDirectory()
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        arguments = (*contestant, round_.network, str(round_.threads), str(folder))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "wengert.bench.worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            text=True,
            env=_environment(round_.threads, self._own.name),
            start_new_session=True,  # Ctrl-C is for the one who asks; without him, it ends
        )

    def request(self, line: str) -> Any:
        """Return the answer to a request; `ContestantError` with the last words of a process that has ended."""
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
            words = [text.strip() for text in self._words.read().splitlines() if text.strip()]
            last = words[-1] if words else f"it ended with code {self._process.returncode}"
            raise ContestantError(f"{self.contestant}: {last}")
        return json.loads(answer)

    def weights(self) -> tuple[list[Any], int]:
        """Return the weights, and the most memory that the process had."""
        answer = self.request("weights learned")
        return shared.load_arrays(self._folder, "learned"), answer["peak"]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._words.close()
        self._own.cleanup()


def _environment(threads: int, folder: str) -> dict[str, str]:
    """Return the environment in which a library takes so many threads, and finds nothing compiled before."""
    counts = {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}
    return {
        **os.environ,
        **counts,
        "WENGERT_THREADS": str(threads),
        "WENGERT_CACHE": folder,
        "TORCHINDUCTOR_CACHE_DIR": folder,
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def hold(
    round_: Round,
    chosen: Sequence[Contestant],
    dataset: Dataset,
    examples: int | None,
    epochs: int,
    failed: Callable[[Contestant, ContestantError], None],
) -> list[Run]:
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
        return [part.run(round_, given.order.shape[1]) for part in parts]


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

    def run(self, round_: Round, steps: int) -> Run:
        fastest = min(epoch.seconds for epoch in self.epochs)
        first = max(0.0, self.prepared["first"] - fastest * self.prepared["steps"] / steps)
        facts = (first, self.prepared["before"], self.peak, self.losses, self.epochs)
        return Run(round_.network, self.worker.contestant, round_.threads, round_.seed, *facts)
