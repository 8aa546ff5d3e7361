"""Sums, products, means, extrema, truth, positions and running sums over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.ufunc_calls import truth_values
from wengert.engine.core.dtypes import BOOL, FLOAT16, FLOAT64, INT64, dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, broadcast, drop_axes, keep_axes, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.memory import lay_like
from wengert.engine.ops.arithmetic import add, maximum, minimum, multiply, subtract
from wengert.engine.ops.comparison import equal, isnan, logical_not, not_equal, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import check_bounds
from wengert.engine.ops.reduction import (
    argmax,
    argmin,
    cumulative_product,
    cumulative_sum,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape
from wengert.engine.primitive import Primitive
from wengert.numpy.registry import ALL_AXES, axes_of, check_axes, implements, rank_of, since, strong
from wengert.numpy.shaping import unfolded

_UINT64 = np.dtype(np.uint64)


def _accumulator(x: Any, dtype: Any) -> Any:
    """Return a value in the dtype in which NumPy sums it: small integers are widened."""
    if dtype is not None:
        return strong(x, dtype)
    own = dtype_of(x)
    if own.kind not in "biu":
        return x
    wider = _UINT64 if own.kind == "u" else INT64
    return x if own == wider else cast(x, dtype=wider)


def reduce_over(
    primitive: Primitive,
    operation: str,
    x: Any,
    axis: Any,
    keepdims: Any,
    axes: tuple[int, ...] | None = None,
) -> Any:
    """Reduce over the axes that NumPy's ``axis`` names; ``keepdims`` keeps them with extent one."""
    shape = shape_of(x)
    if axes is None:
        axes = reduced_axes(operation, axis, len(shape))
    result = primitive(x, axes=axes)
    return unfolded(result, keep_axes(shape, axes)) if keepdims else result


def reduced_axes(operation: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce over; as in NumPy, a number has none, which 0 and -1 name, too."""
    if axis is None or (not rank and axis in (0, -1)):
        return ALL_AXES[rank]
    return axes_of(operation, axis, rank)


def kept(x: Any, condition: Any, neutral: Any) -> Any:
    """Return a value with the neutral element of a reduction where a condition does not hold, as for ``where=``."""
    if condition is True:
        return x
    condition, shape = truth_values("where=", condition), shape_of(x)
    if broadcast("where=", shape_of(condition), shape) != shape:
        raise ShapeError(message("where=", f"the condition must fit the shape {shape}", show(condition)))
    return where(condition, x, cast(operand(neutral), dtype=dtype_of(x)))


def count_where(condition: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """Count the elements over axes at which a condition holds."""
    return sum_(broadcast_to(strong(operand(condition), BOOL), shape=shape_of(x)), axis, keepdims=keepdims)


def _as_initial(initial: Any, like: Any) -> Any:
    """Return the initial value of a reduction in its dtype."""
    return cast(initial, dtype=dtype_of(like))


@implements(np.sum)
def sum_(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    a = _accumulator(a, dtype)
    total = reduce_over(reduce_sum, "sum", a if where is True else kept(a, where, 0), axis, keepdims)
    return total if initial is None else add(total, _as_initial(initial, total))


@implements(np.prod)
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    product = reduce_over(reduce_prod, "prod", kept(_accumulator(a, dtype), where, 1), axis, keepdims)
    return product if initial is None else multiply(product, _as_initial(initial, product))


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    result_dtype = None
    if dtype is not None:
        a, result_dtype = strong(a, dtype), np.dtype(dtype) if np.dtype(dtype).kind in "iu" else None
    elif not is_inexact(own := dtype_of(a)):
        a = cast(a, dtype=FLOAT64)
    elif own == FLOAT16:  # as NumPy does: half precision is summed in single
        a, result_dtype = cast(a, dtype=np.dtype(np.float32)), own
    shape = shape_of(a)
    axes = axes_of("mean", axis, len(shape))
    if where is True:
        count: Any = 1
        for dim in axes:
            count *= shape[dim]
    else:
        count = cast(count_where(where, a, axis, keepdims), dtype=dtype_of(a))
    result = reduce_over(reduce_sum, "mean", kept(a, where, 0), axis, keepdims, axes) / count
    return result if result_dtype is None else cast(result, dtype=result_dtype)


# -- extrema and positions -------------------------------------------------------------------------------


def _extremum(
    primitive: Primitive, pair: Primitive, operation: str, a: Any, axis: Any, keepdims: Any, initial: Any
) -> Any:
    shape = shape_of(a)
    axes = reduced_axes(operation, axis, len(shape))
    if any(shape[dim] == 0 for dim in axes):
        reduced_shape = keep_axes(shape, axes) if keepdims else drop_axes(shape, axes)
        return broadcast_to(_as_initial(initial, a), shape=reduced_shape)
    return pair(reduce_over(primitive, operation, a, axis, keepdims), _as_initial(initial, a))


def _beyond(end: float, a: Any, initial: Any) -> Any:
    """Return the value of elements left out: an infinity among floats, which does not tie with the initial value."""
    return end if dtype_of(a).kind == "f" else initial


def _required(operation: str, initial: Any) -> Any:
    if initial is None:
        hint = "give initial=, the result where no element is left"
        raise ArgumentError(message(operation, "with where= there must be an initial value", hint=hint))
    return initial


@implements(np.max, np.amax)
def max_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Elements that tie share the derivative."""
    if initial is None and where is True:
        return reduce_over(reduce_max, "max", a, axis, keepdims)
    a = kept(a, where, _beyond(-np.inf, a, _required("max", initial)))
    return _extremum(reduce_max, maximum, "max", a, axis, keepdims, initial)


@implements(np.min, np.amin)
def min_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Elements that tie share the derivative."""
    if initial is None and where is True:
        return reduce_over(reduce_min, "min", a, axis, keepdims)
    a = kept(a, where, _beyond(np.inf, a, _required("min", initial)))
    return _extremum(reduce_min, minimum, "min", a, axis, keepdims, initial)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    check_axes("ptp", axis, a)
    return subtract(max_(a, axis, keepdims=keepdims), min_(a, axis, keepdims=keepdims))


def _position(primitive: Primitive, a: Any, axis: Any, keepdims: Any) -> Any:
    shape = shape_of(a)
    if axis is None or not reduced_axes(primitive.name, axis, len(shape)):
        flat = primitive(reshape(a, shape=(size(shape),)), axis=0)
        return reshape(flat, shape=(1,) * len(shape)) if keepdims else flat
    axis = axis_index(primitive.name, axis, len(shape))
    result = primitive(a, axis=axis)
    return unfolded(result, keep_axes(shape, (axis,))) if keepdims else result


@implements(np.argmax)
def argmax_(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _position(argmax, a, axis, keepdims)


@implements(np.argmin)
def argmin_(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _position(argmin, a, axis, keepdims)


# -- truth -----------------------------------------------------------------------------------------------


@implements(np.any)
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return reduce_over(reduce_any, "any", kept(a, where, 0), axis, keepdims)


@implements(np.all)
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return reduce_over(reduce_all, "all", kept(a, where, 1), axis, keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    check_axes("count_nonzero", axis, a)
    return sum_(lay_like(strong(not_equal(a, 0), BOOL), a), axis, keepdims=keepdims)


# -- running sums and products ---------------------------------------------------------------------------


def _running(primitive: Primitive, a: Any, axis: Any, dtype: Any) -> Any:
    a = _accumulator(a, dtype)
    shape = shape_of(a)
    if axis is None or not shape:
        return primitive(reshape(a, shape=(size(shape),)), axis=0, reverse=False)
    return primitive(a, axis=axis_index(primitive.name, axis, len(shape)), reverse=False)


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _running(cumulative_sum, a, axis, dtype)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _running(cumulative_product, a, axis, dtype)


def _cumulative(
    name: str, primitive: Primitive, x: Any, axis: Any, dtype: Any, include_initial: bool, initial: int
) -> Any:
    if axis is None and rank_of(x) > 1:
        raise ArgumentError(message(name, "an array of several axes needs axis=", show(x)))
    axis = axis_index(name, axis or 0, max(rank_of(x), 1))
    result = _running(primitive, x, axis, dtype)
    if not include_initial:
        return result
    first = np.full(keep_axes(shape_of(result), (axis,)), initial, dtype=dtype_of(result))
    return concatenate(first, result, axis=axis)


@implements(*since("cumulative_sum"))
def cumulative_sum_(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    return _cumulative("cumulative_sum", cumulative_sum, x, axis, dtype, include_initial, 0)


@implements(*since("cumulative_prod"))
def cumulative_prod_(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    return _cumulative("cumulative_prod", cumulative_product, x, axis, dtype, include_initial, 1)


# -- reductions that skip NaN ----------------------------------------------------------------------------


def without_nan(x: Any, neutral: float) -> Any:
    """Return a value with the neutral element of a reduction in place of NaN."""
    return lay_like(where(isnan(x), neutral, x), x) if is_inexact(dtype_of(x)) else x


def _nan_total(function: Any, reduction: Callable[..., Any], neutral: float) -> Any:
    @implements(function)
    def reduced(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        check_axes(function.__name__, axis, a)
        options = {"keepdims": keepdims, "initial": initial, "where": where}
        return reduction(without_nan(a, neutral), axis, dtype, **options)

    return reduced


def _nan_running(function: Any, running: Callable[..., Any], neutral: float) -> None:
    @implements(function)
    def _(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        check_axes(function.__name__, axis, a)
        return running(without_nan(a, neutral), axis, dtype)


nansum = _nan_total(np.nansum, sum_, 0.0)
_nan_total(np.nanprod, prod, 1.0)
_nan_running(np.nancumsum, cumsum, 0.0)
_nan_running(np.nancumprod, cumprod, 1.0)


def count_present(a: Any, axis: Any, keepdims: Any, condition: Any = True) -> Any:
    """Count the elements over axes that are not NaN, where a condition holds."""
    return sum_(logical_not(isnan(a)), axis, keepdims=keepdims, where=condition)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    check_axes("nanmean", axis, a)
    if not is_inexact(dtype_of(a)):
        return mean(a, axis, dtype, keepdims=keepdims, where=where)
    total = nansum(a, axis, dtype, keepdims=keepdims, where=where)
    mean_ = total / cast(count_present(a, axis, keepdims, where), dtype=dtype_of(total))
    return lay_like(mean_, total)


def _nan_where_empty(count: Any, result: Any) -> Any:
    return where(not_equal(count, 0), result, np.nan)


def _nan_extremum(function: Any, extremum: Callable[..., Any], worst: float) -> None:
    @implements(function)
    def _(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        check_axes(function.__name__, axis, a)
        if where is not True:
            _required(function.__name__, initial)
        result = extremum(without_nan(a, worst), axis, keepdims=keepdims, initial=initial, where=where)
        if not is_inexact(dtype_of(a)) or initial is not None:
            return result
        return _nan_where_empty(count_present(a, axis, keepdims), result)


def _nan_position(function: Any, position: Callable[..., Any], worst: float) -> None:
    @implements(function)
    def _(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        name, shape = function.__name__, shape_of(a)
        axis = axis if axis is None else axis_index(name, axis, max(len(shape), 1))
        axis = axis if shape else None
        extent = size(shape if axis is None else shape[axis : axis + 1])
        place = position(without_nan(a, worst), axis, keepdims=keepdims)
        place = where(equal(count_present(a, axis, keepdims), 0), extent, place)
        requirement = f"an element that is not NaN must have a position in [0, {extent})"
        return check_bounds(place, count=extent, operation=name, requirement=requirement)


_nan_extremum(np.nanmax, max_, -np.inf)
_nan_extremum(np.nanmin, min_, np.inf)
_nan_position(np.nanargmax, argmax_, -np.inf)
_nan_position(np.nanargmin, argmin_, np.inf)
