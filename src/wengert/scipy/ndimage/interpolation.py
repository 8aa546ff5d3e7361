"""Values of an array between its elements: `map_coordinates`, and transformations of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import INT64, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import Shape, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import isfinite, logical_and, where
from wengert.engine.ops.contraction import product
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import reshape, transpose
from wengert.engine.ops.trigonometric import cos, sin
from wengert.numpy.registry import integers, is_array, rank_of
from wengert.scipy.interpolate.tables import sums_over_taps
from wengert.scipy.ndimage.arguments import (
    OF_INTERPOLATION,
    extended,
    inside,
    mode_of,
    per_axis,
    stored,
    working,
)
from wengert.scipy.ndimage.splines import EXTENSIONS, coefficients, order_of, weights_of
from wengert.scipy.registry import array, doubles, number, signatures

_BORDER = 12
"""Elements that are added where the coefficients of an extension have no simple extension themselves."""


_transformation = signatures(
    "scipy.ndimage",
    """
        map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True)
        shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True)
        zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False)
        affine_transform(input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant",
            cval=0.0, prefilter=True)
        rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant", cval=0.0,
            prefilter=True)
    """,
    raises="ArgumentError: the order or the mode is unknown.",
)


class _Source(NamedTuple):
    """The interpolated array: coefficients of splines, with the rules of their use."""

    values: Any
    order: int
    mode: str
    border: int
    cval: Any


class _Taps(NamedTuple):
    """The coefficients that the points along an axis need: an axis of taps after those of the points."""

    positions: Any
    weights: Any
    is_inside: Any


def _source(
    operation: str, x: Any, order: Any, mode: Any, cval: Any, prefilter: bool, axes: int | None = None
) -> _Source:
    """Return what is interpolated, by default along all axes, else along the leading ones."""
    degree = order_of(operation, order)
    extension = mode_of(operation, mode, OF_INTERPOLATION)
    values, border, axes = working(x), 0, rank_of(x) if axes is None else axes
    if prefilter and degree > 1:
        if extension in ("nearest", "grid-constant"):
            border = _BORDER
            mode_of_border = extension.removeprefix("grid-")
            for axis in range(axes):
                values = extended(values, axis, border, border, mode_of_border, cval)
        values = coefficients(values, degree, extension, axes)
    return _Source(values, degree, extension, border, cval)


def _taps(x: Any, count: int, source: _Source) -> _Taps:
    """Return the taps of the points with coordinates x along an axis of an extent."""
    order, mode = source.order, source.mode
    is_inside = isfinite(x)
    if mode == "constant":
        is_inside = logical_and(x >= 0, x <= count - 1)
    x = where(is_inside, x, 0.0) + float(source.border)
    if mode == "wrap":
        x = _periodic(x, count)
    if mode == "mirror" and order == 0:
        x = _mirrored(x, count)
    base = np.floor(x) if order & 1 else np.floor(x + 0.5)
    if order == 1 and mode in ("constant", "wrap"):
        base = np.minimum(base, max(count - 2, 0))  # at the last element, the slope of the last piece
    positions = (base - order // 2)[..., None] + np.arange(order + 1.0)
    weights = None
    if order:
        distance = (x - base if order & 1 else x + 0.5 - base)[..., None]
        *lower, weights = weights_of(order)
        for row in reversed(lower):
            weights = weights * distance + row
    if mode == "grid-constant":
        among = logical_and(positions >= 0, positions <= count - 1)
        weights = where(among, 1.0 if weights is None else weights, 0.0)
        positions = np.clip(positions, 0, count - 1)
    else:
        positions = inside(positions, count, mode if mode == "nearest" else EXTENSIONS[mode])
    return _Taps(cast(positions, dtype=INT64), weights, is_inside)


def _mirrored(x: Any, count: int) -> Any:
    """Return coordinates in ``0 .. count``; points in the middle between two elements fall to that of SciPy."""
    period = max(2.0 * count - 2.0, 1.0)
    distance = np.abs(x) - period * np.floor(np.abs(x) / period)
    return where(distance >= where(x < 0, count - 1.0, float(count)), period - distance, distance)


def _periodic(x: Any, count: int) -> Any:
    """Return coordinates in ``0 .. count - 1``, which both stay as they are, by the period ``count - 1``."""
    if count < 2:
        return x * 0.0
    period = count - 1.0
    raised = x + period * (np.floor(-x / period) + 1.0)
    return where(x < 0, raised, where(x > period, x - period * np.floor(x / period), x))


# -- points anywhere -------------------------------------------------------------------------------------


def _at_points(source: _Source, coordinates: Sequence[Any], shape: Shape) -> Any:
    """Interpolate the leading axes at points of a shape, to which the coordinates along each axis broadcast.

    The result has the axes of the points, then those that are not interpolated.
    """
    values, rank, count = source.values, len(coordinates), size(shape)
    flat = [reshape(np.broadcast_to(x, shape), shape=(count,)) for x in coordinates]
    axes = [_taps(x, extent, source) for x, extent in zip(flat, shape_of(values), strict=False)]
    result = sums_over_taps(values, [axis.positions for axis in axes], [axis.weights for axis in axes])
    if source.mode == "grid-constant":
        share: Any = 1.0
        for axis in reversed(axes):
            share = share * np.sum(axis.weights, -1)
        result = result + (source.cval * (1.0 - share))[:, None]
    is_inside = axes[0].is_inside
    for axis in axes[1:]:
        is_inside = logical_and(is_inside, axis.is_inside)
    result = where(is_inside[:, None], result, source.cval)
    return reshape(result, shape=(*shape, *shape_of(values)[rank:]))


@_transformation
def map_coordinates(input: Any, coordinates: Any, output: Any, **spline: Any) -> Any:
    """Interpolate an array at points by splines; elements and coordinates have derivatives.

    The slope of order 1 at an element is that of the piece after it; in the mode "constant", that of the last piece at
    the last element.

    Raises:
        ShapeError: the coordinates do not fit the array.
        DtypeError: the coordinates are complex.

    Example:
        >>> map_coordinates(np.array([[0.0, 1.0], [2.0, 3.0]]), [[0.5], [0.5]], order=1)
        array([1.5])
    """
    operation, x = "map_coordinates", array(input)
    points = array(coordinates)
    if is_complex(dtype_of(points)):
        raise DtypeError(message(operation, "the coordinates must be real", show(points)))
    if rank_of(points) < 2 or not rank_of(x) or shape_of(points)[0] != rank_of(x):
        requirement = "a row of coordinates for each axis of the array, and an axis of points, are required"
        raise ShapeError(message(operation, requirement, show(x, points)))
    points = doubles(points)
    source = _source(operation, x, **spline)
    rows = [points[k] for k in range(rank_of(x))]
    return stored(operation, output, x, _at_points(source, rows, shape_of(points)[1:]), rounds=True)


# -- points on a grid ------------------------------------------------------------------------------------


def _on_grid(source: _Source, coordinates: Sequence[Any]) -> Any:
    """Interpolate at all points of a grid, one axis after the other, with the coordinates along each."""
    result, is_constant = source.values, source.mode == "grid-constant"
    share, is_inside = np.ones(()), np.ones((), bool)
    rank = len(coordinates)
    for axis, x in enumerate(coordinates):
        taps = _taps(x, shape_of(result)[axis], source)
        order = (axis, *(k for k in range(rank) if k != axis))
        taken = gather(transpose(result, permutation=order), taps.positions)
        trailing = shape_of(taken)[2:]
        taken = reshape(taken, shape=(*shape_of(taken)[:2], size(trailing)))
        weights = np.ones(shape_of(taken)[:2]) if taps.weights is None else taps.weights
        taken = reshape(product("abz,ab->az", taken, weights), shape=(shape_of(x)[0], *trailing))
        result = transpose(taken, permutation=(*range(1, axis + 1), 0, *range(axis + 1, rank)))
        column = (-1, *(1,) * (rank - axis - 1))
        is_inside = logical_and(is_inside, np.reshape(taps.is_inside, column))
        if is_constant:
            share = share * np.reshape(np.sum(weights, -1), column)
    if is_constant:
        result = result + source.cval * (1.0 - share)
    return where(is_inside, result, source.cval)


def _image(operation: str, x: Any) -> Any:
    x = array(x)
    if not rank_of(x):
        raise ShapeError(message(operation, "an array of at least one axis is required", show(x)))
    return x


@_transformation
def shift(input: Any, shift: Any, output: Any, **spline: Any) -> Any:
    """Move an array by any distance, interpolated by splines; the distance has a derivative.

    Raises:
        ShapeError: the number of distances is not that of the axes.

    Example:
        >>> shift(np.array([0.0, 1.0, 2.0]), 0.5, order=1, mode="nearest")
        array([0. , 0.5, 1.5])
    """
    operation, x = "shift", _image("shift", input)
    source = _source(operation, x, **spline)
    distances = per_axis(operation, "shift", shift, rank_of(x))
    grid = [np.arange(n) - doubles(d) for n, d in zip(shape_of(x), distances, strict=True)]
    return stored(operation, output, x, _on_grid(source, grid), rounds=True)


@_transformation
def zoom(input: Any, zoom: Any, output: Any, grid_mode: Any, **spline: Any) -> Any:
    """Change the extents of an array, interpolated by splines.

    The result has a whole number of elements along each axis, which determines the coordinates; so the factor has no
    derivative.

    ``zoom``: the factor, one known number or one for each axis.

    Raises:
        ShapeError: the number of factors is not that of the axes.
        ConcreteError: a factor is not known.

    Example:
        >>> zoom(np.array([0.0, 1.0, 2.0]), 5 / 3, order=1)
        array([0. , 0.5, 1. , 1.5, 2. ])
    """
    operation, x = "zoom", _image("zoom", input)
    factors = [float(number(operation, "zoom", z)) for z in per_axis(operation, "zoom", zoom, rank_of(x))]
    source = _source(operation, x, **spline)
    if spline["prefilter"] and all(z == 1 for z in factors):
        return stored(operation, output, x, working(x), rounds=True)
    grid: list[Any] = []
    for count, factor in zip(shape_of(x), factors, strict=True):
        wanted = round(count * factor)
        source_steps, result_steps = (count, wanted) if grid_mode else (count - 1, wanted - 1)
        step = source_steps / result_steps if result_steps else 1.0
        grid.append(step * (np.arange(wanted) + 0.5) - 0.5 if grid_mode else step * np.arange(wanted))
    return stored(operation, output, x, _on_grid(source, grid), rounds=True)


# -- affine transformations ------------------------------------------------------------------------------


def _moved(source: _Source, matrix: Any, offset: Any, shape: Shape) -> Any:
    """Interpolate the leading axes at the points ``matrix @ i + offset`` for the positions i of an array."""
    rank = len(shape)
    grid = [np.reshape(np.arange(float(n)), (-1, *(1,) * (rank - k - 1))) for k, n in enumerate(shape)]
    rows = range(shape_of(matrix)[0])
    points = [sum(matrix[row, k] * x for k, x in enumerate(grid)) + offset[row] for row in rows]
    return _at_points(source, points, shape)


@_transformation
def affine_transform(
    input: Any, matrix: Any, offset: Any, output_shape: Any, output: Any, **spline: Any
) -> Any:
    """Interpolate an array by splines at the points ``matrix @ i + offset``; both have derivatives.

    Raises:
        ShapeError: the matrix does not fit the array.

    Example:
        >>> affine_transform(np.array([0.0, 1.0, 2.0, 3.0]), [[0.5]], 1.0, order=1)
        array([1. , 1.5, 2. , 2.5])
    """
    operation, x = "affine_transform", _image("affine_transform", input)
    matrix, rank = doubles(matrix), rank_of(x)
    if output_shape is None:
        output_shape = shape_of(output) if is_array(output) else shape_of(x)
    shape = tuple(integers(output_shape))
    rows = shape_of(matrix)[:1]
    if rank_of(matrix) == 2 and shape_of(matrix)[1] == rank + 1 and rows in ((rank,), (rank + 1,)):
        offset, matrix = matrix[:rank, rank], matrix[:rank, :rank]
        rows = (rank,)
    fits = rows == (rank,) and shape_of(matrix)[1:] in ((), (len(shape),))
    if not fits or not shape or (rank_of(matrix) == 1 and len(shape) != rank):
        requirement = f"a matrix of {rank} rows and {len(shape)} columns, or its diagonal, is required"
        raise ShapeError(message(operation, requirement, show(matrix)))
    offsets = per_axis(operation, "offset", offset, rank)
    source = _source(operation, x, **spline)
    if rank_of(matrix) == 1:
        grid = [matrix[k] * np.arange(n) + offsets[k] for k, n in enumerate(shape)]
        values = _on_grid(source, grid)
    else:
        values = _moved(source, matrix, offsets, shape)
    return stored(operation, output, x, values, rounds=True)


def _turn(angle: Any) -> tuple[Any, Any]:
    """Return cosine and sine of an angle in degrees, exact for multiples of 90."""
    quarters = np.rint(angle / 90.0)
    remainder = (angle - 90.0 * quarters) * (math.pi / 180.0)
    c, s = cos(remainder), sin(remainder)
    turn = quarters - 4.0 * np.floor(quarters / 4.0)
    odd, negative = turn % 2 == 1, turn >= 2
    return (
        where(odd, where(negative, s, -s), where(negative, -c, c)),
        where(odd, where(negative, -c, c), where(negative, -s, s)),
    )


@_transformation
def rotate(input: Any, angle: Any, axes: Any, reshape: Any, output: Any, **spline: Any) -> Any:
    """Rotate an array in the plane of two axes, interpolated by splines; the angle has a derivative.

    ``reshape``: give the result the shape that holds the whole array, which no derivative passes to; this needs a known
    angle.

    Raises:
        ArgumentError: the axes are unknown.
        ConcreteError: the angle is not known and ``reshape`` is set.

    Example:
        >>> rotate(np.array([[0.0, 1.0], [2.0, 3.0]]), 90.0, order=1)
        array([[1., 3.],
               [0., 2.]])
    """
    operation, x = "rotate", array(input)
    rank, named = rank_of(x), integers(axes)
    plane = sorted({axis + rank if axis < 0 else axis for axis in named})
    if rank < 2 or len(named) != 2 or len(plane) != 2 or plane[0] < 0 or plane[1] >= rank:
        requirement = "two different axes of an array of at least two are required"
        raise ArgumentError(message(operation, requirement, f"{axes} for {show(x)}"))
    angle = doubles(angle)
    c, s = _turn(angle)
    rows, columns = (shape_of(x)[axis] for axis in plane)
    shape = (rows, columns)
    if reshape:
        exact_c, exact_s = _turn(np.asarray(number(operation, "the angle, for reshape=True,", angle)))
        corners = np.array([[exact_c, exact_s], [-exact_s, exact_c]]) @ [
            [0, 0, rows, rows],
            [0, columns, 0, columns],
        ]
        shape = tuple(int(extent + 0.5) for extent in np.ptp(corners, 1))
    middle, centre = [(n - 1) / 2 for n in shape], [(n - 1) / 2 for n in (rows, columns)]
    offset = [
        centre[0] - (c * middle[0] + s * middle[1]),
        centre[1] - (c * middle[1] - s * middle[0]),
    ]
    matrix = np.stack([np.stack([c, s]), np.stack([-s, c])])
    values = np.moveaxis(x, plane, (0, 1))
    source = _source(operation, values, axes=2, **spline)
    values = np.moveaxis(_moved(source, matrix, offset, shape), (0, 1), plane)
    return stored(operation, output, x, values, rounds=True)
