"""Determinants of matrices of any rank: all derivatives of low order, against exact numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np
import pytest

import wengert as wg


def exact_determinant(matrix: list[list[Fraction]]) -> Fraction:
    rows, result = [list(row) for row in matrix], Fraction(1)
    for n in range(len(rows)):
        pivot = next((k for k in range(n, len(rows)) if rows[k][n]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != n:
            rows[n], rows[pivot], result = rows[pivot], rows[n], -result
        result *= rows[n][n]
        for k in range(n + 1, len(rows)):
            factor = rows[k][n] / rows[n][n]
            rows[k] = [x - factor * y for x, y in zip(rows[k], rows[n], strict=True)]
    return result


def slopes_along(a: Any, b: Any, most: int) -> list[float]:
    """Return the derivatives of ``det(A + t B)`` at ``t = 0``, by Newton's interpolation of the polynomial."""
    values = [
        exact_determinant([[Fraction(int(x)) for x in row] for row in a + t * b]) for t in range(len(a) + 1)
    ]
    coefficients, basis = [Fraction(0)] * len(values), [Fraction(1)]
    for order in range(len(values)):
        for power, factor in enumerate(basis):
            coefficients[power] += factor * values[0] / factorial(order)
        values = [after - before for before, after in itertools.pairwise(values)]
        basis = [
            high - order * low for high, low in zip([Fraction(0), *basis], [*basis, Fraction(0)], strict=True)
        ]
    return [float(factorial(power) * coefficients[power]) for power in range(most + 1)]


def of_rank(rng: np.random.Generator, rows: int, rank: int) -> Any:
    return (rng.integers(-3, 4, (rows, rank)) @ rng.integers(-3, 4, (rank, rows))).astype(float)


CASES = [(rows, rows - lost) for rows in (4, 8, 9, 10, 13) for lost in range(6) if lost < rows]


@pytest.mark.parametrize(("rows", "rank"), CASES)
def test_derivatives_along_a_line_are_those_of_the_polynomial(rows: int, rank: int) -> None:
    rng = np.random.default_rng(100 * rows + rank)
    a, b = of_rank(rng, rows, rank), rng.integers(-3, 4, (rows, rows)).astype(float)
    expected = slopes_along(a, b, 3)

    def of_line(t: Any) -> Any:
        return np.linalg.det(a + t * b)

    second = wg.jvp(wg.jacfwd(of_line), (0.0,), (1.0,))[1], wg.grad(wg.grad(of_line))(0.0)
    third = wg.jacfwd(wg.grad(wg.grad(of_line)))(0.0)
    size = max(np.abs(a).max(), 1.0) ** (rows - 3) * np.linalg.norm(b, 2) ** 3 * 10.0
    np.testing.assert_allclose(second, expected[2], rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(third, expected[3], rtol=1e-9, atol=1e-12 * size)


def change_of_cofactors(a: Any, b: Any) -> Any:
    """Return the change by products of all singular values but two."""
    u, s, vh = np.linalg.svd(a)
    everyone = np.arange(len(s))
    others = np.array([[np.prod(s[(everyone != i) & (everyone != k)]) for k in everyone] for i in everyone])
    np.fill_diagonal(others, 0.0)
    inner = u.conj().T @ b @ vh.conj().T
    middle = np.diag(others @ np.diag(inner)) - inner.T * others
    return np.linalg.det(u) * np.linalg.det(vh) * u.conj() @ middle @ vh.conj()


@pytest.mark.parametrize("kind", ["real", "complex", "float32", "huge", "tiny"])
@pytest.mark.parametrize("lost", range(4))
def test_second_derivatives_of_stacked_matrices(kind: str, lost: int) -> None:
    rng, rows, is_complex = np.random.default_rng(lost), 11, kind == "complex"

    def draw(*shape: int) -> Any:
        return rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0.0)

    scale = {"huge": 1e20, "tiny": 1e-20}.get(kind, 1.0) / rows
    a, b = draw(2, rows, rows - lost) @ draw(2, rows - lost, rows) * scale, draw(2, rows, rows)
    if kind == "float32":
        a, b = a.astype(np.float32), b.astype(np.float32)
    total: Any = lambda a: np.sum(np.linalg.det(a))  # noqa: E731
    gradient: Any = wg.grad(total, holomorphic=is_complex)
    along: Any = lambda a: np.sum(gradient(a) * b)  # noqa: E731
    second: Any = lambda a: wg.jvp(gradient, (a,), (b,))[1]  # noqa: E731
    expected: Any = np.array([change_of_cofactors(*pair) for pair in zip(a.astype(complex), b, strict=True)])
    expected = expected if is_complex else expected.real
    relative, absolute = (1e-3, 1e-4) if kind == "float32" else (1e-10, 1e-12)
    absolute *= np.abs(expected).max() + (lost > 2) * np.abs(a).max() ** (rows - 2)
    for found in (second(a), wg.jit(second)(a), wg.grad(along, holomorphic=is_complex)(a)):
        assert found.dtype == a.dtype
        np.testing.assert_allclose(found, expected, relative, absolute)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_has_no_derivative_and_the_others_have(bad: float) -> None:
    a = np.random.default_rng(0).normal(size=(3, 9, 9))
    a[1, 2, 3] = bad
    with np.errstate(all="ignore"):
        second = wg.jvp(wg.grad(lambda a: np.sum(np.linalg.det(a))), (a,), (np.ones_like(a),))[1]
    assert np.isnan(second[1]).all()
    np.testing.assert_allclose(
        second[::2], [change_of_cofactors(x, np.ones((9, 9))) for x in a[::2]], rtol=1e-9
    )
