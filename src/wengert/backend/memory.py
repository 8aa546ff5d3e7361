"""Memory: every intermediate buffer gets a place in one arena, which others get again as soon as it is dead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def lifetimes(program: Program) -> dict[Buffer, Lifetime]:
    """Return when each intermediate buffer is in use.

    What a loop reads and does not make itself stays to the end of the loop.
    """
    outside = {*program.inputs, *program.outputs, *(buffer for buffer, _ in program.constants)}
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    clock = 0

    def visit(steps: Sequence[Step]) -> None:
        nonlocal clock
        for step in steps:
            clock += 1
            start = clock
            blocks = inner_blocks(step)
            if blocks:
                before = set(first)
                predicate = step.predicate if isinstance(step, (Branch, While)) else None
                if predicate is not None:
                    note(predicate, start)
                for block in blocks:
                    visit(block)
                if isinstance(step, (Loop, While)):
                    touched = {*reads(step), *writes(step)}
                    for buffer in touched & before:
                        last[buffer] = max(last.get(buffer, 0), clock)
                if predicate is not None:
                    note(predicate, clock)
            else:
                for buffer in (*writes(step), *reads(step)):
                    note(buffer, start)

    def note(buffer: Buffer, time: int) -> None:
        if buffer not in outside:
            first.setdefault(buffer, time)
            last[buffer] = max(last.get(buffer, 0), time)

    visit(program.steps)
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
