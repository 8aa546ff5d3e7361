"""Systems of functions of a vector, with exact Jacobians, in the form that SciPy's solvers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.lazy import lazy
from wengert.optimize.flat import Flat
from wengert.optimize.passes import passes_of
from wengert.optimize.sparsity import checked_choice, is_sparse


class System:
    """The values of a function of some variables as one vector, and their Jacobian matrix.

    Args:
        operation: the name for messages.
        fun: takes the container of the variables and ``args``, and returns a container of numbers.
        x0: the start.
        args: further arguments.
        sparse: whether the Jacobian is a sparse matrix: True, False, or "auto".
        squared: whether the solver needs the sum of the squares.
    """

    def __init__(
        self,
        operation: str,
        fun: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...],
        sparse: Any = False,
        *,
        squared: bool = False,
    ) -> None:
        self.flat = Flat(operation, x0)
        self.x0 = self.flat.known_start
        self._passes, self._arrays = passes_of(operation, fun, self.flat, args)
        self._has_begun = False
        self._squared = squared
        self._choice = checked_choice(operation, sparse)

    def fun(self, x: Any) -> Any:
        """Return the values at a vector.

        Raises:
            ArgumentError: a value is NaN or infinite at the first point, or the sum of squares if the solver needs it.
        """
        run = self._passes.get("values", lambda: self._passes.values)
        values = run(np.ascontiguousarray(x, np.float64), self._arrays)
        if not self._has_begun:
            self._has_begun = True
            self._check(values)
        return values

    def values(self, x: Any) -> Any:
        """Return the values at a vector, also inside a transform."""
        return self._passes.values(x, self._arrays)

    def jac(self, x: Any) -> Any:
        """Return the Jacobian matrix at a vector: a row for each value."""
        return self._jacobian(np.ascontiguousarray(x, np.float64), self._arrays)

    @lazy
    def is_sparse(self) -> bool:
        """Whether the Jacobian is a sparse matrix."""
        sparse = self._passes.sparse_jacobian()
        return is_sparse(sparse, self._choice, self.flat.size, self.x0, self._arrays)

    @lazy
    def _jacobian(self) -> Callable[..., Any]:
        """The function that computes the Jacobian, as a sparse or as a dense matrix."""
        return self._passes.sparse_jacobian() if self.is_sparse else self._passes.jacobian()

    def jac_or_users(self, jac: Any, args: tuple[Any, ...]) -> Any:
        """Return the Jacobian of a solver's argument: the exact one for None, otherwise the user's."""
        if jac is None:
            return self.jac
        if callable(jac):

            def users(x: Any) -> Any:
                return jac(self.flat.container(x), *args)

            return users
        return jac

    def _check(self, values: Any) -> None:
        for position in np.flatnonzero(~np.isfinite(values))[:1]:
            requirement = "the values must be finite at the start"
            got = f"{values[position]} in value {position} of {len(values)}"
            raise ArgumentError(message(self.flat.operation, requirement, got, "start elsewhere"))
        with np.errstate(over="ignore"):
            if self._squared and not np.isfinite(np.vdot(values, values)):
                requirement, got = (
                    "the sum of squares must be finite at the start",
                    f"{np.max(np.abs(values)):.3g}",
                )
                hint = "scale the values, or start elsewhere"
                raise ArgumentError(message(self.flat.operation, requirement, f"a value of {got}", hint))
