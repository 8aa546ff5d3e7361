"""Partial sums: a long reduction is split, so that its errors stay small and several threads have something to do.

A sum of n numbers one after another errs by up to n roundings; a sum of sums of a few thousand by as many as those have
(Higham, The accuracy of floating point summation, 1993). The number of parts does not depend on the number of threads,
and so the result does not either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.compiler.machine import costs
from wengert.compiler.machine.costs import operation_count
from wengert.nest.expression import Apply, Buffer, Expression, Load, Reduce, Rewriter, loads
from wengert.nest.index import Dim, Index, point_count, without_unit
from wengert.nest.nest import Nest, Program, Store, map_nests
from wengert.nest.rewrite import rewrite_store


def split_reductions(program: Program) -> Program:
    """Return the program with large reductions to few results in two steps: the parts, then their total."""
    return replace(program, steps=map_nests(program.steps, _split))


def _split(nest: Nest) -> list[Nest]:
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
        size = costs.COSTS.swept_rows
        return [*in_parts(nest, reductions, rows, rows.extent // size, size)]
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


def is_long(node: Reduce) -> bool:
    """Return whether a sum is long enough to be split."""
    return (
        node.combiner == "add"
        and node.dtype.kind == "f"
        and point_count(node.dims) >= costs.COSTS.long_sum_terms
    )


def _long_in_parts(nest: Nest, together: Mapping[tuple[Dim, ...], Sequence[Reduce]]) -> list[Nest]:
    """Return a nest with long sums in parts, those over the same dimensions in one nest."""
    done: list[Nest] = []
    for dims, nodes in together.items():
        dim = _cut(dims)
        size = max(1, costs.COSTS.partial_sum_terms * dim.extent // point_count(dims))
        parts, nest = in_parts(nest, nodes, dim, dim.extent // size, size)
        done.append(parts)
    return [*done, nest]


def _cut(dims: Sequence[Dim]) -> Dim:
    """Return the dimension to cut: the first, if that leaves whole rows of some length, or else the longest."""
    rest = point_count(dims) // dims[0].extent
    most = costs.COSTS.partial_sum_rows * costs.COSTS.partial_sum_terms
    whole = dims[0].extent >= costs.COSTS.split_reduction_results and rest <= most
    return dims[0] if whole else max(dims, key=lambda one: one.extent)


class _Part:
    """A part of a dimension: rewrites reductions over the dimension to run over the part, with sharing kept.

    Args:
        dim: the dimension.
        inner: the dimension of the part.
        index: where this is in the whole.
    """

    def __init__(self, dim: Dim, inner: Dim, index: Index) -> None:
        self.dim, self.inner = dim, inner
        self.rewrite = Rewriter(replace_term=lambda term: index if term is dim else None)

    def dims(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """Return dimensions with the part in the place of the whole."""
        return without_unit(self.inner if dim is self.dim else dim for dim in dims)

    def over(self, node: Reduce) -> Expression:
        """Return a reduction over the part."""
        body, dims = self.rewrite(node.body), self.dims(node.dims)
        return replace(node, dims=dims, body=body) if dims else body

    def along(self, store: Store) -> Store:
        """Return what is written along a reduction, along the part."""
        return replace(rewrite_store(store, self.rewrite), along=self.dims(store.along))


def in_parts(nest: Nest, nodes: Sequence[Reduce], dim: Dim, count: int, size: int) -> tuple[Nest, Nest]:
    """Return the nest that makes the partial sums, and the nest that adds them up with the rest.

    Args:
        nest: where the reductions stand.
        nodes: reductions over the same dimensions.
        dim: the one of these that is cut.
        count: how many parts there are.
        size: the points of each.
    """
    part, inner, again = Dim(count, "part"), Dim(size, dim.name), Dim(count, "part")
    left = Dim(dim.extent - count * size, dim.name)
    whole = _Part(dim, inner, Index.of(part) * size + Index.of(inner))
    rest = _Part(dim, left, Index.of(left) + count * size)
    fresh = {one: Dim(one.extent, one.name) for one in nest.dims}
    moved = Rewriter(replace_term=lambda term: Index.of(fresh[term]) if term in fresh else None)  # pyright: ignore[reportArgumentType]
    stores: list[Store] = []
    totals: dict[Reduce, Expression] = {}
    for node in nodes:
        buffer = Buffer(node.dtype, (count, *(one.extent for one in nest.dims)))
        value = moved(whole.over(node))
        stores.append(Store(buffer, (Index.of(part), *map(Index.of, fresh.values())), value))
        element = Load(buffer, (Index.of(again), *map(Index.of, nest.dims)))
        totals[node] = Reduce(node.combiner, (again,), element, node.dtype)
        if left.extent:
            totals[node] = Apply(node.combiner, (totals[node], rest.over(node)), node.dtype)
    along = [store for store in nest.stores if store.along and store.along == nodes[0].dims]
    stores += (rewrite_store(whole.along(store), moved) for store in along)
    origin = (*nest.origin, "parts")
    parts = Nest((part, *fresh.values()), tuple(stores), location=nest.location, origin=origin)

    def change(one: Expression) -> Expression:
        return totals.get(one, one) if isinstance(one, Reduce) else one

    rewrite = Rewriter(change)
    after = [replace(store, value=rewrite(store.value)) for store in nest.stores if store not in along]
    after += (rest.along(store) for store in along if left.extent)
    return parts, replace(nest, stores=tuple(after))
