"""Mass matrices: equations ``M y' = f(t, y)`` in the form in which rows of zeros are the algebraic equations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import constant
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.integrate.arguments import array_of

_EPSILON = float(np.finfo(np.float64).eps)


class Mass(NamedTuple):
    """The matrix of ``M y' = f(t, y)``, whose rows are independent of each other or zero."""

    matrix: Any
    """``left @ M``: its rows that are zero belong to algebraic equations."""
    left: Any
    """The regular matrix that combines the equations; None where they are as the user gives them."""

    @property
    def is_algebraic(self) -> Any:
        """Which equations have no derivative."""
        return ~np.any(self.matrix, axis=1)

    def combined(self, slope: Any) -> Any:
        """Return the right-hand sides of the combined equations."""
        return slope if self.left is None else self.left @ slope


def mass_of(operation: str, mass: Any, y: Any) -> Mass:
    """Return the mass matrix of a state of shape (n,): a matrix, or its diagonal.

    Where some rows that are not zero depend on others, the left singular vectors combine the equations so that the rest
    are zero: these are the algebraic equations.
    """
    count = shape_of(y)[0]
    given = constant(array_of(operation, "mass", mass.toarray() if hasattr(mass, "toarray") else mass))
    if given is None:
        requirement = "mass must be constant: it has no derivative, and a compiled function must know it"
        hint = "make it a NumPy array outside of the transform, and divide the equations by what varies"
        raise UnsupportedError(message(operation, requirement, hint=hint))
    matrix = np.asarray(given)
    if matrix.shape == (count,):
        matrix = np.diag(matrix)
    if matrix.shape != (count, count):
        requirement = f"mass must have the shape ({count}, {count}), or ({count},) for a diagonal"
        raise ShapeError(message(operation, requirement, show(matrix)))
    if matrix.dtype.kind == "c" and dtype_of(y).kind != "c":
        raise DtypeError(message(operation, "mass must be real where y0 is", show(matrix)))
    if not np.all(np.isfinite(matrix)):
        raise ArgumentError(message(operation, "mass must be finite"))
    matrix = matrix.astype(dtype_of(y))
    kept = np.flatnonzero(np.any(matrix, axis=1))
    if not len(kept) or _rank(matrix[kept]) == len(kept):
        return Mass(matrix, None)
    vectors, values, right = np.linalg.svd(_scaled(matrix))
    rank = _rank(matrix)
    # The rows of the combined matrix are orthonormal, times a norm of the row that the scales have divided by.
    left = np.conj(vectors).T / _norms(matrix)
    left[:rank] /= values[:rank, None]
    combined = np.zeros_like(matrix)
    combined[:rank] = right[:rank]
    return Mass(combined, left)


def _norms(matrix: Any) -> Any:
    """Return the norm of each row, 1 for rows of zeros."""
    norms = np.linalg.norm(matrix, axis=1)
    return np.where(norms == 0, 1.0, norms)


def _scaled(matrix: Any) -> Any:
    """Return the matrix with rows of norm 1: the unit of an equation does not matter."""
    return matrix / _norms(matrix)[:, None]


def _rank(matrix: Any) -> int:
    """Return the number of independent rows, whatever the units of rows and columns."""
    scaled = _scaled(_scaled(_scaled(matrix).T).T)
    return int(np.linalg.matrix_rank(scaled, tol=_EPSILON * 16 * max(*scaled.shape, 1)))
