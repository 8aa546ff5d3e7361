"""Totals: numbers to which each turn of a loop only adds, as a program sums up what its turns make.

The turns are independent but for them: what all turns add is added up after them, by lanes, in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Load, is_same
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest, Store

#: What at least so many turns add to a number is added up after them.
_LEAST_TURNS = 32


def with_totals(nests: Sequence[Nest], counter: Dim) -> tuple[list[Nest], list[Nest]]:
    """Return the nests of a turn, which make what it adds to numbers, and the nests that add this to them.

    The nests that add read, in the place of what all turns make, the number that one turn makes.
    """
    turn: list[Nest] = []
    totals: list[Nest] = []
    for nest in nests:
        found = _total_of_turns(nest, nests, counter)
        turn.append(nest if found is None else found[0])
        totals += [] if found is None else [found[1]]
    return turn, totals


def _total_of_turns(nest: Nest, nests: Sequence[Nest], counter: Dim) -> tuple[Nest, Nest] | None:
    """Return the nest of what a turn adds to a number, if it does nothing else, and the nest that adds it.

    The number is one that no other nest of the turn uses, and at the same place in each turn.
    """
    store = nest.stores[0]
    buffer, dtype = store.buffer, store.buffer.dtype
    if nest.dims or len(nest.stores) > 1 or store.combiner or store.along or dtype.kind not in "fi":
        return None
    if counter.extent < _LEAST_TURNS or any(
        counter in index.dims() or not index.is_affine for index in store.indices
    ):
        return None
    if any(buffer in {*other.reads(), *other.writes()} for other in nests if other is not nest):
        return None
    before = Load(buffer, store.indices)
    found = _addend(store.value, before)
    if found is None:
        return None
    operation, term = found
    if buffer in term.facts.buffers:
        return None
    own = Buffer(dtype, (), buffer.name)
    total = Apply(operation, (before, Load(own, ())), dtype, location=nest.location)
    return (
        replace(nest, stores=(Store(own, (), term),)),
        replace(nest, stores=(replace(store, value=total),)),
    )


def _addend(value: Expression, before: Load) -> tuple[str, Expression] | None:
    """Return what a value adds to, or subtracts from, an element before, with the operation; -0 changes nothing."""
    match value:
        case Apply(operation="add", operands=(x, y), dtype=before.buffer.dtype):
            if is_same(x, before):
                return "add", y
            return ("add", x) if is_same(y, before) else None
        case Apply(operation="subtract", operands=(x, y), dtype=before.buffer.dtype) if is_same(x, before):
            return "subtract", y
        case Apply(operation="where", operands=(condition, x, y), dtype=dtype) if dtype.kind == "f":
            nothing = Const(dtype.type(-0.0), dtype)
            for chosen, other, is_taken in ((x, y, True), (y, x, False)):
                found = _addend(chosen, before) if is_same(other, before) else None
                if found is not None and found[0] == "add":
                    either = (found[1], nothing) if is_taken else (nothing, found[1])
                    return "add", Apply("where", (condition, *either), dtype, location=value.location)
            return None
        case _:
            return None
