"""Solutions with sparse matrices: the registry tests the operation; here the function of the user."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

import wengert as wg
from wengert.engine.kernels import sparse_factors
from wengert.errors import ArgumentError, MatrixError, ShapeError
from wengert.implicit.sparse import solve

sparse = pytest.importorskip("scipy.sparse")
rng = np.random.default_rng(2)


def banded(count: int) -> Any:
    """Return a matrix with unsorted columns."""
    off = -rng.random(count - 1)
    return sparse.diags_array([off, 3 + rng.random(count), off], offsets=[-1, 0, 1]).tocsc().tocoo().tocsr()


def test_derivatives_are_those_of_the_dense_matrix() -> None:
    A, b = banded(7), rng.standard_normal((7, 2))
    rows, columns = A.tocoo().coords

    def dense(data: Any, b: Any) -> Any:
        matrix = np.zeros((7, 7))
        matrix[rows, columns] = data
        return np.sum(np.sin(np.linalg.solve(matrix, b)))

    def ours(data: Any, b: Any) -> Any:
        return np.sum(np.sin(solve(A, b, data=data)))

    np.testing.assert_allclose(ours(A.data, b), dense(A.data, b), rtol=1e-12)
    for run in (wg.grad(ours, (0, 1)), wg.jit(wg.grad(ours, (0, 1)))):
        for found, expected in zip(run(A.data, b), wg.grad(dense, (0, 1))(A.data, b), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    second = wg.grad(lambda data: np.sum(wg.grad(ours)(data, b) ** 2))(A.data)
    expected = wg.grad(lambda data: np.sum(wg.grad(dense)(data, b) ** 2))(A.data)
    np.testing.assert_allclose(second, expected, rtol=1e-9, atol=1e-12)


def test_one_factor_serves_the_solution_and_its_derivatives() -> None:
    A = banded(9)
    with mock.patch.object(sparse_factors, "_factorise", wraps=sparse_factors._factorise) as factorise:
        wg.grad(lambda data: np.sum(solve(A, np.ones(9), data=data) ** 2))(A.data)
    assert factorise.call_count == 1


def test_the_matrix_of_the_user_stays_as_it_is() -> None:
    A = sparse.csr_array((np.array([1.0, 4.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    before = A.data.copy(), A.indices.copy()
    np.testing.assert_allclose(A @ solve(A, np.array([1.0, 2.0])), [1.0, 2.0])
    np.testing.assert_array_equal(A.data, before[0])
    np.testing.assert_array_equal(A.indices, before[1])


def test_errors() -> None:
    with pytest.raises(ArgumentError, match=r"np\.linalg\.solve"):
        solve(np.eye(2), np.ones(2))
    with pytest.raises(ShapeError, match="must be square"):
        solve(sparse.csr_array(np.ones((2, 3))), np.ones(2))
    with pytest.raises(ShapeError, match="4 elements"):
        solve(sparse.csr_array(np.ones((2, 2))), np.ones(2), data=np.ones(3))
    with pytest.raises(ShapeError, match="a row for each row"):
        solve(sparse.eye_array(2).tocsr(), np.ones(3))
    with pytest.raises(MatrixError, match="singular"):
        solve(sparse.csr_array(np.ones((2, 2))), np.ones(2))
    with pytest.raises(MatrixError, match="singular"):
        wg.jit(lambda b: solve(sparse.csr_array(np.ones((2, 2))), b))(np.ones(2))
