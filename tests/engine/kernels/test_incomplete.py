"""Derivatives of incomplete gamma and beta functions in their parameters, against series in many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from wengert.engine.kernels.incomplete import bell, betainc_slope, gammainc_slope

DIGITS, STEP = 70, mpmath.mpf(10) ** -16


def series(first: Any, ratio: Callable[[int], Any]) -> Any:
    """Sum terms of one sign with given ratios."""
    term = total = mpmath.mpf(first)
    n = 0
    while term > total * mpmath.mpf(10) ** -DIGITS:
        term, n = term * ratio(n), n + 1
        total += term
    return total


def gammainc(a: Any, x: Any) -> Any:
    total = series(1 / a, lambda n: x / (a + n + 1))
    return total * mpmath.exp(a * mpmath.log(x) - x) / mpmath.gamma(a)


def betainc(a: Any, b: Any, x: Any) -> Any:
    total = series(1 / a, lambda n: x * (a + b + n) / (a + 1 + n))
    return total * mpmath.exp(a * mpmath.log(x) + b * mpmath.log(1 - x)) / mpmath.beta(a, b)


def slopes(function: Callable[..., Any], *operands: Any) -> list[float]:
    """Return the derivatives in all operands but the last."""
    found: list[float] = []
    for i in range(len(operands) - 1):
        h = operands[i] * STEP
        up, down = ([*operands[:i], operands[i] + step, *operands[i + 1 :]] for step in (h, -h))
        found.append(float((function(*up) - function(*down)) / (2 * h)))
    return found


@pytest.mark.parametrize("a", [1e-3, 0.1, 0.9, 1.0, 2.5, 12.0, 200.0])
def test_gamma(a: float) -> None:
    for x in (1e-6, 0.05 * a, 0.5, 0.9 * a, a, 1.1 * a, 1.45, 1.6, a + 5 * a**0.5, 20.0):
        with mpmath.workdps(DIGITS):
            (expected,) = slopes(gammainc, mpmath.mpf(a), mpmath.mpf(x))
        if abs(expected) > 1e-30:
            assert gammainc_slope(a, x, 1) == pytest.approx(expected, rel=1e-11), x


@pytest.mark.parametrize("a", [1e-3, 0.4, 2.5, 300.0])
@pytest.mark.parametrize("b", [1e-3, 0.4, 1.0, 20.0, 300.0])
def test_beta(a: float, b: float) -> None:
    mean = a / (a + b)
    for x in (1e-5, 0.3 * mean, mean, 1 - 0.8 * (1 - mean), 1 - 1e-5):
        with mpmath.workdps(DIGITS):
            p, q, point = (mpmath.mpf(x) for x in (a, b, x))
            if x > 0.6:  # from the end where the series is short
                expected = [-slope for slope in slopes(betainc, q, p, 1 - point)[::-1]]
            else:
                expected = slopes(betainc, p, q, point)
        for order, value in zip(((1, 0), (0, 1)), expected, strict=True):
            if abs(value) > 1e-30:
                assert betainc_slope(a, b, x, order) == pytest.approx(value, rel=1e-9), (x, order)


def test_higher_orders() -> None:
    """They are the differences of the lower ones."""
    a, h = np.array([0.6, 1.4, 3.0, 20.0]), 1e-5
    x = np.array([0.3, 1.7, 2.0, 23.0])
    for order in (1, 2):
        change = gammainc_slope(a + h, x, order) - gammainc_slope(a - h, x, order)
        np.testing.assert_allclose(gammainc_slope(a, x, order + 1), change / (2 * h), rtol=1e-7)
    b, x = np.array([2.0, 0.7, 1.1, 9.0]), np.array([0.2, 0.9, 0.6, 0.7])
    change = betainc_slope(a, b + h, x, (1, 0)) - betainc_slope(a, b - h, x, (1, 0))
    np.testing.assert_allclose(betainc_slope(a, b, x, (1, 1)), change / (2 * h), rtol=1e-7)
    change = betainc_slope(a, b + h, x, (1, 1)) - betainc_slope(a, b - h, x, (1, 1))
    np.testing.assert_allclose(betainc_slope(a, b, x, (1, 2)), change / (2 * h), rtol=1e-7)


def test_ends_and_impossible_values() -> None:
    assert gammainc_slope(2.0, 0.0, 1) == gammainc_slope(2.0, np.inf, 1) == 0.0
    assert betainc_slope(2.0, 3.0, np.array([0.0, 1.0]), (1, 0)).tolist() == [0.0, 0.0]
    assert np.isnan([gammainc_slope(-1.0, 1.0, 1), gammainc_slope(1.0, -1.0, 1)]).all()
    assert np.isnan([betainc_slope(1.0, 0.0, 0.5, (1, 0)), betainc_slope(1.0, 1.0, 1.5, (0, 1))]).all()
    assert gammainc_slope(np.float32(1.0), np.float32(2.0), 1).dtype == np.float32
    assert bell((0, 0), lambda p, q: 2.0) == 1.0
