"""Convolution and pooling against direct loops, and their derivatives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from wengert import nn
from wengert.errors import ShapeError
from wengert.testing import check_grads


def convolve_by_loops(x, weight, stride, padding, dilation, groups):
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    n, _, height, width = x.shape
    filters, per_group, kh, kw = weight.shape
    rows = (height - dilation * (kh - 1) - 1) // stride + 1
    columns = (width - dilation * (kw - 1) - 1) // stride + 1
    y = np.zeros((n, filters, rows, columns))
    for o, h, w in itertools.product(range(filters), range(rows), range(columns)):
        first = o // (filters // groups) * per_group
        for i, k, j in itertools.product(range(per_group), range(kh), range(kw)):
            y[:, o, h, w] += (
                x[:, first + i, h * stride + k * dilation, w * stride + j * dilation] * weight[o, i, k, j]
            )
    return y


@given(data=st.data())
@settings(max_examples=40)
def test_convolve_is_the_sum_it_says(data):
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    groups, stride, padding, dilation = draw(1, 2), draw(1, 3), draw(0, 2), draw(1, 2)
    taps = (draw(1, 3), draw(1, 3))
    size = tuple(dilation * (t - 1) + 1 + draw(0, 4) for t in taps)
    rng = np.random.default_rng(draw(0, 1000))
    x = rng.standard_normal((draw(0, 2), groups * draw(1, 2), *size))
    weight = rng.standard_normal((groups * draw(1, 2), x.shape[1] // groups, *taps))
    expected = convolve_by_loops(x, weight, stride, padding, dilation, groups)
    found = nn.convolve(x, weight, stride, padding, dilation, groups)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"),
    [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (2, 1, 1, 2), (3, 0, 1, 2)],
)
def test_convolve_derivatives(stride, padding, dilation, groups, rng):
    x, weight = rng.standard_normal((2, 4, 6, 5)), rng.standard_normal((4, 4 // groups, 2, 3))
    check_grads(lambda x, w: nn.convolve(x, w, stride, padding, dilation, groups), (x, weight), order=2)


def test_convolve_in_one_and_three_dimensions(rng):
    x, weight = rng.standard_normal((1, 1, 7)), rng.standard_normal((1, 1, 3))
    np.testing.assert_allclose(nn.convolve(x, weight)[0, 0], np.correlate(x[0, 0], weight[0, 0], "valid"))
    assert nn.convolve(np.ones((1, 2, 4, 5, 6)), np.ones((3, 2, 2, 2, 2))).shape == (1, 3, 3, 4, 5)


def test_convolve_under_vmap(rng):
    x, weight = rng.standard_normal((3, 2, 1, 5, 5)), rng.standard_normal((3, 2, 1, 3, 3))
    expected = np.stack([nn.convolve(a, b) for a, b in zip(x, weight, strict=True)])
    np.testing.assert_allclose(wg.vmap(nn.convolve)(x, weight), expected)


def test_convolve_keeps_float32():
    assert nn.convolve(np.ones((1, 1, 3, 3), "f4"), np.ones((1, 1, 2, 2), "f4")).dtype == np.float32


@pytest.mark.parametrize(
    ("x", "weight", "options", "says"),
    [
        ((1, 3, 5, 5), (2, 2, 3, 3), {}, "channels"),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"groups": 2}, "groups"),
        ((1, 1, 2, 2), (1, 1, 3, 3), {}, "must fit"),
        ((1, 1, 5), (1, 1, 3, 3), {}, "rank"),
        ((5, 5), (3, 3), {}, "images must be"),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"stride": 0}, "stride must be 2 integers >= 1; got 0"),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"stride": 1.5}, "stride must be 2 integers >= 1; got 1.5"),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"stride": (1, 1, 1)}, "stride must be 2 integers"),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"padding": -1}, "padding must be 2 integers >= 0"),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"dilation": "a"}, "dilation must be 2 integers"),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"dilation": 3}, "must fit"),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"groups": 0}, "groups must be an integer >= 1"),
    ],
)
def test_convolve_says_what_is_wrong(x, weight, options, says):
    with pytest.raises(ShapeError, match=says):
        nn.convolve(np.zeros(x), np.zeros(weight), **options)


def pool_by_loops(x, size, stride, reduce):
    rows, columns = ((extent - size) // stride + 1 for extent in x.shape[2:])
    y = np.empty((*x.shape[:2], rows, columns))
    for h, w in itertools.product(range(rows), range(columns)):
        y[:, :, h, w] = reduce(
            x[:, :, h * stride : h * stride + size, w * stride : w * stride + size], axis=(2, 3)
        )
    return y


@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (2, 1), (2, 3), (1, 1)])
def test_pooling_is_what_it_says(size, stride, rng):
    x = rng.standard_normal((2, 3, 7, 8))
    np.testing.assert_array_equal(nn.max_pool(x, size, stride), pool_by_loops(x, size, stride, np.max))
    np.testing.assert_allclose(nn.average_pool(x, size, stride), pool_by_loops(x, size, stride, np.mean))
    check_grads(lambda x: nn.max_pool(x, size, stride), (x,), order=2)
    check_grads(lambda x: nn.average_pool(x, size, stride), (x,), order=2)


def test_max_pool_shares_the_derivative_of_ties():
    found = wg.grad(lambda x: np.sum(nn.max_pool(x, 2)))(np.zeros((1, 1, 2, 2)))
    np.testing.assert_array_equal(found, np.full((1, 1, 2, 2), 0.25))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_the_border_of_max_pool_is_below_everything(dtype):
    lowest = np.full((1, 1, 2, 2), np.finfo(dtype).min if np.dtype(dtype).kind == "f" else 0, dtype)
    found = nn.max_pool(lowest, 2, padding=1)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, lowest)


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
    ("shape", "size", "says"),
    [
        ((1, 1, 2, 2), 3, "must fit"),
        ((1, 1, 2, 2), 0, "size must be 2 integers >= 1"),
        ((2, 2), 2, "images must be"),
        ((2,), 2, "images must be"),
    ],
)
def test_windows_that_cannot_be(pool, shape, size, says):
    with pytest.raises(ShapeError, match=f"{pool.__name__}: .*{says}"):
        pool(np.zeros(shape), size)


def test_a_window_must_not_lie_in_the_border():
    with pytest.raises(ShapeError, match=r"padding must be less than the size \(2, 2\)"):
        nn.max_pool(np.zeros((1, 1, 4, 4)), 2, padding=2)
