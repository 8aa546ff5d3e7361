"""The folder in which a run is kept: settings, metrics, model, pictures."""

from __future__ import annotations

import json
import os
import platform
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wengert._version import __version__
from wengert.data import DataError
from wengert.errors import WengertError
from wengert.train.loop import EpochResult, Outcome
from wengert.train.tasks import TASKS, Settings
from wengert.tree import flatten, paths, unflatten

MODEL, SETTINGS, METRICS, SUMMARY = "model.npz", "settings.json", "metrics.jsonl", "summary.json"


class RunError(WengertError, OSError):
    """A run that cannot be written or read."""


def replace_file(path: Path, write: Callable[[Any], None]) -> None:
    """Write a file so that it is either there whole or as it was before."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(partial, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def save_model(path: str | os.PathLike[str], model: Any) -> None:
    """Save the arrays of a model in NumPy's ``.npz``, each under the name of its place.

    Example:
        >>> import tempfile, os
        >>> from wengert import nn
        >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
        >>> save_model(path, nn.Dense(2, 3, seed=0))
        >>> load_model(path, nn.Dense(2, 3, seed=1)).weight.shape
        (2, 3)
    """
    values, structure = flatten(model)
    named: dict[str, Any] = dict(zip(paths(structure, "model"), map(np.asarray, values), strict=True))
    replace_file(Path(path), lambda stream: np.savez(stream, **named))


def load_model(path: str | os.PathLike[str], model: Any) -> Any:
    """Return a model of the structure of ``model`` with the saved arrays.

    Raises:
        DataError: the file is damaged, or is that of another model.
        FileNotFoundError: there is no such file.
    """
    values, structure = flatten(model)
    found: list[Any] = []
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as saved:
            for name, value in zip(paths(structure, "model"), values, strict=True):
                array = saved[name]
                if array.shape != np.shape(value) or array.dtype != value.dtype:
                    raise DataError(
                        f"{os.fspath(path)}: {name} must be {value.dtype}{np.shape(value)}; "
                        f"got {array.dtype}{array.shape}"
                    )
                found.append(array)
    except KeyError as problem:
        raise DataError(f"{os.fspath(path)}: it is not a file of this model: {problem.args[0]}") from None
    except (zipfile.BadZipFile, ValueError, EOFError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError(f"{os.fspath(path)}: the file is damaged: {problem}") from None
    return unflatten(structure, found)


class RunFolder:
    """The folder of one run.

    Args:
        folder: where; by default ``runs/TASK-DATE-TIME``. It must be new or empty.
        settings: of the run; written at once.

    Raises:
        RunError: the folder is in use or cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, settings: Settings) -> None:
        self.path = _new_folder(settings.task) if folder is None else Path(folder)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                raise RunError(f"{self.path} is not empty: choose another folder with --out")
            versions = {"wengert": __version__, "numpy": np.__version__, "python": platform.python_version()}
            self._write(SETTINGS, json.dumps(settings._asdict() | {"versions": versions}, indent=2) + "\n")
        except OSError as problem:
            if isinstance(problem, RunError):
                raise
            raise RunError(f"{self.path} cannot be written: {problem.strerror or problem}") from None

    def _write(self, name: str, text: str) -> None:
        replace_file(self.path / name, lambda stream: stream.write(text.encode()))

    def add_metrics(self, result: EpochResult) -> None:
        """Append an epoch's results to ``metrics.jsonl``."""
        with open(self.path / METRICS, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(result._asdict()) + "\n")

    def finish(self, outcome: Outcome) -> None:
        """Save the model and how the run ended."""
        save_model(self.path / MODEL, outcome.model)
        last = outcome.history[-1]._asdict() if outcome.history else None
        self._write(
            SUMMARY, json.dumps({"interrupted": outcome.interrupted, "last_epoch": last}, indent=2) + "\n"
        )


def _new_folder(task: str) -> Path:
    stem = Path("runs") / f"{task}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, count = stem, 1
    while folder.exists():
        count += 1
        folder = stem.with_name(f"{stem.name}-{count}")
    return folder


def load_run(folder: str | os.PathLike[str]) -> tuple[Settings, Any]:
    """Return the settings and the model of a run.

    Raises:
        DataError: the folder holds no run, or a damaged one.
    """
    path = Path(folder)
    try:
        described = json.loads((path / SETTINGS).read_text("utf-8"))
        settings = Settings(**{field: described[field] for field in Settings._fields})
        task = TASKS[settings.task]
    except (OSError, ValueError, KeyError) as problem:
        raise DataError(f"{path}: this is not the folder of a run: {problem}") from None
    return settings, load_model(path / MODEL, task.build(np.random.default_rng(0)))
