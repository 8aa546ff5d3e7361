"""Elements written for the next turn are carried in scalars, with the same bits as through memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.element_loops import LENGTH, written
from tests.draws import many
from wengert.compiler.passes import carry_elements


def _upwards(x: Any) -> Any:
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] * y[i] - np.tanh(y[i - 1])
    return y


def _downwards(x: Any) -> Any:
    y = x.copy()
    for i in range(len(x) - 2, -1, -1):
        y[i] = x[i] - 0.3 * y[i + 1]
    return y


def _along_rows(x: Any) -> Any:
    y = np.zeros((len(x), len(x)))
    for i in range(1, len(x)):
        for j in range(1, len(x)):
            y[i, j] = max(y[i - 1, j], y[i, j - 1] - 0.1, y[i - 1, j - 1] + x[j] * x[i])
    return y


def _read_after_the_write(x: Any) -> Any:
    y, s = x.copy(), 0.0
    for i in range(1, len(x)):
        y[i] = np.sin(x[i]) + y[i - 1]
        s += y[i - 1] * y[i]
    return y, s


def _two_steps_back(x: Any) -> Any:
    y = x.copy()
    for i in range(2, len(x)):
        y[i] = 0.5 * y[i - 1] - 0.2 * y[i - 2] * y[i]
    return y


def _written_twice(x: Any) -> Any:
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1]
        y[(3 * i) % len(x)] = x[i]
    return y


def _written_on_a_condition(x: Any) -> Any:
    y = x.copy()
    for i in range(1, len(x)):
        if x[i] > 0.0:
            y[i] = 0.5 * y[i - 1]
    return y


def _from_the_other_end(x: Any) -> Any:
    y = x.copy()
    for i in range(len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def _sum_in_place(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i):
            y[i] += x[j] * y[j]
        y[i] += x[i]
    return y


def _element_of_a_matrix(x: Any) -> Any:
    y = np.outer(x, x) + 60.0 * np.eye(len(x))
    for i in range(len(x)):
        for j in range(i):
            for k in range(j):
                y[i, j] -= y[i, k] * y[j, k]
            y[i, j] /= y[j, j]
    return y


def _until(x: Any) -> Any:
    y, i = x.copy(), 0
    while y[3] > -1.0 and i < 40:
        y[3] -= y[i] * y[i] * 0.1
        i += 1
    return y, i


def _neighbours(x: Any) -> Any:
    y = x.copy()
    for i in range(1, len(x)):
        if y[i] > y[i - 1]:
            y[i] = y[i] - 0.5 * y[i - 1]
        if y[i] < x[i - 1]:
            y[i] += 0.1
    return y


#: Programs, and the scalars that carry elements of theirs.
PROGRAMS = {
    _sum_in_place: 1,
    _element_of_a_matrix: 1,
    _until: 1,
    _neighbours: 1,
    _upwards: 1,
    _downwards: 1,
    _along_rows: 1,
    _read_after_the_write: 1,
    _two_steps_back: 1,
    _written_twice: 0,
    _written_on_a_condition: 1,
    _from_the_other_end: 0,
}


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_VERIFY", "1")
    monkeypatch.setenv("WENGERT_CACHE", "off")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__[1:])
def test_recurrences(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    original: Any = carry_elements._with_scalars  # pyright: ignore[reportPrivateUsage]

    def counted(steps: Any, buffer: Any, scalars: Any) -> Any:
        made.append(scalars[0][1])
        return original(steps, buffer, scalars)

    monkeypatch.setattr(carry_elements, "_with_scalars", counted)
    x = np.random.default_rng(1).normal(size=60)
    found, expected = wg.jit(program)(x), program(x)
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    assert len({*made}) == PROGRAMS[program]


@pytest.mark.parametrize("seed", range(1000, 1000 + many(60)))
def test_random_loops_have_the_bits_of_memory(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program, rng = written(seed), np.random.default_rng(seed)
    x, a = rng.normal(size=LENGTH), rng.normal(size=LENGTH)
    with np.errstate(all="ignore"):
        expected = program(x, a)
        found = wg.jit(program)(x, a)
        monkeypatch.setattr(carry_elements, "_elements", lambda loop: {})
        through_memory = wg.jit(lambda x, a: program(x, a))(x, a)
    for one, other, plain in zip(found, through_memory, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, plain, rtol=1e-12, atol=1e-12)
