"""Order: `sort`, `median`, `quantile`, `unique`, `searchsorted`, and interpolation in a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import FLOAT64, INT64, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import ArgumentError, OutOfRangeError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import Shape, axis_index, keep_axes, shape_of, size
from wengert.engine.ir.types import is_weak, promote, show, type_of
from wengert.engine.memory import lay_like, lay_reduced, memory_of
from wengert.engine.ops.arithmetic import ceil, floor, maximum, minimum, multiply, remainder, rint, subtract
from wengert.engine.ops.comparison import (
    equal,
    greater,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.reduction import reduce_any, reduce_sum
from wengert.engine.ops.shape import broadcast_to, reshape, transpose
from wengert.engine.ops.sorting import argsort
from wengert.engine.ops.sorting import sort as sort_along
from wengert.numpy.registry import axes_of, check_axes, floating, implements, integers, known, rank_of, strong
from wengert.numpy.selecting import take, take_along_axis
from wengert.numpy.shaping import ravel


def _with_axis(operation: str, a: Any, axis: int | None, order: Any) -> tuple[Any, int]:
    """Return the array to sort and the axis, counted from the first; None flattens the array."""
    if order is not None:
        raise UnsupportedError(message(operation, "order= is for structured arrays", repr(order)))
    a = operand(a)
    if axis is None:
        return ravel(a), 0
    return a, axis_index(operation, axis, rank_of(a))


@implements(np.sort)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Equal elements keep their order, whatever the kind."""
    a, axis = _with_axis("sort", a, axis, order)
    return sort_along(a, axis=axis)


@implements(np.argsort)
def argsort_(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    a, axis = _with_axis("argsort", a, axis, order)
    return argsort(a, axis=axis)


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    ordered = sort(operand(a), -1)
    if is_complex(dtype_of(ordered)):
        return ordered
    small = dtype_of(ordered).char in "bhBH"
    return strong(ordered, np.complex64 if small else np.complex128)


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:
    """Sort all elements."""
    a, axis = _with_axis("partition", a, axis, order)
    _check_kth("partition", kth, shape_of(a), axis)
    return sort(a, axis)


@implements(np.argpartition)
def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    a, axis = _with_axis("argpartition", a, axis, order)
    _check_kth("argpartition", kth, shape_of(a), axis)
    return argsort(a, axis=axis)


def _check_kth(operation: str, kth: Any, shape: Shape, axis: int) -> None:
    extent = shape[axis]
    outside = [position for position in integers(kth) if not -extent <= position < extent]
    if outside and 0 not in shape:  # NumPy accepts any kth for an array without elements
        requirement = f"kth must lie in [{-extent}, {extent})"
        raise OutOfRangeError(message(operation, requirement, str(outside[0])))


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    rows = list(map(operand, keys))
    if not rows:
        raise ArgumentError(message("lexsort", "at least one key is required"))
    if any(shape_of(row) != shape_of(rows[0]) for row in rows):
        raise ShapeError(message("lexsort", "the keys must have one shape", show(*rows)))
    if not rank_of(rows[0]):  # numbers are in order
        return reshape(lexsort([reshape(row, shape=(1,)) for row in rows], axis), shape=())
    axis = axis_index("lexsort", axis, rank_of(rows[0]))
    order = argsort(rows[0], axis=axis)
    for row in rows[1:]:
        again = argsort(take_along_axis(row, order, axis), axis=axis)
        order = take_along_axis(order, again, axis)
    return order


# -- order statistics ------------------------------------------------------------------------------------


def _sorted_last(operation: str, a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the elements over axes sorted along one last axis, and the axes.

    As in NumPy, the elements over empty axes are one NaN.
    """
    shape = shape_of(a)
    axes = axes_of(operation, axis, len(shape))
    leading = tuple(dim for dim in range(len(shape)) if dim not in axes)
    lines = transpose(a, permutation=leading + axes)
    lead, count = tuple(shape[dim] for dim in leading), size(tuple(shape[dim] for dim in axes))
    if not count and is_inexact(dtype_of(a)):
        return np.full((*lead, 1), np.nan, dtype_of(a)), axes
    return sort(reshape(lines, shape=(*lead, count))), axes


def _with_nan(
    result: Any, ordered: Any, shape: Any, axes: tuple[int, ...], keepdims: Any, lead: Any = ()
) -> Any:
    """Put NaN, which sorts last, in place of the statistic of its line, and keep the axes if requested."""
    if is_inexact(dtype_of(ordered)):
        result = where(isnan(ordered[..., -1]), np.nan, result)
    return reshape(result, shape=(*lead, *keep_axes(shape, axes))) if keepdims else result


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    a = floating(operand(a))
    ordered, axes = _sorted_last("median", a, axis)
    count = shape_of(ordered)[-1]
    middle = ordered[..., count // 2]
    if count % 2 == 0:
        middle = (ordered[..., count // 2 - 1] + middle) / 2
    middle = _with_nan(middle, ordered, shape_of(a), axes, keepdims)
    return lay_reduced(middle, np.empty_like(memory_of(a)), axes, keepdims)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    a = floating(operand(a))
    at, count, shape = _lookup_without_nan("nanmedian", a, axis, keepdims)
    last = maximum(count - 1, 0)
    middle = reshape((at(last // 2) + at((last + 1) // 2)) / 2, shape=shape)
    return lay_reduced(middle, a, axes_of("nanmedian", axis, rank_of(a)), keepdims)


#: The plotting positions (a, b) of methods of Hyndman and Fan (1996): the element at ``n q + a + q (1 - a - b) - 1``.
_PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_DISCRETE = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", *_PLOTTING, *_DISCRETE)


def _implement_quantile(function: Any, quantile: Callable[..., Any], scale: int) -> None:
    """Implement `np.quantile` and its kind: the element at position ``q (n - 1)`` of the sorted ones.

    ``method`` decides between two elements, or moves the position. Differentiable in ``a`` and, for methods that
    interpolate, in ``q``. No derivative passes to ``weights``, which select an element.
    """

    @implements(function)
    def _(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: Any = False, *, weights: Any = None,
    ) -> Any:  # fmt: skip
        a, q = operand(a), operand(q) if scale == 1 else operand(q) / scale
        check_real(function.__name__, a, q, *([] if weights is None else [weights := operand(weights)]))
        if weights is not None:
            return _weighted(function.__name__, a, q, axis, method, keepdims, weights)
        return quantile(function.__name__, a, q, axis, method, keepdims)


def _quantile(operation: str, a: Any, q: Any, axis: Any, method: str, keepdims: Any) -> Any:
    _check_probabilities(operation, q, method)
    ordered, axes = _sorted_last(operation, a, axis)
    count, lead = shape_of(ordered)[-1], shape_of(q)
    if any(shape_of(a)[dim] == 0 for dim in axes):
        raise ShapeError(message(operation, "the axes must not be empty", show(a)))
    lines = transpose(ordered, permutation=(rank_of(ordered) - 1, *range(rank_of(ordered) - 1)))
    result = _chosen(lambda place: gather(lines, cast(place, dtype=INT64)), q, count, method)
    return _with_nan(result, ordered, shape_of(a), axes, keepdims, lead)


def _check_probabilities(operation: str, q: Any, method: str) -> None:
    if method not in _METHODS:
        requirement = f"method must be one of {', '.join(_METHODS)}"
        raise ArgumentError(message(operation, requirement, repr(method)))
    values = concrete(q)
    if values is not None and not np.all((np.asarray(values) >= 0) & (np.asarray(values) <= 1)):
        raise ArgumentError(message(operation, "probabilities must lie in [0, 1]", str(values)))


def _chosen(at: Callable[[Any], Any], q: Any, count: Any, method: str) -> Any:
    """Return the element that a method chooses for a probability among ``count``; ``at`` returns that at a position."""
    if method not in _PLOTTING and method not in _DISCRETE:
        return _between(at, maximum(multiply(q, count - 1), 0), method)

    def inside(position: Any) -> Any:
        return minimum(maximum(position, 0), maximum(count - 1, 0))

    if not is_inexact(dtype_of(q)):  # Python's 0 and 1 leave the dtype of the elements, as 0.0 and 1.0 do
        q = multiply(q, 1.0) if is_weak(q) and dtype_of(q).kind == "i" else strong(q, FLOAT64)
    if method in _PLOTTING:
        first, last = _PLOTTING[method]
        position = multiply(q, count) + (first + multiply(q, 1.0 - first - last)) - 1
        return _between(at, inside(position), "linear")
    position = multiply(q, count) - 1
    if method == "inverted_cdf":
        return at(inside(ceil(position)))
    if method == "averaged_inverted_cdf":
        return (at(inside(ceil(position))) + at(inside(floor(position) + 1))) / 2
    position = position - 0.5
    before = floor(position)
    is_odd = np.logical_and(equal(before, position), equal(np.remainder(before, 2), 1))
    return at(inside(before + where(is_odd, 0, 1)))


def _between(at: Callable[[Any], Any], position: Any, method: str) -> Any:
    """Return the elements at fractional positions; ``at`` returns those at whole ones."""
    if method in ("lower", "higher", "nearest"):
        return at({"lower": floor, "higher": ceil, "nearest": rint}[method](position))
    if method == "linear" and dtype_of(position).kind != "f":
        return at(position)
    low, high = at(floor(position)), at(ceil(position))
    weight = subtract(position, floor(position))
    if method == "midpoint":
        weight = multiply(not_equal(weight, 0), 0.5)
    if is_weak(position):
        weight = multiply(weight, 1.0)
    else:
        others = (1,) * (rank_of(low) - rank_of(weight))
        weight = reshape(strong(weight, dtype_of(position)), shape=shape_of(weight) + others)
    if dtype_of(low).kind in "iu":  # their difference may not fit the dtype
        dtype = promote(type_of(low), type_of(weight))[0]
        low, high = strong(low, dtype), strong(high, dtype)
    gap = subtract(high, low)  # from the nearer end, which may be the finite one, as NumPy does
    return where(less(weight, 0.5), low + gap * weight, high - gap * (1 - weight))


def _lookup_without_nan(
    operation: str, a: Any, axis: Any, keepdims: Any
) -> tuple[Callable[[Any], Any], Any, Any]:
    """Return a lookup in the sorted lines by position, their numbers of elements but NaN, and the result's shape."""
    ordered, axes = _sorted_last(operation, a, axis)
    lines, extent = shape_of(ordered)[:-1], shape_of(ordered)[-1]
    if not extent:
        raise ShapeError(message(operation, "the axes must not be empty", show(a)))

    def at(position: Any) -> Any:
        position = cast(position, dtype=INT64)
        lead = shape_of(position)[: max(rank_of(position) - len(lines), 0)]
        position = np.broadcast_to(position, (*lead, *lines))
        repeated = np.broadcast_to(ordered, (*lead, *lines, extent))
        return take_along_axis(repeated, reshape(position, shape=(*lead, *lines, 1)), -1)[..., 0]

    count = reduce_sum(cast(logical_not(isnan(ordered)), dtype=INT64), axes=(len(lines),))
    return at, count, keep_axes(shape_of(a), axes) if keepdims else lines


def _nanquantile(operation: str, a: Any, q: Any, axis: Any, method: str, keepdims: Any) -> Any:
    _check_probabilities(operation, q, method)
    if rank_of(q) > 1:
        raise ShapeError(message(operation, "a number or a sequence of probabilities is required", show(q)))
    at, count, shape = _lookup_without_nan(operation, a, axis, keepdims)
    lead = shape_of(q)
    floats = [type_of(x) for x in (a, q) if is_inexact(dtype_of(x))]
    dtype = promote(*floats)[0] if floats else FLOAT64
    q = reshape(strong(q, dtype), shape=(*lead, *(1,) * rank_of(count)))
    quantiles = reshape(_chosen(at, q, strong(count, dtype), method), shape=(*lead, *shape))
    if not lead or not shape:
        return quantiles
    return np.moveaxis(np.moveaxis(quantiles, 0, -1).copy(), -1, 0)  # NumPy makes it with this axis last


def _weighted(operation: str, a: Any, q: Any, axis: Any, method: str, keepdims: Any, weights: Any) -> Any:
    """Return the first element at which the sum of the weights so far reaches a part ``q`` of all."""
    _check_probabilities(operation, q, method)
    if method != "inverted_cdf":
        requirement = 'weights need method="inverted_cdf"'
        raise ArgumentError(message(operation, requirement, repr(method)))
    if (numbers := concrete(weights)) is not None and np.any(np.less(numbers, 0)):
        raise ArgumentError(message(operation, "weights must not be negative", show(weights)))
    shape = shape_of(a)
    axes = axes_of(operation, axis, len(shape))
    if shape_of(weights) != shape:
        if axis is None or shape_of(weights) != tuple(shape[dim] for dim in axes):
            requirement = "weights must have the shape of the array or of its axis"
            raise ShapeError(message(operation, requirement, show(a, weights)))
        weights = reshape(weights, shape=tuple(n if dim in axes else 1 for dim, n in enumerate(shape)))
    leading = tuple(dim for dim in range(len(shape)) if dim not in axes)
    lines_shape = (*(shape[dim] for dim in leading), size(tuple(shape[dim] for dim in axes)))
    lines, heavy = (
        reshape(transpose(np.broadcast_to(x, shape), permutation=leading + axes), shape=lines_shape)
        for x in (a, strong(weights, FLOAT64))
    )
    order = argsort(lines, axis=len(leading))
    ordered, heavy = take_along_axis(lines, order, -1), take_along_axis(heavy, order, -1)
    skips = operation.startswith("nan") and is_inexact(dtype_of(a))
    if skips:
        heavy = where(isnan(ordered), 0.0, heavy)
    running = np.cumsum(heavy, axis=-1)
    totals = concrete(running[..., -1])
    if totals is not None and not np.all(np.isfinite(totals) & np.not_equal(totals, 0)):
        raise ArgumentError(message(operation, "weights must be finite, and not all zero", show(weights)))
    running = running / running[..., -1:]
    lead = shape_of(q)
    wanted = reshape(strong(q, FLOAT64), shape=(*lead, *(1,) * rank_of(running)))
    below = np.logical_or(running < wanted, np.logical_and(equal(wanted, 0), equal(running, 0)))
    last = np.sum(logical_not(isnan(ordered)), axis=-1) - 1 if skips else lines_shape[-1] - 1
    place = minimum(np.sum(below, axis=-1), maximum(last, 0))
    repeated = np.broadcast_to(ordered, (*lead, *lines_shape))
    result = take_along_axis(repeated, reshape(place, shape=(*shape_of(place), 1)), -1)[..., 0]
    if skips:
        return reshape(result, shape=(*lead, *keep_axes(shape, axes))) if keepdims else result
    return _with_nan(result, ordered, shape, axes, keepdims, lead)


_implement_quantile(np.quantile, _quantile, 1)
_implement_quantile(np.percentile, _quantile, 100)
_implement_quantile(np.nanquantile, _nanquantile, 1)
_implement_quantile(np.nanpercentile, _nanquantile, 100)


# -- sets and tables -------------------------------------------------------------------------------------


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """The first of equal elements gets the derivative. The values must be concrete."""
    check_axes("unique", axis, ar)
    results = np.unique(known("unique", ar), True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    index = results[1]
    values = take(ravel(ar) if axis is None else ar, index, axis or 0)
    extras = [*([index] if return_index else []), *results[2:]]
    return (values, *extras) if extras else values


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a, v = operand(a), operand(v)
    if side not in ("left", "right"):
        raise ArgumentError(message("searchsorted", 'side must be "left" or "right"', repr(side)))
    if rank_of(a) != 1:
        raise ShapeError(message("searchsorted", "a sorted sequence is required", show(a)))
    if sorter is not None:
        if shape_of(sorter := operand(sorter)) != shape_of(a):
            raise ShapeError(message("searchsorted", "sorter must have a position for each", show(a, sorter)))
        a = take(a, sorter)
    table, values = concrete(a), concrete(v)
    if table is not None and values is not None:
        return np.searchsorted(table, values, side)  # pyright: ignore[reportArgumentType,reportCallIssue,reportUnknownVariableType]
    if shape_of(a)[0] > _COUNTED:
        return lay_like(_halved(a, v, side), v, "C")
    pairs = _comes_before(a, reshape(v, shape=(*shape_of(v), 1)), side)
    return lay_like(reduce_sum(cast(pairs, dtype=INT64), axes=(rank_of(v),)), v, "C")


#: The longest table of which all elements are compared, in vectors, instead of one in each half.
_COUNTED = 64


def _comes_before(element: Any, v: Any, side: str) -> Any:
    """Return whether an element of a table lies below the place of a value; NaN comes last, as in NumPy's order."""
    lower = (less if side == "left" else less_equal)(element, v)
    if not is_inexact(dtype_of(v)):
        return lower
    return lower | (np.isnan(v) & ~np.isnan(element) if side == "left" else np.isnan(v))


def _halved(a: Any, v: Any, side: str) -> Any:
    """Find places by binary search: each step compares one element, and keeps a half of the places."""
    first, length = np.zeros(shape_of(v), INT64), shape_of(a)[0]
    while length > 1:
        half = length // 2
        is_above = _comes_before(gather(a, first + (half - 1)), v, side)
        first = where(is_above, first + half, first)
        length -= half
    return first + cast(_comes_before(gather(a, first), v, side), dtype=INT64)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    side = "left" if right else "right"
    x, bins = operand(x), operand(bins)
    check_real("digitize", x, bins)
    edges, count = concrete(bins), size(shape_of(bins))
    if edges is None and count:
        falls = less(bins[-1], bins[0])
        places = searchsorted(where(falls, np.flip(bins), bins), x, side)
        return where(falls, count - places, places)
    edges = np.zeros(0) if edges is None else edges
    if not np.any(edges[1:] < edges[:-1]):
        return searchsorted(bins, x, side)
    if np.any(edges[1:] > edges[:-1]):
        raise ArgumentError(message("digitize", "bins must rise or fall, and not both", str(edges)))
    return count - searchsorted(np.flip(bins), x, side)


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    element, others = operand(element), ravel(operand(test_elements))
    kinds = {dtype_of(x).kind for x in (element, others)}
    # The order of complex numbers is not that of a table, and no dtype holds both kinds of integers of 64 bits.
    if shape_of(others)[0] > _COUNTED and "c" not in kinds and kinds != {"i", "u"}:
        occurs = _occurs(element, others)
    else:
        pairs = equal(reshape(element, shape=(*shape_of(element), 1)), others)
        occurs = reduce_any(pairs, axes=(rank_of(element),))
    occurs = lay_like(occurs, element, "C")
    return np.logical_not(occurs) if invert else occurs


def _occurs(element: Any, others: Any) -> Any:
    """Return whether elements are among others, each found by binary search."""
    dtype = np.result_type(dtype_of(element), dtype_of(others))
    element, table = strong(element, dtype), sort_along(strong(others, dtype), axis=0)
    place = minimum(searchsorted(table, element), shape_of(table)[0] - 1)
    return equal(gather(table, place), element)


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    """Differentiable in ``x``, ``xp`` and ``fp``.

    At a knot the derivative is that of the segment to its right, at the last knot that of the segment to its left;
    outside the table the value is constant.
    """
    x, xp, fp = map(operand, (x, xp, fp))
    check_real("interp", x, xp)
    if not is_complex(dtype_of(fp)):
        check_real("interp", *(operand(end) for end in (left, right) if end is not None))
    dtypes = FLOAT64, FLOAT64, np.result_type(dtype_of(fp), FLOAT64)  # as NumPy's, also of float32
    x, xp, fp = map(strong, (x, xp, fp), dtypes)
    if rank_of(xp) != 1 or shape_of(xp) != shape_of(fp) or not shape_of(xp)[0]:
        requirement = "xp and fp must be sequences of one length, not empty"
        raise ShapeError(message("interp", requirement, show(xp, fp)))
    if period is not None:
        if not period:
            raise ArgumentError(message("interp", "the period must not be zero", repr(period)))
        x, xp, fp = _periodic(x, xp, fp, abs(period))
        left = right = None
    value = _in_segment(x, xp, fp) if shape_of(xp)[0] > 1 else broadcast_to(fp[0], shape=shape_of(x))
    value = where(less(x, xp[0]), fp[0] if left is None else operand(left), value)
    return where(greater(x, xp[-1]), fp[-1] if right is None else operand(right), value)


def _in_segment(x: Any, xp: Any, fp: Any) -> Any:
    """Return the height, at each number, of the line through the knots on either side.

    A line cannot start at an infinite knot: it starts at the other one. At a knot, the knot's own height counts, and
    between two knots of equal height that height.
    """
    number = minimum(maximum(searchsorted(xp, x, "right") - 1, 0), shape_of(xp)[0] - 2)
    x0, x1 = gather(xp, number), gather(xp, number + 1)
    f0, f1 = gather(fp, number), gather(fp, number + 1)
    jump = equal(x0, x1)
    slope = where(jump, 0.0, (f1 - f0) / where(jump, 1.0, x1 - x0))
    at_start, at_end = equal(x, x0), equal(x, x1)
    value = f0 + slope * (x - x0)
    value = where(logical_or(at_end, isnan(value)), f1 + slope * (x - x1), value)
    height = where(at_end, f1, f0)
    level = logical_and(equal(f0, f1), logical_not(isnan(x)))
    has_height = logical_or(level, logical_or(at_start, at_end))
    return where(logical_and(isnan(value), has_height), height, value)


def _periodic(x: Any, xp: Any, fp: Any, period: float) -> tuple[Any, Any, Any]:
    """Bring the table into one period, and extend it by a knot on either side."""
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp, axis=0)
    xp, fp = gather(xp, order), gather(fp, order)
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, np.concatenate([fp[-1:], fp, fp[:1]])
