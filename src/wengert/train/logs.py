"""What a run logs as it goes: JSON lines always, event files for TensorBoard where they are asked for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from wengert.errors import MissingExtraError
from wengert.train.files import write_file, writing
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
        """Return the lines; one that a killed process did not finish is left out."""
        found: list[dict[str, Any]] = []
        text = self.path.read_text("utf-8", errors="replace") if self.path.exists() else ""
        for line in text.splitlines():
            with contextlib.suppress(ValueError):
                said = json.loads(line)
                if isinstance(said, dict):
                    found.append(cast("dict[str, Any]", said))
        return found

    def go_back(self, epoch: int, step: int, history: Sequence[EpochResult]) -> None:
        """Make the file what it was after a step of an epoch: what came later will be done again.

        Raises:
            RunError: the file cannot be written.
        """
        steps = [line for line in self.read() if not is_epoch(line)]
        before = [line for line in steps if (line["epoch"], line["step"]) <= (epoch, step)]
        lines = [*before, *map(epoch_line, history)]
        lines.sort(key=lambda line: (line["epoch"], line.get("step", float("inf"))))
        write_file(self.path, "".join(json.dumps(line) + "\n" for line in lines).encode())


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
