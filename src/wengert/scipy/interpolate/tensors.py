"""Splines of several variables as products of basis splines along each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import logical_or, where
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import rank_of
from wengert.scipy.interpolate.bsplines import local_basis
from wengert.scipy.interpolate.fitpack import RectBivariateSpline
from wengert.scipy.interpolate.piecewise import column, inexact, interval, outside
from wengert.scipy.interpolate.tables import sums_over_taps
from wengert.scipy.registry import doubles


@substitutes("scipy.interpolate.NdBSpline")
class NdBSpline:
    """A spline of several variables, ``sum c[j, ..., l] B_j(x[0]) ... B_l(x[-1])``.

    Coefficients, knots and points have derivatives.

    Raises:
        ShapeError: the knots do not fit the coefficients, or the points have other coordinates.

    Example:
        >>> t = np.array([0.0, 0.0, 1.0, 1.0])
        >>> NdBSpline((t, t), np.array([[0.0, 1.0], [2.0, 3.0]]), 1)([0.5, 0.25])
        array(1.25)
    """

    def __init__(self, t: Any, c: Any, k: Any, *, extrapolate: Any = None) -> None:
        self.t, self.c = tuple(doubles(line) for line in t), inexact(c)
        self.k = tuple(int(degree) for degree in np.broadcast_to(k, (len(self.t),)))
        self.extrapolate = True if extrapolate is None else bool(extrapolate)
        counts = tuple(shape_of(line)[0] - k - 1 for line, k in zip(self.t, self.k, strict=True))
        if shape_of(self.c)[: len(counts)] != counts or any(
            n <= k for n, k in zip(counts, self.k, strict=True)
        ):
            requirement = f"coefficients for the {counts} basis splines along the axes are required"
            raise ShapeError(message("NdBSpline", requirement, show(self.c)))

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the spline of an object of SciPy's."""
        return cls(theirs.t, theirs.c, theirs.k, extrapolate=theirs.extrapolate)

    def __call__(self, xi: Any, *, nu: Any = None, extrapolate: Any = None) -> Any:
        """Return the values, or those of a partial derivative, at points along the last axis.

        ``extrapolate``: as for the class; None for its choice.
        """
        points, rank = doubles(xi), len(self.t)
        if not rank_of(points) or shape_of(points)[-1] != rank:
            raise ShapeError(message("NdBSpline", f"points of {rank} coordinates are required", show(points)))
        shape = shape_of(points)[:-1]
        flat = reshape(points, shape=(size(shape), rank))
        positions, weights, is_outside = list[Any](), list[Any](), np.isnan(np.sum(flat, 1))
        for axis, (t, k, order) in enumerate(zip(self.t, self.k, nu or (0,) * rank, strict=True)):
            x, end = flat[:, axis], shape_of(t)[0] - k - 1
            number = interval(t, x, k, end - 1)
            positions.append(number[:, None] + np.arange(-k, 1))
            weights.append(local_basis(t, k, number, x, int(order)))
            if not (self.extrapolate if extrapolate is None else extrapolate):
                is_outside = logical_or(is_outside, outside(x, t[k], t[end]))
        values = sums_over_taps(self.c, positions, weights)
        values = where(column(is_outside, rank_of(values)), np.nan, values)
        return reshape(values, shape=(*shape, *shape_of(self.c)[rank:]))


@substitutes("scipy.interpolate.bisplev")
def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """Return the values, or those of a partial derivative, of a spline of two variables on a grid.

    Points, coefficients and knots have derivatives. Points beyond the edges have the value at the edge.

    Raises:
        ArgumentError: an order is not less than the degree.

    Example:
        >>> t = np.array([0.0, 0.0, 1.0, 1.0])
        >>> print(bisplev(0.5, 0.25, (t, t, np.array([0.0, 1.0, 2.0, 3.0]), 1, 1)))
        1.25
    """
    t, u, c, k, m = tck
    if not (0 <= dx < k and 0 <= dy < m):
        raise ArgumentError(message("bisplev", "the orders must be less than the degrees", f"{dx}, {dy}"))
    t, u, x, y = doubles(t), doubles(u), np.atleast_1d(doubles(x)), np.atleast_1d(doubles(y))
    shape = shape_of(t)[0] - k - 1, shape_of(u)[0] - m - 1
    spline = RectBivariateSpline.of_tensor((t, u), reshape(doubles(c)[: size(shape)], shape=shape), (k, m))
    z = spline(x, y, dx, dy)
    z = z if shape_of(z)[0] > 1 else z[0]
    return z if shape_of(z)[0] > 1 else z[0]
