"""The equations behind Cholesky's derivatives hold, and their solutions are as exact as the factor lets them be."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

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


ONE = 2**400
"""One, of the numbers with 400 binary places, which are integers."""


def fixed(x: Any) -> Any:
    return np.vectorize(lambda number: int(Fraction(number) * ONE), otypes=[object])(x)


def inverted(root: Any) -> Any:
    """Return the inverse of a triangle of numbers with 400 places."""
    rows = len(root)
    found = np.zeros((rows, rows), object)
    for i in range(rows):
        found[i, i] = ONE
        found[i, : i + 1] = (found[i, : i + 1] * ONE - root[i, :i] @ found[:i, : i + 1]) // root[i, i]
    return found


def by_the_definition(solve: Any, root: Any, right: Any) -> Any:
    """Return ``L low(L^-1 S L^-T)``, or that transposed, with more than a hundred digits."""
    exact, x = fixed(root), fixed(right)
    inverse = inverted(exact)

    def times(*factors: Any) -> Any:
        return functools.reduce(lambda a, b: (a @ b) // ONE, factors)

    def low(x: Any) -> Any:
        return np.tril(x) - np.diag(np.diag(x) // 2)

    if solve is tangent:
        found = times(exact, low(times(inverse, x, inverse.T)))
    else:
        half = low(times(exact.T, x))
        found = low(times(inverse.T, half + half.T, inverse))
    return (found / ONE).astype(float)


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
