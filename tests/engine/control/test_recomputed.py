"""What the pass backward computes again: values of counters, of arguments, and of what it keeps in any case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many

N = 12


def _of_counters(x: Any, w: Any) -> Any:
    """Conditions and indices follow from the counters; elements come from the arguments."""
    if x[0] < -1e300:
        raise ValueError("so small")
    total = 0.0
    for i in range(len(w)):
        for j in range(i):
            if (i + j) % 3 != 1:
                total += x[(i + j) % len(x)] * x[j] * w[i] + (1.0 - w[0]) * x[i]
            if j > 0:
                total -= w[j - 1] * total
    return total


def _of_rows(x: Any, w: Any) -> Any:
    """Windows of rows and of columns of an argument."""
    if x[0] < -1e300:
        raise ValueError("so small")
    a = np.outer(x, w)
    y = w.copy()
    for i in range(len(w)):
        y[i] = y[i] - a[i, :i] @ y[:i] * 0.1
        y[i] += a[i:, i] @ y[i:] * 0.1
    return y @ x


def _of_searches(x: Any, w: Any) -> Any:
    """Loops of unknown length in loops: their tapes hold what follows from nothing else."""
    total = 0.0
    for i in range(len(w)):
        k, s = 0, w[i]
        while s < 2.0 and k < len(x) - 1:
            s = s * (1.0 + x[k] * x[k]) + 0.1 * x[k + 1] * w[i]
            k += 1
        total += s
    return total


def _of_states(x: Any, w: Any) -> Any:
    """The array from which an inner loop reads changes from turn to turn of the outer one."""
    y, total = x.copy(), 0.0
    for i in range(len(w)):
        if w[i] > 0.3:
            before = y.copy()
            for j in range(1, i):
                y[j] = before[j - 1] * w[j] + before[i - j]
        total += y[i] * _before(y, i)
    return total


def _before(y: Any, i: Any) -> Any:
    return y[i - 1] if i > 0 else 1.0


def _of_slices(x: Any, w: Any) -> Any:
    """Arrays follow from the array before by products and sums of its slices."""
    y, total = x.copy(), 0.0
    for i in range(len(w)):
        z = w[i] * y + 0.5 * x
        u = np.concatenate((z[1:], y[:1])) - w[0] * y
        total += np.sum(np.sin(z) * u) + np.sum(np.maximum(u, z * w[1]))
        y = np.tanh(u * z)
    return total + np.sum(y * x)


PROGRAMS = [_of_counters, _of_rows, _of_searches, _of_states, _of_slices]


@pytest.mark.parametrize("seed", range(many(4)))
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_python(program: Any, seed: int) -> None:
    x, w = np.random.default_rng(seed).normal(size=(2, N)) * 0.5
    slope = wg.grad(program, (0, 1))
    np.testing.assert_allclose(wg.jit(slope)(x, w), slope(x, w), rtol=1e-10, atol=1e-12)


def test_long_windows_have_the_gradients_of_python() -> None:
    """Of long rows the loops leave out what lies outside of the windows."""
    x, w = np.random.default_rng(4).normal(size=(2, 40)) * 0.2
    slope = wg.grad(_of_rows, (0, 1))
    np.testing.assert_allclose(wg.jit(slope)(x, w), slope(x, w), rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("program", [_of_counters, _of_searches])
def test_second_derivatives_are_those_of_python(program: Any) -> None:
    x, w = np.random.default_rng(3).normal(size=(2, 6)) * 0.5

    def product(x: Any, w: Any) -> Any:
        return wg.grad(lambda x: wg.grad(program)(x, w) @ np.cos(np.arange(6.0)))(x)

    np.testing.assert_allclose(wg.jit(product)(x, w), product(x, w), rtol=1e-9, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("program", [_of_counters, _of_rows, _of_states, _of_slices])
def test_examples_are_those_of_python(program: Any) -> None:
    xs, ws = np.random.default_rng(5).normal(size=(2, 3, N)) * 0.5
    found = wg.jit(wg.vmap(wg.grad(program)))(xs, ws)
    expected = [wg.grad(program)(x, w) for x, w in zip(xs, ws, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def _arena(program: Any, *arguments: Any) -> int:
    return wg.jit(wg.grad(program)).report(*arguments).arena


def test_what_follows_from_counters_and_arguments_is_not_kept() -> None:
    def program(x: Any, w: Any) -> Any:
        if x[0] < -1e300:
            raise ValueError("so small")
        total = 0.0
        for i in range(len(w)):
            for j in range(len(x)):
                if (i + j) % 2 == 0:
                    total += x[j] * w[i] * x[len(x) - 1 - j]
        return total

    x, w = np.linspace(0.1, 1.0, 40), np.linspace(1.0, 2.0, 50)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(x, w), wg.grad(program)(x, w), rtol=1e-10)
    assert _arena(program, x, w) < 40 * 50


def test_an_array_is_not_kept_where_a_few_of_its_elements_are_read() -> None:
    def program(x: Any, w: Any) -> Any:
        def turn(i: Any, state: Any) -> Any:
            y, total = state

            def inner(j: Any, s: Any) -> Any:
                return s * w[i] + y[j + i] * s

            return np.sin(y) * w[i], total + wg.fori_loop(0, 3, inner, w[i])

        return wg.fori_loop(0, len(w), turn, (x, 0.0))[1]

    x, w = np.cos(np.arange(4000.0)), np.linspace(0.1, 0.5, 30)
    np.testing.assert_allclose(wg.jit(wg.grad(program, 1))(x, w), wg.grad(program, 1)(x, w), rtol=1e-10)
    kept = 30 * 4000 * 8  # the array before each turn, for the derivative of the sine
    assert _arena(program, x, w) < 1.2 * kept


def test_an_array_that_follows_from_the_one_that_is_kept_is_not_kept() -> None:
    def program(x: Any, w: Any) -> Any:
        if x[0] < -1e300:
            raise ValueError("so small")
        p = np.exp(-w[0])
        for _ in range(60):
            x = w[1] * (p * x[1:] + (1.0 - p) * x[:-1])
        return np.sum(x)

    x, w = np.cos(np.arange(400.0)), np.array([0.3, 0.9])
    np.testing.assert_allclose(wg.jit(wg.grad(program, 1))(x, w), wg.grad(program, 1)(x, w), rtol=1e-10)
    assert _arena(program, x, w) < 1.5 * 60 * 400 * 8
