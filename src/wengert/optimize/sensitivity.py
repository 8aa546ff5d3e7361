"""The sensitivity of the end of a descent to parameters: the derivative of the minimum, not of the steps towards it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.control.custom_derivatives import custom_jvp
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import require_end
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.transforms.batching import is_batched
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import grad
from wengert.implicit.certificates import certified, largest
from wengert.implicit.definitions import LOOSE, MOST_DENSE, linear_solver, tangent_of, unknowns_of
from wengert.implicit.linear import tolerance_of
from wengert.optimize.bounded import Box, masked
from wengert.optimize.descent import CONVERGED, PRECISION, End, Point

_STRICT = 1e-9
"""The least slope of a bound that is reached, relative to the largest."""


def differentiable_end(
    operation: str,
    objective: Callable[..., Any],
    start: Any,
    parameters: tuple[Any, ...],
    minimise: Callable[[Callable[[Any], Any], Any, bool], End],
    box: Box | None = None,
    goal: Callable[[Any], Any] = lambda value: value,
) -> End:
    """Return the end of a descent, with ``f_xx x' = - f_xp p'`` as its derivative by the parameters.

    The objective ``(vector, *parameters) -> number`` may close over further parameters; the start has no influence on
    the minimum. ``minimise``: ``(function of a vector, start, whether examples of a batch differ) -> End``. A variable
    at a bound stays there, if the slope is not zero. ``goal`` makes the number that is least of
    what the objective returns.
    """
    problem = unknowns_of(operation, objective, start, parameters)
    function = problem.residual
    differ = any(map(is_batched, (problem.start, *problem.parameters)))
    linear = "direct" if shape_of(start)[0] <= MOST_DENSE else "cg"
    solve = linear_solver(operation, linear, start, tolerance_of(start, None))

    def value(x: Any, *parameters: Any) -> Any:
        return goal(function(x, *parameters))

    @custom_jvp
    def minimum(start: Any, *parameters: Any) -> End:
        return minimise(lambda x: function(x, *parameters), start, differ)

    @minimum.defjvp
    def _(primals: Any, tangents: Any) -> tuple[End, End]:
        start, *values = primals
        end = minimum(start, *values)
        is_minimum = (end.status == CONVERGED) | (end.status == PRECISION)
        requirement = "the descent must end at a minimum to have a derivative; give maxiter, or another start"
        x = require_end(end.point.x, is_minimum, operation=operation, requirement=requirement)
        slope = grad(value)
        if box is not None:
            held, at = box.held(x, end.point.gradient), box.reached(x)
            is_strict = ~at | (held & (np.abs(end.point.gradient) > _STRICT * largest(end.point.gradient)))
            requirement = "a bound is reached where the slope is zero: the minimum has a kink there"
            x = require_end(x, np.all(is_strict), operation=operation, requirement=requirement)
            slope = masked(slope, stop_gradient(x), held)
        x = certified(operation, lambda x: slope(x, *values), solve, x, LOOSE, is_minimum=True)
        moved = tangent_of(slope, solve, x, values, tangents[1:])
        change = jvp(value, (x, *values), (moved, *tangents[1:]))[1]
        zero = np.float64(0.0)
        return end, End(Point(moved, change, np.zeros(shape_of(x))), zero, zero, zero)

    return minimum(problem.start, *problem.parameters)
