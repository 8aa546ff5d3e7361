"""Reductions written so that compilers make vectors of them: they may not change the order of sums themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from wengert.engine.machine.costs import FUNCTION, OPERATION_COSTS
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Apply, Buffer, Expression, Guard, Load, Reduce, loads, walk
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term, flatten, without_unit
from wengert.engine.nest.nest import Nest, Program, Step, Store, map_nests
from wengert.engine.nest.rewrite import rewrite_step

ROW = 256
"""The points of a row whose sums an array holds."""
UNROLLED = 4
"""The terms that are added to a row of sums at a time."""
PARTS = 8
"""The sums into which a long one is split."""
_COPIED = 1 << 14
"""The elements of the copy of a factor at most."""
_CHEAP = 3
"""The additions that an operation of a few instructions costs at most."""
_LEAST = 32
"""The points of a row at least."""


def has_vectors(target: Target) -> bool:
    """Return whether a processor has instructions for vectors of floats.

    Example:
        >>> from wengert.exporting.targets import target_named
        >>> has_vectors(target_named("x86-64-v3")), has_vectors(target_named("cortex-m4f"))
        (True, False)
    """
    architecture = target.triple.split("-")[0]
    return architecture in ("x86_64", "aarch64", "arm64") or any(
        feature in target.features for feature in ("+neon", "+simd128", "+mve.fp", "+v,")
    )


def with_turned_factors(program: Program) -> Program:
    """Return the program with copies of the factors of sums, whose neighbouring points then load neighbours.

    Both factors of ``sum(x[i, k] * y[j, k], over=k)`` lie along k. The copy of y, which all i share, lies along j.
    """
    return replace(program, steps=map_nests(program.steps, _turned))


def _turned(nest: Nest) -> Iterator[Step]:
    nodes, (*around, lane) = nest.reductions(), without_unit(nest.dims) or (Dim(1),)
    is_shared = math.prod(_extents(around)) >= PARTS <= lane.extent and not nest.sequential
    if is_shared and len(nodes) == 1 and nodes[0].combiner == "add" and _is_simple(nodes[0].body):
        dims = (*nodes[0].dims, lane)
        far = {load for load in loads(nodes[0].body) if _stride(load, lane) not in (0, 1)}
        factor = far.pop() if far else None
        is_alone = factor is not None and not far and factor.buffer not in nest.writes()
        is_dear = PARTS * lane.extent <= math.prod(_extents(dims)) <= _COPIED
        if factor is not None and is_alone and is_dear and factor.facts.dims.issubset(dims):
            copy, indices = Buffer(factor.dtype, _extents(dims)), tuple(map(Index.of, dims))
            yield Nest(dims, (Store(copy, indices, factor),), location=nest.location)
            nest = cast(Nest, rewrite_step(nest, lambda x: Load(copy, indices) if x == factor else x))
    yield nest


def _extents(dims: Iterable[Dim]) -> tuple[int, ...]:
    return tuple(dim.extent for dim in dims)


def is_cheap(node: Apply) -> bool:
    """Return whether an operation costs no more than a few instructions."""
    return OPERATION_COSTS.get(node.operation, FUNCTION) <= _CHEAP


def can_share_rows(nest: Nest, dim: Dim) -> bool:
    """Return whether the reductions of neighbouring points along a dimension are better carried out together.

    What they load lies side by side, or is the same for all of them.
    """
    nodes = nest.reductions()
    if not nodes or dim.extent < _LEAST or nest.sequential or any(store.along for store in nest.stores):
        return False
    if any(node.dims != nodes[0].dims or node.returns_index for node in nodes):
        return False
    has_turns = 0 not in (reduced.extent for reduced in nodes[0].dims) and bool(without_unit(nodes[0].dims))
    bodies = [node.body for node in nodes]
    return has_turns and all(map(_is_simple, bodies)) and _go_along(bodies, dim)


def can_split(nodes: Sequence[Reduce], dim: Dim) -> bool:
    """Return whether sums along a dimension may be split: they load what lies side by side."""
    if any(
        node.combiner != "add" or node.dtype.kind != "f" or isinstance(node.body, Guard) for node in nodes
    ):
        return False
    bodies = [node.body for node in nodes]
    return dim.extent >= PARTS and all(map(_is_simple, bodies)) and _go_along(bodies, dim)


def _is_simple(body: Expression) -> bool:
    """Return whether a value is made of a few instructions, without conditions on indices and other reductions."""
    return all(
        (isinstance(node, Apply) and is_cheap(node)) or not isinstance(node, (Apply, Guard, Reduce))
        for node in walk(body)
    )


def _go_along(bodies: Sequence[Expression], dim: Dim) -> bool:
    strides = [_stride(load, dim) for body in bodies for load in loads(body)]
    return all(stride in (0, 1) for stride in strides) and 1 in strides


def _stride(load: Load, dim: Dim) -> int | None:
    """Return the distance of the elements that neighbouring points load; None if it is not constant."""
    position = flatten(load.indices, load.buffer.shape)
    if any(_follows(term, dim) for term, _ in position.terms if not isinstance(term, Dim)):
        return None
    return position.coefficient(dim)


def _follows(term: Term, dim: Dim) -> bool:
    match term:
        case Computed(expression=expression):
            return dim in expression.facts.dims
        case Digit(index=index):
            return any(_follows(inner, dim) for inner, _ in index.terms)
        case _:
            return term is dim
