"""A team of threads that helps the thread of a compiled function with its loops."""

from __future__ import annotations

import atexit
import ctypes
import operator
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple, SupportsIndex

from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import Library, stored_library
from wengert.compiler.machine.target import available
from wengert.compiler.runtime.threads.shared_block import BLOCK_BYTES, FIELDS
from wengert.compiler.runtime.threads.team_code import team_ir
from wengert.core.errors import ArgumentError, WengertError, message
from wengert.core.helper_threads import start

#: How many threads there are unless `set_threads` says so.
VARIABLE = "WENGERT_THREADS"

#: Grains of a loop for each thread that has a processor, at most: the last chunks are one grain.
_GRAINS = 64
#: The same for all threads: grains are counted in 16 bits, and up to eight for each thread that came too late.
_MOST_GRAINS = 1 << 14
#: A chunk is half of the grains, or those that are left if they are fewer, over so many for each thread.
_PARTS = 4
#: How long a worker watches for the next loop before it sleeps: a few times what to be woken takes.
_WATCH_SECONDS = 150e-6
#: How often it lets others have the processor meanwhile, such as the caller.
_YIELD_SECONDS = 5e-6
#: How long the caller watches a worker that is still at its last tiles before it gives its processor up, which that
#: worker may be in need of.
_WAIT_SECONDS = 50e-6
#: How many teams of a size stay when no one uses them: the calls that usually run at the same time.
_KEPT = 2
#: How long to wait for a worker that was told to leave.
_LEAVE_SECONDS = 5.0
#: Two lines of the cache, since processors fetch them in pairs: what one thread writes shares none with another's.
_ALIGNMENT = 128


class TeamError(WengertError, RuntimeError):
    """Threads that the system would not start."""


class _Runtime(NamedTuple):
    """The native functions of the team."""

    library: Library
    worker: Callable[[int, int], None]
    stop: Callable[[int], None]
    pace: float
    """How many looks at a word fit into a second."""


_lock = threading.RLock()
_runtime: _Runtime | None = None
#: Counts the forks that this process comes from.
_epoch = 0
_idle: defaultdict[int, list[Team]] = defaultdict(list)
_threads: int | None = None


def _measure_pace(pause: Callable[[int], None]) -> float:
    """Return how many looks fit into a second. The shortest of a few measurements was not interrupted."""
    looks = 1000
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        pause(looks)
        best = min(best, time.perf_counter() - start)
    return looks / best


def _load_runtime() -> _Runtime:
    """Compile the native functions, or take them from the disk."""
    library = stored_library("team", team_ir(host().triple))
    block, thread = ctypes.c_void_p, ctypes.c_int64
    pause = ctypes.CFUNCTYPE(None, ctypes.c_int64)(library.address("wengert_pause"))
    return _Runtime(
        library,
        ctypes.CFUNCTYPE(None, block, thread)(library.address("wengert_worker")),
        ctypes.CFUNCTYPE(None, block)(library.address("wengert_stop")),
        _measure_pace(pause),
    )


def _native() -> _Runtime:
    """Return the native functions, loaded once."""
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = _load_runtime()
        return _runtime


def symbols() -> dict[str, int]:
    """Return the addresses of the native functions that compiled code calls.

    ``void wengert_share(ptr team, ptr function, ptr frame, i64 tiles, i64 most)``,
    ``i64 wengert_threads(ptr team)`` and ``void wengert_wake(ptr team)``; see `team_ir`.
    """
    library = _native().library
    return {name: library.address(name) for name in ("wengert_share", "wengert_threads", "wengert_wake")}


def _checked(name: str, threads: SupportsIndex) -> int:
    """Return a number of threads, if it is one."""
    try:
        number = operator.index(threads)
    except TypeError:
        number = 0
    if number < 1:
        raise ArgumentError(
            message(name, "the number of threads must be an integer of at least 1", repr(threads))
        )
    return number


def get_threads() -> int:
    """Return how many threads a compiled function takes.

    It is what `set_threads` was given; else the environment variable ``WENGERT_THREADS``; else the number of processors
    that this process may use.

    Returns:
        The number of threads, at least 1.

    Raises:
        ArgumentError: ``WENGERT_THREADS`` is not a positive integer.

    Example:
        >>> get_threads() >= 1
        True
    """
    if _threads is not None:
        return _threads
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return available()
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ArgumentError(
            message(VARIABLE, "the number of threads must be an integer of at least 1", repr(text))
        )
    return int(text)


def set_threads(threads: SupportsIndex) -> None:
    """Choose how many threads a compiled function takes, from its next call on.

    Args:
        threads: the number of threads, at least 1.

    Raises:
        ArgumentError: the number is less than 1 or not an integer.

    Example:
        >>> before = get_threads()
        >>> set_threads(2)
        >>> get_threads()
        2
        >>> set_threads(before)
    """
    global _threads
    _threads = _checked("set_threads", threads)
    _stop_idle(keep=_threads)


class Team:
    """Threads that take part in the loops of one compiled function at a time.

    The caller's thread is one of them; the others, the workers, wait for its loops in native code, without Python's
    lock. Get a team from `acquire` and `release` it, or use it in a ``with`` statement.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._native = _native()
        self._epoch = _epoch
        self._block = ctypes.create_string_buffer(BLOCK_BYTES + _ALIGNMENT)
        self.address = -(-ctypes.addressof(self._block) // _ALIGNMENT) * _ALIGNMENT
        """Where the state is that the native functions share."""
        running = min(threads, available())
        fields = {
            "grains": 1 if threads == 1 else min(_GRAINS * running, _MOST_GRAINS),
            "parts": _PARTS * running,
            "threads": running,
            "surplus": threads - running,
            # To watch is to take the processor from a thread that works, where there are not enough of them.
            "watchers": available(),
            "watch": int(_WATCH_SECONDS * self._native.pace),
            "yield": int(_YIELD_SECONDS * self._native.pace),
            "wait": int(_WAIT_SECONDS * self._native.pace),
        }
        for field, number in fields.items():
            ctypes.c_int64.from_address(self.address + FIELDS[field]).value = number
        self._workers: list[threading.Thread] = []
        try:
            for index in range(1, threads):
                worker = threading.Thread(
                    target=self._work, args=(index,), name=f"wengert-{index}", daemon=True
                )
                if problem := start(worker):
                    hint = "ask for fewer with set_threads"
                    raise TeamError(message("threads", f"the system must start {threads}", problem, hint))
                self._workers.append(worker)
        except BaseException:
            self.stop()
            raise

    def _work(self, index: int) -> None:
        """Be a worker; being a method, it keeps the block and the code alive until it has returned."""
        self._native.worker(self.address, index)

    @property
    def alive(self) -> bool:
        """Whether the workers are in this process: a fork copies the memory of a team and none of its threads."""
        return self.threads == 1 or self._epoch == _epoch

    def stop(self) -> None:
        """Tell the workers to leave, and wait until they have. The team must be idle."""
        self._native.stop(self.address)
        for worker in self._workers:
            worker.join(_LEAVE_SECONDS)

    def release(self) -> None:
        """Let others have the team."""
        if self.threads == 1 or not self.alive:
            return
        with _lock:
            kept = _idle[self.threads]
            keep = len(kept) < _KEPT
            if keep:
                kept.append(self)
        if not keep:
            self.stop()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def acquire(threads: int) -> Team:
    """Return a team of that many threads that no one else uses; release it after the call.

    A team for the caller's thread alone has no state that changes, so that one serves all.
    """
    with _lock:
        kept = _idle[threads]
        if kept:
            return kept[-1] if threads == 1 else kept.pop()
        if threads == 1:
            kept.append(Team(1))
            return kept[0]
    return Team(_checked("acquire", threads))


def _stop_idle(keep: int = 1) -> None:
    """Stop the teams that no one uses, but those of one size."""
    with _lock:
        teams = [team for size in _idle if size not in (1, keep) for team in _idle[size]]
        for size in set(_idle) - {1, keep}:
            del _idle[size]
    for team in teams:
        team.stop()


def _before_fork() -> None:
    """Leave no idle worker behind that the child would not have, and no half-made team."""
    _lock.acquire()
    _stop_idle()


def _after_fork_in_child() -> None:
    """Let the child make teams of its own."""
    global _epoch
    _epoch += 1
    _lock.release()


atexit.register(_stop_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_lock.release, after_in_child=_after_fork_in_child
    )
