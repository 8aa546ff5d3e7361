"""`laplace`: a normal distribution in the place of a density."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import DoubtfulResultWarning, message
from wengert.engine.core.markup import element, in_notebook, short_table
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.fit.mode import Point, Potential
from wengert.fit.samples import with_leading_axes
from wengert.fit.tables import number, table, written_names
from wengert.optimize.scipys import as_tuple
from wengert.random.sampling import normal


class Laplace:
    """A normal distribution at the mode of a density. Made by `laplace`; print it as a table.

    Attributes:
        mode: the parameters of the greatest density, in the container of the start.
        covariance: the inverse of the information there, a matrix in the order of ``names``.
        logdensity: the log density at the mode.
        log_evidence: the logarithm of the integral of the density.
        names: a name for each element of the parameters, in the order in which the start has them.
        warnings: sentences on what makes the approximation doubtful; the table ends with them.
    """

    def __init__(self, potential: Potential, point: Point) -> None:
        self._flat, self._point = potential.flat, point
        self.mode = potential.flat.users(point.x)
        self.names = written_names(potential.flat)
        self._covariance, self._order = potential.covariance(point), potential.flat.written_order
        self.covariance = self._covariance[np.ix_(self._order, self._order)]
        self.warnings = potential.doubts(point)
        self.logdensity = -point.value
        half_determinant = 0.5 * float(np.linalg.slogdet(self.covariance)[1])
        self.log_evidence = self.logdensity + 0.5 * len(point.x) * math.log(2.0 * math.pi) + half_determinant

    @property
    def standard_deviations(self) -> Any:
        """The standard deviation of each parameter, in their container."""
        return self._flat.users(np.sqrt(np.diag(self._covariance)))

    def draw(self, key: Any, count: int) -> Any:
        """Draw parameters from the normal distribution.

        Args:
            key: of `wengert.random`.
            count: how many.

        Returns:
            The container of the parameters, each leaf with a leading axis of draws.

        Example:
            >>> from wengert.random import key
            >>> laplace(lambda p: -(p["x"] ** 2), {"x": 1.0}).draw(key(0), 5)["x"].shape
            (5,)
        """
        factor = cast("Any", np.linalg.cholesky(self._covariance))
        moves = normal(key, (count, len(self._point.x))) @ factor.T
        return with_leading_axes(self._flat, self._point.x + moves)

    def _parts(self) -> tuple[str, list[str], list[list[str]]]:
        """Return the title, the names of the columns, and the rows."""
        deviations = np.sqrt(np.diag(self.covariance))
        rows = [
            [name, number(x, deviation), number(deviation)]
            for name, x, deviation in zip(self.names, self._point.x[self._order], deviations, strict=True)
        ]
        title = f"Laplace approximation: log evidence {number(self.log_evidence)}"
        return title, ["parameter", "mode", "sd"], rows

    def __str__(self) -> str:
        title, columns, rows = self._parts()
        return "\n\n".join([title, table(columns, rows), *self.warnings])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return in_notebook(short_table(*self._parts()), *(element("p", text) for text in self.warnings))


@with_callbacks
def laplace(logdensity: Callable[..., Any], start: Any, args: Any = (), *, maxiter: int = 200) -> Laplace:
    """Approximate a density by the normal distribution at its mode.

    Its covariance is ``S = (-l'')^-1`` at the mode m of the log density l, and the logarithm of the density's integral,
    the evidence of a model, is about ``l(m) + (d/2) log(2 pi) + (1/2) log det S`` for d parameters. Both are exact for
    a normal density. The mode is found as in `mle`.

    Args:
        logdensity: takes the parameters and ``args``, and returns one number.
        start: the parameters to start from: a number, an array, or any container of them.
        args: further arguments of ``logdensity``, a tuple.
        maxiter: the most steps.

    Returns:
        A `Laplace`: ``mode``, ``covariance``, ``standard_deviations``, ``log_evidence``, ``draw``.

    Raises:
        ArgumentError: the log density is not finite at the start.
        DtypeError: a parameter is not a real number.
        LimitError: the steps do not reach a maximum.
        MatrixError: the density has no peak at its mode; the message names the parameters involved.

    Example:
        >>> import numpy as np
        >>> gamma = laplace(lambda x: 10 * np.log(x) - x, 5.0)  # the integral is 10!
        >>> print(gamma)
        Laplace approximation: log evidence 15.10
        <BLANKLINE>
        parameter   mode     sd
        x          10.00  3.162
        >>> print(round(np.exp(gamma.log_evidence) / 3628800, 3))
        0.992
    """
    potential = Potential("laplace", logdensity, start, as_tuple(args))
    approximation = Laplace(potential, potential.mode(maxiter))
    for doubt in approximation.warnings:
        warnings.warn(message("laplace", doubt), DoubtfulResultWarning, stacklevel=2)
    return approximation
