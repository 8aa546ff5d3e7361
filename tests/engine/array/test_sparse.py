"""SciPy's sparse matrices as constant factors, in every transform, against dense matrices."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError, WengertError
from wengert.engine.kernels import sparse as kernels

sparse = pytest.importorskip("scipy.sparse")

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
RNG = np.random.default_rng(5)
DENSE = np.where(RNG.random((5, 4)) < 0.5, RNG.normal(size=(5, 4)), 0.0)
DENSE[2] = 0  # a row without elements
VECTOR, ROWS, COLUMNS = RNG.normal(size=4), RNG.normal(size=(2, 5)), RNG.normal(size=(4, 3))
LEFT = RNG.normal(size=5)


def stored(kind: str, format: str, dense: Any = DENSE) -> Any:
    return getattr(sparse, f"{format}_{kind}")(dense)


PRODUCTS = {
    "A @ x": (lambda A, x: A @ x, VECTOR),
    "A @ X": (lambda A, x: A @ x, COLUMNS),
    "A @ one column": (lambda A, x: A @ x, COLUMNS[:, :1]),
    "A.dot(x)": (lambda A, x: A.dot(x) if sparse.issparse(A) else A @ x, VECTOR),
    "A.dot(X)": (lambda A, x: A.dot(x) if sparse.issparse(A) else A @ x, COLUMNS),
    "x @ A": (lambda A, x: x @ A, LEFT),
    "X @ A": (lambda A, x: x @ A, ROWS),
    "A.T @ x": (lambda A, x: A.T @ x, LEFT),
    "A.T @ A @ x": (lambda A, x: A.T @ (A @ x), VECTOR),
}


def assert_same(actual: Any, expected: Any) -> None:
    for leaf, other in zip(wg.tree.leaves(actual), wg.tree.leaves(expected), strict=True):
        assert np.shape(leaf) == np.shape(other)
        np.testing.assert_allclose(leaf, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_products_and_derivatives_are_those_of_the_array(kind: str, format: str) -> None:
    matrix = stored(kind, format)
    for product, x in PRODUCTS.values():

        def derivatives(A: Any, x: Any, product: Any = product) -> Any:
            def loss(x: Any) -> Any:
                return np.sum(np.sin(product(A, x)) ** 2)

            value, pushed = wg.jvp(lambda x: product(A, x), (x,), (np.cos(x),))
            return value, pushed, wg.grad(loss)(x), wg.hvp(loss)(x, x)

        assert_same(derivatives(matrix, x), derivatives(DENSE, x))


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_compiled_batched_and_in_second_order(name: str, format: str) -> None:
    product, x = PRODUCTS[name]
    matrix = stored("array", format)

    def loss(x: Any, A: Any = matrix) -> Any:
        return np.sum(np.sin(product(A, x)) ** 2)

    def dense(x: Any) -> Any:
        return loss(x, DENSE)

    batch = np.stack([x, 2 * x, x - 1])
    transforms = (
        wg.grad,
        wg.hessian,
        lambda f: lambda x: wg.grad(lambda x: np.sum(wg.grad(f)(x) ** 2))(x),
    )
    for transform in transforms:
        assert_same(transform(loss)(x), transform(dense)(x))
        assert_same(wg.vmap(transform(loss))(batch), wg.vmap(transform(dense))(batch))

    def every(f: Any) -> Any:
        return lambda x, batch: ([transform(f)(x) for transform in transforms], wg.vmap(wg.grad(f))(batch))

    assert_same(wg.jit(every(loss))(x, batch), every(dense)(x, batch))
    assert_same(wg.linearize(loss, x)[1](x), wg.linearize(dense, x)[1](x))


def test_large_products_are_scipys_and_small_ones_are_compiled() -> None:
    for size in (30, 400):
        dense = np.where(RNG.random((size, size)) < 0.1, RNG.normal(size=(size, size)), 0.0)
        matrix, x = sparse.csr_array(dense), RNG.normal(size=size)
        compiled = wg.jit(wg.grad(lambda x, A=matrix: np.sum((A @ x) ** 2)))
        np.testing.assert_allclose(compiled(x), 2 * dense.T @ (dense @ x), rtol=1e-9)
        assert ("sparse_product" in str(compiled.report(x))) == (matrix.nnz > 10_000)


def test_in_loops() -> None:
    matrix = stored("array", "csr", DENSE[:4])

    def smoothed(A: Any) -> Any:
        return lambda x: np.sum(wg.fori_loop(0, 3, lambda i, x: np.tanh(A @ x), x))

    for transform in (wg.grad, lambda f: wg.jit(wg.grad(f)), lambda f: wg.grad(wg.checkpoint(f))):
        assert_same(transform(smoothed(matrix))(VECTOR), transform(smoothed(DENSE[:4]))(VECTOR))


@pytest.mark.parametrize("matrix_dtype", [np.float32, np.float64, np.int32, np.bool_])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("compiled", [lambda f: f, wg.jit])
def test_dtypes_are_scipys(matrix_dtype: Any, dtype: Any, compiled: Any) -> None:
    matrix = sparse.csr_array(DENSE.astype(matrix_dtype))
    x = (10 * VECTOR).astype(dtype)
    inside = compiled(lambda x: wg.vmap(lambda x: matrix @ x)(x[None])[0])(x)
    assert inside.dtype == (matrix @ x).dtype
    np.testing.assert_allclose(inside, matrix @ x, rtol=1e-5)
    if np.dtype(dtype).kind == "f":
        assert compiled(wg.grad(lambda x: np.sum(matrix @ x)))(x).dtype == dtype


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rest", [(), (3,), (2, 3), (0,)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_numpy_multiplies_where_scipy_is_not_loaded(
    transposed: bool, rest: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = sparse.csr_array((4 * DENSE).astype(np.int8))
    x = (8 * RNG.normal(size=(5 if transposed else 4, *rest))).astype(dtype)
    arguments = x, matrix.data, matrix.indices, matrix.indptr, 4, transposed
    expected = kernels.product(*arguments)
    monkeypatch.delitem(sys.modules, "scipy.sparse")
    actual = kernels.product(*arguments)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(actual, expected, rtol=1e-2 if dtype is np.float16 else 1e-5, atol=1e-6)


def test_elements_that_are_stored_twice_are_summed() -> None:
    matrix = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert_same(wg.jacobian(lambda x: matrix @ x)(np.ones(2)), matrix.toarray())


def test_a_later_write_to_the_matrix_does_not_reach_what_was_recorded() -> None:
    matrix = sparse.csr_array(DENSE)
    _, pullback = wg.vjp(lambda x: matrix @ x, VECTOR)
    matrix.data[:] = 0
    assert_same(pullback(LEFT)[0], DENSE.T @ LEFT)


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_shapes_and_dtypes_that_do_not_fit(transform: Any) -> None:
    matrix = sparse.csr_array(DENSE)
    inner = r"matmul: inner dimensions must agree; got a sparse matrix of 5 rows .* \[test_sparse.py:\d+\]$"
    for wrong, kind, said in (
        (lambda x: matrix @ x[:3], ShapeError, inner),
        (
            lambda x: x @ matrix,
            ShapeError,
            "matmul: inner dimensions must agree; got a sparse matrix of 4 rows",
        ),
        (
            lambda x: matrix @ x[0],
            ShapeError,
            r"a vector or a matrix; got csr_array of .* write x \* A\.toarray\(\)",
        ),
        (lambda x: matrix @ x[:, None, None], ShapeError, r"write A\.toarray\(\) @ x for more axes"),
    ):
        with pytest.raises(kind, match=said):
            transform(wrong)(VECTOR)


REFUSED = r"sparse matrix supports only the products A @ x .* write A\.toarray\(\)"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_what_else_a_matrix_does_is_refused(transform: Any, format: str) -> None:
    matrix = stored("array", format)
    for wrong in (
        lambda x: (matrix + x).sum(),
        lambda x: (x - matrix).sum(),
        lambda x: (matrix / x[0]).sum(),
        lambda x: np.matmul(matrix, x).sum(),
    ):
        with pytest.raises(UnsupportedError, match=REFUSED):
            transform(wrong)(VECTOR)


@pytest.mark.parametrize("format", FORMATS)
def test_products_of_elements_and_of_numbers(format: str) -> None:
    matrix = stored("array", format)
    slope = wg.grad(
        lambda x: (x * matrix).sum() + (matrix * x - 1.0 * (matrix * x)).sum() + (x[0] * matrix).sum()
    )(VECTOR)
    np.testing.assert_allclose(slope, DENSE.sum(axis=0) + DENSE.sum() * (np.arange(len(VECTOR)) == 0))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_products_by_elements_are_refused(transform: Any, format: str) -> None:
    matrix = stored("array", format)
    older = not hasattr(matrix.tocsr(), "_multiply_2d_with_broadcasting")  # which fails on a box by itself
    for wrong in (
        lambda x: matrix.multiply(x).sum(),
        lambda x: matrix.maximum(x).sum(),
    ):
        with pytest.raises(Exception if older else UnsupportedError, match=None if older else REFUSED):
            transform(wrong)(VECTOR)


def test_other_functions_of_scipys_still_say_what_is_lost() -> None:
    linalg = pytest.importorskip("scipy.sparse.linalg")
    matrix = sparse.csc_array(DENSE.T @ DENSE + np.eye(4))
    for wrong in (lambda x: linalg.cg(matrix, x)[0][0], lambda x: linalg.gmres(matrix, x)[0][0]):
        with pytest.raises(WengertError, match="SciPy computes with plain arrays"):
            wg.grad(wrong)(VECTOR)


def test_a_matrix_as_an_argument_of_jit_is_to_be_taken_from_outside() -> None:
    matrix = sparse.csr_array(DENSE)
    outside = r"close over it instead: a sparse matrix is a constant of a compiled function\. \[test_sp"
    with pytest.raises(DtypeError, match=r"got csr_array in argument 0 \(A\); let the function " + outside):
        wg.jit(lambda A, x: A @ x)(matrix, VECTOR)
    with pytest.raises(DtypeError, match=outside):
        wg.jit(lambda given: given["A"] @ given["x"])({"A": matrix, "x": VECTOR})
    with pytest.raises(ArgumentError, match=outside):
        wg.jit(lambda A, x: A @ x, static_argnums=0)(matrix, VECTOR)
    with pytest.raises(DtypeError, match="name other arguments in static_argnums"):
        wg.jit(lambda name, x: x)("a name", VECTOR)


def test_what_a_compiled_function_takes_from_outside_is_read_once() -> None:
    matrix = sparse.csr_array(DENSE)
    compiled = wg.jit(lambda x: matrix @ x)
    before = compiled(VECTOR)
    matrix.data[:] = 0
    assert_same(compiled(VECTOR), before)


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_a_row_of_one_axis_says_how_it_keeps_both(transform: Any) -> None:
    matrix = sparse.csr_array(DENSE)
    row = sparse.coo_array(DENSE[0])  # as A[0] is
    if row.ndim != 1:
        pytest.skip("SciPy has no sparse arrays of one axis")
    for wrong in (lambda u: row @ u, lambda u: u @ row):
        with pytest.raises(
            ShapeError, match=r"must have two axes; got .* write A\[i : i \+ 1\] for one row of A"
        ):
            transform(wrong)(VECTOR)
    assert_same(transform(lambda u: (matrix[0:1] @ u)[0])(VECTOR), transform(lambda u: DENSE[0] @ u)(VECTOR))
