"""The order of steps: a buffer is read before a copy of it is written into.

A program that writes an element of an array writes into a copy of it. The copy is the array itself where nothing reads
that any more (see `coalesce`), and the write takes the time of an element, not of the array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.compiler.passes.interference import whole_copy
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Program, Step, map_blocks, reads, writes
from wengert.engine.nest.rewrite import can_pass


def order_anti_dependences(program: Program) -> Program:
    """Return the program with its steps in such an order, where they may pass one another."""
    steps = _in_order(program.steps)
    return program if steps == program.steps else replace(program, steps=steps)


def written_copies(steps: Sequence[Step]) -> dict[Buffer, list[int]]:
    """Return the buffers of which copies are written into, and the positions of the copies."""
    writers = Counter(buffer for step in steps for buffer in set(writes(step)))
    copies: dict[Buffer, list[int]] = {}
    for position, step in enumerate(steps):
        pair = whole_copy(step)
        if pair is not None and writers[pair[1]] > 1:
            copies.setdefault(pair[0], []).append(position)
    return copies


def _in_order(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    steps = tuple(map_blocks(step, _in_order) for step in steps)
    copies = written_copies(steps)
    if not copies:
        return steps
    order = list(steps)
    readers: dict[Buffer, list[Step]] = {}
    for step in steps:
        for buffer in copies.keys() & set(reads(step)):
            readers.setdefault(buffer, []).append(step)
    for source, positions in copies.items():
        for copy in [steps[position] for position in positions]:
            place = order.index(copy)
            for reader in readers[source]:
                later = order.index(reader)
                if later > place and can_pass(reader, order[place:later]):
                    order.insert(place, order.pop(later))
                    place += 1
    return tuple(order)
