"""The log ``wengert.jit``: each compilation, frequent recompilation, and long traces and compilations."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import logging
import os
import sys
import textwrap
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from types import FrameType
from typing import Any

from wengert.compiler.llvm import disk_cache
from wengert.compiler.specialisation import Specialisation
from wengert.compiler.steps import running_pass
from wengert.engine.core.errors import (
    ForgottenReturnWarning,
    definition,
    is_own,
    is_users,
    name_of,
    place,
    users_level,
)
from wengert.engine.core.helper_threads import start
from wengert.engine.core.notebooks import readable
from wengert.engine.core.parsing import expression_of, in_loop
from wengert.engine.ir.graph import Equation, Graph
from wengert.engine.transforms import turns

PATIENCE = 2.0
"""Seconds of processor time after which the log reports that tracing or compiling is still running."""
_STEP = 0.01
"""The least seconds between two looks at the clock."""
_MANY = 8
"""Specialisations of a function after which the log says why it is compiled again."""
_UNROLLED = 1000
"""Operations of one line that only an unrolled Python loop can make."""
_INSTEAD = "wg.scan and wg.fori_loop keep a loop as one operation"
_KEPT = "later processes load the result from the cache"
_log = logging.getLogger("wengert.jit")

if (_asked := os.environ.get("WENGERT_LOG", "").strip()) not in ("", "jit"):
    _log.warning("WENGERT_LOG: must be 'jit' or unset; got %r", _asked)
if _asked == "jit":
    _log.setLevel(logging.INFO)
    _log.addHandler(logging.StreamHandler(sys.stderr))


def log_compiled(
    function: Callable[..., Any], types: str, specialisation: Specialisation, why: Callable[[], str] | None
) -> None:
    """Log that a function was compiled, or loaded from the cache; again, if there is a reason why."""
    if not _log.isEnabledFor(logging.INFO):
        return
    done, source = ("loaded", " from the cache") if specialisation.compiled.was_stored else ("compiled", "")
    milliseconds = specialisation.seconds * 1e3
    again = f", because {why()}" if why is not None else ""
    _log.info(
        "jit: %s %s for (%s)%s in %.0f ms%s", done, name_of(function), types, source, milliseconds, again
    )


def is_often(count: int) -> bool:
    """Return whether the log reports this number of recompilations: 8, 16, 32 and so on."""
    return count >= _MANY and count & (count - 1) == 0


def log_recompiled(function: Callable[..., Any], count: int, why: str) -> None:
    """Log why a function is compiled again."""
    hint = "pad to one shape, or pass Python numbers that vary as arrays"
    _log.warning("jit: %s has now been compiled %d times: %s; %s", name_of(function), count, why, hint)


class Patience:
    """Logs once that tracing or compiling the user's function takes long, while the user waits."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._has_logged = False

    def with_tracing(self) -> contextlib.AbstractContextManager[None]:
        """Watch a trace."""
        busiest = turns.busiest()
        return self._watch("traced", lambda files: _unrolled(*busiest(), files))

    def with_compiling(self, graph: Graph) -> contextlib.AbstractContextManager[None]:
        """Watch the compilation of a graph."""
        thread = threading.get_ident()
        return self._watch("compiled", lambda files: f" ({_stage(thread)}): {_size(graph, files)}")

    @contextlib.contextmanager
    def _watch(self, activity: str, why: Callable[[set[str]], str]) -> Generator[None]:
        if self._has_logged:
            yield
            return
        done, thread = threading.Event(), threading.get_ident()
        seconds = _clock(thread)
        begin = seconds()

        def wait() -> None:
            used = 0.0
            while not done.wait(max(PATIENCE - used, _STEP)):
                used = seconds() - begin
                if used >= PATIENCE and not done.is_set():
                    self._report(activity, thread, why)
                    return

        # Without a thread there is no report.
        start(threading.Thread(target=wait, daemon=True, name="wengert-patience"))
        try:
            yield
        finally:
            done.set()

    def _report(self, activity: str, thread: int, why: Callable[[set[str]], str]) -> None:
        self._has_logged = True
        frame, frames = sys._current_frames().get(thread), list[FrameType]()  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            frames.insert(0, frame)
            frame = frame.f_back
        own = inspect.unwrap(self._function)
        code = getattr(getattr(own, "__func__", own), "__code__", None)
        files = {
            one.co_filename for one in (code, *(frame.f_code for frame in frames)) if one and is_users(one)
        }
        name = f"{name_of(self._function)}{definition(self._function)}"
        if code is not None and not is_users(code):  # a program of Wengert's: name the call that makes it
            name = f"a program of {'.'.join(getattr(own, '__module__', '').split('.')[:2])}"
            pairs = itertools.pairwise(frames)
            at = next((one for one, inner in pairs if is_users(one.f_code) and is_own(inner.f_code)), None)
            call = None if at is None else expression_of(at)
            if at is not None and call is not None:
                line = readable(place(at.f_code.co_filename, at.f_lineno))
                name = f"{textwrap.shorten(ast.unparse(call), 60)} [{line}]"
        text = "jit: %s is still being %s after %g s of processor time%s"
        _log.warning(text, name, activity, PATIENCE, why(files))


def _clock(thread: int) -> Callable[[], float]:
    """Return a function that returns the processor time of a thread, or of the process where that is not known."""
    identify = getattr(time, "pthread_getcpuclockid", None)
    if identify is None:
        return time.process_time
    identity = identify(thread)
    return lambda: time.clock_gettime(identity)


def warn_of_none(function: Callable[..., Any], written: Sequence[str]) -> None:
    """Warn of a compiled function that returns None, and only writes some of its arguments."""
    names = ", ".join(written)
    changes = f", and what it writes into {names} is lost: return it" if names else "; it may lack a return"
    text = f"jit: {name_of(function)}{definition(function)} returns None{changes}"
    warnings.warn(text, ForgottenReturnWarning, stacklevel=users_level())


def _all_equations(graph: Graph) -> Iterator[Equation]:
    """Yield the equations of a graph and of the graphs inside them."""
    for equation in graph.equations:
        yield equation
        for inner in equation.graphs():
            yield from _all_equations(inner)


def _stage(thread: int) -> str:
    """Name the pass that a thread runs; after the passes LLVM works."""
    name = running_pass(thread)
    return f"in the pass {name}" if name else "in LLVM"


def _unrolled(line: str, count: int, files: set[str]) -> str:
    """Describe the line that a trace has taken most often, if only a loop does so."""
    if not line or count <= turns.MOST_TURNS or not in_loop(line, files):
        return ""
    return f": it unrolls Python's own loop at {readable(line)}, {count:,} turns so far; {_INSTEAD}"


def _size(graph: Graph, files: set[str]) -> str:
    """Describe the number of operations, the line with most of them, and whether the cache keeps the result."""
    equations = list(_all_equations(graph))
    text = f"{len(equations):,} operation{'' if len(equations) == 1 else 's'}"
    lines = Counter(equation.location.removeprefix("adjoint of ") for equation in equations)
    line, count = lines.most_common(1)[0] if lines else ("", 0)
    if line and count >= _UNROLLED:
        text += f", {count:,} of them from {readable(line)}"
        text += f"; {_INSTEAD}" if in_loop(line, files) else ""
    why_not = disk_cache.default().why_unused()
    return f"{text}; {f'{why_not}, so later processes compile again' if why_not else _KEPT}"
