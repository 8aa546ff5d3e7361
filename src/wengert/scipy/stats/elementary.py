"""Continuous families whose functions are elementary: normal, Cauchy, logistic, exponential, Gumbel and others."""

from __future__ import annotations

import math
from typing import Any

from wengert.engine.ops.arithmetic import absolute
from wengert.engine.ops.comparison import greater, less, where
from wengert.engine.ops.exponential import exp, expit, expm1, log, log1p, logaddexp, power, sqrt
from wengert.engine.ops.special.compositions import log1mexp
from wengert.engine.ops.special.densities import gumbel_log_density, logistic_log_density
from wengert.engine.ops.special.error_and_gamma import erf, erfc, erfinv, lgamma
from wengert.engine.ops.special.scipy_functions import log_ndtr, ndtr, ndtri
from wengert.engine.ops.trigonometric import arctan2, tan
from wengert.random import exponential, normal
from wengert.random import uniform as draw_uniform
from wengert.scipy.stats.base import INFINITY, Continuous, from_end, log_of_tail
from wengert.special import xlogy

LOG_TWO_PI = math.log(2 * math.pi)
_EULER = 0.5772156649015329

norm = Continuous(
    "norm",
    "The normal distribution, of density ``exp(-z^2 / 2) / sqrt(2 pi)``.",
    is_symmetric=True,
    logpdf=lambda z: -0.5 * (z * z) - 0.5 * LOG_TWO_PI,
    cdf=ndtr,
    logcdf=log_ndtr,
    ppf=ndtri,
    mean=0.0,
    var=1.0,
    entropy=0.5 * (LOG_TWO_PI + 1),
    draw=normal,
)


def _cauchy_quantile(q: Any) -> Any:
    is_left = less(q, 0.5)
    cotangent = 1.0 / tan(math.pi * where(is_left, q, 1.0 - q))
    return where(is_left, -cotangent, cotangent)


def _log_cauchy(z: Any) -> Any:
    is_far = greater(absolute(z), 1e100)  # the square may be infinite
    near = where(is_far, 0.0, z)
    return -math.log(math.pi) - where(is_far, 2.0 * log(where(is_far, absolute(z), 1.0)), log1p(near * near))


cauchy = Continuous(
    "cauchy",
    "The Cauchy distribution, of density ``1 / (pi (1 + z^2))``.",
    is_symmetric=True,
    logpdf=_log_cauchy,
    cdf=lambda z: arctan2(1.0, -z) / math.pi,
    ppf=_cauchy_quantile,
    mean=math.nan,
    var=math.nan,
    entropy=math.log(4 * math.pi),
)


def _laplace_cdf(z: Any) -> Any:
    tail = 0.5 * exp(-absolute(z))
    return where(greater(z, 0.0), 1.0 - tail, tail)


def _laplace_log_cdf(z: Any) -> Any:
    is_right = greater(z, 0.0)
    return where(is_right, log1p(-0.5 * exp(-where(is_right, z, 0.0))), where(is_right, 0.0, z) - math.log(2))


def _laplace_quantile(q: Any) -> Any:
    is_left = less(q, 0.5)
    tail = log(2.0 * where(is_left, q, 1.0 - q))
    return where(is_left, tail, -tail)


laplace = Continuous(
    "laplace",
    "The Laplace distribution, of density ``exp(-|z|) / 2``; the derivative at 0 is 0.",
    is_symmetric=True,
    logpdf=lambda z: -absolute(z) - math.log(2),
    cdf=_laplace_cdf,
    logcdf=_laplace_log_cdf,
    ppf=_laplace_quantile,
    mean=0.0,
    var=2.0,
    entropy=math.log(2) + 1,
)


logistic = Continuous(
    "logistic",
    "The logistic distribution, of density ``e^-z / (1 + e^-z)^2``.",
    is_symmetric=True,
    logpdf=logistic_log_density,
    cdf=expit,
    logcdf=lambda z: -logaddexp(-z, 0.0),
    ppf=lambda q: log(q) - log1p(-q),
    mean=0.0,
    var=math.pi**2 / 3,
    entropy=2.0,
)

gumbel_r = Continuous(
    "gumbel_r",
    "The right-skewed Gumbel distribution, of the largest of many values: of density ``exp(-z - e^-z)``.",
    logpdf=gumbel_log_density,
    cdf=lambda z: exp(-exp(-z)),
    sf=lambda z: -expm1(-exp(-z)),
    logcdf=lambda z: -exp(-z),
    logsf=lambda z: log_of_tail(-z),
    ppf=lambda q: -log(-log(q)),
    isf=lambda q: -log(-log1p(-q)),
    mean=_EULER,
    var=math.pi**2 / 6,
    entropy=_EULER + 1,
    draw=lambda key, shape: -log(exponential(key, shape)),
)

gumbel_l = Continuous(
    "gumbel_l",
    "The left-skewed Gumbel distribution, of the smallest of many values: of density ``exp(z - e^z)``.",
    logpdf=lambda z: gumbel_log_density(-z),
    cdf=lambda z: -expm1(-exp(z)),
    sf=lambda z: exp(-exp(z)),
    logcdf=log_of_tail,
    logsf=lambda z: -exp(z),
    ppf=lambda q: log(-log1p(-q)),
    isf=lambda q: log(-log(q)),
    mean=-_EULER,
    var=math.pi**2 / 6,
    entropy=_EULER + 1,
    draw=lambda key, shape: log(exponential(key, shape)),
)

# -- families on an interval, or on a half-line ----------------------------------------------------------

uniform = Continuous(
    "uniform",
    "The uniform distribution on [0, 1], with location and scale on [loc, loc + scale].",
    support=(0.0, 1.0),
    inside=0.5,
    logpdf=lambda z: 0.0 * z,
    cdf=lambda z: z,
    sf=lambda z: 1.0 - z,
    ppf=lambda q: q,
    mean=0.5,
    var=1 / 12,
    entropy=0.0,
    draw=draw_uniform,
)

expon = Continuous(
    "expon",
    "The exponential distribution, of density ``e^-z`` on z >= 0.",
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=lambda z: -z,
    cdf=lambda z: -expm1(-z),
    sf=lambda z: exp(-z),
    logcdf=lambda z: log1mexp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -log1p(-q),
    isf=lambda q: -log(q),
    mean=1.0,
    var=1.0,
    entropy=1.0,
    draw=exponential,
)


def _half_normal_log_sf(z: Any) -> Any:
    is_small = less(z, 1.0)
    near = log1p(-erf(where(is_small, z, 0.0) / math.sqrt(2)))
    return where(is_small, near, math.log(2) + log_ndtr(-where(is_small, 1.0, z)))


halfnorm = Continuous(
    "halfnorm",
    "The half-normal distribution, of ``|Z|`` for a normal Z.",
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=lambda z: 0.5 * math.log(2 / math.pi) - 0.5 * (z * z),
    cdf=lambda z: erf(z / math.sqrt(2)),
    sf=lambda z: erfc(z / math.sqrt(2)),
    logsf=_half_normal_log_sf,
    ppf=lambda q: math.sqrt(2) * erfinv(q),
    isf=lambda q: -ndtri(0.5 * q),
    mean=math.sqrt(2 / math.pi),
    var=1 - 2 / math.pi,
    entropy=0.5 * math.log(math.pi / 2) + 0.5,
    draw=lambda key, shape: absolute(normal(key, shape)),
)

rayleigh = Continuous(
    "rayleigh",
    "The Rayleigh distribution, of the norm of two normal variables, of density ``z exp(-z^2 / 2)`` on z >= 0.",
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=lambda z: from_end(z, 1.0, lambda z: log(z) - 0.5 * (z * z)),
    cdf=lambda z: -expm1(-0.5 * (z * z)),
    sf=lambda z: exp(-0.5 * (z * z)),
    logcdf=lambda z: log_of_tail(2.0 * log(z) - math.log(2)),
    logsf=lambda z: -0.5 * (z * z),
    ppf=lambda q: sqrt(-2.0 * log1p(-q)),
    isf=lambda q: sqrt(-2.0 * log(q)),
    mean=math.sqrt(math.pi / 2),
    var=2 - math.pi / 2,
    entropy=_EULER / 2 + 1 - 0.5 * math.log(2),
    draw=lambda key, shape: sqrt(2.0 * exponential(key, shape)),
)


def _lognorm_density(z: Any, s: Any) -> Any:
    y = log(z)
    return -0.5 * (y / s) ** 2 - log(s) - y - 0.5 * LOG_TWO_PI


lognorm = Continuous(
    "lognorm",
    "The log-normal distribution, of ``exp(s Z)`` for a normal Z, with s > 0.",
    shapes=("s",),
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=lambda z, s: from_end(z, 1.0, lambda z: _lognorm_density(z, s)),
    cdf=lambda z, s: ndtr(log(z) / s),
    sf=lambda z, s: ndtr(-log(z) / s),
    logcdf=lambda z, s: log_ndtr(log(z) / s),
    logsf=lambda z, s: log_ndtr(-log(z) / s),
    ppf=lambda q, s: exp(s * ndtri(q)),
    isf=lambda q, s: exp(-s * ndtri(q)),
    mean=lambda s: exp(0.5 * (s * s)),
    var=lambda s: expm1(s * s) * exp(s * s),
    entropy=lambda s: 0.5 * (LOG_TWO_PI + 1) + log(s),
    draw=lambda key, shape, s: exp(s * normal(key, shape)),
)


def _weibull_variance(c: Any) -> Any:
    mean = exp(lgamma(1.0 + 1.0 / c))
    return exp(lgamma(1.0 + 2.0 / c)) - mean * mean


weibull_min = Continuous(
    "weibull_min",
    "The Weibull distribution, of density ``c z^(c-1) exp(-z^c)`` on z >= 0, with c > 0.",
    shapes=("c",),
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=lambda z, c: from_end(z, c - 1.0, lambda z: log(c) + xlogy(c - 1.0, z) - power(z, c)),
    cdf=lambda z, c: -expm1(-power(z, c)),
    sf=lambda z, c: exp(-power(z, c)),
    logcdf=lambda z, c: log_of_tail(c * log(z)),
    logsf=lambda z, c: -power(z, c),
    ppf=lambda q, c: power(-log1p(-q), 1.0 / c),
    isf=lambda q, c: power(-log(q), 1.0 / c),
    mean=lambda c: exp(lgamma(1.0 + 1.0 / c)),
    var=_weibull_variance,
    entropy=lambda c: _EULER * (1.0 - 1.0 / c) - log(c) + 1.0,
    draw=lambda key, shape, c: power(exponential(key, shape), 1.0 / c),
)


def _pareto_mean(b: Any) -> Any:
    b = where(greater(b, 1.0), b, 1.0)
    return b / (b - 1.0)


def _pareto_variance(b: Any) -> Any:
    b = where(greater(b, 2.0), b, 2.0)
    return b / ((b - 2.0) * (b - 1.0) ** 2)


pareto = Continuous(
    "pareto",
    "The Pareto distribution, of density ``b / z^(b+1)`` on z >= 1, with b > 0.",
    shapes=("b",),
    support=(1.0, INFINITY),
    inside=2.0,
    logpdf=lambda z, b: log(b) - (b + 1.0) * log(z),
    cdf=lambda z, b: -expm1(-b * log(z)),
    sf=lambda z, b: exp(-b * log(z)),
    logcdf=lambda z, b: log1mexp(-b * log(z)),
    logsf=lambda z, b: -b * log(z),
    ppf=lambda q, b: exp(-log1p(-q) / b),
    isf=lambda q, b: exp(-log(q) / b),
    mean=_pareto_mean,
    var=_pareto_variance,
    entropy=lambda b: 1.0 + 1.0 / b - log(b),
)
