"""Value checks: each float that an operation stores is tested, together with its operands.

A NaN or a subnormal number that was among the operands, or that the operation names itself, is not reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from wengert.engine.core.dtypes import BOOL
from wengert.engine.core.float_classes import CLASSES
from wengert.engine.nest.expression import Apply, Const, Expression, Guard, Load, Reduce, zero
from wengert.engine.nest.nest import Host, Nest, Program, Step, Store, map_blocks


def add_value_checks(program: Program, kind: str) -> Program:
    """Return the program, not yet fused, that reports the first number of one of `CLASSES` that an operation makes."""
    return replace(program, steps=_Checks(kind).all_watched(program.steps))


@dataclass(frozen=True)
class _Checks:
    """Adds checks of one kind."""

    kind: str

    def all_watched(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        return tuple(map(self._watched, steps))

    def _watched(self, step: Step) -> Step:
        match step:
            case Nest():
                stores = tuple(self._watched_store(step, store) for store in step.stores)
                accumulates = any(store.combiner for store in step.stores)
                in_order = frozenset(step.dims) if accumulates else step.sequential
                return replace(step, stores=stores, sequential=in_order)
            case Host():
                return replace(step, check=self.kind)
            case _:
                return map_blocks(step, self.all_watched)

    def _watched_store(self, nest: Nest, store: Store) -> Store:
        """Return a store with a check; an accumulating store becomes a store of its sum."""
        value = store.value
        if store.combiner:
            before = Load(store.buffer, store.indices)
            value = Apply(store.combiner, (before, value), value.dtype)
        return replace(store, value=self._looked_at(nest, value), combiner="")

    def _looked_at(self, nest: Nest, value: Expression) -> Expression:
        if value.dtype.kind != "f":
            return value
        name, operands = "/".join(nest.origin), (value, self._holds(value))
        return Apply(f"made_{self.kind}", operands, value.dtype, location=nest.location, requirement=name)

    def _holds(self, value: Expression) -> Expression:
        """Return whether an operation did not make such a value."""
        usual = Apply("logical_not", (_TESTS[self.kind](value),), BOOL)
        return _either(usual, self._was_given(value))

    def _was_given(self, value: Expression) -> Expression:
        """Return whether an operand of an expression is such a value."""
        match value:
            case Const():
                return Const(np.bool_(CLASSES[self.kind](value.dtype.type(value.value))), BOOL)
            case Load():
                return _TESTS[self.kind](value) if value.dtype.kind == "f" else zero(BOOL)
            case Apply(operands=operands):
                test = zero(BOOL)
                for operand in operands:
                    test = _either(test, self._was_given(operand))
                return test
            case Guard(conditions=conditions, body=body, otherwise=otherwise):
                return Guard(conditions, self._was_given(body), self._was_given(otherwise))
            case Reduce(dims=dims, body=body):
                test = self._was_given(body)
                return test if isinstance(test, Const) else Reduce("logical_or", dims, test, BOOL)
            case _:
                return zero(BOOL)


def _is_nan(x: Expression) -> Expression:
    return Apply("isnan", (x,), BOOL)


def _is_subnormal(x: Expression) -> Expression:
    size = Apply("absolute", (x,), x.dtype)
    limit = Const(np.finfo(x.dtype).smallest_normal, x.dtype)
    below = Apply("less", (size, limit), BOOL)
    return Apply("logical_and", (below, Apply("not_equal", (x, zero(x.dtype)), BOOL)), BOOL)


_TESTS = {"nan": _is_nan, "subnormal": _is_subnormal}
"""The tests of `CLASSES` as expressions."""


def _either(x: Expression, y: Expression) -> Expression:
    for flag, partner in ((x, y), (y, x)):
        if isinstance(flag, Const):
            return flag if flag.value else partner
    return Apply("logical_or", (x, y), BOOL)
