"""Continuous families by incomplete gamma and beta functions: beta, chi2, f, gamma, invgamma and t.

Their functions of distribution have derivatives in the shape parameters, from
`wengert.engine.kernels.incomplete`; so have the draws, which are quantiles.
"""

from __future__ import annotations

import math
from typing import Any

from wengert.engine.ops.comparison import greater, isinf, less, logical_or, where
from wengert.engine.ops.exponential import log, log1p
from wengert.engine.ops.special.densities import (
    gamma_log_density,
    log_beta_density,
    log_f_density,
    log_gamma_density,
    log_student_density,
)
from wengert.engine.ops.special.error_and_gamma import digamma, lgamma
from wengert.engine.ops.special.gammas import betainc, betaincc, betaln, gammainc, gammaincc, stdtr
from wengert.engine.ops.special.quantiles import (
    betainccinv,
    betaincinv,
    f_quantile,
    f_upper_quantile,
    gammainccinv,
    gammaincinv,
    stdtrit,
)
from wengert.engine.ops.special.scipy_functions import ndtr, ndtri
from wengert.scipy.stats.base import INFINITY, Continuous, from_end
from wengert.scipy.stats.elementary import LOG_TWO_PI

gamma = Continuous(
    "gamma",
    "The gamma distribution, of density ``z^(a-1) e^-z / Gamma(a)`` on z >= 0, with a > 0.",
    shapes=("a",),
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=lambda z, a: from_end(z, a - 1.0, lambda z: gamma_log_density(a, z), flat=lambda z: -z),
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: gammaincc(a, z),
    ppf=lambda q, a: gammaincinv(a, q),
    isf=lambda q, a: gammainccinv(a, q),
    mean=lambda a: a,
    var=lambda a: a,
    entropy=lambda a: a + lgamma(a) + (1.0 - a) * digamma(a),
)


def _invgamma_variance(a: Any) -> Any:
    b = where(greater(a, 2.0), a, 3.0)
    return where(greater(a, 2.0), 1.0 / ((b - 1.0) ** 2 * (b - 2.0)), INFINITY)


def _invgamma_log_density(z: Any, a: Any) -> Any:
    z = where(less(z, 1e-308), 0.0, z)  # 1 / z overflows, and the logarithm is below -1e308
    return from_end(z, 1.0, lambda z: log_gamma_density(a, 1.0 / z) - log(z))


invgamma = Continuous(
    "invgamma",
    "The inverse gamma distribution, of ``1 / Y`` for a gamma variable Y, with a > 0.",
    shapes=("a",),
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=_invgamma_log_density,
    cdf=lambda z, a: gammaincc(a, 1.0 / z),
    sf=lambda z, a: gammainc(a, 1.0 / z),
    ppf=lambda q, a: 1.0 / gammainccinv(a, q),
    isf=lambda q, a: 1.0 / gammaincinv(a, q),
    mean=lambda a: where(greater(a, 1.0), 1.0 / (where(greater(a, 1.0), a, 2.0) - 1.0), INFINITY),
    var=_invgamma_variance,
    entropy=lambda a: a + lgamma(a) - (1.0 + a) * digamma(a),
)


def _chi2_log_density(z: Any, df: Any) -> Any:
    a = 0.5 * df
    return from_end(0.5 * z, a - 1.0, lambda z: gamma_log_density(a, z), flat=lambda z: -z) - math.log(2)


chi2 = Continuous(
    "chi2",
    "The chi-squared distribution, of the sum of df squares of standard normal variables, with df > 0.",
    shapes=("df",),
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=_chi2_log_density,
    cdf=lambda z, df: gammainc(0.5 * df, 0.5 * z),
    sf=lambda z, df: gammaincc(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2.0 * gammaincinv(0.5 * df, q),
    isf=lambda q, df: 2.0 * gammainccinv(0.5 * df, q),
    mean=lambda df: df,
    var=lambda df: 2.0 * df,
    entropy=lambda df: 0.5 * df + math.log(2) + lgamma(0.5 * df) + (1.0 - 0.5 * df) * digamma(0.5 * df),
)


def _beta_log_density(z: Any, a: Any, b: Any) -> Any:
    def density(z: Any) -> Any:
        return log_beta_density(a, b, z, 1.0 - z) - log(z) - log1p(-z)

    def from_one(z: Any) -> Any:
        return from_end(z, b - 1.0, density, 1.0, lambda z: log(a) + (a - 1.0) * log(z))

    return from_end(z, a - 1.0, from_one, 0.0, lambda z: log(b) + (b - 1.0) * log1p(-z))


def _beta_entropy(a: Any, b: Any) -> Any:
    total = a + b
    return betaln(a, b) - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + (total - 2.0) * digamma(total)


beta = Continuous(
    "beta",
    "The beta distribution, of density ``z^(a-1) (1-z)^(b-1) / B(a, b)`` on [0, 1], with a, b > 0.",
    shapes=("a", "b"),
    support=(0.0, 1.0),
    inside=0.5,
    logpdf=_beta_log_density,
    cdf=lambda z, a, b: betainc(a, b, z),
    sf=lambda z, a, b: betaincc(a, b, z),
    ppf=lambda q, a, b: betaincinv(a, b, q),
    isf=lambda q, a, b: betainccinv(a, b, q),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1.0)),
    entropy=_beta_entropy,
)


# -- ratios: f and t -------------------------------------------------------------------------------------


def _share(x: Any, y: Any, n: Any, m: Any) -> Any:
    """Return ``x / (x + y)``; NaN of an infinite number of degrees of freedom, as in SciPy."""
    return where(logical_or(isinf(n), isinf(m)), math.nan, x / (x + y))


def _f_mean(n: Any, m: Any) -> Any:
    m = where(greater(m, 2.0), m, 2.0)
    return m / (m - 2.0)


def _f_variance(n: Any, m: Any) -> Any:
    m = where(greater(m, 4.0), m, 4.0)
    return 2.0 * m * m * (n + m - 2.0) / (n * (m - 2.0) ** 2 * (m - 4.0))


def _f_entropy(n: Any, m: Any) -> Any:
    half_n, half_m = 0.5 * n, 0.5 * m
    digammas = (1.0 - half_n) * digamma(half_n) - (1.0 + half_m) * digamma(half_m)
    return log(m / n) + betaln(half_n, half_m) + digammas + (half_n + half_m) * digamma(half_n + half_m)


f = Continuous(
    "f",
    "The F distribution, of the ratio of two mean squares of dfn and dfd degrees of freedom.",
    shapes=("dfn", "dfd"),
    support=(0.0, INFINITY),
    inside=1.0,
    logpdf=lambda z, n, m: from_end(
        z,
        0.5 * n - 1.0,
        lambda z: log_f_density(z, n, m),
        flat=lambda z: -(1.0 + 0.5 * m) * log1p(2.0 * z / m),
    ),
    cdf=lambda z, n, m: betainc(0.5 * n, 0.5 * m, _share(n * z, m, n, m)),
    sf=lambda z, n, m: betainc(0.5 * m, 0.5 * n, _share(m, n * z, n, m)),
    ppf=f_quantile,
    isf=f_upper_quantile,
    mean=_f_mean,
    var=_f_variance,
    entropy=_f_entropy,
)


def _or_normal(function: Any, normal: Any) -> Any:
    """Return a function of a point and df, the normal one where df is infinite."""

    def rule(z: Any, df: Any) -> Any:
        is_normal = isinf(df)
        return where(is_normal, normal(where(is_normal, z, 0.5)), function(z, where(is_normal, 1.0, df)))

    return rule


def _t_variance(df: Any) -> Any:
    is_finite = greater(df, 2.0)
    inner = where(is_finite, df, 4.0)
    value = 1.0 / (1.0 - 2.0 / inner)
    return where(is_finite, value, where(greater(df, 1.0), INFINITY, math.nan))


def _t_entropy(df: Any) -> Any:
    is_normal = isinf(df)
    df = where(is_normal, 1.0, df)
    half, more = 0.5 * df, 0.5 * (df + 1.0)
    value = more * (digamma(more) - digamma(half)) + 0.5 * log(df) + betaln(half, 0.5)
    return where(is_normal, 0.5 * (LOG_TWO_PI + 1), value)


t = Continuous(
    "t",
    "Student's distribution, of density proportional to ``(1 + z^2 / df)^(-(df+1)/2)``, with df > 0.",
    shapes=("df",),
    is_symmetric=True,
    logpdf=_or_normal(
        log_student_density,
        lambda z: -0.5 * (z * z) - 0.5 * LOG_TWO_PI,
    ),
    cdf=_or_normal(lambda z, df: stdtr(df, z), ndtr),
    ppf=_or_normal(lambda q, df: stdtrit(df, q), ndtri),
    mean=lambda df: where(greater(df, 1.0), 0.0, INFINITY),
    var=_t_variance,
    entropy=_t_entropy,
)
