"""What `jit` tells in the log ``wengert.jit``: what it compiled, that it does so often, and that it takes long."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import Any

from wengert.compiler.llvm import disk_cache
from wengert.compiler.specialisation import Specialisation
from wengert.core.errors import definition, name_of
from wengert.core.helper_threads import start
from wengert.ir.graph import Equation, Graph

PATIENCE = 5.0
"""Seconds after which tracing or compiling says that it is still at it."""
_MANY = 8
"""Types of arguments after which a function that is compiled once more says why."""
_UNROLLED = 1000
"""Operations of one line from which on it must be a loop of Python's that repeats it."""
_INSTEAD = "wg.scan and wg.fori_loop keep a loop as one operation"
_KEPT = "later processes load the result from the cache"
_log = logging.getLogger("wengert.jit")

if (_asked := os.environ.get("WENGERT_LOG", "").strip()) not in ("", "jit"):
    _log.warning("WENGERT_LOG: what can be told of is jit; got %r", _asked)
if _asked == "jit":
    _log.setLevel(logging.INFO)
    _log.addHandler(logging.StreamHandler(sys.stderr))


def tell_compiled(function: Callable[..., Any], types: str, found: Specialisation) -> None:
    """Tell that a function was compiled, or loaded from the cache."""
    done, source = ("loaded", " from the cache") if found.compiled.was_stored else ("compiled", "")
    _log.info("jit: %s %s for (%s)%s in %.0f ms", done, name_of(function), types, source, found.seconds * 1e3)


def is_often(count: int) -> bool:
    """Tell whether so many types of arguments are worth a word: 8, and then each time that they have doubled."""
    return count >= _MANY and count & (count - 1) == 0


def tell_recompiled(function: Callable[..., Any], count: int, why: str) -> None:
    """Tell why a function is compiled once more."""
    hint = "pad to one shape, or pass Python numbers that vary as arrays"
    _log.warning("jit: %s has now been compiled %d times: %s; %s", name_of(function), count, why, hint)


class Patience:
    """Tells, once for a function, that tracing or compiling it takes long: while the user waits, not after it.

    Args:
        function: the user's.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._has_told = False

    def with_tracing(self) -> contextlib.AbstractContextManager[None]:
        """Tell of a trace that takes long."""
        what = "what Python's own loops repeat is written out step by step"
        return self._watch("traced", lambda: f"{what}; {_INSTEAD}")

    def with_compiling(self, graph: Graph) -> contextlib.AbstractContextManager[None]:
        """Tell of a graph that takes long."""
        return self._watch("compiled", lambda: _size(graph))

    @contextlib.contextmanager
    def _watch(self, what: str, why: Callable[[], str]) -> Generator[None]:
        if self._has_told:
            yield
            return
        timer = threading.Timer(PATIENCE, self._tell, (what, why))
        timer.daemon, timer.name = True, "wengert-patience"
        start(timer)  # without it, nothing is told
        try:
            yield
        finally:
            timer.cancel()

    def _tell(self, what: str, why: Callable[[], str]) -> None:
        self._has_told = True
        where = definition(self._function)
        _log.warning(
            "jit: %s%s is still being %s after %g s: %s",
            name_of(self._function),
            where,
            what,
            PATIENCE,
            why(),
        )


def _all_equations(graph: Graph) -> Iterator[Equation]:
    """Yield the operations of a graph, and those of the programs that some of them hold."""
    for equation in graph.equations:
        yield equation
        for inner in equation.graphs():
            yield from _all_equations(inner)


def _size(graph: Graph) -> str:
    """Tell how many operations there are, from which line if one loop repeats them, and who need not wait again."""
    equations = list(_all_equations(graph))
    text = f"{len(equations):,} operation{'' if len(equations) == 1 else 's'}"
    lines = Counter(equation.location.removeprefix("adjoint of ") for equation in equations)
    line, count = lines.most_common(1)[0] if lines else ("", 0)
    if line and count >= _UNROLLED:
        text += f", {count:,} of them from {line}, which a loop of Python's repeats; {_INSTEAD}"
    why_not = disk_cache.default().why_unused()
    return f"{text}; {f'{why_not}, so that nothing keeps the result' if why_not else _KEPT}"
