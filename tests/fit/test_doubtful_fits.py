"""Fits that say where they have no maximum, samplers that survive errors of a density, and digits of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, DoubtfulResultWarning, LimitError, MatrixError
from wengert.fit import Samples
from wengert.fit.tables import number
from wengert.random import key

SAMPLERS = {"nuts": wg.fit.nuts, "hmc": wg.fit.hmc}
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)


@wg.jit
def logistic(w: Any, data: Any) -> Any:
    x, y = data
    z = x @ w
    return y * z - np.logaddexp(0.0, z)


def drawn_classes(seed: int) -> tuple[Any, bool]:
    """Return labelled points, and whether a plane through 0 separates the labels, by the perceptron's theorem."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((20, 2))
    y = (x @ [1.0, -2.0] + rng.uniform(0.0, 1.5) * rng.standard_normal(20) * (seed % 2) > 0) * 1.0
    signs, w = (2 * y - 1)[:, None] * x, np.zeros(2)
    for _ in range(20_000):
        wrong = signs[signs @ w <= 0]
        if not len(wrong):
            return (x, y), True
        w = w + wrong[0]
    return (x, y), False


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.exhaustive), *range(1, 20)])
def test_separated_data_are_reported(seed: int) -> None:
    data, is_separated = drawn_classes(seed)
    if not is_separated:
        fit = wg.fit.mle(logistic, data, np.zeros(2))  # warnings are errors here
        assert fit.success
        return
    try:
        with pytest.warns(DoubtfulResultWarning, match="not a parabola.*there may be no maximum"):
            fit = wg.fit.mle(logistic, data, np.zeros(2))
    except (LimitError, MatrixError):
        return
    assert not fit.success
    assert "there may be no maximum" in str(fit)


def test_a_limit_at_infinity_of_one_parameter_is_named() -> None:
    """A count of 0: the logarithm of its rate goes to minus infinity, and the other parameter is well determined."""
    counts = np.array([0.0, 0.0, 0.0, 4.0, 7.0, 5.0])
    groups = np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(DoubtfulResultWarning, match=r"along x\[0\]"):
        fit = wg.fit.mle(lambda p, y: y * p[groups] - np.exp(p[groups]), counts, np.ones(2))
    assert np.isclose(fit.estimates[1], np.log(16 / 3))
    assert np.isclose(fit.standard_errors[1], 0.25)


def test_standard_errors_that_are_none_are_reported() -> None:
    with pytest.warns(DoubtfulResultWarning, match="the standard errors of x are not positive numbers"):
        wg.fit.mle(lambda p, y: -((y - p) ** 2), np.ones(3), 0.0, robust=True)


def test_laplace_reports_a_density_without_a_peak() -> None:
    with pytest.warns(DoubtfulResultWarning, match=r"^laplace: along x the log density is not a parabola"):
        found = wg.fit.laplace(lambda x: -np.exp(-x), 0.0)
    assert "not a parabola" in str(found)


def test_trial_steps_of_a_fit_may_raise() -> None:
    def logpdf(p: Any, y: Any) -> Any:
        scale = np.linalg.cholesky(np.diag(np.stack([p, 1.0])))[0, 0]  # no factor for p <= 0
        return -0.5 * (y / scale) ** 2 - np.log(scale)

    y = np.random.default_rng(0).standard_normal(50)
    assert np.isclose(wg.fit.mle(logpdf, y, 40.0).estimates, np.mean(y**2))
    with pytest.raises(np.linalg.LinAlgError):
        wg.fit.mle(logpdf, y, -1.0)


@pytest.mark.parametrize("seed", range(50))
def test_an_estimate_has_the_digits_of_its_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    value, error = (float(10.0 ** rng.uniform(-8, 8) * rng.choice([-1, 1])) for _ in range(2))
    text = number(value, abs(error))
    assert abs(float(text) - value) <= 0.06 * abs(error) + 1e-15 * abs(value) or len(text.strip("-.0")) >= 4
    assert abs(float(text) - value) <= max(5e-4 * abs(value), 0.0)


def test_the_table_shows_what_the_errors_leave() -> None:
    y = 4998.0 + 0.025 * np.sqrt(400) * np.tile([-1.0, 1.0], 200)
    row = str(wg.fit.mle(lambda p, y: -0.5 * ((y - p) / 0.5) ** 2, y, 5000.0)).splitlines()[-1].split()
    assert row == ["x", "4998.000", "0.02500", "199920.00", "4997.951", "4998.049"]


# -- samplers ------------------------------------------------------------------------------------------------


def correlated(p: Any) -> Any:
    """Return the log density of a correlation r, sqrt(1 - r^2): no factor for |r| > 1."""
    r = p[0]
    matrix = np.stack([np.stack([1.0 + 0.0 * r, r]), np.stack([r, 1.0 + 0.0 * r])])
    factor = np.linalg.cholesky(matrix)
    return np.log(factor[0, 0] * factor[1, 1])


def solved(p: Any) -> Any:
    """Return a log density with a root that there is not for x < 0."""
    root = wg.implicit.root(lambda y: y * y - p[0], 1.0 + 0.0 * p[0])
    return np.log(root) - root**2  # the gamma density of the shape 3/2


DENSITIES: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "matrix": (correlated, 0.0, 0.0),
    "root": (solved, 1.5, 1.5),
}
"""With a start and the mean."""


#: In the quick run each density and each sampler once, and one chain: two compile other programs for each alone.
TRIALS = [
    pytest.param("matrix", wg.fit.nuts, 1, marks=pytest.mark.exhaustive),
    ("root", wg.fit.hmc, 1),
    pytest.param("matrix", wg.fit.hmc, 2, marks=pytest.mark.rest),
    pytest.param("root", wg.fit.nuts, 2, marks=pytest.mark.rest),
]


@pytest.mark.parametrize(("name", "sampler", "chains"), TRIALS)
def test_an_error_at_a_trial_point_is_a_divergence(
    name: str, sampler: Callable[..., Samples], chains: int
) -> None:
    density, start, mean = DENSITIES[name]
    samples = sampler(density, np.array([start]), key(3), draws=120, warmup=80, chains=chains)
    x = samples.vectors[..., 0]
    assert x.shape == (chains, 120)
    assert np.all(np.isfinite(samples.logdensity))
    assert samples.divergences > 0
    assert np.all(np.abs(x) < 1.0) if name == "matrix" else np.all(x > 0.0)
    assert abs(np.mean(x) - mean) < 0.6


@pytest.mark.parametrize("sampler", [wg.fit.hmc, pytest.param(wg.fit.nuts, marks=pytest.mark.rest)])
def test_draws_are_the_same_with_and_without_errors(sampler: Callable[..., Samples]) -> None:
    """A density of NaN is rejected by the compiled program, and one with an error by its Python."""
    size = {"draws": 12, "warmup": 12, "chains": 2}
    size |= {"max_depth": 4} if sampler is wg.fit.nuts else {"leaps": 8}

    def quiet(p: Any) -> Any:
        return np.where(p[0] > 0.0, np.log(np.maximum(p[0], 1e-300)) - p[0], -np.inf)

    def loud(p: Any) -> Any:
        positive = np.linalg.cholesky(np.stack([np.stack([p[0]])]))[0, 0] ** 2
        return np.log(positive) - positive

    one, other = (sampler(density, np.array([2.0]), key(5), **size) for density in (quiet, loud))
    np.testing.assert_array_equal(one.divergent, other.divergent)
    np.testing.assert_allclose(one.vectors, other.vectors, rtol=1e-6)
    assert one.divergences > 0


@every_sampler
def test_an_error_at_the_start_is_the_users(sampler: Callable[..., Samples]) -> None:
    with pytest.raises(MatrixError):
        sampler(correlated, np.array([3.0]), key(0), draws=10, warmup=10)
    with pytest.raises(ArgumentError, match="floating-point scalar"):
        sampler(lambda p: p, np.array([3.0, 4.0]), key(0), draws=10, warmup=10)
