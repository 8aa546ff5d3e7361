"""Events: the times at which functions of time and state cross zero."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.control.while_loop import fori_loop
from wengert.engine.core.errors import ArgumentError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.forward_mode import jvp
from wengert.integrate.arguments import called, real_of
from wengert.integrate.solution import Rows

_HALVINGS = 40
"""The bisections of a step; two steps of Newton's method follow."""


class Events:
    """The events of a problem.

    Args:
        functions: ``(t, y) -> number``, each with SciPy's attributes.
        terminal: after how many crossings each one ends the integration; 0: never.
        directions: 1 for crossings upward alone, -1 downward, 0 for both.
        container: how the user's functions take a state.
    """

    def __init__(
        self,
        operation: str,
        functions: Sequence[Callable[..., Any]],
        args: Sequence[Any],
        container: Callable[[Any], Any] = lambda y: y,
    ) -> None:
        def number(event: Callable[..., Any], t: Any, y: Any) -> Any:
            value = real_of(
                operation,
                "the result of an event",
                called(operation, "an event", event, t, container(y), *args),
            )
            if size(shape_of(value)) != 1:
                raise ShapeError(message(operation, "an event must return one number", show(value)))
            return np.reshape(value, ())

        self.functions: list[Callable[..., Any]] = [functools.partial(number, event) for event in functions]
        self.terminal = np.array([_terminal(operation, event) for event in functions], int)
        self.directions = np.array([_direction(operation, event) for event in functions], float)

    def values(self, t: Any, y: Any) -> Any:
        """Return the values of all functions."""
        if not self.functions:
            return np.zeros(0)
        values: Any = np.stack([function(t, y) for function in self.functions])
        return stop_gradient(values)

    def crossed(self, before: Any, after: Any) -> Any:
        """Return which functions cross zero between two values, in their direction."""
        up = np.logical_and(before <= 0, after >= 0)
        down = np.logical_and(before >= 0, after <= 0)
        return np.logical_or(
            np.logical_and(up, self.directions >= 0), np.logical_and(down, self.directions <= 0)
        )

    def ends(self, counts: Any) -> Any:
        """Return whether the numbers of crossings end the integration."""
        return np.any(np.logical_and(self.terminal > 0, counts >= np.maximum(self.terminal, 1)))


def _terminal(operation: str, event: Any) -> int:
    """Return after how many crossings an event ends the integration, 0 for never."""
    setting = getattr(event, "terminal", None)
    try:
        count = int(setting or 0)
    except (TypeError, ValueError):
        count = -1
    if count < 0 or count != (setting or 0):
        requirement = "the attribute terminal of an event must be True, False or a number of crossings"
        raise ArgumentError(message(operation, requirement, repr(setting)))
    return count


def _direction(operation: str, event: Any) -> float:
    setting = getattr(event, "direction", 0.0)
    if not isinstance(setting, (int, float, np.integer, np.floating)):
        requirement = "the attribute direction of an event must be 1 for upward, -1 for downward, or 0"
        raise ArgumentError(message(operation, requirement, repr(setting)))
    return float(setting)


class Place(NamedTuple):
    """The place of an event."""

    t: Any
    y: Any


def locate(function: Callable[..., Any], rows: Rows, row: Any) -> Place:
    """Return where a function crosses zero in a step, differentiable as an implicit function.

    The root is found by bisection without derivatives. From there two steps of Newton's method have the derivatives of
    the root, up to the second.
    """
    start, before, powers = rows.starts[row], rows.befores[row], rows.powers[row]
    length = rows.ends[row] - start

    def place(x: Any) -> Place:
        exponents = np.stack([x ** (m + 1) for m in range(shape_of(powers)[1])])
        return Place(start + x * length, before + powers @ exponents)

    def value(x: Any) -> Any:
        return function(*place(x))

    at_start = stop_gradient(value(0.0))

    def halve(_: Any, bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) / 2
        is_before = np.sign(stop_gradient(value(middle))) == np.sign(at_start)
        return where(is_before, middle, low), where(is_before, high, middle)

    # A function that is zero at the start of a step crosses there.
    low, high = fori_loop(0, _HALVINGS, halve, (0.0 * at_start, 0.0 * at_start + 1.0))
    x = stop_gradient(where(at_start == 0, 0.0, (low + high) / 2))
    for _ in range(2):
        now, slope = jvp(value, (x,), (1.0,))
        x = x - where(slope == 0, 0.0, now / where(slope == 0, 1.0, slope))
    return place(x)


class Found(NamedTuple):
    """The events of a solution."""

    times: list[Any]
    """For each function, the times of its crossings."""
    states: list[Any]
    """The states there, of shape (k, n)."""
    end: Any
    """The time of the event that ended the integration, or None; where values are not known, NaN for none."""
    has_ended: Any


def find(events: Events, rows: Rows, has_ended: Any, direction: Any) -> Found:
    """Return all crossings where they are known, and else those that may end the integration."""
    if not events.functions:
        return Found([], [], None, has_ended)
    crossed, turns = concrete(rows.crossed), concrete(rows.turns)
    if crossed is None or turns is None:
        return _last(events, rows, has_ended, direction)
    places: list[list[Place]] = []
    for number, function in enumerate(events.functions):
        crossing_rows = np.flatnonzero(np.asarray(crossed)[:turns, number])
        places.append([locate(function, rows, int(row)) for row in crossing_rows])
    end: Any = None
    if concrete(has_ended):
        counts = zip(places, events.terminal.tolist(), strict=True)
        ends: list[Any] = [
            crossings[most - 1].t for crossings, most in counts if most and len(crossings) >= most
        ]
        end = min(ends, key=lambda t: float(concrete(t) * concrete(direction)))
        limit = float(concrete(end) * concrete(direction))
        places = [
            [p for p in crossings if float(concrete(p.t) * concrete(direction)) <= limit]
            for crossings in places
        ]
    count = shape_of(rows.befores)[1]
    times = [np.stack([p.t for p in crossings]) if crossings else np.zeros(0) for crossings in places]
    states = [
        np.stack([p.y for p in crossings]) if crossings else np.zeros((0, count)) for crossings in places
    ]
    return Found(times, states, end, has_ended)


def _last(events: Events, rows: Rows, has_ended: Any, direction: Any) -> Found:
    if not np.all(events.terminal == 1):
        requirement = "a traced graph, and vmap, need events that end the integration at the first crossing"
        hint = "set event.terminal = True; only a call knows how many others there are"
        raise UnsupportedError(message("solve_ivp", requirement, hint=hint))
    row = np.maximum(rows.turns - 1, 0)
    crossed = np.logical_and(rows.crossed[row], has_ended)
    places = [locate(function, rows, row) for function in events.functions]
    late = [
        where(crossed[number], stop_gradient(place.t) * direction, np.inf)
        for number, place in enumerate(places)
    ]
    earliest = np.min(np.stack(late))
    is_first = [np.logical_and(crossed[number], time <= earliest) for number, time in enumerate(late)]
    times = [where(first, place.t, np.nan) for first, place in zip(is_first, places, strict=True)]
    states = [where(first, place.y, np.nan) for first, place in zip(is_first, places, strict=True)]
    end = times[0]
    for first, time in zip(is_first[1:], times[1:], strict=True):
        end = where(first, time, end)
    return Found(
        [np.reshape(t, (1,)) for t in times], [np.reshape(y, (1, -1)) for y in states], end, has_ended
    )
