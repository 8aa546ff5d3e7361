"""Equations with triangular matrices are solved as exactly as by substitution."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from wengert.engine.kernels.triangular import Triangular

SHAPES = [(0, 0), (1, 1), (2, 2), (5, 5), (32, 32), (33, 33), (100, 100), (3, 40, 40), (500, 4, 4), (0, 3, 3)]


def triangle(x: Any, lower: bool) -> Any:
    return np.tril(x) if lower else np.triu(x)


def drawn(rng: Any, *shape: int) -> Any:
    """Return matrices of a good condition, with numbers in both triangles."""
    return rng.standard_normal(shape) / 10 + 2 * np.eye(shape[-1])


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_equations_hold(shape: tuple[int, ...], lower: bool, dtype: str, rng: Any) -> None:
    t, right = drawn(rng, *shape).astype(dtype), rng.standard_normal((*shape[:-1], 3)).astype(dtype)
    x = np.array(right)
    Triangular(t, lower).solve(x)
    np.testing.assert_allclose(triangle(t, lower) @ x, right, rtol=0, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_half_of_a_symmetric_solution(shape: tuple[int, ...], lower: bool, rng: Any) -> None:
    t, half = drawn(rng, *shape), rng.standard_normal(shape)
    expected = half + np.swapaxes(half, -1, -2)
    x = triangle(t, lower) @ expected
    Triangular(t, lower).solve_symmetric(x)
    np.testing.assert_allclose(triangle(x, not lower), triangle(expected, not lower), rtol=0, atol=1e-13)


def test_leading_axes_broadcast_and_the_other_triangle_is_not_read(rng: Any) -> None:
    t, right = drawn(rng, 3, 1, 40, 40), rng.standard_normal((3, 2, 40, 5))
    x, y = np.array(right), np.array(right)
    Triangular(t, lower=True).solve(x)
    Triangular(t + np.triu(np.full((40, 40), np.nan), 1), lower=True).solve(y)
    np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(np.tril(t) @ x, right, rtol=0, atol=1e-14)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("rows", [12, 60])
def test_ill_conditioned_matrices(rows: int, lower: bool, rng: Any) -> None:
    """Of 60 rows, a product with the inverse has a thousand times the error."""
    points = np.sort(rng.uniform(0, 1, rows))
    t = np.linalg.cholesky(np.exp(-20 * (points[:, None] - points) ** 2) + 1e-9 * np.eye(rows))
    t = t if lower else t.T
    right = t @ rng.standard_normal((rows, 3))
    with mpmath.workdps(50):
        factor, exact = (np.vectorize(mpmath.mpf, otypes=[object])(x) for x in (t, 0 * right))
        for i in range(rows) if lower else reversed(range(rows)):
            exact[i] = (right[i] - factor[i] @ exact) / factor[i, i]
        expected = exact.astype(float)
    found = np.array(right)
    Triangular(t, lower).solve(found)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert error < 2 * np.finfo(float).eps * np.linalg.cond(t)
