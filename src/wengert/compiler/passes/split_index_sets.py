"""Index-set splitting: a nest is split where conditions on an index change, so that its pieces decide nothing.

A difference along an axis, ``x[1:] - x[:-1]``, and its derivative hold conditions that fail at the first or last
element only: the edges become nests of their own. A concatenation, and the derivative of a split, hold a condition for
each piece, and every vector of the result would read all pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from wengert.engine.machine import costs
from wengert.engine.nest.expression import Guard
from wengert.engine.nest.index import Dim, Index, condition_range
from wengert.engine.nest.nest import Nest, Program, map_nests
from wengert.engine.nest.rewrite import substitute_dims


def split_index_sets(program: Program) -> Program:
    """Return the program with nests cut where conditions on a single index change."""
    return replace(
        program, steps=map_nests(program.steps, lambda nest: _split(nest, costs.COSTS.split_pieces))
    )


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
