"""The result of a solver: the solution at times, and as a function of time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.while_loop import fori_loop
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import require_end, where
from wengert.numpy.selecting import take


class OdeResult(NamedTuple):
    """The solution of an initial value problem, with the fields of SciPy's result."""

    t: Any
    """The times, of shape (m,)."""
    y: Any
    """The states at these times, of shape (n, m)."""
    sol: Any
    """The solution as a function of time, or None."""
    t_events: Any
    """The times of the crossings of each event function, or None."""
    y_events: Any
    """The states there, of shape (k, n) for each."""
    nfev: Any
    """The number of evaluations of the right-hand side."""
    njev: Any
    """The number of Jacobians."""
    nlu: Any
    """The number of matrices that were factorised."""
    status: Any
    """0: the end was reached. 1: an event ended the integration. -1: a step failed."""
    message: str
    success: bool


class Rows(NamedTuple):
    """The steps that were tried, a row each; rows behind the last turn are not specified."""

    turns: Any
    """The number of rows that count."""
    starts: Any
    ends: Any
    """Where a step ended; where it began, if it was rejected."""
    befores: Any
    """The state at the beginning, of shape (rows, n)."""
    afters: Any
    powers: Any
    """``y = before + sum_m powers[:, m] x**(m + 1)`` for x from 0 to 1, of shape (rows, n, degree)."""
    crossed: Any
    """Which event functions cross zero in a step, of shape (rows, events)."""

    def required(self, holds: Any) -> Rows:
        """Return the steps, or have the program raise an error if the step size became too small."""
        return self._replace(turns=require_step(self.turns, holds))


def require_step(x: Any, holds: Any) -> Any:
    """Return a value, or have the program raise an error if the step size became too small."""
    requirement = (
        "the step size must stay above the distance of numbers; the solution may have a singularity, or be stiff: "
        'try method="Rodas5P"'
    )
    return require_end(x, holds, operation="solve_ivp", requirement=requirement)


class DenseOutput:
    """The solution as a function of time: ``sol(t)``, for a number or an array of times.

    Args:
        start: the time of the first state.
        first: this state.
        slope: its derivative. The solution is a line where no step was taken, at the start.
        direction: 1 or -1.
        rows: the steps.
    """

    def __init__(self, start: Any, first: Any, slope: Any, direction: Any, rows: Rows) -> None:
        self._start = start
        self._first = first
        self._slope = slope
        self._direction = direction
        self._rows = rows

    @property
    def end(self) -> Any:
        """The time up to which there is a solution."""
        turns = self._rows.turns
        return self._rows.ends[turns - 1] if concrete(turns) != 0 else self._start

    def __call__(self, t: Any) -> Any:
        """Return the states at times: of shape (n,) for a number, (n, m) for m times."""
        times = np.reshape(t * 1.0, (-1,))
        rows = self._rows
        at_start = self._first + (times - self._start)[:, None] * self._slope
        if concrete(rows.turns) == 0:
            y = at_start
        else:
            place = self._places(times)
            start, end = take(rows.starts, place), take(rows.ends, place)
            length = end - start
            x = (times - start) / where(length == 0, 1.0, length)
            degree = shape_of(rows.powers)[2]
            powers = np.stack([x ** (m + 1) for m in range(degree)], axis=-1)
            moved = np.sum(take(rows.powers, place, axis=0) * powers[:, None, :], axis=-1)
            is_empty = np.logical_or(rows.turns == 0, length == 0)
            y = where(is_empty[:, None], at_start, take(rows.befores, place, axis=0) + moved)
        return y.T if np.ndim(t) else y[0]

    def _places(self, times: Any) -> Any:
        """Return the first row that ends at or behind each time, by bisection."""
        rows, direction = self._rows, self._direction
        count = shape_of(rows.ends)[0]
        zeros = np.zeros(shape_of(times), np.int64)

        def halve(_: Any, bounds: Any) -> Any:
            low, high = bounds
            middle = (low + high) // 2
            is_behind = direction * take(rows.ends, middle) < direction * times
            is_searching = low < high
            return (
                where(np.logical_and(is_searching, is_behind), middle + 1, low),
                where(np.logical_and(is_searching, np.logical_not(is_behind)), middle, high),
            )

        bounds = zeros, zeros + np.maximum(rows.turns - 1, 0)
        low, _ = fori_loop(0, count.bit_length(), halve, bounds)
        return low
