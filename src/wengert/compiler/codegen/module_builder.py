"""A program's LLVM modules under construction: LLVM compiles one while the next is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from wengert.compiler import mathlib
from wengert.compiler.llvm.ir_builder import Builder, Kind
from wengert.compiler.schedule.arena import Plan
from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.outline import NestArguments
from wengert.compiler.schedule.schedule_nests import ScheduledNest
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Host, Nest

_INTERNAL = "define internal void @"
_NAME = re.compile(r"@([\w.]+)\(")
#: Takes the module of a finished part, and the names of the functions that it defines for later parts.
Take: TypeAlias = Callable[[str, Sequence[str]], None]


@dataclass
class Part:
    """Functions that are compiled together, and the functions that they call."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    """The functions by name."""
    functions: set[tuple[str, Kind]] = field(default_factory=set[tuple[str, Kind]])
    """The elementary functions that they call."""
    declared: set[str] = field(default_factory=set[str])
    """The declarations of all functions that they call."""

    def module(self, target: Target, *more: str) -> str:
        """Return the text of the module, with the functions ``more`` at the end."""
        text, declared = mathlib.definitions(sorted(self.functions), target)
        declared |= {line for line in self.declared if _NAME.findall(line)[0] not in self.texts}
        return "\n".join([*sorted(declared), text, *self.texts.values(), *more])


class NestFunction(NamedTuple):
    """The native function of a nest."""

    name: str
    tiles: int
    """The tiles that threads share: those of the outermost dimensions, one after another; 1 if they share none."""
    is_last: bool = False
    """Whether it belongs to the last part, where the program is."""


@dataclass
class ModuleBuilder:
    """Collects the functions of a program.

    A function calls only functions written before it, in its own part or in a finished one.
    """

    layouts: Mapping[Buffer, Layout]
    memory: Plan
    slots: Mapping[Buffer, int]
    schedules: Mapping[Nest, ScheduledNest]
    target: Target
    fast: str
    """LLVM's flags on floating-point arithmetic."""
    long: bool
    """Whether the program takes long enough for other threads to join."""
    flush: bool
    """Whether the program flushes subnormal numbers."""
    hosted: bool = True
    """Whether Python calls the program: its threads may join, and Ctrl-C ends its loops."""
    take: Take | None = None
    """Takes each finished part but the last; without it, there is one part."""
    part: Part = field(default_factory=Part)
    size: int = 0
    inlined: Part = field(default_factory=Part)
    """Functions that the program's loops copy: they belong to the last part, as the program itself."""
    inlined_size: int = 0
    checks: dict[str, int] = field(default_factory=dict[str, int])
    """The number, from 1, of each place that can report an error: ``check|requirement|line``."""
    hosts: list[Host] = field(default_factory=list[Host])
    parallel: bool = False
    """Whether threads share a nest or a loop."""
    nests: dict[Nest, tuple[NestFunction, NestArguments]] = field(
        default_factory=dict[Nest, tuple[NestFunction, NestArguments]]
    )
    """The function of each nest, and its arguments."""
    outlined: dict[Any, NestFunction] = field(default_factory=dict[Any, NestFunction])
    """The functions of nests, by the properties that determine their text."""
    nest_functions: int = 0
    """The number of functions of nests."""
    unpacked: set[str] = field(default_factory=set[str])
    """The functions of nests that the team can call."""
    routines: set[str] = field(default_factory=set[str])
    """The routines of BLAS and LAPACK that the program calls."""
    calls: int = 0
    """The number of calls of routines."""
    sorts: int = 0
    """The number of sorts."""
    loops: int = 0
    """The number of shared loops."""
    shared: set[str] = field(default_factory=set[str])
    """The functions that sorts share."""

    @contextmanager
    def for_the_last_part(self) -> Generator[None]:
        """Have functions belong to the last part."""
        part, self.part = self.part, self.inlined
        try:
            yield
        finally:
            self.part = part

    def last_part(self) -> Part:
        """Return the part to which the program itself belongs."""
        one, other = self.part, self.inlined
        return Part(
            {**one.texts, **other.texts}, one.functions | other.functions, one.declared | other.declared
        )

    def add(self, name: str, text: str) -> None:
        """Add a function; it may be the last one of its part."""
        self.part.texts[name] = text
        if self.part is self.inlined:
            self.inlined_size += len(text)
            return
        self.size += len(text)
        if self.take and self.size >= costs.COSTS.module_part_characters:
            part, self.part, self.size = self.part, Part(), 0
            self.take(part.module(self.target).replace(_INTERNAL, "define void @"), list(part.texts))

    def define(self, name: str, parameters: str, builder: Builder, attributes: str = "") -> str:
        """Return the text of an internal function, and note the functions that it calls."""
        self.part.declared |= builder.declared
        return builder.function(f"{_INTERNAL}{name}({parameters}) nounwind{attributes}")
