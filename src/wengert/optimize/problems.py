"""A problem of optimisation with exact derivatives, in the form that SciPy's solvers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.lazy import lazy
from wengert.engine.ir.types import show
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.jacobians import hessian, hvp
from wengert.engine.transforms.reverse_mode import value_and_grad
from wengert.optimize.constraints import Constraint, made_constraints
from wengert.optimize.flat import Flat
from wengert.optimize.limits import flat_bounds
from wengert.optimize.passes import passes_of
from wengert.optimize.scipys import as_tuple, in_containers, scipy_optimize
from wengert.optimize.sparsity import checked_choice, is_sparse
from wengert.sparse.derivatives import SparseDerivative, sparse_hessian


class Problem:
    """An objective, bounds and constraints on one vector of float64, for `scipy.optimize`. Made by `problem`.

    Attributes:
        x0: the start as a vector.
        bounds: SciPy's `Bounds`, or None.
        flat: the container of the variables.
        arrays: those among the further arguments of the objective.
        given_constraints: a `Constraint`, or SciPy's linear one, for each constraint.
        sparse: True, False or "auto".
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        x0: Any,
        constraints: Any = (),
        bounds: Any = None,
        args: Any = (),
        *,
        sparse: Any = "auto",
        operation: str = "problem",
    ) -> None:
        optimize = scipy_optimize(operation)
        self.flat = flat = Flat(operation, x0)
        self.x0 = flat.known_start
        self.bounds = flat_bounds(optimize, flat, bounds)
        self._passes, self.arrays = passes_of(operation, fun, flat, as_tuple(args))
        self.sparse = checked_choice(operation, sparse)
        self.given_constraints = made_constraints(optimize, flat, constraints, self.sparse)
        self._kept: tuple[Any, Any, Any] | None = None
        self._has_begun = False

    @property
    def constraints(self) -> list[Any]:
        """A constraint of SciPy's for each constraint, with its Jacobian and its Hessians, which trust-constr takes."""
        return self.constraints_for("trust-constr")

    def constraints_for(self, method: str) -> list[Any]:
        """Return the constraints for a method of `scipy.optimize.minimize`: only trust-constr takes Hessians."""
        optimize, with_hessian = scipy_optimize(self.flat.operation), method.lower() == "trust-constr"
        return [
            g.scipys(optimize, with_hessian=with_hessian) if isinstance(g, Constraint) else g
            for g in self.given_constraints
            if not isinstance(g, Constraint) or np.any(np.isfinite(g.lower) | np.isfinite(g.upper))
        ]

    def fun(self, x: Any) -> float:
        """Return the objective at a vector. The gradient at this point is known then, too.

        Raises:
            ArgumentError: the objective does not return one number, or is NaN at the first point.
        """
        return self._at(x)[1]

    def jac(self, x: Any) -> Any:
        """Return the gradient of the objective at a vector; at the last point this costs nothing."""
        return np.array(self._at(x)[2])

    def value(self, x: Any) -> float:
        """Return the objective at a vector alone, for methods that use no derivatives."""
        run = self._passes.get("value", lambda: self._passes.scalar)
        value = float(run(self._vector(x), self.arrays))
        if not self._has_begun:
            self._check_first(value)
        return value

    def hess(self, x: Any) -> Any:
        """Return the Hessian matrix of the objective at a vector, sparse if the problem says so."""
        if self.sparse is True and self.sparse_hess is not None:
            return self.sparse_hess(x)
        return self._passes.get("hessian", lambda: hessian(self._passes.scalar))(self._vector(x), self.arrays)

    def uncompiled_hess(self, x: Any) -> Any:
        """Return the Hessian matrix of the objective at a vector, where compiling it for one point does not pay."""
        return hessian(self._passes.scalar)(self._vector(x), self.arrays)

    def made_sparse_hess(self) -> SparseDerivative:
        """Return the Hessian at (x, arrays) as a sparse derivative."""
        return self._passes.sparse("hessian", lambda: sparse_hessian(self._passes.scalar))

    @lazy
    def sparse_hess(self) -> Callable[[Any], Any] | None:
        """The function that returns the Hessian at a vector as a sparse matrix; None where the matrix is not sparse."""
        made = self.made_sparse_hess()
        if not is_sparse(made, self.sparse, self.flat.size, self.x0, self.arrays):
            return None
        return lambda x: made(self._vector(x), self.arrays)

    def hessp(self, x: Any, p: Any) -> Any:
        """Return the product of the Hessian at a vector with a direction, at the cost of a few gradients."""
        return self._passes.get("hessp", self._product)(self._vector(x), self._vector(p), self.arrays)

    def flatten(self, values: Any) -> Any:
        """Return a container like that of the variables as a vector."""
        return self.flat.vector(values, "values")

    def unflatten(self, x: Any) -> Any:
        """Return the container that a vector holds, with the dtypes of the start; integers become float64."""
        return self.flat.users(self._vector(x))

    def solution(self, result: Any) -> Any:
        """Return a result of SciPy's with the container in the place of the vectors ``x``, ``jac`` and ``grad``."""
        return in_containers(type(result)(result), self.flat, "x", "jac", "grad")

    def _product(self) -> Callable[..., Any]:
        def product(x: Any, p: Any, arrays: Any) -> Any:
            return hvp(lambda v: self._passes.scalar(v, arrays))(x, p)

        return product

    def _vector(self, x: Any) -> Any:
        """Return a vector of the size of the variables, or raise `ArgumentError`."""
        vector = np.ascontiguousarray(x, np.float64)
        if vector.shape != (self.flat.size,):
            requirement = f"a vector of {self.flat.size} elements is needed"
            hint = "flatten turns a container into a vector"
            raise ArgumentError(message(self.flat.operation, requirement, show(vector), hint))
        return vector

    def _at(self, x: Any) -> tuple[Any, Any, Any]:
        """Return a point with the value and the gradient there."""
        evaluation = self._kept
        if evaluation is None or not np.array_equal(evaluation[0], x):
            point = np.array(self._vector(x))
            run = self._passes.get("value_and_grad", lambda: value_and_grad(self._passes.scalar))
            value, gradient = run(point, self.arrays)
            evaluation = self._kept = (point, float(value), gradient)
            if not self._has_begun:
                self._check_first(evaluation[1], gradient)
        return evaluation

    def _check_first(self, value: float, gradient: Any = ()) -> None:
        """Raise `ArgumentError` if the objective or its gradient is NaN at the first point."""
        self._has_begun = True
        operation, hint = (
            self.flat.operation,
            "start elsewhere, or set WENGERT_CHECK=nan to find the operation",
        )
        if np.isnan(value):
            raise ArgumentError(message(operation, "the objective must not be NaN at the start", "nan", hint))
        for position in np.flatnonzero(np.isnan(gradient))[:1]:
            got = f"nan for {self.flat.path_of(int(position))}"
            raise ArgumentError(message(operation, "the gradient must not be NaN at the start", got, hint))


@with_callbacks
def problem(
    fun: Callable[..., Any],
    x0: Any,
    constraints: Any = (),
    bounds: Any = None,
    args: Any = (),
    *,
    sparse: Any = "auto",
) -> Problem:
    """Return a problem of optimisation with exact derivatives, for `scipy.optimize.minimize` and functions like it.

    Minimise ``f(x)`` subject to ``lower <= g(x) <= upper`` and bounds of x. SciPy's functions take the vector ``x0``,
    and ``fun``, ``jac``, ``hess`` and ``hessp`` of vectors; `Problem.unflatten` puts a vector into the container. All
    computation is in float64. The functions are compiled at their first call (`wengert.jit`), value and gradient as
    one; a function that needs known numbers, for example for Python's ``if``, runs as a NumPy program instead.

    Args:
        fun: takes the variables and ``args``, and returns one number.
        x0: the start: an array, a number, or any container of them. A list of numbers is an array.
        constraints: a sequence of ``(g, lower, upper)``, where ``g`` takes the variables and returns numbers, and the
            limits are numbers, arrays or containers like its result, None for no limit; or constraints of
            `scipy.optimize`: `NonlinearConstraint`, `LinearConstraint` on the vector, and dicts.
        bounds: of the variables: pairs ``(lower, upper)`` for each element of a vector or `scipy.optimize.Bounds`, or a
            tuple of lower and of upper bounds, which are numbers or containers like ``x0``; None for no bound.
        args: further arguments of ``fun``.
        sparse: whether matrices of derivatives are sparse. With "auto" those of the constraints, which trust-constr
            takes, are sparse if there are at least 200 variables and at most a tenth of the elements may differ from 0.

    Returns:
        A `Problem` with ``fun jac hess hessp x0 bounds constraints``.

    Raises:
        ArgumentError: there are no variables, or bounds or limits do not fit them.
        DtypeError: a variable is not a real number.
        MissingExtraError: SciPy is not installed.

    Example:
        >>> import numpy as np
        >>> from scipy.optimize import minimize
        >>> p = problem(lambda x: np.sum((x["a"] - 1.0) ** 2) + x["b"] ** 2, {"a": np.zeros(2), "b": 3.0})
        >>> result = minimize(p.fun, p.x0, jac=p.jac)
        >>> p.unflatten(result.x)["a"].round(6)
        array([1., 1.])
    """
    return Problem(fun, x0, constraints, bounds, args, sparse=sparse)
