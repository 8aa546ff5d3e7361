"""The folder in which a run is kept: settings, metrics, model, pictures."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import time
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np

from wengert._version import __version__
from wengert.data import DataError
from wengert.data.files import replacing
from wengert.dtypes import NDARRAY, dtype_of
from wengert.errors import WengertError
from wengert.shapes import shape_of
from wengert.train.loop import EpochResult, Outcome
from wengert.train.tasks import TASKS, Settings
from wengert.tree import flatten, paths, unflatten

RUNS = Path("runs")
MODEL, SETTINGS, METRICS, SUMMARY = "model.npz", "settings.json", "metrics.jsonl", "summary.json"


class RunError(WengertError, OSError):
    """A run that cannot be written or read."""


@contextlib.contextmanager
def _writing(path: Path) -> Generator[None, None, None]:
    """Turn the system's complaints into an error that names the file."""
    try:
        yield
    except RunError:
        raise
    except OSError as problem:
        raise RunError(f"{path} cannot be written: {problem.strerror or problem}") from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that it is either there whole or as it was before."""
    with _writing(path), replacing(path) as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


# -- models ----------------------------------------------------------------------------------------------


def save_model(path: str | os.PathLike[str], model: Any) -> None:
    """Save the arrays of a model in NumPy's ``.npz``, each under the name of its place.

    Raises:
        RunError: the file cannot be written; one that was there before stays as it was.

    Example:
        >>> import tempfile, os
        >>> from wengert import nn
        >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
        >>> save_model(path, nn.Dense(2, 3, seed=0))
        >>> load_model(path, nn.Dense(2, 3, seed=1)).weight.shape
        (2, 3)
    """
    values, structure = flatten(model)
    arrays: dict[str, Any] = dict(zip(paths(structure, "model"), map(np.asarray, values), strict=True))
    content = io.BytesIO()
    np.savez(content, **arrays)
    write_file(Path(path), content.getvalue())


def load_model(path: str | os.PathLike[str], model: Any) -> Any:
    """Return a model of the structure of ``model`` with the saved arrays.

    Raises:
        DataError: the file is damaged, or is that of another model.
        FileNotFoundError: there is no such file.
    """
    values, structure = flatten(model)
    names = paths(structure, "model")
    saved = _read_arrays(path)
    if different := set(names).symmetric_difference(saved):
        raise DataError(f"{os.fspath(path)}: it is not a file of this model: {min(different)}")
    found: list[Any] = []
    for name, value in zip(names, values, strict=True):
        array, shape, dtype = saved[name], shape_of(value), dtype_of(value)
        if (array.shape, array.dtype) != (shape, dtype):
            raise DataError(
                f"{os.fspath(path)}: {name} must be {dtype}{shape}; got {array.dtype}{array.shape}"
            )
        found.append(array if isinstance(value, np.ndarray) else type(value)(array[()]))
    return unflatten(structure, found)


def _read_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    content = io.BytesIO(Path(path).read_bytes())
    if not zipfile.is_zipfile(content):
        raise DataError(f"{os.fspath(path)}: it is no .npz file, or not a whole one")
    try:
        with np.load(content, allow_pickle=False) as saved:
            arrays = dict(saved)
        if not all(isinstance(array, NDARRAY) for array in arrays.values()):
            raise ValueError("it holds something that is no array")
        return arrays
    except Exception as problem:  # there is no list of what zipfile and NumPy raise for damaged archives
        raise DataError(f"{os.fspath(path)}: the file is damaged: {problem}") from None


# -- runs ------------------------------------------------------------------------------------------------


def check_place(folder: str | os.PathLike[str] | None) -> None:
    """Raise `RunError` where no new run can be kept, before much work is done for it."""
    path = RUNS if folder is None else Path(folder)
    with _writing(path):
        nearest = next((place for place in (path, *path.parents) if place.exists()), path)
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            raise RunError(f"{path} cannot be written: {nearest} is not a folder to write into")
        if folder is not None and nearest == path and any(path.iterdir()):
            raise RunError(f"{path} is not empty: choose another folder with --out")


class RunFolder:
    """The folder of one run.

    Args:
        folder: where; by default ``runs/TASK-DATE-TIME``. It must be new or empty.
        settings: of the run; written at once.

    Raises:
        RunError: the folder is in use or cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, settings: Settings) -> None:
        if folder is None:
            self.path = _make_new(RUNS / f"{settings.task}-{time.strftime('%Y%m%d-%H%M%S')}")
        else:
            self.path = Path(folder)
            check_place(self.path)
            with _writing(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
        self._last: EpochResult | None = None
        versions = {"wengert": __version__, "numpy": np.__version__, "python": platform.python_version()}
        self._write_json(SETTINGS, settings._asdict() | {"versions": versions})

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of the run, whole or not at all, and return where it is."""
        path = self.path / name
        write_file(path, content)
        return path

    def _write_json(self, name: str, content: Any) -> None:
        self.write(name, (json.dumps(content, indent=2) + "\n").encode())

    def add_metrics(self, result: EpochResult) -> None:
        """Append an epoch's results to ``metrics.jsonl``."""
        self._last = result
        path = self.path / METRICS
        with _writing(path), open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(result._asdict()) + "\n")

    def finish(self, outcome: Outcome) -> None:
        """Save the model and how the run ended."""
        save_model(self.path / MODEL, outcome.model)
        self._summarise(interrupted=outcome.interrupted, problem=None)

    def fail(self, problem: Exception) -> None:
        """Save why the run ended without a model."""
        self._summarise(interrupted=False, problem=str(problem))

    def _summarise(self, **how: Any) -> None:
        last = self._last._asdict() if self._last else None
        self._write_json(SUMMARY, how | {"last_epoch": last})


def _make_new(stem: Path) -> Path:
    """Make a folder that was not there before: several runs may start in the same second."""
    folder, number = stem, 1
    with _writing(stem):
        while True:
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                number += 1
                folder = stem.with_name(f"{stem.name}-{number}")


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
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataError(f"{path}: this is not the folder of a run: {problem}") from None
    return settings, load_model(path / MODEL, task.build(np.random.default_rng(0)))
