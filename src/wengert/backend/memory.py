"""Memory: every intermediate buffer gets a place in one arena, which others get again as soon as it is dead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from wengert.backend.layout import Layout
from wengert.nest.expression import Buffer
from wengert.nest.nest import Branch, Loop, Program, Step, While, inner_blocks, reads, writes

_ALIGNMENT = 64


class Lifetime(NamedTuple):
    """From the first step that writes a buffer to the last that reads it, in the order of the listing."""

    first: int
    last: int


class Place(NamedTuple):
    """Where in the arena a buffer lies, in bytes, and when."""

    offset: int
    size: int
    lifetime: Lifetime


class Plan(NamedTuple):
    """The arena."""

    size: int
    places: dict[Buffer, Place]


class _Clock:
    """Goes through the steps of a program and notes when buffers are in use."""

    def __init__(self, outside: set[Buffer]) -> None:
        self.outside = outside
        self.time = 0
        self.first: dict[Buffer, int] = {}
        self.last: dict[Buffer, int] = {}
        self.loops: list[tuple[int, int, set[Buffer]]] = []

    def note(self, buffers: Iterable[Buffer], time: int) -> None:
        for buffer in buffers:
            if buffer not in self.outside:
                self.first.setdefault(buffer, time)
                self.last[buffer] = max(self.last.get(buffer, 0), time)

    def visit(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.time += 1
            start = self.time
            for block in inner_blocks(step):
                self.visit(block)
            if isinstance(step, (Branch, While)):
                self.note((step.predicate,), start)
                self.note((step.predicate,), self.time)
            if isinstance(step, (Loop, While)):
                self.loops.append((start, self.time, {*reads(step), *writes(step)} - self.outside))
            elif not inner_blocks(step):
                self.note((*writes(step), *reads(step)), start)


def lifetimes(program: Program) -> dict[Buffer, Lifetime]:
    """Return when each intermediate buffer is in use.

    What a loop touches and what is also touched before or after it lives through the whole loop.
    """
    clock = _Clock({*program.inputs, *program.outputs, *(buffer for buffer, _ in program.constants)})
    clock.visit(program.steps)
    first, last = clock.first, clock.last
    for start, end, touched in clock.loops:  # inner loops come before those around them
        for buffer in touched:
            if first[buffer] < start or last[buffer] > end:
                first[buffer] = min(first[buffer], start)
                last[buffer] = max(last[buffer], end)
    return {buffer: Lifetime(first[buffer], last[buffer]) for buffer in first}


def plan(program: Program, layouts: Mapping[Buffer, Layout]) -> Plan:
    """Return the arena: largest buffers first, each in the lowest place that is free for as long as it lives.

    The greedy assignment by size of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference"
    (2020).
    """
    places: dict[Buffer, Place] = {}
    living = lifetimes(program)
    total = 0
    for buffer in sorted(living, key=lambda one: (-_bytes(one, layouts), living[one])):
        size, life = _bytes(buffer, layouts), living[buffer]
        offset = 0
        others = [
            place
            for place in places.values()
            if place.lifetime.first <= life.last and life.first <= place.lifetime.last
        ]
        for other in sorted(others):
            if other.offset - offset >= size:
                break
            offset = max(offset, other.offset + other.size)
        places[buffer] = Place(offset, size, life)
        total = max(total, offset + size)
    return Plan(total, places)


def _bytes(buffer: Buffer, layouts: Mapping[Buffer, Layout]) -> int:
    size = layouts[buffer].size * buffer.dtype.itemsize
    return -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
