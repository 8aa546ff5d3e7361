"""Sparse Jacobians and Hessians in the solvers that take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError

optimize = pytest.importorskip("scipy.optimize")
sparse = pytest.importorskip("scipy.sparse")


def objective(x: Any) -> Any:
    return np.sum((x - 1.0) ** 4) + np.sum((x[1:] * x[:-1]) ** 2)


def chain(x: Any) -> Any:
    return x[1:] ** 2 + x[:-1]


@pytest.mark.parametrize(("choice", "is_expected"), [(True, True), (False, False), ("auto", True)])
def test_matrices_of_constraints(choice: Any, is_expected: bool) -> None:
    size = 250
    x, v = np.linspace(0.1, 1.0, size), np.linspace(-1.0, 1.0, size - 1)
    found = wg.optimize.problem(objective, x, [(chain, None, 2.0)], sparse=choice)
    (constraint,) = found.constraints
    jacobian, hessian = constraint.jac(x), constraint.hess(x, v)
    assert sparse.issparse(jacobian) == is_expected
    assert sparse.issparse(hessian) == is_expected
    expected = wg.jacobian(chain)(x)
    np.testing.assert_allclose(jacobian.toarray() if is_expected else jacobian, expected, rtol=1e-13)
    second = np.zeros(size)
    second[1:] = 2 * v
    np.testing.assert_allclose(hessian @ x, second * x, rtol=1e-12, atol=1e-14)
    for other in found.constraints_for("SLSQP"):
        assert isinstance(other.jac(x), np.ndarray)
    assert sparse.issparse(found.hess(x)) == (choice is True)


def test_few_variables_and_full_matrices_are_dense() -> None:
    few = wg.optimize.problem(objective, np.ones(20), [(chain, None, 2.0)])
    assert isinstance(few.constraints[0].jac(np.ones(20)), np.ndarray)
    full = wg.optimize.problem(objective, np.ones(250), [(lambda x: np.cumsum(x), None, 2.0)])
    assert isinstance(full.constraints[0].jac(np.ones(250)), np.ndarray)
    assert full.sparse_hess is not None


def test_a_sparse_problem_has_the_minimum_of_the_dense_one() -> None:
    x0, limits = np.full(12, 0.5), [(chain, None, 0.8)]
    results = [
        wg.optimize.minimize(objective, x0, method="trust-constr", constraints=limits, sparse=choice)
        for choice in (True, False)
    ]
    np.testing.assert_allclose(results[0].x, results[1].x, atol=1e-4)
    assert results[0].constr_violation < 1e-8


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_sparse_least_squares(method: str) -> None:
    def residuals(p: Any, y: Any) -> Any:
        return {"values": p["u"] ** 3 - y, "smooth": 0.1 * (p["u"][1:] - p["u"][:-1])}

    truth = 1.5 + np.sin(np.linspace(0.0, 3.0, 220))
    start = {"u": np.ones(220)}
    found = wg.optimize.least_squares(residuals, start, method=method, args=(truth**3,))
    assert sparse.issparse(found.jac)
    assert found.success
    np.testing.assert_allclose(found.x["u"], truth, atol=1e-2)
    dense = wg.optimize.least_squares(residuals, start, method=method, args=(truth**3,), sparse=False)
    np.testing.assert_allclose(found.x["u"], dense.x["u"], atol=1e-5)
    assert isinstance(dense.jac, np.ndarray)


def test_functions_without_a_pattern() -> None:
    def g(x: Any) -> Any:
        return x if x[0] > -9 else x[:3]  # on a value

    found = wg.optimize.problem(objective, np.ones(250), [(g, None, 2.0)])
    np.testing.assert_array_equal(found.constraints[0].jac(np.ones(250)), np.eye(250))
    with pytest.raises(ArgumentError, match=r"^minimize: sparse must be True, False or 'auto'; got 'yes'"):
        wg.optimize.minimize(objective, np.ones(3), sparse="yes")
