"""Factors of matrices, eigenvalues and singular values, under SciPy's names.

Factors with signs or bases that are not unique, and derivatives at equal eigenvalues:
`wengert.engine.ops.linalg.decompositions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.dtypes import INT64, dtype_of
from wengert.engine.core.errors import ArgumentError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import type_of
from wengert.engine.ops.comparison import where
from wengert.engine.ops.complex import real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.linalg import ldl as pivoted
from wengert.engine.ops.linalg import lu as factors
from wengert.engine.ops.linalg import matrix_functions, square, triangular
from wengert.engine.ops.linalg.pivoting import pivots
from wengert.engine.ops.linalg.square import adjoint, check_matrices, check_square, multiply, swapped
from wengert.numpy import linear_algebra as numpys
from wengert.scipy.linalg.equations import as_columns, as_given, checked
from wengert.scipy.registry import signatures

_INT32 = np.dtype(np.int32)


_factors = signatures(
    "scipy.linalg",
    """
        lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False)
        qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True)
        svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd")
        eigh(a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1,
            check_finite=True, subset_by_index=None, subset_by_value=None, driver=None)
        eigvalsh(a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,
            subset_by_index=None, subset_by_value=None, driver=None)
        eigvals(a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False)
        eig(a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True,
            homogeneous_eigvals=False)
    """,
)


@substitutes("scipy.linalg.cholesky")
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the Cholesky factor of positive definite matrices, ``a = U^H U`` or ``a = L L^H``.

    ``a``: the matrices, of which one triangle is read; the derivative in the other one is 0.

    Raises:
        MatrixError: a matrix is not positive definite.

    Example:
        >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
        array([[2., 1.],
               [0., 2.]])
    """
    return numpys.cholesky(checked("cholesky", check_finite, a)[0], upper=not lower)


@substitutes("scipy.linalg.cho_factor")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Return the Cholesky factor of positive definite matrices for `cho_solve`.

    Raises:
        MatrixError: a matrix is not positive definite.

    Example:
        >>> cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))[0]
        array([[2., 1.],
               [2., 2.]])
    """
    (a,) = checked("cho_factor", check_finite, a)
    factor = numpys.cholesky(a, upper=not lower)
    half = np.tri(shape_of(a)[-1], dtype=bool)
    return where(half if lower else half.T, factor, a), lower


@substitutes("scipy.linalg.cho_solve")
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return x with ``a x = b``, for the Cholesky factor of a from `cho_factor`.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> cho_solve(cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]])), np.array([8.0, 12.0]))
        array([1., 2.])
    """
    factor, lower = c_and_lower
    factor, b = checked("cho_solve", check_finite, factor, b)
    b, is_vector = as_columns(b)
    check_square("cho_solve", type_of(factor))
    first, second = (factor, adjoint(factor)) if lower else (adjoint(factor), factor)
    x = triangular.solve_triangular(first, b, lower=True, unit=False)
    return as_given(triangular.solve_triangular(second, x, lower=False, unit=False), is_vector)


# -- L and U ---------------------------------------------------------------------------------------------


def _integers(column: Any) -> Any:
    return cast(real(column), dtype=_INT32)


@_factors
def lu(a: Any, permute_l: Any, check_finite: Any, p_indices: Any, **unused: Any) -> tuple[Any, ...]:
    """Return the factors of ``a = P L U``, with partial pivoting; the order of the rows has no derivative.

    Example:
        >>> p, l, u = lu(np.array([[1.0, 2.0], [2.0, 2.0]]))
        >>> l
        array([[1. , 0. ],
               [0.5, 1. ]])
    """
    (a,) = checked("lu", check_finite, a)
    check_matrices("lu", type_of(a))
    packed = factors.lu(a)
    left, upper = factors.factors(packed)
    back = swapped(factors.permutation(packed))
    if permute_l:
        return multiply(back, left), upper
    if p_indices:
        rows = shape_of(a)[-2]
        return _integers(np.matmul(back, np.arange(rows, dtype=dtype_of(back)))), left, upper
    return back, left, upper


@substitutes("scipy.linalg.lu_factor")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Return L and U in one matrix, and the exchanges of rows, for `lu_solve`.

    Example:
        >>> lu_factor(np.array([[1.0, 2.0], [2.0, 2.0]]))[1]
        array([1, 1], dtype=int32)
    """
    (a,) = checked("lu_factor", check_finite, a)
    check_matrices("lu_factor", type_of(a))
    rows, columns = shape_of(a)[-2:]
    packed = factors.lu(a)
    return packed[..., :columns], _integers(packed[..., : min(rows, columns), columns + 1])


@substitutes("scipy.linalg.lu_solve")
def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return x with ``a x = b``, for the factors of a from `lu_factor`.

    Raises:
        MatrixError: a is singular.
        ArgumentError: ``trans`` is not 0, 1 or 2.

    Example:
        >>> lu_solve(lu_factor(np.array([[1.0, 2.0], [2.0, 2.0]])), np.array([5.0, 6.0]))
        array([1., 2.])
    """
    packed, exchanged = lu_and_piv
    packed, b = checked("lu_solve", check_finite, packed, b)
    if trans not in (0, 1, 2):
        raise ArgumentError(message("lu_solve", "trans must be 0, 1 or 2", repr(trans)))
    check_square("lu_solve", type_of(packed))
    b, is_vector = as_columns(b)
    if trans == 0:
        x = _exchanged(b, exchanged, forward=True)
        x = triangular.solve_triangular(packed, x, lower=True, unit=True)
        return as_given(triangular.solve_triangular(packed, x, lower=False, unit=False), is_vector)
    turned = swapped(packed) if trans == 1 else adjoint(packed)
    x = triangular.solve_triangular(turned, b, lower=True, unit=False)
    x = triangular.solve_triangular(turned, x, lower=False, unit=True)
    return as_given(_exchanged(x, exchanged, forward=False), is_vector)


def _exchanged(b: Any, exchanged: Any, forward: bool) -> Any:
    """Return the rows of matrices after LAPACK's exchanges, or before them."""
    rows = shape_of(b)[-2]
    lead = shape_of(exchanged)[:-1]
    order = np.broadcast_to(np.arange(rows), (*lead, rows))
    for step in range(shape_of(exchanged)[-1]) if forward else reversed(range(shape_of(exchanged)[-1])):
        here, there = np.arange(rows) == step, np.arange(rows) == exchanged[..., step : step + 1]
        first = np.sum(where(here, order, 0), -1, keepdims=True)
        second = np.sum(where(there, order, 0), -1, keepdims=True)
        order = where(here, second, where(there, first, order))
    matrix = cast(order[..., :, None] == np.arange(rows), dtype=dtype_of(real(b)))
    return multiply(matrix, b)


# -- orthogonal factors ----------------------------------------------------------------------------------


@substitutes("scipy.linalg.ldl")
def ldl(
    A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any, Any]:
    """Return the factors of ``A = L D L^T`` for Hermitian or symmetric matrices, with pivoting.

    D has blocks of one or two rows on its diagonal. The factors have derivatives where no block but that of the last
    step is singular; the order of the rows and the blocks are constant nearby.

    Raises:
        ShapeError: the matrices are not square.

    Example:
        >>> l, d, order = ldl(np.array([[4.0, 2.0], [2.0, 3.0]]))
        >>> d
        array([[4., 0.],
               [0., 2.]])
    """
    (a,) = checked("ldl", check_finite, A)
    packed = pivoted.ldl(a, lower=bool(lower), hermitian=bool(hermitian))
    factor, middle, order, _ = pivoted.parts(packed)
    back = swapped(pivoted.exchange(order))
    return multiply(back, factor), middle, cast(order[..., 0], dtype=INT64)


@_factors
def qr(a: Any, mode: Any, pivoting: Any, check_finite: Any, **unused: Any) -> Any:
    """Return the factors of ``a = Q R``.

    Raises:
        UnsupportedError: the mode "raw".

    Example:
        >>> q, r = qr(np.array([[3.0], [4.0]]), mode="economic")
        >>> np.abs(r)
        array([[5.]])
    """
    (a,) = checked("qr", check_finite, a)
    if mode not in ("full", "economic", "r"):
        requirement = 'the modes "full", "economic" and "r" are supported'
        raise UnsupportedError(message("qr", requirement, repr(mode)))
    order: tuple[Any, ...] = ()
    if pivoting:
        check_matrices("qr", type_of(a))
        columns = pivots(a)
        a = np.take_along_axis(a, columns[..., None, :], -1)
        order = (cast(columns, dtype=_INT32),)
    q, r = numpys.qr(a, "reduced" if mode == "economic" else "complete")
    return (r, *order) if mode == "r" else (q, r, *order)


@substitutes("scipy.linalg.polar")
def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """Return the factors of ``a = U P``, or of ``a = P U``: U with orthonormal columns or rows, and P semidefinite.

    U has a derivative where a has full rank.

    Raises:
        ArgumentError: the side is unknown.

    Example:
        >>> u, p = polar(np.array([[0.0, -2.0], [3.0, 0.0]]))
        >>> p.round(6)
        array([[3., 0.],
               [0., 2.]])
    """
    (a,) = checked("polar", False, a)
    if side not in ("right", "left"):
        raise ArgumentError(message("polar", 'side must be "right" or "left"', repr(side)))
    check_matrices("polar", type_of(a))
    rows, columns = shape_of(a)[-2:]
    u = matrix_functions.polar(a) if rows >= columns else adjoint(matrix_functions.polar(adjoint(a)))
    p = multiply(adjoint(u), a) if side == "right" else multiply(a, adjoint(u))
    return u, (p + adjoint(p)) * 0.5


@_factors
def svd(a: Any, full_matrices: Any, compute_uv: Any, check_finite: Any, **unused: Any) -> Any:
    """Return the factors of ``a = U diag(s) V^H``, as `np.linalg.svd`.

    Example:
        >>> svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
        array([4., 3.])
    """
    parts = numpys.svd(checked("svd", check_finite, a)[0], full_matrices, compute_uv)
    return tuple(parts) if compute_uv else parts


@substitutes("scipy.linalg.svdvals")
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return singular values, descending.

    Example:
        >>> svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))
        array([4., 3.])
    """
    return svd(a, compute_uv=False, check_finite=check_finite)


# -- eigenvalues -----------------------------------------------------------------------------------------


def _standard(a: Any, b: Any, lower: bool) -> tuple[Any, Any]:
    """Return the symmetric matrix ``L^-1 a L^-H`` for ``b = L L^H``, and L; or a and None without b."""
    a = square.symmetric(a, "L" if lower else "U")
    if b is None:
        return a, None
    factor = square.cholesky(square.symmetric(b, "L" if lower else "U"))
    half = triangular.solve_triangular(factor, a, lower=True, unit=False)
    return adjoint(triangular.solve_triangular(factor, adjoint(half), lower=True, unit=False)), factor


def _chosen(count: int, subset: Any) -> slice:
    if subset is None:
        return slice(None)
    first, last = subset
    if not 0 <= first <= last < count:
        requirement = "subset_by_index must be two positions in rising order"
        raise ArgumentError(message("eigh", requirement, f"{subset} of {count}"))
    return slice(int(first), int(last) + 1)


@_factors
def eigh(
    a: Any, b: Any, lower: bool, eigvals_only: bool, type: int, check_finite: bool, **options: Any
) -> Any:
    """Return eigenvalues w and eigenvectors v of symmetric matrices, ``a v = w v`` or ``a v = w b v``.

    Equal eigenvalues have derivatives, but their vectors do not.

    ``type``: 1; the other problems of SciPy's are not supported.

    ``subset_by_value``: not supported: the number of the eigenvalues would depend on their values.

    Raises:
        UnsupportedError: ``type`` is not 1, or ``subset_by_value`` is given.
        MatrixError: b is not positive definite.

    Example:
        >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]]), eigvals_only=True)
        array([1., 3.])
    """
    subset_by_value = options["subset_by_value"]
    if type != 1 or subset_by_value is not None:
        requirement = "type=1 without subset_by_value is supported"
        raise UnsupportedError(message("eigh", requirement, f"{type=}, {subset_by_value=}"))
    a, *weights = checked("eigh", check_finite, a, *([] if b is None else [b]))
    check_square("eigh", type_of(a))
    a, factor = _standard(a, weights[0] if weights else None, lower)
    taken = _chosen(shape_of(a)[-1], options["subset_by_index"])
    if eigvals_only:
        return np.linalg.eigvalsh(a)[..., taken]
    values, vectors = np.linalg.eigh(a)
    if factor is not None:
        vectors = triangular.solve_triangular(adjoint(factor), vectors, lower=False, unit=False)
    return values[..., taken], vectors[..., taken]


@_factors
def eigvalsh(**arguments: Any) -> Any:
    """Return eigenvalues of symmetric matrices in rising order, as `eigh` with ``eigvals_only``.

    ``subset_by_value``: not supported.

    Example:
        >>> eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]))
        array([1., 3.])
    """
    return eigh(eigvals_only=True, **arguments)


def _general(operation: str, a: Any, b: Any, check_finite: bool) -> Any:
    """Return the matrix whose eigenvalues are those of a, or of a with respect to b."""
    if b is None:
        return checked(operation, check_finite, a)[0]
    a, b = checked(operation, check_finite, a, b)
    return square.solve(b, a)


@_factors
def eigvals(**arguments: Any) -> Any:
    """Return the complex eigenvalues of square matrices, or of ``a v = w b v`` with a b that has an inverse.

    ``homogeneous_eigvals``: not supported.

    Raises:
        UnsupportedError: ``homogeneous_eigvals``.

    Example:
        >>> eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]]))
        array([0.+1.j, 0.-1.j])
    """
    return eig(right=False, **arguments)


@_factors
def eig(
    a: Any, b: Any, left: Any, right: Any, check_finite: Any, homogeneous_eigvals: Any, **unused: Any
) -> Any:
    """Return complex eigenvalues, and eigenvectors of length 1, of square matrices.

    Equal eigenvalues have no derivative of their vectors.

    ``left``: the eigenvectors of the transpose, which are not supported.

    ``homogeneous_eigvals``: not supported.

    Raises:
        UnsupportedError: ``left`` or ``homogeneous_eigvals``.

    Example:
        >>> eig(np.array([[2.0, 0.0], [0.0, 3.0]]), right=False)
        array([2.+0.j, 3.+0.j])
    """
    if left or homogeneous_eigvals:
        requirement = "left= and homogeneous_eigvals= are not supported"
        hint = "left eigenvectors are the right ones of the conjugate transpose"
        raise UnsupportedError(message("eig", requirement, hint=hint))
    a = _general("eig", a, b, check_finite)
    check_square("eig", type_of(a))
    wanted = np.dtype(np.result_type(dtype_of(a), np.complex64))
    if not right:
        return cast(numpys.eigvals(a), dtype=wanted)
    values, vectors = numpys.eig(a)
    return cast(values, dtype=wanted), vectors
