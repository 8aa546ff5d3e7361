"""The training loop."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from wengert.core.errors import ArgumentError, message
from wengert.core.tree import leaves
from wengert.data import Dataset, batches
from wengert.train.diagnosis import DivergedError, check_group, check_tested
from wengert.train.profile import DATA, Stopwatch
from wengert.train.settings import Settings
from wengert.train.state import EpochResult, Mean, State, begin, best_epoch, is_over
from wengert.train.steps import Steps, groups
from wengert.train.tasks import Task

__all__ = [
    "DivergedError",
    "Outcome",
    "Progress",
    "Reporter",
    "parameter_count",
    "steps_by",
    "steps_of",
    "train",
]


class Progress(NamedTuple):
    """Where a run is, after a group of steps."""

    epoch: int
    epochs: int
    step: int
    """Steps of this epoch that are done."""
    steps: int
    """In an epoch."""
    loss: float
    """Mean over the epoch so far."""
    score: float
    """Mean over the examples of the epoch so far."""
    rate: float
    """Examples a second of the steps that did not have to be compiled first; NaN before there are any."""
    remaining: float
    """Seconds to the end of the run, at this speed; NaN where it is not known."""
    losses: Any = ()
    """Of the steps since the last report, the last one being ``step``."""
    scores: Any = ()
    """Of these steps, for each the mean over its examples."""


class Reporter(Protocol):
    """Who is told how a run goes, and may end it by raising `KeyboardInterrupt`."""

    def on_steps(self, progress: Progress, state: State) -> None:
        """Take note of some steps."""
        ...

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Take note of an epoch."""
        ...


class _Silent:
    def on_steps(self, progress: Progress, state: State) -> None: ...

    def on_epoch(self, result: EpochResult, state: State) -> None: ...


class Outcome(NamedTuple):
    """How a run ended."""

    model: Any
    """The last one, or that of the best epoch where the settings say so; a `Trained` where its layers have a state."""
    history: list[EpochResult]
    interrupted: bool
    state: State
    """From which the run can go on."""


def train(
    task: Task,
    settings: Settings,
    dataset: Dataset,
    reporter: Reporter | None = None,
    *,
    compiled: bool = True,
    state: State | None = None,
    stopwatch: Stopwatch | None = None,
    taking: Steps | None = None,
) -> Outcome:
    """Train a task's network. Nothing is written: who wants to keep the run does so as a reporter.

    Args:
        task: the network and its loss.
        settings: epochs, batch size, learning rate, seed, patience, and which model to keep; the same settings give the
            same numbers.
        dataset: images and labels.
        reporter: told of steps and epochs; nobody by default.
        compiled: carry out several steps (gather, forward, backward, update) as one call of native code; otherwise
            each operation by NumPy.
        state: where to go on, of a run with the same settings; by default, at the beginning.
        stopwatch: measures where the time goes.
        taking: what takes the steps, with the optimiser; by default, of the task and the settings. Who trains in
            several calls keeps it, so that nothing is compiled twice.

    Returns:
        The trained model and the results of the epochs; after Ctrl-C, what was learned until then.

    Raises:
        ArgumentError: there are no images.
        DivergedError: the loss became NaN or infinite, or grew out of all proportion.

    Example:
        >>> from wengert.data import digit_set
        >>> from wengert.train import TASKS, train
        >>> settings = TASKS["mlp"].settings("digits", epochs=1, batch_size=10)
        >>> outcome = train(TASKS["mlp"], settings, digit_set(train=40, test=20))
        >>> outcome.history[0].epoch
        1
    """
    if not (len(dataset.train_images) and len(dataset.test_images)):
        requirement = "there must be images to train with and to test"
        raise ArgumentError(message("train", requirement, repr(dataset)))
    state = state or begin(task, settings, settings.epochs * steps_of(settings, dataset))
    stopwatch = stopwatch or Stopwatch()
    taking = taking or steps_by(task, settings, dataset, compiled=compiled, stopwatch=stopwatch)
    run = _Training(task, settings, dataset, reporter or _Silent(), state, taking, stopwatch)
    interrupted = False
    try:
        with np.errstate(all="ignore"):  # what overflows shows in the loss
            while not is_over(run.state, task, settings):
                run.epoch()
    except KeyboardInterrupt:
        interrupted = True
    state = run.state
    model = state.best if settings.keep == "best" and state.history else state.trained
    return Outcome(model, list(state.history), interrupted, state)


def steps_of(settings: Settings, dataset: Dataset) -> int:
    """Return the number of steps of an epoch."""
    return -(-len(dataset.train_images) // settings.batch_size)


def steps_by(
    task: Task, settings: Settings, dataset: Dataset, *, compiled: bool, stopwatch: Stopwatch | None = None
) -> Steps:
    """Return what takes the steps of a run."""
    optimiser = task.descent(settings)(settings.rate, settings.epochs * steps_of(settings, dataset))
    return Steps(task, optimiser, compiled=compiled, stopwatch=stopwatch)


def parameter_count(model: Any) -> int:
    """Return the number of parameters of a model."""
    return sum(np.size(leaf) for leaf in leaves(model))


class _Training:
    """A run in progress; ``state`` is always that after the last whole group of steps."""

    def __init__(
        self,
        task: Task,
        settings: Settings,
        dataset: Dataset,
        reporter: Reporter,
        state: State,
        taking: Steps,
        stopwatch: Stopwatch,
    ) -> None:
        self.task, self.settings, self.dataset, self.reporter = task, settings, dataset, reporter
        self.state, self.taking, self.stopwatch = state, taking, stopwatch
        self.steps = steps_of(settings, dataset)
        self.pace = Mean()
        """Seconds for an example, of the steps that compiled nothing."""

    def epoch(self) -> None:
        """Go to the end of the epoch in progress."""
        self.stopwatch.begin()
        rng = np.random.default_rng()
        rng.bit_generator.state = self.state.random
        images = self.dataset.train_images
        with self.stopwatch.measuring(DATA):
            order = batches(len(images), self.settings.batch_size, rng=rng)
            parts = list(groups(order, self.taking.group(self.settings, images)))
        done = 0
        for index in parts:
            if done >= self.state.step:
                self._advance(index)
            done += len(index)
        self._finish(dict(rng.bit_generator.state))

    def _advance(self, index: Any) -> None:
        """Take some steps."""
        before = self.state
        is_ready, start = self.taking.is_ready(index.shape), time.perf_counter()
        numbers = self._variation(index.shape)
        given = (self.dataset.train_images, self.dataset.train_labels, index, numbers)
        after = self.taking.run(before.model, before.memory, before.optimiser, *given)
        losses, count = np.asarray(after.losses, np.float64), index.shape[1]
        check_group(self.taking, self.settings, before, after, given)
        seconds = time.perf_counter() - start
        if is_ready:
            self.pace = self.pace.plus(seconds, index.size)
        self.state = before._replace(
            model=after.model,
            memory=after.memory,
            optimiser=after.state,
            step=before.step + len(index),
            loss=before.loss.plus(float(np.sum(losses)) * count, index.size),
            score=before.score.plus(float(np.sum(after.scores, dtype=np.float64)), index.size),
            seconds=before.seconds + seconds,
            first_loss=float(losses[0]) if before.first_loss is None else before.first_loss,
        )
        self.reporter.on_steps(self._progress(losses, np.asarray(after.scores) / count), self.state)

    def _variation(self, shape: tuple[int, int]) -> Any:
        """Draw how the images of some steps are varied: it depends on the seed and the place in the run alone."""
        vary, (steps, examples) = self.task.vary, shape
        if vary is None:
            return None
        place = (self.settings.seed, self.state.epoch)
        with self.stopwatch.measuring(DATA):
            numbers = range(self.state.step, self.state.step + steps)
            return np.stack([vary.draw(np.random.default_rng((*place, step)), examples) for step in numbers])

    def _progress(self, losses: Any, scores: Any) -> Progress:
        state, epochs = self.state, self.settings.epochs
        rate = 1 / max(self.pace.value, 1e-12) if self.pace.examples else math.nan
        left = len(self.dataset.train_images) * (epochs - state.epoch + 1) - state.loss.examples
        means = (state.loss.value, state.score.value)
        return Progress(
            state.epoch, epochs, state.step, self.steps, *means, rate, left / rate, losses, scores
        )

    def _finish(self, random: dict[str, Any]) -> None:
        """Evaluate the model at the end of an epoch."""
        state, data = self.state, self.dataset
        test_loss, test_score = self.taking.evaluate(state.trained, data.test_images, data.test_labels)
        check_tested(test_loss, self.settings, state.epoch)
        seconds = max(state.seconds, 1e-9)
        means = (state.loss.value, state.score.value, test_loss, test_score)
        result = EpochResult(state.epoch, *means, state.seconds, state.loss.examples / seconds)
        history = (*state.history, result)
        is_best = best_epoch(history, self.task.classifies) == state.epoch
        self.state = state._replace(
            random=random,
            epoch=state.epoch + 1,
            step=0,
            loss=Mean(),
            score=Mean(),
            seconds=0.0,
            history=history,
            best=state.trained if is_best and self.settings.keep == "best" else state.best,
        )
        self.reporter.on_epoch(result, self.state)
        self.stopwatch.end()
