"""LLVM on several threads at the same time, and not in the middle of a fork.

What LLVM makes in contexts of their own shares nothing, so that threads compile independently (LLVM Programmer's
Manual, "Threads and LLVM"). llvmlite lets one call in at a time all the same. Around the calls that take long its lock
is replaced by one that lets our threads pass, each of which has a context, and that others still wait for.
"""

from __future__ import annotations

import functools
import os
import threading
from contextlib import AbstractContextManager
from typing import Any

from llvmlite import binding as llvm

_LONG_CALLS = (
    "LLVMPY_RunNewModulePassManager",
    "LLVMPY_RunNewFunctionPassManager",
    "LLVMPY_TargetMachineEmitToMemory",
)


class Users:
    """The threads that are in LLVM: any number of them, but none while another thread forks.

    A child must not inherit LLVM from the middle of the work of a thread that it does not have. A thread may enter
    again and again, as a finalizer does that runs in the middle of something else.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._depths: dict[int, int] = {}
        self._forking: int | None = None

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._forking in (None, me) or me in self._depths)
            self._depths[me] = self._depths.get(me, 0) + 1

    def __exit__(self, *exception: object) -> None:
        me = threading.get_ident()
        with self._changed:
            self._depths[me] -= 1
            if not self._depths[me]:
                del self._depths[me]
                self._changed.notify_all()

    def __contains__(self, thread: int) -> bool:
        return thread in self._depths

    def before_fork(self) -> None:
        """Wait until no other thread is inside, and keep them outside."""
        me = threading.get_ident()
        self._changed.acquire()
        self._forking = me
        self._changed.wait_for(lambda: self._depths.keys() <= {me})

    def after_fork(self) -> None:
        """Let them in again."""
        self._forking = None
        self._changed.notify_all()
        self._changed.release()


USERS = Users()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=USERS.before_fork, after_in_parent=USERS.after_fork, after_in_child=USERS.after_fork
    )


class _Passable:
    """Stands in for llvmlite's lock, and lets `USERS` pass."""

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if threading.get_ident() not in USERS:
            self._lock.__enter__()

    def __exit__(self, *exception: Any) -> None:
        if threading.get_ident() not in USERS:
            self._lock.__exit__(*exception)


@functools.cache
def let_users_pass() -> bool:
    """Replace llvmlite's lock around the calls that take long; tell whether it is as we know it.

    If it is not, threads take turns.
    """
    library: Any = llvm.ffi.lib
    try:
        functions = [getattr(library, name) for name in _LONG_CALLS]
        locks = [function._lock for function in functions]
    except AttributeError:
        return False
    for function, lock in zip(functions, locks, strict=True):
        function._lock = _Passable(lock)
    return True
