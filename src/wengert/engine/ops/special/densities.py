"""Logarithms of gamma, beta and Student densities, whose terms do not cancel for large parameters.

Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000): a probability of Poisson's distribution is
the product of its largest one, from Stirling's series, and the exponential of a deviance, ``k ln(k / m) + m - k``,
which has a series where k and m are close. All other densities here are products of these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.kernels.student import HALF_STEP, half_step_slope
from wengert.engine.kernels.tables import DIGAMMA_SERIES, LGAMMA_SERIES
from wengert.engine.ops.arithmetic import absolute, multiply_no_nan, size_to_compare
from wengert.engine.ops.comparison import equal, greater, greater_equal, isinf, less, logical_or, where
from wengert.engine.ops.composition import composed
from wengert.engine.ops.exponential import exp, expm1, log, log1p, sqrt, tanh
from wengert.engine.ops.special.differences import digamma_difference
from wengert.engine.ops.special.error_and_gamma import digamma, lgamma, polygamma

#: From here on Stirling's series holds.
_LARGE = 12.5
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_STEPS = 13


def _horner(coefficients: tuple[float, ...], x: Any) -> Any:
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def _stirling(x: Any) -> Any:
    """Return ``ln Gamma(x + 1) - x ln x + x - ln(2 pi x) / 2`` for a large x."""
    inverse = 1.0 / x
    return inverse * _horner(LGAMMA_SERIES, inverse * inverse)


def _log_ratio(m: Any, k: Any, d: Any) -> Any:
    """Return ``ln(m / k)`` with d = m - k."""
    is_near, ratio = less(size_to_compare(d), 0.5 * k), m / k
    is_distant = logical_or(less(ratio, 1e-30), greater(ratio, 1e30))  # the ratio may under- or overflow
    far = log(where(is_distant, m, ratio)) - log(where(is_distant, k, 1.0))
    return where(is_near, log1p(where(is_near, d, 0.0) / k), far)


def _deviance(k: Any, m: Any, d: Any) -> Any:
    """Return ``k ln(k / m) + m - k`` with d = m - k."""
    v = d / (m + k)
    is_near = less(size_to_compare(v), 0.1)
    square = where(is_near, v * v, 0.0)
    series = square * _horner(tuple(1 / (2 * j + 3) for j in range(9)), square)
    return where(is_near, v * (d - 2.0 * k * series), d - k * _log_ratio(m, k, d))


@composed(
    lambda out, x, y: -_log_ratio(y, x, y - x),
    lambda out, x, y: (y - x) / y,
    domain=(0.5, 3.0),
    singular=[(1.0, 0.0)],
)
def kl_divergence(x: Any, y: Any) -> Any:
    """Return ``x ln(x / y) - x + y`` for positive numbers."""
    return _deviance(x, y, y - x)


@composed(
    lambda out, x, y: 1.0 - _log_ratio(y, x, y - x),
    lambda out, x, y: -(x / y),
    domain=(0.5, 3.0),
    singular=[(1.0, 0.0)],
)
def rel_entropy(x: Any, y: Any) -> Any:
    """Return ``x ln(x / y)`` for positive numbers."""
    return -(x * _log_ratio(y, x, y - x))


@composed(lambda out, x, y: log(y), lambda out, x, y: x / y, domain=(0.5, 3.0), singular=[(1.0, 0.0)])
def times_log(x: Any, y: Any) -> Any:
    """Return ``x ln y``; the slope x / y does not overflow where 1 / y does."""
    return x * log(y)


def _log_mass(k: Any, m: Any, d: Any) -> Any:
    """Return ``k ln m - m - ln Gamma(k + 1)`` with d = m - k; m = None stands for k."""
    is_large, is_zero = greater_equal(k, _LARGE), equal(k, 0.0)
    large = where(is_large, k, _LARGE)
    top = -_HALF_LOG_TWO_PI - 0.5 * log(large) - _stirling(large)
    if m is not None:
        distance = where(is_large, d, 0.0)
        top = top - _deviance(large, where(is_large, m, _LARGE), distance)
    mean = k if m is None else m
    small = where(is_large, 1.0, k)
    direct = small * log(where(is_zero, 1.0, mean)) - mean - lgamma(small + 1.0)
    return where(is_large, top, direct)


def _mass_by_count(out: Any, k: Any, m: Any) -> Any:
    """Return ``ln m - psi(k + 1)``."""
    is_large = greater_equal(k, _LARGE)
    large, mean = where(is_large, k, _LARGE), where(is_large, m, _LARGE)
    square = 1.0 / (large * large)
    gap = 0.5 / large - square * _horner(DIGAMMA_SERIES, square)
    small = log(m) - digamma(where(is_large, 1.0, k) + 1.0)
    return where(is_large, _log_ratio(mean, large, mean - large) - gap, small)


@composed(
    _mass_by_count,
    lambda out, k, m: where(equal(k, 0.0), -1.0, (k - m) / where(equal(k, 0.0), 1.0, m)),
    domain=((0.5, 20.0), (0.5, 20.0)),
    singular=[(1.0, 0.0)],
)
def log_poisson_mass(k: Any, m: Any) -> Any:
    """Return ``k ln m - m - ln Gamma(k + 1)``, the logarithm of a Poisson probability, for real k >= 0."""
    return _log_mass(k, m, m - k)


def log_gamma_density(a: Any, x: Any) -> Any:
    """Return ``ln(x^a e^-x / Gamma(a))``, the logarithm of the gamma density times x."""
    return log_poisson_mass(a, x) + log(a)


def _slope_of_gamma(a: Any, x: Any, factor: Any = 1.0) -> Any:
    """Return a factor times the slope of the logarithm of the gamma density in x, ``(a - 1 - x) / x``."""
    return factor * (a - 1.0 - x) / x


@composed(
    lambda out, a, x: _mass_by_count(out, a, x) + 1.0 / a,
    lambda out, a, x: _slope_of_gamma(a, x),
    domain=((0.5, 20.0), (0.5, 20.0)),
    singular=[(1.0, 0.0)],
)
def gamma_log_density(a: Any, x: Any) -> Any:
    """Return ``(a - 1) ln x - x - ln Gamma(a)`` for x > 0, the logarithm of the gamma density."""
    is_large = greater_equal(a, _LARGE)
    large, mean, small = where(is_large, a, _LARGE), where(is_large, x, _LARGE), where(is_large, 1.0, a)
    mass = _log_mass(large, mean, mean - large) - _log_ratio(mean, large, mean - large)
    return where(is_large, mass, (small - 1.0) * log(x) - x - lgamma(small))


def _power_at_zero(a: Any) -> Any:
    """Return ``x^a`` at x = 0."""
    return where(less(a, 0.0), np.inf, where(equal(a, 0.0), 1.0, 0.0))


def _density_by_x(out: Any, a: Any, x: Any) -> Any:
    is_end = equal(x, 0.0)
    at_end = multiply_no_nan(a - 1.0, _power_at_zero(a - 2.0)) - _power_at_zero(a - 1.0)
    return where(is_end, at_end, _slope_of_gamma(a, where(is_end, 1.0, x), out))


@composed(
    lambda out, a, x: where(equal(x, 0.0), 0.0, out * _mass_by_count(out, a, x) + out / a),
    _density_by_x,
    domain=((0.5, 20.0), (0.5, 20.0)),
    singular=[(1.0, 0.0)],
)
def gamma_density(a: Any, x: Any) -> Any:
    """Return ``x^(a-1) e^-x / Gamma(a)`` for x >= 0, by its root, as the power over x may under- or overflow."""
    is_end = equal(x, 0.0)
    inside = where(is_end, 1.0, x)
    share = exp(0.5 * log_poisson_mass(a, inside)) / sqrt(inside)
    return where(is_end, _power_at_zero(a - 1.0), share * a * share)


@composed(
    lambda out, x, h: digamma_difference(x, h, order=1),
    lambda out, x, h: polygamma(x + h, order=1),
    domain=((0.5, 3.0), (0.5, 3.0)),
    singular=[(0.0, 1.0)],
)
def digamma_rise(x: Any, h: Any) -> Any:
    """Return ``psi(x + h) - psi(x)`` for positive x and h, whose terms have one sign."""
    total: Any = 0.0
    for n in range(_STEPS):
        total = total + h / (x + n) / (x + n + h)
    x = x + float(_STEPS)
    return total + log1p(h / x) + _rise_beyond(x, h)


def _excess_of_rise(x: Any, h: Any) -> Any:
    """Return ``psi(x + h) - psi(x) - ln((x + h) / x)``."""
    is_large = greater_equal(x, _LARGE)
    large, small = where(is_large, x, _LARGE), where(is_large, 1.0, x)
    return where(is_large, _rise_beyond(large, h), digamma_rise(small, h) - log1p(h / small))


def _rise_beyond(x: Any, h: Any) -> Any:
    """Return the same for a large x, by the divided difference of Stirling's series."""
    u, w = 1.0 / x, 1.0 / (x + h)
    slope, inner = 0.0, 0.0
    for coefficient in reversed(DIGAMMA_SERIES):
        slope, inner = slope * (u * u) + inner, inner * (w * w) + coefficient
    fall = h * u * w
    return fall * (0.5 + (u + w) * (inner + (u * u) * slope))


def _share(count: Any, probability: Any) -> Any:
    return count / where(equal(count, 0.0), 1.0, probability)


def _log_part(x: Any, y: Any) -> Any:
    """Return ``ln x`` with y = 1 - x."""
    is_small = less(x, 0.5)
    return where(is_small, log(where(is_small, x, 0.5)), log1p(-where(is_small, 0.5, y)))


def _normalised(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return x and y divided by their sum, and the logarithm of the sum, which is 1 if it is 1 to rounding."""
    total = 1.0 * x + y  # of truth values and integers, too
    total = where(less(absolute(total - 1.0), 4 * np.finfo(dtype_of(total)).eps), 1.0, total)
    return x / total, y / total, log(total)


def _log_first(x: Any, y: Any) -> Any:
    """Return ``ln x``, from y where y is the smaller one."""
    x, y, log_total = _normalised(x, y)
    return _log_part(x, y) + log_total


@composed(
    lambda out, a, b, x, y: _log_first(x, y) + digamma_rise(a + 1.0, b),
    lambda out, a, b, x, y: _log_first(y, x) + digamma_rise(b + 1.0, a),
    lambda out, a, b, x, y: _share(a, x),
    lambda out, a, b, x, y: _share(b, y),
    domain=((0.5, 20.0), (0.5, 20.0), (0.1, 0.9), (0.1, 0.9)),
    singular=[(1.0, 1.0, 0.0, 1.0)],
)
def log_binomial_mass(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return ``ln(x^a y^b Gamma(a + b + 1) / (Gamma(a + 1) Gamma(b + 1)))`` for real a, b >= 0 and y = 1 - x.

    The second probability y is more exact than ``1 - x``.
    """
    first, second = a * _log_first(x, y), b * _log_first(y, x)
    x, y, log_total = _normalised(x, y)
    total, distance = 1.0 * a + b, b * x - a * y
    both = _log_mass(a, total * x, distance) + _log_mass(b, total * y, -distance)
    inside = both - _log_mass(total, None, None) + total * log_total
    return where(equal(a, 0.0), second, where(equal(b, 0.0), first, inside))


@composed(
    lambda out, a, b, x, y: _log_first(x, y) + digamma_rise(a, b),
    lambda out, a, b, x, y: _log_first(y, x) + digamma_rise(b, a),
    lambda out, a, b, x, y: a / x,
    lambda out, a, b, x, y: b / y,
    domain=((0.5, 20.0), (0.5, 20.0), (0.1, 0.9), (0.1, 0.9)),
    singular=[(1.0, 1.0, 0.0, 1.0)],
)
def log_beta_density(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return ``ln(x^a y^b / B(a, b))`` with y = 1 - x, the logarithm of the beta density times x y."""
    return log_binomial_mass(a, b, x, y) + log(a / (a + b)) + log(b)


def _log_f_slope(z: Any, n: Any, m: Any) -> Any:
    """Return the slope of the log-density of F in n: terms of a deviance, and of Stirling's series."""
    whole = 1.0 + n / m * z
    deviance = _deviance(1.0, z * (1.0 + n / m) / whole, (z - 1.0) / whole)
    return 0.5 * (_excess_of_rise(0.5 * n, 0.5 * m) - deviance)


@composed(
    lambda out, z, n, m: (0.5 * n * (1.0 - z) / (1.0 + n / m * z) - 1.0) / z,
    lambda out, z, n, m: _log_f_slope(z, n, m),
    lambda out, z, n, m: _log_f_slope(1.0 / z, m, n),
    domain=((0.5, 3.0), (0.5, 20.0), (0.5, 20.0)),
    singular=[(0.0, 1.0, 1.0)],
)
def log_f_density(z: Any, n: Any, m: Any) -> Any:
    """Return the logarithm of the density of F, of the ratio of mean squares with n and m degrees of freedom."""
    ratio = n / m * z
    return log_beta_density(0.5 * n, 0.5 * m, 1.0 / (1.0 + 1.0 / ratio), 1.0 / (1.0 + ratio)) - log(z)


# -- densities with a maximum at 0, whose slopes there do not cancel -------------------------------------


@composed(lambda out, z: -tanh(0.5 * z))
def logistic_log_density(z: Any) -> Any:
    """Return ``-|z| - 2 ln(1 + e^-|z|)``, the logarithm of the logistic density."""
    size = absolute(z)
    return -size - 2.0 * log1p(exp(-size))


@composed(lambda out, z: expm1(-z))
def gumbel_log_density(z: Any) -> Any:
    """Return ``-z - e^-z``, the logarithm of Gumbel's density."""
    return -z - exp(-z)


# -- Student's distribution ------------------------------------------------------------------------------


@composed(lambda out, h: half_step_slope(h), domain=(0.5, 20.0), singular=[(-2.0,)])
def log_half_step(h: Any) -> Any:
    """Return ``ln Gamma(h + 1/2) - ln Gamma(h) - ln(h) / 2`` for h > 0."""
    product: Any = 1.0
    for n in range(_STEPS):
        product = product * ((h + n) / (h + n + 0.5)) * ((h + n + 1.0) / (h + n + 0.5))
    inverse = 1.0 / (h + float(_STEPS))
    return 0.5 * log(product) + inverse * _horner(HALF_STEP, inverse * inverse)


def _excess(u: Any) -> Any:
    """Return ``ln(1 + u) - u / (1 + u)`` for u >= 0."""
    w = u / (2.0 + u)
    is_small = less(w, 0.1)
    square = where(is_small, w * w, 0.0)
    series = 2.0 * w * square * _horner(tuple(1 / (2 * j + 3) for j in range(9)), square)
    return where(is_small, series + w * _part(u), log1p(u) - _part(u))


def _part(u: Any) -> Any:
    """Return ``u / (1 + u)`` for u >= 0."""
    is_large = greater(u, 1.0)
    small = where(is_large, 0.0, u)
    return where(is_large, 1.0 / (1.0 + 1.0 / where(is_large, u, 1.0)), small / (1.0 + small))


def _ratio(t: Any, df: Any) -> Any:
    """Return ``t^2 / df``."""
    return t * (t / df)


def student_log_slope(t: Any, df: Any) -> Any:
    """Return the derivative of the logarithm of Student's density in df."""
    u = _ratio(t, df)
    return 0.5 * half_step_slope(0.5 * df) - 0.5 * _excess(u) + 0.5 * _part(u) / df


def _student_slope(t: Any, df: Any) -> Any:
    """Return the derivative of the logarithm of Student's density, ``-(df + 1) t / (df + t^2)``."""
    u = _ratio(t, df)
    is_large = greater(u, 1.0)
    small, large = where(is_large, 0.0, t), where(is_large, t, 1.0)
    far = 1.0 / (1.0 + 1.0 / where(is_large, u, 1.0)) / large
    return -(df + 1.0) * where(is_large, far, small / df / (1.0 + _ratio(small, df)))


@composed(
    lambda out, t, df: _student_slope(t, df),
    lambda out, t, df: student_log_slope(t, df),
    domain=((0.5, 3.0), (0.5, 20.0)),
    singular=[(1.0, 0.0)],
)
def log_student_density(t: Any, df: Any) -> Any:
    """Return the logarithm of Student's density, ``(1 + t^2 / df)^(-(df+1)/2) / (sqrt(df) B(df / 2, 1/2))``."""
    u = _ratio(t, df)
    is_far = isinf(u)
    growth = where(is_far, 2.0 * log(absolute(where(is_far, t, 1.0))) - log(df), log1p(where(is_far, 0.0, u)))
    return log_half_step(0.5 * df) - _HALF_LOG_TWO_PI - 0.5 * (df + 1.0) * growth
