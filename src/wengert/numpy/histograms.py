"""Histograms: the edges of bins, which follow the extremes of the data, and the counts or sums in bins.

A count is constant almost everywhere. Edges that are made of the data or given as boxes have derivatives; the sums of
weights have some, too, and densities, which are divided by the widths of the bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.boxes import concrete
from wengert.core.dtypes import BOOL, FLOAT64, INT64, dtype_of
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import shape_of, size
from wengert.ir.types import show
from wengert.numpy.creation import linspace
from wengert.numpy.differences import diff
from wengert.numpy.reducing import max_, min_, sum_
from wengert.numpy.registry import floating, implements, is_box, known, rank_of, strong
from wengert.numpy.shaping import ravel
from wengert.numpy.sorting import searchsorted
from wengert.ops.comparison import equal, greater_equal, less_equal, logical_and, where
from wengert.ops.indexing import scatter_add

_COUNT = "the number of bins must be known: name it in static_argnums of wg.jit"


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Return the edges of bins, as `np.histogram_bin_edges`: edges between the extremes of the data depend on these."""
    return _edges("histogram_bin_edges", _numbers(a), bins, range, weights)


def _numbers(a: Any) -> Any:
    """Return values to count as NumPy does: truth values are 0 and 1."""
    a = operand(a)
    return strong(a, np.uint8) if dtype_of(a) == BOOL else a


def _edges(operation: str, a: Any, bins: Any, range: Any, weights: Any) -> Any:
    if weights is not None:
        _check_weights(operation, a, weights, bins)
    if not isinstance(bins, str) and rank_of(bins := operand(bins)):
        return _checked(operation, bins)
    if range is not None and not any(map(is_box, range)):
        return _numpys_edges(operation, a, bins, range)
    low, high = _extremes(a) if range is None else tuple(map(operand, range))
    count = len(_numpys_edges(operation, a, bins, None if range is None else (low, high))) - 1
    dtype = np.result_type(low, high, a)
    low, high = floating(low), floating(high)
    is_point = equal(low, high)
    low, high = where(is_point, low - 0.5, low), where(is_point, high + 0.5, high)
    return linspace(low, high, count + 1, dtype=dtype if dtype.kind == "f" else FLOAT64)


def _check_weights(operation: str, a: Any, weights: Any, bins: Any) -> None:
    if shape_of(weights := operand(weights)) != shape_of(a):
        raise ShapeError(message(operation, "each value must have a weight", show(a, weights)))
    if isinstance(bins, str):
        requirement = f"the number of bins must be given where values have weights, in place of {bins!r}"
        raise DtypeError(message(operation, requirement))


def _checked(operation: str, edges: Any) -> Any:
    """Return edges that were given, or raise an error unless they are a sequence that does not fall."""
    if rank_of(edges) != 1:
        raise ShapeError(message(operation, "edges must be a sequence", show(edges)))
    values = concrete(edges)
    if values is not None and np.any(values[:-1] > values[1:]):
        raise ArgumentError(message(operation, "edges must not fall", str(values)))
    return edges


def _extremes(a: Any) -> tuple[Any, Any]:
    return (min_(a), max_(a)) if size(shape_of(a)) else (0.0, 1.0)


def _numpys_edges(operation: str, a: Any, bins: Any, range: Any) -> Any:
    """Return the edges that NumPy makes of known values; of unknown ones, as many as it would make."""
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
    """Count values in bins, or sum the weights of each, as `np.histogram`; with the edges.

    Differentiable in the weights, and of a density, in the edges.
    """
    a = _numbers(a)
    edges = _edges("histogram", a, bins, range, weights)
    counts = _counted(ravel(a), edges, None if weights is None else ravel(operand(weights)))
    if not density:
        return counts, edges
    return counts / strong(diff(edges), FLOAT64) / sum_(counts), edges


def _counted(a: Any, edges: Any, weights: Any) -> Any:
    """Count what lies between edges, the last one included, or sum its weights, as exactly as NumPy does."""
    dtype = INT64 if weights is None else dtype_of(weights)
    (count,) = shape_of(edges)
    if count < 2:
        return np.zeros(0, dtype)
    inside = logical_and(greater_equal(a, edges[0]), less_equal(a, edges[-1]))
    if weights is None:
        amounts: Any = strong(inside, INT64)
    else:
        amounts = where(inside, strong(weights, FLOAT64), 0.0)
    bins = searchsorted(edges[1:-1], a, "right")
    return strong(scatter_add(amounts, bins, shape=(count - 1,)), dtype)
