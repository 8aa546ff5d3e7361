"""A pool of processes that holds one function, and ends with the process that made it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Generator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from wengert.engine.core.blas_threads import limit_blas
from wengert.engine.core.errors import UnsupportedError, message
from wengert.parallel import chunks
from wengert.parallel.orphans import end_with_parent


class Pool:
    """Worker processes that have got the packed work at their start.

    The threads of each are for compiled functions and for NumPy's linear algebra.
    """

    def __init__(self, workers: int, threads: int, key: str, content: bytes) -> None:
        check_main()
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
        self._started = context.Event()
        arguments = os.getpid(), key, content, threads, self._started
        self._executor = ProcessPoolExecutor(workers, context, _begin, arguments)

    @property
    def has_started(self) -> bool:
        """Whether a worker has begun."""
        return self._started.is_set()

    def submit(self, *arguments: Any) -> Future[Any]:
        """Call a function in a worker."""
        with _without_missing_main():  # the call may start a process
            return self._executor.submit(*arguments)

    def close(self, *, at_once: bool) -> None:
        """End the workers: idle ones, or ``at_once`` by killing them."""
        processes: list[Any] = list((getattr(self._executor, "_processes", None) or {}).values())
        if at_once:
            for process in processes:
                process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


def check_main() -> None:
    """Raise `UnsupportedError` in a worker that still imports the program's main module."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        requirement = "a worker imports the program's main module, which must not start workers again"
        hint = 'put the call below if __name__ == "__main__":'
        raise UnsupportedError(message("map", requirement, hint=hint))


@contextlib.contextmanager
def _without_missing_main() -> Generator[None, None, None]:
    """Hide the name of a main module that is not a file, such as ``<stdin>``: a new process would look for it."""
    variables = vars(sys.modules["__main__"])
    name = variables.get("__file__")
    if name is None or os.path.exists(name):
        yield
        return
    del variables["__file__"]
    try:
        yield
    finally:
        variables["__file__"] = name


def _begin(parent: int, key: str, content: bytes, threads: int, started: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; the parent ends the workers
    end_with_parent(parent)
    limit_blas(threads)
    os.environ["WENGERT_THREADS"] = str(threads)  # for compiled functions
    chunks.learn(key, content)
    started.set()
