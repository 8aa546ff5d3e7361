"""The modules of one program, compiled by several threads while the last ones are still written.

LLVM needs no lock of Python's, so that all of it goes on at the same time where there are processors for it.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Collection
from queue import SimpleQueue

from wengert.backend.native import compile_module
from wengert.backend.target import Target
from wengert.backend.team import available

_DEFINED = re.compile(r"^define void @([\w.]+)\(", re.MULTILINE)


_SOON = 2e-4
"""Seconds after which a thread that asks for Python's lock gets it: compiling asks some dozens of times."""


class _HandingOver:
    """Lets Python's lock change hands soon, while at least one program is written that is compiled already."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._programs = 0
        self._usual = _SOON

    def begin(self) -> None:
        with self._lock:
            if not self._programs:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, _SOON))
            self._programs += 1

    def end(self) -> None:
        with self._lock:
            self._programs -= 1
            if not self._programs:
                sys.setswitchinterval(self._usual)


_HANDING_OVER = _HandingOver()


class Compilation:
    """Compiles modules, each of which may call what those before it define. Use it in a ``with`` statement.

    Args:
        target: the processor.
        symbols: returns the functions that are given besides; called when the first module is compiled.
    """

    def __init__(self, target: Target, symbols: Callable[[], Collection[str]]) -> None:
        self._target = target
        self._symbols = symbols
        self._defined: list[str] = []
        self._threads: list[threading.Thread] = []
        self._waiting: SimpleQueue[tuple[int, str] | None] = SimpleQueue()
        self._count = 0
        self._codes: dict[int, bytes] = {}
        self._problems: dict[int, BaseException] = {}
        self._is_written = self._is_over = False

    def __enter__(self) -> Compilation:
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over = True  # what still waits is not wanted
        self._written()
        self._join()

    def add(self, ir_text: str) -> None:
        """Have a module compiled; begin now if there is a processor for it besides the one that this thread has."""
        self._defined += _DEFINED.findall(ir_text)
        self._waiting.put((self._count, ir_text))
        self._count += 1
        if len(self._threads) < available() - 1:
            thread = threading.Thread(target=self._work, name="wengert-compiler")
            try:
                thread.start()
            except RuntimeError:  # the system has no more: this thread does it in the end
                return
            if not self._threads:
                _HANDING_OVER.begin()
            self._threads.append(thread)

    def finish(self, ir_text: str) -> bytes:
        """Return the code of all the modules, this one the last, for `wengert.backend.native.load`.

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
        """Tell the threads that no more comes."""
        if not self._is_written:
            self._is_written = True
            self._waiting.put(None)
            if self._threads:
                _HANDING_OVER.end()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        """Compile modules until none is left."""
        while (task := self._waiting.get()) is not None:
            if self._is_over or self._problems:
                continue
            number, ir_text = task
            try:
                known = {*self._symbols(), *self._defined}
                self._codes[number] = compile_module(ir_text, self._target, known)
            except BaseException as problem:  # it is raised where the code is asked for
                self._problems[number] = problem
        self._waiting.put(None)  # for the others
