"""Lists whose length or order only a run knows: sorted, reversed, joined with others and repeated."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box, concrete
from wengert.engine.core import tree
from wengert.engine.core.errors import LimitError
from wengert.engine.ops.cells import kind_of, packed
from wengert.engine.ops.comparison import greater, less, logical_and, logical_not, where
from wengert.engine.ops.indexing import gather
from wengert.engine.staged.columns import Columns, structure_of
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.growing import part_of_list
from wengert.engine.staged.grown import ARRANGING, Grown, Held
from wengert.engine.staged.raising import run
from wengert.engine.transforms.substitution import of_library


def sort(items: Any, *, key: Any = None, reverse: Any = False) -> None:
    """Sort a list as Python does: the elements that are equal keep their order.

    Args:
        items: what stands for a list of numbers, arrays, or tuples of numbers.
        key: returns a number, or a tuple of numbers, by which an element has its place; None for the element itself.
        reverse: whether the largest one comes first.
    """
    _sort_by(items if key is None else of_library(_keys)(items, key), items, reverse)


def _sort_by(keys: Any, items: Any, reverse: Any) -> None:
    """Sort a list by the keys of its elements."""
    if isinstance(reverse, Box):
        raise _refused("an order that only a run knows")
    order = _order(stand_in(cast("list[Any]", keys)) if type(keys) is list else keys, bool(reverse))
    for number, one in enumerate(items.lists if type(items) is Columns else [items]):
        stand = one if type(one) is Grown else part_of_list(one, slice(None))
        if not stand.room:
            continue
        places = np.concatenate([order, np.arange(len(order), stand.room)])[: stand.room]
        stand.held = stand.held._replace(
            array=gather(stand.typed(stand.held.array), np.clip(places, 0, stand.room - 1))
        )
        if stand is not one:
            items.lists[number][:] = [stand.element(place) for place in range(len(one))]


def _keys(items: Any, key: Any) -> Any:
    return [key(item) for item in items]


def stand_in(given: list[Any]) -> Any:
    """Return what stands for a list of numbers, arrays of one shape, or tuples of numbers of one structure."""
    structure = structure_of(given)
    if structure is not None:
        return Columns(structure, given)
    if given and kind_of(given) is None:
        raise _refused("a list of other elements")
    return part_of_list(given, slice(None))


def _order(keys: Any, is_reversed: bool) -> Any:
    """Return the places of the elements of a list in the order of their keys; those beyond its length come last."""
    if type(keys) not in (Grown, Columns):
        raise _refused("keys that are no numbers")
    parts = keys.lists if type(keys) is Columns else [keys]
    parts = [one if type(one) is Grown else part_of_list(one, slice(None)) for one in parts]
    room = min(one.room for one in parts)
    if not room:
        return np.arange(0)
    present, tools = parts[0].present()[:room], parts[0].tools
    columns: list[Any] = []
    is_number: Any = True
    for one in parts:
        if one.kind.shape or one.kind.dtype.kind not in "biuf" or one.has_no_axes:
            raise _refused(f"an order of {one.kind}")
        array = one.typed(one.held.array)[:room]
        if one.kind.dtype.kind == "f":
            is_number = logical_and(is_number, logical_not(np.any(logical_and(array != array, present))))
            columns.append(-array if is_reversed else array)
        else:
            columns.append(np.invert(array) if is_reversed else array)
    order = np.lexsort((*reversed(columns), logical_not(present)))
    if is_number is True:
        return order
    problem = LimitError("a list with NaN is sorted")  # Python compares it with some elements alone
    return tools.guarded(order, is_number, problem)


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


def arranged(items: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """Return what ``sorted(items)`` returns of a list.

    Args:
        items: the list, or what stands for it.
        key: returns what an element has its place by.
        reverse: whether the largest one comes first.
    """
    if type(items) is not list:
        made = items.copy()
        sort(made, key=key, reverse=reverse)
        return made
    given = cast("list[Any]", items)
    keys: list[Any] = given if key is None else [run(key, item) for item in given]
    known = _deciding(keys)
    if known is not None:
        order = sorted(range(len(given)), key=known.__getitem__, reverse=reverse)
        return [given[place] for place in order]
    made = stand_in(given)
    _sort_by(made if key is None else keys, made, reverse)
    return [made[place] for place in range(len(given))]


def _deciding(keys: list[Any]) -> list[Any] | None:
    """Return the keys, or their first parts, if these are known and decide the order alone; None elsewhere."""
    if all(map(_is_known, keys)):
        return keys
    if not all(type(key) is tuple for key in keys):
        return None
    count = min(
        next((place for place, part in enumerate(key) if not _is_known(part)), len(key)) for key in keys
    )
    known = [key[:count] for key in keys]
    return known if all(one not in known[:place] for place, one in enumerate(known)) else None


def _is_known(key: Any) -> bool:
    return not any(isinstance(leaf, Box) and concrete(leaf) is None for leaf in tree.leaves(key))


def sorting(owner: Any) -> Any:
    """Return the method of a list that sorts it; the attribute of another object.

    Args:
        owner: any object.
    """
    if type(owner) is not list:
        return owner.sort

    def sort_list(**options: Any) -> None:
        owner[:] = arranged(owner, **options)

    return sort_list


def _refused(got: str) -> Exception:
    requirement = (
        "a list that only a run orders, joins or repeats holds numbers, or tuples of numbers of one form"
    )
    return refusal("list", requirement, got, "write into an array: np.zeros(n)")


ARRANGING.update(sort=sort, reverse=_reverse, join=_join, repeat=_repeat)
