"""Polynomials through points, under SciPy's names; Lagrange's products have exact derivatives at the points, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.numpy.registry import rank_of
from wengert.scipy.registry import floats


class _Polynomial:
    """The polynomial of least degree through points of different abscissas."""

    def __init__(self, xi: Any, yi: Any, axis: int = 0, **unused: Any) -> None:
        """Check the points.

        Args:
            xi: abscissas.
            yi: values along an axis.
            axis: of the values.
            unused: SciPy's options of how weights are computed.
        """
        name, self.xi, self.yi = type(self).__name__, floats(xi), floats(yi)
        self.axis = axis_index(name, axis, rank_of(self.yi))
        if rank_of(self.xi) != 1 or shape_of(self.yi)[self.axis] != shape_of(self.xi)[0]:
            raise ShapeError(message(name, "a value for each abscissa is required", show(xi, yi)))
        known = concrete(self.xi)
        if known is not None and len(np.unique(known)) < len(known):
            raise ArgumentError(message(name, "abscissas must differ: derivatives at a point are refused"))

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the polynomial of an object of SciPy's."""
        values = np.reshape(theirs.yi, (len(theirs.xi), *theirs._y_extra_shape))
        return cls(theirs.xi, np.moveaxis(values, 0, theirs._y_axis), theirs._y_axis)

    def __call__(self, x: Any) -> Any:
        """Return the values at points, whose axes stand in the place of the axis of the values."""
        x, own = floats(x), np.eye(shape_of(self.xi)[0], dtype=bool)
        spread = np.where(own, 1.0, self.xi[:, None] - self.xi)
        factors = np.where(own, 1.0, (x[..., None] - self.xi)[..., None, :] / spread)
        values = np.tensordot(np.prod(factors, -1), np.moveaxis(self.yi, self.axis, 0), 1)
        axes = range(rank_of(x))
        return np.moveaxis(values, list(axes), [self.axis + place for place in axes])


@substitutes("scipy.interpolate.BarycentricInterpolator")
class BarycentricInterpolator(_Polynomial):
    """The polynomial through points.

    Example:
        >>> print(BarycentricInterpolator(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 9.0]))(2.0))
        4.0
    """


@substitutes("scipy.interpolate.KroghInterpolator")
class KroghInterpolator(_Polynomial):
    """The polynomial through points of different abscissas.

    Example:
        >>> print(KroghInterpolator(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 9.0]))(2.0))
        4.0
    """


@substitutes("scipy.interpolate.barycentric_interpolate", "scipy.interpolate.krogh_interpolate")
def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, *more: Any, axis: int = 0, der: int = 0, **rng: Any
) -> Any:
    """Return the values at x of the polynomial through points.

    Raises:
        ArgumentError: a derivative is asked for, which transforms give.

    Example:
        >>> print(barycentric_interpolate(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 9.0]), 2.0))
        4.0
    """
    if der or more:
        requirement = "der must be 0, and axis= has its name: take derivatives by wg.jvp"
        raise ArgumentError(message("barycentric_interpolate", requirement))
    return BarycentricInterpolator(xi, yi, axis)(x)
