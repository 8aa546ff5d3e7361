"""Phases: a nest whose sums have terms for some phases of a strided axis only is split into a nest for each phase.

The derivative of a convolution of stride s with respect to its input, and a transposed convolution, compute the result
at ``s h + phase``, from the taps ``s k + phase`` of the filter. For each phase the number of taps is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

from wengert.compiler.passes.narrow import hoist_guards
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Guard, Reduce, indices_of, walk
from wengert.engine.nest.index import Digit, Dim, Index, condition_range
from wengert.engine.nest.nest import Nest
from wengert.engine.nest.rewrite import substitute_dims


def by_digit(nest: Nest) -> list[Nest]:
    """Return a nest without digits for each phase of an axis whose length is not a multiple of the stride."""
    strides: dict[Dim, int] = {}
    for node in _bounded(nest):
        for term in (term for part in walk(node) for index in indices_of(part) for term, _ in index.terms):
            dim = term.index.only if isinstance(term, Digit) else None
            if isinstance(term, Digit) and dim in nest.dims:
                strides[dim] = term.divisor if term.divisor > 1 else term.modulus
    parts = {dim: [_every(dim, stride, n) for n in range(stride)] for dim, stride in strides.items()}
    return _pieces(nest, parts)


def by_phase(nest: Nest) -> list[Nest]:
    """Return a nest for each phase of the strided axes that the sums of a nest depend on."""
    phased = set[Dim]()
    for node in _bounded(nest):
        assert isinstance(node.body, Guard)
        for index, extent in node.body.conditions:
            alone = condition_range(index, extent)
            few = {alone[0]} if alone and alone[0].extent <= costs.COSTS.phase_extent else set[Dim]()
            phased |= few | phases_of(index, nest.dims, node.dims)
    return _pieces(nest, {d: [Index(n) for n in range(d.extent)] for d in nest.dims if d in phased})


def phases_of(index: Index, mapped: Collection[Dim], summed: Collection[Dim]) -> set[Dim]:
    """Return the dimensions of the result that move an index less than one step of a sum does."""
    stride = max((abs(index.coefficient(dim)) for dim in summed), default=0)
    return {d for d in index.dims() if d in mapped and abs(index.coefficient(d)) * (d.extent - 1) < stride}


def _bounded(nest: Nest) -> list[Reduce]:
    """Return the sums of a nest that have conditions."""
    return [node for node in nest.reductions() if node.combiner == "add" and isinstance(node.body, Guard)]


def _every(dim: Dim, stride: int, first: int) -> Index:
    """Return the points of a dimension at a stride, from a first one on."""
    return Index.of(Dim(len(range(first, dim.extent, stride)), dim.name)) * stride + first


def _pieces(nest: Nest, parts: Mapping[Dim, Sequence[Index]]) -> list[Nest]:
    """Return the nest in pieces, one for each choice of a part of each dimension."""
    count = math.prod(map(len, parts.values()))
    if not 1 < count <= costs.COSTS.split_pieces or not set(nest.reads()).isdisjoint(nest.writes()):
        return [nest]
    return [_at(nest, dict(zip(parts, at, strict=True))) for at in itertools.product(*parts.values())]


def _at(nest: Nest, places: Mapping[Dim, Index]) -> Nest:
    piece = hoist_guards(substitute_dims(nest, {**places}))
    assert isinstance(piece, Nest)
    return piece
