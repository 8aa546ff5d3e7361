"""`solve_dde`: delay differential equations by the method of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.control.scan import scan
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import require_end, where
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.integrate.fixed_steps import grid, state_of_start
from wengert.numpy.creation import asarray, zeros
from wengert.numpy.selecting import take


class DdeResult(NamedTuple):
    """The solution of a delay differential equation."""

    t: Any
    """The times, of shape (m,)."""
    y: Any
    """The states at these times, of shape (n, m)."""


@with_callbacks
def solve_dde(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    history: Callable[[Any], Any],
    delays: Sequence[Any],
    *,
    steps: int,
    t_eval: Any = None,
    args: Sequence[Any] = (),
) -> DdeResult:
    """Solve ``dy/dt = fun(t, y(t), [y(t - delay) for each delay])``, ``y(t) = history(t)`` up to t0.

    Equal steps of the classical Runge-Kutta method read the past by cubic Hermite interpolation (Bellen and Zennaro,
    "Numerical Methods for Delay Differential Equations", 2003). The order is 4 where each delay is a whole number of
    steps, so that the kinks at t0 plus multiples of the delays stand at the ends of steps. Derivatives are those of the
    steps: with respect to args, delays, both times and whatever the functions close over.

    Args:
        fun: ``(t, y, delayed, *args) -> dy/dt``; ``delayed`` has the shape (delays, n), a row for each delay.
        t_span: t0 and t1, t0 < t1.
        history: the state as a function of time up to t0, of shape (n,).
        delays: constant positive numbers, at least as long as a step.
        steps: the number of steps from t0 to t1.
        t_eval: the times of the results, in any order; by default the ends of the steps, t0 included.
        args: more arguments of ``fun``.

    Returns:
        The fields t and y.

    Raises:
        ArgumentError: there is no delay or no step; a known delay is shorter than a step; t_eval is outside of t_span.
        LimitError: a delay that only a call knows is shorter than a step.
        ShapeError: the results of the functions have the wrong shape.

    Example:
        >>> import wengert as wg
        >>> end = lambda delay: solve_dde(
        ...     lambda t, y, delayed: -delayed[0], (0, 1), lambda t: [1.0], [delay], steps=10
        ... ).y[0, -1]
        >>> print(round(end(0.5), 9), round(wg.grad(end)(0.5), 9))
        0.125 -0.5
    """
    if not len(delays):
        raise ArgumentError(message("solve_dde", "there must be a delay", hint="use solve_ivp"))
    edges = grid("solve_dde", t_span, steps, None)
    times = edges if t_eval is None else asarray(t_eval) * 1.0
    if t_eval is not None:
        grid("solve_dde", t_span, steps, t_eval)  # checks the times
    start, h = edges[0], (edges[steps] - edges[0]) / steps
    late = _checked([delay * 1.0 for delay in delays], h)
    first = state_of_start("solve_dde", history(start))
    past = _Past(history, start, h, shape_of(first)[0])

    def rhs(t: Any, y: Any, path: Any, slopes: Any, is_end: bool = True) -> Any:
        delayed = np.stack([past.at(t - delay, path, slopes, is_end) for delay in late])
        slope = asarray(fun(t, y, delayed, *args)) * 1.0
        if shape_of(slope) != shape_of(y):
            raise ShapeError(message("solve_dde", "fun must return the shape of y", show(slope, y)))
        return slope

    def step(state: Any, number: Any) -> Any:
        path, slopes = state
        t, y = start + number * h, path[number]
        k1 = rhs(t, y, path, slopes, is_end=False)
        k2 = rhs(t + h / 2, y + h / 2 * k1, path, slopes)
        k3 = rhs(t + h / 2, y + h / 2 * k2, path, slopes)
        k4 = rhs(t + h, y + h * k3, path, slopes)
        reached = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[number + 1] = reached
        slopes[number + 1] = rhs(t + h, reached, path, slopes)
        return (path, slopes), None

    shape = (steps + 1, shape_of(first)[0])
    path, slopes = zeros(shape), zeros(shape)
    path[0] = first
    slopes[0] = rhs(start, first, path, slopes, is_end=False)
    (path, slopes), _ = scan(step, (path, slopes), np.arange(steps))
    if t_eval is None:
        return DdeResult(times, path.T)
    return DdeResult(times, past.inside(times, path, slopes, is_end=True).T)


class _Past:
    """The solution up to now: the history, and the steps that were taken."""

    def __init__(self, history: Callable[[Any], Any], start: Any, h: Any, count: int) -> None:
        self._history = history
        self._start = start
        self._h = h
        self._count = count

    def at(self, t: Any, path: Any, slopes: Any, is_end: bool) -> Any:
        """Return the state at a time; between two pieces, with the derivative of that which ends or begins there."""
        place = self._place(t)
        is_history = place <= 0 if is_end else place < 0
        before = asarray(self._history(where(is_history, t, self._start))) * 1.0
        if shape_of(before) != (self._count,):
            raise ShapeError(message("solve_dde", "history must return a state", show(before)))
        return where(is_history, before, self.inside(t, path, slopes, is_end))

    def inside(self, t: Any, path: Any, slopes: Any, is_end: bool) -> Any:
        """Return the cubic that has the states and the derivatives of the step around a time, or several."""
        last = shape_of(path)[0] - 2
        place = self._place(t)
        row = np.ceil(place) - 1 if is_end else np.floor(place)
        row = np.clip(row, 0, last).astype(np.int64)
        x = np.reshape((t - self._start) / self._h - row, (*shape_of(row), 1))
        y0, y1 = (take(path, at, axis=0) for at in (row, row + 1))
        k0, k1 = (self._h * take(slopes, at, axis=0) for at in (row, row + 1))
        change = y1 - y0
        return y0 + x * (k0 + x * (3 * change - 2 * k0 - k1 + x * (k0 + k1 - 2 * change)))

    def _place(self, t: Any) -> Any:
        """Return a time as a number of steps, without the rounding error of a whole one."""
        place = stop_gradient((t - self._start) / self._h)
        whole: Any = np.floor(place + 0.5)
        return where(np.abs(place - whole) < _WHOLE, whole, place)


_WHOLE = 1e-9
"""The largest distance of a time from a whole number of steps that counts as one."""


def _checked(delays: Sequence[Any], h: Any) -> list[Any]:
    """Return the delays, or raise an error where one is shorter than a step."""
    requirement = "each delay must be at least as long as a step"
    checked: list[Any] = []
    for delay in delays:
        holds: Any = delay >= h * (1 - 1e-9)
        flags = concrete(holds)
        if flags is None:
            delay = require_end(delay, holds, operation="solve_dde", requirement=requirement)
        elif not np.all(flags):
            got = f"{concrete(delay)} for steps of {concrete(h)}"
            raise ArgumentError(message("solve_dde", requirement, got, "give more steps"))
        checked.append(delay)
    return checked
