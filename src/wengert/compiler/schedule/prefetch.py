"""What a nest reads from afar, and asks for ahead of its use.

A processor foresees what lies one after another. It does not foresee the rows that an index array names (Ainsworth and
Jones, Software prefetching for indirect memory accesses, 2017). And where there is much to do for each element of a
long array, too few elements are under way at a time for all of memory's speed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wengert.compiler.machine.costs import cost
from wengert.compiler.machine.target import Target
from wengert.compiler.schedule.layout import Layout, linear
from wengert.nest.expression import (
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
from wengert.nest.index import Computed, Dim
from wengert.nest.nest import Nest

RUN_LEVEL = 2
"""Of the caches, the one that runs are asked up to: it waits for more lines at a time than the first."""
_AHEAD = 4096
"""Bytes to be ahead by: what is read in the time in which the first of them comes."""
_MOST_TURNS = 16
"""Turns of a loop to be ahead by, at most."""
_FAR = 1 << 24
"""Bytes of an array from which on most of it comes from memory."""
_BUSY = 6
"""Operations on each element of such an array from which on it is asked for ahead."""


class Run(NamedTuple):
    """Elements that lie together at a computed place."""

    load: Load
    size: int
    """Their bytes, as far as they are asked for."""
    ahead: int
    """How many turns of the loop before."""


class Afar(NamedTuple):
    """What is asked for ahead of its use."""

    runs: Mapping[Dim, tuple[Run, ...]] = {}
    """What lies at computed places: some turns of that loop before."""
    streams: frozenset[Load] = frozenset()
    """What is read from beginning to end, each element once: some lines before."""


def find(
    nest: Nest, lanes: Dim | None, order: Sequence[Dim], layouts: Mapping[Buffer, Layout], target: Target
) -> Afar:
    """Return what to ask for ahead: of buffers that are larger than the processor's own caches."""
    runs: dict[Dim, tuple[Run, ...]] = {}
    for load in nest.loads():
        if load.buffer.size * load.buffer.dtype.itemsize > target.level2:
            for dim, run in _runs(load, lanes, order, layouts[load.buffer]):
                runs[dim] = (*runs.get(dim, ()), run)
    return Afar(runs, _streams(nest, lanes, layouts))


def _streams(nest: Nest, lanes: Dim | None, layouts: Mapping[Buffer, Layout]) -> frozenset[Load]:
    """Return what reductions read in a line, each element once, if there is much to do for it."""
    points = math.prod(dim.extent for dim in nest.own_dims())
    found: set[Load] = set()
    for load in (load for node in nest.nodes() if isinstance(node, Reduce) for load in loads(node.body)):
        large = load.buffer.size * load.buffer.dtype.itemsize > _FAR
        if large and points <= load.buffer.size and is_line(load, lanes, layouts):
            found.add(load)
    busy = sum(cost(store.value) for store in nest.stores) >= _BUSY * len(found)
    return frozenset(found) if busy else frozenset()


def is_line(load: Load, lanes: Dim | None, layouts: Mapping[Buffer, Layout]) -> bool:
    """Tell whether a place is known beforehand, and the lanes read elements that lie next to one another."""
    position = linear(layouts[load.buffer], load.indices)
    affine = all(isinstance(term, Dim) for term, _ in position.terms)
    return affine and lanes is not None and position.coefficient(lanes) == 1


def places(nest: Nest) -> Iterator[Expression]:
    """Go through what tells the computed places that are read or written at each point, on no condition.

    What a reduction tells is left out: it is known once the reduction has run.
    """
    for store in nest.stores:
        read = [load.indices for load in loads(store.value, Guard, Reduce)]
        for place in computed(index for indices in (store.indices, *read) for index in indices):
            if not _is_reduced(place):
                yield place


def _is_reduced(place: Expression) -> bool:
    """Tell whether a place depends on a reduction of the nest."""
    return any(isinstance(node, Reduce) for node in walk(place))


def _runs(load: Load, lanes: Dim | None, order: Sequence[Dim], layout: Layout) -> Iterator[tuple[Dim, Run]]:
    """Yield the run of a load and the innermost loop on which its place depends, if there is one.

    What tells the place is read earlier than the program says, where no condition may have seen to it that it exists.
    """
    position = linear(layout, load.indices)
    told = [term for term, _ in position.terms if isinstance(term, Computed)]
    others = [(term, factor) for term, factor in position.terms if not isinstance(term, Computed)]
    depends = set[Dim]().union(*(free_dims(place.expression) for place in told))
    mine = [dim for dim in order if dim in depends]
    if not mine or lanes in depends or any(not isinstance(term, Dim) for term, _ in others):
        return
    if any(may_lie_outside(place.expression) or _is_reduced(place.expression) for place in told):
        return
    outer = order[: order.index(mine[-1]) + 1]
    inner = [(dim, factor) for dim, factor in others if isinstance(dim, Dim) and dim not in outer]
    span = sum(factor * (dim.extent - 1) for dim, factor in inner) + 1
    elements = math.prod(dim.extent for dim, _ in inner)
    if all(factor > 0 for _, factor in inner) and 2 * elements >= span:
        size = span * load.buffer.dtype.itemsize
        yield mine[-1], Run(load, min(size, _AHEAD), max(1, min(_AHEAD // size, _MOST_TURNS)))
