"""The log of a run: a file of JSON lines."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wengert.data import DataError
from wengert.train.loop import Progress
from wengert.train.state import EpochResult
from wengert.train.storage import parsed, write_file, writing

_LARGEST = 2.0**53
"""The bound of counts, times and rates: below it, every integer is a float."""
_FIELDS = {"epoch": EpochResult._fields, "step": ("epoch", "step", "loss", "score")}
"""The fields of a line, by its kind."""


def step_lines(progress: Progress, every: int) -> Iterator[dict[str, Any]]:
    """Yield a line for each reported step whose number in the epoch is a multiple of ``every``.

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
    """Return whether a line is that of an epoch; earlier versions wrote only those, without a kind."""
    return line.get("kind", "epoch") == "epoch"


def without_kind(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line without its kind."""
    return {name: value for name, value in line.items() if name != "kind"}


def _checked(content: bytes) -> dict[str, Any]:
    line = parsed(content)
    kind: Any = line.get("kind", "epoch")
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        raise ValueError(f"kind must be epoch or step; got {kind!r}")
    for name in fields:
        _check_number(name, line.get(name))
    return {"kind": kind} | {name: line[name] for name in fields}


def _check_number(name: str, value: Any) -> None:
    is_number = type(value) is float or (type(value) is int and abs(value) < _LARGEST)
    if name in ("epoch", "step"):
        holds, requirement = type(value) is int and 1 <= value < _LARGEST, "an integer of at least 1"
    elif name in ("seconds", "examples_per_second"):
        holds, requirement = is_number and 0 <= value < _LARGEST, "a number of at least 0"
    else:  # losses and scores of a run that diverged may be NaN or infinite
        holds, requirement = is_number, "a number"
    if not holds:
        raise ValueError(f"{name} must be {requirement}; got {value!r:.40}")


class Examined(NamedTuple):
    """The content of a file of lines."""

    lines: list[dict[str, Any]]
    problems: list[str]
    """One for each damaged line."""
    is_last: bool
    """Whether only the last line is damaged."""


class JsonLines:
    """A file with one JSON object per line, written without buffering."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *lines: dict[str, Any]) -> None:
        """Append lines; if the disk is full, none of them."""
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
        """Return the lines without a damaged last line, which a killed process may leave."""
        lines, problems, is_last = self.examined()
        if problems and not is_last:
            raise DataError(f"{problems[0]}; remove the line to continue without it")
        return lines

    def examined(self) -> Examined:
        """Return the undamaged lines, and the problems with the others."""
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
        """Restore the file as it was after a step of an epoch; return the problems with damaged lines, now left out."""
        lines, problems, _ = self.examined()
        steps = [line for line in lines if not is_epoch(line)]
        before = [line for line in steps if (line["epoch"], line["step"]) <= (epoch, step)]
        lines = [*before, *map(epoch_line, history)]
        lines.sort(key=lambda line: (line["epoch"], line.get("step", float("inf"))))
        write_file(self.path, "".join(json.dumps(line) + "\n" for line in lines).encode())
        return problems
