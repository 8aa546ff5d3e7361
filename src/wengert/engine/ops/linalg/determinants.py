"""Determinants of square matrices, stacked along leading axes, and their derivatives: the cofactors.

A determinant is a polynomial of the elements, and so are its derivatives: singular matrices have them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.shapes import shape_of
from wengert.engine.kernels import minors as kernels_of_minors
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import floor
from wengert.engine.ops.comparison import greater, isfinite, less_equal, logical_and, where
from wengert.engine.ops.complex import conjugate, from_parts, imag, real
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp2, log2
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.linalg import unrolled as unrolled
from wengert.engine.ops.linalg.decompositions import as_numbers, parts, svd
from wengert.engine.ops.linalg.square import adjoint, by_lapack, inverse, multiply, on_squares, swapped
from wengert.engine.ops.reduction import reduce_all, reduce_max, reduce_sum
from wengert.engine.ops.shape import concatenate, reshape, slice_, transpose, whole
from wengert.engine.primitive import Explicit

_SHORT = 3  # rows up to which a determinant is differentiated by its minors
_FEW = 8  # rows up to which it is differentiated twice by them
_NULL = (
    4  # of more rows, singular values that may be 0 at once: with more, derivatives up to this order are 0
)


def _of_each_minor(a: Any, function: Callable[[Any], Any]) -> Any:
    """Return a function of the matrix that is left without row i and column j, for each i and j."""
    rows, lead = shape_of(a)[-1], len(shape_of(a)) - 2
    others = np.array([[k for k in range(rows) if k != skipped] for skipped in range(rows)], dtype=np.int64)
    first = transpose(a, permutation=(lead, lead + 1, *range(lead)))
    others = others.reshape(rows, max(rows - 1, 0))
    minors = gather(first, others[:, None, :, None], others[None, :, None, :])
    return function(transpose(minors, permutation=(*range(4, lead + 4), 0, 1, 2, 3)))


def _signs(a: Any) -> Any:
    rows = shape_of(a)[-1]
    return (-1.0) ** np.add.outer(np.arange(rows), np.arange(rows)).astype(dtype_of(a))


def _gradient(a: Any) -> Any:
    """Return the derivative of the determinant: the cofactors, by minors where these are short."""
    if shape_of(a)[-1] > _SHORT:
        return cofactors(a)
    return _of_each_minor(a, determinant) * _signs(a)


def _change_of_minors(a: Any, da: Any) -> Any:
    """Return the change of each minor of few rows, with sign."""
    changes = _of_each_minor(a, _gradient) * _of_each_minor(da, lambda minors: minors)
    return _over_matrix(changes) * _signs(a)


def _cofactors_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Return the change of the cofactors: of each minor, or for many rows of those between singular vectors."""
    (a,), (da,) = primals, tangents
    rows = shape_of(a)[-1]
    if rows <= _FEW:
        return _change_of_minors(a, da)
    known = _as_matrix(reduce_all(isfinite(a), axes=(len(shape_of(a)) - 2, len(shape_of(a)) - 1)))
    a = where(known, a, np.eye(rows, dtype=dtype_of(a)))
    u, s, v = map(stop_gradient, parts(svd(a), rows, 1, rows))
    s = real(s)
    size = _size(as_numbers(s))
    m, dm = (multiply(multiply(adjoint(u), x), v) for x in (a / size, da))
    first, last = (_section(s, (0, 1), (place, 1)) for place in (0, rows - _NULL - 1))
    is_null = less_equal(last, first * (rows * np.finfo(dtype_of(s)).eps))
    m = where(is_null, np.eye(rows, dtype=dtype_of(a)), m)
    change = where(known, where(is_null, 0.0, _change_by_blocks(m, dm)), np.nan)
    sign = reshape(determinant(u) * conjugate(determinant(v)), shape=(*shape_of(a)[:-2], 1, 1))
    powers = rows - 2
    change = multiply(multiply(conjugate(u), sign * change), swapped(v))
    return change * size ** (powers // 2) * size ** (powers - powers // 2)


def _size(s: Any) -> Any:
    """Return the power of two below the largest singular value: relative to it, determinants rarely overflow."""
    *lead, _ = shape_of(s)
    largest = reduce_max(s, axes=(len(lead),))
    largest = where(logical_and(greater(largest, 0.0), isfinite(largest)), largest, 1.0)
    return reshape(exp2(floor(log2(largest))), shape=(*lead, 1, 1))


def _change_by_blocks(m: Any, dm: Any) -> Any:
    """Return the change of the cofactors of matrices whose small singular values are those of the last block.

    With the blocks ``P, B; C, D`` of M, and ``Q = D - C P^-1 B``, ``det M = det P det Q``. P has an inverse. Q is small
    where M is singular, and has few rows: its cofactors K are minors. The cofactors of M are

        [det P det Q P^-T + (C P^-1)^T det P K (P^-1 B)^T,   -(C P^-1)^T det P K;   -det P K (P^-1 B)^T,   det P K]
    """
    (p, b, c, d), (dp, db, dc, dd) = _blocks(m), _blocks(dm)
    x = inverse(p)
    right, left = multiply(x, b), multiply(c, x)
    dx = -multiply(multiply(x, dp), x)
    dright, dleft = multiply(x, db - multiply(dp, right)), multiply(dc - multiply(left, dp), x)
    q, dq = d - multiply(c, right), dd - multiply(dc, right) - multiply(left, db - multiply(dp, right))
    of_p, of_q, minors = _as_matrix(determinant(p)), _as_matrix(determinant(q)), _gradient(q)
    dof_p = of_p * _as_matrix(_over_matrix(swapped(x) * dp))
    dof_q = _as_matrix(_over_matrix(minors * dq))
    k, dk = of_p * minors, dof_p * minors + of_p * _change_of_minors(q, dq)
    right, left, dright, dleft = map(swapped, (right, left, dright, dleft))
    first = (dof_p * of_q + of_p * dof_q) * swapped(x) + of_p * of_q * swapped(dx)
    first = (
        first + multiply(multiply(dleft, k) + multiply(left, dk), right) + multiply(multiply(left, k), dright)
    )
    second = -multiply(dleft, k) - multiply(left, dk)
    third = -multiply(dk, right) - multiply(k, dright)
    rank = len(shape_of(m))
    above, below = (concatenate(*pair, axis=rank - 1) for pair in ((first, second), (third, dk)))
    return concatenate(above, below, axis=rank - 2)


def _blocks(m: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four blocks of matrices, of which the last one has few rows."""
    first = shape_of(m)[-1] - _NULL
    ends = (0, first), (first, _NULL)
    above, below = ([_section(m, rows, columns) for columns in ends] for rows in ends)
    return (*above, *below)


def _section(m: Any, rows: tuple[int, int], columns: tuple[int, int]) -> Any:
    """Return rows and columns of stacked matrices, each from a start and as many as a count."""
    index = [*whole(shape_of(m))[:-2], (*rows, 1), (*columns, 1)]
    return slice_(m, index=tuple(index))


def _as_matrix(numbers: Any) -> Any:
    return reshape(numbers, shape=(*shape_of(numbers), 1, 1))


cofactors = on_squares(
    "cofactors",
    kernels_of_minors.cofactors,
    OnHost("LAPACK computes it"),
    "the determinants of what is left without row i and column j, with sign: det(A) A^-T, and its limit for singular A",
    Explicit(_cofactors_tangent),
    "cofactors({0})",
    False,
)


def _over_matrix(product_: Any) -> Any:
    rank = len(shape_of(product_))
    return reduce_sum(product_, axes=(rank - 2, rank - 1))


determinant = on_squares(
    "determinant",
    np.linalg.det,
    by_lapack(unrolled.determinant),
    "the determinant; the first two derivatives are exact for singular matrices, too",
    Explicit(lambda primals, tangents, out: _over_matrix(_gradient(primals[0]) * tangents[0])),
    "np.linalg.det({0})",
    True,
)
log_determinant = on_squares(
    "log_determinant",
    lambda x: np.linalg.slogdet(x)[1],
    by_lapack(unrolled.log_determinant),
    "ln |det A|, without overflow",
    Explicit(lambda primals, tangents, out: _over_matrix(swapped(inverse(primals[0])) * tangents[0])),
    "np.linalg.slogdet({0})[1]",
    True,
    is_real=True,
)


def _determinant_sign_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Return ``i s Im tr(A^-1 dA)``; zero for real matrices, whose sign is constant between singular ones."""
    if not is_complex(dtype_of(out)):
        return None
    turned = _over_matrix(swapped(inverse(primals[0])) * tangents[0])
    return out * from_parts(0.0, imag(turned))


determinant_sign = on_squares(
    "determinant_sign",
    lambda x: np.linalg.slogdet(x)[0],
    by_lapack(unrolled.determinant_sign),
    "det A / |det A|; of a real matrix the sign, which is constant between singular matrices",
    Explicit(_determinant_sign_tangent),
    "np.linalg.slogdet({0})[0]",
    True,
)
