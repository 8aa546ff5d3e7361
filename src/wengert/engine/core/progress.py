"""The progress of long operations: a bar in a terminal or below a notebook's cell, and nothing where nobody watches."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from wengert.engine.core import notebooks
from wengert.engine.core.helper_threads import start
from wengert.engine.core.named_tuples import NamedTuple

DELAY = 1.0
"""Seconds before a bar appears: short work shows nothing."""
_PAUSE = 0.2
"""Seconds between two changes of a bar."""
_STYLE = "width:20em;max-width:40%;vertical-align:middle;margin-right:0.6em"
_shown = threading.Lock()
"""Held by the bar that is shown: work inside other work shows none of its own."""


def duration(seconds: float) -> str:
    """Format a time such as ``1:05``.

    Example:
        >>> duration(65.2), duration(3600)
        ('1:05', '1:00:00')
    """
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"


def is_watched() -> bool:
    """Return whether somebody sees a bar: in a notebook, or where standard error is a terminal."""
    return notebooks.is_notebook() or (bool(sys.stderr) and sys.stderr.isatty())


def counts(done: float, total: float | None) -> str:
    """Write a number of finished parts."""
    return f"{done:,.0f}" if total is None else f"{done:,.0f} of {total:,.0f}"


def megabytes(done: float, total: float | None) -> str:
    """Write a number of bytes.

    Example:
        >>> megabytes(2_500_000, 10_000_000), megabytes(2_500_000, None)
        ('2.5 of 10.0 MB', '2.5 MB')
    """
    return f"{done / 1e6:.1f} MB" if total is None else f"{done / 1e6:.1f} of {total / 1e6:.1f} MB"


class State(NamedTuple):
    """The progress of an operation."""

    label: str
    """The work's name."""
    done: float
    total: float | None
    """None: the operation has stages, and no count."""
    note: str
    """The stage, or the latest result."""
    seconds: float
    write: Callable[[float, float | None], str]
    """Writes what is done, and the total."""

    def text(self) -> str:
        """Return the state as one line, without the label.

        Example:
            >>> State("map", 25, 100, "", 10.0, counts).text()
            '25 of 100 (25%), 0:30 left'
            >>> State("export", 0, None, "compile", 10.0, counts).text()
            'compile, 0:10'
        """
        parts = [self.note]
        if self.total:
            share = min(self.done / self.total, 1.0)
            left = [f"{duration(self.seconds * (1 / share - 1))} left"] if share else []
            parts = [f"{self.write(self.done, self.total)} ({share:.0%})", self.note, *left]
        elif self.done:
            parts = [self.write(self.done, None), self.note, duration(self.seconds)]
        else:
            parts = [self.note, duration(self.seconds)]
        return ", ".join(filter(None, parts))

    def last_text(self, failed: bool = False) -> str:
        """Return the line that stays.

        Example:
            >>> State("map", 100, 100, "loss 0.1", 10.0, counts).last_text()
            '100 in 0:10, loss 0.1'
            >>> State("map", 40, 100, "", 10.0, counts).last_text(failed=True)
            'stopped at 40 of 100 after 0:10'
        """
        took = duration(self.seconds)
        if failed:
            place = f" at {self.write(self.done, self.total)}" if self.done else ""
            return f"stopped{place} after {took}"
        if not self.done:
            return f"done in {took}"
        return ", ".join(filter(None, [f"{self.write(self.done, None)} in {took}", self.note]))


class _Display(Protocol):
    """Shows the states of a bar."""

    def draw(self, state: State) -> None: ...

    def close(self, state: State, failed: bool) -> None: ...


class _Terminal:
    """A bar of rich, on standard error."""

    def __init__(self, stays: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[text]}", markup=False),
        )
        self._bars = Progress(
            *columns,
            console=Console(stderr=True, force_jupyter=False),
            transient=not stays,
            auto_refresh=False,
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
        )
        self._task: Any = None

    def draw(self, state: State) -> None:
        """Show a state."""
        if self._task is None:
            self._bars.start()
            self._task = self._bars.add_task(state.label, total=state.total, text="")
        self._bars.update(self._task, completed=state.done, text=state.text(), refresh=True)

    def close(self, state: State, failed: bool) -> None:
        """Show the last state, or remove the bar."""
        if state.total is None:
            self._bars.update(self._task, total=1, completed=1)
        self._bars.update(self._task, text=state.last_text(failed))
        self._bars.stop()


class _Line:
    """A line on standard error that each state overwrites, where rich is not installed."""

    def __init__(self, stays: bool) -> None:
        self._stays = stays

    def draw(self, state: State) -> None:
        """Show a state."""
        self._write(f"{state.label}: {state.text()}")

    def close(self, state: State, failed: bool) -> None:
        """Show the last state, or remove the line."""
        self._write(f"{state.label}: {state.last_text(failed)}\n" if self._stays else "")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _on_terminal(stays: bool) -> _Display:
    try:
        return _Terminal(stays)
    except ImportError:
        return _Line(stays)


class _Notebook:
    """A bar below the running cell, in HTML; one line stays."""

    def __init__(self) -> None:
        self._output = notebooks.Output()

    def draw(self, state: State) -> None:
        """Show a state."""
        label = html.escape(state.label, quote=True)
        place = f'value="{state.done:g}" max="{state.total:g}"' if state.total else ""
        bar = f'<progress {place} aria-label="{label}" style="{_STYLE}"></progress>'
        line = f"{state.label}: {state.text()}"
        self._output.show(line, f"<div>{bar}{html.escape(line)}</div>")

    def close(self, state: State, failed: bool) -> None:
        """Leave one line."""
        line = f"{state.label}: {state.last_text(failed)}"
        self._output.show(line, f"<div>{html.escape(line)}</div>")


class Bar:
    """A bar that appears if the work takes longer than a second, and is drawn a few times a second.

    Only one is shown at a time: that of the outermost work. Without a total the work has stages, which a thread shows,
    because a stage may take long.

    Args:
        label: what is done.
        total: the number of parts; None for stages.
        wanted: whether to show the bar and leave it there; by default it is shown if somebody watches, and
            a terminal's bar disappears at the end.
        write: writes what is done, and the total.

    Example:
        >>> with Bar("simulate", 100) as bar:
        ...     for done in range(1, 101):
        ...         bar.show(done)
    """

    def __init__(
        self,
        label: str,
        total: float | None = None,
        wanted: bool | None = None,
        write: Callable[[float, float | None], str] = counts,
    ) -> None:
        self._state = State(label, 0, total, "", 0.0, write)
        self._stays = wanted is not None
        self._is_wanted = is_watched() if wanted is None else wanted
        self._display: _Display | None = None
        self._ended = threading.Event()
        self._drawer: threading.Thread | None = None

    def __enter__(self) -> Bar:
        self._began = time.monotonic()
        self._due = self._began + DELAY
        if self._is_wanted and self._state.total is None:
            self._drawer = threading.Thread(target=self._keep_drawing, name="wengert-progress", daemon=True)
            if start(self._drawer):
                self._drawer = None
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        self._ended.set()
        if self._drawer is not None:
            self._drawer.join()
        if self._display is not None:
            try:
                self._display.close(self._now(), kind is not None)
            finally:
                _shown.release()

    def show(self, done: float, note: str = "") -> None:
        """Show the number of finished parts, and the latest result."""
        self._state = self._state._replace(done=done, note=note)
        if self._is_wanted and self._drawer is None:
            self._draw()

    def stage(self, name: str) -> None:
        """Show what the work does now."""
        self.show(self._state.done, name)

    def _now(self) -> State:
        return self._state._replace(seconds=time.monotonic() - self._began)

    def _keep_drawing(self) -> None:
        pause = DELAY
        while not self._ended.wait(pause):
            self._draw()
            pause = _PAUSE

    def _draw(self) -> None:
        if time.monotonic() < self._due:
            return
        if self._display is None:
            if not _shown.acquire(blocking=False):
                self._is_wanted = False
                return
            self._display = _Notebook() if notebooks.is_notebook() else _on_terminal(self._stays)
        self._display.draw(self._now())
        self._due = time.monotonic() + _PAUSE
