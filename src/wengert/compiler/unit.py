"""The unit of compilation: a program on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.records import record
from wengert.engine.ir.graph import Graph
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Nest, Program
from wengert.engine.nest.printer import Names, step_lines, text

if TYPE_CHECKING:  # a program from the cache on disk needs no schedule
    from wengert.compiler.schedule.arena import Plan
    from wengert.compiler.schedule.layout import Layout
    from wengert.compiler.schedule.schedule_nests import ScheduledNest


class Options(NamedTuple):
    """The options of a compilation."""

    flags: str = ""
    """LLVM's flags on floating-point arithmetic, which say what may be rewritten."""
    check: str = ""
    """The class of floats, one of `CLASSES`, at which the program stops if an operation makes one."""
    flush_subnormals: bool = False
    """Whether operations take subnormal numbers as zeros, and return zeros for them."""
    leaves: bool = False
    """Whether the program leaves Python, so that as little as possible may be left to NumPy."""


@record(slots=False)
class Unit:
    """A program as the passes hand it on: its graph, then its nests, then their layouts, memory and schedules."""

    graph: Graph
    places: Mapping[int, int]
    """For a result, the position of the donated argument in whose memory it is written."""
    target: Target
    options: Options
    nests: Program | None = None
    fused: Program | None = None
    """The nests that `fuse` returned last."""
    layouts: dict[Buffer, Layout] = field(default_factory=lambda: {})
    memory: Plan | None = None
    schedules: Mapping[Nest, ScheduledNest] = field(default_factory=lambda: {})
    done: tuple[tuple[str, float], ...] = ()
    """The passes that have run, and the seconds that each took."""

    @property
    def program(self) -> Program:
        """The nests."""
        assert self.nests is not None, "the graph is not lowered yet"
        return self.nests

    @property
    def arena(self) -> Plan:
        """The places of the intermediate buffers."""
        assert self.memory is not None, "the arena is not planned yet"
        return self.memory

    def __str__(self) -> str:
        if self.nests is None:
            return str(self.graph)
        names = Names()
        return "\n".join([text(self.nests, names), *self._layout_lines(names), *self._schedule_lines(names)])

    def _layout_lines(self, names: Names) -> Iterator[str]:
        """Yield a line for each buffer that is not in row-major order, and for each that lies in the arena."""
        places = self.memory.places if self.memory else {}
        for buffer, layout in self.layouts.items():
            facts: list[str] = []
            if layout.panel:
                facts.append(f"panels of {layout.panel} along axis {layout.lanes}")
            elif layout.lanes is not None:
                facts.append(f"axis {layout.lanes} innermost")
            if place := places.get(buffer):
                facts.append(f"bytes {place.offset:,} to {place.offset + place.size:,} of the arena")
            if facts:
                yield f"  {names.buffer(buffer)}: {', '.join(facts)}"

    def _schedule_lines(self, names: Names) -> Iterator[str]:
        """Yield a line for the schedule of each nest."""
        for nest, scheduled in self.schedules.items():
            head = next(iter(step_lines(nest, names)))
            yield f"  {head} {', '.join(filter(None, scheduled.describe(names))) or 'no lanes'}"
