"""What ``wengert train`` does, from the settings to the pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.data import Dataset, digit_set, load
from wengert.train import pictures
from wengert.train.console import Console
from wengert.train.interrupts import Interrupts
from wengert.train.loop import DivergedError, EpochResult, Outcome, Progress, parameter_count, train
from wengert.train.storage import MODEL, RunError, RunFolder, check_place
from wengert.train.tasks import TASKS, Settings, Task

#: Where images come from; the built-in set is drawn by the package itself.
DATA = ("digits", "mnist", "fashion-mnist")


def run_training(
    settings: Settings, data_folder: str | None, out: str | None, *, compiled: bool = True
) -> int:
    """Train, show, and keep everything in a folder, which is made when the data are there.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        WengertError: what the user should read in one line.
    """
    check_place(out)
    task = TASKS[settings.task]
    console = Console(task)
    dataset = _load_data(console, settings.data, data_folder)
    folder = RunFolder(out, settings)
    _introduce(console, task, settings, dataset, folder)
    with Interrupts() as interrupts:
        try:
            with console:
                reporter = _Reporter(console, folder, interrupts)
                outcome = train(task, settings, dataset, reporter, compiled=compiled)
        except DivergedError as problem:
            folder.fail(problem)
            raise DivergedError(f"{problem}; what was measured until then is in {folder.path}") from None
        folder.finish(outcome)
        if outcome.history:
            console.table(outcome.history)
        _draw(console, task, dataset, outcome, folder)
        console.say("model", str(folder.path / MODEL))
    if not outcome.interrupted:
        return 0
    saved = f"what was learned until then is saved in {folder.path}"
    if console.closed:
        raise RunError(f"the output was closed; {saved}")
    console.say("stopped", f"by Ctrl-C; {saved}")
    return 130


class _Reporter:
    """Shows and keeps how a run goes, and ends it after Ctrl-C or when nobody listens any more."""

    def __init__(self, console: Console, folder: RunFolder, interrupts: Interrupts) -> None:
        self.console, self.folder, self.interrupts = console, folder, interrupts

    def on_step(self, progress: Progress) -> None:
        self.console.step(progress)
        if self.interrupts.noted or self.console.closed:
            raise KeyboardInterrupt

    def on_epoch(self, result: EpochResult) -> None:
        self.folder.add_metrics(result)
        self.console.epoch(result)


def _load_data(console: Console, name: str, folder: str | None) -> Dataset:
    if name != "digits":
        return load(name, folder)
    train, test = 30_000, 5_000
    console.say("drawing", f"{train + test:,} digits")
    return digit_set(train=train, test=test)


def _introduce(console: Console, task: Task, settings: Settings, dataset: Dataset, folder: RunFolder) -> None:
    parameters = parameter_count(task.build(np.random.default_rng(settings.seed)))
    train, test = len(dataset.train_images), len(dataset.test_images)
    epochs = f"{settings.epochs} epoch{'s' if settings.epochs > 1 else ''}"
    numbers = f"batch size {settings.batch_size}, learning rate {settings.rate:g}, seed {settings.seed}"
    console.say("network", f"{task.title}, {parameters:,} parameters")
    console.say("data", f"{dataset.name}: {train:,} images to train, {test:,} to test")
    console.say("settings", f"{epochs}, {numbers}")
    console.say("folder", str(folder.path))


def _draw(console: Console, task: Task, dataset: Dataset, outcome: Outcome, folder: RunFolder) -> None:
    """Draw the pictures of a run and say where they are."""
    if not pictures.available():
        console.say("pictures", "none: they need matplotlib (pip install 'wengert[plot]')")
        return
    if outcome.history:
        curve = pictures.learning_curve(task, outcome.history)
        console.say("picture", str(folder.write("learning_curve.png", curve)))
    images: Any = dataset.test_images[:16]
    outputs = outcome.model(task.prepare(images))
    if task.classifies:
        guesses: list[str] = [dataset.classes[position] for position in np.argmax(outputs, axis=1)]
        truth: list[str] = [dataset.classes[label] for label in dataset.test_labels[:16]]
        console.say("picture", str(folder.write("examples.png", pictures.examples(images, guesses, truth))))
    else:
        rows = pictures.reconstructions(images[:10] / 255, np.reshape(outputs, images.shape)[:10])
        console.say("picture", str(folder.write("reconstructions.png", rows)))
