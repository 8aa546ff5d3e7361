"""The functions of `wengert.autograd.numpy` and `scipy`, with autograd's conventions, and the helpers of `misc`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.autograd.numpy as anp
from tests.draws import many
from wengert.autograd import grad, make_vjp
from wengert.autograd.builtins import tuple as atuple
from wengert.autograd.misc.fixed_points import fixed_point
from wengert.autograd.misc.flatten import flatten, flatten_func
from wengert.autograd.misc.optimizers import adam, rmsprop, sgd
from wengert.autograd.numpy import fft, linalg
from wengert.autograd.numpy import random as npr
from wengert.autograd.test_util import check_grads, combo_check

scipy = pytest.importorskip("scipy")
stats = pytest.importorskip("scipy.stats")

X = np.array([0.3, -1.2, 2.0])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("function", "point", "slope"),
    [
        (anp.abs, 0.0, 0.0),
        (lambda x: anp.maximum(x, 0.0), 0.0, 0.5),
        (lambda x: anp.clip(x, 0.0, 1.0), 0.0, 0.0),
        (lambda x: anp.clip(x, 0.0, 1.0), 0.5, 1.0),
        (lambda x: anp.clip(x, 0.0, 1.0), 1.0, 0.0),
        (lambda x: anp.clip(1.0, 2.0, x), 3.0, 0.0),
        (lambda x: anp.clip(5.0, 2.0, x), 3.0, 1.0),
        (lambda x: anp.where(x > 0, x, 2 * x), 0.0, 2.0),
        (lambda x: anp.max(anp.array([x, 3.0, 1.0])), 3.0, 0.5),
        (lambda x: anp.sort(anp.array([x, 3.0]))[0], 3.0, 1.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: anp.mod(5.0, x), 1.7, -2.0),
        (lambda x: linalg.norm(anp.array([x, 0.0])), 0.0, 0.0),
    ],
)
def test_kinks(function: Any, point: float, slope: float) -> None:
    assert grad(function)(point) == slope


def test_clip_is_numpys(rng) -> None:
    for _ in range(many(30)):
        x, low, high = rng.choice([-1.0, 0.0, 1.0, 2.0, np.nan], size=(3, 4))
        np.testing.assert_array_equal(anp.clip(x, low, high), np.clip(x, low, high))
        value = make_vjp(lambda x, low, high: anp.clip(x, low, high))(x, low, high)[1]
        np.testing.assert_array_equal(value, np.clip(x, low, high))


def test_gradients_by_symmetric_matrices_are_symmetric() -> None:
    matrix = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, -0.2], [0.1, -0.2, 1.0]])
    from wengert.autograd.scipy.stats import multivariate_normal

    for function in (
        lambda a: anp.sum(linalg.cholesky(a) ** 3),
        lambda a: multivariate_normal.logpdf(X, 0 * X, a),
        lambda a: multivariate_normal.pdf(X, 0 * X, a),
        lambda a: multivariate_normal.entropy(0 * X, a),
    ):
        gradient = grad(function)(matrix)
        np.testing.assert_allclose(gradient, gradient.T)
        direction = np.array([[0.0, 1.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
        slope = (function(matrix + 1e-6 * direction) - function(matrix - 1e-6 * direction)) / 2e-6
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-7)
    np.testing.assert_array_equal(linalg.cholesky(matrix), np.linalg.cholesky(matrix))
    lower = np.tril(matrix)
    np.testing.assert_allclose(make_vjp(linalg.cholesky)(lower)[1], np.linalg.cholesky(lower))


def test_names_of_numpys() -> None:
    assert anp.float64 is np.float64
    assert anp.pi == np.pi
    assert "sin" in dir(anp)
    assert anp.sin is anp.sin
    np.testing.assert_allclose(grad(lambda x: anp.sum(anp.stack({"a": x, "b": x**2}.values())))(3.0), 7.0)
    np.testing.assert_allclose(grad(lambda x: anp.sum(anp.row_stack((x, x))))(X), [2, 2, 2])
    np.testing.assert_allclose(grad(lambda x: anp.sum(anp.make_diagonal(x) ** 2))(X), 2 * X)
    np.testing.assert_allclose(grad(lambda x: anp.sum(anp.abs(fft.fft(x)) ** 2))(X), 6 * X)
    np.testing.assert_allclose(grad(lambda x: anp.sum(anp.r_[x, 1.0] * 2))(X), [2, 2, 2])
    assert npr.RandomState(0).randn() == np.random.RandomState(0).randn()
    with pytest.raises(AttributeError, match="nothing"):
        _ = anp.nothing
    combo_check(anp.sum, modes=["fwd", "rev"])([X, np.ones((2, 3))], axis=[None, 0], keepdims=[False, True])


def test_names_of_scipys() -> None:
    import wengert.autograd.scipy as asp
    from wengert.autograd.scipy import special
    from wengert.autograd.scipy.integrate import odeint
    from wengert.autograd.scipy.misc import logsumexp

    assert special.gammaln is special.gammaln
    np.testing.assert_allclose(grad(logsumexp)(X), np.exp(X) / np.sum(np.exp(X)))
    np.testing.assert_allclose(special.rgamma(0.7), scipy.special.rgamma(0.7))
    np.testing.assert_allclose(special.multigammaln(3.2, 3), scipy.special.multigammaln(3.2, 3))
    check_grads(special.rgamma)(0.7)
    check_grads(lambda a: special.multigammaln(a, 3))(3.2)
    np.testing.assert_allclose(asp.stats.t.logpdf(X, 4.0), stats.t.logpdf(X, 4.0))
    np.testing.assert_allclose(grad(lambda a: anp.trace(asp.linalg.expm(a)))(np.zeros((2, 2))), np.eye(2))

    def final(rate: Any) -> Any:
        path = odeint(lambda y, t, k: -k * y, np.array([2.0]), np.array([0.0, 1.0]), atuple((rate,)))
        return path[-1, 0]

    np.testing.assert_allclose(grad(final)(0.5), -2 * np.exp(-0.5), rtol=1e-6)


def convolved(a: Any, b: Any, mode: str) -> Any:
    """Convolve images (n, c, h, w) with filters (c, f, k, l) by plain loops."""
    one = [[scipy.signal.convolve(x, y, mode) for x, y in zip(image, group, strict=True)] for image in a for group in
           b.swapaxes(0, 1)]  # fmt: skip
    sums = np.array([np.sum(parts, axis=0) for parts in one])
    return sums.reshape((len(a), b.shape[1], *sums.shape[1:]))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(mode: str, rng) -> None:
    from wengert.autograd.scipy.signal import convolve

    images, filters = rng.standard_normal((2, 3, 6, 5)), rng.standard_normal((3, 4, 3, 2))
    options: Any = {"axes": ([2, 3], [2, 3]), "dot_axes": ([1], [0]), "mode": mode}
    np.testing.assert_allclose(convolve(images, filters, **options), convolved(images, filters, mode))
    for x, y in ((X, np.arange(5.0)), (np.arange(5.0), X), (filters[0, 0], images[0, 0])):
        expected = scipy.signal.convolve(x, y, mode) if mode != "same" or len(x) >= len(y) else None
        if expected is not None:
            np.testing.assert_allclose(convolve(x, y, mode=mode), expected, atol=1e-14)
    check_grads(lambda a, b: convolve(a, b, **options), (0, 1), order=1)(images, filters)
    with pytest.raises(ValueError, match="mode"):
        convolve(X, X, mode="wrap")
    with pytest.raises(ValueError, match="agree"):
        convolve(images, filters, axes=([2], [2]), dot_axes=([0], [0]))


def test_flatten() -> None:
    value = {"b": [np.ones((2, 1)), (2.0, X)], "a": 3.0}
    vector, unflatten = flatten(value)
    np.testing.assert_allclose(vector, [3, 1, 1, 2, *X])
    back = unflatten(2 * vector)
    np.testing.assert_allclose(back["b"][1][1], 2 * X)
    assert back["a"] == 6.0
    np.testing.assert_allclose(
        grad(lambda x: anp.sum(flatten({"b": [x, (2.0, x**2)]})[0] ** 2))(X), 2 * X + 4 * X**3
    )
    assert flatten(())[0].shape == (0,)
    of_vector, _, start = flatten_func(lambda pair: [2 * pair[0], pair[1]], [X, 1.0])
    np.testing.assert_allclose(of_vector(start), [*(2 * X), 1])


def test_optimisers() -> None:
    """Their first steps, as their formulas say, and derivatives through all steps."""
    steps = {
        sgd: lambda g, rate: 0.1 * rate * g,
        rmsprop: lambda g, rate: rate * g / (np.sqrt(0.9 + 0.1 * g**2) + 1e-8),
        adam: lambda g, rate: rate * g / (np.abs(g) + 1e-8),
    }
    seen: list[Any] = []
    for optimise, step in steps.items():
        start = {"w": X, "b": 1.0}
        end = optimise(
            lambda p, i: {"w": 2 * p["w"], "b": 1.0 + i}, start, lambda *s: seen.append(s), 1, step_size=0.5
        )
        np.testing.assert_allclose(end["w"], X - step(2 * X, 0.5))
        np.testing.assert_allclose(end["b"], 1.0 - step(1.0, 0.5))
        check_grads(
            lambda rate, optimise=optimise: optimise(lambda p, i: 2 * p, X, num_iters=3, step_size=rate),
            order=1,
        )(0.1)


def test_fixed_points() -> None:
    def root(a: Any) -> Any:
        return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: anp.abs(x - y), 1e-12)

    np.testing.assert_allclose(
        [root(2.0), grad(root)(2.0), grad(grad(root))(2.0)], [2**0.5, 8**-0.5, -(2**-3.5)]
    )


def test_complex_cholesky(rng) -> None:
    """Autograd's own gradient is wrong here; its slope along drawn directions is that of differences."""
    matrix, direction = rng.standard_normal((2, 3, 3)) + 1j * rng.standard_normal((2, 3, 3))

    def function(a: Any) -> Any:
        return anp.sum(anp.abs(linalg.cholesky(a @ anp.conj(a.T) + anp.eye(3))) ** 3)

    slope = (function(matrix + 1e-6 * direction) - function(matrix - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.real(np.sum(grad(function)(matrix) * direction)), slope, rtol=1e-7)
