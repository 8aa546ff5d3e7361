"""Runs on disk: `RunFolder` writes the folder of a run, `Run` reads it."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from wengert._version import versions
from wengert.data import DataError, Dataset, digit_set, load, load_arrays
from wengert.data.dataset import SIZE
from wengert.data.texts import text_set
from wengert.engine.core.errors import WengertError
from wengert.train.logs import JsonLines, is_epoch, without_kind
from wengert.train.loop import Outcome
from wengert.train.profile import peak_memory
from wengert.train.settings import OPTIONS, Settings, SettingsError, check_value
from wengert.train.state import EpochResult, initial_layer_state, trained_model
from wengert.train.storage import (
    RunError,
    load_model,
    read_arrays,
    read_json,
    remove_partial,
    restored,
    save_model,
    write_file,
    writing,
)
from wengert.train.tasks import Task, task_named
from wengert.train.trust import remember, require_trust
from wengert.train.user_models import MODULES, SETTINGS, SOURCE, local_imports, user_task

RUNS = Path("runs")
MODEL, METRICS, SUMMARY = "model.safetensors", "metrics.jsonl", "summary.json"
CHECKPOINTS, PROFILE = "checkpoints", "profile.json"
DRAWN = {"train": 30_000, "test": 5_000}
"""The numbers of digits that are drawn for training and for testing."""
_OLD_MODEL = "model.npz"
_NEEDED = set(Settings._fields) - Settings._field_defaults.keys()


# -- the settings of a run -------------------------------------------------------------------------------


def task_of(settings: Settings, source: Path | None = None) -> Task:
    """Return the task that a run trains."""
    if settings.model is None:
        return task_named(settings.task, settings.recipe)
    return user_task(settings.model, source)


def check_data(settings: Settings, task: Task) -> None:
    """Raise `SettingsError` if the data are not of the kind that a task learns."""
    of_text, learned = settings.data == "text", "text" if task.data == "text" else "images"
    if of_text != (task.data == "text"):
        raise SettingsError(f"{task.name} learns {learned}; got --data {settings.data}")
    if settings.text is not None and not of_text:
        raise SettingsError(
            f"--text needs a network that learns texts, such as gpt; {task.name} learns images"
        )


def drawn_counts(settings: Settings) -> dict[str, int]:
    """Return the numbers of digits to draw for training and for testing."""
    return DRAWN | {"train": min(settings.limit or DRAWN["train"], DRAWN["train"])}


def dataset_of(settings: Settings, *, tested_only: bool = False) -> Dataset:
    """Return the images that a run learns."""
    if settings.data == "digits":
        return digit_set(**drawn_counts(settings) | ({"train": 0} if tested_only else {}))
    if settings.data == "text":
        dataset = text_set(settings.text)
        return replace(dataset, train_images=dataset.train_images[: settings.limit])
    is_own = settings.data == "arrays"
    dataset = load_arrays(settings.data_dir or ".") if is_own else load(settings.data, settings.data_dir)
    shape = dataset.train_images.shape[1:]
    if settings.model is None and shape != SIZE:
        learned, actual = ("x".join(map(str, size)) for size in (SIZE, shape))
        raise DataError(f"{settings.task} learns images of {learned}; got {actual}: give your own --model")
    images, labels = (part[: settings.limit] for part in (dataset.train_images, dataset.train_labels))
    return replace(dataset, train_images=images, train_labels=labels)


def absolute(settings: Settings) -> Settings:
    """Return settings with absolute paths."""
    paths = {"data_dir": settings.data_dir, "model": settings.model, "text": settings.text}
    return settings._replace(**{name: path and str(Path(path).resolve()) for name, path in paths.items()})


def resumed_settings(run: Run, changed: dict[str, Any]) -> Settings:
    """Return a run's settings with some of them changed; `SettingsError` for those that are fixed for a run."""
    before, wanted = absolute(run.settings), absolute(run.settings._replace(**changed))
    for option in OPTIONS.values():
        value = getattr(before, option.field)
        if option.fixed and getattr(wanted, option.field) != value:
            raise SettingsError(
                f"{option.name} is {_shown(value)} in {run.path}; a resumed run cannot change it"
            )
    return wanted


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not set" if value is None else str(value)


# -- writing a run ---------------------------------------------------------------------------------------


def check_place(folder: str | os.PathLike[str] | None) -> None:
    """Raise `RunError` if a new run cannot be written to a folder, before work is done for it."""
    path = RUNS if folder is None else Path(folder)
    with writing(path):
        nearest = next((place for place in (path, *path.parents) if place.exists()), path)
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            raise RunError(f"{path} cannot be written: {nearest} is not a writable folder")
        if folder is not None and nearest == path and any(path.iterdir()):
            hint = f"resume it with --resume {path}, or " if (path / SETTINGS).exists() else ""
            raise RunError(f"{path} is not empty: {hint}choose another folder with --out")


class RunFolder:
    """The folder of a run, for writing.

    Args:
        folder: must be new or empty; by default ``runs/TASK-DATE-TIME``.
        settings: of the run; they are written at once.
        source: the user's file with the network; it is copied with its local imports.

    Raises:
        RunError: the folder is in use or cannot be written.

    Example:
        >>> import os, tempfile
        >>> from wengert.train import TASKS
        >>> place = os.path.join(tempfile.mkdtemp(), "run")
        >>> RunFolder(place, TASKS["mlp"].settings("digits")).path.name
        'run'
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, settings: Settings, source: Path | None = None
    ) -> None:
        if folder is None:
            self.path = make_new(RUNS / f"{settings.task}-{time.strftime('%Y%m%d-%H%M%S')}")
        else:
            self.path = Path(folder)
            check_place(self.path)
            with writing(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
        self.metrics = JsonLines(self.path / METRICS)
        if source is not None:
            self._copy({SOURCE: source})
            self._copy({f"{MODULES}/{name}": file for name, file in local_imports(source).items()})
        self.describe(settings, datetime.now().astimezone())

    @classmethod
    def again(cls, folder: str | os.PathLike[str]) -> RunFolder:
        """Return the folder of a run that is resumed.

        Args:
            folder: of the run.

        Raises:
            RunError: it cannot be written.
        """
        opened = cls.__new__(cls)
        opened.path = Path(folder)
        opened.metrics = JsonLines(opened.path / METRICS)
        if not os.access(opened.path, os.W_OK | os.X_OK):
            raise RunError(f"{opened.path} cannot be written: Permission denied")
        with writing(opened.path):
            for place in (opened.path, opened.path / CHECKPOINTS):
                remove_partial(place)
        return opened

    def describe(self, settings: Settings, began: datetime | None) -> None:
        """Write the settings and the start of the run, if known, and record the program that it trains."""
        start = {} if began is None else {"began": began.isoformat(timespec="seconds")}
        self.write_json(SETTINGS, settings._asdict() | {"versions": versions()} | start)
        source = self.path / SOURCE
        if settings.model is not None and source.exists():
            remember(source, self.path / MODULES, settings.model)

    @contextlib.contextmanager
    def in_use(self) -> Generator[None, None, None]:
        """Lock the run, so that no other process trains it at the same time.

        Raises:
            RunError: another process trains it.
        """
        if os.name == "nt":
            yield
            return
        import fcntl

        with writing(self.path):
            handle = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise RunError(f"{self.path} is being trained by another process") from None
        except OSError:  # a file system without locks
            pass
        try:
            yield
        finally:
            os.close(handle)

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the run completely or not at all, and return its path."""
        path = self.path / name
        write_file(path, content)
        return path

    def _copy(self, files: dict[str, Path]) -> None:
        for name, file in files.items():
            with writing(self.path / name):
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                content = file.read_bytes()
            self.write(name, content)

    def write_json(self, name: str, content: Any) -> Path:
        """Write a file of the run as JSON."""
        return self.write(name, (json.dumps(content, indent=2) + "\n").encode())

    def finish(self, outcome: Outcome) -> None:
        """Save the model and the end of the run.

        Args:
            outcome: of the run.

        Raises:
            RunError: a file cannot be written; the message names the place of the model.
        """
        try:
            save_model(self.path / MODEL, outcome.model)
        except RunError as problem:
            raise RunError(f"{problem}; {_save_elsewhere(outcome.model, self.path.name)}") from None
        last = outcome.history[-1]._asdict() if outcome.history else None
        try:
            self._summarise(interrupted=outcome.interrupted, problem=None, last_epoch=last)
        except RunError as problem:
            raise RunError(f"{problem}; the model is saved in {self.path / MODEL}") from None

    def fail(self, problem: Exception) -> None:
        """Save the reason why the run ended without a model."""
        epochs = [without_kind(line) for line in self.metrics.examined().lines if is_epoch(line)]
        self._summarise(interrupted=False, problem=str(problem), last_epoch=epochs[-1] if epochs else None)

    def _summarise(self, **content: Any) -> None:
        try:
            before: Any = read_json(self.path / SUMMARY).get("peak_memory")
        except (OSError, DataError):  # the run ends for the first time
            before = None
        peak = max(before if isinstance(before, int) else 0, peak_memory())
        self.write_json(SUMMARY, content | {"peak_memory": peak})


def _save_elsewhere(model: Any, name: str) -> str:
    place = tempfile.gettempdir()
    try:
        path = Path(tempfile.mkdtemp(prefix=f"wengert-{name}-")) / MODEL
        save_model(path, model)
    except (OSError, WengertError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return f"the model could not be saved in {place} either: {reason}"
    return f"the model is saved in {path} instead"


def make_new(stem: Path) -> Path:
    """Make a new folder; the name gets a number if several runs start in the same second."""
    folder, number = stem, 1
    with writing(stem):
        while True:
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                number += 1
                folder = stem.with_name(f"{stem.name}-{number}")


# -- reading a run ---------------------------------------------------------------------------------------


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
    """None for runs of earlier versions, which did not record it."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, trust: bool = False) -> Run:
        """Return the run in a folder. This runs the folder's copy of a user's file, if any.

        Args:
            folder: of the run.
            trust: run that copy even if this user has not trained with its present version on this machine.

        Returns:
            The run.

        Raises:
            DataError: the folder holds no run, or a damaged one.
            UntrustedError: the copy of a user's file is not trusted.
            ModelError: the copy of the user's file fails, or an import in it.
        """
        path = Path(folder)
        content = _content(path)
        settings = _settings(content, path / SETTINGS)
        source = path / SOURCE
        if settings.model is not None and source.exists() and not trust:
            require_trust(source, path / MODULES, settings.model)
        try:
            task = task_of(settings, source)
        except SettingsError as problem:
            raise DataError(f"{path / SETTINGS}: {problem}") from None
        versions: Any = content.get("versions")
        recorded = cast("dict[str, Any]", versions) if isinstance(versions, dict) else {}
        began: Any = content.get("began")
        try:
            began = datetime.fromisoformat(began)
        except (TypeError, ValueError):
            began = None
        recorded = {name: version for name, version in recorded.items() if isinstance(version, str)}
        return cls(path, settings, task, recorded, began)

    @property
    def _lines(self) -> JsonLines:
        return JsonLines(self.path / METRICS)

    @property
    def history(self) -> tuple[EpochResult, ...]:
        """The results of the epochs.

        Raises:
            DataError: ``metrics.jsonl`` is damaged before its last line.
        """
        results = tuple(EpochResult(**without_kind(line)) for line in self._lines.read() if is_epoch(line))
        for number, result in enumerate(results, 1):
            if result.epoch != number:
                problem = f"the results of epoch {number} must come before those of epoch {result.epoch}"
                raise DataError(f"{self.path / METRICS}: the file is damaged: {problem}")
        return results

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The logged steps: epoch, step, loss, score."""
        return [without_kind(line) for line in self._lines.read() if not is_epoch(line)]

    @property
    def left_out(self) -> str:
        """The problem with a damaged last line of ``metrics.jsonl``, which is left out; otherwise empty."""
        problems = self._lines.examined().problems
        return f"{problems[-1]}; it is left out" if problems else ""

    @property
    def summary(self) -> dict[str, Any] | None:
        """The end of the run; None before."""
        try:
            return read_json(self.path / SUMMARY)
        except FileNotFoundError:
            return None

    def model(self, checkpoint: str | os.PathLike[str] | None = None) -> Any:
        """Return the trained model, a function of its input: a `Trained` if its layers have a state.

        Args:
            checkpoint: the ``.safetensors`` file of a checkpoint, for the model at that time.

        Returns:
            The model.

        Raises:
            DataError: its file is damaged.
            FileNotFoundError: the run has no model yet.
        """
        rng = np.random.default_rng(0)
        model = self.task.build(rng)
        layer_state = initial_layer_state(model, rng)
        if checkpoint is not None:
            arrays = {
                name: array
                for name, array in read_arrays(checkpoint).items()
                if not name.startswith(("optimiser", "best"))
            }
            return trained_model(*restored(arrays, os.fspath(checkpoint), model=model, memory=layer_state))
        path, old = self.path / MODEL, self.path / _OLD_MODEL
        file = old if old.exists() and not path.exists() else path
        return load_model(file, trained_model(model, layer_state))

    def dataset(self, *, tested_only: bool = False) -> Dataset:
        """Return the images that the run learned.

        Args:
            tested_only: as in `dataset_of`.

        Returns:
            The images and labels.
        """
        return dataset_of(self.settings, tested_only=tested_only)


def _content(path: Path) -> dict[str, Any]:
    try:
        return read_json(path / SETTINGS)
    except OSError as problem:
        reason = f"it has no {SETTINGS}" if path.is_dir() else problem.strerror or str(problem)
        raise DataError(f"{path}: this is not the folder of a run: {reason}") from None


def _settings(content: dict[str, Any], file: Path) -> Settings:
    values = {field: content[field] for field in Settings._fields if field in content}
    missing = [option.name for option in OPTIONS.values() if option.field in _NEEDED - values.keys()]
    if missing:
        raise DataError(f"{file}: the file is damaged: it lacks {', '.join(missing)}")
    settings = Settings(**values)
    for option in OPTIONS.values():
        value = getattr(settings, option.field)
        if value is not None or option.field in _NEEDED:
            try:
                check_value(option.name, value)
            except SettingsError as problem:
                raise DataError(f"{file}: {problem}") from None
    return settings


def load_run(folder: str | os.PathLike[str], *, trust: bool = False) -> tuple[Settings, Any]:
    """Return the settings and the model of a run; `Run` has the rest.

    Args:
        folder: of the run.
        trust: as in `Run.open`.

    Returns:
        The settings and the model.

    Raises:
        DataError: the folder holds no run, or a damaged one.
        UntrustedError: the copy of a user's file is not trusted.
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
