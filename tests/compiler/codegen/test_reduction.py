"""Reductions along the lanes: any number of elements, and the place of the first of equal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(6)


@pytest.mark.parametrize("function", [np.sum, np.max, np.prod, lambda x: np.sum(np.exp(x), axis=-1), np.any])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_reductions_of_any_length(function: Callable[[Any], Any], dtype: Any) -> None:
    x = np.linspace(0.9, 1.1, 3 * 150).reshape(3, 150).astype(dtype)
    compiled = wg.jit(function)
    for count in (1, 7, 16, 33, 64, 81, 128, 150):
        np.testing.assert_allclose(compiled(x[:, :count]), function(x[:, :count]), rtol=2e-5)


@pytest.mark.parametrize("place", [np.argmax, np.argmin])
@pytest.mark.parametrize(
    "dtype",
    [np.float32, pytest.param(np.float64, marks=pytest.mark.exhaustive), np.int32, np.int64, np.bool_],
)
def test_places_of_the_first_among_equals(place: Callable[[Any], Any], dtype: Any) -> None:
    x = RNG.integers(-3, 4, 300).astype(dtype)
    compiled = wg.jit(place)
    for count in (1, 5, 16, 40, 64, 100, 257):
        for start in range(0, 300 - count, 11):
            assert compiled(x[start : start + count]) == place(x[start : start + count])


@pytest.mark.parametrize("place", [np.argmax, np.argmin])
@pytest.mark.parametrize("rest", [0.0, np.inf, -np.inf])
def test_places_of_nan_and_infinities(place: Callable[[Any], Any], rest: float) -> None:
    compiled = wg.jit(place)
    for first in (0, 1, 17, 63, 64, 100, 129):
        for special in (np.nan, np.inf, -np.inf):
            x = np.full(130, rest, np.float32)
            x[first] = x[-1] = special
            assert compiled(x) == place(x), (first, special)


@pytest.mark.parametrize("axis", [0, 1, 2, None])
@pytest.mark.parametrize("shape", [(3, 70, 5), (5, 3, 70), (70, 5, 3), (2, 33, 40)])
def test_places_along_an_axis(axis: int | None, shape: tuple[int, ...]) -> None:
    x = RNG.integers(-9, 9, shape).astype(np.float32)
    for place in (np.argmax, np.argmin):
        np.testing.assert_array_equal(wg.jit(lambda x, place=place: place(x, axis))(x), place(x, axis))
    np.testing.assert_array_equal(wg.jit(lambda x: np.argmax(x.T, axis))(x), np.argmax(x.T, axis))


def test_the_place_and_the_value_of_the_largest() -> None:
    x = RNG.normal(size=(40, 50)).astype(np.float32)
    place, largest = wg.jit(lambda x: (np.argmax(np.exp(x), 1), np.max(x, 1)))(x)
    np.testing.assert_array_equal(place, np.argmax(x, 1))
    np.testing.assert_array_equal(largest, np.max(x, 1))


def test_least_numbers() -> None:
    x = np.full(100, np.iinfo(np.int64).min)
    assert wg.jit(np.argmax)(x) == 0
    x[70:80] += 1
    assert wg.jit(np.argmax)(x) == 70


@pytest.mark.parametrize(
    "function",
    [np.sum, np.mean, lambda x: np.sum(x, axis=0), lambda x: np.sum(np.pad(x, 1), axis=1), lambda x: x @ x.T],
)
def test_a_sum_of_negative_zeros_is_not_negative(function: Any) -> None:
    for shape in ((3, 3), (2, 17), (20, 40)):
        x = -np.zeros(shape)
        np.testing.assert_array_equal(np.signbit(wg.jit(function)(x)), np.signbit(function(x)))
