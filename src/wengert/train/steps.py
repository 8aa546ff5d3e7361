"""The steps of training: several at a time as one native function, or each operation by NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling import jit
from wengert.control import scan
from wengert.data import batches
from wengert.optim import Optimiser
from wengert.train.tasks import Settings, Task
from wengert.transforms.gradients import value_and_grad

_EVALUATION_BATCH = 1000
_EXAMPLES = 1000
"""In one call: enough that the call costs nothing, few enough that progress is seen."""


class Mean:
    """A running mean."""

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, total: float, count: int) -> None:
        """Count a sum over some examples."""
        self.total += total
        self.count += count

    @property
    def value(self) -> float:
        """The mean so far; NaN of nothing."""
        return self.total / self.count if self.count else float("nan")


class Advance(NamedTuple):
    """What a group of steps came to."""

    model: Any
    state: Any
    losses: Any
    """Of each step."""
    scores: Any


class Steps:
    """Takes steps of training with one network and one optimiser."""

    def __init__(self, task: Task, optimiser: Optimiser, *, compiled: bool) -> None:
        self.task = task
        self.optimiser = optimiser
        self.compiled = compiled
        self._differentiate = value_and_grad(task.loss, has_aux=True)
        self.run = jit(self._scanned, donate=(0, 1)) if compiled else self._repeated
        self._measure = jit(self._measured) if compiled else self._measured

    def group(self, settings: Settings, images: Any) -> int:
        """Return how many steps to take in one call: a divisor of the steps of an epoch, so that one program does."""
        whole = len(images) // settings.batch_size
        most = max(1, _EXAMPLES // settings.batch_size) if self.compiled else 1
        return next((count for count in range(min(most, whole), 0, -1) if whole % count == 0), 1)

    def _step(self, model: Any, state: Any, images: Any, labels: Any, index: Any) -> Advance:
        inputs = self.task.prepare(images[index])
        (loss, score), gradients = self._differentiate(model, inputs, labels[index])
        model, state = self.optimiser.update(gradients, state, model)
        return Advance(model, state, loss, score)

    def _scanned(self, model: Any, state: Any, images: Any, labels: Any, index: Any) -> Advance:
        def body(carry: Any, batch: Any) -> Any:
            after = self._step(carry[0], carry[1], images, labels, batch)
            return (after.model, after.state), (after.losses, after.scores)

        (model, state), (losses, scores) = scan(body, (model, state), index)
        return Advance(model, state, losses, scores)

    def _repeated(self, model: Any, state: Any, images: Any, labels: Any, index: Any) -> Advance:
        losses: list[Any] = []
        scores: list[Any] = []
        for batch in index:
            model, state, loss, score = self._step(model, state, images, labels, batch)
            losses.append(loss)
            scores.append(score)
        return Advance(model, state, losses, scores)

    def _measured(self, model: Any, images: Any, labels: Any) -> Any:
        return self.task.loss(model, self.task.prepare(images), labels)

    def evaluate(self, model: Any, images: Any, labels: Any) -> tuple[float, float]:
        """Return the mean loss and the mean score of a model over a set of images."""
        loss, score = Mean(), Mean()
        for index in batches(len(images), _EVALUATION_BATCH, rng=None, shuffle=False):
            part = slice(int(index[0]), int(index[-1]) + 1)
            mean, total = self._measure(model, images[part], labels[part])
            loss.add(float(mean) * len(index), len(index))
            score.add(float(total), len(index))
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
