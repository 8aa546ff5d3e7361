"""A program of nests as a function of C: its loops, branches, variables and memory."""

from __future__ import annotations

import re
import textwrap
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
from wengert.engine.nest.index import Dim, dims_of
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Nest,
    Program,
    Sort,
    Step,
    While,
    all_nests,
    all_steps,
    inner_blocks,
    map_blocks,
    reads,
    touched,
    writes,
)
from wengert.exporting.c_source.dead_stores import certain, read_elsewhere, without_dead_stores
from wengert.exporting.c_source.layout import Names, Sources, arguments, harmless, indented
from wengert.exporting.c_source.nests import INT_MAX, NestWriter, Writer
from wengert.exporting.c_source.operations import Operations, Unsupported
from wengert.exporting.c_source.sorts import sort_call, sort_function, sort_name
from wengert.exporting.c_source.values import Value, literal, negation, primary, type_of
from wengert.exporting.c_source.vectors import has_vectors, with_turned_factors
from wengert.exporting.c_types import c_type

_HINT = "compute it in Python and pass the result as an argument; a saved function can hold it"
_SHOWN = 60
"""The characters of an error that a comment shows."""
_ROW = 90
"""The characters of a row of constants."""


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
    writer = _FunctionWriter(
        unit.program, function, name, operations, Sources(fun), vectors=has_vectors(target)
    )
    try:
        return writer.source()
    except Unsupported as problem:
        operation, location = problem.args
        requirement = "an operation without a form in C cannot leave as source"
        raise UnsupportedError(located(message("export", requirement, operation, _HINT), location)) from None


class _FunctionWriter:
    """Writes one function."""

    def __init__(
        self, program: Program, function: Function, name: str, operations: Operations, sources: Sources,
        *, vectors: bool,
    ) -> None:  # fmt: skip
        self.certain = certain(program)
        program = without_dead_stores(program, self.certain)
        program = with_turned_factors(program) if vectors else program
        self.program = program = replace(program, steps=tuple(map(_with_memory, program.steps)))
        self.read = read_elsewhere(program)
        self.function, self.name, self.operations, self.sources = function, name, operations, sources
        self.names = Names({name, f"{name}_error", f"{name}_work"})
        self.writer = Writer(self.names, operations, self.element, self.error, vectors)
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
        for number, buffer in enumerate(self.constants, 1):
            self.buffers[buffer] = self.names.new(f"c{number}")
        self._name_variables()

    def _free(self, wanted: str) -> str:
        while (name := self.names.new(wanted)) != wanted:
            wanted = f"{wanted}_"
        return name

    # -- variables ---------------------------------------------------------------------------------------

    def _name_variables(self) -> None:
        """Name the intermediate buffers: those that a line of Python assigns as it does."""
        steps, inputs = self.program.steps, self.program.inputs
        own = [buffer for buffer in dict.fromkeys(_uses(steps)) if buffer not in self.buffers]
        if any(buffer.size > INT_MAX for buffer in (*own, *self.buffers)):
            size = max(buffer.size for buffer in (*own, *inputs, *self.buffers))
            requirement = "an array of C source must have less than 2^31 elements"
            raise UnsupportedError(message("export", requirement, f"{size:,}", "write an object file"))
        last = {nest.location: nest for nest in all_nests(steps)}
        named: dict[str, Buffer] = {}
        for location, nest in last.items():
            variable = self.sources.variable(location)
            if variable and len(nest.stores) == 1 and nest.stores[0].buffer in own and _ends_at(nest):
                named.setdefault(variable, nest.stores[0].buffer)
        wanted = {buffer: variable for variable, buffer in named.items()}
        for buffer in own:
            self.buffers[buffer] = (
                self._free(wanted[buffer]) if buffer in wanted else self.names.numbered("t")
            )
        addressed = touched(step for step in all_steps(steps) if isinstance(step, Sort))
        self.variables = {buffer for buffer in own if buffer.size == 1 and buffer not in addressed}
        self.arrays = [buffer for buffer in own if buffer not in self.variables and buffer.size]
        self.slots = self._slots(wanted)
        self.stores = Counter(store.buffer for nest in all_nests(steps) for store in nest.stores)
        self.first: dict[Buffer, Step] = {}
        self._find_first(steps, self.variables)
        self.declared: set[Buffer] = set()

    def _slots(self, named: Collection[Buffer]) -> dict[Buffer, Buffer]:
        """Return the array in whose memory each array lies: the largest of some that never live together.

        What has a name of the user's shares its memory with no other array.
        """
        lives, slots = lifetimes(self.program), dict[Buffer, list[Buffer]]()

        def fits(buffer: Buffer, others: Sequence[Buffer]) -> bool:
            life, is_like = lives[buffer], c_type(others[0].dtype) == c_type(buffer.dtype)
            apart = all(lives[o].last < life.first or life.last < lives[o].first for o in others)
            return is_like and apart and not {others[0], buffer}.intersection(named)

        for buffer in sorted(self.arrays, key=lambda buffer: -buffer.size):
            free = next((others for others in slots.values() if fits(buffer, others)), None)
            if free is None:
                slots[buffer] = [buffer]
            else:
                free.append(buffer)
        return {buffer: first for first, others in slots.items() for buffer in others}

    def _find_first(self, steps: Sequence[Step], variables: Collection[Buffer]) -> None:
        """Note the first step of each variable in the innermost block that holds all its uses."""
        uses = [touched([step]).intersection(variables) for step in steps]
        times = Counter(buffer for use in uses for buffer in use)
        for step, here in zip(steps, uses, strict=True):
            inside = [(block, touched(block)) for block in inner_blocks(step)]
            within = Counter(buffer for _, found in inside for buffer in found)
            within.update(getattr(step, "controls", ()))
            alone = {buffer for buffer in here if times[buffer] == within[buffer] == 1}
            for block, found in inside:
                self._find_first(block, alone & found)
            for buffer in here - alone:
                self.first.setdefault(buffer, step)

    def element(self, buffer: Buffer, position: str) -> Value:
        """Return an element of a buffer, by its position."""
        self.used.add(buffer)
        if buffer in self.constants and buffer.size == 1:
            return literal(np.asarray(self.constants[buffer]).reshape(-1)[0], buffer.dtype)
        if buffer in self.variables:
            return primary(self.buffers[buffer], buffer.dtype)
        return primary(f"{self._array(buffer)}[{position}]", buffer.dtype)

    def _array(self, buffer: Buffer) -> str:
        self.used.add(buffer)
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
        body = [*self._block(self.program.steps, is_whole=True)]
        memory = self._memory()
        taken = [
            f"{'' if writes_ else 'const '}{c_type(leaf.type.dtype)} *restrict {self.parameters[leaf.name]}"
            for leaf, writes_ in parameters(self.function)
        ] + [f"struct {self.name}_work *{self.work}"] * bool(memory)
        opening = [*self._constant_lines(), *self._variable_lines()]
        body = [*opening, *[""] * bool(opening), *self._cleared(), *body, "return 0;"]
        lines = [f"int {self.name}({arguments(taken)})", "{", *indented(body), "}"]
        return Source(self.name, self.function, "\n".join(lines), memory, tuple(self.errors))

    def _memory(self) -> tuple[Memory, ...]:
        """Return the arrays of the struct, with the shapes of what they hold."""
        shapes: dict[Buffer, dict[str, None]] = {}
        for buffer in self.arrays:
            if buffer in self.used:
                shapes.setdefault(self.slots[buffer], {}).setdefault(_shape(buffer))
        return tuple(
            Memory(self.buffers[slot], c_type(slot.dtype), slot.size, ", ".join(held))
            for slot, held in shapes.items()
        )

    def _variable_lines(self) -> Iterator[str]:
        """Yield marks of parameters that nothing reads, and the variables that no store declares."""
        known = {self.buffers[buffer] for buffer in self.used}
        yield from (f"(void){name};" for name in self.parameters.values() if name not in known)
        for buffer, name in self.buffers.items():
            if buffer in self.variables & self.used - self.declared:
                yield f"{type_of(buffer.dtype)} {name} = {literal(0, buffer.dtype).text};"

    def _constant_lines(self) -> Iterator[str]:
        for buffer, value in self.constants.items():
            if buffer in self.used and buffer.size > 1:
                kind, name = c_type(buffer.dtype), self.buffers[buffer]
                yield f"static const {kind} {name}[{buffer.size}] = {{ /* {_shape(buffer)} */"
                numbers = ", ".join(literal(x, buffer.dtype).text for x in np.asarray(value).reshape(-1))
                yield from indented(textwrap.wrap(numbers, _ROW))
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
            comment = [] if inner_blocks(step) else self._comment(_locations(step))
            lines += [*[""] * bool(lines and comment and is_whole), *comment]
            match step:
                case Nest():
                    NestWriter(step, self.writer, lines).write(
                        lambda buffer, nest=step: self._declared(buffer, nest)
                    )
                    unread = [buffer for buffer in step.writes() if buffer in self.variables - self.read]
                    lines += [f"(void){self.buffers[buffer]};" for buffer in unread]  # of a check
                case Loop():
                    lines += self._loop(step)
                case Branch():
                    lines += [
                        f"if ({self.element(step.predicate, '0').text}) {{",
                        *indented(self._block(step.yes)),
                    ]
                    no = self._block(step.no)
                    lines += [*(["} else {", *indented(no)] if no else []), "}"]
                case While():
                    lines += self._while(step)
                case Sort():
                    lines += [self._sort(step)] * bool(step.operand.size)
                case _:
                    raise Unsupported(getattr(step, "primitive", "a routine of LAPACK"), step.location)
        return lines

    def _declared(self, buffer: Buffer, nest: Nest) -> str:
        """Return the beginning of the store that declares its variable: the first step that uses it."""
        is_first = self.first.get(buffer) is nest and buffer not in self.declared
        if nest.dims or buffer in nest.reads() or not is_first:
            return ""
        self.declared.add(buffer)
        return f"{'const ' if self.stores[buffer] == 1 else ''}{type_of(buffer.dtype)} "

    def _comment(self, locations: Iterable[str]) -> list[str]:
        """Return the comment on some lines of Python, unless it is the last one."""
        comment = self.sources.comment(locations)
        changed, self.comment = comment != self.comment, comment or self.comment
        return comment if changed else []

    def _loop(self, step: Loop) -> Iterator[str]:
        yield from self._comment([step.location])
        self.names.open()
        counter, extent = self.names.counter(), step.counter.extent
        self.writer.counters[step.counter] = counter
        start, test, turn = (extent - 1, ">= 0", "--") if step.reverse else (0, f"< {extent}", "++")
        yield f"for ({_counter(step.counter)} {counter} = {start}; {counter} {test}; {counter}{turn}) {{"
        yield from indented(self._block(step.steps))
        yield "}"
        del self.writer.counters[step.counter]
        self.names.close()

    def _while(self, step: While) -> Iterator[str]:
        yield from self._comment([step.location])
        self.names.open()
        counter, head, ends, most = "", "for (;;) {", list[str](), ""
        if step.counter is not None:
            counter, most = self.names.counter(), str(step.counter.extent)
            head = f"for ({_counter(step.counter)} {counter} = 0;; {counter}++) {{"
            ends.append(f"{counter} >= {most}")
        if step.turns is not None:
            turns = self.element(step.turns, "0").text
            ends.insert(0, f"{counter} >= {turns}")
            most = f"(int)({turns} < {most} ? {turns} : {most})"
        self.names.open()
        body = self._lines(step.condition)
        if step.predicate not in self.certain:
            ends.insert(0, negation(self.element(step.predicate, "0")).text)
        body += [f"if ({' || '.join(ends)}) {{", "    break;", "}"] if ends else []
        yield head
        yield from indented([*body, *self._turn(step, counter, most)])
        yield "}"
        self.names.close()
        self.names.close()

    def _turn(self, step: While, counter: str, most: str) -> list[str]:
        """Return the lines of a turn; that of a reverse loop counts down from the number of turns."""
        if step.counter is None:
            return self._lines(step.steps)
        number = self.names.counter() if step.reverse else counter
        self.writer.counters[step.counter] = number
        lines = self._lines(step.steps)
        del self.writer.counters[step.counter]
        is_read = any(re.search(rf"\b{number}\b", line) for line in lines)
        return [f"const int {number} = {most} - 1 - {counter};"] * (step.reverse and is_read) + lines

    def _cleared(self) -> Iterator[str]:
        """Yield loops that fill with zeros the results of which turns write a row each: there may be fewer turns."""
        loops = [step for step in all_steps(self.program.steps) if isinstance(step, While)]
        stores = ((loop, store) for loop in loops for nest in all_nests(loop.steps) for store in nest.stores)
        rows = {store.buffer for loop, store in stores if loop.counter in dims_of(store.indices)}
        for buffer in self.program.outputs:
            if buffer in rows and buffer not in self.program.inputs:
                yield f"for (int i = 0; i < {buffer.size}; i++) {{"
                yield f"    {self.element(buffer, 'i').text} = {literal(0, buffer.dtype).text};"
                yield "}"

    def _sort(self, step: Sort) -> str:
        if step.values is step.operand:
            raise Unsupported("a sort in place", step.location)
        dtype = step.operand.dtype
        self.operations.compares |= dtype.kind == "f"
        self.operations.functions.setdefault(sort_name(dtype), sort_function(dtype))
        return sort_call(step, self._array)


def _with_memory(step: Step) -> Step:
    """Return a sort with the memory of its positions."""
    if isinstance(step, Sort):
        extent = step.operand.shape[step.axis]
        return replace(step, memory=Buffer(np.dtype(np.int32), (2 * max(extent, 1),)))
    return map_blocks(step, lambda block: tuple(map(_with_memory, block)))


def _uses(steps: Sequence[Step]) -> Iterator[Buffer]:
    """Yield the buffers of steps in the order in which they are met."""
    for step in all_steps(steps):
        if isinstance(step, (Branch, While)):
            yield from step.controls
        elif not inner_blocks(step):
            yield from (*writes(step), *reads(step))


def _locations(step: Step) -> list[str]:
    """Return the lines of Python that a step carries out."""
    nodes = step.nodes() if isinstance(step, Nest) else ()
    return [node.location for node in nodes if isinstance(node, Apply) and node.location] or [step.location]


def _ends_at(nest: Nest) -> bool:
    """Return whether the last operation of what a nest stores stands in the line of the nest."""
    value = nest.stores[0].value
    while isinstance(value, (Reduce, Guard)):
        value = value.body
    return isinstance(value, Apply) and value.location == nest.location


def _counter(dim: Dim) -> str:
    """Return the type of the counter of a loop."""
    return "int" if dim.extent <= INT_MAX else "int64_t"


def _shape(buffer: Buffer) -> str:
    return "".join(f"[{extent}]" for extent in buffer.shape)
