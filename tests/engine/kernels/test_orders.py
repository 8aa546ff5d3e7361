"""Derivatives of special functions by their orders and parameters, against mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from wengert.engine.kernels import orders

BESSEL: dict[str, tuple[Callable[..., Any], Any]] = {
    "J": (orders.jv_order, mpmath.besselj),
    "Y": (orders.yv_order, mpmath.bessely),
    "I": (lambda v, x: orders.iv_order(v, x, scaled=False), mpmath.besseli),
    "K": (lambda v, x: orders.kv_order(v, x, scaled=False), mpmath.besselk),
}


def slope(function: Callable[..., Any], operands: tuple[float, ...], position: int) -> float:
    """Return the derivative by one operand, from a difference in many digits."""
    with mpmath.workdps(50):
        point = [mpmath.mpf(x) for x in operands]
        step = mpmath.mpf(10) ** -15
        ends = ([*point[:position], point[position] + h, *point[position + 1 :]] for h in (step, -step))
        up, down = (function(*end) for end in ends)
        return float((up - down) / (2 * step))


@pytest.mark.parametrize("name", BESSEL)
@pytest.mark.parametrize("v", [0.0, 0.5, 1.0, 2.7, 9.3, 30.0, 49.5])
def test_bessel_functions(name: str, v: float) -> None:
    function, reference = BESSEL[name]
    for x in (0.02, 0.9, 4.0, 11.0, 24.5, 60.0, 99.0):
        expected = slope(reference, (v, x), 0)
        # J and Y oscillate beyond the order: near a zero of the derivative the error is relative to its amplitude.
        floor = 1e-13 if name in "JY" and x > v else 0.0
        if 1e-280 < abs(expected) < 1e280:
            assert function(v, x) == pytest.approx(expected, rel=1e-9, abs=floor), x


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_of_extreme_orders_and_arguments(name: str) -> None:
    function, reference = BESSEL[name]
    points = [
        (0.0, 1e-10),
        (1.0, 1e-10),
        (10.0, 1e-10),
        (-0.3, 1e-10),
        (-1.5, 0.01),
        (120.0, 90.0),
        (200.0, 100.0),
    ]
    points += [(2.3, 700.0)] if name in "IK" else [(0.0, 300.0), (2.5, 2000.0), (80.0, 1000.0)]
    for v, x in points:
        assert function(v, x) == pytest.approx(slope(reference, (v, x), 0), rel=1e-9), (v, x)


@pytest.mark.parametrize("name", BESSEL)
def test_other_elements_do_not_disturb(name: str) -> None:
    function, _ = BESSEL[name]
    x = np.array([np.nan, 0.0, -1.0, np.inf, 1e-10, 3.0])
    np.testing.assert_allclose(function(1.5, x)[-2:], [function(1.5, 1e-10), function(1.5, 3.0)], rtol=1e-13)
    assert function(1.5, np.zeros((0, 2))).shape == (0, 2)


def test_scaled_bessel_functions() -> None:
    for v, x in ((0.5, 2.0), (3.2, 50.0), (7.0, 300.0)):
        by_i = slope(lambda v, x: mpmath.exp(-x) * mpmath.besseli(v, x), (v, x), 0)
        by_k = slope(lambda v, x: mpmath.exp(x) * mpmath.besselk(v, x), (v, x), 0)
        assert orders.iv_order(v, x, scaled=True) == pytest.approx(by_i, rel=1e-9)
        assert orders.kv_order(v, x, scaled=True) == pytest.approx(by_k, rel=1e-9)


def test_bessel_functions_of_negative_orders() -> None:
    for name, (function, reference) in BESSEL.items():
        for v, x in ((-0.5, 1.5), (-1.0, 3.0), (-2.3, 8.0)):
            assert function(v, x) == pytest.approx(slope(reference, (v, x), 0), rel=1e-9), name


def test_bessel_functions_at_zero() -> None:
    np.testing.assert_array_equal(orders.jv_order([0.5, 2.0], 0.0), [0.0, 0.0])
    np.testing.assert_array_equal(orders.iv_order([0.5, 2.0], 0.0, scaled=False), [0.0, 0.0])
    assert np.isnan(orders.jv_order(1.0, -1.0))


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.exhaustive
def test_confluent_hypergeometric_function(position: int) -> None:
    for a, b in ((0.3, 0.7), (2.0, 5.5), (7.0, 0.4), (3.0, 3.0)):
        for x in (-29.0, -4.0, -0.2, 0.0, 0.3, 6.0, 28.0):
            expected = slope(mpmath.hyp1f1, (a, b, x), position)
            actual = orders.hyp1f1_order(a, b, x, position=position)
            assert actual == pytest.approx(expected, rel=1e-9, abs=1e-14), (a, b, x)


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.exhaustive
def test_hypergeometric_function(position: int) -> None:
    for a, b, c in ((0.3, 0.7, 1.2), (2.0, 4.5, 0.6), (3.0, 0.5, 3.5)):
        for x in (-4.5, -0.9, -0.1, 0.0, 0.4, 0.9):
            expected = slope(mpmath.hyp2f1, (a, b, c, x), position)
            actual = orders.hyp2f1_order(a, b, c, x, position=position)
            assert actual == pytest.approx(expected, rel=1e-9, abs=1e-14), (a, b, c, x)


def test_the_hypergeometric_function_beyond_its_series_is_nan() -> None:
    assert np.isnan(orders.hyp2f1_order(0.5, 1.0, 1.5, [-1000.0, 0.99], position=0)).all()


def test_zeta_function() -> None:
    for s in (1.02, 1.5, 3.0, 12.0):
        for q in (0.1, 1.0, 25.0):
            assert orders.zeta_order(s, q) == pytest.approx(slope(mpmath.zeta, (s, q), 0), rel=1e-12)
    for s, q in ((0.5, 1.0), (0.9, 3.0), (-0.3, 1.0)):
        assert orders.zeta_order(s, q) == pytest.approx(slope(mpmath.zeta, (s, q), 0), rel=1e-12)


def test_arrays_broadcast_and_keep_their_dtype() -> None:
    v, x = np.linspace(0.1, 3.0, 7)[:, None], np.linspace(0.5, 40.0, 300)
    whole = orders.jv_order(v, x)
    assert whole.shape == (7, 300)
    np.testing.assert_allclose(whole[3, 200], orders.jv_order(v[3, 0], x[200]), rtol=1e-13)
    assert orders.jv_order(np.float32(1.5), np.float32(2.0)).dtype == np.float32


@pytest.mark.parametrize("first", [0.0, 0.5, -2.0])
@pytest.mark.parametrize(
    ("function", "count", "position"),
    [
        (orders.hyp1f1_order, 2, 0),
        (orders.hyp1f1_order, 2, 1),
        *((orders.hyp2f1_order, 3, position) for position in range(3)),
    ],
)
def test_slopes_of_hypergeometric_functions_keep_nan(function, count, position, first):
    parameters = [first, 1.5, 2.5][:count]
    for place in range(count + 1):
        operands = [*parameters, 0.25]
        operands[place] = np.nan
        alone = function(*operands, position=position)
        beside = function(
            *(np.array([x, y]) for x, y in zip(operands, [*parameters, -0.5], strict=True)), position=position
        )
        assert np.isnan(alone)
        assert np.isnan(beside[0])
        assert np.isfinite(beside[1])
