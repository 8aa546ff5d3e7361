"""A problem as a nonlinear program, ``min f(x)`` with ``lower <= g(x) <= upper``: derivatives on fixed patterns.

The rows of g are the values of all constraints, one after the other. Matrices of derivatives are sparse: a pattern that
holds at every point, and its elements at a point. So an interior-point method needs one symbolic factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import ArgumentError, ConcreteError, UnsupportedError, message
from wengert.engine.core.lazy import lazy
from wengert.engine.core.named_tuples import NamedTuple
from wengert.optimize.constraints import Constraint
from wengert.optimize.problems import Problem
from wengert.optimize.sparsity import LEAST_VARIABLES
from wengert.sparse.packages import scipy_sparse

MOST_DENSE = 2000
"""The most variables for which a matrix without a known pattern is written out."""


class Elements(NamedTuple):
    """A matrix of derivatives: its pattern, and a function that computes its elements in the pattern's order."""

    pattern: Any
    """A Boolean matrix of SciPy's, row by row."""
    at: Callable[..., Any]


class Program:
    """The parts of a problem that an interior-point method takes.

    Args:
        problem: the objective, the bounds and the constraints.
        derivatives: the user's ``fun``, ``jac`` and ``hess`` of a vector, in the place of the exact ones. With a
            gradient and no Hessian of the user's, the Hessian must be approximated.
    """

    def __init__(self, problem: Problem, derivatives: Mapping[str, Any] | None = None) -> None:
        self.problem = problem
        self.size = problem.flat.size
        given = dict(derivatives or {})
        self.fun: Callable[[Any], Any] = given.get("fun", problem.fun)
        self.jac: Callable[[Any], Any] = given.get("jac", problem.jac)
        self._users_hess: Any = given.get("hess")
        self._is_exact = "jac" not in given
        self.constraints = [_linear(problem, g) for g in problem.given_constraints]
        self.lower = np.concatenate([np.zeros(0), *(g.lower for g in self.constraints)])
        self.upper = np.concatenate([np.zeros(0), *(g.upper for g in self.constraints)])
        self.ends = np.cumsum([len(g.lower) for g in self.constraints])
        bounds = problem.bounds
        infinite = np.full(self.size, np.inf)
        self.low, self.high = (-infinite, infinite) if bounds is None else (bounds.lb, bounds.ub)

    def values(self, x: Any) -> Any:
        """Return the values of the constraints at a vector."""
        return np.concatenate([np.zeros(0), *(g.fun(x) for g in self.constraints)])

    def violation(self, x: Any, values: Any) -> float:
        """Return the largest violation of a bound or limit, relative to the limit or to 1; infinite for NaN."""
        excess = [0.0]
        for low, at, high in ((self.low, x, self.high), (self.lower, values, self.upper)):
            for limit, beyond in ((low, low - at), (high, at - high)):
                scale = np.maximum(1.0, np.abs(np.where(np.isfinite(limit), limit, 1.0)))
                excess.append(float(np.max(beyond / scale, initial=0.0)))
        worst = max(excess)
        return worst if not np.isnan(np.sum(values)) and not np.isnan(np.sum(x)) else np.inf

    @lazy
    def jacobian(self) -> Elements:
        """The Jacobian of the values."""
        sparse = scipy_sparse(self.problem.flat.operation)
        blocks = [self._jacobian(g) for g in self.constraints]
        empty = sparse.csr_array((0, self.size), dtype=bool)
        pattern = sparse.vstack([empty, *(block.pattern for block in blocks)], format="csr")
        return Elements(pattern, lambda x: np.concatenate([np.zeros(0), *(block.at(x) for block in blocks)]))

    @lazy
    def hessian(self) -> Elements | None:
        """The lower half of the Hessian of ``s f(x) + v g(x)`` at (x, v, s); None where it must be approximated."""
        first = self._objectives_hessian()
        blocks = [first, *map(self._hessian, self.constraints)]
        if any(block is None for block in blocks):
            return None
        maps = [_lower(block.pattern) for block in blocks if block is not None]
        keys, places = np.unique(np.concatenate([keys for keys, _ in maps]), return_inverse=True)
        taken = [places_of for _, places_of in maps]
        sparse = scipy_sparse(self.problem.flat.operation)
        rows, columns = np.divmod(keys, self.size)
        pattern = sparse.csr_array((np.ones(len(keys), bool), (rows, columns)), shape=(self.size, self.size))
        starts = [0, *self.ends]

        def elements(x: Any, multipliers: Any, scale: float) -> Any:
            parts = [scale * blocks[0].at(x)[taken[0]]]  # pyright: ignore[reportOptionalMemberAccess]
            for n, block in enumerate(blocks[1:]):
                v = multipliers[starts[n] : starts[n + 1]]
                parts.append(block.at(x, v)[taken[n + 1]])  # pyright: ignore[reportOptionalMemberAccess]
            return np.bincount(places, np.concatenate(parts), len(keys))

        return Elements(pattern, elements)

    def matrix(self, elements: Elements, *arguments: Any) -> Any:
        """Return a matrix of derivatives at a point as a sparse one."""
        sparse, pattern = scipy_sparse(self.problem.flat.operation), elements.pattern
        data = elements.at(*arguments)
        return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)

    def lagrangian_hessian(self, x: Any, multipliers: Any) -> Any:
        """Return the Hessian of ``f(x) + v g(x)`` as an array, for one point; None where it must be approximated."""
        users = any(g.users_jac or g.users_hess for g in self.constraints if isinstance(g, Constraint))
        if users or not self._is_exact:
            return None
        total, start = self.problem.uncompiled_hess(x), 0
        for g, end in zip(self.constraints, self.ends, strict=True):
            v, start = multipliers[start:end], end
            if isinstance(g, Constraint) and np.any(v):
                total = total + g.uncompiled_hess(x, v)
        return total

    # -- the blocks ----------------------------------------------------------------------------------------

    def _jacobian(self, g: Any) -> Elements:
        if isinstance(g, Affine):
            return Elements(g.matrix.astype(bool), lambda x: g.matrix.data)
        shape = len(g.lower), self.size
        if g.users_jac is not None:
            return Elements(self._full(shape), lambda x: _dense(g.users_jac(x), shape))
        made = self._sparse(g.passes.sparse_jacobian, g.arrays)
        return made or Elements(self._full(shape), lambda x: g.jac(x).ravel())

    def _hessian(self, g: Any) -> Elements | None:
        shape = self.size, self.size
        if isinstance(g, Affine):
            none = scipy_sparse(self.problem.flat.operation).csr_array(shape, dtype=bool)
            return Elements(none, lambda x, v: np.zeros(0))
        if callable(g.users_hess):
            return Elements(self._full(shape), lambda x, v: _dense(g.users_hess(x, v), shape))
        if g.users_jac is not None or g.users_hess is not None:
            return None
        made = self._sparse(g.sparse_hessian, g.arrays, np.zeros(len(g.lower)))
        if made is None and self.size <= LEAST_VARIABLES:
            made = Elements(self._full(shape), lambda x, v: g.dense_hess(_vector(x), _vector(v)).ravel())
        return made

    def _objectives_hessian(self) -> Elements | None:
        problem, shape = self.problem, (self.size, self.size)
        if callable(self._users_hess):
            return Elements(self._full(shape), lambda x: _dense(self._users_hess(x), shape))
        if not self._is_exact:
            return None
        made = self._sparse(problem.made_sparse_hess, problem.arrays)
        if made is None and self.size <= LEAST_VARIABLES:
            made = Elements(self._full(shape), lambda x: problem.hess(x).ravel())
        return made

    def _full(self, shape: tuple[int, int]) -> Any:
        if self.size > MOST_DENSE:
            requirement = (
                f"a matrix of derivatives with more than {MOST_DENSE} variables must have a pattern, which a "
                "function that is not traced, a jac or a hess of yours, or sparse=False does not give"
            )
            raise ArgumentError(message(self.problem.flat.operation, requirement, f"{shape}"))
        return scipy_sparse(self.problem.flat.operation).csr_array(np.ones(shape, bool))

    def _sparse(self, make: Callable[[], Any], arrays: Any, *arguments: Any) -> Elements | None:
        """Return the elements of a sparse derivative; None for few variables, or a function that is not traced."""
        choice = self.problem.sparse
        if choice is False or (choice == "auto" and self.size < LEAST_VARIABLES):
            return None
        try:
            made = make()
            pattern = made.pattern(self.problem.x0, *arguments, arrays)
        except (ConcreteError, UnsupportedError):
            if choice is True:
                raise
            return None
        return Elements(pattern, lambda *vectors: made.data(*map(_vector, vectors), arrays))


class Affine(NamedTuple):
    """The constraint ``lower <= A x <= upper``."""

    matrix: Any
    """A, sparse."""
    lower: Any
    upper: Any

    def fun(self, x: Any) -> Any:
        """Return the values."""
        return self.matrix @ x


def _linear(problem: Problem, g: Any) -> Any:
    """Return a constraint, a linear one of SciPy's with its matrix."""
    if isinstance(g, Constraint):
        return g
    operation = problem.flat.operation
    matrix = scipy_sparse(operation).csr_array(
        np.atleast_2d(g.A) if isinstance(g.A, (np.ndarray, list)) else g.A
    )
    matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    if matrix.shape[1] != problem.flat.size:
        requirement = f"the matrix of a LinearConstraint must have {problem.flat.size} columns"
        raise ArgumentError(message(operation, requirement, f"the shape {matrix.shape}"))
    try:
        lower, upper = (
            np.broadcast_to(np.asarray(limit, np.float64), matrix.shape[:1]) for limit in (g.lb, g.ub)
        )
    except ValueError:
        requirement = (
            f"the limits of a LinearConstraint must be numbers, or vectors of {matrix.shape[0]} elements"
        )
        raise ArgumentError(
            message(operation, requirement, f"{np.shape(g.lb)} and {np.shape(g.ub)}")
        ) from None
    if not np.all(lower <= upper):
        raise ArgumentError(
            message(operation, "a lower limit must not exceed the upper limit", "a LinearConstraint")
        )
    return Affine(matrix, lower, upper)


def _vector(x: Any) -> Any:
    return np.ascontiguousarray(x, np.float64)


def _dense(matrix: Any, shape: tuple[int, int]) -> Any:
    """Return the elements of a user's matrix, which may be sparse or a linear operator."""
    if hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    elif hasattr(matrix, "matmat"):
        matrix = matrix.matmat(np.eye(shape[1]))
    array = np.atleast_2d(np.asarray(matrix, np.float64))
    if array.shape != shape:
        raise ArgumentError(
            message("minimize", f"a matrix of derivatives must have the shape {shape}", f"{array.shape}")
        )
    return array.ravel()


def _lower(pattern: Any) -> tuple[Any, Any]:
    """Return the keys of the elements of the lower half, row by row, and their places among all elements."""
    rows = cast("Any", np).repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    places = np.flatnonzero(pattern.indices <= rows)
    return rows[places].astype(np.int64) * pattern.shape[1] + pattern.indices[places], places
