"""The output of the processes of a job: whole lines, with the number of the process."""

from __future__ import annotations

import io
import sys
import threading
from typing import Any, TextIO, cast

AT_ONCE = "\x1e"
"""Begins a line on stderr of a process that was launched: the launching process shows it at once."""


class Lines(io.TextIOBase):
    r"""A text stream that writes whole lines to another one, each after a label.

    Args:
        stream: gets the lines.
        label: of each line.
        mark: stands before the label.

    Example:
        >>> shown = io.StringIO()
        >>> with Lines(shown, "rank 1: ") as lines:
        ...     print("a", "b\nc", end="", file=lines)
        >>> shown.getvalue()
        'rank 1: a b\nrank 1: c\n'
    """

    def __init__(self, stream: TextIO, label: str, mark: str = "") -> None:
        self.stream, self.label, self.mark = stream, label, mark
        self._held = ""
        self._lock = threading.RLock()

    @property
    def buffer(self) -> Any:
        """The bytes of the stream, which have no labels."""
        return self.stream.buffer

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The encoding of the stream."""
        return self.stream.encoding

    def fileno(self) -> int:
        """Return the number of the stream's file."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self.stream.isatty()

    def writable(self) -> bool:
        """Return true."""
        return True

    def write(self, text: str) -> int:
        """Write the lines that are complete, and keep the rest."""
        with self._lock:
            *lines, self._held = (self._held + text).split("\n")
            self._put(lines, self.label)
        return len(text)

    def tell_all(self, line: str) -> None:
        """Write a line without the label."""
        with self._lock:
            self.flush()
            self._put([line], "")

    def flush(self) -> None:
        """Write the line that is incomplete, too."""
        with self._lock:
            held, self._held = self._held, ""
            self._put([held] if held else [], self.label)

    def _put(self, lines: list[str], label: str) -> None:
        if lines:
            self.stream.write("".join(f"{self.mark}{label}{line}\n" for line in lines))
            self.stream.flush()


def label_lines(rank: int, *, is_launched: bool) -> None:
    """Let this process write whole lines; those of a process that is not the first one tell its rank.

    If a launching process reads its stderr, the process ``is_launched``.
    """
    label = f"rank {rank}: " if rank else ""
    if rank:
        sys.stdout = cast("TextIO", Lines(sys.stdout, label))
    if rank or is_launched:
        sys.stderr = cast("TextIO", Lines(sys.stderr, label, AT_ONCE if is_launched else ""))


def tell(line: str) -> None:
    """Print a line to stderr that needs no label."""
    stream: Any = sys.stderr
    if isinstance(stream, Lines):
        stream.tell_all(line)
    else:
        print(line, file=stream, flush=True)
