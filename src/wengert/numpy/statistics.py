"""Spread, correlation and counts: `var`, `std`, `average`, `cov`, `bincount`, `histogram`.

A count is constant almost everywhere. The edges of bins have derivatives where they are made of the data or are boxes;
so do sums of weights, and densities, which are divided by the widths of the bins.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.boxes import concrete
from wengert.core.dtypes import BOOL, FLOAT64, INT64, dtype_of, is_float
from wengert.core.errors import ArgumentError, DivisionError, DtypeError, ShapeError, message
from wengert.core.shapes import drop_axes, shape_of, size
from wengert.ir.types import show
from wengert.numpy.creation import linspace
from wengert.numpy.finite_differences import diff
from wengert.numpy.joining import concatenate_
from wengert.numpy.linear_algebra import root
from wengert.numpy.products import matmul
from wengert.numpy.reducing import (
    count_present,
    count_where,
    kept,
    max_,
    mean,
    min_,
    nanmean,
    reduce_over,
    sum_,
)
from wengert.numpy.registry import axes_of, check_axes, floating, implements, is_box, known, rank_of, strong
from wengert.numpy.selecting import clip
from wengert.numpy.shaping import diagonal, ravel, transposed
from wengert.numpy.sorting import searchsorted
from wengert.ops.arithmetic import maximum
from wengert.ops.comparison import equal, greater, greater_equal, isnan, less_equal, logical_and, where
from wengert.ops.conversion import cast
from wengert.ops.indexing import check_bounds, scatter_add
from wengert.ops.reduction import reduce_sum
from wengert.ops.shape import reshape

# -- spread ----------------------------------------------------------------------------------------------


@implements(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
    *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    a = floating(a) if dtype is None else strong(a, dtype)
    shape = shape_of(a)
    axes = axes_of("var", axis, len(shape))
    ddof = ddof if correction is None else correction
    if where is True:
        count = 1
        for dim in axes:
            count *= shape[dim]
        centre = reduce_over(reduce_sum, "var", a, axis, True, axes) / count if mean is None else mean
        freedom: Any = max(count - ddof, 0)
    else:
        count = cast(count_where(where, a, axis, True), dtype=dtype_of(a))
        centre = (
            reduce_over(reduce_sum, "var", kept(a, where, 0), axis, True, axes) / count
            if mean is None
            else mean
        )
        freedom = maximum(count - ddof, 0)
        freedom = freedom if keepdims else reshape(freedom, shape=drop_axes(shape, axes))
    deviation = kept(a - centre, where, 0)
    return reduce_over(reduce_sum, "var", deviation * deviation, axis, keepdims, axes) / freedom


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
    *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    check_axes("nanvar", axis, a)
    ddof = ddof if correction is None else correction
    if not is_float(dtype_of(a)):
        return var(a, axis, dtype, ddof=ddof, keepdims=keepdims, mean=mean, where=where)
    a = a if dtype is None else strong(a, dtype)
    centre = nanmean(a, axis, keepdims=True, where=where) if mean is None else mean
    deviation = kept(_zero_where(isnan(a), a - centre), where, 0)
    freedom = cast(count_present(a, axis, keepdims, where) - ddof, dtype=dtype_of(a))
    return sum_(deviation * deviation, axis, keepdims=keepdims) / _positive_or_nan(freedom)


def _zero_where(missing: Any, x: Any) -> Any:
    return where(missing, 0.0, x)


def _positive_or_nan(x: Any) -> Any:
    return where(greater(x, 0), x, np.nan)


def _deviation(function: Any, variance: Any) -> None:
    """Implement a standard deviation as the root of a variance; where it is 0, so is its derivative."""

    @implements(function)
    def _(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
        *, where: Any = True, mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        check_axes(function.__name__, axis, a)
        options = {"ddof": ddof, "keepdims": keepdims, "where": where, "mean": mean, "correction": correction}
        return root(variance(a, axis, dtype, **options))


_deviation(np.std, var)
_deviation(np.nanstd, nanvar)


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    a = operand(a)
    check_axes("average", axis, a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        total: Any = size(shape_of(a)) // max(size(shape_of(result)), 1)
    else:
        weights = _aligned(operand(weights), a, axis)
        double = () if is_float(dtype_of(a)) else (FLOAT64,)
        dtype = np.result_type(dtype_of(a), dtype_of(weights), *double)
        weights = strong(weights, dtype)
        total = sum_(weights, axis, keepdims=keepdims)
        if (sums := concrete(total)) is not None and not np.all(sums):
            raise DivisionError(message("average", "weights must not sum to zero", show(weights)))
        result = sum_(strong(a, dtype) * weights, axis, keepdims=keepdims) / total
    if not returned:
        return result
    return result, np.broadcast_to(strong(operand(total), dtype_of(result)), shape_of(result)).copy()


def _aligned(weights: Any, a: Any, axis: Any) -> Any:
    """Give weights the axes of the array that they weigh."""
    shape = shape_of(a)
    if shape_of(weights) == shape:
        return weights
    axes = axes_of("average", axis, len(shape))
    named = [] if axis is None else [dim % len(shape) for dim in np.atleast_1d(axis).tolist()]
    if not named or shape_of(weights) != tuple(shape[dim] for dim in named):
        requirement = "weights must have the shape of the array or of its axis"
        raise ShapeError(message("average", requirement, show(a, weights)))
    weights = np.transpose(weights, np.argsort(named).tolist())
    weights = reshape(weights, shape=tuple(shape[dim] if dim in axes else 1 for dim in range(len(shape))))
    return np.broadcast_to(weights, shape)


# -- covariance ------------------------------------------------------------------------------------------


def _observations(m: Any, rowvar: bool) -> Any:
    """Return a matrix with a row for each variable."""
    m = strong(m, FLOAT64)  # as NumPy does, also of float32
    if rank_of(m) > 2:
        raise ShapeError(message("cov", "at most two axes are allowed", show(m)))
    if rank_of(m) < 2:
        return reshape(m, shape=(1, size(shape_of(m))))
    return m if rowvar else transposed(m)


def _weights(name: str, given: Any, count: int) -> Any:
    """Return the weights of the observations, checked."""
    if shape_of(given := operand(given)) != (count,):
        requirement = f"{name} must be {count} numbers, one an observation"
        raise ShapeError(message("cov", requirement, show(given)))
    values = concrete(weights := strong(given, FLOAT64))
    if values is not None and np.any(np.less(values, 0)):
        raise ArgumentError(message("cov", f"{name} must not be negative", str(np.min(values))))
    return weights


def _all_weights(fweights: Any, aweights: Any, count: int) -> Any:
    """Return the products of both kinds of weights; None if neither is given."""
    if fweights is None:
        return None if aweights is None else _weights("aweights", aweights, count)
    repeats = _weights("fweights", fweights, count)
    values = concrete(repeats)
    if values is not None and np.any(np.not_equal(values, np.rint(values))):
        raise DtypeError(message("cov", "fweights must be integers", str(values), "give others as aweights"))
    return repeats if aweights is None else repeats * _weights("aweights", aweights, count)


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The result is infinite without degrees of freedom."""
    x = _observations(operand(m), rowvar)
    if y is not None:
        y = operand(y)
        x = concatenate_([x, _observations(y, rowvar or shape_of(y)[:1] == (1,))], 0)
    x = x if dtype is None else strong(x, dtype)
    ddof = (0 if bias else 1) if ddof is None else ddof
    if ddof != int(ddof):
        raise ArgumentError(message("cov", "ddof must be an integer", repr(ddof)))
    weights = _all_weights(fweights, aweights, shape_of(x)[1])
    if weights is None:
        freedom: Any = shape_of(x)[1] - ddof
        scaled = centred = x - mean(x, 1, keepdims=True)
    else:
        centre, totals = average(x, 1, weights, returned=True, keepdims=True)
        freedom = totals[0, 0] - ddof * (1 if aweights is None else sum_(weights * aweights) / totals[0, 0])
        centred = x - centre
        scaled = centred * weights
    result = matmul(scaled, transposed(centred)) / strong(maximum(freedom, 0), dtype_of(scaled))
    return reshape(result, shape=()) if shape_of(result) == (1, 1) else result


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    covariance = cov(x, y, rowvar, dtype=dtype)
    if not rank_of(covariance):
        return covariance / covariance
    deviations = root(diagonal(covariance))
    count = shape_of(deviations)[0]
    scaled = covariance / reshape(deviations, shape=(count, 1)) / deviations
    return clip(scaled, -1, 1)


# -- counts ----------------------------------------------------------------------------------------------


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Differentiable in the weights. Integers whose values are not known must lie below ``minlength``."""
    x, least = operand(x), operator.index(minlength)
    counted = np.ones(shape_of(x), INT64) if weights is None else strong(operand(weights), FLOAT64)
    if rank_of(x) != 1 or shape_of(counted) != shape_of(x):
        requirement = "integers and weights must be sequences of one length"
        raise ShapeError(message("bincount", requirement, show(x, counted)))
    if is_float(dtype_of(x)):
        raise DtypeError(message("bincount", "integers are required", show(x), "write x.astype(int)"))
    if least < 0:
        raise ArgumentError(message("bincount", "minlength must not be negative", str(least)))
    values: Any = concrete(x) if least else known("bincount", x, "give minlength=, below which all lie")
    if values is None:
        count, requirement = least, f"numbers must lie in [0, {least})"
    else:
        count = max(least, int(np.max(values)) + 1 if np.size(values) else 0)
        requirement = "numbers must not be negative"
    numbers = check_bounds(strong(x, INT64), count=count, operation="bincount", requirement=requirement)
    return scatter_add(counted, numbers, shape=(count,))


# -- histograms ------------------------------------------------------------------------------------------

_COUNT = "the number of bins must be known: name it in static_argnums of wg.jit"


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Edges between the extremes of the data depend on these."""
    return _edges("histogram_bin_edges", _numbers(a), bins, range, weights)


def _numbers(a: Any) -> Any:
    """Return the values to count; truth values are 0 and 1."""
    a = operand(a)
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
        amounts = where(inside, strong(weights, FLOAT64), 0.0)
    bins = searchsorted(edges[1:-1], a, "right")
    return strong(scatter_add(amounts, bins, shape=(count - 1,)), dtype)
