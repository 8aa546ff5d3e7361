"""Linear equations by products alone: against direct solutions, in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.errors import ArgumentError, DtypeError, LimitError, MatrixError, ShapeError

SOLVERS = ("direct", "cg", "gmres", "bicgstab")
rng = np.random.default_rng(5)


def matrix_for(solver: str, count: int, seed: int) -> Any:
    """Return a well-conditioned matrix, symmetric positive definite for conjugate gradients."""
    draw = np.random.default_rng(seed)
    A = draw.standard_normal((count, count)) / count + np.eye(count) * 2
    return A @ A.T if solver == "cg" else A


def through(solver: str) -> Callable[..., Any]:
    return lambda A, b: wg.linear_solve(lambda v: A @ v, b, solver=solver)


def value(solve: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda A, b: np.sum(np.sin(solve(A, b)) * np.arange(1.0, b.shape[0] + 1))


@pytest.mark.parametrize("solver", SOLVERS)
@given(count=st.integers(1, 12), seed=st.integers(0, 2**20))
@examples(20)
def test_derivatives_are_those_of_the_equation(solver: str, count: int, seed: int) -> None:
    A, b = matrix_for(solver, count, seed), np.random.default_rng(seed).standard_normal(count)
    ours, direct = value(through(solver)), value(np.linalg.solve)
    np.testing.assert_allclose(ours(A, b), direct(A, b), rtol=1e-7, atol=1e-8)
    for found, expected in zip(wg.grad(ours, (0, 1))(A, b), wg.grad(direct, (0, 1))(A, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    moves = (np.ones_like(A), b)
    found, expected = (wg.jvp(f, (A, b), moves)[1] for f in (ours, direct))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_second_derivatives_batches_and_compiled_programs(solver: str) -> None:
    A, b = matrix_for(solver, 5, 3), rng.standard_normal(5)

    def along(solve: Any) -> Callable[[Any], Any]:
        function = value(solve)
        return lambda t: function(A + t * t * np.eye(5), np.cos(t) * b)

    ours, direct = along(through(solver)), along(np.linalg.solve)
    points = np.array([0.1, 0.4, 0.9])
    second = [wg.grad(wg.grad(direct))(t) for t in points]
    close = {"rtol": 1e-6, "atol": 1e-7}
    np.testing.assert_allclose([wg.grad(wg.grad(ours))(t) for t in points], second, **close)
    np.testing.assert_allclose([wg.jvp(wg.grad(ours), (t,), (1.0,))[1] for t in points], second, **close)
    np.testing.assert_allclose(wg.vmap(wg.grad(wg.grad(ours)))(points), second, **close)
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(wg.grad(ours))))(points), second, **close)
    np.testing.assert_allclose([wg.derivative(ours, order=2)(t) for t in points], second, **close)
    np.testing.assert_allclose(wg.grad(wg.jit(ours))(0.4), wg.grad(direct)(0.4), **close)


@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_batches_of_right_sides_and_of_matrices(solver: str) -> None:
    As = np.stack([matrix_for(solver, 4, seed) for seed in range(3)])
    bs = rng.standard_normal((3, 4))
    solve = through(solver)
    for axes in ((0, 0), (None, 0), (0, None)):
        A, b = (x if axis == 0 else x[0] for x, axis in zip((As, bs), axes, strict=True))
        expected = [
            np.linalg.solve(A[i] if axes[0] == 0 else A, b[i] if axes[1] == 0 else b) for i in range(3)
        ]
        np.testing.assert_allclose(wg.vmap(solve, in_axes=axes)(A, b), expected, rtol=1e-7, atol=1e-9)
    both = wg.vmap(wg.vmap(solve, in_axes=(None, 0)), in_axes=(0, None))(As, bs)
    expected = [[np.linalg.solve(A, b) for b in bs] for A in As]
    np.testing.assert_allclose(both, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_containers_and_precisions(solver: str) -> None:
    b = {"u": np.array([1.0, 2.0]), "v": 3.0}

    def laplace(x: Any) -> Any:
        return {"u": 3 * x["u"] - x["v"], "v": 4 * x["v"] - np.sum(x["u"])}

    x = wg.linear_solve(laplace, b, solver=solver)
    back = laplace(x)
    np.testing.assert_allclose(back["u"], b["u"], rtol=1e-8)
    np.testing.assert_allclose(back["v"], b["v"], rtol=1e-8)
    single = matrix_for(solver, 4, 1).astype(np.float32)
    found = wg.linear_solve(lambda v: single @ v, np.ones(4, np.float32), solver=solver)
    assert found.dtype == np.float32
    np.testing.assert_allclose(single @ found, 1.0, rtol=1e-3)
    wide = wg.linear_solve(single.astype(float), np.ones(4, np.float32), solver=solver)
    assert wide.dtype == np.float64


def test_a_matrix_whose_krylov_space_begins_at_right_angles() -> None:
    """The residual of the first step does not fall: a method of conjugate residuals breaks down."""
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    np.testing.assert_allclose(wg.linear_solve(turn, np.array([1.0, 2.0]), solver="gmres"), [2.0, -1.0])
    count = 45  # more than GMRES keeps
    shift = np.roll(np.eye(count), 1, axis=0) * 0.5 + np.eye(count)
    x = wg.linear_solve(shift, np.ones(count), solver="gmres")
    np.testing.assert_allclose(shift @ x, 1.0, rtol=1e-8)


def test_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    count = 30
    off = -np.ones(count - 1)
    A = sparse.diags_array([off, 2.5 * np.ones(count), off], offsets=[-1, 0, 1]).tocsr()
    for solver in SOLVERS:
        x = wg.linear_solve(A, np.ones(count), solver=solver)
        np.testing.assert_allclose(A @ x, 1.0, rtol=1e-8)
        gradient = wg.grad(lambda b, s=solver: np.sum(wg.linear_solve(A, b, solver=s) ** 2))(np.ones(count))
        np.testing.assert_allclose(gradient, 2 * np.linalg.solve(A.toarray().T, x), rtol=1e-7)


def test_a_transpose_of_the_user() -> None:
    A, b = matrix_for("gmres", 4, 2), rng.standard_normal(4)
    calls: list[int] = []

    def transpose(v: Any) -> Any:
        calls.append(1)
        return A.T @ v

    def solve(b: Any) -> Any:
        x = wg.linear_solve(lambda v: A @ v, b, solver="gmres", transpose=transpose)
        return np.sum(x**2)

    expected = wg.grad(lambda b: np.sum(np.linalg.solve(A, b) ** 2))(b)
    np.testing.assert_allclose(wg.grad(solve)(b), expected, rtol=1e-7)
    assert calls


def test_errors() -> None:
    A, b = np.ones((3, 3)), np.arange(3.0)
    with pytest.raises(ArgumentError, match="the solver must be one of"):
        wg.linear_solve(A, b, solver="jacobi")
    for solver in SOLVERS[1:]:
        with pytest.raises(LimitError, match="must reduce the residual"):
            wg.linear_solve(A, b, solver=solver)
        with pytest.raises(RuntimeError, match="must reduce the residual"):
            wg.jit(lambda b, s=solver: wg.linear_solve(A, b, solver=s))(b)
    with pytest.raises(MatrixError):
        wg.linear_solve(A, b)
    with pytest.raises(ArgumentError, match="move the constant term to b"):
        wg.linear_solve(lambda v: 2 * v + 1, b, solver="gmres")
    with pytest.raises(ArgumentError, match="must not depend on the vector"):
        wg.grad(lambda b: np.sum(wg.linear_solve(lambda v: v**3 + v, b, solver="gmres", tol=1e-3)))(b + 1)
    with pytest.raises(ShapeError, match="to one of the same shapes"):
        wg.linear_solve(lambda v: v[:2], b, solver="cg")
    with pytest.raises(ShapeError, match="must be square"):
        wg.linear_solve(np.ones((3, 2)), b, solver="cg")
    with pytest.raises(DtypeError, match="must be real"):
        wg.linear_solve(A, b * 1j)


def test_the_source_of_an_iteration_runs() -> None:
    A, b = matrix_for("cg", 4, 3), np.arange(4.0)
    slope = wg.grad(value(through("cg")))
    np.testing.assert_allclose(wg.source(slope)(A, b).function()(A, b), slope(A, b), rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_integers_and_lists(solver: str) -> None:
    A, b = [[4, 1], [1, 3]], [1, 2]
    expected = np.linalg.solve(A, b)
    for matrix, right in ((A, b), (np.array(A), np.array(b)), (np.array(A, float), b)):
        np.testing.assert_allclose(wg.linear_solve(matrix, right, solver=solver), expected, rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_functions_that_are_not_linear(solver: str) -> None:
    with pytest.raises(ArgumentError, match="must not depend on the vector"):
        wg.linear_solve(lambda v: v * v + v, np.ones(2), solver=solver)


def test_right_sides_that_do_not_fit_a_matrix() -> None:
    with pytest.raises(ShapeError, match=r"the shape \(2, 2\), and b of \(2, 3\)"):
        wg.linear_solve(np.eye(2), np.ones((2, 3)))
    with pytest.raises(LimitError, match="in 0 turns"):
        wg.linear_solve(np.eye(2), np.ones(2), solver="cg", maxiter=0)
