"""The exponential of matrices by scaling and squaring of Padé approximants.

Source: Al-Mohy and Higham, "A new scaling and squaring algorithm for the matrix exponential" (2009). The number of
squarings depends on the norms of powers, which avoids needless squarings of matrices that are far from normal.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

#: The 1-norm up to which the approximant of each degree has the backward error of double precision.
_LIMITS = {3: 1.495585217958292e-2, 5: 2.539398330063230e-1, 7: 9.504178996162932e-1, 9: 2.097847961257068}
_LARGEST, _LIMIT = 13, 4.25
_ROUNDING = 2.0**-53


def _coefficients(degree: int) -> list[float]:
    """Return the coefficients of the numerator of the approximant; those of the denominator alternate in sign."""
    factorial = math.factorial
    return [
        factorial(2 * degree - k)
        * factorial(degree)
        / factorial(2 * degree)
        / factorial(degree - k)
        / factorial(k)
        for k in range(degree + 1)
    ]


_NUMERATORS = {degree: _coefficients(degree) for degree in (*_LIMITS, _LARGEST)}


def exponential(a: Array) -> Array:
    """Return the exponentials of stacked square matrices, in double precision.

    Example:
        >>> exponential(np.array([[0.0, 1.0], [0.0, 0.0]]))
        array([[1., 1.],
               [0., 1.]])
    """
    result = np.empty(a.shape, np.result_type(a, np.float64))
    for position in np.ndindex(a.shape[:-2]):
        result[position] = _single(a[position].astype(result.dtype))
    return result


def _norm(a: Array) -> float:
    return float(np.max(np.sum(np.abs(a), axis=0), initial=0.0))


def _single(a: Array) -> Array:
    rows = len(a)
    if rows <= 1:
        return np.exp(a)
    if not np.isfinite(a).all():
        return np.full_like(a, np.nan)
    unit, square, size = np.eye(rows, dtype=a.dtype), a @ a, _norm(a)
    for degree, limit in _LIMITS.items():
        if size <= limit:
            return _approximant(a, [unit, square], degree)
    fourth = square @ square
    sixth = fourth @ square
    halvings = _halvings(a, square, fourth, sixth)
    powers = [unit, *(np.ldexp(1.0, -k * halvings) * p for k, p in ((2, square), (4, fourth), (6, sixth)))]
    result = _approximant(np.ldexp(1.0, -halvings) * a, powers, _LARGEST)
    for _ in range(halvings):
        result = result @ result
    return result


def _halvings(a: Array, square: Array, fourth: Array, sixth: Array) -> int:
    """Return how often to halve a matrix, such that the approximant of the largest degree is accurate."""
    of_sixth = _norm(sixth) ** (1 / 6)
    of_eighth = _norm(fourth @ fourth) ** (1 / 8)
    of_tenth = _norm(fourth @ sixth) ** (1 / 10)
    size = min(max(of_sixth, of_eighth), max(of_eighth, of_tenth))
    if not math.isfinite(size):
        size = _norm(a)
    count = max(math.ceil(math.log2(size / _LIMIT)), 0) if size > 0 else 0
    return count + _more_halvings(np.ldexp(1.0, -count) * np.abs(a))


def _more_halvings(magnitude: Array) -> int:
    """Return how many more halvings bound the first term of the error, by the matrix of magnitudes."""
    size, row = _norm(magnitude), np.ones(len(magnitude))
    for _ in range(2 * _LARGEST + 1):
        row = row @ magnitude
    term = float(np.max(row))
    if not (term > 0 and math.isfinite(term)):
        return 0
    term /= size * math.comb(2 * _LARGEST, _LARGEST) * math.factorial(2 * _LARGEST + 1)
    return max(math.ceil(math.log2(term / _ROUNDING) / (2 * _LARGEST)), 0) if term > 0 else 0


def _approximant(a: Array, powers: list[Array], degree: int) -> Array:
    """Return the Padé approximant at a matrix with the first of its even powers."""
    b = _NUMERATORS[degree]
    if degree == _LARGEST:
        unit, p2, p4, p6 = powers
        odd = a @ (
            p6 @ (b[13] * p6 + b[11] * p4 + b[9] * p2) + b[7] * p6 + b[5] * p4 + b[3] * p2 + b[1] * unit
        )
        even = p6 @ (b[12] * p6 + b[10] * p4 + b[8] * p2) + b[6] * p6 + b[4] * p4 + b[2] * p2 + b[0] * unit
    else:
        while len(powers) <= degree // 2:
            powers = [*powers, powers[-1] @ powers[1]]
        odd = a @ sum(b[2 * k + 1] * power for k, power in enumerate(powers))
        even = sum(b[2 * k] * power for k, power in enumerate(powers))
    return np.linalg.solve(even - odd, even + odd)
