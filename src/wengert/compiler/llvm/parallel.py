"""The modules of one program, compiled by several threads while the last ones are still written.

LLVM needs no lock of Python's, so that all of it goes on at the same time where there are processors for it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

from wengert.compiler.llvm.object_code import compile_module
from wengert.compiler.machine.target import Target, available
from wengert.core.helper_threads import start

#: Seconds after which a thread that asks for Python's lock gets it, in the whole process: to compile asks for it some
#: dozens of times. It is an odd number, which no one else is likely to have set.
_SOON = 193e-6


class _HandingOver:
    """Lets Python's lock change hands soon, while a program is being written of which parts are being compiled.

    It takes no lock, which Ctrl-C might leave locked, and does not depend on each program's end. In whatever order
    threads begin and end, the interval is the usual one at last.
    """

    def __init__(self) -> None:
        self._programs: WeakSet[Any] = WeakSet()
        self._usual = _SOON

    def begin(self, program: Any) -> None:
        self._programs.add(program)
        usual = sys.getswitchinterval()
        if usual > 1.1 * _SOON:
            self._usual = usual
            sys.setswitchinterval(_SOON)

    def end(self, program: Any) -> None:
        """End what may have begun."""
        self._programs.discard(program)
        if not self._programs and abs(sys.getswitchinterval() - _SOON) < 1e-7:
            sys.setswitchinterval(self._usual)

    def after_fork(self) -> None:
        """End what was under way in threads that the child does not have."""
        self._programs.clear()
        self.end(self)


_HANDING_OVER = _HandingOver()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HANDING_OVER.after_fork)


class Compilation:
    """Compiles modules, each of which may call what those before it define. Use it in a ``with`` statement.

    Args:
        target: the processor.
        symbols: returns the functions that are given besides; threads may call it at the same time.
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
        self._is_over = True  # what still waits is not wanted
        self._written()
        self._join()

    def add(self, ir_text: str, names: Sequence[str]) -> None:
        """Have a module compiled; begin now if there is a processor for it besides the one that this thread has.

        Args:
            ir_text: the module.
            names: the functions that it defines for later modules.
        """
        self._defined.update(names)
        self._waiting.put((self._count, ir_text))
        self._count += 1
        if len(self._threads) < available() - 1:
            _HANDING_OVER.begin(self)
            thread = threading.Thread(target=self._help, name="wengert-compiler")
            self._threads.append(thread)
            if start(thread):  # without it, this thread does it in the end
                self._threads.remove(thread)

    def finish(self, ir_text: str) -> bytes:
        """Return the code of all the modules, this one the last, for `wengert.compiler.llvm.object_code.load`.

        Raises:
            CompileError: LLVM refused one of them; it is the first that is told of.
        """
        self._waiting.put((self._count, ir_text))
        self._written()
        self._work()
        self._join()
        if self._problems:
            raise self._problems[min(self._problems)]
        return b"".join(self._codes[number] for number in sorted(self._codes))

    def _written(self) -> None:
        """Tell the threads that no more comes. To tell them twice does no harm."""
        self._waiting.put(None)
        _HANDING_OVER.end(self)

    def _join(self) -> None:
        """Wait for the threads that have begun; whoever begins later finds nothing to do."""
        for end in list(self._ends):  # an interrupted `join` takes a thread for ended that is not
            end.wait()

    def _help(self) -> None:
        end = threading.Event()
        self._ends.append(end)
        try:
            self._work()
        finally:
            end.set()

    def _work(self) -> None:
        """Compile modules until none is left."""
        while (task := self._waiting.get()) is not None:
            if self._is_over or self._problems:
                continue
            number, ir_text = task
            try:
                known = {*self._symbols(), *self._defined}
                self._codes[number] = compile_module(ir_text, self._target, known)
            except Exception as problem:  # it is raised where the code is asked for
                self._problems[number] = problem
        self._waiting.put(None)  # for the others
