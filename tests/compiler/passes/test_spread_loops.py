"""Loops over elements become nests where their turns are independent, and compute the same numbers, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.element_loops import LENGTH, written
from tests.draws import many


def _arguments(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=LENGTH), rng.normal(size=LENGTH)


def _flat(results: Any) -> Any:
    return np.concatenate([np.ravel(x) for x in results])


def _total(program: Any) -> Any:
    weights = np.cos(np.arange(LENGTH))

    def total(x: Any, a: Any) -> Any:
        y, z, s, t = program(x, a)
        return y @ weights + z @ (weights - 0.3) + s + 0.5 * t

    return total


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that compiles without the pass."""
    monkeypatch.setenv("WENGERT_CACHE", "off")

    def run(function: Any, *arguments: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr("wengert.compiler.passes.spread_loops._Spread._nests", lambda self, loop: None)
            return wg.jit(function)(*arguments)

    return run


@pytest.fixture(autouse=True)
def short_loops_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have terms added at once in loops of few turns, too."""
    monkeypatch.setattr("wengert.compiler.passes.spread_loops._LEAST_GATHERED", 2)


def _compare(seed: int, apart: Any) -> None:
    program, arguments = written(seed), _arguments(seed)
    with np.errstate(all="ignore"):
        expected = _flat(program(*arguments))
        np.testing.assert_allclose(_flat(wg.jit(program)(*arguments)), expected, rtol=1e-12, atol=1e-12)
        spread, plain = _flat(wg.jit(program)(*arguments)), _flat(apart(program, *arguments))
        np.testing.assert_array_equal(spread, plain)
        slope = wg.grad(_total(program), (0, 1))
        found, eager = wg.jit(slope)(*arguments), slope(*arguments)
    np.testing.assert_array_equal(found, apart(slope, *arguments))
    np.testing.assert_allclose(found, eager, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(many(30)))
def test_random_loops_have_the_bits_of_turns_one_by_one(seed: int, apart: Any) -> None:
    _compare(seed, apart)


@pytest.mark.parametrize("seed", range(many(8)))
def test_random_loops_with_totals(seed: int, apart: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.compiler.passes.totals._LEAST_TURNS", 2)
    program, arguments = written(seed), _arguments(seed)
    slope = wg.grad(_total(program), (0, 1))
    with np.errstate(all="ignore"):
        for function in (program, slope):
            found, expected = wg.jit(function)(*arguments), apart(function, *arguments)
            np.testing.assert_allclose(_flat(found), _flat(expected), rtol=1e-10, atol=1e-10)


def _sums(x: Any, a: Any) -> Any:
    if x[0] < -1e300:
        raise ValueError("so small")
    first, second, third, last = 0.0, 1.0, -0.0, 0.0
    for i in range(1, 40):
        if x[i] > 0.0:
            first += x[i] * a[i]
        else:
            first -= a[i - 1]
        second -= np.sin(x[i])
        if a[i] > x[i]:
            third += a[i]
        last = last + x[i] - 0.5 * last  # no total
    return first, second, third, last


def test_totals_of_choices_and_differences(apart: Any) -> None:
    x, a = np.random.default_rng(0).normal(size=(2, 40))
    np.testing.assert_allclose(wg.jit(_sums)(x, a), _sums(x, a), rtol=1e-13)

    def weighted(x: Any, a: Any) -> Any:
        return np.dot(_sums(x, a), [1.0, 2.0, 3.0, 4.0])

    gradient = wg.grad(weighted, (0, 1))
    np.testing.assert_allclose(wg.jit(gradient)(x, a), gradient(x, a), rtol=1e-13, atol=1e-15)


def test_a_number_that_turns_read_is_no_total() -> None:
    def program(x: Any) -> Any:
        if x[0] < -1e300:
            raise ValueError("so small")
        s, y = 0.0, np.zeros(40)
        for i in range(40):
            s += x[i]
            y[i] = s
        return s, y

    x = np.random.default_rng(0).normal(size=40)
    for found, expected in zip(wg.jit(program)(x), program(x), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("values", [[np.inf, 1.0], [np.nan, 1.0], [np.inf, -np.inf], [0.0, -0.0]])
def test_totals_of_special_numbers(values: list[float]) -> None:
    def program(x: Any) -> Any:
        if x[0] == 17.0:
            raise ValueError("seventeen")
        s = 0.0
        for i in range(40):
            s += x[i]
        return s

    x = np.resize(values, 40)
    with np.errstate(invalid="ignore"):
        found, expected = wg.jit(program)(x), program(x)
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(found) or np.signbit(found) == np.signbit(expected)
