"""Levenberg's and Marquardt's method for sparse Jacobians: each step factorises the damped normal equations.

A step p solves ``(JᵀJ + μ D) p = -Jᵀ r``, where D is the diagonal of the largest ``JᵀJ`` so far (Moré, "The
Levenberg-Marquardt algorithm: implementation and theory", 1978). The damping μ follows the ratio of the true decrease
to that of the linear model (Nielsen, "Damping parameter in Marquardt's method", 1999). SuperLU factorises without
pivots, which a symmetric positive definite matrix does not need, in an order of few new elements: unknowns that meet
only few others, such as the points of a bundle adjustment, are eliminated first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.control.values import checked_count
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.optimize.limits import checked_number
from wengert.sparse.packages import scipy_sparse

_EPSILON = float(np.finfo(np.float64).eps)
_FIRST_DAMPING = 1e-4
_MOST_PRODUCTS = 1 << 30
"""The most products of elements in ``JᵀJ``: a row of k elements has k²."""

_MESSAGES = {
    0: "The maximum number of function evaluations is exceeded.",
    1: "`gtol` termination condition is satisfied.",
    2: "`ftol` termination condition is satisfied.",
    3: "`xtol` termination condition is satisfied.",
    4: "Both `ftol` and `xtol` termination conditions are satisfied.",
}
"""The texts that `scipy.optimize.least_squares` has for each status."""


class Settings(NamedTuple):
    """The arguments of `scipy.optimize.least_squares` that the method takes; tolerances of None are not tested."""

    ftol: float | None = 1e-8
    xtol: float | None = 1e-8
    gtol: float | None = 1e-8
    x_scale: Any = "jac"
    loss: Any = "linear"
    f_scale: float = 1.0
    max_nfev: int | None = None
    verbose: int = 0

    def check(self) -> None:
        """Raise `ArgumentError` for a setting that has no meaning."""
        tolerances = {"ftol": self.ftol, "xtol": self.xtol, "gtol": self.gtol}
        for name, tolerance in tolerances.items():
            checked_number("least_squares", name, tolerance, "or None for no test", may_be_none=True)
        if not any(tolerances.values()):
            requirement = "one of ftol, xtol and gtol must be positive"
            raise ArgumentError(message("least_squares", requirement, hint="nothing else ends the fit"))
        if self.max_nfev is not None:
            checked_count("least_squares", "max_nfev", self.max_nfev, least=1)
        if self.loss != "linear":
            checked_number("least_squares", "f_scale", self.f_scale, is_positive=True)
        if isinstance(self.x_scale, str):
            is_scale, got = self.x_scale == "jac", repr(self.x_scale)
        else:
            scale = np.asarray(self.x_scale, np.float64)
            is_scale = bool(np.all((scale > 0) & np.isfinite(scale)))
            got = f"numbers from {np.min(scale)} to {np.max(scale)}" if scale.shape else f"{scale}"
        if not is_scale:
            requirement = 'x_scale must be "jac" or positive numbers'
            raise ArgumentError(message("least_squares", requirement, got))
        if self.verbose not in (0, 1, 2):
            raise ArgumentError(message("least_squares", "verbose must be 0, 1 or 2", repr(self.verbose)))


class _Point(NamedTuple):
    """Residuals and derivatives at a point: of the linear model that the loss weighs."""

    residuals: Any
    cost: float
    jacobian: Any
    matrix: Any
    """``JᵀJ``, by columns."""
    gradient: Any


def minimise_squares(
    fun: Callable[[Any], Any], jac: Callable[[Any], Any], start: Any, settings: Settings
) -> dict[str, Any]:
    """Return what the result of `scipy.optimize.least_squares` holds for a function with a sparse Jacobian.

    Raises:
        ArgumentError: the normal equations would not fit in memory, the cost at the start is not finite, or a setting
            has no meaning.
    """
    settings.check()
    cost_of, weigh = _loss(settings)
    most = 100 * len(start) if settings.max_nfev is None else settings.max_nfev
    x, residuals = start, fun(start)
    now = _point(residuals, _finite(cost_of(residuals)), jac(x), weigh)
    diagonal, damping, growth = _scales(now, settings), _FIRST_DAMPING, 2.0
    evaluations, steps = 1, 1
    status = 1 if _is_at_most(now.gradient, settings.gtol) else None
    while status is None and evaluations < most:
        step = _step(now, damping, diagonal)
        there = x + step
        residuals = fun(there)
        cost, evaluations = cost_of(residuals), evaluations + 1
        promised = 0.5 * float(step @ (damping * diagonal * step - now.gradient))
        decrease = now.cost - cost
        ratio = decrease / promised if promised > 0 and np.isfinite(cost) else -1.0
        status = _status(decrease, ratio, now.cost, step, x, settings)
        if not ratio > 0:
            damping, growth = damping * growth, 2 * growth
            continue
        damping, growth = damping * max(1 / 3, 1 - (2 * ratio - 1) ** 3), 2.0
        x, now = there, _point(residuals, cost, jac(there), weigh)
        diagonal, steps = np.maximum(diagonal, _scales(now, settings)), steps + 1
        if _is_at_most(now.gradient, settings.gtol):
            status = 1
        if settings.verbose == 2:
            print(f"{steps:4d} {evaluations:4d} {cost:14.6e} {np.max(np.abs(now.gradient)):10.2e}")
    return _result(x, now, evaluations, steps, 0 if status is None else status, settings)


def _finite(cost: float) -> float:
    if not np.isfinite(cost):
        requirement = "the sum of squares must be finite at the start"
        hint = "scale the residuals, or start elsewhere"
        raise ArgumentError(message("least_squares", requirement, f"{cost}", hint))
    return cost


def _point(residuals: Any, cost: float, jacobian: Any, weigh: Callable[..., Any]) -> _Point:
    jacobian = jacobian.tocsr()
    products = int(np.sum(np.diff(jacobian.indptr).astype(np.int64) ** 2))
    if products > _MOST_PRODUCTS:
        requirement = (
            f"the squares of the rows' numbers of elements must add up to at most {_MOST_PRODUCTS:,}"
        )
        hint = 'use method="trf", which does not form the normal equations'
        raise ArgumentError(message("least_squares", requirement, f"{products:,}", hint))
    weighted, jacobian = weigh(residuals, jacobian)
    transposed = jacobian.T
    return _Point(residuals, cost, jacobian, (transposed @ jacobian).tocsc(), transposed @ weighted)


def _scales(now: _Point, settings: Settings) -> Any:
    """Return the diagonal of the damping; a variable without influence keeps its place."""
    if isinstance(settings.x_scale, str):
        diagonal = now.matrix.diagonal()
        return np.where(diagonal > 0, diagonal, 1.0)
    return np.broadcast_to(1 / np.asarray(settings.x_scale, np.float64) ** 2, now.gradient.shape)


def _step(now: _Point, damping: float, diagonal: Any) -> Any:
    """Solve the damped normal equations; a factorisation that fails gives no step."""
    from scipy.sparse import linalg

    solvers: Any = linalg
    damped = (now.matrix + _diagonal(damping * diagonal)).tocsc()
    try:
        factor: Any = solvers.splu(damped, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # singular to rounding: the step is refused, and the damping grows
        return np.full(len(diagonal), np.nan)
    return factor.solve(-now.gradient)


def _diagonal(elements: Any) -> Any:
    return scipy_sparse("least_squares").diags_array(elements, format="csc")


def _is_at_most(gradient: Any, limit: float | None) -> bool:
    return limit is not None and float(np.max(np.abs(gradient))) <= limit


def _status(decrease: float, ratio: float, cost: float, step: Any, x: Any, settings: Settings) -> int | None:
    """Return the status after a trial, by the conditions of SciPy's other methods; None to go on."""
    ftol, xtol = settings.ftol, settings.xtol
    is_level = ftol is not None and decrease < ftol * cost and ratio > 0.25
    length, size = np.linalg.norm(step), np.linalg.norm(x)
    is_short = bool(length <= _EPSILON * size) or (xtol is not None and bool(length < xtol * (xtol + size)))
    return {(True, True): 4, (True, False): 2, (False, True): 3}.get((is_level, is_short))


def _result(
    x: Any, now: _Point, evaluations: int, steps: int, status: int, settings: Settings
) -> dict[str, Any]:
    optimality = float(np.max(np.abs(now.gradient)))
    text = _MESSAGES[status]
    if settings.verbose:
        print(f"{text} {evaluations} evaluations, final cost {now.cost:.4e}, optimality {optimality:.2e}.")
    return {
        "x": x,
        "cost": now.cost,
        "fun": now.residuals,
        "jac": now.jacobian,
        "grad": now.gradient,
        "optimality": optimality,
        "active_mask": np.zeros(len(x), int),
        "nfev": evaluations,
        "njev": steps,
        "status": status,
        "message": text,
        "success": status > 0,
    }


# -- losses ----------------------------------------------------------------------------------------------


def _loss(settings: Settings) -> tuple[Callable[[Any], float], Callable[[Any, Any], tuple[Any, Any]]]:
    """Return the cost of residuals, and what weighs residuals and Jacobian.

    The weights are the slopes of the loss (iteratively reweighted least squares). The curvature of a loss for outliers
    is negative, and would make the normal equations of an unknown singular that outliers alone determine.
    """
    if settings.loss == "linear":
        return lambda f: 0.5 * float(f @ f), lambda f, jacobian: (f, jacobian)
    rho: Any = settings.loss if callable(settings.loss) else _LOSSES.get(settings.loss)
    if rho is None:
        requirement = f"loss must be a function, or one of linear, {', '.join(_LOSSES)}"
        raise ArgumentError(message("least_squares", requirement, repr(settings.loss)))
    square = settings.f_scale**2

    def of(f: Any) -> Any:
        """Return the loss and its slope, for residuals."""
        losses = rho(f**2 / square)
        if np.ndim(losses) != 2 or len(losses) < 2 or np.shape(losses[0]) != f.shape:
            requirement = f"loss must return its values and its slopes, as rows of {len(f)} numbers"
            raise ArgumentError(message("least_squares", requirement, f"the shape {np.shape(losses)}"))
        return losses

    def cost(f: Any) -> float:
        return 0.5 * square * float(np.sum(of(f)[0]))

    def weigh(f: Any, jacobian: Any) -> tuple[Any, Any]:
        weights = np.sqrt(np.maximum(of(f)[1], 0.0))
        return f * weights, _diagonal(weights) @ jacobian

    return cost, weigh


def _huber(z: Any) -> Any:
    root = np.sqrt(np.maximum(z, 1.0))
    return np.where(z <= 1, z, 2 * root - 1), 1 / root


def _soft_l1(z: Any) -> Any:
    root = np.sqrt(1 + z)
    return 2 * (root - 1), 1 / root


_LOSSES: dict[Any, Callable[[Any], Any]] = {
    "huber": _huber,
    "soft_l1": _soft_l1,
    "cauchy": lambda z: (np.log1p(z), 1 / (1 + z)),
    "arctan": lambda z: (np.arctan(z), 1 / (1 + z**2)),
}
"""A loss and its slope, as functions of the squares of the scaled residuals."""
