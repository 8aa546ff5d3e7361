"""SciPy's classes of distributions and families of matrices, whose own Python runs on followed values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.core.errors import WengertError

stats: Any = pytest.importorskip("scipy.stats")
if not hasattr(stats, "Binomial"):  # SciPy 1.17 has all of them
    pytest.skip("SciPy has no such classes", allow_module_level=True)

#: Distributions of a parameter between 0 and 1.
DISTRIBUTIONS: dict[str, Callable[[Any], Any]] = {
    "Normal": lambda s: stats.Normal(mu=s, sigma=1.3 + s * s),
    "Uniform": lambda s: stats.Uniform(a=s - 1.0, b=1.3 + s),
    "Logistic": lambda s: stats.Logistic() * (1.0 + s) + s,
    "Mixture": lambda s: stats.Mixture([stats.Normal(mu=s), stats.Normal(mu=1.0)], weights=[s, 1.0 - s]),
    "abs": lambda s: stats.abs(stats.Normal(mu=s, sigma=1.5)),
    "exp": lambda s: stats.exp(stats.Normal(mu=s, sigma=0.5)),
    "log": lambda s: stats.log(stats.Uniform(a=0.1 * s, b=2.5)),
    "order_statistic": lambda s: stats.order_statistic(stats.Normal(mu=s), r=2, n=3),
    "truncate": lambda s: stats.truncate(stats.Normal(mu=s), lb=-0.5),
}
POINTS = ["pdf", "logpdf", "cdf", "ccdf", "logcdf", "logccdf", "icdf", "iccdf"]
MOMENTS = ["mean", "variance", "standard_deviation", "median", "mode", "skewness", "kurtosis", "entropy"]


def _methods(x: float) -> dict[str, Callable[[Any], Any]]:
    found = {name: lambda d, name=name: getattr(d, name)(x) for name in POINTS}
    return found | {name: lambda d, name=name: getattr(d, name)() for name in MOMENTS}


def _slope(function: Callable[[float], Any], s: float, step: float = 1e-5) -> float:
    return float(function(s + step) - function(s - step)) / (2 * step)


@pytest.mark.parametrize("seed", range(many(2)))
@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_method_is_right_or_refused(name: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(name)])
    s, x = rng.uniform(0.2, 0.8), rng.uniform(0.5, 0.9)
    right: set[str] = set()
    for method, call in _methods(x).items():
        function = lambda s, call=call: call(DISTRIBUTIONS[name](s))  # noqa: E731
        expected = _slope(function, s)
        try:
            value, slope = wg.value_and_grad(function)(s)
        except WengertError:
            continue
        assert value == pytest.approx(function(s), rel=1e-10), method
        assert slope == pytest.approx(expected, rel=1e-5, abs=1e-8), method
        right.add(method)
    assert {"pdf", "logpdf"} <= right


def _in_all_modes(function: Callable[[Any], Any], s: float, order: int = 2) -> None:
    slope = wg.grad(function)
    wg.check_grads(function, (s,), order=order, rtol=1e-5)
    assert wg.jit(slope)(s) == pytest.approx(slope(s), rel=1e-11)
    np.testing.assert_allclose(wg.vmap(slope)(np.array([s, s])), [slope(s)] * 2, rtol=1e-11)


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS.keys() - {"truncate"}))
def test_densities_in_all_modes(name: str) -> None:
    s, x = np.random.default_rng(len(name)).uniform((0.2, 0.5), (0.8, 0.9))
    _in_all_modes(lambda s: DISTRIBUTIONS[name](s).logpdf(x), s)


def test_binomial_probabilities() -> None:
    _in_all_modes(lambda s: stats.Binomial(n=5, p=s).logpmf(2), 0.37)


_A = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.2]])
_B = np.arange(9.0).reshape(3, 3) / 7.0
#: Densities of vectors and matrices.
OF_MATRICES: dict[str, Callable[[Any], Any]] = {
    "matrix_normal": lambda s: stats.matrix_normal.logpdf(_B, s * _A, (1.0 + s) * _A, np.eye(3) + s * _A),
    "matrix_t": lambda s: stats.matrix_t.logpdf(_B, s * _A, (1.0 + s) * _A, np.eye(3) + s * _A, 2.0 + s),
    "normal_inverse_gamma": lambda s: stats.normal_inverse_gamma.logpdf(
        0.3, 0.5 + s, s, 1.0 + s, 2.0, 1.5 * s
    ),
    "dirichlet_multinomial": lambda s: stats.dirichlet_multinomial.logpmf(
        [1, 2, 0], np.array([0.5, s, 2 * s]), 3
    ),
    "vonmises_fisher": lambda s: stats.vonmises_fisher.logpdf([0.6, 0.8], [1.0, 0.0], 1.0 + s),
    "Covariance": lambda s: stats.Covariance.from_diagonal([s, 1.0 + s]).whiten([0.3, 0.4])[0],
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_densities_of_vectors_and_matrices(name: str) -> None:
    _in_all_modes(OF_MATRICES[name], 0.43)
    function = OF_MATRICES[name]
    assert wg.value_and_grad(function)(0.43)[0] == pytest.approx(function(0.43), rel=1e-12)
