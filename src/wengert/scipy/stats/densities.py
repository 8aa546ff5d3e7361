"""Formulas of families for which SciPy has code in C or masks, by the names of SciPy's private methods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.ops.arithmetic import absolute
from wengert.engine.ops.comparison import equal, greater, less, logical_and, where
from wengert.engine.ops.exponential import exp, expm1, log, log1p, sqrt
from wengert.engine.ops.special.densities import gamma_log_density
from wengert.engine.ops.special.gammas import gammainc, gammaincc
from wengert.engine.ops.special.quantiles import gammaincinv
from wengert.engine.ops.special.scipy_functions import ndtr, ndtri
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME
from wengert.scipy.registry import number
from wengert.scipy.stats.base import INFINITY, Rule

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

# -- families of Bessel functions ------------------------------------------------------------------------


def _log_kve(order: Any, x: Any) -> Any:
    return log(BY_NAME["kve"](order, x))


def _hyperbolic(x: Any, p: Any, a: Any, b: Any) -> Any:
    root, size = sqrt((a - b) * (a + b)), sqrt(1.0 + x * x)
    norm = p * log(root) - _HALF_LOG_TWO_PI - (p - 0.5) * log(a) - _log_kve(p, root) + root
    return norm + (p - 0.5) * log(size) + _log_kve(p - 0.5, a * size) + b * x - a * size


def _inverse_gauss(x: Any, p: Any, b: Any) -> Any:
    return (p - 1.0) * log(x) - 0.5 * b * (x + 1.0 / x - 2.0) - math.log(2) - _log_kve(p, b)


def _inverse_gauss_moment(n: Any, p: Any, b: Any) -> Any:
    return BY_NAME["kve"](p + n, b) / BY_NAME["kve"](p, b)


# -- Pearson's third family ------------------------------------------------------------------------------

#: Below this skewness functions are series to the second order about the normal distribution.
_LEAST_SKEW = 1.6e-5


def _shifted(x: Any, skew: Any) -> tuple[Any, Any, Any, Any]:
    """Return whether the family is nearly normal, and half the skewness, the shape and the point of a gamma family."""
    is_normal = less(absolute(skew), _LEAST_SKEW)
    half = 0.5 * where(is_normal, 1.0, skew)
    shape = 1.0 / (half * half)
    return is_normal, half, shape, shape * (1.0 + half * where(is_normal, 0.0, x))


def _pearson(x: Any, skew: Any) -> Any:
    is_normal, half, shape, z = _shifted(x, skew)
    is_inside = greater(z, 0.0)
    density = gamma_log_density(shape, where(is_inside, z, shape)) - log(absolute(half))
    square = x * x
    second = skew * skew * (square / 8.0 - square * square / 16.0 - 1.0 / 48.0)
    near = skew * x * (square / 6.0 - 0.5) + second - 0.5 * square - _HALF_LOG_TWO_PI
    return where(is_normal, near, where(is_inside, density, -INFINITY))


def _pearson_share(x: Any, skew: Any, rises: bool) -> Any:
    is_normal, _, shape, z = _shifted(x, skew)
    z = where(greater(z, 0.0), z, 0.0)
    lower, upper = gammainc(shape, z), gammaincc(shape, z)
    share = where(greater(skew, 0.0) if rises else less(skew, 0.0), lower, upper)
    square = x * x
    second = x * (square - 3.0) / 16.0 + x * (square * (square - 10.0) + 15.0) / 72.0
    sign = 1.0 if rises else -1.0
    density = exp(-0.5 * square - _HALF_LOG_TWO_PI)
    near = ndtr(sign * x) - sign * density * skew * ((square - 1.0) / 6.0 + skew * second)
    return where(is_normal, near, share)


def _pearson_quantile(q: Any, skew: Any) -> Any:
    is_normal, half, shape, _ = _shifted(q, skew)
    level = where(greater(skew, 0.0), q, 1.0 - q)
    z = ndtri(q)
    second = z * ((z * z - 3.0) / 16.0 - (2.0 * z * z - 5.0) / 36.0)
    near = z + skew * ((z * z - 1.0) / 6.0 + skew * second)
    return where(is_normal, near, (gammaincinv(shape, level) / shape - 1.0) / half)


# -- sums of uniform numbers -----------------------------------------------------------------------------


def _irwin_hall(x: Any, n: Any, beyond: int) -> Any:
    """Return a B-spline of whole knots, n + beyond of them, by de Boor's recurrence.

    With ``beyond=1`` it is the sum over x, x - 1 and so on, which is the integral of the one before.
    """
    most = int(number("scipy.stats.irwinhall", "n", np.max(n))) + beyond
    count = most * (1 + beyond)
    places = np.expand_dims(x, -1) - np.arange(count)
    splines: Any = where(logical_and(places >= 0.0, places < 1.0), 1.0, 0.0)
    result: Any = 0.0 * x
    for k in range(1, most + 1):
        if k > 1:
            u = places[..., : count + 1 - k]
            splines = (u * splines[..., :-1] + (k - u) * splines[..., 1:]) / (k - 1.0)
        value = np.sum(splines, -1) if beyond else splines[..., 0]
        result = where(n + beyond == k, value, result)
    return result


# -- families of powers that become exponentials ---------------------------------------------------------


def _log_power(x: Any, k: Any) -> Any:
    """Return ``ln(1 - k x) / k``, which is -x for k = 0, by its series near 0."""
    z = k * x
    is_near = less(absolute(z), 0.01)
    small, series = where(is_near, z, 0.0), 0.0
    for term in range(8, 0, -1):
        series = series * small + 1.0 / term
    return where(is_near, -x * series, log1p(-where(is_near, 0.5, z)) / where(is_near, 1.0, k))


def _kappa_logs(x: Any, h: Any, k: Any) -> tuple[Any, Any, Any]:
    """Return the logarithms of the inner power and of the distribution function, and the inner power."""
    inner = _log_power(x, k)
    return inner, _log_power(exp(inner), h), exp(inner)


def _kappa(x: Any, h: Any, k: Any) -> Any:
    inner, outer, size = _kappa_logs(x, h, k)
    return inner - log1p(-k * x) + outer - log1p(-h * size)


def _kappa_quantile(q: Any, h: Any, k: Any) -> Any:
    return -BY_NAME["boxcox"](-BY_NAME["boxcox"](q, h), k)


def _kappa_ends(h: Any, k: Any) -> tuple[Any, Any]:
    """Return the ends of the support: 1 / k on one side, and where the inner power is 1 / h on the other one."""
    rises, is_flat = greater(h, 0.0), equal(k, 0.0)
    some = where(is_flat, 1.0, k)
    inner = -BY_NAME["boxcox"](1.0 / where(rises, h, 1.0), k)
    low = where(rises, inner, where(less(k, 0.0), 1.0 / some, -INFINITY))
    return low, where(greater(k, 0.0), 1.0 / some, INFINITY)


def _exponential(logarithm: Rule) -> Rule:
    return lambda *given: exp(logarithm(*given))


FORMULAS: dict[str, dict[str, Rule]] = {
    "genhyperbolic": {"_logpdf": _hyperbolic, "_pdf": _exponential(_hyperbolic)},
    "geninvgauss": {
        "_logpdf": _inverse_gauss,
        "_pdf": _exponential(_inverse_gauss),
        "_munp": _inverse_gauss_moment,
    },
    "pearson3": {
        "_logpdf": _pearson,
        "_pdf": _exponential(_pearson),
        "_cdf": lambda x, skew: _pearson_share(x, skew, True),
        "_sf": lambda x, skew: _pearson_share(x, skew, False),
        "_ppf": _pearson_quantile,
    },
    "genextreme": {
        "_logpdf": lambda x, c: _kappa(x, 0.0, c),
        "_pdf": lambda x, c: exp(_kappa(x, 0.0, c)),
        "_logcdf": lambda x, c: _kappa_logs(x, 0.0, c)[1],
        "_cdf": lambda x, c: exp(_kappa_logs(x, 0.0, c)[1]),
        "_sf": lambda x, c: -expm1(_kappa_logs(x, 0.0, c)[1]),
        "_ppf": lambda q, c: -BY_NAME["boxcox"](-log(q), c),
        "_isf": lambda q, c: -BY_NAME["boxcox"](-log1p(-q), c),
    },
    "genpareto": {
        "_logpdf": lambda x, c: _log_power(x, -c) - log1p(c * x),
        "_pdf": lambda x, c: exp(_log_power(x, -c) - log1p(c * x)),
        "_logsf": lambda x, c: _log_power(x, -c),
        "_sf": lambda x, c: exp(_log_power(x, -c)),
        "_cdf": lambda x, c: -expm1(_log_power(x, -c)),
        "_ppf": lambda q, c: -BY_NAME["boxcox1p"](-q, -c),
        "_isf": lambda q, c: -BY_NAME["boxcox"](q, -c),
    },
    "kappa4": {
        "_get_support": _kappa_ends,
        "_logpdf": _kappa,
        "_pdf": _exponential(_kappa),
        "_logcdf": lambda x, h, k: _kappa_logs(x, h, k)[1],
        "_cdf": lambda x, h, k: exp(_kappa_logs(x, h, k)[1]),
        "_sf": lambda x, h, k: -expm1(_kappa_logs(x, h, k)[1]),
        "_ppf": _kappa_quantile,
    },
    "irwinhall": {
        "_pdf": lambda x, n: _irwin_hall(x, n, 0),
        "_cdf": lambda x, n: _irwin_hall(x, n, 1),
        "_sf": lambda x, n: _irwin_hall(n - x, n, 1),
    },
}
