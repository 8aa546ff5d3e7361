"""The work of a process: the function on a chunk of items, and the first item that fails."""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.errors import raised_at
from wengert.engine.core.tree import Structure, flatten, unflatten
from wengert.engine.transforms.batching import vmap
from wengert.parallel.packing import unpacked

Array = np.ndarray[Any, Any]
_KNOWN = 4
"""The number of functions that a worker keeps."""


class Work(NamedTuple):
    """A function of one item, and how it is called.

    Example:
        >>> items, structure = flatten((np.arange(5.0),))
        >>> compute(Work(np.sqrt, structure, 2), 0, items).leaves  # in blocks of two
        [array([0.        , 1.        , 1.41421356, 1.73205081, 2.        ])]
    """

    function: Callable[..., Any]
    structure: Structure
    """Of the arguments."""
    block: int
    """Items in a call of ``vmap(function)``; 0: the function is called with each item."""


class Done(NamedTuple):
    """The results of a chunk."""

    leaves: list[Array]
    structure: Structure
    seconds: float


class Failed(NamedTuple):
    """The first item of a chunk for which the function raised an exception."""

    first: int
    last: int
    """Not the first if the items fail only together."""
    kind: str
    text: str
    location: str
    """The user's line."""
    content: bytes
    """The exception, pickled; empty if that is not possible."""


class Unloaded(NamedTuple):
    """The reason why a worker could not load the function."""

    reason: str


Result = Done | Failed | Unloaded
_known: dict[str, Work] = {}
_packed: dict[str, bytes] = {}


def learn(key: str, content: bytes) -> None:
    """Keep a packed `Work` for `run`; an error is raised by the first `run`.

    Example:
        >>> items, structure = flatten((np.arange(3.0),))
        >>> learn("roots", pickle.dumps(Work(np.sqrt, structure, 0)))
        >>> run("roots", None, 0, items).leaves
        [array([0.        , 1.        , 1.41421356])]
    """
    _packed[key] = content


def run(key: str, content: bytes | None, start: int, leaves: list[Array]) -> Result:
    """Compute a chunk in a worker, from the item number ``start`` on.

    The content is the packed `Work` of a key, or None if this process has got it by `learn`.
    """
    work = _known.get(key)
    if work is None:
        try:
            work = unpacked(_packed[key] if content is None else content)
        except Exception as problem:
            return Unloaded(f"{type(problem).__name__}: {problem}")
        while len(_known) >= _KNOWN:
            del _known[next(iter(_known))]
        _known[key] = work
    return compute(work, start, leaves)


def compute(work: Work, start: int, leaves: list[Array]) -> Done | Failed:
    """Return the results of a chunk, or the first item for which the function fails.

    Example:
        >>> items, structure = flatten((np.array([2, 1, 0]),))
        >>> failed = compute(Work(lambda x: 6 // int(x), structure, 0), 40, items)
        >>> failed.first, failed.kind
        (42, 'ZeroDivisionError')
    """
    began = time.perf_counter()
    parts: list[list[Any]] = []
    structure: Structure | None = None
    for first, block in _blocks(leaves, work.block or 1):
        try:
            values, containers = flatten(_call(work, block))
        except (Exception, SystemExit) as problem:
            return _failed(work, start + first, block, problem)
        if structure is not None and containers != structure:
            problem = TypeError("the results of two items have different containers")
            return _failure(start + first, start + first, problem)
        structure = containers
        parts.append(values)
    assert structure is not None
    join = np.concatenate if work.block else np.stack
    try:
        joined = [join(column) for column in zip(*parts, strict=True)]
    except ValueError as problem:
        return _failure(start, start + len(leaves[0]) - 1, problem)
    return Done(joined, structure, time.perf_counter() - began)


def _blocks(leaves: Sequence[Array], size: int) -> Iterator[tuple[int, list[Array]]]:
    for first in range(0, len(leaves[0]), size):
        yield first, [leaf[first : first + size] for leaf in leaves]


def _call(work: Work, block: list[Array]) -> Any:
    if work.block:
        return vmap(work.function)(*unflatten(work.structure, block))
    return work.function(*unflatten(work.structure, [leaf[0] for leaf in block]))


def _failed(work: Work, start: int, block: list[Array], problem: BaseException) -> Failed:
    """Return the first item of a block that fails alone; otherwise all of the block."""
    count = len(block[0])
    for place, item in _blocks(block, 1) if count > 1 else ():
        try:
            _call(work, item)
        except (Exception, SystemExit) as alone:
            return _failure(start + place, start + place, alone)
    return _failure(start, start + count - 1, problem)


def _failure(first: int, last: int, problem: BaseException) -> Failed:
    problem.add_note("".join(traceback.format_exception(problem)))
    kind, text, location = type(problem).__name__, str(problem), raised_at(problem)
    try:
        content = pickle.dumps(problem)
        pickle.loads(content)
    except Exception:  # an exception may hold anything
        content = b""
    return Failed(first, last, kind, text, location, content)
