"""The equations of an implicit step: a simplified Newton iteration, and the derivatives of what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.control.custom_derivatives import custom_jvp
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.shapes import size as size_of
from wengert.engine.ops.comparison import where
from wengert.implicit.definitions import tangent_of
from wengert.integrate.steps import System

_EPSILON = float(np.finfo(np.float64).eps)


class Found(NamedTuple):
    """What an iteration has come to."""

    x: Any
    is_solved: Any
    rate: Any
    """The ratio of the last two changes."""
    turns: Any


def newton(system: System, change: Callable[[Any], Any], x: Any, allowed: Any, most: int) -> Found:
    """Iterate ``x <- x + change(x)``, with SciPy's test of convergence, until what is left is far below the tolerances.

    Args:
        system: the equations, without derivatives.
        change: the step of the iteration, with one matrix for all.
        x: the first guess.
        allowed: the error that is allowed for each component.
        most: the largest number of turns; an iteration that would take more has failed.
    """
    tolerance = np.maximum(10 * _EPSILON / system.rtol, np.minimum(0.03, np.sqrt(system.rtol)))

    def going(state: Any) -> Any:
        _, is_solved, has_failed, _, _, turn = state
        return ~is_solved & ~has_failed & (turn < most)

    def turn(state: Any) -> Any:
        x, _, _, last, _, number = state
        step = stop_gradient(change(x))
        norm = np.sqrt(np.sum(np.abs(step / allowed) ** 2) / max(size_of(shape_of(step)), 1))
        is_first = number == 0
        rate = where(is_first, 0.0, norm / where(last > 0, last, 1.0))
        falls = rate < 1
        share = where(falls, rate / (1 - where(falls, rate, 0.5)), 1.0)
        left = where(falls, rate, 1.0) ** (most - 1 - number) * share * norm
        is_still = norm <= _EPSILON / system.rtol  # rounding errors, which do not fall
        is_lost = ~is_first & ~is_still & (~falls | ~(left <= tolerance)) | ~np.isfinite(norm)
        is_solved = ~is_lost & (is_still | (~is_first & (share * norm < tolerance)))
        return where(is_lost, x, x + step), is_solved, is_lost, norm, rate, number + 1

    none = 0.0 * np.sum(allowed)
    start = (x, np.False_, np.False_, none, none, np.int64(0))
    x, is_solved, _, _, rate, turns = while_loop(going, turn, start, most=most)
    return Found(x, is_solved, rate, turns)


def defined(
    system: System, x: Any, residual: Callable[..., Any], solver: Callable[..., Any], *parameters: Any
) -> Any:
    """Return x as a function of what its equations read; the number is as near to theirs as an iteration has come.

    Args:
        system: the equations of the problem.
        x: what was found.
        residual: ``(system, x, *parameters)``, which is zero.
        solver: ``(system, x, *parameters)`` returns the solution of equations with the derivative of it by x.
        parameters: what the residual reads beside the constants of the system.
    """
    count = len(parameters)

    @custom_jvp
    def stages(x: Any, *values: Any) -> Any:
        return x

    @stages.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        x, *values = primals
        x = stages(x, *values)

        def of_values(x: Any, *values: Any) -> Any:
            return residual(system.of(values[count:]), x, *values[:count])

        def linear(product: Any, rights: Any) -> list[Any]:
            return [solver(system.of(values[count:]), x, *values[:count])(right) for right in rights]

        return x, tangent_of(of_values, linear, x, values, tangents[1:])

    return stages(stop_gradient(x), *parameters, *system.constants)
