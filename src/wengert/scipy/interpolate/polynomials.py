"""Polynomials through points, under SciPy's names; Lagrange's products have exact derivatives at the points, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.indexing import gather, scatter_add
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import rank_of
from wengert.scipy.interpolate.piecewise import column
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


@substitutes("scipy.interpolate.FloaterHormannInterpolator")
class FloaterHormannInterpolator(_Polynomial):
    """The rational function of Floater and Hormann through points, which blends polynomials of degree d.

    Example:
        >>> x = np.arange(6.0)
        >>> print(f"{FloaterHormannInterpolator(x, x**3)(2.5):.3f}")
        15.625
    """

    def __init__(self, points: Any, values: Any, *, d: int = 3, axis: int = 0) -> None:
        super().__init__(points, values, axis)
        count = shape_of(self.xi)[0]
        if not 0 <= d < count:
            raise ArgumentError(message(type(self).__name__, f"d must be one of 0 to {count - 1}", str(d)))
        order = np.argsort(self.xi)
        self.xi = gather(self.xi, order)
        self.yi = np.moveaxis(gather(np.moveaxis(self.yi, self.axis, 0), order), 0, self.axis)
        # Each polynomial goes through the points i to i + d.
        near = np.arange(count - d)[:, None] + np.arange(d + 1)
        x = self.xi[near]
        spread = np.where(np.eye(d + 1, dtype=bool), 1.0, np.abs(x[:, :, None] - x[:, None]))
        blended = scatter_add(
            reshape(1.0 / np.prod(spread, -1), shape=(near.size,)), near.ravel(), shape=(count,)
        )
        self.weights = blended * (-1.0) ** (np.arange(count) - d)

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the function of an object of SciPy's."""
        made = object.__new__(cls)
        made.xi, made.axis, made.weights = theirs._support_points, theirs._axis, theirs.weights
        made.yi = np.moveaxis(theirs._support_values, 0, theirs._axis)
        return made

    def __call__(self, x: Any) -> Any:
        """Return the values at points, also where one is a point that the function goes through."""
        x = floats(x)
        flat, values = np.ravel(x)[:, None], np.moveaxis(self.yi, self.axis, 0)
        is_infinite, flat = np.isinf(flat), np.where(np.isinf(flat), 0.0, flat)
        # Quotient and divisor times the distance from the nearest point are finite there, with all derivatives.
        nearest = np.argmin(np.abs(flat - self.xi), 1)
        is_nearest = nearest[:, None] == np.arange(shape_of(self.xi)[0])
        share = (flat - gather(self.xi, nearest)[:, None]) / np.where(is_nearest, 1.0, flat - self.xi)
        terms = self.weights * np.where(is_nearest | is_infinite, 1.0, share)
        result = np.tensordot(terms, values, 1) / column(np.sum(terms, 1), rank_of(values))
        result = reshape(result, shape=(*shape_of(x), *shape_of(values)[1:]))
        return np.moveaxis(result, 0, self.axis) if shape_of(x) else result
