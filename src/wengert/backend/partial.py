"""Partial sums: a reduction to few results is split, so that there is something for several threads to do.

The number of parts does not depend on the number of threads, and so the result does not either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from wengert.backend.layout import work
from wengert.nest.expression import Buffer, Expression, Load, Reduce, Rewriter
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Nest, Program, Step, Store, map_blocks

_FEW = 16
"""Results below which a reduction is split."""
_LARGE = 500_000
"""Operations from which on a split pays."""
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
    if points >= _FEW or nest.sequential or len(reductions) != 1 or work(nest) < _LARGE:
        return [nest]
    (node,) = reductions
    if node.combiner.startswith("arg") or any(store.combiner for store in nest.stores):
        return [nest]
    for dim in node.dims:
        count = next((parts for parts in _PARTS if dim.extent % parts == 0 and dim.extent > parts), 0)
        if count:
            return _in_parts(nest, node, dim, count)
    return [nest]


def _in_parts(nest: Nest, node: Reduce, dim: Dim, count: int) -> list[Step]:
    part, inner, again = Dim(count, "part"), Dim(dim.extent // count, dim.name), Dim(count, "part")
    index = Index.of(part) * inner.extent + Index.of(inner)
    body = Rewriter(replace_term=lambda term: index if term is dim else None)(node.body)
    dims = tuple(inner if one is dim else one for one in node.dims)
    totals = Buffer(node.dtype, (count, *(one.extent for one in nest.dims)))
    fresh = {one: Dim(one.extent, one.name) for one in nest.dims}
    moved = Rewriter(replace_term=lambda term: Index.of(fresh[term]) if term in fresh else None)  # pyright: ignore[reportArgumentType]
    value = moved(replace(node, dims=tuple(one for one in dims if one.extent != 1), body=body))
    parts = Nest(
        (part, *fresh.values()),
        (Store(totals, (Index.of(part), *map(Index.of, fresh.values())), value),),
        location=nest.location,
        origin=(*nest.origin, "parts"),
    )
    element = Load(totals, (Index.of(again), *map(Index.of, nest.dims)))
    total = Reduce(node.combiner, (again,), element, node.dtype)

    def change(one: Expression) -> Expression:
        return total if one is node else one

    rewrite = Rewriter(change)
    stores = tuple(replace(store, value=rewrite(store.value)) for store in nest.stores)
    return [parts, replace(nest, stores=stores)]
