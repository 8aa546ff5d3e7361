"""`nuts` and `hmc`: moments of known densities within Monte Carlo error, and the same draws however they are made."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from wengert.engine.core import progress
from wengert.engine.core.errors import ArgumentError, DtypeError, MissingExtraError
from wengert.fit import Samples
from wengert.fit.adaptation import FAST, LAST, LAST_SLOW, SAMPLING, SLOW, phases
from wengert.fit.diagnostics import mean_ess
from wengert.fit.metrics import Dense, Diagonal, Metric, Window
from wengert.fit.trajectories import Phase, Place, energy_of, leapfrog, phase_of
from wengert.random import key

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, 0.01], [0.0, 0.01, 1e-2]])
PRECISION = np.linalg.inv(COVARIANCE)
EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = {"mu": 0.0, "log_tau": 0.0, "z": np.zeros(8)}
# Draws and warm-ups of whole hundreds, and one target for a density, share a compiled program.
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
@pytest.mark.parametrize("dense", [False, True], ids=["diagonal", "dense"])
def test_moments_of_a_normal_density(sampler: Sampler, dense: bool) -> None:
    samples = sampler(gaussian, {"x": np.zeros(3)}, key(int(dense)), dense=dense)
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
    np.testing.assert_allclose(samples.inverse_mass.mean(axis=0), deviations**2, rtol=0.5)


@wg.jit
def autoregression(x: Any) -> Any:
    """Return the log density of 12 numbers of deviations 1 to 3 whose neighbours have the correlation 0.95."""
    z = x / np.linspace(1.0, 3.0, 12)
    return -0.5 * z[0] ** 2 - 0.5 * np.sum((z[1:] - 0.95 * z[:-1]) ** 2) / (1.0 - 0.95**2)


def test_dense_masses_follow_correlations() -> None:
    place, scales = np.arange(12), np.linspace(1.0, 3.0, 12)
    covariance = np.multiply.outer(scales, scales) * 0.95 ** np.abs(place[:, None] - place)
    plain, dense = (wg.fit.nuts(autoregression, np.zeros(12), key(0), dense=dense) for dense in (False, True))
    for i, j in ((0, 0), (3, 3), (11, 11), (3, 4), (0, 11)):
        check_mean(dense.draws[..., i] * dense.draws[..., j], covariance[i, j])
    for k in place:
        check_mean(dense.draws[..., k], 0.0)
    assert np.min(dense.ess) / np.sum(dense.leaps) > 10.0 * np.min(plain.ess) / np.sum(plain.leaps)
    assert dense.inverse_mass.shape == (4, 12, 12)
    correlations = dense.inverse_mass / np.multiply.outer(scales, scales)
    np.testing.assert_allclose(correlations[:, place, place], 1.0, atol=0.6)
    np.testing.assert_allclose(dense.inverse_mass, np.swapaxes(dense.inverse_mass, 1, 2), rtol=1e-12)


def test_scales_that_differ_are_found() -> None:
    scales = np.array([1e-2, 1.0, 1e2])
    samples = wg.fit.nuts(lambda x: -0.5 * np.sum((x / scales) ** 2), np.zeros(3), key(0), jitter=1e-2)
    np.testing.assert_allclose(samples.draws.std(axis=(0, 1)), scales, rtol=0.1)
    assert np.mean(samples.leaps) < 16


# -- the metric ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Diagonal, Dense])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_a_window_has_the_covariance_shrunk_as_stan_does(kind: type[Metric], count: int) -> None:
    positions = 5.0 + np.random.default_rng(count).normal(size=(count, 3)) @ np.diag([1e-2, 1.0, 1e2])
    unit = kind.unit(3)
    window = Window.empty(unit)
    for position in positions:
        window = window.with_position(unit, position)
    metric = window.metric(kind)
    covariance = np.cov(positions.T) if count > 1 else np.zeros((3, 3))
    expected = count / (count + 5) * covariance + 1e-3 * 5 / (count + 5) * np.eye(3)
    if kind is Diagonal or count < 6:
        got = metric.inverse_mass if kind is Diagonal else np.diag(metric.inverse_mass)
        np.testing.assert_allclose(got, np.diag(expected), rtol=1e-9)
    else:
        np.testing.assert_allclose(metric.inverse_mass, expected, rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_momenta_have_the_covariance_of_the_masses(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    covariance = np.cov(rng.normal(size=(size, 3 * size + 2))).reshape(size, size)
    for metric in (
        Dense.estimated(covariance, 0.1, 50.0),
        Diagonal.estimated(np.diag(covariance), 0.1, 50.0),
    ):
        factor = np.stack([metric.momentum(unit) for unit in np.eye(size)], axis=1)
        velocities = np.stack([metric.velocity(column) for column in (factor @ factor.T).T], axis=1)
        np.testing.assert_allclose(velocities, np.eye(size), atol=1e-8)


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
    short, long = (wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), draws=n, warmup=60) for n in (40, 97))
    np.testing.assert_allclose(short.vectors, long.vectors[:, :40], rtol=1e-9)


# -- parts -----------------------------------------------------------------------------------------------


METRICS = [Diagonal(np.array([1.0, 0.5])), Dense(np.array([[1.0, 0.3], [0.3, 0.5]]), np.eye(2))]


@pytest.mark.parametrize("metric", METRICS, ids=["diagonal", "dense"])
def test_the_leapfrog_is_reversible_and_of_second_order(metric: Metric) -> None:
    def slope(x: Any) -> Any:
        return wg.value_and_grad(lambda x: -np.sum(x**4) - 0.5 * np.sum(x**2))(x)

    x, p = np.array([0.3, -0.8]), np.array([0.7, 0.2])
    first = phase_of(Place(x, *slope(x)), p, metric)

    def path(step: float, count: int, phase: Phase) -> Phase:
        for _ in range(count):
            phase = leapfrog(slope, phase, step, metric)
        return phase

    back = path(-0.1, 10, path(0.1, 10, first))
    np.testing.assert_allclose(back.place.position, x, atol=1e-13)
    np.testing.assert_allclose(back.momentum, p, atol=1e-13)
    start = energy_of(first)
    coarse, fine = (energy_of(path(step, count, first)) - start for step, count in ((0.1, 10), (0.05, 20)))
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
        np.mean(wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), target=target, draws=400).acceptance)
        for target in (0.8, 0.95)
    ]
    assert means[0] < means[1]
    assert abs(means[1] - 0.95) < 0.04


# -- results ---------------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_element() -> None:
    samples = wg.fit.nuts(eight_schools, SCHOOLS, key(0), draws=100, warmup=100, target=0.9)
    title, table, *_ = str(samples).split("\n\n")
    columns, *rows = table.splitlines()
    assert title.startswith("4 chains of 100 draws")
    assert columns.endswith("r-hat")
    assert (
        [row.split()[0] for row in rows] == samples.names == ["mu", "log_tau", *(f"z[{i}]" for i in range(8))]
    )
    assert samples.draws["z"].shape == (4, 100, 8)
    assert samples.rhat["z"].shape == (8,)
    assert isinstance(samples.ess["mu"], float)


def test_starts_beside_the_support_are_drawn_again_nearer() -> None:
    samples = wg.fit.hmc(
        lambda x: np.log(x) - x, 0.1, key(0), chains=8, draws=500, warmup=500, jitter=50.0, target=0.95
    )
    assert np.all(samples.draws > 0.0)
    assert abs(np.mean(samples.draws) - 2.0) < 0.3  # the gamma distribution of shape 2


def test_a_function_of_the_draws_has_its_own_diagnostics() -> None:
    samples = wg.fit.nuts(eight_schools, SCHOOLS, key(0), draws=200, warmup=200, target=0.9)
    effects = samples.map(lambda p: {"effects": p["mu"] + np.exp(p["log_tau"]) * p["z"], "half": p["mu"] / 2})
    draws = samples.draws
    expected = draws["mu"][..., None] + np.exp(draws["log_tau"])[..., None] * draws["z"]
    np.testing.assert_allclose(effects.draws["effects"], expected, rtol=1e-12)
    assert effects.names == [*(f"effects[{i}]" for i in range(8)), "half"]
    assert np.isclose(effects.ess["half"], samples.ess["mu"])
    assert effects.divergences == samples.divergences
    np.testing.assert_array_equal(samples.map(lambda p: p["mu"] > 0.0).draws, draws["mu"] > 0.0)


def test_what_makes_draws_doubtful_is_said() -> None:
    def funnel(p: Any) -> Any:
        return -0.5 * (p["v"] / 3.0) ** 2 - 0.5 * np.sum(p["x"] ** 2) * np.exp(-p["v"]) - 4.5 * p["v"]

    start = {"v": 0.0, "x": np.zeros(9)}
    samples = wg.fit.nuts(funnel, start, key(0), draws=200, warmup=200, max_depth=3)
    diverged, full, *others = samples.warnings
    assert diverged.startswith(f"{samples.divergences} of 800 trajectories diverged: raise target")
    assert full.startswith(f"{np.sum(samples.depth == 3)} of 800 trajectories reached max_depth=3")
    assert any("r-hat of v" in text or "r-hat of x" in text for text in others)
    assert any(text.startswith("ess bulk of ") for text in others)
    assert str(samples).endswith("\n\n" + "\n".join(samples.warnings))
    assert not wg.fit.hmc(gaussian, {"x": np.zeros(3)}, key(0)).warnings


@every_sampler
def test_what_is_refused(sampler: Sampler) -> None:
    with pytest.raises(ArgumentError, match="finite at the start; got nan"):
        sampler(lambda x: np.log(-1.0 - x * x), 0.0, key(0))
    with pytest.raises(DtypeError, match="key"):
        sampler(gaussian, {"x": np.zeros(3)}, 0)
    with pytest.raises(ArgumentError, match="scalar"):
        sampler(lambda x: x, np.zeros(3), key(0))
    with pytest.raises(ArgumentError, match=r"finite at the start; got a gradient of (nan|-?inf) for x\[1\]"):
        sampler(lambda x: -np.sum(x**2) + np.cbrt(x[1]), np.zeros(3), key(0), jitter=0.0)
    for wrong in ({"chains": 0}, {"draws": 1e3}, {"warmup": -1}, {"target": 1.0}):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            sampler(gaussian, {"x": np.zeros(3)}, key(0), **wrong)


def test_progress_shows_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    written = []
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), draws=200, warmup=100)
        written.append(stream.getvalue())
    assert not written[0]
    assert "nuts" in written[1]


def test_arviz_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = wg.fit.nuts(gaussian, {"x": np.zeros(3)}, key(0), draws=50, warmup=50)
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingExtraError, match="arviz"):
        samples.to_arviz()


@pytest.mark.filterwarnings("ignore")
def test_arviz_gets_all_draws() -> None:
    arviz = pytest.importorskip("arviz")
    samples = wg.fit.nuts(eight_schools, SCHOOLS, key(0), draws=50, warmup=50, target=0.9)
    data = samples.to_arviz()
    for name in SCHOOLS:
        np.testing.assert_array_equal(data.posterior[name], samples.draws[name])
    for name, numbers in (
        ("diverging", samples.divergent),
        ("n_steps", samples.leaps),
        ("lp", samples.logdensity),
    ):
        np.testing.assert_array_equal(data.sample_stats[name], numbers)
    assert data.posterior["z"].dims[:2] == ("chain", "draw")
    table = arviz.summary(data, round_to="none")
    np.testing.assert_allclose(np.asarray(table["mean"], float), samples.vectors.mean(axis=(0, 1)))
    np.testing.assert_allclose(
        np.asarray(table["ess_bulk"], float), [samples.ess["log_tau"], samples.ess["mu"], *samples.ess["z"]]
    )
