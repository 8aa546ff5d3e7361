"""A fork-join team of threads that share the loops of a compiled function."""

from __future__ import annotations

import atexit
import ctypes
import operator
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import SupportsIndex

from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import Library, stored_library
from wengert.compiler.runtime.threads.team_code import BLOCK_BYTES, FIELDS, team_ir
from wengert.engine.core.errors import ArgumentError, WengertError, message
from wengert.engine.core.helper_threads import start
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine.target import available

#: The number of threads, unless `set_threads` was called.
VARIABLE = "WENGERT_THREADS"
NAMES = ("wengert_share", "wengert_threads", "wengert_wake")
"""The native functions that code calls whose loops threads share."""

#: Grains of a loop for each thread that has a processor, at most: the last chunks are one grain.
_GRAINS = 64
#: The same for all threads: grains are counted in 16 bits, and each late thread claims up to eight more.
_MOST_GRAINS = 1 << 14
#: For each thread, a chunk is this part of half of the grains, or of the rest if that is less.
_PARTS = 4
#: The time for which a worker spins for the next loop before it sleeps: a few times as long as waking it takes.
_SPIN_SECONDS = 150e-6
#: The interval at which it yields its processor in this time, for the calling thread, say.
_YIELD_SECONDS = 5e-6
#: The time for which the calling thread spins for a worker's last chunk before it yields its processor, which that
#: worker may need.
_WAIT_SECONDS = 50e-6
#: The number of idle teams of a size that stay: as many as calls usually run at the same time.
_KEPT = 2
#: The time to wait for a worker to leave.
_LEAVE_SECONDS = 5.0
#: Two cache lines, since processors prefetch them in pairs: fields that different threads write share none.
_ALIGNMENT = 128
_REQUIREMENT = "the number of threads must be an integer of at least 1"


class TeamError(WengertError, RuntimeError):
    """The system did not start the threads."""


class _Runtime(NamedTuple):
    """The native functions of the team."""

    library: Library
    worker: Callable[[int, int], None]
    stop: Callable[[int], None]
    pace: float
    """The number of reads of a word in a second."""


_lock = threading.RLock()
_runtime: _Runtime | None = None
#: Counts the forks that this process comes from.
_epoch = 0
_idle: defaultdict[int, list[Team]] = defaultdict(list)
_threads: int | None = None


def _measure_pace(pause: Callable[[int], None]) -> float:
    """Return how many reads fit into a second, by the shortest of a few measurements: it was not interrupted."""
    reads = 1000
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        pause(reads)
        best = min(best, time.perf_counter() - start)
    return reads / best


def _native() -> _Runtime:
    """Return the native functions, loaded once."""
    global _runtime
    with _lock:
        if _runtime is None:
            library = stored_library("team", team_ir(host().triple))
            block, thread = ctypes.c_void_p, ctypes.c_int64
            pause = ctypes.CFUNCTYPE(None, ctypes.c_int64)(library.address("wengert_pause"))
            _runtime = _Runtime(
                library,
                ctypes.CFUNCTYPE(None, block, thread)(library.address("wengert_worker")),
                ctypes.CFUNCTYPE(None, block)(library.address("wengert_stop")),
                _measure_pace(pause),
            )
        return _runtime


def symbols() -> dict[str, int]:
    """Return the addresses of the native functions that compiled code calls.

    ``void wengert_share(ptr team, ptr function, ptr frame, i64 tiles, i64 most)``,
    ``i64 wengert_threads(ptr team)`` and ``void wengert_wake(ptr team)``; see `team_ir`.
    """
    library = _native().library
    return {name: library.address(name) for name in NAMES}


def _checked(name: str, threads: SupportsIndex) -> int:
    """Return a number of threads, or raise `ArgumentError`."""
    try:
        number = operator.index(threads)
    except TypeError:
        number = 0
    if number < 1:
        raise ArgumentError(message(name, _REQUIREMENT, repr(threads)))
    return number


def get_threads() -> int:
    """Return how many threads a compiled function uses.

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
        raise ArgumentError(message(VARIABLE, _REQUIREMENT, repr(text)))
    return int(text)


def set_threads(threads: SupportsIndex) -> None:
    """Choose how many threads a compiled function uses, from its next call on.

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
    """Threads that share the loops of one compiled function at a time.

    The calling thread is one of them; the others, the workers, wait for its loops in native code, without Python's
    lock. Get a team from `acquire` and `release` it, or use it in a ``with`` statement.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # A team of one neither waits nor has workers: programs that share nothing leave the native functions unloaded.
        pace = _native().pace if threads > 1 else 0.0
        self._epoch = _epoch
        self._block = ctypes.create_string_buffer(BLOCK_BYTES + _ALIGNMENT)
        self.address = -(-ctypes.addressof(self._block) // _ALIGNMENT) * _ALIGNMENT
        """The address of the block that the threads share."""
        running = min(threads, available())
        fields = {
            "grains": 1 if threads == 1 else min(_GRAINS * running, _MOST_GRAINS),
            "parts": _PARTS * running,
            "threads": running,
            "surplus": threads - running,
            # With too few processors, a thread that spins takes one from a thread that works.
            "spinners": available(),
            "spin": int(_SPIN_SECONDS * pace),
            "yield": int(_YIELD_SECONDS * pace),
            "wait": int(_WAIT_SECONDS * pace),
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
        """Run a worker; the bound method keeps the block and the code alive until it returns."""
        _native().worker(self.address, index)

    @property
    def alive(self) -> bool:
        """Whether the workers are in this process: a fork copies the memory of a team, but no thread."""
        return self.threads == 1 or self._epoch == _epoch

    def stop(self) -> None:
        """Stop the workers, and wait until they have left. The team must be idle."""
        if self._workers:
            _native().stop(self.address)
        for worker in self._workers:
            worker.join(_LEAVE_SECONDS)

    def release(self) -> None:
        """Make the team available to other calls."""
        if self.threads == 1 or not self.alive:
            return
        with _lock:
            idle = _idle[self.threads]
            keep = len(idle) < _KEPT
            if keep:
                idle.append(self)
        if not keep:
            self.stop()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def acquire(threads: int) -> Team:
    """Return a team that no other call uses; release it after the call.

    A team of one has no state that changes, so that one serves all calls.
    """
    with _lock:
        idle = _idle[threads]
        if idle:
            return idle[-1] if threads == 1 else idle.pop()
        if threads == 1:
            idle.append(Team(1))
            return idle[0]
    return Team(_checked("acquire", threads))


def _stop_idle(keep: int = 1) -> None:
    """Stop the idle teams, but those of one size."""
    with _lock:
        teams = [team for size in _idle if size not in (1, keep) for team in _idle[size]]
        for size in set(_idle) - {1, keep}:
            del _idle[size]
    for team in teams:
        team.stop()


def _before_fork() -> None:
    """Leave no idle team, whose workers the child would not have, and no half-made one."""
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
