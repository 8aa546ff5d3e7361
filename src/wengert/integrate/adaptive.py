"""Adaptive integration: the box with the largest error is split in two until the sum of the errors is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.control.while_loop import while_loop
from wengert.core.shapes import shape_of
from wengert.integrate.rules import EPSILON, Rule
from wengert.ops.comparison import where

_ROUNDING = 100 * EPSILON


class Tolerances(NamedTuple):
    """The largest error of each component of an integral: the largest of three bounds."""

    absolute: float
    relative: float
    """Relative to the integral."""
    of_size: float = _ROUNDING
    """Relative to the integral of the magnitude; rounding errors are allowed in any case."""

    def bound(self, value: Any, size: Any) -> Any:
        """Return the largest error."""
        bound = np.maximum(self.relative * np.abs(value), max(self.of_size, _ROUNDING) * size)
        return np.maximum(self.absolute, bound)

    @property
    def of_derivatives(self) -> Tolerances:
        """The tolerances of the integrals of derivatives, which may have any scale."""
        given = [tolerance for tolerance in (self.absolute, self.relative) if tolerance > 0]
        return Tolerances(0.0, 0.0, max(self.of_size, min(given, default=0.0)))


class Outcome(NamedTuple):
    """The integrals of m examples, of shape (m, n)."""

    value: Any
    error: Any
    is_done: Any
    """Whether the errors are within the tolerances, of shape (m,)."""


def integrate(
    function: Callable[[Any], Any], rule: Rule, lows: Any, highs: Any, limit: int, tolerances: Tolerances
) -> Outcome:
    """Integrate over the boxes of a partition, and split the worst of each example until the tolerances are met.

    Args:
        function: takes points of shape (k, m, d) and returns values of shape (k, m, n).
        rule: the rule for each box.
        lows: one corner of the boxes, of shape (r, m, d).
        highs: the opposite corner.
        limit: the largest number of boxes.
        tolerances: of each component.
    """
    count, examples, axes = shape_of(lows)
    columns = np.arange(examples)

    def estimate(lows: Any, highs: Any) -> Any:
        middle, half = (lows + highs) / 2, (highs - lows) / 2
        nodes = middle[:, None] + half[:, None] * rule.nodes[:, None, :]
        rows = shape_of(lows)[0]
        values = function(np.reshape(nodes, (rows * len(rule.nodes), examples, axes)))
        values = np.reshape(values, (rows, len(rule.nodes), examples, shape_of(values)[-1]))
        return rule.estimate(values, highs - lows)

    def room(rows: Any) -> Any:
        missing = (limit - count, *shape_of(rows)[1:])
        return np.concatenate([rows, np.zeros(missing, rows.dtype)])

    def sums(state: dict[str, Any]) -> tuple[Any, Any, Any]:
        value, error, size = (np.sum(state[name], axis=0) for name in ("value", "error", "size"))
        return value, error, tolerances.bound(value, size)

    def is_done(state: dict[str, Any]) -> Any:
        _, error, bound = sums(state)
        return np.all(error <= bound, axis=-1)

    def goes_on(state: dict[str, Any]) -> Any:
        return np.logical_and(state["count"] < limit, np.logical_not(np.all(state["is_done"])))

    def split(state: dict[str, Any]) -> dict[str, Any]:
        _, _, bound = sums(state)
        badness = np.max(state["error"] / where(bound > 0, bound, 1.0), axis=-1)
        worst = np.argmax(badness, axis=0)
        before = {name: state[name][worst, columns] for name in _ROWS}
        low, high = before["low"], before["high"]
        middle = (low + high) / 2
        is_axis = before["axis"][:, None] == np.arange(axes)
        after = {
            "low": np.stack([low, where(is_axis, middle, low)]),
            "high": np.stack([where(is_axis, middle, high), high]),
        }
        after.update(estimate(after["low"], after["high"])._asdict())
        following: dict[str, Any] = {}
        for name in _ROWS:
            rows, left, right = state[name], after[name][0], after[name][1]
            # An example that is done keeps its boxes, and gets an empty one.
            stays = np.reshape(state["is_done"], (examples, *(1,) * (np.ndim(left) - 1)))
            rows[worst, columns] = where(stays, before[name], left)
            rows[state["count"]] = where(stays, 0 * before[name], right)
            following[name] = rows
        return {**following, "count": state["count"] + 1, "is_done": is_done(following)}

    first = {"low": lows, "high": highs, **estimate(lows, highs)._asdict()}
    state = {name: room(rows) for name, rows in first.items()}
    state["count"] = np.int64(count)
    state["is_done"] = is_done(state)
    last = while_loop(goes_on, split, state)
    value, error, _ = sums(last)
    return Outcome(value, error, last["is_done"])


_ROWS = ("low", "high", "value", "error", "size", "axis")
"""The columns of the list of boxes."""
