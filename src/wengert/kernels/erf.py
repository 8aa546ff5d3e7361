"""The error functions."""

from __future__ import annotations

import numpy as np

from wengert.kernels import tables
from wengert.kernels.pointwise import Array, by_range, pointwise, polynomial, ratio


@pointwise
def erf(x: Array) -> Array:
    """Return the error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.

    For |x| < 1 a polynomial in x**2, else 1 - erfc |x| with the sign of x. Within 2 ulp in float64.

    Example:
        >>> erf([0.5, -np.inf])
        array([ 0.52049988, -1.        ])
    """
    size = np.abs(x)
    return np.copysign(by_range(size, (1.0,), (_erf_near_0, lambda size: 1 - _erfc_tail(size))), x)


@pointwise
def erfc(x: Array) -> Array:
    """Return 1 - erf x, to full relative accuracy where erf x is nearly 1.

    Within 4 ulp in float64, as far as 26.5, where the result underflows.

    Example:
        >>> erfc([0.0, 10.0])
        array([1.00000000e+00, 2.08848758e-45])
    """
    return by_range(
        x,
        (-1.0, 0.5),
        (lambda x: 2 - _erfc_tail(-x), lambda x: 1 - _erf_near_0(x), _erfc_tail),
    )


@pointwise
def erfinv(y: Array) -> Array:
    """Return the x for which erf x = y: infinite at +-1 and NaN beyond.

    As in Giles, "Approximating the erfinv function" (2010), x / y is a polynomial in w = -ln(1 - y**2), or in
    sqrt(w) in the tails. Within 4 ulp in float64.

    Example:
        >>> erfinv([0.5, -1.0, 2.0])
        array([0.47693628,       -inf,        nan])
    """
    w = -np.log((1 - y) * (1 + y))
    x = y * by_range(w, (6.0,), (lambda w: polynomial(tables.ERFINV, w - 3), _erfinv_tail))
    return np.where(np.abs(y) == 1, np.copysign(np.inf, y), x)


def _erf_near_0(x: Array) -> Array:
    return x + x * polynomial(tables.ERF, x * x)


def _erfc_tail(x: Array) -> Array:
    """Return erfc for x >= 0.5, from exp(-x**2) with the rounding error of the square made good."""
    x = np.minimum(x, 28.0)  # where the result is 0
    scaled = polynomial(tables.ERFC, ratio(x, 3.0)) / (x + 0.5)
    high = x.astype(np.float32).astype(np.float64)  # few enough bits for an exact square
    scaled += scaled * np.expm1((high - x) * (high + x))
    return np.exp(-high * high) * scaled


def _erfinv_tail(w: Array) -> Array:
    root = np.sqrt(w)
    return root * polynomial(tables.ERFINV_TAIL, ratio(root, 4.0))
