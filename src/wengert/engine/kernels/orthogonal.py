"""Orthogonal polynomials of fractional degrees on (-1, 1), where SciPy's series in 1 - x lose their digits.

The series are accurate near 1. From there Taylor series of Jacobi's differential equation go towards the singular point
-1, each by at most half of the distance to it. The part of a solution that grows at -1 dominates, so rounding errors do
not grow against it. The variable is ``w = (1 + x) / 2``, which has the digits of 1 + x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
_TERMS = 64
#: The degree up to which the series are used; beyond, the result is NaN.
_HIGHEST = 1000.0


def _scipys(name: str) -> Any:
    from scipy import special

    return getattr(special, name)


def _stepped(y: Array, slope: Array, w: Array, t: Array, eigenvalue: Array, a: Array, b: Array) -> Any:
    """Return a solution and its slope at w + t by their Taylor series at w."""
    term, following = y, slope * t
    value, scaled_slope = term + following, following  # the sum of the terms, and of k times them
    leading, total = w * (1 - w), a + b + 2
    linear = b + 1 - total * w
    for k in range(_TERMS):
        numerator = (k * (k - 1) + total * k - eigenvalue) * term * t * t
        numerator = numerator - ((1 - 2 * w) * k + linear) * (k + 1) * following * t
        term, following = following, numerator / (leading * ((k + 2) * (k + 1)))
        value, scaled_slope = value + following, scaled_slope + (k + 2) * following
    return value, scaled_slope / np.where(t == 0, 1.0, t)


def _continued(y: Array, slope: Array, start: Array, n: Array, a: Array, b: Array, x: Array) -> Array:
    """Return a solution of Jacobi's equation at x from its value and derivative at larger numbers."""
    goal, w, turning = (1 + x) / 2, (1 + start) / 2, _turning(n, a, b)
    slope = 2 * slope
    while np.any(is_on := w > goal):
        radius = np.minimum(w, 1 - w)
        step = radius * np.minimum(0.5, 1 / (1 + turning * np.sqrt(radius)))
        ahead = np.where(is_on, np.maximum(goal, w - step), w)
        y, moved = _stepped(y, slope, w, ahead - w, n * (n + a + b + 1), a, b)
        slope, w = np.where(is_on, moved, slope), ahead
    return y


def _turning(n: Array, a: Array, b: Array) -> Array:
    """Return the radians by which the phase of a solution grows for each radian of arccos(x)."""
    return np.sqrt(np.abs(n * (n + a + b + 1)))


def _completed(
    name: str, derivative: Callable[..., Any], parameters: Callable[..., Any]
) -> Callable[..., Array]:
    """Return SciPy's function, continued for fractional degrees to where its series lose digits.

    ``derivative`` takes the degree, the parameters and x; ``parameters`` returns those of Jacobi's equation.
    """

    def evaluate(*operands: Array) -> Array:
        scipys = _scipys(name)(*operands)
        if np.asarray(operands[0]).dtype.kind in "iu":
            return scipys
        n, *own, x = np.broadcast_arrays(*operands)
        shape = [np.broadcast_to(np.asarray(value, float), x.shape) for value in parameters(*own)]
        start = 1 - 2 * np.exp2(np.floor(np.log2(np.minimum(0.5, (1.5 / (1 + _turning(n, *shape))) ** 2))))
        is_continued = (x > -1) & (x < start) & (n != np.rint(n))
        if not np.any(is_continued):
            return scipys
        x, start, n, a, b, *own = (value[is_continued] for value in (x, start, n, *shape, *own))
        y, slope = _scipys(name)(n, *own, start), derivative(n, *own, start)
        is_low = np.abs(n) <= _HIGHEST
        continued = _continued(y, slope, start, np.where(is_low, n, 0.0), a, b, x)
        result = np.array(scipys, float)
        result[is_continued] = np.where(is_low, continued, np.nan)
        return result

    return evaluate


def _jacobi_slope(n: Array, a: Any, b: Any, x: Array) -> Array:
    return 0.5 * (n + a + b + 1) * _scipys("eval_jacobi")(n - 1, a + 1, b + 1, x)


jacobi = _completed("eval_jacobi", _jacobi_slope, lambda a, b: (a, b))
legendre = _completed("eval_legendre", lambda n, x: _jacobi_slope(n, 0.0, 0.0, x), lambda: (0.0, 0.0))
gegenbauer = _completed(
    "eval_gegenbauer",
    lambda n, a, x: 2 * a * _scipys("eval_gegenbauer")(n - 1, a + 1, x),
    lambda a: (a - 0.5, a - 0.5),
)
chebyt = _completed("eval_chebyt", lambda n, x: n * _scipys("eval_chebyu")(n - 1, x), lambda: (-0.5, -0.5))
chebyu = _completed(
    "eval_chebyu", lambda n, x: 2 * _scipys("eval_gegenbauer")(n - 1, 2.0, x), lambda: (0.5, 0.5)
)
