"""Padding: a sum that ends at the border of an array reads a copy with zeros beyond the border, without a condition.

The derivative of a convolution with respect to its input, ``dx[h] = sum over k of g[h - k] w[k] if 0 <= h - k < n``,
has a condition in the sum that depends on the place of the result. Vectors of it need masks, and points of a tile would
need loops of different lengths. A copy of ``g`` with a border of zeros needs neither. Terms beyond the border are
zero then, unless the other factor is infinite or NaN: the program tests that factor first, and carries out the sum
with conditions if it is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from wengert.compiler.passes.dim_classes import lane_class, ordinary_buffers
from wengert.compiler.passes.split_phases import by_digit, by_phase, phases_of
from wengert.engine.core.dtypes import BOOL
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Load,
    Reduce,
    is_zero,
    zero,
)
from wengert.engine.nest.index import Dim, Index, Term, without_unit
from wengert.engine.nest.nest import Branch, Nest, Program, Step, Store, map_nests
from wengert.engine.nest.rewrite import rewrite_step, substitute_dims

Condition = tuple[Index, int]


def pad_borders(program: Program, fast: bool = False) -> Program:
    """Return the program with copies of arrays that sums read up to their borders.

    If ``fast``, all numbers are finite.
    """
    lanes, fixed = lane_class(program), ordinary_buffers(program)

    def has_lanes(buffer: Buffer) -> bool:
        return (
            lanes is not None
            and buffer not in fixed
            and any(lanes.has((buffer, axis)) for axis in range(len(buffer.shape)))
        )

    return replace(program, steps=map_nests(program.steps, lambda nest: _padded(nest, fast, has_lanes)))


class _Bordered(NamedTuple):
    """A sum without conditions."""

    old: Reduce
    new: Reduce
    copies: tuple[Nest, ...]
    checked: tuple[Load, ...]
    """The loads whose values must be finite."""


def _padded(nest: Nest, fast: bool, has_lanes: Callable[[Buffer], bool]) -> list[Step]:
    """Return a nest, or one without conditions in its sums behind the copies that it reads."""
    if nest.sequential or nest.accumulates or operation_count(nest) < costs.COSTS.bordered_sum_work:
        return [nest]
    return [step for piece in by_digit(nest) for step in _with_borders(piece, fast, has_lanes)]


def _with_borders(nest: Nest, fast: bool, has_lanes: Callable[[Buffer], bool]) -> list[Step]:
    own = nest.own_dims()
    bordered = (_bordered(node, set(nest.dims), own, fast, has_lanes) for node in nest.reductions())
    sums = [x for x in bordered if x]
    copies = [copy for bordered in sums for copy in bordered.copies]
    copied = sum(store.buffer.size for copy in copies for store in copy.stores)
    if not copies or copied * costs.COSTS.bordered_copy_work > operation_count(nest):
        return [*by_phase(nest)]
    changed = {bordered.old: bordered.new for bordered in sums}
    plain = rewrite_step(nest, lambda node: changed.get(node, node) if isinstance(node, Reduce) else node)
    assert isinstance(plain, Nest)
    checked = [load for bordered in sums for load in bordered.checked]
    if not checked:
        return [*copies, *by_phase(plain)]
    is_finite = Buffer(BOOL, ())
    test = _finiteness_test(checked, own, is_finite, nest.location)
    fresh: dict[Term, Index] = {dim: Index.of(Dim(dim.extent, dim.name)) for dim in plain.own_dims()}
    yes = (*copies, *by_phase(substitute_dims(plain, fresh)))
    return [test, Branch(is_finite, yes, (nest,), nest.location)]


def _bordered(
    node: Reduce,
    mapped: Collection[Dim],
    own: Collection[Dim],
    fast: bool,
    has_lanes: Callable[[Buffer], bool],
) -> _Bordered | None:
    """Return a sum without its conditions on the place of the result; None if it keeps one or has no such condition."""
    body = node.body
    if node.combiner != "add" or not isinstance(body, Guard) or not is_zero(body.otherwise):
        return None
    term, copies, checked = body.body, list[Nest](), list[Load]()
    for load, factor, rebuild in _factors(term):
        covered = _covered(load, body.conditions, node, own)
        checks = () if factor is None or fast else _finite_loads(factor)
        if not covered or checks is None or (has_lanes(load.buffer) and not _is_full(covered)):
            continue
        copy, moved = _with_border(load, covered, own)
        term = rebuild(term, moved)
        copies.append(copy)
        checked += checks
        body = replace(body, conditions=tuple(c for c in body.conditions if c not in covered))
    if not copies or any(_couples(index, mapped, node.dims) for index, _ in body.conditions):
        return None
    inner: Expression = replace(body, body=term) if body.conditions else term
    return _Bordered(node, replace(node, body=inner), tuple(copies), tuple(checked))


def _couples(index: Index, mapped: Collection[Dim], summed: Collection[Dim]) -> bool:
    """Return whether an index depends on the place of the result, beyond a phase, and on the term of its sum."""
    dims = set(index.dims()) - phases_of(index, mapped, summed)
    return not dims.isdisjoint(mapped) and not dims.isdisjoint(summed)


def _factors(
    term: Expression,
) -> list[tuple[Load, Expression | None, Callable[[Expression, Load], Expression]]]:
    """Return each load that is a factor of a term, the other factor, and the function that replaces the load."""
    if _is_affine(term):
        return [(term, None, lambda _, moved: moved)]
    if not isinstance(term, Apply) or term.operation not in ("multiply", "multiply_no_nan"):
        return []
    first, second = term.operands
    no_nan = term.operation == "multiply_no_nan"

    def at(position: int) -> Callable[[Expression, Load], Expression]:
        def rebuilt(product: Expression, moved: Load) -> Expression:
            assert isinstance(product, Apply)
            operands = (moved, product.operands[1]) if position == 0 else (product.operands[0], moved)
            return replace(product, operands=operands)

        return rebuilt

    pairs = ((0, first, second), (1, second, first))
    return [(a, None if no_nan else b, at(n)) for n, a, b in pairs if _is_affine(a)]


def _covered(
    load: Load, conditions: Iterable[Condition], node: Reduce, own: Collection[Dim]
) -> list[Condition]:
    """Return the conditions on the place of the result that bound an index of a load."""
    axes = [_part(index, own).terms for index in load.indices]
    mapped = set(own).difference(node.dims)
    return [
        (index, extent)
        for index, extent in conditions
        if axes.count(index.terms) == 1 and _couples(index, mapped, node.dims)
    ]


def _is_full(conditions: Iterable[Condition]) -> bool:
    """Return whether most terms are within the border, so that others are worth their time.

    Examples along the lanes need no masks: a loop with bounds leaves out the terms beyond the border.
    """
    share = 1.0
    for index, extent in conditions:
        places = np.array([index.offset])
        for term, factor in index.terms:
            assert isinstance(term, Dim)
            places = np.add.outer(places, factor * np.arange(term.extent)).ravel()
        share *= float(np.mean((places >= 0) & (places < extent)))
    return share >= costs.COSTS.bordered_terms_share


def _part(index: Index, own: Collection[Dim]) -> Index:
    """Return the terms of an index in the nest's own dimensions."""
    return Index(0, tuple((term, factor) for term, factor in index.terms if term in own))


def _finite_loads(expression: Expression) -> tuple[Load, ...] | None:
    """Return the loads that must be finite for an expression to be finite; None if they are not known."""
    if isinstance(expression, Const):
        return () if np.all(np.isfinite(expression.value)) else None
    if expression.dtype.kind != "f":
        return ()
    return (expression,) if _is_affine(expression) else None


def _is_affine(node: Expression) -> TypeGuard[Load]:
    return isinstance(node, Load) and all(index.is_affine for index in node.indices)


def _with_border(load: Load, conditions: Sequence[Condition], own: Collection[Dim]) -> tuple[Nest, Load]:
    """Return the nest that copies the elements of a load, zero where conditions fail, and the load of the copy."""
    dims: list[Dim] = []
    source: list[Index] = []
    moved: list[Index] = []
    tests: list[Condition] = []
    for axis, index in enumerate(load.indices):
        part = _part(index, own)
        covering = [condition for condition in conditions if condition[0].terms == part.terms]
        low, high = part.bounds if covering else _inside(load, axis, part)
        if part.terms:
            dims.append(Dim(high - low + 1))
            place = Index.of(dims[-1]) + low
            source.append(index - part + place)
            moved.append(part - low)
            tests += [(place + test.offset, extent) for test, extent in covering]
        else:
            source.append(index)
    buffer = Buffer(load.dtype, tuple(dim.extent for dim in dims), load.buffer.name)
    value = Guard(tuple(tests), Load(load.buffer, tuple(source)), zero(load.dtype))
    store = Store(buffer, tuple(map(Index.of, dims)), value)
    return Nest(without_unit(dims), (store,), origin=("border",)), Load(buffer, tuple(moved))


def _inside(load: Load, axis: int, part: Index) -> tuple[int, int]:
    """Return the range of a part of an index, as far as it stays on its axis."""
    low, high = part.bounds
    remainder = load.indices[axis] - part
    if not remainder.terms:
        low, high = max(low, -remainder.offset), min(high, load.buffer.shape[axis] - 1 - remainder.offset)
    return low, high


def _finiteness_test(loads: Iterable[Load], own: Collection[Dim], flag: Buffer, location: str) -> Nest:
    """Return the nest that tests whether all elements of loads are finite."""
    total: Expression | None = None
    for load in loads:
        dims: list[Dim] = []
        source: list[Index] = []
        for axis, index in enumerate(load.indices):
            part = _part(index, own)
            low, high = _inside(load, axis, part)
            dims.append(Dim(high - low + 1))
            source.append(index - part + Index.of(dims[-1]) + low)
        axes = without_unit(dims)
        test: Expression = Apply("isfinite", (Load(load.buffer, tuple(source)),), BOOL)
        test = Reduce("logical_and", axes, test, BOOL) if axes else test
        total = test if total is None else Apply("logical_and", (total, test), BOOL)
    assert total is not None
    return Nest((), (Store(flag, (), total),), location=location, origin=("isfinite",))
