"""Minimax polynomials with coefficients in floating point (needs mpmath).

Remez's exchange (1934) on a grid of Chebyshev points, in 50 digits, with the fewest coefficients that reach
the required accuracy. Float32 coefficients are then rounded one after another from the constant term on, and the
remaining ones are fitted again, by weighted least squares, to correct the rounding errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np

Function = Callable[[Any], Any]
mp.mp.dps = 50

#: The accuracy, as a power of two, that a polynomial has for each precision of the result.
TARGETS = {24: -27.5, 36: -36.0, 53: -58.5}


def value(powers: Sequence[Any], t: Any) -> Any:
    """Return the polynomial at t by Horner's rule."""
    total = mp.mpf(0)
    for power in reversed(powers):
        total = total * t + power
    return total


def chebyshev(low: Any, high: Any, count: int) -> list[Any]:
    """Return the Chebyshev points of an interval, in increasing order."""
    return [(low + high - (high - low) * mp.cospi((k + mp.mpf(0.5)) / count)) / 2 for k in range(count)]


class Problem:
    """A function and a weight on a grid: the error is weight(t) (p(t) - function(t))."""

    def __init__(self, function: Function, weight: Function, low: Any, high: Any, points: int = 400) -> None:
        self.grid = chebyshev(mp.mpf(low), mp.mpf(high), points)
        self.truth = [function(t) for t in self.grid]
        self.weights = [weight(t) for t in self.grid]

    def errors(self, powers: Sequence[Any]) -> list[Any]:
        """Return the weighted errors on the grid."""
        rows = zip(self.grid, self.truth, self.weights, strict=True)
        return [weight * (value(powers, t) - truth) for t, truth, weight in rows]

    def remez(self, count: int) -> tuple[list[Any], Any]:
        """Return the minimax polynomial with ``count`` coefficients and its largest error."""
        last = len(self.grid) - 1
        chosen = [round(last * float(1 - mp.cospi(mp.mpf(k) / count)) / 2) for k in range(count + 1)]
        powers: list[Any] = []
        errors: list[Any] = []
        for _ in range(12):
            rows = [
                [self.grid[i] ** k for k in range(count)] + [(-1) ** n / self.weights[i]]
                for n, i in enumerate(chosen)
            ]
            solution = mp.lu_solve(mp.matrix(rows), mp.matrix([self.truth[i] for i in chosen]))
            powers, level = [solution[k] for k in range(count)], abs(solution[count])
            errors = self.errors(powers)
            largest = max(map(abs, errors))
            if largest < level * mp.mpf(1.02):
                break
            extrema = _alternating(errors, count + 1)
            if len(extrema) < count + 1:
                break
            chosen = extrema
        return powers, max(map(abs, errors))

    def refit(self, fixed: Sequence[Any], count: int) -> list[Any]:
        """Return the coefficients after the fixed ones that are best in the weighted least-squares sense."""
        start = len(fixed)
        errors = (
            self.errors(fixed) if fixed else [-w * y for w, y in zip(self.weights, self.truth, strict=True)]
        )
        columns = [
            [w * t**k for w, t in zip(self.weights, self.grid, strict=True)] for k in range(start, count)
        ]
        normal = mp.matrix([[mp.fdot(a, b) for b in columns] for a in columns])
        return list(mp.lu_solve(normal, mp.matrix([-mp.fdot(a, errors) for a in columns])))


def _alternating(errors: Sequence[Any], wanted: int) -> list[int]:
    """Return the positions of the largest error of each run of one sign, the ``wanted`` largest in a row."""
    groups: list[list[int]] = []
    for i, error in enumerate(errors):
        if groups and (error > 0) == (errors[groups[-1][-1]] > 0):
            groups[-1].append(i)
        else:
            groups.append([i])
    peaks = [max(group, key=lambda i: abs(errors[i])) for group in groups]
    while len(peaks) > wanted:
        peaks = peaks[1:] if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else peaks[:-1]
    return peaks


def rounded(number: Any, bits: int) -> Any:
    """Round to float32 or float64."""
    return mp.mpf(float(np.float32(float(number)))) if bits == 24 else mp.mpf(float(number))


def fit(
    function: Function, weight: Function, low: Any, high: Any, bits: int, target: float | None = None
) -> list[float]:
    """Return the rounded coefficients of the shortest polynomial that is accurate enough."""
    problem = Problem(function, weight, low, high)
    limit = mp.mpf(2) ** (TARGETS[bits] if target is None else target)
    for count in range(2, 40):
        powers, error = problem.remez(count)
        if error < limit:
            break
    else:
        raise ValueError("no low degree is enough: split the range")
    if bits == 24:
        fixed: list[Any] = []
        while len(fixed) < len(powers):
            rest = powers if not fixed else problem.refit(fixed, len(powers))
            fixed.append(rounded(rest[0] if fixed else powers[0], bits))
        powers = fixed
    final = [rounded(power, bits) for power in powers]
    error = max(map(abs, problem.errors(final)))
    print(f"  {bits} bits: {len(final)} coefficients, 2^{float(mp.log(error, 2)):.1f}", file=sys.stderr)
    return [float(power) for power in final]
