from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import DtypeError, WengertError
from wengert.engine.transforms.jacobians import hessian
from wengert.engine.transforms.reverse_mode import grad

RNG = np.random.default_rng(22)
A = RNG.uniform(-1, 1, (3, 3)) + 2 * np.eye(3)
STACK = RNG.uniform(-1, 1, (2, 3, 3)) + 2 * np.eye(3)
B, V = RNG.uniform(-1, 1, (3, 2)), RNG.uniform(-1, 1, 3)
LARGE = RNG.uniform(-1, 1, (10, 10)) + 4 * np.eye(10)
POSITIVE = A @ A.T

CASES: dict[str, tuple[Any, ...]] = {
    "inv": (np.linalg.inv, A),
    "inv stack": (np.linalg.inv, STACK),
    "inverse power": (lambda x: np.linalg.matrix_power(x, -2), A),
    "solve": (np.linalg.solve, A, B),
    "solve vector": (np.linalg.solve, A, V),
    "solve stacks": (np.linalg.solve, STACK, B),
    "solve stack and vector": (np.linalg.solve, STACK, V),
    "tensorsolve": (
        np.linalg.tensorsolve,
        RNG.uniform(-1, 1, (2, 2, 4)) + 2 * np.eye(4).reshape(2, 2, 4),
        V[:2] + B[:2],
    ),
    "cholesky": (np.linalg.cholesky, POSITIVE),
    "cholesky upper": (lambda x: np.linalg.cholesky(x, upper=True), POSITIVE),
    "cholesky of a product": (lambda x: np.linalg.cholesky(x @ np.matrix_transpose(x)), STACK),
    "det": (np.linalg.det, A),
    "det stack": (np.linalg.det, STACK),
    "det of many rows": (lambda x: np.linalg.det(x / 4), LARGE),
    "det of one": (np.linalg.det, A[:1, :1]),
    "slogdet": (lambda x: tuple(np.linalg.slogdet(x)), A[::-1].copy()),
    "slogdet stack": (lambda x: np.linalg.slogdet(x).logabsdet, STACK),
    "normal density": (
        lambda s, x: -0.5 * (x @ np.linalg.solve(s, x) + np.linalg.slogdet(s)[1]),
        POSITIVE,
        V,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_matrices(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, rtol=1e-10)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_determinant_of_singular_matrices_has_its_derivatives(rank: int) -> None:
    left, right = RNG.uniform(-1, 1, (3, rank)), RNG.uniform(-1, 1, (rank, 3))
    matrix = left @ right
    minors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(matrix, i, 0), j, 1)) for j in range(3)]
        for i in range(3)
    ]
    np.testing.assert_allclose(grad(np.linalg.det)(matrix), minors, atol=1e-14)
    second = hessian(np.linalg.det)(matrix)
    assert second[0, 0, 1, 1] == pytest.approx(matrix[2, 2], abs=1e-14)
    assert second[0, 1, 1, 0] == pytest.approx(-matrix[2, 2], abs=1e-14)
    assert np.isfinite(second).all()


def test_cholesky_reads_one_triangle() -> None:
    derivative = grad(lambda x: np.sum(np.linalg.cholesky(x)))(POSITIVE)
    assert not np.triu(derivative, 1).any()
    derivative = grad(lambda x: np.sum(np.linalg.cholesky(x, upper=True)))(POSITIVE)
    assert not np.tril(derivative, -1).any()


def test_equations_are_differentiated_by_equations() -> None:
    """Derivatives of solutions and factors compute no inverse, at all orders and in all modes."""
    for function, arguments in [
        (lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (A, B)),
        (lambda a, b: np.sum(np.linalg.cholesky(a @ a.T) @ b), (A, B)),
    ]:
        third = grad(lambda *x: np.sum(hessian(function)(*x)))  # noqa: B023
        for transformed in (grad(function, (0, 1)), hessian(function), third):
            assert "inverse" not in str(wg.trace(transformed)(*arguments))


@pytest.mark.parametrize("transpose", [False, True])
def test_derivatives_solve_their_equations_to_rounding(transpose: bool) -> None:
    """``A^T b' = x'`` is solved backward stably at every condition; a product with the inverse would not be."""
    rows = 60
    points = np.sort(RNG.uniform(0, 1, rows))
    a = np.linalg.cholesky(np.exp(-20 * (points[:, None] - points) ** 2) + 1e-9 * np.eye(rows))
    a = a.T if transpose else a
    pulled = a.T @ RNG.uniform(-1, 1, rows)

    def backward_error(solution: Any) -> float:
        return float(np.max(np.abs(a.T @ solution - pulled) / (np.abs(a.T) @ np.abs(solution))))

    derivative = grad(lambda b: pulled @ np.linalg.solve(a, b))(RNG.uniform(-1, 1, rows))
    assert backward_error(derivative) < 1e-14


def test_slogdet_gives_numpys_pair() -> None:
    actual = np.linalg.slogdet(CONSTANT.constant(A))
    assert type(actual) is type(np.linalg.slogdet(A))


def test_dtypes(values: Any) -> None:
    single = A.astype(np.float32)
    values(lambda x: (np.linalg.inv(x), np.linalg.det(x), np.linalg.solve(x, x[0])), single, rtol=1e-5)
    values(
        lambda x: (np.linalg.inv(x), np.linalg.det(x), np.linalg.solve(x, x[0])), np.array([[2, 1], [0, 3]])
    )


def test_errors_name_the_operation() -> None:
    for call, text in [
        (
            lambda: np.linalg.inv(CONSTANT.constant(B)),
            "inverse: square matrices are required|inverse: Last 2",
        ),
        (lambda: np.linalg.inv(CONSTANT.constant(np.zeros((2, 2)))), "inverse: Singular matrix"),
        (
            lambda: np.linalg.cholesky(CONSTANT.constant(-POSITIVE)),
            "cholesky: Matrix is not positive definite",
        ),
        (lambda: np.linalg.solve(CONSTANT.constant(A), V[:2]), "solve: the right-hand side must have a row"),
        (lambda: np.linalg.det(CONSTANT.constant(V)), "determinant: square matrices"),
        (lambda: np.linalg.tensorsolve(CONSTANT.constant(A), V[:2]), "tensorsolve: a must be square"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()
    with pytest.raises(DtypeError, match="single or double precision"):
        np.linalg.inv(CONSTANT.constant(A.astype(np.float16)))


@pytest.mark.parametrize("mode", ["grad", "jvp", "jit", "jit of grad", "vmap of grad"])
def test_matrices_without_a_solution_are_told_with_the_line(mode: str) -> None:
    transforms = {
        "grad": grad,
        "jvp": lambda f: lambda x: wg.jvp(f, (x,), (x,)),
        "jit": wg.jit,
        "jit of grad": lambda f: wg.jit(grad(f)),
        "vmap of grad": lambda f: lambda x: wg.vmap(grad(f))(np.stack([x] * 2)),
    }
    for function, text in [
        (lambda x: np.sum(np.linalg.solve(x, x)), "solve: Singular matrix"),
        (lambda x: np.sum(np.linalg.cholesky(x)), "cholesky: Matrix is not positive definite"),
    ]:
        with pytest.raises(np.linalg.LinAlgError, match=rf"^{text}; got .*test_matrices.py:\d+\]$"):
            transforms[mode](function)(np.zeros((2, 2)))
