"""Lists whose length only a run knows: compiled, they have Python's values, exceptions and derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import Lists, program_of
from tests.engine.transforms.test_staged_lists import ARGUMENTS, assert_same, outcome
from wengert.errors import StagingError

_COUNT = many(40)
_X = np.array([0.5, 1.0, 2.0, -0.3, 0.7, 3.0, -0.2, 0.1])


@pytest.mark.parametrize("seed", range(_COUNT))
def test_random_programs_are_pythons(seed: int) -> None:
    source = Lists(seed, is_open=True).source()
    program = program_of(source, f"lengths {seed}")
    compiled = wg.jit(program)
    for arguments in ARGUMENTS:
        expected, found = outcome(program, *arguments), outcome(compiled, *arguments)
        if found is not None:
            assert_same(found, expected, source)


@pytest.mark.parametrize("seed", range(_COUNT // 4))
def test_gradients_of_random_programs_are_the_eager_ones(seed: int) -> None:
    source = Lists(seed + 10_000, is_open=True).source()
    program = program_of(source, f"slopes of lengths {seed}")

    def total(x: Any, a: Any, n: Any, k: Any) -> Any:
        parts = [np.sum(part) for part in wg.tree.leaves(program(x, a, n, k))]
        return sum(np.sin(part) for part in parts) + 0.0 * a

    slope = wg.grad(total, argnums=(0, 1))
    compiled = wg.jit(slope)
    for arguments in ARGUMENTS:
        expected, found = outcome(slope, *arguments), outcome(compiled, *arguments)
        if found is not None:
            assert_same(found, expected, source, 1e-9)


# -- programs as they are written ------------------------------------------------------------------------


def chosen(x: Any) -> Any:
    found: list[Any] = []
    for value in x:
        if value > 0.2:
            found.append(value * value)
    return np.sum(1.0 / np.array(found)) + np.mean(found) + np.std(found) + len(found)


def until_negative(x: Any) -> Any:
    found: list[Any] = []
    for value in x:
        if value < 0:
            break
        found.append(np.sin(value))
    return sum(found) + found[-1] * found[0]


def changed_and_read(x: Any) -> Any:
    found = [value for value in x if value > 0.2]
    for number, value in enumerate(found):
        if value > 1:
            found[number] = value * 2
    total = 0.0
    for one, other in zip(found, x, strict=False):
        total += one * other
    for value in reversed(found):
        total = total * 0.9 + value
    return total + max(found) - min(found)


def euler_steps(x: Any) -> Any:
    times, states = [0.0], [x[1]]
    while times[-1] < 1.0:
        slope = -states[-1] * x[0]
        step = 0.05 if abs(slope) > 0.4 else 0.1
        states.append(states[-1] + step * slope)
        times.append(times[-1] + step)
    return np.trapezoid(states, times) + len(times)


def tree_walk(x: Any) -> Any:
    stack, total = [0], 0.0
    while stack:
        node = stack.pop()
        if node < 20 and x[node % 8] > 0:
            total += x[node % 8] * node
            stack.append(2 * node + 1)
            stack.append(2 * node + 2)
    return total


def breadth_first(x: Any) -> Any:
    queue, front = [x[0]], 0
    while front < len(queue) and len(queue) < 30:
        value = queue[front]
        front += 1
        if value < 3:
            queue.append(value * 1.7)
            queue.append(value + x[front % 8] ** 2)
    return sum(queue) + queue[len(queue) // 2]


def first_in_first_out(x: Any) -> Any:
    queue, total, seen = [0], 0.0, np.zeros(8)
    while queue:
        node = queue.pop(0)
        if seen[node] == 0:
            seen[node] = 1
            total += x[node] * len(queue) + x[node]
            for other in (2 * node + 1, (3 * node + 2) % 8):
                if other < 8 and x[other] > -0.25:
                    queue.append(other)
    return total


def upper_hull(x: Any) -> Any:
    hull: list[Any] = []
    for i in range(len(x)):
        while len(hull) >= 2 and (x[hull[-1]] - x[hull[-2]]) * (i - hull[-1]) <= (x[i] - x[hull[-1]]) * (
            hull[-1] - hull[-2]
        ):
            hull.pop()
        hull.append(i)
    area = 0.0
    for k in range(len(hull) - 1):
        area += (x[hull[k]] + x[hull[k + 1]]) * (hull[k + 1] - hull[k]) / 2
    return area


def rows(x: Any) -> Any:
    found = []
    for value in x:
        if value > 0:
            found.append(np.array([value, value**2, 1.0]))
    matrix: Any = np.array(found)
    return (matrix**2).sum() + matrix[:, 1].sum()


def pairs(x: Any) -> Any:
    return sum([x[i] * x[j] for i in range(8) for j in range(8) if x[i] < x[j]]) + max(
        v for v in x if v < 0.8
    )


def written_into_an_array(x: Any) -> Any:
    found = [value * value for value in x if value > 0.2]
    y = np.zeros(8)
    y[: len(found)] = found
    return y.sum() + y[1] * y[3]


class _History:
    def __init__(self) -> None:
        self.items: list[Any] = []


def attribute(x: Any) -> Any:
    history, found = _History(), {"all": [x[0]]}
    for value in x:
        if value > 0:
            history.items.append(value)
        else:
            found["all"].append(value)
    return sum(history.items) * len(found["all"]) + sum(found["all"])


def one_branch(x: Any) -> Any:
    found = [x[0]]
    if x[1] > 0.5:
        found.append(x[1])
        found.append(x[2])
    else:
        found.pop()
    found.append(x[3])
    return sum(found) * len(found)


def grows_behind_the_loop(x: Any) -> Any:
    found = [x[0]]
    while len(found) < 5 and found[-1] < 4:
        found.append(found[-1] * 1.5)
    for value in x:
        found.append(value)
    return sum(found) + len(found)


def caught(x: Any) -> Any:
    found: list[Any] = []
    try:
        for i in range(8):
            found.append(math.sqrt(x[1] * 4.5 - i))
    except ValueError:
        found.append(x[2])
    return sum(found) + len(found)


def nothing(x: Any) -> Any:
    found = [value for value in x if value > 100.0]
    return sum(found) + len(found) * x[0]


PROGRAMS = [
    *(
        chosen,
        until_negative,
        changed_and_read,
        euler_steps,
        tree_walk,
        breadth_first,
        first_in_first_out,
        upper_hull,
        rows,
    ),
    *(pairs, written_into_an_array, attribute, one_branch, grows_behind_the_loop, caught, nothing),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_slopes(program: Callable[..., Any]) -> None:
    expected, slope = wg.value_and_grad(program)(_X)
    value, compiled = wg.jit(wg.value_and_grad(program))(_X)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(compiled, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_examples_have_lengths_of_their_own(program: Callable[..., Any]) -> None:
    examples = np.stack([_X, 0.9 * _X, 1.1 * _X + 0.01])
    with np.errstate(divide="ignore"):
        found = wg.vmap(program)(examples)
    np.testing.assert_allclose(found, [program(example) for example in examples], rtol=1e-12)


@pytest.mark.parametrize("program", [euler_steps, upper_hull, changed_and_read])
def test_second_derivatives(program: Callable[..., Any]) -> None:
    found = wg.jit(wg.hessian(program))(_X)
    np.testing.assert_allclose(found, wg.hessian(program)(_X), rtol=1e-9, atol=1e-12)


# -- exceptions ------------------------------------------------------------------------------------------


def last_of_none(x: Any) -> Any:
    return [value for value in x if value > 100.0][-1]


def largest_of_none(x: Any) -> Any:
    return max([value for value in x if value > 100.0])


def popped_too_often(x: Any) -> Any:
    found = [x[0]]
    for value in x:
        if value > 0:
            found.pop()
    return sum(found)


@pytest.mark.parametrize("program", [last_of_none, largest_of_none, popped_too_often])
def test_exceptions_are_pythons(program: Callable[..., Any]) -> None:
    with pytest.raises((IndexError, ValueError)) as expected:
        program(_X)
    with pytest.raises(expected.type):
        wg.jit(program)(_X)


def test_a_list_beyond_its_room_is_pythons() -> None:
    def steps(x: Any) -> Any:
        found = [x]
        while len(found) * x < 17_000:
            found.append(found[-1] * 1.0)
        return len(found)

    assert wg.jit(steps)(1.0) == 17_000


def returned(x: Any) -> Any:
    return [value for value in x if value > 0]


def shown_twice(x: Any) -> Any:
    found: list[Any] = []
    other = found
    for value in x:
        if value > 0:
            found.append(value)
    return sum(other)


def grows_while_it_is_read(x: Any) -> Any:
    found = [value for value in x if value > 0]
    for value in found:
        if value < 5:
            found.append(value * 2 + 1)
    return sum(found)


_OUTSIDE: list[Any] = []


def outside(x: Any) -> Any:
    for value in x:
        if value > 0:
            _OUTSIDE.append(value)
    return sum(_OUTSIDE)


def held_elsewhere(x: Any) -> Any:
    s = x[:3].copy()
    path, c = [s], 0.0
    for _ in range(7):
        if s[0] > 100:
            c = 1.0
        s += 1.0
        path.append(s.copy())
    return np.array(path).sum() + c


def joined(x: Any) -> Any:
    found = [value for value in x if value > 0]
    return sum([*found, 1.0])


@pytest.mark.parametrize(
    "program", [returned, shown_twice, grows_while_it_is_read, outside, held_elsewhere, joined]
)
def test_what_is_not_part_of_a_program_is_refused_or_right(program: Callable[..., Any]) -> None:
    try:
        found = wg.jit(program)(_X)
    except StagingError:
        return
    assert not _OUTSIDE
    np.testing.assert_allclose(found, program(_X))


# -- arrays without axes, which are no numbers -----------------------------------------------------------


def either_is_written(x: Any) -> Any:
    s = np.zeros(())
    u = s if x[0] > 0 else np.ones(())
    u += x[1]
    return s * 1.0


def appended_and_written(x: Any) -> Any:
    found, s = [], np.zeros(())
    for value in x:
        s += value
        if value > 0:
            found.append(s)
    return sum(found)


def element_is_written(x: Any) -> Any:
    found = [np.array(value) for value in x if value > 0]
    first = found[0]
    first += x[1]
    return found[0] * 1.0


def placed_and_written(x: Any) -> Any:
    found: list[Any] = [0.0] * 4
    s = np.zeros(())
    for i in range(4):
        s += x[i]
        if x[i] > 0:
            found[i] = s
    return found[0] * 1.0


def best_is_written(x: Any) -> Any:
    best, s = np.array(-9.0), np.zeros(())
    for i in range(4):
        s += x[i]
        if s > best:
            best = s
    return best * 1.0


def one_branch_writes(x: Any) -> Any:
    s = np.array(0.0)
    b = s
    for i in range(4):
        if x[i] > b:
            b = np.array(x[i])
        else:
            b += 1.0
    return b + 10 * s


def accumulated(x: Any) -> Any:
    s, best, found = np.zeros(()), np.array(-9.0), []
    for value in x:
        if value > 0:
            s += value
            found.append(s.copy())
        if value > best:
            best = value
    return s * best + sum(found)


@pytest.mark.parametrize(
    ("program", "is_refused"),
    [
        *((either_is_written, True), (appended_and_written, True), (element_is_written, True)),
        *((placed_and_written, True), (best_is_written, True), (one_branch_writes, True)),
        (accumulated, False),
    ],
)
def test_writes_into_arrays_without_axes(program: Callable[..., Any], is_refused: bool) -> None:
    for x in (_X, 0.3 - _X):
        try:
            found = wg.jit(program)(x)
        except StagingError:
            assert is_refused
            continue
        np.testing.assert_allclose(found, program(x))


def test_a_comprehension_is_evaluated_once() -> None:
    seen: list[int] = []

    def mark(value: Any) -> Any:
        seen.append(1)
        return value

    def program(x: Any) -> Any:
        known = [mark(value) for value in x if mark(True)]
        return sum(known) if x[0] > 0 else 0.0

    assert wg.jit(program)(_X) == pytest.approx(_X.sum())
    runs = len(seen)
    seen.clear()
    program(_X)
    assert runs % len(seen) == 0  # each run of the function evaluates it once


def test_a_long_loop_is_compiled_as_fast_as_a_short_one() -> None:
    def count(n: int) -> int:
        return len(wg.trace(chosen)(np.linspace(-1.0, 1.0, n)).equations)

    assert count(20) == count(20_000)
