"""What loops go through: rows that a turn finds by its number, and Python's functions for values only a run knows."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import RUNNING, Box, Unsized, boxed, concrete, has_derivative
from wengert.engine.control.scan import scan
from wengert.engine.control.values import zeros
from wengert.engine.core import tree
from wengert.engine.core.dtypes import PYTHON_TYPE, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import rint
from wengert.engine.ops.cells import array_of
from wengert.engine.ops.comparison import equal, logical_and, not_equal, where
from wengert.engine.ops.conversion import python_number
from wengert.engine.staged.aliases import is_seen
from wengert.engine.staged.arranged import arranged
from wengert.engine.staged.branches import both_hold, choice, either_holds, negation, opposite, truth
from wengert.engine.staged.columns import Columns
from wengert.engine.staged.counted import BEYOND, interval, limit
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.grown import Grown, Held, keeps_length
from wengert.engine.staged.raising import run
from wengert.engine.staged.regions import FLOW, GrowthError, Region, going_through
from wengert.engine.staged.searched import ordered
from wengert.engine.staged.subscripts import item as element
from wengert.engine.staged.tables import Row, Table
from wengert.engine.transforms.math_errors import checked, guarded
from wengert.engine.transforms.protocols import iterated, length_of, method_of
from wengert.engine.transforms.queues import is_queue

#: The sum of so many elements of a list is written out.
_FEW = 8
#: A loop through more known numbers finds them by the number of the turn.
_LONG = 32
_ARRAYS: Any = (Box, np.ndarray)
#: Types of known numbers, and of dicts and their views.
_KNOWN: set[Any] = {int, float, bool, complex, np.float64, np.float32, np.int64}
_EMPTY: dict[Any, Any] = {}
_DICTS: Any = dict, type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items())
_ANY = -BEYOND, BEYOND


class Rows:
    """A sequence whose elements a turn finds by its number.

    Args:
        length: the number of elements; a box where only a run knows it.
        element: returns the element of a number.
        lists: from which the elements come.
    """

    def __init__(self, length: Any, element: Callable[[Any], Any], *lists: Any) -> None:
        self.length = length
        self.element = element
        self.lists = lists
        self._befores = [_extent(one) for one in lists]

    def check(self) -> None:
        """Refuse a list that has become longer or shorter: Python would come to its present end."""
        for one, before in zip(self.lists, self._befores, strict=True):
            now = _extent(one)
            if isinstance(now, Held):
                is_same = now.is_as_long_as(before)
            else:
                is_same = now is before or (not isinstance(now, Box) and now == before)
            if not is_same:
                raise keeps_length()

    def taken(self) -> Rows:
        """Return the rows for a loop."""
        return self

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.length, Box):
            requirement = "the number of elements must be known here"
            raise ConcreteError(message("iteration", requirement, show(self.length), "write a for statement"))
        return map(self.element, range(self.length))

    def __len__(self) -> int:
        return len(list(iter(self))) if isinstance(self.length, Box) else self.length


class _Once(Rows):
    """An iterator of Python's as rows, which a program may go through once, where it is made."""

    def __init__(self, length: Any, element: Callable[[Any], Any], *lists: Any) -> None:
        super().__init__(length, element, *lists)
        self._depth, self._is_used, self._position = RUNNING.depth, False, 0

    def taken(self) -> Rows:
        """Return what is left, for a loop that goes through it."""
        first = self._position
        self._note_use()
        return Rows(self.length - first, lambda k: self.element(first + k), *self.lists)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.taken())

    def __next__(self) -> Any:
        if isinstance(self.length, Box) or FLOW.probing:
            raise _used_again()
        if self._position == self.length:
            raise StopIteration
        self._note_use()
        self._is_used = False
        self._position += 1
        return self.element(self._position - 1)

    def _note_use(self) -> None:
        if self._is_used or RUNNING.depth != self._depth:
            raise _used_again()
        self._is_used = not FLOW.probing


def check_rest(iterable: Any) -> None:
    """Refuse an iterator of Python's that a program may go on with where only a run knows how far it is."""
    if isinstance(iterable, Iterator) and is_seen([iterable]):
        raise _used_again()


def _used_again() -> Exception:
    requirement = (
        "an iterator that a program goes through twice, or in another block than makes it, is refused"
    )
    return refusal("iterator", requirement, hint="make it a list: list(zip(x, y)), list(enumerate(x))")


def _extent(items: Any) -> Any:
    """Return what tells the length of a list, or the values of a dict, from that of another moment."""
    if isinstance(items, _DICTS[1:]):
        return [*map(id, items.mapping.values())]
    if is_queue(items):
        return items.size
    return items.held if type(items) is Grown else len(items)


def is_unknown(value: Any) -> bool:
    """Return whether only a run knows a value."""
    return isinstance(value, Box) and concrete(value) is None


def rows_of(iterable: Any) -> Rows | None:
    """Return the rows of a range, an array, a long list of known numbers, or `Rows`; None for other objects."""
    if isinstance(iterable, Rows):
        return iterable
    if type(iterable) is Grown:
        return Rows(iterable.length(), lambda k: iterable[k], iterable)
    if type(iterable) is Columns:
        return Rows(iterable.length(), lambda k: iterable[k], *iterable.lists)
    if is_queue(iterable):
        items, first = iterable.items, _length(iterable.items) - iterable.size
        return Rows(iterable.size, lambda k: element(items, first + k), iterable, items)
    if type(iterable) is range:
        return Rows(len(iterable), lambda k: iterable.start + k * iterable.step)
    if type(iterable) is Table:
        return Rows(iterable.length(), iterable.row, iterable.flat)
    if isinstance(iterable, Unsized):
        selected: Any = iterable
        return Rows(selected.shape[0], lambda k: selected[k])
    if isinstance(iterable, _DICTS):
        given = [*iterable]
        return Rows(len(given), lambda k: element(given, k), iterable) if _is_uniform(given) else None
    if _is_array(iterable) or _is_uniform(iterable):
        return Rows(len(iterable), lambda k: element(iterable, k), iterable)
    if isinstance(iterable, _ARRAYS) and shape_of(iterable):
        array = boxed(iterable) if dtype_of(iterable).kind in "biufc" else iterable
        return Rows(len(array), lambda k: array[k])
    return None


def started(iterable: Any) -> Any:
    """Return what a loop goes through, given what the program names: of an object of the user's, its iterator."""
    return iterable if is_queue(iterable) else iterated(iterable)


def _with_elements(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gets the elements of a deque in its place."""

    @functools.wraps(function)
    def call(*given: Any, **options: Any) -> Any:
        return function(*map(_elements, given), **options)

    return call


def _elements(items: Any) -> Any:
    """Return the elements of a deque as a list; other objects as they are."""
    if not is_queue(items):
        return items
    rows = rows_of(items)
    assert rows is not None
    if not isinstance(rows.length, Box):
        return [*rows]
    return element(items.items, slice(_length(items.items) - rows.length, None))


def _ranged(*given: Any) -> Any:
    if not any(map(is_unknown, given)):
        return range(*given)
    start, stop, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
    for bound in (start, stop, step):
        if shape_of(bound) != () or dtype_of(bound).kind not in "iu":
            raise TypeError(f"{dtype_of(bound).name!r} object cannot be interpreted as an integer")
    start, stop, step = _whole(start), _whole(stop), _whole(step)
    low, high = interval(step) or _ANY
    if is_unknown(step) and low <= 0 <= high:
        requirement = "the step of a range must be known, or counters must tell its sign"
        raise ConcreteError(message("range", requirement, show(step)))
    if low == high == 0:
        raise ValueError("range() arg 3 must not be zero")
    goes_up = low > 0
    span = stop - start + (step - 1 if goes_up else step + 1)
    count = span // step
    first, last = interval(start) or _ANY, interval(stop) or _ANY
    limits = (first[0], last[1] - 1) if goes_up else (last[0] + 1, first[1])
    return Rows(where(count > 0, count, 0), lambda k: limit(start + k * step, *limits))


def _whole(value: Any) -> Any:
    """Return an integer of Python's."""
    return python_number(value, int) if isinstance(value, Box) else operator.index(value)


def _zipped(*given: Any, strict: bool = False) -> Any:
    iterables = [*map(started, given)]
    if not any(_is_followed(iterable) for iterable in iterables):
        return zip(*iterables, strict=strict)
    rows = [rows_of(iterable) for iterable in iterables]
    if None in rows:
        return zip(*iterables, strict=strict)
    found = [row.taken() for row in rows if row is not None]
    lengths = [row.length for row in found]
    if any(isinstance(length, Box) for length in lengths):
        shortest = lengths[0]
        for length in lengths[1:]:
            shortest = where(shortest < length, shortest, length)
    else:
        if strict and len(set(lengths)) > 1:
            return zip(*iterables, strict=True)
        shortest = min(lengths)
    lists = [one for row in found for one in row.lists]
    return _Once(shortest, lambda k: tuple(row.element(k) for row in found), *lists)


def _is_array(items: Any) -> bool:
    """Return whether a list consists of the elements of an array, of which a loop may find one by its number."""
    return type(items) is list and array_of(items) is not None


def _is_uniform(items: Any) -> bool:
    """Return whether a long list consists of known numbers of one type, of tuples of such, or of one object."""
    if type(items) not in (list, tuple) or len(items) <= _LONG or FLOW.trying:  # see `_While.carry_out`
        return False
    first = cast("list[Any]", items)[0]
    kind = cast("type[Any]", type(first))
    if kind in _KNOWN:
        return all(type(item) is kind for item in items)
    if kind is not tuple:
        return all(item is first for item in items)
    kinds = [*map(type, first)]
    return all(type(item) is tuple and [*map(type, item)] == kinds for item in items) and {*kinds} <= _KNOWN


def _is_followed(iterable: Any) -> bool:
    return (
        _is_array(iterable)
        or isinstance(iterable, (Rows, Box, Unsized, range, np.ndarray, *_DICTS))
        or _is_uniform(iterable)
        or is_queue(iterable)
    )


def _enumerated(iterable: Any, start: Any = 0) -> Any:
    iterable = started(iterable)
    rows = rows_of(iterable) if _is_followed(iterable) else None
    if rows is None:
        return enumerate(iterable, start)
    start, rows = _whole(start), rows.taken()
    return _Once(rows.length, lambda k: (start + k, rows.element(k)), *rows.lists)


def _iterated(*given: Any) -> Any:
    iterable = started(given[0])
    rows = rows_of(iterable) if len(given) == 1 and _is_followed(iterable) else None
    return iter(iterable, *given[1:]) if rows is None else _Once(rows.length, rows.element, *rows.lists)


def _reversed(iterable: Any) -> Any:
    method = method_of(iterable, "__reversed__")
    if method is not None and not is_queue(iterable):
        return method()
    rows = rows_of(iterable) if _is_followed(iterable) else None
    if rows is None:
        return reversed(iterable)
    return _Once(rows.length, lambda k: rows.element(rows.length - 1 - k), *rows.lists)


@_with_elements
def _least(*values: Any, **options: Any) -> Any:
    return _chosen(min, functools.partial(ordered, operator.lt), values, options)


@_with_elements
def _greatest(*values: Any, **options: Any) -> Any:
    return _chosen(max, functools.partial(ordered, operator.gt), values, options)


def _chosen(users: Any, is_better: Callable[[Any, Any], Any], values: Any, options: Any) -> Any:
    items: Any = values if len(values) > 1 else values[0]
    if type(items) is Grown and not options.keys() - {"default"} and not items.kind.shape:
        return _extremum(users, is_better, items, **options)
    if type(items) is Row:
        return _chosen(users, is_better, [items.elements()], options)
    if is_unknown(items) and items.shape:
        items = [items[k] for k in range(items.shape[0])]
    if options.get("key") is not None:
        return _by_key(users, is_better, items, options)
    if options or type(items) not in (tuple, list) or not any(map(is_unknown, tree.leaves(items))):
        return users(*values, **options)
    best: Any = items[0]
    for item in items[1:]:
        best = choice(is_better(item, best), lambda item=item: item, lambda best=best: best)
    return best


def _by_key(users: Any, is_better: Callable[[Any, Any], Any], items: Any, options: Any) -> Any:
    """Return the first of the elements whose key is the best one."""
    key, items = options["key"], [*items]
    keys = [run(key, item) for item in items]
    if not any(map(is_unknown, tree.leaves(keys))):
        if not items:
            return users(items, **options)
        return items[users(range(len(items)), key=keys.__getitem__)]
    best = items[0], keys[0]
    for pair in zip(items[1:], keys[1:], strict=True):
        best = choice(is_better(pair[1], best[1]), lambda pair=pair: pair, lambda best=best: best)
    return best[0]


_NOTHING = object()


def _folded(items: Grown, step: Callable[[Any, Any], Any], total: Any, first: int = 0) -> Any:
    """Return what a step makes of a number and each element of a list, one after the other."""
    length = items.length()

    def turn(total: Any, number: Any) -> tuple[Any, tuple[()]]:
        return where(number < length, step(total, items.element(number)), total), ()

    return scan(turn, total, np.arange(first, items.room))[0]


def _extremum(users: Any, is_better: Callable[[Any, Any], Any], items: Grown, default: Any = _NOTHING) -> Any:
    """Return the first of the best elements of a list, as Python compares them."""
    problem = ValueError(f"{users.__name__}() iterable argument is empty")
    holds = items.is_filled()
    if default is not _NOTHING:
        return choice(holds, lambda: _extremum(users, is_better, items), lambda: default)
    first = items.element(0)
    if isinstance(holds, Box):
        first = guarded(first, holds, problem)
    elif not holds:
        raise problem
    return _folded(items, lambda best, new: where(is_better(new, best), new, best), first, 1)


@_with_elements
def _sum(items: Any, *start: Any, **options: Any) -> Any:
    if type(items) is Grown and not options and items.room:
        kind = items.kind
        zero = PYTHON_TYPE[kind.dtype.kind](0) if kind.weak else zeros(kind)
        return _folded(items, operator.add, (start[0] if start else 0) + zero)
    rows = rows_of(items) if _is_array(items) or is_unknown(items) else None
    if options or rows is None or isinstance(rows.length, Box) or rows.length <= _FEW:
        return sum(items, *start, **options)

    def turn(total: Any, number: Any) -> tuple[Any, tuple[()]]:
        return total + rows.element(number), ()

    first = start[0] if start else 0
    return scan(turn, first + items[0], np.arange(1, rows.length))[0]


def _length(items: Any) -> Any:
    if type(items) in (Grown, Columns, Table):
        return items.length()
    if isinstance(items, Unsized):
        return items.shape[0]
    found = length_of(items)
    return len(items) if found is None else found


def _integer(*given: Any, **options: Any) -> Any:
    method = method_of(given[0], "__int__") if len(given) == 1 else None
    if method is not None:
        return _integer(method())
    if len(given) != 1 or options or not is_unknown(given[0]) or shape_of(given[0]) != ():
        return int(*given, **options)
    value = given[0]
    if value.dtype.kind == "c":
        return int(value)
    if is_inexact(value.dtype) and has_derivative(value):
        raise value.without_derivative("int(x)", "use int(wg.stop_gradient(x))")
    return checked(math.trunc, _whole(value), ((value,), {}))  # the same exceptions for NaN and infinities


def _round(number: Any, ndigits: Any = None) -> Any:
    if ndigits is not None or not is_unknown(number) or number.shape or is_complex(number.dtype):
        return round(number) if ndigits is None else round(number, ndigits)
    if not is_inexact(number.dtype):
        return _whole(number)
    return checked(
        math.trunc, _whole(rint(number)), ((number,), {})
    )  # the same exceptions for NaN and infinities


def _truth_value(*given: Any) -> Any:
    return _pythons(truth(given[0])) if len(given) == 1 else bool(*given)


def _pythons(found: Any) -> Any:
    """Return a truth value as one of Python's."""
    return python_number(found, bool) if isinstance(found, Box) else found


@_with_elements
def _any(items: Any) -> Any:
    if type(items) is Grown and not items.kind.shape:
        return _any_of(items, lambda array: not_equal(array, 0))
    found: Any = False
    for item in items:
        found = either_holds(found, lambda item=item: item)
        if found is True:
            return True
    return _pythons(found)


def _any_of(items: Grown, test: Callable[[Any], Any]) -> Any:
    """Return whether a test holds of any element of a list."""
    return _pythons(np.any(logical_and(test(items.array), items.present()))) if items.room else False


@_with_elements
def _copied(*given: Any) -> Any:
    if len(given) == 1 and type(given[0]) in (Grown, Columns, Row):
        return given[0].copy()
    made: list[Any] = list(*given)
    return made


@_with_elements
def _sorted(items: Any, **options: Any) -> Any:
    if type(items) in (Grown, Columns):
        return arranged(items, **options)
    return arranged(items.elements() if type(items) is Row else [*items], **options)


@_with_elements
def _all(items: Any) -> Any:
    if type(items) is Grown and not items.kind.shape:
        return opposite(_any_of(items, lambda array: equal(array, 0)))
    fails: Any = False
    for item in items:
        fails = either_holds(fails, lambda item=item: negation(item))
        if fails is True:
            return False
    return _pythons(negation(fails))


def fold(
    users: Any,
    whole: Callable[[], Any],
    items: Callable[[], Any],
    test: Callable[[Any], Any] | None,
    element: Callable[[Any], Any],
    looped: Callable[[Any], Any] | None = None,
) -> Any:
    """Return ``any(...)``, ``all(...)`` or ``sum(...)`` of a generator expression.

    Args:
        users: what the program calls by that name.
        whole: returns the generator.
        items: returns what it goes through.
        test: which of its items count; None for all.
        element: returns the value of an item.
        looped: finds the same by a loop, given what it goes through; None where it cannot be written.
    """
    if users not in (builtins.any, builtins.all, builtins.sum):
        return users(whole())
    given = items()
    found = rows_of(given)
    if looped is not None and found is not None and isinstance(found.length, Box):
        return looped(given)
    rows = given if isinstance(given, Rows) else None
    with going_through(*((given,) if rows is None else rows.lists)):
        found = (_total if users is builtins.sum else _settles)(users, given, test, element)
    if rows is not None:
        rows.check()
    return found


_Of = Callable[[Any], Any]


def _total(_: Any, items: Any, test: _Of | None, element: _Of) -> Any:
    total: Any = 0
    for item in items:
        holds = test is None or truth(run(test, item))
        total = choice(
            holds, lambda item=item, total=total: total + run(element, item), lambda total=total: total
        )
    return total


def _settles(users: Any, items: Any, test: _Of | None, element: _Of) -> Any:
    ends = users is builtins.any
    found: Any = False
    for item in items:

        def next_one(item: Any = item) -> Any:
            def holds() -> Any:
                return run(element, item) if ends else negation(run(element, item))

            return holds() if test is None else both_hold(run(test, item), holds)

        found = either_holds(found, next_one)
        if found is True:
            return ends
        if isinstance(found, Box):
            check_rest(items)
    return _truth_value(found if ends else negation(found))


def listed(plain: Callable[[], Any] | None, staged: Callable[[], Any]) -> Any:
    """Return the value of a list comprehension, whose length only a run may know, or that has many elements.

    Args:
        plain: returns it as Python makes it; None for a comprehension without conditions, whose length is known.
        staged: returns it by a loop that appends.
    """
    if plain is None:
        return run(staged)
    try:
        with Region([plain], ()) as region:
            value, has_effects = run(plain), region.has_effects()
    except GrowthError:
        raise
    except ConcreteError:
        return run(staged)
    return run(plain) if has_effects else value


#: What stands for Python's functions.
_COUNTERPARTS: dict[Any, Callable[..., Any]] = {
    builtins.range: _ranged,
    builtins.zip: _zipped,
    builtins.enumerate: _enumerated,
    builtins.reversed: _reversed,
    builtins.iter: _iterated,
    builtins.min: _least,
    builtins.max: _greatest,
    builtins.len: _length,
    builtins.sum: _sum,
    builtins.int: _integer,
    builtins.bool: _truth_value,
    builtins.round: _round,
    builtins.any: _any,
    builtins.all: _all,
    builtins.list: _copied,
    builtins.sorted: _sorted,
}


def builtin(function: Any) -> Any:
    """Return what stands for a function of Python's where it is called; other functions stay.

    Args:
        function: what the program calls by the name of a function of Python's.
    """
    try:
        return _COUNTERPARTS.get(function, function)
    except TypeError:  # it has no hash
        return function
