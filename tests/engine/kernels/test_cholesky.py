"""The equations behind Cholesky's derivatives hold, and their solutions are as exact as the factor lets them be."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from wengert.engine.kernels.triangular import cotangent, tangent

ROWS = (0, 1, 2, 5, 31, 32, 33, 64, 100)


def transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def factor(rng: Any, *shape: int, dtype: str = "f8") -> Any:
    """Return well-conditioned factors, and numbers in the triangle that is not read."""
    return (rng.standard_normal(shape) / 10 + 2 * np.eye(shape[-1])).astype(dtype)


def symmetric(x: Any) -> Any:
    return np.tril(x) + transposed(np.tril(x, -1))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_equations_hold(rows: int, dtype: str, rng: Any) -> None:
    root, s, g = (factor(rng, 2, rows, rows, dtype=dtype) for _ in range(3))
    t, b = tangent(root, s), cotangent(root, g)
    atol = 40 * np.finfo(dtype).eps
    product = t @ transposed(np.tril(root))
    np.testing.assert_allclose(product + transposed(product), symmetric(s), rtol=0, atol=atol)
    np.testing.assert_allclose(np.tril((b + transposed(b)) @ np.tril(root)), np.tril(g), rtol=0, atol=atol)
    for found in (t, b):
        assert found.dtype == dtype
        assert not np.triu(found, 1).any()


@pytest.mark.parametrize("rows", ROWS)
def test_each_is_the_other_transposed(rows: int, rng: Any) -> None:
    root, s, g = factor(rng, rows, rows), rng.standard_normal((rows, rows)), rng.standard_normal((rows, rows))
    left, right = np.sum(np.tril(g) * tangent(root, s)), np.sum(cotangent(root, g) * np.tril(s))
    assert left == pytest.approx(right, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("solve", [tangent, cotangent])
def test_leading_axes_broadcast(solve: Any, rng: Any) -> None:
    root, right = factor(rng, 3, 1, 40, 40), rng.standard_normal((2, 40, 40))
    found = solve(root, right)
    assert found.shape == (3, 2, 40, 40)
    for i, j in np.ndindex(3, 2):
        np.testing.assert_allclose(found[i, j], solve(root[i, 0], right[j]), rtol=1e-12, atol=1e-12)
    assert solve(root[:0], right).shape == (0, 2, 40, 40)


@pytest.mark.parametrize("solve", [tangent, cotangent])
def test_the_other_triangle_is_not_read(solve: Any, rng: Any) -> None:
    root, right = factor(rng, 40, 40), rng.standard_normal((40, 40))
    expected, above = solve(root, right), np.triu(np.full((40, 40), np.nan), 1)
    before = (root + above, right + above)
    kept = [np.array(x) for x in before]
    np.testing.assert_array_equal(solve(*before), expected)
    np.testing.assert_array_equal(before, kept)


def by_the_definition(solve: Any, root: Any, right: Any) -> Any:
    """Return ``L low(L^-1 S L^-T)``, or that transposed, with fifty digits."""
    with mpmath.workdps(50):
        exact, x = mpmath.matrix(root.tolist()), mpmath.matrix(right.tolist())
        inverse, rows = exact**-1, range(len(root))

        def low(x: Any) -> Any:
            halves = {(i, j): x[i, j] / (1 + (i == j)) for i in rows for j in rows if j <= i}
            return mpmath.matrix([[halves.get((i, j), 0) for j in rows] for i in rows])

        if solve is tangent:
            found = exact * low(inverse * x * inverse.T)
        else:
            half = low(exact.T * x)
            found = low(inverse.T * (half + half.T) * inverse)
        return np.array(found.tolist(), float)


@pytest.mark.parametrize("solve", [tangent, cotangent])
@pytest.mark.parametrize("rows", [10, 40, 70])
def test_errors_have_the_order_of_the_condition_of_the_factor(solve: Any, rows: int, rng: Any) -> None:
    """Not of its square, the condition of the matrix."""
    x = np.sort(rng.uniform(0, 1, rows))
    root = np.linalg.cholesky(np.exp(-20 * (x[:, None] - x) ** 2) + 1e-9 * np.eye(rows))
    for right in (np.diag(1 / np.diag(root)), symmetric(rng.standard_normal((rows, rows)))):
        expected = by_the_definition(solve, root, np.tril(right) if solve is cotangent else right)
        error = np.abs(solve(root, right) - expected).max() / np.abs(expected).max()
        assert error < 10 * np.finfo(float).eps * np.linalg.cond(root)
