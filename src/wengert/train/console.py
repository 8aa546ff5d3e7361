"""How a run shows on the console: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from wengert.train.loop import EpochResult, Progress
from wengert.train.tasks import Task

_SECONDS_BETWEEN_LINES = 5.0


def duration(seconds: float) -> str:
    """Write a time such as ``1:05``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def score_text(task: Task, score: float) -> str:
    """Write a score as the task counts it."""
    return f"{score:.2%}" if task.score == "accuracy" else f"{score:.4f}"


def progress_text(task: Task, progress: Progress) -> str:
    """Write where a run is, in one line."""
    return (
        f"epoch {progress.epoch}/{progress.epochs}  step {progress.step}/{progress.steps}  "
        f"loss {progress.loss:.4f}  {task.score} {score_text(task, progress.score)}  "
        f"{progress.rate:,.0f} examples/s  {duration(progress.remaining)} left"
    )


class Console:
    """Reports a run with rich: a live line where the output is a terminal, now and then a plain line elsewhere."""

    def __init__(self, task: Task, folder: Any) -> None:
        from rich.console import Console as RichConsole
        from rich.live import Live

        self.task, self.folder = task, folder
        self.out = RichConsole(highlight=False)
        self._live = (
            Live(console=self.out, refresh_per_second=8, transient=True) if self.out.is_terminal else None
        )
        self._last = time.perf_counter()

    def __enter__(self) -> Console:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def on_step(self, progress: Progress) -> None:
        """Show where the run is."""
        now = time.perf_counter()
        if self._live is not None:
            if now - self._last >= 0.1:
                self._live.update(progress_text(self.task, progress))
                self._last = now
        elif now - self._last >= _SECONDS_BETWEEN_LINES:
            self.say(progress_text(self.task, progress))
            self._last = now

    def on_epoch(self, result: EpochResult) -> None:
        """Show and keep an epoch's results."""
        self.folder.add_metrics(result)
        self.say(
            f"epoch {result.epoch}: loss {result.train_loss:.4f}, test loss {result.test_loss:.4f}, "
            f"test {self.task.score} {score_text(self.task, result.test_score)}, {result.seconds:.1f} s"
        )

    def say(self, text: str) -> None:
        """Print a line."""
        self.out.print(text, markup=False, soft_wrap=True)

    def table(self, history: Sequence[EpochResult]) -> None:
        """Print the results of all epochs as a table."""
        from rich.table import Table

        table = Table("epoch", title=self.task.title)
        for name in (
            "training loss",
            f"training {self.task.score}",
            "test loss",
            f"test {self.task.score}",
            "seconds",
            "examples/s",
        ):
            table.add_column(name, justify="right")
        for result in history:
            table.add_row(
                str(result.epoch),
                f"{result.train_loss:.4f}",
                score_text(self.task, result.train_score),
                f"{result.test_loss:.4f}",
                score_text(self.task, result.test_score),
                f"{result.seconds:.1f}",
                f"{result.examples_per_second:,.0f}",
            )
        self.out.print(table)
