"""The last steps of a fit: Newton's, with one matrix of second derivatives, to what rounding errors leave.

Solvers of least squares end where the sum of squares no longer falls, which its rounding errors hide at half of the
digits of x. The gradient tells all digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import WengertError
from wengert.engine.core.named_tuples import NamedTuple

_MOST_STEPS = 20
_NEAR = 1e-2
"""The longest first step, relative to x: what a minimum may be away."""
_CONVERGED = 1e-6
"""The longest of the last steps that still fell."""
_MOST_NUMBERS = 1 << 22
"""The most residuals times variables for which second derivatives are computed."""


class Refined(NamedTuple):
    """A point, and whether a minimum is there: None where that is not known."""

    x: Any
    is_minimum: bool | None


def refined(
    values: Callable[[Any], Any],
    jacobian: Callable[[Any], Any],
    curvature: Callable[[Any, Any], Any],
    x: Any,
    low: Any,
    high: Any,
) -> Refined:
    """Return the least sum of squares next to a solver's.

    Args:
        values: the residuals of a vector.
        jacobian: their first derivatives.
        curvature: the second derivatives of their sum with weights: ``(x, weights) -> matrix``.
        x: where the solver has ended.
        low: bounds; a variable that reaches one stays there.
        high: the upper ones.
    """
    matrix, r = jacobian(x), values(x)
    slope = matrix.T @ r
    is_low, is_high = (x - low <= _at(low)) & (slope > 0.0), (high - x <= _at(high)) & (slope < 0.0)
    is_held, no_minimum = is_low | is_high, None if np.any(np.isfinite(low) | np.isfinite(high)) else False
    free = np.flatnonzero(~is_held)
    if matrix.size > _MOST_NUMBERS or not len(free):
        return Refined(x, None)
    algebra = cast("Any", np.linalg)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            curved = (matrix.T @ matrix + curvature(x, r))[np.ix_(free, free)]
    except WengertError:
        return Refined(x, None)  # there are no second derivatives
    diagonal = np.diagonal(curved)
    if not (np.all(np.isfinite(curved)) and np.all(diagonal > 0.0)):
        return Refined(x, no_minimum)
    lengths = np.sqrt(diagonal)
    try:
        inverse = algebra.inv(algebra.cholesky(curved / np.outer(lengths, lengths))) / lengths
    except np.linalg.LinAlgError:
        return Refined(x, None)
    last, start = np.inf, x
    x = cast("Any", np).where(is_low, low, np.where(is_high, high, x))
    matrix, r = jacobian(x), values(x)
    slope = matrix.T @ r
    spread = np.sqrt(np.sum(inverse**2, axis=0) * 2 * float(r @ r) / max(1, len(r) - len(free)))
    for _ in range(_MOST_STEPS):
        step = -inverse.T @ (inverse @ slope[free])
        scale = np.maximum(np.maximum(np.abs(x[free]), spread), max(1e-10 * float(np.max(np.abs(x))), 1e-300))
        size = float(np.max(np.abs(step) / scale))
        if not size <= _NEAR:
            return Refined(start, no_minimum)
        if size >= 0.5 * last:
            break
        x, last = cast("Any", np).array(x), size
        x[free] = np.clip(x[free] + step, low[free], high[free])
        matrix, r = jacobian(x), values(x)
        slope = matrix.T @ r
    is_pressed = np.all(slope[is_low] > 0.0) and np.all(slope[is_high] < 0.0)
    return Refined(x, True) if last <= _CONVERGED and is_pressed else Refined(start, None)


def _at(bound: Any) -> Any:
    """Return the distance from a bound up to which a solver of interior points has reached it."""
    return np.where(np.isfinite(bound), 1e-6 * np.maximum(1.0, np.abs(bound)), 0.0)
