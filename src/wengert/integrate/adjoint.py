"""The continuous adjoint: the derivatives of a solution solve a differential equation that runs back to the start.

For ``dy/dt = f(t, y, p)`` and a loss of the states at some times, ``a = d loss / d y(t)`` solves ``da/dt = - f_y^T a``
backward, jumps by the cotangents at these times, and ``d loss / d p`` is the integral of ``f_p^T a``. The states come
from the interpolated solution, so the equation is as stable as the problem. The integral does not bound the steps, as
in CVODES (Hindmarsh et al., "SUNDIALS", 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.control.custom_derivatives import custom_vjp
from wengert.engine.control.scan import scan
from wengert.engine.control.values import strong
from wengert.engine.core.dtypes import FLOAT64, dtype_of
from wengert.engine.core.errors import UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.shapes import size as size_of
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.reverse_mode import vjp
from wengert.engine.transforms.staging import evaluate, stage
from wengert.integrate.problem import OPERATION, Problem, Tolerances, direction_of
from wengert.integrate.solution import DenseOutput, Rows
from wengert.integrate.steps import Work

Integrate = Callable[..., tuple[Rows, Any]]
"""``(rhs, span, y, tolerances, interpolates) -> (rows, state of the loop at the end)``: take the steps of a problem."""
_FLOOR = 1e-3
"""The absolute tolerance of the adjoint, whose largest jump is 1, relative to its relative one."""


def states_by_adjoint(
    problem: Problem, times: Any, tolerances: Tolerances, integrate: Integrate
) -> tuple[Any, Any, Work]:
    """Return the states at times, whose derivatives come from the adjoint equation, the steps, and their work."""
    if dtype_of(problem.y).kind == "c":
        hint = "solve for the real and the imaginary part, or leave adjoint out"
        raise UnsupportedError(message(OPERATION, "the continuous adjoint needs a real state", hint=hint))
    types = [TensorType(FLOAT64, ()), strong(type_of(problem.y))]
    graph, captured = stage(lambda t, y: [problem.system.rhs(t, y)], types, OPERATION)

    def rhs_of(constants: Sequence[Any]) -> Callable[[Any, Any], Any]:
        return lambda t, y: evaluate(graph, *constants, t, y)[0]

    def forward(y: Any, start: Any, stop: Any, times: Any, *constants: Any) -> Any:
        rows, last = integrate(rhs_of(constants), (start, stop), y, tolerances, True)
        slope, direction = rhs_of(constants)(start, y), direction_of(start, stop)
        states = DenseOutput(start, y, slope, direction, rows)(times)
        results = states, rows.turns, *last["work"]
        return results, (rows, states, y, start, slope, direction, times, constants)

    def backward(residuals: Any, cotangents: Any) -> Any:
        rows, states, y, start, slope, direction, times, constants = residuals
        path = DenseOutput(start, y, slope, direction, Rows(*rows))
        adjoint = _Adjoint(rhs_of, constants, path, shape_of(y)[0])
        share = cotangents[0]
        scale = np.max(np.abs(share)) if size_of(shape_of(share)) else 0.0
        scale = where(scale == 0, 1.0, scale)
        first, moved = adjoint.back(start, times, share / scale, tolerances, integrate)
        rhs = rhs_of(constants)
        slopes = scan(lambda _, row: (None, rhs(*row)), None, (times, states.T))[1]
        of_times = np.sum(share * slopes.T, axis=0)
        return scale * first, -scale * (first @ slope), None, of_times, *adjoint.spread(moved, scale)

    def value(*values: Any) -> Any:
        return forward(*values)[0]

    value.__name__ = "solve_ivp with the continuous adjoint"  # for errors: forward mode has no rule
    solution = custom_vjp(value)
    solution.defvjp(forward, backward)
    states, turns, *work = solution(problem.y, problem.start, problem.stop, times, *captured)
    return states, turns, Work(*work)


class _Adjoint(NamedTuple):
    """The adjoint equation of a solution."""

    rhs_of: Callable[[Sequence[Any]], Callable[[Any, Any], Any]]
    constants: Sequence[Any]
    """What the right-hand side closes over."""
    solution: DenseOutput
    size: int
    """The number of components of the state."""

    @property
    def moving(self) -> list[int]:
        """The constants that have derivatives."""
        return [place for place, x in enumerate(self.constants) if dtype_of(x).kind == "f"]

    def rhs(self, t: Any, z: Any) -> Any:
        """Return the derivative of the adjoint, and of the integrals after it."""
        moving = self.moving

        def slope(y: Any, *values: Any) -> Any:
            constants = list(self.constants)
            for place, value in zip(moving, values, strict=True):
                constants[place] = value
            return self.rhs_of(constants)(t, y)

        _, pull = vjp(slope, self.solution(t), *(self.constants[place] for place in moving))
        return -np.concatenate([np.reshape(part, (-1,)) for part in pull(z[: self.size])])

    def back(
        self,
        start: Any,
        times: Any,
        shares: Any,
        tolerances: Tolerances,
        integrate: Integrate,
    ) -> tuple[Any, Any]:
        """Return the adjoint at the start, and the integrals, from the jumps at some times."""
        more = sum(size_of(shape_of(self.constants[place])) for place in self.moving)
        whole = self.size + more
        relative = np.min(tolerances.rtol) * math.sqrt(self.size / max(whole, 1))
        absolute = np.concatenate([np.full(self.size, _FLOOR), np.full(more, np.inf)]) * relative
        bounds = Tolerances(relative, absolute, None, tolerances.max_step)
        jumps = np.concatenate([shares.T, np.zeros((shape_of(times)[0], more))], axis=1)

        def segment(z: Any, row: Any) -> tuple[Any, None]:
            jump, late, early = row
            _, last = integrate(self.rhs, (late, early), z + jump, bounds, False)
            return last["y"], None

        earlier = np.concatenate([np.reshape(start, (1,)), times])[:-1]
        z, _ = scan(segment, np.zeros(whole), (jumps[::-1], times[::-1], earlier[::-1]))
        return z[: self.size], z[self.size :]

    def spread(self, moved: Any, scale: Any) -> list[Any]:
        """Return the cotangents of the constants."""
        cotangents: list[Any] = [None] * len(self.constants)
        first = 0
        for place in self.moving:
            shape, dtype = (
                shape_of(self.constants[place]),
                dtype_of(self.constants[place]),
            )
            part = scale * moved[first : first + size_of(shape)]
            cotangents[place] = np.reshape(part, shape).astype(dtype)
            first += size_of(shape)
        return cotangents
