"""Whether what SciPy's solvers return solves the problem: else their results say so, as of a search that failed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import MatrixError, WengertError
from wengert.implicit.certificates import certificate, looks_least
from wengert.implicit.definitions import MOST_DENSE as MOST_CONFIRMED
from wengert.implicit.linear import solve_directly

_TOLERANCE, _REACH = 1e-6, 1e-2
_MOST_CURVED = 20
"""The most unknowns for which Newton's step is computed from the matrix of second derivatives."""
_NO_ROOT = (
    "The Newton step there is not small, or the function does not change around as its derivative says."
)
_NO_MINIMUM = (
    "The function falls on within a hundredth of x, is flat there, or has a negative curvature, or the Newton step is "
    "longer than a hundredth of x."
)


def is_root(fun: Callable[[Any], Any], x: Any) -> bool:
    """Return whether a vector is certified as a root of a function of vectors."""
    try:
        with np.errstate(all="ignore"):
            return bool(certificate(fun, solve_directly, x, _TOLERANCE).holds)
    except MatrixError:
        return False


def confirmed_root(result: Any, fun: Callable[[Any], Any]) -> Any:
    """Return a result, without success if its x is not a certified root."""
    if result.success and result.x.size <= MOST_CONFIRMED and not is_root(fun, result.x):
        withdraw(result, _NO_ROOT)
    return result


def confirmed_minimum(
    result: Any, gradient: Callable[[Any], Any], hessian: Callable[[Any], Any] | None = None
) -> Any:
    """Return a result without bounds and constraints, without success if no minimum is near its x."""
    x = np.asarray(result.x, np.float64)
    if result.success and x.size <= MOST_CONFIRMED:
        with np.errstate(all="ignore"):
            slope = gradient(x)
            is_least = looks_least(gradient, x, slope, -slope, _REACH, _REACH, _mapped)
            if not is_least or (hessian is not None and _is_far(hessian, x, slope)):
                withdraw(result, _NO_MINIMUM)
    return result


def _is_far(hessian: Callable[[Any], Any], x: Any, slope: Any) -> bool:
    """Return whether Newton's step is long where second derivatives are positive definite, in any scale of x.

    Differences of gradients do not tell that of a narrow valley. At a kink, the matrix is that of one side.
    """
    if x.size > _MOST_CURVED:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matrix = hessian(x)
            scale = np.sqrt(np.diagonal(matrix))
            scaled = matrix / np.outer(scale, scale)
            np.linalg.cholesky(scaled)
            step: Any = cast("Any", np.linalg).solve(scaled, slope / scale)
    except (WengertError, np.linalg.LinAlgError):
        return False  # no second derivative, or none that tells how far the end is
    return bool(np.any(np.abs(step / scale) > _REACH * np.maximum(1.0, np.abs(x))))


def _mapped(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda rows: tuple(map(np.stack, zip(*map(function, rows), strict=True)))


def withdraw(result: Any, reason: str) -> None:
    """Take the success of a result away."""
    result.success = False
    result.message = f"{result.message} But this is not a solution: {reason}"
