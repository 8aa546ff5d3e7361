"""Memory: every intermediate buffer gets a place in one arena, which is reused once the buffer is dead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.registers import loop_scalars
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Program,
    Step,
    While,
    all_steps,
    inner_blocks,
    reads,
    writes,
)

_ALIGNMENT = 64
"""Bytes of a cache line and of the widest vector: no two buffers share one, and loads of vectors cross none."""


class Lifetime(NamedTuple):
    """From the first step that writes a buffer to the last that reads it, in the order of the listing."""

    first: int
    last: int


class Place(NamedTuple):
    """The range of a buffer in the arena, in bytes, and its lifetime."""

    offset: int
    size: int
    lifetime: Lifetime
    private: bool = False
    """Whether it is a place in the part that every thread has for itself."""


class Plan(NamedTuple):
    """The arena."""

    size: int
    """Bytes that all threads share."""
    places: dict[Buffer, Place]
    private: int = 0
    """Bytes of each thread's private part."""
    scalars: tuple[Buffer, ...] = ()
    """Scalars of loops that lie on the stack of the calling thread, in registers if possible, and not in the arena."""

    def bytes(self, threads: int) -> int:
        """Return the size of the arena for a number of threads."""
        return self.size + self.private * threads


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
                self.note(step.controls, start)
                self.note(step.controls, self.time)
            if isinstance(step, (Loop, While)):
                self.loops.append((start, self.time, {*reads(step), *writes(step)} - self.outside))
            elif not inner_blocks(step):
                self.note((*writes(step), *reads(step)), start)


def lifetimes(program: Program) -> dict[Buffer, Lifetime]:
    """Return when each intermediate buffer is in use.

    A buffer that a loop and a step before or after it touch lives through the whole loop.
    """
    clock = _Clock(program.outside())
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
    scalars = loop_scalars(program)
    living = {buffer: life for buffer, life in lifetimes(program).items() if buffer not in scalars}
    inside = set[Buffer]()
    for step in all_steps(program.steps):
        if isinstance(step, Loop) and step.shared:
            inside |= private_buffers(step, program, living)
    places, size = _assigned({b: life for b, life in living.items() if b not in inside}, layouts)
    own, private = _assigned({b: life for b, life in living.items() if b in inside}, layouts)
    places.update((buffer, place._replace(private=True)) for buffer, place in own.items())
    return Plan(size, places, private, scalars)


def private_buffers(loop: Loop, program: Program, living: Mapping[Buffer, Lifetime]) -> set[Buffer]:
    """Return the buffers that are in use inside a loop only."""
    outside = {
        buffer
        for step in _others(program.steps, loop)
        for buffer in (step.controls if isinstance(step, (Branch, While)) else (*reads(step), *writes(step)))
    }
    return {buffer for buffer in (*reads(loop), *writes(loop)) if buffer in living and buffer not in outside}


def _others(steps: Sequence[Step], loop: Loop) -> Iterator[Step]:
    """Yield the leaf steps outside of the loop, and the steps that branch."""
    for step in steps:
        if step is not loop:
            blocks = inner_blocks(step)
            if not blocks or isinstance(step, (Branch, While)):
                yield step
            for block in blocks:
                yield from _others(block, loop)


def _assigned(
    living: Mapping[Buffer, Lifetime], layouts: Mapping[Buffer, Layout]
) -> tuple[dict[Buffer, Place], int]:
    places: dict[Buffer, Place] = {}
    first, last, begin, end = np.zeros((4, len(living)), np.int64)
    for count, buffer in enumerate(
        sorted(living, key=lambda buffer: (-_bytes(buffer, layouts), living[buffer]))
    ):
        size, life = _bytes(buffer, layouts), living[buffer]
        others = np.flatnonzero((first[:count] <= life.last) & (life.first <= last[:count]))
        others = others[np.argsort(begin[others], kind="stable")]
        # Places that are free: from here on, up to where the next one begins.
        free = np.append(0, np.maximum.accumulate(end[others]))
        fits = begin[others] - free[:-1] >= size
        offset = int(free[np.argmax(fits) if np.any(fits) else -1])
        places[buffer] = Place(offset, size, life)
        first[count], last[count], begin[count], end[count] = *life, offset, offset + size
    return places, int(np.max(end, initial=0))


def _bytes(buffer: Buffer, layouts: Mapping[Buffer, Layout]) -> int:
    size = layouts[buffer].size * buffer.dtype.itemsize
    return -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
