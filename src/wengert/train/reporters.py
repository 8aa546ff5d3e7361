"""Reporters: they show a run on the console, log it, save its checkpoints, and end it after a signal."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Sequence
from types import FrameType
from typing import Any, cast

from wengert.engine.core.notebooks import is_notebook
from wengert.engine.core.progress import Bar, duration
from wengert.parallel import Group
from wengert.train.boards import Boards
from wengert.train.checkpoint_files import Checkpoints
from wengert.train.logs import epoch_line, step_lines
from wengert.train.loop import EpochResult, Progress
from wengert.train.profile import CHECKPOINTS, LOGGING, Stopwatch
from wengert.train.runs import RunFolder
from wengert.train.settings import Settings
from wengert.train.state import State
from wengert.train.storage import RunError
from wengert.train.tasks import Task

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_UPDATES = 0.1
_JIT = logging.getLogger("wengert.jit")
_USUAL_HANDLERS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


# -- text ------------------------------------------------------------------------------------------------


def counted(number: int, noun: str) -> str:
    """Format a number with its noun.

    Example:
        >>> counted(1, "epoch"), counted(2, "epoch"), counted(60_000, "step")
        ('1 epoch', '2 epochs', '60,000 steps')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def labelled(label: str, text: object) -> str:
    """Format a line of a command: what it is about, and the text.

    Example:
        >>> labelled("folder", "runs/cnn")
        'folder    runs/cnn'
    """
    return f"{label:<9} {text}"


def progress_text(task: Task, progress: Progress) -> str:
    """Format the progress of a run as one line."""
    parts = [
        f"epoch {progress.epoch}/{progress.epochs}",
        f"{progress.step}/{progress.steps}",
        f"loss {progress.loss:.4f}",
        f"accuracy {progress.score:.2%}" if task.classifies else "",
    ]
    if math.isfinite(progress.remaining):
        parts += [f"{progress.rate:,.0f} examples/s", f"{duration(progress.remaining)} left"]
    return "  ".join(filter(None, parts))


class EpochLines:
    """A reporter that shows the epochs if it is verbose: a line for each, or in a notebook one bar."""

    def __init__(self, epochs: int, verbose: bool, validated: bool) -> None:
        self.epochs, self.verbose, self.validated = epochs, verbose, validated
        self._bar = Bar("fit", epochs, wanted=verbose) if verbose and is_notebook() else None

    def __enter__(self) -> EpochLines:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, *details)

    def on_steps(self, progress: Progress, state: State) -> None:
        """Show nothing."""

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Show the numbers of an epoch."""
        if not self.verbose:
            return
        numbers = self.described(result)
        parts = [f"{name.replace('_', ' ')} {numbers[name]:.4f}" for name in numbers if name != "epoch"]
        if self._bar is not None:
            self._bar.show(result.epoch, ", ".join(parts[:-1]))  # the bar has the time
        else:
            print(f"epoch {result.epoch}/{self.epochs}  {'  '.join(parts)}")

    def described(self, result: EpochResult) -> dict[str, Any]:
        """Return the numbers of an epoch by name."""
        numbers: dict[str, Any] = {"epoch": result.epoch}
        numbers |= {"loss": result.train_loss, **_by_name(result.train_score)}
        if self.validated:
            tested = {"loss": result.test_loss, **_by_name(result.test_score)}
            numbers |= {f"validation_{name}": value for name, value in tested.items()}
        return numbers | {"seconds": result.seconds}


def _by_name(score: Any) -> dict[str, float]:
    return cast("dict[str, float]", score) if isinstance(score, dict) else {"accuracy": score}


# -- console ---------------------------------------------------------------------------------------------


class _CompilerNotes(logging.Handler):
    """Prints the compiler's warnings on a console, for example that compiling takes long."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.say("note", record.getMessage())


class Console:
    """Shows a run with rich: a live line on a terminal, a plain line every few seconds elsewhere.

    It is ``closed`` if the output cannot be written any more, because its reader has ended or the disk is full.
    """

    def __init__(self, task: Task) -> None:
        from rich.console import Console as RichConsole
        from rich.live import Live

        self.task, self.closed = task, False
        self.out = RichConsole(highlight=False)
        terminal = self.out.file.isatty() and not self.out.is_dumb_terminal
        self._live = Live(console=self.out, auto_refresh=False, transient=True) if terminal else None
        self._last = 0.0
        self._notes = _CompilerNotes(self)

    def __enter__(self) -> Console:
        if not _JIT.handlers:  # the user has not set up logging
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
            self.out.print(labelled(label, text), markup=False, soft_wrap=True)

    def step(self, progress: Progress) -> None:
        """Show the progress, but not too often."""
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
        self.out.width = max(self.out.width, 80)  # a narrow terminal wraps the table instead of cutting it
        with self._writing():
            self.out.print(table, crop=False)

    @contextlib.contextmanager
    def _writing(self) -> Generator[None, None, None]:
        try:
            yield
        except (OSError, SystemExit):  # rich exits if the reader of a pipe has ended
            self.closed = self.out.quiet = True
            # Discard the buffered output.
            with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as devnull:
                os.dup2(devnull.fileno(), sys.stdout.fileno())


# -- the run ---------------------------------------------------------------------------------------------


class Interrupts:
    """A context in which the first SIGINT or SIGTERM is only noted, so that the run can end between two steps.

    A second signal has its usual effect. A signal that the program handles or ignores already keeps that meaning.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        """The noted signal."""
        self._before: dict[signal.Signals, Any] = {}

    @property
    def noted(self) -> bool:
        """Whether the run must end."""
        return self.signal is not None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():  # only it may set handlers
            for number, usual in _USUAL_HANDLERS.items():
                if signal.getsignal(number) is usual:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)


class Follower:
    """The reporter of a process that writes nothing: it ends the run together with the others."""

    def __init__(self, interrupts: Interrupts, group: Group) -> None:
        self.interrupts, self.group = interrupts, group

    def on_steps(self, progress: Progress, state: State) -> None:
        """End the run after a signal to one of the processes."""
        if self.group.any(self.interrupts.noted):
            raise KeyboardInterrupt

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Do nothing."""


class RunReporter:
    """A reporter that shows, logs and saves a run, and ends it after a signal or when the console is closed.

    If a log or a checkpoint cannot be written, for example on a full disk, it warns once and the run continues.
    """

    def __init__(
        self,
        console: Console,
        folder: RunFolder,
        checkpoints: Checkpoints,
        interrupts: Interrupts,
        settings: Settings,
        stopwatch: Stopwatch,
        boards: Boards,
        group: Group | None = None,
    ) -> None:
        self.group = group or Group()
        self.console, self.folder, self.checkpoints = console, folder, checkpoints
        self.interrupts, self.settings, self.stopwatch, self.boards = interrupts, settings, stopwatch, boards
        self.problem: RunError | None = None
        """The first failure to write."""
        self._saved_at = time.monotonic()

    def on_steps(self, progress: Progress, state: State) -> None:
        """Show and log some steps, and save a checkpoint if it is time."""
        with self.stopwatch.measuring(LOGGING):
            self.console.step(progress)
            self._log(*step_lines(progress, self.settings.log_every))
        if time.monotonic() - self._saved_at >= self.settings.save_every:
            self.save(state)
        if self.group.any(self.interrupts.noted or self.console.closed):
            raise KeyboardInterrupt

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Show, log and save an epoch."""
        with self.stopwatch.measuring(LOGGING):
            self._log(epoch_line(result))
            self.console.epoch(result)
        self.save(state)

    def save(self, state: State) -> None:
        """Save a checkpoint now."""
        with self.stopwatch.measuring(CHECKPOINTS):
            try:
                self.checkpoints.save(state)
            except RunError as problem:
                self._warn(problem)
            self._saved_at = time.monotonic()

    def _log(self, *lines: dict[str, float]) -> None:
        try:
            self.folder.metrics.add(*lines)
        except RunError as problem:
            self._warn(problem)
        self.boards.add(*lines)

    def _warn(self, problem: RunError) -> None:
        if self.problem is None:
            self.problem = problem
            self.console.say("warning", f"{problem}; the run continues without it")
