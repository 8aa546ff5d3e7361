"""Checkpoints on disk: everything from which a run continues as if it had never stopped.

A checkpoint is a pair of files: ``step-00001200.safetensors`` holds the arrays, ``step-00001200.json`` the rest with a
checksum of each file. The checksums reveal a pair in which one file is missing, old or damaged. Between the last step
of an epoch and its test, the name is ``step-00001200-untested``: the test may change the best model, and a process that
is killed in between must not leave half of each pair.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from wengert._version import versions
from wengert.data import DataError
from wengert.train.settings import Settings
from wengert.train.state import EpochResult, Mean, State, best_epoch
from wengert.train.storage import (
    SUFFIX,
    decoded,
    encoded,
    parsed,
    remove_partial,
    restored,
    write_files,
    writing,
)
from wengert.train.tasks import Task

_UNTESTED = "-untested"
_ALWAYS = 2
"""The newest checkpoints, which always stay: if the last is damaged, the run continues from the one before."""
_PLAIN = ("epoch", "step", "loss", "score", "seconds", "first_loss", "random")
"""The fields of a state that are saved as JSON, apart from the history."""


class Checkpoints:
    """The checkpoints of one run, in a folder that the first `save` makes.

    ``steps`` are those of an epoch; ``data`` is a checksum of the images and labels; ``parts`` says by name what else
    decides the numbers, as values or digests.
    """

    def __init__(
        self, folder: Path, task: Task, settings: Settings, steps: int, data: int, **parts: Any
    ) -> None:
        self.folder, self.task, self.settings, self.steps, self.data = folder, task, settings, steps, data
        self.parts = parts

    def save(self, state: State) -> Path:
        """Save a state, remove the checkpoints that need not stay, and return the JSON file.

        A failure leaves the earlier checkpoints.
        """
        with writing(self.folder):
            self.folder.mkdir(exist_ok=True)
        number = (state.epoch - 1) * self.steps + state.step
        name = (
            f"step-{number:08}{_UNTESTED if state.step == self.steps else ''}"  # no two states share a name
        )
        arrays = encoded(**_trees(state))
        content: dict[str, Any] = {field: getattr(state, field) for field in _PLAIN} | {
            "history": [result._asdict() for result in state.history],
            "settings": self.settings._asdict(),
            "data": self.data,
            "parts": self.parts,
            "versions": versions(),
            "arrays": {"bytes": len(arrays), "sha256": hashlib.sha256(arrays).hexdigest()},
        }
        content["checksum"] = _checksum(content)
        text = json.dumps(content, indent=1) + "\n"
        path = self.folder / f"{name}.json"
        write_files({path.with_suffix(SUFFIX): arrays, path: text.encode()})
        self._remove_old(state)
        return path

    def _epoch(self, path: Path) -> int | None:
        """Return the epoch that a checkpoint ends, or None for a checkpoint within an epoch."""
        number, tested = _position(path)
        return number // self.steps if tested and number % self.steps == 0 else None

    def _remove_old(self, state: State) -> None:
        files = checkpoints_in(self.folder)
        retained = set(files[:_ALWAYS])
        epoch_ends = [path for path in files if self._epoch(path) is not None]
        if isinstance(self.settings.keep, int):
            retained.update(epoch_ends[: self.settings.keep])
        elif self.settings.keep == "best":
            best = best_epoch(state.history, self.task.classifies)
            retained.update(path for path in epoch_ends if self._epoch(path) == best)
        remove_partial(self.folder)
        for path in self.folder.glob("step-*"):
            if path.with_suffix(".json") not in retained:
                with contextlib.suppress(OSError):  # an old checkpoint does no harm
                    path.unlink()

    def content(self) -> dict[str, Any]:
        """Return what the newest readable checkpoint says apart from its arrays; nothing if there is none."""
        for path in checkpoints_in(self.folder):
            with contextlib.suppress(DataError, OSError):
                return _content(path)
        return {}

    def newest(self, start: State) -> tuple[State | None, list[str]]:
        """Return the newest state that is not damaged, or None without checkpoints, and the problems.

        Damaged newer checkpoints are renamed, so that they do not look newer than the next ones. `DataError` if the run
        learned other images, or all of its checkpoints are damaged.
        """
        problems: list[str] = []
        damaged: list[Path] = []
        for path in checkpoints_in(self.folder):
            try:
                content = _content(path)
                state = _read_state(path, content, start)
            except (DataError, OSError) as problem:
                problems.append(str(problem))
                damaged.append(path)
                continue
            if content["data"] != self.data:
                raise DataError(f"{path}: the run learned other data than the present {self.settings.data}")
            for path in damaged:
                _set_aside(path)
            return state, problems
        if problems:
            raise DataError(f"{problems[0]}; no undamaged checkpoint is left")
        return None, problems


def checkpoints_in(folder: Path) -> list[Path]:
    """Return the JSON files of the checkpoints in a folder, the newest first."""
    return sorted(folder.glob("step-*.json"), key=_position, reverse=True)


def _set_aside(path: Path) -> None:
    for file in (path, path.with_suffix(SUFFIX)):
        with writing(file), contextlib.suppress(FileNotFoundError):
            file.replace(file.with_name(f"damaged-{file.name}"))


def _position(path: Path) -> tuple[int, bool]:
    """Return the number of steps before a checkpoint, and whether the epoch's test is included."""
    digits = path.stem.removeprefix("step-").removesuffix(_UNTESTED)
    return int(digits) if digits.isdigit() else -1, not path.stem.endswith(_UNTESTED)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> dict[str, Any]:
    try:
        content = parsed(path.read_bytes())
        if content.pop("checksum") != _checksum(content):
            raise ValueError("it does not have its checksum")
    except (ValueError, KeyError) as problem:
        raise DataError(f"{path}: the checkpoint is damaged: {problem}") from None
    return content


def _trees(state: State) -> dict[str, Any]:
    return {
        "model": state.model,
        "optimiser": state.optimiser,
        "best": state.best,
        "memory": state.layer_state,
    }


def _read_state(path: Path, content: dict[str, Any], start: State) -> State:
    file = path.with_suffix(SUFFIX)
    arrays = file.read_bytes()
    if hashlib.sha256(arrays).hexdigest() != content["arrays"]["sha256"]:
        raise DataError(f"{file}: the checkpoint is damaged: its arrays do not have their checksum")
    model, optimiser, best, layer_state = restored(decoded(arrays, str(file)), str(file), **_trees(start))
    fields: dict[str, Any] = {field: content[field] for field in _PLAIN} | {
        "loss": Mean(*content["loss"]),
        "score": Mean(*content["score"]),
        "history": tuple(EpochResult(**result) for result in content["history"]),
    }
    return State(model, optimiser, best=best, layer_state=layer_state, **fields)
