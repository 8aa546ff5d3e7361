"""The order of a sweep: which chunk next, what to do with results, failures and lost workers."""

from __future__ import annotations

import pickle
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.errors import (
    ConcreteError,
    LostDerivativeError,
    UnsupportedError,
    WengertError,
    located,
    split_location,
)
from wengert.engine.core.progress import Bar
from wengert.engine.core.tree import Structure, unflatten
from wengert.parallel.chunks import Array, Done, Failed, Result, Unloaded, Work
from wengert.parallel.crews import Crew
from wengert.parallel.journal import Journal
from wengert.parallel.packing import title

_SECONDS = 0.5
"""The time of a chunk: sending it costs a thousandth of that, and little is lost with it."""
_GROWTH = 8
"""The most by which the length of chunks grows: the first items may be cheaper than the others."""
_TRIES = 3
_IN_HAND = 2
"""Chunks for each worker: it must not wait for the next one."""
_UNFOLLOWED = {kind.__name__ for kind in (ConcreteError, LostDerivativeError, UnsupportedError)}


class MapError(WengertError, RuntimeError):
    """The function raised an exception for an item, which is the ``__cause__``, or workers died again and again.

    Attributes:
        index: the first item that the error is about.
    """

    def __init__(self, text: str, index: int) -> None:
        super().__init__(text)
        self.index = index


class WorkerError(WengertError, RuntimeError):
    """The workers cannot start, cannot load the function, or are gone."""


class _Chunk(NamedTuple):
    start: int
    stop: int
    losses: int = 0
    """The number of workers that died with it."""


class Sweep:
    """One `map`: the results so far, and the work that is left.

    The journal has results of earlier processes, and gets those of this one. Chunks have a length of ``chunk``, or, if
    it is None, one by time.
    """

    def __init__(
        self,
        work: Work,
        leaves: list[Array],
        items: int,
        crew: Crew,
        journal: Journal | None,
        bar: Bar,
        chunk: int | None,
    ) -> None:
        self._work, self._leaves, self._items = work, leaves, items
        self._crew, self._journal, self._bar = crew, journal, bar
        self._unit = max(work.block, 1)
        self._length = self._unit if chunk is None else -(-chunk // self._unit) * self._unit
        self._is_timed = chunk is None
        self._results: list[Array] | None = None
        self._structure: Structure | None = None
        self._gaps: deque[_Chunk] = deque()
        self._lost: deque[_Chunk] = deque()
        self._pending: dict[Future[Result], _Chunk] = {}
        self._left = items

    def result(self) -> Any:
        """Compute what is missing, and return all results."""
        self._restore()
        try:
            while self._gaps or self._lost or self._pending:
                self._submit()
                self._collect()
        finally:
            for future in self._pending:
                future.cancel()
        assert self._structure is not None
        assert self._results is not None
        return unflatten(self._structure, self._results)

    def _restore(self) -> None:
        """Take the results in the journal."""
        done = np.zeros(self._items, np.bool_)
        for record in self._journal.records() if self._journal is not None else ():
            self._store(record.start, record.leaves)
            self._structure = record.structure
            done[record.start : record.start + len(record.leaves[0])] = True
        self._left = int(np.count_nonzero(~done))
        if not self._left and self._structure is None:  # a block tells the containers of the results
            done[: self._unit] = False
        edges = np.flatnonzero(np.diff(np.concatenate([[True], done, [True]]).astype(np.int8)))
        self._gaps.extend(_Chunk(int(start), int(stop)) for start, stop in edges.reshape(-1, 2))

    # -- chunks out ------------------------------------------------------------------------------------

    def _submit(self) -> None:
        """Give work to the workers. A chunk that was lost twice goes alone, so that it is not blamed for another."""
        suspect = any(chunk.losses >= _TRIES - 1 for chunk in (*self._lost, *self._pending.values()))
        most = 1 if suspect else _IN_HAND * self._crew.workers
        while len(self._pending) < most and (chunk := self._next()) is not None:
            leaves = [leaf[chunk.start : chunk.stop] for leaf in self._leaves]
            try:
                self._pending[self._crew.submit(chunk.start, leaves)] = chunk
            except BrokenExecutor as problem:
                self._lost.append(chunk)
                if not self._pending:
                    self._renew(problem)
                return

    def _next(self) -> _Chunk | None:
        if self._lost:
            worst = max(self._lost, key=lambda chunk: chunk.losses)
            self._lost.remove(worst)
            return worst
        if not self._gaps:
            return None
        gap = self._gaps.popleft()
        stop = min(gap.start + self._length, gap.stop)
        if stop < gap.stop:
            self._gaps.appendleft(_Chunk(stop, gap.stop))
        return _Chunk(gap.start, stop)

    def _pace(self, chunk: _Chunk, seconds: float) -> None:
        """Choose the length of the next chunks from the time of one."""
        if not self._is_timed:
            return
        count = chunk.stop - chunk.start
        wanted = min(count * _SECONDS / max(seconds, 1e-9), _GROWTH * self._length)
        fair = -(-sum(gap.stop - gap.start for gap in self._gaps) // (_IN_HAND * self._crew.workers))
        self._length = max(int(min(wanted, fair)) // self._unit, 1) * self._unit

    # -- chunks in -------------------------------------------------------------------------------------

    def _collect(self) -> None:
        """Take the results of finished chunks; give lost ones to new workers."""
        broken: BaseException | None = None
        while self._pending:
            done = wait(self._pending, return_when=FIRST_COMPLETED).done
            for future in sorted(
                done, key=_has_failed
            ):  # a failure ends the sweep: keep the other results before
                chunk = self._pending.pop(future)
                try:
                    result = future.result()
                except Exception as problem:  # chunks.run returns those of the function
                    self._lose(chunk, problem)
                    broken = problem if isinstance(problem, BrokenExecutor) else broken
                else:
                    self._take(chunk, result)
            if broken is None:
                return
        if broken is not None:
            self._renew(broken)

    def _lose(self, chunk: _Chunk, problem: Exception) -> None:
        chunk = chunk._replace(losses=chunk.losses + 1)
        if chunk.losses >= _TRIES:
            reason = f"{type(problem).__name__}: {problem}"
            place = self._named(chunk.start, chunk.stop - 1)
            died = isinstance(problem, (BrokenExecutor, ConnectionError))
            text = f"map: {_TRIES} workers died in {place}" if died else f"map: {place} failed {_TRIES} times"
            text = f"{text}: {reason}"
            raise MapError(text, chunk.start) from problem
        self._lost.append(chunk)

    def _renew(self, problem: BaseException) -> None:
        if reason := self._crew.renew():
            raise WorkerError(f"map: {reason}") from problem

    def _take(self, chunk: _Chunk, result: Result) -> None:
        match result:
            case Done(leaves, structure, seconds):
                if self._structure is not None and structure != self._structure:
                    text = (
                        f"map: {self._named(chunk.start, chunk.stop - 1)} has other containers in its result"
                    )
                    raise MapError(text, chunk.start)
                self._store(chunk.start, leaves)
                self._structure = structure
                if self._journal is not None:
                    self._journal.add(chunk.start, leaves, structure)
                self._left -= chunk.stop - chunk.start
                self._pace(chunk, seconds)
                self._bar.show(self._items - self._left)
            case Failed():
                raise self._failure(result)
            case Unloaded(reason):
                hint = "define the function in a module that the workers can import"
                name = title(self._work.function)
                raise WorkerError(f"map: a worker cannot load {name}: {reason}; {hint}")

    def _failure(self, failed: Failed) -> MapError:
        name, (text, _) = title(self._work.function), split_location(failed.text)
        text = f"map: {name} failed for {self._named(failed.first, failed.last)}: {failed.kind}: {text.rstrip('.')}"
        if self._work.block and failed.kind in _UNFOLLOWED:
            text += "; vectorized=False calls it with an item at a time"
        error = MapError(located(f"{text}.", failed.location), failed.first)
        if failed.content:
            error.__cause__ = pickle.loads(failed.content)
        return error

    def _named(self, first: int, last: int) -> str:
        items = f"item {first}" if first == last else f"items {first} to {last}"
        return f"{items} of {self._items}"

    def _store(self, start: int, leaves: list[Array]) -> None:
        if self._results is None:
            self._results = [np.empty((self._items, *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
        expected = [(leaf.shape[1:], leaf.dtype) for leaf in self._results]
        got = [(leaf.shape[1:], leaf.dtype) for leaf in leaves]
        if got != expected:
            shown = [
                ", ".join(f"{dtype}{list(shape)}" for shape, dtype in leaves) for leaves in (got, expected)
            ]
            stop = start + len(leaves[0]) - 1
            text = f"map: {self._named(start, stop)} gave {shown[0]}, others {shown[1]}"
            raise MapError(f"{text}: all results must have the same shapes and dtypes", start)
        for whole, part in zip(self._results, leaves, strict=True):
            whole[start : start + len(part)] = part


def _has_failed(future: Future[Result]) -> bool:
    return future.cancelled() or future.exception() is not None or not isinstance(future.result(), Done)
