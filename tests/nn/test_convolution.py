"""Convolution against direct loops, its transpose, and the derivatives of both."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert import nn
from wengert.engine.core.errors import ShapeError
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
@examples(40)
def test_convolve_against_loops(data):
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    groups, stride, padding, dilation = draw(1, 2), draw(1, 3), draw(0, 2), draw(1, 2)
    taps = (draw(1, 3), draw(1, 3))
    size = tuple(dilation * (t - 1) + 1 + draw(0, 4) for t in taps)
    rng = np.random.default_rng(draw(0, 1000))
    x = rng.standard_normal((draw(0, 2), groups * draw(1, 2), *size))
    weight = rng.standard_normal((groups * draw(1, 2), x.shape[1] // groups, *taps))
    expected = convolve_by_loops(x, weight, stride, padding, dilation, groups)
    actual = nn.convolve(x, weight, stride, padding, dilation, groups)
    np.testing.assert_allclose(actual, expected, atol=1e-12)


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
    ("x", "weight", "options", "message"),
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
def test_errors_of_convolve(x, weight, options, message):
    with pytest.raises(ShapeError, match=message):
        nn.convolve(np.zeros(x), np.zeros(weight), **options)


@pytest.mark.parametrize(
    ("extent", "stride", "span"), [(7, 2, 3), (8, 2, 3), (5, 1, 4), (6, 4, 2), (3, 5, 2)]
)
def test_number_of_positions_with_same_padding(extent, stride, span, rng):
    """The border is the least for ceil(extent / stride) positions; an odd one is wider after the axis."""
    x, weight = rng.standard_normal((1, 1, extent)), rng.standard_normal((1, 1, span))
    count = -(-extent // stride)
    total = max((count - 1) * stride + span - extent, 0)
    padded = np.pad(x[0, 0], (total // 2, total - total // 2))
    expected = [padded[i * stride : i * stride + span] @ weight[0, 0] for i in range(count)]
    np.testing.assert_allclose(nn.convolve(x, weight, stride, "same")[0, 0], expected)
    assert nn.convolve(x, weight[..., :2], stride, "valid").shape == (1, 1, (extent - 2) // stride + 1)


@given(data=st.data())
@examples(40)
def test_the_transpose_is_the_adjoint(data):
    draw = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    rank, groups, stride, dilation = draw(1, 2), draw(1, 2), draw(1, 3), draw(1, 2)
    taps = tuple(draw(1, 3) for _ in range(rank))
    padding = data.draw(st.sampled_from([0, 1, "same"]))
    size = tuple(draw(4, 8) for _ in range(rank))
    rng = np.random.default_rng(draw(0, 1000))
    x = rng.standard_normal((2, groups, *size))
    weight = rng.standard_normal((2 * groups, 1, *taps))
    if padding != "same" and any(
        dilation * (tap - 1) + 1 > n + 2 * padding for tap, n in zip(taps, size, strict=True)
    ):
        return
    y = nn.convolve(x, weight, stride, padding, dilation, groups)
    if padding == "same":
        if any(n % stride for n in size):
            return
        more = 0
    else:
        spans = [dilation * (tap - 1) + 1 for tap in taps]
        more = tuple((n + 2 * padding - span) % stride for n, span in zip(size, spans, strict=True))
    actual = nn.convolve_transposed(y, weight, stride, padding, dilation, groups, more)
    assert actual.shape == x.shape
    z = rng.standard_normal(y.shape)
    adjoint = nn.convolve_transposed(z, weight, stride, padding, dilation, groups, more)
    np.testing.assert_allclose(np.sum(z * y), np.sum(adjoint * x), rtol=1e-10, atol=1e-12)


def test_the_transpose_is_the_cotangent(rng):
    x, weight = rng.standard_normal((2, 2, 7, 6)), rng.standard_normal((4, 1, 3, 2))
    forward = lambda x: nn.convolve(x, weight, 2, 1, 1, 2)  # noqa: E731
    y, pull = wg.vjp(forward, x)
    np.testing.assert_allclose(nn.convolve_transposed(y, weight, 2, 1, 1, 2), pull(y)[0], atol=1e-12)


def test_transposed_derivatives(rng):
    y, weight = rng.standard_normal((2, 4, 3, 2)), rng.standard_normal((4, 1, 2, 3))
    function = lambda y, w: nn.convolve_transposed(y, w, 2, 1, 1, 2, (1, 0))  # noqa: E731
    check_grads(function, (y, weight), order=2)
    np.testing.assert_allclose(wg.jit(function)(y, weight), function(y, weight), atol=1e-12)
    np.testing.assert_allclose(
        wg.vmap(function, in_axes=(0, None))(np.stack([y, 2 * y]), weight)[1], 2 * function(y, weight)
    )


@pytest.mark.parametrize(
    ("y", "weight", "options", "message"),
    [
        ((1, 3, 5), (2, 2, 3), {}, "filters must be"),
        ((1, 4, 5), (4, 2, 3), {"groups": 3}, "filters must be"),
        ((1, 1, 5), (1, 1, 3, 3), {}, "same rank"),
        ((1, 1, 5), (1, 1, 3), {"output_padding": 1}, "less than stride or dilation"),
        ((1, 1, 1), (1, 1, 2), {"padding": 1}, "something must be left"),
        ((1, 1, 5), (1, 1, 3), {"padding": "equal"}, '"same" or "valid"'),
    ],
)
def test_errors_of_convolve_transposed(y, weight, options, message):
    with pytest.raises(ShapeError, match=f"convolve_transposed: .*{message}"):
        nn.convolve_transposed(np.zeros(y), np.zeros(weight), **options)


@examples(25)
@given(st.data())
def test_compiled_derivatives_of_strided_windows(data):
    """Steps that do and do not divide the extents, with fewer and more taps than the step."""
    stride, taps, windows = (data.draw(st.integers(1, most)) for most in (4, 7, 9))
    spare = data.draw(st.integers(0, stride - 1))
    length = (windows - 1) * stride + taps + spare
    rng = np.random.default_rng(length)
    x, weight = rng.normal(size=(2, 2, length, 5)), rng.normal(size=(3, 2, taps, 2))

    def loss(x, weight):
        return np.sum(np.tanh(nn.convolve(x, weight, (stride, 1))))

    derivative = wg.grad(loss, (0, 1))
    for actual, expected in zip(wg.jit(derivative)(x, weight), derivative(x, weight), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("size", "stride"), [(32, 2), (33, 2), (31, 3), (32, 4)])
def test_the_derivative_of_strided_windows_costs_as_much_as_the_windows(size, stride):
    x, weight = np.ones((4, 3, size, size), np.float32), np.ones((5, 3, 5, 5), np.float32)

    def convolved(x):
        return nn.convolve(x, weight, stride, "same")

    there = wg.jit(convolved).report(x).operations
    and_back = wg.jit(lambda x, y: wg.vjp(convolved, x)[1](y)).report(x, convolved(x)).operations
    assert and_back < 4 * there
