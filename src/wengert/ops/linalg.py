"""Square matrices, stacked along leading axes: inverse, solution of equations, Cholesky factor, determinant.

The tangents are written with operations that are linear in them, so that reverse mode can transpose them (Giles,
"Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import dtype_of
from wengert.core.errors import ShapeError, message
from wengert.core.shapes import broadcast, shape_of
from wengert.ir.types import TensorType, show, type_of
from wengert.kernels import cholesky as kernels
from wengert.nest.lowering import Expansion, OnHost
from wengert.ops import small
from wengert.ops.indexing import gather
from wengert.ops.matrices import (
    batch,
    check_matrices,
    check_square,
    floating_dtype,
    lower,
    multiply,
    swapped,
)
from wengert.ops.reduction import reduce_sum
from wengert.ops.shape import reshape, transpose
from wengert.primitive import Draw, Explicit, Linear, NonDifferentiable, Primitive, primitive

_FEW = 8  # rows up to which a determinant is differentiated by its minors, exact for singular matrices too


def _lapack(program: Callable[..., Any], length: Callable[..., int] = small.length) -> OnHost:
    return OnHost("LAPACK does it", Expansion(program, length))


def _matrices(draw: Draw) -> Any:
    rows, lead = draw.integer(1, 4), draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, rows), -0.5, 0.5) + 2 * np.eye(rows)


def _stated(
    name: str,
    evaluate: Callable[[Any], Any],
    lowering: OnHost,
    doc: str,
    derivative: Any,
    source: str,
    scalar: bool,
) -> Primitive:
    """State an operation on one stack of matrices; its result is a stack of matrices, or of numbers."""

    def rule(x: TensorType) -> TensorType:
        check_square(name, x)
        return TensorType(floating_dtype(x), x.shape[:-2] if scalar else x.shape)

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=derivative,
        batch=batch,
        lowering=lowering,
        source=source.format,
        samples=lambda draw: ((_matrices(draw),), {}),
    )


def _inverse_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``X X^-1 = 1``."""
    return -multiply(multiply(out, tangents[0]), out)


inverse = _stated(
    "inverse",
    np.linalg.inv,
    _lapack(small.inverse, lambda a: small.length(a, a)),
    "the inverse of square matrices",
    Explicit(_inverse_tangent),
    "np.linalg.inv({0})",
    False,
)

# -- equations -------------------------------------------------------------------------------------------


def _solve_type(a: TensorType, b: TensorType) -> TensorType:
    check_square("solve", a)
    check_matrices("solve", b)
    if b.shape[-2] != a.shape[-1]:
        raise ShapeError(
            message("solve", "the right-hand side must have a row for each equation", show(a, b))
        )
    lead = broadcast("solve", a.shape[:-2], b.shape[:-2])
    return TensorType(floating_dtype(a, b), (*lead, *b.shape[-2:]))


def _less(b: Any, a: Any) -> Any:
    """Return ``b - a``, either of which is None for zero."""
    return b if a is None else -a if b is None else b - a


def _solve_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``A x = b``: ``A dx = db - dA x``."""
    da, db = tangents
    return solve(primals[0], _less(db, None if da is None else multiply(da, out)))


def _solve_samples(draw: Draw) -> Any:
    a = _matrices(draw)
    lead = draw.choice([a.shape[:-2], ()])
    return (a, draw.array((*lead, a.shape[-1], draw.integer(1, 2)))), {}


solve = primitive(
    name="solve",
    doc="x with a x = b, for square matrices a; the leading axes broadcast",
    type_rule=_solve_type,
    evaluate=np.linalg.solve,
    derivative=Explicit(_solve_tangent, Linear(None, lambda cotangent, a, b: solve(swapped(a), cotangent))),
    batch=batch,
    lowering=_lapack(small.solve),
    source="np.linalg.solve({0}, {1})".format,
    samples=_solve_samples,
)

# -- Cholesky factor -------------------------------------------------------------------------------------


def _positive(draw: Draw) -> Any:
    a = _matrices(draw)
    return a @ np.swapaxes(a, -1, -2)


def _cholesky_type(a: TensorType) -> TensorType:
    check_square("cholesky", a)
    return TensorType(floating_dtype(a), a.shape)


cholesky = primitive(
    name="cholesky",
    doc="the lower triangular L with L L^T = A, for symmetric positive definite A, whose lower half alone is read",
    type_rule=_cholesky_type,
    evaluate=np.linalg.cholesky,
    derivative=Explicit(lambda primals, tangents, out: cholesky_tangent(out, tangents[0])),
    batch=batch,
    lowering=_lapack(small.cholesky),
    source="np.linalg.cholesky({0})".format,
    samples=lambda draw: ((_positive(draw),), {}),
)


def _of_factor(
    name: str,
    kernel: Callable[[Any, Any], Any],
    program: Callable[[Any, Any], Any],
    doc: str,
    derivative: Explicit,
) -> Primitive:
    """State an equation with a Cholesky factor, linear in its right-hand side."""

    def rule(factor: TensorType, right: TensorType) -> TensorType:
        check_square(name, factor)
        check_square(name, right)
        return TensorType(floating_dtype(factor, right), broadcast(name, factor.shape, right.shape))

    def evaluate(factor: Any, right: Any) -> Any:
        dtype = rule(type_of(factor), type_of(right)).dtype
        return kernel(np.asarray(factor, dtype), np.asarray(right, dtype))

    def samples(draw: Draw) -> Any:
        factor = _matrices(draw)
        return (factor, draw.array((*draw.choice([factor.shape[:-2], ()]), *factor.shape[-2:]))), {}

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=derivative,
        batch=batch,
        lowering=OnHost("its steps depend on one another", Expansion(program, small.length)),
        source=f"{name}({{0}}, {{1}})".format,
        samples=samples,
    )


def _tangent_of_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``T L^T + L T^T = S``: ``dT L^T + L dT^T = dS - (T dL^T + dL T^T)``."""
    (factor, _), (moved, right) = primals, tangents
    half = None if moved is None else multiply(out, swapped(lower(moved)))
    return cholesky_tangent(factor, _less(right, None if half is None else half + swapped(half)))


def _tangent_of_cotangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``(B + B^T) L = G``: ``(dB + dB^T) L = dG - (B + B^T) dL``."""
    (factor, _), (moved, right) = primals, tangents
    known = None if moved is None else multiply(out + swapped(out), lower(moved))
    return cholesky_cotangent(factor, _less(right, known))


cholesky_tangent = _of_factor(
    "cholesky_tangent",
    kernels.tangent,
    small.cholesky_tangent,
    "the lower triangular T with T L^T + L T^T = S; of L and of the symmetric S the lower half alone is read",
    Explicit(
        _tangent_of_tangent, Linear(None, lambda cotangent, factor, _: cholesky_cotangent(factor, cotangent))
    ),
)
cholesky_cotangent = _of_factor(
    "cholesky_cotangent",
    kernels.cotangent,
    small.cholesky_cotangent,
    "the lower triangular B with (B + B^T) L = G on and below the diagonal; the lower half of L and G alone is read",
    Explicit(
        _tangent_of_cotangent, Linear(None, lambda cotangent, factor, _: cholesky_tangent(factor, cotangent))
    ),
)

# -- determinant -----------------------------------------------------------------------------------------


def _cofactors(a: Any) -> Any:
    """Return the derivative of the determinant: by minors, or for many rows by ``det(A) A^-T``."""
    rows, lead = shape_of(a)[-1], len(shape_of(a)) - 2
    if rows > _FEW:
        return reshape(determinant(a), shape=(*shape_of(a)[:-2], 1, 1)) * swapped(inverse(a))
    others = np.array([[k for k in range(rows) if k != left_out] for left_out in range(rows)], dtype=np.int64)
    first = transpose(a, permutation=(lead, lead + 1, *range(lead)))
    others = others.reshape(rows, max(rows - 1, 0))
    minors = gather(first, others[:, None, :, None], others[None, :, None, :])
    minors = determinant(transpose(minors, permutation=(*range(4, lead + 4), 0, 1, 2, 3)))
    return minors * (-1.0) ** np.add.outer(np.arange(rows), np.arange(rows)).astype(dtype_of(a))


def _over_matrix(product_: Any) -> Any:
    rank = len(shape_of(product_))
    return reduce_sum(product_, axes=(rank - 2, rank - 1))


determinant = _stated(
    "determinant",
    np.linalg.det,
    _lapack(small.determinant),
    f"the determinant; the derivative is exact for singular matrices of up to {_FEW} rows",
    Explicit(lambda primals, tangents, out: _over_matrix(_cofactors(primals[0]) * tangents[0])),
    "np.linalg.det({0})",
    True,
)
log_determinant = _stated(
    "log_determinant",
    lambda x: np.linalg.slogdet(x)[1],
    _lapack(small.log_determinant),
    "ln |det A|, without overflow",
    Explicit(lambda primals, tangents, out: _over_matrix(swapped(inverse(primals[0])) * tangents[0])),
    "np.linalg.slogdet({0})[1]",
    True,
)
determinant_sign = _stated(
    "determinant_sign",
    lambda x: np.linalg.slogdet(x)[0],
    _lapack(small.determinant_sign),
    "the sign of det A",
    NonDifferentiable("it is constant between singular matrices"),
    "np.linalg.slogdet({0})[0]",
    True,
)
