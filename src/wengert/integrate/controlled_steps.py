"""Steps whose size follows an estimate of their error, as SciPy's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.control.scan_while import scan_while
from wengert.engine.core import tree
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import where
from wengert.integrate.problem import OPERATION, Problem, Tolerances
from wengert.integrate.solution import Rows
from wengert.integrate.steps import Method, Work


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
        self.system = problem.system._replace(allowed=tolerances.allowed, rtol=np.min(tolerances.rtol))
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
            "memory": self.method.remember(problem),
            "work": Work(*map(np.int64, self.method.begun)),
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
        tried = self.method.step(self.system, t, y, state["memory"], h, self.interpolates)
        control, before, after = self.method.controller, stop_gradient(y), stop_gradient(tried.y)
        squares = [self._square(before, after, error) for error in tried.errors]
        size, was_rejected = np.abs(stop_gradient(h)), state["is_rejected"]
        error = control.error(squares, max(shape_of(y)[0], 1), was_rejected)
        is_accepted = np.logical_and(np.logical_and(error < 1, tried.is_solved), np.logical_not(is_small))
        memory, factor = control.factor(tried, error, is_accepted, was_rejected, size, state["memory"])
        taken: dict[str, Any] = {"t": end, "y": tried.y, "memory": memory}
        chosen = functools.partial(where, is_accepted)
        following: dict[str, Any] = {name: tree.map_tree(chosen, x, state[name]) for name, x in taken.items()}
        more = zip(state["work"], tried.work, strict=True)
        following["work"] = Work(*(a + b for a, b in more)) if self.method.iterates else state["work"]
        following["size"] = size * factor
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

    def _square(self, before: Any, after: Any, error: Any) -> Any:
        """Return the sum of the squares of an error, relative to what is allowed."""
        scale = self.tolerances.allowed(np.maximum(np.abs(before), np.abs(after)))
        return np.sum(np.abs(stop_gradient(error) / scale) ** 2)

    def _first(self) -> Any:
        """Return a first step size (Hairer, Norsett and Wanner, section II.4)."""
        problem = self.problem
        start, y, slope = stop_gradient((problem.start, problem.y, problem.slope))
        length = np.abs(stop_gradient(problem.stop) - start)
        scale = self.tolerances.allowed(np.abs(y))
        d0, d1 = _root_mean_square(y / scale), _root_mean_square(slope / scale)
        is_tiny = np.logical_or(d0 < 1e-5, d1 < 1e-5)
        h0 = where(is_tiny, 1e-6, 0.01 * d0 / where(is_tiny, 1.0, d1))
        h0 = np.minimum(h0, length)
        if problem.system.has_mass:
            return np.minimum(h0, self.tolerances.max_step)
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
