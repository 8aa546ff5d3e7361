"""The error of each elementary derivative, against mpmath, stays within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.benchmarks import benchmark
from wengert import nn

pytest.importorskip("mpmath")
POINTS = 40

ACCURACY = benchmark("accuracy")


@pytest.mark.parametrize("dtype", ACCURACY.DTYPES)
@pytest.mark.parametrize("case", ACCURACY.CASES, ids=lambda case: case.name)
def test_derivatives_are_exact_to_some_units_in_the_last_place(case: Any, dtype: str) -> None:
    for compiled, (worst, where) in ACCURACY.largest_errors(case, dtype, POINTS).items():
        assert worst <= case.limit, f"at {where}, {'compiled' if compiled else 'eager'}"


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        (np.tanh, 20.0, 1.6993417021166355e-17),
        (np.tanh, -300.0, 1.0604e-260),
        (nn.sigmoid, 40.0, 4.248354255291589e-18),
        (nn.sigmoid, -700.0, 9.8597e-305),
        (np.expm1, -50.0, 1.9287498479639178e-22),
        (nn.elu, -50.0, 1.9287498479639178e-22),
    ],
)
def test_slopes_do_not_vanish_too_soon(function: Any, at: float, slope: float, compiled: bool) -> None:
    for derivative in (wg.grad(function), wg.derivative(function)):
        assert (wg.jit(derivative) if compiled else derivative)(at) == pytest.approx(slope, rel=1e-4)


def test_slopes_have_slopes_of_their_own() -> None:
    """The forms without cancellation are smooth, also at 0: tanh'' = -2 tanh tanh' and so on."""
    second, third = wg.grad(wg.grad(np.tanh)), wg.grad(wg.grad(wg.grad(np.tanh)))
    assert second(20.0) == pytest.approx(-2 * 1.6993417021166355e-17, rel=1e-14)
    assert (second(0.0), third(0.0)) == (0.0, -2.0)
    assert wg.grad(wg.grad(wg.grad(nn.sigmoid)))(0.0) == -0.125
    assert wg.grad(wg.grad(lambda x: np.logaddexp2(x, 0.0)))(0.0) == pytest.approx(np.log(2) / 4, rel=1e-15)
