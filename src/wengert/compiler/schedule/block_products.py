"""Blocked products: both factors of a large product are packed into panels, and long sums are cut into blocks.

Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), and Van Zee and van de Geijn, "BLIS"
(2015), on nests: a sum is cut into blocks of which a panel of one factor fills part of the first-level cache; for
each block both factors are copied into panels, whatever their strides, and the results are added up tile by tile. A
panel holds what one step of a tile reads side by side, step after step. Where the copy of a factor outgrows the
second-level cache (the windows of all images of a convolution), some of its dimensions take turns: an image, or a row
of one, is copied and multiplied before the next.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from wengert.compiler.passes.split_reductions import added_up
from wengert.compiler.schedule.layout import Layout, linear, with_lanes, with_panels
from wengert.compiler.schedule.schedule import vector_item_bytes
from wengert.compiler.schedule.strides import joined_cost, joined_stores
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Expression,
    Load,
    Reduce,
    Rewriter,
    free_dims,
    instantiate,
    may_report,
)
from wengert.engine.nest.index import Dim, Index, Term
from wengert.engine.nest.nest import Loop, Nest, Step, Store
from wengert.engine.nest.rewrite import rewrite_store


class _Side(NamedTuple):
    """The factors of products that follow the same dimensions."""

    factors: tuple[Expression, ...]
    own: tuple[Dim, ...]
    """The dimensions that only this side follows."""


class _Product(NamedTuple):
    """Sums over the same dimensions of products of a factor of either side."""

    sums: tuple[Reduce, ...]
    sides: tuple[_Side, _Side]
    terms: int
    """The products in the bodies of all sums."""
    summed: tuple[Dim, ...]


class _Tile(NamedTuple):
    """The points of a tile: vectors along the lanes, and points along a dimension of the other side."""

    lanes: Dim
    width: int
    """Elements of all vectors together."""
    across: Dim
    points: int
    price: float
    """Cycles for each multiplication."""

    @property
    def panels(self) -> dict[Dim, int]:
        """The elements of a panel along a dimension."""
        return {self.lanes: self.width, self.across: self.points}


def blocked_product(nest: Nest, layouts: dict[Buffer, Layout], target: Target) -> list[Step] | None:
    """Return the steps that carry out a large product on panels, and add their layouts; None for another nest."""
    if operation_count(nest) < costs.COSTS.packed_product_work or nest.sequential or nest.accumulates:
        return None
    nest = _joined_sums(nest)
    product = _product(nest)
    if product is None:
        return None
    tile = min(_tiles(product, nest, layouts, target), key=lambda candidate: candidate.price, default=None)
    if tile is None or not _pays(product, tile):
        return None
    cut = _cut(product, tile.panels, target)
    turned = _turned(nest, product, tile, cut, layouts, target)
    if cut is None:
        return _in_turns(nest, product.sums, tile, turned, layouts)
    return _in_blocks(nest, product, tile, cut, turned, layouts)


# -- sums over the same dimensions -----------------------------------------------------------------------


def _joined_sums(nest: Nest) -> Nest:
    """Return the nest with one sum in the place of sums and differences of sums over equal dimensions.

    The parts of a complex product are a difference and a sum of products of parts.
    """
    sums = nest.reductions()
    extents = {tuple(dim.extent for dim in node.dims) for node in sums}
    if len(sums) < 2 or len(extents) > 1 or any(node.combiner != "add" for node in sums):
        return nest
    dims = sums[0].dims

    def change(node: Expression) -> Expression:
        match node:
            case Reduce(dims=own, body=body):
                return replace(node, dims=dims, body=instantiate(body, own, list(map(Index.of, dims))))
            case Apply(operation="add" | "subtract", operands=(Reduce() as x, Reduce() as y)):
                return replace(x, body=replace(node, operands=(x.body, y.body)))
            case _:
                return node

    rewrite = Rewriter(change)
    return replace(nest, stores=tuple(rewrite_store(store, rewrite) for store in nest.stores))


# -- recognition -----------------------------------------------------------------------------------------


def _product(nest: Nest) -> _Product | None:
    """Return the product that a nest computes, if its sums are of products of two factors over the same dimensions."""
    sums = tuple(dict.fromkeys(nest.reductions()))
    if not sums or any(node.combiner != "add" or node.dims != sums[0].dims for node in sums):
        return None
    pairs = [pair for node in sums for pair in _pairs(node.body)]
    if any(len(pair) != 2 for pair in pairs) or any(store.along for store in nest.stores):
        return None
    own, summed = nest.own_dims(), set(sums[0].dims)
    left, right = (free_dims(factor) & own for factor in pairs[0])
    if left <= right or right <= left or not summed <= left & right or left | right != own:
        return None
    sides: tuple[list[Expression], list[Expression]] = [], []
    for pair in pairs:
        x, y = pair if free_dims(pair[0]) & own == left else reversed(pair)
        if free_dims(x) & own != left or free_dims(y) & own != right:
            return None
        sides[0].append(x)
        sides[1].append(y)
    first, second = (
        _Side(_distinct(factors), tuple(dim for dim in nest.dims if dim in follows and dim not in others))
        for factors, follows, others in zip(sides, (left, right), (right, left), strict=True)
    )
    return _Product(sums, (first, second), len(pairs), sums[0].dims)


def _pairs(body: Expression) -> Iterator[tuple[Expression, ...]]:
    """Yield the factors of the products that an expression adds and subtracts; one factor for anything else."""
    match body:
        case Apply(operation="add" | "subtract", operands=operands):
            for operand in operands:
                yield from _pairs(operand)
        case Apply(operation="multiply", operands=(x, y)) if _is_plain(x) and _is_plain(y):
            yield x, y
        case _:
            yield (body,)


def _is_plain(factor: Expression) -> bool:
    """Return whether a factor may be computed before the product."""
    return not factor.facts.has_reductions and not may_report(factor)


def _distinct(factors: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return factors without those that are written alike."""
    return tuple({_written(factor): factor for factor in factors}.values())


# -- tiles and blocks ------------------------------------------------------------------------------------


def _tiles(
    product: _Product, nest: Nest, layouts: Mapping[Buffer, Layout], target: Target
) -> Iterator[_Tile]:
    """Yield the tiles whose sums fit the registers, with either side along the lanes."""
    model, width = costs.COSTS, target.lanes(vector_item_bytes(nest))
    steps = math.prod(dim.extent for dim in product.summed)
    for side, partner in itertools.permutations(product.sides):
        for lanes, across in itertools.product(side.own, partner.own):
            writing = _writing(nest, lanes, width, layouts) / steps
            for vectors, points in itertools.product(range(1, model.panel_vectors + 1), model.panel_points):
                count = vectors * points
                operands = vectors * len(side.factors) + 1
                if count * len(product.sums) + operands > target.registers:
                    continue
                loads = vectors * len(side.factors) + points * len(partner.factors)
                loading = loads * model.near_load_cycles
                computing = max(count * product.terms, model.latency_operations) / 2
                filled = vectors * width
                cut = _cut(product, {lanes: filled, across: points}, target)
                passes = 2 * cut.blocks - 1 if cut else 1  # each block but the first one reads totals, too
                cycles = max(loading, computing) + model.exposed_load_share * loading
                cycles += count * writing * passes
                price = cycles / (count * product.terms * width)
                price *= _waste(lanes, filled, width) * _waste(across, points, 1)
                yield _Tile(lanes, filled, across, points, price)


def _writing(nest: Nest, lanes: Dim, width: int, layouts: Mapping[Buffer, Layout]) -> float:
    """Return the instructions by which vectors of results are written."""
    groups = joined_stores(nest, lanes, layouts)
    joined = {store: joined_cost(group) for group in groups for store in group}
    total = 0.0
    for store in nest.stores:
        adjacent = linear(layouts[store.buffer], store.indices).coefficient(lanes) == 1
        total += joined.get(store, 1.0 if adjacent else width * costs.COSTS.strided_access_cost)
    return total


def _waste(dim: Dim, panel: int, least: int) -> float:
    """Return the factor for the last panel, which is not full."""
    missing = -dim.extent % panel
    empty = -dim.extent % least
    return 1.0 + (empty + costs.COSTS.tile_remainder_cost * (missing - empty)) / dim.extent


def _pays(product: _Product, tile: _Tile) -> bool:
    """Return whether enough is computed with each element of a factor for its copy to pay."""
    several = tile.lanes.extent > tile.width or tile.across.extent > tile.points
    least = min(math.prod(dim.extent for dim in side.own) for side in product.sides)
    return several and least >= costs.COSTS.packed_side


class _Cut(NamedTuple):
    """The blocks of a dimension of sums."""

    dim: Dim
    extent: int
    """Elements of a block; the last one may have fewer."""

    @property
    def blocks(self) -> int:
        return -(-self.dim.extent // self.extent)


def _cut(product: _Product, panels: Mapping[Dim, int], target: Target) -> _Cut | None:
    """Return the cut of the sums by which the panels of a tile fit the first-level cache; None if they fit."""
    item = product.sums[0].dtype.itemsize
    step = item * sum(
        panels[dim] * len(side.factors) for side in product.sides for dim in side.own if dim in panels
    )
    steps = max(1, int(target.level1 * costs.COSTS.panels_cache_share) // step)
    terms = math.prod(dim.extent for dim in product.summed)
    if terms <= steps * costs.COSTS.uncut_terms_share:
        return None
    dim = max(product.summed, key=lambda dim: dim.extent)
    extent = max(1, steps * dim.extent // terms)
    if extent >= dim.extent:
        return None
    blocks = -(-dim.extent // extent)
    even = next((n for n in range(blocks, 3 * blocks // 2 + 1) if dim.extent % n == 0), blocks)
    return _Cut(dim, -(-dim.extent // even))


def _turned(
    nest: Nest,
    product: _Product,
    tile: _Tile,
    cut: _Cut | None,
    layouts: Mapping[Buffer, Layout],
    target: Target,
) -> tuple[Dim, ...]:
    """Return the dimensions of a loop around the product, whose turns copy panels that the second-level cache holds.

    The results of a turn lie in whole cache lines.
    """
    terms = math.prod(dim.extent for dim in product.summed)
    if cut is not None:
        terms = terms // cut.dim.extent * cut.extent
    item = product.sums[0].dtype.itemsize

    def copied(side: _Side) -> int:
        return len(side.factors) * math.prod(dim.extent for dim in side.own) * terms * item

    side = max(product.sides, key=copied)
    held, work = copied(side), operation_count(nest)
    turned: list[Dim] = []
    for dim in side.own:
        if held <= target.level2:
            break
        lies_apart = all(
            linear(layouts[store.buffer], store.indices).coefficient(dim) * store.buffer.dtype.itemsize
            >= costs.COSTS.line_bytes
            for store in nest.stores
        )
        is_long = work >= dim.extent * costs.COSTS.packed_product_work
        if dim not in tile.panels and lies_apart and is_long:
            turned.append(dim)
            held, work = held // dim.extent, work // dim.extent
    return tuple(turned)


# -- the steps -------------------------------------------------------------------------------------------


def _in_turns(
    nest: Nest,
    sums: Sequence[Reduce],
    tile: _Tile,
    turned: Sequence[Dim],
    layouts: dict[Buffer, Layout],
) -> list[Step]:
    """Return copies of the factors of sums and the nest on the copies, for the points of some dimensions in turn."""
    counters = {dim: Dim(dim.extent, dim.name) for dim in turned}
    substitution: dict[Term, Index] = {dim: Index.of(counter) for dim, counter in counters.items()}
    rewrite = Rewriter(replace_term=substitution.get)
    dims = tuple(dim for dim in nest.dims if dim not in counters)
    nest = replace(nest, dims=dims, stores=tuple(rewrite_store(store, rewrite) for store in nest.stores))
    copies, packed = _packed(nest, [cast(Reduce, rewrite(node)) for node in sums], tile, layouts)
    fixed = [copy for copy in copies if free_dims(copy.stores[0].value).isdisjoint(counters.values())]
    steps: list[Step] = [*(copy for copy in copies if copy not in fixed), _with_sums(nest, packed)]
    for dim in reversed(turned):
        steps = [Loop(counters[dim], False, tuple(steps), nest.location, shared=dim is turned[0])]
    return [*fixed, *steps]


def _in_blocks(
    nest: Nest,
    product: _Product,
    tile: _Tile,
    cut: _Cut,
    turned: Sequence[Dim],
    layouts: dict[Buffer, Layout],
) -> list[Step]:
    """Return the steps that add up the blocks of sums, and make results of the totals in the last one.

    A single sum that is stored as it is is added up in its place.
    """
    turns = cut.blocks
    (store, *more) = nest.stores
    if not more and store.value is product.sums[0]:
        totals = {product.sums[0]: Load(store.buffer, store.indices)}
        turns -= cut.dim.extent % cut.extent > 0
    else:
        totals = {node: _total(nest, node, tile, layouts) for node in product.sums}
        turns -= 1
    counter = Dim(turns, cut.dim.name)
    block = _block(product.sums, cut, Index.of(counter) * cut.extent, cut.extent)
    stores = tuple(
        Store(total.buffer, total.indices, added_up(total, block[node], Index.of(counter)))
        for node, total in totals.items()
    )
    steps = _in_turns(replace(nest, stores=stores), list(block.values()), tile, turned, layouts)
    done: list[Step] = [Loop(counter, False, tuple(steps), nest.location)] if turns > 1 else steps
    start = turns * cut.extent
    if start == cut.dim.extent:
        return done
    block = _block(product.sums, cut, Index(start), cut.dim.extent - start)
    ends = {node: Apply("add", (total, block[node]), node.dtype) for node, total in totals.items()}
    return [*done, *_in_turns(_with_sums(nest, ends), list(block.values()), tile, turned, layouts)]


def _total(nest: Nest, node: Reduce, tile: _Tile, layouts: dict[Buffer, Layout]) -> Load:
    """Return an element of an array for the totals of a sum."""
    buffer = Buffer(node.dtype, tuple(dim.extent for dim in nest.dims))
    layouts[buffer] = with_lanes(buffer.shape, nest.dims.index(tile.lanes), tile.width)
    return Load(buffer, tuple(map(Index.of, nest.dims)))


def _block(sums: Sequence[Reduce], cut: _Cut, start: Index, extent: int) -> dict[Reduce, Reduce]:
    """Return sums over a block of their dimension from an index on."""
    dim = Dim(extent, cut.dim.name)
    substitution: dict[Term, Index] = {cut.dim: start + Index.of(dim)}
    rewrite = Rewriter(replace_term=substitution.get)
    dims = tuple(dim if axis is cut.dim else axis for axis in sums[0].dims)
    return {node: replace(node, dims=dims, body=rewrite(node.body)) for node in sums}


def _packed(
    nest: Nest, sums: Sequence[Reduce], tile: _Tile, layouts: dict[Buffer, Layout]
) -> tuple[list[Nest], dict[Reduce, Reduce]]:
    """Return the copies of the factors of sums into panels, and the sums of products of the copies."""
    copies: list[Nest] = []
    moved: dict[object, Load] = {}

    def change(node: Expression) -> Expression:
        match node:
            case Apply(operation="add" | "subtract", operands=operands):
                return replace(node, operands=tuple(map(change, operands)))
            case Apply(operation="multiply", operands=operands):
                return replace(node, operands=tuple(map(copied, operands)))
            case _:
                raise AssertionError(node)

    def copied(factor: Expression) -> Load:
        key = _written(factor)
        if key not in moved:
            copy, moved[key] = _copy(factor, nest, sums[0].dims, tile, layouts)
            copies.append(copy)
        return moved[key]

    return copies, {node: replace(node, body=change(node.body)) for node in sums}


def _copy(
    factor: Expression,
    nest: Nest,
    summed: Sequence[Dim],
    tile: _Tile,
    layouts: dict[Buffer, Layout],
) -> tuple[Nest, Load]:
    """Return the nest that copies a factor into panels, and the element of the copy."""
    used = free_dims(factor)
    dims = [dim for dim in (*nest.dims, *summed) if dim in used]
    name = factor.buffer.name if isinstance(factor, Load) else ""
    buffer = Buffer(factor.dtype, tuple(dim.extent for dim in dims), name)
    panels = tile.panels
    axis, panel = next((axis, panels[dim]) for axis, dim in enumerate(dims) if dim in panels)
    layouts[buffer] = with_panels(buffer.shape, axis, panel, across=dims[axis] is not tile.lanes)
    fresh = [Dim(dim.extent, dim.name) for dim in dims]
    indices = tuple(map(Index.of, fresh))
    store = Store(buffer, indices, instantiate(factor, dims, indices))
    copy = Nest(tuple(fresh), (store,), location=nest.location, origin=("pack",))
    return copy, Load(buffer, tuple(map(Index.of, dims)))


def _with_sums(nest: Nest, sums: Mapping[Reduce, Expression]) -> Nest:
    """Return a nest with other expressions in the places of its sums."""
    rewrite = Rewriter(lambda node: sums.get(node, node) if isinstance(node, Reduce) else node)
    return replace(nest, stores=tuple(rewrite_store(store, rewrite) for store in nest.stores))


def _written(factor: Expression) -> object:
    """Return a key that factors which are written alike have in common."""
    return (factor.buffer, factor.indices) if isinstance(factor, Load) else id(factor)
