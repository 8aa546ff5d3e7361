"""Orthogonal polynomials of fractional degrees on (-1, 1), where SciPy's series in 1 - x lose their digits.

Beside 1 these are accurate. From there Taylor series of Jacobi's differential equation go towards the singular point
-1, by half of the distance to it or less. The part that grows at -1 is the larger one, so rounding errors do not grow
against it. Steps are counted in ``w = (1 + x) / 2``, which has the digits of 1 + x.
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
    now, following = y, slope * t
    value, moved = now + following, following  # the sum of the terms, and of k times them
    middle, last = w * (1 - w), a + b + 2
    first = b + 1 - last * w
    for k in range(_TERMS):
        known = (k * (k - 1) + last * k - eigenvalue) * now * t * t
        known = known - ((1 - 2 * w) * k + first) * (k + 1) * following * t
        now, following = following, known / (middle * ((k + 2) * (k + 1)))
        value, moved = value + following, moved + (k + 2) * following
    return value, moved / np.where(t == 0, 1.0, t)


def _continued(y: Array, slope: Array, start: Array, n: Array, a: Array, b: Array, x: Array) -> Array:
    """Return the solution of Jacobi's equation at x whose value and derivative are given at larger numbers."""
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
    """Return how many radians a solution turns by for one of arccos(x)."""
    return np.sqrt(np.abs(n * (n + a + b + 1)))


def _completed(
    name: str, derivative: Callable[..., Any], parameters: Callable[..., Any]
) -> Callable[..., Array]:
    """Return SciPy's function, continued for fractional degrees to where its series lose digits.

    Args:
        name: SciPy's name.
        derivative: of the degree, the parameters and x.
        parameters: from those of the function to those of Jacobi's equation.
    """

    def evaluate(*operands: Array) -> Array:
        theirs = _scipys(name)(*operands)
        if np.asarray(operands[0]).dtype.kind in "iu":
            return theirs
        *rest, x = np.broadcast_arrays(*operands)
        shape = [np.broadcast_to(np.asarray(value, float), x.shape) for value in parameters(*rest[1:])]
        n = rest[0]
        start = 1 - 2 * np.exp2(np.floor(np.log2(np.minimum(0.5, (1.5 / (1 + _turning(n, *shape))) ** 2))))
        is_ours = (x > -1) & (x < start) & (n != np.rint(n))
        if not np.any(is_ours):
            return theirs
        x, start, n, a, b, *rest = (value[is_ours] for value in (x, start, n, *shape, *rest))
        y, slope = _scipys(name)(*rest, start), derivative(*rest, start)
        is_low = np.abs(n) <= _HIGHEST
        continued = _continued(y, slope, start, np.where(is_low, n, 0.0), a, b, x)
        found = np.array(theirs, float)
        found[is_ours] = np.where(is_low, continued, np.nan)
        return found

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
