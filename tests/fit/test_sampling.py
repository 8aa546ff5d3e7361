"""`nuts` and `hmc`: moments of known densities within Monte Carlo error, and the same draws however they are made."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.errors import ArgumentError, DtypeError, MissingExtraError
from wengert.fit import Samples
from wengert.fit.adaptation import FAST, LAST, LAST_SLOW, SAMPLING, SLOW, phases
from wengert.fit.diagnostics import mean_ess
from wengert.fit.trajectories import Phase, Place, energy_of, leapfrog
from wengert.random import key

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, 0.01], [0.0, 0.01, 1e-2]])
PRECISION = np.linalg.inv(COVARIANCE)
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = {"mu": 0.0, "log_tau": 0.0, "z": np.zeros(8)}
Sampler = Callable[..., Samples]


@wg.jit
def gaussian(p: Any) -> Any:
    return -0.5 * (p["x"] - MEAN) @ PRECISION @ (p["x"] - MEAN)


@wg.jit
def eight_schools(p: Any) -> Any:
    tau = np.exp(p["log_tau"])
    likelihood = -0.5 * np.sum(((EFFECTS - p["mu"] - tau * p["z"]) / ERRORS) ** 2)
    prior = -0.5 * (p["mu"] / 5.0) ** 2 - np.log1p((tau / 5.0) ** 2) - 0.5 * np.sum(p["z"] ** 2)
    return likelihood + prior + p["log_tau"]


def logistic(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return np.sum(y * z - np.logaddexp(0.0, z)) - 0.5 * np.sum(w**2)


SAMPLERS = {"nuts": wg.fit.nuts, "hmc": wg.fit.hmc}
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)


def check_mean(draws: Any, truth: float) -> None:
    """Check a mean of (chains, draws) within five standard errors."""
    error = np.std(draws) / np.sqrt(mean_ess(draws))
    assert abs(np.mean(draws) - truth) < 5.0 * error


# -- known densities -------------------------------------------------------------------------------------


@every_sampler
@pytest.mark.parametrize("seed", [0, 1])
def test_moments_of_a_normal_density(sampler: Sampler, seed: int) -> None:
    samples = sampler(gaussian, {"x": np.zeros(3)}, key(seed))
    x = samples.draws["x"]
    assert x.shape == (4, 1000, 3)
    for i in range(3):
        check_mean(x[..., i], MEAN[i])
        for j in range(i + 1):
            check_mean((x[..., i] - MEAN[i]) * (x[..., j] - MEAN[j]), COVARIANCE[i, j])
    assert np.all(samples.rhat["x"] < 1.01)
    assert np.all(samples.ess["x"] > 400)
    assert samples.divergences == 0
    np.testing.assert_allclose(samples.logdensity[1, 7], gaussian({"x": x[1, 7]}), rtol=1e-12)


def schools_by_quadrature() -> tuple[float, float]:
    """Return the posterior means of mu and log tau; given both, the effects have a normal distribution."""
    mu, log_tau = np.linspace(-25.0, 30.0, 400)[:, None, None], np.linspace(-12.0, 5.0, 800)[None, :, None]
    variance = ERRORS**2 + np.exp(2 * log_tau)
    density = -0.5 * np.sum((EFFECTS - mu) ** 2 / variance + np.log(variance), axis=-1)
    mu, log_tau = mu[..., 0], log_tau[..., 0]
    density = density - 0.5 * (mu / 5.0) ** 2 - np.log1p((np.exp(log_tau) / 5.0) ** 2) + log_tau
    weights = np.exp(density - density.max())
    return float(np.sum(weights * mu) / np.sum(weights)), float(np.sum(weights * log_tau) / np.sum(weights))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_eight_schools(seed: int) -> None:
    samples = wg.fit.nuts(eight_schools, SCHOOLS, key(seed), draws=2000, target=0.9)
    mu, log_tau = schools_by_quadrature()
    check_mean(samples.draws["mu"], mu)
    check_mean(samples.draws["log_tau"], log_tau)
    assert max(samples.rhat["mu"], samples.rhat["log_tau"], *samples.rhat["z"]) < 1.01
    assert samples.divergences < 20


def test_logistic_regression_is_near_its_laplace_approximation() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 10))
    y = (rng.random(500) < 1 / (1 + np.exp(-x @ np.linspace(-1, 1, 10)))) * 1.0
    samples = wg.fit.nuts(logistic, np.zeros(10), key(0), args=(x, y), draws=500, warmup=500)
    normal = wg.fit.laplace(logistic, np.zeros(10), (x, y))
    deviations = normal.standard_deviations
    np.testing.assert_allclose(samples.draws.mean(axis=(0, 1)), normal.mode, atol=0.25 * deviations.max())
    np.testing.assert_allclose(samples.draws.std(axis=(0, 1)), deviations, rtol=0.15)
    assert np.all(samples.rhat < 1.01)
    np.testing.assert_allclose(samples.variances.mean(axis=0), deviations**2, rtol=0.5)


def test_scales_that_differ_are_found() -> None:
    scales = np.array([1e-2, 1.0, 1e2])
    samples = wg.fit.nuts(lambda x: -0.5 * np.sum((x / scales) ** 2), np.zeros(3), key(0), jitter=1e-2)
    np.testing.assert_allclose(samples.draws.std(axis=(0, 1)), scales, rtol=0.1)
    assert np.mean(samples.leaps) < 16


# -- reproducible ----------------------------------------------------------------------------------------


@every_sampler
def test_a_key_gives_the_same_draws_and_another_key_others(sampler: Sampler) -> None:
    first, again, other = (
        sampler(gaussian, {"x": np.zeros(3)}, key(seed), draws=50, warmup=50) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert not np.any(first.vectors[:, -1] == other.vectors[:, -1])
    assert len(np.unique(first.vectors[:, -1, 0])) == 4


def test_draws_do_not_depend_on_the_number_that_follow() -> None:
    """Chunks of other lengths make the same draws."""
    short, long = (wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), draws=n, warmup=60) for n in (41, 97))
    np.testing.assert_allclose(short.vectors, long.vectors[:, :41], rtol=1e-9)


# -- parts -----------------------------------------------------------------------------------------------


def test_the_leapfrog_is_reversible_and_of_second_order() -> None:
    def slope(x: Any) -> Any:
        return wg.value_and_grad(lambda x: -np.sum(x**4) - 0.5 * np.sum(x**2))(x)

    variances, x, p = np.array([1.0, 0.5]), np.array([0.3, -0.8]), np.array([0.7, 0.2])
    first = Phase(Place(x, *slope(x)), p)

    def path(step: float, count: int, phase: Phase) -> Phase:
        for _ in range(count):
            phase = leapfrog(slope, phase, step, variances)
        return phase

    back = path(-0.1, 10, path(0.1, 10, first))
    np.testing.assert_allclose(back.place.position, x, atol=1e-13)
    np.testing.assert_allclose(back.momentum, p, atol=1e-13)
    start = energy_of(first, variances)
    coarse, fine = (
        energy_of(path(step, count, first), variances) - start for step, count in ((0.1, 10), (0.05, 20))
    )
    assert 3.0 < coarse / fine < 5.0


@pytest.mark.parametrize("warmup", [0, 1, 5, 20, 149, 150, 1000, 3000])
def test_every_warm_up_has_windows_and_an_end(warmup: int) -> None:
    plan = phases(warmup, 10)
    assert len(plan) == warmup + 10
    assert np.all(plan[warmup:] == SAMPLING)
    assert set(plan[:warmup]) <= {FAST, SLOW, LAST_SLOW, LAST}
    if warmup:
        assert np.flatnonzero(plan == LAST).tolist() == [warmup - 1]
    if warmup >= 20:
        ends = np.flatnonzero(plan == LAST_SLOW)
        assert np.all(np.diff(ends) > 0)
        assert plan[ends[-1] + 1] in (FAST, LAST)


def test_the_step_size_reaches_the_target() -> None:
    means = [
        np.mean(wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), target=target).acceptance)
        for target in (0.6, 0.95)
    ]
    assert means[0] < means[1]
    assert abs(means[1] - 0.95) < 0.04


# -- results ---------------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_element() -> None:
    samples = wg.fit.nuts(eight_schools, SCHOOLS, key(0), draws=100, warmup=100)
    title, blank, columns, *rows = str(samples).splitlines()
    assert title.startswith("4 chains of 100 draws")
    assert not blank
    assert columns.endswith("r-hat")
    assert (
        [row.split()[0] for row in rows] == samples.names == ["log_tau", "mu", *(f"z[{i}]" for i in range(8))]
    )
    assert samples.draws["z"].shape == (4, 100, 8)
    assert samples.rhat["z"].shape == (8,)
    assert isinstance(samples.ess["mu"], float)


def test_starts_beside_the_support_are_drawn_again_nearer() -> None:
    samples = wg.fit.nuts(
        lambda x: np.log(x) - x, 0.1, key(0), chains=8, draws=500, warmup=500, jitter=50.0, target=0.95
    )
    assert np.all(samples.draws > 0.0)
    assert abs(np.mean(samples.draws) - 2.0) < 0.3  # the gamma distribution of shape 2


@every_sampler
def test_what_is_refused(sampler: Sampler) -> None:
    with pytest.raises(ArgumentError, match="finite at the start; got nan"):
        sampler(lambda x: np.log(-1.0 - x * x), 0.0, key(0))
    with pytest.raises(DtypeError, match="key"):
        sampler(gaussian, {"x": np.zeros(3)}, 0)
    with pytest.raises(ArgumentError, match="scalar"):
        sampler(lambda x: x, np.zeros(3), key(0))
    for wrong in ({"chains": 0}, {"draws": 0}, {"warmup": -1}, {"target": 1.0}):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            sampler(gaussian, {"x": np.zeros(3)}, key(0), **wrong)


def test_progress_shows_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    written = []
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), draws=200, warmup=50)
        written.append(stream.getvalue())
    assert not written[0]
    assert "nuts" in written[1]


def test_arviz_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), draws=20, warmup=20)
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingExtraError, match="arviz"):
        samples.to_arviz()


@pytest.mark.filterwarnings("ignore")
def test_arviz_gets_all_draws() -> None:
    pytest.importorskip("arviz")
    samples = wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), draws=20, warmup=20)
    data = samples.to_arviz()
    np.testing.assert_array_equal(data.posterior["x"], samples.draws["x"])
    np.testing.assert_array_equal(data.sample_stats["diverging"], samples.divergent)
