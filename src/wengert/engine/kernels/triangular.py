"""Equations with triangular matrices, and the two linear equations behind the derivatives of ``A = L L^T``.

SciPy's BLAS solves those of many rows. NumPy solves general equations only; without SciPy, and for few rows,
substitution in blocks solves triangular ones. The equations of ``A = L L^T``:

* forward: ``T L^T + L T^T = S`` for the lower triangular T, where S is symmetric;
* reverse: ``(B + B^T) L = G`` on and below the diagonal, for the lower triangular B.

Each is the transpose of the other: ``<G, T> = <B, S>``. Solving them a few columns at a time, like the factorisation
itself, would halve the work, but its errors grow with the condition of A; these grow with that of L.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.kernels.lapack import routine

Array: TypeAlias = np.ndarray[Any, Any]

_MOST_ROWS, _MOST_MATRICES = 32, 128
"""The size of blocks that are not divided; for many small matrices LAPACK is slower than NumPy's loops."""
_SYMMETRIC_ROWS = 96
"""Rows from which half of a symmetric solution takes less time than all of it."""


class Triangular:
    """Stacked triangular matrices t, divided recursively into small blocks, with the inverses of the blocks.

    Args:
        t: the matrices; the other triangle is not read.
        lower: whether t is lower triangular: substitution goes from the first unknown to the last, else backwards.

    Example:
        >>> x = np.array([[2.0], [9.0]])
        >>> Triangular(np.array([[2.0, 7.0], [1.0, 4.0]]), lower=True).solve(x)
        >>> x
        array([[1.],
               [2.]])
    """

    def __init__(self, t: Array, lower: bool) -> None:
        self.t = t
        self.lower = lower
        self.rows = rows = t.shape[-1]
        self.trsm = routine("trsm", t.dtype.char) if rows > _MOST_ROWS else None
        self.whole = rows == 1 or (rows <= _MOST_ROWS and t.size <= rows * rows * _MOST_MATRICES)
        if self.whole:
            self.block = np.tril(t) if lower else np.triu(t)
            self.inverse = None if rows == 1 else np.linalg.inv(self.block)
            return
        first, last = slice(0, rows // 2), slice(rows // 2, rows)
        self.early, self.late = (first, last) if lower else (last, first)
        self.block = t[..., self.late, self.early]

    @functools.cached_property
    def parts(self) -> tuple[Triangular, Triangular]:
        """The matrices on the diagonal: that of the unknowns that are found early, and that of the late ones."""
        early, late = (Triangular(self.t[..., half, half], self.lower) for half in (self.early, self.late))
        return early, late

    def solve(self, x: Array) -> None:
        """Replace x by the solution y of ``t y = x``: first half of the unknowns, then the other half."""
        if self.whole:
            self._solve_whole(x)
        elif self.trsm is not None:
            self._solve_by_blas(x)
        else:
            early, late = self.parts
            early.solve(x[..., self.early, :])
            x[..., self.late, :] -= self.block @ x[..., self.early, :]
            late.solve(x[..., self.late, :])

    def solve_symmetric(self, x: Array) -> None:
        """Replace one triangle of x, the one opposite to that of t, by that of a symmetric solution y of ``t y = x``.

        The other triangle of x is undefined afterwards. This is half the work of `solve`.
        """
        if self.whole or (self.trsm is not None and self.rows < _SYMMETRIC_ROWS):
            self.solve(x)
            return
        early, late = self.parts
        early.solve_symmetric(x[..., self.early, self.early])
        early.solve(x[..., self.early, self.late])
        x[..., self.late, self.late] -= self.block @ x[..., self.early, self.late]
        late.solve_symmetric(x[..., self.late, self.late])

    def _solve_by_blas(self, x: Array) -> None:
        """Solve one matrix after the other; BLAS stores arrays by columns, so rows are read as ``y^T t^T = x^T``."""
        assert self.trsm is not None
        t = np.broadcast_to(self.t, (*x.shape[:-2], *self.t.shape[-2:]))
        for position in np.ndindex(x.shape[:-2]):
            right = x[position]
            by_columns = right.flags.f_contiguous
            target = right if by_columns else right.T
            matrix, lower = (t[position], self.lower)
            if not matrix.flags.f_contiguous:
                matrix, lower = matrix.T, not lower
            transposed = by_columns == (lower != self.lower)
            solution = self.trsm(
                1.0, matrix, target, side=not by_columns, lower=lower, trans_a=transposed, overwrite_b=True
            )
            if solution is not target:
                right[...] = solution if by_columns else solution.T

    def _solve_whole(self, x: Array) -> None:
        """Solve by the inverse, and refine once: as accurate as substitution."""
        if self.inverse is None:
            x /= self.block
            return
        solution = self.inverse @ x
        x[...] = solution + self.inverse @ (x - self.block @ solution)


# -- the derivatives of A = L L^T ------------------------------------------------------------------------

_ROWS = 128
"""Rows of a product of triangular matrices that are computed together, up to their last nonzero column."""


def tangent(factor: Array, right: Array) -> Array:
    """Return the lower triangular T with ``T L^T + L T^T = S``: ``L low(L^-1 S L^-T)``, low halving the diagonal.

    Example:
        >>> tangent(np.eye(2), np.array([[2.0, 0.0], [3.0, 4.0]]))
        array([[1., 0.],
               [3., 2.]])
    """
    x = _symmetric(_low(_stacked(factor, right)))
    equations = Triangular(factor, lower=True)
    equations.solve(x)
    equations.solve_symmetric(_transposed(x))
    x = _low(x)
    t = np.zeros_like(x)
    for start, stop in _rows(x):
        rows = np.tril(factor[..., start:stop, :stop], start)
        t[..., start:stop, :stop] = rows @ x[..., :stop, :stop]
    return t


def cotangent(factor: Array, right: Array) -> Array:
    """Return the lower triangular B with ``(B + B^T) L = G``: ``low(L^-T (W + W^T) L^-1)`` for ``W = low(L^T G)``.

    Example:
        >>> cotangent(np.eye(2), np.array([[2.0, 0.0], [3.0, 4.0]]))
        array([[1., 0.],
               [3., 2.]])
    """
    upper, g = _transposed(factor), np.tril(_stacked(factor, right))
    w = np.zeros_like(g)
    for start, stop in _rows(g):
        rows = np.triu(upper[..., start:stop, start:])
        w[..., start:stop, :stop] = rows @ g[..., start:, :stop]
    x = _symmetric(_low(w))
    equations = Triangular(upper, lower=False)
    equations.solve(x)
    equations.solve_symmetric(_transposed(x))
    return _low(_transposed(x))


def _stacked(factor: Array, right: Array) -> Array:
    return np.broadcast_to(right, np.broadcast_shapes(factor.shape, right.shape))


def _rows(x: Array) -> Iterator[tuple[int, int]]:
    rows = x.shape[-1]
    return ((start, min(start + _ROWS, rows)) for start in range(0, rows, _ROWS))


def _low(x: Array) -> Array:
    """Return the lower triangle with half the diagonal; with its transpose it adds up to a symmetric x."""
    low = np.tril(x)
    np.einsum("...ii->...i", low)[...] /= 2
    return low


def _symmetric(x: Array) -> Array:
    return x + _transposed(x)


def _transposed(x: Array) -> Any:
    return x.swapaxes(-1, -2)
