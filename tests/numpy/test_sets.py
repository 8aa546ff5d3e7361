"""Sets: values, positions and counts against NumPy's, and the derivatives of the elements that are selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ConcreteError

X, Y = np.array([3.0, 1.0, 2.5, 1.0, 7.0]), np.array([2.5, 7.0, 7.0, -1.0])
CALLS = {
    "unique_all": lambda x, y: np.unique_all(np.reshape(x, (5, 1))),
    "unique_counts": lambda x, y: np.unique_counts(x),
    "unique_inverse": lambda x, y: np.unique_inverse(np.reshape(x, (1, 5))),
    "unique_values": lambda x, y: np.sort(np.unique_values(x)),
    "union1d": np.union1d,
    "intersect1d": np.intersect1d,
    "intersect1d indices": lambda x, y: np.intersect1d(x, y, return_indices=True),
    "intersect1d unique": lambda x, y: np.intersect1d(x[:3], y[:2], assume_unique=True, return_indices=True),
    "setdiff1d": np.setdiff1d,
    "setdiff1d unique": lambda x, y: np.setdiff1d(x[:3], y[:2], assume_unique=True),
    "setxor1d": np.setxor1d,
    "setxor1d unique": lambda x, y: np.setxor1d(x[:3], y[:2], assume_unique=True),
    "none": lambda x, y: (np.intersect1d(x, y[:0]), np.setxor1d(x[:0], y[:0]), np.union1d(x[:0], y)),
    "trim_zeros": lambda x, y: np.trim_zeros(np.where(x > 1, x, 0.0)),
    "trim_zeros front": lambda x, y: np.trim_zeros(np.where(y > 2, 0.0, y), "f"),
    "trim_zeros back": lambda x, y: np.trim_zeros(np.where(x > 1, 0.0, x), "b"),
    "trim_zeros of zeros": lambda x, y: np.trim_zeros(0.0 * x),
}


@pytest.mark.parametrize("name", CALLS)
def test_sets_are_numpys(name: str) -> None:
    expected = CALLS[name](X, Y)
    actual = wg.vjp(CALLS[name], X, Y)[0]
    assert type(actual).__name__ == type(expected).__name__
    several = isinstance(expected, tuple)
    for value, other in zip(*((actual, expected) if several else ([actual], [expected])), strict=True):
        np.testing.assert_array_equal(value, other)
        assert np.asarray(value).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("dtype", [np.int8, np.float32, bool])
def test_sets_of_other_dtypes(dtype: Any) -> None:
    x, y = X.astype(dtype), Y.astype(dtype)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "unique_counts"):
        actual = wg.vjp(lambda s, call=CALLS[name]: (s, call(x + np.zeros_like(s, dtype), y)), 1.0)[0][1]
        expected = CALLS[name](x, y)
        for value, other in zip(np.atleast_2d(actual), np.atleast_2d(expected), strict=True):
            np.testing.assert_array_equal(value, other)


def test_the_selected_elements_have_derivatives() -> None:
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.union1d(x, Y)))(X), [1, 1, 1, 0, 1])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.intersect1d(x, Y)))(X), [0, 0, 1, 0, 1])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.setdiff1d(x, Y) ** 2))(X), [6, 2, 0, 0, 0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.setxor1d(x, Y)))(X), [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.unique_all(x).values))(X), [1, 1, 1, 0, 1])
    np.testing.assert_array_equal(
        wg.grad(lambda x: np.sum(np.trim_zeros(x)))(np.array([0.0, 2.0, 0.0])), [0, 1, 0]
    )


@pytest.mark.parametrize("name", ["union1d", "setxor1d", "intersect1d", "trim_zeros"])
def test_shapes_that_depend_on_values_are_refused(name: str) -> None:
    with pytest.raises(ConcreteError, match="the result's shape depends on the values"):
        wg.jit(CALLS[name])(X, Y)
