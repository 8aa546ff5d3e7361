"""Operations of LAPACK share the factors of a matrix: the results, the errors, and how often it is factorised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.kernels import lapack
from wengert.engine.machine import costs
from wengert.scipy.linalg import solve_banded

linalg: Any = np.linalg  # its stubs know arrays only
RNG: Any = np.random.default_rng(0)
ROWS = 65
RIGHT = RNG.normal(size=(ROWS, 2))


@pytest.fixture(autouse=True)
def small_inverses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let inverses of few rows take factors, too."""
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, factored_inverse_rows=0))


def drawn(*lead: int, dtype: str = "float64") -> Any:
    return (RNG.normal(size=(*lead, ROWS, ROWS)) + 8 * np.eye(ROWS)[::-1]).astype(dtype)


def solution(a: Any) -> Any:
    return np.sum(linalg.solve(a, RIGHT.astype(a.dtype)) ** 2)


def inverse(a: Any) -> Any:
    return np.sum(linalg.inv(np.swapaxes(a, -1, -2)) ** 3)


def determinants(a: Any) -> Any:
    sign, logarithm = linalg.slogdet(a)
    return np.sum(sign * logarithm + linalg.slogdet(np.swapaxes(a, -1, -2))[1])


def determinant(a: Any) -> Any:
    return np.sum(linalg.det(a / 8))


def several(a: Any) -> Any:
    b = linalg.solve(a, RIGHT)
    return np.sum(linalg.solve(a.T, b)) + linalg.slogdet(a)[1] + linalg.inv(a)[0, 0]


def operations(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """Return the names of the operations left to NumPy, and of the routines."""
    report = wg.jit(function).report(*arguments)
    return [text.split()[0] for text in (*report.hosts, *report.routines)]


@pytest.mark.parametrize("function", [solution, inverse, determinants, determinant, several])
@pytest.mark.parametrize("kind", ["float64", "float32", "stack"])
def test_values_and_derivatives(function: Callable[..., Any], kind: str) -> None:
    if kind != "float64" and function is several:
        pytest.skip("it takes one matrix of double precision")
    a = drawn(3) if kind == "stack" else drawn(dtype=kind)
    both = wg.value_and_grad(function)
    (value, gradient), (expected, slope) = wg.jit(both)(a), both(a)
    tolerance = 1e-4 if kind == "float32" else 1e-10
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=tolerance * np.max(np.abs(slope)))
    assert gradient.dtype == a.dtype
    assert operations(both, a).count("dgetrf") == 1


def test_a_complex_matrix_and_one_in_a_loop() -> None:
    a = drawn() + 1j * drawn()
    right = RIGHT + 0j

    def of_complex(a: Any) -> Any:
        return np.sum(np.abs(linalg.solve(a, right)) ** 2)

    np.testing.assert_allclose(wg.jit(wg.grad(of_complex))(a), wg.grad(of_complex)(a), rtol=0, atol=1e-12)
    assert set(operations(wg.grad(of_complex), a)) == {"on_pairs"}  # Python carries out what is complex
    with pytest.raises(np.linalg.LinAlgError, match=r"solve: Singular matrix; got c128\[65,65\]"):
        wg.jit(wg.grad(of_complex))(np.ones((ROWS, ROWS), complex))
    stack, both = (
        drawn(3) + 1j * drawn(3),
        wg.jit(lambda a: np.abs(inverse(a)) + np.sum(np.abs(linalg.inv(a)))),
    )
    np.testing.assert_allclose(
        both(stack), np.abs(inverse(stack)) + np.sum(np.abs(linalg.inv(stack))), rtol=1e-10
    )

    def in_a_loop(a: Any) -> Any:
        return wg.fori_loop(0, 2, lambda i, x: linalg.solve(a, linalg.solve(a, x)), RIGHT)

    one = drawn()
    np.testing.assert_allclose(wg.jit(in_a_loop)(one), in_a_loop(one), rtol=1e-9, atol=1e-12)
    assert operations(in_a_loop, one) == ["dgetrf", "dgetrs", "dgetrs"]


def test_few_matrices_are_programs_of_nests_and_others_take_routines() -> None:
    def program(a: Any) -> Any:
        return sum(np.sum(linalg.inv(a + np.eye(20) * n)) for n in range(30))

    assert operations(wg.grad(lambda a: np.sum(linalg.inv(a) ** 2)), drawn()[:20, :20]) == []
    assert operations(program, drawn()[:20, :20]) == ["dgetrf", "dgetri"] * 6


def test_a_singular_matrix() -> None:
    flat = np.ones((ROWS, ROWS))
    with pytest.raises(np.linalg.LinAlgError, match=r"solve: Singular matrix; got f64\[65,65\]"):
        wg.jit(wg.grad(solution))(flat)
    with pytest.raises(np.linalg.LinAlgError, match="inverse: Singular matrix"):
        wg.jit(inverse)(flat)
    sign, logarithm = wg.jit(lambda a: (linalg.slogdet(a)[0], linalg.slogdet(a)[1], linalg.det(a))[:2])(flat)
    assert (sign, logarithm) == (0, -np.inf)
    assert wg.jit(lambda a: linalg.det(a) + linalg.det(a.T))(flat) == 0


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack, "is_available", lambda: False)
    monkeypatch.setattr("wengert.engine.kernels.triangular.routine", lambda *names: None)
    assert operations(wg.grad(solution), drawn()) == ["solve", "solve"]
    a = drawn()
    a = a @ a.T
    gradient = wg.grad(lambda a: np.sum(linalg.cholesky(a) ** 3))
    found = gradient(a)
    monkeypatch.undo()
    np.testing.assert_allclose(found, gradient(a), rtol=1e-12, atol=1e-12)


def test_routines_are_found_by_dtype() -> None:
    pytest.importorskip("scipy")
    for dtype in "fdFD":
        routine = lapack.routine("trsm", dtype)
        assert routine is not None
        x = routine(1, np.eye(2, dtype=dtype) * 2, np.ones((2, 1), dtype))
        np.testing.assert_array_equal(x, np.full((2, 1), 0.5))


def of_bands(bands: Any) -> Any:
    """Solve three times with one banded matrix."""
    x = solve_banded((2, 1), bands, np.ones(bands.shape[-1], bands.dtype))
    for _ in range(2):
        x = solve_banded((2, 1), bands, np.sin(x))
    return np.sum(x**2)


def test_banded_matrices() -> None:
    bands = RNG.normal(size=(4, 9)) + 5 * (np.arange(4) == 1)[:, None]
    both = wg.value_and_grad(of_bands)
    compiled, of_stack = wg.jit(both), wg.jit(wg.vmap(of_bands))
    (value, gradient), (expected, slope) = compiled(bands), both(bands)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-14)
    names = operations(both, bands)
    assert names.count("dgbtrf") == 2  # of the matrix and of its transpose
    assert "solve_banded" not in names
    stack = np.stack([bands, bands * 1.5])
    np.testing.assert_allclose(of_stack(stack), list(map(of_bands, stack)), rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match=r"^solve_banded: Singular matrix"):
        compiled(np.zeros((4, 9)))
    turned = stack * np.exp(1j * np.arange(9))
    single = turned.astype(np.complex64)
    for matrices, rtol in ((turned, 1e-12), (single, 1e-4)):
        expected = [of_bands(x) for x in matrices]
        np.testing.assert_allclose(of_stack(matrices), expected, rtol=rtol)
    with pytest.raises(np.linalg.LinAlgError, match=r"^solve_banded: Singular matrix"):
        of_stack(np.zeros((2, 4, 9), complex))
