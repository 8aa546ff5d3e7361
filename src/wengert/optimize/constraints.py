"""Constraints of a problem, with exact Jacobians and Hessians, in the forms of SciPy's solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import SEQUENCE
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.lazy import lazy
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.transforms.jacobians import hessian, hvp
from wengert.optimize.flat import Flat
from wengert.optimize.limits import ordered
from wengert.optimize.passes import Passes, passes_of
from wengert.optimize.scipys import as_tuple
from wengert.optimize.sparsity import is_sparse
from wengert.sparse.derivatives import SparseDerivative, sparse_hessian

MOST_DENSE = 100
"""The most variables for which the Hessian of a constraint is a matrix; beyond, it is an operator."""


@dataclass(frozen=True, eq=False)
class Constraint:
    """Values ``lower <= g(x) <= upper`` of a vector x, with their derivatives."""

    passes: Passes
    arrays: tuple[Any, ...]
    lower: Any
    upper: Any
    keep_feasible: Any = False
    users_jac: Callable[..., Any] | None = None
    users_hess: Any = None
    sparse: Any = False
    form: Any = None
    """The container of the values."""

    def fun(self, x: Any) -> Any:
        """Return the values."""
        return self.passes.get("values", lambda: self.passes.values)(x, self.arrays)

    def jac(self, x: Any) -> Any:
        """Return the Jacobian of the values as an array."""
        return self.passes.jacobian()(x, self.arrays)

    def jac_or_sparse(self, x: Any) -> Any:
        """Return the Jacobian of the values as an array or as a sparse matrix."""
        return self._jacobian(x, self.arrays)

    @lazy
    def _jacobian(self) -> Callable[..., Any]:
        sparse, x = self.passes.sparse_jacobian(), np.zeros(self.passes.flat.size)
        is_chosen = is_sparse(sparse, self.sparse, len(x), x, self.arrays)
        return sparse if is_chosen else self.passes.jacobian()

    def sparse_hessian(self) -> SparseDerivative:
        """Return the Hessian of the weighted sum at (x, v, arrays), as a sparse derivative."""
        return self.passes.sparse("hessian", lambda: sparse_hessian(self._weighted))

    def dense_hess(self, x: Any, v: Any) -> Any:
        """Return the Hessian of the weighted sum as an array."""
        return self.passes.get("hessian", self._hessian)(x, v, self.arrays)

    def uncompiled_hess(self, x: Any, v: Any) -> Any:
        """Return the Hessian of the weighted sum as an array, where compiling it for one point does not pay."""
        return hessian(self._weighted)(x, v, self.arrays)

    @lazy
    def _sparse_hessian(self) -> SparseDerivative | None:
        made = self.sparse_hessian()
        x, v = np.zeros(self.passes.flat.size), np.zeros(len(self.lower))
        return made if is_sparse(made, self.sparse, len(x), x, v, self.arrays) else None

    def hess(self, x: Any, v: Any) -> Any:
        """Return the Hessian of the sum of the values times the multipliers ``v``: a matrix or a linear operator."""
        if self._sparse_hessian is not None:
            return self._sparse_hessian(x, v, self.arrays)
        if self.passes.flat.size <= MOST_DENSE:
            return self.dense_hess(x, v)
        from scipy.sparse.linalg import LinearOperator

        run, point, multipliers = self.passes.get("product", self._product), np.array(x), np.array(v)

        def multiply(p: Any) -> Any:
            return run(point, np.ascontiguousarray(p, np.float64).reshape(-1), multipliers, self.arrays)

        size = self.passes.flat.size
        return LinearOperator((size, size), matvec=multiply, rmatvec=multiply, dtype=np.float64)  # pyright: ignore[reportCallIssue]

    def scipys(self, optimize: Any, *, with_hessian: bool = True) -> Any:
        """Return SciPy's constraint; only the method trust-constr takes Hessians."""
        hess: Any = optimize.BFGS() if not with_hessian else self.users_hess or self.hess
        jac = self.users_jac or (self.jac_or_sparse if with_hessian else self.jac)
        return optimize.NonlinearConstraint(self.fun, self.lower, self.upper, jac, hess, self.keep_feasible)

    def _weighted(self, x: Any, multipliers: Any, arrays: Any) -> Any:
        return np.sum(multipliers * self.passes.values(x, arrays))

    def _hessian(self) -> Callable[..., Any]:
        return hessian(self._weighted)

    def _product(self) -> Callable[..., Any]:
        def product(x: Any, p: Any, v: Any, arrays: Any) -> Any:
            return hvp(lambda x: self._weighted(x, v, arrays))(x, p)

        return product


def made_constraints(optimize: Any, flat: Flat, constraints: Any, sparse: Any) -> list[Any]:
    """Return a `Constraint` for each constraint, in any of the forms that `problem` takes.

    A linear constraint of SciPy's stays as it is.
    """
    made = [_made(optimize, flat, constraint) for constraint in _listed(optimize, constraints)]
    return [replace(g, sparse=sparse) if isinstance(g, Constraint) else g for g in made]


def _listed(optimize: Any, constraints: Any) -> list[Any]:
    """Return a sequence of constraints, or one, as a list."""
    kinds: Any = (dict, optimize.NonlinearConstraint, optimize.LinearConstraint)
    is_single = (
        isinstance(constraints, kinds) or _is_triple(constraints) or not hasattr(constraints, "__iter__")
    )
    return [constraints] if is_single else list(constraints)


class Part(NamedTuple):
    """A constraint as a function of the container of the variables, with limits as the user gives them."""

    fun: Callable[..., Any]
    lower: Any
    upper: Any


def parts_of(optimize: Any, flat: Flat, constraints: Any) -> list[Part]:
    """Return the constraints in any of the forms that `problem` takes, whose functions a transform may follow."""
    return [_part(optimize, flat, constraint) for constraint in _listed(optimize, constraints)]


def limits_of(part: Part, form: Flat) -> tuple[Any, Any]:
    """Return the limits of a constraint as vectors, given the container of its values."""
    return ordered(form, part.lower, part.upper, "limit")


def _part(optimize: Any, flat: Flat, constraint: Any) -> Part:
    if isinstance(constraint, optimize.LinearConstraint):
        matrix, (lower, upper) = constraint.A, (constraint.lb, constraint.ub)
        matrix = np.atleast_2d(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
        limits = [
            np.broadcast_to(np.asarray(limit, np.float64), matrix.shape[:1]) for limit in (lower, upper)
        ]
        return Part(lambda x: np.matmul(matrix, flat.vector(x, "x")), *limits)
    if isinstance(constraint, dict):
        kind, args = _kind_of(flat, constraint), as_tuple(constraint.get("args", ()))
        return Part(lambda x: constraint["fun"](x, *args), 0.0, 0.0 if kind == "eq" else None)
    if isinstance(constraint, optimize.NonlinearConstraint):
        return Part(constraint.fun, constraint.lb, constraint.ub)
    if _is_triple(constraint):
        return Part(*constraint)
    raise _refused(flat, constraint)


def _is_triple(constraint: Any) -> bool:
    return isinstance(constraint, SEQUENCE) and len(constraint) == 3 and callable(constraint[0])


def _made(optimize: Any, flat: Flat, constraint: Any) -> Any:
    if isinstance(constraint, optimize.LinearConstraint):
        return constraint
    if isinstance(constraint, dict):
        return _of_dict(flat, constraint)
    if isinstance(constraint, optimize.NonlinearConstraint):
        jac, hess = constraint.jac, constraint.hess
        return replace(
            _constraint(flat, constraint.fun, (), constraint.lb, constraint.ub),
            keep_feasible=constraint.keep_feasible,
            users_jac=_on_vectors(flat, jac) if callable(jac) else None,
            users_hess=_users_hessian(optimize, flat, hess),
        )
    if _is_triple(constraint):
        fun, lower, upper = constraint
        return _constraint(flat, fun, (), lower, upper)
    raise _refused(flat, constraint)


def _refused(flat: Flat, constraint: Any) -> ArgumentError:
    requirement = "a constraint must be (function, lower, upper), a constraint of scipy.optimize, or a dict"
    return ArgumentError(message(flat.operation, requirement, type(constraint).__name__))


def _kind_of(flat: Flat, constraint: dict[str, Any]) -> str:
    """Return the type of a constraint as SciPy takes it: "eq", g(x) = 0, or "ineq", g(x) >= 0."""
    kind = str(constraint.get("type", "")).lower()
    if kind not in ("eq", "ineq") or "fun" not in constraint:
        requirement = "a dict must have the type 'eq' (g(x) = 0) or 'ineq' (g(x) >= 0), and a 'fun'"
        raise ArgumentError(message(flat.operation, requirement, str(constraint)))
    return kind


def _of_dict(flat: Flat, constraint: dict[str, Any]) -> Constraint:
    kind = _kind_of(flat, constraint)
    args, jac = as_tuple(constraint.get("args", ())), constraint.get("jac")
    made = _constraint(flat, constraint["fun"], args, 0.0, 0.0 if kind == "eq" else None)
    users = _on_vectors(flat, jac, args) if callable(jac) else None
    return replace(made, users_jac=users)


def _on_vectors(flat: Flat, function: Callable[..., Any], args: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """Return a function of a vector for the user's function of a container."""

    def call(x: Any, *more: Any) -> Any:
        return function(flat.container(x), *more, *args)

    return call


def _users_hessian(optimize: Any, flat: Flat, hess: Any) -> Any:
    """Return the Hessian that the user gives; None for BFGS, which is SciPy's default where there is none."""
    if callable(hess):
        return _on_vectors(flat, hess)
    is_default = isinstance(hess, (optimize.BFGS, type(None), bool))
    return None if is_default else hess


def _constraint(flat: Flat, fun: Any, args: tuple[Any, ...], lower: Any, upper: Any) -> Constraint:
    passes, arrays = passes_of(flat.operation, fun, flat, args)
    first = fun(flat.container(flat.start), *args)
    values = Flat(flat.operation, first, "the constraint")
    if np.isnan(values.start).any():
        raise ArgumentError(message(flat.operation, "a constraint must not be NaN at the start", "nan"))
    return Constraint(passes, arrays, *ordered(values, lower, upper, "limit"), form=values)
