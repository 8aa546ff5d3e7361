"""Narrowing: which zeros are absent terms, and that all others count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from wengert import nn

INFINITE = np.array([np.inf, 2.0, -3.0, -0.0, np.nan])
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "multiply": lambda x, y: x * y,
    "negative": lambda x, y: -x,
    "by a constant": lambda x, y: x * -2.0,
    "where": lambda x, y: np.where(y > 1, x, -0.0),
    "cast": lambda x, y: -x.astype(np.float32),
    "sum of products": lambda x, y: np.sum(x * y),
    "product": lambda x, y: x @ y,
    "nested": lambda x, y: -np.pad(x, (0, 1))[:-1] * y,
    "in integers": lambda x, y: -x.astype(np.int32) * np.arange(5, dtype=np.int32),
}
PADS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: np.pad(x, 1),
    "negative zeros": lambda x: np.pad(x, 1, constant_values=-0.0),
    "joined": lambda x: np.concatenate([np.zeros(1), x, np.zeros(1)]),
    "written": lambda x: _written(x),
    "identity": lambda x: np.eye(5)[1] + np.pad(x, 1),
}


def _written(x: Any) -> Any:
    result = np.zeros_like(x, shape=5)
    result[1:4] = x
    return result


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("pad", PADS)
def test_the_zeros_of_padding_are_numbers(pad: str, operation: str) -> None:
    check(lambda x, y: OPERATIONS[operation](PADS[pad](x), y), np.array([1.0, -2.0, 0.0]), INFINITE)


@given(
    widths=st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2),
    values=st.lists(
        st.sampled_from([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]), min_size=24, max_size=24
    ),
    operation=st.sampled_from(sorted(set(OPERATIONS) - {"nested", "in integers", "product"})),
)
def test_whatever_they_meet(widths: Any, values: list[float], operation: str) -> None:
    x = np.array(values[:6]).reshape(2, 3)
    y = np.resize(values, tuple(n + sum(pair) for n, pair in zip(x.shape, widths, strict=True)))
    check(lambda x, y: OPERATIONS[operation](np.pad(x, widths), y), x, y)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 1, 1), (1, 16, 3, 17)])
def test_a_convolution_meets_the_zeros_of_its_border(shape: tuple[int, ...]) -> None:
    """A filter with an infinite tap makes NaN of them, in both modes."""
    rng = np.random.default_rng(3)
    x, filters = rng.normal(size=shape), rng.normal(size=(2, shape[1], 3, 3))
    filters[0, 0, 0, 0], filters[1, 0, 2, 1] = np.inf, np.nan
    result = check(lambda x, w: nn.convolve(x, w, padding="same"), x, filters, scale=10.0)
    assert np.isnan(result[:, 0, 0, 0]).all()


def test_what_nothing_depends_on_has_no_derivative() -> None:
    """The transpose of a slice puts no number beside it, which an infinite factor could turn into NaN in a sum."""
    weights = np.array([[2.0, -3.0, np.inf], [1.0, 1.0, np.nan]])
    gradient = wg.jit(wg.grad(lambda x: np.sum((x @ weights)[:2] ** 2)))(np.ones(2))
    np.testing.assert_array_equal(gradient, [2 * (3 * 2 + -2 * -3), 2 * (3 - 2)])


@pytest.mark.parametrize("change", [lambda g: -g, lambda g: g * INFINITE[:4], lambda g: 1 / -g])
def test_a_derivative_is_a_number_for_the_program_that_takes_it(change: Callable[[Any], Any]) -> None:
    x = np.array([1.0, -2.0, 3.0, -4.0])
    check(lambda x: change(wg.grad(lambda z: np.sum((z**2)[1:3]))(x)), x)


def test_padding_is_left_out_of_sums_where_numbers_are_promised() -> None:
    def multiplied(x: Any, y: Any) -> Any:
        return np.pad(x, ((0, 0), (100, 100))) @ y

    x, y = np.ones((4, 10)), np.ones((210, 3))
    fast = wg.jit(multiplied, fastmath=True)
    assert fast.report(x, y).operations < wg.jit(multiplied).report(x, y).operations / 10
    np.testing.assert_allclose(fast(x, y), multiplied(x, y))


def repeated(x: Any) -> Any:
    y = np.broadcast_to(x[:, None, None], (len(x), 7, 3))
    most = np.max(y, axis=(1, 2)), np.min(y, axis=1), np.all(y, axis=2), np.any(y, axis=(0, 1))
    return np.sum(y, axis=1), np.sum(y, axis=(1, 2)), np.sum(np.tile(x, 4)), np.sum(y * y, axis=(0, 2)), *most


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
def test_a_sum_of_equal_terms_is_a_multiple(dtype: str) -> None:
    x = np.array([3, -2, 0, 100, 1]).astype(dtype)
    check(repeated, x, ulp=8)
    report = wg.jit(lambda x: np.sum(np.broadcast_to(x, (1000, 5)), axis=0)).report(x)
    assert report.operations < 100


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float16", "float32"])
@pytest.mark.parametrize("count", [127, 128, 256, 40_000])
def test_a_multiple_that_a_dtype_cannot_hold(dtype: str, count: int) -> None:
    x = np.array([3, 0, 100, 1]).astype(dtype)
    check(lambda x: np.sum(np.broadcast_to(x, (count, 4)), axis=0, dtype=x.dtype), x, ulp=count)


def test_a_sum_of_equal_terms_that_are_no_numbers() -> None:
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 3e38], "float32")
    check(lambda x: (np.sum(np.broadcast_to(x[:, None], (6, 9)), axis=1), np.sum(x[:, None], axis=1)), x)


def test_an_empty_sum_of_equal_terms() -> None:
    check(lambda x: np.sum(np.broadcast_to(x[:, None], (2, 0)), axis=1), np.array([np.inf, 1.0]))


def test_the_gradient_of_a_tiled_array() -> None:
    x = np.random.default_rng(0).normal(size=(6, 5))
    check(wg.value_and_grad(lambda x: np.sum(np.tile(x, (3, 4)) ** 3)), x, ulp=100, scale=1.0)
    assert len(wg.jit(wg.grad(lambda x: np.sum(np.tile(x, (3, 4)) ** 3))).report(x).nests) == 1
