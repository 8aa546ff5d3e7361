"""Outlining: one function carries out all nests with the same code, on other buffers and offsets.

The turns of a Python loop are such nests: they are alike but for where they begin in their buffers (see `likeness`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wengert.compiler.schedule.layout import Layout, linear
from wengert.compiler.schedule.likeness import Likeness
from wengert.compiler.schedule.schedule import Schedule
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Buffer, indices_of
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest


class NestArguments(NamedTuple):
    """The arguments of the function of a nest."""

    buffers: tuple[Buffer, ...]
    starts: tuple[int, ...]
    """The element of each buffer to which its pointer points."""
    counters: tuple[Dim, ...]
    """The counters of surrounding loops that the nest depends on."""

    def of(self, counterparts: Mapping[Any, Any]) -> NestArguments:
        """Return the arguments for a nest that is like this one, with other buffers and counters."""
        at = counterparts.__getitem__
        return NestArguments(tuple(map(at, self.buffers)), self.starts, tuple(map(at, self.counters)))


def nest_arguments(
    nest: Nest, width: int, layouts: Mapping[Buffer, Layout], counters: Iterable[Dim]
) -> NestArguments:
    """Return the arguments of the function of a nest; ``counters`` are those of the loops around it.

    The pointer of a buffer points to where the nest begins in it, unless fewer than ``width`` elements follow there:
    for lanes that do not exist, as many are read from the pointer.
    """
    pairs = nest.accesses()
    least: dict[Buffer, int] = {}
    for buffer, indices in pairs:
        first = linear(layouts[buffer], indices).offset
        least[buffer] = min(first, least.get(buffer, first))
    buffers = tuple(dict.fromkeys((*nest.reads(), *nest.writes())))
    starts = tuple(_start(least.get(buffer, 0), width, layouts[buffer]) for buffer in buffers)
    dims = _all_dims(nest)
    return NestArguments(buffers, starts, tuple(dim for dim in counters if dim in dims))


def _start(first: int, width: int, layout: Layout) -> int:
    return 0 if first < 0 or layout.panel or first + width > layout.size else first


def _all_dims(nest: Nest) -> set[Dim]:
    """Return the dimensions of a nest, and those of the loops around it that it depends on."""
    dims = set(nest.dims)
    indices = [index for store in nest.stores for index in store.indices]
    indices += [index for node in nest.nodes() for index in indices_of(node)]
    for index in indices:
        dims.update(index.dims())
    return dims


def outline_key(
    nest: Nest,
    schedule: Schedule,
    layouts: Mapping[Buffer, Layout],
    passed: NestArguments,
) -> tuple[Any, ...]:
    """Return the key that nests without checks share if they have the same code."""
    likeness = Likeness(layouts, dict(zip(passed.buffers, passed.starts, strict=True)))
    likeness.add_dims(passed.counters)
    likeness.add_nest(nest)
    return (*likeness.key, *_schedule_key(schedule, likeness.number))


def _schedule_key(schedule: Schedule, number: Callable[[object], int]) -> tuple[Any, ...]:
    """Return a schedule with the numbers of dimensions and loads."""
    prefetches = schedule.prefetches
    return (
        None if schedule.lanes is None else number(schedule.lanes),
        schedule.width,
        tuple((number(dim), count) for dim, count in schedule.tile.items()),
        tuple(map(number, schedule.order)),
        frozenset(map(number, schedule.unrolled)),
        tuple((number(dim), size) for dim, size in schedule.blocks.items()),
        schedule.steps,
        tuple(
            (number(dim), number(run.load), run.size, run.ahead)
            for dim, runs in prefetches.runs.items()
            for run in runs
        ),
        frozenset((number(load), ahead) for load, ahead in prefetches.streams.items()),
        tuple(map(number, prefetches.results)),
        schedule.delays_stores,
        schedule.vectors,
    )
