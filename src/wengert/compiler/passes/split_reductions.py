"""Partial sums: a long reduction is split, so that its errors stay small and several threads have something to do.

A sum of n numbers one after another errs by up to n roundings; a sum of sums of a few thousand by as many as those have
(Higham, The accuracy of floating point summation, 1993). The number of parts does not depend on the number of threads,
and so the result does not either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.compiler.machine.costs import work
from wengert.nest.expression import Apply, Buffer, Expression, Load, Reduce, Rewriter
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Nest, Program, Step, Store, map_blocks
from wengert.nest.rewrite import rewrite_store

_FEW = 16
"""Results below which a reduction is split."""
_LARGE = 500_000
"""Operations from which on a split pays."""
_LONG = 1 << 16
"""Terms of a sum of floats from which on its roundings count."""
_PART = 1 << 12
"""About the terms of a part of it."""
_ROWS = 4
"""Times as many terms as that a part may have, if it is whole rows."""
_MANY = 1024
"""Results from which on parts of each would take much memory."""
_PARTS = (16, 8, 32, 12, 10, 20, 24, 14, 18, 9, 25, 15, 28, 30, 21, 27, 6, 7, 5, 4, 3, 2)
"""Numbers of parts, the first that divides a dimension is taken."""


def split_reductions(program: Program) -> Program:
    """Return the program with large reductions to few results in two steps: the parts, then their total."""
    return replace(program, steps=_split_all(program.steps))


def _split_all(steps: Sequence[Step]) -> tuple[Step, ...]:
    done: list[Step] = []
    for step in steps:
        done += _split(step) if isinstance(step, Nest) else [map_blocks(step, _split_all)]
    return tuple(done)


def _split(nest: Nest) -> list[Step]:
    points = math.prod(dim.extent for dim in nest.dims)
    reductions = list(dict.fromkeys(node for node in nest.nodes() if isinstance(node, Reduce)))
    if nest.sequential or any(store.combiner for store in nest.stores):
        return [nest]
    together: dict[tuple[Dim, ...], list[Reduce]] = {}
    for node in reductions:
        if points < _MANY and is_long(node):
            together.setdefault(node.dims, []).append(node)
    if together:
        return _long_in_parts(nest, together)
    if points >= _FEW or work(nest) < _LARGE or len(reductions) != 1:
        return [nest]
    (node,) = reductions
    for dim in () if node.finds_place else node.dims:
        count = next((parts for parts in _PARTS if dim.extent % parts == 0 and dim.extent > parts), 0)
        if count:
            return [*in_parts(nest, [node], dim, count, dim.extent // count)]
    return [nest]


def is_long(node: Reduce) -> bool:
    """Tell whether a sum has so many terms that it is split."""
    return node.combiner == "add" and node.dtype.kind == "f" and _terms(node.dims) >= _LONG


def _terms(dims: Sequence[Dim]) -> int:
    return math.prod(dim.extent for dim in dims)


def _long_in_parts(nest: Nest, together: Mapping[tuple[Dim, ...], Sequence[Reduce]]) -> list[Step]:
    """Return a nest with long sums in parts, those over the same dimensions in one nest."""
    done: list[Step] = []
    for dims, nodes in together.items():
        dim = _cut(dims)
        size = max(1, _PART * dim.extent // _terms(dims))
        parts, nest = in_parts(nest, nodes, dim, dim.extent // size, size)
        done.append(parts)
    return [*done, nest]


def _cut(dims: Sequence[Dim]) -> Dim:
    """Return the dimension to cut: the first, if that leaves whole rows of some length, or else the longest."""
    rest = _terms(dims) // dims[0].extent
    whole = dims[0].extent >= _FEW and rest <= _ROWS * _PART
    return dims[0] if whole else max(dims, key=lambda one: one.extent)


class _Part:
    """A part of a dimension: what is over the dimension, over the part; what several share is still shared.

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
        return tuple(
            one for one in (self.inner if one is self.dim else one for one in dims) if one.extent != 1
        )

    def over(self, node: Reduce) -> Expression:
        """Return a reduction over the part."""
        body, dims = self.rewrite(node.body), self.dims(node.dims)
        return replace(node, dims=dims, body=body) if dims else body

    def along(self, store: Store) -> Store:
        """Return what is written along a reduction, along the part."""
        return replace(rewrite_store(store, self.rewrite), along=self.dims(store.along))


def in_parts(nest: Nest, nodes: Sequence[Reduce], dim: Dim, count: int, size: int) -> tuple[Nest, Nest]:
    """Return a nest that makes the totals of so many parts of some size, and the nest with their totals and the rest.

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
