"""Watching for NaN: every float that an operation stores is looked at, and beside it what the operation read.

A NaN that was among the operands, or that the operation names itself, is none that it made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from wengert.dtypes import BOOL
from wengert.nest.expression import Apply, Const, Expression, Guard, Load, Reduce, zero
from wengert.nest.nest import Host, Nest, Program, Step, map_blocks


def watch(program: Program) -> Program:
    """Return the program, not yet fused, that reports the first NaN that one of its operations makes."""
    return replace(program, steps=_all_watched(program.steps))


def _all_watched(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(map(_watched, steps))


def _watched(step: Step) -> Step:
    match step:
        case Nest():
            stores = tuple(replace(store, value=_looked_at(step, store.value)) for store in step.stores)
            return replace(step, stores=stores)
        case Host():
            return replace(step, check_nan=True)
        case _:
            return map_blocks(step, _all_watched)


def _looked_at(nest: Nest, value: Expression) -> Expression:
    if value.dtype.kind != "f":
        return value
    name = "/".join(nest.origin)
    return Apply("made", (value, _had_nan(value)), value.dtype, location=nest.location, requirement=name)


def _had_nan(value: Expression) -> Expression:
    """Return whether a NaN is among what an expression is made of."""
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
