"""Constant arrays that an expression says: one number, an affine function of the indices, a diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.nest.expression import Const
from wengert.engine.nest.index import Index
from wengert.engine.nest.lowering import Diagonal, Grid, Source


def recognise_constant(value: Any) -> Source | None:
    """Return how an expression says a constant array, or None.

    Example:
        >>> recognise_constant(np.arange(6).reshape(2, 3)).strides
        (3, 1)
    """
    first = value.reshape(-1)[0]
    if value.tobytes() == first.tobytes() * value.size:
        return Const(first, value.dtype)
    return (_grid(value) if value.dtype.kind in "iu" else None) or _diagonal(value)


def _diagonal(value: Any) -> Diagonal | None:
    """Return an array as a number along a diagonal of two axes, if it is one."""
    axes = [axis for axis, extent in enumerate(value.shape) if extent > 1]
    if len(axes) != 2 or value.dtype.kind == "b":
        return None
    matrix = value.reshape(value.shape[axes[0]], value.shape[axes[1]])
    rows, columns = np.nonzero(matrix)
    if not len(rows):
        return None
    offset, first, count = int(columns[0] - rows[0]), int(rows[0]), len(rows)
    number = matrix[rows[0], columns[0]]
    expected = np.zeros_like(matrix)
    steps = np.arange(count)
    if first + count > matrix.shape[0] or first + count + offset > matrix.shape[1]:
        return None
    expected[first + steps, first + steps + offset] = number
    if expected.tobytes() != matrix.tobytes():
        return None
    return Diagonal(axes[0], axes[1], offset, first, count, Const(number, value.dtype))


def _grid(value: Any) -> Grid | None:
    """Return an integer array as an affine function of its indices, if it is one."""
    offset = int(value.reshape(-1)[0])
    strides: list[int] = []
    for axis, extent in enumerate(value.shape):
        first = [0] * value.ndim
        first[axis] = 1
        strides.append(int(value[tuple(first)]) - offset if extent > 1 else 0)
    total: Any = offset
    for axis, stride in enumerate(strides):
        total = total + stride * np.arange(
            value.shape[axis], dtype=object if value.dtype.itemsize == 8 else None
        ).reshape([-1 if number == axis else 1 for number in range(value.ndim)])
    return Grid(Index(offset), tuple(strides), value.dtype) if np.array_equal(total, value) else None
