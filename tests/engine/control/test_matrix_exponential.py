"""The compiled exponential of matrices: against diagonalisable matrices, LAPACK's road, and eager derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.control.matrix_exponential import _B1, _B2, _B3, _B4, _B5

expm = wg.scipy.linalg.expm


def drawn(rng: np.random.Generator, *shape: int) -> Any:
    """Draw matrices of any norm: symmetric, triangular, nilpotent, sparse, or full."""
    kind, a = rng.integers(5), rng.normal(size=shape)
    if kind == 0:
        a = a + np.swapaxes(a, -1, -2)
    elif kind in (1, 2):
        a = np.triu(a, kind - 1)
    elif kind == 3:
        a = a * (rng.random(shape) < 0.3)
    return a * 10.0 ** rng.uniform(-9, 1.3, (*shape[:-2], 1, 1))


@pytest.mark.parametrize("seed", range(6))
def test_compiled_exponentials_and_their_gradients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = (1, 2, 3, 5, 8, 17)[seed]
    value, gradient = (wg.jit(f) for f in (expm, wg.grad(lambda a, w: (expm(a) * w).sum())))
    for _ in range(20):
        a = drawn(rng, rows, rows)
        expected, weights = expm(a), rng.normal(size=(rows, rows))
        unit = 1e-13 * np.max(np.abs(expected)) * max(np.max(np.abs(a)), 1.0)
        np.testing.assert_allclose(value(a), expected, rtol=0, atol=unit)
        tangent = wg.grad(lambda a, w: (expm(a) * w).sum())(a, weights)
        unit = 1e-12 * np.max(np.abs(tangent)) * max(np.max(np.abs(a)), 1.0)
        np.testing.assert_allclose(gradient(a, weights), tangent, rtol=0, atol=unit)


def test_each_matrix_of_a_stack_takes_its_own_squarings() -> None:
    rng = np.random.default_rng(0)
    stack = np.stack([size * rng.normal(size=(3, 3)) for size in (1e-8, 1.0, 30.0, 0.0)])
    found = wg.jit(expm)(stack)
    for a, one in zip(stack, found, strict=True):
        np.testing.assert_allclose(one, expm(a), rtol=1e-12)
    batched = wg.jit(wg.vmap(expm))(stack)
    np.testing.assert_allclose(batched, found, rtol=1e-15)


def test_a_large_element_far_from_the_diagonal_costs_few_digits() -> None:
    a = np.array([[1.0, 1e9], [0.0, -1.0]])
    exact = [[np.e, 1e9 * np.sinh(1.0)], [0.0, 1 / np.e]]
    np.testing.assert_allclose(wg.jit(expm)(a), exact, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_infinite_matrix_spoils_itself_alone(bad: float) -> None:
    stack = np.stack([np.eye(2), np.array([[bad, 0.0], [0.0, 1.0]])])
    found = wg.jit(expm)(stack)
    np.testing.assert_allclose(found[0], np.e * np.eye(2), rtol=1e-14)
    assert np.isnan(found[1]).all()


def test_single_precision_and_integers() -> None:
    a = np.array([[0, 1], [-1, 0]])
    turned = [[np.cos(1), np.sin(1)], [-np.sin(1), np.cos(1)]]
    for dtype in (np.float32, np.float64, np.int64):
        found = wg.jit(expm)(a.astype(dtype))
        assert found.dtype == expm(a.astype(dtype)).dtype
        np.testing.assert_allclose(found, turned, rtol=1e-6)


def test_second_derivatives() -> None:
    def f(t: Any) -> Any:
        return expm(t * np.array([[0.0, 1.0], [-1.0, 0.3]]))[0, 1]

    np.testing.assert_allclose(wg.jit(wg.grad(wg.grad(f)))(0.7), wg.grad(wg.grad(f))(0.7), rtol=1e-12)


def test_the_products_make_the_series() -> None:
    def polynomial(row: Any) -> Any:
        return np.polynomial.Polynomial([*row[:4], 0.0, 0.0, row[4]])

    b1, b2, b3, b4, b5 = map(polynomial, (_B1, _B2, _B3, _B4, _B5))
    inner = b1 * b5 + b4
    coefficients = (b2 + (b3 + inner) * inner).coef
    factorials = np.cumprod([1.0, *range(1, 19)])
    np.testing.assert_allclose(coefficients[:19] * factorials, 1.0, rtol=1e-13)


def test_no_call_returns_to_python() -> None:
    assert not wg.jit(wg.grad(lambda a: expm(a).sum())).report(np.eye(4)).hosts
