"""Copies that are taken away: what a program computes stays as it was."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nest.interpreting import Interpreter
from wengert.backend.coalesce import coalesce
from wengert.dtypes import BOOL, FLOAT64
from wengert.nest.expression import Apply, Buffer, Const, Expression, Load
from wengert.nest.index import Dim
from wengert.nest.nest import Branch, Loop, Nest, Program, Step, Store, While, all_steps


def stored(target: Buffer, value: Expression) -> Nest:
    return Nest((), (Store(target, (), value),))


def copied(source: Buffer, target: Buffer) -> Nest:
    return stored(target, Load(source, ()))


def changed(target: Buffer, *others: Buffer) -> Nest:
    """Return a nest that adds other values to what a buffer holds."""
    value: Expression = Load(target, ())
    for other in others or (target,):
        value = Apply("add", (value, Load(other, ())), FLOAT64)
    return stored(target, value)


def scalars(count: int) -> list[Buffer]:
    return [Buffer(FLOAT64, (), f"s{n}") for n in range(count)]


def results(program: Program, x: float = 3.0) -> list[float]:
    return [float(value) for value in Interpreter(program)(x, 1)]


def test_a_result_stays_while_a_loop_goes_on_with_a_copy() -> None:
    """The first copy goes; with the second gone as well, the loop would change the result."""
    x, made, carried, first, last = scalars(5)
    yes = Buffer(BOOL, ())
    steps = (
        copied(x, made),
        changed(made),
        copied(made, carried),
        copied(made, first),
        Loop(Dim(2), False, (changed(carried),)),
        copied(carried, last),
    )
    program = Program((x, yes), (), (first, last), steps)
    assert results(program) == results(coalesce(program)) == [6.0, 24.0]


def test_what_a_loop_carries_is_made_in_the_result() -> None:
    x, carried, last = scalars(3)
    yes = Buffer(BOOL, ())
    steps = (copied(x, carried), Loop(Dim(2), False, (changed(carried),)), copied(carried, last))
    found = coalesce(Program((x, yes), (), (last,), steps))
    assert results(found) == [12.0]
    assert {
        buffer for step in all_steps(found.steps) if isinstance(step, Nest) for buffer in step.writes()
    } == {last}


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw a program of copies and sums, in loops and branches, that reads what was written before.

    One of the results may take the place of the argument.
    """
    x, first, last, *own = scalars(7)
    yes = Buffer(BOOL, ())
    outputs = draw(st.sampled_from([(first, last), (x, last)]))

    def block(known: list[Buffer], depth: int) -> list[Step]:
        steps: list[Step] = []
        for _ in range(draw(st.integers(1, 5))):
            kind = draw(
                st.sampled_from(["copy"] * 4 + ["change"] * 2 + ["loop", "while", "branch"] * (depth < 2))
            )
            if kind == "loop":
                steps.append(Loop(Dim(2), False, tuple(block(known, depth + 1))))
            elif kind == "while":
                again, flag = Buffer(BOOL, ()), Buffer(BOOL, ())
                turn = (*block(known, depth + 1), stored(again, Const(False, BOOL)))
                steps += [copied(yes, again), While(flag, (copied(again, flag),), turn)]
            elif kind == "branch":
                one, other = (tuple(block(list(known), depth + 1)) for _ in range(2))
                steps.append(Branch(yes, one, other))
            else:
                source = draw(st.sampled_from(known))
                target = draw(st.sampled_from([*own, *outputs] if kind == "copy" else known))
                if target is x not in outputs:
                    continue
                steps.append(copied(source, target) if kind == "copy" else changed(target, source))
                known.append(target)
        return steps

    known = [x]
    steps = block(known, 0)
    steps += [copied(draw(st.sampled_from(known)), out) for out in outputs if out not in known]
    return Program((x, yes), (), outputs, tuple(steps))


@given(programs())
@settings(max_examples=300, deadline=None)
def test_drawn_programs(program: Program) -> None:
    np.testing.assert_equal(results(coalesce(program)), results(program))
