"""Schedule: for each nest the lanes, the register tile and the order of the loops, by a model of the processor."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import field

from wengert.compiler.schedule.delay_stores import delays_stores
from wengert.compiler.schedule.layout import Layout, linear
from wengert.compiler.schedule.loop_order import loop_blocks, loop_order
from wengert.compiler.schedule.prefetch import Prefetches, choose_prefetches
from wengert.compiler.schedule.register_tile import (
    choose_tile,
    guarded_dims,
    has_functions,
    interleave_count,
    stride,
    transposed_dim,
)
from wengert.compiler.schedule.strides import joined_cost, joined_stores, pair_place
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.records import record
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Apply, Buffer, Expression, Load, Reduce, walk
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest, Store


@record(eq=True)
class Schedule:
    """The schedule of a nest."""

    lanes: Dim | None
    """The dimension along vectors."""
    width: int
    """Elements of a vector; 1 where there are no lanes."""
    tile: Mapping[Dim, int]
    """Points of a dimension computed together; along the lanes, vectors."""
    order: tuple[Dim, ...]
    """The map dimensions, outermost first."""
    unrolled: frozenset[Dim] = field(default_factory=frozenset[Dim])
    """Dimensions of reductions that are written out."""
    blocks: Mapping[Dim, int] = field(default_factory=dict[Dim, int])
    """Tiles of a dimension that all other loops run over before the next ones: what they read stays in the cache."""
    steps: int = 1
    """Steps of the innermost loop of a reduction that are written out one after another."""
    prefetches: Prefetches = field(default_factory=Prefetches)
    """The loads to prefetch."""
    delays_stores: bool = False
    """Whether the results of a tile are written while the reductions of the next one run."""
    vectors: int = 1
    """Vectors that are computed as one, an operation of each in turn: those of a tile, or of a reduction's turn."""


def choose_schedule(nest: Nest, layouts: Mapping[Buffer, Layout], target: Target) -> Schedule:
    """Return the schedule of a nest."""
    width = target.lanes(vector_item_bytes(nest))
    if nest.sequential == frozenset(nest.dims) and nest.dims:
        return Schedule(None, 1, {}, nest.dims)
    prices = _costs(nest, width, layouts)
    panels = _panels(nest, layouts)
    lanes = min(_along_lanes(nest, layouts) or panels or prices, key=lambda dim: prices.get(dim, math.inf))
    width = 1 if lanes is None else min(width, 1 << (lanes.extent - 1).bit_length())
    # Whoever reads a panel may have shorter vectors than who packs it.
    width = math.gcd(width, panels.get(lanes, 0)) if lanes else width
    unrolled = _unrolled(nest, lanes)
    tile = choose_tile(nest, lanes, width, layouts, target, unrolled, panels)
    vectors = 1 if lanes is None else interleave_count(nest, lanes, width, tile)
    if lanes in nest.dims and vectors > 1:
        tile = {lanes: vectors}
    order = loop_order(nest, lanes, tile, width, layouts, target)
    along = width * tile.get(lanes, 1) * vector_item_bytes(nest) if lanes else 1
    ahead = choose_prefetches(nest, lanes, order, layouts, target, along)
    late = delays_stores(nest, lanes, width, tile, unrolled, layouts)
    blocks = loop_blocks(nest, order, panels, target)
    steps = _steps(nest) if len(panels) > 1 else 1
    return Schedule(lanes, width, tile, order, unrolled, blocks, steps, ahead, late, vectors)


def _steps(nest: Nest) -> int:
    """Return how many steps of a product of panels to unroll: registers hold the operands of a few products."""
    bodies = [node.body for node in nest.reductions()]
    products = sum(isinstance(node, Apply) for body in bodies for node in walk(body))
    return max(1, costs.COSTS.panel_steps // products) if products else 1


def _panels(nest: Nest, layouts: Mapping[Buffer, Layout]) -> dict[Dim, int]:
    """Return the dimensions along which buffers are cut into panels, and the elements of a panel."""
    pairs = nest.accesses()
    panels: dict[Dim, int] = {}
    for buffer, indices in pairs:
        layout = layouts[buffer]
        if layout.panel and layout.lanes is not None:
            panels.update(dict.fromkeys(indices[layout.lanes].dims(), layout.panel))
    return panels


def _along_lanes(nest: Nest, layouts: Mapping[Buffer, Layout]) -> dict[Dim, None]:
    """Return the dimensions along which panels are read in vectors."""
    pairs = ((layouts[buffer], indices) for buffer, indices in nest.accesses())
    parted = (indices[access.lanes or 0] for access, indices in pairs if access.panel and not access.across)
    return dict.fromkeys(dim for index in parted for dim in index.dims())


def instruction_count(nest: Nest, layouts: Mapping[Buffer, Layout], target: Target) -> float:
    """Return about how many instructions a nest takes with the best lanes."""
    return min(_costs(nest, target.lanes(vector_item_bytes(nest)), layouts).values())


def _costs(nest: Nest, width: int, layouts: Mapping[Buffer, Layout]) -> dict[Dim | None, float]:
    """Return the cost of each choice of lanes."""
    reduced = dict.fromkeys(dim for node in nest.reductions() for dim in node.dims)
    parallel = (dim for dim in nest.dims if dim not in nest.sequential)
    dims = [dim for dim in (*parallel, *reduced) if dim.extent >= 2]
    if nest.sequential and not has_functions(nest):  # chains whose elements lie apart go on one by one
        positions = [linear(layouts[buffer], indices) for buffer, indices in nest.accesses()]
        dims = [dim for dim in dims if any(abs(position.coefficient(dim)) == 1 for position in positions)]
    cache = _Known()
    return {dim: _cost(nest, dim, width, layouts, cache) for dim in (None, *dims)}


def vector_item_bytes(nest: Nest) -> int:
    """Return the size of the elements that fill a vector: the smallest floats, else the largest integers."""
    dtypes = {store.buffer.dtype for store in nest.stores} | {node.dtype for node in nest.nodes()}
    floats = [dtype.itemsize for dtype in dtypes if dtype.kind == "f"]
    return min(floats) if floats else max(4, *(dtype.itemsize for dtype in dtypes), 4)


class _Facts(NamedTuple):
    """The facts on which the cost of an expression depends, computed once."""

    applies: int
    loads: tuple[Load, ...]
    reductions: tuple[tuple[Reduce, _Facts], ...]


class _Known(dict[Expression, _Facts]):
    """The facts of the expressions of a nest. They hold expressions, so they last for one estimate only."""

    def __missing__(self, expression: Expression) -> _Facts:
        nodes = list(walk(expression))
        inner = [node for node in nodes if isinstance(node, Reduce) and node is not expression]
        outer = [expression] if isinstance(expression, Reduce) else []
        facts = self[expression] = _Facts(
            sum(isinstance(node, Apply) for node in nodes),
            tuple(node for node in nodes if isinstance(node, Load)),
            tuple((node, self[node.body]) for node in inner + outer),
        )
        return facts


def _cost(
    nest: Nest, lanes: Dim | None, width: int, layouts: Mapping[Buffer, Layout], cache: _Known
) -> float:
    """Return about how many instructions a nest takes with a dimension along vectors."""
    points = math.prod(dim.extent for dim in nest.dims)
    mapped = lanes in nest.dims
    shrink = _shrink(lanes, width) if mapped else 1.0
    in_blocks = functools.cache(lambda: transposed_dim(nest, lanes, width, layouts) is not None)
    total = 0.0
    joined = joined_stores(nest, lanes, layouts) if mapped and lanes else []
    joining = {store: joined_cost(group) for group in joined for store in group}
    for store in nest.stores:
        if store.along:
            total += points * _along_cost(nest, store, lanes, width, layouts, cache)
            continue
        stride = linear(layouts[store.buffer], store.indices).coefficient(lanes) if mapped and lanes else 1
        writing = 1.0 if stride == 1 or not mapped else width * costs.COSTS.strided_access_cost
        writing = joining.get(store, writing)
        facts = cache[store.value]
        total += points * shrink * (writing + facts.applies)
        for node, inner in facts.reductions:
            total += points * _reduction_cost(node, inner, lanes, width, layouts, mapped)
        for load in facts.loads:
            cost = _load_cost(load, lanes if mapped else None, width, layouts)
            if cost > 2 and not facts.reductions and in_blocks():
                cost = costs.COSTS.transposed_load_cost
            total += points * shrink * cost
    return total


def _along_cost(
    nest: Nest,
    store: Store,
    lanes: Dim | None,
    width: int,
    layouts: Mapping[Buffer, Layout],
    cache: _Known,
) -> float:
    """Return the cost of a store along a reduction at one point of the nest; loads of the reductions are free."""
    steps = math.prod(dim.extent for dim in store.along)
    stride = linear(layouts[store.buffer], store.indices).coefficient(lanes) if lanes else 1
    writing = 1.0 if stride == 1 or lanes is None else width * costs.COSTS.strided_access_cost
    facts = cache[store.value]
    at_hand = {
        load for store in nest.stores for _, inner in cache[store.value].reductions for load in inner.loads
    }
    reading = sum(_load_cost(load, lanes, width, layouts) for load in facts.loads if load not in at_hand)
    return steps * _shrink(lanes, width) * (writing + facts.applies + reading)


def _shrink(lanes: Dim | None, width: int) -> float:
    """Return the vectors taken for each element: more than one in `width` where the last is not full."""
    return -(-lanes.extent // width) / lanes.extent if lanes else 1.0


def _reduction_cost(
    node: Reduce,
    facts: _Facts,
    lanes: Dim | None,
    width: int,
    layouts: Mapping[Buffer, Layout],
    mapped: bool,
) -> float:
    steps = math.prod(dim.extent for dim in node.dims)
    inside = lanes is not None and lanes in node.dims
    active = lanes if mapped or inside else None
    # Registers take loads off most of the points of a tile.
    reading = sum(_load_cost(load, active, width, layouts) for load in facts.loads)
    reading *= costs.COSTS.tiled_load_share
    point_cost = 1.0 + facts.applies + reading
    shrink = _shrink(active, width)
    horizontal = costs.COSTS.horizontal_step_cost * math.log2(max(width, 2))
    return steps * point_cost * shrink + (horizontal if inside else 0.0)


def _load_cost(load: Load, lanes: Dim | None, width: int, layouts: Mapping[Buffer, Layout]) -> float:
    if lanes is None:
        return 1.0
    step = stride(layouts, load, lanes)
    strided = width * costs.COSTS.strided_access_cost
    if step == -1:
        return 2.0  # a vector, and a shuffle
    if step in (2, -2) and pair_place(layouts, load, lanes) is not None:
        strided = 2.0  # half of two vectors, and a shuffle
    return costs.COSTS.broadcast_load_cost if step == 0 else 1.0 if step == 1 else strided


def _unrolled(nest: Nest, lanes: Dim | None) -> frozenset[Dim]:
    """Return the inner dimensions of reductions that are short enough to unroll: taps, windows."""
    chosen: set[Dim] = set()
    for node in nest.nodes():
        if isinstance(node, Reduce):
            size = 1
            guarded = guarded_dims(node, None)
            for dim in reversed(node.dims):
                if (
                    dim is not lanes
                    and dim not in guarded
                    and dim.extent * size <= costs.COSTS.unrolled_terms
                ):
                    size *= dim.extent
                    chosen.add(dim)
    return frozenset(chosen)
