"""The folder of a run as it is written: settings, metrics, checkpoints, model, pictures."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Generator
from datetime import datetime
from pathlib import Path
from typing import Any

from wengert._version import versions
from wengert.core.errors import WengertError
from wengert.data import DataError
from wengert.train.files import RunError, read_json, remove_partial, write_file, writing
from wengert.train.logs import JsonLines, is_epoch, without_kind
from wengert.train.loop import Outcome
from wengert.train.neighbours import neighbours
from wengert.train.profile import peak_memory
from wengert.train.settings import Settings
from wengert.train.tensors import save_model
from wengert.train.trust import remember

RUNS = Path("runs")
MODEL, SETTINGS, METRICS, SUMMARY = "model.safetensors", "settings.json", "metrics.jsonl", "summary.json"
CHECKPOINTS, PROFILE, TENSORBOARD = "checkpoints", "profile.json", "tensorboard"
SOURCE, MODULES = "model.py", "modules"
"""A copy of the user's file, and the folder with copies of what that imports from beside it."""


def check_place(folder: str | os.PathLike[str] | None) -> None:
    """Raise `RunError` where no new run can be kept, before much work is done for it."""
    path = RUNS if folder is None else Path(folder)
    with writing(path):
        nearest = next((place for place in (path, *path.parents) if place.exists()), path)
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            raise RunError(f"{path} cannot be written: {nearest} is not a folder to write into")
        if folder is not None and nearest == path and any(path.iterdir()):
            hint = "go on with it by --resume, or " if (path / SETTINGS).exists() else ""
            raise RunError(f"{path} is not empty: {hint}choose another folder with --out")


class RunFolder:
    """The folder of one run.

    Args:
        folder: where; by default ``runs/TASK-DATE-TIME``. It must be new or empty.
        settings: of the run; written at once.
        source: the user's file that makes the network; it is copied, and so is what it imports from beside it.

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
            self._copy({f"{MODULES}/{name}": file for name, file in neighbours(source).items()})
        self.describe(settings, datetime.now().astimezone())

    @classmethod
    def again(cls, folder: str | os.PathLike[str]) -> RunFolder:
        """Return the folder of a run that goes on.

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
        """Write the settings, and when the run began if that is known; remember the program that is trained with."""
        known = {} if began is None else {"began": began.isoformat(timespec="seconds")}
        self.write_json(SETTINGS, settings._asdict() | {"versions": versions()} | known)
        source = self.path / SOURCE
        if settings.model is not None and source.exists():
            remember(source, self.path / MODULES, settings.model)

    @contextlib.contextmanager
    def in_use(self) -> Generator[None, None, None]:
        """Keep other processes from training the same run at the same time.

        Raises:
            RunError: another one does.
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
        """Write a file of the run, whole or not at all, and return where it is."""
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
        """Save the model and how the run ended.

        Raises:
            RunError: it cannot be written; the message says where the model is instead.
        """
        try:
            save_model(self.path / MODEL, outcome.model)
        except RunError as problem:
            raise RunError(f"{problem}; {_elsewhere(outcome.model, self.path.name)}") from None
        last = outcome.history[-1]._asdict() if outcome.history else None
        try:
            self._summarise(interrupted=outcome.interrupted, problem=None, last_epoch=last)
        except RunError as problem:
            raise RunError(f"{problem}; the model is saved in {self.path / MODEL}") from None

    def fail(self, problem: Exception) -> None:
        """Save why the run ended without a model."""
        epochs = [without_kind(line) for line in self.metrics.examined().lines if is_epoch(line)]
        self._summarise(interrupted=False, problem=str(problem), last_epoch=epochs[-1] if epochs else None)

    def _summarise(self, **how: Any) -> None:
        try:
            before: Any = read_json(self.path / SUMMARY).get("peak_memory")
        except (OSError, DataError):  # it is the first end of the run
            before = None
        peak = max(before if isinstance(before, int) else 0, peak_memory())
        self.write_json(SUMMARY, how | {"peak_memory": peak})


def _elsewhere(model: Any, name: str) -> str:
    """Save a model where there may be room still, and say where."""
    place = tempfile.gettempdir()
    try:
        path = Path(tempfile.mkdtemp(prefix=f"wengert-{name}-")) / MODEL
        save_model(path, model)
    except (OSError, WengertError) as problem:
        return f"nor could the model be saved in {place}: {getattr(problem, 'strerror', None) or problem}"
    return f"the model is saved in {path} instead"


def make_new(stem: Path) -> Path:
    """Make a folder that was not there before: several runs may start in the same second."""
    folder, number = stem, 1
    with writing(stem):
        while True:
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                number += 1
                folder = stem.with_name(f"{stem.name}-{number}")
