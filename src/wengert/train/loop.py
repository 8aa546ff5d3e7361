"""The training loop."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from wengert.compiler.runtime.threads.team import get_threads
from wengert.data import Dataset, batches
from wengert.data.batches import count_of
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.progress import Bar
from wengert.engine.core.tree import leaves, map_tree
from wengert.parallel import Group
from wengert.train.agreement import check_parameters, check_ranks, check_same
from wengert.train.diagnosis import DivergedError, check_group, check_tested
from wengert.train.micro_batches import MicroBatchSteps
from wengert.train.profile import DATA, Stopwatch
from wengert.train.settings import Settings
from wengert.train.state import EpochResult, Mean, State, begin, best_epoch, is_over
from wengert.train.steps import Carry, Steps, groups
from wengert.train.tasks import Task

__all__ = [
    "DivergedError", "Outcome", "Progress", "Reporter", "make_steps", "parameter_count", "steps_of", "train",
]  # fmt: skip


class Progress(NamedTuple):
    """The progress of a run, after a group of steps."""

    epoch: int
    epochs: int
    step: int
    """Steps of this epoch that are done."""
    steps: int
    """In an epoch."""
    loss: float
    """Mean over the epoch so far."""
    score: Any
    """Mean over the examples of the epoch so far."""
    rate: float
    """Examples per second, without the steps that compiled; NaN before there are other steps."""
    remaining: float
    """Seconds to the end of the run at this rate; NaN if the rate is NaN."""
    losses: Any = ()
    """Of the steps since the last report; the last of them is ``step``."""
    scores: Any = ()
    """The mean score of each of these steps."""


class Reporter(Protocol):
    """Follows a run, and may end it by raising `KeyboardInterrupt`."""

    def on_steps(self, progress: Progress, state: State) -> None:
        """Report some steps."""
        ...

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Report an epoch."""
        ...


class BarReporter:
    """A reporter that shows the steps of a run as a bar."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def on_steps(self, progress: Progress, state: State) -> None:
        """Show the steps, and the mean loss of the epoch so far."""
        done = (progress.epoch - 1) * progress.steps + progress.step
        self._bar.show(done, f"epoch {progress.epoch}, loss {progress.loss:.4f}")

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Show the result at the next step."""


class Outcome(NamedTuple):
    """The result of a run."""

    model: Any
    """The last model, or that of the best epoch (``keep="best"``); a `Trained` if its layers have a state."""
    history: list[EpochResult]
    interrupted: bool
    state: State
    """The run can be continued from it."""


def train(
    task: Task,
    settings: Settings,
    dataset: Dataset,
    reporter: Reporter | None = None,
    *,
    compiled: bool = True,
    state: State | None = None,
    stopwatch: Stopwatch | None = None,
    steps: Steps | None = None,
    group: Group | None = None,
) -> Outcome:
    """Train a task's network. This writes no files; a reporter can.

    Args:
        task: the network and its loss.
        settings: epochs, batch size, learning rate, seed, patience, and the model to keep; the same settings give the
            same numbers.
        dataset: images and labels. Without test images (an empty tuple), the means over the training images stand for
            a test.
        reporter: is called after each group of steps and each epoch; by default a bar is shown in a terminal or a
            notebook.
        compiled: run several steps (gather, forward, backward, update) as one call of native code; otherwise each
            operation in NumPy.
        state: the state to continue from, of a run with the same settings; by default, the initial state.
        stopwatch: measures where the time goes.
        steps: takes the steps, with the optimiser; by default, made from the task and the settings. Pass it to
            several calls to compile only once.
        group: the processes that share the micro-batches; each calls this function with the same arguments.

    Returns:
        The trained model and the results of the epochs; after Ctrl-C, as of the last step.

    Raises:
        ArgumentError: there are no examples.
        DivergedError: the loss became NaN or infinite, or grew beyond all bounds.
        SettingsError: there are fewer micro-batches than processes.
        GroupError: the processes differ in versions, settings, images or parameters.

    Example:
        >>> from wengert.data import digit_set
        >>> from wengert.train import TASKS, train
        >>> settings = TASKS["mlp"].settings("digits", epochs=1, batch_size=10)
        >>> outcome = train(TASKS["mlp"], settings, digit_set(train=40, test=20))
        >>> outcome.history[0].epoch
        1
    """
    if not all(map(len, leaves((dataset.train_images, dataset.test_images)))):
        requirement = "there must be examples for training and for testing"
        raise ArgumentError(message("train", requirement, repr(dataset)))
    group = group or Group()
    check_ranks(group, settings)
    state = state or begin(task, settings, settings.epochs * steps_of(settings, dataset))
    stopwatch = stopwatch or Stopwatch()
    steps = steps or make_steps(task, settings, dataset, compiled=compiled, stopwatch=stopwatch, group=group)
    all_steps = settings.epochs * steps_of(settings, dataset)
    bar = Bar("train", all_steps, None if reporter is None and group.rank == 0 else False)
    run = _Training(task, settings, dataset, reporter or BarReporter(bar), state, steps, stopwatch, group)
    check_same(group, settings, dataset, state)
    interrupted = False
    try:
        with bar, np.errstate(all="ignore"), steps.running():  # an overflow shows in the loss
            while not is_over(run.state, task, settings):
                run.epoch()
    except KeyboardInterrupt:
        interrupted = True
    state = run.state
    model = state.best if settings.keep == "best" and state.history else state.trained
    return Outcome(model, list(state.history), interrupted, state)


def steps_of(settings: Settings, dataset: Dataset) -> int:
    """Return the number of steps of an epoch."""
    return -(-count_of(dataset.train_images) // settings.batch_size)


def make_steps(
    task: Task,
    settings: Settings,
    dataset: Dataset,
    *,
    compiled: bool,
    stopwatch: Stopwatch | None = None,
    group: Group | None = None,
) -> Steps:
    """Return the `Steps` of a run."""
    optimiser = task.descent(settings)(settings.rate, settings.epochs * steps_of(settings, dataset))
    if settings.micro_batches == 1:
        return Steps(task, optimiser, compiled=compiled, stopwatch=stopwatch)
    return MicroBatchSteps(
        task,
        optimiser,
        size=settings.batch_size // settings.micro_batches,
        group=group or Group(),
        threads=settings.threads or get_threads(),
        compiled=compiled,
        stopwatch=stopwatch,
    )


def parameter_count(model: Any) -> int:
    """Return the number of parameters of a model."""
    return sum(np.size(leaf) for leaf in leaves(model))


def _total(numbers: Any) -> float:
    return float(np.sum(numbers, dtype=np.float64))


class _Training:
    """A run in progress; ``state`` is that after the last complete group of steps."""

    def __init__(
        self,
        task: Task,
        settings: Settings,
        dataset: Dataset,
        reporter: Reporter,
        state: State,
        steps: Steps,
        stopwatch: Stopwatch,
        group: Group,
    ) -> None:
        self.group = group
        self.task, self.settings, self.dataset, self.reporter = task, settings, dataset, reporter
        self.state, self.steps, self.stopwatch = state, steps, stopwatch
        self.pace = Mean()
        """Seconds per example, without the steps that compiled."""

    def epoch(self) -> None:
        """Finish the epoch in progress."""
        self.stopwatch.begin()
        rng = np.random.default_rng()
        rng.bit_generator.state = self.state.random
        images = self.dataset.train_images
        with self.stopwatch.measuring(DATA):
            order = batches(count_of(images), self.settings.batch_size, rng=rng)
            parts = list(groups(order, self.steps.group(self.settings, images)))
        done = 0
        for index in parts:
            if done >= self.state.step:
                self._advance(index)
            done += len(index)
        self._finish(dict(rng.bit_generator.state))

    def _advance(self, index: Any) -> None:
        before = self.state
        is_ready, start = self.steps.is_ready(index.shape), time.perf_counter()
        inputs = self.dataset.train_images, self.dataset.train_labels, index, self._variation(index.shape)
        carry = Carry(before.model, before.layer_state, before.optimiser)
        carry, (losses, scores) = self.steps.run(carry, *inputs)
        losses, count = np.asarray(losses, np.float64), index.shape[1]
        check_group(self.steps, self.settings, before, carry, losses, inputs)
        seconds = time.perf_counter() - start
        if is_ready:
            self.pace = self.pace.plus(seconds, index.size)
        self.state = before._replace(
            **carry._asdict(),
            step=before.step + len(index),
            loss=before.loss.plus(float(np.sum(losses)) * count, index.size),
            score=before.score.plus(map_tree(_total, scores), index.size),
            seconds=before.seconds + seconds,
            first_loss=float(losses[0]) if before.first_loss is None else before.first_loss,
        )
        self.reporter.on_steps(
            self._progress(losses, map_tree(lambda s: np.asarray(s) / count, scores)), self.state
        )

    def _variation(self, shape: tuple[int, int]) -> Any:
        """Draw the variations of some steps; they depend only on the seed and the position in the run."""
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
        left = count_of(self.dataset.train_images) * (epochs - state.epoch + 1) - state.loss.examples
        place = state.epoch, epochs, state.step, steps_of(self.settings, self.dataset)
        return Progress(*place, state.loss.value, state.score.value, rate, left / rate, losses, scores)

    def _finish(self, random: dict[str, Any]) -> None:
        state, data = self.state, self.dataset
        test_loss, test_score = state.loss.value, state.score.value
        if leaves(data.test_images):
            test_loss, test_score = self.steps.evaluate(state.trained, data.test_images, data.test_labels)
        check_tested(test_loss, self.settings, state.epoch)
        seconds = max(state.seconds, 1e-9)
        means = (state.loss.value, state.score.value, test_loss, test_score)
        result = EpochResult(state.epoch, *means, state.seconds, state.loss.examples / seconds)
        history = (*state.history, result)
        is_best = best_epoch(history, self.task.classifies) == state.epoch
        self.state = state.next_epoch()._replace(
            random=random,
            epoch=state.epoch + 1,
            history=history,
            best=state.trained if is_best and self.settings.keep == "best" else state.best,
        )
        check_parameters(self.group, self.state, f"after epoch {result.epoch}")
        self.reporter.on_epoch(result, self.state)
        self.stopwatch.end()
