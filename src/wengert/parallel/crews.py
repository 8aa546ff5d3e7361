"""The workers of a sweep: new processes, threads, or an executor from elsewhere."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any, Protocol

from wengert.engine.machine.target import available
from wengert.parallel.chunks import Array, Result, Work, compute, run
from wengert.parallel.pool import Pool

_OTHERS = "a worker died and the executor is broken; give a new one, and a journal to keep finished chunks"
_UNSTARTED = (
    "the workers end before they begin: see their messages above; a program that is a file must call map below "
    'if __name__ == "__main__":'
)


class Crew(Protocol):
    """Workers that compute chunks."""

    workers: int
    """The number of workers."""

    def submit(self, start: int, leaves: list[Array]) -> Future[Result]:
        """Compute a chunk."""
        ...

    def renew(self) -> str:
        """Replace the workers after the death of one; return why that is impossible, or an empty string."""
        ...


class Processes:
    """A pool of new processes, which end with this one, for the packed work of a key."""

    def __init__(self, workers: int, threads: int, key: str, content: bytes) -> None:
        self.workers = workers
        self._arguments = workers, threads, key, content
        self._pool = Pool(*self._arguments)

    def submit(self, start: int, leaves: list[Array]) -> Future[Result]:
        """Compute a chunk."""
        return self._pool.submit(run, self._arguments[2], None, start, leaves)

    def renew(self) -> str:
        """Replace the pool, unless none of its workers has begun."""
        self._pool.close(at_once=True)
        if not self._pool.has_started:
            return _UNSTARTED
        self._pool = Pool(*self._arguments)
        return ""

    def close(self, *, at_once: bool) -> None:
        """End the processes."""
        self._pool.close(at_once=at_once)


class Threads:
    """Threads of this process, which call the function itself.

    Args:
        executor: has the threads.
        workers: how many; by default, all of them.
        work: the function.

    Example:
        >>> import numpy as np
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from wengert.engine.core.tree import flatten
        >>> items, structure = flatten((np.array([1.0, 4.0]),))
        >>> with ThreadPoolExecutor(2) as executor:
        ...     crew = Threads(executor, None, Work(np.sqrt, structure, 2))
        ...     crew.workers, crew.submit(0, items).result().leaves
        (2, [array([1., 2.])])
    """

    def __init__(self, executor: Executor, workers: int | None, work: Work) -> None:
        self.workers = workers or _count(executor)
        self._executor, self._work = executor, work

    def submit(self, start: int, leaves: list[Array]) -> Future[Result]:
        """Compute a chunk."""
        return self._executor.submit(compute, self._work, start, leaves)

    def renew(self) -> str:
        """Change nothing: the executor is the caller's."""
        return _OTHERS


class Elsewhere:
    """An executor of processes, perhaps on other machines; the function travels with each chunk.

    Args:
        executor: from elsewhere.
        workers: how many it has; by default, the number that it tells, or that of this machine's processors.
        key: of the work.
        content: the packed work.

    Example:
        >>> import pickle
        >>> import numpy as np
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from wengert.engine.core.tree import flatten
        >>> items, structure = flatten((np.array([1.0, 4.0]),))
        >>> with ThreadPoolExecutor(1) as executor:
        ...     crew = Elsewhere(executor, 3, "roots of a cluster", pickle.dumps(Work(np.sqrt, structure, 2)))
        ...     crew.workers, crew.submit(0, items).result().leaves
        (3, [array([1., 2.])])
    """

    def __init__(self, executor: Executor, workers: int | None, key: str, content: bytes) -> None:
        self.workers = workers or _count(executor)
        self._executor, self._key, self._content = executor, key, content

    def submit(self, start: int, leaves: list[Array]) -> Future[Result]:
        """Compute a chunk."""
        return self._executor.submit(run, self._key, self._content, start, leaves)

    def renew(self) -> str:
        """Change nothing: the executor is the caller's."""
        return _OTHERS


def _count(executor: Any) -> int:
    names = "_max_workers", "num_workers"
    counts = (getattr(executor, name, None) for name in names)
    return next((count for count in counts if isinstance(count, int) and count > 0), available())
