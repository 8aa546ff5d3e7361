"""Diagonals of two axes: views that are read-only where NumPy's are, and may be written where `einsum` gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array.array import view_of
from wengert.core.shapes import shape_of
from wengert.numpy.registry import implements, rank_of
from wengert.numpy.shaping import listed, read_only_view
from wengert.ops.shape import Index, inverse_permutation, place, reshape, slice_, transpose


def _line_of_matrices(a: Any, offset: int, axis1: int, axis2: int) -> tuple[Any, Index]:
    """Return an array with two axes as one last axis, and the part of it that is a diagonal of theirs.

    In row-major order the elements of a diagonal are ``columns + 1`` apart.
    """
    moved = transpose(a, permutation=_last(rank_of(a), axis1, axis2))
    *outer, rows, columns = shape_of(moved)
    start = offset if offset >= 0 else -offset * columns
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    index = (*((0, extent, 1) for extent in outer), (start if count else 0, count, columns + 1))
    return reshape(moved, shape=(*outer, rows * columns)), index


def _last(rank: int, *axes: int) -> tuple[int, ...]:
    """Return the permutation that puts axes last."""
    return (*(axis for axis in range(rank) if axis not in axes), *axes)


def _diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    """Take a diagonal."""
    line, index = _line_of_matrices(a, offset, axis1, axis2)
    return slice_(line, index=index)


def _with_diagonal(a: Any, value: Any, offset: int, axis1: int, axis2: int) -> Any:
    """Return an array as it is with another diagonal."""
    line, index = _line_of_matrices(a, offset, axis1, axis2)
    order = _last(rank_of(a), axis1, axis2)
    moved = reshape(place(line, value, index=index), shape=tuple(shape_of(a)[axis] for axis in order))
    return transpose(moved, permutation=inverse_permutation(order))


def diagonal_view(a: Any, axis1: int, axis2: int) -> Any:
    """Return the diagonal of two axes, as a last axis: a view that may be written to."""
    return view_of(
        a,
        _diagonal(a, 0, axis1, axis2),
        lambda base: _diagonal(base, 0, axis1, axis2),
        lambda base, value: _with_diagonal(base, value, 0, axis1, axis2),
        layout=lambda memory: np.diagonal(memory, 0, axis1, axis2),
    )


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return a diagonal of two axes, as `np.diagonal`; the result is read-only."""
    axis1, axis2 = listed("diagonal", (axis1, axis2), rank_of(a))
    return read_only_view(
        a,
        _diagonal(a, offset, axis1, axis2),
        lambda base: _diagonal(base, offset, axis1, axis2),
        lambda memory: np.diagonal(memory, offset, axis1, axis2),
    )


@implements(np.linalg.diagonal)
def diagonal_of_matrices(x: Any, /, *, offset: int = 0) -> Any:
    """Return a diagonal of the last two axes, as `np.linalg.diagonal`."""
    return diagonal(x, offset, -2, -1)
