"""`least_squares` and `curve_fit`: SciPy's fits, with exact Jacobians."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from tests.optimize.problems import INPUTS, NETWORK, TARGETS, Network, network_residuals
from wengert.engine.core.errors import ArgumentError

optimize = pytest.importorskip("scipy.optimize")

T = np.linspace(0.0, 3.0, 25)


class Decay(NamedTuple):
    """Parameters: the heights of two terms, their rates, and a level."""

    heights: Any
    rates: Any
    level: float


def decay(t: Any, p: Decay) -> Any:
    return np.exp(-np.multiply.outer(t, p.rates)) @ p.heights + p.level


TRUTH = Decay(np.array([2.0, 1.0]), np.array([0.5, 3.0]), 0.25)
START = Decay(np.array([1.0, 1.5]), np.array([0.3, 2.0]), 0.0)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_a_container_is_fitted(method: str) -> None:
    result = wg.optimize.least_squares(
        lambda p, t, y: decay(t, p) - y, START, method=method, args=(T, decay(T, TRUTH))
    )
    assert result.success
    assert type(result.x) is Decay
    for found, true in zip(result.x, TRUTH, strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-5)
    assert type(result.grad) is Decay
    assert result.jac.shape == (25, 5)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "cauchy"])
def test_results_are_those_of_scipy_with_differences(loss: str) -> None:
    rng = np.random.default_rng(0)
    y = 2.0 * np.exp(-0.7 * T) + 0.1 * rng.normal(size=25)

    def residuals(p: Any, t: Any, *, y: Any) -> Any:
        return p[0] * np.exp(-p[1] * t) - y

    given: Any = {
        "bounds": ([0.0, 0.0], [3.0, 2.0]),
        "loss": loss,
        "args": (T,),
        "kwargs": {"y": y},
        "x_scale": [1.0, 0.5],
    }
    mine, theirs = (
        solve(residuals, [1.0, 1.0], **given) for solve in (wg.optimize.least_squares, optimize.least_squares)
    )
    np.testing.assert_allclose(mine.x, theirs.x, rtol=1e-5)
    np.testing.assert_allclose(mine.cost, theirs.cost, rtol=1e-9)
    np.testing.assert_allclose(mine.jac, theirs.jac, rtol=1e-4, atol=1e-5)


def test_residuals_in_a_container() -> None:
    result = wg.optimize.least_squares(network_residuals, NETWORK, args=(INPUTS, TARGETS))
    assert isinstance(result.x, Network)
    assert result.optimality < 1e-4
    assert len(result.fun) == 4 + 6 + 1


def test_bounds_and_jacobians_of_the_users_own() -> None:
    asked = []

    def jac(p: Any) -> Any:
        asked.append(p)
        return np.diag(2 * p)

    lower = {"a": 1.5}
    bounded = wg.optimize.least_squares(lambda p: p["a"] ** 2 - 1.0, {"a": 2.0}, bounds=(lower, None))
    assert bounded.x["a"] == pytest.approx(1.5)
    result = wg.optimize.least_squares(lambda p: p**2 - 4.0, np.ones(3), jac, optimize.Bounds(0.0, 5.0))
    np.testing.assert_allclose(result.x, 2.0)
    assert asked
    differences = wg.optimize.least_squares(lambda p: p**2 - 4.0, np.ones(3), "3-point")
    np.testing.assert_allclose(differences.x, 2.0)


def test_starts_and_bounds_that_do_not_fit() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"^least_squares: .*finite at the start; got nan in value 1 of 3.* \[test_fitting.py:",
    ):
        wg.optimize.least_squares(lambda x: np.array([1.0, np.nan, 1.0]) * x, np.ones(3))
    with pytest.raises(ArgumentError, match=r"^least_squares: lower bounds\['a'\] must broadcast"):
        wg.optimize.least_squares(lambda x: x["a"], {"a": np.ones(3)}, bounds=({"a": np.ones(2)}, None))


# -- curve_fit -------------------------------------------------------------------------------------------


def peak(x: Any, height: Any, centre: Any, width: Any) -> Any:
    return height * np.exp(-(((x - centre) / width) ** 2))


@given(st.floats(0.5, 3.0), st.floats(1.0, 2.0), st.floats(0.4, 1.0), st.integers(0, 2**31))
@examples(10)
def test_curves_are_those_of_scipy(height: float, centre: float, width: float, seed: int) -> None:
    noise = 0.01 * np.random.default_rng(seed).normal(size=25)
    y = peak(T, height, centre, width) + noise
    start = [1.0, 1.5, 0.7]
    mine, theirs = (fit(FITTED, T, y, start) for fit in (wg.optimize.curve_fit, optimize.curve_fit))
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-5)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-3, atol=1e-9)


FITTED = wg.jit(peak)


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
@pytest.mark.parametrize("sigma", [None, np.linspace(0.5, 2.0, 25)])
def test_options_are_scipys(method: str, sigma: Any) -> None:
    y = peak(T, 2.0, 1.3, 0.6) + 0.05 * np.sin(40 * T)
    given: Any = {"sigma": sigma, "absolute_sigma": True, "method": method, "full_output": True}
    mine = wg.optimize.curve_fit(peak, T, y, **given)
    theirs = optimize.curve_fit(peak, T, y, **given)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-4)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-3)
    assert mine[2]["nfev"] <= theirs[2]["nfev"]
    assert len(mine) == len(theirs)


def test_parameters_in_a_container() -> None:
    popt, pcov = wg.optimize.curve_fit(
        decay, T, decay(T, TRUTH), START, bounds=(0.0, Decay(5.0, [2.0, 9.0], None))
    )
    assert type(popt) is Decay
    for found, true in zip(popt, TRUTH, strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-4)
    assert pcov.shape == (5, 5)
    by_name = wg.optimize.curve_fit(lambda t, p: p["a"] * t + p["b"], T, 3.0 * T - 1.0, {"a": 1.0, "b": 1.0})[
        0
    ]
    assert {name: round(value, 9) for name, value in by_name.items()} == {"a": 3.0, "b": -1.0}


def test_the_covariance_has_the_order_of_the_start() -> None:
    y = 3.0 * T - 1.0 + 0.1 * np.sin(9.0 * T)
    _, theirs = optimize.curve_fit(lambda t, b, a: a * t + b, T, y)
    _, mine = wg.optimize.curve_fit(lambda t, p: p["a"] * t + p["b"], T, y, {"b": 1.0, "a": 1.0})
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_two_independent_variables_and_bad_data() -> None:
    x = np.stack([T, T**2])
    y = 2.0 * x[0] - 0.5 * x[1]
    popt, _ = wg.optimize.curve_fit(lambda x, a, b: a * x[0] + b * x[1], x, y)
    np.testing.assert_allclose(popt, [2.0, -0.5])
    with pytest.raises(ValueError, match=r"NaN|nan|infs"):
        wg.optimize.curve_fit(peak, T, np.full(25, np.nan))


def test_a_compiled_model_is_traced_once_for_many_data_sets() -> None:
    traces: list[int] = []
    counts: list[int] = []

    @wg.jit
    def line(x: Any, a: Any, b: Any) -> Any:
        traces.append(1)
        return a * x + b

    for slope in (1.0, 2.0, 3.0):
        popt, _ = wg.optimize.curve_fit(line, T + slope, slope * T, [1.0, 1.0])
        np.testing.assert_allclose(popt, [slope, -(slope**2)], atol=1e-8)
        counts.append(len(traces))
    assert counts == counts[:1] * 3


def test_a_jacobian_of_the_users_own_takes_arguments_by_name() -> None:
    result = wg.optimize.least_squares(
        lambda x, *, c: x * c - 6.0, np.ones(2), lambda x, *, c: c * np.eye(2), kwargs={"c": 3.0}
    )
    np.testing.assert_allclose(result.x, 2.0)


def test_scales_in_a_container() -> None:
    def residuals(p: Any) -> Any:
        return np.concatenate([p["a"] - 3.0, [p["b"] + 1.0]])

    scale = {"a": np.array([2.0, 0.5]), "b": 1.0}
    result = wg.optimize.least_squares(residuals, {"a": np.zeros(2), "b": 0.0}, x_scale=scale)
    np.testing.assert_allclose(result.x["a"], 3.0)
    with pytest.raises(ArgumentError, match=r"x_scale\['a'\] must have the shape \(2,\)"):
        wg.optimize.least_squares(residuals, {"a": np.zeros(2), "b": 0.0}, x_scale={"a": 1.0, "b": 1.0})


def test_no_bounds_and_bounds_that_are_no_pair() -> None:
    line = T * 3.0 - 1.0
    for bounds in (None, (None, None)):
        result = wg.optimize.least_squares(lambda p: p[0] * T + p[1] - line, np.ones(2), bounds=bounds)
        np.testing.assert_allclose(result.x, [3.0, -1.0])
    popt, _ = wg.optimize.curve_fit(lambda t, a, b: a * t + b, T, line, bounds=None)
    np.testing.assert_allclose(popt, [3.0, -1.0])
    with pytest.raises(ArgumentError, match=r"bounds must be a pair \(lower, upper\).*got int"):
        wg.optimize.least_squares(lambda p: p - 1.0, np.ones(2), bounds=3)


@pytest.mark.parametrize("method", ["lm", "trf"])
def test_a_curve_of_one_value(method: str) -> None:
    y = np.array([1.0, 2.0, 6.0])
    mine, theirs = (
        fit(lambda t, level: level, np.arange(3.0), y, method=method)
        for fit in (wg.optimize.curve_fit, optimize.curve_fit)
    )
    np.testing.assert_allclose(mine[0], [3.0], rtol=1e-7)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-6)
