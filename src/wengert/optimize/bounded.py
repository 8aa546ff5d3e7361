"""Descent between bounds, as one loop of a compiled program: projected L-BFGS, and Levenberg's and Marquardt's method.

A step that leaves the bounds is projected on them. Variables at a bound whose slope leads outwards are held there, so
that directions belong to the others (Bertsekas, "Projected Newton methods for optimization problems with simple
constraints", 1982). Each turn is one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.control.cond import cond
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.jacobians import jacobian
from wengert.engine.transforms.reverse_mode import grad, value_and_grad
from wengert.implicit.certificates import largest, looks_far, looks_least
from wengert.optimize.descent import (
    CONVERGED,
    DOUBTFUL,
    FAR,
    LIMIT,
    NOT_FINITE,
    PRECISION,
    REACH,
    RUNNING,
    UNBOUNDED,
    End,
    Limits,
    Method,
    Point,
)

_FALL, _LEAST_RATIO = 1e-4, 1e-4
_FIRST_DAMPING, _MOST_DAMPING = 1e-3, 1e20
#: A variable is at a bound that is so near, as a share of the width between the bounds.
_NEAR = 1e-12


class Box(NamedTuple):
    """Bounds of a vector."""

    low: Any
    high: Any

    def held(self, x: Any, slope: Any) -> Any:
        """Return which variables are at a bound to which the function falls."""
        return self.blocked(x, -slope)

    def blocked(self, x: Any, direction: Any) -> Any:
        """Return which variables are at a bound that a direction would leave."""
        return ((x <= self.low) & (direction < 0.0)) | ((x >= self.high) & (direction > 0.0))

    def reached(self, x: Any) -> Any:
        """Return which variables are at a bound, as closely as steps end there."""
        width = self.high - self.low
        near = _NEAR * where(np.isfinite(width), width, largest(x))
        return (x - self.low <= near) | (self.high - x <= near)

    def clip(self, x: Any) -> Any:
        """Return the nearest vector between the bounds."""
        return np.minimum(np.maximum(x, self.low), self.high)


def masked(gradient: Callable[..., Any], x: Any, held: Any) -> Callable[..., Any]:
    """Return a gradient of the variables that are not held; a held one has the slope of ``(y - x)**2 / 2``."""

    def slope(y: Any, *parameters: Any) -> Any:
        return where(held, y - x, gradient(where(held, x, y), *parameters))

    return slope


class _Walk(NamedTuple):
    """The state of projected L-BFGS."""

    point: Point
    state: Any
    """Of the method."""
    direction: Any
    step: Any
    steps: Any
    evaluations: Any
    left: Any
    """How many trials the line search has left."""
    status: Any


def descend_within(
    objective: Callable[[Any], Any], start: Any, method: Method, limits: Limits, box: Box
) -> End:
    """Minimise a function of a vector between bounds, along projected directions of a method."""
    both = value_and_grad(objective)

    def turn(now: _Walk) -> _Walk:
        is_first, before = now.steps < 0, now.point
        x = box.clip(before.x + now.step * now.direction)
        value, gradient = both(x)
        move = x - before.x
        promised = np.sum(before.gradient * move)
        accepted = is_first | ((value <= before.value + _FALL * promised) & (promised < 0.0))
        held = box.held(x, gradient)
        slope = where(held, 0.0, gradient)

        def onward() -> Any:
            last = Point(where(held, x, before.x), before.value, where(held, 0.0, before.gradient))
            state, direction = method.next(now.state, last, Point(x, value, slope), is_first)
            direction = where(held | box.blocked(x, direction), 0.0, direction)
            direction = where(np.sum(direction * slope) < 0.0, direction, -slope)
            length = np.maximum(np.sqrt(np.sum(direction * direction)), 1e-300)
            step = where(is_first, np.minimum(1.0, 1.0 / length), 1.0)
            return Point(x, value, gradient), state, direction, step

        def again() -> Any:
            curved = 2.0 * (value - before.value - promised)
            ratio = -promised / where(curved > 0.0, curved, 1.0)
            ratio = where((curved > 0.0) & np.isfinite(value), ratio, 0.1)
            return before, now.state, now.direction, now.step * np.minimum(np.maximum(ratio, 0.1), 0.5)

        point, state, direction, step = cond(accepted, onward, again)
        steps, left = now.steps + where(accepted, 1, 0), where(accepted, limits.trials, now.left - 1)
        size = np.maximum(np.maximum(np.abs(before.value), np.abs(value)), 1.0)
        is_minimum = np.max(np.abs(x - box.clip(x - gradient))) <= limits.gtol
        is_level = is_minimum | ((before.value - value <= limits.ftol * size) & ~is_first)
        is_near = largest(direction) <= limits.move * np.maximum(1.0, largest(x))
        status = where(steps >= limits.steps, LIMIT, RUNNING)
        status = where(accepted & is_level & is_near, CONVERGED, status)
        status = where(accepted & (value == -np.inf), UNBOUNDED, status)
        status = where(~accepted & (left <= 0), PRECISION, status)
        status = where(is_first & ~(np.isfinite(value) & np.all(np.isfinite(gradient))), NOT_FINITE, status)
        return _Walk(point, state, direction, step, steps, now.evaluations + 1, left, status)

    zeros = np.zeros(shape_of(start))
    first = Point(box.clip(start), np.float64(np.inf), zeros), method.begin(shape_of(start)[0]), zeros
    counts = np.float64(0.0), np.int64(-1), np.int64(0), limits.trials, np.int64(RUNNING)
    last = while_loop(lambda now: now.status < 0, turn, _Walk(*first, *counts))
    status = _judged(lambda x: both(x)[1], last.point, last.direction, last.status, limits, box)
    return End(last.point, last.steps, last.evaluations, status)


class _Squares(NamedTuple):
    """The state of Levenberg's and Marquardt's method."""

    x: Any
    residuals: Any
    jacobian: Any
    diagonal: Any
    damping: Any
    growth: Any
    steps: Any
    evaluations: Any
    move: Any
    """The last step."""
    status: Any


def _first_squares(residual: Callable[[Any], Any], slopes: Callable[[Any], Any], x: Any) -> _Squares:
    """Return the state at the start."""
    r, matrix = residual(x), slopes(x)
    squares = np.sum(matrix**2, axis=0)
    diagonal = where(squares > 0.0, squares, 1.0)
    is_finite = np.all(np.isfinite(r)) & np.all(np.isfinite(matrix))
    return _Squares(
        x,
        r,
        where(is_finite, matrix, 0.0),
        where(is_finite, diagonal, 1.0),
        np.float64(_FIRST_DAMPING),
        np.float64(2.0),
        np.int64(0),
        np.int64(1),
        np.zeros(shape_of(x)),
        where(is_finite, RUNNING, NOT_FINITE),
    )


def _damped_step(box: Box, x: Any, gradient: Any, matrix: Any, damping: Any) -> tuple[Any, Any]:
    """Return a step of the variables that no bound holds, and whether it leaves no bound that is reached."""

    def step_of(held: Any) -> Any:
        diagonal = np.eye(shape_of(gradient)[0]) * where(held, 1.0, damping)
        kept = where(held[:, None] | held[None, :], 0.0, matrix) + diagonal
        return cast("Any", np.linalg).solve(kept, where(held, 0.0, -gradient))

    held = box.held(x, gradient)
    step = step_of(held | box.blocked(x, step_of(held)))
    return step, ~np.any(box.blocked(x, step))


def least_squares_within(residual: Callable[[Any], Any], start: Any, limits: Limits, box: Box) -> End:
    """Minimise half the sum of squares of residuals between bounds.

    A step p of the variables that are not held solves ``(JᵀJ + m D) p = -Jᵀ r``, where D is the diagonal of the largest
    ``JᵀJ`` so far (Moré, 1978). The damping m follows the ratio of the true decrease to that of the linear model
    (Nielsen, "Damping parameter in Marquardt's method", 1999).
    """
    slopes = jacobian(residual)

    def turn(now: _Squares) -> _Squares:
        gradient = now.jacobian.T @ now.residuals
        matrix = now.jacobian.T @ now.jacobian
        step, is_free = _damped_step(box, now.x, gradient, matrix, now.damping * now.diagonal)
        x = box.clip(now.x + step)
        move = x - now.x
        there = residual(x)
        cost, value = 0.5 * np.sum(now.residuals**2), 0.5 * np.sum(there**2)
        promised = -np.sum(gradient * move) - 0.5 * np.sum(move * (matrix @ move))
        ratio = (cost - value) / where(promised > 0.0, promised, 1.0)
        at = slopes(x)
        is_finite = np.isfinite(value) & np.all(np.isfinite(at))
        accepted = (promised > 0.0) & (ratio > _LEAST_RATIO) & is_finite
        cubed = (2.0 * np.minimum(ratio, 1.0) - 1.0) ** 3
        damping = where(accepted, now.damping * np.maximum(1.0 / 3.0, 1.0 - cubed), now.damping * now.growth)
        steps = now.steps + where(accepted, 1, 0)
        is_short = largest(move) <= limits.move * largest(now.x)
        is_level = (promised >= 0.0) & (promised <= limits.ftol * cost)
        slope = np.max(np.abs(now.x - box.clip(now.x - gradient)))
        is_end = (slope <= limits.gtol) | ((is_short | is_level) & is_free & (now.damping <= 1.0))
        status = where(steps >= limits.steps, LIMIT, RUNNING)
        status = where(damping > _MOST_DAMPING, PRECISION, status)
        status = where(is_end, CONVERGED, status)
        return _Squares(
            where(accepted, x, now.x),
            where(accepted, there, now.residuals),
            where(accepted, at, now.jacobian),
            where(accepted, np.maximum(now.diagonal, np.sum(at**2, axis=0)), now.diagonal),
            damping,
            where(accepted, 2.0, 2.0 * now.growth),
            steps,
            now.evaluations + 1,
            move,
            status,
        )

    first = _first_squares(residual, slopes, box.clip(start))
    last = while_loop(lambda now: now.status < 0, turn, first)

    def goal(x: Any) -> Any:
        return 0.5 * np.sum(residual(x) ** 2)

    point = Point(last.x, goal(last.x), last.jacobian.T @ last.residuals)
    status = _judged(grad(goal), point, last.move, last.status, limits, box)
    return End(point, last.steps, last.evaluations, status)


def _judged(
    gradient: Callable[[Any], Any], point: Point, direction: Any, status: Any, limits: Limits, box: Box
) -> Any:
    """Return the status, doubtful where the end does not look like a minimum of the variables that are not held."""
    held = box.held(point.x, point.gradient)
    slope, share = masked(gradient, point.x, held), np.maximum(FAR, 20 * limits.move)
    here = where(held, 0.0, point.gradient)
    is_least = looks_least(slope, point.x, here, where(held, 0.0, direction), np.maximum(REACH, share), share)
    is_least = is_least & ~looks_far(slope, point.x, here, share)
    return where((status == CONVERGED) & ~is_least, DOUBTFUL, status)
