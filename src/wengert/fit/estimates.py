"""The result of a fit by maximum likelihood: estimates, standard errors, intervals, and a table."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.lazy import lazy
from wengert.engine.core.markup import element, in_notebook, short_table
from wengert.engine.transforms.jacobians import jacobian
from wengert.engine.transforms.vectors import joined
from wengert.fit.mode import Point, Potential
from wengert.fit.profiles import profile_limits
from wengert.fit.tables import number, table, written_names
from wengert.optimize.flat import Flat


class Interval(NamedTuple):
    """Confidence limits in the container of the parameters."""

    lower: Any
    upper: Any


class Fit:
    """Estimates of the greatest likelihood. Made by `mle`; it prints, and a notebook shows it, as a table.

    Attributes:
        estimates: the parameters, in the container of the start.
        covariance: the covariance of the estimates, a matrix in the order of ``names``.
        loglikelihood: the greatest log-likelihood.
        observations: the number of observations; None if it is not known.
        names: a name for each element of the parameters, in the order in which the start has them.
        robust: whether the covariance is the sandwich.
        warnings: sentences on what makes the fit doubtful: no maximum, or no standard error; the table ends with them.
        success: whether the list of warnings is empty.
    """

    def __init__(
        self,
        potential: Potential,
        point: Point,
        covariance: Any,
        observations: int | None,
        robust: bool,
        maxiter: int,
    ) -> None:
        self._potential, self._point, self._maxiter = potential, point, maxiter
        self.estimates = potential.flat.users(point.x)
        self._covariance, self._order = covariance, potential.flat.written_order
        self.covariance = covariance[np.ix_(self._order, self._order)]
        self.loglikelihood = -point.value
        self.observations = observations
        self.names = written_names(potential.flat)
        self.robust = robust
        self.warnings = [*potential.doubts(point), *self._missing_errors()]
        self.success = not self.warnings

    def _missing_errors(self) -> list[str]:
        with np.errstate(all="ignore"):
            wrong = ~(self._errors > 1e-15 * np.abs(self._point.x)) | ~np.isfinite(self._errors)
        names = ", ".join(
            name for name, is_wrong in zip(self.names, wrong[self._order], strict=True) if is_wrong
        )
        return (
            [f"the standard errors of {names} are not positive numbers beyond rounding errors"]
            if names
            else []
        )

    @lazy
    def _errors(self) -> Any:
        with np.errstate(invalid="ignore"):
            return np.sqrt(np.diag(self._covariance))

    @property
    def standard_errors(self) -> Any:
        """The standard error of each estimate, in the container of the parameters."""
        return self._potential.flat.users(self._errors)

    @property
    def correlation(self) -> Any:
        """The correlations of the estimates, a matrix in the order of ``names``."""
        errors = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.multiply.outer(errors, errors)

    @property
    def aic(self) -> float:
        """Akaike's information criterion, ``2 k - 2 l`` for k parameters."""
        return 2.0 * len(self.names) - 2.0 * self.loglikelihood

    @property
    def bic(self) -> float:
        """The Bayesian information criterion, ``k log n - 2 l`` for k parameters and n observations."""
        if self.observations is None:
            requirement = "the number of observations must be known"
            hint = "pass observations= to mle, or return the log density of each observation"
            raise ArgumentError(message("bic", requirement, "a sum of log densities", hint))
        return len(self.names) * float(np.log(self.observations)) - 2.0 * self.loglikelihood

    def interval(self, level: float = 0.95) -> Interval:
        """Return Wald's confidence limits, ``estimate -+ z standard error``.

        Args:
            level: the probability that an interval holds the parameter.

        Returns:
            An `Interval` with ``lower`` and ``upper``, in the container of the parameters.

        Raises:
            ArgumentError: the level is not between 0 and 1.

        Example:
            >>> from wengert.fit import mle
            >>> fit = mle(lambda p, y: -((y - p) ** 2) / 2, np.array([1.0, 2.0, 3.0]), 0.0)
            >>> print(*np.round(fit.interval(), 3))
            0.868 3.132
        """
        lower, upper = self._wald(level)
        return Interval(self._potential.flat.users(lower), self._potential.flat.users(upper))

    def profile(self, level: float = 0.95) -> Interval:
        """Return the confidence limits of the profile likelihood.

        A limit is a value at which the log-likelihood, maximised over the other parameters, is ``z^2 / 2`` below the
        greatest. Unlike Wald's limits, they follow the parameter under any change of its scale. A limit is infinite
        where the likelihood never falls so far. The limits rely on the distribution, with robust standard errors, too.

        Args:
            level: the probability that an interval holds the parameter.

        Returns:
            An `Interval` with ``lower`` and ``upper``, in the container of the parameters.

        Raises:
            ArgumentError: the level is not between 0 and 1.
            LimitError: the other parameters do not reach a maximum.

        Example:
            >>> from wengert.fit import mle
            >>> waits = np.array([0.3, 1.2, 0.4, 2.5, 0.6])
            >>> fit = mle(lambda rate, t: np.log(rate) - rate * t, waits, 1.0)
            >>> print(*np.round(fit.profile(), 3))
            0.359 2.149
        """
        z = quantile("profile", level)
        limits = profile_limits(self._potential, self._point, z, self._maxiter)
        return Interval(*[self._potential.flat.users(limit) for limit in limits])

    def delta(self, function: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Return a function of the estimates and its standard errors by the delta method.

        The covariance of ``g(p)`` is ``J C J^T`` for the Jacobian J of g and the covariance C of the parameters.

        Args:
            function: takes the parameters, and returns a number, an array, or a container of them.

        Returns:
            ``(values, standard_errors)``, in the container that the function returns.

        Example:
            >>> from wengert.fit import mle
            >>> waits = np.array([0.3, 1.2, 0.4, 2.5, 0.6])
            >>> fit = mle(lambda p, t: p - np.exp(p) * t, waits, 0.0)
            >>> print(*np.round(fit.delta(np.exp), 3))
            1.0 0.447
        """
        flat, values = self._potential.flat, function(self.estimates)
        results = Flat("delta", values, "output")

        def vector(x: Any) -> Any:
            return joined(tree.leaves(function(flat.container(x))), FLOAT64)

        slopes = jacobian(vector)(self._point.x)
        errors = np.sqrt(np.einsum("ij,jk,ik->i", slopes, self._covariance, slopes))
        return values, results.users(errors)

    def _wald(self, level: float) -> tuple[Any, Any]:
        margin = quantile("interval", level) * self._errors
        return self._point.x - margin, self._point.x + margin

    def _parts(self) -> tuple[str, list[str], list[list[str]]]:
        """Return the title, the names of the columns, and the rows."""
        count = "" if self.observations is None else f"{self.observations} observations, "
        bic = "" if self.observations is None else f", BIC {number(self.bic, 1.0)}"
        robust = "; robust standard errors" if self.robust else ""
        title = f"{count}log-likelihood {number(self.loglikelihood, 1.0)}, AIC {number(self.aic, 1.0)}{bic}{robust}"
        columns = ["parameter", "estimate", "std. error", "z", "95% from", "to"]
        lower, upper = self._wald(0.95)
        columns_of_numbers = np.stack([self._point.x, self._errors, lower, upper])[:, self._order]
        rows = [
            [name, number(x, error), number(error), _ratio(x, error), number(low, error), number(high, error)]
            for name, x, error, low, high in zip(self.names, *columns_of_numbers.tolist(), strict=True)
        ]
        return f"Maximum likelihood: {title}", columns, rows

    def __str__(self) -> str:
        title, columns, rows = self._parts()
        return "\n\n".join(filter(None, [title, table(columns, rows), "\n".join(self.warnings)]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return in_notebook(short_table(*self._parts()), *(element("p", text) for text in self.warnings))


def _ratio(value: float, error: float) -> str:
    return f"{value / error:.2f}" if error else "nan"


def quantile(operation: str, level: float) -> float:
    """Return z such that a standard normal number is between -z and z with some probability."""
    if not 0.0 < level < 1.0:
        raise ArgumentError(message(operation, "the level must be between 0 and 1", str(level)))
    return NormalDist().inv_cdf((1.0 + level) / 2.0)
