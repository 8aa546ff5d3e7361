"""Derivatives of Bessel, hypergeometric and zeta functions by their orders and parameters, on NumPy arrays.

A Bessel function is an integral with the order as a parameter, so its derivative is an integral of a smooth function,
which Gauss-Legendre quadrature computes on the interval and on panels of the half-line. The series serves where the
integral cancels. Relative errors are below 1e-9 for orders from 0 to 50 and arguments up to 100, away from zeros;
for the hypergeometric functions with parameters from 0.2 to 8, |x| <= 30 (1F1) and -5 <= x <= 0.9 (2F1).

Source of the formulas: Olver et al., "NIST Digital Library of Mathematical Functions", https://dlmf.nist.gov,
10.9, 10.32, 10.8, 13.2, 15.2, 15.8 and 25.11.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.kernels.incomplete import elementwise

Array = Any
Function = Callable[..., Any]
_where: Any = np.where


def _by_elements(function: Function) -> Function:
    """Return a function of arrays that broadcast, made of one of equally long vectors; floats keep their dtype."""

    def of_arrays(*operands: Any, **params: Any) -> Any:
        arrays = map(np.asarray, operands)
        return elementwise(lambda *vectors: function(*vectors[:-1], **params), *arrays, order=None)

    return of_arrays


# -- Bessel functions ------------------------------------------------------------------------------------


@functools.cache  # on first use, because 240 nodes take longer than the import of the package
def _angles() -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on the interval from 0 to pi."""
    nodes, weights = np.polynomial.legendre.leggauss(240)
    return 0.5 * math.pi * (nodes + 1), 0.5 * math.pi * weights


@functools.cache
def _panels() -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on panels of a half-line, which are shorter towards 0."""
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-10, 1), np.arange(2.0, 26.0)])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(ends)[:, None]
    return (ends[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()


def _over_angles(integrand: Array) -> Array:
    """Return ``1/pi int_0^pi`` of values at the nodes, an element in each row."""
    return integrand @ _angles()[1] / math.pi


def _over_half_line(integrand: Array) -> Array:
    """Return ``int_0^inf`` of values at the nodes, an element in each row."""
    return _where(np.isfinite(integrand), integrand, 0.0) @ _panels()[1]


def _series(v: Array, x: Array, sign: float) -> tuple[Array, Array]:
    """Return the derivative by v of ``sum_m sign^m (x/2)^(2m+v) / (m! gamma(m+v+1))``, and the loss by cancellation."""
    from scipy import special

    half, total, largest = np.log(0.5 * x), np.zeros_like(x), np.zeros_like(x)
    term = np.ones_like(x)
    for m in range(120):
        part = term * (half - special.psi(v + m + 1))
        total, largest = total + part, np.maximum(largest, np.abs(part))
        term = term * (sign * 0.25 * x * x) / ((m + 1) * (m + 1 + v))
    return np.exp(v * half - special.gammaln(v + 1)) * total, largest / np.abs(total)


def _at_zero(v: Array, x: Array) -> Array:
    """Return the derivative at x = 0: 0 for a positive order; NaN elsewhere."""
    return _where((x == 0) & (v > 0), 0.0, np.nan)


@_by_elements
def jv_order(v: Array, x: Array) -> Array:
    """Return the derivative of ``J_v(x)`` by v, for x >= 0: that of Schlaefli's integral, or of the series."""
    theta, t = _angles()[0], _panels()[0]
    phase = v[:, None] * theta - x[:, None] * np.sin(theta)
    decaying = np.exp(-x[:, None] * np.sinh(t) - v[:, None] * t)
    integral = _over_angles(-theta * np.sin(phase))
    integral -= np.cos(math.pi * v) * _over_half_line(decaying)
    integral += np.sin(math.pi * v) / math.pi * _over_half_line(decaying * t)
    series, loss = _series(v, x, -1.0)
    # The integral loses what its value is smaller than its terms, which are about 1.
    result = _where((v >= 0) & (loss < 1 / np.abs(series)), series, integral)
    return _where(x > 0, result, _at_zero(v, x))


@_by_elements
def yv_order(v: Array, x: Array) -> Array:
    """Return the derivative of ``Y_v(x)`` by v, for x > 0."""
    theta, t = _angles()[0], _panels()[0]
    phase = x[:, None] * np.sin(theta) - v[:, None] * theta
    falling, order = -x[:, None] * np.sinh(t), v[:, None] * t
    grown, fallen = np.exp(falling + order), np.exp(falling - order)
    cosine, sine = np.cos(math.pi * v)[:, None], np.sin(math.pi * v)[:, None]
    integrand = t * (grown - cosine * fallen) - math.pi * sine * fallen
    result = _over_angles(-theta * np.cos(phase)) - _over_half_line(integrand) / math.pi
    return _where(x > 0, result, np.nan)


@_by_elements
def iv_order(v: Array, x: Array, *, scaled: bool) -> Array:
    """Return the derivative of ``I_v(x)`` by v, or that times ``e^-x``, for x >= 0."""
    theta, t = _angles()[0], _panels()[0]
    growth = x[:, None] * (np.cos(theta) - 1)
    decaying = np.exp(-x[:, None] * (np.cosh(t) + 1) - v[:, None] * t)
    parts = [
        _over_angles(-theta * np.exp(growth) * np.sin(v[:, None] * theta)),
        -np.cos(math.pi * v) * _over_half_line(decaying),
        np.sin(math.pi * v) / math.pi * _over_half_line(decaying * t),
    ]
    integral, size = sum(parts), sum(map(np.abs, parts))
    series, loss = _series(v, x, 1.0)
    is_short = (v >= 0) & (loss * np.abs(integral) < size) & (0.25 * x * x < 40.0 * (v + 1))
    result = _where(is_short, series * np.exp(-x), integral) * (1.0 if scaled else np.exp(x))
    return _where(x > 0, result, _at_zero(v, x))


@_by_elements
def kv_order(v: Array, x: Array, *, scaled: bool) -> Array:
    """Return the derivative of ``K_v(x)`` by v, or that times ``e^x``, for x > 0."""
    t = _panels()[0]
    falling, order = -x[:, None] * (np.cosh(t) - (1 if scaled else 0)), v[:, None] * t
    integrand = 0.5 * t * (np.exp(falling + order) - np.exp(falling - order))
    return _where(x > 0, _over_half_line(integrand), np.nan)


# -- hypergeometric functions and the zeta function ------------------------------------------------------


def _hypergeometric(above: list[Array], below: list[Array], x: Array, position: int, terms: int) -> Array:
    """Return the derivative of ``sum_n (a)_n ... / (b)_n ... x^n / n!`` by one parameter of the two lists."""
    parameters = [*above, *below]
    parameter, is_above = parameters.pop(position), position < len(above)
    others = len(above) - is_above
    term, slope, total = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    for n in range(terms):
        total = total + slope
        rest = x / (n + 1)
        for number, other in enumerate(parameters):
            rest = rest * (other + n) if number < others else rest / (other + n)
        # term_(n+1) = term_n ratio_n, and its derivative
        ratio = rest * (parameter + n) if is_above else rest / (parameter + n)
        ratio_slope = rest if is_above else -ratio / (parameter + n)
        term, slope = term * ratio, slope * ratio + term * ratio_slope
    return total


@_by_elements
def hyp1f1_order(a: Array, b: Array, x: Array, *, position: int) -> Array:
    """Return the derivative of ``1F1(a; b; x)`` by a or b; for x < 0 by Kummer's transformation."""
    terms = int(min(max(60.0, 4.0 * float(np.max(np.abs(x), initial=0.0))), 2000.0))
    direct = _hypergeometric([a], [b], x, position, terms)
    # 1F1(a; b; x) = e^x 1F1(b - a; b; -x)
    by_first = _hypergeometric([b - a], [b], -x, 0, terms)
    kummer = -by_first if position == 0 else by_first + _hypergeometric([b - a], [b], -x, 1, terms)
    return _where(x >= 0, direct, np.exp(x) * kummer)


@_by_elements
def hyp2f1_order(a: Array, b: Array, c: Array, x: Array, *, position: int) -> Array:
    """Return the derivative of ``2F1(a, b; c; x)`` by a, b or c, for x <= 0.9; for x < 0 by Pfaff's transformation."""
    from scipy.special import hyp2f1

    direct = _hypergeometric([a, b], [c], x, position, 700)
    # 2F1(a, b; c; x) = (1 - x)^-a 2F1(a, c - b; c; x / (x - 1))
    y, power = x / (x - 1), (1 - x) ** -a
    if position == 0:
        value = hyp2f1(a, c - b, c, y)
        pfaff = power * (_hypergeometric([a, c - b], [c], y, 0, 700) - np.log1p(-x) * value)
    elif position == 1:
        pfaff = -power * _hypergeometric([a, c - b], [c], y, 1, 700)
    else:
        by_both = [_hypergeometric([a, c - b], [c], y, n, 700) for n in (1, 2)]
        pfaff = power * (by_both[0] + by_both[1])
    return _where(x >= 0, _where(x <= 0.95, direct, np.nan), pfaff)


@_by_elements
def zeta_order(s: Array, q: Array) -> Array:
    """Return the derivative of ``sum_k (k + q)^-s`` by s, for s > 1, by the Euler-Maclaurin formula."""
    count = 16
    steps = np.arange(count)[:, None] + q
    total = -np.sum(np.log(steps) * steps**-s, axis=0)
    n, log = count + q, np.log(count + q)
    total += -(n ** (1 - s)) * (log / (s - 1) + 1 / (s - 1) ** 2) - 0.5 * log * n**-s
    rising, slope = s, 1 / s  # (s)_(2m-1), and the derivative of its logarithm
    for m, bernoulli in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), 1
    ):
        factor = bernoulli / math.factorial(2 * m) * rising * n ** (1 - s - 2 * m)
        total += factor * (slope - log)
        rising = rising * (s + 2 * m - 1) * (s + 2 * m)
        slope = slope + 1 / (s + 2 * m - 1) + 1 / (s + 2 * m)
    return _where((s > 1) & (q > 0), total, np.nan)
