"""`map`: a function of one item over many items, in chunks, on other processes."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np

from wengert._version import versions
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.progress import Bar
from wengert.engine.core.tree import flatten
from wengert.engine.core.tree import show as show_structure
from wengert.engine.machine.target import available
from wengert.engine.transforms.batching import vmap
from wengert.parallel.chunks import Array, Work
from wengert.parallel.crews import Crew, Elsewhere, Processes, Threads
from wengert.parallel.identity import digest
from wengert.parallel.journal import Journal
from wengert.parallel.packing import packed, title
from wengert.parallel.sweep import Sweep

_BLOCKS = 256
"""A block is at most this part of all items, so that many workers get equal shares."""
_LONGEST = 1024
"""Longer blocks gain nothing."""


def map(
    f: Callable[..., Any],
    /,
    *arrays: Any,
    chunk: int | None = None,
    executor: Executor | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    workers: int | None = None,
    threads: int = 1,
    block: int | None = None,
    vectorized: bool = True,
) -> Any:
    """Map a function over the first axis of arrays, in chunks on other processes.

    ``map(f, xs)[i] = f(xs[i])``, as `vmap` computes it: a worker calls ``vmap(f)`` on a block of items. Results do not
    depend on the chunks, the executor, or the number of workers, in any bit: a block has a fixed number of items.
    They have the bits of ``vmap(f)(xs)``, except where a matrix product (or a compiled function) adds in another
    order for another number of items; ``block=len(xs)`` is ``vmap`` itself.

    Args:
        f: a function of one item. Closures, lambdas and transformed functions work, too.
        arrays: an argument of ``f`` each: an array, or a container of arrays, whose first axis runs over the items.
            Give values that all items share by `functools.partial`.
        chunk: the number of items that a worker gets at a time, rounded up to whole blocks. By default chunks take
            about half a second.
        executor: of `concurrent.futures`; by default a new pool of processes.
        journal: a file that keeps the results of finished chunks. The same call continues from it.
        progress: show a progress bar, once the work takes more than a second; by default, in a terminal or a notebook.
        workers: the number of processes; by default one per processor. For another executor, the number of its workers,
            so that all get work.
        threads: of each new process, in compiled functions and in NumPy's linear algebra.
        block: the number of items of a call of ``vmap(f)``. By default a power of two up to 1024, at most 1/256 of
            the items, so that it depends on their number alone.
        vectorized: if False, a worker calls ``f`` with an item at a time, and joins the results: for functions that
            `vmap` cannot follow, such as simulations and programs that branch on values.

    Returns:
        The results of ``f`` with a first axis of items: an array, or a container of arrays.

    Raises:
        ArgumentError: the arrays disagree on the number of items, or have none with ``vectorized=False``; or the
            journal is one of other inputs.
        MapError: ``f`` raised an exception, or a worker died three times in the same chunk. The message names the item.
        UnsupportedError: ``f`` cannot be sent to another process.
        WorkerError: the workers do not start, or cannot load ``f``.
        JournalError: the journal cannot be read or written.

    Example:
        >>> import numpy as np
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> import wengert as wg
        >>> with ThreadPoolExecutor(2) as threads:
        ...     map(wg.grad(np.sin), np.zeros(3), executor=threads)
        array([1., 1., 1.])
    """
    for name, count in (("chunk", chunk), ("workers", workers), ("threads", threads), ("block", block)):
        if count is not None and (type(count) is not int or count < 1):
            raise ArgumentError(message("map", f"{name} must be an integer of at least 1", repr(count)))
    values, structure = flatten(arrays)
    leaves = [np.asarray(leaf) for leaf in values]
    items = _count(leaves)
    if not items:
        if vectorized:
            return vmap(f)(*arrays)
        requirement = "with vectorized=False there must be an item: the first result tells the shapes"
        raise ArgumentError(message("map", requirement, "no items"))
    work = Work(f, structure, (block or _block(items)) if vectorized else 0)
    inputs = {} if journal is None else _inputs(work, leaves, items)
    with (
        contextlib.nullcontext() if journal is None else contextlib.closing(Journal(journal, inputs)) as log,
        _crew(work, executor, workers, threads) as crew,
        Bar("map", items, progress) as bar,
    ):
        return Sweep(work, leaves, items, crew, log, bar, chunk).result()


def _count(leaves: list[Array]) -> int:
    """Return the number of items; raise `ArgumentError` if arrays disagree on it."""
    if any(leaf.dtype.hasobject for leaf in leaves):
        raise ArgumentError(message("map", "the items must be arrays of numbers", "an array of objects"))
    if not leaves or any(leaf.ndim == 0 for leaf in leaves):
        hint = "give values that all items share by functools.partial(f, ...)"
        raise ArgumentError(
            message("map", "each argument must have an axis of items", "a scalar or none", hint)
        )
    counts = sorted({len(leaf) for leaf in leaves})
    if len(counts) > 1:
        raise ArgumentError(message("map", "all arrays must have the same number of items", str(counts)))
    return counts[0]


def _block(items: int) -> int:
    """Return the default number of items of a block: a function of the number of all items alone.

    Example:
        >>> [_block(items) for items in (1, 100, 1000, 10_000, 1_000_000)]
        [1, 1, 2, 32, 1024]
    """
    return min(_LONGEST, 1 << max(items // _BLOCKS, 1).bit_length() - 1)


def _inputs(work: Work, leaves: list[Array], items: int) -> dict[str, Any]:
    """Return what the results depend on, for the first line of a journal."""
    return {
        "function": title(work.function),
        "its code": digest(work.function),
        "items": items,
        "arguments": show_structure(work.structure),
        "arrays": [f"{leaf.dtype}{list(leaf.shape)}" for leaf in leaves],
        "their content": digest(leaves),
        "block": work.block,
        "versions": versions(),
    }


@contextlib.contextmanager
def _crew(
    work: Work, executor: Executor | None, workers: int | None, threads: int
) -> Generator[Crew, None, None]:
    """Yield the workers; end new ones, at once if the work fails."""
    if isinstance(executor, ThreadPoolExecutor):
        yield Threads(executor, workers, work)
        return
    content = packed("map", work.function, work, shares_main=executor is None)
    if executor is not None:
        yield Elsewhere(executor, workers, secrets.token_hex(8), content)
        return
    crew = Processes(workers or available(), threads, secrets.token_hex(8), content)
    try:
        yield crew
    except BaseException:
        crew.close(at_once=True)
        raise
    crew.close(at_once=False)
