"""`laplace`: exact for normal densities, and near for others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.core.errors import MatrixError
from wengert.random import key


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@examples(15)
def test_normal_densities_are_exact(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, size)) + 3 * np.eye(size)
    mean, covariance = rng.normal(size=size), factor @ factor.T
    precision = np.linalg.inv(covariance)

    def logdensity(p: Any) -> Any:
        return 2.5 - 0.5 * (p["x"] - mean) @ precision @ (p["x"] - mean)

    found = wg.fit.laplace(logdensity, {"x": np.zeros(size)})
    evidence = 2.5 + 0.5 * size * np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(covariance)[1]
    np.testing.assert_allclose(found.mode["x"], mean, atol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.standard_deviations["x"] ** 2, np.diag(covariance), rtol=1e-7)
    assert np.isclose(found.log_evidence, evidence)


@pytest.mark.parametrize("n", [5, 50, 500])
def test_stirlings_formula(n: int) -> None:
    found = wg.fit.laplace(lambda x: n * np.log(x) - x, 1.0)
    assert abs(found.log_evidence - math.lgamma(n + 1)) < 1 / (11 * n)


def test_draws_have_the_covariance() -> None:
    found = wg.fit.laplace(
        lambda p: -0.5 * (p["a"] ** 2 + (p["b"][0] - p["a"]) ** 2), {"a": 1.0, "b": np.zeros(1)}
    )
    draws = found.draw(key(0), 20_000)
    sample = np.cov(draws["a"], draws["b"][:, 0])
    np.testing.assert_allclose(sample, [[1, 1], [1, 2]], atol=0.06)
    assert [line.split()[0] for line in str(found).splitlines()[3:]] == ["a", "b[0]"]


def test_a_density_without_a_peak_is_refused() -> None:
    with pytest.raises(MatrixError, match="for flat"):
        wg.fit.laplace(lambda p: -(p["x"] ** 2) + 0.0 * p["flat"], {"x": 1.0, "flat": 0.0})
