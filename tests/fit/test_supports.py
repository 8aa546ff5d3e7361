"""Restricted parameters: where they lie, and their Jacobian determinants against derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from wengert.engine.core.errors import ArgumentError, ScalarError, ShapeError
from wengert.random import key

Support = Callable[[Any], tuple[Any, Any]]
SUPPORTS: dict[str, Support] = {
    "positive": wg.fit.positive,
    "bounded": lambda z: wg.fit.bounded(z, -1.0, 3.0),
    "ordered": wg.fit.ordered,
    "simplex": wg.fit.simplex,
}
every_support = pytest.mark.parametrize("name", SUPPORTS)


@every_support
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 6), scale=st.sampled_from([0.1, 1.0, 4.0]))
@settings(max_examples=15, deadline=None)
def test_the_jacobian_determinant_is_that_of_the_derivatives(
    name: str, seed: int, size: int, scale: float
) -> None:
    support, z = SUPPORTS[name], scale * np.random.default_rng(seed).normal(size=size)
    x, log_jacobian = support(z)
    slopes = wg.jacobian(lambda z: support(z)[0][:size])(z)  # of a simplex, all elements but the last
    assert np.isclose(log_jacobian, np.linalg.slogdet(slopes)[1], rtol=1e-7, atol=1e-7)
    match name:
        case "positive":
            assert np.all(x > 0.0)
        case "bounded":
            assert np.all((x > -1.0) & (x < 3.0))
        case "ordered":
            assert np.all(np.diff(x) > 0.0)
        case _:
            assert len(x) == size + 1
            assert np.all(x > 0.0)
            assert np.isclose(np.sum(x), 1.0)


@every_support
@pytest.mark.parametrize("shape", [(2, 3), (2, 1, 3)])
def test_leading_axes_are_many_parameters(name: str, shape: tuple[int, ...]) -> None:
    z = np.random.default_rng(0).normal(size=shape)
    x, log_jacobian = SUPPORTS[name](z)
    rows = [SUPPORTS[name](row) for row in z.reshape(-1, 3)]
    np.testing.assert_allclose(x.reshape(len(rows), -1), [row for row, _ in rows], rtol=1e-13)
    assert np.isclose(log_jacobian, sum(part for _, part in rows))


@every_support
def test_far_numbers_have_finite_determinants(name: str) -> None:
    x, log_jacobian = SUPPORTS[name](np.array([-600.0, 500.0, -400.0]))
    assert np.all(np.isfinite(x))
    assert np.isfinite(log_jacobian)


def test_a_dirichlet_density_is_drawn_by_a_simplex() -> None:
    weights = np.array([1.0, 2.0, 5.0])

    def dirichlet(p: Any) -> Any:
        x, log_jacobian = wg.fit.simplex(p["z"])
        return np.sum((weights - 1.0) * np.log(x)) + log_jacobian

    samples = wg.fit.hmc(dirichlet, {"z": np.zeros(2)}, key(0)).map(lambda p: wg.fit.simplex(p["z"])[0])
    assert samples.draws.shape == (4, 1000, 3)
    np.testing.assert_allclose(samples.draws.mean(axis=(0, 1)), weights / 8, atol=0.02)
    np.testing.assert_allclose(samples.draws.var(axis=(0, 1)), weights * (8 - weights) / (64 * 9), rtol=0.15)


def test_estimates_on_a_simplex_have_standard_errors() -> None:
    counts = np.array([12.0, 30.0, 58.0])
    fit = wg.fit.mle(lambda z, y: y * np.log(wg.fit.simplex(z)[0]), counts, np.zeros(2), observations=100)
    values, errors = fit.delta(lambda z: wg.fit.simplex(z)[0])
    shares = counts / 100
    np.testing.assert_allclose(values, shares, rtol=1e-7)
    np.testing.assert_allclose(errors, np.sqrt(shares * (1 - shares) / 100), rtol=1e-6)


@given(
    seed=st.integers(0, 2**32 - 1),
    kinds=st.lists(st.sampled_from(["both", "low", "high", "none"]), min_size=1),
)
@settings(max_examples=25, deadline=None)
def test_an_infinite_bound_is_no_bound(seed: int, kinds: list[str]) -> None:
    z = np.random.default_rng(seed).normal(size=len(kinds))
    lower = np.where(np.isin(kinds, ["both", "low"]), -1.0, -np.inf)
    upper = np.where(np.isin(kinds, ["both", "high"]), 3.0, np.inf)
    x, log_jacobian = wg.fit.bounded(z, lower, upper)
    assert np.all((lower < x) & (x < upper))
    slopes = wg.jacobian(lambda z: wg.fit.bounded(z, lower, upper)[0])(z)
    assert np.isclose(log_jacobian, np.linalg.slogdet(slopes)[1])
    parts = [wg.fit.bounded(*map(float, part)) for part in zip(z, lower, upper, strict=True)]
    np.testing.assert_allclose(x, [part for part, _ in parts])
    assert np.isclose(log_jacobian, sum(part for _, part in parts))


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1.0, 0.0), (0.0, 0.0), (np.nan, 1.0), (0.0, np.nan), (np.inf, np.inf), ([0.0, 2.0], [1.0, 1.5])],
)
def test_bounds_that_bound_nothing_are_an_error(lower: Any, upper: Any) -> None:
    for transform in (lambda f: f, wg.jacobian, wg.jit):
        with pytest.raises(ArgumentError, match=r"bounded: a lower bound must be less.*\[test_supports"):
            transform(lambda z: wg.fit.bounded(z, lower, upper)[0])(np.zeros(2))


def test_bounds_have_the_shape_of_the_numbers() -> None:
    with pytest.raises(ShapeError, match="bounded: the bounds must broadcast"):
        wg.fit.bounded(0.0, np.zeros(2), 1.0)


@pytest.mark.parametrize("support", [wg.fit.ordered, wg.fit.simplex])
def test_an_order_and_a_simplex_take_lists_and_refuse_numbers(support: Support) -> None:
    np.testing.assert_array_equal(support([0.5, 1.0])[0], support(np.array([0.5, 1.0]))[0])
    slope = wg.derivative(lambda x: support([x, 2.0 * x])[0])(0.5)
    np.testing.assert_allclose(slope, wg.derivative(lambda x: support(x * np.array([1.0, 2.0]))[0])(0.5))
    for number in (1.0, np.array(1.0)):
        with pytest.raises(ScalarError, match="at least one axis"):
            support(number)


@every_support
def test_single_precision_stays(name: str) -> None:
    assert SUPPORTS[name](np.ones(3, np.float32))[0].dtype == np.float32
    assert wg.fit.bounded(np.ones(3, np.float32), 0.0, np.inf)[0].dtype == np.float32
