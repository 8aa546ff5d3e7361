"""The recorded list keeps only the values that a rule reads."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

SIZE, TURNS = 20_000, 40


def repeated(turn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def loss(x: Any) -> Any:
        for _ in range(TURNS):
            x = turn(x)
        return np.sum(x * x)

    return loss


def diffused(u: Any) -> Any:
    return np.concatenate((u[:1], u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]), u[-1:]))


def written(u: Any) -> Any:
    v = u.copy()
    v[1:-1] += 0.1 * (u[2:] - u[:-2])
    return v


#: The operation of a step, and the number of arrays of the size of x that it may keep.
TURN: dict[str, tuple[Callable[[Any], Any], int]] = {
    "scaled": (lambda x: x * 0.99 + 1.0, 0),
    "by an array": (lambda x: FACTORS * x - FACTORS, 1),
    "rolled": (lambda x: x + 0.1 * (np.roll(x, 1) - x), 0),
    "diffused": (diffused, 0),
    "written": (written, 0),
    "reshaped": (lambda x: x.reshape(2, -1)[::-1].T.ravel() / 1.01, 0),
    "chosen": (lambda x: np.where(POSITIVE, x, 0.5 * x), 1),
    "by its result": (lambda x: np.tanh(x) * 1.01, 1),
    "by its operand": (lambda x: np.sin(x) + 0.5, 1),
    "powers": (lambda x: 0.5 * x**2, 1),
    "of rows": (lambda x: np.concatenate([x[:10] - np.sum(x[:10]), x[10:]]), 0),
}
FACTORS = np.linspace(0.5, 1.0, SIZE)
POSITIVE = FACTORS > 0.7


@pytest.mark.parametrize("name", TURN)
def test_unread_values_are_released(name: str) -> None:
    turn, left = TURN[name]
    gradient, x = wg.grad(repeated(turn)), np.linspace(0.0, 1.0, SIZE)
    gradient(x)
    tracemalloc.start()
    try:
        gradient(x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (left * TURNS + 14) * x.nbytes


def test_variables_keep_no_more() -> None:
    x = wg.Variable(np.linspace(0.0, 1.0, SIZE))
    tracemalloc.start()
    try:
        y = repeated(diffused)(x)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 4 * 8 * SIZE
    y.backward()
    np.testing.assert_array_equal(x.grad, wg.grad(repeated(diffused))(x.value))


def test_partials_of_large_complex_arrays_have_what_they_read() -> None:
    """The partial of ``abs`` reads the result where the operand is complex, and not where it is real."""
    for count in (3, 3000):
        x = np.linspace(1.0, 2.0, count)
        for factor in (1.0, 3.0 + 4.0j, -2.0):
            derivative = wg.grad(lambda x: np.sum(np.abs(x * factor)))(x)  # noqa: B023
            np.testing.assert_allclose(derivative, np.abs(factor), rtol=1e-14)
