"""`mle`: estimates, standard errors and intervals against theory, and what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.core.errors import ArgumentError, DtypeError, LimitError, MatrixError

seeds = st.integers(0, 2**32 - 1)


def normal(p: Any, y: Any) -> Any:
    return -0.5 * np.log(2 * np.pi) - np.log(p["sd"]) - 0.5 * ((y - p["mean"]) / p["sd"]) ** 2


def poisson(p: Any, data: Any) -> Any:
    x, y = data
    predictor = p["level"] + x @ p["slopes"]
    return y * predictor - np.exp(predictor)


def counts(seed: int, size: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 2))
    return x, rng.poisson(np.exp(0.5 + x @ [0.4, -0.7]))


NORMAL, POISSON = wg.jit(normal), wg.jit(poisson)
POISSON_START = {"level": 0.0, "slopes": np.zeros(2)}


# -- estimates and standard errors -----------------------------------------------------------------------


@given(seeds, st.sampled_from([2, 9, 200]), st.floats(-3, 3))
@examples(20)
def test_the_normal_distribution_has_its_closed_form(seed: int, size: int, exponent: float) -> None:
    scale = 10.0**exponent
    y = scale * np.random.default_rng(seed).normal(5.0, 2.0, size)
    fit = wg.fit.mle(NORMAL, y, {"mean": float(np.median(y)), "sd": 2 * scale})
    mean, sd = np.mean(y), np.std(y)
    assert np.isclose(fit.estimates["mean"], mean, rtol=1e-7)
    assert np.isclose(fit.estimates["sd"], sd, rtol=1e-7)
    assert np.isclose(fit.standard_errors["mean"], sd / np.sqrt(size), rtol=1e-6)
    assert np.isclose(fit.standard_errors["sd"], sd / np.sqrt(2 * size), rtol=1e-6)
    most = -0.5 * size * (np.log(2 * np.pi * sd**2) + 1)
    assert np.isclose(fit.loglikelihood, most, rtol=1e-12)
    assert np.isclose(fit.aic, 4 - 2 * most)
    assert np.isclose(fit.bic, 2 * np.log(size) - 2 * most)


@given(seeds)
@examples(10)
def test_the_covariance_of_a_poisson_regression_is_that_of_fisher_scoring(seed: int) -> None:
    x, y = counts(seed)
    fit = wg.fit.mle(POISSON, (x, y), POISSON_START)
    design = np.column_stack([np.ones(len(x)), x])
    weights = np.exp(design @ [fit.estimates["level"], *fit.estimates["slopes"]])
    information = design.T @ (weights[:, None] * design)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(information), rtol=1e-8)
    np.testing.assert_allclose(design.T @ (y - weights), 0.0, atol=1e-6)
    scores = (y - weights)[:, None] * design
    robust = wg.fit.mle(POISSON, (x, y), POISSON_START, robust=True)
    sandwich = fit.covariance @ (scores.T @ scores) @ fit.covariance
    np.testing.assert_allclose(robust.covariance, sandwich, rtol=1e-7)
    assert fit.names == ["level", "slopes[0]", "slopes[1]"]


def test_standard_errors_are_the_spread_of_estimates() -> None:
    fits = [wg.fit.mle(POISSON, counts(seed), POISSON_START) for seed in range(30)]
    levels = np.array([fit.estimates["level"] for fit in fits])
    errors = np.array([fit.standard_errors["level"] for fit in fits])
    assert abs(np.std(levels) / np.mean(errors) - 1.0) < 0.3
    inside = [fit.interval()[0]["level"] < 0.5 < fit.interval()[1]["level"] for fit in fits]
    assert 26 <= sum(inside) <= 30


@given(st.floats(-2, 2), st.floats(-6, 6))
@examples(10)
def test_estimates_do_not_depend_on_the_scale_of_a_parameter(start: float, exponent: float) -> None:
    x, y = counts(3)
    scale = 10.0**exponent

    fit, plain = (wg.fit.mle(scaled_poisson, (x, y, c), at) for c, at in ((scale, start / scale), (1.0, 0.0)))
    assert np.isclose(fit.estimates * scale, plain.estimates, rtol=1e-7)
    assert np.isclose(fit.standard_errors * scale, plain.standard_errors, rtol=1e-6)


@wg.jit
def scaled_poisson(p: Any, data: Any) -> Any:
    x, y, scale = data
    return poisson({"level": scale * p, "slopes": np.array([0.4, -0.7])}, (x, y))


class Curve(NamedTuple):
    """Parameters as a named tuple."""

    height: float
    rates: Any


def test_results_keep_the_container_of_the_start() -> None:
    t = np.linspace(0.0, 2.0, 30)
    y = 2.0 * np.exp(-0.7 * t) + 0.01 * np.sin(40 * t)
    fit = wg.fit.mle(
        lambda p, y: -((y - p.height * np.exp(-p.rates[0] * t)) ** 2) / 2e-4, y, Curve(1.0, np.array([0.1]))
    )
    for container in (fit.estimates, fit.standard_errors, *fit.interval(), *fit.profile()):
        assert type(container) is Curve
        assert type(container.height) is float
        assert container.rates.shape == (1,)


def test_a_sum_of_log_densities_is_enough_for_all_but_the_bic_and_the_sandwich() -> None:
    data, summed = counts(1), wg.jit(lambda p, d: np.sum(poisson(p, d)))
    whole = wg.fit.mle(POISSON, data, POISSON_START)
    total = wg.fit.mle(summed, data, POISSON_START)
    np.testing.assert_allclose(total.covariance, whole.covariance)
    with pytest.raises(ArgumentError, match="observations"):
        _ = total.bic
    counted = wg.fit.mle(summed, data, POISSON_START, observations=60)
    assert np.isclose(counted.bic, whole.bic)
    with pytest.raises(ArgumentError, match="robust"):
        wg.fit.mle(summed, data, POISSON_START, robust=True)


def test_densities_may_build_arrays_by_numpy() -> None:
    y = np.array([1.0, 2.0])
    fit = wg.fit.mle(lambda p, y: -0.5 * (y - np.array([p["a"], 2 * p["a"]])) ** 2, y, {"a": 0.0})
    assert np.isclose(fit.estimates["a"], 1.0)
    assert np.isclose(fit.standard_errors["a"], 1 / np.sqrt(5))


# -- intervals -------------------------------------------------------------------------------------------


@given(seeds, st.sampled_from([0.5, 0.9, 0.99]))
@examples(10)
def test_the_profile_falls_to_its_level_at_the_limits(seed: int, level: float) -> None:
    y = np.random.default_rng(seed).normal(1.0, 2.0, 12)
    fit = wg.fit.mle(NORMAL, y, {"mean": 0.0, "sd": 3.0})
    z = wg.fit.estimates.quantile("test", level)
    for limits in fit.profile(level):
        profiled_mean = -0.5 * len(y) * (np.log(2 * np.pi * np.mean((y - limits["mean"]) ** 2)) + 1)
        profiled_sd = np.sum(normal({"mean": np.mean(y), "sd": limits["sd"]}, y))
        assert np.isclose(fit.loglikelihood - profiled_mean, z * z / 2, rtol=1e-6)
        assert np.isclose(fit.loglikelihood - profiled_sd, z * z / 2, rtol=1e-6)
    assert fit.profile(level).lower["sd"] > fit.interval(level).lower["sd"]


def test_profiles_follow_a_change_of_scale() -> None:
    y = np.random.default_rng(0).normal(1.0, 2.0, 12)
    fit = wg.fit.mle(NORMAL, y, {"mean": 0.0, "sd": 3.0})
    logged = wg.fit.mle(
        lambda p, y: normal({"mean": p["mean"], "sd": np.exp(p["log"])}, y), y, {"mean": 0.0, "log": 1.0}
    )
    for limits, of_log in zip(fit.profile(), logged.profile(), strict=True):
        assert np.isclose(limits["mean"], of_log["mean"], rtol=1e-6)
        assert np.isclose(limits["sd"], np.exp(of_log["log"]), rtol=1e-6)


def test_a_limit_is_infinite_where_the_likelihood_stays_high() -> None:
    # A count of 1 at the rate 1e-3 + exp(p): the first part alone has a likelihood of about 1e-3.
    def count(p: Any, y: Any) -> Any:
        rate = 1e-3 + np.exp(p)
        return y * np.log(rate) - rate

    fit = wg.fit.mle(count, np.ones(1), -1.0)
    assert np.all(np.isfinite(fit.profile(0.95)))
    lower, upper = fit.profile(0.9999)
    assert lower == -np.inf
    assert np.isfinite(upper)


def test_the_delta_method_has_exact_slopes() -> None:
    fit = wg.fit.mle(POISSON, counts(5), POISSON_START)
    values, errors = fit.delta(lambda p: {"mean": np.exp(p["level"]), "sum": p["slopes"][0] + p["slopes"][1]})
    assert np.isclose(values["mean"], np.exp(fit.estimates["level"]))
    assert np.isclose(errors["mean"], values["mean"] * fit.standard_errors["level"])
    assert np.isclose(errors["sum"], np.sqrt(np.sum(fit.covariance[1:, 1:])))


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95])
def test_levels_are_probabilities(level: float) -> None:
    fit = wg.fit.mle(NORMAL, np.arange(5.0), {"mean": 0.0, "sd": 3.0})
    for interval in (fit.interval, fit.profile):
        with pytest.raises(ArgumentError, match="level"):
            interval(level)


def test_the_table_has_a_row_for_each_element() -> None:
    fit = wg.fit.mle(POISSON, counts(5), POISSON_START)
    title, blank, columns, *rows = str(fit).splitlines()
    assert title.startswith("Maximum likelihood: 60 observations, log-likelihood")
    assert not blank
    assert columns.split()[:3] == ["parameter", "estimate", "std."]
    assert [row.split()[0] for row in rows] == fit.names
    numbers = np.array([[float(number) for number in row.split()[1:]] for row in rows])
    np.testing.assert_allclose(numbers[:, 2], numbers[:, 0] / numbers[:, 1], rtol=0.01, atol=0.01)
    assert "robust" in str(wg.fit.mle(POISSON, counts(5), POISSON_START, robust=True))


# -- what is refused -------------------------------------------------------------------------------------


def test_parameters_that_the_data_do_not_determine_are_named() -> None:
    y = np.arange(6.0)
    with pytest.raises(MatrixError, match=r"positive definite.*direction of (a, b|b, a);"):
        wg.fit.mle(
            lambda p, y: -((y - p["a"] - p["b"] - p["c"] * y**2) ** 2), y, {"a": 0.0, "b": 1.0, "c": 0.0}
        )
    with pytest.raises(MatrixError, match="for unused"):
        wg.fit.mle(lambda p, y: -((y - p["a"]) ** 2) + 0 * p["unused"], y, {"a": 0.0, "unused": 1.0})


@pytest.mark.parametrize(
    "logpdf", [lambda p, y: y * p, lambda p, y: -np.log(p) * y], ids=["line", "logarithm"]
)
def test_a_likelihood_without_end_does_not_converge(logpdf: Any) -> None:
    with pytest.raises(LimitError, match="maximum within maxiter=30"):
        wg.fit.mle(logpdf, np.arange(1.0, 4.0), 1.0, maxiter=30)


def test_a_start_where_the_likelihood_is_not_finite_is_refused() -> None:
    with pytest.raises(ArgumentError, match="finite at the start; got nan"):
        wg.fit.mle(normal, np.arange(5.0), {"mean": 0.0, "sd": -1.0})
    with pytest.raises(ArgumentError, match=r"derivatives .* for x"), np.errstate(all="ignore"):
        wg.fit.mle(lambda p, y: -np.sqrt(p) - (y - p) ** 2, np.arange(5.0), 0.0)


def test_parameters_are_real() -> None:
    with pytest.raises(DtypeError, match="real numbers"):
        wg.fit.mle(lambda p, y: -(np.abs(p - y) ** 2), np.arange(3.0), {"z": 1j})


def test_what_logpdf_must_return() -> None:
    y = np.array([1.0, 2.0, np.nan, 4.0])
    with pytest.raises(ArgumentError, match=r"got nan for 1 of 4 observations, first at \[2\]"):
        wg.fit.mle(lambda p, y: -((y - p) ** 2), y, 0.0)
    with pytest.raises(ArgumentError, match=r"must be an observation; got the shape \(0,\)"):
        wg.fit.mle(lambda p, y: -((y - p) ** 2), y[:0], 0.0)
    with pytest.raises(ArgumentError, match="must return an array of log densities"):
        wg.fit.mle(lambda p, y: {"a": -((y - p) ** 2)}, y[:2], 0.0)
    with pytest.raises(ArgumentError, match="its last line may lack return"):
        wg.fit.mle(lambda p, y: None, y[:2], 0.0)


@pytest.mark.parametrize(
    "data", [[1.0, 2.0, 4.0], {"y": np.array([1, 2, 4]), "unit": "m"}, None, (2, (1.0, 4.0))]
)
def test_data_may_be_any_object(data: Any) -> None:
    def normal_log(p: Any, data: Any) -> Any:
        y: Any = np.array([1.0, 2.0, 4.0])
        if isinstance(data, dict):
            y = cast("Any", data)["y"]
        elif isinstance(data, (list, tuple)):
            y = np.hstack(cast("Any", data))
        return -((y - p["mean"]) ** 2) / 2

    fit = wg.fit.mle(normal_log, data, {"mean": 0})
    assert np.isclose(fit.estimates["mean"], 7 / 3)
    assert np.isclose(fit.standard_errors["mean"], 3**-0.5)
