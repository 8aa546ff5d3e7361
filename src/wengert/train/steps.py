"""Training steps: several at a time as one native function, or each operation in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.jit import jit
from wengert.data.batches import consecutive, count_of, rows
from wengert.engine.control import scan
from wengert.engine.core.tree import map_tree
from wengert.engine.transforms.reverse_mode import value_and_grad
from wengert.optim import Optimiser
from wengert.train.profile import COMPILING, EVALUATION, STEPS, Stopwatch
from wengert.train.settings import Settings
from wengert.train.state import LayerState, Mean, training_loss
from wengert.train.tasks import Task

EVALUATION_BATCH = 1000
_EXAMPLES_PER_CALL = 2000
"""Enough to hide the cost of a call, few enough to show progress."""


class Carry(NamedTuple):
    """The input of a step, and its output for the next step."""

    model: Any
    layer_state: LayerState | None
    optimiser: Any
    """The optimiser's state."""


def one_by_one(
    step: Callable[..., Any], carry: Carry, images: Any, labels: Any, index: Any, variation: Any
) -> tuple[Carry, tuple[Any, Any]]:
    """Take a step for each row of ``index``, and return the carry, and the losses and scores of the steps."""
    results: list[Any] = []
    for position, row in enumerate(index):
        varied = None if variation is None else variation[position]
        carry, result = step(carry, images, labels, row, varied)
        results.append(result)
    return carry, map_tree(lambda *parts: np.asarray(parts), *results)


class Steps:
    """Takes training steps with one network and one optimiser. Arrays in the input of a step are never modified."""

    def __init__(
        self, task: Task, optimiser: Optimiser, *, compiled: bool, stopwatch: Stopwatch | None = None
    ) -> None:
        self.task = task
        self.optimiser = optimiser
        self.compiled = compiled
        self._stopwatch = stopwatch or Stopwatch()
        self._differentiate = value_and_grad(self.loss, has_aux=True)
        self._run = jit(self._scanned, flush_subnormals=True) if compiled else self._repeated
        self._measure = jit(self._measured, flush_subnormals=True) if compiled else self._measured
        self._known: set[Any] = set()

    def running(self) -> AbstractContextManager[None]:
        """Return the context of a run of steps."""
        return nullcontext()

    def group(self, settings: Settings, images: Any) -> int:
        """Return the number of steps for one call: a divisor of the epoch's steps, so that one program serves all."""
        whole = count_of(images) // settings.batch_size
        most = max(1, _EXAMPLES_PER_CALL // settings.batch_size) if self.compiled else 1
        return next((count for count in range(min(most, whole), 0, -1) if whole % count == 0), 1)

    def run(
        self, carry: Carry, images: Any, labels: Any, index: Any, variation: Any
    ) -> tuple[Carry, tuple[Any, Any]]:
        """Take a step for each row of ``index``, and return the carry, and the losses and scores of the steps."""
        with self._stopwatch.measuring(self._part(STEPS, index.shape)):
            return self._run(carry, images, labels, index, variation)

    def is_ready(self, shape: tuple[int, int]) -> bool:
        """Return whether the program for an index of some shape is compiled already."""
        return not self.compiled or (STEPS, shape) in self._known

    def _part(self, part: str, shape: Any) -> str:
        """Return the part of the profile that a call belongs to; the first call of its kind compiles."""
        new = self.compiled and (part, shape) not in self._known
        self._known.add((part, shape))
        return COMPILING if new else part

    def step(
        self, carry: Carry, images: Any, labels: Any, index: Any, variation: Any
    ) -> tuple[Carry, tuple[Any, Any]]:
        """Take one step."""
        model, layer_state, optimiser = carry
        batch = self.batch(images, labels, index, variation)
        (loss, (score, layer_state)), gradients = self._differentiate(model, layer_state, *batch)
        model, optimiser = self.optimiser.update(gradients, optimiser, model)
        return Carry(model, layer_state, optimiser), (loss, score)

    def loss(self, model: Any, layer_state: LayerState | None, inputs: Any, labels: Any) -> Any:
        """Return the loss of a step, the score and the next layer state."""
        return training_loss(self.task, model, layer_state, inputs, labels)

    def batch(self, images: Any, labels: Any, index: Any, variation: Any) -> tuple[Any, Any]:
        """Return the inputs and the labels of a step."""
        chosen = rows(images, index)
        if self.task.vary is not None:
            chosen = self.task.vary.apply(chosen, variation)
        return self.task.prepare(chosen), rows(labels, index)

    def _scanned(self, carry: Carry, images: Any, labels: Any, index: Any, variation: Any) -> Any:
        def body(carry: Any, row: Any) -> Any:
            return self.step(carry, images, labels, *row)

        return scan(body, carry, (index, variation))

    def _repeated(self, carry: Carry, images: Any, labels: Any, index: Any, variation: Any) -> Any:
        return one_by_one(self.step, carry, images, labels, index, variation)

    def _measured(self, model: Any, images: Any, labels: Any) -> Any:
        return self.task.loss(model, self.task.prepare(images), labels)

    def evaluate(self, model: Any, images: Any, labels: Any) -> tuple[float, Any]:
        """Return the mean loss and the mean score of a model over a set of images."""
        loss, score = Mean(), Mean()
        for part in consecutive(count_of(images), EVALUATION_BATCH):
            count = part.stop - part.start
            with self._stopwatch.measuring(self._part(EVALUATION, count)):
                mean, total = self._measure(model, rows(images, part), rows(labels, part))
            loss = loss.plus(float(mean) * count, count)
            score = score.plus(map_tree(float, total), count)
        return loss.value, score.value


def groups(batches: Iterable[Any], count: int) -> Iterator[Any]:
    """Yield batches of equal size ``count`` at a time, as arrays (steps, examples); a shorter batch comes alone.

    Example:
        >>> [group.tolist() for group in groups([np.array([0, 1]), np.array([2, 3]), np.array([4])], 2)]
        [[[0, 1], [2, 3]], [[4]]]
    """
    waiting: list[Any] = []
    for batch in batches:
        if waiting and (len(batch) != len(waiting[0]) or len(waiting) == count):
            yield np.stack(waiting)
            waiting = []
        waiting.append(batch)
    if waiting:
        yield np.stack(waiting)
