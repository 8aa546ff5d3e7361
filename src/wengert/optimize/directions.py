"""Directions of descent: limited-memory BFGS, and Newton's by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.control.scan import scan
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.jacobians import hvp
from wengert.implicit.certificates import largest
from wengert.optimize.descent import Point

_LEAST_CURVATURE = 1e-10
"""The least ``s . y / y . y`` of a step that updates the memory."""


_EXACT = 1e-8


class Memory(NamedTuple):
    """The last steps and the changes of the gradient; a factor of 0 marks an empty row."""

    steps: Any
    changes: Any
    factors: Any
    """``1 / (s . y)``."""
    scale: Any
    """``s . y / y . y`` of the newest step."""
    place: Any
    """The free row of a ring, behind the newest one; None where the rows are in order, the newest last."""


class LimitedMemory(NamedTuple):
    """The directions of L-BFGS (Nocedal, "Updating quasi-Newton matrices with limited storage", 1980).

    In a ring a step writes one row. The examples of a batch take their steps at different times, so that each would
    read its own rows: there all rows move instead, which costs less.
    """

    memory: int
    is_ring: bool

    @property
    def is_newtons(self) -> bool:
        """Whether a short direction says that a minimum is near: a valley of the last steps hides the rest."""
        return False

    def begin(self, size: int) -> Memory:
        """Return an empty memory."""
        count = self.memory + self.is_ring
        rows, place = np.zeros((count, size)), np.int64(0) if self.is_ring else None
        return Memory(rows, rows, np.zeros(count), np.float64(1.0), place)

    def next(self, state: Memory, before: Point, point: Point, is_first: Any) -> tuple[Memory, Any]:
        """Return the memory with a step, and minus the inverse Hessian that it describes times the gradient."""
        step, change = point.x - before.x, point.gradient - before.gradient
        product, square = np.sum(step * change), np.sum(change * change)
        is_taken = ~is_first & (product > _LEAST_CURVATURE * square)
        factor = 1.0 / where(is_taken, product, 1.0)
        place = state.place
        taken = Memory(
            _with_row(state.steps, step, place, is_taken),
            _with_row(state.changes, change, place, is_taken),
            _with_row(state.factors, factor, place, is_taken),
            where(is_taken, product / where(is_taken, square, 1.0), state.scale),
            where(is_taken, where(place == self.memory, 0, place + 1), place) if self.is_ring else None,
        )
        return taken, -self._inverse_product(taken, point.gradient)

    def _inverse_product(self, memory: Memory, gradient: Any) -> Any:
        """Return the inverse Hessian times a vector, by the recursion of two loops."""
        steps, changes, factors, scale, place = memory

        def back(q: Any, age: Any) -> tuple[Any, Any]:
            row = self._row(place, age)
            share = factors[row] * np.sum(steps[row] * q)
            return q - share * changes[row], share

        def forth(r: Any, aged: Any) -> tuple[Any, None]:
            age, share = aged
            row = self._row(place, age)
            return r + (share - factors[row] * np.sum(changes[row] * r)) * steps[row], None

        ages = np.arange(self.memory)
        q, shares = scan(back, gradient, ages)
        return scan(forth, scale * q, (ages, shares), reverse=True)[0]

    def _row(self, place: Any, age: Any) -> Any:
        """Return where a step is, by the number of steps after it."""
        if not self.is_ring:
            return self.memory - 1 - age
        row = place - 1 - age
        return where(row < 0, row + self.memory + 1, row)


def _with_row(rows: Any, row: Any, place: Any, is_taken: Any) -> Any:
    """Return rows with a new one: in the free place, or in order and without the oldest, if it is taken."""
    if place is None:
        return where(is_taken, np.concatenate([rows[1:], row[None]]), rows)
    rows = rows.copy()
    rows[place] = row
    return rows


class Truncated(NamedTuple):
    """The directions of Newton's method by conjugate gradients, which end at a negative curvature.

    Nocedal and Wright, "Numerical Optimization", 2006, algorithm 7.1.
    """

    objective: Callable[[Any], Any]
    turns: int
    """The most steps of conjugate gradients."""
    gtol: float
    """The gradient from which on a step is solved for to ``_EXACT``, so that its length tells how far the end is."""

    @property
    def is_newtons(self) -> bool:
        """Whether a short direction says that a minimum is near."""
        return True

    def begin(self, size: int) -> Any:
        """Return the number of products with the Hessian."""
        return np.int64(0)

    def next(self, state: Any, before: Point, point: Point, is_first: Any) -> tuple[Any, Any]:
        """Return an approximate solution of ``H p = -g``."""
        product = hvp(self.objective)
        gradient = point.gradient
        square = np.sum(gradient * gradient)
        length = np.sqrt(square)
        share = where(largest(gradient) <= self.gtol, _EXACT, np.minimum(0.5, np.sqrt(length)))
        enough = (share * length) ** 2

        def is_going(now: _Conjugate) -> Any:
            return (now.square > enough) & (now.turn < self.turns) & ~now.is_over

        def turn(now: _Conjugate) -> _Conjugate:
            image = product(point.x, now.direction)
            curvature = np.sum(now.direction * image)
            is_over = curvature <= _LEAST_CURVATURE * np.sum(now.direction * now.direction)
            step = where(is_over, where(now.turn > 0, 0.0, 1.0), now.square / where(is_over, 1.0, curvature))
            residual = now.residual + step * image
            square = np.sum(residual * residual)
            return _Conjugate(
                now.solution + step * now.direction,
                residual,
                square / now.square * now.direction - residual,
                square,
                now.turn + 1,
                is_over,
            )

        first = _Conjugate(0.0 * gradient, gradient, -gradient, square, np.int64(0), np.bool_(False))
        last = while_loop(is_going, turn, first)
        return state + last.turn, last.solution


class _Conjugate(NamedTuple):
    """The state of conjugate gradients for ``H p = -g``, with the residual ``H p + g``."""

    solution: Any
    residual: Any
    direction: Any
    square: Any
    turn: Any
    is_over: Any
