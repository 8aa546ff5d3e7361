"""The register tile of a nest, chosen by a model of the processor.

A tile is a block of points computed together: its accumulators stay in registers while the reduction runs, and what
several of its points read is loaded once. The model counts, for a tile, the loads and the operations of one step of
the reduction, and takes the tile whose busier unit does least for each operation, among those whose accumulators fit
the registers and hide the latency.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from wengert.compiler.schedule.layout import Layout, linear
from wengert.compiler.schedule.loop_order import load_dims
from wengert.engine.machine import costs
from wengert.engine.machine.costs import FUNCTION, arithmetic, weight
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Apply, Buffer, Guard, Load, Reduce, free_dims, loads, walk
from wengert.engine.nest.index import Computed, Digit, Dim, Term
from wengert.engine.nest.nest import Nest


def choose_tile(
    nest: Nest,
    lanes: Dim | None,
    width: int,
    layouts: Mapping[Buffer, Layout],
    target: Target,
    unrolled: frozenset[Dim],
    panels: Mapping[Dim, int],
) -> dict[Dim, int]:
    """Return the points to compute together; along a panel, all of them."""
    reductions = nest.reductions()
    if nest.sequential:
        return _chains_at_once(nest, lanes)
    fixed = {dim: panel // (width if dim is lanes else 1) for dim, panel in panels.items()}
    if len(fixed) > 1:
        return {dim: factor for dim, factor in fixed.items() if factor > 1}
    if not reductions:
        transposed = transposed_dim(nest, lanes, width, layouts)
        return {**({transposed: width} if transposed else {}), **fixed}
    main = max(reductions, key=lambda node: math.prod(dim.extent for dim in node.dims))
    bounding = {dim for node in reductions for dim in guarded_dims(node, lanes)}
    follows = free_dims(main.body) - bounding
    dims = sorted((dim for dim in nest.dims if dim in follows), key=lambda dim: dim is not lanes)
    step = _Step(main, dims, lanes, width, target)
    if lanes in main.dims and not fixed and step.reads_rows():
        return {}
    taps = math.prod(dim.extent for dim in main.dims if dim in unrolled)
    along = sum(bool(store.along) for store in nest.stores)  # each keeps a factor for a point of the tile
    least, best = math.inf, dict[Dim, int]()
    for factors in itertools.product(*_options(nest, dims, lanes, width, fixed)):
        tile = {dim: factor for dim, factor in zip(dims, factors, strict=True) if factor > 1}
        count = math.prod(factors)
        written = count * taps * step.applies
        if count * (len(reductions) + along) > step.budget or written > max(
            costs.COSTS.tile_operations, count
        ):
            continue
        price = step.price(tile, count)
        if price < least - 1e-9:
            least, best = price, tile
    return best


def _chains_at_once(nest: Nest, lanes: Dim | None) -> dict[Dim, int]:
    """Return how many chains of a recurrence go on at once: each step of a chain waits for the one before."""
    free = [dim for dim in nest.dims if dim not in nest.sequential]
    if lanes is not None or nest.has_reductions or not free:
        return {}
    operations = sum(isinstance(node, Apply) for node in nest.nodes())
    most = min(costs.COSTS.latency_operations, costs.COSTS.tile_operations // max(operations, 1))
    count = min(free[-1].extent, most)
    return {free[-1]: count} if count > 1 else {}


def interleave_count(nest: Nest, lanes: Dim, width: int, tile: Mapping[Dim, int]) -> int:
    """Return how many vectors to compute as one, an operation of each in turn; 1 where that gains nothing.

    An elementary function is a chain of operations that wait for one another. Of those to come a processor has one or
    two functions in hand; it finds more to do in them if they are the same function of neighbours. A sum along the
    lanes waits for the one before, and goes on in as many parts as its latency needs.
    """
    whole = lanes.extent // width
    reductions = [node for node in dict.fromkeys(nest.nodes()) if isinstance(node, Reduce)]
    functions = has_functions(nest)
    if lanes not in nest.dims:
        if any(node.returns_index and node.body.dtype.kind == "f" for node in reductions):
            return 1  # masks that are combined to look for NaN would be packed and unpacked
        parts = costs.COSTS.lane_sum_parts if functions else _parts(reductions)
        share = parts // (math.prod(tile.values()) * len(reductions))
        return next((n for n in costs.COSTS.interleaved_vectors if n < 2 * share and n <= whole), 1)
    if not functions or tile or reductions or any(store.combiner for store in nest.stores):
        return 1
    # Vectors that are left over are computed one by one.
    most = whole * costs.COSTS.remainder_vectors_share
    return next((n for n in costs.COSTS.interleaved_vectors if n <= whole and whole % n <= most), 1)


def has_functions(nest: Nest) -> bool:
    """Return whether a nest computes an elementary function."""
    return any(isinstance(node, Apply) and weight(node.operation) >= FUNCTION for node in nest.nodes())


def _parts(reductions: Sequence[Reduce]) -> int:
    """Return the number of accumulators of a sum along the lanes: fewer where the terms take time to compute."""
    work = 1 + max(arithmetic(node.body) for node in reductions)
    return min(costs.COSTS.lane_sum_parts, math.ceil(costs.COSTS.addition_latency_work / work))


def _options(
    nest: Nest, dims: Sequence[Dim], lanes: Dim | None, width: int, fixed: Mapping[Dim, int]
) -> list[list[int]]:
    """Return how many points of each dimension a tile may have."""
    points = math.prod(dim.extent for dim in nest.dims)
    return [
        [fixed[dim]]
        if dim in fixed
        else _factors(dim, dim is lanes, width, whole=points >= costs.COSTS.shared_tiles * dim.extent)
        for dim in dims
    ]


def _factors(dim: Dim, is_lanes: bool, width: int, *, whole: bool) -> list[int]:
    """Return how many points of a dimension a tile may have: all, where others leave tiles for several threads."""
    steps = -(-dim.extent // width) if is_lanes else dim.extent
    some = [factor for factor in costs.COSTS.tile_points if factor <= steps]
    return [*some, steps] if whole and steps not in some and steps <= costs.COSTS.whole_tile_extent else some


class _Step:
    """One step of the reduction that takes longest, which follows dimensions of the nest."""

    def __init__(
        self, node: Reduce, dims: Sequence[Dim], lanes: Dim | None, width: int, target: Target
    ) -> None:
        self.node = node
        self.dims = dims
        self.lanes = lanes
        self.width = width
        self.budget = target.registers - costs.COSTS.operand_registers
        self.applies = max(1, sum(isinstance(part, Apply) for part in walk(node.body)))
        work = arithmetic(node.body)
        # A few operations go on while others wait; many take the time that the tile is there to fill.
        self.work = work if work >= costs.COSTS.latency_operations else 1
        self.streams = [
            (frozenset(load_dims(load)), _distance(load, node, lanes, width, target))
            for load in loads(node.body)
            if not load_dims(load).isdisjoint(node.dims)  # registers keep the others
        ]
        self.unshared = all(stream >= {*dims, *node.dims} for stream, _ in self.streams)

    def reads_rows(self) -> bool:
        """Return whether each point reads pages of its own, which a processor foresees best one after another.

        No load is shared then, and vectors of a row hide the latency as those of several would.
        """
        rows = math.prod(dim.extent for dim in self.node.dims) * self.node.body.dtype.itemsize
        if self.lanes is None or self.lanes.extent < costs.COSTS.lane_sum_parts * self.width:
            return False
        return rows >= costs.COSTS.streamed_row_bytes and self.unshared

    def price(self, tile: Mapping[Dim, int], count: int) -> float:
        """Return the cycles for each of the points of a tile, on two loads and two operations a cycle."""
        fetched = [math.prod(tile.get(dim, 1) for dim in stream) for stream, _ in self.streams]
        loading = sum(points * cycles for points, (_, cycles) in zip(fetched, self.streams, strict=True))
        if self.unshared and self.lanes is not None and self.lanes in self.dims:
            row = tile.get(self.lanes, 1) * self.width * self.node.body.dtype.itemsize
            loading *= 1 + costs.COSTS.line_bytes / row  # a piece of a row begins and ends within lines
        computing = count * self.work / 2
        # Registers for the operand that is kept, besides the accumulators.
        spill = max(0, count + min(fetched, default=0) - self.budget - costs.COSTS.spill_registers)
        cycles = (
            max(loading, computing, costs.COSTS.latency_operations / 2)
            + costs.COSTS.exposed_load_share * loading
            + spill
        )
        return cycles * self._waste(tile) / count

    def _waste(self, tile: Mapping[Dim, int]) -> float:
        """Return the cost factor of remainders: the last tiles have fewer points, which share their loads."""
        waste = 1.0
        for dim in self.dims:
            factor = tile.get(dim, 1)
            steps = -(-dim.extent // self.width) if dim is self.lanes else dim.extent
            missing = costs.COSTS.tile_remainder_cost * (factor - steps % factor)
            waste *= 1.0 + missing / steps if steps % factor else 1.0
        return waste


def _distance(load: Load, node: Reduce, lanes: Dim | None, width: int, target: Target) -> float:
    """Return the cycles that a load takes: more where a sweep of the reduction reads more than the nearest cache."""
    swept = load.buffer.dtype.itemsize
    for dim in load_dims(load):
        if dim in node.dims:
            swept *= dim.extent
        elif dim is lanes:
            swept *= min(dim.extent, costs.COSTS.near_vectors * width)
    is_near = swept <= target.level1 * costs.COSTS.near_cache_share
    return costs.COSTS.near_load_cycles if is_near else costs.COSTS.far_load_cycles


def guarded_dims(node: Reduce, lanes: Dim | None) -> set[Dim]:
    """Return the dimensions that the bounds of a reduction's loops depend on: one value for a whole tile."""
    if not isinstance(node.body, Guard):
        return set()
    return {dim for index, _ in node.body.conditions for dim in index.dims() if dim is not lanes}


def transposed_dim(nest: Nest, lanes: Dim | None, width: int, layouts: Mapping[Buffer, Layout]) -> Dim | None:
    """Return the dimension along which a load that is strided in the lanes is contiguous: it is read in blocks."""
    if lanes is None:
        return None
    guards = [node for node in nest.nodes() if isinstance(node, Guard)]
    guarded = {dim for node in guards for index, _ in node.conditions for dim in index.dims()}
    for load in nest.loads():
        if stride(layouts, load, lanes) not in (0, 1):
            for dim in nest.dims:
                along = dim is not lanes and dim not in guarded and stride(layouts, load, dim) == 1
                if along and dim.extent >= width:
                    return dim
    return None


def stride(layouts: Mapping[Buffer, Layout], load: Load, dim: Dim) -> int | None:
    """Return the stride of a load along a dimension; None if a computed index depends on it."""
    position = linear(layouts[load.buffer], load.indices)
    for term, _ in position.terms:
        if not isinstance(term, Dim) and dim in _term_dims(term):
            return None
    return position.coefficient(dim)


def _term_dims(term: Term) -> set[Dim]:
    if isinstance(term, Computed):
        return free_dims(term.expression)
    return set(term.index.dims()) if isinstance(term, Digit) else {term}
