"""Factorisations and equations of any size as native programs: backward errors, errors, derivatives, sharing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import assert_same, check, eager
from tests.draws import examples
from wengert.engine.kernels import lapack
from wengert.engine.machine import costs

#: Blocks so small that matrices of a few rows are divided.
DIVIDED = {
    "native_block_rows": 3,
    "native_panel_columns": 2,
    "native_blocks": 100,
    "expanded_operations": 0,
    "native_lanes": 4,
}


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, **DIVIDED))


def drawn(seed: int, rows: int, columns: int, lead: tuple[int, ...] = ()) -> Any:
    """Return matrices whose rows differ in size by powers of ten, so that they want to be exchanged."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*lead, rows, columns)) * 10.0 ** rng.integers(-3, 4, (*lead, rows, 1))


def norm(a: Any) -> Any:
    return np.linalg.norm(a, axis=(-2, -1), keepdims=True)


EPS = np.finfo(np.float64).eps
SHAPES = st.sampled_from([(), (1,), (3,), (9,), (2, 5)])


@pytest.mark.usefixtures("divided")
@examples(12)
@given(st.integers(0, 99), st.integers(1, 11), SHAPES)
def test_solutions_have_small_backward_errors(seed: int, rows: int, lead: tuple[int, ...]) -> None:
    a, b = drawn(seed, rows, rows, lead), drawn(seed + 1, rows, 2, lead)
    x = wg.jit(np.linalg.solve)(a, b)
    growth = 2.0 ** min(rows, 4)  # the factors of partial pivoting may grow
    bound = 8 * rows * growth * EPS * (norm(a) * norm(x) + norm(b))
    assert np.all(norm(a @ x - b) <= bound)


@pytest.mark.usefixtures("divided")
@examples(12)
@given(st.integers(0, 99), st.integers(1, 11), SHAPES)
def test_factors_have_small_backward_errors(seed: int, rows: int, lead: tuple[int, ...]) -> None:
    a = drawn(seed, rows, rows, lead)
    a = a @ a.mT + rows * EPS * norm(a) ** 2 * np.eye(rows)
    factor = wg.jit(np.linalg.cholesky)(a)
    assert np.all(norm(factor @ factor.mT - a) <= 4 * rows * EPS * norm(a))
    assert not np.triu(factor, 1).any()


@pytest.mark.usefixtures("divided")
@examples(12)
@given(st.integers(0, 99), st.integers(2, 9), st.integers(0, 4), SHAPES)
def test_orthogonal_factors(seed: int, columns: int, more: int, lead: tuple[int, ...]) -> None:
    a = drawn(seed, columns + more, columns, lead)
    q, r = wg.jit(np.linalg.qr)(a)
    expected = np.linalg.qr(a)
    assert np.all(norm(q @ r - a) <= 20 * columns * EPS * norm(a))
    assert np.all(norm(q.mT @ q - np.eye(columns)) <= 20 * columns * EPS)
    np.testing.assert_array_equal(
        np.sign(np.diagonal(r, 0, -2, -1)), np.sign(np.diagonal(expected.R, 0, -2, -1))
    )
    assert not np.tril(r, -1).any()


@pytest.mark.usefixtures("divided")
@examples(6)
@given(st.integers(0, 99), st.integers(1, 8), SHAPES, st.sampled_from([1e-200, 1.0, 1e200]))
def test_eigenvalues(seed: int, rows: int, lead: tuple[int, ...], scale: float) -> None:
    a = drawn(seed, rows, rows, lead)
    a = a + a.mT
    values, vectors = wg.jit(np.linalg.eigh)(a * scale)
    values = values / scale
    bound = 10 * rows * EPS * norm(a)
    assert np.all(np.diff(values) >= 0)
    assert np.all(np.abs(values - np.linalg.eigvalsh(a)) <= bound[..., 0])
    assert np.all(norm(a @ vectors - vectors * values[..., None, :]) <= bound)
    assert np.all(norm(vectors.mT @ vectors - np.eye(rows)) <= 10 * rows * EPS)


@pytest.mark.parametrize("rows", [2, 7])
def test_eigenvalues_of_special_matrices(rows: int) -> None:
    """Equal and nearly equal eigenvalues, those of Hilbert's matrix, of graded ones, and zeros."""
    n = np.arange(rows)
    graded = 10.0 ** -np.maximum(n[:, None], n)
    ones = np.ones((rows, rows))
    matrices = np.stack(
        [1 / (n[:, None] + n + 1.0), graded, ones, ones + 1e-9 * graded, np.eye(rows), 0 * ones]
    )
    values, vectors = wg.jit(np.linalg.eigh)(matrices)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrices), rtol=0, atol=10 * rows * EPS * rows)
    assert np.all(norm(vectors.mT @ vectors - np.eye(rows)) <= 10 * rows * EPS)
    np.testing.assert_array_equal(wg.jit(np.linalg.eigvalsh)(matrices), values)


def test_eigenvalues_of_what_is_not_finite_are_nan() -> None:
    a = np.eye(3)
    a[1, 1] = np.nan
    assert np.isnan(wg.jit(np.linalg.eigh)(a)[0]).any()


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("columns", [2, 5])
def test_columns_that_depend_on_others_and_zeros(columns: int) -> None:
    a = np.ones((6, columns))
    a[:, 0] = 0
    q, r = wg.jit(np.linalg.qr)(a)
    np.testing.assert_allclose(q @ r, a, atol=1e-14)
    np.testing.assert_allclose(q.T @ q, np.eye(columns), atol=1e-14)


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_reflections_neither_overflow_nor_underflow(scale: float) -> None:
    a = drawn(0, 9, 7) * scale
    q, r = wg.jit(np.linalg.qr)(a)
    np.testing.assert_allclose(q @ (r / scale), a / scale, rtol=1e-12, atol=1e-12 * norm(a / scale)[0, 0])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "solve": np.linalg.solve,
    "solutions with both": lambda a, b: np.linalg.solve(a, b) + np.linalg.solve(a.mT, b),
    "inverse": lambda a, b: np.linalg.inv(a),
    "inverses of both": lambda a, b: np.linalg.inv(a.mT) + np.linalg.inv(a),
    "determinant": lambda a, b: np.linalg.det(a),
    "sign and logarithm": lambda a, b: np.prod(np.stack(np.linalg.slogdet(a)), 0),
    "cholesky": lambda a, b: np.linalg.cholesky(a @ a.mT),
    "triangular": lambda a, b: wg.scipy.linalg.solve_triangular(
        a[0] if a.ndim > 2 else a, b[..., :1], lower=True
    ),
    "orthogonal": lambda a, b: np.concatenate(np.linalg.qr(a[..., :3]), -2),
}


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("lead", [(), (6,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    rows = 5 if lead else 7  # two blocks, or three
    a = rng.uniform(-0.3, 0.3, (*lead, rows, rows)) + np.eye(rows)[::-1]
    if name == "triangular":
        lead, a = (), a[0] if lead else a
        a = a + 2 * np.eye(rows)
    b = rng.normal(size=(*lead, rows, 2))
    function = wg.value_and_grad(lambda a, b: np.sum(np.sin(FUNCTIONS[name](a, b))), argnums=(0, 1))
    assert wg.jit(function).report(a, b).hosts == ()
    check(function, a, b, ulp=20_000, scale=10.0)


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize(
    "name", ["solve", "inverse", "determinant", "sign and logarithm", "cholesky", "orthogonal"]
)
def test_float32_is_computed_in_float64_as_in_numpy(name: str) -> None:
    hilbert = np.array([[1 / (i + j + 1) for j in range(4)] for i in range(4)], "f4")
    check(FUNCTIONS[name], hilbert, np.ones((4, 1), "f4"), ulp=8)


def one_is_singular(rows: int) -> Any:
    """Return matrices of which the fourth is singular."""
    singular = np.ones((5, rows, rows)) * np.eye(rows)
    singular[3, rows - 1] = 0
    return singular


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("rows", [2, 4])  # a block, or two
@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda a: np.linalg.solve(a, a[..., :1]), "Singular matrix"),
        (np.linalg.inv, "Singular matrix"),
        (np.linalg.cholesky, "not positive definite"),
        (lambda a: wg.scipy.linalg.solve_triangular(a[3], a[0], lower=True), "singular matrix"),
    ],
    ids=["solve", "inv", "cholesky", "solve_triangular"],
)
def test_what_cannot_be_factorised_raises_as_in_numpy(function: Any, problem: str, rows: int) -> None:
    with pytest.raises(np.linalg.LinAlgError, match=problem):
        wg.jit(function)(one_is_singular(rows))


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("rows", [2, 4])
def test_determinants_of_singular_matrices_are_numpys(rows: int) -> None:
    singular = one_is_singular(rows)

    def determinants(a: Any) -> Any:
        return [
            FUNCTIONS[name](a, None) for name in ("determinant", "sign and logarithm")
        ], np.linalg.slogdet(a)[1]

    found, logarithms = wg.jit(determinants)(singular)
    expected, exact = eager(determinants, singular)
    assert_same(found, expected)
    np.testing.assert_array_equal(logarithms, exact)


@pytest.mark.usefixtures("divided")
def test_determinants_beyond_the_range_of_partial_products() -> None:
    a = np.diag([1e200, -1e200, 1e-300, 1e-250, 1e200, 1.0, 3.0])[[1, 0, 2, 4, 3, 6, 5]]
    determinant, sign = wg.jit(lambda a: (np.linalg.det(a), np.linalg.slogdet(a)[0]))(a)
    np.testing.assert_allclose(determinant, 3e50, rtol=1e-12)
    assert sign == np.linalg.slogdet(a)[0]


def test_one_factorisation_serves_a_solution_and_its_derivative() -> None:
    function = wg.value_and_grad(
        lambda a, b: np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1], argnums=(0, 1)
    )
    graph = dict(wg.jit(function).stages(np.eye(20) + 0.0, np.ones((20, 1))))["share_factors"]
    assert sum("lu_by_columns" in line for line in str(graph).splitlines()) == 1


def test_the_other_triangle_is_not_read() -> None:
    a = drawn(0, 30, 30)
    a = a @ a.T + np.eye(30)
    nothing = np.triu(np.full((30, 30), np.nan), 1)
    np.testing.assert_allclose(wg.jit(np.linalg.cholesky)(a + nothing), np.linalg.cholesky(a), rtol=1e-8)


def test_pivots_are_those_of_lapack_also_among_equal_ones() -> None:
    linalg = pytest.importorskip("scipy.linalg")
    from wengert.engine.ops.linalg.nests import lu_by_columns

    rng = np.random.default_rng(0)  # all steps are exact, and several pivots are 1 or -1
    lower = np.tril(rng.integers(-1, 2, (12, 9, 9)), -1) + np.eye(9)
    upper = np.triu(rng.integers(-2, 3, (12, 9, 9)), 1) + 2.0 * np.eye(9)
    a = (lower @ upper)[:, rng.permutation(9)]
    packed = wg.jit(lambda a: lu_by_columns(a, lanes=8))(a)
    for matrix, found in zip(a, packed, strict=True):
        order = np.arange(9)
        for row, other in enumerate(linalg.lu_factor(matrix + 0.0, check_finite=False)[1]):
            order[[row, other]] = order[[other, row]]
        np.testing.assert_array_equal(found[:, -1], order)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(9, 9), (2, 12, 12), (20, 9), (9, 20), (2, 3, 40, 11), (70, 70)], ids=str)
def test_eigenvalues_and_singular_values_without_python(shape: tuple[int, ...], dtype: type) -> None:
    a = np.random.default_rng(0).normal(size=shape).astype(dtype)
    programs: list[Callable[..., Any]] = [
        lambda a: np.linalg.svd(a, full_matrices=False),
        lambda a: np.linalg.svd(a, compute_uv=False),
    ]
    if shape[-1] == shape[-2]:
        programs += [np.linalg.eigh, lambda a: np.linalg.eigh(a, "U"), lambda a: np.linalg.eigvalsh(a, "U")]
    for program in programs:
        compiled = wg.jit(program)
        assert not compiled.report(a).hosts or not lapack.is_available()
        factors = [np.asarray(x) for x in wg.tree.leaves(compiled(a))]
        expected = [np.asarray(x) for x in wg.tree.leaves(program(a))]
        tolerance = 2e-5 if dtype is np.float32 else 1e-12
        for found, one in zip(factors, expected, strict=True):
            assert found.dtype == one.dtype
            # The sign of a vector is a choice of the library.
            scale = 10 * tolerance * max(1.0, np.max(np.abs(one)))
            np.testing.assert_allclose(np.abs(found), np.abs(one), rtol=0, atol=scale)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "program",
    [lambda a: np.linalg.svd(a)[1], lambda a: np.linalg.svd(a, compute_uv=False), np.linalg.eigvalsh],
)
def test_what_does_not_converge(program: Callable[..., Any], bad: float) -> None:
    a = np.eye(12)
    a[3, 3] = bad
    results: list[Any] = []
    for function in (program, wg.jit(program)):
        try:
            results.append(np.isnan(function(a)).all())
        except np.linalg.LinAlgError as problem:
            results.append("did not converge" in str(problem))
    assert results == [True, True]
