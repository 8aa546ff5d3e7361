"""Interpolation in tables: `interp1d` of samples along a line, and grids in several dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import logical_or, where
from wengert.engine.ops.contraction import product
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import rank_of
from wengert.scipy.interpolate.bsplines import BSpline, local_basis, make_interp_spline
from wengert.scipy.interpolate.cubic import monotone_slopes
from wengert.scipy.interpolate.piecewise import at_axis, check_rising, column, interval
from wengert.scipy.registry import array, doubles, floats

_ORDERS: dict[Any, int] = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS = ("nearest", "nearest-up", "previous", "next")


def _refuse_outside(operation: str, is_outside: Any, hint: str) -> None:
    """Raise where known points lie outside a table."""
    flags = concrete(is_outside)
    if flags is not None and np.any(flags):
        raise ArgumentError(message(operation, "the points must lie inside the table", hint=hint))


@substitutes("scipy.interpolate.interp1d")
class interp1d:  # noqa: N801 (SciPy's name)
    """Interpolation of samples: lines, steps or splines; samples, abscissas and points have derivatives.

    The slope at a sample is that of the line on its right, at the last one that of the line on its left. Steps have no
    derivative in points.

    Args:
        copy: without effect.
        bounds_error: raise an error for points outside; None for True where ``fill_value`` is not "extrapolate". Points
            that are not known, as in `wg.jit`, get ``fill_value``.

    Raises:
        ShapeError: the shapes do not fit, or there are too few samples.
        ArgumentError: the kind is unknown, or the options contradict each other.

    Example:
        >>> float(interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(1.5))
        2.5
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        degree: Any = _ORDERS.get(kind, kind)
        if not isinstance(degree, int) and degree not in ("linear", *_STEPS):
            requirement = f"kind must be linear, {', '.join((*_STEPS, *_ORDERS))}, or a degree"
            raise ArgumentError(message("interp1d", requirement, repr(kind)))
        x, y = floats(x), floats(y)
        rank = rank_of(y)
        if rank_of(x) != 1 or not -rank <= axis < rank or shape_of(x)[0] != shape_of(y)[axis]:
            requirement = "an abscissa for each sample along the axis is required"
            raise ShapeError(message("interp1d", requirement, show(x, y)))
        self.axis = axis % rank
        least = degree + 1 if isinstance(degree, int) else 1 + (degree == "linear")
        if shape_of(x)[0] < least:
            raise ShapeError(message("interp1d", f"at least {least} samples are required", show(x)))
        y = np.moveaxis(y, self.axis, 0)
        if not assume_sorted:
            x, y = _sorted(x, y)
        self.x, self._samples, self._degree = x, y, degree
        self._spline = make_interp_spline(x, y, degree) if isinstance(degree, int) else None
        self._set_outside(fill_value, bounds_error)

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the table of an object of SciPy's."""
        made = object.__new__(cls)
        made.axis, made.x = theirs.axis, theirs.x
        made._samples = np.moveaxis(theirs.y, theirs.axis, 0)
        spline = getattr(theirs, "_spline", None)
        made._degree = theirs._kind if spline is None else spline.k
        made._spline = None
        if spline is not None:
            c = np.reshape(spline.c, (-1, *made._samples.shape[1:]))
            made._spline = BSpline.construct_fast(spline.t, c, spline.k)
        made._set_outside(theirs.fill_value, theirs.bounds_error)
        return made

    def _set_outside(self, fill_value: Any, bounds_error: Any) -> None:
        self.fill_value = fill_value
        self._extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        if self._extrapolates and bounds_error:
            requirement = 'bounds_error must not be True where fill_value is "extrapolate"'
            raise ArgumentError(message("interp1d", requirement))
        self.bounds_error = not self._extrapolates if bounds_error is None else bool(bounds_error)
        pair: list[Any] = list(fill_value) if type(fill_value) is tuple else []  # pyright: ignore[reportUnknownArgumentType]
        pair = pair if len(pair) == 2 else [fill_value] * 2
        shape = shape_of(self._samples)[1:]
        dtype = dtype_of(self._samples)
        values: list[Any] = [] if self._extrapolates else [cast(array(value), dtype=dtype) for value in pair]
        self._beyond = [np.broadcast_to(value, shape) for value in values]

    @property
    def y(self) -> Any:
        """The samples, in the order of the abscissas."""
        return np.moveaxis(self._samples, 0, self.axis)

    def __call__(self, x: Any) -> Any:
        """Return the values at points."""
        points = floats(x)
        shape = shape_of(points)
        flat = reshape(points, shape=(size(shape),))
        rank = rank_of(self._samples)
        value = self._at(flat)
        below, above = flat < self.x[0], flat > self.x[-1]
        if self.bounds_error:
            _refuse_outside("interp1d", logical_or(below, above), "give fill_value and bounds_error=False")
        if not self._extrapolates:
            value = where(column(below, rank), self._beyond[0], value)
            value = where(column(above, rank), self._beyond[1], value)
        elif self._degree in ("previous", "next"):  # beyond the other end there is no sample
            no_sample = below if self._degree == "previous" else above
            value = where(column(no_sample, rank), np.nan, value)
        return at_axis(reshape(value, shape=(*shape, *shape_of(self._samples)[1:])), shape, self.axis)

    def _at(self, x: Any) -> Any:
        count, knots, y = shape_of(self.x)[0], self.x, self._samples
        if self._spline is not None:
            spline = self._spline
            spline.axis = 0
            return spline(x)
        if self._degree == "linear":
            number = interval(knots, x)
            start, value = gather(knots, number), gather(y, number)
            slope = (gather(y, number + 1) - value) / column(gather(knots, number + 1) - start, rank_of(y))
            value = value + slope * column(x - start, rank_of(y))
            return where(column(np.isnan(x), rank_of(y)), np.nan, value)
        if count == 1:
            return gather(y, np.zeros(shape_of(x), np.int64))
        if self._degree == "nearest-up":
            return gather(y, interval((knots[1:] + knots[:-1]) / 2.0, x, -1, count - 2) + 1)
        if self._degree == "previous":
            return gather(y, interval(knots, x, 0, count - 1))
        # The last position to the left of x is one less than the number of elements that do not exceed it.
        edges = (knots[1:] + knots[:-1]) / 2.0 if self._degree == "nearest" else knots[:-1]
        return gather(y, count - 1 - (interval(-edges[::-1], -x, -1, count - 2) + 1))


def _sorted(x: Any, y: Any) -> tuple[Any, Any]:
    abscissas = concrete(x)
    if abscissas is not None and (np.diff(abscissas) >= 0).all():
        return x, y
    order = np.argsort(x if abscissas is None else abscissas, kind="stable")
    return gather(x, order), gather(y, order)


# -- grids -----------------------------------------------------------------------------------------------

_SPLINES = {"slinear": 1, "cubic": 3, "quintic": 5}
_DEGREES = {"linear": 1, **_SPLINES, **{f"{name}_legacy": degree for name, degree in _SPLINES.items()}}


def _points(xi: Any, rank: int) -> Any:
    """Return points with their coordinates along the last axis."""
    if type(xi) is tuple:
        parts: list[Any] = [doubles(x) for x in xi]  # pyright: ignore[reportUnknownVariableType]
        shape = np.broadcast_shapes(*map(shape_of, parts))
        xi = parts[0] if len(parts) == 1 else np.stack([np.broadcast_to(x, shape) for x in parts], -1)
    xi = doubles(xi)
    if rank_of(xi) == 1:
        xi = reshape(xi, shape=(size(shape_of(xi)) // rank, rank)) if shape_of(xi)[0] % rank == 0 else xi
    return xi


@substitutes("scipy.interpolate.RegularGridInterpolator")
class RegularGridInterpolator:
    """Interpolation of values on a grid of lines that are parallel to the axes.

    Values, lines and points have derivatives; "nearest" has one in the values alone. The slope at a line of the grid is
    that of the cell on its right.

    Args:
        bounds_error: raise an error for points outside. Points that are not known, as in `wg.jit`, get ``fill_value``.
        solver: without effect: the coefficients solve banded systems, one axis after the other.
        solver_args: without effect.

    Raises:
        ShapeError: the grid does not fit the values.
        ArgumentError: lines neither rise nor fall, or the method is unknown.

    Example:
        >>> grid = RegularGridInterpolator(([0.0, 1.0], [0.0, 1.0]), np.array([[0.0, 1.0], [2.0, 3.0]]))
        >>> grid([0.5, 0.25])
        array([1.25])
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        operation = "RegularGridInterpolator"
        self.method = _checked_method(operation, method)
        self.bounds_error, self.fill_value = bounds_error, fill_value
        values = array(values)
        values = values if is_inexact(dtype_of(values)) else floats(values)
        grid = [doubles(line) for line in points]
        fits = len(grid) <= rank_of(values) and all(
            rank_of(line) == 1
            and shape_of(line) == shape_of(values)[axis : axis + 1]
            and shape_of(line)[0] > 1
            for axis, line in enumerate(grid)
        )
        if not fits:
            requirement = "lines for each extent of the values, at least two, are required"
            raise ShapeError(message(operation, requirement, show(values, *grid)))
        for axis, line in enumerate(grid):
            coordinates = concrete(line)
            if coordinates is not None and (np.diff(coordinates) < 0).all():
                grid[axis], values = line[::-1], np.flip(values, axis)
            check_rising(operation, grid[axis])
        self.grid, self.values = tuple(grid), values

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the grid of an object of SciPy's."""
        return cls(theirs.grid, theirs.values, theirs.method, theirs.bounds_error, theirs.fill_value)

    def __call__(self, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
        """Return the values at points."""
        operation, rank = "RegularGridInterpolator", len(self.grid)
        method = self.method if method is None else _checked_method(operation, method)
        points = _points(xi, rank)
        if not rank_of(points) or shape_of(points)[-1] != rank:
            raise ShapeError(message(operation, f"points of {rank} coordinates are required", show(points)))
        if nu is not None and method not in _SPLINES:
            raise ArgumentError(
                message(operation, "nu is for the methods slinear, cubic and quintic", method)
            )
        shape = shape_of(points)[:-1]
        flat = reshape(points, shape=(size(shape), rank))
        coordinates = [flat[:, axis] for axis in range(rank)]
        is_outside: Any = np.zeros(size(shape), bool)
        for x, line in zip(coordinates, self.grid, strict=True):
            is_outside = logical_or(is_outside, logical_or(x < line[0], x > line[-1]))
        if self.bounds_error:
            _refuse_outside(operation, is_outside, "write bounds_error=False")
        orders = [0] * rank if nu is None else [int(order) for order in nu]
        result = self._at(coordinates, method, orders)
        further = len(shape_of(result))
        if self.fill_value is not None:
            result = where(column(is_outside, further), self.fill_value, result)
        is_nan = np.isnan(np.sum(flat, -1))
        result = where(column(is_nan, further), np.nan, result)
        return reshape(result, shape=(*shape, *shape_of(self.values)[rank:]))

    def _at(self, coordinates: list[Any], method: str, orders: list[int]) -> Any:
        rank = len(coordinates)
        if method == "nearest":
            return gather(self.values, *map(_nearest, self.grid, coordinates))
        if method == "pchip":
            return _monotone(self.values, self.grid, coordinates)
        degree = _DEGREES[method]
        values, positions, weights = self.values, list[Any](), list[Any]()
        for axis, (line, x, order) in enumerate(zip(self.grid, coordinates, orders, strict=True)):
            if method == "linear":
                number = interval(line, x)
                start = gather(line, number)
                share = (x - start) / (gather(line, number + 1) - start)
                positions.append(number[:, None] + np.arange(2))
                weights.append(np.array([1.0, 0.0]) + np.array([-1.0, 1.0]) * share[:, None])
                continue
            if shape_of(line)[0] <= degree:
                requirement = f"method {method} needs at least {degree + 1} lines in each dimension"
                raise ShapeError(message("RegularGridInterpolator", requirement, show(line)))
            spline = make_interp_spline(line, values, degree, axis=axis)
            values, t = np.moveaxis(spline.c, 0, axis), spline.t
            number = interval(t, x, degree, shape_of(line)[0] - 1)
            positions.append(number[:, None] + np.arange(-degree, 1))
            weights.append(local_basis(t, degree, number, x, order))
        sums = sums_over_taps(values, positions, weights)
        return reshape(sums, shape=(shape_of(sums)[0], *shape_of(values)[rank:]))


def _checked_method(operation: str, method: Any) -> str:
    if method not in (*_DEGREES, "nearest", "pchip"):
        requirement = f"method must be nearest, pchip, {', '.join(_DEGREES)}"
        raise ArgumentError(message(operation, requirement, repr(method)))
    return method


def _nearest(line: Any, x: Any) -> Any:
    number = interval(line, x)
    start = gather(line, number)
    return number + ((x - start) / (gather(line, number + 1) - start) > 0.5)


def _monotone(values: Any, grid: tuple[Any, ...], coordinates: list[Any]) -> Any:
    """Interpolate by `PchipInterpolator` along one axis after the other, from the last to the first."""
    if is_complex(dtype_of(values)):
        requirement = "the method pchip is for real values"
        raise DtypeError(message("RegularGridInterpolator", requirement, show(values)))
    count, last = shape_of(coordinates[0])[0], len(grid) - 1
    for axis in range(last, -1, -1):
        line, x = grid[axis], coordinates[axis]
        # Before the first step the values are the same for all points; after it, points are the first axis.
        lines = np.moveaxis(values, axis + (axis < last), 0)
        slopes = monotone_slopes(line, lines)
        number = interval(line, x)
        places = ((number,), (number + 1,))
        if axis < last:
            places = tuple((*place, np.arange(count)) for place in places)
        (y0, y1), (d0, d1) = ([gather(array, *place) for place in places] for array in (lines, slopes))
        start = gather(line, number)
        width = gather(line, number + 1) - start
        t, width = (column(value, rank_of(y0)) for value in ((x - start) / width, width))
        rise = y1 - y0
        bend = (d0 + d1) * width - 2.0 * rise
        values = y0 + t * (d0 * width + t * (rise - d0 * width - bend + t * bend))
    return values


def sums_over_taps(values: Any, positions: list[Any], weights: list[Any]) -> Any:
    """Return the sums of weights times values at positions along the leading axes: a row for each point.

    Positions and weights have an axis of points, then one of taps; weights are None for a tap that counts as it is.
    """
    rank, count = len(positions), shape_of(positions[0])[0]
    taps = [shape_of(position)[1] for position in positions]
    spread = [
        reshape(position, shape=(count, *(taps[own] if axis == own else 1 for axis in range(rank))))
        for own, position in enumerate(positions)
    ]
    further = size(shape_of(values)[rank:])
    result = reshape(gather(values, *spread), shape=(count, *taps, further))
    for own in reversed(range(rank)):
        letters = "abcdefghijklmnop"[: own + 2]
        if weights[own] is None:
            result = reshape(result, shape=(count, *(1,) * own, further))
        else:
            result = product(f"{letters}z,a{letters[-1]}->{letters[:-1]}z", result, weights[own])
    return result


@substitutes("scipy.interpolate.interpn")
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Interpolate values on a grid at points, by `RegularGridInterpolator`.

    ``bounds_error``: raise an error for points outside, where they are known.

    Example:
        >>> interpn(([0.0, 1.0],), np.array([0.0, 2.0]), [[0.25]])
        array([0.5])
    """
    grid = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    return grid(xi)
