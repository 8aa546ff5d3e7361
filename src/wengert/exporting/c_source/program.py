"""A program of nests as a function of C: its loops, branches, variables and memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.compiler.freestanding.function import Function
from wengert.compiler.freestanding.program import parameters
from wengert.compiler.pipeline import LOWERED, advance
from wengert.compiler.runtime.execute import reported
from wengert.compiler.schedule.arena import lifetimes
from wengert.engine.core.errors import UnsupportedError, located, message
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Apply, Buffer, Guard, Reduce
from wengert.engine.nest.index import dims_of
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Nest,
    Program,
    Sort,
    Step,
    While,
    all_steps,
    inner_blocks,
    map_blocks,
    reads,
    writes,
)
from wengert.exporting.c_source.dead_stores import certain, read_elsewhere, without_dead_stores
from wengert.exporting.c_source.layout import Names, Sources, harmless
from wengert.exporting.c_source.nests import INT_MAX, NestWriter, Writer
from wengert.exporting.c_source.operations import Operations, Unsupported
from wengert.exporting.c_source.values import Value, literal, primary
from wengert.exporting.c_source.sorts import order_function, sort_lines
from wengert.exporting.c_source.vectors import has_vectors
from wengert.exporting.c_types import c_type

_HINT = "compute it in Python and pass the result as an argument; a saved function can hold it"
_SHOWN = 60
"""The characters of an error that a comment shows."""


@dataclass(frozen=True)
class Memory:
    """An array of the struct in which the intermediate arrays of a call lie."""

    name: str
    kind: str
    """The C type of its elements."""
    size: int
    shapes: str
    """The shapes of what it holds, one after the other."""


@dataclass(frozen=True)
class Source:
    """A function as C."""

    name: str
    function: Function
    text: str
    memory: tuple[Memory, ...]
    errors: tuple[str, ...]
    """The text for each code that a call returns, from 1."""


def write_function(function: Function, name: str, target: Target, operations: Operations, fun: Any) -> Source:
    """Return a function as C; `UnsupportedError` where an operation has no form in C."""
    unit = advance(function.flushing(False).unit_for(target), LOWERED)
    vectors = has_vectors(target)
    writer = _FunctionWriter(unit.program, function, name, operations, Sources(fun), vectors=vectors)
    try:
        return writer.source()
    except Unsupported as problem:
        operation, location = problem.args
        requirement = "an operation without a form in C cannot leave as source"
        raise UnsupportedError(located(message("export", requirement, operation, _HINT), location)) from None


class _FunctionWriter:
    """Writes one function."""

    def __init__(
        self,
        program: Program,
        function: Function,
        name: str,
        operations: Operations,
        sources: Sources,
        *,
        vectors: bool,
    ) -> None:
        self.certain = certain(program)
        program = without_dead_stores(program, self.certain)
        self.steps = tuple(map(_with_memory, program.steps))
        self.program = replace(program, steps=self.steps)
        self.read = read_elsewhere(self.program)
        self.function = function
        self.name = name
        self.operations = operations
        self.sources = sources
        self.names = Names({name, f"{name}_error", f"{name}_work"})
        self.parameters = {leaf.name: self._free(leaf.name) for leaf, _ in parameters(function)}
        self.work = self._free("work")
        self.constants = dict(program.constants)
        self.errors: dict[str, None] = {}
        self.used: set[Buffer] = set()
        self.comment = list[str]()
        self.buffers: dict[Buffer, str] = {}
        leaves = [*zip(program.inputs, function.arguments, strict=True)]
        leaves += zip(program.outputs, function.results, strict=True)
        for buffer, leaf in leaves:
            self.buffers.setdefault(buffer, self.parameters[leaf.name])
        for number, (buffer, _) in enumerate(program.constants, 1):
            self.buffers[buffer] = self.names.new(f"c{number}")
        self.sizes = _check_sizes(self.program)
        self._name_variables()
        self.declared: set[Buffer] = set()
        self.writer = Writer(self.names, operations, self.element, self.error, vectors=vectors)

    def _free(self, wanted: str) -> str:
        while (name := self.names.new(wanted)) != wanted:
            wanted = f"{wanted}_"
        return name

    # -- variables ---------------------------------------------------------------------------------------

    def _name_variables(self) -> None:
        """Name the intermediate buffers: those that a line of Python assigns as it does."""
        own = [buffer for buffer in _touched(self.steps) if buffer not in self.buffers]
        last: dict[str, Buffer | None] = {}
        for step in all_steps(self.steps):
            if isinstance(step, Nest):
                made = [buffer for buffer in step.writes() if buffer in own]
                alone = len(made) == len(step.stores) == 1 and _ends_at(step)
                last[step.location] = made[0] if alone else None
        variables: dict[str, Buffer] = {}
        for location, buffer in last.items():
            if buffer is not None and (variable := self.sources.variable(location)):
                variables.setdefault(variable, buffer)
        named = {buffer: variable for variable, buffer in variables.items()}
        for buffer in own:
            wanted = named.get(buffer, "")
            self.buffers[buffer] = self._free(wanted) if wanted else self.names.numbered("t")
        self.variables = {buffer for buffer in own if buffer.size == 1 and not _is_sorted(buffer, self.steps)}
        self.arrays = [buffer for buffer in own if buffer not in self.variables and buffer.size]
        self.slots = self._slots(named)

    def _slots(self, named: Collection[Buffer]) -> dict[Buffer, Buffer]:
        """Return the array in whose memory each array lies: the largest of some that never live together.

        What has a name of the user's shares its memory with no other array.
        """
        lives, slots = lifetimes(self.program), dict[Buffer, list[Buffer]]()
        for buffer in sorted(self.arrays, key=lambda buffer: -buffer.size):
            life = lives[buffer]
            for first, others in slots.items():
                if (
                    c_type(first.dtype) == c_type(buffer.dtype)
                    and not {first, buffer}.intersection(named)
                    and all(lives[o].last < life.first or life.last < lives[o].first for o in others)
                ):
                    others.append(buffer)
                    break
            else:
                slots[buffer] = [buffer]
        return {buffer: first for first, others in slots.items() for buffer in others}

    def element(self, buffer: Buffer, position: str) -> Value:
        """Return an element of a buffer, by its position."""
        self.used.add(buffer)
        if buffer in self.constants and buffer.size == 1:
            return literal(np.asarray(self.constants[buffer]).reshape(-1)[0], buffer.dtype)
        if buffer in self.variables:
            return primary(self.buffers[buffer], buffer.dtype)
        return primary(f"{self._array(buffer)}[{position}]", buffer.dtype)

    def _array(self, buffer: Buffer) -> str:
        slot = self.slots.get(buffer)
        return self.buffers[buffer] if slot is None else f"{self.work}->{self.buffers[slot]}"

    def error(self, check: Apply) -> str:
        """Return the statement that returns the code of an error."""
        text = str(reported(f"{check.operation}|{check.requirement}|{check.location}"))
        self.errors.setdefault(text)
        number = list(self.errors).index(text) + 1
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        return f"return {number}; /* {harmless(shown)} */"

    # -- the function ------------------------------------------------------------------------------------

    def source(self) -> Source:
        """Return the text of the function, and its memory."""
        body = self._block(self.steps, is_whole=True)
        listed = [f"    {line}" for line in self._parameter_lines()]
        memory = self._memory()
        if memory:
            listed.append(f"    struct {self.name}_work *{self.work}")
        head = f"int {self.name}({'void)' if not listed else ''}"
        lines = [head, *([",\n".join(listed) + ")"] if listed else []), "{"]
        opening = [*self._constant_lines(), *self._unread_lines(), *self._variable_lines()]
        lines += [f"    {line}" for line in opening]
        lines += [""] if opening else []
        lines += [f"    {line}" if line else "" for line in [*self._cleared(), *body]]
        lines += ["    return 0;", "}"]
        return Source(self.name, self.function, "\n".join(lines), memory, tuple(self.errors))

    def _parameter_lines(self) -> Iterator[str]:
        for leaf, writes_ in parameters(self.function):
            const = "" if writes_ else "const "
            yield f"{const}{c_type(leaf.type.dtype)} *restrict {self.parameters[leaf.name]}"

    def _memory(self) -> tuple[Memory, ...]:
        """Return the arrays of the struct, with the shapes of what they hold."""
        shapes: dict[Buffer, dict[str, None]] = {}
        for buffer in self.arrays:
            if buffer in self.used:
                shape = "".join(f"[{extent}]" for extent in buffer.shape)
                shapes.setdefault(self.slots[buffer], {}).setdefault(shape)
        return tuple(
            Memory(self.buffers[slot], c_type(slot.dtype), slot.size, ", ".join(held))
            for slot, held in shapes.items()
        )

    def _unread_lines(self) -> Iterator[str]:
        """Yield marks of parameters that nothing reads."""
        known = {self.buffers[buffer] for buffer in self.used if buffer in self.buffers}
        for name in self.parameters.values():
            if name not in known:
                yield f"(void){name};"

    def _variable_lines(self) -> Iterator[str]:
        for buffer in self.buffers:
            if buffer in self.variables and buffer in self.used and buffer not in self.declared:
                start = literal(0, buffer.dtype).text
                yield f"{_local(buffer)} {self.buffers[buffer]} = {start};"

    def _constant_lines(self) -> Iterator[str]:
        for buffer, value in self.constants.items():
            if buffer in self.used and buffer.size > 1:
                numbers = (literal(x, buffer.dtype).text for x in np.asarray(value).reshape(-1))
                text = ", ".join(numbers)
                kind = c_type(buffer.dtype)
                shape = "".join(f"[{extent}]" for extent in buffer.shape)
                yield f"static const {kind} {self.buffers[buffer]}[{buffer.size}] = {{ /* {shape} */"
                yield from _rows(text)
                yield "};"

    # -- steps -------------------------------------------------------------------------------------------

    def _block(self, steps: Sequence[Step], *, is_whole: bool = False) -> list[str]:
        """Return the lines of steps that stand in one block."""
        self.names.open()
        lines = self._lines(steps, is_whole=is_whole)
        self.names.close()
        return lines

    def _lines(self, steps: Sequence[Step], *, is_whole: bool = False) -> list[str]:
        """Return the lines of steps in the block that is open."""
        lines: list[str] = []
        for step in steps:
            if not inner_blocks(step):
                comment = self._comment(_locations(step))
                lines += [""] * bool(lines and comment and is_whole) + comment
            self._step(step, steps, lines)
            if isinstance(step, Nest):  # what is computed for its checks alone
                unread = [buffer for buffer in step.writes() if buffer in self.variables - self.read]
                lines += [f"(void){self.buffers[buffer]};" for buffer in unread]
        return lines

    def _step(self, step: Step, around: Sequence[Step], lines: list[str]) -> None:
        match step:
            case Nest():
                NestWriter(step, self.writer, lines).write(
                    lambda buffer: self._declaration(buffer, step, around)
                )
            case Loop():
                self._loop(step, lines)
            case Branch():
                lines.append(f"if ({self.element(step.predicate, '0').text}) {{")
                lines += _indented(self._block(step.yes))
                if no := self._block(step.no):
                    lines += ["} else {", *_indented(no)]
                lines.append("}")
            case While():
                self._while(step, lines)
            case Sort():
                self._sort(step, lines)
            case _:
                raise Unsupported(getattr(step, "primitive", "a routine of LAPACK"), step.location)

    def _declaration(self, buffer: Buffer, nest: Nest, around: Sequence[Step]) -> str:
        """Return the beginning of a store that declares its variable: no step before it, or elsewhere, uses it."""
        if buffer not in self.variables or nest.dims or buffer in nest.reads():
            return ""
        using = [step for step in around if buffer in _buffers(step)]
        inside = sum(buffer in _buffers(step) for step in all_steps(using) if not inner_blocks(step))
        inside += sum(
            buffer in step.controls for step in all_steps(using) if isinstance(step, (Branch, While))
        )
        if inside != self.sizes[buffer] or using[0] is not nest or buffer in self.declared:
            return ""
        self.declared.add(buffer)
        single = sum(buffer in writes(step) for step in all_steps(using) if not inner_blocks(step)) == 1
        single = single and sum(store.buffer is buffer for store in nest.stores) == 1
        return f"{'const ' if single else ''}{_local(buffer)} "

    def _loop(self, step: Loop, lines: list[str]) -> None:
        self.names.open()
        counter, extent = self.names.counter(), step.counter.extent
        self.writer.counters[step.counter] = counter
        kind = _counter_type(extent)
        head = (
            f"for ({kind} {counter} = {extent - 1}; {counter} >= 0; {counter}--) {{"
            if step.reverse
            else f"for ({kind} {counter} = 0; {counter} < {extent}; {counter}++) {{"
        )
        lines += [*self._comment([step.location]), head, *_indented(self._block(step.steps)), "}"]
        del self.writer.counters[step.counter]
        self.names.close()

    def _comment(self, locations: Iterable[str]) -> list[str]:
        """Return the comment on some lines of Python, unless it is the last one."""
        comment = self.sources.comment(locations)
        changed, self.comment = comment != self.comment, comment or self.comment
        return comment if changed else []

    def _while(self, step: While, lines: list[str]) -> None:
        lines += self._comment([step.location])
        self.names.open()
        counter, head, most, ends = "", "for (;;) {", "", list[str]()
        if step.counter is not None:
            extent, counter = step.counter.extent, self.names.counter()
            most = str(extent)
            if step.turns is not None:
                most = self.element(step.turns, "0").text
                ends.append(f"{counter} >= {most}")
            ends.append(f"{counter} >= {extent}")
            head = f"for ({_counter_type(extent)} {counter} = 0;; {counter}++) {{"
        self.names.open()
        body = self._lines(step.condition)
        if step.predicate not in self.certain:
            ends.insert(0, f"!{self.element(step.predicate, '0').text}")
        body += [f"if ({' || '.join(ends)}) {{", "    break;", "}"] if ends else []
        body += self._turn(step, counter, most)
        self.names.close()
        lines += [head, *_indented(body), "}"]
        self.names.close()

    def _turn(self, step: While, counter: str, most: str) -> list[str]:
        """Return the lines of a turn; that of a reverse loop counts down from the number of turns."""
        if step.counter is None:
            return self._lines(step.steps)
        number, first = counter, list[str]()
        if step.reverse:
            extent, number = step.counter.extent, self.names.counter()
            last = most if step.turns is None else f"(int)({most} < {extent} ? {most} : {extent})"
            first = [f"const int {number} = {last} - 1 - {counter};"]
        self.writer.counters[step.counter] = number
        inner = self._lines(step.steps)
        del self.writer.counters[step.counter]
        is_read = any(re.search(rf"\b{number}\b", line) for line in inner)
        return [*first, *inner] if is_read else inner

    def _cleared(self) -> Iterator[str]:
        """Yield loops that fill with zeros the results of which turns write a row each: there may be fewer turns."""
        rows = {
            store.buffer
            for loop in all_steps(self.steps)
            if isinstance(loop, While)
            for step in all_steps(loop.steps)
            if isinstance(step, Nest)
            for store in step.stores
            if loop.counter in dims_of(store.indices)
        }
        for buffer in self.program.outputs:
            if buffer in rows and buffer not in self.program.inputs:
                yield f"for (int i = 0; i < {buffer.size}; i++) {{"
                yield f"    {self.element(buffer, 'i').text} = {literal(0, buffer.dtype).text};"
                yield "}"

    def _sort(self, step: Sort, lines: list[str]) -> None:
        if step.values is step.operand:
            raise Unsupported("a sort in place", step.location)

        def name(buffer: Buffer) -> str:
            self.used.add(buffer)
            return self._array(buffer)

        kind = c_type(step.operand.dtype)
        self.operations.compares |= step.operand.dtype.kind == "f"
        self.operations.functions.setdefault(f"order_{step.operand.dtype}", order_function(step.operand.dtype, kind))
        lines += sort_lines(step, name, kind)


def _with_memory(step: Step) -> Step:
    """Return a sort with the memory of its positions."""
    if isinstance(step, Sort):
        extent = step.operand.shape[step.axis]
        return replace(step, memory=Buffer(np.dtype(np.int32), (2 * max(extent, 1),)))
    return map_blocks(step, lambda block: tuple(map(_with_memory, block)))


def _is_sorted(buffer: Buffer, steps: Sequence[Step]) -> bool:
    """Return whether a sort needs the address of a buffer."""
    return any(buffer in _buffers(step) for step in all_steps(steps) if isinstance(step, Sort))


def _touched(steps: Sequence[Step]) -> dict[Buffer, None]:
    """Return the buffers of steps in the order in which they are met."""
    found: dict[Buffer, None] = {}
    for step in all_steps(steps):
        if isinstance(step, (Branch, While)):
            found.update(dict.fromkeys(step.controls))
        elif not inner_blocks(step):
            found.update(dict.fromkeys(_buffers(step)))
    return found


def _locations(step: Step) -> list[str]:
    """Return the lines of Python that a step carries out."""
    if not isinstance(step, Nest):
        return [step.location]
    own = [node.location for node in step.nodes() if isinstance(node, Apply) and node.location]
    return own or [step.location]


def _ends_at(nest: Nest) -> bool:
    """Return whether the last operation of what a nest stores stands in the line of the nest."""
    value = nest.stores[0].value
    while isinstance(value, (Reduce, Guard)):
        value = value.body
    return isinstance(value, Apply) and value.location == nest.location


def _buffers(step: Step) -> tuple[Buffer, ...]:
    return (*writes(step), *reads(step))


def _check_sizes(program: Program) -> Counter[Buffer]:
    """Return how many steps use each buffer; `UnsupportedError` for one whose elements an int cannot count."""
    uses = Counter[Buffer]()
    for step in all_steps(program.steps):
        if isinstance(step, (Branch, While)):
            uses.update(step.controls)
        elif not inner_blocks(step):
            uses.update({*_buffers(step)})
    for buffer in {*uses, *program.inputs}:
        if buffer.size > INT_MAX:
            requirement = "an array of C source must have less than 2^31 elements"
            raise UnsupportedError(message("export", requirement, f"{buffer.size:,}", "write an object file"))
    return uses


def _counter_type(extent: int) -> str:
    return "int" if extent <= INT_MAX else "int64_t"


def _local(buffer: Buffer) -> str:
    return "bool" if buffer.dtype.kind == "b" else c_type(buffer.dtype)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _rows(text: str, width: int = 90) -> Iterator[str]:
    line = ""
    for item in text.split(", "):
        if len(line) + len(item) > width:
            yield f"    {line.rstrip()}"
            line = ""
        line += f"{item}, "
    yield f"    {line.rstrip(', ')}"
