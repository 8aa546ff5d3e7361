"""What loops go through: rows that a turn finds by its number, and Python's functions for values only a run knows."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, boxed, concrete, has_derivative
from wengert.engine.control.values import fit
from wengert.engine.core.dtypes import INT64, dtype_of, is_inexact
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.conversion import cast
from wengert.engine.staged.branches import both_hold, choice, either_holds, negation, truth
from wengert.engine.staged.raising import run
from wengert.engine.transforms.math_errors import checked

_ARRAYS: Any = (Box, np.ndarray)


class Rows:
    """A sequence whose elements a turn finds by its number.

    Args:
        length: the number of elements; a box where only a run knows it.
        element: returns the element of a number.
    """

    def __init__(self, length: Any, element: Callable[[Any], Any]) -> None:
        self.length = length
        self.element = element

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.length, Box):
            requirement = "the number of elements must be known here"
            raise ConcreteError(message("iteration", requirement, show(self.length), "write a for statement"))
        return map(self.element, range(self.length))

    def __len__(self) -> int:
        return len(list(iter(self))) if isinstance(self.length, Box) else self.length


def is_unknown(value: Any) -> bool:
    """Return whether only a run knows a value."""
    return isinstance(value, Box) and concrete(value) is None


def rows_of(iterable: Any) -> Rows | None:
    """Return the rows of a range, an array, or `Rows`; None for other objects."""
    if isinstance(iterable, Rows):
        return iterable
    if type(iterable) is range:
        return Rows(len(iterable), lambda k: iterable.start + k * iterable.step)
    if isinstance(iterable, _ARRAYS) and shape_of(iterable):
        array = boxed(iterable) if dtype_of(iterable).kind in "biufc" else iterable
        return Rows(len(array), lambda k: array[k])
    return None


def _ranged(*given: Any) -> Any:
    if not any(map(is_unknown, given)):
        return range(*given)
    start, stop, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
    for bound in (start, stop, step):
        if shape_of(bound) != () or dtype_of(bound).kind not in "iu":
            raise TypeError(f"{dtype_of(bound).name!r} object cannot be interpreted as an integer")
    if is_unknown(step):
        requirement = "the step of a range must be known"
        raise ConcreteError(message("range", requirement, show(step)))
    step = int(step)
    if not step:
        raise ValueError("range() arg 3 must not be zero")
    span = stop - start + (step - 1 if step > 0 else step + 1)
    count = _whole(span // step)
    return Rows(where(count > 0, count, 0), lambda k: start + k * step)


def _whole(value: Any) -> Any:
    """Return an integer that promotes as one of Python's does."""
    value = cast(value, dtype=INT64) if dtype_of(value) != INT64 else value
    return fit(value, TensorType(INT64, (), True))


def _zipped(*iterables: Any, strict: bool = False) -> Any:
    rows = [rows_of(iterable) for iterable in iterables]
    if not any(_is_followed(iterable) for iterable in iterables) or None in rows:
        return zip(*iterables, strict=strict)
    found = [row for row in rows if row is not None]
    lengths = [row.length for row in found]
    if any(isinstance(length, Box) for length in lengths):
        shortest = lengths[0]
        for length in lengths[1:]:
            shortest = where(shortest < length, shortest, length)
    else:
        if strict and len(set(lengths)) > 1:
            return zip(*iterables, strict=True)
        shortest = min(lengths)
    return Rows(shortest, lambda k: tuple(row.element(k) for row in found))


def _is_followed(iterable: Any) -> bool:
    return isinstance(iterable, (Rows, Box, range, np.ndarray))


def _enumerated(iterable: Any, start: Any = 0) -> Any:
    rows = rows_of(iterable) if _is_followed(iterable) else None
    if rows is None:
        return enumerate(iterable, start)
    return Rows(rows.length, lambda k: (start + k, rows.element(k)))


def _reversed(iterable: Any) -> Any:
    rows = rows_of(iterable) if _is_followed(iterable) else None
    if rows is None or type(iterable) is range:
        return reversed(iterable)
    return Rows(rows.length, lambda k: rows.element(rows.length - 1 - k))


def _least(*values: Any, **options: Any) -> Any:
    return _chosen(min, lambda new, best: new < best, values, options)


def _greatest(*values: Any, **options: Any) -> Any:
    return _chosen(max, lambda new, best: new > best, values, options)


def _chosen(users: Any, is_better: Callable[[Any, Any], Any], values: Any, options: Any) -> Any:
    items: Any = values if len(values) > 1 else values[0]
    if is_unknown(items) and items.shape:
        items = [items[k] for k in range(items.shape[0])]
    if options or type(items) not in (tuple, list) or not any(map(is_unknown, items)):
        return users(*values, **options)
    best: Any = items[0]
    for item in items[1:]:
        best = choice(is_better(item, best), lambda item=item: item, lambda best=best: best)
    return best


def _integer(*given: Any, **options: Any) -> Any:
    if len(given) != 1 or options or not is_unknown(given[0]) or shape_of(given[0]) != ():
        return int(*given, **options)
    value = given[0]
    if value.dtype.kind == "c":
        return int(value)
    if is_inexact(value.dtype) and has_derivative(value):
        raise value.without_derivative("int(x)", "use int(wg.stop_gradient(x))")
    return checked(math.trunc, _whole(value), ((value,), {}))  # the same exceptions for NaN and infinities


def _truth_value(*given: Any) -> Any:
    return truth(given[0]) if len(given) == 1 else bool(*given)


def _any(items: Any) -> Any:
    found: Any = False
    for item in items:
        found = either_holds(found, lambda item=item: item)
        if found is True:
            return True
    return found


def _all(items: Any) -> Any:
    fails: Any = False
    for item in items:
        fails = either_holds(fails, lambda item=item: negation(item))
        if fails is True:
            return False
    return negation(fails)


def fold(
    users: Any,
    whole: Callable[[], Any],
    items: Callable[[], Any],
    test: Callable[[Any], Any] | None,
    element: Callable[[Any], Any],
) -> Any:
    """Return ``any(...)``, ``all(...)`` or ``sum(...)`` of a generator expression.

    Args:
        users: what the program calls by that name.
        whole: returns the generator.
        items: returns what it goes through.
        test: which of its items count; None for all.
        element: returns the value of an item.
    """
    if users is builtins.sum:
        total: Any = 0
        for item in items():
            holds = test is None or truth(run(test, item))
            total = choice(
                holds, lambda item=item, total=total: total + run(element, item), lambda total=total: total
            )
        return total
    if users not in (builtins.any, builtins.all):
        return users(whole())
    ends = users is builtins.any
    found: Any = False
    for item in items():

        def next_one(item: Any = item) -> Any:
            def holds() -> Any:
                return run(element, item) if ends else negation(run(element, item))

            return holds() if test is None else both_hold(run(test, item), holds)

        found = either_holds(found, next_one)
        if found is True:
            return ends
    return _truth_value(found if ends else negation(found))


#: What stands for Python's functions.
_COUNTERPARTS: dict[Any, Callable[..., Any]] = {
    builtins.range: _ranged,
    builtins.zip: _zipped,
    builtins.enumerate: _enumerated,
    builtins.reversed: _reversed,
    builtins.min: _least,
    builtins.max: _greatest,
    builtins.int: _integer,
    builtins.bool: _truth_value,
    builtins.any: _any,
    builtins.all: _all,
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
