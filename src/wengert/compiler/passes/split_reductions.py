"""Partial sums: a long reduction is split, so that its errors stay small and several threads have something to do.

A sum of n numbers one after another errs by up to n roundings; a sum of sums of a few thousand by as many as those have
(Higham, The accuracy of floating point summation, 1993). The number of parts does not depend on the number of threads,
and so the result does not either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Expression,
    Iota,
    Load,
    Reduce,
    Rewriter,
    loads,
    zero,
)
from wengert.engine.nest.index import Dim, Index, Term, point_count, without_unit
from wengert.engine.nest.nest import Loop, Nest, Program, Step, Store, map_nests
from wengert.engine.nest.rewrite import rewrite_store


def split_reductions(program: Program) -> Program:
    """Return the program with large reductions to few results in two steps: the parts, then their total."""
    return replace(program, steps=map_nests(program.steps, _split))


def _split(nest: Nest) -> list[Step]:
    points, reductions = point_count(nest.dims), nest.reductions()
    if nest.sequential or nest.accumulates:
        return [nest]
    together: dict[tuple[Dim, ...], list[Reduce]] = {}
    for node in reductions:
        if points < costs.COSTS.long_sum_results and is_long(node):
            together.setdefault(node.dims, []).append(node)
    if together:
        return _long_in_parts(nest, together)
    is_large = operation_count(nest) >= costs.COSTS.split_reduction_work
    if (rows := _swept_rows(nest)) is not None:
        return _swept(nest, reductions, rows)
    if points >= costs.COSTS.split_reduction_results or not is_large or len(reductions) != 1:
        return [nest]
    (node,) = reductions
    for dim in () if node.returns_index else node.dims:
        counts = costs.COSTS.reduction_parts
        count = next((n for n in counts if dim.extent % n == 0 and dim.extent > n), 0)
        if count:
            return [*in_parts(nest, [node], dim, count, dim.extent // count)]
    return [nest]


def _swept_rows(nest: Nest) -> Dim | None:
    """Return the dimension along which sums go down the columns of a large array, a page of memory at each step.

    Sums over a few rows at a time sweep along these, as a processor foresees.
    """
    sums = nest.reductions()
    dims = {node.dims for node in sums}
    if len(dims) != 1 or () in dims or any(node.combiner != "add" or node.dtype.kind != "f" for node in sums):
        return None
    ((rows, *others),) = dims
    points = point_count(nest.own_dims())
    for load in (load for node in sums for load in loads(node.body)):
        shape, size = load.buffer.shape, load.buffer.dtype.itemsize
        axis = next((n for n, index in enumerate(load.indices) if index.only is rows), None)
        if others or axis is None or points > load.buffer.size or load.indices[-1].only not in nest.dims:
            continue
        step = math.prod(shape[axis + 1 :]) * size
        if step >= costs.COSTS.swept_row_bytes and rows.extent >= costs.COSTS.swept_column:
            return rows
    return None


def _swept(nest: Nest, sums: Sequence[Reduce], rows: Dim) -> list[Step]:
    """Return the steps that add up columns some rows at a time; a part of the rows has totals of its own."""
    size = costs.COSTS.swept_rows
    blocks = rows.extent // size
    most = min(costs.COSTS.swept_parts, blocks)
    count = min(range(most, most // 2, -1), key=lambda count: blocks % count)
    turns = blocks // count
    parts, total = in_parts(nest, sums, rows, count, turns * size)
    return [_in_turns(parts, turns) if turns > 1 else parts, total]


def _in_turns(parts: Nest, turns: int) -> Loop:
    """Return the loops that add up the partial sums of a nest in place, some of their terms in each turn."""
    part, *dims = parts.dims
    (summed,) = {dim for node in parts.reductions() for dim in node.dims}
    counter, turn = Dim(part.extent, part.name), Dim(turns, "turn")
    inner = Dim(summed.extent // turns, summed.name)
    substitution: dict[Term, Index] = {
        part: Index.of(counter),
        summed: Index.of(turn) * inner.extent + Index.of(inner),
    }
    rewrite = Rewriter(replace_term=substitution.get)
    stores: list[Store] = []
    for store in parts.stores:
        moved = rewrite_store(store, rewrite)
        if store.along:
            stores.append(replace(moved, along=(inner,)))
            continue
        assert isinstance(moved.value, Reduce)
        value = replace(moved.value, dims=(inner,))
        stores.append(
            replace(moved, value=added_up(Load(moved.buffer, moved.indices), value, Index.of(turn)))
        )
    nest = replace(parts, dims=tuple(dims), stores=tuple(stores))
    return Loop(counter, False, (Loop(turn, False, (nest,), parts.location),), parts.location, shared=True)


def added_up(total: Load, terms: Expression, turn: Index) -> Expression:
    """Return a total so far with more terms, which are the first ones in the first turn."""
    if not turn.terms:
        return terms
    number = Iota(turn)
    is_first = Apply("equal", (number, zero(number.dtype)), np.dtype(bool))
    before = Apply("where", (is_first, zero(total.dtype), total), total.dtype)
    return Apply("add", (before, terms), total.dtype)


def is_long(node: Reduce) -> bool:
    """Return whether a sum is long enough to be split."""
    return (
        node.combiner == "add"
        and node.dtype.kind == "f"
        and point_count(node.dims) >= costs.COSTS.long_sum_terms
    )


def _long_in_parts(nest: Nest, together: Mapping[tuple[Dim, ...], Sequence[Reduce]]) -> list[Step]:
    """Return a nest with long sums in parts, those over the same dimensions in one nest."""
    done: list[Step] = []
    for dims, nodes in together.items():
        outer, dim, size = _cut(dims, nodes)
        parts, nest = in_parts(nest, nodes, dim, dim.extent // size, size, outer)
        done.append(parts)
    return [*done, nest]


def _cut(dims: Sequence[Dim], nodes: Sequence[Reduce]) -> tuple[tuple[Dim, ...], Dim, int]:
    """Return how to cut sums into parts that lie in one piece of memory, as far as may be.

    These are the dimensions of which each point has parts of its own, the dimension that is cut, and the points of a
    part.
    """
    read = list({load for node in nodes for load in loads(node.body)})
    outward = sorted(dims, key=lambda dim: -sum(_stride(load, dim) for load in read))
    most = costs.COSTS.partial_sum_rows * costs.COSTS.partial_sum_terms
    for place, dim in enumerate(outward):
        row = point_count(outward[place + 1 :])
        size = min(max(1, costs.COSTS.partial_sum_terms // row), dim.extent)
        count = point_count(outward[:place]) * (dim.extent // size)
        is_last = place == len(outward) - 1
        if is_last or (row <= most and count >= costs.COSTS.split_reduction_results):
            outer = tuple(outward[:place])
            return outer, dim, _even(dim.extent, size) if outer else size
    raise AssertionError(dims)


def _even(extent: int, size: int) -> int:
    """Return a size of parts near another that leaves the least of a dimension, for each outer point, to one thread."""
    near = range(-(-size // 2), min(2 * size, extent) + 1)
    return min(near, key=lambda part: (extent % part, abs(part - size)))


def _stride(load: Load, dim: Dim) -> int:
    """Return how far apart neighbours along a dimension lie in an array in row-major order."""
    shape = load.buffer.shape
    return sum(
        abs(index.coefficient(dim)) * math.prod(shape[axis + 1 :]) for axis, index in enumerate(load.indices)
    )


class _Part:
    """A part of a dimension: rewrites reductions over the dimension to run over the part, with sharing kept.

    The dimension ``inner`` runs over the part, whose place in the whole is ``index``. Each point of the dimensions
    ``outer`` has parts of its own.
    """

    def __init__(self, dim: Dim, inner: Dim, index: Index, outer: Sequence[Dim] = ()) -> None:
        self.dim, self.inner, self.outer = dim, inner, outer
        self.rewrite = Rewriter(replace_term=lambda term: index if term is dim else None)

    def dims(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """Return dimensions with the part in the place of the whole."""
        return without_unit(self.inner if dim is self.dim else dim for dim in dims if dim not in self.outer)

    def over(self, node: Reduce) -> Expression:
        """Return a reduction over the part."""
        body, dims = self.rewrite(node.body), self.dims(node.dims)
        return replace(node, dims=dims, body=body) if dims else body

    def along(self, store: Store) -> Store:
        """Return a store along a reduction as a store along the part."""
        return replace(rewrite_store(store, self.rewrite), along=self.dims(store.along))


def in_parts(
    nest: Nest, nodes: Sequence[Reduce], dim: Dim, count: int, size: int, outer: Sequence[Dim] = ()
) -> tuple[Nest, Nest]:
    """Return the nest that makes ``count`` partial sums of ``size`` points each, and the nest that adds them up.

    All reductions have the same dimensions, ``dim`` and ``outer`` among them. Each point of the latter has its own
    parts.
    """
    part, inner = Dim(count, "part"), Dim(size, dim.name)
    left = Dim(dim.extent - count * size, dim.name)
    whole = _Part(dim, inner, Index.of(part) * size + Index.of(inner), outer)
    remainder = _Part(dim, left, Index.of(left) + count * size)
    fresh = {dim: Dim(dim.extent, dim.name) for dim in (*outer, *nest.dims)}
    moved = Rewriter(replace_term=lambda term: Index.of(fresh[term]) if term in fresh else None)  # pyright: ignore[reportArgumentType]
    dims = (*map(fresh.__getitem__, outer), part, *map(fresh.__getitem__, nest.dims))
    again = [Dim(dim.extent, dim.name) for dim in dims[: len(outer) + 1]]
    stores: list[Store] = []
    totals: dict[Reduce, Expression] = {}
    for node in nodes:
        buffer = Buffer(node.dtype, tuple(dim.extent for dim in dims))
        stores.append(Store(buffer, tuple(map(Index.of, dims)), moved(whole.over(node))))
        element = Load(buffer, tuple(map(Index.of, (*again, *nest.dims))))
        totals[node] = Reduce(node.combiner, tuple(again), element, node.dtype)
        if left.extent:
            totals[node] = Apply(node.combiner, (totals[node], remainder.over(node)), node.dtype)
    along = [store for store in nest.stores if store.along and store.along == nodes[0].dims]
    stores += (rewrite_store(whole.along(store), moved) for store in along)
    origin = (*nest.origin, "parts")
    parts = Nest(dims, tuple(stores), location=nest.location, origin=origin)

    def change(expression: Expression) -> Expression:
        return totals.get(expression, expression) if isinstance(expression, Reduce) else expression

    rewrite = Rewriter(change)
    after = [replace(store, value=rewrite(store.value)) for store in nest.stores if store not in along]
    after += (remainder.along(store) for store in along if left.extent)
    return parts, replace(nest, stores=tuple(after))
