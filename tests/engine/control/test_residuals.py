"""What reverse mode keeps of a loop: the values that its turns read of an array, not the array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg


def _recurrence(x: Any) -> Any:
    """Each turn reads two elements of an array that the loop writes, in a branch."""

    def turn(k: Any, y: Any) -> Any:
        y = y.copy()
        y[k] = wg.cond(y[k - 1] > 0.2, lambda: y[k - 1] * y[k - 2] + x[k], lambda: np.sin(y[k - 1]) - x[k])
        return y

    return wg.fori_loop(2, len(x), turn, x * 0.5)[-1]


def _search(x: Any) -> Any:
    """Each turn of a loop that ends by a condition reads an element."""

    def turn(state: Any) -> Any:
        k, s = state
        return k + 1, s * 0.5 + x[k] * s

    return wg.while_loop(lambda state: state[0] < len(x), turn, (0, 1.0), max_bytes=1 << 14)[1]


@pytest.mark.parametrize("program", [_recurrence, _search])
def test_memory_grows_with_the_turns_and_not_with_their_square(program: Any) -> None:
    def arena(n: int) -> int:
        x = np.cos(np.arange(n))
        gradient = wg.jit(wg.grad(program))
        np.testing.assert_allclose(gradient(x), wg.grad(program)(x), rtol=1e-12, atol=1e-12)
        return gradient.report(x).arena

    assert arena(400) < 2.5 * arena(200)


def _value(x: Any) -> Any:
    return wg.cond(np.sum(x) > 0, lambda x: np.sum(np.exp(np.outer(x, x))), lambda x: np.sum(np.sin(x)), x)


def test_residuals_that_are_larger_than_the_operands_are_computed_again() -> None:
    x = np.linspace(0.1, 1.0, 50)
    graph = wg.trace(wg.grad(_value))(x)
    branches = [equation for equation in graph.equations if equation.primitive == "cond"]
    assert len(branches) == 2
    assert all(var.shape in ((), (50,)) for branch in branches for var in branch.outputs)
    np.testing.assert_allclose(wg.jit(wg.grad(_value))(x), wg.grad(_value)(x), rtol=1e-12)


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 4, 7, 11, 30])
def test_blocks_of_turns_have_the_cotangents_of_the_loop(turns: int) -> None:
    """The budget holds a few states and the residuals of three turns."""

    def program(x: Any, most: Any) -> Any:
        def turn(state: Any) -> Any:
            k, s, t = state
            return k + 1, s * np.cos(t) + 0.1, t + s * x

        _, s, t = wg.while_loop(lambda state: state[0] < most, turn, (0, x * 0.3, x), max_bytes=260)
        return s * t

    expected = wg.value_and_grad(lambda x: _python(x, turns))(0.7)
    twice = wg.grad(wg.grad(program))
    once, twice = wg.jit(lambda x, most: (wg.value_and_grad(program)(x, most), twice(x, most)))(0.7, turns)
    for found in (wg.value_and_grad(program)(0.7, turns), once):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(twice, wg.grad(wg.grad(lambda x: _python(x, turns)))(0.7), rtol=1e-12)


def _python(x: Any, turns: int) -> Any:
    s, t = x * 0.3, x
    for _ in range(turns):
        s, t = s * np.cos(t) + 0.1, t + s * x
    return s * t
