"""The arena: every buffer has a place, and no two live buffers overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.graphs import compile_graph
from tests.draws import examples
from wengert.compiler.codegen.module import Module
from wengert.compiler.schedule.arena import Plan, lifetimes, plan
from wengert.compiler.schedule.layout import row_major
from wengert.engine.core.dtypes import FLOAT64, INT64
from wengert.engine.nest.expression import Apply, Buffer, Const, Load
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Nest,
    Program,
    Step,
    Store,
    While,
    inner_blocks,
    reads,
    writes,
)


def modules(function: Callable[..., Any], *args: Any) -> Iterator[Module]:
    """Yield a function's program as it is compiled, and as it is before fusion, with many more buffers."""
    graph = wg.jit(function).graph(*args)
    for check in ("", "nan"):
        yield compile_graph(graph, check=check).module


class Machine:
    """Carries a program out on owners of bytes instead of numbers: whose value lies where."""

    def __init__(self, program: Program, memory: Plan) -> None:
        self.memory = memory
        self.owner: dict[int, Buffer] = {}
        self.outside = program.outside().union(memory.scalars)
        self.run(program.steps)

    def run(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Loop():
                    for _ in range(3):
                        self.run(step.steps)
                case While():
                    for _ in range(2):
                        self.run(step.condition)
                        self.read(step.predicate)
                        self.run(step.steps)
                        self.read(step.predicate)  # a thread may be late to look at it
                    self.run(step.condition)
                    self.read(step.predicate)
                case Branch():
                    self.read(step.predicate)
                    before = dict(self.owner)
                    self.run(step.yes)
                    self.read(step.predicate)
                    one, self.owner = self.owner, before
                    self.run(step.no)
                    self.read(step.predicate)
                    self.owner = {key: buffer for key, buffer in one.items() if self.owner.get(key) is buffer}
                case _:
                    assert not inner_blocks(step)
                    # A recurrence reads what it has written itself.
                    own = writes(step) if getattr(step, "sequential", ()) else ()
                    for buffer in set(reads(step)).difference(own):
                        self.read(buffer)
                    for buffer in writes(step):
                        self.write(buffer)
                    for buffer in (*reads(step), *writes(step)):  # all of them at once
                        self.read(buffer)

    def cells(self, buffer: Buffer) -> range:
        place = self.memory.places[buffer]
        assert place.offset % 64 == place.size % 64 == 0
        assert place.offset + place.size <= (self.memory.private if place.private else self.memory.size)
        first = (place.offset + (self.memory.size if place.private else 0)) // 64
        return range(first, first + place.size // 64)

    def read(self, buffer: Buffer) -> None:
        if buffer not in self.outside:
            assert all(self.owner.get(cell) is buffer for cell in self.cells(buffer)), buffer

    def write(self, buffer: Buffer) -> None:
        if buffer not in self.outside:
            self.owner.update(dict.fromkeys(self.cells(buffer), buffer))


X = np.random.default_rng(0).normal(size=(20, 30))
W = np.random.default_rng(1).normal(size=(30, 30))


def chain(x: Any) -> Any:
    for _ in range(6):
        x = np.cumsum(x, axis=0) @ W
    return x


def recurrent(x: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = np.tanh(h @ W + row)
        return h, np.cumsum(h) @ W

    return wg.scan(step, x[0], x)[1].sum() + x.sum()


def branching(x: Any) -> Any:
    y = np.cumsum(x, axis=1)
    z = wg.cond(x[0, 0] > 0, lambda y: np.cumsum(y @ W, 0), lambda y: np.tanh(np.cumsum(y, 0) @ W), y)
    return z @ W + y


def looping(x: Any) -> Any:
    def turn(c: Any) -> Any:
        a, b = c
        return np.tanh(np.cumsum(b, 0) @ W), np.cumsum(a @ W, 1)

    a, b = wg.while_loop(lambda c: np.sum(np.cumsum(c[0], 0) ** 2) > 1e3, turn, (x, x * 2))
    nested = wg.fori_loop(
        0, 3, lambda i, c: wg.fori_loop(0, 2, lambda j, d: np.cumsum(d, 0) @ W + c, c) + b, a
    )
    return nested @ W


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "chain": chain,
    "recurrent": recurrent,
    "gradient of recurrent": wg.grad(recurrent),
    "branching": branching,
    "gradient of branching": wg.grad(lambda x: np.sum(branching(x) ** 2)),
    "looping": looping,
    "gradient of a chain": wg.grad(lambda x: np.sum(chain(x) ** 2)),
}


@pytest.mark.parametrize("function", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_lies_on_top_of_what_is_needed(function: Callable[[Any], Any]) -> None:
    for module in modules(function, X):
        assert module.memory.places
        Machine(module.program, module.memory)


def test_memory_is_used_again() -> None:
    for module in modules(chain, X):
        assert module.memory.size < 0.6 * sum(place.size for place in module.memory.places.values())
    (_, deep), (_, deeper) = (
        tuple(modules(lambda x, n=n: chain(chain(x)) if n else chain(x), X)) for n in (0, 1)
    )
    assert deep.memory.size == deeper.memory.size


def test_memory_is_told_before_anything_runs() -> None:
    compiled = wg.jit(chain)
    told = compiled.memory(X)
    assert told >= X.nbytes
    assert compiled.report(X).arena == told
    compiled(X)
    assert compiled.memory(X) == told


# -- plans of drawn programs -----------------------------------------------------------------------------

SIZES = (1, 3, 8, 9, 40, 64)


def element(buffer: Buffer) -> Load:
    return Load(buffer, (Index(0),))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw a program whose steps read what earlier steps wrote, in loops and branches."""
    given_ = Buffer(FLOAT64, (8,), "x")

    def value(known: list[Buffer]) -> Any:
        chosen = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        return Apply("sum", tuple(map(element, chosen)), FLOAT64)

    def block(known: list[Buffer], depth: int) -> list[Step]:
        steps: list[Step] = []
        for _ in range(draw(st.integers(1, 5))):
            kind = draw(st.sampled_from(["nest"] * 4 + ["loop", "while", "branch"] * (depth < 2)))
            if kind == "nest":
                carried = draw(st.booleans()) and len(known) > 1
                target = (
                    draw(st.sampled_from(known[1:]))
                    if carried
                    else Buffer(FLOAT64, (draw(st.sampled_from(SIZES)),))
                )
                steps.append(Nest((), (Store(target, (Index(0),), value(known)),)))
                known.append(target)
            elif kind == "loop":
                steps.append(Loop(Dim(3), draw(st.booleans()), tuple(block(list(known), depth + 1))))
            else:
                flag = Buffer(INT64, ())
                test = Nest((), (Store(flag, (), value(known)),))
                inside = tuple(block(list(known), depth + 1))
                if kind == "while":
                    steps.append(While(flag, (test,), inside))
                else:
                    steps += [test, Branch(flag, inside, tuple(block(list(known), depth + 1)))]
        return steps

    known = [given_]
    steps = block(known, 0)
    out = Buffer(FLOAT64, (1,), "out")
    steps.append(Nest((), (Store(out, (Index(0),), value(known)),)))
    return Program((given_,), (), (out,), tuple(steps))


@pytest.mark.exhaustive
@given(programs())
@examples(150)
def test_plans_of_drawn_programs(program: Program) -> None:
    layouts = {
        buffer: row_major(buffer.shape) for step in program.steps for buffer in (*reads(step), *writes(step))
    }
    memory = plan(program, layouts)
    assert {*memory.places, *memory.scalars} == set(lifetimes(program))
    Machine(program, memory)
    assert memory.size <= sum(place.size for place in memory.places.values())


def test_a_program_without_intermediate_values_needs_no_memory() -> None:
    out = Buffer(FLOAT64, (3,))
    program = Program((), (), (out,), (Nest((), (Store(out, (Index(0),), Const(1.0, FLOAT64)),)),))
    assert plan(program, {out: row_major((3,))}) == Plan(0, {})
