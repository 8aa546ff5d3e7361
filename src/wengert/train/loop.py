"""The training loop."""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from wengert.data import Dataset, batches
from wengert.errors import ArgumentError, WengertError, message
from wengert.train.steps import Mean, Steps, groups
from wengert.train.tasks import Settings, Task
from wengert.tree import leaves


class DivergedError(WengertError, ArithmeticError):
    """The loss became NaN or infinite."""


class Progress(NamedTuple):
    """Where a run is, after a step."""

    epoch: int
    epochs: int
    step: int
    steps: int
    """In an epoch."""
    loss: float
    """Mean over the epoch so far."""
    score: float
    """Mean over the examples of the epoch so far."""
    rate: float
    """Examples a second in this epoch."""
    remaining: float
    """Seconds to the end of the run, at this speed."""


class EpochResult(NamedTuple):
    """What an epoch came to: a line of ``metrics.jsonl``."""

    epoch: int
    train_loss: float
    train_score: float
    test_loss: float
    test_score: float
    seconds: float
    """Of training, evaluation not counted."""
    examples_per_second: float


class Reporter(Protocol):
    """Who is told how a run goes, and may end it by raising `KeyboardInterrupt`."""

    def on_step(self, progress: Progress) -> None:
        """Take note of a step."""
        ...

    def on_epoch(self, result: EpochResult) -> None:
        """Take note of an epoch."""
        ...


class Outcome(NamedTuple):
    """How a run ended."""

    model: Any
    history: list[EpochResult]
    interrupted: bool


def train(
    task: Task, settings: Settings, dataset: Dataset, reporter: Reporter, *, compiled: bool = True
) -> Outcome:
    """Train a task's network.

    Args:
        task: the network and its loss.
        settings: epochs, batch size, learning rate and seed; the same settings give the same numbers.
        dataset: images and labels.
        reporter: told of every step and epoch.
        compiled: carry out several steps (gather, forward, backward, update) as one call of native code; otherwise
            each operation by NumPy.

    Returns:
        The trained model and the results of the epochs; after Ctrl-C, what was learned until then.

    Raises:
        ArgumentError: there are no images.
        DivergedError: the loss became NaN or infinite.

    Example:
        >>> from wengert.data import digit_set
        >>> from wengert.train import TASKS, train
        >>> class Quiet:
        ...     def on_step(self, progress): ...
        ...     def on_epoch(self, result): ...
        >>> settings = TASKS["mlp"].settings("digits", epochs=1, batch_size=10)
        >>> outcome = train(TASKS["mlp"], settings, digit_set(train=40, test=20), Quiet())
        >>> outcome.history[0].epoch
        1
    """
    if not (len(dataset.train_images) and len(dataset.test_images)):
        requirement = "there must be images to train with and to test"
        raise ArgumentError(message("train", requirement, repr(dataset)))
    rng = np.random.default_rng(settings.seed)
    model = task.build(rng)
    optimiser = task.optimiser(settings.rate)
    state = optimiser.init(model)
    history: list[EpochResult] = []
    steps = Steps(task, optimiser, compiled=compiled)
    images, labels = dataset.train_images, dataset.train_labels
    try:
        with np.errstate(all="ignore"):  # what overflows shows in the loss
            for epoch in range(1, settings.epochs + 1):
                clock = _Clock(epoch, settings, len(images))
                for index in groups(
                    batches(len(images), settings.batch_size, rng=rng), steps.group(settings, images)
                ):
                    model, state, losses, scores = steps.run(model, state, images, labels, index)
                    for loss, score in zip(losses, scores, strict=True):
                        _check_finite(loss, settings, f"in epoch {epoch}, step {clock.step + 1}")
                        reporter.on_step(clock.tick(float(loss), float(score), index.shape[1]))
                test_loss, test_score = steps.evaluate(model, dataset.test_images, dataset.test_labels)
                _check_finite(test_loss, settings, f"on the test images after epoch {epoch}")
                history.append(clock.finish(test_loss, test_score))
                reporter.on_epoch(history[-1])
    except KeyboardInterrupt:
        return Outcome(model, history, interrupted=True)
    return Outcome(model, history, interrupted=False)


def parameter_count(model: Any) -> int:
    """Return the number of parameters of a model."""
    return sum(leaf.size for leaf in leaves(model))


class _Clock:
    """The means and the speed of one epoch."""

    def __init__(self, epoch: int, settings: Settings, examples: int) -> None:
        self.epoch, self.settings, self.examples = epoch, settings, examples
        self.steps = -(-examples // settings.batch_size)
        self.step = 0
        self.loss, self.score = Mean(), Mean()
        self.start = time.perf_counter()
        self.seconds = 0.0

    def tick(self, loss: float, score: float, count: int) -> Progress:
        self.step += 1
        self.loss.add(loss * count, count)
        self.score.add(score, count)
        self.seconds = max(time.perf_counter() - self.start, 1e-9)
        rate = self.loss.count / self.seconds
        left = self.examples * (self.settings.epochs - self.epoch + 1) - self.loss.count
        return Progress(
            self.epoch,
            self.settings.epochs,
            self.step,
            self.steps,
            self.loss.value,
            self.score.value,
            rate,
            left / rate,
        )

    def finish(self, test_loss: float, test_score: float) -> EpochResult:
        return EpochResult(
            self.epoch,
            self.loss.value,
            self.score.value,
            test_loss,
            test_score,
            self.seconds,
            self.loss.count / max(self.seconds, 1e-9),
        )


def _check_finite(loss: Any, settings: Settings, where: str) -> None:
    if not np.isfinite(loss):
        hint = f"try a smaller learning rate than {settings.rate:g}"
        raise DivergedError(f"the loss became {float(loss)} {where}: {hint}")
