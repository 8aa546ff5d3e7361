"""IPython and its notebooks: cells by their numbers, short tracebacks, and outputs that change in place.

Nothing here imports IPython: where a shell runs, it is loaded.
"""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any

_ADJOINT = "adjoint of "
_CELL_LINE = r"cell (\d+), line (\d+)"
_INSIDE = frozenset({"wengert", "IPython", "ipykernel"})
"""Packages whose frames are left out of a short traceback."""


def shell() -> Any:
    """Return IPython's shell if this program runs in it; None elsewhere."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def is_notebook() -> bool:
    """Return whether the program runs in the kernel of a notebook, which shows HTML."""
    return getattr(shell(), "kernel", None) is not None


# -- cells -------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def _cells(running: Any, execution: int, files: int) -> dict[str, int]:
    """Return the numbers of the cells by the names of their files; a new execution or file asks again."""
    cells: dict[str, int] = {}
    for file in list(linecache.cache):
        label = running.compile.format_code_name(file)
        if label is not None and (number := re.search(r"\d+", label[1])):
            cells[os.path.basename(file)] = int(number[0])
    return cells


def _number_of(name: str) -> int | None:
    running = shell()
    if running is None or not hasattr(getattr(running, "compile", None), "format_code_name"):
        return None
    return _cells(running, running.execution_count, len(linecache.cache)).get(name)


def readable(location: str) -> str:
    """Return a location of the user with the number of the notebook's cell in the place of the file behind it.

    Graphs keep the name of the file: unlike the number it stays the same if a cell runs again, so that compiled
    programs are found in the cache.

    Example:
        >>> readable("model.py:12")  # after %run, or in a notebook's third cell: "cell 3, line 12"
        'model.py:12'
    """
    if shell() is None:
        return location
    start, adjoint, place = location.rpartition(_ADJOINT)
    name, _, line = place.rpartition(":")
    number = _number_of(name)
    return location if number is None else f"{start}{adjoint}cell {number}, line {line}"


def readable_file(file: str) -> str:
    """Return the name of a file without its folder; ``cell 3`` for the file behind a notebook's cell."""
    name = os.path.basename(file)
    number = _number_of(name)
    return name if number is None else f"cell {number}"


def source_line(location: str) -> str:
    """Return the source of a line of a cell, such as ``cell 3, line 2``; an empty string for other locations."""
    match = re.fullmatch(_CELL_LINE, location)
    history = getattr(getattr(shell(), "history_manager", None), "input_hist_parsed", [])
    if match is None or int(match[1]) >= len(history):
        return ""
    lines = history[int(match[1])].split("\n")
    return lines[int(match[2]) - 1].strip() if int(match[2]) <= len(lines) else ""


# -- tracebacks --------------------------------------------------------------------------------------------


def is_full() -> bool:
    """Return whether the user wants all frames in tracebacks."""
    return os.environ.get("WENGERT_TRACEBACK", "") == "full"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_inside(frame: FrameType) -> bool:
    return _package(frame) in _INSIDE


def parts_of(trace: TracebackType | None) -> Iterator[tuple[TracebackType, bool]]:
    """Yield the parts of a traceback, and whether they are inside, context managers that Wengert enters included."""
    inside = False
    while trace is not None:
        inside = _is_inside(trace.tb_frame) or (inside and _package(trace.tb_frame) == "contextlib")
        yield trace, inside
        trace = trace.tb_next


def shortened(
    parts: Iterable[tuple[TracebackType, bool]], behind: TracebackType | None = None
) -> TracebackType | None:
    """Return a traceback of the parts that are not inside, and of what comes behind them."""
    short = behind
    for part in reversed([part for part, inside in parts if not inside]):
        short = TracebackType(short, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return short


def rendered(problem: BaseException) -> list[str]:
    """Return the traceback that IPython shows for an error: the user's frames, or all with WENGERT_TRACEBACK=full."""
    running, kind, trace = shell(), type(problem), problem.__traceback__
    if running is None:
        import traceback

        return traceback.format_exception(problem)
    short = None if is_full() else shortened(parts_of(trace))
    if short is None:
        return running.InteractiveTB.structured_traceback(kind, problem, trace)
    hide_frames(problem.__cause__ or problem.__context__)
    return running.InteractiveTB.structured_traceback(kind, problem, short, tb_offset=0)


def hide_frames(problem: BaseException | None) -> None:
    """Mark the frames of Wengert that an error passes, so that IPython leaves them out.

    A local variable ``__tracebackhide__`` is IPython's mark (and pytest's). Errors of the user's own code and of NumPy
    pass our frames, too; setting the mark after an error costs calls without errors nothing.
    """
    if problem is None or shell() is None or is_full():
        return
    for part, inside in parts_of(problem.__traceback__):
        if inside:
            _hide(part.tb_frame)
    outer: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while outer is not None:
        if _is_inside(outer):
            _hide(outer)
        outer = outer.f_back


def _hide(frame: FrameType) -> None:
    if frame.f_code.co_name != "<module>":
        frame.f_locals["__tracebackhide__"] = True


# -- output ------------------------------------------------------------------------------------------------


class Output:
    """An output below the running cell of a notebook, which changes in place."""

    def __init__(self) -> None:
        self._identity = os.urandom(16).hex()
        self._is_shown = False

    def show(self, text: str, html: str) -> None:
        """Show the output, or change it: HTML, and text for readers that show no HTML."""
        publisher: Any = shell().display_pub
        data = {"text/plain": text, "text/html": html}
        publisher.publish(data, transient={"display_id": self._identity}, update=self._is_shown)
        self._is_shown = True
