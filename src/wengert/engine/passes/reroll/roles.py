"""Roles of the operands of a repeated equation: where each turn of a loop takes them from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.records import record
from wengert.engine.ir.graph import Atom, Equation, Graph, Var
from wengert.engine.machine import costs
from wengert.engine.passes.common import key

#: A value of a loop: the position of its equation in the period, and of the value among the equation's outputs.
Place: TypeAlias = tuple[int, int]


_NOWHERE: Place = (-1, 0)


class Span(NamedTuple):
    """The equations of a loop: ``turns`` times ``period`` of them."""

    start: int
    period: int
    turns: int

    @property
    def stop(self) -> int:
        """The position after the last equation."""
        return self.start + self.period * self.turns

    def between(self, first: int, last: int) -> Span:
        """Return the turns from ``first`` up to ``last``."""
        return Span(self.start + first * self.period, self.period, last - first)


class Lines:
    """The equations of a graph, and where each value is defined."""

    def __init__(self, graph: Graph) -> None:
        self.equations: Sequence[Equation] = graph.equations
        self.alias: dict[Atom, Var] = {}
        """The value that stands for another one, because both are equal."""
        self._places: dict[Atom, Place] = {}
        for position, equation in enumerate(graph.equations):
            for number, var in enumerate(equation.outputs):
                self._places[var] = position, number

    def place(self, atom: Atom) -> Place:
        """Return the position of the equation that defines a value, and of the value among its outputs."""
        return self._places.get(atom, _NOWHERE)

    def turns(self, span: Span, position: int) -> list[Equation]:
        """Return the equation at a position of the period, for each turn."""
        return [self.equations[n] for n in range(span.start + position, span.stop, span.period)]


@record(eq=True)
class Fixed:
    """The same value in each turn, from before the loop."""

    atom: Atom


@record(eq=True)
class Inner:
    """A value of the same turn."""

    place: Place


@record(eq=True)
class Carried:
    """A value of an earlier turn."""

    place: Place
    delay: int
    """The number of turns between the two."""
    first: tuple[Atom, ...]
    """The values from before the loop that the first turns read."""


@record(eq=True)
class Row:
    """Another value from before the loop in each turn."""

    atoms: tuple[Atom, ...]


Role: TypeAlias = "Fixed | Inner | Carried | Row"


class MisfitError(Exception):
    """An operand has a role only in some turns, from ``first`` up to ``last``."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(first, last)
        self.first = first
        self.last = last


def atom_key(atom: Atom) -> Any:
    """Return what identifies a value: a variable itself, a literal by its type and bits."""
    return key(atom)


def find_roles(lines: Lines, span: Span, least: int) -> tuple[Span, list[list[Role]]] | None:
    """Return the roles of all operands, for as many of the turns as have them; None for fewer than ``least`` turns."""
    while span.turns >= least:
        try:
            return span, [_roles(lines, span, position) for position in range(span.period)]
        except MisfitError as misfit:
            span = span.between(misfit.first, misfit.last)
    return None


def _roles(lines: Lines, span: Span, position: int) -> list[Role]:
    rows = [equation.operands for equation in lines.turns(span, position)]
    if lines.alias:
        rows = [[lines.alias.get(atom, atom) for atom in row] for row in rows]
    return [_role(lines, span, atoms) for atoms in zip(*rows, strict=True)]


def _role(lines: Lines, span: Span, atoms: tuple[Atom, ...]) -> Role:
    places = list(map(lines.place, atoms))
    middle = span.turns // 2
    line, number = places[middle]
    if line < span.start:
        if any(place[0] >= span.start for place in places):
            _check(middle, [place[0] < span.start for place in places])
        return Fixed(atoms[0]) if _all_same(atoms) else Row(atoms)
    if places[-1] == places[1]:  # the value of one turn, read in all later ones
        raise MisfitError(1, span.turns)
    distance = line - span.start - middle * span.period
    delay = max(0, -(distance // span.period))
    if delay > costs.COSTS.rerolled_delay:
        raise MisfitError(0, 0)
    begin = span.start + distance
    expected = [(line, number) for line in range(begin, begin + span.turns * span.period, span.period)]
    if delay or places != expected:
        before = [place[0] < span.start for place in places[:delay]]
        pairs = zip(places[delay:], expected[delay:], strict=True)
        _check(middle, [*before, *(place == wanted for place, wanted in pairs)])
    place = distance + delay * span.period, number
    return Carried(place, delay, atoms[:delay]) if delay else Inner(place)


def _all_same(atoms: tuple[Atom, ...]) -> bool:
    first = atoms[0]
    return all(atom is first for atom in atoms) or len(set(map(atom_key, atoms))) == 1


def _check(middle: int, fits: Sequence[bool]) -> None:
    """Raise `MisfitError` with the turns around the middle one that fit, unless all do."""
    wrong = [turn for turn, fit in enumerate(fits) if not fit]
    if wrong:
        first = max((turn + 1 for turn in wrong if turn <= middle), default=0)
        raise MisfitError(first, min((turn for turn in wrong if turn > middle), default=len(fits)))
