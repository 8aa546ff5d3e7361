"""`np.linalg` of factors, `eigh`, `svd` and `qr`, and of what is made of singular values: `pinv`, `lstsq`, `cond`.

Where eigenvalues or singular values are equal, these have derivatives and the vectors have none; see
`wengert.ops.decompositions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.array.suggestions import advised
from wengert.boxes import concrete
from wengert.core.dtypes import INT64, dtype_of
from wengert.core.errors import ArgumentError, ConcreteError, ShapeError, UnsupportedError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import show, type_of
from wengert.numpy.norms import norm
from wengert.numpy.reducing import all_, any_, count_nonzero, max_, sum_
from wengert.numpy.registry import floating, implements, rank_of, strong
from wengert.ops import decompositions as factors
from wengert.ops.comparison import equal, greater, isnan, logical_and, logical_not, where
from wengert.ops.conversion import cast
from wengert.ops.decompositions import as_numbers, parts
from wengert.ops.linalg import check_matrices, floating_dtype, inverse, multiply, swapped, symmetric
from wengert.ops.shape import concatenate, reshape

_NOT_GIVEN: Any = getattr(np, "_NoValue")  # noqa: B009 - NumPy's own mark, which it does not make public
_EIGENVECTORS: Any = type(np.linalg.eigh(np.eye(1)))
_SINGULAR_VECTORS: Any = type(np.linalg.svd(np.eye(1)))
_ORTHOGONAL: Any = type(np.linalg.qr(np.eye(1)))


def _matrices(operation: str, x: Any) -> Any:
    """Return matrices in floating point."""
    x = floating(operand(x))
    if rank_of(x) < 2:
        raise ShapeError(message(operation, "an array of at least two axes is required", show(x)))
    return x


# -- symmetric matrices ----------------------------------------------------------------------------------


def _half(operation: str, UPLO: str) -> str:
    if str(UPLO).upper() not in ("L", "U"):
        raise ArgumentError(message(operation, 'UPLO must be "L" or "U"', repr(UPLO)))
    return UPLO.upper()


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of symmetric matrices, as `np.linalg.eigh`.

    One triangle alone is read, and so the derivative by the other one is zero.
    """
    a = _matrices("eigh", a)
    values, vectors = parts(factors.eigh(a, half=_half("eigh", UPLO)), 1, shape_of(a)[-1])
    return _EIGENVECTORS(as_numbers(values), vectors)


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of symmetric matrices, as `np.linalg.eigvalsh`."""
    return factors.eigvalsh(_matrices("eigvalsh", a), half=_half("eigvalsh", UPLO))


# -- singular values -------------------------------------------------------------------------------------


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return the singular value decomposition, as `np.linalg.svd`; of all of U or V^T there is none."""
    a = _matrices("svd", a)
    if not compute_uv:
        return factors.svdvals(symmetric(a) if hermitian else a)
    if hermitian:
        hint = "leave hermitian out, or write np.linalg.eigh: the singular values are the magnitudes of eigenvalues"
        raise UnsupportedError(message("svd", "vectors with hermitian=True are not supported", show(a), hint))
    rows, columns = shape_of(a)[-2:]
    if full_matrices and rows != columns:
        requirement = (
            "full_matrices=True needs square matrices: vectors beyond the singular values have no derivative"
        )
        raise UnsupportedError(message("svd", requirement, show(a), "write full_matrices=False"))
    u, s, v = parts(factors.svd(a), rows, 1, columns)
    return _SINGULAR_VECTORS(u, as_numbers(s), swapped(v))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """Return the singular values, descending, as `np.linalg.svdvals`."""
    return factors.svdvals(_matrices("svdvals", x))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition of matrices in a norm, as `np.linalg.cond`; singular ones raise in norms but 2 and -2."""
    x = _matrices("cond", x)
    if not all(shape_of(x)[-2:]):
        raise ShapeError(message("cond", "matrices must not be empty", show(x)))
    if p not in (None, 2, -2):
        return norm(x, p, (-2, -1)) * norm(inverse(x), p, (-2, -1))
    values = factors.svdvals(x)
    largest, least = values[..., 0], values[..., -1]
    with np.errstate(all="ignore"):  # as NumPy does: the condition of a singular matrix is infinite
        found = least / largest if p == -2 else largest / least
    unknown = any_(isnan(x), axis=(-2, -1))
    return where(logical_and(isnan(found), logical_not(unknown)), np.inf, found)


def _tolerance(operation: str, shape: Any, dtype: Any, rtol: Any) -> float:
    """Return what part of the largest singular value counts as 0: given, or by the precision and size."""
    if rtol is None:
        return max(shape[-2:]) * float(np.finfo(dtype).eps)
    value = concrete(rtol)
    if value is None:
        hint = "name it in static_argnums of wg.jit, or compute it outside"
        raise ConcreteError(message(operation, "the tolerance must be known", show(rtol), advised(hint)))
    if np.ndim(value) or not np.issubdtype(np.asarray(value).dtype, np.number):
        raise ArgumentError(message(operation, "the tolerance must be a number", repr(rtol)))
    return float(value)


def _rank(values: Any, share: float) -> Any:
    """Count the singular values above a share of the largest."""
    return count_nonzero(greater(values, max_(values, -1, keepdims=True, initial=0) * share), -1)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Count the singular values that are not zero, as `np.linalg.matrix_rank`."""
    a = floating(operand(A))
    if tol is not None and rtol is not None:
        raise ArgumentError(message("matrix_rank", "only one of tol and rtol can be given"))
    if rank_of(a) < 2:
        return cast(logical_not(all_(equal(a, 0))), dtype=INT64)
    values = factors.svdvals(symmetric(a) if hermitian else a)
    if tol is None:
        return _rank(values, _tolerance("matrix_rank", shape_of(a), dtype_of(a), rtol))
    return count_nonzero(greater(values, reshape(operand(tol), shape=(*shape_of(tol), 1))), -1)


# -- pseudoinverse and least squares ---------------------------------------------------------------------


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN) -> Any:
    """Return the pseudoinverse, as `np.linalg.pinv`; its derivative holds where the rank is the same nearby."""
    a = _matrices("pinv", a)
    if rcond is None:
        rcond = 1e-15 if rtol is _NOT_GIVEN else rtol
    elif rtol is not _NOT_GIVEN:
        raise ArgumentError(message("pinv", "only one of rcond and rtol can be given"))
    share = _tolerance("pinv", shape_of(a), dtype_of(a), rcond)
    return factors.pinv(symmetric(a) if hermitian else a, rcond=share)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Return solution, residuals, rank and singular values of least squares, as `np.linalg.lstsq`.

    Residuals are there where ``a`` has more rows than columns; NumPy leaves them out as well where the rank is less.
    """
    a, b = _matrices("lstsq", a), floating(operand(b))
    if rank_of(a) != 2 or rank_of(b) not in (1, 2):
        requirement = (
            "a matrix, and a vector or matrix of right-hand sides are required; for more, use wg.vmap"
        )
        raise ShapeError(message("lstsq", requirement, show(a, b)))
    right = b if rank_of(b) == 2 else reshape(b, shape=(*shape_of(b), 1))
    check_matrices("lstsq", type_of(a), type_of(right))
    dtype = floating_dtype(type_of(a), type_of(b))
    a, right = strong(a, dtype), strong(right, dtype)
    rows, columns = shape_of(a)
    share = _tolerance("lstsq", (rows, columns), dtype_of(a), rcond)
    share = share if share >= 0 else float(np.finfo(dtype_of(a)).eps)
    x = factors.lstsq(a, right, rcond=share)
    rest = right - multiply(a, x)
    residuals = sum_(rest * rest, 0) if rows > columns else np.zeros(0, dtype_of(x))
    values = factors.svdvals(a)
    rank = cast(_rank(values, share), dtype=np.dtype(np.int32))
    return x if rank_of(b) == 2 else reshape(x, shape=(columns,)), residuals, rank, values


# -- orthogonal and triangular ---------------------------------------------------------------------------


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Return the factors Q and R, as `np.linalg.qr` with mode "reduced" or "r", or "complete" where that is the same.

    The first columns, as many as there are rows, must be linearly independent for a derivative.
    """
    a = _matrices("qr", a)
    rows, columns = shape_of(a)[-2:]
    if mode not in ("reduced", "r", "complete") or (mode == "complete" and rows > columns):
        requirement = 'modes "reduced" and "r" are supported, and "complete" for no more rows than columns'
        raise UnsupportedError(message("qr", requirement, f"{mode!r}, {show(a)}"))
    count = min(rows, columns)
    q, r = parts(factors.qr(a[..., :count]), rows, count)
    if columns > rows:
        r = concatenate(r, multiply(swapped(q), a[..., count:]), axis=rank_of(a) - 1)
    return r if mode == "r" else _ORTHOGONAL(q, r)
