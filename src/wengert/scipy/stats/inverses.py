"""Quantiles of continuous families that state no formula for them: the distribution function is solved for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ops.arithmetic import absolute
from wengert.engine.ops.comparison import greater, isfinite, less, logical_and, logical_not, logical_or, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.reduction import reduce_any
from wengert.engine.ops.shape import broadcast_to

Rule = Callable[..., Any]
_MOST_TURNS = 400
#: Where Newton's method ends, by its step or by the probability: the two steps behind it are exact from there.
_STEP, _EXCESS = 1e-8, 1e-12


def _any(condition: Any) -> Any:
    return reduce_any(condition, axes=tuple(range(len(shape_of(condition)))))


def _bracket(is_below: Callable[[Any], Any], ends: tuple[Any, Any], inside: Any) -> tuple[Any, Any]:
    """Return points on both sides of the quantiles: ends of the support, or far enough from a point inside."""
    low, high = ends
    shape = shape_of(inside)
    one = broadcast_to(np.ones(()), shape=shape)

    def wider(state: Any) -> Any:
        turn, left, right = state
        left = where(is_below(inside - left), left, 2.0 * left)
        right = where(is_below(inside + right), 2.0 * right, right)
        return turn + 1, left, right

    def goes_on(state: Any) -> Any:
        turn, left, right = state
        short = logical_or(logical_not(is_below(inside - left)), is_below(inside + right))
        return logical_and(less(turn, 1000), _any(short))

    _, left, right = while_loop(goes_on, wider, (np.int64(0), one, one))
    return where(isfinite(low), low, inside - left), where(isfinite(high), high, inside + right)


def quantile(
    level: Any,
    shapes: tuple[Any, ...],
    cdf: Rule,
    density: Rule,
    ends: tuple[Any, Any],
    inside: Any,
    rises: bool = True,
) -> Any:
    """Return z with ``cdf(z, *shapes) = level``, with derivatives up to the third order.

    Newton's method finds it between bounds that close in, of values without derivatives. Two further steps have
    derivatives: each doubles the order up to which they are right, and one more. The result is NaN where the method
    does not converge.

    Args:
        level: probabilities in (0, 1).
        shapes: the parameters.
        cdf: the function to invert, of a point and the parameters.
        density: the magnitude of its derivative.
        ends: the ends of the support, which may be infinite.
        inside: a point of it.
        rises: whether the function rises, or is a survival function.
    """
    shape = broadcast("ppf", *map(shape_of, (level, inside, *shapes)))
    level, inside, *fixed = (broadcast_to(x, shape=shape) for x in (level, inside, *shapes))
    goal, inside, *held = map(stop_gradient, (level, inside, *fixed))
    sign = 1.0 if rises else -1.0

    def is_below(z: Any) -> Any:
        return less(sign * cdf(z, *held), sign * goal)

    def turn(state: Any) -> Any:
        number, low, high, z, _ = state
        excess = sign * (cdf(z, *held) - goal)
        low, high = where(less(excess, 0.0), z, low), where(greater(excess, 0.0), z, high)
        near = z - excess / density(z, *held)
        is_between = logical_and(greater(near, low), less(near, high))
        near = where(is_between, near, 0.5 * (low + high))
        is_far = greater(absolute(near - z), _STEP * absolute(near))
        return number + 1, low, high, near, logical_and(is_far, greater(absolute(excess), _EXCESS * goal))

    def goes_on(state: Any) -> Any:
        return logical_and(less(state[0], _MOST_TURNS), _any(state[-1]))

    with np.errstate(all="ignore"):
        low, high = _bracket(is_below, tuple(map(stop_gradient, ends)), inside)  # pyright: ignore[reportArgumentType]
        low, high = (broadcast_to(x, shape=shape) for x in (low, high))
        begin = np.int64(0), low, high, 0.5 * (low + high), broadcast_to(np.ones((), bool), shape=shape)
        _, _, _, z, is_far = while_loop(goes_on, turn, begin)
        z = where(is_far, np.nan, z)
        for _ in range(2):
            z = z - sign * (cdf(z, *fixed) - level) / density(z, *fixed)
    return z
