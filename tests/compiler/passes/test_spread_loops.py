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
