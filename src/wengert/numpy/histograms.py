"""Histograms.

A count is constant almost everywhere. The edges of bins have derivatives where they are made of the data or are boxes;
so do sums of weights, and densities, which are divided by the widths of the bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.boxes import Box, concrete
from wengert.engine.core.dtypes import BOOL, FLOAT64, INT64, dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.memory import lay
from wengert.engine.ops.comparison import equal, greater_equal, less_equal, logical_and, where
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.indexing import scatter_add
from wengert.engine.ops.shape import reshape
from wengert.numpy.creation import linspace
from wengert.numpy.finite_differences import diff
from wengert.numpy.joining import stack
from wengert.numpy.reducing import max_, min_, sum_
from wengert.numpy.registry import floating, implements, is_box, known, rank_of, strong
from wengert.numpy.shaping import ravel
from wengert.numpy.sorting import searchsorted

_COUNT = "the number of bins must be known: name it in static_argnums of wg.jit"


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Edges between the extremes of the data depend on these."""
    return _edges("histogram_bin_edges", _numbers(a), bins, range, weights)


def _numbers(a: Any) -> Any:
    """Return the values to count, which have an order; truth values are 0 and 1."""
    check_real("histogram", a := operand(a))
    return strong(a, np.uint8) if dtype_of(a) == BOOL else a


def _edges(operation: str, a: Any, bins: Any, range: Any, weights: Any) -> Any:
    if weights is not None:
        _check_weights(operation, a, weights, bins)
    if not isinstance(bins, str) and rank_of(bins := operand(bins)):
        return _checked_edges(operation, bins)
    if range is not None and not any(map(is_box, range)):
        return _numpys_edges(operation, a, bins, range)
    low, high = _extremes(a) if range is None else tuple(map(operand, range))
    count = len(_numpys_edges(operation, a, bins, None if range is None else (low, high))) - 1
    check_real("histogram", low, high)
    dtype = np.result_type(low, high, a)
    low, high = floating(low), floating(high)
    is_point = equal(low, high)
    low, high = where(is_point, low - 0.5, low), where(is_point, high + 0.5, high)
    return linspace(low, high, count + 1, dtype=dtype if dtype.kind == "f" else FLOAT64)


def _check_weights(operation: str, a: Any, weights: Any, bins: Any) -> None:
    if dtype_of(weights := operand(weights)) == BOOL:
        raise DtypeError(message(operation, "weights must be numbers", show(weights)))
    if shape_of(weights) != shape_of(a):
        raise ShapeError(message(operation, "each value must have a weight", show(a, weights)))
    if isinstance(bins, str):
        requirement = f"the number of bins must be given where values have weights, in place of {bins!r}"
        raise DtypeError(message(operation, requirement))


def _checked_edges(operation: str, edges: Any) -> Any:
    """Return the edges that were given, or raise an error unless they are a sequence in rising order."""
    if rank_of(edges) != 1:
        raise ShapeError(message(operation, "edges must be a sequence", show(edges)))
    values = concrete(edges)
    if values is not None and np.any(values[:-1] > values[1:]):
        raise ArgumentError(message(operation, "edges must not fall", str(values)))
    return edges


def _extremes(a: Any) -> tuple[Any, Any]:
    return (min_(a), max_(a)) if size(shape_of(a)) else (0.0, 1.0)


def _numpys_edges(operation: str, a: Any, bins: Any, range: Any) -> Any:
    """Return NumPy's edges; of unknown values, placeholders of the same number."""
    if isinstance(bins, str):  # their number depends on all values
        values: Any = known(operation, a)
        ends = None if range is None else tuple(known(operation, end)[()] for end in range)
    else:
        values, bins = concrete(a), known(operation, bins, _COUNT)[()]
        values = np.zeros(0, dtype_of(a)) if values is None else values
        ends = None if range is None else tuple(map(concrete, range))
        ends = None if ends is None or None in ends else ends
    try:
        return np.histogram_bin_edges(values, bins, ends)
    except (ValueError, TypeError) as problem:
        error = ArgumentError if isinstance(problem, ValueError) else DtypeError
        raise error(message(operation, str(problem).removesuffix("."))) from None


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Differentiable in the weights; a density also in the edges."""
    a = _numbers(a)
    edges = _edges("histogram", a, bins, range, weights)
    counts = _counted(ravel(a), edges, None if weights is None else ravel(operand(weights)))
    if not density:
        return counts, edges
    return counts / strong(diff(edges), FLOAT64) / sum_(counts), edges


def _counted(a: Any, edges: Any, weights: Any) -> Any:
    """Count the values between edges, the last one included, or sum their weights, as exactly as NumPy does."""
    dtype = INT64 if weights is None else dtype_of(weights)
    (count,) = shape_of(edges)
    if count < 2:
        return np.zeros(0, dtype)
    inside = logical_and(greater_equal(a, edges[0]), less_equal(a, edges[-1]))
    if weights is None:
        amounts: Any = strong(inside, INT64)
    else:
        amounts = where(inside, strong(weights, np.result_type(dtype, FLOAT64)), 0.0)
    bins = searchsorted(edges[1:-1], a, "right")
    return strong(scatter_add(amounts, bins, shape=(count - 1,)), dtype)


# -- of several numbers ----------------------------------------------------------------------------------


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Differentiable in the weights; a density also in the edges."""
    return _histogramdd("histogramdd", sample, bins, range, density, weights)


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Differentiable in the weights; a density also in the edges."""
    if len(x := operand(x)) != len(y := operand(y)):
        raise ShapeError(message("histogram2d", "x and y must have the same length", show(x, y)))
    if (rank_of(bins) if not isinstance(bins, (tuple, list)) else 1) and len(bins) not in (1, 2):
        bins = [operand(bins)] * 2
    counts, edges = _histogramdd("histogram2d", stack([x, y], 1), bins, range, density, weights)
    return counts, edges[0], edges[1]


def _histogramdd(operation: str, sample: Any, bins: Any, range: Any, density: Any, weights: Any) -> Any:
    points = _points(operation, sample)
    columns = [points[:, dim] for dim in np.arange(shape_of(points)[1])]
    column_bins = _bins_of_columns(operation, bins, len(columns))
    ends = [None] * len(columns) if range is None else list(range)
    if len(ends) != len(columns):
        requirement = f"range must have a pair of numbers for each of {len(columns)} columns"
        raise ArgumentError(message(operation, requirement, str(len(ends))))
    edges = [_edges(operation, *options, None) for options in zip(columns, column_bins, ends, strict=True)]
    counts = _counted_cells(columns, edges, weights)
    if not density:
        return counts, edges
    total = sum_(counts)
    for dim, borders in enumerate(edges):
        widths = strong(diff(borders), FLOAT64)
        counts = counts / reshape(
            widths, shape=tuple(shape_of(widths)[0] if axis == dim else 1 for axis in np.arange(len(edges)))
        )
    return counts / total, edges


def _points(operation: str, sample: Any) -> Any:
    """Return the values with a column for each variable."""
    if isinstance(sample, (tuple, list)):
        sample = stack(list(map(operand, sample)), 1)
    sample = _numbers(sample)
    if rank_of(sample) == 1:
        return reshape(sample, shape=(*shape_of(sample), 1))
    if rank_of(sample) != 2 or not shape_of(sample)[1]:
        raise ShapeError(message(operation, "a matrix with a row for each point is required", show(sample)))
    return sample


def _bins_of_columns(operation: str, bins: Any, count: int) -> list[Any]:
    """Return the bins of each column: one number for all, or a number or edges for each."""
    if not isinstance(bins, (tuple, list)) and not rank_of(bins):
        return [bins] * count
    if len(bins) != count:
        requirement = f"there must be one number of bins, or {count}"
        raise ArgumentError(message(operation, requirement, str(len(bins))))
    return list(bins)


def _counted_cells(columns: list[Any], edges: list[Any], weights: Any) -> Any:
    """Count the points in each cell, or sum their weights, in float64 as NumPy does."""
    shape = tuple(shape_of(borders)[0] - 1 for borders in edges)
    inside: Any = True
    place: Any = np.int64(0)
    for column, borders, count in zip(columns, edges, shape, strict=True):
        inside = logical_and(
            inside, logical_and(greater_equal(column, borders[0]), less_equal(column, borders[-1]))
        )
        place = place * count + searchsorted(borders[1:-1], column, "right")
    check_real("histogramdd", *([] if weights is None else [weights := operand(weights)]))
    amounts = np.ones(shape_of(place)) if weights is None else strong(weights, FLOAT64)
    if shape_of(amounts) != shape_of(place):
        raise ShapeError(message("histogramdd", "each point must have a weight", show(amounts, place)))
    counts = scatter_add(where(inside, amounts, 0.0), place, shape=(size(shape),))
    counts = reshape(counts, shape=shape)
    inner = np.zeros([count + 2 for count in shape])[(slice(1, -1),) * len(shape)]  # as NumPy's
    if isinstance(counts, Box):
        return lay(counts, inner)
    inner[...] = counts
    return inner
