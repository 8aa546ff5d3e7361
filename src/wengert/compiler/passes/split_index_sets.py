"""Pieces apart: where conditions on an index change, a nest is cut into nests that have nothing left to decide.

The body of a difference along an axis, ``x[1:] - x[:-1]``, or of its derivative holds conditions that fail at the first
or last element only: the edges become nests of their own. Arrays joined end to end, or the derivative of an array's
being split, hold one for each piece, and every vector of the result would read from all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from wengert.nest.expression import Guard, Rewriter
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Nest, Program, Step, map_blocks
from wengert.nest.rewrite import rewrite_store

_LONG = 64
"""Elements of a dimension from which on it is worth a cut."""
_EDGES = 4
"""Edges that are cut off a dimension, at most."""
_PIECE = 16
"""Elements from which on a part of a dimension is no edge, but a piece."""
_PIECES = 16
"""Pieces that a nest becomes, at most."""
_MOST = 0.9
"""What is left of a dimension, at least, of which only edges are cut off."""


def cut_pieces(program: Program) -> Program:
    """Return the program with nests cut where conditions on a single index change."""
    return replace(program, steps=_in_pieces(program.steps))


def _in_pieces(steps: Sequence[Step]) -> tuple[Step, ...]:
    done: list[Step] = []
    for step in steps:
        done += _cut(step) if isinstance(step, Nest) else [map_blocks(step, _in_pieces)]
    return tuple(done)


def _cut(nest: Nest, most: int = _PIECES) -> list[Step]:
    if any(store.combiner for store in nest.stores) or _reads_what_it_writes(nest):
        return [nest]
    for dim in nest.dims:
        if dim.extent < _LONG or dim in nest.sequential:
            continue
        places = sorted({0, dim.extent, *_changes(nest, dim)})
        if len(places) > 2 and _is_worth_it(nest, dim, places, most):
            parts = [_part(nest, dim, low, high) for low, high in pairwise(places)]
            return [one for part in parts for one in _cut(part, most // len(parts))]
    return [nest]


def _is_worth_it(nest: Nest, dim: Dim, places: Sequence[int], most: int) -> bool:
    """Tell whether the parts of a dimension are a few edges and the rest, or no more pieces than there may be."""
    lengths = [high - low for low, high in pairwise(places)]
    if max(lengths) >= dim.extent * _MOST:
        return len(lengths) <= _EDGES + 1
    # The tile of a reduction shares what it loads with its neighbours, which a cut would part.
    return not nest.has_reductions and min(lengths) >= _PIECE and len(lengths) <= most


def _reads_what_it_writes(nest: Nest) -> bool:
    return bool(set(nest.reads()) & set(nest.writes()))


def _changes(nest: Nest, dim: Dim) -> set[int]:
    """Return where along a dimension conditions on it alone change."""
    found: set[int] = set()
    for node in nest.nodes():
        if isinstance(node, Guard):
            for index, extent in node.conditions:
                if len(index.terms) == 1 and index.terms[0][0] is dim and abs(index.terms[0][1]) == 1:
                    found.update(_bounds(index, extent))
    return {point for point in found if 0 < point < dim.extent}


def _bounds(index: Index, extent: int) -> tuple[int, int]:
    if index.terms[0][1] == 1:
        return -index.offset, extent - index.offset
    return index.offset - extent + 1, index.offset + 1


def _part(nest: Nest, dim: Dim, low: int, high: int) -> Nest:
    """Return a nest for a part of a dimension, with the conditions that are decided there gone."""
    part = Dim(high - low, dim.name)
    moved = Index.of(part) + low
    rewrite = Rewriter(replace_term=lambda term: moved if term is dim else None)
    stores = tuple(rewrite_store(store, rewrite) for store in nest.stores)
    dims = tuple(part if one is dim else one for one in nest.dims)
    return replace(nest, dims=tuple(one for one in dims if one.extent != 1), stores=stores)
