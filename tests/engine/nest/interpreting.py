"""An interpreter of nests: one element at a time, by the definition of each node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.compiler.schedule.arena import lifetimes, private_buffers
from wengert.engine.nest.expression import (
    CONDITIONS,
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
)
from wengert.engine.nest.index import Computed, Digit, Dim, Index
from wengert.engine.nest.nest import Branch, Host, Loop, Nest, Program, Sort, Step, Store, While
from wengert.engine.primitive import REGISTRY

_COMBINE = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
_COMBINE |= {"logical_and": np.logical_and, "logical_or": np.logical_or}


class Interpreter:
    """Carries out a program; buffers that nothing has written hold NaN, or the largest integer."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memory: dict[Buffer, Any] = {}
        self.counters: dict[Dim, int] = {}

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the results; arguments in whose places results come are copied first."""
        for buffer, value in zip(self.program.inputs, arguments, strict=True):
            self.memory[buffer] = np.array(value, buffer.dtype)
        self.memory.update(self.program.constants)
        self.steps(self.program.steps)
        return [self.array(buffer) for buffer in self.program.outputs]

    def array(self, buffer: Buffer) -> Any:
        if buffer not in self.memory:
            kind = buffer.dtype.kind
            empty = np.nan if kind == "f" else True if kind == "b" else np.iinfo(buffer.dtype).max
            self.memory[buffer] = np.full(buffer.shape, empty, buffer.dtype)
        return self.memory[buffer]

    # -- steps -------------------------------------------------------------------------------------------

    def shared(self, loop: Loop) -> None:
        """Carry out the turns of a loop in another order, each with new memory for what is used inside only."""
        own = private_buffers(loop, self.program, lifetimes(self.program))
        for count in reversed(range(loop.counter.extent)):
            for buffer in own:
                self.memory.pop(buffer, None)
            self.counters[loop.counter] = count
            self.steps(loop.steps)

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Nest():
                    self.nest(step)
                case Loop(shared=True):
                    self.shared(step)
                case Loop(counter=counter, reverse=reverse):
                    for count in range(counter.extent)[:: -1 if reverse else 1]:
                        self.counters[counter] = count
                        self.steps(step.steps)
                case Branch():
                    self.steps(step.yes if self.array(step.predicate)[()] else step.no)
                case While():
                    self.steps(step.condition)
                    while self.array(step.predicate)[()]:
                        self.steps(step.steps)
                        self.steps(step.condition)
                case Host():
                    self.host(step)
                case Sort():
                    self.sort(step)

    def host(self, step: Host) -> None:
        given = [self.array(x) if isinstance(x, Buffer) else x for x in step.operands]
        results = REGISTRY[step.primitive].evaluate(*given, **step.params)
        several = results if isinstance(results, tuple) else (results,)
        for buffer, result in zip(step.outputs, several, strict=True):
            self.array(buffer)[...] = result

    def sort(self, step: Sort) -> None:
        x = self.array(step.operand)
        order = np.argsort(x, step.axis, kind="stable")
        elements = np.take_along_axis(x, order, step.axis)
        for buffer, result in ((step.values, elements), (step.positions, order)):
            if buffer is not None:
                self.array(buffer)[...] = result

    def nest(self, nest: Nest) -> None:
        """At every point all values, and then the stores; the dimensions that are in no order run backwards."""
        free = [dim for dim in nest.dims if dim not in nest.sequential]
        ordered = [dim for dim in nest.dims if dim in nest.sequential]
        for _ in self.points(free, -1):
            for _ in self.points(ordered, 1):
                writing = [one for store in nest.stores for one in self.elements(store)]
                for array, place, value in writing:
                    array[place] = value

    def elements(self, store: Store) -> Iterator[tuple[Any, tuple[int, ...], Any]]:
        """Yield what a store writes, where, and the value: an element, or one in each turn of a reduction's loops."""
        for _ in self.points(store.along, 1):
            place, array, value = self.place(store.indices), self.array(store.buffer), self.value(store.value)
            yield array, place, _COMBINE[store.combiner](array[place], value) if store.combiner else value

    def points(self, dims: Sequence[Dim], direction: int) -> Iterator[None]:
        for counts in itertools.product(*(range(dim.extent)[::direction] for dim in dims)):
            self.counters.update(zip(dims, counts, strict=True))
            yield

    # -- values ------------------------------------------------------------------------------------------

    def index(self, index: Index) -> int:
        total = index.offset
        for term, coefficient in index.terms:
            match term:
                case Dim():
                    count = self.counters[term]
                case Digit():
                    count = self.index(term.index) // term.divisor % term.modulus
                case Computed():
                    count = int(self.value(term.expression))
                    assert 0 <= count < term.extent
            total += coefficient * count
        return total

    def place(self, indices: Sequence[Index]) -> tuple[int, ...]:
        found = tuple(map(self.index, indices))
        assert min(found, default=0) >= 0, "read or written before the beginning of an axis"
        return found

    def value(self, node: Expression) -> Any:
        match node:
            case Const():
                return node.dtype.type(node.value)
            case Iota():
                return node.dtype.type(self.index(node.index))
            case Load():
                return self.array(node.buffer)[self.place(node.indices)]
            case Guard():
                inside = all(0 <= self.index(index) < extent for index, extent in node.conditions)
                return self.value(node.body if inside else node.otherwise)
            case Reduce():
                return self.reduced(node)
            case Apply():
                return self.applied(node, [self.value(operand) for operand in node.operands])

    def reduced(self, node: Reduce) -> Any:
        before = dict(self.counters)
        values = [self.value(node.body) for _ in self.points(node.dims, 1)]
        self.counters = before
        if node.combiner.startswith("arg"):
            return node.dtype.type(getattr(np, node.combiner)(values))
        return node.dtype.type(_COMBINE[node.combiner].reduce(np.array(values, node.dtype)))

    def applied(self, node: Apply, operands: list[Any]) -> Any:
        if node.operation == "position":
            return operands[0] + node.param * (operands[0] < 0 and not node.requirement)
        if node.operation in ("bounded", *CONDITIONS):
            return operands[0]
        if node.operation == "cast":
            return node.dtype.type(operands[0])
        primitive = REGISTRY[node.operation]
        name = getattr(primitive.lowering, "param", "")
        return node.dtype.type(primitive.evaluate(*operands, **({name: node.param} if name else {})))
