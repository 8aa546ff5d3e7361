"""Tapes: loops inside of loops keep what reverse mode reads, in the order of all their turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.random_control import arguments, written
from wengert.engine.control import tapes
from wengert.engine.staged import loop_staging
from wengert.errors import LimitError


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all such loops keep tapes, and short ones."""
    monkeypatch.setattr(loop_staging, "MOST_RESTARTED_BYTES", 0)
    monkeypatch.setattr(tapes, "BYTES", 1 << 17)


def _outcome(function: Any, *given: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*given)
    except (IndexError, ValueError, UnboundLocalError) as problem:
        return type(problem).__name__


def _compare(seed: int) -> None:
    function, given = wg.grad(written(seed, 4)), arguments(seed)
    expected, found = _outcome(function, *given), _outcome(wg.jit(function), *given)
    if isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_gradients_of_random_programs_equal_eager_ones(seed: int) -> None:
    _compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_gradients_of_many_random_programs_equal_eager_ones(block: int) -> None:
    for seed in range(20 + 10 * block, 30 + 10 * block):
        _compare(seed)


def of_drawn_turns(x: Any) -> Any:
    """Take turns in a loop that writes an array, which its own condition reads."""
    level, size, top, s = np.zeros(12), np.ones(12, dtype=np.int64), 0, 0.0
    for i in range(len(x)):
        level[top] = x[i]
        size[top] = 1
        while top > 0 and level[top - 1] > level[top]:
            both = size[top - 1] + size[top]
            level[top - 1] = (level[top - 1] * size[top - 1] + level[top] * size[top]) / both
            size[top - 1] = both
            top -= 1
            if s > 0.5:
                k = top
                while k > 0 and level[k] < 1.5:
                    s = s * 0.9 + np.sin(level[k]) * size[k]
                    level[k] = 0.5 * level[k] + 0.1 * s
                    k -= 1
        s = s + level[top] ** 2
        top += 1
    return s + np.sum(level)


def product(x: Any, v: Any) -> Any:
    """Return the Hessian times a vector, forward over reverse."""
    return wg.jvp(wg.grad(of_drawn_turns), (x,), (v,))[1]


def product_in_reverse(x: Any, v: Any) -> Any:
    """Return the same, reverse over reverse."""
    return wg.grad(lambda y: np.sum(wg.grad(of_drawn_turns)(y) * v))(x)


def slope(x: Any, v: Any) -> Any:
    """Return the gradient."""
    return wg.grad(of_drawn_turns)(x) + 0.0 * v


DERIVATIVES = [slope, product, product_in_reverse]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("function", DERIVATIVES)
def test_all_modes_go_through_tapes(function: Any, seed: int) -> None:
    x, v = np.random.default_rng(seed).normal(size=(2, 10))
    np.testing.assert_allclose(wg.jit(function)(x, v), function(x, v), rtol=1e-10, atol=1e-12)


def test_examples_have_tapes_of_their_own() -> None:
    xs = np.random.default_rng(1).normal(size=(3, 10))
    found = wg.jit(wg.vmap(wg.grad(of_drawn_turns)))(xs)
    expected = [wg.grad(of_drawn_turns)(x) for x in xs]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [1 << 6, 1 << 7])
@pytest.mark.parametrize("function", DERIVATIVES)
def test_a_full_tape_is_an_error(function: Any, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapes, "BYTES", size)
    with pytest.raises(LimitError, match="the loops inside of a loop must take fewer turns"):
        wg.jit(function)(np.linspace(2.0, -2.0, 10), np.ones(10))
