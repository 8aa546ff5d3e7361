"""Runs as they are read: what was trained, with which settings, and what came of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from wengert.data import DataError, Dataset, digit_set, load
from wengert.train.files import read_json
from wengert.train.folder import METRICS, MODEL, MODULES, SETTINGS, SOURCE, SUMMARY
from wengert.train.logs import JsonLines, is_epoch, without_kind
from wengert.train.own import own_task
from wengert.train.settings import OPTIONS, Settings, SettingsError, check_value
from wengert.train.state import EpochResult
from wengert.train.stateful import first_memory, trained
from wengert.train.tasks import Task, task_named
from wengert.train.tensors import load_model, read_arrays, restored
from wengert.train.trust import require_trust

DRAWN = {"train": 30_000, "test": 5_000}
"""How many digits are drawn to train with and to test, where no files are read."""
_OLD_MODEL = "model.npz"
_NEEDED = set(Settings._fields) - Settings._field_defaults.keys()
"""The settings without which there is no run."""


def task_of(settings: Settings, source: Path | None = None) -> Task:
    """Return what a run trains; ``source`` is its copy of the user's file, if there is one.

    Raises:
        SettingsError: the settings name no network, or a file that is not there.
        ModelError: the user's file fails.
    """
    if settings.model is None:
        return task_named(settings.task, settings.recipe)
    return own_task(settings.model, source)


def drawn_counts(settings: Settings) -> dict[str, int]:
    """Return how many digits are drawn to train with and to test."""
    return DRAWN | {"train": min(settings.limit or DRAWN["train"], DRAWN["train"])}


def dataset_of(settings: Settings, *, tested_only: bool = False) -> Dataset:
    """Return the images that a run learns.

    Args:
        settings: of the run.
        tested_only: digits to train with are not drawn, which takes longer than reading: there are none then.

    Raises:
        DataNotFoundError: they are not there.
        DataError: they are damaged.
    """
    if settings.data == "digits":
        return digit_set(**drawn_counts(settings) | ({"train": 0} if tested_only else {}))
    dataset = load(settings.data, settings.data_dir)
    images, labels = (part[: settings.limit] for part in (dataset.train_images, dataset.train_labels))
    return replace(dataset, train_images=images, train_labels=labels)


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
    began: datetime | None = None
    """None of runs of earlier versions, which did not say so."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, trust: bool = False) -> Run:
        """Return the run of a folder.

        A network of the user's is made by the folder's copy of the user's file, which is run.

        Args:
            folder: of the run.
            trust: run that copy even if this user has not trained with it, as it is, on this machine.

        Raises:
            DataError: the folder holds no run, or a damaged one.
            UntrustedError: the copy of a user's file would be run, and is not trusted.
            ModelError: the copy of the user's file fails, or does not find what it imports.
        """
        path = Path(folder)
        described = _described(path)
        settings = _settings(described, path / SETTINGS)
        source = path / SOURCE
        if settings.model is not None and source.exists() and not trust:
            require_trust(source, path / MODULES, settings.model)
        try:
            task = task_of(settings, source)
        except SettingsError as problem:
            raise DataError(f"{path / SETTINGS}: {problem}") from None
        versions: Any = described.get("versions")
        told = cast("dict[str, Any]", versions) if isinstance(versions, dict) else {}
        began: Any = described.get("began")
        try:
            began = datetime.fromisoformat(began)
        except (TypeError, ValueError):
            began = None
        return cls(
            path, settings, task, {name: said for name, said in told.items() if isinstance(said, str)}, began
        )

    @property
    def history(self) -> tuple[EpochResult, ...]:
        """The results of the epochs.

        Raises:
            DataError: ``metrics.jsonl`` is damaged before its last line.
        """
        found = tuple(EpochResult(**without_kind(line)) for line in self._lines() if is_epoch(line))
        for number, result in enumerate(found, 1):
            if result.epoch != number:
                expected = f"the results of epoch {number} must come before those of epoch {result.epoch}"
                raise DataError(f"{self.path / METRICS}: the file is damaged: {expected}")
        return found

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The logged steps: epoch, step, loss, score."""
        return [without_kind(line) for line in self._lines() if not is_epoch(line)]

    @property
    def left_out(self) -> str:
        """The problem with a damaged last line of ``metrics.jsonl``, which is left out; empty if the line is whole."""
        problems = JsonLines(self.path / METRICS).examined().problems
        return f"{problems[-1]}; it is left out" if problems else ""

    def _lines(self) -> list[dict[str, Any]]:
        return JsonLines(self.path / METRICS).read()

    @property
    def summary(self) -> dict[str, Any] | None:
        """How the run ended; None as long as it did not."""
        try:
            return read_json(self.path / SUMMARY)
        except FileNotFoundError:
            return None

    def model(self, checkpoint: str | os.PathLike[str] | None = None) -> Any:
        """Return the trained model, a function of its input: a `Trained` where its layers have a state.

        Args:
            checkpoint: the ``.safetensors`` file of one of the run's; the model as it was then is returned.

        Raises:
            DataError: its file is damaged.
            FileNotFoundError: the run has none yet.
        """
        rng = np.random.default_rng(0)
        model = self.task.build(rng)
        memory = first_memory(model, rng)
        if checkpoint is not None:
            arrays = {
                name: array
                for name, array in read_arrays(checkpoint).items()
                if not name.startswith(("optimiser", "best"))
            }
            return trained(*restored(arrays, os.fspath(checkpoint), model=model, memory=memory))
        path, old = self.path / MODEL, self.path / _OLD_MODEL
        return load_model(old if old.exists() and not path.exists() else path, trained(model, memory))

    def dataset(self, *, tested_only: bool = False) -> Dataset:
        """Return the images that the run learned: see `dataset_of`."""
        return dataset_of(self.settings, tested_only=tested_only)


def _described(path: Path) -> dict[str, Any]:
    """Return what the settings of a folder say."""
    try:
        return read_json(path / SETTINGS)
    except OSError as problem:
        missing = f"there is no {SETTINGS} in it" if path.is_dir() else problem.strerror or str(problem)
        raise DataError(f"{path}: this is not the folder of a run: {missing}") from None


def _settings(described: dict[str, Any], file: Path) -> Settings:
    known = {field: described[field] for field in Settings._fields if field in described}
    lacking = [option.name for option in OPTIONS.values() if option.field in _NEEDED - known.keys()]
    if lacking:
        raise DataError(f"{file}: the file is damaged: it does not say {', '.join(lacking)}")
    settings = Settings(**known)
    for option in OPTIONS.values():
        value = getattr(settings, option.field)
        if value is not None or option.field in _NEEDED:
            try:
                check_value(option.name, value)
            except SettingsError as problem:
                raise DataError(f"{file}: {problem}") from None
    return settings


def load_run(folder: str | os.PathLike[str], *, trust: bool = False) -> tuple[Settings, Any]:
    """Return the settings and the model of a run; see `Run` for the rest.

    Args:
        folder: of the run.
        trust: run its copy of a user's file even if this user has not trained with it: see `Run.open`.

    Returns:
        The settings, and the model.

    Raises:
        DataError: the folder holds no run, or a damaged one.
        UntrustedError: the copy of a user's file would be run, and is not trusted.
        FileNotFoundError: the run has no model yet.

    Example:
        >>> import os, tempfile
        >>> from wengert.train import TASKS, Outcome, RunFolder
        >>> from wengert.train.state import begin
        >>> task = TASKS["mlp"]
        >>> settings = task.settings("digits")
        >>> folder = RunFolder(os.path.join(tempfile.mkdtemp(), "run"), settings)
        >>> state = begin(task, settings, 1)
        >>> folder.finish(Outcome(state.model, [], False, state))
        >>> load_run(folder.path)[0].task
        'mlp'
    """
    run = Run.open(folder, trust=trust)
    return run.settings, run.model()


def resumed_settings(run: Run, changed: dict[str, Any]) -> Settings:
    """Return a run's settings with some changed.

    Raises:
        SettingsError: with one of these, it would be another run.
    """
    before, wanted = absolute(run.settings), absolute(run.settings._replace(**changed))
    for option in OPTIONS.values():
        value = getattr(before, option.field)
        if option.fixed and getattr(wanted, option.field) != value:
            raise SettingsError(
                f"{option.name} is {_told(value)} in {run.path}, and cannot change when it is resumed"
            )
    return wanted


def absolute(settings: Settings) -> Settings:
    """Return settings whose files are found from any folder."""
    folder, model = settings.data_dir, settings.model
    return settings._replace(
        data_dir=None if folder is None else str(Path(folder).resolve()),
        model=None if model is None else str(Path(model).resolve()),
    )


def _told(value: Any) -> str:
    """Say what a setting is."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not set" if value is None else str(value)
