"""BDF of orders 1 to 5: a multistep method for stiff and differential-algebraic equations.

The backward differences ``D[1], ..., D[k]`` of the last states, at distances h, give the polynomial that predicts the
next one, and ``M (psi + d) = c f(t + h, predicted + d)`` corrects it by d, with ``c = h / alpha[k]`` and
``psi = sum_j gamma[j] D[j] / alpha[k]``. The constants are those of the numerical differentiation formulas (Shampine
and Reichelt, "The MATLAB ODE Suite", 1997). Where h changes, the differences become those of the same polynomial at
other distances (Byrne and Hindmarsh, 1975). After k + 1 steps of one size the errors of the orders k - 1, k and k + 1
choose the next order and size, as in SciPy's `BDF`. The Jacobian of the iteration is kept until it fails. The
derivative of d is that of its equation; those of the differences follow from it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.control.cond import cond
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import where
from wengert.integrate.jacobians import Solve
from wengert.integrate.newton import Found, defined, newton
from wengert.integrate.steps import Controller, Method, Step, System, Work
from wengert.numpy.selecting import take

_HIGHEST = 5
_ROWS = np.arange(1, _HIGHEST + 3)
"""The numbers of the differences: those of the polynomial, and two more for the errors of orders k and k + 1."""
_SHARES = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
_GAMMA = np.concatenate([[0], np.cumsum(1 / np.arange(1, _HIGHEST + 1))])
_ALPHA = np.append(1.0, (1 - _SHARES[1:]) * _GAMMA[1:])
_ERRORS = _SHARES * _GAMMA + 1 / np.arange(1, _HIGHEST + 2)
"""The factor of d, a difference of order k + 1, in the error of order k."""
_WEIGHTS = np.append(_GAMMA[1:], [0, 0])
_SUMS = np.triu(np.ones((len(_ROWS), len(_ROWS))))
_MOST_TURNS = 4
_DEGREES = np.arange(1.0, _HIGHEST + 1)


def _basis(points: Any) -> Any:
    """Return ``s (s + 1) ... (s + j - 1) / j!`` for j from 1 to 5, a row each, at points s."""
    row, rows = 1.0, list[Any]()
    for j in range(1, _HIGHEST + 1):
        row = row * (points + (j - 1)) / j
        rows.append(row)
    return np.stack(rows)


_SIGNED = _basis(-_DEGREES)
"""The binomial coefficients with signs, which turn values at 0, -h, -2 h, ... into backward differences."""
_DENSE = np.stack(
    [
        np.pad(np.poly(1.0 - np.arange(j))[-2::-1] / math.factorial(j), (0, _HIGHEST - j))
        for j in range(1, _HIGHEST + 1)
    ]
)
"""The coefficients of ``x, ..., x**5`` of the polynomial within a step, a row for each difference."""


class _Orders(Controller):
    """The rule for the size and the order of the next step."""

    def factor(
        self, tried: Step, error: Any, is_accepted: Any, was_rejected: Any, size: Any, memory: Any
    ) -> tuple[Any, Any]:
        """Return what the next step knows of this one, and how its size changes."""
        order, following = memory["order"], dict(tried.memory)
        safety = self.safety * (2 * _MOST_TURNS + 1) / (2 * _MOST_TURNS + tried.work.calls)
        errors = np.stack([following.pop("lower"), error, following.pop("higher")])
        is_usable = (errors > 0) & np.isfinite(errors)
        factors = where(is_usable, errors, 1.0) ** (-1 / (order + np.arange(3)))
        factors = where(is_usable, factors, where(errors == 0, np.inf, 0.0))
        equal = where(was_rejected, 0, memory["equal"]) + 1
        is_due = equal > order
        following["order"] = where(is_due, order + np.argmax(factors) - 1, order)
        following["equal"] = where(is_due, 0, equal)
        grown = where(is_due, np.minimum(self.most, safety * np.max(factors)), 1.0)
        shrunk = where(tried.is_solved, np.maximum(self.least, safety * factors[1]), 0.5)
        return following, where(is_accepted, grown, shrunk)


def _remember(problem: Any) -> dict[str, Any]:
    """Return the memory of a start: the slope is the first difference at the distance 1."""
    rest = np.zeros((len(_ROWS) - 1, *shape_of(problem.y)), problem.y.dtype)
    still = problem.system.stopped().equations
    return {
        "differences": np.concatenate([problem.slope[None], rest]),
        "h": np.float64(1.0),
        "order": np.int64(1),
        "equal": np.int64(0),
        "elements": stop_gradient(still.elements(*stop_gradient((problem.start, problem.y)))),
    }


def _step(system: System, t: Any, y: Any, memory: Any, h: Any, interpolates: bool) -> Step:
    # An example of `vmap` that has ended does not move.
    has_ended = h == 0
    h, order = where(has_ended, memory["h"], h), memory["order"]
    rows = _ROWS[:, None]
    past = _resampled(memory["differences"], order, h / memory["h"])
    known = where(rows <= order, past, 0.0)
    psi, predicted = take(1 / _ALPHA, order) * (_WEIGHTS @ known), y + np.sum(known, axis=0)
    shift = take(_ALPHA, order) / h
    values = (t + h, predicted, psi, shift)
    found, elements, attempts = _solved(system.stopped(), *stop_gradient(values), memory["elements"])
    # Of a step that is rejected the equations of the derivative are those of the start, which are regular.
    moves = found.is_solved & ~has_ended
    predicted, psi, d = where(moves, predicted, y), where(moves, psi, 0.0), where(moves, found.x, 0.0)
    d = where(moves, defined(system, d, _residual, _solver, t + h, predicted, psi, shift), 0.0)
    reached = predicted + d
    beyond = d - np.concatenate([0.0 * past[:1], past[:-1]])
    differences = _SUMS @ where(rows == order + 1, d, known) + where(rows == order + 2, beyond, 0.0)
    before, after = stop_gradient((y, reached))
    allowed = system.allowed(np.maximum(np.abs(before), np.abs(after)))

    def error(row: Any) -> Any:
        """Return the norm of the error of an order, from the difference of the next one."""
        size = np.abs(take(stop_gradient(differences), row, axis=0) / allowed)
        return take(_ERRORS, row) * np.sqrt(np.sum(size**2) / max(shape_of(y)[0], 1))

    powers = np.zeros((*shape_of(y), 0))
    if interpolates:
        powers = np.transpose(where(rows <= order, differences, 0.0)[:_HIGHEST]) @ _DENSE
    following = {
        "differences": differences,
        "h": h,
        "elements": elements,
        "lower": where(order > 1, error(order - 1), np.inf),
        "higher": where(order < _HIGHEST, error(np.minimum(order, _HIGHEST - 1) + 1), np.inf),
    }
    work = Work(found.turns, attempts - 1, attempts)
    return Step(reached, following, [take(_ERRORS, order) * d], powers, found.is_solved | has_ended, work)


def _resampled(differences: Any, order: Any, ratio: Any) -> Any:
    """Return the differences of the same polynomial at distances that have another ratio to those before."""
    is_known = _ROWS[:, None] <= order
    matrix = np.transpose(_basis(-ratio * _DEGREES) @ _SIGNED)
    moved = matrix @ where(is_known, differences, 0.0)[:_HIGHEST]
    return where(is_known, np.concatenate([moved, differences[_HIGHEST:]]), differences)


def _solved(
    system: System, t: Any, predicted: Any, psi: Any, shift: Any, kept: Any
) -> tuple[Found, Any, Any]:
    """Return d, the Jacobian with which the iteration came to it, and the number of iterations that were begun.

    The first one has the Jacobian that was kept, and the second that at the predicted state.
    """
    form, equations = system.equations.form, system.equations
    allowed = system.allowed(np.abs(predicted))

    def going(state: Any) -> Any:
        found, _, number = state
        return ~found.is_solved & (number < 2)

    def attempt(state: Any) -> Any:
        before, kept, number = state
        elements = cond(number == 0, lambda: kept, lambda: equations.elements(t, predicted))
        solve = form.solver(shift, elements)

        def change(d: Any) -> Any:
            return solve(_force(system, d, t, predicted, psi, shift))

        found = newton(system, change, 0.0 * predicted, allowed, _MOST_TURNS)
        return found._replace(turns=before.turns + found.turns), elements, number + 1

    none = 0.0 * np.sum(allowed)
    start = (Found(0.0 * predicted, np.False_, none, np.int64(0)), kept, np.int64(0))
    return stop_gradient(while_loop(going, attempt, start, most=2))


def _force(system: System, d: Any, t: Any, predicted: Any, psi: Any, shift: Any) -> Any:
    """Return what is left of the equations of a step, which is zero at their solution."""
    return system.rhs(t, predicted + d) - shift * system.equations.form.weighed(psi + d)


def _residual(*values: Any) -> Any:
    return -_force(*values)


def _solver(system: System, d: Any, t: Any, predicted: Any, psi: Any, shift: Any) -> Solve:
    equations = system.equations.of(system.rhs)
    return equations.form.solver(shift, equations.elements(t, predicted + d))


BDF = Method(
    order=_HIGHEST,
    error_order=1,
    evaluations=lambda _: 0,
    step=_step,
    is_implicit=True,
    controller=_Orders(1),
    iterates=True,
    remember=_remember,
    begun=Work(0, 1, 0),
)
