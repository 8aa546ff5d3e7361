"""Runs as they are read: what was trained, with which settings, and what came of it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wengert.data import DataError, Dataset, digit_set, load
from wengert.train.folder import METRICS, MODEL, SETTINGS, SOURCE, SUMMARY
from wengert.train.logs import JsonLines, is_epoch, without_kind
from wengert.train.memory import first_memory, trained
from wengert.train.own import own_task
from wengert.train.settings import OPTIONS, Settings, SettingsError, check_value
from wengert.train.state import EpochResult
from wengert.train.tasks import Task, task_named
from wengert.train.tensors import load_model

DRAWN = {"train": 30_000, "test": 5_000}
"""How many digits are drawn to train with and to test, where no files are read."""
_OLD_MODEL = "model.npz"


def task_of(settings: Settings, source: Path | None = None) -> Task:
    """Return what a run trains; ``source`` is its copy of the user's file, if there is one.

    Raises:
        SettingsError: the settings name no network, or a file that is not there.
        ModelError: the user's file fails.
    """
    if settings.model is None:
        return task_named(settings.task, settings.recipe)
    return own_task(settings.model, source)


def dataset_of(settings: Settings) -> Dataset:
    """Return the images that a run learns.

    Raises:
        DataNotFoundError: they are not there.
        DataError: they are damaged.
    """
    return digit_set(**DRAWN) if settings.data == "digits" else load(settings.data, settings.data_dir)


@dataclass(frozen=True)
class Run:
    """A run in its folder, finished or not.

    Example:
        >>> import os, tempfile
        >>> from wengert.train import TASKS, Run, RunFolder
        >>> place = os.path.join(tempfile.mkdtemp(), "run")
        >>> _ = RunFolder(place, TASKS["mlp"].settings("mnist", epochs=3))
        >>> run = Run.open(place)
        >>> run.settings.epochs, run.task.title, run.history
        (3, 'perceptron 784-256-256-10', ())
    """

    path: Path
    settings: Settings
    task: Task
    versions: dict[str, str]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Run:
        """Return the run of a folder.

        A network of the user's is made by the folder's copy of the user's file, which is run.

        Raises:
            DataError: the folder holds no run, or a damaged one.
        """
        path = Path(folder)
        try:
            described: Any = json.loads((path / SETTINGS).read_text("utf-8"))
            known = {field: described[field] for field in Settings._fields if field in described}
            settings = Settings(**known)
            for option in OPTIONS.values():
                if (value := getattr(settings, option.field)) is not None:
                    check_value(option.name, value)
            task = task_of(settings, path / SOURCE)
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise DataError(f"{path}: this is not the folder of a run: {problem}") from None
        return cls(path, settings, task, dict(described.get("versions", {})))

    @property
    def history(self) -> tuple[EpochResult, ...]:
        """The results of the epochs."""
        return tuple(EpochResult(**without_kind(line)) for line in self._lines() if is_epoch(line))

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The logged steps: epoch, step, loss, score."""
        return [without_kind(line) for line in self._lines() if not is_epoch(line)]

    def _lines(self) -> list[dict[str, Any]]:
        return JsonLines(self.path / METRICS).read()

    @property
    def summary(self) -> dict[str, Any] | None:
        """How the run ended; None as long as it did not."""
        try:
            return json.loads((self.path / SUMMARY).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as problem:
            raise DataError(f"{self.path / SUMMARY}: the file is damaged: {problem}") from None

    def model(self) -> Any:
        """Return the trained model, a function of its input: a `Trained` where its layers have a state.

        Raises:
            DataError: its file is damaged.
            FileNotFoundError: the run has none yet.
        """
        path, old = self.path / MODEL, self.path / _OLD_MODEL
        place = old if old.exists() and not path.exists() else path
        rng = np.random.default_rng(0)
        model = self.task.build(rng)
        return load_model(place, trained(model, first_memory(model, rng)))

    def dataset(self) -> Dataset:
        """Return the images that the run learned: see `dataset_of`."""
        return dataset_of(self.settings)


def load_run(folder: str | os.PathLike[str]) -> tuple[Settings, Any]:
    """Return the settings and the model of a run; see `Run` for the rest.

    Raises:
        DataError: the folder holds no run, or a damaged one.
        FileNotFoundError: the run has no model yet.
    """
    run = Run.open(folder)
    return run.settings, run.model()


def resumed_settings(run: Run, changed: dict[str, Any]) -> Settings:
    """Return a run's settings with some changed.

    Raises:
        SettingsError: with one of these, it would be another run.
    """
    for option in OPTIONS.values():
        before = getattr(run.settings, option.field)
        if option.fixed and changed.get(option.field, before) != before:
            raise SettingsError(
                f"{option.name} is {before} in {run.path}, and cannot change when it is resumed"
            )
    return run.settings._replace(**changed)
