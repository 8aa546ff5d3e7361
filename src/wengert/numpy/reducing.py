"""Sums, products, means, extrema, truth, positions and running sums over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import BOOL, FLOAT64, INT64, dtype_of
from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import axis_index, drop_axes, keep_axes, shape_of, size
from wengert.ir.types import show
from wengert.numpy.registry import axes_of, check_axes, implements, rank_of, refuse, since, strong
from wengert.ops.arithmetic import add, maximum, minimum, multiply, subtract
from wengert.ops.comparison import equal, isnan, logical_not, not_equal, where
from wengert.ops.conversion import cast
from wengert.ops.indexing import check_bounds
from wengert.ops.reduction import (
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
from wengert.ops.shape import broadcast_to, concatenate, reshape
from wengert.primitive import Primitive

_UINT64 = np.dtype(np.uint64)


def _accumulator(x: Any, dtype: Any) -> Any:
    """Return a value in the dtype in which NumPy sums it: small integers are widened."""
    if dtype is not None:
        return strong(x, dtype)
    own = dtype_of(x)
    if own.kind in "bi" and own != INT64:
        return cast(x, dtype=INT64)
    return cast(x, dtype=_UINT64) if own.kind == "u" and own != _UINT64 else x


def reduce_over(
    primitive: Primitive,
    operation: str,
    x: Any,
    axis: Any,
    keepdims: Any,
    axes: tuple[int, ...] | None = None,
) -> Any:
    """Reduce over the axes that NumPy's ``axis`` names, and keep them with extent one where wanted."""
    shape = shape_of(x)
    axes = axes_of(operation, axis, len(shape)) if axes is None else axes
    result = primitive(x, axes=axes)
    return reshape(result, shape=keep_axes(shape, axes)) if keepdims else result


def _started(initial: Any, like: Any) -> Any:
    """Return what a reduction starts from, in the dtype in which it is carried out."""
    return cast(initial, dtype=dtype_of(like))


@implements(np.sum)
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Sum over axes, as `np.sum`."""
    if out is not None or where is not True:
        refuse("np.sum", out, where)
    total = reduce_over(reduce_sum, "sum", _accumulator(a, dtype), axis, keepdims)
    return total if initial is None else add(total, _started(initial, total))


@implements(np.prod)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Multiply over axes, as `np.prod`."""
    if out is not None or where is not True:
        refuse("np.prod", out, where)
    product = reduce_over(reduce_prod, "prod", _accumulator(a, dtype), axis, keepdims)
    return product if initial is None else multiply(product, _started(initial, product))


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """Average over axes, as `np.mean`."""
    if out is not None or where is not True:
        refuse("np.mean", out, where)
    result_dtype = None
    if dtype is not None:
        a = strong(a, dtype)
    elif (own := dtype_of(a)).kind != "f":
        a = cast(a, dtype=FLOAT64)
    elif own.itemsize == 2:  # as NumPy does: half precision is summed in single
        a, result_dtype = cast(a, dtype=np.dtype(np.float32)), own
    shape = shape_of(a)
    axes = axes_of("mean", axis, len(shape))
    count = 1
    for one in axes:
        count *= shape[one]
    result = reduce_over(reduce_sum, "mean", a, axis, keepdims, axes) / count
    return result if result_dtype is None else cast(result, dtype=result_dtype)


# -- extrema and positions -------------------------------------------------------------------------------


def _extremum(
    primitive: Primitive, pair: Primitive, operation: str, a: Any, axis: Any, keepdims: Any, initial: Any
) -> Any:
    if initial is None:
        return reduce_over(primitive, operation, a, axis, keepdims)
    shape = shape_of(a)
    axes = axes_of(operation, axis, len(shape))
    if any(shape[one] == 0 for one in axes):
        kept = keep_axes(shape, axes) if keepdims else drop_axes(shape, axes)
        return broadcast_to(_started(initial, a), shape=kept)
    return pair(reduce_over(primitive, operation, a, axis, keepdims), _started(initial, a))


@implements(np.max, np.amax)
def max_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the largest element over axes, as `np.max`; elements that tie share the derivative."""
    if out is not None or where is not True:
        refuse("np.max", out, where)
    return _extremum(reduce_max, maximum, "max", a, axis, keepdims, initial)


@implements(np.min, np.amin)
def min_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the smallest element over axes, as `np.min`; elements that tie share the derivative."""
    if out is not None or where is not True:
        refuse("np.min", out, where)
    return _extremum(reduce_min, minimum, "min", a, axis, keepdims, initial)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Return the largest less the smallest element over axes, as `np.ptp`."""
    refuse("np.ptp", out)
    check_axes("ptp", axis, a)
    return subtract(max_(a, axis, keepdims=keepdims), min_(a, axis, keepdims=keepdims))


def _position(primitive: Primitive, a: Any, axis: Any, keepdims: Any) -> Any:
    shape = shape_of(a)
    if axis is None or not shape:
        flat = primitive(reshape(a, shape=(size(shape),)), axis=0)
        return reshape(flat, shape=(1,) * len(shape)) if keepdims else flat
    axis = axis_index(primitive.name, axis, len(shape))
    result = primitive(a, axis=axis)
    return reshape(result, shape=keep_axes(shape, (axis,))) if keepdims else result


@implements(np.argmax)
def argmax_(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Return the position of the first largest element, as `np.argmax`."""
    refuse("np.argmax", out)
    return _position(argmax, a, axis, keepdims)


@implements(np.argmin)
def argmin_(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Return the position of the first smallest element, as `np.argmin`."""
    refuse("np.argmin", out)
    return _position(argmin, a, axis, keepdims)


# -- truth -----------------------------------------------------------------------------------------------


@implements(np.any)
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    """Tell whether any element over axes is true, as `np.any`."""
    refuse("np.any", out, where)
    return reduce_over(reduce_any, "any", a, axis, keepdims)


@implements(np.all)
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    """Tell whether every element over axes is true, as `np.all`."""
    refuse("np.all", out, where)
    return reduce_over(reduce_all, "all", a, axis, keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Count the elements that are not zero, as `np.count_nonzero`."""
    check_axes("count_nonzero", axis, a)
    return sum_(strong(not_equal(a, 0), BOOL), axis, keepdims=keepdims)


# -- running sums and products ---------------------------------------------------------------------------


def _running(primitive: Primitive, a: Any, axis: Any, dtype: Any) -> Any:
    a = _accumulator(a, dtype)
    shape = shape_of(a)
    if axis is None or not shape:
        return primitive(reshape(a, shape=(size(shape),)), axis=0, reverse=False)
    return primitive(a, axis=axis_index(primitive.name, axis, len(shape)), reverse=False)


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running sums along an axis, as `np.cumsum`."""
    refuse("np.cumsum", out)
    return _running(cumulative_sum, a, axis, dtype)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running products along an axis, as `np.cumprod`."""
    refuse("np.cumprod", out)
    return _running(cumulative_product, a, axis, dtype)


def _cumulative(
    name: str, primitive: Primitive, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool
) -> Any:
    refuse(f"np.{name}", out)
    if axis is None and rank_of(x) > 1:
        raise ArgumentError(message(name, "of several axes, one must be named", show(x)))
    axis = axis_index(name, axis or 0, rank_of(x)) if rank_of(x) else 0
    result = _running(primitive, x, axis, dtype)
    if not include_initial:
        return result
    first = 0 if primitive is cumulative_sum else 1
    filler = np.full(keep_axes(shape_of(result), (axis,)), first, dtype=dtype_of(result))
    return concatenate(filler, result, axis=axis)


@implements(*since("cumulative_sum"))
def cumulative_sum_(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """Return running sums, as `np.cumulative_sum`."""
    return _cumulative("cumulative_sum", cumulative_sum, x, axis, dtype, out, include_initial)


@implements(*since("cumulative_prod"))
def cumulative_prod_(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """Return running products, as `np.cumulative_prod`."""
    return _cumulative("cumulative_prod", cumulative_product, x, axis, dtype, out, include_initial)


# -- reductions that leave NaN out -----------------------------------------------------------------------


def without_nan(x: Any, neutral: float) -> Any:
    """Return a value with the neutral element of a reduction in place of NaN."""
    return where(isnan(x), neutral, x) if dtype_of(x).kind == "f" else x


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Sum over axes without NaN, as `np.nansum`."""
    refuse("np.nansum", out, where)
    check_axes("nansum", axis, a)
    return sum_(without_nan(a, 0.0), axis, dtype, keepdims=keepdims, initial=initial)


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Multiply over axes without NaN, as `np.nanprod`."""
    refuse("np.nanprod", out, where)
    check_axes("nanprod", axis, a)
    return prod(without_nan(a, 1.0), axis, dtype, keepdims=keepdims, initial=initial)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running sums without NaN, as `np.nancumsum`."""
    refuse("np.nancumsum", out)
    check_axes("nancumsum", axis, a)
    return cumsum(without_nan(a, 0.0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return running products without NaN, as `np.nancumprod`."""
    refuse("np.nancumprod", out)
    check_axes("nancumprod", axis, a)
    return cumprod(without_nan(a, 1.0), axis, dtype)


def present(a: Any, axis: Any, keepdims: Any) -> Any:
    """Count what is not NaN over axes."""
    return sum_(logical_not(isnan(a)), axis, keepdims=keepdims)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """Average over axes without NaN, as `np.nanmean`."""
    refuse("np.nanmean", out, where)
    check_axes("nanmean", axis, a)
    if dtype_of(a).kind != "f":
        return mean(a, axis, dtype, keepdims=keepdims)
    total = nansum(a, axis, dtype, keepdims=keepdims)
    return total / cast(present(a, axis, keepdims), dtype=dtype_of(total))


def _nan_extremum(extremum: Any, a: Any, axis: Any, keepdims: Any, initial: Any) -> Any:
    worst = -np.inf if extremum is max_ else np.inf
    result = extremum(without_nan(a, worst), axis, keepdims=keepdims, initial=initial)
    if dtype_of(a).kind != "f" or initial is not None:
        return result
    return where(not_equal(present(a, axis, keepdims), 0), result, np.nan)


@implements(np.nanmax)
def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the largest element over axes that is not NaN, as `np.nanmax`."""
    refuse("np.nanmax", out, where)
    check_axes("nanmax", axis, a)
    return _nan_extremum(max_, a, axis, keepdims, initial)


@implements(np.nanmin)
def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Return the smallest element over axes that is not NaN, as `np.nanmin`."""
    refuse("np.nanmin", out, where)
    check_axes("nanmin", axis, a)
    return _nan_extremum(min_, a, axis, keepdims, initial)


def _nan_position(name: str, position: Any, worst: float, a: Any, axis: Any, keepdims: bool) -> Any:
    """Return the position of an extremum that is not NaN, or raise where all is."""
    shape = shape_of(a)
    axis = axis_index(name, axis, len(shape)) if shape and axis is not None else None
    found = position(without_nan(a, worst), axis, keepdims=keepdims)
    extent = size(shape if axis is None else shape[axis : axis + 1])
    requirement = f"what is not NaN must have a position in [0, {extent})"
    there = where(equal(present(a, axis, keepdims), 0), extent, found)
    return check_bounds(there, count=extent, operation=name, requirement=requirement)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Return the position of the first largest element that is not NaN, as `np.nanargmax`."""
    refuse("np.nanargmax", out)
    return _nan_position("nanargmax", argmax_, -np.inf, a, axis, keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Return the position of the first smallest element that is not NaN, as `np.nanargmin`."""
    refuse("np.nanargmin", out)
    return _nan_position("nanargmin", argmin_, np.inf, a, axis, keepdims)
