"""Parallel compilation: threads compile the modules of a program while the last ones are still written.

LLVM needs no lock of Python's, so that all of this runs in parallel where there are processors for it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

from wengert.compiler.llvm.object_code import compile_module
from wengert.compiler.llvm.recent import RECENT
from wengert.engine.core.helper_threads import start
from wengert.engine.machine.target import Target, available

#: Python's switch interval in seconds while threads compile, which ask for Python's lock some dozens of times. It is an
#: odd number, which no one else is likely to have set.
_SHORT = 193e-6


class _SwitchInterval:
    """Shortens Python's switch interval while a program is written of which parts are being compiled.

    It takes no lock, which Ctrl-C might leave locked, and does not depend on each program's end. In whatever order
    threads begin and end, the interval returns to its usual value.
    """

    def __init__(self) -> None:
        self._programs: WeakSet[Any] = WeakSet()
        self._usual = _SHORT

    def begin(self, program: Any) -> None:
        self._programs.add(program)
        usual = sys.getswitchinterval()
        if usual > 1.1 * _SHORT:
            self._usual = usual
            sys.setswitchinterval(_SHORT)

    def end(self, program: Any) -> None:
        """End a program, which need not have begun."""
        self._programs.discard(program)
        if not self._programs and abs(sys.getswitchinterval() - _SHORT) < 1e-7:
            sys.setswitchinterval(self._usual)

    def after_fork(self) -> None:
        """End the programs of threads that the child does not have."""
        self._programs.clear()
        self.end(self)


_SWITCH_INTERVAL = _SwitchInterval()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SWITCH_INTERVAL.after_fork)


class Compilation:
    """Compiles modules, each of which may call functions of earlier ones. Use it in a ``with`` statement.

    ``symbols`` returns the names of other functions that modules may call; any thread may call it.
    """

    def __init__(self, target: Target, symbols: Callable[[], Collection[str]]) -> None:
        self._target = target
        self._symbols = symbols
        self._defined: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._ends: list[threading.Event] = []
        self._waiting: SimpleQueue[tuple[int, str] | None] = SimpleQueue()
        self._count = 0
        self._codes: dict[int, bytes] = {}
        self._problems: dict[int, Exception] = {}
        self._is_over = False

    def __enter__(self) -> Compilation:
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over = True  # the waiting modules are not needed
        self._close()
        self._join()

    def add(self, ir_text: str, names: Sequence[str]) -> None:
        """Add a module that defines the functions ``names``; compile it now if another processor is available."""
        self._defined.update(names)
        self._waiting.put((self._count, ir_text))
        self._count += 1
        if len(self._threads) < available() - 1:
            _SWITCH_INTERVAL.begin(self)
            thread = threading.Thread(target=self._help, name="wengert-compiler")
            self._threads.append(thread)
            if start(thread):  # no thread: `finish` compiles the module
                self._threads.remove(thread)

    def finish(self, ir_text: str) -> bytes:
        """Return the code of all modules, with the last one, for `load`; raise the error of the first one refused."""
        self._waiting.put((self._count, ir_text))
        self._close()
        self._work()
        self._join()
        if self._problems:
            raise self._problems[min(self._problems)]
        return b"".join(self._codes[number] for number in sorted(self._codes))

    def _close(self) -> None:
        """Signal the threads that there are no more modules, once or twice."""
        self._waiting.put(None)
        _SWITCH_INTERVAL.end(self)

    def _join(self) -> None:
        """Wait for the threads that have begun; the others will have nothing to do."""
        for end in list(self._ends):  # an interrupted `join` marks a running thread as ended
            end.wait()

    def _help(self) -> None:
        end = threading.Event()
        self._ends.append(end)
        try:
            self._work()
        finally:
            end.set()

    def _work(self) -> None:
        """Compile modules until the queue is closed."""
        while (task := self._waiting.get()) is not None:
            if self._is_over or self._problems:
                continue
            number, ir_text = task
            try:
                names = {*self._symbols(), *self._defined}
                compiled = partial(compile_module, ir_text, self._target, names)
                self._codes[number] = RECENT.code(ir_text, self._target, compiled)
            except Exception as problem:  # `finish` raises it
                self._problems[number] = problem
        self._waiting.put(None)  # for the others
