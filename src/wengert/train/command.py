"""What ``wengert train`` does, from the settings to the pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wengert.data import Dataset, digit_set, load
from wengert.train import pictures
from wengert.train.console import Console
from wengert.train.loop import Outcome, parameter_count, train
from wengert.train.storage import MODEL, RunFolder
from wengert.train.tasks import TASKS, Settings, Task

#: Where images come from; the built-in set is drawn by the package itself.
DATA = ("digits", "mnist", "fashion-mnist")


def load_data(name: str, folder: str | None) -> Dataset:
    """Return a data set by name."""
    return digit_set(train=30_000, test=5_000) if name == "digits" else load(name, folder)


def run_training(settings: Settings, data_folder: str | None, out: str | None) -> int:
    """Train, show, and keep everything in a folder.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        WengertError: what the user should read in one line.
    """
    task = TASKS[settings.task]
    folder = RunFolder(out, settings)
    with Console(task, folder) as console:
        dataset = load_data(settings.data, data_folder)
        console.say(_introduction(task, settings, dataset))
        outcome = train(task, settings, dataset, console)
    folder.finish(outcome)
    if outcome.history:
        console.table(outcome.history)
    for line in _draw(task, dataset, outcome, folder.path):
        console.say(line)
    console.say(f"model     {folder.path / MODEL}")
    if outcome.interrupted:
        console.say("Stopped by Ctrl-C; what was learned until then is saved.")
        return 130
    return 0


def _introduction(task: Task, settings: Settings, dataset: Dataset) -> str:
    count = parameter_count(task.build(np.random.default_rng(settings.seed)))
    return (
        f"{task.title}: {count:,} parameters; {dataset.name}, {len(dataset.train_images):,} images to train, "
        f"{len(dataset.test_images):,} to test; {settings.epochs} epochs, batch {settings.batch_size}, "
        f"rate {settings.rate:g}, seed {settings.seed}"
    )


def _draw(task: Task, dataset: Dataset, outcome: Outcome, folder: Path) -> list[str]:
    """Draw the pictures of a run and say where they are."""
    if not pictures.available():
        return ["pictures  none: they need matplotlib (pip install 'wengert[plot]')"]
    drawn: list[str] = []

    def draw(name: str, function: Callable[..., None], *arguments: Any) -> None:
        function(folder / name, *arguments)
        drawn.append(f"picture   {folder / name}")

    if outcome.history:
        draw("learning_curve.png", pictures.learning_curve, task, outcome.history)
    images = dataset.test_images[:16]
    outputs = outcome.model(task.prepare(images))
    if task.score == "accuracy":
        names: list[str] = [dataset.classes[position] for position in np.argmax(outputs, axis=1)]
        truth: list[str] = [dataset.classes[label] for label in dataset.test_labels[:16]]
        draw("examples.png", pictures.examples, images, names, truth)
    else:
        shape = images[:10].shape
        draw(
            "reconstructions.png",
            pictures.reconstructions,
            images[:10] / 255,
            np.reshape(outputs[:10], shape),
        )
    return drawn
