"""Equations with triangular matrices, by substitution in blocks: NumPy itself solves general ones alone."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

_ROWS, _MATRICES = 32, 128
"""Of a stack that is divided no further; LAPACK takes longer than NumPy's loops for each of many small matrices."""


class Triangular:
    """Stacked triangular matrices t, divided into halves down to small blocks, and the inverses of these.

    Args:
        t: the matrices; the other triangle is not read.
        lower: which triangle: the unknowns are found first to last for the lower one, last to first for the upper.

    Example:
        >>> x = np.array([[2.0], [9.0]])
        >>> Triangular(np.array([[2.0, 7.0], [1.0, 4.0]]), lower=True).solve(x)
        >>> x
        array([[1.],
               [2.]])
    """

    def __init__(self, t: Array, lower: bool) -> None:
        rows = t.shape[-1]
        self.whole = rows == 1 or (rows <= _ROWS and t.size <= rows * rows * _MATRICES)
        if self.whole:
            self.block = np.tril(t) if lower else np.triu(t)
            self.inverse = None if rows == 1 else np.linalg.inv(self.block)
            return
        first, last = slice(0, rows // 2), slice(rows // 2, rows)
        self.early, self.late = (first, last) if lower else (last, first)
        self.block = t[..., self.late, self.early]
        self.parts = [Triangular(t[..., one, one], lower) for one in (self.early, self.late)]

    def solve(self, x: Array) -> None:
        """Put the solution y of ``t y = x`` in the place of x: half of the unknowns, and by these the other half."""
        if self.whole:
            self._solve_whole(x)
            return
        one, other = self.parts
        one.solve(x[..., self.early, :])
        x[..., self.late, :] -= self.block @ x[..., self.early, :]
        other.solve(x[..., self.late, :])

    def solve_symmetric(self, x: Array) -> None:
        """Put one triangle of a symmetric solution y of ``t y = x`` in the place of x: the one that t has not.

        What then stands in the other triangle means nothing. It is half the work.
        """
        if self.whole:
            self._solve_whole(x)
            return
        one, other = self.parts
        one.solve_symmetric(x[..., self.early, self.early])
        one.solve(x[..., self.early, self.late])
        x[..., self.late, self.late] -= self.block @ x[..., self.early, self.late]
        other.solve_symmetric(x[..., self.late, self.late])

    def _solve_whole(self, x: Array) -> None:
        """Solve by the inverse, and add what the equations still lack: as exact as by substitution."""
        if self.inverse is None:
            x /= self.block
            return
        found = self.inverse @ x
        x[...] = found + self.inverse @ (x - self.block @ found)
