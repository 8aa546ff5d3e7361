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
        ((1, 1, 5, 5), (1, 1, 3, 3), {"stride": 0}, "stride"),
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


def test_max_pool_pads_with_minus_infinity():
    assert nn.max_pool(-np.ones((1, 1, 2, 2)), 2, padding=1).max() == -1


def test_a_window_that_does_not_fit():
    with pytest.raises(ShapeError, match="must fit"):
        nn.max_pool(np.zeros((1, 1, 2, 2)), 3)
