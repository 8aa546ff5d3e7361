"""Pooling against loops and numbers of PyTorch, and its derivatives."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core.errors import ShapeError
from wengert.testing import check_grads

FUNCTIONS = {
    "AvgPool": nn.average_pool,
    "MaxPool": nn.max_pool,
    "AdaptiveAvgPool": nn.adaptive_average_pool,
    "AdaptiveMaxPool": nn.adaptive_max_pool,
}


@pytest.mark.parametrize("number", range(12))
def test_pytorchs_numbers(number, numbers):
    of = lambda name: numbers[f"pool {number}/{name}"]  # noqa: E731
    kind, x = str(of("kind")), of("x")
    layer = getattr(nn, f"{kind[:-1]}D")(**json.loads(str(of("settings"))))
    loss = lambda x: np.sum(np.sin(layer(x)))  # noqa: E731
    np.testing.assert_allclose(layer(x), of("y"), atol=1e-12)
    np.testing.assert_allclose(wg.grad(loss)(x), of("x_gradient"), atol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.grad(loss))(x), of("x_gradient"), atol=1e-12)


def pool_by_loops(x, size, stride, reduce):
    rows, columns = ((extent - size) // stride + 1 for extent in x.shape[2:])
    y = np.empty((*x.shape[:2], rows, columns))
    for h, w in itertools.product(range(rows), range(columns)):
        y[:, :, h, w] = reduce(
            x[:, :, h * stride : h * stride + size, w * stride : w * stride + size], axis=(2, 3)
        )
    return y


@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (2, 1), (2, 3), (1, 1)])
def test_pooling_against_loops(size, stride, rng):
    x = rng.standard_normal((2, 3, 7, 8))
    np.testing.assert_array_equal(nn.max_pool(x, size, stride), pool_by_loops(x, size, stride, np.max))
    np.testing.assert_allclose(nn.average_pool(x, size, stride), pool_by_loops(x, size, stride, np.mean))
    check_grads(lambda x: nn.max_pool(x, size, stride), (x,), order=2)
    check_grads(lambda x: nn.average_pool(x, size, stride), (x,), order=2)


def test_max_pool_shares_the_derivative_of_ties():
    actual = wg.grad(lambda x: np.sum(nn.max_pool(x, 2)))(np.zeros((1, 1, 2, 2)))
    np.testing.assert_array_equal(actual, np.full((1, 1, 2, 2), 0.25))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, bool])
def test_the_border_of_max_pool_is_below_everything(dtype):
    lowest = np.full((1, 1, 2, 2), np.finfo(dtype).min if np.dtype(dtype).kind == "f" else 0, dtype)
    actual = nn.max_pool(lowest, 2, padding=1)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, lowest)


@pytest.mark.parametrize(("size", "stride", "padding"), [(2, 2, 1), (3, 1, 2), (3, 2, 1)])
def test_max_pool_with_a_border(size, stride, padding, rng):
    x = rng.standard_normal((2, 3, 5, 6))
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)], constant_values=-np.inf)
    expected = pool_by_loops(padded, size, stride, np.max)
    np.testing.assert_array_equal(nn.max_pool(x, size, stride, padding), expected)
    check_grads(lambda x: nn.max_pool(x, size, stride, padding), (x,), order=2)


def test_one_number_or_one_for_each_axis(rng):
    x = rng.standard_normal((1, 1, 6, 8))
    np.testing.assert_array_equal(nn.max_pool(x, (2, 4))[0, 0], x.reshape(3, 2, 2, 4).max(axis=(1, 3)))
    np.testing.assert_array_equal(nn.average_pool(x, np.int64(2)), nn.average_pool(x, (2, 2)))
    weight = rng.standard_normal((1, 1, 2, 2))
    np.testing.assert_allclose(nn.convolve(x, weight, (2, 1))[0], nn.convolve(x, weight)[0, :, ::2])
    assert nn.max_pool(np.ones((1, 1, 4)), 2).shape == (1, 1, 2)
    assert nn.average_pool(np.ones((0, 1, 4, 4, 4)), 2).shape == (0, 1, 2, 2, 2)


@pytest.mark.parametrize("pool", [nn.max_pool, nn.average_pool])
@pytest.mark.parametrize(
    ("shape", "size", "message"),
    [
        ((1, 1, 2, 2), 3, "must fit"),
        ((1, 1, 2, 2), 0, "size must be 2 integers >= 1"),
        ((2, 2), 2, "images must be"),
        ((2,), 2, "images must be"),
    ],
)
def test_invalid_windows(pool, shape, size, message):
    with pytest.raises(ShapeError, match=f"{pool.__name__}: .*{message}"):
        pool(np.zeros(shape), size)


def test_a_window_must_not_lie_in_the_border():
    with pytest.raises(ShapeError, match=r"padding must be less than the size \(2, 2\)"):
        nn.max_pool(np.zeros((1, 1, 4, 4)), 2, padding=2)


@pytest.mark.parametrize("shape", [(7, 5), (6, 4), (2, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_adaptive_windows(shape, dtype, rng):
    x = rng.integers(-50, 50, (2, 3, *shape)).astype(dtype)
    size = (3, 4)
    for pool, reduce in ((nn.adaptive_max_pool, np.max), (nn.adaptive_average_pool, np.mean)):
        actual = pool(x, size)
        for i, j in np.ndindex(*size):
            rows, columns = (
                slice(k * n // m, -(-(k + 1) * n // m)) for k, n, m in zip((i, j), shape, size, strict=True)
            )
            expected = reduce(x[:, :, rows, columns], axis=(2, 3))
            np.testing.assert_allclose(actual[:, :, i, j], expected, rtol=1e-5)
        assert actual.dtype == (np.float64 if dtype == np.int32 and reduce is np.mean else dtype)


def test_adaptive_pools_keep_infinities_in_their_windows():
    x = np.array([[[np.inf, 0.0, 1.0, 2.0, 3.0]]])
    actual = nn.adaptive_average_pool(x, 3)[0, 0]
    np.testing.assert_array_equal(actual, [np.inf, 1.0, 2.5])
    assert np.isfinite(wg.grad(lambda x: np.sum(nn.adaptive_max_pool(x, 3)[..., 1:]))(x)).all()


@pytest.mark.parametrize("pool", [nn.adaptive_average_pool, nn.adaptive_max_pool])
def test_adaptive_derivatives(pool, rng):
    x = rng.standard_normal((2, 2, 5, 4))
    check_grads(lambda x: pool(x, (3, 2)), (x,), order=2)
    np.testing.assert_allclose(wg.vmap(lambda x: pool(x, 2))(np.stack([x, -x]))[1], pool(-x, 2))
    with pytest.raises(ShapeError, match=f"{pool.__name__}: the images must not be empty"):
        pool(np.zeros((1, 1, 0)), 1)


def test_same_padding_of_pools(rng):
    x = rng.standard_normal((2, 3, 7, 5))
    for pool in (nn.max_pool, nn.average_pool):
        assert pool(x, 3, 2, "same").shape == (2, 3, 4, 3)
    mean = nn.average_pool(np.ones((1, 1, 5)), 3, 1, "same", count_border=False)
    np.testing.assert_allclose(mean, np.ones((1, 1, 5)))
    np.testing.assert_allclose(nn.average_pool(np.ones((1, 1, 5)), 3, 1, 1)[0, 0, 0], 2 / 3)
    check_grads(lambda x: nn.average_pool(x, 3, 2, "same", count_border=False), (x,))
