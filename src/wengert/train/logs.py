"""What a run logs as it goes: JSON lines always, event files for TensorBoard where they are asked for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wengert.core.errors import MissingExtraError
from wengert.data import DataError
from wengert.train.files import parsed, write_file, writing
from wengert.train.loop import Progress
from wengert.train.state import EpochResult


def step_lines(progress: Progress, every: int) -> Iterator[dict[str, Any]]:
    """Return a line for each of the steps reported whose number in the epoch is a multiple of ``every``.

    Example:
        >>> now = Progress(1, 5, 4, 600, 0.5, 0.9, 1.0, 1.0, losses=[0.4, 0.3], scores=[0.8, 0.7])
        >>> list(step_lines(now, 2))
        [{'kind': 'step', 'epoch': 1, 'step': 4, 'loss': 0.3, 'score': 0.7}]
    """
    first = progress.step - len(progress.losses) + 1
    for step in range(first + (-first) % every, progress.step + 1, every) if every else ():
        loss, score = float(progress.losses[step - first]), float(progress.scores[step - first])
        yield {"kind": "step", "epoch": progress.epoch, "step": step, "loss": loss, "score": score}


def epoch_line(result: EpochResult) -> dict[str, Any]:
    """Return the line of an epoch."""
    return {"kind": "epoch"} | result._asdict()


def is_epoch(line: dict[str, Any]) -> bool:
    """Tell whether a line is that of an epoch; runs of earlier versions have no others, and do not say so."""
    return line.get("kind", "epoch") == "epoch"


def without_kind(line: dict[str, Any]) -> dict[str, Any]:
    """Return what a line says, but for whether it is about a step or an epoch."""
    return {name: value for name, value in line.items() if name != "kind"}


_LARGEST = 2.0**53
"""Counts, times and rates are below it: up to there, every whole number is a float."""
_COUNTS = ("epoch", "step")
_FIELDS = {"epoch": EpochResult._fields, "step": ("epoch", "step", "loss", "score")}
"""What a line says, by its kind. The losses and scores of a run that went wrong need not be finite."""


def _checked(content: bytes) -> dict[str, Any]:
    """Return what a line says.

    Raises:
        ValueError: it is damaged.
    """
    line = parsed(content)
    kind: Any = line.get("kind", "epoch")
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        raise ValueError(f"kind must be epoch or step; got {kind!r}")
    for name in fields:
        _check_number(name, line.get(name))
    return {"kind": kind} | {name: line[name] for name in fields}


def _check_number(name: str, value: Any) -> None:
    if name in _COUNTS:
        holds, requirement = type(value) is int and 1 <= value < _LARGEST, "a whole number from 1 on"
    elif name in ("seconds", "examples_per_second"):
        holds, requirement = _is_number(value) and 0 <= value < _LARGEST, "a number from 0 on"
    else:
        holds, requirement = _is_number(value), "a number"
    if not holds:
        raise ValueError(f"{name} must be {requirement}; got {value!r:.40}")


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < _LARGEST)


class Examined(NamedTuple):
    """What a file of lines holds."""

    lines: list[dict[str, Any]]
    problems: list[str]
    """What is wrong with the damaged ones."""
    is_last: bool
    """Whether nothing but the last line is damaged."""


class JsonLines:
    """A file of one JSON object a line, written through at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *lines: dict[str, Any]) -> None:
        """Append lines; none of them is left half written if the disk is full.

        Raises:
            RunError: they cannot be written.
        """
        if not lines:
            return
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        with writing(self.path), open(self.path, "ab", buffering=0) as stream:
            before = stream.tell()
            try:
                if stream.write(text) != len(text):
                    raise OSError(28, "No space left on device")
            except OSError:
                with contextlib.suppress(OSError):
                    stream.truncate(before)
                raise

    def read(self) -> list[dict[str, Any]]:
        """Return the lines; a damaged last one, as a killed process leaves it, is left out.

        Raises:
            DataError: another line is damaged.
        """
        lines, problems, is_last = self.examined()
        if problems and not is_last:
            raise DataError(f"{problems[0]}; remove the line to go on without it")
        return lines

    def examined(self) -> Examined:
        """Return the lines that are whole, and what is wrong with the others."""
        lines: list[dict[str, Any]] = []
        problems: list[str] = []
        content = self.path.read_bytes() if self.path.exists() else b""
        damaged = last = 0
        for number, line in enumerate(content.split(b"\n"), 1):
            if not line.strip():
                continue
            last = number
            try:
                lines.append(_checked(line))
            except ValueError as problem:
                problems.append(f"{self.path}:{number}: the line is damaged: {problem}")
                damaged = number
        return Examined(lines, problems, len(problems) == 1 and damaged == last)

    def go_back(self, epoch: int, step: int, history: Sequence[EpochResult]) -> list[str]:
        """Make the file what it was after a step of an epoch: what came later will be done again.

        Returns:
            What is wrong with damaged lines, which are left out.

        Raises:
            RunError: the file cannot be written.
        """
        lines, problems, _ = self.examined()
        steps = [line for line in lines if not is_epoch(line)]
        before = [line for line in steps if (line["epoch"], line["step"]) <= (epoch, step)]
        lines = [*before, *map(epoch_line, history)]
        lines.sort(key=lambda line: (line["epoch"], line.get("step", float("inf"))))
        write_file(self.path, "".join(json.dumps(line) + "\n" for line in lines).encode())
        return problems


class TensorBoard:
    """Event files for TensorBoard, written by tensorboardX.

    Args:
        folder: where the files are.
        steps: of an epoch.
        begin: the number of the first step that will be told; later ones in earlier files do not count.

    Raises:
        MissingExtraError: tensorboardX is not installed.
    """

    def __init__(self, folder: Path, steps: int, begin: int) -> None:
        check_tensorboard()
        from tensorboardX import SummaryWriter

        self._steps = steps
        with writing(folder):
            self._writer: Any = SummaryWriter(str(folder), purge_step=begin or None)

    def add(self, *lines: dict[str, Any]) -> None:
        """Add the numbers of some lines of ``metrics.jsonl``."""
        for line in lines:
            epoch = line["kind"] == "epoch"
            number = self._steps * (line["epoch"] if epoch else line["epoch"] - 1) + line.get("step", 0)
            for name, value in line.items():
                if name not in ("kind", "epoch", "step"):
                    self._writer.add_scalar(f"{line['kind']}/{name}", value, number)

    def close(self) -> None:
        """Write what is waiting."""
        self._writer.close()


def check_tensorboard() -> None:
    """Raise `MissingExtraError` where tensorboardX is not installed."""
    try:
        import tensorboardX as _  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "--tensorboard needs tensorboardX: pip install 'wengert[tensorboard]'"
        ) from None
