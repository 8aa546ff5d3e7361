"""How a run shows on the console: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import time
from collections.abc import Generator, Sequence

from wengert.train.loop import EpochResult, Progress
from wengert.train.tasks import Task

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_UPDATES = 0.1
_JIT = logging.getLogger("wengert.jit")


def duration(seconds: float) -> str:
    """Write a time such as ``1:05``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(number: int, noun: str) -> str:
    """Write how many there are of something.

    Example:
        >>> counted(1, "epoch"), counted(2, "epoch"), counted(60_000, "step")
        ('1 epoch', '2 epochs', '60,000 steps')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def progress_text(task: Task, progress: Progress) -> str:
    """Write where a run is, in one line."""
    parts = [
        f"epoch {progress.epoch}/{progress.epochs}",
        f"{progress.step}/{progress.steps}",
        f"loss {progress.loss:.4f}",
        f"accuracy {progress.score:.2%}" if task.classifies else "",
    ]
    if math.isfinite(progress.remaining):
        parts += [f"{progress.rate:,.0f} examples/s", f"{duration(progress.remaining)} left"]
    return "  ".join(filter(None, parts))


class _Notes(logging.Handler):
    """Says on a console what the compiler has to tell: that it takes long, or has much to do."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.say("note", record.getMessage())


class Console:
    """Shows a run with rich: a live line where the output is a terminal, now and then a plain line elsewhere.

    Where the output cannot be written to any more (its reader has gone, or the disk is full), it is ``closed``.
    """

    def __init__(self, task: Task) -> None:
        from rich.console import Console as RichConsole
        from rich.live import Live

        self.task, self.closed = task, False
        self.out = RichConsole(highlight=False)
        terminal = self.out.file.isatty() and not self.out.is_dumb_terminal
        self._live = Live(console=self.out, auto_refresh=False, transient=True) if terminal else None
        self._last = 0.0
        self._notes = _Notes(self)

    def __enter__(self) -> Console:
        if not _JIT.handlers:  # nobody else has asked for it
            _JIT.addHandler(self._notes)
        self._last = time.perf_counter()
        if self._live is not None:
            with self._writing():
                self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        _JIT.removeHandler(self._notes)
        if self._live is not None:
            with self._writing():
                self._live.stop()

    def say(self, label: str, text: str) -> None:
        """Print a line."""
        with self._writing():
            self.out.print(f"{label:<9} {text}", markup=False, soft_wrap=True)

    def step(self, progress: Progress) -> None:
        """Show where the run is, not too often."""
        pause = _SECONDS_BETWEEN_LINES if self._live is None else _SECONDS_BETWEEN_UPDATES
        if (now := time.perf_counter()) - self._last < pause:
            return
        self._last = now
        text = progress_text(self.task, progress)
        with self._writing():
            if self._live is None:
                self.out.print(text, markup=False, soft_wrap=True)
            else:
                from rich.text import Text

                self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def epoch(self, result: EpochResult) -> None:
        """Print an epoch's results."""
        score = f", test accuracy {result.test_score:.2%}" if self.task.classifies else ""
        losses = f"loss {result.train_loss:.4f}, test loss {result.test_loss:.4f}"
        self.say(f"epoch {result.epoch}", f"{losses}{score}, {result.seconds:.1f} s")

    def table(self, history: Sequence[EpochResult]) -> None:
        """Print the results of all epochs as a table."""
        from rich.table import Table

        table = Table("\nepoch", title=self.task.title)
        classifies = self.task.classifies
        scores = ("training\naccuracy", "test\naccuracy") if classifies else ()
        for name in ("training\nloss", "test\nloss", *scores, "\nseconds", "\nexamples/s"):
            table.add_column(name, justify="right")
        for result in history:
            accuracies = (f"{result.train_score:.2%}", f"{result.test_score:.2%}") if classifies else ()
            table.add_row(
                str(result.epoch),
                f"{result.train_loss:.4f}",
                f"{result.test_loss:.4f}",
                *accuracies,
                f"{result.seconds:.1f}",
                f"{result.examples_per_second:,.0f}",
            )
        self.out.width = max(self.out.width, 80)  # better wrapped by a narrow terminal than cut
        with self._writing():
            self.out.print(table, crop=False)

    @contextlib.contextmanager
    def _writing(self) -> Generator[None, None, None]:
        try:
            yield
        except (OSError, SystemExit):  # rich leaves the program where the reader of a pipe has gone
            self.closed = self.out.quiet = True
            # What is still waiting to be written goes nowhere.
            with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
