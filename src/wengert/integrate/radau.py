"""Radau IIA of order 5: an implicit Runge-Kutta method for stiff and differential-algebraic equations.

Hairer and Wanner, "Solving Ordinary Differential Equations II" (1996), section IV.8, with the choices of SciPy's
`Radau`. The three stages solve ``M sum_j inverse(A)[i, j] z[j] / h = f(t + c[i] h, y + z[i])`` and the step ends at
``y + z[2]``. A simplified Newton iteration with one Jacobian separates a real eigenvalue of inverse(A) from a pair,
which takes equations of twice the size in real numbers. The derivative of the stages is that of their equations, with
the Jacobian of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import where
from wengert.integrate.jacobians import Solve
from wengert.integrate.newton import Found, defined, newton
from wengert.integrate.steps import Controller, Method, Step, System, Work

_ROOT = 6**0.5
_NODES = [(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0]
_A = np.array(
    [
        [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
        [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
        [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
    ]
)
_INVERSE = np.linalg.inv(_A)
_REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
_ALPHA, _BETA = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)), 0.5 * (3 ** (5 / 6) + 3 ** (7 / 6))
"""The eigenvalues of inverse(A): a real one, and ``alpha - i beta`` with its conjugate."""
_T = np.array(
    [
        [0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
        [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
        [1, 1, 0],
    ]
)
_TI = np.linalg.inv(_T)
_ERROR = np.array([-13 - 7 * _ROOT, -13 + 7 * _ROOT, -1]) / 3
_DENSE = np.linalg.solve(np.power.outer(_NODES, [1, 2, 3]), np.eye(3)).T
"""The cubic through the state and the stages: ``z.T @ dense`` are its coefficients."""
_MOST_TURNS = 6


class _Predictive(Controller):
    """Gustafsson's predictive controller (1994), whose memory is the size and the error of the last step taken."""

    def error(self, squares: Sequence[Any], count: int, was_rejected: Any) -> Any:
        """Return the norm of the error; after a rejection the second estimate filters what is too large."""
        first, second = (np.sqrt(square / count) for square in squares)
        return where(np.logical_and(was_rejected, first >= 1), second, first)

    def factor(
        self, tried: Step, error: Any, is_accepted: Any, was_rejected: Any, size: Any, memory: Any
    ) -> tuple[Any, Any]:
        """Return what the next step knows of this one, and how its size changes."""
        is_usable = np.logical_and(error > 0, np.isfinite(error))
        norm = where(is_usable, error, 1.0)
        has_last = np.logical_and(memory["size"] > 0, is_usable)
        ratio = (
            size
            / where(has_last, memory["size"], 1.0)
            * (where(has_last, memory["error"], 1.0) / norm) ** 0.25
        )
        factor = np.minimum(1.0, where(has_last, ratio, 1.0)) * norm ** (-1 / (self.order + 1))
        factor = where(is_usable, factor, where(error == 0, np.inf, 0.0))
        turns = tried.work.calls
        safety = self.safety * (2 * _MOST_TURNS + 1) / (2 * _MOST_TURNS + turns / 3)
        grown = np.minimum(self.most, safety * factor)
        is_slow = np.logical_and(turns > 2 * 3, tried.memory["rate"] > 1e-3)
        grown = where(np.logical_and(grown < 1.2, np.logical_not(is_slow)), 1.0, grown)
        shrunk = where(tried.is_solved, np.maximum(self.least, safety * factor), 0.5)
        following = {**tried.memory, "error": norm, "size": where(is_usable, size, 0.0)}
        return following, where(is_accepted, grown, shrunk)


def _remember(problem: Any) -> dict[str, Any]:
    y, none = problem.y, np.float64(0.0)
    powers = np.zeros((*shape_of(y), 3), dtype_of(y))
    return {
        "slope": stop_gradient(problem.value),
        "powers": powers,
        "error": none,
        "size": none,
        "rate": none,
        "h": none,
    }


def _step(system: System, t: Any, y: Any, memory: Any, h: Any, interpolates: bool) -> Step:
    # An example of `vmap` that has ended does not move.
    has_ended = h == 0
    h = where(has_ended, 1.0, h)
    stages, solve = _solved(system.stopped(), *stop_gradient((t, y)), memory, stop_gradient(h))
    # Of a step that is rejected the equations of the derivative are those of the start, which are regular.
    z = defined(system, where(stages.is_solved, stages.x, 0.0), _residual, _solver, t, y, h)
    z = where(has_ended, 0.0, z)
    powers = np.transpose(z) @ _DENSE
    reached = y + z[2]
    still = system.stopped()
    found, at, length = stop_gradient((z, reached, h))
    bent = system.equations.form.weighed(_ERROR @ found) / length
    error = solve(memory["slope"] + bent)
    start = stop_gradient((t, y))
    second = solve(still.rhs(start[0], start[1] + error) + bent)
    slope = still.rhs(start[0] + length, at)
    following = {"slope": slope, "powers": powers, "rate": stages.rate, "h": length}
    following = {name: stop_gradient(x) for name, x in following.items()}
    return Step(
        reached,
        following,
        [error, second],
        powers if interpolates else np.zeros((*shape_of(y), 0)),
        np.logical_or(stages.is_solved, has_ended),
        Work(3 * stages.turns, 1, 2),
    )


def _solved(system: System, t: Any, y: Any, memory: Any, h: Any) -> tuple[Found, Solve]:
    """Return the stages, and the solution of the first equations."""
    form = system.equations.form
    elements = stop_gradient(system.equations.elements(t, y))
    one = form.solver(_REAL / h, elements)
    pair = form.coupled([[_ALPHA / h, _BETA / h], [-_BETA / h, _ALPHA / h]], [elements, elements])
    # The last step's polynomial, continued, is the first guess.
    x = 1 + np.array(_NODES) * h / where(memory["h"] == 0, 1.0, memory["h"])
    powers = np.stack([x**degree for degree in (1, 2, 3)]) - 1.0
    z = where(memory["h"] == 0, 0.0, np.transpose(memory["powers"] @ powers))

    def change(w: Any) -> Any:
        z = _T @ w
        slopes = np.stack([system.rhs(t + node * h, y + z[i]) for i, node in enumerate(_NODES)])
        right, weighed = _TI @ slopes, form.weighed(w) / h
        first = one(right[0] - _REAL * weighed[0])
        coupled = np.stack(
            [_ALPHA * weighed[1] + _BETA * weighed[2], _ALPHA * weighed[2] - _BETA * weighed[1]]
        )
        return np.concatenate([first[None], pair(right[1:] - coupled)])

    found = newton(system, change, _TI @ z, system.allowed(np.abs(y)), _MOST_TURNS)
    return found._replace(x=_T @ found.x), one


def _residual(system: System, z: Any, t: Any, y: Any, h: Any) -> Any:
    slopes = np.stack([system.rhs(t + node * h, y + z[i]) for i, node in enumerate(_NODES)])
    return system.equations.form.weighed(_INVERSE @ z) / h - slopes


def _solver(system: System, z: Any, t: Any, y: Any, h: Any) -> Solve:
    equations = system.equations.of(system.rhs)
    elements = [equations.elements(t + node * h, y + z[i]) for i, node in enumerate(_NODES)]
    return equations.form.coupled([[weight / h for weight in row] for row in _INVERSE.tolist()], elements)


RADAU = Method(
    order=5,
    error_order=3,
    evaluations=lambda _: 2,
    step=_step,
    is_implicit=True,
    controller=_Predictive(3),
    iterates=True,
    remember=_remember,
)
