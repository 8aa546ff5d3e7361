"""A program as one LLVM module: a function for each nest and each shared loop, and the one that runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wengert.compiler.codegen.emission_state import Checks
from wengert.compiler.codegen.interface import ARENA, FIRST, HostCall, Interface, Located
from wengert.compiler.codegen.module_parts import Parts, Take
from wengert.compiler.codegen.program import Writing, main_function
from wengert.compiler.machine import costs
from wengert.compiler.machine.costs import operation_count
from wengert.compiler.machine.target import Target
from wengert.compiler.schedule.arena import Plan
from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.schedule_nests import ScheduledNest
from wengert.nest.expression import Buffer
from wengert.nest.nest import Host, Loop, Nest, Program, Step, inner_blocks


@dataclass(frozen=True)
class Module:
    """A program in LLVM's language, and what is needed to call it."""

    text: str
    """The program in LLVM's language, without the parts that were taken."""
    program: Program
    memory: Plan
    checks: Checks
    hosts: tuple[Host, ...]
    slots: Mapping[Buffer, int]
    parallel: bool
    """Whether several threads have something to do."""
    work: int
    """About how many operations it carries out."""

    def bytes(self, threads: int) -> int:
        """Return how large the arena is with so many threads."""
        return self.memory.bytes(threads if self.parallel else 1)

    @property
    def interface(self) -> Interface:
        """What a call needs to know."""
        program, slots = self.program, self.slots
        return Interface(
            arena=self.memory.size,
            private=self.memory.private,
            slots=FIRST + len(slots),
            inputs=tuple(slots[buffer] for buffer in program.inputs),
            outputs=tuple(slots[buffer] for buffer in program.outputs),
            constants=tuple((slots[buffer], value) for buffer, value in program.constants),
            places=tuple(self.checks.places),
            parallel=self.parallel,
            hosts=tuple(self._bound(step) for step in self.hosts),
        )

    def _bound(self, step: Host) -> HostCall:
        def located(buffer: Buffer, weak: bool = False) -> Located:
            place = self.memory.places.get(buffer)
            slot, offset = (ARENA, place.offset) if place else (self.slots[buffer], 0)
            return Located(slot, offset, buffer.dtype, buffer.shape, weak)

        operands = tuple(
            located(one, weak) if isinstance(one, Buffer) else one
            for one, weak in zip(step.operands, step.weak, strict=True)
        )
        outputs = tuple(map(located, step.outputs))
        return HostCall(step.primitive, step.params, operands, outputs, step.location, step.check_nan)


def build(
    program: Program,
    layouts: Mapping[Buffer, Layout],
    memory: Plan,
    schedules: Mapping[Nest, ScheduledNest],
    target: Target,
    flags: str = "",
    take: Take | None = None,
) -> Module:
    """Return the module of a scheduled program.

    Args:
        program: what to carry out.
        layouts: the layout of each buffer.
        memory: the arena.
        schedules: the schedule of each nest.
        target: the processor.
        flags: LLVM's flags on floating-point arithmetic.
        take: is given each part of the program that is complete, but for the last, as soon as it is.
    """
    users = [*program.inputs, *(b for b, _ in program.constants), *program.outputs]
    slots = {buffer: FIRST + n for n, buffer in enumerate(dict.fromkeys(users))}
    total = _total(program.steps)
    parts = Parts(target, take)
    is_long = total > costs.COSTS.parallel_program_work
    writing = Writing(layouts, memory, slots, schedules, parts, flags, is_long)
    main = main_function(program.steps, writing)
    return Module(
        parts.last(main),
        program,
        memory,
        writing.checks,
        tuple(writing.hosts),
        slots,
        writing.parallel,
        total,
    )


def _total(steps: Sequence[Step]) -> int:
    """Return about how many operations steps carry out; of a loop without a known end, one turn."""
    total = 0
    for step in steps:
        turns = step.counter.extent if isinstance(step, Loop) else 1
        inside = sum(_total(block) for block in inner_blocks(step))
        total += operation_count(step) if isinstance(step, Nest) else turns * inside
    return total
