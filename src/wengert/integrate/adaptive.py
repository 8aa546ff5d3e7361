"""Adaptive integration: the box with the largest error is split in two until the sum of the errors is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ops.comparison import where
from wengert.integrate.rules import EPSILON, Rule

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
        positive = [tolerance for tolerance in (self.absolute, self.relative) if tolerance > 0]
        return Tolerances(0.0, 0.0, max(self.of_size, min(positive, default=0.0)))


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

    The function takes points of shape (k, m, d) and returns values of shape (k, m, n). ``lows`` and ``highs`` are
    opposite corners of the boxes, of shape (r, m, d), of which there are at most ``limit``.
    """
    partition = _Partition(function, rule, shape_of(lows)[1:], tolerances)
    rows = partition.rows(lows, highs)
    flags = concrete(partition.is_done(rows))
    if flags is None or not np.all(flags):
        rows = while_loop(
            lambda state: (state["count"] < limit) & ~np.all(state["is_done"]),
            partition.split,
            partition.room(rows, limit),
        )
    value, error, _ = partition.sums(rows)
    return Outcome(value, error, partition.is_done(rows))


_ROWS = ("low", "high", "value", "error", "size", "axis")
"""The columns of the list of boxes: their corners, and an `Estimate` for each."""


class _Partition(NamedTuple):
    """A partition of a region into boxes, and its refinement; empty boxes are zero."""

    function: Callable[[Any], Any]
    rule: Rule
    shape: Shape
    """The numbers of examples and of axes."""
    tolerances: Tolerances

    def rows(self, lows: Any, highs: Any) -> dict[str, Any]:
        """Return the list of the first boxes."""
        return {"low": lows, "high": highs, **self._estimate(lows, highs)}

    def room(self, rows: dict[str, Any], limit: int) -> dict[str, Any]:
        """Return a list with room for all boxes, how many there are, and which examples are done."""
        count = shape_of(rows["low"])[0]
        wide = {
            name: np.concatenate([row, np.zeros((limit - count, *shape_of(row)[1:]), row.dtype)])
            for name, row in rows.items()
        }
        return {**wide, "count": np.int64(count), "is_done": self.is_done(rows)}

    def split(self, state: dict[str, Any]) -> dict[str, Any]:
        """Halve the box with the largest error of each example that is not done."""
        examples, axes = self.shape
        columns = np.arange(examples)
        _, _, bound = self.sums(state)
        badness = np.max(state["error"] / where(bound > 0, bound, 1.0), axis=-1)
        worst = np.argmax(badness, axis=0)
        before = {name: state[name][worst, columns] for name in _ROWS}
        low, high = before["low"], before["high"]
        middle = (low + high) / 2
        is_axis = before["axis"][:, None] == np.arange(axes)
        lows = np.stack([low, where(is_axis, middle, low)])
        highs = np.stack([where(is_axis, middle, high), high])
        halves = {"low": lows, "high": highs, **self._estimate(lows, highs)}
        following: dict[str, Any] = {}
        for name in _ROWS:
            rows, (left, right) = state[name], (halves[name][0], halves[name][1])
            # An example that is done keeps its boxes, and gets an empty one.
            stays = np.reshape(state["is_done"], (examples, *(1,) * (len(shape_of(left)) - 1)))
            rows[worst, columns] = where(stays, before[name], left)
            rows[state["count"]] = where(stays, 0 * before[name], right)
            following[name] = rows
        return {**following, "count": state["count"] + 1, "is_done": self.is_done(following)}

    def sums(self, state: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return the integrals, their errors, and the errors that are allowed."""
        value, error, size = (np.sum(state[name], axis=0) for name in ("value", "error", "size"))
        return value, error, self.tolerances.bound(value, size)

    def is_done(self, state: dict[str, Any]) -> Any:
        """Return whether the errors of each example are within the tolerances."""
        _, error, bound = self.sums(state)
        return np.all(error <= bound, axis=-1)

    def _estimate(self, lows: Any, highs: Any) -> dict[str, Any]:
        middle, half = (lows + highs) / 2, (highs - lows) / 2
        nodes = middle[:, None] + half[:, None] * self.rule.nodes[:, None, :]
        # Nodes lie inside of the box; rounding must not move one to an end, where the function may be infinite.
        low, high = np.minimum(lows, highs), np.maximum(lows, highs)
        nodes = np.clip(
            nodes, (low + EPSILON * np.abs(low))[:, None], (high - EPSILON * np.abs(high))[:, None]
        )
        rows, count = shape_of(lows)[0], len(self.rule.nodes)
        values = self.function(np.reshape(nodes, (rows * count, *self.shape)))
        values = np.reshape(values, (rows, count, self.shape[0], shape_of(values)[-1]))
        return self.rule.estimate(values, highs - lows)._asdict()
