"""Lists of tuples of numbers whose length only a run knows: compiled, programs compute what Python does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import program_of
from tests.engine.transforms.random_tuples import Tuples
from tests.engine.transforms.test_staged_lists import assert_same, outcome
from wengert.errors import StagingError

_X = np.array([3.0, -1.0, 2.0, 5.0, 0.5, -2.0])
_GRID = np.array([[0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 1, 1]])


def chosen(x: Any) -> Any:
    path: list[Any] = []
    for i in range(len(x)):
        if x[i] > 0.7:
            path.append((i, x[i]))
    total = 0.0
    for i, value in path:
        total += i * value
    return total, len(path), path[-1][1], path[0][0], path[0]


def quick_sort(x: Any) -> Any:
    x = x.copy()
    stack = [(0, len(x) - 1)]
    while stack:
        low, high = stack.pop()
        if low >= high:
            continue
        pivot, i = x[high], low
        for j in range(low, high):
            if x[j] < pivot:
                x[i], x[j] = x[j], x[i]
                i += 1
        x[i], x[high] = x[high], x[i]
        stack.append((low, i - 1))
        stack.append((i + 1, high))
    return x


def flooded(x: Any) -> Any:
    seen, count = np.zeros((3, 4)), 0
    queue = [(0, 1)]
    while queue:
        i, j = queue.pop(0)
        if not (0 <= i < 3 and 0 <= j < 4):
            continue
        if seen[i, j] or _GRID[i, j] * x[3] <= 0:
            continue
        seen[i, j] = count
        count += 1
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            queue.append((i + di, j + dj))
    return count, seen


def merged(x: Any) -> Any:
    spans: list[Any] = []
    for k in range(6):
        low, high = k * 1.0, k + abs(x[k])
        if spans and low <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], high))
        else:
            spans.append((low, high))
    return len(spans), sum(high - low for low, high in spans) if len(spans) > 9 else spans[-1][1]


class Step(NamedTuple):
    time: float
    state: tuple[float, float]


def named(x: Any) -> Any:
    steps = [Step(0.0, (x[0], 1.0))]
    time, value = 0.0, x[0]
    while time < 1.0:
        size = 0.1 if value > 1.0 else 0.2
        value -= size * value
        time += size
        steps.append(Step(time, (value, value * value)))
    last = steps[-1]
    return len(steps), last.time, last.state[1], steps[1].state[0]


def always(x: Any) -> Any:
    path: list[Any] = []
    value = 1.0
    for i in range(20):
        value = 0.9 * value + x[i % 6]
        path.append((i, value))
    return path[3], path[-1][1], len(path), [value for _, value in path]


def comprehended(x: Any) -> Any:
    pairs = [(i, value) for i, value in enumerate(x) if value > 0]
    best = pairs[0]
    for pair in pairs:
        if pair[1] > best[1]:
            best = pair
    firsts = [0.0 * x[0] + v for _, v in pairs[:2]]
    return best, firsts[0]


def searched(x: Any) -> Any:
    seen: list[Any] = []
    i, j, turns = 0, 0, 0
    while (i, j) not in seen and turns < 30:
        seen.append((i, j))
        i, j = (i + 2) % 5, (j + 1 if x[i] > 0 else j + 2) % 3
        turns += 1
    return turns, i, j


def as_array(x: Any) -> Any:
    rows: list[Any] = []
    for value in x:
        if value > 0:
            rows.append((value, value * value))
    table = np.array(rows)
    return table[:, 1].sum(), table.sum(axis=0), table[-1, 0]


def parts(x: Any) -> Any:
    rows = [(0.0, 1)]
    for i in range(6):
        if x[i] > 0:
            rows.insert(0, (x[i], i))
    del rows[0]
    rest = rows[1:]
    rows.clear()
    rows += [(x[1], 7)]
    return rest[0], len(rest), len(rows), rows[0], rest == [], rows[-1][1]


def widened(x: Any) -> Any:
    rows = [(0, 0.0)]
    for value in x:
        if value > 0:
            rows.append((value, rows[-1][1] + value))
    return rows[-1][0], rows[-1][1]


def returned_from(x: Any) -> Any:
    def peaks(values: Any) -> Any:
        found: list[Any] = []
        for i in range(1, len(values) - 1):
            if values[i - 1] < values[i] > values[i + 1]:
                found.append((i, values[i]))
        return found

    found = peaks(x)
    return len(found), found[0][1] if found else 0.0


@pytest.mark.parametrize(
    "program",
    [
        *(chosen, quick_sort, flooded, merged, named, always, comprehended, searched),
        *(as_array, parts, widened, returned_from),
    ],
)
def test_programs_are_pythons(program: Callable[..., Any]) -> None:
    compiled = wg.jit(program)
    for x in (_X, _X[::-1].copy()):
        found, expected = wg.tree.leaves(compiled(x)), wg.tree.leaves(program(x))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=program.__name__)


@pytest.mark.parametrize("program", [chosen, merged, named, as_array, quick_sort])
def test_slopes_are_the_eager_ones(program: Callable[..., Any]) -> None:
    def total(x: Any) -> Any:
        return sum(np.sum(np.sin(part)) for part in wg.tree.leaves(program(x)))

    for x in (_X, _X[::-1].copy()):
        np.testing.assert_allclose(wg.jit(wg.grad(total))(x), wg.grad(total)(x), rtol=1e-10, atol=1e-12)


def two_names(x: Any) -> Any:
    rows = [(0.0, 1.0)]
    others = rows
    for value in x:
        if value > 0:
            rows.append((value, 1.0))
    return len(others), len(rows)


def several_forms(x: Any) -> Any:
    rows: list[Any] = []
    for value in x:
        rows.append((value, 1.0) if value > 0 else (value, 1.0, 2.0))
    return len(rows[0])


def lists_inside(x: Any) -> Any:
    rows: list[Any] = []
    for value in x:
        if value > 0:
            rows.append(([value], 1.0))
            rows[-1][0].append(2.0)
    return rows[0][0][0], len(rows)


def gone_through(x: Any) -> Any:
    rows, total = [(1.0, 0)], 0.0
    for value, number in rows:
        total += value
        if value < x[0] and number < 5:
            rows.append((value + 1, number + 1))
    return total


_OUTSIDE: list[Any] = []


def outside(x: Any) -> Any:
    if x[0] > 0:
        _OUTSIDE.append((x[0], 1.0))
    return x[0]


@pytest.mark.parametrize("program", [two_names, several_forms, lists_inside, gone_through, outside])
def test_what_is_not_part_of_a_program_is_refused_or_right(program: Callable[..., Any]) -> None:
    try:
        found = wg.tree.leaves(wg.jit(program)(_X))
    except StagingError:
        return
    assert not _OUTSIDE
    np.testing.assert_allclose(found, wg.tree.leaves(program(_X)))


@pytest.mark.parametrize("seed", range(many(10)))
def test_random_programs_are_pythons(seed: int) -> None:
    source = Tuples(seed).source()
    program = program_of(source, f"tuples {seed}")
    compiled = wg.jit(program)
    for arguments in ((_X, 0.4, 6), (-_X, -0.7, 3)):
        expected, found = outcome(program, *arguments), outcome(compiled, *arguments)
        if found is not None:
            assert_same(found, expected, source)
