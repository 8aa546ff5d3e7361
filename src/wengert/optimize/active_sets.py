"""The limits that a constrained minimum reaches, and whether it moves smoothly with parameters.

It does where the gradients of the reached limits are linearly independent (LICQ), no reached limit has the multiplier
zero (strict complementarity), and the Lagrangian has a positive curvature along the reached limits (second order): then
the conditions of Karush, Kuhn and Tucker define x and the multipliers as functions of the parameters. Source: Fiacco,
"Sensitivity analysis for nonlinear programming using penalty methods" (1976).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.engine.core.named_tuples import NamedTuple
from wengert.optimize.programs import Program
from wengert.sparse.packages import scipy_sparse

_NUMPY = cast("Any", np)
REGULAR = 0
REASONS = (
    "",
    "the gradients of the limits that are reached are linearly dependent",
    "a limit is reached with a multiplier of zero: the minimum has a kink there (no strict complementarity)",
    "the curvature of the Lagrangian along the limits that are reached is not positive: the minimum is not isolated",
    "Newton's steps on the conditions of a minimum do not converge: the end is not near one",
    "a part of the Hessian is not known",
)
"""What each state but the first says."""
_DEPENDENT, _FLAT, _ZERO = 1e-9, 1e-10, 1e-7
_MOST_STEPS, _SMALL, _FAR = 12, 1e-11, 1e-2
MOST_WRITTEN = 500
"""The most variables and limits for which matrices are dense."""


class Vertex(NamedTuple):
    """A minimum with its multipliers, and the limits that it reaches."""

    x: Any
    v: Any
    z: Any
    rows: Any
    """The limits of constraints that are reached."""
    held: Any
    """The bounds that are reached."""
    state: int
    """0 where it is regular, otherwise the number of the reason."""


class _Limits(NamedTuple):
    """The slacks of limits, relative to them or to 1, and which ones are nearest."""

    slack: Any
    nearest: Any
    is_equation: Any

    @classmethod
    def of(cls, lower: Any, at: Any, upper: Any) -> _Limits:
        """Return the slacks of values between limits."""
        below, above = at - lower, upper - at
        is_low = below <= above
        nearest = _NUMPY.where(is_low, lower, upper)
        scale = np.maximum(1.0, np.abs(np.where(np.isfinite(nearest), nearest, 1.0)))
        return cls(np.where(is_low, below, above) / scale, nearest, lower == upper)


def polished(program: Program, x: Any, v: Any, z: Any) -> Vertex:
    """Return a solver's minimum after Newton's steps with the limits that it reaches, to rounding errors.

    A limit counts as reached where the share of its multiplier in the gradient of the Lagrangian exceeds its slack. A
    minimum that is not regular stays as it is.
    """
    slope, matrix = program.jac(x), program.matrix(program.jacobian, x)
    shares, own = _shares(slope, matrix, v, z)
    rows, held = (
        _Limits.of(program.lower, program.values(x), program.upper),
        _Limits.of(program.low, x, program.high),
    )
    is_row = rows.is_equation | (shares > rows.slack)
    is_held = held.is_equation | (own > held.slack)
    unpolished = Vertex(x, v, z, is_row, is_held, REGULAR)
    if program.hessian is None:
        return unpolished._replace(state=5)
    start, last = x, np.inf
    v, x = _NUMPY.where(is_row, v, 0.0), _NUMPY.where(is_held, held.nearest, x)
    for _ in range(_MOST_STEPS):
        residual = np.concatenate(
            [
                np.where(is_held, 0.0, -(slope + matrix.T @ v)),
                np.where(is_row, rows.nearest - program.values(x), 0.0),
            ]
        )
        kkt = Kkt(program, x, v, matrix, is_row, is_held)
        if kkt.state:
            return unpolished._replace(state=kkt.state)
        step = kkt.solve(residual)
        x, v = x + step[: program.size], v + step[program.size :]
        length = float(np.max(np.abs(step[: program.size]) / np.maximum(1.0, np.abs(x)), initial=0.0))
        slope, matrix = program.jac(x), program.matrix(program.jacobian, x)
        if length <= _SMALL or (length >= 0.5 * last and length <= 1e-8):
            break
        last = length
    else:
        return unpolished._replace(state=4)
    if not np.max(np.abs(x - start) / np.maximum(1.0, np.abs(x)), initial=0.0) <= _FAR:
        return unpolished._replace(state=4)
    z = np.where(is_held, -(slope + matrix.T @ v), 0.0)
    state = Kkt(program, x, v, matrix, is_row, is_held).state or _strict(
        program, x, v, z, slope, matrix, is_row, is_held
    )
    return Vertex(x, v, z, is_row, is_held, state)


def _shares(slope: Any, matrix: Any, v: Any, z: Any) -> tuple[Any, Any]:
    """Return the shares of multipliers in the gradient of the Lagrangian."""
    lengths = np.asarray(abs(matrix).max(axis=1).todense()).ravel() if matrix.shape[0] else np.zeros(0)
    size = max(float(np.max(np.abs(slope))), float(np.max(np.abs(v) * lengths, initial=0.0)), 1e-300)
    return np.abs(v) * lengths / size, np.abs(z) / size


def _strict(
    program: Program, x: Any, v: Any, z: Any, slope: Any, matrix: Any, is_row: Any, is_held: Any
) -> int:
    """Return the state of complementarity: signs, and no multiplier and slack that are both zero."""
    shares, own = _shares(slope, matrix, v, z)
    for limits, at, multiplier, share, chosen in (
        ((program.lower, program.upper), program.values(x), v, shares, is_row),
        ((program.low, program.high), x, z, own, is_held),
    ):
        found = _Limits.of(limits[0], at, limits[1])
        is_upper = np.abs(limits[1] - at) <= np.abs(at - limits[0])
        has_sign = _NUMPY.where(is_upper, multiplier > 0.0, multiplier < 0.0)
        holds = _NUMPY.where(chosen, has_sign & (share > _ZERO), found.slack > _ZERO)
        if not np.all(holds | found.is_equation):
            return 2
    return REGULAR


class Kkt:
    """The linear equations of the conditions of a minimum with some limits reached.

    For a move (x', v') they say ``x' = right`` for a variable at a bound, ``H x' + Aᵀ v' = right`` for another one,
    ``A x' = right`` for a limit that is reached, and ``v' = right`` for another one. ``state`` is the number of the
    reason why they are singular, or define no minimum; else 0.
    """

    def __init__(self, program: Program, x: Any, v: Any, matrix: Any, is_row: Any, is_held: Any) -> None:
        self.state = REGULAR
        sparse = scipy_sparse("minimize")
        half = program.matrix(program.hessian, x, v, 1.0)  # pyright: ignore[reportArgumentType]
        hessian = half + sparse.tril(half, -1).T
        free, chosen = np.flatnonzero(~is_held), np.flatnonzero(is_row)
        self._free, self._chosen, self._size, self._count = free, chosen, len(is_held), len(is_row)
        normals = matrix[chosen][:, free]
        scale = np.maximum(1.0, np.abs(x[free]))
        self._hessian, self._matrix = hessian, matrix
        inner = hessian[free][:, free]
        if not (np.all(np.isfinite(inner.data)) and np.all(np.isfinite(normals.data))):
            self.state = 4
        elif len(free) + len(chosen) <= MOST_WRITTEN:
            self._dense(inner.toarray(), normals.toarray(), scale)
        else:
            self._sparse(sparse, inner, normals)

    def solve(self, right: Any) -> Any:
        """Return the move of the variables and of the multipliers."""
        size, free, chosen = self._size, self._free, self._chosen
        move, v = np.array(right[:size]), np.array(right[size:])
        move[free] = 0.0
        v[chosen] = 0.0
        top = right[:size][free] - (self._hessian @ move + self._matrix.T @ v)[free]
        bottom = right[size:][chosen] - (self._matrix @ move)[chosen]
        found = cast("Any", self._solve(np.concatenate([top, bottom])))
        move[free], v[chosen] = found[: len(free)], found[len(free) :]
        return np.concatenate([move, v])

    def _dense(self, inner: Any, normals: Any, scale: Any) -> None:
        count = len(normals)
        lengths = np.sqrt(np.sum((normals * scale) ** 2, axis=1))
        lengths[lengths == 0.0] = 1.0
        scaled, plane = normals * scale / lengths[:, None], np.eye(len(scale))
        if count:
            _, sizes, basis = np.linalg.svd(scaled)
            if count > len(scale) or np.min(sizes) < _DEPENDENT:
                self.state = 1
                return
            plane = basis[count:].T
        if plane.shape[1]:
            curved = scale[:, None] * inner * scale
            curvatures = np.linalg.eigvalsh(plane.T @ curved @ plane)
            if not curvatures[0] > _FLAT * max(float(np.max(np.abs(curved))), 1e-300):
                self.state = 3
                return
        whole = np.block([[inner, normals.T], [normals, np.zeros((count, count))]])
        self._solve = lambda right: np.linalg.solve(whole, right) if len(whole) else right

    def _sparse(self, sparse: Any, inner: Any, normals: Any) -> None:
        from scipy.sparse import linalg

        solvers: Any = linalg
        whole = sparse.block_array([[inner, normals.T], [normals, None]], format="csc")
        try:
            factor = solvers.splu(whole)
        except RuntimeError:
            self.state = 1
            return
        count, size = inner.shape[0], whole.shape[0]
        inverse = solvers.LinearOperator(
            (size, size), matvec=factor.solve, rmatvec=lambda b: factor.solve(b, trans="T"), dtype=np.float64
        )
        if not solvers.onenormest(inverse) * abs(whole).sum(axis=0).max() < 1 / _FLAT**1.5:
            self.state = 1
            return

        def along(right: Any) -> Any:
            """Return the inverse of the curvature along the limits, of a part of a vector."""
            return factor.solve(np.concatenate([np.ravel(right), np.zeros(size - count)]))[:count]

        if normals.shape[0] < count:
            plane = solvers.LinearOperator((count, count), matvec=along, dtype=np.float64)
            generator = np.random.default_rng(0)
            try:
                least = solvers.eigsh(
                    plane,
                    k=1,
                    which="SA",
                    return_eigenvectors=False,
                    tol=1e-3,
                    v0=generator.normal(size=count),
                )[0]
                largest = solvers.eigsh(
                    plane,
                    k=1,
                    which="LM",
                    return_eigenvectors=False,
                    tol=1e-3,
                    v0=generator.normal(size=count),
                )[0]
            except solvers.ArpackNoConvergence:
                self.state = 3
                return
            if least < -_FLAT * abs(largest):
                self.state = 3
                return
        self._solve = factor.solve
