"""Norms of vectors and matrices; their derivative at 0 is 0, the subgradient of least norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import axis_index, shape_of
from wengert.ir.types import show
from wengert.numpy.reducing import reduce_over
from wengert.numpy.registry import floating, implements, integers, is_box, rank_of
from wengert.ops.arithmetic import absolute
from wengert.ops.comparison import equal, not_equal, where
from wengert.ops.conversion import cast
from wengert.ops.decompositions import svdvals
from wengert.ops.exponential import power, sqrt
from wengert.ops.reduction import reduce_max, reduce_min, reduce_sum
from wengert.ops.shape import reshape, transpose
from wengert.primitive import Primitive


def root(x: Any) -> Any:
    """Return the square root, whose derivative at 0 is taken as 0."""
    zero = equal(x, 0)
    if not is_box(zero) and not np.any(zero):
        return sqrt(x)
    return where(zero, dtype_of(x).type(0), sqrt(where(zero, dtype_of(x).type(1), x)))


def _over(primitive: Primitive, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return reduce_over(primitive, "norm", x, None, keepdims, axes)


def _vector(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return ``(sum |x|^p)^(1/p)`` and its limits."""
    if ord is None or ord == 2:
        return root(_over(reduce_sum, x * x, axes, keepdims))
    magnitude = absolute(x)
    if ord == np.inf:
        return _over(reduce_max, magnitude, axes, keepdims)
    if ord == -np.inf:
        return _over(reduce_min, magnitude, axes, keepdims)
    if ord == 0:
        return _over(reduce_sum, cast(not_equal(x, 0), dtype=dtype_of(x)), axes, keepdims)
    if ord == 1:
        return _over(reduce_sum, magnitude, axes, keepdims)
    if isinstance(ord, str):
        raise ArgumentError(message("norm", "a vector's order must be a number", repr(ord)))
    total = _over(reduce_sum, power(magnitude, float(ord)), axes, keepdims)
    idle = equal(total, 0)
    return where(idle, dtype_of(x).type(0), power(where(idle, dtype_of(x).type(1), total), 1 / float(ord)))


def _matrix(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    rows, columns = axes
    if ord is None or ord == "fro":
        return _vector(x, None, tuple(sorted(axes)), keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, taken = (rows, columns) if abs(ord) == 1 else (columns, rows)
        lines = _over(reduce_sum, absolute(x), (summed,), True)
        lines = _over(reduce_max if ord > 0 else reduce_min, lines, (taken,), True)
        shape = shape_of(x)
        return (
            lines
            if keepdims
            else reshape(lines, shape=tuple(e for a, e in enumerate(shape) if a not in axes))
        )
    if ord not in (2, -2, "nuc"):
        requirement = "matrix norms have the orders None, 'fro', 'nuc', 1, -1, 2, -2, inf and -inf"
        raise ArgumentError(message("norm", requirement, repr(ord)))
    others = [axis for axis in range(len(shape_of(x))) if axis not in axes]
    values = svdvals(transpose(x, permutation=(*others, rows, columns)))
    over = reduce_sum if ord == "nuc" else reduce_max if ord == 2 else reduce_min
    result = _over(over, values, (len(others),), False)
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape_of(x)))
    return reshape(result, shape=kept) if keepdims else result


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the norm of vectors or matrices, as `np.linalg.norm`.

    The derivative is 0 where the norm is 0.
    """
    x = floating(operand(x))
    rank = rank_of(x)
    if axis is None:
        if ord is None:
            return _vector(x, None, tuple(range(rank)), keepdims)
        if rank not in (1, 2):
            raise ShapeError(message("norm", "an order needs an array of one or two axes, or axis=", show(x)))
        axes = tuple(range(rank))
    else:
        axes = tuple(axis_index("norm", one, rank) for one in integers(axis))
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(message("norm", "one axis or two different ones are required", repr(axis)))
    return _matrix(x, ord, (axes[0], axes[1]), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return the norm over axes as of one long vector, as `np.linalg.vector_norm`."""
    x = floating(operand(x))
    rank = rank_of(x)
    named = range(rank) if axis is None else integers(axis)
    return _vector(x, ord, tuple(sorted(axis_index("vector_norm", one, rank) for one in named)), keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of matrices, the last two axes, as `np.linalg.matrix_norm`."""
    return norm(x, ord, (-2, -1), keepdims)
