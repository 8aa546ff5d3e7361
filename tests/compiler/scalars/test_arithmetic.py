"""Scalar arithmetic in native code: extrema of values and constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

VALUES = np.array([-3.0, -0.5, -0.0, 0.0, 0.5, 3.0, np.inf, -np.inf, np.nan])
INNER = {"x": lambda x: x, "|x|": np.abs, "-|x|": lambda x: -np.abs(x), "x²": np.square}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("constant", [0.0, -0.0, 0.5, -0.5])
@pytest.mark.parametrize("extremum", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_extrema_with_constants(extremum: Any, constant: float, inner: str) -> None:
    function = INNER[inner]
    for dtype in (np.float64, np.float32):
        x = VALUES.astype(dtype)
        for program in (
            lambda x: extremum(function(x), constant),
            lambda x: extremum(constant, function(x)),
            lambda x: extremum(function(x), constant) > 0.25,
        ):
            np.testing.assert_array_equal(wg.jit(program)(x), program(x))


@pytest.mark.parametrize("initial", [0.0, -1.0, 1.0])
def test_largest_magnitudes(initial: float) -> None:
    for count in (0, 1, 2, 9, 40):
        x = np.linspace(-2.0, 1.0, count)
        largest = lambda x: np.max(np.abs(x), initial=initial)  # noqa: E731
        assert wg.jit(largest)(x) == largest(x)
        assert wg.jit(lambda x: -np.min(-np.abs(x), initial=-initial))(x) == largest(x)
