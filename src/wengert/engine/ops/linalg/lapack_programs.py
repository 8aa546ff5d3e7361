"""Factorisations and equations by the routines of LAPACK, as programs in the place of those of `blocked`.

As in NumPy, those of real matrices run in float64, also for float32. LAPACK stores arrays by columns: where it gets a
matrix as it lies, it factorises the transpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import FLOAT64, INT64, dtype_of, is_complex
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import equal, not_equal
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.linalg.banded_nests import banded_substitution
from wengert.engine.ops.linalg.blocked import (
    Blocks,
    diagonal,
    half_of_diagonal,
    stacked,
    unless,
)
from wengert.engine.ops.linalg.decompositions import as_numbers, as_row
from wengert.engine.ops.linalg.lu import section
from wengert.engine.ops.linalg.routines import (
    lapack_banded_lu,
    lapack_banded_solution,
    lapack_cholesky,
    lapack_eigh,
    lapack_lu,
    lapack_lu_inverse,
    lapack_lu_solution,
    lapack_orthogonal,
    lapack_reflections,
    lapack_svd,
    lapack_triangular,
)
from wengert.engine.ops.linalg.square import lower as lower_triangle
from wengert.engine.ops.linalg.square import multiply, swapped
from wengert.engine.ops.reduction import reduce_sum
from wengert.engine.ops.shape import concatenate, reshape


class Routines(Blocks):
    """The programs by LAPACK's routines, whatever the size of the matrices."""

    def __init__(self) -> None:
        super().__init__(0, 0, 0)

    # -- Cholesky factor and triangular equations --------------------------------------------------------

    def cholesky(self, a: Any) -> Any:
        """Return the lower triangular L with ``L L^T = A``."""
        factor, failed = lapack_cholesky(_wide(a))
        failed = reshape(not_equal(failed, 0), shape=(*shape_of(failed), 1))
        factor = cast(lower_triangle(factor), dtype=dtype_of(a))
        return unless(factor, failed, "Matrix is not positive definite", "cholesky", a)

    def cholesky_tangent(self, factor: Any, right: Any) -> Any:
        """Return the lower triangular T with ``T L^T + L T^T = S``: ``L low(L^-1 S L^-T)``."""

        def program(factor: Any, right: Any) -> Any:
            low = half_of_diagonal(right)
            inner = self._substituted(factor, low + swapped(low), True, False)
            inner = self._substituted(factor, swapped(inner), True, False)
            return multiply(lower_triangle(factor), half_of_diagonal(inner))

        return stacked(program, factor, right)

    def cholesky_cotangent(self, factor: Any, right: Any) -> Any:
        """Return the lower triangular B with ``(B + B^T) L = G``: ``low(L^-T (W + W^T) L^-1)``, ``W = low(L^T G)``."""

        def program(factor: Any, right: Any) -> Any:
            low = half_of_diagonal(multiply(swapped(lower_triangle(factor)), lower_triangle(right)))
            inner = self._substituted(factor, low + swapped(low), True, False, transposed=True)
            inner = self._substituted(factor, swapped(inner), True, False, transposed=True)
            return half_of_diagonal(inner)

        return stacked(program, factor, right)

    def _substituted(self, t: Any, b: Any, lower: bool, unit: bool, transposed: bool = False) -> Any:
        return lapack_triangular(t, b, lower=lower, unit=unit, transposed=transposed)

    # -- LU factors --------------------------------------------------------------------------------------

    def lu(self, a: Any) -> tuple[Any, ...]:
        """Return the factors of ``P A^T = L U`` in one matrix, transposed, and the exchanges of rows."""
        return lapack_lu(_wide(a))

    def solution(self, factors: Any, a: Any, b: Any, *, transposed: bool, operation: str = "solve") -> Any:
        """Return x with ``A x = b``, or with ``A^T x = b``, from the LU factors of A."""
        x = swapped(lapack_lu_solution(*factors, swapped(_wide(b)), transposed=transposed))
        x = cast(x, dtype=np.result_type(dtype_of(a), dtype_of(b)))
        return unless(x, equal(diagonal(factors[0]), 0.0), "Singular matrix", operation, a, b)

    def inverse(self, factors: Any, a: Any) -> Any:
        """Return the inverse of A from its LU factors."""
        x = cast(lapack_lu_inverse(*factors), dtype=dtype_of(a))
        return unless(x, equal(diagonal(factors[0]), 0.0), "Singular matrix", "inverse", a)

    def _pivots(self, factors: Any) -> Any:
        return diagonal(factors[0])

    def _exchanges(self, factors: Any) -> Any:
        exchanges = factors[1]
        count = shape_of(exchanges)[-1]
        is_one = not_equal(exchanges, np.arange(1, count + 1, dtype=np.int32))
        return reduce_sum(cast(is_one, dtype=INT64), axes=(len(shape_of(exchanges)) - 1,))

    # -- reflections -------------------------------------------------------------------------------------

    def _qr(self, a: Any) -> Any:
        columns = shape_of(a)[-1]
        packed, factors = lapack_reflections(swapped(a))
        square = section(packed, (0, columns), (0, columns))
        q = swapped(lapack_orthogonal(packed, factors))
        return concatenate(q, swapped(lower_triangle(square)), axis=len(shape_of(a)) - 2)

    # -- eigenvalues and singular values -----------------------------------------------------------------

    def eigh(self, a: Any, half: str) -> Any:
        """Return the eigenvalues, ascending, as a row above the eigenvectors, which are columns."""
        packed, values, failed = lapack_eigh(swapped(_wide(a)), half=half, vectors=True)
        both = concatenate(as_row(values), swapped(packed), axis=len(shape_of(a)) - 2)
        return self._converged(both, failed, "Eigenvalues", "eigh", a)

    def eigvalsh(self, a: Any, half: str) -> Any:
        """Return the eigenvalues, ascending."""
        _, values, failed = lapack_eigh(swapped(_wide(a)), half=half, vectors=False)
        return as_numbers(self._converged(as_row(values), failed, "Eigenvalues", "eigvalsh", a))

    def svd(self, a: Any) -> Any:
        """Return U, the singular values as a row, descending, and V above one another."""
        _, values, u, v, failed = lapack_svd(swapped(_wide(a)), vectors=True)
        factors = concatenate(swapped(u), as_row(values), v, axis=len(shape_of(a)) - 2)
        return self._converged(factors, failed, "SVD", "svd", a)

    def svdvals(self, a: Any) -> Any:
        """Return the singular values, descending."""
        _, values, _, _, failed = lapack_svd(swapped(_wide(a)), vectors=False)
        return as_numbers(self._converged(as_row(values), failed, "SVD", "svdvals", a))

    def _converged(self, result: Any, failed: Any, what: str, operation: str, a: Any) -> Any:
        failed = reshape(not_equal(failed, 0), shape=(*shape_of(failed), 1))
        return unless(cast(result, dtype=dtype_of(a)), failed, f"{what} did not converge", operation, a)


class BandedRoutines:
    """The programs for banded matrices, in the dtype of the operands.

    Args:
        in_registers: whether nests solve the equations, with a window of the unknowns in registers.
    """

    def __init__(self, lower: int, upper: int, *, in_registers: bool) -> None:
        self.lower = lower
        self.upper = upper
        self.solve = banded_substitution if in_registers else lapack_banded_solution

    def lu(self, bands: Any) -> tuple[Any, ...]:
        """Return the factors of ``P A = L U``, a column of LAPACK's array in each row, and the exchanges of rows."""
        columns = swapped(bands)
        shape = (*shape_of(columns)[:-1], self.lower)
        zeros = np.zeros(shape, dtype_of(bands))
        wide = concatenate(zeros, columns, axis=len(shape) - 1)
        return lapack_banded_lu(wide, lower=self.lower, upper=self.upper)

    def solution(self, factors: Any, bands: Any, b: Any) -> Any:
        """Return x with ``A x = b`` from the factors of A; an error tells of the bands."""
        packed, exchanges = factors
        x = swapped(self.solve(packed, exchanges, swapped(b), lower=self.lower, upper=self.upper))
        *lead, count, _ = shape_of(packed)
        place = self.lower + self.upper
        pivots = reshape(section(packed, (0, count), (place, place + 1)), shape=(*lead, count))
        return unless(x, equal(pivots, 0.0), "Singular matrix", "solve_banded", bands, b)


def _wide(a: Any) -> Any:
    return a if dtype_of(a) == FLOAT64 or is_complex(dtype_of(a)) else cast(a, dtype=FLOAT64)
