"""The positions of an axis that a slice or a mask selects, where only a run knows which they are."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, below, concrete
from wengert.engine.ir.graph import Atom, Literal
from wengert.engine.ops.arithmetic import minimum
from wengert.engine.ops.comparison import where
from wengert.engine.ops.conversion import python_number
from wengert.engine.staged.counted import BEYOND, Sum, interval, sum_of
from wengert.engine.staged.exchanged import refusal
from wengert.engine.transforms.staging import GraphTrace

#: How deep the expressions of two masks are compared.
_DEPTH = 6


@dataclass(frozen=True)
class End:
    """Where a span starts or stops.

    Args:
        value: the position, an integer of Python's or a box of one.
        form: equal for ends that are equal in each run.
        sum: the position as multiples of variables and a number; None where it is cut off at the end of an axis.
    """

    value: Any = field(compare=False)
    form: Any
    sum: Sum | None = field(default=None, compare=False)


def end(value: Any) -> End:
    """Return the end of a span at a position that needs no cut."""
    found = sum_of(value)
    if found is None:
        return End(value, ("state", value.state))
    terms, number = found
    return End(number if not terms else value, ("sum", frozenset(terms.items()), number), found)


def _derived(value: Any, *form: Any) -> End:
    """Return an end at a position that depends on others, which ``form`` tells."""
    made = end(value)
    return made if made.sum is not None and not made.sum[0] else End(value, form)


@dataclass(frozen=True)
class Span:
    """The positions from a start up to a stop, of an axis of an extent; none if the stop is not greater."""

    start: End
    stop: End
    extent: int

    @property
    def length(self) -> Any:
        """The number of positions."""
        number = self.stop.value - self.start.value
        limits = interval(number)
        return number if limits is not None and limits[0] >= 0 else larger(number, 0)

    @property
    def may_be_empty(self) -> bool:
        """Whether a run may select no position."""
        limits = interval(self.stop.value - self.start.value)
        return limits is None or limits[0] < 1

    def mask(self) -> Any:
        """Return for each position of the axis whether it is selected."""
        positions = np.arange(self.extent)
        begins, ends = self.start.value, self.stop.value
        if type(begins) is int and begins <= 0:
            return positions < ends
        if type(ends) is int and ends >= self.extent:
            return positions >= begins
        return (positions >= begins) & (positions < ends)

    def is_like(self, other: Any) -> bool:
        """Return whether another selection is of the same positions."""
        return isinstance(other, Span) and self.start == other.start and self.stop == other.stop

    def is_as_long_as(self, other: Span) -> bool:
        """Return whether another span has as many positions in each run."""
        lengths = [difference(one.stop.sum, one.start.sum) for one in (self, other)]
        return lengths[0] is not None and lengths[0] == lengths[1]

    def flipped(self) -> Span:
        """Return the same elements of the axis in reverse order."""
        return Span(_mirrored(self.stop, self.extent), _mirrored(self.start, self.extent), self.extent)

    def position(self, index: Any) -> tuple[Any, Any]:
        """Return the position of an element of the selection, and whether there is no such element.

        Args:
            index: as Python counts: -1 is the last one.
        """
        limits = interval(index)
        length = self.length
        if limits is not None and limits[0] >= 0:
            return self.start.value + index, _fails(index, length)
        if limits is not None and limits[1] < 0:
            return self.stop.value + index, _fails(-1 - index, length)
        wrapped = where(index < 0, index + length, index)
        return self.start.value + wrapped, (wrapped < 0) | (wrapped >= length)

    def part(self, index: slice) -> Span:
        """Return the positions that a slice of the selection selects; its step is 1 or None."""
        return Span(self._start(index.start), self._stop(index.stop), self.extent)

    def _start(self, value: Any) -> End:
        if value is None:
            return self.start
        value, (low, high) = number(value), _limits(value)
        from_start, from_stop = self.start.value + value, self.stop.value + value
        if low >= 0:  # beyond the stop, no position is left
            return end(from_start)
        cut = larger(from_stop, self.start.value)
        if high >= 0:
            cut = where(value < 0, cut, from_start)
        return _derived(cut, "start", self.start, self.stop, end(value))

    def _stop(self, value: Any) -> End:
        if value is None:
            return self.stop
        value, (low, high) = number(value), _limits(value)
        from_start, from_stop = self.start.value + value, self.stop.value + value
        if high < 0:
            return end(from_stop)
        room = interval(self.stop.value - from_start)
        if low >= 0 and room is not None and room[0] >= 0:
            return end(from_start)
        cut = smaller(from_start, self.stop.value)
        if low < 0:
            cut = where(value < 0, from_stop, cut)
        return _derived(cut, "stop", self.start, self.stop, end(value))


def _fails(place: Any, length: Any) -> Any:
    """Return whether a number that is not negative is not below a length."""
    found = interval(length - place)
    return False if found is not None and found[0] >= 1 else place >= length


def difference(one: Sum | None, other: Sum | None) -> Sum | None:
    """Return the difference of two sums; None if one is not known."""
    if one is None or other is None:
        return None
    (terms, number_), (others, less) = one, other
    found = {name: terms.get(name, 0) - others.get(name, 0) for name in {**terms, **others}}
    return {name: count for name, count in found.items() if count}, number_ - less


def _mirrored(one: End, extent: int) -> End:
    value = extent - one.value
    return end(value) if one.sum is not None else End(value, ("mirrored", one.form, extent))


def distance(start: Span, other: Span) -> Any:
    """Return how far the positions of a span stand behind those of another one of the same length."""
    moved = difference(start.start.sum, other.start.sum)
    return moved[1] if moved is not None and not moved[0] else start.start.value - other.start.value


# -- slices ----------------------------------------------------------------------------------------------


def number(value: Any) -> Any:
    """Return an end of a slice as an integer of Python's, known or not; raise Python's error for another value."""
    known = concrete(value)
    if known is not None and hasattr(known, "__index__"):
        return operator.index(known)
    if not isinstance(value, Box) or value.shape or value.dtype.kind not in "iu":
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    if value.dtype == np.uint64:  # what is beyond 64 bits lies outside of every array
        value = minimum(value, np.uint64((1 << 63) - 1))
    return python_number(value, int)


def span(index: slice, extent: int) -> tuple[Span, bool]:
    """Return the positions that a slice of an axis selects, and whether they are those of the axis in reverse.

    Args:
        index: its step is 1, -1 or None.
        extent: of the axis.
    """
    if index.step in (None, 1):
        start = (
            End(0, ("sum", frozenset(), 0), ({}, 0)) if index.start is None else _cut(index.start, extent, 0)
        )
        stop = end(extent) if index.stop is None else _cut(index.stop, extent, 0)
        return Span(start, stop, extent), False
    start = end(extent - 1) if index.start is None else _cut(index.start, extent, 1)
    stop = end(-1) if index.stop is None else _cut(index.stop, extent, 1)
    return Span(_mirrored(start, extent - 1), _mirrored(stop, extent - 1), extent), True


def _cut(value: Any, extent: int, back: int) -> End:
    """Return an end of a slice as Python takes it: negative ones count from the end, and those beyond are cut.

    Args:
        value: the end.
        extent: of the axis.
        back: 1 for a step of -1, before whose last element there is room for one more end; else 0.
    """
    value, most = number(value), extent - back
    low, high = _limits(value)
    if low >= 0 and high <= most:
        return end(value)
    cut = value
    if low < 0:
        cut = where(value < 0, value + extent, value) if high >= 0 else value + extent
        if low < -extent - back:
            cut = larger(cut, -back)
    if high > most:
        cut = smaller(cut, most)
    if high < 0 and -extent <= low:
        return end(cut)
    return _derived(cut, "cut", end(value), extent, back)


def _limits(value: Any) -> tuple[int, int]:
    return interval(value) or (-BEYOND, BEYOND)


def larger(one: Any, other: Any) -> Any:
    """Return the larger of two integers of Python's, known or not."""
    return _chosen(one, other, max, lambda x, y: x < y)


def smaller(one: Any, other: Any) -> Any:
    """Return the smaller of two integers of Python's, known or not."""
    return _chosen(one, other, min, lambda x, y: y < x)


def _chosen(one: Any, other: Any, known: Callable[..., Any], takes_other: Callable[..., Any]) -> Any:
    if not isinstance(one, Box) and not isinstance(other, Box):
        return known(one, other)
    return where(takes_other(one, other), other, one)


# -- masks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mask:
    """The positions of an axis at which a truth value holds."""

    values: Any
    extent: int
    may_be_empty = True

    @property
    def length(self) -> Any:
        """The number of positions."""
        return python_number(np.sum(self.values), int)

    def mask(self) -> Any:
        """Return for each position of the axis whether it is selected."""
        return self.values

    def is_like(self, other: Any) -> bool:
        """Return whether another selection is of the same positions."""
        return isinstance(other, Mask) and _is_same(self.values, other.values)

    def is_as_long_as(self, other: Any) -> bool:
        """Return False: another mask selects other positions."""
        return False

    def flipped(self) -> Mask:
        """Return the same elements of the axis in reverse order."""
        return Mask(self.values[::-1], self.extent)

    def position(self, index: Any) -> Any:
        """Refuse an element: where it stands depends on all truth values before it."""
        requirement = "an element of what a mask selects has a place that only a run knows"
        hint = "write np.where(mask, x, ...), or sum what is selected"
        raise refusal("getitem", requirement, hint=hint)

    part = position


Selection = Span | Mask
"""The selected positions of an axis."""


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two boxes hold the same values in each run: one value, or computed in the same way."""
    if one.state is other.state:
        return True
    while one.owner is other.owner and not isinstance(one.owner, GraphTrace):
        one, other = below(one), below(other)
        if not isinstance(one, Box) or not isinstance(other, Box):
            return not isinstance(one, Box) and not isinstance(other, Box) and np.array_equal(one, other)
    trace = one.owner
    if trace is not other.owner or not isinstance(trace, GraphTrace):
        return False
    defined = {var: equation for equation in trace.equations for var in equation.outputs}

    def alike(x: Atom, y: Atom, depth: int) -> bool:
        if x is y:
            return True
        if isinstance(x, Literal) or isinstance(y, Literal):
            return isinstance(x, Literal) and isinstance(y, Literal) and x.type == y.type and _is_equal(x, y)
        if depth == _DEPTH or x not in defined or y not in defined:
            return False
        a, b = defined[x], defined[y]
        return (
            a.primitive == b.primitive
            and not any(True for _ in a.graphs())
            and a.params == b.params
            and a.outputs.index(x) == b.outputs.index(y)
            and len(a.operands) == len(b.operands)
            and all(alike(p, q, depth + 1) for p, q in zip(a.operands, b.operands, strict=True))
        )

    return alike(trace.variable(one.state), trace.variable(other.state), 0)


def _is_equal(x: Literal, y: Literal) -> bool:
    return bool(x.value == y.value)


def unknown_ends(index: slice) -> bool:
    """Return whether only a run knows an end of a slice."""
    return any(isinstance(x, Box) and concrete(x) is None for x in (index.start, index.stop))


def check_step(index: slice) -> None:
    """Refuse a slice of unknown ends whose step is not 1 or -1."""
    if index.step not in (None, 1, -1):
        raise refusal(
            "getitem", "a slice whose ends only a run knows must have the step 1 or -1", str(index.step)
        )
