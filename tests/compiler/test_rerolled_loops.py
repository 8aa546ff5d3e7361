"""Unrolled Python loops, compiled as rerolled loops and as straight lists, against eager mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.unrolled import STATEMENTS, drawn, inputs, program
from wengert.engine.machine import costs

ALL = (0, 1, 2, 3)


@pytest.fixture
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, rerolled_equations=8, rerolled_turns=3))


def assert_close(found: Any, expected: Any) -> None:
    for one, other in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(100, 108))
@pytest.mark.usefixtures("short_loops")
def test_drawn_programs_with_gradients(seed: int) -> None:
    function, arguments = drawn(seed)
    step = wg.value_and_grad(function, argnums=ALL)
    assert_close(wg.jit(step)(*arguments), step(*arguments))


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.usefixtures("short_loops")
def test_each_statement(name: str) -> None:
    function, arguments = program([name, "scalar"], 9), inputs(0, 9)
    step = wg.value_and_grad(function, argnums=ALL)
    assert_close(wg.jit(step)(*arguments), step(*arguments))


def test_rerolled_and_straight_programs_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = program(["vector", "row", "write", "constant"], 40), inputs(3, 40)
    step = wg.value_and_grad(function, argnums=ALL)
    rerolled = wg.jit(step)
    assert any(line.primitive == "scan" for line in rerolled.graph(*arguments).equations)
    found = rerolled(*arguments)
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, rerolled_equations=1_000_000))
    straight = wg.jit(step)
    assert not any(line.primitive == "scan" for line in straight.graph(*arguments).equations)
    assert_close(found, straight(*arguments))


@pytest.mark.usefixtures("short_loops")
def test_single_precision_and_donation() -> None:
    def step(x: Any, w: Any) -> Any:
        for t in range(12):
            x = np.tanh(w @ x) * np.float32(0.5 + t)
        return x

    x, w = np.linspace(-1, 1, 4).astype("f4"), np.eye(4, dtype="f4") + np.float32(0.1)
    expected = step(x, w)
    found = wg.jit(step, donate=0)(x.copy(), w)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.usefixtures("short_loops")
def test_an_index_out_of_range_names_the_line() -> None:
    def function(x: Any, i: Any) -> Any:
        for t in range(10):
            x = x + np.sin(x[i + t])
        return x

    assert_close(wg.jit(function)(np.ones(20), 3), function(np.ones(20), 3))
    with pytest.raises(IndexError, match="20"):
        wg.jit(function)(np.ones(20), 15)
