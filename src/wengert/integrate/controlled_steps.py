"""Steps whose size follows an estimate of their error, as SciPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.control.scan_while import scan_while
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import where
from wengert.integrate.problem import OPERATION, Problem, Tolerances
from wengert.integrate.solution import Rows
from wengert.integrate.steps import Method

_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0
"""The share of the step size that the estimate allows, and the least and the largest factor of its change."""


class ControlledSteps:
    """Steps whose size follows an estimate of their error, as SciPy's."""

    def __init__(
        self,
        problem: Problem,
        method: Method,
        tolerances: Tolerances,
        interpolates: bool,
    ) -> None:
        self.problem = problem
        self.method = method
        self.tolerances = tolerances
        self.interpolates = interpolates

    def solve(self, max_steps: int) -> tuple[Rows, dict[str, Any]]:
        """Return the steps, and the last state."""
        problem = self.problem
        first = self.tolerances.first_step
        size = self._first() if first is None else first
        state = {
            "t": problem.start,
            "y": problem.y,
            "slope": problem.slope,
            "size": stop_gradient(size),
            "is_rejected": np.False_,
            "is_small": np.False_,
            "has_ended": np.False_,
            "watched": problem.events.values(problem.start, problem.y),
            "counts": np.zeros(len(problem.events.functions), np.int64),
        }

        def goes_on(state: dict[str, Any]) -> Any:
            before_end = problem.direction * (problem.stop - state["t"]) > 0
            return np.logical_and(
                before_end, np.logical_not(np.logical_or(state["is_small"], state["has_ended"]))
            )

        names = {"operation": OPERATION, "limit": "max_steps"}
        last, turns, rows = scan_while(goes_on, self._turn, state, most=max_steps, **names)
        return Rows(turns, *rows), last

    def _turn(self, state: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Try one step."""
        problem, t, y = self.problem, state["t"], state["y"]
        least: Any = 10 * np.finfo(np.float64).eps * np.abs(stop_gradient(t))
        size = where(state["is_rejected"], state["size"], np.maximum(state["size"], least))
        is_small: Any = size < least
        size = np.minimum(size, self.tolerances.max_step)
        end = t + size * problem.direction
        end = where(problem.direction * (end - problem.stop) >= 0, problem.stop, end)
        h: Any = end - t
        tried = self.method.step(problem.system, t, y, state["slope"], h, self.interpolates)
        error = self._norm(stop_gradient(y), stop_gradient(tried.y), tried.errors)
        is_accepted = np.logical_and(error < 1, np.logical_not(is_small))
        taken: dict[str, Any] = {"t": end, "y": tried.y, "slope": tried.slope}
        following: dict[str, Any] = {name: where(is_accepted, x, state[name]) for name, x in taken.items()}
        following["size"] = np.abs(stop_gradient(h)) * self._factor(error, is_accepted, state["is_rejected"])
        following["is_rejected"], following["is_small"] = np.logical_not(is_accepted), is_small
        crossed = self._watch(state, following, is_accepted)
        return following, (t, following["t"], y, following["y"], tried.powers, crossed)

    def _watch(self, state: dict[str, Any], following: dict[str, Any], is_accepted: Any) -> Any:
        """Return which events cross zero in a step, and note them in the state that follows."""
        events = self.problem.events
        values = events.values(following["t"], following["y"])
        crossed = np.logical_and(is_accepted, events.crossed(state["watched"], values))
        counts = state["counts"] + crossed
        following.update(watched=values, counts=counts, has_ended=events.ends(counts))
        return crossed

    def _norm(self, before: Any, after: Any, errors: Sequence[Any]) -> Any:
        """Return the norm of the error, relative to what is allowed."""
        scale = self._scale(np.maximum(np.abs(before), np.abs(after)))
        first, *others = (np.sum(np.abs(stop_gradient(error) / scale) ** 2) for error in errors)
        count = max(shape_of(before)[0], 1)
        if not others:
            return np.sqrt(first / count)
        whole = first + 0.01 * others[0]
        return first / np.sqrt(where(whole > 0, whole, 1.0) * count)

    def _scale(self, size: Any) -> Any:
        """Return the error that is allowed for each component of a state of a size."""
        return self.tolerances.atol + self.tolerances.rtol * size

    def _factor(self, error: Any, is_accepted: Any, was_rejected: Any) -> Any:
        exponent = -1 / (self.method.error_order + 1)
        is_usable = np.logical_and(error > 0, np.isfinite(error))
        factor = _SAFETY * where(is_usable, error, 1.0) ** exponent
        factor = where(is_usable, factor, where(error == 0, _MOST, _LEAST))
        most = where(was_rejected, 1.0, _MOST)
        return where(is_accepted, np.minimum(factor, most), np.maximum(factor, _LEAST))

    def _first(self) -> Any:
        """Return a first step size (Hairer, Norsett and Wanner, section II.4)."""
        problem = self.problem
        start, y, slope = stop_gradient((problem.start, problem.y, problem.slope))
        length = np.abs(stop_gradient(problem.stop) - start)
        scale = self._scale(np.abs(y))
        d0, d1 = _root_mean_square(y / scale), _root_mean_square(slope / scale)
        is_tiny = np.logical_or(d0 < 1e-5, d1 < 1e-5)
        h0 = where(is_tiny, 1e-6, 0.01 * d0 / where(is_tiny, 1.0, d1))
        h0 = np.minimum(h0, length)
        step = h0 * problem.direction
        after = stop_gradient(problem.system.rhs(start + step, y + step * slope))
        d2 = _root_mean_square((after - slope) / scale) / where(h0 > 0, h0, 1.0)
        largest = np.maximum(d1, d2)
        is_flat = largest <= 1e-15
        h1 = (0.01 / where(is_flat, 1.0, largest)) ** (1 / (self.method.error_order + 1))
        h1 = where(is_flat, np.maximum(1e-6, h0 * 1e-3), h1)
        return np.minimum(np.minimum(100 * h0, h1), np.minimum(length, self.tolerances.max_step))


def _root_mean_square(x: Any) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2) / max(shape_of(x)[0], 1))
