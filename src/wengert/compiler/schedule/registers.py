"""Scalars of loops: those that only short nests touch stay in registers from one turn to the next.

Code generation puts them on the stack and inlines the nests; LLVM's promotion of memory to registers does the rest. A
scalar in the arena would take a store and a load in each turn, one after the other, and a call around them.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Loop, Nest, Program, Step, While, inner_blocks, reads, writes


def _is_short(nest: Nest) -> bool:
    """Return whether the code of a nest is so short that each call of it may be a copy."""
    return operation_count(nest) <= costs.COSTS.inlined_nest_work


def loop_scalars(program: Program) -> tuple[Buffer, ...]:
    """Return the intermediate scalars that loops of one thread touch, and only short nests and conditions."""
    touched: dict[Buffer, None] = {}
    excluded = program.outside()

    def visit(steps: Sequence[Step], inside: bool) -> None:
        for step in steps:
            blocks = () if isinstance(step, Loop) and step.shared else inner_blocks(step)
            inside_it = inside or isinstance(step, (Loop, While))
            if not (blocks or (isinstance(step, Nest) and _is_short(step))):
                excluded.update(reads(step), writes(step))
            elif inside_it:
                touched.update(dict.fromkeys((*reads(step), *writes(step))))
            for block in blocks:
                visit(block, inside_it)

    visit(program.steps, inside=False)
    scalars = [buffer for buffer in touched if not buffer.shape and buffer not in excluded]
    return tuple(scalars[: costs.COSTS.loop_scalars])
