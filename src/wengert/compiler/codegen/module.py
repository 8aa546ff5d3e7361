"""A program as LLVM modules: a function for each nest and each shared loop, and the main function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from wengert.compiler.codegen.interface import ARENA, FIRST, HostCall, Interface, Located
from wengert.compiler.codegen.module_builder import ModuleBuilder, Take
from wengert.compiler.codegen.program import main_function
from wengert.compiler.codegen.subnormals import can_flush
from wengert.compiler.schedule.arena import Plan
from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.schedule_nests import ScheduledNest
from wengert.engine.core.records import record
from wengert.engine.machine import costs
from wengert.engine.machine.costs import total_work
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Host, Nest, Program


@record(eq=True, slots=False)
class Module:
    """A program as LLVM IR, and the facts for its calls."""

    text: str
    """The last module: all functions that were not taken as parts."""
    program: Program
    memory: Plan
    interface: Interface
    work: int
    """About how many operations the program carries out."""

    @property
    def parallel(self) -> bool:
        """Whether threads share a nest or a loop."""
        return self.interface.parallel

    def bytes(self, threads: int) -> int:
        """Return the size of the arena for a number of threads."""
        return self.memory.bytes(threads if self.parallel else 1)


def build(
    program: Program,
    layouts: Mapping[Buffer, Layout],
    memory: Plan,
    schedules: Mapping[Nest, ScheduledNest],
    target: Target,
    flags: str = "",
    take: Take | None = None,
    *,
    flush_subnormals: bool = False,
    hosted: bool = True,
) -> Module:
    """Return the module of a scheduled program.

    ``flags`` are LLVM's on floating-point arithmetic. ``take`` gets each part of the program but the last, as soon as
    it is complete. A program that is not ``hosted`` is called from another language.
    """
    constants = [buffer for buffer, _ in program.constants]
    buffers = dict.fromkeys([*program.inputs, *constants, *program.outputs])
    slots = {buffer: FIRST + n for n, buffer in enumerate(buffers)}
    total = int(total_work(program.steps))
    is_long = hosted and total > costs.COSTS.parallel_program_work
    flush = flush_subnormals and can_flush(target)
    builder = ModuleBuilder(layouts, memory, slots, schedules, target, flags, is_long, flush, hosted, take)
    main = main_function(program.steps, builder, {*program.outputs} - {*program.inputs})
    text = builder.last_part().module(target, main)
    return Module(text, program, memory, _interface(program, builder), total)


def _interface(program: Program, builder: ModuleBuilder) -> Interface:
    slots, memory = builder.slots, builder.memory

    def located(buffer: Buffer, weak: bool = False) -> Located:
        place = memory.places.get(buffer)
        slot, offset = (ARENA, place.offset) if place else (slots[buffer], 0)
        return Located(slot, offset, buffer.dtype, buffer.shape, weak)

    def host_call(step: Host) -> HostCall:
        operands = tuple(
            located(operand, weak) if isinstance(operand, Buffer) else operand
            for operand, weak in zip(step.operands, step.weak, strict=True)
        )
        outputs = tuple(map(located, step.outputs))
        serial = 0 < _matrix_work(step.operands) < costs.COSTS.serial_blas_work
        return HostCall(step.primitive, step.params, operands, outputs, step.location, step.check, serial)

    return Interface(
        arena=memory.size,
        private=memory.private,
        slots=FIRST + len(slots),
        inputs=tuple(slots[buffer] for buffer in program.inputs),
        outputs=tuple(slots[buffer] for buffer in program.outputs),
        constants=tuple((slots[buffer], value) for buffer, value in program.constants),
        places=tuple(builder.checks),
        parallel=builder.parallel,
        hosts=tuple(map(host_call, builder.hosts)),
        routines=tuple(sorted(builder.routines)),
    )


def _matrix_work(operands: Iterable[Any]) -> int:
    """Return about how many operations the factorisation of the largest matrix takes; 0 without matrices."""
    shapes = (operand.shape[-2:] for operand in operands if isinstance(operand, Buffer))
    return max((max(shape) * math.prod(shape) for shape in shapes if len(shape) == 2), default=0)
