"""Functions of symmetric matrices with eigenvalues that are equal, close together, or apart."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.errors import GapWarning
from wengert.linalg import matrix_function, spectral_projector


def matrix(seed: int, gap: float, n: int = 4) -> tuple[Any, Any]:
    """Return a matrix with two eigenvalues at a gap near 1, and a direction."""
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.array([1.0, 1.0 + gap, 2.5, 4.0, *range(5, n + 1)])[:n]
    direction = rng.normal(size=(n, n))
    return (q * values) @ q.T, direction + direction.T


def exact(f: Any, a: Any, direction: Any) -> Any:
    """Return the derivative of a matrix function in a direction by differences with 80 digits."""
    with mpmath.workdps(80):
        step = mpmath.mpf(10) ** -25
        a, direction = mpmath.matrix(a.tolist()), mpmath.matrix(direction.tolist())
        a = (a + a.T) / 2

        def at(t: Any) -> Any:
            values, vectors = mpmath.eigsy(a + t * direction)
            return vectors * mpmath.diag([f(value) for value in values]) * vectors.T

        return np.array(((at(step) - at(-step)) / (2 * step)).tolist(), float)


GAPS = [0.0, 1e-16, 3e-16, 1e-14, 1e-11, 1e-8, 1e-5, 1e-3, 0.02, 0.3]
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "exp": (np.exp, mpmath.exp), "sqrt": (np.sqrt, mpmath.sqrt), "log": (np.log, mpmath.log),
    "cube": (lambda w: w**3, lambda w: w**3), "inverse": (lambda w: 1.0 / w, lambda w: 1 / w),
}  # fmt: skip


@pytest.mark.parametrize("gap", [pytest.param(0.0, marks=pytest.mark.exhaustive), *GAPS[1:]])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_derivative_of_a_matrix_function(name: str, gap: float) -> None:
    f, g = FUNCTIONS[name]
    a, direction = matrix(len(name), gap)
    expected = exact(g, a, direction)
    cotangent = np.random.default_rng(1).normal(size=a.shape)
    found = wg.jvp(lambda a: matrix_function(f, a), (a,), (direction,))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    pulled = wg.vjp(lambda a: matrix_function(f, a), a)[1](cotangent)[0]
    np.testing.assert_allclose(np.sum(pulled * direction), np.sum(cotangent * expected), rtol=1e-9)
    compiled = wg.jit(wg.grad(lambda a: np.sum(cotangent * matrix_function(f, a))))(a)
    np.testing.assert_allclose(compiled, pulled, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(many(60)))
def test_the_derivative_of_a_projector(seed: int) -> None:
    gap = GAPS[seed % len(GAPS)]
    a, direction = matrix(seed, gap)
    expected = exact(lambda w: mpmath.mpf(w < 2), a, direction)
    found = wg.jvp(lambda a: spectral_projector(a, 0.0, 2.0), (a,), (direction,))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    batched = wg.vmap(lambda a: wg.jvp(lambda a: spectral_projector(a, 0.0, 2.0), (a,), (direction,))[1])
    np.testing.assert_allclose(batched(np.stack([a, a]))[1], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mode", [wg.grad, wg.jacfwd])
@pytest.mark.parametrize("operation", ["eigh", "svd", "eig"])
def test_a_gap_without_digits_is_named(operation: str, mode: Any) -> None:
    values = np.array([1.0, 1.0 + 4e-16, 2.0, 3.0])
    near, apart = np.diag(values), np.diag([1.0, 1.5, 2.0, 3.0])
    first = {"eigh": 1, "svd": 0, "eig": 1}[operation]

    def f(a: Any) -> Any:
        return np.sum(np.real(getattr(np.linalg, operation)(a)[first]))

    with (
        pytest.warns(GapWarning, match=r"a gap of \d\.\de-16.*spectral_projector.*test_linalg.py:"),
        np.errstate(all="ignore"),
    ):
        mode(f)(near)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mode(f)(apart)


@pytest.mark.parametrize(
    "name", ["eig", "eigvals", "eigh", "svd", "norm 1", "norm 2", "norm inf", "norm nuc", "det", "inv"]
)
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_matrices_without_elements(name: str, shape: Any) -> None:
    name, _, order = name.partition(" ")
    options = (
        {"ord": {"inf": np.inf, "nuc": "nuc"}.get(order) or int(order), "axis": (-2, -1)} if order else {}
    )
    a = np.zeros(shape)

    def f(a: Any) -> Any:
        found = getattr(np.linalg, name)(a, **options)
        return found[0] if isinstance(found, tuple) else found

    expected = f(a)
    for found in (wg.vjp(f, a)[0], *wg.jvp(f, (a,), (a,))[:1], wg.jit(f)(a), wg.vmap(f)(a[None])[0]):
        np.testing.assert_array_equal(found, expected)
    assert wg.grad(lambda a: np.sum(np.real(f(a))))(a).shape == shape


@pytest.mark.parametrize("ord", [None, 2, 3])
def test_the_slope_of_a_norm_that_overflows_is_not_finite(ord: Any) -> None:
    x = np.array([1e200, -1e200])
    with np.errstate(all="ignore"):
        for mode in (wg.grad, wg.jacfwd, lambda f: wg.jit(wg.grad(f))):
            assert not np.any(np.isfinite(mode(lambda x: np.linalg.norm(x, ord))(x)))


def test_a_tolerance_for_each_matrix() -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 2))
    rtol = np.array([0.1, 0.9])

    def inverse(a: Any) -> Any:
        return np.linalg.pinv(a, rtol=rtol)

    np.testing.assert_allclose(wg.vjp(inverse, a)[0], inverse(a))
    np.testing.assert_allclose(wg.jit(inverse)(a), inverse(a))
    np.testing.assert_allclose(wg.vmap(inverse)(np.stack([a, a]))[1], inverse(a))
