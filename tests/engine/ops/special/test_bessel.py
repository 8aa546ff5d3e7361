"""Modified Bessel functions against mpmath: values over the whole range, compiled and eager, and their ends."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert.engine.ops.special.bessel import i0, i1

POINTS = np.concatenate([np.linspace(-25, 25, 101), [19.99, 20.0, 20.01], np.logspace(-8, 2.85, 60)])


@pytest.mark.parametrize(("function", "order"), [(i0, 0), (i1, 1)], ids=["i0", "i1"])
def test_values(function: Any, order: int) -> None:
    truth = [mpmath.besseli(order, float(x)) for x in POINTS]
    for actual in (function(POINTS), wg.jit(function)(POINTS)):
        for value, other in zip(actual, truth, strict=True):
            assert abs(mpmath.mpf(float(value)) - other) <= 6 * 2.0**-52 * abs(other)
    single = function(POINTS.astype(np.float32)).astype(float)
    known = np.isfinite(single)
    np.testing.assert_allclose(
        single[known], function(POINTS.astype(np.float32).astype(float))[known], rtol=2e-6
    )


def bessel(order: int, x: float) -> float:
    return float(mpmath.besseli(order, x))


def test_derivatives() -> None:
    points = np.array([-21.0, -3.0, -1e-9, 0.0, 1e-9, 0.5, 19.9, 20.1, 60.0])
    first = np.array([[bessel(order, x) for x in points] for order in range(4)])
    slope = {i0: first[1], i1: (first[0] + first[2]) / 2}
    bend = {i0: (first[0] + first[2]) / 2, i1: (3 * first[1] + first[3]) / 4}
    for function in (i0, i1):
        np.testing.assert_allclose(
            wg.vmap(wg.grad(function))(points), slope[function], rtol=1e-14, atol=1e-15
        )
        actual = wg.vmap(wg.grad(wg.grad(function)))(points[np.abs(points) > 1e-3])
        np.testing.assert_allclose(actual, bend[function][np.abs(points) > 1e-3], rtol=1e-12)


def test_ends() -> None:
    ends = np.array([np.inf, -np.inf, np.nan, 800.0, 0.0])
    for transform in (lambda f: f, wg.jit):
        np.testing.assert_array_equal(transform(i0)(ends), [np.inf, np.inf, np.nan, np.inf, 1.0])
        np.testing.assert_array_equal(transform(i1)(ends), [np.inf, -np.inf, np.nan, np.inf, 0.0])
