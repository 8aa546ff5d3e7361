"""Limits of the profile likelihood, by Newton's method for its signed root."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.errors import LimitError, message
from wengert.fit.mode import Point, Potential, minimum

_TURNS = 60
_TOLERANCE = 1e-8
"""Of the signed root, whose limit is about 2."""
_FARTHEST = 1e6
"""The distance in standard errors behind which a limit counts as infinite."""
_GROWTH = 3.0


def profile_limits(potential: Potential, best: Point, z: float, maxiter: int) -> tuple[Any, Any]:
    """Return the lower and the upper limits of all parameters as vectors."""
    inverse = potential.covariance(best)
    rows = [
        [_limit(potential, best, inverse, k, sign, z, maxiter) for k in range(potential.flat.size)]
        for sign in (-1.0, 1.0)
    ]
    return np.array(rows[0]), np.array(rows[1])


def _limit(
    potential: Potential, best: Point, inverse: Any, k: int, sign: float, z: float, maxiter: int
) -> float:
    """Return the value of a parameter at which the signed root of the likelihood ratio is z.

    The root ``r(c) = sqrt(2 (l(best) - l(c)))``, where l(c) is maximised over the other parameters, is nearly linear.
    Its slope is ``-l'(c) / r(c)``, because the other parameters do not count at their maximum. A bracket guards
    Newton's steps.
    """
    others = np.delete(np.arange(potential.flat.size), k)
    error = float(np.sqrt(inverse[k, k]))
    path = inverse[:, k] / inverse[k, k]  # of the other parameters, as this one moves
    low, high, distance, point = 0.0, np.inf, z * error, best
    for _ in range(_TURNS):
        start = point.x + path * (sign * distance - (point.x[k] - best.x[k]))
        start[k] = best.x[k] + sign * distance
        tried = _profiled(potential, start, others, maxiter)
        if tried is None:
            high = distance
            distance = 0.5 * (low + high)
        else:
            root = float(np.sqrt(max(2.0 * (tried.value - best.value), 0.0)))
            slope = sign * tried.gradient[k] / max(root, 1e-300)
            if abs(root - z) <= _TOLERANCE:
                return float(tried.x[k])
            low, high = (distance, high) if root < z else (low, distance)
            point = tried if root < z else point
            distance = _next(distance, (z - root) / slope if slope > 0.0 else np.inf, low, high)
        if distance > _FARTHEST * error:
            return sign * np.inf
        if np.isfinite(high) and high - low <= 1e-14 * max(high, abs(best.x[k])):
            return float(best.x[k] + sign * low)  # the likelihood jumps, or is not finite from here on
    requirement = f"the profile likelihood of {potential.names[k]} must reach its limit"
    raise LimitError(message("profile", requirement, f"a bracket of {low:g} to {high:g} beside the estimate"))


def _next(distance: float, step: float, low: float, high: float) -> float:
    """Return the next distance: Newton's, kept within the bracket and a factor."""
    following = min(distance + step, _GROWTH * distance)
    if low < following < high:
        return following
    return 0.5 * (low + high) if np.isfinite(high) else _GROWTH * distance


def _profiled(potential: Potential, x: Any, others: Any, maxiter: int) -> Point | None:
    """Return the maximum over the other parameters; None where the log density is not finite."""
    point = potential.tried(x)
    if point is None:
        return None
    point, gain = minimum(potential, point, others, maxiter)
    if not gain <= 1e-8:
        requirement = "the log density must have a maximum over the other parameters"
        raise LimitError(message("profile", requirement, f"a step that would still gain {gain:.2g}"))
    return point
