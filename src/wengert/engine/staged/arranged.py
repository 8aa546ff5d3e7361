"""Lists whose length only a run knows, sorted, reversed, joined with others and repeated."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.errors import LimitError
from wengert.engine.ops.cells import kind_of, packed
from wengert.engine.ops.comparison import greater, less, logical_and, logical_not, where
from wengert.engine.ops.indexing import gather
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import ARRANGING, Grown, Held


def sort(items: Grown, *, key: Any = None, reverse: Any = False) -> None:
    """Sort a list of numbers as Python does: the elements that are equal keep their order.

    Args:
        items: the list.
        key: None; others are refused.
        reverse: whether the largest element comes first.
    """
    kind = items.kind
    if key is not None or kind.shape or kind.dtype.kind not in "biuf" or items.has_no_axes:
        raise _refused("sort with a key" if key is not None else f"sort of {kind}")
    if isinstance(reverse, Box):
        raise _refused("an order that only a run knows")
    if not items.room:
        return
    if reverse:
        _reverse(items)
    array, present = items.typed(items.held.array), items.present()
    if kind.dtype.kind == "f":  # Python compares NaN with some of the others
        holds = logical_not(np.any(logical_and(array != array, present)))
        array = where(present, array, np.inf)
        array = items.tools.guarded(array, holds, LimitError("a list with NaN is sorted"))
    else:
        array = where(present, array, True if kind.dtype.kind == "b" else np.iinfo(kind.dtype).max)
    items.held = items.held._replace(array=items.typed(np.sort(array, kind="stable")))
    if reverse:
        _reverse(items)


def _reverse(items: Grown) -> None:
    """Let the last element of a list be the first."""
    if items.room:
        numbers = np.clip(items.length() - 1 - np.arange(items.room), 0, items.room - 1)
        items.held = items.held._replace(array=gather(items.held.array, numbers))


def _join(items: Grown, other: Any, is_first: bool = True) -> Grown:
    """Return the list of the elements of one list, and those of another behind them."""
    if type(other) is list and is_first:
        made = items.copy()
        made.extend(cast("list[Any]", other))
        return made
    added = _as_grown(items, other)
    one, two = (items, added) if is_first else (added, items)
    kind = kind_of([], one.kind, two.kind)
    if kind is None:
        raise _refused("lists of several types")
    made = items.copy()
    made.has_no_axes |= added.has_no_axes
    made.is_unbounded |= added.is_unbounded
    if one.kind != two.kind:
        made.tools.widened()
    made.kind = kind
    (least, most), (shortest, longest) = one.held.limits, two.held.limits
    array: Any = None
    if one.room and two.room:
        numbers = np.arange(one.room + two.room)
        first = gather(made.typed(one.held.array), np.clip(numbers, 0, one.room - 1))
        second = gather(made.typed(two.held.array), np.clip(numbers - one.length(), 0, two.room - 1))
        test = np.reshape(less(numbers, one.length()), (-1, *(1,) * len(kind.shape)))
        array = where(test, first, second)
    elif one.room or two.room:
        array = made.typed((one if one.room else two).held.array)
    made.held = Held(array, one.length() + two.length(), least + shortest, most + longest)
    return made


def _as_grown(items: Grown, other: Any) -> Grown:
    if type(other) is Grown:
        return other
    if type(other) is not list:
        raise TypeError(f'can only concatenate list (not "{type(other).__name__}") to list')
    given = cast("list[Any]", other)
    kind = kind_of(given) if given else items.kind
    if kind is None:
        raise _refused("a list of other elements")
    made = Grown(kind, items.tools)
    made.held = Held.of(packed(given, kind) if given else None, len(given))
    made.take(given)
    return made


def _repeat(items: Grown, count: Any) -> Grown:
    """Return the list of the elements of one, so many times."""
    if isinstance(count, Box) or not isinstance(count, (int, np.integer)):
        raise _refused("a repetition whose number only a run knows")
    count, made = max(int(count), 0), items.copy()
    length = items.length()
    array = items.held.array
    if count > 1 and items.room:
        array = gather(array, np.arange(items.room * count) % where(greater(length, 0), length, 1))
    least, most = items.held.limits
    made.held = Held(array, length * count, least * count, most * count)
    return made


def sorted_copy(items: Any, **options: Any) -> Any:
    """Return what ``sorted(items)`` returns, of a list whose length only a run knows."""
    made = items.copy()
    sort(made, **options)
    return made


def _refused(got: str) -> Exception:
    requirement = "a list whose length only a run knows is sorted, joined and repeated as a list of numbers"
    return refusal("list", requirement, got, "write into an array: np.zeros(n)")


ARRANGING.update(sort=sort, reverse=_reverse, join=_join, repeat=_repeat)
