"""Delayed stores: whether a tile stores its results while the next one reduces; software pipelining (Lam, 1988)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from wengert.compiler.schedule.layout import Layout
from wengert.engine.machine import costs
from wengert.engine.machine.costs import DIVISION, weight
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Guard,
    Load,
    Reduce,
    computed,
    free_dims,
    indices_of,
    is_check,
    walk,
)
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Nest


def delays_stores(
    nest: Nest,
    lanes: Dim | None,
    width: int,
    tile: Mapping[Dim, int],
    unrolled: frozenset[Dim],
    layouts: Mapping[Buffer, Layout],
) -> bool:
    """Return whether to delay the stores of a nest: whether that is legal, and the results have a long latency."""
    nodes = nest.reductions()
    if len(nodes) != 1 or lanes not in nest.dims or nest.sequential:
        return False
    (node,) = nodes
    if not node.dims or node.dims[0] in unrolled:
        return False
    points = math.prod(tile.values())
    whole = math.prod(dim.extent // (tile.get(dim, 1) * (width if dim is lanes else 1)) for dim in nest.dims)
    # Of loops that have no bounds and are not written out, the first dimension's is the outermost.
    is_hidden = node.dims[0].extent >= costs.COSTS.delayed_store_steps * points
    pays = whole >= costs.COSTS.delayed_store_tiles and is_hidden and _is_waited_for(nest)
    return pays and _is_long_sum(node, lanes) and _may_wait(nest, layouts)


def _is_waited_for(nest: Nest) -> bool:
    """Return whether the slowest operation on a sum is a division or a root."""
    results = (node for store in nest.stores for node in walk(store.value, Reduce))
    return max((weight(node.operation) for node in results if isinstance(node, Apply)), default=0) == DIVISION


def _is_long_sum(node: Reduce, lanes: Dim | None) -> bool:
    """Return whether a reduction gives a vector of numbers, by loops that go all the way."""
    inner = any(isinstance(inner, (Reduce, Guard)) for inner in walk(node.body))
    return not inner and lanes in free_dims(node) and not node.returns_index and node.dtype.kind != "b"


def _may_wait(nest: Nest, layouts: Mapping[Buffer, Layout]) -> bool:
    """Return whether results are the same wherever they are computed, and complain of nothing.

    An element of a panel is addressed from the first point of its tile.
    """
    results = [node for store in nest.stores for node in walk(store.value, Reduce)]
    buffers = {node.buffer for node in results if isinstance(node, Load)}
    indices = [index for store in nest.stores for index in store.indices]
    indices += [index for node in results for index in indices_of(node)]
    return (
        is_in_place(nest)
        and not any(store.along or store.combiner for store in nest.stores)
        and not any(layouts[buffer].panel for buffer in (*buffers, *nest.writes()))
        and not any(map(is_check, results))
        and not any(computed(indices))
    )


def is_in_place(nest: Nest) -> bool:
    """Return whether each point reads only elements that no other point writes."""
    written: dict[Buffer, set[tuple[Index, ...]]] = {}
    for store in nest.stores:
        written.setdefault(store.buffer, set()).add(store.indices)
    read = [node for node in nest.nodes() if isinstance(node, Load) and node.buffer in written]
    return all(written[load.buffer] == {load.indices} for load in read)
