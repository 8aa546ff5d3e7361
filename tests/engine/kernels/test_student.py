"""Student's distribution far out."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.engine.kernels.student import student_quantile


@pytest.mark.parametrize("df", [0.7, 0.9, 1.0, 2.0, 5.0])
def test_quantiles_far_out_are_powers_of_the_probability(df: float) -> None:
    p = 10.0 ** -np.arange(60.0, 210.0, 15.0)
    q = student_quantile(np.full(p.shape, df), p)
    powers = np.diff(np.log(-q)) / np.diff(np.log(p))
    np.testing.assert_allclose(powers, -1.0 / df, rtol=1e-12)


def test_the_quantile_of_cauchys_distribution_is_a_cotangent() -> None:
    p = np.array([1e-300, 1e-100, 1e-20])
    np.testing.assert_allclose(student_quantile(np.ones(3), p), -1.0 / np.tan(np.pi * p), rtol=1e-12)
