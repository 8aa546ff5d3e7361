"""R-hat and effective sample sizes of chains whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.draws import examples
from wengert.fit.diagnostics import bulk_ess, mean_ess, r_hat, tail_ess

seeds = st.integers(0, 2**32 - 1)


def autoregressive(seed: int, correlation: float, chains: int = 4, length: int = 4000) -> Any:
    noise = np.random.default_rng(seed).normal(size=(chains, length))
    draws = np.empty_like(noise)
    draws[:, 0] = noise[:, 0]
    for n in range(1, length):
        draws[:, n] = correlation * draws[:, n - 1] + np.sqrt(1 - correlation**2) * noise[:, n]
    return draws


@given(seeds, st.sampled_from([-0.3, 0.0, 0.5, 0.9]))
@examples(10)
def test_the_effective_size_of_an_autoregression(seed: int, correlation: float) -> None:
    draws = autoregressive(seed, correlation)
    truth = draws.size * (1 - correlation) / (1 + correlation)
    assert 0.75 < mean_ess(draws) / truth < 1.33
    assert 0.75 < bulk_ess(draws) / truth < 1.33
    assert r_hat(draws) < 1.02


@given(seeds, st.floats(0.1, 10), st.floats(-5, 5))
@examples(10)
def test_diagnostics_do_not_depend_on_the_scale(seed: int, scale: float, shift: float) -> None:
    draws = autoregressive(seed, 0.4, length=200)
    moved = scale * draws + shift
    assert np.isclose(r_hat(moved), r_hat(draws), atol=1e-3)  # rounding orders equal distances to the median
    assert np.isclose(bulk_ess(moved), bulk_ess(draws))
    assert np.isclose(mean_ess(moved), mean_ess(draws))
    assert np.isclose(bulk_ess(np.exp(draws)), bulk_ess(draws))  # of ranks
    assert np.isclose(tail_ess(np.exp(draws)), tail_ess(draws))


def test_chains_that_disagree_have_a_large_r_hat() -> None:
    draws = autoregressive(0, 0.0)
    apart, wide, drifting = draws.copy(), draws.copy(), draws.copy()
    apart[0] += 1.0
    wide[0] *= 3.0
    drifting += np.linspace(0.0, 2.0, draws.shape[1])
    for wrong in (apart, wide, drifting):
        assert r_hat(wrong) > 1.05


@pytest.mark.parametrize("function", [r_hat, bulk_ess, tail_ess, mean_ess])
def test_draws_that_are_not_finite_have_no_diagnostics(function: Any) -> None:
    draws = autoregressive(0, 0.0, length=20)
    draws[1, 3] = np.nan
    assert np.isnan(function(draws))


def test_equal_draws_count_as_one_value() -> None:
    assert r_hat(np.ones((4, 20))) == 1.0
    assert bulk_ess(np.ones((4, 20))) == 80.0


def test_arviz_agrees() -> None:
    arviz = pytest.importorskip("arviz")
    for correlation in (-0.3, 0.0, 0.8):
        draws = autoregressive(1, correlation, length=501)
        assert np.isclose(r_hat(draws), arviz.rhat(draws))
        assert np.isclose(bulk_ess(draws), arviz.ess(draws, method="bulk"))
        assert np.isclose(tail_ess(draws), arviz.ess(draws, method="tail", prob=(0.05, 0.95)))
        assert np.isclose(mean_ess(draws), arviz.ess(draws, method="mean"))
