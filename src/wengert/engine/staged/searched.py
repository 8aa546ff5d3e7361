"""Comparisons of tuples, and searches in lists, where only a run knows the numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box, concrete
from wengert.engine.ops.conversion import python_number
from wengert.engine.staged.branches import both_hold, either_holds, opposite, truth
from wengert.engine.staged.columns import Columns
from wengert.engine.staged.grown import Grown
from wengert.engine.staged.tables import Row
from wengert.engine.transforms.protocols import method_of


def contains(value: Any, container: Any) -> Any:
    """Return the value of ``value in container``."""
    if type(container) is Columns:
        return contains(value, container.rows()) if container.is_known else container.holding(value)
    if type(container) is Row:
        container = container.elements()
    method = method_of(container, "__contains__")
    if method is not None:
        found = truth(method(value))
        return python_number(found, bool) if isinstance(found, Box) else found
    is_followed = _is_unknown(value) or _has_unknown(value)
    if type(container) in (tuple, list, set, frozenset):
        if not is_followed and not any(_is_unknown(item) or _has_unknown(item) for item in container):
            return operator.contains(container, value)
        found: Any = False
        for item in container:
            found = either_holds(found, lambda item=item: item is value or equals(value, item))
        return python_number(found, bool) if isinstance(found, Box) else found
    if type(container) is Grown:
        return container.holding(value)
    if _is_unknown(container) or (is_followed and isinstance(container, np.ndarray)):
        found = container == value
        return python_number(found.any(), bool)
    if is_followed and isinstance(container, range):
        first, last, step = container.start, container.stop, container.step
        goes_up = step > 0
        inside = both_hold(
            value >= first if goes_up else value <= first, lambda: value < last if goes_up else value > last
        )
        return python_number(both_hold(inside, lambda: (value - first) % step == 0), bool)
    return operator.contains(container, value)


def equals(one: Any, other: Any) -> Any:
    """Return the value of ``one == other``, of tuples that hold what only a run knows, too."""
    if not _are_unknown(one, other):
        return one == other
    if len(one) != len(other):
        return False
    holds: Any = True
    for left, right in zip(cast("tuple[Any, ...]", one), cast("tuple[Any, ...]", other), strict=True):
        holds = both_hold(holds, lambda left=left, right=right: left is right or equals(left, right))
    return python_number(holds, bool) if isinstance(holds, Box) else holds


def differs(one: Any, other: Any) -> Any:
    """Return the value of ``one != other``, of tuples that hold what only a run knows, too."""
    return opposite(equals(one, other)) if _are_unknown(one, other) else one != other


def ordered(compare: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Return the value of ``one < other`` and its like: of tuples, that of the first elements that differ.

    Args:
        compare: the comparison.
        one: a number, or a tuple that may hold what only a run knows.
        other: likewise.
    """
    if not _are_unknown(one, other):
        return compare(one, other)
    holds: Any = compare(len(one), len(other))
    for left, right in reversed(
        [*zip(cast("tuple[Any, ...]", one), cast("tuple[Any, ...]", other), strict=False)]
    ):
        alike = left is right or equals(left, right)
        decides = both_hold(opposite(alike), lambda left=left, right=right: ordered(compare, left, right))
        holds = either_holds(decides, lambda alike=alike, holds=holds: both_hold(alike, lambda: holds))
    return python_number(holds, bool) if isinstance(holds, Box) else holds


def _are_unknown(one: Any, other: Any) -> bool:
    """Return whether both are tuples, and hold a number that only a run knows."""
    return type(one) is tuple and type(other) is tuple and (_has_unknown(one) or _has_unknown(other))


def _is_unknown(value: Any) -> bool:
    return isinstance(value, Box) and concrete(value) is None


def _has_unknown(value: Any) -> bool:
    """Return whether a tuple holds a number that only a run knows."""
    parts = cast("tuple[Any, ...]", value) if type(value) is tuple else ()
    return any(_is_unknown(part) or _has_unknown(part) for part in parts)
