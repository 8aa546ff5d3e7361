"""The order of parameters in results: that of the start as the user wrote it, dicts in their own order."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

START = {"w": np.zeros(2), "b": {"z": 0.0, "a": 0.0}}
NAMES = ["w[0]", "w[1]", "b.z", "b.a"]
MEANS = np.array([1.0, 2.0, 3.0, 4.0])
FACTOR = np.tril(np.arange(1.0, 17.0).reshape(4, 4) / 8 + np.eye(4))
COVARIANCE = FACTOR @ FACTOR.T


def written(parameters: Any) -> list[Any]:
    return [*parameters["w"], parameters["b"]["z"], parameters["b"]["a"]]


def normal(parameters: Any) -> Any:
    moved = np.stack(written(parameters)) - MEANS
    return -0.5 * moved @ np.linalg.inv(COVARIANCE) @ moved


def rows(text: str, column: int) -> Any:
    lines = [line.split() for line in text.splitlines() if line.startswith(("w", "b."))]
    assert [line[0] for line in lines] == NAMES
    return np.array([float(line[column]) for line in lines])


def test_a_fit_has_the_order_of_the_start() -> None:
    fit = wg.fit.mle(lambda p, y: normal(p) + 0.0 * y, np.zeros(1), START)
    deviations = np.sqrt(np.diag(COVARIANCE))
    assert fit.names == NAMES
    np.testing.assert_allclose(fit.covariance, COVARIANCE)
    np.testing.assert_allclose(fit.correlation, COVARIANCE / np.outer(deviations, deviations))
    np.testing.assert_allclose(written(fit.estimates), MEANS)
    np.testing.assert_allclose(written(fit.standard_errors), deviations)
    np.testing.assert_allclose(rows(str(fit), 1), MEANS, rtol=1e-3)
    np.testing.assert_allclose(rows(str(fit), 2), deviations, rtol=1e-3)
    values, errors = fit.delta(lambda p: p["w"][1] - p["b"]["a"])
    slope = np.array([0.0, 1.0, 0.0, -1.0])
    np.testing.assert_allclose(values, -2.0)
    np.testing.assert_allclose(errors, np.sqrt(slope @ COVARIANCE @ slope))


def test_a_laplace_approximation_has_the_order_of_the_start() -> None:
    fit = wg.fit.laplace(normal, START)
    assert fit.names == NAMES
    np.testing.assert_allclose(fit.covariance, COVARIANCE)
    np.testing.assert_allclose(written(fit.standard_deviations), np.sqrt(np.diag(COVARIANCE)))
    np.testing.assert_allclose(rows(str(fit), 1), MEANS, rtol=1e-3)
    drawn = fit.draw(wg.random.key(0), 4000)
    draws = np.stack(written({"w": drawn["w"].T, "b": drawn["b"]}))
    np.testing.assert_allclose(np.cov(draws), COVARIANCE, rtol=0.2, atol=0.2)


def test_samples_have_the_order_of_the_start() -> None:
    key = wg.random.key(1)
    samples = wg.fit.nuts(normal, START, key, draws=300, warmup=300, dense=True)
    assert samples.names == NAMES
    draws = samples.draws
    columns = [*np.moveaxis(draws["w"], -1, 0), draws["b"]["z"], draws["b"]["a"]]
    np.testing.assert_array_equal(samples.vectors, np.stack(columns, axis=-1))
    np.testing.assert_allclose(rows(str(samples), 1), samples.vectors.mean(axis=(0, 1)), rtol=1e-3)
    np.testing.assert_allclose(rows(str(samples), 9), written(samples.rhat), atol=1e-3)
    np.testing.assert_allclose(np.mean(samples.inverse_mass, axis=0), COVARIANCE, rtol=0.6, atol=1.0)
    swapped = samples.map(lambda p: {"z": p["b"]["a"], "a": p["w"][0]})
    assert swapped.names == ["z", "a"]
    np.testing.assert_array_equal(swapped.vectors, samples.vectors[:, :, [3, 0]])
