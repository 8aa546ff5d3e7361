"""Equations with banded matrices, under SciPy's names; LAPACK solves them, through SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.control import scan
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import MatrixError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.kernels.banded import indefinite_minor
from wengert.engine.ops.comparison import where
from wengert.engine.ops.complex import conjugate, real
from wengert.engine.ops.linalg import banded as ops
from wengert.numpy.registry import rank_of
from wengert.scipy.linalg.equations import as_columns, as_given, checked
from wengert.scipy.registry import number, signatures

_equations = signatures(
    "scipy.linalg",
    """
        solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True)
        solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True)
    """,
)


def _conjugate(x: Any) -> Any:
    return conjugate(x) if is_complex(dtype_of(x)) else x


def _checked_pair(operation: str, check_finite: bool, ab: Any, b: Any, rows: int | None) -> tuple[Any, Any]:
    """Return diagonals and right-hand sides in floating point."""
    ab, b = checked(operation, check_finite, ab, b)
    fits = rank_of(ab) >= 2 and rank_of(b) >= 1
    fits = fits and (rows is None or shape_of(ab)[-2] == rows)
    if not fits or shape_of(b)[-1 if rank_of(b) == 1 else -2] != shape_of(ab)[-1]:
        required = "diagonals" if rows is None else f"{rows} diagonals"
        requirement = f"{required}, and a right-hand side with a row for each equation, are required"
        raise ShapeError(message(operation, requirement, show(ab, b)))
    return ab, b


def _solved(ab: Any, b: Any, lower: int, upper: int) -> Any:
    columns, is_vector = as_columns(b)
    return as_given(ops.solve_banded(ab, columns, lower=lower, upper=upper), is_vector)


@_equations
def solve_banded(l_and_u: Any, ab: Any, b: Any, check_finite: Any, **unused: Any) -> Any:
    """Return x with ``a x = b`` for banded a; the diagonals have derivatives, in time linear in their length.

    Raises:
        MatrixError: the matrix is singular.
        ShapeError: the shapes do not fit.

    Example:
        >>> solve_banded((0, 1), np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([3.0, 4.0]))
        array([1., 1.])
    """
    lower, upper = (int(number("solve_banded", "the number of diagonals", n)) for n in l_and_u)
    ab, b = _checked_pair("solve_banded", check_finite, ab, b, lower + upper + 1)
    return _solved(ab, b, lower, upper)


def _hermitian(ab: Any, lower: bool) -> Any:
    """Return all diagonals of a Hermitian matrix, given by those on one side."""
    count = shape_of(ab)[-2] - 1
    if is_complex(dtype_of(ab)):  # the main diagonal is real
        is_main = np.arange(count + 1)[:, None] == (0 if lower else count)
        ab = where(is_main, real(ab) + 0j, ab)
    below = (count, 0) if lower else (0, count)
    mirrored = _conjugate(ops.transposed_bands(ab, *below))
    parts = [mirrored[..., :count, :], ab] if lower else [ab, mirrored[..., 1:, :]]
    return np.concatenate(parts, -2)


def _check_positive(operation: str, ab: Any, lower: bool) -> None:
    """Raise where a known matrix is not positive definite; LAPACK factors it."""
    elements = concrete(ab)
    failed = 0 if elements is None else indefinite_minor(elements, lower)
    if failed:
        requirement = f"the leading minor of order {failed} is not positive definite"
        raise MatrixError(message(operation, requirement, show(ab)))


@_equations
def solveh_banded(ab: Any, b: Any, lower: Any, check_finite: Any, **unused: Any) -> Any:
    """Return x with ``a x = b`` for Hermitian positive definite banded a; its diagonals have derivatives.

    Raises:
        MatrixError: the matrix is singular, or its elements are known and it is not positive definite.
        ShapeError: the shapes do not fit.

    Example:
        >>> solveh_banded(np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([3.0, 3.0])).round(6)
        array([1., 1.])
    """
    ab, b = _checked_pair("solveh_banded", check_finite, ab, b, None)
    _check_positive("solveh_banded", ab, lower)
    count = shape_of(ab)[-2] - 1
    return _solved(_hermitian(ab, lower), b, count, count)


@substitutes("scipy.linalg.cholesky_banded")
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """Return the banded Cholesky factor, one column after the other; it is a scan, with derivatives.

    Raises:
        MatrixError: the elements are known, and the matrix is not positive definite.
        ShapeError: there are no diagonals.

    Example:
        >>> cholesky_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), lower=True)
        array([[2., 2.],
               [1., 0.]])
    """
    operation = "cholesky_banded"
    (ab,) = checked(operation, check_finite, ab)
    if rank_of(ab) != 2 or not shape_of(ab)[0]:
        raise ShapeError(message(operation, "a matrix of diagonals is required", show(ab)))
    _check_positive(operation, ab, lower)
    count = shape_of(ab)[0] - 1
    below = ab if lower else _conjugate(ops.transposed_bands(ab, 0, count))
    before, row = np.arange(1, count + 1)[:, None], np.arange(count + 1)
    # Element (j + i, j - m) of the factor is in its column j - m at m + i.
    place = before + row
    is_inside, place = place <= count, np.minimum(place, count)

    def step(window: Any, column: Any) -> tuple[Any, Any]:
        earlier = np.take_along_axis(window, place, 1) * is_inside
        residual = column - np.sum(earlier * _conjugate(earlier[:, :1]), 0)
        root = np.sqrt(real(residual[:1]) if is_complex(dtype_of(residual)) else residual[:1])
        pivoted = residual / root
        return np.concatenate([pivoted[None], window])[:count], pivoted

    _, columns = scan(step, np.zeros((count, count + 1), dtype_of(below)), np.swapaxes(below, 0, 1))
    factor = np.swapaxes(columns, 0, 1)
    corner = np.add.outer(np.arange(count + 1), np.arange(shape_of(ab)[1])) >= shape_of(ab)[1]
    factor = where(corner, 0.0, factor)
    return factor if lower else _conjugate(ops.transposed_bands(factor, count, 0))


@substitutes("scipy.linalg.cho_solve_banded")
def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with ``a x = b``, given the banded Cholesky factor of a.

    Raises:
        MatrixError: an element of the main diagonal is 0.
        ShapeError: the shapes do not fit.

    Example:
        >>> cho_solve_banded((np.array([[2.0, 2.0], [1.0, 0.0]]), True), np.array([6.0, 7.0])).round(6)
        array([1., 1.])
    """
    cb, lower = cb_and_lower
    cb, b = _checked_pair("cho_solve_banded", check_finite, cb, b, None)
    count = shape_of(cb)[-2] - 1
    below = (count, 0) if lower else (0, count)
    mirrored = _conjugate(ops.transposed_bands(cb, *below))
    first, second = (cb, mirrored) if lower else (mirrored, cb)
    return _solved(second, _solved(first, b, count, 0), 0, count)
