"""Finite differences and their uses: `diff`, `gradient`, `trapezoid`, `unwrap`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import BOOL, dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import is_weak, show
from wengert.engine.memory import lay_like
from wengert.engine.ops.arithmetic import remainder, size_to_compare, subtract
from wengert.engine.ops.comparison import equal, greater, less, logical_and, not_equal, where
from wengert.engine.ops.shape import broadcast_to, reshape
from wengert.numpy.joining import concatenate_
from wengert.numpy.reducing import cumsum, sum_
from wengert.numpy.registry import floating, implements, integers, rank_of, strong
from wengert.numpy.shaping import part, ravel


def _neighbours(a: Any, axis: int) -> tuple[Any, Any]:
    return part(a, axis, slice(1, None)), part(a, axis, slice(None, -1))


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if n < 0:
        raise ArgumentError(message("diff", "the order must not be negative", str(n)))
    a = operand(a)
    if not rank_of(a):
        raise ShapeError(message("diff", "an array of at least one axis is required", show(a)))
    axis = axis_index("diff", axis, rank_of(a))
    if n == 0:
        return a
    end_shape = (*shape_of(a)[:axis], 1, *shape_of(a)[axis + 1 :])
    before, after = (
        [] if end is None else [end if rank_of(end) else broadcast_to(end, shape=end_shape)]
        for end in (None if addition is None else operand(addition) for addition in (prepend, append))
    )
    if before or after:
        a = concatenate_([*before, a, *after], axis)
    difference = not_equal if dtype_of(a) == BOOL else subtract
    for _ in range(n):
        a = difference(*_neighbours(a, axis))
    return a


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = ravel(operand(ary))
    differences = subtract(*_neighbours(ary, 0))
    ends = (None if end is None else ravel(operand(end)) for end in (to_begin, to_end))
    before, after = ([] if end is None else [_fitting_end(end, ary)] for end in ends)
    return concatenate_([*before, differences, *after]) if before or after else differences


def _fitting_end(end: Any, ary: Any) -> Any:
    """Return the elements before or after differences in the dtype of the array."""
    if not np.can_cast(dtype_of(end), dtype_of(ary), "same_kind"):
        requirement = f"the dtype of ends must fit {dtype_of(ary)}"
        raise DtypeError(message("ediff1d", requirement, show(end)))
    return strong(end, dtype_of(ary))


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = operand(y)
    axis = axis_index("trapezoid", axis, rank_of(y))
    steps: Any = operand(dx)
    if x is not None:
        steps = diff(x, axis=-1 if rank_of(operand(x)) == 1 else axis)
        if rank_of(steps) == 1:
            steps = reshape(steps, shape=(shape_of(steps)[0], *(1,) * (rank_of(y) - axis - 1)))
    after, before = _neighbours(y, axis)
    return sum_(steps * (after + before) / 2.0, axis)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = operand(f)
    if dtype_of(f) == BOOL:
        requirement, hint = "truth values have no differences", "use x.astype(float)"
        raise DtypeError(message("gradient", requirement, show(f), hint))
    f = floating(f)
    rank = rank_of(f)
    axes = [axis_index("gradient", dim, rank) for dim in (range(rank) if axis is None else integers(axis))]
    spacings = [operand(spacing) for spacing in varargs] or [1.0]
    spacings = [spacing if is_weak(spacing) else floating(spacing) for spacing in spacings]
    spacings = spacings * len(axes) if len(spacings) == 1 else spacings
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        got = f"{len(varargs)} spacings for {len(axes)} axes, edge_order={edge_order}"
        requirement = "one spacing or one an axis is required, and edge_order 1 or 2"
        raise ArgumentError(message("gradient", requirement, got))
    gradients = tuple(
        lay_like(strong(_gradient(f, spacing, dim, edge_order), dtype_of(f)), f)
        for spacing, dim in zip(spacings, axes, strict=True)
    )
    return gradients[0] if len(gradients) == 1 else gradients


def _gradient(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Differentiate the parabola through each point and its neighbours, ``h`` before and ``k`` after it."""
    extent = shape_of(f)[axis]
    if extent <= edge_order:
        requirement = f"axis {axis} must have at least {edge_order + 1} elements"
        raise ShapeError(message("gradient", requirement, show(f)))
    if is_weak(spacing):
        spacing = strong(spacing, dtype_of(f))
    steps = diff(spacing) if rank_of(spacing) else broadcast_to(spacing, shape=(extent - 1,))
    if shape_of(steps) != (extent - 1,):
        raise ShapeError(message("gradient", f"axis {axis} needs {extent} coordinates", show(spacing)))
    steps = reshape(steps, shape=(extent - 1, *(1,) * (rank_of(f) - axis - 1)))
    after, before = _neighbours(f, axis)
    slopes = (after - before) / steps
    first, last = part(slopes, axis, slice(0, 1)), part(slopes, axis, slice(-1, None))
    if extent == 2:
        return concatenate_([first, last], axis)
    h, k = steps[:-1], steps[1:]
    right, left = _neighbours(slopes, axis)
    if rank_of(spacing):
        inside = (k * left + h * right) / (h + k)
    else:  # as NumPy does: an infinite element counts at its neighbours only
        inside = (part(f, axis, slice(2, None)) - part(f, axis, slice(None, -2))) / (h + k)
    if edge_order == 2:
        bends = (right - left) / (h + k)
        first = first - part(bends, axis, slice(0, 1)) * steps[:1]
        last = last + part(bends, axis, slice(-1, None)) * steps[-1:]
    return concatenate_([first, inside, last], axis)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    p = operand(p)
    axis = axis_index("unwrap", axis, rank_of(p))
    steps = diff(p, axis=axis)
    dtype = np.result_type(dtype_of(steps), period)
    is_integer = not is_inexact(dtype)
    half = period // 2 if is_integer else period / 2
    low = -half
    wrapped = remainder(steps - low, period) + low
    if not (is_integer and period % 2):  # both ends are equally near: the sign of the step decides
        wrapped = where(logical_and(equal(wrapped, low), greater(steps, 0)), half, wrapped)
    near = less(size_to_compare(steps), period / 2 if discont is None else discont)
    added = cumsum(where(near, 0, wrapped - steps), axis)
    first, later = part(p, axis, slice(0, 1)), part(p, axis, slice(1, None))
    return lay_like(concatenate_([strong(first, dtype), strong(later + added, dtype)], axis), p)
