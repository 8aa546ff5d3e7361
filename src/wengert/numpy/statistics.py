"""Spread, correlation and counts: `var`, `std`, `average`, `cov`, `bincount`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import FLOAT64, INT64, dtype_of, is_complex, is_inexact, real_dtype
from wengert.engine.core.errors import ArgumentError, DivisionError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import drop_axes, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import maximum, squared_magnitude
from wengert.engine.ops.comparison import greater, isnan, where
from wengert.engine.ops.complex import conjugate, from_parts, imag, real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.indexing import check_bounds, scatter_add
from wengert.engine.ops.reduction import reduce_sum
from wengert.engine.ops.shape import reshape
from wengert.numpy.joining import concatenate_
from wengert.numpy.linear_algebra import root
from wengert.numpy.products import matmul
from wengert.numpy.reducing import (
    count_present,
    count_where,
    kept,
    mean,
    nanmean,
    reduce_over,
    sum_,
)
from wengert.numpy.registry import axes_of, check_axes, floating, implements, known, rank_of, strong
from wengert.numpy.selecting import clip
from wengert.numpy.shaping import diagonal, transposed

# -- spread ----------------------------------------------------------------------------------------------


@implements(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
    *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    a = floating(a) if dtype is None else _in_floats("var", a, dtype)
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
        count = cast(count_where(where, a, axis, True), dtype=real_dtype(dtype_of(a)))
        centre = (
            reduce_over(reduce_sum, "var", kept(a, where, 0), axis, True, axes) / count
            if mean is None
            else mean
        )
        freedom = maximum(count - ddof, 0)
        freedom = freedom if keepdims else reshape(freedom, shape=drop_axes(shape, axes))
    deviation = kept(a - centre, where, 0)
    return reduce_over(reduce_sum, "var", squared_magnitude(deviation), axis, keepdims, axes) / freedom


def _in_floats(operation: str, a: Any, dtype: Any) -> Any:
    """Return a real value in the dtype in which to compute its spread."""
    if np.dtype(dtype).kind != "f" or is_complex(dtype_of(a)):
        requirement = "dtype= must be a real floating dtype, of real values"
        raise DtypeError(
            message(operation, requirement, f"{np.dtype(dtype)}, {show(a)}", "write x.astype(dtype)")
        )
    return strong(a, dtype)


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
    *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    check_axes("nanvar", axis, a)
    ddof = ddof if correction is None else correction
    if not is_inexact(dtype_of(a)):
        return var(a, axis, dtype, ddof=ddof, keepdims=keepdims, mean=mean, where=where)
    a = a if dtype is None else _in_floats("nanvar", a, dtype)
    centre = nanmean(a, axis, keepdims=True, where=where) if mean is None else mean
    deviation = kept(_zero_where(isnan(a), a - centre), where, 0)
    freedom = cast(count_present(a, axis, keepdims, where) - ddof, dtype=real_dtype(dtype_of(a)))
    return sum_(squared_magnitude(deviation), axis, keepdims=keepdims) / _positive_or_nan(freedom)


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
        if not size(shape_of(result)):
            raise DivisionError(message("average", "the averages must have elements", show(a)))
        total: Any = size(shape_of(a)) // max(size(shape_of(result)), 1)
    else:
        axes_of("average", axis, rank_of(a))
        weights = _aligned(operand(weights), a, axis)
        double = () if is_inexact(dtype_of(a)) else (FLOAT64,)
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
    return reshape(weights, shape=tuple(shape[dim] if dim in axes else 1 for dim in range(len(shape))))


# -- covariance ------------------------------------------------------------------------------------------


def _observations(m: Any, rowvar: bool) -> Any:
    """Return a matrix with a row for each variable."""
    m = strong(m, np.result_type(dtype_of(m), FLOAT64))  # as NumPy does, also of float32
    if rank_of(m) > 2:
        raise ShapeError(message("cov", "at most two axes are allowed", show(m)))
    if rank_of(m) < 2:
        return reshape(m, shape=(1, size(shape_of(m))))
    return m if rowvar else transposed(m)


def _weights(name: str, frequencies: Any, count: int) -> Any:
    """Return the weights of the observations, checked."""
    if shape_of(frequencies := operand(frequencies)) != (count,):
        requirement = f"{name} must be {count} numbers, one an observation"
        raise ShapeError(message("cov", requirement, show(frequencies)))
    values = concrete(weights := strong(frequencies, FLOAT64))
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
    if not shape_of(x)[0]:
        return np.zeros((0, 0))
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
    result = matmul(scaled, conjugate(transposed(centred))) / strong(
        maximum(freedom, 0), real_dtype(dtype_of(scaled))
    )
    return reshape(result, shape=()) if shape_of(result) == (1, 1) else result


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    covariance = cov(x, y, rowvar, dtype=dtype)
    if not rank_of(covariance):
        return covariance / covariance
    deviations = root(real(diagonal(covariance)))
    count = shape_of(deviations)[0]
    scaled = covariance / reshape(deviations, shape=(count, 1)) / deviations
    if is_complex(dtype_of(scaled)):
        return from_parts(_clipped(real(scaled)), _clipped(imag(scaled)))
    return _clipped(scaled)


def _clipped(x: Any) -> Any:
    """Keep rounding errors from leaving [-1, 1]; the derivative is that of x."""
    number = stop_gradient(x)
    return x + (clip(number, -1, 1) - number)


# -- counts ----------------------------------------------------------------------------------------------


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Differentiable in the weights. Integers whose values are not known must lie below ``minlength``."""
    x, least = operand(x), operator.index(minlength)
    check_real("bincount", *([] if weights is None else [weights := operand(weights)]))
    counted = np.ones(shape_of(x), INT64) if weights is None else strong(weights, FLOAT64)
    if rank_of(x) != 1 or shape_of(counted) != shape_of(x):
        requirement = "integers and weights must be sequences of one length"
        raise ShapeError(message("bincount", requirement, show(x, counted)))
    if is_inexact(dtype_of(x)):
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
