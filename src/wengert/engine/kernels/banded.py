"""Equations with banded matrices, by LAPACK through SciPy, which loads when the first of them is solved."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.engine.kernels.schur import scipy_linalg

Array: TypeAlias = np.ndarray[Any, Any]


def solve(bands: Array, b: Array, lower: int, upper: int) -> Array:
    """Return x with ``A x = b`` for stacked banded matrices A, by elimination with partial pivoting.

    Triangular matrices, with diagonals on one side alone, are solved by substitution.

    Args:
        bands: ``bands[..., upper + i - j, j]`` is ``A[..., i, j]``.
        b: right-hand sides in columns; the leading axes broadcast.
        lower: the number of diagonals below the main one.
        upper: the number of diagonals above the main one.

    Example:
        >>> solve(np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([[3.0], [4.0]]), 0, 1)
        array([[1.],
               [1.]])
    """
    lead = np.broadcast_shapes(bands.shape[:-2], b.shape[:-2])
    dtype = np.result_type(bands, b)
    result = np.empty((*lead, *b.shape[-2:]), dtype)
    if not result.size:
        return result
    is_triangular = not (lower and upper)
    program = scipy_linalg("solve_banded").get_lapack_funcs("tbtrs" if is_triangular else "gbsv", dtype=dtype)
    bands, b = np.broadcast_to(bands, (*lead, *bands.shape[-2:])), np.broadcast_to(b, result.shape)
    if is_triangular:
        for position in np.ndindex(lead):
            result[position], failed = program(bands[position], b[position], uplo="L" if lower else "U")
            _check(failed)
        return result
    work = np.zeros((lower + bands.shape[-2], bands.shape[-1]), dtype)
    for position in np.ndindex(lead):
        work[lower:] = bands[position]
        *_, result[position], failed = program(lower, upper, work, b[position])
        _check(failed)
    return result


def _check(failed: int) -> None:
    if failed:
        raise np.linalg.LinAlgError(f"singular matrix: diagonal {failed - 1} of the factor U is 0")


def indefinite_minor(bands: Array, lower: bool) -> int:
    """Return the order of the first leading minor that is not positive definite, of stacked Hermitian matrices, or 0.

    Example:
        >>> indefinite_minor(np.array([[4.0, 1.0], [2.0, 0.0]]), lower=True)
        2
    """
    program = scipy_linalg("cholesky_banded").get_lapack_funcs("pbtrf", (bands,))
    for position in np.ndindex(bands.shape[:-2] if bands.size else (0,)):
        _, failed = program(bands[position], lower=lower)
        if failed:
            return failed
    return 0
