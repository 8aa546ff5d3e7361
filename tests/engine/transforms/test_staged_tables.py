"""Lists of lists in loops: compiled, programs compute what Python does, in a time that does not grow with the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import program_of
from tests.engine.transforms.random_tables import Tables
from tests.engine.transforms.test_staged_lists import assert_same, outcome
from wengert.engine.transforms.staging import evaluate
from wengert.errors import StagingError

_X = np.array([3.0, -1.0, 2.0, 5.0, 0.5, -2.0])
_ARGUMENTS = ((_X, 0.4, 6), (-_X, -0.7, 3))


def path_sums(x: Any, n: int = 40) -> Any:
    best = [[0.0] * 6 for _ in range(n)]
    for i in range(1, n):
        for j in range(6):
            best[i][j] = max(best[i - 1][j], best[i - 1][j - 1] + x[j])
    return max(best[-1]), best[n // 2][3]


def appended(x: Any, n: int = 40) -> Any:
    rows: list[Any] = []
    for i in range(n):
        row = []
        for j in range(6):
            row.append(x[j] * i + (rows[i - 1][j] * 0.1 if i else 0.0))
        rows.append(row)
    return len(rows), rows[-1][0]


def by_name(x: Any, n: int = 40) -> Any:
    table = [[0.0] * 6 for _ in range(n)]
    for i in range(1, n):
        before, now = table[i - 1], table[i]
        for j in range(6):
            now[j] = 0.9 * before[j] + x[j] if x[j] > before[j] else before[j]
    return len(table), table[n - 1][3]


def in_while(x: Any, n: int = 40) -> Any:
    table = [[0.0] * 6 for _ in range(n)]
    i, t = 0, 1.0
    while i < n and t < 100.0:
        table[i][i % 6] = t
        t = 1.05 * t + 0.01 * abs(x[i % 6])
        i += 1
    return i, sum(sum(row) for row in table)


PROGRAMS = [path_sums, appended, by_name, in_while]


@pytest.mark.parametrize("function", PROGRAMS)
def test_traces_of_textbook_programs_are_pythons(function: Any) -> None:
    np.testing.assert_allclose(evaluate(wg.trace(function)(_X), _X), function(_X), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("function", PROGRAMS)
def test_textbook_programs_are_pythons(function: Any) -> None:
    np.testing.assert_allclose(wg.jit(function)(_X), function(_X), rtol=1e-13)

    def second(x: Any) -> Any:
        return function(x)[1]

    slope = wg.grad(second)
    np.testing.assert_allclose(wg.jit(slope)(_X), slope(_X), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("function", [path_sums, appended, by_name])
def test_programs_are_as_long_for_many_rows(function: Any) -> None:
    few, many_ = (len(wg.trace(lambda x, n=n: function(x, n))(_X).equations) for n in (300, 600))
    assert many_ < few + 10


def test_a_row_that_another_name_shows_keeps_its_writes() -> None:
    def program(x: Any) -> Any:
        rows = [[0.0, 0.0] for _ in range(6)]
        first = rows[2]
        for i in range(6):
            rows[i][0] = x[i]
        return first[0]

    assert wg.jit(program)(_X) == 2.0


def test_a_row_that_was_appended_keeps_its_writes() -> None:
    def program(x: Any) -> Any:
        rows: list[Any] = []
        row = [0.0, 0.0]
        for i in range(9):
            if x[i % 6] > 0:
                row = [x[i % 6], 1.0]
                rows.append(row)
                rows[-1][1] = 5.0
        return row[1]

    with pytest.raises(StagingError, match="list"):
        wg.jit(program)(_X)


def put_and_written(x: Any) -> Any:
    rows, z = [[0.0, 1.0] for _ in range(8)], [3.0, 4.0]
    for i in range(6):
        if x[i] > 0:
            rows[i] = z
        rows[i][0] += 1
    return rows[2][0]


def appended_and_written(x: Any) -> Any:
    rows: list[Any] = []
    row, i = [0.0, 1.0], 0
    while i < 6 and x[i] < 9:
        rows.append(row)
        i += 1
    row[1] = 7.0
    total = 0.0
    for one in rows:
        total += one[1]
    return total


def put_by_a_function(x: Any) -> Any:
    rows, z = [[0.0, 1.0] for _ in range(8)], [3.0, 4.0]

    def put(i: Any) -> None:
        rows[i] = z

    i = 0
    while i < 6 and x[i] < 9:
        put(i)
        i += 1
    z[1] = 7.0
    return rows[2][1]


def passed_and_written(x: Any) -> Any:
    rows, i = [[0.0, 1.0]], 0
    while i < 6 and x[i] < 9:
        rows.append([x[i], 1.0])
        i += 1
    for row in rows:
        row[0] = 2.0
    return rows[1][0]


@pytest.mark.parametrize(
    "function", [put_and_written, appended_and_written, put_by_a_function, passed_and_written]
)
def test_a_list_that_is_two_rows_is_refused(function: Any) -> None:
    with pytest.raises(StagingError, match="list"):
        wg.jit(function)(_X)


def _check(seed: int) -> None:
    source = Tables(seed).source()
    program = program_of(source, f"tables {seed}")
    compiled = wg.jit(program)
    for arguments in _ARGUMENTS:
        expected, found = outcome(program, *arguments), outcome(compiled, *arguments)
        if found is not None:
            assert_same(found, expected, source)


@pytest.mark.parametrize("seed", range(many(6)))
def test_random_programs_are_pythons(seed: int) -> None:
    _check(seed)


@pytest.mark.slow
def test_many_random_programs_are_pythons() -> None:
    for seed in range(10, 10 + many(150)):
        _check(seed)
