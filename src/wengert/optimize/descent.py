"""Descent along directions with a line search, as one loop of a compiled program: each turn is one evaluation.

Under `wengert.vmap` an example that needs another trial of its line search does not wait for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from wengert.engine.control.cond import cond
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.reverse_mode import value_and_grad
from wengert.implicit.certificates import largest, looks_far, looks_least
from wengert.optimize.line_search import Search, begun, judged

RUNNING, CONVERGED, LIMIT, PRECISION, NOT_FINITE, UNBOUNDED, DOUBTFUL = -1, 0, 1, 2, 3, 4, 5
"""The message of each status; the numbers from 0 are those of `scipy.optimize`."""


REACH = 1e-2
"""Where the function around an end must rise again, relative to x or to 1."""

FAR = 1e-3
"""The longest Newton step at an end, relative to x or to 1, where the method itself knows no Newton step."""


class Limits(NamedTuple):
    """The conditions that end a descent: operands of its program."""

    gtol: Any
    """The greatest element of the gradient of a minimum, in absolute value."""
    ftol: Any
    """The least relative decrease of a step."""
    steps: Any
    trials: Any
    """The most trials of a line search."""
    xtol: Any = None
    """The largest last step of the end, relative to x; None for one that the other tolerances say."""

    @property
    def move(self) -> Any:
        """The largest next step of the end, relative to x or to 1: what the tolerances let a step be."""
        if self.xtol is not None:
            return self.xtol
        return np.maximum(
            np.maximum(1e-6, 0.1 * self.gtol), self.ftol**0.5
        )  # the program may know them alone


class Point(NamedTuple):
    """A vector with the value and the gradient there."""

    x: Any
    value: Any
    gradient: Any


class Method(Protocol):
    """Computes directions."""

    @property
    def is_newtons(self) -> bool:
        """Whether a short direction says that a minimum is near."""
        ...

    def begin(self, size: int) -> Any:
        """Return the state before the first step."""
        ...

    def next(self, state: Any, before: Point, point: Point, is_first: Any) -> tuple[Any, Any]:
        """Return the state and the direction after a step from a point to the next; no step before the first."""
        ...


class _Descent(NamedTuple):
    """The state of the loop."""

    point: Point
    state: Any
    """Of the method."""
    direction: Any
    slope: Any
    search: Search
    steps: Any
    evaluations: Any
    left: Any
    """How many trials the line search has left."""
    status: Any


class End(NamedTuple):
    """The end of a descent."""

    point: Point
    steps: Any
    evaluations: Any
    status: Any


def descend(objective: Callable[[Any], Any], start: Any, method: Method, limits: Limits) -> End:
    """Minimise a function of a vector from a start."""
    both = value_and_grad(objective)

    def turn(now: _Descent) -> _Descent:
        is_first = now.steps < 0
        x = now.point.x + now.search.step * now.direction
        value, gradient = both(x)
        point, slope = Point(x, value, gradient), np.sum(gradient * now.direction)
        accepted, search = judged(now.search, now.point.value, now.slope, value, slope)
        accepted = accepted | is_first
        steps = now.steps + where(accepted, 1, 0)
        left = where(accepted, limits.trials, now.left - 1)

        def onward() -> Any:
            state, direction = method.next(now.state, now.point, point, is_first)
            direction = where(np.sum(direction * gradient) < 0.0, direction, -gradient)
            slope = np.sum(direction * gradient)
            step = where(is_first, np.minimum(1.0, 1.0 / _length(direction)), 1.0)
            return point, state, direction, slope, begun(step, value, slope)

        def again() -> Any:
            return now.point, now.state, now.direction, now.slope, search

        there = point
        point, state, direction, slope, following = cond(accepted, onward, again)
        is_near = largest(direction) <= limits.move * np.maximum(1.0, largest(x))
        status = _status(now, there, accepted, search, steps, left, is_first, is_near, limits)
        return _Descent(point, state, direction, slope, following, steps, now.evaluations + 1, left, status)

    zeros, zero = np.zeros(start.shape), np.float64(0.0)
    first = _Descent(
        Point(start, np.float64(np.inf), zeros),
        method.begin(start.shape[0]),
        zeros,
        zero,
        begun(zero, np.float64(np.inf), zero),
        np.int64(-1),
        np.int64(0),
        limits.trials,
        np.int64(RUNNING),
    )
    last = while_loop(lambda now: now.status < 0, turn, first)
    is_doubtful = (last.status == CONVERGED) & ~_is_least(lambda x: both(x)[1], last, method, limits)
    return End(last.point, last.steps, last.evaluations, where(is_doubtful, DOUBTFUL, last.status))


def _is_least(gradient: Callable[[Any], Any], last: _Descent, method: Method, limits: Limits) -> Any:
    """Return whether the end looks like a minimum."""
    x, _, slope = last.point
    share = np.maximum(FAR, 20 * limits.move)
    is_least = looks_least(gradient, x, slope, last.direction, np.maximum(REACH, share), share)
    return is_least if method.is_newtons else is_least & ~looks_far(gradient, x, slope, share)


def _length(vector: Any) -> Any:
    return np.maximum(np.sqrt(np.sum(vector * vector)), 1e-300)


def _status(
    now: _Descent,
    point: Point,
    accepted: Any,
    search: Search,
    steps: Any,
    left: Any,
    is_first: Any,
    is_near: Any,
    limits: Limits,
) -> Any:
    """Return the status after an evaluation, given whether the next step, Newton's or the secant's, is short."""
    before = now.point.value
    size = np.maximum(np.maximum(np.abs(before), np.abs(point.value)), 1.0)
    is_minimum = np.max(np.abs(point.gradient)) <= limits.gtol
    is_level = (before - point.value <= limits.ftol * size) & ~is_first
    is_finite = np.isfinite(point.value) & np.all(np.isfinite(point.gradient))
    status = where(steps >= limits.steps, LIMIT, RUNNING)
    status = where(accepted & (is_minimum | is_level) & is_near, CONVERGED, status)
    # A search without a high end has fallen all the way.
    is_endless = ~np.isfinite(search.high) | (point.value == -np.inf)
    status = where(~accepted & (left <= 0), where(is_endless, UNBOUNDED, PRECISION), status)
    return where(is_first & ~is_finite, NOT_FINITE, status)
