"""Special functions that NumPy lacks: error functions and gamma functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.kernels import special as kernels
from wengert.engine.nest.lowering import Elementwise
from wengert.engine.ops.comparison import equal, isinf, less, where
from wengert.engine.ops.composition import composed
from wengert.engine.ops.elementwise import elementwise
from wengert.engine.ops.exponential import exp, log, power, sqrt
from wengert.engine.ops.kinks import slope_at


def _of_length(out: Any, slope: Any) -> Any:
    """Return the slope of a root: 0 at 0, which is a choice, and NaN where the sum of powers overflowed."""
    slope = where(isinf(out), math.nan, where(equal(out, 0), 0.0, slope))
    return slope_at("a length, such as norm or std", slope, out)


def _root_slope(out: Any, x: Any) -> Any:
    return _of_length(out, 0.5 / where(equal(out, 0), 1.0, out))


@composed(_root_slope, domain=(0.2, 2.0), singular=[(-1.0,)])
def root(x: Any) -> Any:
    """Return the square root, as the length of a vector: its derivative at 0 is 0, the subgradient of least norm.

    Args:
        x: a number or an array.

    Returns:
        A number or an array of the shape of ``x``.

    Example:
        >>> root(9.0)
        3.0
    """
    return sqrt(x)


#: The numbers of float64 by which sizes, whose squares are not finite or lose digits, become moderate.
_UP = 2.0**600
_LEAST_SQUARE = 1e-200


def length(squares: Callable[[float], Any]) -> Any:
    """Return the root of ``squares(1)``, also where squares of float64 over- or underflow; its derivative at 0 is 0.

    ``squares(s)`` returns the sum of ``(s x)^2``; a compiled program adds up the three of them in one sweep.

    Example:
        >>> print(f"{length(lambda s: np.sum((s * np.array([3e200, 4e200])) ** 2)):.3g}")
        5e+200
    """
    with np.errstate(all="ignore"):
        square, of_large, of_small = (squares(scale) for scale in (1.0, 1 / _UP, _UP))
    is_large, is_small = isinf(square), less(square, _LEAST_SQUARE)
    chosen = where(is_large, of_large, where(is_small, of_small, square))
    return where(is_large, _UP, where(is_small, 1 / _UP, 1.0)) * root(chosen)


def _or_one(out: Any, x: Any) -> Any:
    return where(equal(out, 0), 1.0, x)


@composed(
    lambda out, x, p: _of_length(out, out / (p * _or_one(out, x))),
    lambda out, x, p: -out * log(_or_one(out, x)) / (p * p),
    domain=((0.2, 2.0), (0.5, 4.0)),
    singular=[(-1.0, 3.0)],
    kinks=[(0.0, 3.0)],
)
def root_of_order(x: Any, p: Any) -> Any:
    """Return ``x^(1/p)`` for x >= 0 and p > 0, as the length of a vector: its derivative at 0 is 0.

    Example:
        >>> print(f"{root_of_order(8.0, 3.0):.3f}")
        2.000
    """
    zero = equal(x, 0)
    return where(zero, 0.0, power(where(zero, 1.0, x), 1.0 / p))


_POLES = [(0.0,), (-1.0,), (-2.0,)]
_BELL = 2 / math.sqrt(math.pi)


erf = elementwise("erf", kernels.erf, lambda out, x: _BELL * exp(-x * x))
erfc = elementwise("erfc", kernels.erfc, lambda out, x: -_BELL * exp(-x * x))
erfinv = elementwise(
    "erfinv",
    kernels.erfinv,
    lambda out, y: exp(out * out) / _BELL,
    domain=(-0.9, 0.9),
    singular=[(-1.0,), (1.0,)],
)


def _polygamma(x: Any, order: int) -> Any:
    return kernels.polygamma(order, x)


polygamma = elementwise(
    "polygamma",
    _polygamma,
    lambda out, x, order: polygamma(x, order=order + 1),
    doc="the derivative of digamma of the given order",
    domain=(0.5, 4.0),
    params={"order": 1},
    source="wengert.special.polygamma({order}, {0})",
    lowering=Elementwise("polygamma", param="order"),
    singular=_POLES,
)
digamma = elementwise(
    "digamma", kernels.digamma, lambda out, x: polygamma(x, order=1), domain=(0.5, 4.0), singular=_POLES
)
lgamma = elementwise("lgamma", kernels.lgamma, lambda out, x: digamma(x), domain=(0.5, 4.0), singular=_POLES)
