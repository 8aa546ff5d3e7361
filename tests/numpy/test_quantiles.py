"""Quantiles: all of NumPy's methods, and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(11)
A = RNG.normal(size=(5, 4))
GAPS = np.where(RNG.uniform(size=(5, 4)) < 0.25, np.nan, A)
WEIGHTS = RNG.uniform(0.2, 2.0, (5, 4))
METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"]
if np.lib.NumpyVersion(np.__version__) < "2.2.0":
    METHODS.remove("closest_observation")  # earlier versions choose another of two elements that are as near
METHODS += ["hazen", "weibull", "median_unbiased", "normal_unbiased"]
AT = [0.0, 0.1, 0.2, 0.25, 0.3, 0.37, 0.5, 0.6, 0.75, 0.8, 0.99, 1.0]


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_numpys(agrees: Any, method: str) -> None:
    for q in AT:
        agrees(lambda a, q=q: np.quantile(a, q, axis=0, method=method), A, compiled=q == 0.37)
        agrees(lambda a, q=q: np.nanquantile(a, q, axis=1, method=method), GAPS, compiled=False)
    agrees(lambda a: np.nanquantile(a, AT, axis=1, method=method), GAPS)
    agrees(lambda a: np.quantile(a, AT, axis=(0, 1), method=method, keepdims=True), A)
    agrees(lambda a: np.percentile(a, [30, 60], axis=1, method=method), np.round(10 * A).astype(int))
    agrees(lambda a: np.percentile(a, 30, method=method), A.astype(np.float32), rtol=1e-6)
    agrees(lambda a: np.nanpercentile(a, [30, 50], axis=0, method=method, keepdims=True), GAPS)


@pytest.mark.parametrize("method", METHODS)
def test_methods_have_derivatives(check: Any, method: str) -> None:
    check(lambda a: np.quantile(a, [0.3, 0.55], axis=0, method=method), A, order=1)
    if "cdf" not in method.removeprefix("interpolated_inverted_") or method.startswith("interp"):
        check(lambda a, q: np.quantile(a, q, axis=0, method=method), A, np.array([0.33, 0.57]), order=1)


@pytest.mark.parametrize(
    "weights", [WEIGHTS, np.round(WEIGHTS), 1.0 * (WEIGHTS > 0.5)], ids=["any", "whole", "zero"]
)
def test_weights_are_numpys(agrees: Any, weights: Any) -> None:
    options = {"method": "inverted_cdf", "weights": weights}
    for q in AT:
        agrees(lambda a, q=q: np.quantile(a, q, axis=0, **options), A, compiled=q == 0.37)
        agrees(lambda a, q=q: np.quantile(a, q, **options), A, compiled=False)
        agrees(lambda a, q=q: np.nanquantile(a, q, axis=0, **options), GAPS, compiled=False)
    agrees(lambda a: np.quantile(a, AT, **options), A)
    agrees(lambda a: np.nanquantile(a, AT, axis=0, **options), GAPS)
    agrees(
        lambda a: np.percentile(a, [20, 40], axis=0, method="inverted_cdf", weights=weights[:, 0] + 0.1), A
    )


def test_weights_that_do_not_fit(agrees: Any) -> None:
    agrees(lambda a: np.quantile(a, 0.3, weights=WEIGHTS), A)
    agrees(lambda a: np.quantile(a, 0.3, axis=0, weights=WEIGHTS[0], method="inverted_cdf"), A)
    agrees(lambda a: np.quantile(a, 0.3, method="best"), A)


def test_weights_select_an_element() -> None:
    slope = wg.grad(lambda a: np.quantile(a, 0.5, method="inverted_cdf", weights=np.array([1.0, 5.0, 1.0])))
    np.testing.assert_array_equal(slope(np.array([3.0, 1.0, 2.0])), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(wg.jit(slope)(np.array([3.0, 1.0, 2.0])), [0.0, 1.0, 0.0])


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="the rule of NumPy 2.4")
def test_whole_probabilities_keep_the_dtype() -> None:
    a = A.astype(np.float32)
    for method in (
        "linear",
        "hazen",
        "weibull",
        "median_unbiased",
        "normal_unbiased",
        "interpolated_inverted_cdf",
    ):
        for q in (0, 1, np.int64(1), [0, 1]):
            expected = np.quantile(a, q, axis=0, method=method)
            for actual in (
                wg.jit(lambda a, q=q, m=method: np.quantile(a, q, axis=0, method=m))(a),
                wg.vjp(lambda a, q=q, m=method: np.quantile(a, q, axis=0, method=m), a)[0],
            ):
                assert actual.dtype == expected.dtype
                np.testing.assert_allclose(actual, expected, rtol=1e-6)
