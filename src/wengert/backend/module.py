"""A program as one LLVM module: a function for each nest, and the one that runs them and offers their tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wengert.backend import elementary
from wengert.backend.builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.backend.emit import emit_nest
from wengert.backend.execute import ARENA, CALLBACK, FIRST, STATUS, HostCall, Interface, Located
from wengert.backend.layout import Layout, choose_layouts, work
from wengert.backend.memory import Plan, plan
from wengert.backend.pack import pack
from wengert.backend.schedule import Schedule, choose
from wengert.backend.state import Checks
from wengert.backend.target import Target
from wengert.nest.expression import Buffer
from wengert.nest.index import Dim
from wengert.nest.nest import Branch, Host, Loop, Nest, Program, Step, While, inner_blocks

_SMALL = 50_000
"""Operations in a nest that one thread does sooner than several."""
SHORT = 1_000_000
"""Operations of a program that is over before other threads are there: some tens of microseconds."""
_POLL = 1 << 27
"""Cycles between two looks at Ctrl-C: about 50 milliseconds."""


@dataclass(frozen=True)
class Module:
    """A program in LLVM's language, and what is needed to call it."""

    text: str
    program: Program
    layouts: Mapping[Buffer, Layout]
    memory: Plan
    schedules: Mapping[Nest, Schedule]
    checks: Checks
    hosts: tuple[Host, ...]
    slots: Mapping[Buffer, int]
    parallel: bool
    """Whether several threads have something to do."""
    work: int
    """About how many operations it carries out."""

    @property
    def interface(self) -> Interface:
        """What a call needs to know."""
        program, slots = self.program, self.slots
        return Interface(
            arena=self.memory.size,
            slots=FIRST + len(slots),
            inputs=tuple(slots[buffer] for buffer in program.inputs),
            outputs=tuple(slots[buffer] for buffer in program.outputs),
            constants=tuple((slots[buffer], value) for buffer, value in program.constants),
            places=tuple(self.checks.places),
            parallel=self.parallel,
            hosts=tuple(self._bound(step) for step in self.hosts),
        )

    def _bound(self, step: Host) -> HostCall:
        def located(buffer: Buffer) -> Located:
            place = self.memory.places.get(buffer)
            slot, offset = (ARENA, place.offset) if place else (self.slots[buffer], 0)
            return Located(slot, offset, buffer.dtype, buffer.shape)

        operands = tuple(located(one) if isinstance(one, Buffer) else one for one in step.operands)
        return HostCall(
            step.primitive, step.params, operands, tuple(map(located, step.outputs)), step.location
        )


def build(program: Program, target: Target, flags: str = "contract", *, check_nan: bool = False) -> Module:
    """Return the module of a program.

    Args:
        program: what to carry out.
        target: the processor.
        flags: LLVM's flags on floating-point arithmetic.
        check_nan: stop at the first operation that makes a NaN.
    """
    layouts = choose_layouts(program, target)
    program = pack(program, layouts, target)
    writer = _Module(program, layouts, plan(program, layouts), target, flags)
    writer.checks.nan = check_nan
    return writer.run()


class _Module:
    def __init__(
        self, program: Program, layouts: Mapping[Buffer, Layout], memory: Plan, target: Target, fast: str
    ) -> None:
        self.program = program
        self.layouts = layouts
        self.memory = memory
        self.target = target
        self.fast = fast
        self.checks = Checks()
        self.functions: set[tuple[str, Kind]] = set()
        self.declared: set[str] = set()
        self.texts: list[str] = []
        self.schedules: dict[Nest, Schedule] = {}
        self.hosts: list[Host] = []
        users = [*program.inputs, *(b for b, _ in program.constants), *program.outputs]
        self.slots = {buffer: FIRST + n for n, buffer in enumerate(dict.fromkeys(users))}
        self.builder = Builder()
        self.pointers: dict[Buffer, Value] = {}
        self.counters: dict[Dim, Value] = {}
        self.parallel = False
        self.frame = 1
        self.names: dict[str, str] = {}
        """The functions written, by what they do."""
        self.work = _total(program.steps)

    def run(self) -> Module:
        b = self.builder
        self.status = self._slot(STATUS)
        arena = self._slot(ARENA)
        for buffer, slot in self.slots.items():
            self.pointers[buffer] = self._slot(slot)
        for buffer, place in self.memory.places.items():
            self.pointers[buffer] = b.element(arena, "i8", constant(I64, place.offset))
        start = len(b.lines)
        self._steps(self.program.steps)
        b.do("ret void")
        if self.parallel:
            self.declared.add("declare void @wengert_wake(ptr)")
            frame = f"  %frame = alloca [{self.frame} x i64], align 8"
            b.lines[start:start] = [frame, "  call void @wengert_wake(ptr %team)"]
        text, declared = elementary.definitions(sorted(self.functions))
        declared |= self.declared | b.declared
        body = "\n".join(b.lines)
        main = f"define void @main(ptr %args, ptr %team) nounwind {{\n{body}\n}}\n"
        return Module(
            "\n".join([*sorted(declared), text, *self.texts, main]),
            self.program,
            self.layouts,
            self.memory,
            self.schedules,
            self.checks,
            tuple(self.hosts),
            self.slots,
            self.parallel,
            self.work,
        )

    def _slot(self, number: int) -> Value:
        pointer = self.builder.element(Value("%args", POINTER), "ptr", constant(I64, number))
        return self.builder.load(pointer, POINTER, 8)

    # -- steps -------------------------------------------------------------------------------------------

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Nest():
                    self._nest(step)
                case Loop():
                    self._loop(step)
                case Branch():
                    self._branch(step)
                case While():
                    self._while(step)
                case Host():
                    self._host(step)

    def _nest(self, nest: Nest) -> None:
        schedule = self.schedules[nest] = choose(nest, self.layouts, self.target)
        name = f"nest{len(self.schedules)}"
        emitted = emit_nest(
            name,
            nest,
            schedule,
            self.layouts,
            tuple(self.counters),
            self.checks,
            self.functions,
            self.declared,
            self.fast,
        )
        name = self._written(name, emitted.text)
        given = [self.status, constant(I64, 0), constant(I64, emitted.tiles)]
        given += [self.pointers[buffer] for buffer in emitted.buffers]
        given += [self.counters[dim] for dim in emitted.counters]
        if emitted.parallel and work(nest) > _SMALL and self.work > SHORT:
            self._share(name, given, emitted.tiles)
        else:
            self.builder.do(f"call void @{name}({', '.join(map(str, given))})")

    def _written(self, name: str, text: str) -> str:
        """Write a function, or return the name of one that does the same on other buffers."""
        body = text.replace(f"@{name}(", "@(", 1)
        known = self.names.setdefault(body, name)
        if known == name:
            self.texts.append(text)
        return known

    def _share(self, name: str, given: Sequence[Value], tiles: int) -> None:
        """Offer the tiles of a nest to the team: what its function takes goes through memory."""
        b = self.builder
        self.parallel = True
        passed = [given[0], *given[3:]]
        self.frame = max(self.frame, len(passed))
        frame = Value("%frame", POINTER)
        for number, value in enumerate(passed):
            b.store(value, b.element(frame, "i64", constant(I64, number)), 8)
        tiles_of = _unpacking(name, passed)
        if tiles_of not in self.texts:
            self.texts.append(tiles_of)
        self.declared.add("declare void @wengert_share(ptr, ptr, ptr, i64)")
        b.do(f"call void @wengert_share(ptr %team, ptr @{name}.tiles, ptr %frame, i64 {tiles})")

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
        self._steps(step.steps)
        stop = self._turn()
        following = b.binary("add", count, constant(I64, 1))
        b.lines.insert(place, f"  {count.text} = phi i64 [ 0, %{before} ], [ {following.text}, %{b.block} ]")
        b.branch_if(stop, after, head)
        del self.counters[step.counter]
        b.label(after)

    def _turn(self) -> Value:
        """End a turn of a loop: look at Ctrl-C now and then, and tell whether to stop."""
        b = self.builder
        stop = b.element(self.status, "i64", constant(I64, 1))
        deadline = b.element(self.status, "i64", constant(I64, 2))
        now = b.emit("call i64 @llvm.readcyclecounter()", I64)
        b.declared.add("declare i64 @llvm.readcyclecounter()")
        due = b.compare("sgt", b.binary("sub", now, b.load(deadline, I64, 8)), constant(I64, _POLL))
        with _OnlyIf(b, due):
            b.store(now, deadline, 8)
            self._callback(-1)
        either = b.binary("or", b.load(stop, I64, 8), b.load(self.status, I64, 8))
        return b.compare("ne", either, constant(I64, 0))

    def _callback(self, number: int) -> None:
        b = self.builder
        function = self._slot(CALLBACK)
        b.do(f"call void {function.text}(i64 {number}, ptr %args)")

    def _branch(self, step: Branch) -> None:
        b = self.builder
        yes, no, after = b.new_label("yes"), b.new_label("no"), b.new_label("either")
        b.branch_if(self._truth(step.predicate), yes, no)
        for label, steps in ((yes, step.yes), (no, step.no)):
            b.label(label)
            self._steps(steps)
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
        self._steps(step.condition)
        b.branch_if(self._truth(step.predicate), body, after)
        b.label(body)
        self._steps(step.steps)
        stop = self._turn()
        b.branch_if(stop, after, head)
        b.label(after)

    def _host(self, step: Host) -> None:
        self._callback(len(self.hosts))
        self.hosts.append(step)


def _total(steps: Sequence[Step]) -> int:
    """Return about how many operations steps carry out; of a loop without a known end, one turn."""
    total = 0
    for step in steps:
        turns = step.counter.extent if isinstance(step, Loop) else 1
        inside = sum(_total(block) for block in inner_blocks(step))
        total += work(step) if isinstance(step, Nest) else turns * inside
    return total


def _unpacking(name: str, passed: Sequence[Value]) -> str:
    """Return the function by which a thread of the team computes some of the tiles of a nest."""
    b = Builder()
    values: list[Value] = []
    for number, value in enumerate(passed):
        place = b.element(Value("%frame", POINTER), "i64", constant(I64, number))
        values.append(b.load(place, value.kind, 8))
    first, last = Value("%first", I64), Value("%last", I64)
    b.do(f"call void @{name}({', '.join(map(str, (values[0], first, last, *values[1:])))})")
    b.do("ret void")
    body = "\n".join(b.lines)
    return f"define internal void @{name}.tiles(ptr %frame, i64 %first, i64 %last) nounwind {{\n{body}\n}}\n"


class _OnlyIf:
    """What is written inside happens only on a condition."""

    def __init__(self, builder: Builder, condition: Value) -> None:
        self.builder = builder
        self.condition = condition

    def __enter__(self) -> None:
        b = self.builder
        yes, self.after = b.new_label("then"), b.new_label("after")
        b.branch_if(self.condition, yes, self.after)
        b.label(yes)

    def __exit__(self, *problem: object) -> None:
        self.builder.branch(self.after)
        self.builder.label(self.after)
