"""The mode of a log density by Newton's method with exact derivatives, and the information matrix there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from wengert.engine.core.errors import ArgumentError, LimitError, MatrixError, message
from wengert.engine.transforms.arguments import objective_value
from wengert.engine.transforms.callbacks import followed
from wengert.engine.transforms.jacobians import hessian
from wengert.engine.transforms.reverse_mode import value_and_grad
from wengert.fit.tables import element_names
from wengert.optimize.flat import Flat
from wengert.optimize.passes import passes_of

_TOLERANCE = 1e-16
"""The Newton decrement of a mode: the log density that another step would gain."""
_ACCEPTABLE = 1e-8
"""The decrement of a mode where rounding errors or the most steps end the search."""
_ROUNDING = 1e-13
"""The relative rounding error of a log density, below which a step counts as no loss."""
_SHORT, _BEND = 0.1, 4.0
"""A distance in standard errors, and the largest quotient of the loss of log density there and that of a parabola."""
TRIAL_ERRORS = (ArithmeticError, ValueError, LimitError)
"""The errors of a log density where it is not defined: a singular matrix, a domain, a loop that does not end."""
_LEAST_DAMPING, _MOST_DAMPING = 1e-4, 1e12
_SINGULAR = 1e-12
"""The least eigenvalue of an information matrix with a unit diagonal."""


class Point(NamedTuple):
    """A vector of parameters with the log density, and the derivatives of its negative."""

    x: Any
    value: float
    """The negative log density."""
    gradient: Any
    information: Any
    """The Hessian of the negative log density."""


class Potential:
    """The negative of a log density as a function of a vector, with its derivatives compiled at first use.

    Args:
        operation: the name for messages.
        logdensity: takes the parameters and ``args``, and returns a number.
        start: a container of parameters.
        args: further arguments.
    """

    def __init__(
        self, operation: str, logdensity: Callable[..., Any], start: Any, args: tuple[Any, ...]
    ) -> None:
        def negative(parameters: Any, *arguments: Any) -> Any:
            return -objective_value(operation, followed(logdensity)(parameters, *arguments))

        self.operation = operation
        self.flat = Flat(operation, start, "start")
        self.names = element_names(self.flat)
        passes, self._arrays = passes_of(operation, negative, self.flat, args, owner=logdensity)
        self._slope = passes.get(f"{operation}: slope", lambda: value_and_grad(passes.scalar))
        self._information = passes.get(f"{operation}: hessian", lambda: hessian(passes.scalar))

    def value(self, x: Any) -> float:
        """Return the negative log density; infinity for NaN, and for an error at a trial point."""
        try:
            with np.errstate(all="ignore"):
                value = float(self._slope(x, self._arrays)[0])
        except TRIAL_ERRORS:
            return np.inf
        return np.inf if np.isnan(value) else value

    def tried(self, x: Any) -> Point | None:
        """Return a point with all derivatives; None if one is not finite, or cannot be computed."""
        try:
            point = self.at(x)
        except TRIAL_ERRORS:
            return None
        finite = np.isfinite(point.value) and np.all(np.isfinite(point.gradient))
        return point if finite and np.all(np.isfinite(point.information)) else None

    def at(self, x: Any) -> Point:
        """Return a point with all derivatives."""
        with np.errstate(all="ignore"):
            value, gradient = self._slope(x, self._arrays)
            information = np.asarray(self._information(x, self._arrays))
        return Point(x, float(value), np.asarray(gradient), (information + information.T) / 2)

    def start(self) -> Point:
        """Return the start.

        Raises:
            ArgumentError: the log density or a derivative is not finite there.
        """
        point, hint = self.at(self.flat.start), "start elsewhere, or see whether the data hold NaN"
        if not np.isfinite(point.value):
            requirement = "the log density must be finite at the start"
            raise ArgumentError(message(self.operation, requirement, f"{-point.value:g}", hint))
        rows = np.column_stack([point.gradient, point.information])
        for position in np.flatnonzero(~np.all(np.isfinite(rows), axis=1))[:1]:
            requirement = "the derivatives of the log density must be finite at the start"
            got = f"{rows[position].tolist()} for {self.names[position]}"
            raise ArgumentError(message(self.operation, requirement, got, hint))
        return point

    def mode(self, maxiter: int) -> Point:
        """Return the maximum of the log density.

        Raises:
            LimitError: the steps do not reach it.
        """
        point, gain = minimum(self, self.start(), np.arange(self.flat.size), maxiter)
        if not gain <= _ACCEPTABLE:
            largest = int(np.argmax(np.abs(point.gradient)))
            got = (
                f"a step that would still gain {gain:.2g}, and the slope {-point.gradient[largest]:.2g} "
                f"for {self.names[largest]}"
            )
            requirement = f"the log density must reach its maximum within maxiter={maxiter} steps"
            hint = "start closer to it, or see whether the log density grows without end"
            raise LimitError(message(self.operation, requirement, got, hint))
        return point

    def covariance(self, point: Point) -> Any:
        """Return the inverse of the information matrix.

        Raises:
            MatrixError: the matrix is not positive definite.
        """
        diagonal = np.diag(point.information)
        requirement = "the information matrix must be positive definite at the maximum"
        hint = "the data do not determine these parameters: remove one, or add information about it"
        if np.any(diagonal <= 0.0):
            worst = int(np.argmin(diagonal))
            got = f"{diagonal[worst]:.3g} on its diagonal for {self.names[worst]}"
            raise MatrixError(message(self.operation, requirement, got, hint))
        values, vectors, scale = _axes(point)
        if values[0] <= _SINGULAR:
            got = f"an eigenvalue of {values[0]:.2g} in a direction of {self._involved(vectors[:, 0])}"
            raise MatrixError(message(self.operation, requirement, got, hint))
        half = scale[:, None] * vectors
        return (half / values) @ half.T

    def _involved(self, direction: Any) -> str:
        """Return the names of the parameters with large shares of a direction, the largest first."""
        shares: Any = np.abs(direction)
        involved: list[str] = [self.names[k] for k in np.argsort(-shares) if shares[k] > 0.2 * shares.max()]
        return ", ".join(involved[:5])

    def doubts(self, point: Point) -> list[str]:
        """Return a sentence on the axis of the covariance along which the log density is not a parabola, if any.

        A maximum at infinity is flat on one side and falls fast on the other; a fit that ends there, because the log
        density no longer changes, has a curvature that means nothing.
        """
        values, vectors, scale = _axes(point)
        expected, rounding = _SHORT**2 / 2.0, _ROUNDING * max(1.0, abs(point.value))
        for k, axis in enumerate((scale[:, None] * vectors / np.sqrt(values)).T):
            losses = [self.value(point.x + sign * _SHORT * axis) - point.value for sign in (1.0, -1.0)]
            if min(losses) + rounding < expected / _BEND or max(losses) - rounding > expected * _BEND:
                return [
                    f"along {self._involved(vectors[:, k])} the log density is not a parabola: a tenth of a standard "
                    f"error changes it by {-losses[0]:.2g} and {-losses[1]:.2g}, not by {-expected:.2g}; there may be "
                    "no maximum, and the standard errors mean nothing: remove a parameter, or add information about it"
                ]
        return []


def _axes(point: Point) -> tuple[Any, Any, Any]:
    """Return eigenvalues and eigenvectors of the information in units that make its diagonal 1, and these units."""
    scale = 1.0 / np.sqrt(np.diag(point.information))
    values, vectors = np.linalg.eigh(point.information * np.multiply.outer(scale, scale))
    return values, vectors, scale


def minimum(potential: Potential, point: Point, free: Any, maxiter: int) -> tuple[Point, float]:
    """Return the minimum of the potential over some elements of a vector, and the decrement there.

    Newton's method, damped in the manner of Levenberg and Marquardt: ``(H + damping diag |H|) step = gradient``. The
    damping grows until the matrix is positive definite and the value falls. The search ends where the Newton
    decrement ``gradient . step / 2``, which no scaling of the parameters changes, is small.
    """
    damping, gain = 0.0, np.inf
    for _ in range(maxiter):
        step, damping, gain = _step(point, free, damping)
        if gain <= _TOLERANCE:
            break
        slack = _ROUNDING * max(1.0, abs(point.value))
        while damping <= _MOST_DAMPING:
            x = point.x.copy()
            x[free] -= step
            value = potential.value(x)
            if np.isfinite(value) and value <= point.value - 1e-4 * gain + slack:
                break
            step, damping, gain = _step(point, free, max(_LEAST_DAMPING, 10.0 * damping))
        else:
            break
        tried = potential.tried(x)
        if tried is None:
            break
        point = tried
        damping = 0.1 * damping if damping > _LEAST_DAMPING else 0.0
    return point, _step(point, free, 0.0)[2]


def _step(point: Point, free: Any, damping: float) -> tuple[Any, float, float]:
    """Return the step with at least some damping, the damping, and half the decrease along the step's slope."""
    gradient, information = point.gradient[free], point.information[np.ix_(free, free)]
    if not len(gradient):
        return gradient, damping, 0.0
    diagonal = np.abs(np.diag(information))
    scale = np.sqrt(np.maximum(diagonal, 1e-16 * max(float(diagonal.max()), 1e-300)))
    unit, slope = information / np.multiply.outer(scale, scale), gradient / scale
    while True:
        try:
            factor = cast("Any", np.linalg.cholesky(unit + damping * np.eye(len(slope))))
        except np.linalg.LinAlgError:
            damping = max(_LEAST_DAMPING, 4.0 * damping)
            continue
        half = cast("Any", np.linalg.solve(factor, slope))
        with np.errstate(over="ignore"):  # where the log density grows without end
            step = cast("Any", np.linalg.solve(factor.T, half) / scale)
            return step, damping, float(0.5 * half @ half)
