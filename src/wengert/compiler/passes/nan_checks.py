"""NaN checks: each float that an operation stores is tested, together with its operands.

A NaN that was among the operands, or that the operation names itself, is not reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from wengert.core.dtypes import BOOL
from wengert.nest.expression import Apply, Const, Expression, Guard, Load, Reduce, zero
from wengert.nest.nest import Host, Nest, Program, Step, Store, map_blocks


def add_nan_checks(program: Program) -> Program:
    """Return the program, not yet fused, that reports the first NaN that one of its operations makes."""
    return replace(program, steps=_all_watched(program.steps))


def _all_watched(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(map(_watched, steps))


def _watched(step: Step) -> Step:
    match step:
        case Nest():
            stores = tuple(_watched_store(step, store) for store in step.stores)
            in_order = (
                frozenset(step.dims) if any(store.combiner for store in step.stores) else step.sequential
            )
            return replace(step, stores=stores, sequential=in_order)
        case Host():
            return replace(step, check_nan=True)
        case _:
            return map_blocks(step, _all_watched)


def _watched_store(nest: Nest, store: Store) -> Store:
    """Return a store with a NaN check; an accumulating store becomes a store of its sum."""
    value = store.value
    if store.combiner:
        before = Load(store.buffer, store.indices)
        value = Apply(store.combiner, (before, value), value.dtype)
    return replace(store, value=_looked_at(nest, value), combiner="")


def _looked_at(nest: Nest, value: Expression) -> Expression:
    if value.dtype.kind != "f":
        return value
    name = "/".join(nest.origin)
    return Apply("made", (value, _had_nan(value)), value.dtype, location=nest.location, requirement=name)


def _had_nan(value: Expression) -> Expression:
    """Return whether an operand of an expression is NaN."""
    match value:
        case Const():
            return Const(np.bool_(value.value != value.value), BOOL)
        case Load():
            return Apply("isnan", (value,), BOOL) if value.dtype.kind == "f" else zero(BOOL)
        case Apply(operands=operands):
            found = zero(BOOL)
            for operand in operands:
                found = _either(found, _had_nan(operand))
            return found
        case Guard(conditions=conditions, body=body, otherwise=otherwise):
            return Guard(conditions, _had_nan(body), _had_nan(otherwise))
        case Reduce(dims=dims, body=body):
            found = _had_nan(body)
            return found if isinstance(found, Const) else Reduce("logical_or", dims, found, BOOL)
        case _:
            return zero(BOOL)


def _either(x: Expression, y: Expression) -> Expression:
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Const):
            return one if one.value else other
    return Apply("logical_or", (x, y), BOOL)
