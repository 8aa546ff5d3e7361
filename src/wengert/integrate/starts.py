"""Consistent initial values of ``M y' = f(t, y)`` of index 1, and the derivative there.

With ``K = M`` in the rows of differential equations and ``K = - df/dy`` in those of algebraic ones, the system has
index 1 where K is regular. Newton's method ``K dy = f`` in the algebraic rows, 0 in the others, keeps ``M y``; and
``K y' = f``, ``df/dt`` in the algebraic rows, is the derivative (Brown, Hindmarsh and Petzold, "Consistent initial
condition calculation for differential-algebraic systems", 1998).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.forward_mode import jvp
from wengert.implicit.certificates import generic, largest
from wengert.integrate.arguments import required
from wengert.integrate.jacobians import Dense, Solve
from wengert.integrate.masses import Mass
from wengert.integrate.problem import OPERATION
from wengert.integrate.steps import System

_MOST_TURNS, _LEAST_SHARE = 50, 1e-6
_NEAR = 1e-2
"""The Newton step at the end of the iteration, relative to the tolerances; two more steps follow."""
_RADII = (1e4, 1.0, 0.1)
"""How far from the end, relative to the tolerances, the equations may have to be like their derivative."""
_BEND = 0.5
_DIGITS = 1e-4
"""The largest error of a solution with K for a move of the size of the tolerances: else K counts as singular."""
_FARTHEST = _DIGITS / float(np.finfo(np.float64).eps)
"""The largest condition number with so many digits."""
_NOISE = 64 * float(np.finfo(np.float64).eps)
"""The largest rounding error of an element of a combined Jacobian, relative to its terms."""
_INDEX = (
    "the equations must have index 1: M, with the rows of the Jacobian in place of those of the algebraic equations, "
    "must be regular"
)
_INDEX_HINT = "differentiate the constraints by the time until they determine the algebraic unknowns"


def consistent_start(system: System, mass: Mass, t: Any, y0: Any) -> tuple[Any, Any]:
    """Return the consistent values near y0 with the same ``M y``, and the derivative there.

    The iteration has no derivatives: the two steps of Newton's method that follow have those of the values, up to the
    third.
    """
    try:
        y = _Start(system, mass, t, y0).values() if np.any(mass.is_algebraic) else y0
        return _Start(system, mass, t, y0).with_slope(y)
    except np.linalg.LinAlgError:
        raise ArgumentError(message(OPERATION, _INDEX, "a singular matrix", _INDEX_HINT)) from None


class _Start:
    """The equations of the initial values."""

    def __init__(self, system: System, mass: Mass, t: Any, y0: Any) -> None:
        self._system, self._mass, self._t, self._y0 = system, mass, t, y0
        self._form = system.equations.form
        self._flags = mass.is_algebraic

    def values(self) -> Any:
        """Return the consistent values."""
        stopped = _Start(self._system.stopped(), self._mass, *stop_gradient((self._t, self._y0)))
        y = stopped.near()
        for _ in range(2):
            y = y + self._solver(y)(self._residual(y))
        return y

    def near(self) -> Any:
        """Return values that are consistent beside the tolerances, without derivatives, or raise an error."""

        def size(step: Any, y: Any) -> Any:
            return stop_gradient(largest(step / np.maximum(self._system.allowed(np.abs(y)), 1e-300)))

        def going(state: Any) -> Any:
            _, left, share, turn = state
            return ~(left <= _NEAR) & (share >= _LEAST_SHARE) & (turn < _MOST_TURNS)

        def turn(state: Any) -> Any:
            y, _, _, number = state
            solve = self._solver(y)
            step = stop_gradient(solve(self._residual(y)))
            first = size(step, y)

            def left(share: Any) -> Any:
                there = y + share * step
                return size(solve(self._residual(there)), y)

            def is_long(trial: Any) -> Any:
                share, reached = trial
                return ~(reached <= (1 - share / 4) * first) & (share >= _LEAST_SHARE)

            def halved(trial: Any) -> Any:
                return trial[0] / 2, left(trial[0] / 2)

            share, reached = while_loop(is_long, halved, (1.0, left(1.0)), most=_MOST_TURNS)
            return y + share * step, reached, share, number + 1

        solve = self._solver(self._y0)
        first = size(solve(self._residual(self._y0)), self._y0)
        y, left, _, _ = while_loop(going, turn, (self._y0, first, 1.0, np.int64(0)), most=_MOST_TURNS + 1)
        solve, at = self._solver(y), self._system.allowed(np.abs(y))
        is_root: Any = np.bool_(False)
        for radius in _RADII:
            move = radius * at * generic(y)
            bend = size(solve(self._residual(y + move) - self._residual(y)) + move, y)
            is_root = is_root | (bend <= _BEND * radius)
        text = "Newton's method must find consistent initial values near y0: values that solve the algebraic equations"
        known = concrete(left)
        got = "" if known is None else f"a step of {np.max(known):.3g} tolerances at the end"
        hint = "give algebraic components nearer to a solution; where it is multiple, the index is above 1"
        return stop_gradient(required(OPERATION, y, is_root & (left <= _NEAR), text, got, hint))

    def with_slope(self, y: Any) -> tuple[Any, Any]:
        """Return consistent values and the derivative there, or raise an error where the index is not 1."""
        solve = self._solver(y)
        scale = self._system.allowed(np.abs(stop_gradient(y)))
        probe = generic(y) * where(scale > 0, scale, 1.0)
        elements = self._elements(y)
        product = self._form.product(elements)
        image, other = (stop_gradient(self._form.weighed(x) - product(x)) for x in (probe, np.abs(probe)))
        # A move and back, and right-hand sides outside of what a singular K reaches.
        error = np.abs(stop_gradient(solve(image)) - probe)
        reach = np.abs(stop_gradient(solve(generic(y) * (np.abs(image) + np.abs(other)))))
        is_regular = np.all(error <= _DIGITS * np.abs(probe)) & np.all(reach <= _FARTHEST * np.abs(probe))
        y = required(OPERATION, y, is_regular, _INDEX, "a singular matrix", _INDEX_HINT)
        _, in_time = jvp(lambda t: self._system.rhs(t, y), (self._t * 1.0,), (1.0,))
        return y, solve(where(self._flags, in_time, self._system.rhs(self._t, y)))

    def _elements(self, y: Any) -> Any:
        elements, left = self._system.equations.elements(self._t, y), self._mass.left
        if left is not None and isinstance(self._form, Dense):
            # What cancels where equations are combined is zero, not a rounding error that would count as regular.
            size = np.abs(left) @ np.abs(np.linalg.inv(left) @ stop_gradient(elements))
            elements = where(np.abs(stop_gradient(elements)) <= _NOISE * size, 0.0, elements)
        return self._form.rows(self._flags, elements)

    def _solver(self, y: Any) -> Solve:
        """Return the solution of equations with K; in a program with a check, whose error says what it says outside."""
        elements = self._elements(y)
        if not isinstance(self._form, Dense) or concrete(elements) is not None:
            return self._form.solver(1.0, elements)
        matrix = self._form.matrix(1.0, elements)
        is_regular = np.linalg.slogdet(stop_gradient(matrix))[0] != 0  # the sign is 0 where a pivot is
        matrix = where(is_regular, matrix, np.eye(shape_of(matrix)[0]))

        linalg: Any = np.linalg

        def solve(b: Any) -> Any:
            return linalg.solve(matrix, required(OPERATION, b, is_regular, _INDEX, hint=_INDEX_HINT))

        return solve

    def _residual(self, y: Any) -> Any:
        return where(self._flags, self._system.rhs(self._t, y), self._form.weighed(self._y0 - y))
