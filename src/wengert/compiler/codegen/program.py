"""Programs as native functions: calls of nests, control flow, and loops offered to the team of threads.

The main function runs on the calling thread. It offers the tiles of a large nest, and the turns of a shared loop, to
the team (see `team_ir`); their functions get their arguments through memory, in a frame. Inside a shared loop, a thread
works alone. Each of these functions flushes subnormal numbers for itself; Python and the team run with the flags of the
caller.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from wengert.compiler.codegen.access import Body
from wengert.compiler.codegen.alias_scopes import AliasScopes
from wengert.compiler.codegen.interface import ARENA, CALLBACK, POLL, STATUS
from wengert.compiler.codegen.module_builder import ModuleBuilder, NestFunction
from wengert.compiler.codegen.nest import emit_nest, write_nest
from wengert.compiler.codegen.routine import emit_call
from wengert.compiler.codegen.subnormals import Flush
from wengert.compiler.codegen.turns import may_take_long, turns_of_a_grain
from wengert.compiler.llvm.ir_builder import CONTROL_FLOW, I1, I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.schedule.outline import NestArguments, nest_arguments, outline_key
from wengert.engine.machine import costs
from wengert.engine.machine.costs import is_large, operation_count
from wengert.engine.nest.expression import Buffer, Expression, is_check
from wengert.engine.nest.index import Dim, dims_of
from wengert.engine.nest.nest import Branch, Call, Host, Loop, Nest, Sort, Step, While, all_steps, writes

_FRAME = Value("%frame", POINTER)
_SCALAR = 64
"""Bytes of the widest vector: a scalar lies at the beginning of so many."""
_WORD = 4
"""The alignment of an address on every processor."""
_TEAM_PARAMETERS = "ptr %frame, i64 %first, i64 %last, i64 %index"


def main_function(steps: Sequence[Step], module: ModuleBuilder, new: Collection[Buffer]) -> str:
    """Return the function that runs a program, and emit the others; the results ``new`` are in new memory."""
    emitter = _StepEmitter(module, ())
    emitter.scopes = AliasScopes(module.memory, new) if module.hosted else None
    emitter.begin(Value("%args", POINTER), constant(I64, 0))
    builder = emitter.builder
    start = len(builder.lines)
    if module.hosted:
        emitter.clear(dict.fromkeys(buffer for buffer in _in_rows(steps) if buffer in new))
    emitter.steps(steps)
    emitter.end()
    if module.parallel:
        builder.declared.add("declare void @wengert_wake(ptr)")
        builder.lines.insert(start, "  call void @wengert_wake(ptr %team)")
    if emitter.frame:
        builder.lines.insert(start, f"  %frame = alloca [{emitter.frame} x i64], align 8")
    module.part.declared |= builder.declared
    module.part.functions |= emitter.functions
    text = builder.function(f"define void @main(ptr %args, ptr %team) nounwind{emitter.attributes()}")
    return text + emitter.scopes.definitions() if emitter.scopes else text


class _StepEmitter:
    """Emits one function that runs steps, inside loops with some counters; ``alone``, the function of a shared loop."""

    def __init__(self, module: ModuleBuilder, counters: Sequence[Dim], *, alone: bool = False) -> None:
        self.module = module
        self.builder = Builder(module.fast)
        self.functions: set[tuple[str, Kind]] = set()
        """The elementary functions that it calls."""
        self.alone = alone
        self.pointers: dict[Buffer, Value] = {}
        self.counters: dict[Dim, Value] = {dim: Value(f"%c{n}", I64) for n, dim in enumerate(counters)}
        self.frame = 0
        """Words of the largest frame."""
        self.has_control_flow = False
        """Whether there are loops or branches in it."""
        self.around: list[Loop | While] = []
        """The loops around."""
        self.turning = 0
        """How many of these it has for itself, not shared with other threads."""
        self.scopes: AliasScopes | None = None
        """Which buffers share no memory, where that is known."""
        self.failed = self.builder.new_label("failed")
        """The block that returns after an error and at Ctrl-C: the results are dropped."""

    def begin(self, args: Value, index: Value) -> None:
        """Load the addresses of all buffers from the block ``args``, for the thread with the number ``index``."""
        b, memory = self.builder, self.module.memory
        self.flush = Flush(b, self.module.target) if self.module.flush else None
        self.args, self.index = args, index
        self.status = self._slot(STATUS)
        arena = self._slot(ARENA)
        own = arena
        if memory.private:
            mine = b.binary("mul", index, constant(I64, memory.private))
            own = b.element(arena, "i8", b.binary("add", mine, constant(I64, memory.size)))
        for buffer, slot in self.module.slots.items():
            self.pointers[buffer] = self._slot(slot)
        for buffer, place in memory.places.items():
            base = own if place.private else arena
            self.pointers[buffer] = b.element(base, "i8", constant(I64, place.offset))
        if not self.alone:
            for buffer in memory.scalars:
                self.pointers[buffer] = b.emit(f"alloca [{_SCALAR} x i8], align {_SCALAR}", POINTER)

    def attributes(self) -> str:
        """Return the attributes of the function, after a space."""
        return f" {CONTROL_FLOW}" if self.has_control_flow else ""

    def end(self) -> None:
        """Return from the function."""
        self._return()
        self.builder.label(self.failed)
        self._return()

    def _return(self) -> None:
        if self.flush:
            self.flush.end()
        self.builder.do("ret void")

    def _leave_if(self, condition: Value) -> None:
        b = self.builder
        stay = b.new_label("stay")
        b.branch_if(condition, self.failed, stay, rarely=True)
        b.label(stay)

    def _leave_after_error(self) -> None:
        """Return from the function if a step that went on, or another thread, has met an error."""
        b = self.builder
        self._leave_if(b.compare("ne", b.load(self.status, I64, 8), constant(I64, 0)))

    def _leave_if_stopped(self) -> None:
        """Return from the function after an error, in NumPy as well, and at Ctrl-C."""
        b = self.builder
        if not self.module.hosted:
            self._leave_after_error()
            return
        stop = b.element(self.status, "i64", constant(I64, 1))
        either = b.either(b.load(stop, I64, 8), b.load(self.status, I64, 8))
        self._leave_if(b.compare("ne", either, constant(I64, 0)))

    def _with_flags_of_the_caller(self) -> AbstractContextManager[None]:
        return self.flush.outside() if self.flush else nullcontext()

    def _slot(self, number: int) -> Value:
        pointer = self.builder.element(self.args, "ptr", constant(I64, number))
        return self.builder.load(pointer, POINTER, _WORD)

    def clear(self, buffers: Iterable[Buffer]) -> None:
        """Fill buffers with zeros."""
        for buffer in buffers:
            count = constant(I64, math.prod(buffer.shape) * buffer.dtype.itemsize)
            zero, no = Value("0", Kind("i8")), Value("false", I1)
            self.builder.call("llvm.memset.p0.i64", self.pointers[buffer], zero, count, no, result=None)

    # -- steps -------------------------------------------------------------------------------------------

    def steps(self, steps: Sequence[Step]) -> None:
        """Emit steps one after another."""
        for step in steps:
            self.has_control_flow |= isinstance(step, (Loop, While, Branch))
            around = self.around
            self.around = [*around, step] if isinstance(step, (Loop, While)) else around
            match step:
                case Nest():
                    self._nest(step)
                case Loop(shared=True) if self.alone:  # the team is busy with the loop around
                    self.turns(constant(I64, 0), constant(I64, step.counter.extent), step)
                case Loop(shared=True):
                    self._shared_loop(step)
                case Loop():
                    self._loop(step)
                case Branch():
                    self._branch(step)
                case While():
                    self._while(step)
                case Host():
                    self._callback(len(self.module.hosts))
                    self.module.hosts.append(step)
                    self._leave_if_stopped()
                case Sort():
                    self._sort(step)
                case Call():
                    self._call(step)
            self.around = around

    def _nest(self, nest: Nest) -> None:
        module = self.module
        plain, schedule, _ = module.schedules[nest]
        checks = any(map(is_check, plain.nodes()))
        if (checks or self.around) and not plain.dims and not schedule.lanes:
            note = self.scopes.note if self.scopes else _no_note
            own = self.builder, self.functions, self.pointers
            body = Body(*own, {}, self.counters, self.status, self.failed, note, self._is_fixed)
            write_nest(plain, schedule, body, module)
            return
        found = module.nests.get(nest)
        if found is None or not self._reaches(found[0]):
            found = module.nests[nest] = self._function_of(nest)
        (name, tiles, is_last), passed = found
        values = [*map(self._pointer, passed.buffers, passed.starts)]
        values += [self.counters[dim] for dim in passed.counters]
        if tiles > 1 and not self.alone:
            values = [self.status, *values]
            if name not in module.unpacked:
                module.unpacked.add(name)
                with module.for_the_last_part() if is_last else nullcontext():
                    _emit_unpacking(name, values, module)
            self._share(_unpacking(name), values, constant(I64, tiles), _grains(nest))
        else:
            whole = constant(I64, 0), constant(I64, tiles)
            self.builder.call(
                name, self.status, *whole, *values, result=None, inline=self._is_inlined(nest, passed)
            )
        if checks:
            self._leave_after_error()

    def _is_fixed(self, value: Expression) -> bool:
        """Return whether no turn of the innermost loop changes a value."""
        loop = self.around[-1] if self.around else None
        if loop is None or loop.counter in value.facts.dims:
            return False
        return set(writes(loop)).isdisjoint(value.facts.buffers)

    def _is_inlined(self, nest: Nest, passed: NestArguments) -> bool:
        """Return whether each call of a nest is a copy of its code, where both are in the same part."""
        return not nest.dims or any(buffer in self.module.memory.scalars for buffer in passed.buffers)

    def _sort(self, step: Sort) -> None:
        from wengert.compiler.codegen.sort import emit_sort  # few programs need it

        self.module.sorts += 1
        name = f"sort{self.module.sorts}"
        emit_sort(name, step, self.module)
        absent = Value("null", POINTER)
        buffers = (step.operand, step.values, step.positions, step.memory)
        addresses = (absent if buffer is None else self.pointers[buffer] for buffer in buffers)
        self.builder.call(name, *addresses, result=None)

    def _call(self, step: Call) -> None:
        self.module.calls += 1
        name = f"call{self.module.calls}"
        emit_call(name, step, self.module)
        addresses = [self.pointers[buffer] for buffer in (*step.operands, *step.outputs)]
        memory = Value("null", POINTER) if step.memory is None else self.pointers[step.memory]
        with self._with_flags_of_the_caller():
            self.builder.call(name, *addresses, memory, result=None)

    def _pointer(self, buffer: Buffer, start: int) -> Value:
        """Return the address of an element."""
        place = constant(I64, start * buffer.dtype.itemsize)
        return self.builder.element(self.pointers[buffer], "i8", place) if start else self.pointers[buffer]

    def _function_of(self, nest: Nest) -> tuple[NestFunction, NestArguments]:
        """Return the function of a nest and its arguments; nests with the same text share one function."""
        module = self.module
        plain, schedule, twin = module.schedules[nest]
        checks = any(map(is_check, plain.nodes()))  # their code names the line
        found = None if twin is None or checks else module.nests.get(twin.nest)
        if twin is not None and found is not None and self._reaches(found[0]):
            return found[0], found[1].of(twin.counterparts)
        passed = nest_arguments(plain, schedule.width * schedule.vectors, module.layouts, self.counters)
        common = None if checks else outline_key(plain, schedule, module.layouts, passed)
        function = None if common is None else module.outlined.get(common)
        if function is None or not self._reaches(function):
            module.nest_functions += 1
            name, shared = f"nest{module.nest_functions}", module.long and is_large(plain)
            in_loop = self.turning and not self.alone and self._is_inlined(nest, passed)
            in_loop = in_loop and module.inlined_size < costs.COSTS.inlined_characters
            with module.for_the_last_part() if in_loop else nullcontext():
                text, tiles = emit_nest(name, plain, schedule, passed, module, shared=shared)
                module.add(name, text)
            function = NestFunction(name, tiles, bool(in_loop))
        if common is not None:
            module.outlined[common] = function
        return function, passed

    def _reaches(self, function: NestFunction) -> bool:
        """Return whether the code may call a function: one of the last part is for the program itself alone."""
        return not (self.alone and function.is_last)

    # -- loops offered to the team -----------------------------------------------------------------------

    def _share(self, name: str, passed: Sequence[Value], count: Value, most: int) -> None:
        """Offer tiles or turns to the team, in ``most`` grains at most, with the arguments of the function."""
        b = self.builder
        self.frame = max(self.frame, len(passed))
        for number, value in enumerate(passed):
            b.store(value, b.element(_FRAME, "i64", constant(I64, number)), 8)
        with self._with_flags_of_the_caller():
            if not self.module.long:
                zero = constant(I64, 0)
                b.call(name, _FRAME, zero, count, zero, result=None)
                return
            self.module.parallel = True
            b.declared.add(f"declare void @{name}(ptr, i64, i64, i64)")
            b.declared.add("declare void @wengert_share(ptr, ptr, ptr, i64, i64)")
            b.do(f"call void @wengert_share(ptr %team, ptr @{name}, ptr %frame, {count}, i64 {most})")

    def _shared_loop(self, step: Loop) -> None:
        """Emit the turns of a loop as a function, of which each thread calls some.

        If the turns do not divide among the threads, the last ones would keep one thread busy and the others waiting.
        All threads together carry these out, nest by nest.
        """
        self.module.loops += 1
        name = f"turns{self.module.loops}"
        _emit_turns(name, step, self.module, tuple(self.counters))
        passed = [self.args, *self.counters.values()]
        extent = constant(I64, step.counter.extent)
        if not (self.module.long and _is_divisible(step)):
            self._share(name, passed, extent, step.counter.extent)
            self._leave_if_stopped()
            return
        even = self._even_part(step.counter.extent)
        self._share(name, passed, even, step.counter.extent)
        self._leave_if_stopped()
        self.turns(even, extent, step)

    def _even_part(self, extent: int) -> Value:
        """Return how many turns to deal out: all, if the remainder keeps more than half of the threads busy."""
        b = self.builder
        b.declared.add("declare i64 @wengert_threads(ptr)")
        threads = b.emit("call i64 @wengert_threads(ptr %team)", I64)
        left = b.binary("urem", constant(I64, extent), threads)
        few = b.compare("sle", b.binary("mul", left, constant(I64, 2)), threads)
        return b.binary("sub", constant(I64, extent), b.select(few, left, constant(I64, 0)))

    def turns(self, first: Value, last: Value, step: Loop) -> None:
        """Emit turns of a loop, one after another."""
        b = self.builder
        with b.loop(first, last) as count:
            end = constant(I64, step.counter.extent - 1)
            self.counters[step.counter] = b.binary("sub", end, count) if step.reverse else count
            self.steps(step.steps)
            del self.counters[step.counter]

    # -- control flow ------------------------------------------------------------------------------------

    def _loop(self, step: Loop) -> None:
        b = self.builder
        extent, turns = step.counter.extent, self._turns_between_checks(step)
        self.turning += 1
        if turns and turns < extent and self.module.hosted:
            # Loops between checks have no branch for them in their turns, and LLVM unrolls them.
            turns = next((n for n in range(turns, turns // 2, -1) if extent % n == 0), turns)
            with b.loop(constant(I64, 0), constant(I64, extent), turns) as first:
                end = b.binary("add", first, constant(I64, turns))
                last = b.intrinsic("smin", end, constant(I64, extent)) if extent % turns else end
                self.turns(first, last, step)
                self._check_for_interrupt()
        else:
            self.turns(constant(I64, 0), constant(I64, extent), step)
        self.turning -= 1

    def _turns_between_checks(self, step: Loop) -> int:
        """Return the turns after which a loop checks for Ctrl-C, a power of two; 0 if it ends soon."""
        endless = any(isinstance(inner, (Host, While)) for inner in all_steps(step.steps))
        is_long = self.module.long or (endless and may_take_long(step))
        return turns_of_a_grain(step.steps) if is_long else 0

    def _while(self, step: While) -> None:
        b = self.builder
        between = constant(I64, turns_of_a_grain((*step.condition, *step.steps)))
        checks = self.module.hosted and may_take_long(step)
        # It counts down to the next check for Ctrl-C: an instruction less a turn, and most loops need no other count.
        with b.repeat(constant(I64, 0), between) as loop:
            count, left = loop.values
            self.turning += 1
            self.steps(step.condition)
            going, turns = self._truth(step.predicate), constant(I64, 0)
            if step.counter is not None:
                turns = constant(I64, step.counter.extent)
                if step.turns is not None:
                    number = b.load(self.pointers[step.turns], I64, 8)
                    turns = b.select(b.compare("slt", number, turns), number, turns)
                going = b.both(going, b.compare("slt", count, turns))
            loop.leave_if(b.negate(going))
            following = b.binary("add", count, constant(I64, 1))
            if step.counter is not None:
                self.counters[step.counter] = b.binary("sub", turns, following) if step.reverse else count
            self.steps(step.steps)
            self.turning -= 1
            if step.counter is not None:
                del self.counters[step.counter]
            if not checks:
                loop.again(following, left)
                return
            fewer = b.binary("sub", left, constant(I64, 1))
            check, on = b.new_labels("check", "on")
            before = b.block
            b.branch_if(b.compare("eq", fewer, constant(I64, 0)), check, on, rarely=True)
            b.label(check)
            self._check_for_interrupt()
            checked = b.block
            b.enter(on)
            loop.again(following, b.phi((fewer, before), (between, checked)))

    def _check_for_interrupt(self) -> None:
        """Call back for Ctrl-C if the last time is long ago; return if the call or another thread ends the program."""
        b = self.builder
        deadline = b.element(self.status, "i64", constant(I64, 2))
        now = b.emit("call i64 @llvm.readcyclecounter()", I64)
        b.declared.add("declare i64 @llvm.readcyclecounter()")
        due = b.compare("sgt", b.binary("sub", now, b.load(deadline, I64, 8)), constant(I64, POLL))
        if self.alone:  # only the calling thread may call back
            due = b.both(due, b.compare("eq", self.index, constant(I64, 0)))
        with b.only_if(due, rarely=True):
            b.store(now, deadline, 8)
            self._callback(-1)
            if not self.alone:
                self._leave_if_stopped()
        if self.alone:
            self._leave_if_stopped()

    def _callback(self, number: int) -> None:
        function = self._slot(CALLBACK)
        with self._with_flags_of_the_caller():
            self.builder.do(f"call void {function.text}(i64 {number}, {self.args})")

    def _branch(self, step: Branch) -> None:
        b = self.builder
        yes, no, after = b.new_labels("yes", "no", "either")
        b.branch_if(self._truth(step.predicate), yes, no)
        for label, steps in ((yes, step.yes), (no, step.no)):
            b.label(label)
            self.steps(steps)
            b.branch(after)
        b.label(after)

    def _truth(self, predicate: Buffer) -> Value:
        byte = self.builder.load(self.pointers[predicate], Kind("i8"), 1)
        return self.builder.compare("ne", byte, constant(byte.kind, 0))


def _no_note(_: Buffer) -> str:
    return ""


def _in_rows(steps: Sequence[Step]) -> Iterator[Buffer]:
    """Yield the buffers of which the turns of loops write a row each, where a loop may end before its last row."""
    for loop in all_steps(steps):
        if isinstance(loop, While) and loop.counter is not None:
            for step in all_steps(loop.steps):
                if isinstance(step, Nest):
                    yield from (s.buffer for s in step.stores if loop.counter in dims_of(s.indices))


def _grains(nest: Nest) -> int:
    """Return how many grains a nest is worth: a power of two, which most numbers of threads divide evenly."""
    return 1 << max(1, (operation_count(nest) // costs.COSTS.grain_work).bit_length() - 1)


def _is_divisible(step: Loop) -> bool:
    """Return whether several threads together finish one turn of a loop quickly."""
    nests = [inner for inner in step.steps if isinstance(inner, Nest)]
    total, large = sum(map(operation_count, nests)), sum(map(operation_count, filter(is_large, nests)))
    return len(nests) == len(step.steps) and large > costs.COSTS.parallel_turn_share * total


# -- functions that the team calls -----------------------------------------------------------------------


def _emit_turns(name: str, step: Loop, module: ModuleBuilder, around: Sequence[Dim]) -> None:
    """Emit the function that runs some of the turns of a shared loop."""
    emitter = _StepEmitter(module, around, alone=True)
    args = Value("%args", POINTER)
    for number, value in enumerate((args, *emitter.counters.values())):
        place = emitter.builder.element(_FRAME, "i64", constant(I64, number))
        emitter.builder.do(f"{value.text} = load {value.kind}, ptr {place.text}, align 8")
    emitter.begin(args, Value("%index", I64))
    emitter.turns(Value("%first", I64), Value("%last", I64), step)
    emitter.end()
    module.part.functions |= emitter.functions
    module.add(name, module.define(name, _TEAM_PARAMETERS, emitter.builder, emitter.attributes()))


def _unpacking(nest: str) -> str:
    """Return the name of the function by which the team calls that of a nest."""
    return f"{nest}.tiles"


def _emit_unpacking(nest: str, passed: Sequence[Value], module: ModuleBuilder) -> None:
    """Emit the function that unpacks the arguments of a nest and computes some of its tiles."""
    b = Builder()
    places = (b.element(_FRAME, "i64", constant(I64, number)) for number in range(len(passed)))
    status, *values = [b.load(place, value.kind, 8) for place, value in zip(places, passed, strict=True)]
    flush = Flush(b, module.target) if module.flush else None
    b.call(nest, status, Value("%first", I64), Value("%last", I64), *values, result=None)
    if flush:
        flush.end()
    b.do("ret void")
    module.add(_unpacking(nest), module.define(_unpacking(nest), _TEAM_PARAMETERS, b))
