"""Piecewise polynomials: the intervals of points, evaluation, derivatives and integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import FLOAT64, complex_dtype, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import Shape, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import less_equal, logical_or, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import reshape, transpose
from wengert.numpy.registry import is_box, rank_of
from wengert.scipy.registry import array, doubles

_FEW = 16
"""Up to this number of knots, counting those on the left is faster than bisection."""


def interval(knots: Any, x: Any, first: int = 0, last: int | None = None) -> Any:
    """Return for each point the last position k from ``first`` to ``last`` with ``knots[k] <= x``, or ``first``.

    The knots rise. By default ``last`` is the last position but one, which begins the last interval.
    """
    last = shape_of(knots)[0] - 2 if last is None else last
    inner = knots[first + 1 : last + 1]
    count = last - first
    edges, points = concrete(inner), concrete(x)
    if edges is not None and points is not None:
        return first + np.minimum(np.searchsorted(edges, points, "right"), count) * ~np.isnan(points)
    if count <= _FEW:
        below = less_equal(inner, reshape(x, shape=(*shape_of(x), 1)))
        return first + np.sum(cast(below, dtype=np.dtype(np.int64)), -1)
    position: Any = np.zeros(shape_of(x), np.int64)
    for step in (1 << power for power in reversed(range(count.bit_length()))):
        further = position + step
        is_there = less_equal(gather(inner, np.minimum(further, count) - 1), x) & (further <= count)
        position = where(is_there, further, position)
    return first + position


def at_axis(values: Any, points: Shape, axis: int) -> Any:
    """Return interpolated values, whose leading axes are those of the points, with these axes at another place."""
    if not axis:
        return values
    rank, count = rank_of(values), len(points)
    order = (*range(count, count + axis), *range(count), *range(count + axis, rank))
    return transpose(values, permutation=order)


def column(x: Any, rank: int) -> Any:
    """Return a vector with further axes of extent 1."""
    return reshape(x, shape=(*shape_of(x), *(1,) * (rank - 1)))


def inexact(y: Any) -> Any:
    """Return values in double precision, real or complex."""
    y = array(y)
    dtype = complex_dtype(FLOAT64) if is_complex(dtype_of(y)) else FLOAT64
    return y if dtype_of(y) == dtype else cast(y, dtype=dtype)


def check_rising(operation: str, x: Any) -> None:
    """Raise where known numbers are not finite, or do not rise strictly."""
    numbers = concrete(x)
    if numbers is not None and not (np.isfinite(numbers).all() and (np.diff(numbers) > 0).all()):
        requirement = "x must be finite and rise strictly"
        raise ArgumentError(message(operation, requirement, show(x)))


def outside(x: Any, start: Any, stop: Any) -> Any:
    """Report which points lie outside an interval."""
    return logical_or(x < start, x > stop)


def wrapped(x: Any, start: Any, stop: Any) -> Any:
    """Return points moved by whole periods into an interval."""
    return start + np.remainder(x - start, stop - start)


@substitutes("scipy.interpolate.PPoly")
class PPoly:
    """A piecewise polynomial, ``sum_p c[k - p, i] (t - x[i])^p`` from ``x[i]`` to ``x[i + 1]``.

    Coefficients, breakpoints and points have derivatives. At a breakpoint the piece on its right counts.

    Raises:
        ShapeError: coefficients and breakpoints do not fit.
        ArgumentError: the breakpoints do not rise.

    Example:
        >>> PPoly(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([0.0, 1.0, 2.0]))(np.array([0.5, 1.5]))
        array([0.5, 1.5])
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c = inexact(c)
        if axis:
            c = np.moveaxis(c, (axis, axis + 1), (0, 1))
        self._build(c, doubles(x), extrapolate, axis)
        shape = shape_of(self.c)
        if rank_of(self.x) != 1 or len(shape) < 2 or not shape[0] or shape[1] + 1 != shape_of(self.x)[0]:
            requirement = "a polynomial for each interval of the breakpoints is required"
            raise ShapeError(message(type(self).__name__, requirement, show(self.c, self.x)))
        check_rising(type(self).__name__, self.x)

    def _build(self, c: Any, x: Any, extrapolate: Any, axis: int) -> None:
        self.c, self.x, self.axis = c, x, axis
        self.extrapolate = True if extrapolate is None else extrapolate
        if self.extrapolate != "periodic":
            self.extrapolate = bool(self.extrapolate)

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
        """Return a piecewise polynomial without checks.

        ``extrapolate``: as for the class.
        """
        made = object.__new__(cls)
        made._build(c, x, extrapolate, axis)
        return made

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the polynomial of an object of SciPy's."""
        return cls.construct_fast(theirs.c, theirs.x, theirs.extrapolate, theirs.axis)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values, or those of a derivative, at points.

        ``extrapolate``: as for the class; None for its choice.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        points = doubles(x)
        shape = shape_of(points)
        flat = reshape(points, shape=(size(shape),))
        if extrapolate == "periodic":
            flat = wrapped(flat, self.x[0], self.x[-1])
        number = interval(self.x, flat)
        rank = rank_of(self.c) - 1
        distance = column(flat - gather(self.x, number), rank)
        degree = shape_of(self.c)[0] - 1
        value: Any = None
        for row in range(degree + 1 - nu):  # the highest power first
            factor = float(math.perm(degree - row, nu))
            term = gather(self.c[row], number)
            term = term if nu == 0 else term * factor
            value = term if value is None else value * distance + term
        if value is None:
            value = gather(self.c[0], number) * 0.0
        if not extrapolate:
            value = where(column(outside(flat, self.x[0], self.x[-1]), rank), np.nan, value)
        value = where(column(np.isnan(flat), rank), np.nan, value)
        return at_axis(reshape(value, shape=(*shape, *shape_of(self.c)[2:])), shape, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        """Return a derivative as a piecewise polynomial."""
        if nu < 0:
            return self.antiderivative(-nu)
        degree = shape_of(self.c)[0] - 1
        factors = np.array([float(math.perm(degree - row, nu)) for row in range(degree + 1 - nu)])
        if len(factors):
            c = self.c[: len(factors)] * np.reshape(factors, (-1, *(1,) * (rank_of(self.c) - 1)))
        else:
            c = self.c[:1] * 0.0
        return PPoly.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return an antiderivative, continuous and 0 at the first breakpoint, as a piecewise polynomial."""
        if nu <= 0:
            return self.derivative(-nu)
        powers = np.arange(shape_of(self.c)[0], 0, -1.0)
        c = self.c / np.reshape(powers, (-1, *(1,) * (rank_of(self.c) - 1)))
        width = column(np.diff(self.x), rank_of(self.c) - 1)
        whole: Any = 0.0
        for row in range(len(powers)):
            whole = (whole + c[row]) * width
        before = np.cumsum(whole, 0)
        before = np.concatenate([before[:1] * 0.0, before[:-1]])
        extrapolate = self.extrapolate if self.extrapolate != "periodic" else False
        result = PPoly.construct_fast(np.concatenate([c, before[None]]), self.x, extrapolate, self.axis)
        return result.antiderivative(nu - 1)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b, which have derivatives, too.

        ``extrapolate``: as for the class; None for its choice.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        start, stop = self.x[0], self.x[-1]

        def up_to(limit: Any) -> Any:
            if extrapolate != "periodic":
                return PPoly.__call__(whole, limit, 0, extrapolate)
            periods = np.floor((doubles(limit) - start) / (stop - start))
            remainder = limit - periods * (stop - start)
            return PPoly.__call__(whole, remainder, 0, True) + periods * PPoly.__call__(whole, stop, 0, True)

        whole.axis = 0
        return up_to(b) - up_to(a)


@substitutes("scipy.interpolate.BPoly")
class BPoly(PPoly):
    """A piecewise polynomial in Bernstein's basis, ``sum_a c[a, i] C(k, a) s^a (1 - s)^(k - a)``.

    Here s runs from 0 to 1 on a piece.
    Coefficients, breakpoints and points have derivatives. At a breakpoint the piece on its right counts.

    Raises:
        ShapeError: coefficients and breakpoints do not fit.
        ArgumentError: the breakpoints do not rise.

    Example:
        >>> print(BPoly(np.array([[1.0], [2.0], [5.0]]), np.array([0.0, 2.0]))(1.0))
        2.5
    """

    @classmethod
    def from_derivatives(cls, xi: Any, yi: Any, orders: Any = None, extrapolate: Any = None) -> Any:
        """Return the polynomial of derivatives at the breakpoints, which are plain numbers.

        ``extrapolate``: as for the class.
        """
        from scipy import interpolate

        return cls.of_scipys(interpolate.BPoly.from_derivatives(xi, yi, orders, extrapolate))

    def _widths(self) -> Any:
        return column(np.diff(self.x), rank_of(self.c) - 1)

    def _powers(self) -> Any:
        """Return the polynomial by powers."""
        k = shape_of(self.c)[0] - 1
        signs = [
            [
                (-1.0) ** (p - a) * math.comb(k, a) * math.comb(k - a, p - a) if a <= p else 0.0
                for a in range(k + 1)
            ]
            for p in range(k, -1, -1)
        ]
        c = np.tensordot(np.array(signs), self.c, 1)
        c = np.stack([c[k - p] / self._widths() ** p for p in range(k, -1, -1)])
        return PPoly.construct_fast(c, self.x, self.extrapolate, self.axis)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values, or those of a derivative, at points.

        ``extrapolate``: as for the class; None for its choice.
        """
        return self._powers()(x, nu, extrapolate)

    def derivative(self, nu: int = 1) -> Any:
        """Return a derivative in the same basis."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            degree = shape_of(c)[0] - 1
            c = (c[1:] - c[:-1]) * float(degree) / self._widths() if degree else c * 0.0
        return BPoly.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return an antiderivative in the same basis, continuous and 0 at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        whole = np.cumsum(self.c, 0) / float(shape_of(self.c)[0]) * self._widths()
        c = np.concatenate([whole[:1] * 0.0, whole])
        before = np.cumsum(c[-1], 0)
        c = c + np.concatenate([before[:1] * 0.0, before[:-1]])
        extrapolate = self.extrapolate if self.extrapolate != "periodic" else False
        return BPoly.construct_fast(c, self.x, extrapolate, self.axis).antiderivative(nu - 1)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b, which have derivatives, too.

        ``extrapolate``: as for the class; None for its choice.
        """
        return self._powers().integrate(a, b, extrapolate)


def check_samples(operation: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    """Return abscissas, and samples with their axis first, in double precision."""
    x, y = doubles(x), inexact(y)
    rank = rank_of(y)
    if not rank or not -rank <= axis < rank:
        raise ShapeError(message(operation, f"y must have an axis {axis}", show(y)))
    axis %= rank
    if rank_of(x) != 1 or shape_of(x)[0] < 2 or shape_of(x)[0] != shape_of(y)[axis]:
        requirement = "at least two abscissas, one for each sample along the axis, are required"
        raise ShapeError(message(operation, requirement, show(x, y)))
    check_rising(operation, x)
    samples = None if is_box(y) else y
    if samples is not None and not np.isfinite(samples).all():
        raise ArgumentError(message(operation, "the samples must be finite", show(y)))
    return x, np.moveaxis(y, axis, 0), axis
