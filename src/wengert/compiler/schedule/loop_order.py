"""Loop order: the loops are innermost along which a tile finds most of its operands in the caches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from wengert.compiler.schedule.layout import Layout, linear
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer, Load, loads
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest


def loop_order(
    nest: Nest,
    lanes: Dim | None,
    tile: Mapping[Dim, int],
    width: int,
    layouts: Mapping[Buffer, Layout],
    target: Target,
) -> tuple[Dim, ...]:
    """Return the map dimensions, outermost first, and sequential ones inside the others.

    In a nest with sums, the dimensions come last that load the fewest new bytes from one tile to the next: the rest
    stays in the nearest cache. Otherwise, among equal ones, and where results pass through the caches, those along
    which the first result lies close together. A dimension with tiles for several threads comes first.
    """
    steps = {dim: tile.get(dim, 1) * (width if dim is lanes else 1) for dim in nest.dims}
    place = linear(layouts[nest.stores[0].buffer], nest.stores[0].indices)
    sums = nest.reductions()
    read = list(dict.fromkeys(load for node in sums for load in loads(node.body)))
    inner = min(nest.dims, key=lambda dim: abs(place.coefficient(dim)), default=None)
    last = lanes if read else _along_rows(nest, layouts) or lanes
    streamed = inner is not None and _is_streamed(nest, inner, read, layouts, target)

    def fetched(dim: Dim) -> int:
        total = 0
        for load in read:
            dims = load_dims(load)
            if dim in dims:
                total += math.prod(steps.get(d, d.extent) for d in dims) * load.buffer.dtype.itemsize
        return total

    def key(dim: Dim) -> tuple[bool, bool, int, int]:
        return (
            not read and dim is last,
            dim in nest.sequential,
            0 if streamed else -fetched(dim),
            -abs(place.coefficient(dim)),
        )

    return _shared_first(nest, tuple(sorted(nest.dims, key=key)), steps)


def loop_blocks(
    nest: Nest,
    order: Sequence[Dim],
    panels: Mapping[Dim, int],
    target: Target,
) -> dict[Dim, int]:
    """Return how many tiles of the innermost dimension run before all others go on, where panels exceed the cache.

    The innermost loop reads all panels of a factor for one panel of the other. So many of them form a block as the
    second-level cache holds, and the loops around run for a block after the other.
    """
    inner = order[-1] if order else None
    if inner is None or inner not in panels or not nest.reductions() or len(panels) < 2:
        return {}
    followed = {
        (load.buffer, load.indices): load_dims(load) - {*order[:-1]}
        for node in nest.reductions()
        for load in loads(node.body)
        if inner in load_dims(load)
    }
    swept = sum(
        math.prod(dim.extent for dim in dims) * buffer.dtype.itemsize
        for (buffer, _), dims in followed.items()
    )
    tiles = inner.extent // panels[inner]
    share = target.level2 * costs.COSTS.block_cache_share / swept
    size = int(share * inner.extent) // panels[inner]
    return {inner: -(-tiles // -(-tiles // size))} if 0 < size < tiles else {}


def load_dims(load: Load) -> set[Dim]:
    """Return the dimensions that a load follows."""
    return {dim for index in load.indices for dim in index.dims()}


def _is_streamed(
    nest: Nest, inner: Dim, read: Sequence[Load], layouts: Mapping[Buffer, Layout], target: Target
) -> bool:
    """Return whether the results exceed the caches, and the operands of the sums in a row of results do not."""

    def size(buffer: Buffer) -> int:
        return layouts[buffer].size * buffer.dtype.itemsize

    results = sum(size(buffer) for buffer in {store.buffer for store in nest.stores})
    swept = sum(size(load.buffer) for load in read if inner in load_dims(load))
    return results > target.level2 * costs.COSTS.streamed_results_share >= swept


def _along_rows(nest: Nest, layouts: Mapping[Buffer, Layout]) -> Dim | None:
    """Return the dimension along which a copy into panels reads rows."""
    if not any(layouts[store.buffer].panel for store in nest.stores):
        return None
    positions = [linear(layouts[load.buffer], load.indices) for load in nest.loads()]
    return next(
        (dim for dim in nest.dims if any(position.coefficient(dim) == 1 for position in positions)), None
    )


def _shared_first(nest: Nest, order: tuple[Dim, ...], steps: Mapping[Dim, int]) -> tuple[Dim, ...]:
    """Move the dimension with the most tiles to the front, if the two outer ones have too few for the threads."""

    def tiles(dim: Dim) -> int:
        return -(-dim.extent // steps[dim])

    free = [dim for dim in order if dim not in nest.sequential]
    outer = list(itertools.takewhile(lambda dim: dim not in nest.sequential, order))[:2]
    if not outer or math.prod(map(tiles, outer)) >= costs.COSTS.shared_tiles:
        return order
    first = max(free, key=lambda dim: (min(tiles(dim), costs.COSTS.shared_tiles), -order.index(dim)))
    return (first, *(dim for dim in order if dim is not first))
