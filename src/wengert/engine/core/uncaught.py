"""Short tracebacks of scripts: an error that ends one shows the user's frames, and how many of Wengert's are left out.

Python prints the traceback of an error through `sys.excepthook`. The function here shortens it for the time of that
call alone: debuggers, logs and handlers have all frames, and so has a script with ``WENGERT_TRACEBACK=full``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from wengert.engine.core.errors import WengertError
from wengert.engine.core.notebooks import is_full, parts_of, shortened

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def _chain(problem: BaseException | None) -> list[BaseException]:
    """Return an error, and those that led to it."""
    found: list[BaseException] = []
    while problem is not None and problem not in found:
        found.append(problem)
        problem = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
    return found


def _left_out(problem: BaseException) -> tuple[TracebackType | None, int]:
    """Return the traceback without frames of Wengert, and how many these are.

    An error that is not Wengert's own, and that its frames raise, keeps those behind the last frame of the user.
    """
    parts = list(parts_of(problem.__traceback__))
    behind = None
    if not isinstance(problem, WengertError) and parts and parts[-1][1]:
        last = max((n for n, (_, inside) in enumerate(parts) if not inside), default=-1)
        behind, parts = problem.__traceback__, parts[: last + 1]
        for _ in parts:
            behind = behind.tb_next if behind else None
    count = sum(inside for _, inside in parts)
    return shortened(parts, behind), count


def _hook(before: Hook) -> Hook:
    def show(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
        problems = [] if is_full() else _chain(problem)
        whole = [(each, each.__traceback__) for each in problems]
        count = 0
        for each in problems:
            short, number = _left_out(each)
            if short is not None and number:
                each.__traceback__ = short
                count += number
        try:
            before(kind, problem, problem.__traceback__ if count else trace)
        finally:
            for each, traceback in whole:
                each.__traceback__ = traceback
        if count and sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
            print(
                f"({count} frames of Wengert are left out; WENGERT_TRACEBACK=full shows them)",
                file=sys.stderr,
            )

    return show


def shorten_tracebacks() -> None:
    """Shorten the tracebacks of errors that end the program."""
    sys.excepthook = _hook(sys.excepthook)
