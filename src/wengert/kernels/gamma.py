"""The logarithm of the gamma function and its derivatives.

Where a function has a zero, its polynomial approximates the quotient by the zero's own factor, so that the
result keeps its relative accuracy there. The remainder of x after the nearest integer is exact, and so is
what reflection makes of a pole.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.core.errors import ArgumentError, message
from wengert.kernels import tables
from wengert.kernels.pointwise import Array, by_range, pointwise, polynomial, ratio

_NEAR, _MID = math.sqrt(1.25), math.sqrt(31.25)  # centres of the ranges [0.5, 2.5] and [2.5, 12.5]
_STIRLING = 0.5 * math.log(2 * math.pi) - 0.5
_DIRECT = 12  # terms of the series for polygamma, after which seven of the Euler-Maclaurin formula are enough


@pointwise
def lgamma(x: Array) -> Array:
    """Return ln |Gamma(x)|, infinite at 0, -1, -2, ...

    A polynomial times (x - 1) (x - 2) up to 12.5, then Stirling's series; left of 0.5 the recurrence, and
    far left the reflection formula. In float64 within 4 ulp, or 1e-15 near the zeros left of 0.

    Example:
        >>> lgamma([0.5, 1.0, 101.0, -2.0])
        array([  0.57236494,   0.        , 363.73937556,          inf])
    """
    return by_range(
        x,
        (-24.5, 0.5, 2.5, 12.5),
        (_lgamma_left, _lgamma_by_product, _lgamma_near, _lgamma_mid, _lgamma_tail),
    )


@pointwise
def digamma(x: Array) -> Array:
    """Return the derivative of ln Gamma(x), NaN at -1, -2, ... and -+inf at +-0.

    A polynomial times (x - 1.4616...) up to 2.5, another up to 12.5, then Stirling's series; the reflection
    formula left of 0.5.
    In float64 within 6 ulp; near the zeros left of 0 within 1e-15 as far as -30, then 2 ulp of ln |x|.

    Example:
        >>> digamma([1.0, 0.0, -3.0])
        array([-0.57721566,        -inf,         nan])
    """
    return _digamma(x)


def polygamma(n: int, x: Any) -> Any:
    """Return the derivative of digamma of order ``n``, infinite at 0, -1, -2, ...

        psi_n(x) = (-1)^(n+1) n! sum_k 1 / (x + k)^(n+1),   k = 0, 1, 2, ...

    Some terms are summed, the Euler-Maclaurin formula gives the rest. As in SciPy, a pole has the sign that
    the function has to its right. In float64 the relative error is below 1e-13, left of 0 that of the
    largest term.

    Args:
        n: The order, from 0 (digamma itself) to 150; beyond, terms that cancel may overflow.
        x: A scalar or array.

    Raises:
        ArgumentError: ``n`` is no such integer.

    Example:
        >>> polygamma(1, [1.0, -0.5])
        array([1.64493407, 8.9348022 ])
    """
    try:
        order = operator.index(n)
    except TypeError:
        order = -1
    if not 0 <= order <= 150:
        raise ArgumentError(message("polygamma", "the order must be an integer from 0 to 150", repr(n)))
    return _polygamma(x, order) if order else digamma(x)


def _lgamma_near(x: Array) -> Array:
    return (x - 1) * (x - 2) * polynomial(tables.LGAMMA, ratio(x, _NEAR)) + 0.0  # 0, not -0, at 1


def _lgamma_mid(x: Array) -> Array:
    return (x - 1) * (x - 2) * polynomial(tables.LGAMMA_MID, ratio(x, _MID))


def _lgamma_tail(x: Array) -> Array:
    inverse = 1 / x
    correction = inverse * polynomial(tables.LGAMMA_TAIL, inverse * inverse)
    return (x - 0.5) * (np.log(x) - 1) + (correction + _STIRLING)


def _lgamma_by_product(x: Array) -> Array:
    """Return ln Gamma(x + n) - ln |x (x + 1) ... (x + n - 1)| with x + n in [0.5, 1.5).

    Summing logarithms would lose the zeros that lie close to the poles.
    """
    count = np.ceil(0.5 - x)
    product = x.copy()
    for k in range(1, int(count.max())):
        product *= np.where(k < count, x + k, 1.0)
    return _lgamma_near(x + count) - np.log(np.abs(product))


def _lgamma_left(x: Array) -> Array:
    """Return ln |pi / (x sin(pi x))| - ln Gamma(-x)."""
    rest = x - np.rint(x)
    reflected = np.log(np.pi / np.abs(x * np.sin(np.pi * rest))) - _lgamma_tail(-x)
    return np.where(x == np.rint(x), np.inf, reflected)


def _digamma(x: Array) -> Array:
    return by_range(x, (0.5, 2.5, 12.5), (_digamma_left, _digamma_near, _digamma_mid, _digamma_tail))


def _digamma_left(x: Array) -> Array:
    """Return psi(1 - x) - pi cot(pi x)."""
    rest = x - np.rint(x)
    reflected = _digamma(1 - x) - 1 / rest + rest * polynomial(tables.COTANGENT, rest * rest)
    poles = np.where(x < 0, np.nan, np.copysign(np.inf, -x))
    return np.where(rest == 0, poles, reflected)


def _digamma_near(x: Array) -> Array:
    high, low = tables.DIGAMMA_ROOT
    return ((x - high) - low) * polynomial(tables.DIGAMMA, ratio(x, _NEAR))


def _digamma_mid(x: Array) -> Array:
    return polynomial(tables.DIGAMMA_MID, ratio(x, _MID))


def _digamma_tail(x: Array) -> Array:
    inverse = 1 / x
    square = inverse * inverse
    return np.log(x) - (0.5 * inverse + square * polynomial(tables.DIGAMMA_TAIL, square))


@pointwise
def _polygamma(x: Array, order: int) -> Array:
    series = by_range(x, (0.0,), (lambda x: _series_left(x, order), lambda x: _series(x, order)))
    return series if order % 2 else -series


def _term(x: Array, order: int, exponent: int) -> Array:
    """Return order! / x**exponent for x > 0, by halves: the power alone might underflow."""
    half = x ** (-exponent / 2)
    return float(math.factorial(order)) * half * half


def _series(x: Array, order: int) -> Array:
    """Return order! times the sum of 1 / (x + k)**(order + 1) for x >= 0."""
    direct = _term(x + np.arange(_DIRECT)[:, np.newaxis], order, order + 1).sum(axis=0)
    rest = x + _DIRECT
    inverse = 1 / rest
    bernoulli = [each * math.comb(order + 1 + 2 * j, 2 * j + 1) for j, each in enumerate(tables.DIGAMMA_TAIL)]
    correction = inverse * (0.5 + inverse * polynomial(bernoulli, inverse * inverse))
    return direct + _term(rest, order, order) * (1 / order + correction)


def _series_left(x: Array, order: int) -> Array:
    """Return the sum over all integers k, which is periodic in x, less that over k < 0; for x < 0."""
    rest = x - np.rint(x)
    size = np.abs(rest)
    parity = 1 if order % 2 else -1
    everywhere = _series(size, order) + parity * _series(1 - size, order)
    result = np.where(rest < 0, parity, 1) * everywhere - parity * _series(1 - x, order)
    return np.where(x == np.rint(x), np.inf, result)
