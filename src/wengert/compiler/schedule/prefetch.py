"""Prefetching: which loads of a nest are requested ahead of their use.

A processor foresees what lies one after another. It does not foresee the rows that an index array names (Ainsworth and
Jones, Software prefetching for indirect memory accesses, 2017). And where there is much to do for each element of a
long array, too few elements are under way at a time for all of memory's speed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from wengert.compiler.schedule.layout import Layout, linear
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.costs import cost
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import (
    Buffer,
    Expression,
    Guard,
    Load,
    Reduce,
    computed,
    free_dims,
    loads,
    may_lie_outside,
    walk,
)
from wengert.engine.nest.index import Computed, Dim
from wengert.engine.nest.nest import Nest


class IndirectRun(NamedTuple):
    """Elements that lie together at a computed place."""

    load: Load
    size: int
    """Their bytes that are prefetched."""
    ahead: int
    """The number of turns of the loop before."""


class Prefetches(NamedTuple):
    """The loads to prefetch."""

    runs: Mapping[Dim, tuple[IndirectRun, ...]] = {}
    """Runs at computed places, by the loop whose turns they are prefetched ahead."""
    streams: Mapping[Load, int] = {}
    """Loads that stream through an array once, and how many bytes ahead they are prefetched."""
    results: tuple[Load, ...] = ()
    """Loads that a tile needs after its sums: prefetched before them."""


def choose_prefetches(
    nest: Nest,
    lanes: Dim | None,
    order: Sequence[Dim],
    layouts: Mapping[Buffer, Layout],
    target: Target,
    tile_bytes: int = 1,
) -> Prefetches:
    """Return the loads to prefetch: those of buffers that are larger than the processor's own caches.

    A tile has ``tile_bytes`` along the lanes.
    """
    runs: dict[Dim, tuple[IndirectRun, ...]] = {}
    for load in nest.loads():
        if load.buffer.size * load.buffer.dtype.itemsize > target.level2:
            for dim, run in _runs(load, lanes, order, layouts[load.buffer]):
                runs[dim] = (*runs.get(dim, ()), run)
    streams = {**_streams(nest, lanes, layouts), **_rows(nest, lanes, tile_bytes, layouts, target)}
    return Prefetches(runs, streams, _results(nest, lanes, layouts))


def _results(nest: Nest, lanes: Dim | None, layouts: Mapping[Buffer, Layout]) -> tuple[Load, ...]:
    """Return the loads after the sums of a product of panels, such as the totals of blocks before."""
    nodes = nest.reductions()
    inside = [load for node in nodes for load in loads(node.body)]
    if not inside or lanes not in nest.dims or not all(layouts[load.buffer].panel for load in inside):
        return ()
    after = [load for store in nest.stores for load in loads(store.value, Reduce)]
    distinct = {(load.buffer, load.indices): load for load in after if is_contiguous(load, lanes, layouts)}
    return tuple(distinct.values())


def _rows(
    nest: Nest,
    lanes: Dim | None,
    tile_bytes: int,
    layouts: Mapping[Buffer, Layout],
    target: Target,
) -> dict[Load, int]:
    """Return the loads by which reductions read a piece of each row once: no processor foresees the next row."""
    points = math.prod(dim.extent for dim in nest.own_dims())
    distances: dict[Load, int] = {}
    for node in nest.reductions():
        for load in loads(node.body):
            size = load.buffer.dtype.itemsize
            far = load.buffer.size * size > target.level2 and points <= load.buffer.size
            if far and lanes in nest.dims and is_contiguous(load, lanes, layouts):
                row = abs(linear(layouts[load.buffer], load.indices).coefficient(node.dims[-1])) * size
                wanted = max(1, costs.COSTS.stream_distance_bytes // tile_bytes)
                ahead = min(wanted, node.dims[-1].extent // costs.COSTS.prefetched_rows)
                if row >= costs.COSTS.prefetched_row_bytes and 2 * ahead >= wanted:
                    distances[load] = row * ahead
    return distances


def _streams(nest: Nest, lanes: Dim | None, layouts: Mapping[Buffer, Layout]) -> dict[Load, int]:
    """Return the contiguous loads by which reductions read each element once, if an element takes much work."""
    points = math.prod(dim.extent for dim in nest.own_dims())
    streams: set[Load] = set()
    for load in (load for node in nest.reductions() for load in loads(node.body)):
        large = load.buffer.size * load.buffer.dtype.itemsize > costs.COSTS.streamed_array_bytes
        if large and points <= load.buffer.size and is_contiguous(load, lanes, layouts):
            streams.add(load)
    busy = sum(cost(store.value) for store in nest.stores) >= costs.COSTS.streamed_element_work * len(streams)
    return dict.fromkeys(streams, costs.COSTS.stream_distance_bytes) if busy else {}


def is_contiguous(load: Load, lanes: Dim | None, layouts: Mapping[Buffer, Layout]) -> bool:
    """Return whether a load is affine, and its lanes read adjacent elements."""
    position = linear(layouts[load.buffer], load.indices)
    affine = all(isinstance(term, Dim) for term, _ in position.terms)
    return affine and lanes is not None and position.coefficient(lanes) == 1


def computed_places(nest: Nest) -> Iterator[Expression]:
    """Yield the expressions of computed indices that are evaluated at each point unconditionally.

    Those that depend on a reduction are left out: they are known only after it.
    """
    for store in nest.stores:
        read = [load.indices for load in loads(store.value, Guard, Reduce)]
        for place in computed(index for indices in (store.indices, *read) for index in indices):
            if not _is_reduced(place):
                yield place


def _is_reduced(place: Expression) -> bool:
    """Return whether a place depends on a reduction of the nest."""
    return any(isinstance(node, Reduce) for node in walk(place))


def _runs(
    load: Load, lanes: Dim | None, order: Sequence[Dim], layout: Layout
) -> Iterator[tuple[Dim, IndirectRun]]:
    """Yield the run of a load and the innermost loop on which its place depends, if there is one.

    The computed index is read earlier than in the program, where no condition guarantees that it exists.
    """
    position = linear(layout, load.indices)
    computed_terms = [term for term, _ in position.terms if isinstance(term, Computed)]
    affine_terms = [(term, factor) for term, factor in position.terms if not isinstance(term, Computed)]
    depends = set[Dim]().union(*(free_dims(place.expression) for place in computed_terms))
    counters = [dim for dim in order if dim in depends]
    if not counters or lanes in depends or any(not isinstance(term, Dim) for term, _ in affine_terms):
        return
    if any(may_lie_outside(place.expression) or _is_reduced(place.expression) for place in computed_terms):
        return
    outer = order[: order.index(counters[-1]) + 1]
    inner = [(dim, factor) for dim, factor in affine_terms if isinstance(dim, Dim) and dim not in outer]
    span = sum(factor * (dim.extent - 1) for dim, factor in inner) + 1
    elements = math.prod(dim.extent for dim, _ in inner)
    if all(factor > 0 for _, factor in inner) and 2 * elements >= span:
        size = span * load.buffer.dtype.itemsize
        most = costs.COSTS.prefetch_distance_bytes
        turns = max(1, min(most // size, costs.COSTS.prefetch_distance_turns))
        yield counters[-1], IndirectRun(load, min(size, most), turns)
