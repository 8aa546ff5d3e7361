"""Nests go up through memory, and compute the same bits as nests that go down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.element_loops import LENGTH, written
from tests.draws import many

N = 70


def _down(x: Any) -> Any:
    y = x.copy()
    for i in range(N - 1, 0, -1):
        y[i] -= 0.5 * (x[i] - x[i - 1])
    return y


def _down_rows(x: Any) -> Any:
    y = np.zeros((N, 5))
    for i in range(N - 1, -1, -1):
        for j in range(4, -1, -1):
            y[i, j] = x[i] * j
    return y


def _mirrored(x: Any) -> Any:
    y = np.zeros(N)
    for i in range(N):
        y[N - 1 - i] = np.sin(x[N - 1 - i])
    return y


def _reversed(x: Any) -> Any:
    return x[::-1] + np.cos(x)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_VERIFY", "1")
    monkeypatch.setenv("WENGERT_CACHE", "off")


def _without(function: Any, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr("wengert.compiler.passes.turn_upwards._turned", lambda nest: nest)
        return wg.jit(function)(*arguments)


@pytest.mark.parametrize("program", [_down, _down_rows, _mirrored])
def test_nests_go_up(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, compiled = np.random.default_rng(2).normal(size=N), wg.jit(program)
    assert "[-1 " not in str(compiled.nests(x))
    np.testing.assert_allclose(compiled(x), program(x), rtol=1e-13)
    np.testing.assert_array_equal(compiled(x), _without(program, monkeypatch, x))


def test_most_accesses_decide() -> None:
    x = np.arange(float(N))
    compiled = wg.jit(_reversed)
    assert str(compiled.nests(x)).count("-1 ") == 1
    np.testing.assert_array_equal(compiled(x), _reversed(x))


@pytest.mark.parametrize("seed", range(2000, 2000 + many(50)))
def test_random_loops_have_the_same_bits(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program, rng = written(seed), np.random.default_rng(seed)
    x, a = rng.normal(size=LENGTH), rng.normal(size=LENGTH)
    weights = np.cos(np.arange(LENGTH))

    def total(x: Any, a: Any) -> Any:
        y, z, s, t = program(x, a)
        return y @ weights + z @ (weights - 0.3) + s + 0.5 * t

    with np.errstate(all="ignore"):
        for function in (program, wg.grad(total, (0, 1))):
            found, plain = wg.jit(function)(x, a), _without(function, monkeypatch, x, a)
            for one, other, expected in zip(found, plain, function(x, a), strict=True):
                np.testing.assert_array_equal(one, other)
                np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-10)
