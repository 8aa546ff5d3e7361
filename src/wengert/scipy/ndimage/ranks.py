"""Filters by order: the least, the greatest and other ranks of the neighbours of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.numpy.registry import rank_of
from wengert.scipy.ndimage.arguments import (
    OF_FILTERS,
    axes_of,
    dtype_named,
    extended,
    mode_of,
    per_axis,
    stored,
)
from wengert.scipy.ndimage.filters import first_neighbours
from wengert.scipy.registry import array, number, signatures

_filter = signatures(
    "scipy.ndimage",
    """
        minimum_filter1d maximum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0)
        minimum_filter maximum_filter median_filter(input, size=None, footprint=None, output=None, mode="reflect",
            cval=0.0, origin=0, *, axes=None)
        rank_filter(input, rank, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *,
            axes=None)
        percentile_filter(input, percentile, size=None, footprint=None, output=None, mode="reflect", cval=0.0,
            origin=0, *, axes=None)
    """,
    raises="ArgumentError: the mode is unknown, or the size is missing or less than 1, or an origin is too far off.",
)


def _real(operation: str, x: Any) -> Any:
    x = array(x)
    if is_complex(dtype_of(x)):
        raise DtypeError(message(operation, "complex numbers have no order", show(x)))
    return x


def _windows(
    operation: str, x: Any, axes: tuple[int, ...], sizes: tuple[int, ...], mode: Any, cval: Any, origin: Any
) -> Any:
    """Return the neighbours of each element, along further axes."""
    starts = first_neighbours(operation, sizes, per_axis(operation, "origin", origin, len(axes)))
    extension = mode_of(operation, mode, OF_FILTERS)
    for axis, start, size in zip(axes, starts, sizes, strict=True):
        x = extended(x, axis, -start, start + size - 1, extension, cval)
    return np.lib.stride_tricks.sliding_window_view(x, sizes, axes)


def _along_one(
    operation: str, function: Any, input: Any, size: Any, axis: int, output: Any, **window: Any
) -> Any:
    x, size = _real(operation, input), int(number(operation, "size", size))
    axis = axis_index(operation, axis, rank_of(x))
    if size < 1:
        raise ArgumentError(message(operation, "size must be at least 1", str(size)))
    if not all(shape_of(x)):
        return stored(operation, output, x, x)
    values = function(_windows(operation, x, (axis,), (size,), **window), -1)
    return stored(operation, output, x, values)


class _Window(NamedTuple):
    """The arguments of a filter along several axes."""

    size: Any
    footprint: Any
    output: Any
    mode: Any
    cval: Any
    origin: Any
    axes: Any


def _footprint(operation: str, window: _Window, axes: int) -> Any:
    """Return which neighbours count, as known truth values."""
    size, footprint = window.size, window.footprint
    if footprint is None and size is None:
        raise ArgumentError(message(operation, "size or footprint is needed"))
    if footprint is None:
        sizes = [int(number(operation, "size", n)) for n in per_axis(operation, "size", size, axes)]
        footprint = np.ones(sizes, bool)
    marks = np.asarray(number(operation, "footprint", footprint), bool)
    if marks.ndim != axes or not marks.any():
        requirement = f"a footprint of {axes} axes, with a neighbour that counts, is required"
        raise ShapeError(message(operation, requirement, str(marks.shape)))
    return marks


def _neighbours(operation: str, x: Any, marks: Any, axes: tuple[int, ...], window: _Window) -> Any:
    """Return the neighbours that count, along one further axis."""
    windows = _windows(operation, x, axes, marks.shape, window.mode, window.cval, window.origin)
    shape = shape_of(windows)[: rank_of(x)]
    return np.reshape(windows, (*shape, marks.size))[..., np.flatnonzero(marks)]


def _extreme(operation: str, function: Any, x: Any, window: _Window) -> Any:
    x, output = _real(operation, x), window.output
    chosen = axes_of(operation, window.axes, rank_of(x))
    marks = _footprint(operation, window, len(chosen))
    if not all(shape_of(x)):
        return stored(operation, output, x, x)
    if not marks.all():
        return stored(operation, output, x, function(_neighbours(operation, x, marks, chosen, window), -1))
    modes, origins = (
        per_axis(operation, name, getattr(window, name), len(chosen)) for name in ("mode", "origin")
    )
    y, dtype = x, dtype_named(output)
    for axis, width, mode, origin in zip(chosen, marks.shape, modes, origins, strict=True):
        if width > 1:
            options = {"mode": mode, "cval": window.cval, "origin": origin}
            y = _along_one(operation, function, y, width, axis, dtype, **options)
    return stored(operation, output, x, y)


@_filter
def minimum_filter1d(**arguments: Any) -> Any:
    """Return the least of the neighbours along an axis; equal ones share the derivative.

    Example:
        >>> minimum_filter1d(np.array([3.0, 1.0, 2.0, 4.0]), 3)
        array([1., 1., 1., 2.])
    """
    return _along_one("minimum_filter1d", np.min, **arguments)


@_filter
def maximum_filter1d(**arguments: Any) -> Any:
    """Return the greatest of the neighbours along an axis; equal ones share the derivative.

    Example:
        >>> maximum_filter1d(np.array([3.0, 1.0, 2.0, 4.0]), 3)
        array([3., 3., 4., 4.])
    """
    return _along_one("maximum_filter1d", np.max, **arguments)


@_filter
def minimum_filter(input: Any, **window: Any) -> Any:
    """Return the least of the neighbours; equal ones share the derivative.

    Raises:
        ShapeError: the footprint does not fit.

    Example:
        >>> minimum_filter(np.array([[1.0, 2.0], [3.0, 4.0]]), 2, mode="constant")
        array([[0., 0.],
               [0., 1.]])
    """
    return _extreme("minimum_filter", np.min, input, _Window(**window))


@_filter
def maximum_filter(input: Any, **window: Any) -> Any:
    """Return the greatest of the neighbours; equal ones share the derivative.

    Raises:
        ShapeError: the footprint does not fit.

    Example:
        >>> maximum_filter(np.array([[1.0, 2.0], [3.0, 4.0]]), footprint=[[0, 1], [1, 0]])
        array([[1., 2.],
               [3., 3.]])
    """
    return _extreme("maximum_filter", np.max, input, _Window(**window))


# -- other ranks -----------------------------------------------------------------------------------------


def _ranked(operation: str, x: Any, rank: Callable[[int], int], window: _Window) -> Any:
    """Return the neighbour of a rank, which is a function of their number."""
    x = _real(operation, x)
    chosen = axes_of(operation, window.axes, rank_of(x))
    marks = _footprint(operation, window, len(chosen))
    count = int(marks.sum())
    place = rank(count)
    if not -count <= place < count:
        raise ArgumentError(message(operation, f"there are {count} neighbours", f"rank {place}"))
    if not all(shape_of(x)):
        return stored(operation, window.output, x, x)
    neighbours = _neighbours(operation, x, marks, chosen, window)
    return stored(operation, window.output, x, np.sort(neighbours, -1)[..., place])


@_filter
def rank_filter(input: Any, rank: Any, **window: Any) -> Any:
    """Return the neighbour of a rank.

    Raises:
        ArgumentError: there are fewer neighbours than the rank.
        ShapeError: the footprint does not fit.

    Example:
        >>> rank_filter(np.array([3.0, 1.0, 2.0, 4.0]), 1, 3)
        array([3., 2., 2., 4.])
    """
    place = int(number("rank_filter", "rank", rank))
    return _ranked("rank_filter", input, lambda count: place, _Window(**window))


@_filter
def median_filter(input: Any, **window: Any) -> Any:
    """Return the median of the neighbours; of an even number of them the greater one of the two in the middle.

    Raises:
        ShapeError: the footprint does not fit.

    Example:
        >>> median_filter(np.array([3.0, 1.0, 2.0, 4.0]), 3)
        array([3., 2., 2., 4.])
    """
    return _ranked("median_filter", input, lambda count: count // 2, _Window(**window))


@_filter
def percentile_filter(input: Any, percentile: Any, **window: Any) -> Any:
    """Return the neighbour below which a percentage of them lies.

    ``percentile``: the percentage, known; a negative one counts from 100.

    Raises:
        ArgumentError: the percentage is out of range.
        ShapeError: the footprint does not fit.

    Example:
        >>> percentile_filter(np.array([3.0, 1.0, 2.0, 4.0]), 100, 3)
        array([3., 3., 4., 4.])
    """
    operation = "percentile_filter"
    share = float(number(operation, "percentile", percentile))
    share = share + 100.0 if share < 0 else share
    if not 0 <= share <= 100:
        raise ArgumentError(message(operation, "percentile must be -100 to 100", str(percentile)))

    def place(count: int) -> int:
        return count - 1 if share == 100 else int(count * share / 100.0)

    return _ranked(operation, input, place, _Window(**window))
