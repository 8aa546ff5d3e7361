"""Steps in LLVM's language: calls of nests, control flow, and what is offered to the team of threads.

The main function runs on the caller's thread. The tiles of a large nest, and the turns of a shared loop, it offers to
the team (see `team_ir`): what their functions take goes through memory, in a frame. Inside a shared loop a thread is by
itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wengert.compiler.codegen.emission_state import Checks
from wengert.compiler.codegen.interface import ARENA, CALLBACK, STATUS
from wengert.compiler.codegen.module_parts import Parts
from wengert.compiler.codegen.nest import emit_nest
from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.machine import costs
from wengert.compiler.machine.costs import is_large, operation_count
from wengert.compiler.schedule.arena import Plan
from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.outline import NestArguments, nest_arguments, outline_key
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_nests import ScheduledNest
from wengert.nest.expression import Buffer
from wengert.nest.index import Dim
from wengert.nest.nest import Branch, Host, Loop, Nest, Step, While

_POLL = 1 << 27
"""Cycles between two looks at Ctrl-C: about 50 milliseconds."""


class Function(NamedTuple):
    """The function of a nest."""

    name: str
    tiles: int
    """What threads share: those of the outermost dimensions, one after another; one if they share nothing."""


@dataclass
class Writing:
    """A module while it is written: what is known, and what has come together."""

    layouts: Mapping[Buffer, Layout]
    memory: Plan
    slots: Mapping[Buffer, int]
    schedules: Mapping[Nest, ScheduledNest]
    parts: Parts
    fast: str
    long: bool
    """Whether the program takes long enough for other threads to come."""
    checks: Checks = field(default_factory=Checks)
    hosts: list[Host] = field(default_factory=list[Host])
    parallel: bool = False
    nests: dict[Nest, tuple[Function, NestArguments]] = field(
        default_factory=dict[Nest, "tuple[Function, NestArguments]"]
    )
    """The function of each nest, and what is passed to it."""
    alike: dict[Any, Function] = field(default_factory=dict[Any, "Function"])
    """The functions of nests, by what they have in common with others."""
    unpacked: set[str] = field(default_factory=set[str])
    """The names of those that the team calls."""


def main_function(steps: Sequence[Step], writing: Writing) -> str:
    """Return the function that runs a program; write the others that it needs."""
    writer = _Writer(writing, ())
    writer.begin(Value("%args", POINTER), constant(I64, 0))
    start = len(writer.builder.lines)
    writer.steps(steps)
    writer.builder.do("ret void")
    lines = writer.builder.lines
    if writing.parallel:
        writing.parts.current.declared.add("declare void @wengert_wake(ptr)")
        lines.insert(start, "  call void @wengert_wake(ptr %team)")
    if writer.frame:
        lines.insert(start, f"  %frame = alloca [{writer.frame} x i64], align 8")
    writing.parts.current.declared |= writer.builder.declared
    body = "\n".join(lines)
    return f"define void @main(ptr %args, ptr %team) nounwind {{\n{body}\n}}\n"


class _Writer:
    """Writes one function that carries out steps.

    Args:
        writing: the module.
        counters: those of the loops around.
        alone: whether this is the function of a shared loop.
    """

    def __init__(self, writing: Writing, counters: Sequence[Dim], *, alone: bool = False) -> None:
        self.writing = writing
        self.builder = Builder()
        self.alone = alone
        self.pointers: dict[Buffer, Value] = {}
        self.counters: dict[Dim, Value] = {dim: Value(f"%c{n}", I64) for n, dim in enumerate(counters)}
        self.frame = 0
        """Words that calls through the team take."""

    def begin(self, args: Value, index: Value) -> None:
        """Find out where everything is.

        Args:
            args: the block of addresses.
            index: the number of the thread.
        """
        b, writing = self.builder, self.writing
        self.args, self.index = args, index
        self.status = self._slot(STATUS)
        arena = self._slot(ARENA)
        own = arena
        if writing.memory.private:
            mine = b.binary("mul", index, constant(I64, writing.memory.private))
            own = b.element(arena, "i8", b.binary("add", mine, constant(I64, writing.memory.size)))
        for buffer, slot in writing.slots.items():
            self.pointers[buffer] = self._slot(slot)
        for buffer, place in writing.memory.places.items():
            base = own if place.private else arena
            self.pointers[buffer] = b.element(base, "i8", constant(I64, place.offset))

    def _slot(self, number: int) -> Value:
        pointer = self.builder.element(self.args, "ptr", constant(I64, number))
        return self.builder.load(pointer, POINTER, 8)

    # -- steps -------------------------------------------------------------------------------------------

    def steps(self, steps: Sequence[Step]) -> None:
        """Write steps one after another."""
        for step in steps:
            match step:
                case Nest():
                    self._nest(step)
                case Loop(shared=True):
                    self._shared_loop(step)
                case Loop():
                    self._loop(step)
                case Branch():
                    self._branch(step)
                case While():
                    self._while(step)
                case Host():
                    self._callback(len(self.writing.hosts))
                    self.writing.hosts.append(step)

    def _nest(self, nest: Nest) -> None:
        writing = self.writing
        if nest not in writing.nests:
            writing.nests[nest] = self._function_of(nest)
        (name, tiles), passed = writing.nests[nest]
        values = [*map(self._pointer, passed.buffers, passed.starts)]
        values += [self.counters[dim] for dim in passed.counters]
        if tiles > 1 and not self.alone:
            values = [self.status, *values]
            if name not in writing.unpacked:
                writing.unpacked.add(name)
                _write_unpacking(name, values, writing)
            self._share(_unpacking(name), values, constant(I64, tiles), _grains(nest))
        else:
            whole = constant(I64, 0), constant(I64, tiles)
            self.builder.call(name, self.status, *whole, *values, result=None)

    def _pointer(self, buffer: Buffer, start: int) -> Value:
        """Return the address of an element."""
        place = constant(I64, start * buffer.dtype.itemsize)
        return self.builder.element(self.pointers[buffer], "i8", place) if start else self.pointers[buffer]

    def _function_of(self, nest: Nest) -> tuple[Function, NestArguments]:
        """Return the function that carries out a nest; write it if there is none yet."""
        writing = self.writing
        plain, schedule = writing.schedules[nest]
        passed = nest_arguments(plain, schedule.width * schedule.vectors, writing.layouts, self.counters)
        common = outline_key(plain, schedule, writing.layouts, passed)
        function = None if common is None else writing.alike.get(common)
        if function is None:
            function = self._written(f"nest{len(writing.nests) + 1}", plain, schedule, passed)
        if common is not None:
            writing.alike[common] = function
        return function, passed

    def _written(self, name: str, nest: Nest, schedule: Schedule, passed: NestArguments) -> Function:
        writing = self.writing
        text, tiles = emit_nest(
            name,
            nest,
            schedule,
            writing.layouts,
            passed,
            writing.checks,
            writing.parts.current.functions,
            writing.parts.current.declared,
            writing.fast,
            shared=writing.long and is_large(nest),
        )
        writing.parts.add(name, text)
        return Function(name, tiles)

    def _share(self, name: str, passed: Sequence[Value], count: Value, most: int) -> None:
        """Offer tiles or turns to the team, in so many grains at most: what the function takes goes through memory."""
        b = self.builder
        self.frame = max(self.frame, len(passed))
        frame = Value("%frame", POINTER)
        for number, value in enumerate(passed):
            b.store(value, b.element(frame, "i64", constant(I64, number)), 8)
        if not self.writing.long:
            zero = constant(I64, 0)
            b.call(name, frame, zero, count, zero, result=None)
            return
        self.writing.parallel = True
        b.declared.add(f"declare void @{name}(ptr, i64, i64, i64)")
        b.declared.add("declare void @wengert_share(ptr, ptr, ptr, i64, i64)")
        b.do(f"call void @wengert_share(ptr %team, ptr @{name}, ptr %frame, {count}, i64 {most})")

    def _shared_loop(self, step: Loop) -> None:
        """Write the turns of a loop as a function of their own, of which each thread calls some.

        Turns that are left over when each thread has had as many as the others would keep one thread busy and the
        others waiting. All of them together carry these out, nest by nest.
        """
        name = f"turns{len(self.writing.nests)}"
        _write_turns(name, step, self.writing, tuple(self.counters))
        passed = [self.args, *self.counters.values()]
        extent = constant(I64, step.counter.extent)
        if not (self.writing.long and _is_divisible(step)):
            self._share(name, passed, extent, step.counter.extent)
            return
        even = self._even_part(step.counter.extent)
        self._share(name, passed, even, step.counter.extent)
        self._turns_from(even, extent, step)

    def _even_part(self, extent: int) -> Value:
        """Return how many turns to deal out: all, if what is left over keeps more than half of the threads busy."""
        b = self.builder
        b.declared.add("declare i64 @wengert_threads(ptr)")
        threads = b.emit("call i64 @wengert_threads(ptr %team)", I64)
        left = b.binary("urem", constant(I64, extent), threads)
        few = b.compare("sle", b.binary("mul", left, constant(I64, 2)), threads)
        return b.binary("sub", constant(I64, extent), b.select(few, left, constant(I64, 0)))

    def _turns_from(self, first: Value, last: Value, step: Loop) -> None:
        """Write turns of a shared loop, one after another."""
        with self.builder.loop(first, last) as count:
            self.counters[step.counter] = count
            self.steps(step.steps)
            del self.counters[step.counter]

    # -- control flow ------------------------------------------------------------------------------------

    def _loop(self, step: Loop) -> None:
        b = self.builder
        extent = step.counter.extent
        head, body, after = b.new_label("loop"), b.new_label("turn"), b.new_label("done")
        before = b.block
        b.branch(head)
        b.label(head)
        place = len(b.lines)
        count = Value(b.fresh(), I64)
        b.branch_if(b.compare("slt", count, constant(I64, extent)), body, after)
        b.label(body)
        self.counters[step.counter] = (
            b.binary("sub", constant(I64, extent - 1), count) if step.reverse else count
        )
        self.steps(step.steps)
        stop = self._turn()
        following = b.binary("add", count, constant(I64, 1))
        b.lines.insert(place, f"  {count.text} = phi i64 [ 0, %{before} ], [ {following.text}, %{b.block} ]")
        b.branch_if(stop, after, head)
        del self.counters[step.counter]
        b.label(after)

    def turns(self, step: Loop) -> None:
        """Write the turns of a shared loop from the first to the last that this thread was given."""
        self._turns_from(Value("%first", I64), Value("%last", I64), step)
        self.builder.do("ret void")

    def _turn(self) -> Value:
        """End a turn of a loop: look at Ctrl-C now and then, and tell whether to stop."""
        b = self.builder
        stop = b.element(self.status, "i64", constant(I64, 1))
        deadline = b.element(self.status, "i64", constant(I64, 2))
        now = b.emit("call i64 @llvm.readcyclecounter()", I64)
        b.declared.add("declare i64 @llvm.readcyclecounter()")
        due = b.compare("sgt", b.binary("sub", now, b.load(deadline, I64, 8)), constant(I64, _POLL))
        if self.alone:  # only the caller's thread may call back
            due = b.both(due, b.compare("eq", self.index, constant(I64, 0)))
        with b.only_if(due):
            b.store(now, deadline, 8)
            self._callback(-1)
        either = b.binary("or", b.load(stop, I64, 8), b.load(self.status, I64, 8))
        return b.compare("ne", either, constant(I64, 0))

    def _callback(self, number: int) -> None:
        function = self._slot(CALLBACK)
        self.builder.do(f"call void {function.text}(i64 {number}, {self.args})")

    def _branch(self, step: Branch) -> None:
        b = self.builder
        yes, no, after = b.new_label("yes"), b.new_label("no"), b.new_label("either")
        b.branch_if(self._truth(step.predicate), yes, no)
        for label, steps in ((yes, step.yes), (no, step.no)):
            b.label(label)
            self.steps(steps)
            b.branch(after)
        b.label(after)

    def _truth(self, predicate: Buffer) -> Value:
        byte = self.builder.load(self.pointers[predicate], Kind("i8"), 1)
        return self.builder.compare("ne", byte, constant(byte.kind, 0))

    def _while(self, step: While) -> None:
        b = self.builder
        head, body, after = b.new_label("while"), b.new_label("turn"), b.new_label("done")
        b.branch(head)
        b.label(head)
        self.steps(step.condition)
        b.branch_if(self._truth(step.predicate), body, after)
        b.label(body)
        self.steps(step.steps)
        stop = self._turn()
        b.branch_if(stop, after, head)
        b.label(after)


def _grains(nest: Nest) -> int:
    """Return how many grains a nest is worth: a power of two, that most numbers of threads have equal parts of."""
    return 1 << max(1, (operation_count(nest) // costs.COSTS.grain_work).bit_length() - 1)


def _is_divisible(step: Loop) -> bool:
    """Tell whether several threads together are soon through one turn of a loop."""
    nests = [inner for inner in step.steps if isinstance(inner, Nest)]
    total, large = sum(map(operation_count, nests)), sum(map(operation_count, filter(is_large, nests)))
    return len(nests) == len(step.steps) and large > costs.COSTS.parallel_turn_share * total


def _write_turns(name: str, step: Loop, writing: Writing, around: Sequence[Dim]) -> None:
    """Write the function by which a thread of the team carries out some of the turns of a shared loop."""
    writer = _Writer(writing, around, alone=True)
    b = writer.builder
    words = [(Value("%args", POINTER), POINTER), *((value, I64) for value in writer.counters.values())]
    for number, (value, kind) in enumerate(words):
        place = b.element(Value("%frame", POINTER), "i64", constant(I64, number))
        b.do(f"{value.text} = load {kind}, ptr {place.text}, align 8")
    writer.begin(words[0][0], Value("%index", I64))
    writer.turns(step)
    _write_for_the_team(name, b, writing)


def _unpacking(nest: str) -> str:
    """Return the name of the function by which the team calls that of a nest."""
    return f"{nest}.tiles"


def _write_unpacking(nest: str, passed: Sequence[Value], writing: Writing) -> None:
    """Write the function by which a thread of the team computes some of the tiles of a nest."""
    b = Builder()
    values: list[Value] = []
    for number, value in enumerate(passed):
        place = b.element(Value("%frame", POINTER), "i64", constant(I64, number))
        values.append(b.load(place, value.kind, 8))
    b.call(nest, values[0], Value("%first", I64), Value("%last", I64), *values[1:], result=None)
    b.do("ret void")
    _write_for_the_team(_unpacking(nest), b, writing)


def _write_for_the_team(name: str, builder: Builder, writing: Writing) -> None:
    writing.parts.current.declared |= builder.declared
    body = "\n".join(builder.lines)
    parameters = "ptr %frame, i64 %first, i64 %last, i64 %index"
    writing.parts.add(name, f"define internal void @{name}({parameters}) nounwind {{\n{body}\n}}\n")
