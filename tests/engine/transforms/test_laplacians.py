"""The forward Laplacian against the trace of the Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, DtypeError

rng = np.random.default_rng(3)
WEIGHTS = [rng.standard_normal((4, 6)), rng.standard_normal((6, 6)) / 2, rng.standard_normal(6)]


def wave(x: Any) -> Any:
    """A network with a factor that has a kink at 0, an extremum, and a determinant."""
    hidden = np.tanh(np.tanh(x @ WEIGHTS[0]) @ WEIGHTS[1])
    return np.sin(hidden @ WEIGHTS[2]) * np.linalg.norm(x) + np.linalg.slogdet(np.outer(x, x) + np.eye(4))[1]


def layer(x: Any) -> Any:
    return np.tanh(x @ WEIGHTS[0]) @ WEIGHTS[2]


def several(x: Any) -> Any:
    return {"pair": np.stack([layer(x), layer(2 * x)]), "mean": np.mean(x**4), "constant": 2.0}


def loop(x: Any) -> Any:
    carry, rows = wg.scan(lambda c, row: (np.sin(c * row) + c, c * row), x[0], x)
    return carry + np.sum(rows**2)


def trace_of_hessian(function: Any, x: Any) -> Any:
    return wg.tree.map_tree(lambda block: np.trace(block, axis1=-2, axis2=-1), wg.hessian(function)(x))


@pytest.mark.parametrize("function", [wave, several, loop, np.sum, lambda x: np.prod(x), lambda x: x**3])
def test_it_is_the_trace_of_the_hessian(function: Any) -> None:
    x = rng.standard_normal(4)
    expected = trace_of_hessian(function, x)
    for found in (wg.laplacian(function)(x), wg.jit(wg.laplacian(function))(x)):
        for leaf, other in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(leaf, other, rtol=1e-9, atol=1e-12)


def test_arguments() -> None:
    x, scale = {"a": rng.standard_normal((2, 2)), "b": 0.5}, 3.0

    def function(x: Any, scale: Any) -> Any:
        return scale**2 * np.sum(x["a"] ** 3) + x["b"] ** 4 * scale

    of_x = 6 * scale**2 * np.sum(x["a"]) + 12 * x["b"] ** 2 * scale
    np.testing.assert_allclose(wg.laplacian(function)(x, scale), of_x)
    of_scale = 2 * np.sum(x["a"] ** 3)
    np.testing.assert_allclose(wg.laplacian(function, argnums=1)(x, scale), of_scale)
    both = wg.laplacian(function, argnums=(0, 1))(x, scale)
    np.testing.assert_allclose(both, of_x + of_scale)


def test_transforms_around_and_inside() -> None:
    points = rng.standard_normal((3, 4))
    laplacian = wg.laplacian(wave)
    np.testing.assert_allclose(wg.vmap(laplacian)(points), [laplacian(x) for x in points], rtol=1e-12)
    by_hessian = wg.grad(lambda x: np.trace(wg.hessian(wave)(x)))(points[0])
    np.testing.assert_allclose(wg.grad(laplacian)(points[0]), by_hessian, rtol=1e-8)
    of_gradient = wg.laplacian(wg.grad(wave))(points[0])
    np.testing.assert_allclose(of_gradient, by_hessian, rtol=1e-8)


def test_known_laplacians() -> None:
    """1 / r is harmonic in three dimensions, log r in two."""
    x = np.array([0.3, -0.4, 1.2])
    assert abs(wg.laplacian(lambda x: 1 / np.linalg.norm(x))(x)) < 1e-13
    assert abs(wg.laplacian(lambda x: np.log(np.linalg.norm(x)))(x[:2])) < 1e-13
    assert wg.laplacian(lambda x: np.dot(x, x))(x) == 6.0


def test_errors() -> None:
    with pytest.raises(DtypeError, match="real"):
        wg.laplacian(np.sum)(np.ones(2) * 1j)
    with pytest.raises(DtypeError, match="floating-point"):
        wg.laplacian(np.sum)(np.arange(3))
    with pytest.raises(DtypeError, match="the function must return real values"):
        wg.laplacian(lambda x: x * 1j)(np.ones(2))
    with pytest.raises(ArgumentError, match="argnums"):
        wg.laplacian(np.sum, argnums=1)(np.ones(2))


def test_advice_names_no_option_that_the_transform_lacks() -> None:
    pytest.importorskip("scipy.sparse")
    x = np.ones(2)
    for transform in (wg.laplacian, wg.sparse_jacobian, lambda f: lambda x: wg.gnvp(f)(x, x)):
        with pytest.raises(wg.WengertError) as arguments:
            transform(np.sin)(x * 1j)
        with pytest.raises(wg.WengertError) as results:
            transform(lambda x: x * 1j)(x)
        assert "holomorphic" not in f"{arguments.value}{results.value}"
    with pytest.raises(wg.WengertError) as text:
        wg.laplacian(lambda x: "text")(x)
    assert "has_aux" not in str(text.value)
