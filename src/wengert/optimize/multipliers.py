"""Multipliers of constraints and bounds, and whether an end of a constrained search is a minimum by them.

With ``lower <= g(x) <= upper`` and bounds of x, the Lagrangian is ``L = f(x) + sum(v * g(x)) + sum(z * x)``. At a
regular minimum its gradient is zero: ``f_x + g_xᵀ v + z = 0`` (Karush, 1939; Kuhn and Tucker, 1951). A multiplier is at
least 0 at an upper limit, at most 0 at a lower one, 0 between them, and of any sign for an equation. The least
value changes by ``-v`` for each unit of a limit.
"""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import ArgumentError, WengertError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.optimize.confirmation import MOST_CONFIRMED, withdraw
from wengert.optimize.programs import Program

_ACTIVE = 1e-6
"""The distance from a limit, relative to it or to 1, up to which it counts as reached."""
_MOST_ESTIMATED = 2000
"""The most variables, and reached limits, for which multipliers are estimated from a matrix."""
_MOST_VIOLATED = 1e-4
_REACHES = (1e-2, 1e-3)
"""How far the function must not fall, relative to x or to 1."""
_FALL, _LEAST_FALL = 1e-9, 1e-9
_NEGATIVE = -1e-6
_NO_MINIMUM = "The Lagrangian falls on within a hundredth of x, along the constraints."


class Multipliers(NamedTuple):
    """The multipliers of ``L = f(x) + sum(v * g(x)) + sum(z * x)``: positive at an upper limit, negative at a lower."""

    constraints: list[Any]
    """v of each constraint, in the container of its values."""
    bounds: Any
    """z, in the container of the variables."""


def in_forms(program: Program, v: Any, z: Any) -> Multipliers:
    """Return multipliers in the containers of the constraints and the variables."""
    parts = np.split(v, program.ends[:-1]) if len(program.ends) else []
    forms = [getattr(g, "form", None) for g in program.constraints]
    values = [
        np.array(part) if form is None else form.users(part) for form, part in zip(forms, parts, strict=True)
    ]
    return Multipliers(values, program.problem.flat.users(z))


def as_vectors(program: Program, multipliers: Any) -> tuple[Any, Any]:
    """Return given multipliers as two vectors, or raise `ArgumentError` where they do not fit."""
    flat, parts = program.problem.flat, getattr(multipliers, "constraints", None)
    if parts is None or len(parts) != len(program.constraints):
        requirement = f"multipliers must be those of a result with {len(program.constraints)} constraints"
        raise ArgumentError(message(flat.operation, requirement, type(multipliers).__name__))
    vectors = [np.zeros(0)]
    for g, part in zip(program.constraints, parts, strict=True):
        form = getattr(g, "form", None)
        vectors.append(np.asarray(part, np.float64) if form is None else form.vector(part, "the multipliers"))
        if vectors[-1].shape != g.lower.shape:
            requirement = f"a multiplier is needed for each of the {len(g.lower)} values of a constraint"
            raise ArgumentError(message(flat.operation, requirement, f"the shape {vectors[-1].shape}"))
    return np.concatenate(vectors), flat.vector(multipliers.bounds, "the multipliers of the bounds")


class Reached(NamedTuple):
    """Which limits a point reaches."""

    lower: Any
    upper: Any

    @property
    def any(self) -> Any:
        """Whether either is reached."""
        return self.lower | self.upper

    def signed(self) -> tuple[Any, Any]:
        """Return the least and the greatest multiplier of each limit that is reached."""
        chosen = self.any
        return np.where(self.lower, -np.inf, 0.0)[chosen], np.where(self.upper, np.inf, 0.0)[chosen]


def reached(lower: Any, at: Any, upper: Any, tolerance: float = _ACTIVE) -> Reached:
    """Return which limits values reach, or exceed."""
    slack = [
        np.where(np.isfinite(limit), tolerance * np.maximum(1.0, np.abs(limit)), 0.0)
        for limit in (lower, upper)
    ]
    return Reached(at <= lower + slack[0], at >= upper - slack[1])


def estimated(program: Program, x: Any, slope: Any, matrix: Any) -> tuple[Any, Any] | None:
    """Return multipliers at x: the least squares of the gradient of L, with the signs of the limits that x reaches.

    None where the matrix of the limits that are reached would be too large.
    """
    from scipy import optimize

    rows = reached(program.lower, program.values(x), program.upper)
    columns = reached(program.low, x, program.high)
    v, z = np.zeros(len(program.lower)), np.zeros(program.size)
    chosen, held = np.flatnonzero(rows.any), np.flatnonzero(columns.any)
    if not len(chosen):
        limits = np.where(columns.lower, -np.inf, 0.0), np.where(columns.upper, np.inf, 0.0)
        return v, np.clip(-slope, *limits)
    if max(program.size, len(chosen) + len(held)) > _MOST_ESTIMATED:
        return None
    dense = matrix[chosen].toarray()
    lengths = np.sqrt(np.sum(dense**2, axis=1))
    lengths[lengths == 0.0] = 1.0
    system = np.concatenate([(dense / lengths[:, None]).T, np.eye(program.size)[:, held]], axis=1)
    limits = [np.concatenate(pair) for pair in zip(rows.signed(), columns.signed(), strict=True)]
    found = (
        cast("Any", optimize)
        .lsq_linear(system, -slope, limits, method="bvls", tol=1e-14, max_iter=10 * system.shape[1])
        .x
    )
    v[chosen], z[held] = found[: len(chosen)] / lengths, found[len(chosen) :]
    return v, z


def complete(result: Any, program: Program, name: str, *, is_exact: bool) -> None:
    """Give a result of SciPy's its multipliers, and take its success away where its end is no minimum.

    Args:
        result: of a search with bounds or constraints.
        program: the problem.
        name: the method.
        is_exact: whether the method uses exact gradients, so that its end can be judged by them.
    """
    x = np.asarray(result.x, np.float64)
    values = program.values(x)
    violation = program.violation(x, values)
    result.constr_violation = violation
    if result.success and violation > _MOST_VIOLATED:
        withdraw(result, f"A constraint is violated by {violation:.2g}, relative to its limit or to 1.")
    if not np.all(np.isfinite(x)) or not np.isfinite(violation):
        return
    try:
        with np.errstate(all="ignore"):
            slope, matrix = program.jac(x), program.matrix(program.jacobian, x)
    except WengertError:
        if is_exact:
            raise
        return  # a method without derivatives takes functions that have none
    if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(matrix.data))):
        return
    found = _of_trust_constr(result, program, slope, matrix) if name == "trust-constr" else None
    found = estimated(program, x, slope, matrix) if found is None else found
    if found is not None:
        result.multipliers = in_forms(program, *found)
        if is_exact:
            confirm(result, program, *found)


def _of_trust_constr(result: Any, program: Program, slope: Any, matrix: Any) -> tuple[Any, Any] | None:
    """Return the multipliers that trust-constr has found."""
    count = len(program.constraints)
    given = [np.atleast_1d(np.asarray(part, np.float64)) for part in result.get("v", [])]
    if len(given) < count or any(
        len(part) != len(g.lower) for part, g in zip(given, program.constraints, strict=False)
    ):
        return None
    v = np.concatenate([np.zeros(0), *given[:count]])
    columns = reached(program.low, result.x, program.high, 1e-4)
    return v, np.where(columns.any, -(slope + matrix.T @ v), 0.0)


def confirm(result: Any, program: Program, v: Any, z: Any) -> None:
    """Take the success of a result away where the Lagrangian falls on along a direction that the limits leave.

    The directions are that of the gradient of L and, of few variables, Newton's step, and the most negative curvature
    in the plane that all limits that are reached leave.
    """
    if not result.success:
        return
    x = np.asarray(result.x, np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slope, matrix = program.jac(x), program.matrix(program.jacobian, x)
        residual = slope + matrix.T @ v + z
        falls = _falls(program, x, -residual, v, z, residual)
        if program.size <= MOST_CONFIRMED:
            directions = _of_curvature(program, x, v, slope, matrix)
            falls |= any(_falls(program, x, direction, v, z) for direction in directions)
        if falls:
            withdraw(result, _NO_MINIMUM)


def _of_curvature(program: Program, x: Any, v: Any, slope: Any, matrix: Any) -> list[Any]:
    """Return Newton's step and directions of negative curvature, along the limits that are reached."""
    try:
        hessian = program.lagrangian_hessian(x, v)
    except WengertError:
        return []  # there are no second derivatives
    if hessian is None or not np.all(np.isfinite(hessian)):
        return []
    plane = tangent_plane(program, x, matrix.toarray())
    if not plane.shape[1]:
        return []
    scale = np.maximum(1.0, np.abs(x))
    curvatures, vectors = np.linalg.eigh(plane.T @ (scale[:, None] * hessian * scale) @ plane)
    size = np.max(np.abs(curvatures))
    if curvatures[0] < _NEGATIVE * size:
        direction = scale * (plane @ vectors[:, 0])
        return [direction, -direction]
    if curvatures[0] > -_NEGATIVE * size:
        share = vectors.T @ (plane.T @ (scale * slope))
        return [-scale * (plane @ (vectors @ (share / curvatures)))]
    return []


def tangent_plane(program: Program, x: Any, matrix: Any) -> Any:
    """Return an orthonormal basis of the moves along the limits that are reached, relative to the larger of x and 1."""
    rows = reached(program.lower, program.values(x), program.upper).any
    held = reached(program.low, x, program.high).any
    free = np.eye(program.size)[:, ~held]
    normals = matrix[rows] * np.maximum(1.0, np.abs(x)) @ free
    if not normals.size:
        return free
    _, sizes, basis = np.linalg.svd(normals)
    rank = int(np.sum(sizes > 1e-10 * np.max(sizes, initial=1e-300)))
    return free @ basis[rank:].T


def _falls(program: Program, x: Any, direction: Any, v: Any, z: Any, residual: Any = None) -> bool:
    """Return whether the Lagrangian falls along a direction on which no further limit is met.

    Off the limits that are reached, where it may have any curvature, its gradient must say so, too: the residual.
    """
    scale = np.maximum(1.0, np.abs(x))
    length = np.max(np.abs(direction) / scale, initial=0.0)
    if not 0.0 < length < np.inf:
        return False
    direction, values = direction / length, program.values(x)
    rows, held = reached(program.lower, values, program.upper).any, reached(program.low, x, program.high).any
    slope = abs(float(program.jac(x) @ direction))
    here = program.fun(x)
    for reach in _REACHES:
        there = x + reach * direction
        moved = program.values(there)
        change = program.fun(there) - here + float(v @ (moved - values) + reach * (z @ direction))
        is_met = np.any((moved < program.lower) | (moved > program.upper), where=~rows)
        is_met |= np.any((there < program.low) | (there > program.high), where=~held)
        least = max(_LEAST_FALL, _FALL * (abs(here) + slope)) if reach == _REACHES[0] else 0.0
        promised = np.inf if residual is None else -reach * float(residual @ direction)
        if is_met or not min(-change, promised) > least:
            return False
    return True
