"""Keeps a run as it goes: logs, checkpoints, the console; and ends it when it is asked to."""

from __future__ import annotations

import time
from pathlib import Path

from wengert.train.checkpoints import Checkpoints
from wengert.train.console import Console
from wengert.train.files import RunError
from wengert.train.folder import RunFolder
from wengert.train.interrupts import Interrupts
from wengert.train.logs import TensorBoard, epoch_line, step_lines
from wengert.train.loop import Progress
from wengert.train.profile import CHECKPOINTS, LOGGING, Stopwatch
from wengert.train.settings import Settings
from wengert.train.state import EpochResult, State


class Keeper:
    """A reporter that shows and keeps how a run goes, and ends it after a signal or when nobody listens any more.

    What cannot be written (the disk is full, say) is said once and does not end the run: it would be all that is lost.
    """

    def __init__(
        self,
        console: Console,
        folder: RunFolder,
        checkpoints: Checkpoints,
        interrupts: Interrupts,
        settings: Settings,
        stopwatch: Stopwatch,
        board: TensorBoard | None,
    ) -> None:
        self.console, self.folder, self.checkpoints, self.interrupts = (
            console,
            folder,
            checkpoints,
            interrupts,
        )
        self.settings, self.stopwatch, self.board = settings, stopwatch, board
        self.problem: RunError | None = None
        """The first thing that could not be written."""
        self.saved: Path | None = None
        """The newest checkpoint."""
        self._saved_at = time.monotonic()

    def on_steps(self, progress: Progress, state: State) -> None:
        """Show and log some steps, and save a checkpoint if it is time."""
        with self.stopwatch.measuring(LOGGING):
            self.console.step(progress)
            self._log(*step_lines(progress, self.settings.log_every))
        if time.monotonic() - self._saved_at >= self.settings.save_every:
            self.save(state)
        if self.interrupts.noted or self.console.closed:
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
                self.saved = self.checkpoints.save(state)
            except RunError as problem:
                self._complain(problem)
            self._saved_at = time.monotonic()

    def _log(self, *lines: dict[str, float]) -> None:
        try:
            self.folder.metrics.add(*lines)
        except RunError as problem:
            self._complain(problem)
        if self.board is not None:
            self.board.add(*lines)

    def _complain(self, problem: RunError) -> None:
        if self.problem is None:
            self.problem = problem
            self.console.say("warning", f"{problem}; the run goes on without")
