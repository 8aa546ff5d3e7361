"""Derivatives of special functions by their orders and shape parameters, on NumPy arrays.

The incomplete gamma and beta functions are moments of log-distributions, and the Bessel functions are integrals over
their order, so the derivatives are integrals of smooth functions. Double-exponential quadrature (Takahasi, Mori, 1974)
computes those over a half-line, and Gauss-Legendre quadrature those over an interval. Power series serve where the
integrals cancel.

Source of the integrals: Olver et al., "NIST Digital Library of Mathematical Functions", https://dlmf.nist.gov,
8.2, 8.17, 10.9, 10.32, 13.2, 15.2 and 25.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Function = Callable[..., Any]
#: Elements that are computed together: the nodes of all of them are in memory.
_CHUNK = 512


def _half_line() -> tuple[Array, Array]:
    """Return nodes and weights of ``int_0^inf f(u) du``, by ``u = exp(pi/2 sinh t)``."""
    step = 1 / 24
    t = np.arange(-3.9, 3.0, step)
    u = np.exp(0.5 * math.pi * np.sinh(t))
    return u, step * 0.5 * math.pi * np.cosh(t) * u


_U, _WEIGHTS = _half_line()
_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(240)
_THETA = 0.5 * math.pi * (_LEGENDRE_NODES + 1)
_THETA_WEIGHTS = 0.5 * math.pi * _LEGENDRE_WEIGHTS


def by_elements(function: Function) -> Function:
    """Return a function of arrays that broadcast, made of one of equally long vectors."""

    def of_arrays(*operands: Any, **params: Any) -> Any:
        arrays = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in operands))
        shape, flat = arrays[0].shape, [x.ravel() for x in arrays]
        result = np.empty(flat[0].size)
        with np.errstate(all="ignore"):
            for start in range(0, result.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                result[part] = function(*(x[part] for x in flat), **params)
        return result.reshape(shape)[()]

    return of_arrays


def _integral(integrand: Array, scale: Array) -> Array:
    """Return the integrals over the half-line of values at ``scale * u``, an element in each row."""
    return scale * (np.where(np.isfinite(integrand), integrand, 0.0) @ _WEIGHTS)


# -- moments of the logarithms of gamma and beta variables ------------------------------------------------


@by_elements
def gamma_moment(a: Array, x: Array, *, order: int, upper: bool) -> Array:
    """Return ``int (ln t - psi(a))^n t^(a-1) e^-t dt / gamma(a)`` from 0 to x, or from x to infinity.

    The first is the derivative of `gammainc` by a; the derivative of a moment is made of moments.
    """
    from scipy import special

    below = x < a
    sign = np.where(below, -1.0, 1.0)[:, None]  # the integral over the shorter tail: t = x e^(+-u)
    scale = 1 / (np.abs(a - x) + np.sqrt(np.maximum(a, x)))
    u = scale[:, None] * _U
    exponent = sign * a[:, None] * u - x[:, None] * np.expm1(sign * u)
    logarithm = (np.log(x) - special.psi(a))[:, None] + sign * u
    factor = np.exp(special.xlogy(a, x) - x - special.gammaln(a))
    tail = factor * _integral(logarithm**order * np.exp(exponent), scale)
    whole = _central_moment(order, [special.polygamma(n, a) for n in range(1, max(order, 1))])
    at_end = (x == 0) | np.isposinf(x)
    tail = np.where(at_end, 0.0, tail)
    other = whole - tail
    return np.where(below != upper, tail, other)


def _central_moment(order: int, cumulants: list[Array]) -> Any:
    """Return a central moment, from the cumulants of order 2 and more."""
    kappa = [0.0, 0.0, *cumulants]
    moments: list[Any] = [1.0]
    for n in range(1, order + 1):
        moments.append(
            sum((math.comb(n - 1, m - 1) * kappa[m] * moments[n - m] for m in range(1, n + 1)), 0.0)
        )
    return moments[order]


@by_elements
def beta_moment(a: Array, b: Array, x: Array, *, orders: tuple[int, int], upper: bool) -> Array:
    """Return ``int l^m r^n t^(a-1) (1-t)^(b-1) dt / beta(a, b)`` from 0 to x, or from x to 1.

    Here ``l = ln t - psi(a) + psi(a + b)`` and ``r = ln(1 - t) - psi(b) + psi(a + b)``: the derivatives of the density
    by a and b, divided by it.
    """
    from scipy import special

    below = x * (a + b) < a  # the mean: the integral over the shorter tail, from its end
    near, far = np.where(below, a, b), np.where(below, b, a)
    at, rest = np.where(below, x, 1 - x), np.where(below, 1 - x, x)
    scale = 1 / (np.abs(near - (a + b) * at) / np.maximum(rest, 1e-300) + np.sqrt(near) + near)
    u = scale[:, None] * _U
    complement = np.log1p(at[:, None] * -np.expm1(-u) / rest[:, None])  # ln((1 - t) / (1 - x))
    density = np.exp(-near[:, None] * u + (far - 1)[:, None] * complement)
    logarithms = [
        (np.log(at) - special.psi(near) + special.psi(a + b))[:, None] - u,
        (np.log(rest) - special.psi(far) + special.psi(a + b))[:, None] + complement,
    ]
    first, second = np.where(below, orders[0], orders[1]), np.where(below, orders[1], orders[0])
    integrand = logarithms[0] ** first[:, None] * logarithms[1] ** second[:, None] * density
    factor = np.exp(special.xlogy(near, at) + special.xlog1py(far - 1, -at) - special.betaln(a, b))
    tail = np.where(at == 0, 0.0, factor * _integral(integrand, scale))
    other = _joint_moment(orders, a, b) - tail
    return np.where(below != upper, tail, other)


def _joint_moment(orders: tuple[int, int], a: Array, b: Array) -> Any:
    """Return a central moment of ``ln t`` and ``ln(1 - t)`` for a beta variable t, from their cumulants."""
    from scipy.special import polygamma

    def cumulant(m: int, n: int) -> Any:
        if m + n == 1:
            return 0.0
        own = polygamma(m - 1, a) if n == 0 else polygamma(n - 1, b) if m == 0 else 0.0
        return own - polygamma(m + n - 1, a + b)

    moments: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for m in range(orders[0] + 1):
        for n in range(orders[1] + 1):
            if m + n:
                # One factor of the variable that is left belongs to the cumulant.
                outer, inner = (range(m), range(n + 1)) if m else (range(1), range(n))
                moments[m, n] = sum(
                    math.comb(m - 1, p) * math.comb(n, q) * cumulant(m - p, n - q) * moments[p, q]
                    if m
                    else math.comb(n - 1, q) * cumulant(0, n - q) * moments[0, q]
                    for p in outer
                    for q in inner
                )
    return moments[orders]


# -- Bessel functions ------------------------------------------------------------------------------------


def _panels() -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights on panels of a half-line, which are shorter towards 0."""
    ends = np.concatenate([[0.0], 2.0 ** np.arange(-10, 1), np.arange(2.0, 26.0)])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(ends)[:, None]
    return (ends[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()


_T, _T_WEIGHTS = _panels()


def _over_angles(integrand: Array) -> Array:
    """Return ``1/pi int_0^pi`` of values at the nodes, an element in each row."""
    return integrand @ _THETA_WEIGHTS / math.pi


def _over_half_line(integrand: Array) -> Array:
    """Return ``int_0^inf`` of values at the nodes, an element in each row."""
    return np.where(np.isfinite(integrand), integrand, 0.0) @ _T_WEIGHTS


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
    return np.where((x == 0) & (v > 0), 0.0, np.nan)


@by_elements
def jv_order(v: Array, x: Array) -> Array:
    """Return the derivative of ``J_v(x)`` by v, for x >= 0: that of Schlaefli's integral, or of the series."""
    phase = v[:, None] * _THETA - x[:, None] * np.sin(_THETA)
    decaying = np.exp(-x[:, None] * np.sinh(_T) - v[:, None] * _T)
    integral = _over_angles(-_THETA * np.sin(phase))
    integral -= np.cos(math.pi * v) * _over_half_line(decaying)
    integral += np.sin(math.pi * v) / math.pi * _over_half_line(decaying * _T)
    series, loss = _series(v, x, -1.0)
    # The integral loses what its value is smaller than its terms, which are about 1.
    result = np.where((v >= 0) & (loss < 1 / np.abs(series)), series, integral)
    return np.where(x > 0, result, _at_zero(v, x))


@by_elements
def yv_order(v: Array, x: Array) -> Array:
    """Return the derivative of ``Y_v(x)`` by v, for x > 0."""
    phase = x[:, None] * np.sin(_THETA) - v[:, None] * _THETA
    falling, order = -x[:, None] * np.sinh(_T), v[:, None] * _T
    grown, fallen = np.exp(falling + order), np.exp(falling - order)
    cosine, sine = np.cos(math.pi * v)[:, None], np.sin(math.pi * v)[:, None]
    integrand = _T * (grown - cosine * fallen) - math.pi * sine * fallen
    result = _over_angles(-_THETA * np.cos(phase)) - _over_half_line(integrand) / math.pi
    return np.where(x > 0, result, np.nan)


@by_elements
def iv_order(v: Array, x: Array, *, scaled: bool) -> Array:
    """Return the derivative of ``I_v(x)`` by v, or that times ``e^-x``, for x >= 0."""
    growth = x[:, None] * (np.cos(_THETA) - 1)
    decaying = np.exp(-x[:, None] * (np.cosh(_T) + 1) - v[:, None] * _T)
    integral = _over_angles(-_THETA * np.exp(growth) * np.sin(v[:, None] * _THETA))
    integral -= np.cos(math.pi * v) * _over_half_line(decaying)
    integral += np.sin(math.pi * v) / math.pi * _over_half_line(decaying * _T)
    series = _series(v, x, 1.0)[0] * np.exp(-x)
    is_short = (v >= 0) & (0.25 * x * x < 40.0 * (v + 1))
    result = np.where(is_short, series, integral) * (1.0 if scaled else np.exp(x))
    return np.where(x > 0, result, _at_zero(v, x))


@by_elements
def kv_order(v: Array, x: Array, *, scaled: bool) -> Array:
    """Return the derivative of ``K_v(x)`` by v, or that times ``e^x``, for x > 0."""
    falling, order = -x[:, None] * (np.cosh(_T) - (1 if scaled else 0)), v[:, None] * _T
    integrand = 0.5 * _T * (np.exp(falling + order) - np.exp(falling - order))
    return np.where(x > 0, _over_half_line(integrand), np.nan)


# -- hypergeometric functions and the zeta function ------------------------------------------------------


def _hypergeometric(above: list[Array], below: list[Array], x: Array, position: int, terms: int) -> Array:
    """Return the derivative of ``sum_n (a)_n ... / (b)_n ... x^n / n!`` by one parameter, counted through both lists."""
    parameter, sign = ([*above, *below][position], 1.0 if position < len(above) else -1.0)
    term, total, slope = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    for n in range(terms):
        total = total + term * slope
        ratio = x / (n + 1)
        for a in above:
            ratio = ratio * (a + n)
        for b in below:
            ratio = ratio / (b + n)
        term, slope = term * ratio, slope + sign / (parameter + n)
    return total


@by_elements
def hyp1f1_order(a: Array, b: Array, x: Array, *, position: int) -> Array:
    """Return the derivative of ``1F1(a; b; x)`` by a or b; for x < 0 by Kummer's transformation."""
    terms = int(min(max(60.0, 4.0 * float(np.max(np.abs(x), initial=0.0))), 2000.0))
    direct = _hypergeometric([a], [b], x, position, terms)
    # 1F1(a; b; x) = e^x 1F1(b - a; b; -x)
    by_first = _hypergeometric([b - a], [b], -x, 0, terms)
    kummer = -by_first if position == 0 else by_first + _hypergeometric([b - a], [b], -x, 1, terms)
    return np.where(x >= 0, direct, np.exp(x) * kummer)


@by_elements
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
    return np.where(x >= 0, np.where(x <= 0.95, direct, np.nan), pfaff)


@by_elements
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
    return np.where((s > 1) & (q > 0), total, np.nan)
