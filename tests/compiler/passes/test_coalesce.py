"""Coalesced copies: programs compute the same values without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from tests.draws import examples
from tests.engine.nest.interpreting import Interpreter
from wengert.compiler.passes.coalesce import coalesce
from wengert.engine.core.dtypes import BOOL, FLOAT64
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Load
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Branch, Loop, Nest, Program, Step, Store, While, all_steps

SIZE = 2
X = np.arange(1.0, 1 + SIZE * SIZE).reshape(SIZE, SIZE)


def matrices(count: int) -> list[Buffer]:
    return [Buffer(FLOAT64, (SIZE, SIZE), f"m{n}") for n in range(count)]


def flags(count: int) -> list[Buffer]:
    return [Buffer(BOOL, (), f"f{n}") for n in range(count)]


def moved(source: Buffer, target: Buffer, part: str = "", counter: Dim | None = None) -> Nest:
    """Return a nest that copies all of a matrix, or its diagonal, or a row at a counter; or that transposes it."""
    i, j = (Index.of(Dim(SIZE, name)) for name in "ij")
    row = Index.of(counter) if part == "row" and counter else i
    column = i if part == "diagonal" else j
    dims = {"row": (j,), "diagonal": (i,)}.get(part, (i, j))
    read = (column, row) if part == "transposed" else (row, column)
    return Nest(
        tuple(dim for index in dims for dim in index.dims()),
        (Store(target, (row, column), Load(source, read)),),
    )


def changed(target: Buffer, other: Buffer) -> Nest:
    """Return a nest that adds another matrix to one."""
    i, j = Dim(SIZE, "i"), Dim(SIZE, "j")
    indices = (Index.of(i), Index.of(j))
    value = Apply("add", (Load(target, indices), Load(other, indices)), FLOAT64)
    return Nest((i, j), (Store(target, indices, value),))


def told(flag: Buffer, value: Buffer | bool) -> Nest:
    """Return a nest that sets a truth value."""
    what: Expression = Load(value, ()) if isinstance(value, Buffer) else Const(value, BOOL)
    return Nest((), (Store(flag, (), what),))


def results(program: Program, *, yes: bool = True) -> list[Any]:
    return [value.tolist() for value in Interpreter(program)(X, yes)]


def written(program: Program) -> set[Buffer]:
    nests = (step for step in all_steps(program.steps) if isinstance(step, Nest))
    return {buffer for nest in nests for buffer in nest.writes()}


def test_a_result_stays_while_a_loop_goes_on_with_a_copy() -> None:
    """The first copy goes; with the second gone as well, the loop would change the result."""
    x, made, carried, first, last = matrices(5)
    steps = (
        moved(x, made),
        changed(made, made),
        moved(made, carried),
        moved(made, first),
        Loop(Dim(2), False, (changed(carried, carried),)),
        moved(carried, last),
    )
    program = Program((x, *flags(1)), (), (first, last), steps)
    assert results(program) == results(coalesce(program)) == [(2 * X).tolist(), (8 * X).tolist()]


def test_what_a_loop_carries_is_made_in_the_result() -> None:
    x, carried, last = matrices(3)
    steps = (moved(x, carried), Loop(Dim(2), False, (changed(carried, carried),)), moved(carried, last))
    found = coalesce(Program((x, *flags(1)), (), (last,), steps))
    assert results(found) == [(4 * X).tolist()]
    assert written(found) == {last}


def test_an_element_in_each_turn_is_no_copy_of_the_whole() -> None:
    """Turn by turn, what a loop carries gives one element each to a result of its size."""

    def function(a: Any) -> Any:
        def body(c: Any, n: Any) -> Any:
            c = np.cumsum(c)
            return c, c[n]

        return wg.scan(body, a, np.arange(len(a)))[1]

    check(function, np.linspace(0.1, 1.0, 5))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw a program of copies and sums, in loops and branches, that reads what was written before.

    One of the results may take the place of the argument.
    """
    x, first, last, *own = matrices(7)
    (yes,) = flags(1)
    outputs = draw(st.sampled_from([(first, last), (x, last)]))

    def block(known: list[Buffer], around: tuple[Dim, ...]) -> tuple[Step, ...]:
        steps: list[Step] = []
        for _ in range(draw(st.integers(1, 5))):
            kinds = (
                ["copy"] * 4 + ["part"] * 3 + ["change"] * 3 + ["loop", "while", "branch"] * (len(around) < 2)
            )
            kind = draw(st.sampled_from(kinds))
            if kind == "loop":
                counter = Dim(draw(st.sampled_from([0, SIZE, SIZE])), "t")
                inside = known if counter.extent else list(known)
                steps.append(Loop(counter, False, block(inside, (*around, counter))))
            elif kind == "while":
                flag, again, more = flags(3)
                turn = (*block(list(known), (*around, Dim(1))), told(again, more), told(more, False))
                steps += [told(again, yes), told(more, yes), While(flag, (told(flag, again),), turn)]
            elif kind == "branch":
                one, other = (block(list(known), (*around, Dim(1))) for _ in range(2))
                steps.append(Branch(yes, one, other))
            else:
                source = draw(st.sampled_from(known))
                target = draw(st.sampled_from([*own, *outputs] if kind == "copy" else known))
                if target is x not in outputs:
                    continue
                steps.append(leaf(kind, source, target, around))
                known.append(target)
        return tuple(steps)

    def leaf(kind: str, source: Buffer, target: Buffer, around: tuple[Dim, ...]) -> Nest:
        if kind == "change":
            return changed(target, source)
        if kind == "copy" or source is target:
            return moved(source, target)
        counters = [dim for dim in around if dim.extent == SIZE]
        part = draw(st.sampled_from(["diagonal", "transposed", *["row"] * len(counters)]))
        return moved(source, target, part, draw(st.sampled_from(counters)) if part == "row" else None)

    known = [x]
    steps = block(known, ())
    steps += tuple(moved(draw(st.sampled_from(known)), out) for out in outputs if out not in known)
    return Program((x, yes), (), outputs, steps)


@given(programs(), st.booleans())
@examples(1000)
def test_drawn_programs(program: Program, yes: bool) -> None:
    assert results(coalesce(program), yes=yes) == results(program, yes=yes)


@pytest.mark.slow
def test_turns_that_write_elements_copy_no_array() -> None:
    """Copies of what a loop carries are gone before examples are put into blocks, which would keep them."""

    def by_loops(w: Any, x: Any) -> Any:
        y = np.zeros((len(x), len(w), 26, 26))
        for k in range(len(w)):
            for i in range(26):
                for j in range(26):
                    y[:, k, i, j] = np.sum(x[:, :, i : i + 3, j : j + 3] * w[k], axis=(1, 2, 3))
        return np.sum(np.tanh(y))

    rng = np.random.default_rng(0)
    w, x = rng.standard_normal((6, 1, 3, 3)), rng.standard_normal((10, 1, 28, 28))
    slope = wg.jit(wg.grad(by_loops))
    expected = wg.grad(lambda w: np.sum(np.tanh(wg.nn.convolve(x, w))))(w)
    np.testing.assert_allclose(slope(w, x), expected, rtol=1e-9)
    assert slope.report(w, x).bytes < 20e6, "a copy in each turn would move gigabytes"
