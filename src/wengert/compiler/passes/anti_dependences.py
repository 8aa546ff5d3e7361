"""The order of steps in a loop: a buffer is read before a copy of it is written into.

A loop that writes an element of an array that it carries writes into a copy of it. The copy is the array itself where
nothing reads that any more (see `coalesce`), and a turn takes the time of an element, not of the array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.compiler.passes.interference import whole_copy
from wengert.nest.expression import Buffer
from wengert.nest.nest import Loop, Program, Step, While, map_blocks, reads, writes
from wengert.nest.rewrite import can_pass


def order_anti_dependences(program: Program) -> Program:
    """Return the program with steps of loops in such an order, where they may pass one another."""
    return replace(program, steps=tuple(map(_in_order, program.steps)))


def written_copies(steps: Sequence[Step]) -> dict[Buffer, list[int]]:
    """Return the buffers of which copies are written into, and the positions of the copies."""
    writers = Counter(buffer for step in steps for buffer in set(writes(step)))
    found: dict[Buffer, list[int]] = {}
    for position, step in enumerate(steps):
        pair = whole_copy(step)
        if pair is not None and writers[pair[1]] > 1:
            found.setdefault(pair[0], []).append(position)
    return found


def _in_order(step: Step) -> Step:
    if isinstance(step, (Loop, While)):
        return map_blocks(step, lambda inside: _sorted(tuple(map(_in_order, inside))))
    return map_blocks(step, lambda inside: tuple(map(_in_order, inside)))


def _sorted(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    copies = written_copies(steps)
    order = list(steps)
    for source, positions in copies.items():
        for copy in [steps[position] for position in positions]:
            place = order.index(copy)
            for later in range(place + 1, len(order)):
                if source in reads(order[later]) and can_pass(order[later], order[place:later]):
                    order.insert(place, order.pop(later))
                    place += 1
    return tuple(order) if copies else steps
