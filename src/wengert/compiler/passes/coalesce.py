"""Copy coalescing: a value is computed in the buffer where it ends.

A carried value starts as a copy of an argument and ends as a copy into a result. Two buffers that never hold different
live values become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.compiler.passes.interference import Interference, whole_copy
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import (
    Loop,
    Nest,
    Program,
    Step,
    While,
    all_nests,
    all_steps,
    inner_blocks,
    map_blocks,
    reads,
    writes,
)
from wengert.engine.nest.rewrite import renamed

_LINE = 64
"""Bytes of a line of the cache."""


def coalesce(program: Program) -> Program:
    """Return the program without unnecessary copies between whole buffers."""
    copies = [pair for step in all_steps(program.steps) if (pair := whole_copy(step)) is not None]
    if not copies:
        return program
    names = _Names(program)
    more = True
    while more:  # united buffers may allow others to unite
        more = sum(names.unite(source, target) for source, target in copies) > 0
    return replace(program, steps=renamed(_without_copies(program.steps, names.of), names.of))


def coalesce_loops(program: Program) -> Program:
    """Return the program without unnecessary copies, if copies are most of its work: blocks of examples keep them."""
    copied = _copied(program.steps)
    return coalesce(program) if copied and 2 * copied > costs.total_work(program.steps) else program


def _copied(steps: Sequence[Step]) -> int:
    """Return the work of copies of whole buffers."""
    total = 0
    for step in steps:
        if isinstance(step, Nest):
            total += costs.operation_count(step) if whole_copy(step) else 0
        else:
            turns = step.counter.extent if isinstance(step, Loop) else 1
            total += turns * sum(map(_copied, inner_blocks(step)))
    return total


class _Names:
    """Buffers that have become one."""

    def __init__(self, program: Program) -> None:
        self.outside = program.outside()
        self.outputs = set(program.outputs)
        self.resident = _resident(program.steps)
        self.interference = Interference(program)
        self.of: dict[Buffer, Buffer] = {}
        """The buffer that a buffer has become."""
        self.members: dict[Buffer, set[Buffer]] = {}

    def _group(self, buffer: Buffer) -> set[Buffer]:
        """Return the buffers that are one with another."""
        return self.members.get(self.of.get(buffer, buffer), {buffer})

    def unite(self, source: Buffer, target: Buffer) -> bool:
        """Unite two buffers if they do not interfere; return whether they were united."""
        old, new = self.of.get(source, source), self.of.get(target, target)
        if old in self.outside:
            old, new = new, old
        if old is new or old in self.outside or (new in self.outside and new not in self.outputs):
            return False
        first, second = self._group(source), self._group(target)
        if new in self.outside and not self.resident.isdisjoint(first | second):
            return False
        apart = self.outside.isdisjoint(first) and self.interference.follows(first, second)
        if not apart and self.interference.between(first, second):
            return False
        self.members[new] = first | second
        self.of.update(dict.fromkeys(self.members[new] - {new}, new))
        return True


def _resident(steps: Sequence[Step]) -> set[Buffer]:
    """Return the buffers that the turns of loops use, and that lie better in memory of the program's own.

    These are scalars, which may stay in registers, and in a long loop arrays whose rows begin within cache lines.
    """
    resident: set[Buffer] = set()
    for step in all_steps(steps):
        if not isinstance(step, (Loop, While)):
            continue
        is_long = isinstance(step, Loop) and step.counter.extent >= costs.COSTS.resident_loop_turns
        resident.update(buffer for buffer in (*reads(step), *writes(step)) if not buffer.shape)
        for nest in all_nests([step]) if is_long else ():
            used = (*nest.reads(), *nest.writes()) if nest.dims else ()
            resident.update(filter(_lies_badly, used))
    return resident


def _lies_badly(buffer: Buffer) -> bool:
    """Return whether the rows of an ordinary array do not begin where cache lines do."""
    row = buffer.shape[-1] * buffer.dtype.itemsize if len(buffer.shape) > 1 else 0
    return row > costs.COSTS.misaligned_row_lines * _LINE and row % _LINE != 0


def _without_copies(steps: Sequence[Step], names: Mapping[Buffer, Buffer]) -> tuple[Step, ...]:
    """Return the steps without copies of a buffer to itself."""
    retained = (
        step
        for step in steps
        if (pair := whole_copy(step)) is None or len({names.get(buffer, buffer) for buffer in pair}) == 2
    )
    return tuple(map_blocks(step, lambda block: _without_copies(block, names)) for step in retained)
