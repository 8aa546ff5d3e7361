"""Index-set splitting: a nest is split where conditions on an index change, so that its pieces decide nothing.

A difference along an axis, ``x[1:] - x[:-1]``, and its derivative hold conditions that fail at the first or last
element only: the edges become nests of their own. A concatenation, and the derivative of a split, hold a condition for
each piece, and every vector of the result would read all pieces. A nest that keeps what stands where a condition fails,
as a write of one element does, runs through the others alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from wengert.engine.machine import costs
from wengert.engine.nest.expression import Guard, Load, is_same_element
from wengert.engine.nest.index import Dim, Index, condition_range
from wengert.engine.nest.nest import Nest, Program, map_nests
from wengert.engine.nest.rewrite import substitute_dims


def split_index_sets(program: Program) -> Program:
    """Return the program with nests cut where conditions on a single index change."""
    return replace(program, steps=map_nests(program.steps, _pieces))


def _pieces(nest: Nest) -> list[Nest]:
    while (span := _changing(nest)) is not None:
        dim, low, high = span
        if low >= high:
            return []
        nest = _part(nest, dim, low, high)
    return _split(nest, costs.COSTS.split_pieces)


def _changing(nest: Nest) -> tuple[Dim, int, int] | None:
    """Return a dimension and its range outside of which a nest leaves what it stores as it is."""
    store = nest.stores[0]
    if len(nest.stores) > 1 or store.combiner or store.along or not isinstance(store.value, Guard):
        return None
    kept = store.value.otherwise
    if not (isinstance(kept, Load) and is_same_element(kept, Load(store.buffer, store.indices))):
        return None
    for condition in store.value.conditions:
        span = condition_range(*condition)
        if span is not None and span[0] in nest.dims and span[0] not in nest.sequential:
            dim, low, high = span[0], max(span[1], 0), min(span[2], span[0].extent)
            if (low, high) != (0, dim.extent):
                return dim, low, high
    return None


def _split(nest: Nest, most: int) -> list[Nest]:
    if nest.accumulates or not set(nest.reads()).isdisjoint(nest.writes()):
        return [nest]
    for dim in nest.dims:
        if dim.extent < costs.COSTS.split_extent or dim in nest.sequential:
            continue
        places = sorted({0, dim.extent, *_changes(nest, dim)})
        if len(places) > 2 and _is_worth_it(nest, dim, places, most):
            parts = [_part(nest, dim, low, high) for low, high in pairwise(places)]
            return [piece for part in parts for piece in _split(part, most // len(parts))]
    return [nest]


def _is_worth_it(nest: Nest, dim: Dim, places: Sequence[int], most: int) -> bool:
    """Return whether the parts of a dimension are a few edges and the rest, or no more pieces than there may be."""
    lengths = [high - low for low, high in pairwise(places)]
    if max(lengths) >= dim.extent * costs.COSTS.split_interior_share:
        return len(lengths) <= costs.COSTS.split_edges + 1
    # The tile of a reduction shares what it loads with its neighbours, which a cut would part.
    return not nest.has_reductions and min(lengths) >= costs.COSTS.split_piece_extent and len(lengths) <= most


def _changes(nest: Nest, dim: Dim) -> set[int]:
    """Return where along a dimension conditions on it alone change."""
    conditions = (
        condition for node in nest.nodes() if isinstance(node, Guard) for condition in node.conditions
    )
    ranges = (condition_range(*condition) for condition in conditions)
    return {
        point for span in ranges if span and span[0] is dim for point in span[1:] if 0 < point < dim.extent
    }


def _part(nest: Nest, dim: Dim, low: int, high: int) -> Nest:
    """Return a nest for a part of a dimension, without the conditions that are decided there."""
    return substitute_dims(nest, {dim: Index.of(Dim(high - low, dim.name)) + low})
