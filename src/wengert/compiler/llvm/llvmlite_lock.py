"""LLVM on several threads at the same time, and idle when a process forks.

LLVM objects in different contexts share nothing, so that threads compile independently (LLVM Programmer's Manual,
"Threads and LLVM"). llvmlite lets only one call in at a time. Around the long calls, its lock is replaced by one that
lets our threads pass, each of which has its own context, and that others still wait for. If llvmlite has no such lock,
threads take turns.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from wengert.compiler.llvm.binding import IS_INSTALLED, llvm

_LONG_CALLS = (
    "LLVMPY_RunNewModulePassManager",
    "LLVMPY_RunNewFunctionPassManager",
    "LLVMPY_TargetMachineEmitToMemory",
)

#: Serialises the work that only one thread may do at a time.
TURN = threading.RLock()


class _ThisThread(threading.local):
    in_own_context = False


_THIS_THREAD = _ThisThread()


class Calls:
    """The calls that passed llvmlite's lock: any number of them, but none while a thread forks.

    A child must not inherit LLVM, or a lock, from the middle of a call of a thread that it does not have.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._is_forking = False
        self._held: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_forking)
            self._running += 1

    def __exit__(self, *exception: object) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def before_fork(self) -> None:
        """Keep all threads out of LLVM, and wait for the long calls to end."""
        for lock in (TURN, getattr(llvm.ffi.lib, "_lock", TURN) if IS_INSTALLED else TURN):
            lock.__enter__()
            self._held.append(lock)
        with self._changed:
            self._is_forking = True
            self._changed.wait_for(lambda: not self._running)

    def after_in_parent(self) -> None:
        """Let threads in again."""
        with self._changed:
            self._is_forking = False
            self._changed.notify_all()
        self._release()

    def after_in_child(self) -> None:
        """Reset everything: there are no other threads."""
        held = self._held
        self._reset()
        self._held = held
        self._release()

    def _release(self) -> None:
        while self._held:
            self._held.pop().__exit__(None, None, None)


CALLS = Calls()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=CALLS.before_fork, after_in_parent=CALLS.after_in_parent, after_in_child=CALLS.after_in_child
    )


class _Passable:
    """Replaces llvmlite's lock, and lets threads pass that work in their own context."""

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        self._lock = lock

    def _guard(self) -> AbstractContextManager[Any]:
        return CALLS if _THIS_THREAD.in_own_context else self._lock

    def __enter__(self) -> None:
        self._guard().__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._guard().__exit__(*exception)


@contextmanager
def in_own_context() -> Generator[None]:
    """Work in a context that no other thread uses: in parallel with others or, if that is impossible, in turn."""
    if not is_passable():
        with TURN:
            yield
        return
    before, _THIS_THREAD.in_own_context = _THIS_THREAD.in_own_context, True
    try:
        yield
    finally:
        _THIS_THREAD.in_own_context = before


@functools.cache
def is_passable() -> bool:
    """Replace llvmlite's lock around the long calls; return whether llvmlite has the expected locks."""
    library: Any = llvm.ffi.lib
    try:
        functions = [getattr(library, name) for name in _LONG_CALLS]
        locks = [function._lock for function in (*functions, library)]
    except AttributeError:
        return False
    for function, lock in zip(functions, locks, strict=False):
        function._lock = _Passable(lock)
    return True
