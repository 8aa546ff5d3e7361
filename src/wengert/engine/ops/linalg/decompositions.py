"""Factors of matrices, stacked along leading axes: eigenvalues, singular values, Q and R; and least squares.

An operation has one result, so its factors stand above one another in it, and `parts` separates them.

Eigenvectors of equal eigenvalues are an arbitrary basis of a subspace, so they have no derivative: ``1 / (w_j - w_i)``
is infinite. It multiplies only the cotangent of the vectors, and 0 times it is 0: eigenvalues, singular values, their
sums and norms have derivatives at ties too (for each value, the derivative for the vectors found). A program that needs
the derivative of the vectors at a tie gets numbers that are not finite. Singular values are magnitudes: their
derivative at 0 is 0. Pseudoinverses are differentiated as if the number of nonzero singular values were constant.

Sources: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008);
Townsend, "Differentiating the singular value decomposition" (2016); Walter, Lehmann and Lamour, "On evaluating
higher-order derivatives of the QR decomposition" (2012); Golub and Pereyra, "The differentiation of pseudo-inverses
and nonlinear least squares problems whose variables separate" (1973).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from wengert.engine.core.dtypes import Dtype, complex_dtype, dtype_of, is_complex, real_dtype
from wengert.engine.core.errors import GapWarning, ShapeError, message
from wengert.engine.core.shapes import Shape, broadcast, shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.memory import placed, stacked
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import multiply_no_nan, reciprocal, squared_magnitude
from wengert.engine.ops.comparison import equal, greater, logical_and, logical_not, where
from wengert.engine.ops.complex import from_parts, imag, real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.kinks import known_numbers
from wengert.engine.ops.linalg.square import (
    adjoint,
    check_matrices,
    check_square,
    floating_dtype,
    identity_elsewhere,
    inner,
    lower,
    multiply,
    solve,
    swapped,
    symmetric,
)
from wengert.engine.ops.linalg.triangular import solve_triangular
from wengert.engine.ops.reduction import argmax, reduce_max, reduce_sum
from wengert.engine.ops.shape import concatenate, reshape, slice_, whole
from wengert.engine.primitive import Draw, Explicit, NonDifferentiable, Primitive, Samples, primitive


def parts(matrix: Any, *rows: int) -> list[Any]:
    """Return the factors stacked in one matrix, given the number of rows of each."""
    start, factors = 0, list[Any]()
    for count in rows:
        index = whole(shape_of(matrix))
        index[-2] = (start, count, 1)
        factors.append(placed(stacked, slice_(matrix, index=tuple(index)), (matrix,), {}))
        start += count
    return factors


def as_row(values: Any) -> Any:
    """Return a vector as a matrix of one row."""
    *lead, count = shape_of(values)
    return reshape(values, shape=(*lead, 1, count))


def as_numbers(row: Any) -> Any:
    """Return a matrix of one row as a vector."""
    *lead, _, count = shape_of(row)
    return placed(stacked, reshape(row, shape=(*lead, count)), (row,), {})


def _stacked(*factors: Any) -> Any:
    return concatenate(*factors, axis=len(shape_of(factors[0])) - 2)


def _inverse_off_diagonal(x: Any) -> Any:
    """Return ``1 / x`` off the diagonal, and 0 on it."""
    is_diagonal, number = np.eye(shape_of(x)[-1], dtype=bool), dtype_of(x).type
    return where(is_diagonal, number(0), _inverse(where(is_diagonal, number(1), x)))


def _check_gaps(operation: str, values: Any) -> None:
    """Warn where values that are known differ by a rounding error, by which derivatives of vectors divide."""
    numbers = known_numbers(values)
    if numbers is None or np.shape(numbers)[-1] < 2:
        return
    magnitude = np.max(np.abs(numbers), axis=-1, initial=0.0)[..., None, None]
    gaps = np.abs(numbers[..., :, None] - numbers[..., None, :])
    error = 8 * np.finfo(real_dtype(dtype_of(numbers))).eps * magnitude
    lost = (gaps > 0) & (gaps <= error)
    if operation == "svd":  # vectors of a null space are a choice
        lost &= np.abs(numbers)[..., None] > error
    if np.any(lost):
        requirement = (
            "values lie closer together than their errors, and derivatives of their vectors have no digit"
        )
        hint = "wg.linalg.spectral_projector and wg.linalg.matrix_function have exact derivatives"
        text = message(operation, requirement, f"a gap of {np.min(gaps[lost]):.1e}", hint)
        warnings.warn(text, GapWarning, stacklevel=2)


def _inverse(x: Any) -> Any:
    """Return ``1 / x`` without a warning at 0, as a factor for `multiply_no_nan`."""
    with np.errstate(divide="ignore"):
        return reciprocal(x)


def _stated(
    name: str,
    doc: str,
    shape: Callable[[TensorType], Shape],
    evaluate: Callable[..., Any],
    tangent: Callable[..., Any],
    source: str,
    samples: Samples,
    check: Callable[[str, TensorType], None] = check_matrices,
    result: Callable[[Dtype], Dtype] = lambda dtype: dtype,
) -> Primitive:
    """State a factorisation; ``tangent(a, da, out, **params)`` is the tangent of its result."""

    def rule(a: TensorType, **params: Any) -> TensorType:
        check(name, a)
        return TensorType(result(floating_dtype(a)), (*a.shape[:-2], *shape(a)))

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=Explicit(
            lambda primals, tangents, out, **params: tangent(*primals, *tangents, out, **params)
        ),
        batch=batch_elementwise,
        lowering=OnHost("LAPACK computes it"),
        source=source.format,
        samples=samples,
        memory=stacked,
        unchecked=identity_elsewhere,
    )


# -- eigenvalues of symmetric matrices -------------------------------------------------------------------


def _eigvalsh(a: Any, half: Literal["L", "U"]) -> Any:  # files are checked by its annotations
    return np.linalg.eigvalsh(a, half)


def _eigh(a: Any, half: Literal["L", "U"]) -> Any:
    values, vectors = np.linalg.eigh(a, half)
    return _stacked(as_row(values), vectors)


def _eigh_tangent(a: Any, da: Any, out: Any, half: Any) -> Any:
    """Return ``dw = diag S`` and ``dV = V (S_ij / (w_j - w_i))``, for ``S = V^H dA V``."""
    values, vectors = parts(out, 1, shape_of(a)[-1])
    values, image = real(values), multiply(symmetric(da, half), vectors)
    _check_gaps("eigh", as_numbers(values))
    turned = multiply_no_nan(
        multiply(adjoint(vectors), image), _inverse_off_diagonal(values - swapped(values))
    )
    return _stacked(as_row(real(inner(vectors, image))), multiply(vectors, turned))


def _eigvalsh_tangent(a: Any, da: Any, out: Any, half: Any) -> Any:
    """Return ``dw_i = v_i^H dA v_i``."""
    _, vectors = parts(eigh(a, half=half), 1, shape_of(a)[-1])
    return inner(vectors, multiply(symmetric(da, half), vectors))


def _apart(draw: Draw, rows: int, columns: int) -> Any:
    """Draw matrices whose eigenvalues, singular values and columns lie apart."""
    lead = draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, columns), -0.5, 0.5) + 3 * np.eye(rows, columns) * np.arange(
        1, columns + 1
    )


def _square(draw: Draw) -> Any:
    rows = draw.integer(1, 4)
    return (_apart(draw, rows, rows),), {"half": draw.choice("LU")}


eigh = _stated(
    "eigh",
    "the eigenvalues of symmetric matrices, ascending, as a row above their eigenvectors, which are columns; only "
    "one half of each matrix is read",
    lambda a: (a.shape[-1] + 1, a.shape[-1]),
    _eigh,
    _eigh_tangent,
    "stacked_eigh({0}, {half!r})",
    _square,
    check_square,
)
eigvalsh = _stated(
    "eigvalsh",
    "the eigenvalues of symmetric matrices, ascending; only one half of each matrix is read",
    lambda a: a.shape[-1:],
    _eigvalsh,
    _eigvalsh_tangent,
    "np.linalg.eigvalsh({0}, {half!r})",
    _square,
    check_square,
    real_dtype,
)

# -- eigenvalues of general matrices ----------------------------------------------------------------------


def _eig(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    stacked = _stacked(as_row(values), vectors)
    return stacked.astype(complex_dtype(stacked.dtype), copy=False)


def _over_rows(primitive_: Primitive, x: Any) -> Any:
    """Return the reduction of each column, as a row."""
    return as_row(primitive_(x, axes=(len(shape_of(x)) - 2,)))


def _eig_tangent(a: Any, da: Any, out: Any) -> Any:
    """Return ``dw = diag M`` and ``dV = V (M_ij / (w_j - w_i)) - V diag c``, for ``M = V^-1 dA V``.

    LAPACK makes each vector one of length 1 with a real largest component; c keeps both.
    """
    values, vectors = parts(out, 1, shape_of(a)[-1])
    if not shape_of(a)[-1]:
        return out
    _check_gaps("eig", as_numbers(values))
    turned = solve(vectors, multiply(da, vectors))
    moved = multiply(vectors, multiply_no_nan(turned, _inverse_off_diagonal(values - swapped(values))))
    # Of several components of one magnitude LAPACK makes the first real.
    magnitude = where(equal(imag(vectors), 0), squared_magnitude(vectors), -1.0)
    first = as_row(argmax(magnitude, axis=len(shape_of(magnitude)) - 2))
    is_first = equal(np.arange(shape_of(a)[-1])[:, None], first)
    component = _over_rows(reduce_sum, where(is_first, real(vectors), 0.0))
    phase = _over_rows(reduce_sum, where(is_first, imag(moved), 0.0)) / component
    change = from_parts(real(as_row(inner(vectors, moved))), phase)
    return _stacked(_diagonal_row(turned), moved - vectors * change)


def _diagonal_row(a: Any) -> Any:
    """Return the diagonals of square matrices as rows."""
    return _over_rows(reduce_sum, where(np.eye(shape_of(a)[-1], dtype=bool), a, 0.0))


def _eigvals_tangent(a: Any, da: Any, out: Any) -> Any:
    """Return ``dw = diag V^-1 dA V``."""
    _, vectors = parts(eig(a), 1, shape_of(a)[-1])
    return as_numbers(_diagonal_row(solve(vectors, multiply(da, vectors))))


def _general(draw: Draw) -> Any:
    return (_square(draw)[0][0],), {}


eig = _stated(
    "eig",
    "the eigenvalues of square matrices, complex, as a row above their eigenvectors: columns of length 1 with "
    "a real largest component",
    lambda a: (a.shape[-1] + 1, a.shape[-1]),
    _eig,
    _eig_tangent,
    "stacked_eig({0})",
    _general,
    check_square,
    complex_dtype,
)
eigvals = _stated(
    "eigvals",
    "the eigenvalues of square matrices, complex",
    lambda a: a.shape[-1:],
    lambda a: np.linalg.eigvals(a) + 0j,
    _eigvals_tangent,
    "(np.linalg.eigvals({0}) + 0j)",
    _general,
    check_square,
    complex_dtype,
)

# -- singular values -------------------------------------------------------------------------------------


def _svd(a: Any) -> Any:
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return _stacked(u, as_row(s), adjoint(vt))


def _svd_tangent(a: Any, da: Any, out: Any) -> Any:
    """Differentiate ``A = U diag(s) V^H``.

    With ``M = U^H dA V``, its Hermitian part over ``s_j - s_i`` as X and its skew part over ``s_j + s_i`` as Y::

        ds = diag Re M
        dU = U (X + Y) + (1 - U U^H) dA V / s
        dV = V (X - Y) + (1 - V V^H) dA^H U / s

    The phases of a pair of complex vectors are a choice: they turn by opposite angles.
    """
    rows, columns = shape_of(a)[-2:]
    u, s, v = parts(out, rows, 1, columns)
    s, image = real(s), multiply(da, v)
    _check_gaps("svd", as_numbers(s))
    turned = multiply(adjoint(u), image)
    even, odd = (turned + adjoint(turned)) * 0.5, (turned - adjoint(turned)) * 0.5
    even = multiply_no_nan(even, _inverse_off_diagonal(s - swapped(s)))
    # The diagonal of a real skew part is 0.
    over_sum = _inverse if is_complex(dtype_of(out)) else _inverse_off_diagonal
    odd = multiply_no_nan(odd, over_sum(s + swapped(s)))
    du, dv = multiply(u, even + odd), multiply(v, even - odd)
    if rows > columns:
        du = du + multiply_no_nan(image - multiply(u, turned), _inverse(s))
    if columns > rows:
        image_of_u = multiply(adjoint(da), u)
        dv = dv + multiply_no_nan(image_of_u - multiply(v, adjoint(turned)), _inverse(s))
    return _stacked(du, as_row(_of_values(as_numbers(s), u, image)), dv)


def _of_values(s: Any, u: Any, image: Any) -> Any:
    """Return ``Re u_i^H dA v_i``; 0 for a singular value of 0, the corner of a magnitude."""
    return where(equal(s, 0), dtype_of(s).type(0), real(inner(u, image)))


def _svdvals_tangent(a: Any, da: Any, out: Any) -> Any:
    """Return ``ds_i = Re u_i^H dA v_i``."""
    rows, columns = shape_of(a)[-2:]
    u, _, v = parts(svd(a), rows, 1, columns)
    return _of_values(out, u, multiply(da, v))


def _rectangular(draw: Draw) -> Any:
    return (_apart(draw, draw.integer(1, 4), draw.integer(1, 4)),), {}


svd = _stated(
    "svd",
    "the factors of A = U diag(s) V^H above one another: U, the singular values as a row, descending, and V",
    lambda a: (a.shape[-2] + 1 + a.shape[-1], min(a.shape[-2:])),
    _svd,
    _svd_tangent,
    "stacked_svd({0})",
    _rectangular,
)
svdvals = _stated(
    "svdvals",
    "the singular values, descending",
    lambda a: (min(a.shape[-2:]),),
    lambda a: np.linalg.svd(a, compute_uv=False),
    _svdvals_tangent,
    "np.linalg.svd({0}, compute_uv=False)",
    _rectangular,
    result=real_dtype,
)


def _complement(a: Any, of: str) -> Any:
    rows, columns = a.shape[-2:]
    if of == "qr":
        return np.linalg.qr(a, "complete")[0][..., columns:]
    u, _, vt = np.linalg.svd(a, full_matrices=True)
    return u[..., columns:] if rows > columns else adjoint(vt[..., rows:, :])


def _complement_type(a: TensorType, of: str) -> TensorType:
    check_matrices("complement", a)
    longer, shorter = max(a.shape[-2:]), min(a.shape[-2:])
    return TensorType(floating_dtype(a), (*a.shape[:-2], longer, longer - shorter))


def _not_square(draw: Draw) -> Any:
    rows = draw.integer(1, 4)
    return (_apart(draw, rows + draw.integer(1, 2), rows),), {"of": draw.choice(["svd", "qr"])}


complement = primitive(
    name="complement",
    doc="the columns that complete Q, or the longer one of U and V, of matrices that are not square",
    type_rule=_complement_type,
    evaluate=_complement,
    derivative=NonDifferentiable(
        "a basis is a choice: `completed` adds the derivative of the space that it spans"
    ),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="complement({0}, {of!r})".format,
    samples=_not_square,
    unchecked=identity_elsewhere,
)


def completed(vectors: Any, added: Any) -> Any:
    """Append to orthonormal columns a complement, with the derivative of the space that it spans.

    The added columns move by ``-vectors vectors^H d added``, and do not turn within their space. So functions of the
    space have their derivative, and single columns have none. A step of Newton and Schulz keeps the columns orthonormal
    in derivatives up to the third.
    """
    moved = added - multiply(vectors, multiply(adjoint(vectors), added))
    step = 1.5 * np.eye(shape_of(added)[-1]) - 0.5 * multiply(adjoint(moved), moved)
    step = cast(step, dtype=dtype_of(vectors))
    return concatenate(vectors, multiply(moved, step), axis=len(shape_of(vectors)) - 1)


# -- orthogonal and triangular ---------------------------------------------------------------------------


def _check_tall(operation: str, a: TensorType) -> None:
    check_matrices(operation, a)
    if a.shape[-2] < a.shape[-1]:
        raise ShapeError(message(operation, "as many rows as columns are required", show(a)))


def _qr(a: Any) -> Any:
    return _stacked(*np.linalg.qr(a))


def _qr_tangent(a: Any, da: Any, out: Any) -> Any:
    """Return ``dQ = dA R^-1 + Q (W - M)`` and ``dR = (M - W) R`` for ``M = Q^H dA R^-1``.

    W is skew-Hermitian; below the diagonal, and in the imaginary part of the diagonal, it equals M: that of R is real.
    """
    q, r = parts(out, *shape_of(a)[-2:])
    quotient = swapped(solve_triangular(swapped(r), swapped(da), lower=True, unit=False))
    turned = multiply(adjoint(q), quotient)
    below = lower(turned, -1)
    upper = turned - below + adjoint(below)
    if is_complex(dtype_of(out)):
        upper = where(np.eye(shape_of(r)[-1], dtype=bool), real(upper), upper)
    return _stacked(quotient - multiply(q, upper), multiply(upper, r))


def _tall(draw: Draw) -> Any:
    columns = draw.integer(1, 4)
    rows = max(2, columns + draw.integer(0, 2))  # the Q of a number is a sign
    return (_apart(draw, rows, columns),), {}


qr = _stated(
    "qr",
    "the factors of A = Q R above one another: Q with orthonormal columns, and R upper triangular; no fewer rows than "
    "columns",
    lambda a: (a.shape[-2] + a.shape[-1], a.shape[-1]),
    _qr,
    _qr_tangent,
    "np.concatenate(np.linalg.qr({0}), -2)",
    _tall,
    _check_tall,
)

# -- pseudoinverses and least squares -----------------------------------------------------------------------

_ROUNDING = 1e4
"""Cut-off singular values below this number of units in the last place are rounding errors, and ignored."""


def _pinv_type(a: TensorType, rcond: float) -> TensorType:
    check_matrices("pinv", a)
    return TensorType(floating_dtype(a), (*a.shape[:-2], a.shape[-1], a.shape[-2]))


def _pinv_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, rcond: float) -> Any:
    """Return ``dP = P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P - P dA P``."""
    a, da, p = primals[0], tangents[0], out
    back, normal = adjoint(da), adjoint(p)
    into = multiply(multiply(p, normal), back - multiply(multiply(back, a), p))
    beside = multiply(multiply(back - multiply(multiply(p, a), back), normal), p)
    return _with_cut(into + beside - multiply(multiply(p, da), p), a, da, rcond)


def _with_cut(tangent: Any, a: Any, da: Any, rcond: float, right: Any = None) -> Any:
    """Correct ``dP``, or ``dP b``, for nonzero singular values that are cut off.

    Between a value ``s`` that is kept and a value ``t`` that is cut off, the Hermitian part of ``U^H dA V`` has the
    weight ``1 / (s (s - t))`` and the skew part ``1 / (s (s + t))``, instead of ``1 / s^2`` (Noferini, "A formula for
    the Frechet derivative of a generalized matrix function", 2017).
    """
    rows, columns = shape_of(a)[-2:]
    if rcond <= _ROUNDING * np.finfo(dtype_of(tangent)).eps or not (rows and columns):
        return tangent
    u, t, v = parts(svd(a), rows, 1, columns)
    t = real(t)
    largest = reduce_max(t, axes=(len(shape_of(t)) - 1,))
    retained = greater(t, reshape(largest, shape=(*shape_of(largest), 1)) * rcond)
    s, between = swapped(t), logical_and(swapped(retained), logical_not(retained))
    s, t = where(between, s, dtype_of(t).type(1)), where(between, t, 0)
    turned = multiply(multiply(adjoint(u), da), v)
    even = _symmetric_part(where(between, 1 / (s * (s - t)) - 1 / (s * s), 0)) * (turned + adjoint(turned))
    odd = _symmetric_part(where(between, 1 / (s * (s + t)) - 1 / (s * s), 0)) * (turned - adjoint(turned))
    change = multiply(multiply(v, adjoint(even + odd)), adjoint(u)) * 0.5
    return tangent + (change if right is None else multiply(change, right))


def _symmetric_part(x: Any) -> Any:
    """Return ``x + x^T``."""
    return x + swapped(x)


def _draw(draw: Draw) -> Any:
    rows, columns, lead = draw.integer(1, 4), draw.integer(1, 4), draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, columns), -0.5, 0.5) + 2 * np.eye(rows, columns)


pinv = primitive(
    name="pinv",
    doc="the pseudoinverse of matrices; singular values up to rcond times the largest count as 0",
    type_rule=_pinv_type,
    evaluate=np.linalg.pinv,
    derivative=Explicit(_pinv_tangent),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="np.linalg.pinv({0}, {rcond!r})".format,
    samples=lambda draw: ((_draw(draw),), {"rcond": 1e-12}),
    unchecked=identity_elsewhere,
)


def _lstsq_type(a: TensorType, b: TensorType, rcond: float) -> TensorType:
    check_matrices("lstsq", a, b)
    if a.shape[-2] != b.shape[-2]:
        raise ShapeError(
            message("lstsq", "the right-hand side must have a row for each equation", show(a, b))
        )
    lead = broadcast("lstsq", a.shape[:-2], b.shape[:-2])
    return TensorType(floating_dtype(a, b), (*lead, a.shape[-1], b.shape[-1]))


def _lstsq(a: Any, b: Any, rcond: float) -> Any:
    result = _lstsq_type(type_of(a), type_of(b), rcond)
    lead, x = result.shape[:-2], np.empty(result.shape, result.dtype)
    a, b = (np.broadcast_to(operand, lead + np.shape(operand)[-2:]) for operand in (a, b))
    for position in np.ndindex(lead):
        x[position] = np.linalg.lstsq(a[position], b[position], rcond)[0]
    return x


def _lstsq_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, rcond: float) -> Any:
    """Return ``dx = P (db - dA x) + P P^H dA^H (b - A x) + (1 - P A) dA^H P^H x``, for the pseudoinverse P of A."""
    (a, b), (da, db), x = primals, tangents, out
    p = pinv(a, rcond=rcond)
    if da is None:
        return multiply(p, db)
    back, normal = adjoint(da), adjoint(p)
    beside = multiply(back, multiply(normal, x))
    moved = multiply(p, multiply(normal, multiply(back, b - multiply(a, x))) - multiply(da, x))
    moved = _with_cut(moved + beside - multiply(p, multiply(a, beside)), a, da, rcond, b)
    return moved if db is None else moved + multiply(p, db)


def _draw_equations(draw: Draw) -> Any:
    a = _draw(draw)
    lead = draw.choice([a.shape[:-2], ()])
    return (a, draw.array((*lead, a.shape[-2], draw.integer(1, 2)))), {"rcond": 1e-12}


lstsq = primitive(
    name="lstsq",
    doc="the x of least norm among those that make the sum of squares of b - a x least; singular values up to rcond "
    "times the largest count as 0; the leading axes broadcast",
    type_rule=_lstsq_type,
    evaluate=_lstsq,
    derivative=Explicit(_lstsq_tangent),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="stacked_lstsq({0}, {1}, {rcond!r})".format,
    samples=_draw_equations,
    unchecked=identity_elsewhere,
)
