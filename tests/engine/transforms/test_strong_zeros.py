"""Reverse mode, where zero meets infinity: products are checked once, at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg


def test_a_zero_slope_after_an_infinite_one() -> None:
    x = np.array([0.0, 4.0, 9.0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.sqrt(x) * 0.0))(x), np.zeros(3))
    np.testing.assert_array_equal(
        wg.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(x), [0, 0.25, 1 / 6]
    )


def test_a_dropped_element_and_a_kept_one() -> None:
    def f(x: Any) -> Any:
        y = np.sqrt(x) * np.array([0.0, 1.0])
        return np.sum(y[1:]) + np.sum(np.sqrt(x[:1]) * np.zeros(1))

    np.testing.assert_array_equal(wg.grad(f)(np.array([0.0, 4.0])), [0.0, 0.25])


def test_nan_of_mathematics_stays() -> None:
    gradient = wg.grad(lambda x: np.sum(np.log(x) * np.array([1.0, 0.0])))(np.array([-np.nan, 1.0]))
    assert np.isnan(gradient[0])
    assert gradient[1] == 0.0


def test_rules_of_users_get_no_nan_in_place_of_zero() -> None:
    given: list[Any] = []

    @wg.custom_vjp
    def identity(x: Any) -> Any:
        return x * 1.0

    def backward(residuals: Any, cotangent: Any) -> tuple[Any]:
        given.append(np.array(cotangent))
        return (cotangent,)

    identity.defvjp(lambda x: (x * 1.0, None), backward)

    def f(x: Any) -> Any:
        return np.sum(np.sqrt(identity(x)) * np.array([0.0, 1.0]))

    np.testing.assert_array_equal(wg.grad(f)(np.array([0.0, 4.0])), [0.0, 0.25])
    assert len(given) == 1
    np.testing.assert_array_equal(given[0], [0.0, 0.25])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_two_variables(shape: tuple[int, ...]) -> None:
    x = wg.Variable(np.zeros(shape)[()])
    total: Any = np.sum(np.sqrt(x) * 0.0)
    total.backward()
    assert np.all(x.grad == 0.0)
