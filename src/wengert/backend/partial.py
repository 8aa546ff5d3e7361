"""Partial sums: a long reduction is split, so that its errors stay small and several threads have something to do.

A sum of n numbers one after another errs by up to n roundings; a sum of sums of a few thousand by as many as those have
(Higham, The accuracy of floating point summation, 1993). The number of parts does not depend on the number of threads,
and so the result does not either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from wengert.backend.layout import work
from wengert.nest.expression import Apply, Buffer, Expression, Load, Reduce, Rewriter
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Nest, Program, Step, Store, map_blocks

_FEW = 16
"""Results below which a reduction is split."""
_LARGE = 500_000
"""Operations from which on a split pays."""
_LONG = 1 << 16
"""Terms of a sum of floats from which on its roundings count."""
_PART = 1 << 12
"""About the terms of a part of it."""
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
    if nest.sequential or len(reductions) != 1 or any(store.combiner for store in nest.stores):
        return [nest]
    (node,) = reductions
    terms = math.prod(dim.extent for dim in node.dims)
    if node.combiner == "add" and node.dtype.kind == "f" and terms >= _LONG and points < _MANY:
        dim = max(node.dims, key=lambda one: one.extent)
        size = max(1, _PART * dim.extent // terms)
        return _in_parts(nest, node, dim, dim.extent // size, size)
    if points >= _FEW or work(nest) < _LARGE or node.combiner.startswith("arg"):
        return [nest]
    for dim in node.dims:
        count = next((parts for parts in _PARTS if dim.extent % parts == 0 and dim.extent > parts), 0)
        if count:
            return _in_parts(nest, node, dim, count, dim.extent // count)
    return [nest]


def _over(node: Reduce, dim: Dim, inner: Dim, index: Index) -> Expression:
    """Return a reduction over a part of a dimension: the elements at an index that follows another dimension."""
    body = Rewriter(replace_term=lambda term: index if term is dim else None)(node.body)
    dims = tuple(inner if one is dim else one for one in node.dims)
    dims = tuple(one for one in dims if one.extent != 1)
    return replace(node, dims=dims, body=body) if dims else body


def _in_parts(nest: Nest, node: Reduce, dim: Dim, count: int, size: int) -> list[Step]:
    """Return a nest that makes the totals of so many parts of some size, and the nest with their total and the rest."""
    part, inner, again = Dim(count, "part"), Dim(size, dim.name), Dim(count, "part")
    totals = Buffer(node.dtype, (count, *(one.extent for one in nest.dims)))
    fresh = {one: Dim(one.extent, one.name) for one in nest.dims}
    moved = Rewriter(replace_term=lambda term: Index.of(fresh[term]) if term in fresh else None)  # pyright: ignore[reportArgumentType]
    value = moved(_over(node, dim, inner, Index.of(part) * size + Index.of(inner)))
    parts = Nest(
        (part, *fresh.values()),
        (Store(totals, (Index.of(part), *map(Index.of, fresh.values())), value),),
        location=nest.location,
        origin=(*nest.origin, "parts"),
    )
    element = Load(totals, (Index.of(again), *map(Index.of, nest.dims)))
    total: Expression = Reduce(node.combiner, (again,), element, node.dtype)
    left = Dim(dim.extent - count * size, dim.name)
    if left.extent:
        rest = _over(node, dim, left, Index.of(left) + count * size)
        total = Apply(node.combiner, (total, rest), node.dtype)

    def change(one: Expression) -> Expression:
        return total if one is node else one

    rewrite = Rewriter(change)
    stores = tuple(replace(store, value=rewrite(store.value)) for store in nest.stores)
    return [parts, replace(nest, stores=stores)]
