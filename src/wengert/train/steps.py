"""The steps of training: several at a time as one native function, or each operation by NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.jit import jit
from wengert.control import scan
from wengert.data.batches import consecutive
from wengert.optim import Optimiser
from wengert.train.profile import COMPILING, EVALUATION, STEPS, Stopwatch
from wengert.train.settings import Settings
from wengert.train.state import Mean
from wengert.train.stateful import training_loss
from wengert.train.tasks import Task
from wengert.transforms.reverse_mode import value_and_grad

_EVALUATION_BATCH = 1000
_EXAMPLES = 2000
"""In one call: enough that the call costs nothing, few enough that progress is seen."""


class Advance(NamedTuple):
    """What a group of steps came to."""

    model: Any
    memory: Any
    """Of its layers: see `Memory`."""
    state: Any
    """Of the optimiser."""
    losses: Any
    """Of each step."""
    scores: Any


class Steps:
    """Takes steps of training with one network and one optimiser.

    Nothing is written into: the model, its memory and the optimiser's state before a call are what they were.
    """

    def __init__(
        self, task: Task, optimiser: Optimiser, *, compiled: bool, stopwatch: Stopwatch | None = None
    ) -> None:
        self.task = task
        self.optimiser = optimiser
        self.compiled = compiled
        self._stopwatch = stopwatch or Stopwatch()
        self._differentiate = value_and_grad(self.loss, has_aux=True)
        self._run = jit(self._scanned) if compiled else self._repeated
        self._measure = jit(self._measured) if compiled else self._measured
        self._known: set[Any] = set()

    def group(self, settings: Settings, images: Any) -> int:
        """Return how many steps to take in one call: a divisor of the steps of an epoch, so that one program does."""
        whole = len(images) // settings.batch_size
        most = max(1, _EXAMPLES // settings.batch_size) if self.compiled else 1
        return next((count for count in range(min(most, whole), 0, -1) if whole % count == 0), 1)

    def run(
        self, model: Any, memory: Any, state: Any, images: Any, labels: Any, index: Any, numbers: Any
    ) -> Advance:
        """Take a step for each row of ``index``, the images varied by ``numbers``."""
        with self._stopwatch.measuring(self._part(STEPS, index.shape)):
            return self._run(model, memory, state, images, labels, index, numbers)

    def is_ready(self, shape: tuple[int, int]) -> bool:
        """Return whether a call with an index of some shape computes at once, and compiles nothing first."""
        return not self.compiled or (STEPS, shape) in self._known

    def _part(self, part: str, shape: Any) -> str:
        """Return what a call's time is spent on: the first one of its kind is traced and compiled."""
        new = self.compiled and (part, shape) not in self._known
        self._known.add((part, shape))
        return COMPILING if new else part

    def step(
        self, model: Any, memory: Any, state: Any, images: Any, labels: Any, index: Any, numbers: Any
    ) -> Advance:
        """Take one step."""
        batch = self.batch(images, labels, index, numbers)
        (loss, (score, memory)), gradients = self._differentiate(model, memory, *batch)
        model, state = self.optimiser.update(gradients, state, model)
        return Advance(model, memory, state, loss, score)

    def loss(self, model: Any, memory: Any, inputs: Any, labels: Any) -> Any:
        """Return the loss of a step, and the score and the next memory."""
        return training_loss(self.task, model, memory, inputs, labels)

    def batch(self, images: Any, labels: Any, index: Any, numbers: Any) -> tuple[Any, Any]:
        """Return the inputs and the labels of a step."""
        chosen = images[index]
        if self.task.vary is not None:
            chosen = self.task.vary.apply(chosen, numbers)
        return self.task.prepare(chosen), labels[index]

    def _scanned(
        self, model: Any, memory: Any, state: Any, images: Any, labels: Any, index: Any, numbers: Any
    ) -> Advance:
        def body(carry: Any, batch: Any) -> Any:
            (model, memory, state), (index, numbers) = carry, batch
            after = self.step(model, memory, state, images, labels, index, numbers)
            return (after.model, after.memory, after.state), (after.losses, after.scores)

        carry, (losses, scores) = scan(body, (model, memory, state), (index, numbers))
        model, memory, state = carry
        return Advance(model, memory, state, losses, scores)

    def _repeated(
        self, model: Any, memory: Any, state: Any, images: Any, labels: Any, index: Any, numbers: Any
    ) -> Advance:
        losses: list[Any] = []
        scores: list[Any] = []
        for position, batch in enumerate(index):
            varied = None if numbers is None else numbers[position]
            after = self.step(model, memory, state, images, labels, batch, varied)
            model, memory, state, loss, score = after
            losses.append(loss)
            scores.append(score)
        return Advance(model, memory, state, np.asarray(losses), np.asarray(scores))

    def _measured(self, model: Any, images: Any, labels: Any) -> Any:
        return self.task.loss(model, self.task.prepare(images), labels)

    def evaluate(self, model: Any, images: Any, labels: Any) -> tuple[float, float]:
        """Return the mean loss and the mean score of a model over a set of images."""
        loss, score = Mean(), Mean()
        for part in consecutive(len(images), _EVALUATION_BATCH):
            count = part.stop - part.start
            with self._stopwatch.measuring(self._part(EVALUATION, count)):
                mean, total = self._measure(model, images[part], labels[part])
            loss = loss.plus(float(mean) * count, count)
            score = score.plus(float(total), count)
        return loss.value, score.value


def groups(parts: Iterable[Any], count: int) -> Iterator[Any]:
    """Yield batches of equal size ``count`` at a time, as arrays (steps, examples); a shorter one by itself.

    Example:
        >>> [group.tolist() for group in groups([np.array([0, 1]), np.array([2, 3]), np.array([4])], 2)]
        [[[0, 1], [2, 3]], [[4]]]
    """
    waiting: list[Any] = []
    for part in parts:
        if waiting and len(part) != len(waiting[0]):
            yield np.stack(waiting)
            waiting = []
        waiting.append(part)
        if len(waiting) == count:
            yield np.stack(waiting)
            waiting = []
    if waiting:
        yield np.stack(waiting)
