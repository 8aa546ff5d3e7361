"""Directions of descent: limited-memory BFGS, and Newton's by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.control.scan import scan
from wengert.control.while_loop import while_loop
from wengert.ops.comparison import where
from wengert.optimize.descent import Point
from wengert.transforms.jacobians import hvp

_LEAST_CURVATURE = 1e-10
"""The least ``s . y / y . y`` of a step that updates the memory."""


class Memory(NamedTuple):
    """The last steps and the changes of the gradient, oldest first; a factor of 0 marks an empty place."""

    steps: Any
    changes: Any
    factors: Any
    """``1 / (s . y)``."""
    scale: Any
    """``s . y / y . y`` of the newest step."""


class LimitedMemory(NamedTuple):
    """The directions of L-BFGS (Nocedal, "Updating quasi-Newton matrices with limited storage", 1980)."""

    memory: int

    def begin(self, size: int) -> Memory:
        """Return an empty memory."""
        rows = np.zeros((self.memory, size))
        return Memory(rows, rows, np.zeros(self.memory), np.float64(1.0))

    def next(self, state: Memory, before: Point, point: Point, is_first: Any) -> tuple[Memory, Any]:
        """Return the memory with a step, and minus the inverse Hessian that it describes times the gradient."""
        step, change = point.x - before.x, point.gradient - before.gradient
        product, square = np.sum(step * change), np.sum(change * change)
        is_taken = ~is_first & (product > _LEAST_CURVATURE * square)
        factor = 1.0 / where(is_taken, product, 1.0)
        taken = Memory(
            _appended(state.steps, step, is_taken),
            _appended(state.changes, change, is_taken),
            _appended(state.factors, factor, is_taken),
            where(is_taken, product / where(is_taken, square, 1.0), state.scale),
        )
        return taken, -_inverse_product(taken, point.gradient)


def _appended(rows: Any, row: Any, is_taken: Any) -> Any:
    """Return rows without the oldest and with a new one, if it is taken."""
    return where(is_taken, np.concatenate([rows[1:], row[None]]), rows)


def _inverse_product(memory: Memory, gradient: Any) -> Any:
    """Return the inverse Hessian times a vector, by the recursion of two loops."""

    def back(q: Any, row: Any) -> tuple[Any, Any]:
        step, change, factor = row
        share = factor * np.sum(step * q)
        return q - share * change, share

    def forth(r: Any, row: Any) -> tuple[Any, None]:
        step, change, factor, share = row
        return r + (share - factor * np.sum(change * r)) * step, None

    rows = memory[:3]
    q, shares = scan(back, gradient, rows, reverse=True)
    return scan(forth, memory.scale * q, (*rows, shares))[0]


class Truncated(NamedTuple):
    """The directions of Newton's method by conjugate gradients, which end at a negative curvature.

    Nocedal and Wright, "Numerical Optimization", 2006, algorithm 7.1.
    """

    objective: Callable[[Any], Any]
    turns: int
    """The most steps of conjugate gradients."""

    def begin(self, size: int) -> Any:
        """Return the number of products with the Hessian."""
        return np.int64(0)

    def next(self, state: Any, before: Point, point: Point, is_first: Any) -> tuple[Any, Any]:
        """Return an approximate solution of ``H p = -g``."""
        product = hvp(self.objective)
        gradient = point.gradient
        square = np.sum(gradient * gradient)
        length = np.sqrt(square)
        enough = (np.minimum(0.5, np.sqrt(length)) * length) ** 2

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
