from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import WengertError

RNG = np.random.default_rng(61)
SQUARE = RNG.normal(size=(4, 4))
SYMMETRIC = SQUARE @ SQUARE.T
STACK = RNG.normal(size=(2, 3, 3)) + np.diag([2.0, 5.0, 8.0])
TALL, B, V = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2)), RNG.normal(size=5)
WIDE = TALL.T.copy()
OF_LESS_RANK = TALL[:, :2] @ RNG.normal(size=(2, 4))


def oriented_eigh(x: Any, half: str = "L") -> Any:
    """Return eigenvalues and eigenvectors with a positive first element: the signs are a choice of the method."""
    values, vectors = np.linalg.eigh(x, half)
    return values, vectors * np.sign(vectors[..., :1, :])


CASES: dict[str, tuple[Any, ...]] = {
    "eigh": (oriented_eigh, SYMMETRIC),
    "eigh stack": (oriented_eigh, STACK),
    "eigh upper": (lambda x: oriented_eigh(x, "U"), SQUARE),
    "eigvalsh": (np.linalg.eigvalsh, SQUARE),
    "eigvalsh upper": (lambda x: np.linalg.eigvalsh(x, UPLO="u"), STACK),
    "svd": (np.linalg.svd, SQUARE),
    "svd stack": (np.linalg.svd, STACK),
    "svd tall": (lambda x: np.linalg.svd(x, full_matrices=False), TALL),
    "svd wide": (lambda x: np.linalg.svd(x, False), WIDE),
    "singular values": (lambda x: np.linalg.svd(x, compute_uv=False), WIDE),
    "singular values of symmetric": (lambda x: np.linalg.svd(x, compute_uv=False, hermitian=True), SYMMETRIC),
    "svdvals": (np.linalg.svdvals, STACK),
    "qr": (np.linalg.qr, SQUARE),
    "qr tall": (np.linalg.qr, TALL),
    "qr wide": (np.linalg.qr, WIDE),
    "qr complete": (lambda x: np.linalg.qr(x, mode="complete"), WIDE),
    "r of stack": (lambda x: np.linalg.qr(x, "r"), STACK),
    "pinv": (np.linalg.pinv, TALL),
    "pinv wide": (np.linalg.pinv, WIDE),
    "pinv stack": (lambda x: np.linalg.pinv(x, rtol=1e-8), STACK),
    "pinv symmetric": (lambda x: np.linalg.pinv(x, hermitian=True), SYMMETRIC),
    "least squares": (lambda a, b: np.linalg.lstsq(a, b)[:2], TALL, B),
    "least squares of vector": (lambda a, b: np.linalg.lstsq(a, b)[0], TALL, V),
    "least norm": (lambda a, b: np.linalg.lstsq(a, b)[0], WIDE, V[:3]),
    "all of least squares": (lambda a: np.linalg.lstsq(a, B), TALL),
    "norm 2": (lambda x: np.linalg.norm(x, 2), TALL),
    "norm -2": (lambda x: np.linalg.norm(x, -2, axis=(2, 0), keepdims=True), STACK),
    "norm nuclear": (lambda x: np.linalg.norm(x, "nuc", axis=(0, 1)), STACK),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x, ord=2, keepdims=True), STACK),
    "pinv of a part": (lambda x: np.linalg.pinv(x, 0.4), TALL),
    "pinv of a part of a stack": (lambda x: np.linalg.pinv(x, 0.3), STACK),
    "pinv of a part, wide": (lambda x: np.linalg.pinv(x, 0.4), WIDE),
    "least squares of a part": (lambda a, b: np.linalg.lstsq(a, b, 0.4)[0], TALL, B),
    "cond": (np.linalg.cond, TALL),
    "cond -2": (lambda x: np.linalg.cond(x, -2), STACK),
    "cond 1": (lambda x: np.linalg.cond(x, 1), STACK),
    "rank": (np.linalg.matrix_rank, OF_LESS_RANK),
    "rank of stack": (lambda x: np.linalg.matrix_rank(x, rtol=0.2), STACK),
    "rank above": (lambda x: np.linalg.matrix_rank(x, tol=np.array([2.5, 6.0])), STACK),
    "rank of vector": (np.linalg.matrix_rank, V),
    "tensorinv": (lambda x: np.linalg.tensorinv(x.reshape(2, 2, 4)), SQUARE),
}


@pytest.mark.parametrize("name", CASES)
def test_decompositions(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, rtol=1e-9)


@pytest.mark.parametrize("mode", [lambda f: f, wg.jit])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: np.sum(np.linalg.eigvalsh(x) ** 2), 2 * np.eye(3)),
        (lambda x: np.sum(np.linalg.eigh(x)[0] ** 2), 2 * np.eye(3)),
        (lambda x: np.sum(np.linalg.svd(x)[1] ** 3), 3 * np.eye(3)),
        (lambda x: np.linalg.norm(x, "nuc"), np.eye(3)),
        (lambda x: np.sum(np.linalg.svd(np.concatenate([x, x]), full_matrices=False)[1]), np.eye(3) * 2**0.5),
    ],
)
def test_equal_values_have_derivatives(mode: Any, function: Any, expected: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = mode(wg.grad(function))(np.eye(3))
        moved = mode(lambda x: wg.jvp(function, (x,), (np.diag([1.0, 2.0, 3.0]),))[1])(np.eye(3))
    np.testing.assert_allclose(actual, expected, atol=1e-15)
    np.testing.assert_allclose(moved, np.sum(expected * np.diag([1.0, 2.0, 3.0])), rtol=1e-14)


def test_singular_values_of_zero_have_derivatives() -> None:
    matrix = np.outer(TALL[0], TALL[1])
    actual = wg.grad(lambda x: np.sum(np.linalg.svd(np.concatenate([x, x]), full_matrices=False)[1][:1]))(
        matrix
    )
    u, v = (TALL[k] / np.linalg.norm(TALL[k]) for k in (0, 1))
    np.testing.assert_allclose(actual, 2**0.5 * np.outer(u, v), rtol=1e-12)


@pytest.mark.parametrize("mode", [lambda f: f, wg.jit])
@pytest.mark.parametrize("order", [2, -2, "nuc"])
@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3)])
def test_norms_of_zero_have_the_derivative_zero(mode: Any, order: Any, shape: tuple[int, int]) -> None:
    zero, direction = np.zeros(shape), RNG.normal(size=shape)
    assert not mode(wg.grad(lambda x: np.linalg.norm(x, order)))(zero).any()
    assert not mode(lambda x: wg.jvp(lambda x: np.linalg.norm(x, order), (x,), (direction,))[1])(zero)


def test_vectors_of_equal_values_have_none() -> None:
    """The derivative of ``A^2 = V w^2 V^T`` does not follow from those of ``V`` and ``w``: it must not be finite."""

    def squared(x: Any) -> Any:
        values, vectors = np.linalg.eigh(x)
        return np.sum((vectors * values**2) @ vectors.T)

    with np.errstate(all="ignore"):
        assert not np.isfinite(wg.grad(squared)(np.eye(3))).all()


def test_one_triangle_is_read() -> None:
    for function in (np.linalg.eigvalsh, lambda x: np.linalg.eigh(x).eigenvectors):
        assert not np.triu(wg.grad(lambda x: np.sum(function(x)))(SYMMETRIC), 1).any()  # noqa: B023


def test_derivative_of_a_pseudoinverse_of_less_rank() -> None:
    """The derivative along matrices of one rank agrees with finite differences."""
    left, right = RNG.normal(size=(5, 2)), RNG.normal(size=(2, 4))
    way = RNG.normal(size=(5, 2))
    _, actual = wg.jvp(lambda t: np.linalg.pinv((left + t * way) @ right, 1e-10), (0.0,), (1.0,))
    _, solution = wg.jvp(lambda t: np.linalg.lstsq((left + t * way) @ right, V, 1e-10)[0], (0.0,), (1.0,))
    step = 1e-6
    ahead, behind = (np.linalg.pinv((left + t * way) @ right, 1e-10) for t in (step, -step))
    np.testing.assert_allclose(actual, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(solution, actual @ V, rtol=1e-9, atol=1e-12)


def test_least_squares_of_several_dtypes(values: Any) -> None:
    near = np.array([[1, 1], [1, 1 + 1e-6]])
    for dtypes in ((np.float32, np.float64), (np.float64, np.float32), (np.float32, np.int64)):
        a, b = near.astype(dtypes[0]), np.ones((2, 0)).astype(dtypes[1])
        values(np.linalg.lstsq, a, b, rtol=1e-4)
        values(np.linalg.lstsq, a, np.ones(2, dtypes[1]), rtol=1e-4)


@pytest.mark.parametrize("order", [2, -2])
@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.diag([1.0, 0.0])])
def test_condition_of_singular_matrices(values: Any, matrix: Any, order: int) -> None:
    with np.errstate(all="ignore"):
        values(lambda x: np.linalg.cond(x, order), matrix)


def test_tuples_are_numpys() -> None:
    for function in (np.linalg.eigh, np.linalg.svd, np.linalg.qr):
        assert type(function(CONSTANT.constant(SQUARE))) is type(function(SQUARE))


@pytest.mark.parametrize(
    "function", [np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svd, np.linalg.qr, np.linalg.pinv]
)
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 2, 2)])
def test_empty(values: Any, function: Any, shape: tuple[int, ...]) -> None:
    values(function, np.zeros(shape))


def test_dtypes(values: Any) -> None:
    single = (SYMMETRIC + np.diag([0.0, 9.0, 20.0, 40.0])).astype(np.float32)

    def all_of_them(x: Any) -> Any:
        of_symmetric = (*oriented_eigh(x), np.linalg.eigvalsh(x), np.linalg.matrix_rank(x))
        return of_symmetric, tuple(np.linalg.svd(x)), tuple(np.linalg.qr(x)), np.linalg.lstsq(x, x[0])

    values(all_of_them, single, rtol=1e-4)
    values(all_of_them, single.astype(np.int64))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.linalg.eigh(x[:2]), "eigh: square matrices are required; got f64"),
        (lambda x: np.linalg.eigh(x, "lower"), 'eigh: UPLO must be "L" or "U"; got \'lower\''),
        (lambda x: np.linalg.eigvalsh(x[0]), "eigvalsh: an array of at least two axes is required"),
        (lambda x: np.linalg.qr(x[:, :2], "raw"), 'qr: modes "reduced", "complete" and "r" are supported'),
        (lambda x: np.linalg.pinv(x, 1e-3, rtol=1e-3), "pinv: only one of rcond and rtol"),
        (lambda x: np.linalg.pinv(x, np.ones(3)), "pinv: the tolerance must be a number"),
        (lambda x: np.linalg.matrix_rank(x, 1e-3, rtol=1e-3), "matrix_rank: only one of tol and rtol"),
        (lambda x: np.linalg.lstsq(x, x[:2]), "lstsq: the right-hand side must have a row for each equation"),
        (lambda x: np.linalg.lstsq(x[None], x), "lstsq: a matrix, and a vector or matrix.*wg.vmap"),
        (lambda x: np.linalg.norm(x, "trace"), "norm: matrix norms have the orders .*; got 'trace'"),
        (lambda x: np.linalg.tensorinv(x, 3), "tensorinv: a must be square"),
        (lambda x: np.linalg.svdvals(x * np.nan), "svdvals: SVD did not converge"),
        (lambda x: np.linalg.eigh(x.astype(np.float16)), "eigh: single or double precision"),
    ],
)
def test_errors_name_the_operation(call: Any, text: str) -> None:
    for transform in (wg.jit, lambda f: wg.grad(lambda x: wg.tree.leaves(f(x))[0].sum())):
        with pytest.raises(WengertError, match=text):
            transform(call)(SQUARE)


# -- vectors beyond the singular values ------------------------------------------------------------------


def reflection(columns: Any) -> Any:
    """Return ``1 - 2 P`` for the projection P onto the space of orthonormal columns."""
    return np.eye(columns.shape[-2]) - 2 * columns @ np.conj(np.swapaxes(columns, -1, -2))


BEYOND = {
    "svd tall": (lambda a: reflection(np.linalg.svd(a)[0][..., 2:]), (5, 2)),
    "svd wide": (lambda a: reflection(np.swapaxes(np.linalg.svd(a).Vh[..., 2:, :], -1, -2)), (2, 4)),
    "svd by one": (lambda a: np.linalg.svd(a)[0][:, 3] ** 2, (4, 3)),
    "qr": (lambda a: reflection(np.linalg.qr(a, "complete")[0][..., 2:]), (5, 2)),
    "stacked": (lambda a: reflection(np.linalg.svd(a)[0][..., 2:]), (2, 4, 2)),
}


@pytest.mark.parametrize("name", BEYOND)
def test_the_space_beyond_has_derivatives(check: Any, name: str) -> None:
    function, shape = BEYOND[name]
    check(function, RNG.normal(size=shape), rtol=1e-9)


@pytest.mark.parametrize("shape", [(5, 2), (2, 4), (3, 3), (2, 4, 3)])
def test_complete_factors_are_numpys(shape: tuple[int, ...]) -> None:
    a = RNG.normal(size=shape)
    for function in (np.linalg.svd, lambda a: np.linalg.qr(a, "complete")):
        for actual in (wg.vjp(function, a)[0], wg.jit(function)(a), wg.vmap(function)(a[None])):
            for value, other in zip(actual, function(a), strict=True):
                np.testing.assert_allclose(np.reshape(value, other.shape), other, atol=1e-14)
    u, s, v = wg.vjp(np.linalg.svd, a)[0]
    np.testing.assert_allclose(
        (u[..., : s.shape[-1]] * s[..., None, :]) @ v[..., : s.shape[-1], :], a, atol=1e-14
    )
    if len(shape) == 2 and shape[0] > shape[1]:
        wg.check_grads(lambda a: (lambda q, r: q @ r)(*np.linalg.qr(a, "complete")), (a,))


def test_singular_values_of_hermitian_matrices(check: Any) -> None:
    a = np.random.default_rng(3).normal(size=(4, 4))
    check(lambda a: np.linalg.svd(a + a.T, hermitian=True)[1], a, rtol=1e-9)
    check(
        lambda a: (lambda u, s, v: (u * np.sqrt(s)) @ v)(*np.linalg.svd(a + a.T, hermitian=True)),
        a,
        rtol=1e-9,
    )
    u, s, v = wg.jit(lambda a: np.linalg.svd(a + a.T, hermitian=True))(a)
    expected = np.linalg.svd(a + a.T, hermitian=True)
    for value, other in zip((abs(u), s, abs(v)), expected, strict=True):  # a vector may have the other sign
        np.testing.assert_allclose(value, abs(other), atol=1e-13)
    np.testing.assert_allclose((u * s) @ v, a + a.T, atol=1e-13)


def by_minors(a: Any) -> Any:
    rows = range(len(a))
    minors = [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in rows] for i in rows]
    return np.array(minors) * (-1.0) ** np.add.outer(rows, rows)


def singular(rows: int, rank: int, kind: str) -> Any:
    rng = np.random.default_rng(rows)
    if kind == "shift":  # each pivot is zero, but the rank is that of the others
        return np.eye(rows, k=1)
    a = rng.normal(size=(rows, rows))
    if kind == "integers":
        a = np.round(3 * a)
    a[rows - (rows - rank) :] = a[:1] if kind == "equal rows" else 0.0
    return a


@pytest.mark.parametrize("kind", ["zeros", "equal rows", "integers", "shift"])
@pytest.mark.parametrize("lost", [1, 2])
@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 9, 13])
def test_the_derivative_of_the_determinant_of_singular_matrices(rows: int, lost: int, kind: str) -> None:
    a = singular(rows, max(rows - lost, 0), kind)
    expected = by_minors(a)
    scale = max(np.max(np.abs(expected)), np.linalg.norm(a, 2) ** (rows - 1) * 1e-3)
    regular = np.random.default_rng(1).normal(size=a.shape) + 2 * np.eye(rows)
    gradient = wg.grad(lambda a: np.linalg.det(a).sum())
    for found in (gradient(a), wg.jit(gradient)(a), wg.jit(gradient)(np.stack([regular, a]))[1]):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)
    stacked = wg.jit(gradient)(np.stack([a, regular]))[1]
    np.testing.assert_allclose(
        stacked, np.linalg.det(regular) * np.linalg.inv(regular).T, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("rows", [4, 7])
def test_the_derivative_of_complex_determinants(rows: int) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(rows, rows)) + 1j * rng.normal(size=(rows, rows))
    a[-1] = a[0]
    gradient = wg.grad(lambda a: np.linalg.det(a).real)(a)
    np.testing.assert_allclose(gradient, by_minors(a), atol=1e-11)
    np.testing.assert_allclose(wg.jit(wg.grad(lambda a: np.linalg.det(a).real))(a), gradient, atol=1e-11)


@pytest.mark.parametrize("size", [1e40, 1e-40])
@pytest.mark.parametrize("rows", [4, 8])
def test_cofactors_do_not_overflow_with_the_determinant(rows: int, size: float) -> None:
    a = np.eye(rows) + 0.1
    expected = np.linalg.det(a) * np.linalg.inv(a).T * size ** (rows - 1)
    with np.errstate(all="ignore"):
        for gradient in (wg.grad(np.linalg.det), wg.jit(wg.grad(np.linalg.det))):
            np.testing.assert_allclose(gradient(size * a), expected, rtol=1e-12)
