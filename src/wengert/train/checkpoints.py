"""Checkpoints: the state of a run on the disk, from which it goes on as if nothing had happened.

A checkpoint is a pair of files. ``step-00001200.safetensors`` holds the arrays; ``step-00001200.json`` the rest, with a
checksum of the arrays' file and one of itself. So a pair is recognised of which one file is missing, old or damaged.
After the last step of an epoch and before its test they are called ``step-00001200-untested``: where the best model is
kept, the arrays after the test are others, and a process that is killed must not leave half of each pair.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from wengert._version import versions
from wengert.data import DataError
from wengert.train.files import parsed, remove_partial, write_files, writing
from wengert.train.settings import Settings
from wengert.train.state import EpochResult, Mean, State, best_epoch
from wengert.train.tasks import Task
from wengert.train.tensors import SUFFIX, decoded, encoded, restored

_UNTESTED = "-untested"
_ALWAYS = 2
"""The newest ones stay whatever is kept: should the last be damaged, there is the one before it."""


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: where they are; it is made when the first is saved.
        task: what is trained.
        settings: of the run.
        steps: of an epoch.
        data: a checksum of the images and labels.
    """

    def __init__(self, folder: Path, task: Task, settings: Settings, steps: int, data: int) -> None:
        self.folder, self.task, self.settings, self.steps, self.data = folder, task, settings, steps, data

    def save(self, state: State) -> Path:
        """Save a state, remove the checkpoints that are not kept, and return the file that describes it.

        Raises:
            RunError: it cannot be written; the earlier ones stay.
        """
        with writing(self.folder):
            self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{self._name(state)}.json"
        arrays = encoded(**_trees(state))
        described: dict[str, Any] = {
            "epoch": state.epoch,
            "step": state.step,
            "loss": state.loss,
            "score": state.score,
            "seconds": state.seconds,
            "first_loss": state.first_loss,
            "random": state.random,
            "history": [result._asdict() for result in state.history],
            "settings": self.settings._asdict(),
            "data": self.data,
            "versions": versions(),
            "arrays": {"bytes": len(arrays), "sha256": hashlib.sha256(arrays).hexdigest()},
        }
        described["checksum"] = _checksum(described)
        text = json.dumps(described, indent=1) + "\n"
        write_files({path.with_suffix(SUFFIX): arrays, path: text.encode()})
        self._remove_old(state)
        return path

    def _name(self, state: State) -> str:
        """Return the name of a checkpoint: no two states of a run have the same."""
        number = (state.epoch - 1) * self.steps + state.step
        return f"step-{number:08}{_UNTESTED if state.step == self.steps else ''}"

    def _epoch(self, path: Path) -> int | None:
        """Return the epoch after whose test a checkpoint was saved; None of one inside an epoch."""
        number, tested = _place(path)
        return number // self.steps if tested and number % self.steps == 0 else None

    def found(self) -> list[Path]:
        """Return the files that describe checkpoints, the newest first."""
        return checkpoints_in(self.folder)

    def _remove_old(self, state: State) -> None:
        found = self.found()
        kept = set(found[:_ALWAYS])
        whole = [path for path in found if self._epoch(path) is not None]
        if isinstance(self.settings.keep, int):
            kept.update(whole[: self.settings.keep])
        elif self.settings.keep == "best":
            best = best_epoch(state.history, self.task.classifies)
            kept.update(path for path in whole if self._epoch(path) == best)
        remove_partial(self.folder)
        for path in self.folder.glob("step-*"):
            if path.with_suffix(".json") not in kept:
                with contextlib.suppress(OSError):  # it takes up room, and does no harm
                    path.unlink()

    def newest(self, start: State) -> tuple[State | None, list[str]]:
        """Return the newest state that is whole, None where none was saved; and what is wrong with those after it.

        The damaged ones are renamed: they are not to be taken for newer than what the run saves next.

        Args:
            start: the state in which the run began, for the structure of its model.

        Raises:
            DataError: the run learned other images than those of now, or none of its checkpoints is whole.
        """
        problems: list[str] = []
        damaged: list[Path] = []
        for path in self.found():
            try:
                described = self._described(path)
                state = _read(path, described, start)
            except (DataError, OSError) as problem:
                problems.append(str(problem))
                damaged.append(path)
                continue
            if described["data"] != self.data:
                raise DataError(
                    f"{path}: the run learned other images than those of {self.settings.data} now"
                )
            for path in damaged:
                _set_aside(path)
            return state, problems
        if problems:
            raise DataError(f"{problems[0]}; no other checkpoint is whole")
        return None, problems

    def _described(self, path: Path) -> dict[str, Any]:
        try:
            described = parsed(path.read_bytes())
            sound = described.pop("checksum") == _checksum(described)
        except (ValueError, KeyError) as problem:
            raise DataError(f"{path}: the checkpoint is damaged: {problem}") from None
        if not sound:
            raise DataError(f"{path}: the checkpoint is damaged: it does not have its checksum")
        return described


def checkpoints_in(folder: Path) -> list[Path]:
    """Return the files that describe the checkpoints in a folder, the newest first."""
    return sorted(folder.glob("step-*.json"), key=_place, reverse=True)


def _set_aside(path: Path) -> None:
    for file in (path, path.with_suffix(SUFFIX)):
        with writing(file), contextlib.suppress(FileNotFoundError):
            file.replace(file.with_name(f"damaged-{file.name}"))


def _place(path: Path) -> tuple[int, bool]:
    """Return the number of the step after which a checkpoint was saved, and whether the epoch's test was over, too."""
    digits = path.stem.removeprefix("step-").removesuffix(_UNTESTED)
    return int(digits) if digits.isdigit() else -1, not path.stem.endswith(_UNTESTED)


def _checksum(described: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _trees(state: State) -> dict[str, Any]:
    """Return the parts of a state that consist of arrays."""
    return {
        "model": state.model,
        "optimiser": state.optimiser,
        "best": state.best,
        "memory": state.memory,
    }


def _read(path: Path, described: dict[str, Any], start: State) -> State:
    """Return the state that a sound description and its arrays make."""
    file = path.with_suffix(SUFFIX)
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != described["arrays"]["sha256"]:
        raise DataError(f"{file}: the checkpoint is damaged: its arrays do not have their checksum")
    model, optimiser, best, memory = restored(decoded(content, str(file)), str(file), **_trees(start))
    return State(
        model,
        optimiser,
        described["random"],
        described["epoch"],
        described["step"],
        Mean(*described["loss"]),
        Mean(*described["score"]),
        described["seconds"],
        described["first_loss"],
        tuple(EpochResult(**result) for result in described["history"]),
        best,
        memory,
    )
