"""Histograms: counts and edges against NumPy's, and the derivatives of edges, weights and densities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.boxes import CONSTANT, concrete
from wengert.engine.core.errors import ConcreteError
from wengert.testing import check_grads

RNG = np.random.default_rng(4)
X = RNG.normal(size=30)
WEIGHTS = RNG.uniform(0.5, 2.0, 30)
DATA = {
    "normal": X,
    "on the edges": np.arange(50.0) / 7,
    "integers": RNG.integers(-3, 9, 40),
    "truths": RNG.integers(0, 2, 9).astype(bool),
    "float32": RNG.normal(size=(4, 5)).astype(np.float32),
    "one number": np.full(4, 1.5),
    "none": np.zeros(0),
}
BINS: dict[str, dict[str, Any]] = {
    "ten": {},
    "seven": {"bins": 7},
    "range": {"bins": 4, "range": (-1, 2)},
    "edges": {"bins": [-1.0, 0.0, 0.5, 2.0]},
    "equal edges": {"bins": [0, 1, 1, 1.5]},
    "one edge": {"bins": [1.0]},
    "density": {"bins": 3, "density": True},
    "density between edges": {"bins": [-4, 0, 1, 60], "density": True},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("data", DATA)
def test_histograms_are_numpys(agrees: Any, data: str, bins: str) -> None:
    options, x = BINS[bins], DATA[data]
    weights = np.arange(x.size).reshape(x.shape)
    agrees(
        lambda x, w, v: (
            np.histogram(x, **options),
            np.histogram(x, weights=w, **options),
            np.histogram(x, weights=v, **options),
            np.histogram_bin_edges(x, options.get("bins", 10), options.get("range")),
        ),
        x,
        weights,
        weights.astype(np.float32),
        rtol=1e-12 if x.dtype != np.float32 else 1e-6,
    )


@pytest.mark.filterwarnings("ignore:Converting input from bool")
@pytest.mark.parametrize("estimator", ["auto", "sturges", "scott"])
@pytest.mark.parametrize("data", DATA)
def test_the_number_of_bins_is_that_of_numpys_estimators(data: str, estimator: str) -> None:
    actual = np.histogram(CONSTANT.constant(DATA[data]), estimator)
    for value, other in zip(actual, np.histogram(DATA[data], estimator), strict=True):
        np.testing.assert_array_equal(concrete(value), other)


WRONG: list[dict[str, Any]] = [
    {"bins": 0},
    {"bins": 2.5},
    {"bins": "best"},
    {"bins": [2.0, 1.0]},
    {"bins": [[1.0, 2.0]]},
    {"bins": "auto", "weights": WEIGHTS},
    {"weights": WEIGHTS[:3]},
    {"bins": 3, "range": (2, 1)},
    {"bins": 3, "range": (1, np.inf)},
]


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_what_is_no_histogram_raises_as_in_numpy(options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)) as numpys:
        np.histogram(X, **options)
    with pytest.raises(numpys.type, match=r"^histogram: .*\[test_histograms\.py:"):
        wg.vjp(lambda x: np.histogram(x, **options)[1], X)


def test_densities_have_derivatives_through_edges_and_weights() -> None:
    for f, *arguments in (
        (lambda x: np.histogram_bin_edges(x, 5), X),
        (lambda x: np.histogram_bin_edges(x, "fd"), X),
        (lambda x: np.histogram_bin_edges(x, 3, range=(np.mean(x), x[0] + 3)), X),
        (lambda x: np.histogram(x, 5, density=True), X),
        (lambda x, w: np.histogram(x, 5, density=True, weights=w), X, WEIGHTS),
        (lambda x, edges: np.histogram(x, edges, density=True), X, np.array([-2.0, -0.4, 0.3, 1.7])),
        (lambda w: np.histogram(X, weights=w, range=(-1, 1)), WEIGHTS),
    ):
        check_grads(f, arguments)


def test_a_density_goes_with_the_extremes_of_the_data() -> None:
    x = np.array([0.0, 0.4, 3.0, 4.0])
    f = lambda x: np.histogram(x, 2, density=True)[0][0]  # noqa: E731
    for gradient in (wg.grad(f), wg.jacfwd(f), wg.jit(wg.grad(f))):
        np.testing.assert_allclose(gradient(x), [0.0625, 0.0, 0.0, -0.0625], atol=1e-12)


def test_histograms_of_many_examples() -> None:
    rows = RNG.normal(size=(3, 20))
    counts, edges = wg.vmap(lambda x: np.histogram(x, 4))(rows)
    for number, row in enumerate(rows):
        expected = np.histogram(row, 4)
        np.testing.assert_array_equal(counts[number], expected[0])
        np.testing.assert_allclose(edges[number], expected[1])
    with pytest.raises(ConcreteError, match="histogram"):
        wg.vmap(lambda x: np.histogram(x, "auto"))(rows)
    with pytest.raises(ConcreteError, match="static_argnums"):
        wg.jit(np.histogram)(X, 4)


# -- of several numbers ----------------------------------------------------------------------------------

POINTS = RNG.normal(size=(40, 2))
CELLS: dict[str, dict[str, Any]] = {
    "ten": {},
    "one number": {"bins": 3},
    "two numbers": {"bins": (2, 4)},
    "edges": {"bins": [np.array([-1.0, 0.0, 1.0]), [-2, 0, 0.5, 3]]},
    "a number and edges": {"bins": [3, np.array([-1.0, 0.0, 1.0])]},
    "range": {"bins": 3, "range": [(-1, 1), (-2, 2)]},
    "range of one": {"bins": 3, "range": [None, (-2.0, 2.0)]},
    "density": {"bins": (2, 3), "density": True},
}


@pytest.mark.parametrize("name", CELLS)
def test_histograms_of_points_are_numpys(agrees: Any, name: str) -> None:
    options, weights = CELLS[name], RNG.uniform(0.5, 2.0, 40)
    agrees(lambda p: np.histogramdd(p, **options), POINTS)
    agrees(lambda p: np.histogram2d(p[:, 0], p[:, 1], **options), POINTS)
    agrees(lambda p, w: np.histogramdd([p[:, 0], p[:, 1]], weights=w, **options), POINTS, weights)
    agrees(lambda p: np.histogramdd(p, **options), np.round(POINTS))


def test_other_samples_of_points(agrees: Any) -> None:
    agrees(lambda x: np.histogramdd(x, 3), X)
    agrees(lambda x: np.histogramdd(x.reshape(10, 3), (2, 3, 2)), X)
    agrees(lambda x, y: np.histogram2d(x, y, np.linspace(-3, 3, 5)), X, X[::-1].copy())
    agrees(lambda x, y: np.histogram2d(x, y[:3]), X, X)
    agrees(lambda x: np.histogramdd(x.reshape(10, 3), (2, 3)), X)
    agrees(lambda x: np.histogramdd(x.reshape(10, 3), range=[(0, 1)]), X)


def test_histograms_of_points_have_derivatives() -> None:
    weights = RNG.uniform(0.5, 2.0, 40)
    check_grads(lambda w: np.histogramdd(POINTS, 3, weights=w)[0], (weights,))
    check_grads(lambda p, w: np.histogramdd(p, (2, 3), density=True, weights=w), (POINTS, weights), order=1)
    check_grads(lambda p: np.histogram2d(p[:, 0], p[:, 1], (2, 3), density=True), (POINTS,), order=1)
    batch = np.stack([weights, 2 * weights])
    actual = wg.vmap(lambda w: np.histogramdd(POINTS, 3, weights=w)[0])(batch)
    np.testing.assert_allclose(actual[1], np.histogramdd(POINTS, 3, weights=batch[1])[0])
