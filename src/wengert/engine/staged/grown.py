"""A list whose length only a run knows, or that a loop makes longer: an array with room for all, and a length."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any
from typing import cast as cast_to

import numpy as np

from wengert.engine.boxes import Box, Unsized
from wengert.engine.control.values import zeros
from wengert.engine.core.dtypes import PYTHON_TYPE
from wengert.engine.core.errors import LimitError
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.ops.cells import kind_of, strong
from wengert.engine.ops.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    logical_and,
    logical_not,
    where,
)
from wengert.engine.ops.conversion import cast, python_number
from wengert.engine.ops.indexing import gather, scatter
from wengert.engine.ops.shape import concatenate
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.stands import Stand

#: Returns so many of the first elements of an array; `selected` enters it.
FIRST: list[Callable[[Any, Any], Any]] = []
#: Functions that sort, reverse, join and repeat lists; `arranged` enters them.
ARRANGING: dict[str, Callable[..., Any]] = {}


class Held(NamedTuple):
    """What a list holds."""

    array: Any
    """The elements, with room for further ones."""
    start: Any
    """The length at the beginning: an integer of Python's, or a box of one."""
    least: int = 0
    """The least that this may be."""
    most: int = 0
    """The greatest that this may be."""
    low: int = 0
    """By how much it has grown since, at least."""
    high: int = 0
    """By how much it has grown since, at most."""
    number: Any = None
    """The length, where only a run knows by how much it has grown."""
    has_room: bool = False
    """Whether the array has room for all that follows: the carry of a loop has."""

    @classmethod
    def of(cls, array: Any, length: int) -> Held:
        """Return what a list of a known length holds."""
        return cls(array, length, length, length)

    @property
    def length(self) -> Any:
        """The number of elements: an integer of Python's, or a box of one."""
        if self.number is not None:
            return self.number
        return self.start + self.low if self.low else self.start

    @property
    def limits(self) -> tuple[int, int]:
        """Between which numbers the length lies."""
        return max(self.least + self.low, 0), self.most + self.high

    def is_as_long_as(self, other: Held) -> bool:
        """Return whether the length is that of an earlier moment."""
        return (self.low, self.high) == (other.low, other.high) and self.number is other.number

    def is_of(self, other: Held) -> bool:
        """Return whether both tell by how much a list has grown since the same moment."""
        return self.start is other.start and (self.least, self.most) == (other.least, other.most)

    def longer(self, by: int) -> Held:
        """Return what a list holds that has grown by some elements."""
        number = None if self.number is None else self.number + by
        return self._replace(low=self.low + by, high=self.high + by, number=number)

    def of_length(self, length: Any, least: int, most: int) -> Held:
        """Return what a list holds that has become as long as another one."""
        low, high = least - self.most, most - self.least
        return self._replace(low=low, high=high, number=None if low == high else length)


class Grown(Stand):
    """Stands for a list whose length only a run knows, or that a loop makes longer.

    Args:
        kind: the type of its elements.
        tools: what finds out about numbers of places, and keeps arrays from being written.
    """

    __slots__ = ("has_no_axes", "held", "is_unbounded", "kind", "peak", "tools")
    REQUIREMENT = (
        "a list whose length only a run knows is read and written by index, appended to, popped from, summed, "
        "gone through by a for statement, or made an array"
    )
    REMEDY = "write into an array: np.zeros(n)"

    def __init__(self, kind: TensorType, tools: Any) -> None:
        super().__init__()
        self.kind, self.tools = kind, tools
        self.held = Held(None, 0)
        self.peak = 0
        """By how much it has grown in a turn, at most."""
        self.has_no_axes = False
        """Whether an element is an array without axes, which is no number."""
        self.is_unbounded = False
        """Whether it grows in a loop of which only a run knows how many turns it takes."""

    def length(self) -> Any:
        """Return the number of elements, which only a run may know."""
        return self.held.length

    @property
    def array(self) -> Any:
        """The elements, with room for further ones."""
        return self.held.array

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape as an array, whose first extent only a run may know."""
        return self.length(), *self.kind.shape

    # -- what a turn may do ------------------------------------------------------------------------------

    def append(self, value: Any) -> None:
        """Append a number or an array."""
        kind = self._with(value)
        self.take([value])
        end = self._end()
        array = scatter(self.typed(self.held.array, kind), strong(value, kind), end)
        self.held = self.held._replace(array=array).longer(1)
        self.peak = max(self.peak, self.held.high)

    def take(self, values: Iterable[Any]) -> None:
        """Note that the list holds some elements: what the program writes into them, it would have to show."""
        for value in values:
            self.tools.hold(value)
            self.has_no_axes |= self.tools.has_no_axes(value)

    def extend(self, values: Any) -> None:
        """Append some numbers or arrays."""
        if isinstance(values, Unsized) or not isinstance(values, (list, tuple, range, Box, np.ndarray)):
            raise self.refused("extend")
        for value in [*cast_to("Any", values)]:
            self.append(value)

    def insert(self, index: Any, value: Any) -> None:
        """Put a number or an array before an element; those behind move down."""
        kind = self._with(value)
        self.take([value])
        self._end()
        place = self._bound(index, 0, 0, self.length())
        array = self.typed(self.held.array, kind)
        array = where(less(self._numbers(), place), array, np.roll(array, 1, axis=0))
        array = scatter(array, strong(value, kind), place)
        self.held = self.held._replace(array=array).longer(1)
        self.peak = max(self.peak, self.held.high)

    def clear(self) -> None:
        """Drop all elements."""
        self.held = self.held.of_length(0, 0, 0)

    def __iadd__(self, values: Iterable[Any]) -> Grown:
        self.extend(values)
        return self

    def pop(self, index: Any = -1) -> Any:
        """Return the last element, and drop it."""
        is_last = type(index) is int and index == -1
        place = self._place(index, "pop from empty list" if is_last else "pop index out of range")
        value = self.element(place)
        if not is_last:  # those behind move up
            array = self.held.array
            array = where(less(self._numbers(), place), array, np.roll(array, -1, axis=0))
            self.held = self.held._replace(array=array)
        self.held = self.held.longer(-1)
        return value

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            raise self.refused("del of a slice")
        self.pop(self._place(index, "list assignment index out of range"))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(index)
        return self.element(self._place(index, "list index out of range"))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.put(self._place(index, "list assignment index out of range"), value)

    def put(self, place: Any, value: Any) -> None:
        """Write an element at a place that is not negative, and at which there is one."""
        kind = self._with(value)
        self.take([value])
        array = scatter(self.typed(self.held.array, kind), strong(value, kind), place)
        self.held = self.held._replace(array=array)

    # -- other lists -------------------------------------------------------------------------------------

    def copy(self) -> Grown:
        """Return another list of the elements."""
        made = self._of(self.held.array, 0, 0, 0)
        made.held = self.held._replace(has_room=False)
        return made

    def sort(self, **options: Any) -> None:
        """Sort the elements."""
        ARRANGING["sort"](self, **options)

    def reverse(self) -> None:
        """Let the last element be the first."""
        ARRANGING["reverse"](self)

    def _of(self, array: Any, length: Any, least: int, most: int) -> Grown:
        """Return a list of elements of this one."""
        made = Grown(self.kind, self.tools)
        made.held = Held(array, length, least, most)
        made.has_no_axes, made.is_unbounded = self.has_no_axes, self.is_unbounded
        return made

    def _part(self, part: slice) -> Grown:
        """Return the list of the elements of a slice."""
        length, (_, most) = self.length(), self.held.limits
        step = 1 if part.step is None else part.step
        if isinstance(step, Box):
            raise self.refused("a slice whose step only a run knows")
        if not step:
            raise ValueError("slice step cannot be zero")
        if part.start is None and part.stop is None and step == 1:
            return self.copy()
        first, end = (0, length) if step > 0 else (length - 1, -1)
        low, high = (0, length) if step > 0 else (-1, length - 1)
        start, stop = self._bound(part.start, first, low, high), self._bound(part.stop, end, low, high)
        count = (stop - start + (step - 1 if step > 0 else step + 1)) // step
        array = self.held.array
        if self.room and not (step == 1 and isinstance(start, int) and start == 0):
            numbers = start + np.arange(self.room) * step
            array = gather(array, np.clip(numbers, 0, self.room - 1))
        count = _either(greater(count, 0), count, 0)
        return self._of(array, count, *((count, count) if isinstance(count, int) else (0, most)))

    def _bound(self, index: Any, missing: Any, low: Any, high: Any) -> Any:
        """Return an end of a slice, or a place to insert at, as Python moves it into the list."""
        if index is None:
            return missing
        if not self.tools.is_integer(index):
            raise self.refused("an index that is no integer")
        index = python_number(index, int) if isinstance(index, Box) else int(index)
        index = _either(less(index, 0), index + self.length(), index)
        index = _either(less(index, low), low, index)
        return _either(greater(index, high), high, index)

    def holding(self, value: Any) -> Any:
        """Return whether an element equals a number."""
        if self.kind.shape or not isinstance(value, (Box, np.generic, bool, int, float, complex)):
            raise self.refused("in")
        if shape_of(value):
            raise self.refused("in")
        if not self.room:
            return False
        found = np.any(logical_and(equal(self.held.array, value), self.present()))
        if self.kind.dtype.kind in "fc":  # Python finds it if it is the same object
            problem = LimitError("a list is searched for NaN")
            found = self.tools.guarded(found, equal(value, value), problem)
        return python_number(found, bool)

    def present(self) -> Any:
        """Return for each place of the array whether an element stands there."""
        return less(np.arange(self.room), self.length())

    def _numbers(self) -> Any:
        """Return the numbers of the places, along the first axis."""
        return np.reshape(np.arange(self.room), (-1, *(1,) * len(self.kind.shape)))

    def _end(self) -> Any:
        """Return the place of one more element; in a loop, the program raises `LimitError` if there is no room."""
        length, (_, most) = self.length(), self.held.limits
        if most >= self.room and not self.held.has_room:
            self.make_room(max(most + 1, 2 * self.room))
        if most < self.room or not isinstance(length, Box):
            return length
        problem = LimitError(f"a list grows beyond {self.room} elements in a while statement")
        holds = less(length, self.room)
        return self.tools.guarded(where(holds, length, 0), holds, problem)

    @property
    def room(self) -> int:
        """How many elements the array has."""
        return 0 if self.held.array is None else shape_of(self.held.array)[0]

    def make_room(self, room: int) -> bool:
        """Give the array room for so many elements in all; return whether it had none."""
        if room <= self.room:
            return False
        rest = zeros(TensorType(self.kind.dtype, (room - self.room, *self.kind.shape)))
        if self.held.array is not None:
            rest = concatenate(self.typed(self.held.array, self.kind), rest, axis=0)
        self.held = self.held._replace(array=rest)
        return True

    def _with(self, value: Any) -> TensorType:
        """Return the type of the elements together with another one."""
        kind = kind_of([value], self.kind)
        if kind is None:
            requirement = "a list that grows in a loop holds numbers, or arrays of one shape"
            try:
                got = f"{self.kind} and {show(type_of(value))}"
            except Exception:
                got = type(value).__name__
            raise refusal("list", requirement, got)
        if type_of(value) != self.kind:
            self.tools.widened()
        self.kind = kind
        return kind

    def typed(self, array: Any, kind: TensorType | None = None) -> Any:
        """Return an array in the dtype of the elements, or of another type."""
        dtype = (kind or self.kind).dtype
        return array if array.dtype == dtype else cast(array, dtype=dtype)

    def element(self, place: Any) -> Any:
        """Return the element at a place that is not negative, and at which there is one."""
        value = gather(self.held.array, place)
        if self.has_no_axes:  # whose writes, which the list would show, are refused
            value = self.tools.without_axes(value)
        if self.kind.weak:
            return python_number(value, PYTHON_TYPE[self.kind.dtype.kind])
        self.tools.hold(value)
        return value

    def _place(self, index: Any, problem: str) -> Any:
        """Return the number of an element; the program raises `IndexError` if there is none."""
        return place_of(index, self.length(), self.held.limits[0], problem, self.tools)

    def is_filled(self) -> Any:
        """Return whether it has an element."""
        return True if self.held.limits[0] > 0 else greater(self.length(), 0)

    # -- as an array -------------------------------------------------------------------------------------

    def _made(self) -> Any:
        (first,) = FIRST
        return first(self.typed(self.held.array, self.kind), self.length())

    def __repr__(self) -> str:
        return "a list whose length only a run knows"

    # -- what is refused --------------------------------------------------------------------------

    def __len__(self) -> int:
        raise self.refused("len")

    def __bool__(self) -> bool:
        raise self.refused("its truth value")

    def __iter__(self) -> Any:
        raise self.refused("iteration")

    def __contains__(self, value: Any) -> bool:
        raise self.refused("in")

    def __eq__(self, other: object) -> Any:
        return self._is_empty() if type(other) is list and not other else super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return not found if isinstance(found, bool) else self.is_filled()

    def _is_empty(self) -> Any:
        filled = self.is_filled()
        return python_number(logical_not(filled), bool) if isinstance(filled, Box) else not filled

    def __add__(self, other: Any) -> Any:
        return ARRANGING["join"](self, other)

    def __radd__(self, other: Any) -> Any:
        return ARRANGING["join"](self, other, False)

    def __mul__(self, count: Any) -> Any:
        return ARRANGING["repeat"](self, count)

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> Any:
        raise self.refused("a comparison")

    __le__ = __gt__ = __ge__ = __lt__


def place_of(index: Any, length: Any, least: int, problem: str, tools: Any) -> Any:
    """Return the number of an element of a list; the program raises `IndexError` if there is none.

    Args:
        index: the index, which may count from the end.
        length: how many elements there are.
        least: how many there are at least.
        problem: the text of the exception.
        tools: what finds out about numbers of places.
    """
    if not tools.is_integer(index):
        raise Grown.refused("an index that is no integer")
    if not isinstance(index, Box):
        index = int(index)
        place = index if index >= 0 else length + index
        if least > index if index >= 0 else least >= -index:
            return place
        holds = greater(length, index) if index >= 0 else greater_equal(length, -index)
        return _checked(place, holds, problem, tools)
    index = python_number(index, int)
    low, high = tools.limits(index)
    if high is not None and high < 0:
        index = index + length
    elif low is None or low < 0:
        index = where(index < 0, index + length, index)
    low, _ = tools.limits(index)
    left, _ = tools.limits(length - index)
    is_inside, is_below = low is not None and low >= 0, left is not None and left > 0
    if is_inside and is_below:
        return index
    tests = [greater_equal(index, 0)] * (not is_inside) + [less(index, length)] * (not is_below)
    return _checked(index, functools.reduce(logical_and, tests), problem, tools)


def _checked(place: Any, holds: Any, problem: str, tools: Any) -> Any:
    """Return a place; the program raises `IndexError` where a truth value does not hold."""
    if isinstance(holds, Box):
        return tools.guarded(where(holds, place, 0), holds, IndexError(problem))
    if not holds:
        raise IndexError(problem)
    return place


def _either(test: Any, yes: Any, no: Any) -> Any:
    """Return one of two integers."""
    return where(test, yes, no) if isinstance(test, Box) else yes if test else no


def keeps_length() -> Exception:
    """Return the error of a list that changes its length while a ``for`` statement goes through it."""
    return refusal("list", "a list keeps its length while a for statement goes through it")
