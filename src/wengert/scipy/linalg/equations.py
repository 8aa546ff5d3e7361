"""Linear equations, inverse and determinant, under SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show, type_of
from wengert.engine.ops.comparison import where
from wengert.engine.ops.linalg import determinants, square
from wengert.engine.ops.linalg import triangular as ops
from wengert.engine.ops.linalg.square import adjoint, check_square, swapped, symmetric
from wengert.engine.ops.shape import reshape
from wengert.numpy import linear_algebra as numpys
from wengert.numpy.registry import rank_of
from wengert.scipy.linalg.special_matrices import toeplitz
from wengert.scipy.registry import floats, number, signatures

_STRUCTURES = {
    **dict.fromkeys(("general", "gen"), "general"),
    **dict.fromkeys(("symmetric", "sym"), "symmetric"),
    **dict.fromkeys(("hermitian", "her"), "hermitian"),
    **dict.fromkeys(("positive definite", "pos"), "positive"),
    **dict.fromkeys(("lower triangular", "lower"), "lower"),
    **dict.fromkeys(("upper triangular", "upper"), "upper"),
    "diagonal": "diagonal",
    "tridiagonal": "tridiagonal",
    "banded": "banded",
}


_equations = signatures(
    "scipy.linalg",
    """
        solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
            transposed=False)
        solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True)
        lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None)
    """,
)


def checked(operation: str, check_finite: bool, *arrays: Any) -> tuple[Any, ...]:
    """Return operands in floating point; those with known elements must be finite."""
    operands = tuple(map(floats, arrays))
    for x in operands:
        values = concrete(x) if check_finite else None
        if values is not None and not np.isfinite(values).all():
            hint = "write check_finite=False to compute with them"
            raise ArgumentError(message(operation, "infinities and NaNs are not allowed", show(x), hint))
    return operands


def as_columns(b: Any) -> tuple[Any, bool]:
    """Return right-hand sides as the columns of matrices, and whether they were one vector."""
    is_vector = rank_of(b) == 1
    return (reshape(b, shape=(*shape_of(b), 1)) if is_vector else b), is_vector


def as_given(x: Any, is_vector: bool) -> Any:
    """Return solutions as vectors where the right-hand side was a vector."""
    return reshape(x, shape=shape_of(x)[:-1]) if is_vector else x


def _structure(operation: str, a: Any, assume_a: Any, lower: bool) -> tuple[str, Any]:
    """Return the kind of a matrix, and the matrix with the elements that this kind reads."""
    kind = _STRUCTURES.get("general" if assume_a is None else str(assume_a))
    if kind is None:
        requirement = f"assume_a must be one of {', '.join(sorted(set(_STRUCTURES)))}"
        raise ArgumentError(message(operation, requirement, repr(assume_a)))
    check_square(operation, type_of(a))
    rows, half = shape_of(a)[-1], "L" if lower else "U"
    distance = np.subtract.outer(np.arange(rows), np.arange(rows))
    if kind in ("diagonal", "tridiagonal"):
        a = where(np.abs(distance) <= (kind == "tridiagonal"), a, 0.0)
    elif kind == "symmetric":
        a = where(distance >= 0 if lower else distance <= 0, a, swapped(a))
    elif kind in ("hermitian", "positive"):
        a = symmetric(a, half)
    return kind, a


def _solved(a: Any, b: Any, kind: str) -> Any:
    """Solve equations with matrices of a kind."""
    if kind == "positive":
        factor = square.cholesky(a)
        return ops.solve_triangular(
            adjoint(factor), ops.solve_triangular(factor, b, lower=True, unit=False), lower=False, unit=False
        )
    if kind in ("lower", "upper"):
        return ops.solve_triangular(a, b, lower=kind == "lower", unit=False)
    return square.solve(a, b)


@_equations
def solve(
    a: Any, b: Any, lower: Any, check_finite: Any, assume_a: Any, transposed: Any, **unused: Any
) -> Any:
    """Return x with ``a x = b``.

    ``assume_a``: "general", "symmetric", "hermitian", "positive definite", "diagonal", "tridiagonal", "banded", "upper
    triangular", "lower triangular", or an abbreviation of SciPy's; None for general matrices. Elements that such a
    matrix does not need are not read, so that the derivative in them is 0.

    Raises:
        MatrixError: a matrix is singular, or not positive definite where that is assumed.
        ShapeError: the shapes do not fit.
        ArgumentError: ``assume_a`` is unknown, or elements are not finite.

    Example:
        >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
        array([1. , 0.5])
    """
    a, b = checked("solve", check_finite, a, b)
    kind, a = _structure("solve", a, assume_a, lower)
    if transposed:
        a, kind = swapped(a), {"lower": "upper", "upper": "lower"}.get(kind, kind)
    b, is_vector = as_columns(b)
    return as_given(_solved(a, b, kind), is_vector)


@_equations
def solve_triangular(
    a: Any, b: Any, trans: Any, lower: Any, unit_diagonal: Any, check_finite: Any, **unused: Any
) -> Any:
    """Return x with ``a x = b`` for triangular a, by substitution.

    Raises:
        MatrixError: an element of the diagonal is 0.
        ArgumentError: ``trans`` is unknown, or elements are not finite.

    Example:
        >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True)
        array([1., 2.])
    """
    a, b = checked("solve_triangular", check_finite, a, b)
    check_square("solve_triangular", type_of(a))
    turned = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}.get(trans)
    if turned is None:
        raise ArgumentError(message("solve_triangular", "trans must be 0, 1, 2, N, T or C", repr(trans)))
    if turned:
        a, lower = swapped(a) if turned == 1 else adjoint(a), not lower
    b, is_vector = as_columns(b)
    return as_given(ops.solve_triangular(a, b, lower=bool(lower), unit=bool(unit_diagonal)), is_vector)


@substitutes("scipy.linalg.solve_toeplitz")
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Return x with ``T x = b`` for Toeplitz matrices T.

    Raises:
        MatrixError: the matrix is singular.

    Example:
        >>> solve_toeplitz(np.array([2.0, 0.0]), np.array([2.0, 4.0]))
        array([1., 2.])
    """
    return solve(
        toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr), b, check_finite=check_finite
    )


@substitutes("scipy.linalg.solve_circulant")
def solve_circulant(c: Any, b: Any, singular: str = "raise", tol: Any = None) -> Any:
    """Return x with ``C x = b`` for the circulant matrix C with a first column.

    ``singular``: "raise" an error for singular matrices; "lstsq", the solution of least squares, is not supported.

    ``tol``: without effect.

    Raises:
        MatrixError: the matrix is singular.
        ArgumentError: ``singular`` is not "raise".

    Example:
        >>> solve_circulant(np.array([2.0, 0.0]), np.array([2.0, 4.0]))
        array([1., 2.])
    """
    if singular != "raise":
        hint = "write scipy.linalg.lstsq of scipy.linalg.circulant(c)"
        raise ArgumentError(message("solve_circulant", 'singular must be "raise"', repr(singular), hint))
    c, b = floats(c), floats(b)
    return solve(toeplitz(c, np.roll(c[..., ::-1], 1, -1)), b)


@substitutes("scipy.linalg.inv")
def inv(
    a: Any, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: Any = None, lower: bool = False
) -> Any:
    """Return the inverse of square matrices.

    Raises:
        MatrixError: a matrix is singular.

    Example:
        >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    (a,) = checked("inv", check_finite, a)
    kind, a = _structure("inv", a, assume_a, lower)
    if kind == "general":
        return square.inverse(a)
    return _solved(a, np.eye(shape_of(a)[-1], dtype=dtype_of(a)), kind)


@substitutes("scipy.linalg.det")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinant of square matrices.

    Example:
        >>> print(f"{det(np.array([[2.0, 1.0], [0.0, 4.0]])):.1f}")
        8.0
    """
    return determinants.determinant(checked("det", check_finite, a)[0])


@substitutes("scipy.linalg.norm")
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Return a norm of a vector or a matrix, as `np.linalg.norm`; its derivative is 0 where the norm is 0.

    Example:
        >>> float(norm(np.array([3.0, 4.0])))
        5.0
    """
    return numpys.norm(checked("norm", check_finite, a)[0], ord, axis, keepdims)


@_equations
def lstsq(a: Any, b: Any, cond: Any, check_finite: Any, **unused: Any) -> tuple[Any, Any, Any, Any]:
    """Return the x that makes ``|b - a x|`` least, and of these the one of least norm.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))[0].round(6)
        array([2.])
    """
    a, b = checked("lstsq", check_finite, a, b)
    if shape_of(a)[:1] != shape_of(b)[:1]:
        raise ShapeError(
            message("lstsq", "the right-hand side must have a row for each equation", show(a, b))
        )
    tolerance = float(np.finfo(dtype_of(a)).eps) if cond is None else number("lstsq", "cond", cond)
    x, residuals, rank, values = numpys.lstsq(a, b, tolerance)
    return x, residuals if rank_of(b) == 2 or shape_of(residuals) == (0,) else residuals[0], rank, values


@substitutes("scipy.linalg.pinv")
def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """Return the pseudoinverse of matrices; its derivative holds where the rank is the same nearby.

    ``atol``: an absolute tolerance, which is not supported but as None or 0.

    Raises:
        ArgumentError: ``atol`` is given.

    Example:
        >>> pinv(np.array([[2.0], [0.0]]))
        array([[0.5, 0. ]])
    """
    if atol is not None and number("pinv", "atol", atol) != 0:
        raise ArgumentError(message("pinv", "atol= is not supported", repr(atol), "write rtol="))
    (a,) = checked("pinv", check_finite, a)
    if rtol is None:
        rtol = max(shape_of(a)[-2:], default=0) * float(np.finfo(dtype_of(a)).eps)
    inverse = numpys.pinv(a, rtol)
    return (inverse, numpys.matrix_rank(a, rtol=rtol)) if return_rank else inverse
