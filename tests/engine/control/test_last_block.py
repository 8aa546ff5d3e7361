"""A loop keeps the residuals of its last turns while it runs, and computes those of earlier ones again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.control import checkpointed_scan

Function = Callable[..., Any]


def spirals(x: Any, a: Any, steps: Any, **limits: Any) -> Any:
    """Carry an array, a number that the derivative does not read, and one that it reads."""

    def step(state: Any) -> Any:
        t, x, total, angle = state
        following = x + 0.1 * np.sin(a * x) * angle
        return t + 1, following, total + np.sum(x), angle * 0.99 + 0.001 * x[0]

    t, x, total, angle = wg.while_loop(lambda state: state[0] < steps, step, (0, x, 0.0, 1.0), **limits)
    return np.sum(x**2) + total * angle + 0.0 * t


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of turns in the blocks of loops that are compiled; all have four."""
    found: list[int] = []
    own = checkpointed_scan.with_last_block

    def noted(loop: Any, adjoint: Any, slots: int, block: int) -> Any:
        programs = own(loop, adjoint, slots, block)
        found.append(0 if programs is None else block)
        return programs

    monkeypatch.setattr(checkpointed_scan, "with_last_block", noted)
    monkeypatch.setattr(checkpointed_scan, "room", lambda *_: (3, 4))
    monkeypatch.setenv("WENGERT_CACHE", "off")
    return found


@pytest.mark.parametrize("steps", [0, 1, 3, 4, 5, 8, 9, 30])
def test_any_number_of_turns(steps: int, blocks: list[int]) -> None:
    x = np.array([0.3, -0.7, 1.1])

    def saving(x: Any, a: Any, steps: Any) -> Any:
        return spirals(x, a, steps, max_bytes=10_000)

    gradient = wg.jit(wg.value_and_grad(saving, (0, 1)))
    value, found = gradient(x, 0.8, steps)
    expected_value, expected = wg.value_and_grad(lambda x, a: spirals(x, a, steps), (0, 1))(x, 0.8)
    np.testing.assert_allclose(value, expected_value, rtol=1e-13)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    assert blocks == [4]


@pytest.mark.parametrize("steps", [2, 7])
def test_other_transforms(steps: int, blocks: list[int]) -> None:
    def loss(x: Any, **limits: Any) -> Any:
        return spirals(x, 0.8, steps, **limits)

    x = np.array([[0.3, -0.7, 1.1], [0.2, 0.5, -0.9]])

    def kept(x: Any) -> Any:
        return loss(x, max_bytes=10_000)

    saving = wg.grad(kept)
    np.testing.assert_allclose(wg.jit(wg.vmap(saving))(x), [wg.grad(loss)(row) for row in x], rtol=1e-12)
    twice = wg.jit(wg.jacobian(saving))(x[0])
    np.testing.assert_allclose(twice, wg.jacobian(wg.grad(loss))(x[0]), rtol=1e-11, atol=1e-13)
    assert len(blocks) >= 2


def newton(a: Any, tolerance: Any) -> Any:
    """Take a number of turns that the values decide, with a loop and a branch inside."""
    x, history = a, np.zeros(5)
    while abs(x * x - a) > tolerance * a:
        x = 0.5 * (x + a / x) if x > 1.5 else x - (x * x - a) / (2.0 * x)
        for i in range(5):
            history[i] = 0.5 * history[i] + x * i
    return x + history @ history


@pytest.mark.parametrize("seed", range(many(12)))
def test_plain_loops(seed: int, blocks: list[int]) -> None:
    rng = np.random.default_rng(seed)
    a, tolerance = np.exp(rng.uniform(-3, 8)), 10.0 ** -rng.uniform(1, 12)
    gradient = wg.grad(newton)
    np.testing.assert_allclose(wg.jit(gradient)(a, tolerance), gradient(a, tolerance), rtol=1e-11)
    assert blocks == [4]


def test_an_error_in_a_turn(blocks: list[int]) -> None:
    def program(x: Any, i: Any) -> Any:
        total = 0.0
        while i < 20:
            total += x[i] ** 2
            i += 3
        return total

    gradient = wg.jit(wg.grad(program))
    x = np.arange(20.0)
    np.testing.assert_allclose(gradient(x, 1), wg.grad(program)(x, 1))
    with pytest.raises(IndexError):
        gradient(x[:10], 1)
    assert blocks == [4, 4]
