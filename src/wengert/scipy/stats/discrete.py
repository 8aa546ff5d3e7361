"""Discrete families: Bernoulli, binomial, geometric, negative binomial and Poisson."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.arithmetic import ceil, floor, maximum, minimum
from wengert.engine.ops.comparison import equal, greater, greater_equal, less, less_equal, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp, expm1, log, log1p
from wengert.engine.ops.special.compositions import log1mexp
from wengert.engine.ops.special.densities import log_binomial_mass, log_poisson_mass
from wengert.engine.ops.special.discrete_quantiles import (
    binomial_quantile,
    binomial_upper_quantile,
    negative_binomial_quantile,
    negative_binomial_upper_quantile,
    poisson_quantile,
    poisson_upper_quantile,
)
from wengert.engine.ops.special.error_and_gamma import lgamma
from wengert.engine.ops.special.gammas import betainc, betaincc, gammainc, gammaincc
from wengert.scipy.stats.base import INFINITY, Discrete, all_of
from wengert.special import entr, xlog1py, xlogy

# Nodes s and weights of the double exponential quadrature on (0, 1); the rest 1 - s is exact near 1.
_T = np.arange(-4.0, 5.6, 0.1)
_TURN = np.pi * np.sinh(_T)
_NODES = 1 / (1 + np.exp(-_TURN))
_LOG_RESTS = -np.logaddexp(0.0, _TURN)
_WEIGHTS = 0.1 * np.pi * np.cosh(_T) * _NODES * np.exp(_LOG_RESTS)


def _mean_log_factorial(mean: Any, absent: Any) -> Any:
    """Return ``E ln K!``, from the mean of K and ``s -> ln E (1-s)^K``.

    With Malmsten's integral for ``ln K!`` it is ``int_0^1 (E K - (1 - E (1-s)^K) / s) / -ln(1-s) ds``.
    """
    mean = np.reshape(mean, (*shape_of(mean), 1))
    terms = (mean + expm1(absent(_NODES)) / _NODES) / -_LOG_RESTS
    return np.sum(terms * _WEIGHTS, axis=-1)


def _column(x: Any) -> Any:
    """Return an array with a last axis for the nodes."""
    return np.reshape(x, (*shape_of(x), 1))


def _is_probability(p: Any) -> Any:
    return all_of(greater_equal(p, 0.0), less_equal(p, 1.0))


bernoulli = Discrete(
    "bernoulli",
    "The Bernoulli distribution: 1 with probability p, and 0 otherwise.",
    shapes=("p",),
    support=(0.0, 1.0),
    valid=_is_probability,
    logpmf=lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p),
    cdf=lambda k, p: 1.0 - p + 0.0 * k,
    sf=lambda k, p: p + 0.0 * k,
    ppf=lambda q, p: where(greater(q, 1.0 - p), 1.0, 0.0),
    mean=lambda p: p,
    var=lambda p: p * (1.0 - p),
    entropy=lambda p: entr(p) + entr(1.0 - p),
)


def _binomial_log_mass(k: Any, n: Any, p: Any) -> Any:
    n = stop_gradient(n)
    return log_binomial_mass(k, n - k, p, 1.0 - p)


def mean_log_factorial(n: Any, p: Any) -> Any:
    """Return ``E ln K!`` for the number K of successes of probability p in n trials."""
    return _mean_log_factorial(n * p, lambda s: _column(n) * log1p(-_column(p) * s))


def _binomial_entropy(n: Any, p: Any) -> Any:
    n = stop_gradient(n)

    parts = mean_log_factorial(n, p) + mean_log_factorial(n, 1.0 - p)
    return n * (entr(p) + entr(1.0 - p)) + parts - lgamma(n + 1.0)


binom = Discrete(
    "binom",
    "The binomial distribution: the number of successes of probability p in n trials; n has no derivative.",
    shapes=("n", "p"),
    support=(0.0, lambda n, p: n),
    valid=lambda n, p: all_of(greater_equal(n, 0.0), equal(n, floor(n)), _is_probability(p)),
    logpmf=_binomial_log_mass,
    cdf=lambda k, n, p: betaincc(k + 1.0, stop_gradient(n) - k, p),
    sf=lambda k, n, p: betainc(k + 1.0, stop_gradient(n) - k, p),
    ppf=binomial_quantile,
    isf=binomial_upper_quantile,
    mean=lambda n, p: stop_gradient(n) * p,
    var=lambda n, p: stop_gradient(n) * p * (1.0 - p),
    entropy=_binomial_entropy,
)

poisson = Discrete(
    "poisson",
    "The Poisson distribution, of probabilities ``mu^k e^-mu / k!``.",
    shapes=("mu",),
    support=(0.0, INFINITY),
    valid=lambda mu: greater_equal(mu, 0.0),
    logpmf=log_poisson_mass,
    cdf=lambda k, mu: gammaincc(k + 1.0, mu),
    sf=lambda k, mu: gammainc(k + 1.0, mu),
    ppf=poisson_quantile,
    isf=poisson_upper_quantile,
    mean=lambda mu: mu,
    var=lambda mu: mu,
    entropy=lambda mu: entr(mu) + mu + _mean_log_factorial(mu, lambda s: -_column(mu) * s),
)


def _geometric_quantile(q: Any, p: Any) -> Any:
    k = maximum(ceil(log1p(-q) / log1p(-p)), 1.0)
    before = -expm1((k - 1.0) * log1p(-p))
    return where(greater_equal(before, q), maximum(k - 1.0, 1.0), k)


def _geometric_upper_quantile(q: Any, p: Any) -> Any:
    tail = minimum(q, 0.5)
    k = maximum(ceil(log(tail) / log1p(-p)), 1.0)
    k = where(less_equal(exp((k - 1.0) * log1p(-p)), tail), maximum(k - 1.0, 1.0), k)
    return where(less(q, 0.5), k, _geometric_quantile(1.0 - maximum(q, 0.5), p))


geom = Discrete(
    "geom",
    "The geometric distribution: the number of trials up to the first success, of probability p.",
    shapes=("p",),
    support=(1.0, INFINITY),
    inside=1.0,
    valid=lambda p: all_of(greater(p, 0.0), less_equal(p, 1.0)),
    logpmf=lambda k, p: xlog1py(k - 1.0, -p) + log(p),
    cdf=lambda k, p: -expm1(k * log1p(-p)),
    sf=lambda k, p: exp(k * log1p(-p)),
    logcdf=lambda k, p: log1mexp(k * log1p(-p)),
    logsf=lambda k, p: k * log1p(-p),
    ppf=_geometric_quantile,
    isf=_geometric_upper_quantile,
    mean=lambda p: 1.0 / p,
    var=lambda p: (1.0 - p) / (p * p),
    entropy=lambda p: (entr(p) + entr(1.0 - p)) / p,
)


def _negative_binomial_entropy(n: Any, p: Any) -> Any:
    """Return the entropy; ``E ln Gamma(n + K) - ln Gamma(n)`` is an integral like that of `_mean_log_factorial`."""
    mean, odds = n * (1.0 - p) / p, (1.0 - p) / p

    def absent(s: Any) -> Any:
        return -_column(n) * log1p(_column(odds) * s)

    weights = exp((_column(n) - 1.0) * _LOG_RESTS)
    terms = (_column(mean) + weights * expm1(absent(_NODES)) / _NODES) / -_LOG_RESTS
    rising = np.sum(terms * _WEIGHTS, axis=-1)
    return _mean_log_factorial(mean, absent) - rising - n * log(p) - xlog1py(mean, -p)


nbinom = Discrete(
    "nbinom",
    "The negative binomial distribution: failures before n successes of probability p; n > 0 may be any number.",
    shapes=("n", "p"),
    support=(0.0, INFINITY),
    valid=lambda n, p: all_of(greater(n, 0.0), greater(p, 0.0), less_equal(p, 1.0)),
    logpmf=lambda k, n, p: log_binomial_mass(n, k, p, 1.0 - p) + log(n / (n + k)),
    cdf=lambda k, n, p: betainc(n, k + 1.0, p),
    sf=lambda k, n, p: betaincc(n, k + 1.0, p),
    ppf=negative_binomial_quantile,
    isf=negative_binomial_upper_quantile,
    mean=lambda n, p: n * (1.0 - p) / p,
    var=lambda n, p: n * (1.0 - p) / (p * p),
    entropy=_negative_binomial_entropy,
)
