"""Variables to which a block gives another list: where nothing else shows either one, the first takes the elements."""

from __future__ import annotations

from typing import Any, cast

from wengert.engine.boxes import Box
from wengert.engine.core.errors import LimitError
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.cells import kind_of, packed
from wengert.engine.ops.comparison import less_equal, where
from wengert.engine.ops.shape import slice_
from wengert.engine.staged.aliases import is_seen
from wengert.engine.staged.columns import Columns, structure_of
from wengert.engine.staged.grown import Grown, Held
from wengert.engine.staged.objects import LIST, visited
from wengert.engine.staged.regions import FLOW, UNBOUND, Region, Variable, grows

_LISTS = (list, Grown, Columns)
#: The largest length that a list may take over.
_MOST = 1 << 20


def keep_lists(region: Region) -> None:
    """Let variables keep their lists, which take the elements of new ones of another length.

    Args:
        region: the run of the block, at its end.
    """
    for variable, before in region.bindings():
        now = variable.content
        if now is before or type(before) not in _LISTS or type(now) not in _LISTS:
            continue
        if type(before) is list and type(now) is list and len(before) == len(now):
            continue
        if (variable.is_live or variable.is_carried) and _shows_alone(variable, before, now, region):
            _move(before, now)
            variable.content = before


def _shows_alone(variable: Variable, before: Any, now: Any, region: Region) -> bool:
    """Return whether a variable alone shows its list before a block, and its list at the end, which is a new one."""
    lists = [one for each in (before, now) for one in (each, *_parts(each))]
    if any(region.holds(one) for one in (now, *_parts(now))):
        return False
    passed = {id(item) for item in visited(FLOW.passed)} if FLOW.passed else set[int]()
    if any(id(one) in passed for one in lists):
        return False
    # What nothing reads behind the block shows nothing.
    hidden = [one for one, _ in region.bindings() if one is variable or not (one.is_live or one.is_carried)]
    contents = [one.content for one in hidden]
    for one in hidden:
        one.content = UNBOUND
    found = is_seen(lists)
    for one, content in zip(hidden, contents, strict=True):
        one.content = content
    return not found


def _parts(items: Any) -> list[Any]:
    return [items.lists, *items.lists] if type(items) is Columns else []


def _move(to: Any, items: Any) -> None:
    """Give a list the elements of another one."""
    if type(to) is Columns:
        _move_columns(to, items)
    elif type(to) is Grown:
        _move_numbers(to, items)
    elif type(items) is list:
        LIST.__setitem__(to, slice(None), items)
    else:
        elements = items.rows() if type(items) is Columns and items.is_known else []
        problem = grows(to, 1, [*to, *elements])
        if type(items) is Columns:
            is_one = not to or structure_of(to) == items.structure
            problem.structure = items.structure if is_one else None
        elif type(items) is Grown:
            problem.kind = kind_of(to, items.kind)
        raise problem


def _move_columns(to: Columns, items: Any) -> None:
    is_list = type(items) is list
    elements = cast("list[Any]", items if is_list else [])
    structure = items.structure if type(items) is Columns else structure_of(elements) or to.structure
    if structure != to.structure or (elements and structure_of(elements) is None):
        raise grows(to)
    given = items if type(items) is Columns else Columns(to.structure, elements)
    for one, other in zip(to.lists, given.lists, strict=True):
        _move(one, other)


def _move_numbers(to: Grown, items: Any) -> None:
    """Give what stands for a list other elements."""
    if type(items) is Columns:
        raise grows(to)
    is_grown = type(items) is Grown
    kind = kind_of([] if is_grown else items, to.kind, *([items.kind] if is_grown else []))
    if kind is None:
        raise grows(to)
    if kind != to.kind or (is_grown and items.kind != kind):
        to.tools.widened()
    to.kind = kind
    if is_grown:
        held: Held = items.held
        to.has_no_axes |= items.has_no_axes
        to.is_unbounded |= items.is_unbounded
        length, limits = items.length(), held.limits
        array = held.array
    else:
        to.take(items)
        length, limits = len(items), (len(items), len(items))
        elements: Any = items
        array = packed(elements, kind) if elements else to.held.array
    _hold(to, array, length, limits, items.held if is_grown and items.held.is_of(to.held) else None)


def _hold(to: Grown, array: Any, length: Any, limits: tuple[int, int], held: Held | None) -> None:
    """Give what stands for a list an array, whose room the carry of a loop tells.

    Args:
        to: what stands for the list.
        array: the elements.
        length: their number.
        limits: between which numbers it lies.
        held: what tells by how much the list has grown, if it does.
    """
    room, before = to.room, to.held
    if limits[1] > _MOST:
        raise grows(to)
    if before.has_room and limits[1] > room and isinstance(length, Box):
        holds = less_equal(length, room)
        problem = LimitError(f"a list grows beyond {room} elements in a loop")
        length = to.tools.guarded(where(holds, length, 0), holds, problem)
    if array is not None:
        extents = shape_of(array)
        if before.has_room and extents[0] > room:
            array = slice_(array, index=((0, room, 1), *((0, extent, 1) for extent in extents[1:])))
        to.held = before._replace(array=to.typed(array))
        to.make_room(room)
    if held is None:
        to.held = to.held.of_length(length, *limits)
    else:
        number = None if held.number is None else length
        to.held = to.held._replace(low=held.low, high=held.high, number=number)
    to.peak = max(to.peak, to.held.high)
