"""`np.linalg` on boxes: inverse, equations and determinant, norms, factorizations, and functions of singular values.

The derivative of a norm at 0 is 0, the subgradient of least norm. Equal eigenvalues and equal singular values have
derivatives, but their vectors do not; see `wengert.engine.ops.linalg.decompositions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.suggestions import advised
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import INT64, dtype_of, is_complex, real_dtype
from wengert.engine.core.errors import ArgumentError, ConcreteError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import axis_index, drop_axes, keep_axes, shape_of
from wengert.engine.ir.types import show, type_of
from wengert.engine.memory import placed, stacked
from wengert.engine.ops.arithmetic import absolute, smooth_magnitude, squared_magnitude
from wengert.engine.ops.comparison import equal, greater, isnan, logical_and, logical_not, not_equal, where
from wengert.engine.ops.complex import real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import power
from wengert.engine.ops.linalg import decompositions, determinants, square
from wengert.engine.ops.linalg.decompositions import as_numbers, completed, parts
from wengert.engine.ops.linalg.square import adjoint, check_matrices, floating_dtype, multiply, symmetric
from wengert.engine.ops.reduction import reduce_max, reduce_min, reduce_sum
from wengert.engine.ops.shape import concatenate, reshape, transpose
from wengert.engine.ops.special.error_and_gamma import root, root_of_order
from wengert.engine.primitive import Primitive
from wengert.numpy.reducing import all_, any_, count_nonzero, max_, reduce_over, sum_
from wengert.numpy.registry import floating, implements, integers, rank_of, strong

_NO_VALUE: Any = getattr(np, "_NoValue")  # noqa: B009 - NumPy's own mark, which it does not make public
# The named tuples of NumPy's results.
_EIG_RESULT: Any = type(np.linalg.eig(np.eye(1)))
_EIGH_RESULT: Any = type(np.linalg.eigh(np.eye(1)))
_QR_RESULT: Any = type(np.linalg.qr(np.eye(1)))
_SLOGDET_RESULT: Any = type(np.linalg.slogdet(np.eye(1)))
_SVD_RESULT: Any = type(np.linalg.svd(np.eye(1)))

# -- square matrices -------------------------------------------------------------------------------------


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    return square.inverse(floating(operand(a)))


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    a, b = floating(operand(a)), floating(operand(b))
    if rank_of(b) != 1:
        return square.solve(a, b)
    x = square.solve(a, reshape(b, shape=(*shape_of(b), 1)))
    return reshape(x, shape=shape_of(x)[:-1])


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Like NumPy's, this reads one triangle, so the derivative by the other is zero."""
    a = floating(operand(a))
    return adjoint(square.cholesky(adjoint(a))) if upper else square.cholesky(a)


implements(np.linalg.det)(lambda a: determinants.determinant(floating(operand(a))))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    a = floating(operand(a))
    return _SLOGDET_RESULT(determinants.determinant_sign(a), determinants.log_determinant(a))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = floating(operand(a)), floating(operand(b))
    if axes is not None:
        last = [axis_index("tensorsolve", axis, rank_of(a)) for axis in integers(axes)]
        order = [axis for axis in range(rank_of(a)) if axis not in last]
        a = transpose(a, permutation=(*order, *last))
    count = int(np.prod(shape_of(b)))
    shape = shape_of(a)[rank_of(b) :]
    if int(np.prod(shape)) != count:
        requirement = "a must be square over the axes of b and of the result"
        raise ShapeError(message("tensorsolve", requirement, show(a, b)))
    return reshape(solve(reshape(a, shape=(count, count)), reshape(b, shape=(count,))), shape=shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    a = floating(operand(a))
    into, of = shape_of(a)[:ind], shape_of(a)[ind:]
    rows, columns = int(np.prod(into)), int(np.prod(of))
    if ind <= 0 or rows != columns:
        requirement = f"a must be square over the first {ind} axes and the others"
        raise ShapeError(message("tensorinv", requirement, show(a)))
    return reshape(square.inverse(reshape(a, shape=(rows, columns))), shape=(*of, *into))


# -- norms -----------------------------------------------------------------------------------------------


def _over(primitive: Primitive, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    shape = shape_of(x)
    if primitive is reduce_max and any(shape[axis] == 0 for axis in axes):  # the norm of nothing is 0
        return np.zeros(keep_axes(shape, axes) if keepdims else drop_axes(shape, axes), dtype_of(x))
    return reduce_over(primitive, "norm", x, None, keepdims, axes)


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return ``(sum |x|^p)^(1/p)`` and its limits."""
    if ord is None or ord == 2:
        return root(_over(reduce_sum, squared_magnitude(x), axes, keepdims))
    if ord in (np.inf, -np.inf):
        return _over(reduce_max if ord > 0 else reduce_min, absolute(x), axes, keepdims)
    if ord == 0:
        return _over(reduce_sum, cast(not_equal(x, 0), dtype=real_dtype(dtype_of(x))), axes, keepdims)
    if ord == 1:
        return _over(reduce_sum, absolute(x), axes, keepdims)
    if isinstance(ord, str):
        raise ArgumentError(message("norm", "a vector's order must be a number", repr(ord)))
    total = _over(reduce_sum, power(smooth_magnitude(x, ord), float(ord)), axes, keepdims)
    if ord > 0:
        return root_of_order(total, float(ord))
    zero, number = equal(total, 0), dtype_of(total).type
    return where(zero, number(np.inf), power(where(zero, number(1), total), 1 / float(ord)))


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    rows, columns = axes
    shape = shape_of(x)
    if ord is None or ord == "fro":
        return _vector_norm(x, None, tuple(sorted(axes)), keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, taken = (rows, columns) if abs(ord) == 1 else (columns, rows)
        lines = _over(reduce_sum, absolute(x), (summed,), True)
        lines = _over(reduce_max if ord > 0 else reduce_min, lines, (taken,), True)
        return lines if keepdims else reshape(lines, shape=drop_axes(shape, axes))
    if ord not in (2, -2, "nuc"):
        requirement = "matrix norms have the orders None, 'fro', 'nuc', 1, -1, 2, -2, inf and -inf"
        raise ArgumentError(message("norm", requirement, repr(ord)))
    others = [axis for axis in range(len(shape)) if axis not in axes]
    values = decompositions.svdvals(transpose(x, permutation=(*others, rows, columns)))
    over = reduce_sum if ord == "nuc" else reduce_max if ord == 2 else reduce_min
    result = _over(over, values, (len(others),), False)
    return reshape(result, shape=keep_axes(shape, axes)) if keepdims else result


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The derivative is 0 where the norm is 0."""
    x = floating(operand(x))
    rank = rank_of(x)
    if axis is None:
        if ord is None:
            return _vector_norm(x, None, tuple(range(rank)), keepdims)
        if rank not in (1, 2):
            raise ShapeError(message("norm", "an order needs an array of one or two axes, or axis=", show(x)))
        axes = tuple(range(rank))
    else:
        axes = tuple(axis_index("norm", dim, rank) for dim in integers(axis))
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(message("norm", "one axis or two different ones are required", repr(axis)))
    return _matrix_norm(x, ord, (axes[0], axes[1]), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = floating(operand(x))
    rank = rank_of(x)
    named = range(rank) if axis is None else integers(axis)
    axes = tuple(sorted(axis_index("vector_norm", dim, rank) for dim in named))
    return _vector_norm(x, ord, axes, keepdims)


implements(np.linalg.matrix_norm)(lambda x, /, *, keepdims=False, ord="fro": norm(x, ord, (-2, -1), keepdims))


# -- symmetric matrices ----------------------------------------------------------------------------------


def _matrices(operation: str, x: Any) -> Any:
    """Return matrices in floating point."""
    x = floating(operand(x))
    if rank_of(x) < 2:
        raise ShapeError(message(operation, "an array of at least two axes is required", show(x)))
    return x


def _half(operation: str, UPLO: str) -> str:
    if str(UPLO).upper() not in ("L", "U"):
        raise ArgumentError(message(operation, 'UPLO must be "L" or "U"', repr(UPLO)))
    return UPLO.upper()


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Like NumPy's, this reads one triangle, so the derivative by the other is zero."""
    a = _matrices("eigh", a)
    values, vectors = parts(decompositions.eigh(a, half=_half("eigh", UPLO)), 1, shape_of(a)[-1])
    return _EIGH_RESULT(real(as_numbers(values)), vectors)


implements(np.linalg.eigvalsh)(
    lambda a, UPLO="L": decompositions.eigvalsh(_matrices("eigvalsh", a), half=_half("eigvalsh", UPLO))
)


# -- general matrices ------------------------------------------------------------------------------------


def real_if_known(*values: Any) -> tuple[Any, ...]:
    """Return the results for real matrices as NumPy does: real if all imaginary parts are known to be 0."""
    imaginary = concrete(values[0].imag)
    return tuple(x.real for x in values) if imaginary is not None and not np.any(imaginary) else values


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """Where values are not known, as in `wg.jit`, the result is complex; NumPy returns real arrays if they suffice."""
    a = _matrices("eig", a)
    values, vectors = parts(decompositions.eig(a), 1, shape_of(a)[-1])
    results = (as_numbers(values), vectors)
    return _EIG_RESULT(*(results if is_complex(dtype_of(a)) else real_if_known(*results)))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Where values are not known, as in `wg.jit`, the result is complex; NumPy returns a real array if it suffices."""
    a = _matrices("eigvals", a)
    values = decompositions.eigvals(a)
    return values if is_complex(dtype_of(a)) else real_if_known(values)[0]


# -- singular values -------------------------------------------------------------------------------------


def _hermitian_svd(a: Any) -> Any:
    """Return the factors by eigenvalues: their magnitudes, and eigenvectors with the signs on one side."""
    values, vectors = np.linalg.eigh(a)
    order = np.flip(np.argsort(np.abs(values), axis=-1), -1)
    values = np.take_along_axis(values, order, -1)
    rows = order[..., None, :] + np.zeros((shape_of(a)[-1], 1), int)
    vectors = np.take_along_axis(vectors, rows, -1)
    signs = np.where(np.equal(values, 0), 1, np.sign(values))
    return _SVD_RESULT(vectors, np.abs(values), adjoint(vectors * signs[..., None, :]))


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Vectors beyond the singular values have the derivative of the space that they span, and no other."""
    a = _matrices("svd", a)
    if not compute_uv:
        return decompositions.svdvals(symmetric(a) if hermitian else a)
    if hermitian:
        return _hermitian_svd(a)
    rows, columns = shape_of(a)[-2:]
    u, s, v = parts(decompositions.svd(a), rows, 1, columns)
    if full_matrices and rows > columns:
        u = completed(u, decompositions.complement(a, of="svd"))
    elif full_matrices and columns > rows:
        v = completed(v, decompositions.complement(a, of="svd"))
    return _SVD_RESULT(u, real(as_numbers(s)), placed(stacked, adjoint(v), (a,), {}))


implements(np.linalg.svdvals)(lambda x, /: decompositions.svdvals(_matrices("svdvals", x)))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Singular matrices raise an error in norms other than 2 and -2."""
    x = _matrices("cond", x)
    if not all(shape_of(x)[-2:]):
        raise ShapeError(message("cond", "matrices must not be empty", show(x)))
    if p not in (None, 2, -2):
        return norm(x, p, (-2, -1)) * norm(square.inverse(x), p, (-2, -1))
    values = decompositions.svdvals(x)
    largest, least = values[..., 0], values[..., -1]
    with np.errstate(all="ignore"):  # as NumPy does: the condition of a singular matrix is infinite
        ratio = least / largest if p == -2 else largest / least
    unknown = any_(isnan(x), axis=(-2, -1))
    return where(logical_and(isnan(ratio), logical_not(unknown)), np.inf, ratio)


def _tolerance(operation: str, shape: Any, dtype: Any, rtol: Any) -> float:
    """Return the fraction of the largest singular value up to which one counts as 0; by default from the precision."""
    if rtol is None:
        return max(shape[-2:]) * float(np.finfo(dtype).eps)
    value = concrete(rtol)
    if value is None:
        hint = "name it in static_argnums of wg.jit, or compute it outside"
        raise ConcreteError(message(operation, "the tolerance must be known", show(rtol), advised(hint)))
    if np.ndim(value) or not np.issubdtype(np.asarray(value).dtype, np.number):
        raise ArgumentError(message(operation, "the tolerance must be a number", repr(rtol)))
    return float(value)


def _rank(values: Any, tolerance: float) -> Any:
    """Count the singular values above a fraction of the largest."""
    return count_nonzero(greater(values, max_(values, -1, keepdims=True, initial=0) * tolerance), -1)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    a = stop_gradient(floating(operand(A)))
    if tol is not None and rtol is not None:
        raise ArgumentError(message("matrix_rank", "only one of tol and rtol can be given"))
    if rank_of(a) < 2:
        return cast(logical_not(all_(equal(a, 0))), dtype=INT64)
    values = decompositions.svdvals(symmetric(a) if hermitian else a)
    if tol is None:
        return _rank(values, _tolerance("matrix_rank", shape_of(a), dtype_of(a), rtol))
    return count_nonzero(greater(values, reshape(operand(tol), shape=(*shape_of(tol), 1))), -1)


# -- pseudoinverse and least squares ---------------------------------------------------------------------


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NO_VALUE) -> Any:
    """The derivative holds where the rank is the same nearby."""
    a = _matrices("pinv", a)
    if rcond is None:
        rcond = 1e-15 if rtol is _NO_VALUE else rtol
    elif rtol is not _NO_VALUE:
        raise ArgumentError(message("pinv", "only one of rcond and rtol can be given"))
    if np.ndim(each := rcond if concrete(rcond) is None else concrete(rcond)):  # one for each matrix
        *leading, rows, columns = shape_of(a)
        if list(np.shape(each)) != leading:
            requirement = "the tolerance must be a number, or one for each matrix"
            raise ArgumentError(message("pinv", requirement, f"{show(a)}, {each!r}"))
        pairs = zip(a.reshape((-1, rows, columns)), np.ravel(each).tolist(), strict=True)
        inverses = [pinv(matrix, relative, hermitian) for matrix, relative in pairs]
        return np.stack(inverses).reshape((*leading, columns, rows))
    cutoff = _tolerance("pinv", shape_of(a), dtype_of(a), rcond)
    return decompositions.pinv(symmetric(a) if hermitian else a, rcond=cutoff)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """A rank that is not known counts as full: NumPy omits the residuals where it is less."""
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
    tolerance = _tolerance("lstsq", (rows, columns), dtype_of(a), rcond)
    tolerance = tolerance if tolerance >= 0 else float(np.finfo(dtype_of(a)).eps)
    x = decompositions.lstsq(a, right, rcond=tolerance)
    misfit = right - multiply(a, x)
    residuals = sum_(squared_magnitude(misfit), 0) if rows > columns else np.zeros(0, real_dtype(dtype_of(x)))
    values = decompositions.svdvals(a)
    rank = cast(_rank(values, tolerance), dtype=np.dtype(np.int32))
    plain_rank = concrete(rank)
    if plain_rank is not None and plain_rank < columns:
        residuals = residuals[:0]
    return x if rank_of(b) == 2 else reshape(x, shape=(columns,)), residuals, rank, values


# -- orthogonal and triangular factors -------------------------------------------------------------------


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Supports all modes but "raw". Columns beyond the triangle have the derivative of the space that they span.

    A derivative requires that the first columns, as many as there are rows, are linearly independent.
    """
    a = _matrices("qr", a)
    rows, columns = shape_of(a)[-2:]
    if mode not in ("reduced", "r", "complete"):
        requirement = 'modes "reduced", "complete" and "r" are supported'
        raise UnsupportedError(message("qr", requirement, f"{mode!r}, {show(a)}"))
    count = min(rows, columns)
    q, r = parts(decompositions.qr(a[..., :count]), rows, count)
    if columns > rows:
        r = concatenate(r, multiply(adjoint(q), a[..., count:]), axis=rank_of(a) - 1)
    if mode == "complete" and rows > columns:
        q = completed(q, decompositions.complement(a, of="qr"))
        r = concatenate(
            r, np.zeros((*shape_of(r)[:-2], rows - columns, columns), dtype_of(r)), axis=rank_of(a) - 2
        )
    r = placed(stacked, r, (a,), {})
    return r if mode == "r" else _QR_RESULT(q, r)
