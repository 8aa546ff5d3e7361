"""Eigenvalues of Hermitian banded matrices, and the factors R Q, by those of matrices that hold all elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.complex import conjugate
from wengert.numpy.registry import rank_of
from wengert.scipy.linalg.equations import checked
from wengert.scipy.linalg.factors import eigh, qr
from wengert.scipy.registry import signatures

_eigenvalues = signatures(
    "scipy.linalg",
    """
        eig_banded(a_band, lower=False, eigvals_only=False, overwrite_a_band=False, select="a", select_range=None,
            max_ev=0, check_finite=True)
        eigvals_banded(a_band, lower=False, overwrite_a_band=False, select="a", select_range=None,
            check_finite=True)
        eigh_tridiagonal(d, e, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0,
            lapack_driver="auto")
        eigvalsh_tridiagonal(d, e, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto")
        rq(a, overwrite_a=False, lwork=None, mode="full", check_finite=True)
    """,
)


def _of_diagonals(operation: str, diagonals: list[Any], eigvals_only: Any, select: Any, chosen: Any) -> Any:
    """Return eigenvalues, and unit vectors, of the matrix with these diagonals: the main one, and those below."""
    by_place = select in ("i", 2)
    if not by_place and select not in ("a", 0):
        requirement = "eigenvalues are selected by place, as eigenvalues in an interval may be of any number"
        raise UnsupportedError(message(operation, requirement, f"select={select!r}"))
    matrix: Any = sum(np.diag(line, -place) for place, line in enumerate(diagonals))
    return eigh(matrix, eigvals_only=eigvals_only, subset_by_index=chosen if by_place else None)


@_eigenvalues
def eig_banded(
    a_band: Any,
    lower: Any,
    eigvals_only: Any,
    select: Any,
    select_range: Any,
    check_finite: Any,
    **unused: Any,
) -> Any:
    """Return eigenvalues and vectors, each up to a factor of size 1, with derivatives in the diagonals.

    Raises:
        ShapeError: there are no diagonals.
        UnsupportedError: eigenvalues in an interval are asked for.

    Example:
        >>> eig_banded(np.array([[0.0, 1.0], [2.0, 2.0]]), eigvals_only=True).round(6)
        array([1., 3.])
    """
    (band,) = checked("eig_banded", check_finite, a_band)
    if rank_of(band) != 2:
        raise ShapeError(message("eig_banded", "a matrix of diagonals is required", show(band)))
    count, size = shape_of(band)
    if lower:
        lines = [band[place, : size - place] for place in range(count)]
    else:
        lines = [band[count - 1 - place, place:] for place in range(count)]
        lines = [conjugate(line) if is_complex(dtype_of(line)) else line for line in lines]
    return _of_diagonals("eig_banded", lines, eigvals_only, select, select_range)


@_eigenvalues
def eigvals_banded(a_band: Any, **options: Any) -> Any:
    """Return the eigenvalues that `eig_banded` returns.

    Example:
        >>> eigvals_banded(np.array([[2.0, 2.0], [1.0, 0.0]]), lower=True).round(6)
        array([1., 3.])
    """
    return eig_banded(a_band, eigvals_only=True, **options)


@_eigenvalues
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: Any, select: Any, select_range: Any, check_finite: Any, **unused: Any
) -> Any:
    """Return eigenvalues and vectors of a symmetric matrix with the diagonals d and e, each up to its sign.

    Raises:
        UnsupportedError: eigenvalues in an interval are asked for.

    Example:
        >>> eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), eigvals_only=True).round(6)
        array([1., 3.])
    """
    lines = checked("eigh_tridiagonal", check_finite, d, e)
    return _of_diagonals("eigh_tridiagonal", list(lines), eigvals_only, select, select_range)


@_eigenvalues
def eigvalsh_tridiagonal(d: Any, e: Any, **options: Any) -> Any:
    """Return the eigenvalues that `eigh_tridiagonal` returns.

    Example:
        >>> eigvalsh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0])).round(6)
        array([1., 3.])
    """
    return eigh_tridiagonal(d, e, eigvals_only=True, **options)


@_eigenvalues
def rq(a: Any, mode: str, check_finite: Any, **unused: Any) -> Any:
    """Return an upper triangular R and a Q of orthonormal rows with ``a = R Q``: the QR factors of the turned matrix.

    Example:
        >>> rq(np.array([[3.0, 4.0]]), mode="economic")[0].round(6)
        array([[-5.]])
    """
    (a,) = checked("rq", check_finite, a)
    found = qr(_turned(a), mode=mode)
    if mode == "r":
        return _turned(found[0])
    return _turned(found[1]), _turned(found[0])


def _turned(a: Any) -> Any:
    """Return the matrix that is reflected at its other diagonal."""
    a = a[..., ::-1, ::-1]
    return np.swapaxes(conjugate(a) if is_complex(dtype_of(a)) else a, -1, -2)
