"""Conditions outside of which a nest has nothing to do: stores keep what stands there, and sums add zeros.

``x[i:] -= y`` stores, at each position, the difference where the position is not below i, and the element itself
elsewhere: its condition limits the positions that count.
"""

from __future__ import annotations

from collections.abc import Iterable

from wengert.engine.core.dtypes import INT64
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
    is_same_element,
    is_zero,
)
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Store


class Limit(NamedTuple):
    """A condition on a dimension: it is not below a number, or below it."""

    dim: Dim
    is_low: bool
    number: Index
    """The number, or what a number in a buffer adds to it."""
    element: tuple[Buffer, tuple[Index, ...]] | None


Limits = frozenset[Limit] | None
"""The conditions of which an expression needs each one to differ from zero; None for zero itself."""

_NONE: frozenset[Limit] = frozenset()
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def _conditions(node: Expression) -> frozenset[Limit]:
    """Return conditions on dimensions without which a truth value does not hold."""
    match node:
        case Apply(operation="logical_and" | "bitwise_and", operands=(x, y)):
            return _conditions(x) | _conditions(y)
        case Apply(operation=operation, operands=(x, y)) if operation in _MIRRORED:
            return frozenset([*_compared(operation, x, y), *_compared(_MIRRORED[operation], y, x)])
        case _:
            return _NONE


def has_limits(condition: Expression) -> bool:
    """Return whether loops may leave out points at which a condition fails."""
    return bool(_conditions(condition))


def _compared(operation: str, place: Expression, number: Expression) -> Iterable[Limit]:
    """Yield the condition on each dimension that steps by one in a place."""
    if not isinstance(place, Iota) or not place.index.is_affine:
        return
    element: tuple[Buffer, tuple[Index, ...]] | None = None
    match number:
        case Iota(index=index) if index.is_affine:
            bound = index
        case Const(value=value):
            bound = Index(int(value))
        case Load(buffer=buffer, indices=indices) if buffer.dtype == INT64:
            bound, element = Index(0), (buffer, indices)
        case _:
            return
    is_low = operation.startswith("greater")
    beyond = operation in ("greater", "less_equal")
    for dim, coefficient in place.index.terms:
        if coefficient == 1 and isinstance(dim, Dim):
            remainder = place.index - Index.of(dim)
            yield Limit(dim, is_low, bound - remainder + int(beyond), element)


def _either(x: Limits, y: Limits) -> Limits:
    """Return the conditions of a value that is zero where one of two is."""
    return None if x is None or y is None else x | y


def common(x: Limits, y: Limits) -> Limits:
    """Return the conditions of a value that is zero where two others are."""
    if x is None or y is None:
        return y if x is None else x
    return x & y


def _of_value(node: Expression) -> Limits:
    """Return the conditions of which a value needs each one to differ from zero."""
    match node:
        case Const():
            return None if is_zero(node) else _NONE
        case Apply(operation="where", operands=(condition, x, otherwise)):
            if is_zero(otherwise):
                return _either(_conditions(condition), _of_value(x))
            return common(_of_value(x), _of_value(otherwise))
        case Apply(operation="negative" | "positive" | "cast", operands=(x,)):
            return _of_value(x)
        case Apply(operation="multiply_no_nan", operands=(x, y)):
            return _either(_of_value(x), _of_value(y))
        case Apply(operation="multiply" | "add" | "subtract", operands=(x, y)):
            return common(_of_value(x), _of_value(y))
        case Guard(body=body, otherwise=otherwise):
            return common(_of_value(body), _of_value(otherwise))
        case _:
            return _NONE


def of_store(store: Store) -> Limits:
    """Return the conditions of which a store needs each one to change an element."""
    if store.along:
        return _NONE
    if store.combiner:
        return _of_value(store.value) if store.combiner == "add" else _NONE
    found, value, own = _NONE, store.value, Load(store.buffer, store.indices)
    while True:
        match value:
            case Apply(operation="where", operands=(condition, x, Load() as kept)) if is_same_element(
                kept, own
            ):
                found, value = found | _conditions(condition), x
            case Load() if is_same_element(value, own):
                return None
            case Apply(operation="add", operands=(Load() as kept, x)) if is_same_element(kept, own):
                return _either(found, _of_value(x))
            case _:
                return found


def of_reduction(node: Reduce) -> Limits:
    """Return the conditions of which a value of a reduction needs each one to count."""
    if node.combiner == "add":
        return _of_value(node.body)
    return _NONE
