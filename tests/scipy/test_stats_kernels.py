"""`gaussian_kde` against SciPy's: values over drawn data, derivatives in points, data, weights and bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.scipy.checks import check, close
from wengert.engine.core.errors import UnsupportedError, WengertError
from wengert.scipy import stats

theirs = pytest.importorskip("scipy.stats")


def _all(m: Any, data: Any, points: Any, weights: Any, width: Any) -> list[Any]:
    """Return what an estimate computes, of one dimension or several."""
    made = [
        m.gaussian_kde(data),
        m.gaussian_kde(data, "silverman", weights),
        m.gaussian_kde(data, width, weights),
    ]
    found: list[Any] = []
    for kde in made:
        found += [kde(points), kde.logpdf(points), kde.pdf(points[:, 0]), kde.covariance]
        found += [kde.integrate_box_1d(-1.0, points[0, 0])] if kde.d == 1 else []
    return found


@pytest.mark.parametrize("seed", range(many(8)))
def test_estimates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = 1 + seed % 3, int(rng.integers(4, 9))
    data, points = rng.normal(size=(rows, columns)), rng.normal(size=(rows, 4))
    arguments = data, points, rng.uniform(0.2, 2.0, columns), np.array(rng.uniform(0.3, 2.0))
    close(_all(stats, *arguments), _all(theirs, *arguments[:3], float(arguments[3])), 1e-10)
    check(lambda *x: _all(stats, *x)[4:], None, *arguments, rtol=1e-10, compiled=not seed, batched=not seed)


def test_second_derivatives() -> None:
    rng = np.random.default_rng(3)
    wg.check_grads(
        lambda d, x: stats.gaussian_kde(d)(x), (rng.normal(size=(2, 5)), rng.normal(size=(2, 2))), order=2
    )


def test_far_and_undefined_points() -> None:
    data = np.array([-1.0, 0.5, 2.0])
    points = np.array([0.3, 80.0, -1e100])
    with np.errstate(all="ignore"):
        expected = theirs.gaussian_kde(data)
        close(stats.gaussian_kde(data).logpdf(points[:2]), expected.logpdf(points[:2]), 1e-12)
        close(stats.gaussian_kde(data)(points), expected(points), 1e-12)
    assert np.all(wg.grad(lambda x: np.sum(stats.gaussian_kde(data)(x)))(points[1:]) == 0.0)
    for module in (stats, theirs):
        with pytest.raises(ValueError, match=r"infs|infinities"):
            module.gaussian_kde(data)([np.inf])
    assert np.isnan(wg.jit(stats.gaussian_kde(data).logpdf)(np.nan)[0])
    assert stats.gaussian_kde(data).integrate_box_1d(-np.inf, np.inf) == pytest.approx(1.0, rel=1e-15)


def test_programs_with_scipys_class_are_followed() -> None:
    data = np.random.default_rng(0).normal(size=9)
    outside = theirs.gaussian_kde(data, 0.4)
    slope: Any = wg.grad(lambda x: outside.logpdf(x)[0])(0.3)
    step = 1e-6
    assert slope == pytest.approx(
        float((outside.logpdf(0.3 + step) - outside.logpdf(0.3 - step))[0]) / (2 * step), rel=1e-6
    )
    chosen: Any = wg.grad(lambda d: theirs.gaussian_kde(d, bw_method=lambda k: 2.0 / k.n)(0.3)[0])(data)
    close(chosen, wg.grad(lambda d: stats.gaussian_kde(d, 2.0 / 9)(0.3)[0])(data), 1e-14)


def test_errors() -> None:
    data = np.arange(6.0).reshape(2, 3) ** 2
    for call, text in (
        (lambda: stats.gaussian_kde(data.T), "no fewer columns than rows"),
        (lambda: stats.gaussian_kde(data, "wide"), "bw_method must be"),
        (lambda: stats.gaussian_kde(data, weights=[1.0]), "a weight for each column"),
        (lambda: stats.gaussian_kde(data[1])(np.ones((2, 2))), "points of 1 dimensions"),
        (lambda: stats.gaussian_kde([1.0, 2.0], weights=[-1.0, 2.0]), "the weights must be 0 or above"),
    ):
        with pytest.raises(WengertError, match=text):
            call()

    def refused(d: Any) -> Any:
        return theirs.gaussian_kde(d).integrate_box([0.0, 0.0], [1.0, 1.0])

    with pytest.raises(UnsupportedError, match=r"gaussian_kde\.integrate_box: this is not followed"):
        wg.grad(refused)(np.random.default_rng(0).normal(size=(2, 5)))
    with pytest.raises(UnsupportedError, match=r"gaussian_kde.resample"):
        wg.grad(lambda d: np.sum(theirs.gaussian_kde(d).resample(3)))(data[1])
