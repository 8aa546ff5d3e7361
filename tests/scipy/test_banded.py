"""Banded matrices, pivoted factors and bases of spaces in `wengert.scipy.linalg`, against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.scipy.checks import check, close
from wengert.engine.core.errors import ArgumentError, WengertError
from wengert.scipy import linalg

theirs = pytest.importorskip("scipy.linalg")

RNG = np.random.default_rng(34)
BANDS = RNG.uniform(-0.5, 0.5, (4, 5)) + 3 * (np.arange(4) == 1)[:, None]
HALF = RNG.uniform(-0.5, 0.5, (3, 5)) + 4 * (np.arange(3) == 0)[:, None]
FACTOR = RNG.uniform(-0.5, 0.5, (2, 5)) + 2 * (np.arange(2) == 0)[:, None]
B = RNG.uniform(-1, 1, (5, 2))
TALL = RNG.uniform(-1, 1, (4, 3))
WIDE = RNG.uniform(-1, 1, (2, 4))
LOW_RANK = RNG.uniform(-1, 1, (4, 2)) @ RNG.uniform(-1, 1, (2, 3))

CALLS: dict[str, tuple[Any, ...]] = {
    "solve_banded": (lambda m, a, b: m.solve_banded((2, 1), a, b), BANDS, B),
    "solve_banded vector": (lambda m, a, b: m.solve_banded((0, 1), a[:2], b), BANDS, B[:, 0]),
    "solve_banded lower": (lambda m, a, b: m.solve_banded((2, 0), a[1:], b), BANDS, B),
    "solveh_banded": (lambda m, a, b: m.solveh_banded(a, b, lower=True), HALF, B),
    "solveh_banded upper": (lambda m, a, b: m.solveh_banded(a, b), HALF[::-1].copy(), B[:, 0]),
    "cho_solve_banded": (lambda m, c, b: m.cho_solve_banded((c, True), b), FACTOR, B),
    "cho_solve_banded upper": (lambda m, c, b: m.cho_solve_banded((c, False), b), FACTOR[::-1].copy(), B),
    "eigvals_banded": (lambda m, a: m.eigvals_banded(a, lower=True), HALF),
    "eigvals_banded upper": (
        lambda m, a: m.eigvals_banded(
            a * (1 + 0.3j * (np.arange(3) < 2)[:, None]), select="i", select_range=(1, 3)
        ),
        HALF[::-1].copy(),
    ),
    "eig_banded": (lambda m, a: abs(m.eig_banded(a, lower=True)[1]) ** 2, HALF),
    "eigh_tridiagonal": (lambda m, d, e: abs(m.eigh_tridiagonal(d, e)[1]), B[:, 0], B[:4, 1]),
    "eigvalsh_tridiagonal": (lambda m, d, e: m.eigvalsh_tridiagonal(d, e), B[:, 0], B[:4, 1]),
    "rq": (lambda m, a: m.rq(a), TALL[:3]),
    "rq economic": (lambda m, a: m.rq(a, mode="economic"), WIDE),
    "rq tall": (lambda m, a: m.rq(a, mode="economic"), TALL),
    "ldl": (lambda m, a: m.ldl(a)[:2], TALL @ TALL.T - np.eye(4)),
    "ldl upper": (lambda m, a: m.ldl(a, lower=False)[:2], np.kron(np.eye(2), [[0.1, 3], [3, 0.2]]) + 0.1),
    "qr pivoting": (lambda m, a: m.qr(a, mode="economic", pivoting=True)[:2], TALL),
    "qr pivoting r": (lambda m, a: m.qr(a, mode="r", pivoting=True)[0], WIDE.T @ WIDE + np.eye(4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]
    check(lambda *x: call(linalg, *x), lambda *x: call(theirs, *x), *arguments)


@pytest.mark.parametrize("lower", [False, True])
def test_banded_cholesky_factors(lower: bool) -> None:
    half = HALF if lower else HALF[::-1].copy()
    corner = np.add.outer(np.arange(3), np.arange(5)) >= 5
    inside = ~(corner if lower else corner[::-1, ::-1])

    def own(a: Any) -> Any:
        return linalg.cholesky_banded(a, lower=lower)

    check(own, lambda a: np.where(inside, theirs.cholesky_banded(a, lower=lower), 0.0), half)
    x = linalg.cho_solve_banded((own(half), lower), B)
    close(x, theirs.solveh_banded(half, B, lower=lower), 1e-13)


@examples(40)
@given(data=st.data())
def test_drawn_banded_equations_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    count, columns = draw.integer(1, 9), draw.choice([(), (1,), (3,)])
    lower, upper = draw.integer(0, count - 1), draw.integer(0, count - 1)
    factor = draw.choice([1.0, 1.0 + 0.5j])
    bands = draw.rng.standard_normal((lower + upper + 1, count)) * factor
    bands[upper] += 4
    b = draw.rng.standard_normal((count, *columns)) * factor
    close(linalg.solve_banded((lower, upper), bands, b), theirs.solve_banded((lower, upper), bands, b), 1e-11)
    half = draw.rng.standard_normal((lower + 1, count)) * factor * 0.3 / (lower + 1)
    half[0] = 4
    for form, is_lower in ((half, True), (half[::-1], False)):
        own, other = (m.solveh_banded(form, b, lower=is_lower) for m in (linalg, theirs))
        close(own, other, 1e-11)
        factors = [m.cholesky_banded(form, lower=is_lower) for m in (linalg, theirs)]
        close(linalg.cho_solve_banded((factors[0], is_lower), b), other, 1e-11)
        own, other = (m.cho_solve_banded((factors[1], is_lower), b) for m in (linalg, theirs))
        close(own, other, 1e-11)


def test_single_precision_stays() -> None:
    a = (TALL @ TALL.T).astype(np.float32) + 4 * np.eye(4, dtype=np.float32)
    for call in (linalg.ldl, lambda a: linalg.qr(a, pivoting=True), linalg.orth):
        assert np.asarray(wg.tree.leaves(call(a))[0]).dtype == np.float32
    assert linalg.cholesky_banded(HALF.astype(np.float32), lower=True).dtype == np.float32


def test_corners_are_not_read() -> None:
    bands = BANDS.copy()
    bands[0, 0] = bands[2, 4] = bands[3, 3:] = np.nan
    x = linalg.solve_banded((2, 1), bands, B, check_finite=False)
    close(x, linalg.solve_banded((2, 1), np.nan_to_num(bands), B), 1e-14)
    derivative = wg.grad(lambda a: np.sum(linalg.solve_banded((2, 1), a, B, check_finite=False)))(bands)
    np.testing.assert_array_equal(derivative == 0, np.isnan(bands))


@pytest.mark.parametrize("beside", [1, 9])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_where_they_are_known(beside: int, value: float) -> None:
    """A compiled program does not know them: its result is not finite, as with ``check_finite=False``."""
    count = 12
    bands = np.where(np.arange(2 * beside + 1) == beside, 30.0, 1.0)[:, None] * np.ones(count)
    b = np.ones(count)

    def solve(bands: Any, b: Any, **options: Any) -> Any:
        return linalg.solve_banded((beside, beside), bands, b, **options)

    compiled = wg.jit(solve)
    wrong_b, wrong_bands = b.copy(), bands.copy()
    wrong_b[5] = wrong_bands[beside, 5] = value
    for operands in ((bands, wrong_b), (wrong_bands, b)):
        for known in (solve, lambda *x: wg.jvp(solve, x, x)):
            with pytest.raises(ArgumentError, match=r"solve_banded: infinities and NaNs are not allowed"):
                known(*operands)
        expected = solve(*operands, check_finite=False)
        np.testing.assert_array_equal(np.isfinite(compiled(*operands)), np.isfinite(expected))
    assert not np.isfinite(compiled(bands, wrong_b)[5])
    assert np.isfinite(compiled(bands, b)).all()


def test_second_derivatives() -> None:
    wg.check_grads(lambda a, b: linalg.solve_banded((2, 1), a, b), (BANDS, B[:, 0]), order=2)
    wg.check_grads(lambda a: linalg.cholesky_banded(a, lower=True), (HALF[:, :4],), order=2)
    for call in (
        lambda a: linalg.qr(a, pivoting=True, mode="economic")[1],
        lambda a: np.matmul(linalg.orth(a), linalg.orth(a).T),
    ):
        wg.check_grads(call, (TALL,), order=2)


def test_time_is_linear_in_the_length() -> None:
    """The matrix of all elements would take 8 GB."""
    count = 30000
    bands = np.stack([np.full(count, value) for value in (-1.0, 2.5, -1.0)])
    derivative = wg.grad(lambda a: np.sum(linalg.solve_banded((1, 1), a, np.ones(count))))(bands)
    np.testing.assert_allclose(derivative[:, count // 2], [-4.0] * 3, rtol=1e-9)


@examples(40)
@given(data=st.data())
def test_drawn_pivoted_factors_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    a = draw.rng.standard_normal((draw.integer(1, 5), draw.integer(1, 5))) * draw.choice([1, 1 + 1j])
    if draw.choice([False, True]):
        a[:, -1] = a[:, 0]
    for mode in ("full", "economic"):
        q, r, order = linalg.qr(a, mode=mode, pivoting=True)
        other = theirs.qr(a, mode=mode, pivoting=True)
        np.testing.assert_array_equal(order, other[2])
        assert order.dtype == other[2].dtype
        close(q @ r, a[:, order], 1e-12)
        close(np.abs(r), np.abs(other[1]), 1e-12)


@examples(40)
@given(data=st.data())
def test_drawn_symmetric_factors_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    rows, hermitian = draw.integer(1, 5), draw.choice([False, True])
    a = draw.rng.standard_normal((rows, rows)) * draw.choice([1, 1 + 1j])
    a = a + (np.conj(a.T) if hermitian else a.T)
    a[np.diag_indices(rows)] *= draw.choice([0.0, 1.0])
    lower = draw.choice([False, True])
    own, other = (m.ldl(a, lower, hermitian) for m in (linalg, theirs))
    close(own[:2], other[:2], 1e-12)
    np.testing.assert_array_equal(own[2], other[2])
    assert own[2].dtype == other[2].dtype
    wg.check_grads(lambda a: linalg.ldl(a, lower, hermitian)[:2], (a,), order=1) if rows < 4 else None


# -- bases of spaces -------------------------------------------------------------------------------------


def test_bases_are_scipys() -> None:
    for a in (TALL, WIDE, LOW_RANK, LOW_RANK.T, np.zeros((2, 3)), WIDE + 0.5j * WIDE[::-1]):
        for name in ("null_space", "orth"):
            own, other = getattr(linalg, name)(a), getattr(theirs, name)(a)
            assert own.shape == other.shape
            close(own @ np.conj(own.T), other @ np.conj(other.T), 1e-12)
            followed = wg.jvp(getattr(linalg, name), (a,), (a,))[0]
            close(followed, own, 1e-12)


@pytest.mark.parametrize(
    ("name", "a"), [("null_space", WIDE), ("orth", TALL), ("null_space", TALL.T), ("orth", WIDE)]
)
def test_derivatives_of_bases(name: str, a: Any) -> None:
    """A change of the matrix moves a basis at right angles to its space, and keeps it orthonormal."""
    function, other = getattr(linalg, name), getattr(theirs, name)
    direction = RNG.standard_normal(a.shape)
    basis, moved = wg.jvp(function, (a,), (direction,))
    assert np.max(np.abs(basis.T @ moved)) < 1e-12
    step = 1e-6
    spaces = [other(a + sign * step * direction) for sign in (1, -1)]
    difference = (spaces[0] @ spaces[0].T - spaces[1] @ spaces[1].T) / (2 * step)
    np.testing.assert_allclose(moved @ basis.T + basis @ moved.T, difference, atol=1e-8)

    def span(a: Any) -> Any:
        return np.matmul(function(a), function(a).T)

    wg.check_grads(span, (a,), order=2)


def test_a_basis_of_a_space_of_low_rank() -> None:
    """Directions that keep the rank have derivatives."""
    left, right = RNG.uniform(-1, 1, (4, 2)), RNG.uniform(-1, 1, (2, 3))

    def span(left: Any, right: Any) -> Any:
        basis = linalg.null_space(left @ right, rcond=1e-6)
        return basis @ basis.T

    wg.check_grads(span, (left, right), order=1)


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "diagonals": (
        lambda: linalg.solve_banded((1, 1), BANDS, B),
        "solve_banded: 3 diagonals, and a right-hand",
    ),
    "rows": (lambda: linalg.solveh_banded(HALF, B[1:]), "solveh_banded: diagonals, and a right-hand side"),
    "positive": (
        lambda: linalg.solveh_banded(-HALF, B, lower=True),
        "solveh_banded: the leading minor of order 1 is not positive definite",
    ),
    "singular": (lambda: linalg.solve_banded((0, 1), np.zeros((2, 5)), B), "solve_banded: singular matrix"),
    "cholesky": (lambda: linalg.cholesky_banded(-HALF, lower=True), "cholesky_banded: the leading minor"),
    "mode": (lambda: linalg.qr(TALL, mode="raw"), "qr: the modes"),
    "rank": (
        lambda: wg.jit(linalg.null_space)(WIDE),
        "null_space: the matrix, whose rank is the size of the",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_operation(name: str) -> None:
    call, text = ERRORS[name]
    with pytest.raises(WengertError, match=text):
        call()


def test_eigenvalues_in_an_interval_are_refused() -> None:
    with pytest.raises(WengertError, match="eig_banded: eigenvalues are selected by place"):
        linalg.eigvals_banded(HALF, select="v", select_range=(0, 1))
