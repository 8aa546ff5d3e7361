"""`curve_fit` as a function of its data: the derivatives of the least sum of squares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box, inside_transform
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.transforms.jacobians import jacfwd
from wengert.engine.transforms.reverse_mode import grad
from wengert.implicit.definitions import Equations, linear_solver, solution_of, unknowns_of
from wengert.implicit.linear import tolerance_of
from wengert.implicit.vectors import vector_of


class Fit(NamedTuple):
    """The residuals of a fit that depends on followed values, and where it begins."""

    equations: Equations
    """The residuals, divided by their errors, as functions of the parameters and the followed values."""
    data: int
    """How many there are."""

    def solved(self, solve: Callable[[Callable[[Any], Any], Any], Any], absolute_sigma: bool) -> Any:
        """Return the parameters in their container, and their covariance matrix.

        Args:
            solve: ``(residuals of a vector, start) -> vector``, by SciPy.
            absolute_sigma: as in SciPy.
        """
        residual, parameters = self.equations.residual, self.equations.parameters

        def half(x: Any, *values: Any) -> Any:
            return 0.5 * np.sum(residual(x, *values) ** 2)

        start = self.equations.start
        linear = linear_solver("curve_fit", "direct", start, tolerance_of(start, None))
        slopes = self.equations._replace(residual=grad(half))
        optimum = solution_of("curve_fit", slopes, solve, linear, objective=residual, is_trusted=True)
        x = vector_of("curve_fit", "the parameters", optimum)[0]
        matrix = jacfwd(lambda x: residual(x, *parameters))(x)
        covariance = cast("Any", np.linalg.inv(matrix.T @ matrix))
        if not absolute_sigma:
            free = self.data - shape_of(x)[0]
            covariance = covariance * (2 * half(x, *parameters) / free if free > 0 else np.inf)
        return optimum, covariance


def fit_of_data(
    f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any, sigma: Any, *, is_container: bool
) -> Fit | None:
    """Return the fit if a transform follows the data, their errors, the start or what the function closes over."""
    if not inside_transform():
        return None
    xdata = np.asarray(xdata, FLOAT64) if isinstance(xdata, (list, tuple)) else xdata
    ydata, sigma = (_array(value) for value in (ydata, sigma))

    def residuals(p: Any, xdata: Any, ydata: Any, sigma: Any) -> Any:
        values = f(xdata, p) if is_container else f(xdata, *(p[n] for n in range(shape_of(p)[0])))
        difference = np.ravel(values - ydata)
        if sigma is None:
            return difference
        if len(shape_of(sigma)) < 2:
            return difference / sigma
        return cast("Any", np.linalg.solve(np.linalg.cholesky(sigma), difference))

    start = np.ones(_count(f)) if p0 is None else p0
    equations = unknowns_of("curve_fit", residuals, start, (xdata, ydata, sigma))
    if not any(isinstance(value, Box) for value in (equations.start, *equations.parameters)):
        return None
    return Fit(equations, size(shape_of(ydata)))


def check_followed(bounds: Any, p0: Any, full_output: bool, nan_policy: str | None) -> None:
    """Raise `ArgumentError` for what a fit with derivatives by its data cannot give."""
    requirement = hint = ""
    if full_output:
        requirement, hint = (
            "full_output must be False where data have derivatives",
            "take popt and pcov alone",
        )
    elif nan_policy == "omit":
        requirement, hint = "data with derivatives must not be left out", "leave NaN out before the fit"
    elif bounds is not None and p0 is None:
        requirement, hint = "a fit with bounds and derivatives by its data needs a start", "give p0"
    if requirement:
        raise ArgumentError(message("curve_fit", requirement, hint=hint))


def _array(value: Any) -> Any:
    return value if value is None or isinstance(value, Box) else np.asarray(value, FLOAT64)


def _count(f: Callable[..., Any]) -> int:
    """Return the number of parameters of a function of data and parameters."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p for p in inspect.signature(f).parameters.values() if p.kind in kinds]
    if len(names) < 2:
        raise ArgumentError(message("curve_fit", "the function must name its parameters", hint="or give p0"))
    return len(names) - 1
