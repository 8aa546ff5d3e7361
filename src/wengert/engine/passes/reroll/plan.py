"""The plan of a rerolled program: which equations become loops, and the values that the loops keep."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Atom, Graph, Literal, Var
from wengert.engine.machine import costs
from wengert.engine.passes.reroll.indices import INDEXED
from wengert.engine.passes.reroll.repeats import Repeat, find_repeats
from wengert.engine.passes.reroll.roles import (
    Carried,
    Fixed,
    Inner,
    Lines,
    Place,
    Role,
    Row,
    Span,
    atom_key,
    find_roles,
)
from wengert.engine.passes.reroll.signatures import signatures

#: A value that a loop stacks: one that it computes, or a carry as each turn finds it.
Source: TypeAlias = "Place | Carried"


@dataclass(eq=False)
class Loop:
    """Turns of repeated equations that become one loop."""

    chosen: int
    """The position from which it was planned."""
    span: Span
    roles: list[list[Role]]
    hoisted: set[int] = field(default_factory=set[int])
    """The positions of equations that are the same in each turn, and carried out before the loop."""
    indices: dict[int, list[Any]] = field(default_factory=dict[int, list[Any]])
    """The basic indices of all turns, for equations whose index follows the turn."""
    reverse: bool = False
    """Whether the rows of its stacks are in the opposite order of its turns."""
    stacked: dict[Source, None] = field(default_factory=dict[Source, None])
    """The values that it stacks for later equations."""

    def all_roles(self) -> Iterator[Role]:
        """Yield the roles of the operands that it reads in its turns."""
        for position, roles in enumerate(self.roles):
            if position not in self.hoisted:
                yield from roles

    def row_number(self, turn: int) -> int:
        """Return the row of a stack that a turn writes."""
        return self.span.turns - 1 - turn if self.reverse else turn


class Traced(NamedTuple):
    """Values that are rows of a stack, ``turn``, ``turn + step``, ... of an earlier loop."""

    loop: Loop
    source: Source
    turn: int
    step: int


class Plan:
    """The loops of a graph in the order of the program.

    Args:
        excluded: the first positions of loops that cannot be written down.
    """

    def __init__(self, graph: Graph, excluded: Iterable[int] = ()) -> None:
        self.lines = Lines(graph)
        self.constants = dict(graph.constants)
        self.loops: list[Loop] = []
        self._starts: list[int] = []
        """The first positions of the loops."""
        self._carried: dict[tuple[Loop, Place], list[Carried]] = {}
        """The carries that hand a value of a loop on to its next turn."""
        self._found: dict[Any, list[tuple[Loop, Source, int]]] = {}
        """The carries whose first value a value is."""
        excluded = set(excluded)
        for span, roles in sorted(_spans(self.lines), key=lambda candidate: candidate[0]):
            if span.start not in excluded:
                self._add(span, roles)

    def _add(self, span: Span, roles: list[list[Role]]) -> None:
        """Add a loop over the turns whose rows come from one stack each, if there are enough."""
        least, chosen = costs.COSTS.rerolled_turns, span.start
        match = find_roles(self.lines, span, least) if self.lines.alias else (span, roles)
        while match is not None:
            span, roles = match
            loop = Loop(chosen, span, roles)
            self._follow_indices(loop)
            _hoist(loop)
            rows = [role.atoms for role in loop.all_roles() if isinstance(role, Row)]
            first, last = self._whole_stacks(rows, span.turns)
            if (first, last) == (0, span.turns):
                if all(map(self.can_stack, rows)) and _saves_enough(loop):
                    self._accept(loop, rows)
                return
            match = find_roles(self.lines, span.between(first, last), least)

    def _follow_indices(self, loop: Loop) -> None:
        for position in range(loop.span.period):
            turns = self.lines.turns(loop.span, position)
            if turns[0].primitive in INDEXED:
                indices = [equation.params["index"] for equation in turns]
                if any(index != indices[0] for index in indices):
                    loop.indices[position] = indices

    def _whole_stacks(self, rows: Sequence[tuple[Atom, ...]], turns: int) -> tuple[int, int]:
        """Return the turns whose rows each come from one stack, leaving out at most half of them."""
        first, last = 0, turns
        for atoms in rows:
            low, high = self._traced_part(atoms)
            if 2 * (high - low) >= turns:
                first, last = max(first, low), min(last, high)
        return first, last

    def _accept(self, loop: Loop, rows: Sequence[tuple[Atom, ...]]) -> None:
        self.loops.append(loop)
        self._starts.append(loop.span.start)
        traces = [traced for atoms in rows if (traced := self.trace(atoms)) is not None]
        falling = [(traced.step < 0) != traced.loop.reverse for traced in traces]
        loop.reverse = 2 * sum(falling) > len(falling)
        for traced in traces:
            traced.loop.stacked[traced.source] = None
        self._register(loop)

    def _register(self, loop: Loop) -> None:
        for position in loop.hoisted:
            turns = self.lines.turns(loop.span, position)
            for equation in turns:
                self.lines.alias.update(zip(equation.outputs, turns[0].outputs, strict=True))
        for role in dict.fromkeys(loop.all_roles()):
            if isinstance(role, Carried) and role.delay == 1 and role.place[0] not in loop.hoisted:
                self._found.setdefault(atom_key(role.first[0]), []).append((loop, role, 0))
                self._carried.setdefault((loop, role.place), []).append(role)

    # -- rows that a loop has stacked --------------------------------------------------------------------

    def made(self, atom: Atom) -> tuple[Loop, Place, int] | None:
        """Return the loop that computes a value, with its place and turn."""
        line, number = self.lines.place(atom)
        following = bisect.bisect(self._starts, line)
        if line < 0 or not following:
            return None
        loop = self.loops[following - 1]
        turn, position = divmod(line - loop.span.start, loop.span.period)
        if turn >= loop.span.turns or position in loop.hoisted:
            return None
        return loop, (position, number), turn

    def _stacks_of(self, atom: Atom) -> list[tuple[Loop, Source, int]]:
        """Return the stacks of which a value can be a row: it is computed, or carried, in a turn."""
        stacks = self._found.get(atom_key(atom), [])
        made = self.made(atom)
        if made is None:
            return stacks
        loop, place, turn = made
        later = [(loop, role, turn + 1) for role in self._carried.get((loop, place), ())]
        return [made, *(later if turn + 1 < loop.span.turns else ()), *stacks]

    def trace(self, atoms: Sequence[Atom]) -> Traced | None:
        """Return the stack of an earlier loop whose rows some values are."""
        return next((traced for traced, part in self._candidates(atoms) if part == (0, len(atoms))), None)

    def _traced_part(self, atoms: Sequence[Atom]) -> tuple[int, int]:
        """Return which of the values are rows of one stack, around the middle one."""
        parts = [part for _, part in self._candidates(atoms)]
        return max(parts, key=lambda part: part[1] - part[0], default=(0, len(atoms)))

    def _candidates(self, atoms: Sequence[Atom]) -> Iterator[tuple[Traced, tuple[int, int]]]:
        middle = len(atoms) // 2
        made = list(map(self._stacks_of, atoms))
        for loop, source, turn in made[middle]:
            for earlier, same, before in made[middle - 1]:
                step = turn - before
                if (loop, source) == (earlier, same) and step:
                    begin = turn - step * middle
                    fits = [(loop, source, begin + step * n) in places for n, places in enumerate(made)]
                    first = max((n + 1 for n in range(middle) if not fits[n]), default=0)
                    last = min((n for n in range(middle, len(fits)) if not fits[n]), default=len(fits))
                    yield Traced(loop, source, begin, step), (first, last)

    # -- other rows --------------------------------------------------------------------------------------

    def known(self, atom: Atom) -> Any:
        """Return the value of a literal or a constant, None of anything else."""
        return atom.value if isinstance(atom, Literal) else self.constants.get(atom)

    def can_stack(self, atoms: Sequence[Atom]) -> bool:
        """Return whether values are rows of a stack, known, or small enough to be copied into one."""
        if self.trace(atoms) is not None or all(self.known(atom) is not None for atom in atoms):
            return True
        nbytes = sum(size(atom.type.shape) * atom.type.dtype.itemsize for atom in atoms)
        return nbytes <= costs.COSTS.rerolled_copied_bytes


def _saves_enough(loop: Loop) -> bool:
    lines = loop.span.period - len(loop.hoisted)
    return lines * (loop.span.turns - 1) >= costs.COSTS.rerolled_equations


def _hoist(loop: Loop) -> None:
    """Note the equations that are the same in each turn (loop-invariant code motion)."""
    for position, roles in enumerate(loop.roles):
        if position not in loop.indices and all(
            isinstance(role, Fixed) or (isinstance(role, Inner) and role.place[0] in loop.hoisted)
            for role in roles
        ):
            loop.hoisted.add(position)


def _spans(lines: Lines) -> list[tuple[Span, list[list[Role]]]]:
    """Return loops that do not overlap, chosen by what they save, with the roles of their operands."""
    least = costs.COSTS.rerolled_equations
    taken: list[tuple[Span, list[list[Role]]]] = []
    for repeat in find_repeats(signatures(lines.equations), least):
        repeat = _free_part(repeat, [span for span, _ in taken])
        if repeat.saved < least:
            continue
        start = _boundary(lines, repeat)
        span = Span(start, repeat.period, (repeat.stop - start) // repeat.period)
        match = find_roles(lines, span, costs.COSTS.rerolled_turns)
        if match is not None:
            taken.append(match)
    return taken


def _free_part(repeat: Repeat, taken: Sequence[Span]) -> Repeat:
    """Return the longest part of a repeat outside the loops chosen already."""
    edges = [repeat.start]
    for span in sorted(taken):
        if span.start < repeat.stop and span.stop > repeat.start:
            edges += [span.start, span.stop]
    edges.append(repeat.stop)
    gaps = zip(edges[::2], edges[1::2], strict=True)
    start, stop = max(gaps, key=lambda gap: gap[1] - gap[0])
    return repeat._replace(start=start, stop=stop)


def _boundary(lines: Lines, repeat: Repeat) -> int:
    """Return where in the first period a turn begins so that turns hand on the fewest bytes.

    Values that are alive at a boundary are carried. They are counted in two periods in the middle of the repeat.
    """
    period = repeat.period
    base = repeat.start + max(0, (repeat.stop - repeat.start) // period // 2 - 1) * period
    last_use: dict[Var, int] = {}
    for position in range(base, min(base + 2 * period, repeat.stop)):
        for atom in lines.equations[position].operands:
            if isinstance(atom, Var) and base <= lines.place(atom)[0] < base + period:
                last_use[atom] = position
    changes = [0] * (2 * period + 1)
    for var, use in last_use.items():
        weight = size(var.shape) * var.dtype.itemsize
        changes[lines.place(var)[0] - base + 1] += weight
        changes[use - base + 1] -= weight
    alive = [0] * period
    total = 0
    for boundary, change in enumerate(changes):
        total += change
        alive[boundary % period] += total
    return repeat.start + min(range(period), key=alive.__getitem__)
