"""The report of a compiled function: nests, lanes, tiles, operations, bytes, memory, passes, costs of lines."""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wengert.compiler.codegen.subnormals import can_flush
from wengert.compiler.schedule.schedule_nests import ScheduledNest
from wengert.compiler.unit import Unit
from wengert.engine.core.markup import element, folded, in_notebook, short_table, table
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.notebooks import readable
from wengert.engine.nest.expression import (
    CHECKS,
    Apply,
    Buffer,
    Expression,
    Load,
    Reduce,
    children,
    free_dims,
)
from wengert.engine.nest.nest import Branch, Call, Host, Loop, Nest, Step, While, inner_blocks
from wengert.engine.nest.printer import Names, step_lines

_MOVES = ("cast", "where", *CHECKS)


class NestReport(NamedTuple):
    """One nest."""

    text: str
    """Its stores, as loops."""
    fused: tuple[str, ...]
    """The operations that it performs."""
    lanes: str
    """The dimension along vectors, and the elements of a vector; empty if the nest is scalar."""
    tile: str
    """The points computed together, the vectors computed as one, and whether stores are delayed."""
    operations: int
    """Arithmetic operations of all turns of the loops around it."""
    bytes: int
    """Bytes of the elements that it reads and writes, each counted once a turn."""
    location: str
    """The last of the user's lines in it."""
    costs: Mapping[str, int]
    """The operations by the user's lines."""
    around: tuple[str, ...] = ()
    """The loops and branches around it, the outermost first, with the user's lines."""


@dataclass(frozen=True)
class Report:
    """The report of a compiled function; printing it shows all of it, and so does a notebook, in tables.

    Example:
        >>> import numpy as np, wengert as wg
        >>> print(wg.jit(lambda x: np.exp(x) + 1.0).report(np.zeros(1000)).nests[0].text)
        nest i<1000:
          out0[i] = (exp(x1[i]) + 1.0)
    """

    nests: tuple[NestReport, ...]
    hosts: tuple[str, ...]
    """The operations that are left to NumPy."""
    routines: tuple[str, ...]
    """The routines of BLAS and LAPACK that it calls without Python, with the user's lines."""
    arena: int
    """Bytes of the intermediate arrays that all threads share."""
    private: int
    """Bytes of the intermediate arrays that each thread has for itself."""
    lifetimes: tuple[str, ...]
    """The place of each intermediate array in the arena, and its first and last step."""
    flushes_subnormals: bool
    """Whether subnormal numbers count as zeros."""
    passes: Mapping[str, float]
    """The milliseconds that each pass of the compiler took, in the order in which they ran."""

    @property
    def operations(self) -> int:
        """Arithmetic operations of a call."""
        return sum(nest.operations for nest in self.nests)

    @property
    def bytes(self) -> int:
        """Bytes that the nests move."""
        return sum(nest.bytes for nest in self.nests)

    @property
    def lines(self) -> dict[str, int]:
        """The arithmetic operations of each of the user's lines, the most expensive line first."""
        totals: dict[str, int] = defaultdict(int)
        for nest in self.nests:
            for location, count in nest.costs.items():
                totals[location or "(inputs and results)"] += count
        return dict(sorted(totals.items(), key=lambda pair: -pair[1]))

    def _title(self) -> str:
        moved = f"{self.bytes:,} bytes moved, arena {self.arena:,} bytes"
        if self.private:
            moved += f" and {self.private:,} for each thread"
        count = f"{len(self.nests)} {'nest' if len(self.nests) == 1 else 'nests'}"
        return f"{count}, {self.operations:,} operations, {moved}"

    def _repr_html_(self) -> str:
        nests = [
            (
                str(number),
                " + ".join(nest.fused),
                ", ".join(filter(None, (nest.lanes, nest.tile))),
                nest.location,
                f"{nest.operations:,}",
                f"{nest.bytes:,}",
            )
            for number, nest in enumerate(self.nests, 1)
        ]
        lines = [(location, f"{count:,}") for location, count in self.lines.items()]
        passes = [(name, f"{milliseconds:.2f}") for name, milliseconds in self.passes.items()]
        loops = "\n".join(line for nest in self._blocks(numbered=True) for line in nest).lstrip()
        heads = "nest", "fused", "vectors and tiles", "line", "operations", "bytes"
        return in_notebook(
            short_table(self._title(), heads, nests, texts=4) if nests else element("p", self._title()),
            *(element("p", text) for text in self._notes()),
            short_table("The cost of each line", ("line", "operations"), lines) if lines else None,
            folded("The loops", element("pre", loops)) if loops else None,
            folded("The arena", element("pre", "\n".join(self.lifetimes))) if self.lifetimes else None,
            folded("The passes", table("Time of each pass", ("pass", "milliseconds"), passes)),
        )

    def in_loops(self) -> Iterator[tuple[NestReport, list[str]]]:
        """Yield each nest with the loops and branches that begin at it, indented by their depth.

        Example:
            >>> import numpy as np, wengert as wg
            >>> def halvings(x):
            ...     while x > 1.0:
            ...         x = x / 2.0
            ...     return x
            >>> [heads[0].partition(" ")[0] for _, heads in wg.jit(halvings).report(8.0).in_loops() if heads]
            ['loop:']
        """
        before: tuple[str, ...] = ()
        for nest in self.nests:
            same = sum(1 for _ in itertools.takewhile(operator.truth, map(operator.is_, before, nest.around)))
            yield nest, [f"{'  ' * depth}{head}" for depth, head in enumerate(nest.around[same:], same)]
            before = nest.around

    def _blocks(self, *, numbered: bool = False) -> Iterator[list[str]]:
        """Yield the lines of each nest, behind those of the loops and branches that begin there."""
        for number, (nest, heads) in enumerate(self.in_loops(), 1):
            text = f"{number}: {nest.text}" if numbered else nest.text
            yield ["", *heads, *(f"{'  ' * len(nest.around)}{line}" for line in text.split("\n"))]

    def _notes(self) -> list[str]:
        notes = ["subnormal numbers count as zeros"] if self.flushes_subnormals else []
        if self.hosts:
            notes.append(f"left to NumPy: {', '.join(self.hosts)}")
        if self.routines:
            notes.append(f"by BLAS and LAPACK: {', '.join(self.routines)}")
        return notes

    def __str__(self) -> str:
        parts = [self._title()]
        for nest, lines in zip(self.nests, self._blocks(), strict=True):
            how = ", ".join(part for part in (nest.lanes, nest.tile) if part)
            facts = [" + ".join(nest.fused), how, f"{nest.operations:,} operations"]
            where = f" [{nest.location}]" if nest.location else ""
            depth = "  " * len(nest.around)
            parts += [*lines, f"{depth}    # {'; '.join(filter(None, facts))}{where}"]
        parts += [f"\n{note}" for note in self._notes()]
        if self.lifetimes:
            parts.append("\nin the arena (bytes, steps):")
            parts += [f"    {line}" for line in self.lifetimes]
        parts.append("\noperations by line:")
        parts += [f"    {location}: {count:,}" for location, count in self.lines.items()]
        parts.append("\nmilliseconds of each pass:")
        parts += [f"    {name}: {milliseconds:.2f}" for name, milliseconds in self.passes.items()]
        return "\n".join(parts)


def report_of(unit: Unit) -> Report:
    """Return the report of a scheduled program."""
    names = Names()
    nests: list[NestReport] = []
    hosts: list[str] = []
    routines: list[str] = []

    def visit(steps: Sequence[Step], turns: int, around: tuple[str, ...]) -> None:
        for step in steps:
            if isinstance(step, Nest):
                nest = _nest(step, unit.schedules[step], names, turns)
                nests.append(nest._replace(around=around))
            elif isinstance(step, Host):
                hosts.append(f"{step.primitive} [{readable(step.location)}]")
            elif isinstance(step, Call):
                routines.append(f"{step.calls.call.name} [{readable(step.location)}]")
            inner = turns * (step.counter.extent if isinstance(step, Loop) else 1)
            for block, head in zip(inner_blocks(step), _heads(step, names), strict=True):
                visit(block, inner, (*around, head))

    visit(unit.program.steps, 1, ())
    lifetimes = tuple(
        f"{names.buffer(buffer)}: {place.offset:,} to {place.offset + place.size:,}"
        f"{' of each thread' if place.private else ''}, steps {place.lifetime.first} to {place.lifetime.last}"
        for buffer, place in sorted(unit.arena.places.items(), key=lambda pair: pair[1].lifetime)
    )
    passes = {name: seconds * 1e3 for name, seconds in unit.done}
    flushes = unit.options.flush_subnormals and can_flush(unit.target)
    made = tuple(nests), tuple(hosts), tuple(routines)
    return Report(*made, unit.arena.size, unit.arena.private, lifetimes, flushes, passes)


def _heads(step: Step, names: Names) -> list[str]:
    """Return the line before each block of steps inside a step, with the user's line."""
    if not isinstance(step, (Loop, Branch, While)):
        return []
    where = f" [{readable(step.location)}]" if step.location else ""
    head = f"{next(step_lines(step, names))}{where}"
    match step:
        case Branch():
            return [head, f"else:{where}"]
        case While():
            return [head] * 2
        case Loop():
            return [head]


def _nest(nest: Nest, scheduled: ScheduledNest, names: Names, turns: int) -> NestReport:
    lines = {readable(location): count * turns for location, count in costs(nest).items()}
    return NestReport(
        "\n".join(step_lines(nest, names)),
        tuple(dict.fromkeys(nest.origin)),
        *scheduled.describe(names),
        sum(lines.values()),
        _moved(nest) * turns,
        readable(nest.location),
        lines,
    )


def _moved(nest: Nest) -> int:
    """Return the bytes of the elements that a nest reads and writes, each once."""
    accesses = [node for node in nest.nodes() if isinstance(node, Load)]
    accesses += [Load(store.buffer, store.indices) for store in nest.stores]
    own = nest.own_dims()
    reached: Counter[Buffer] = Counter()
    for load in {(load.buffer, load.indices): load for load in accesses}.values():
        reached[load.buffer] += math.prod(dim.extent for dim in own & free_dims(load))
    return sum(min(count, buffer.size) * buffer.dtype.itemsize for buffer, count in reached.items())


def costs(nest: Nest) -> Counter[str]:
    """Return the arithmetic operations of a nest by the user's lines.

    A shared value counts once; moves, conversions and the arithmetic of indices do not count.
    """
    operations: Counter[str] = Counter()
    seen: set[int] = set()
    points = math.prod(dim.extent for dim in nest.dims)

    def visit(node: Expression, times: int) -> None:
        if id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, Reduce):
            times *= math.prod(dim.extent for dim in node.dims)
            operations[getattr(node.body, "location", "") or nest.location] += times
        elif isinstance(node, Apply) and node.operation not in _MOVES:
            operations[node.location or nest.location] += times
        for child in children(node):
            visit(child, times)

    for store in nest.stores:
        operations[nest.location] += points if store.combiner else 0
        visit(store.value, points * math.prod(dim.extent for dim in store.along))
    return operations
