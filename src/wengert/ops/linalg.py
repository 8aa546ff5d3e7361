"""Square matrices, stacked along leading axes: inverse, solution of equations, Cholesky factor, determinant.

The tangents are written with products and the inverse alone, so that reverse mode can transpose them (Giles, "Collected
matrix derivative results for forward and reverse mode algorithmic differentiation", 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.dtypes import FLOAT64, dtype_of, is_float
from wengert.errors import DtypeError, ShapeError, message
from wengert.ir.types import TensorType, promote, show
from wengert.nest.lowering import OnHost
from wengert.ops.comparison import where
from wengert.ops.contraction import product
from wengert.ops.elementwise import align
from wengert.ops.indexing import gather
from wengert.ops.reduction import reduce_sum
from wengert.ops.shape import reshape, transpose
from wengert.primitive import Draw, Explicit, NonDifferentiable, Primitive, primitive
from wengert.shapes import broadcast, shape_of

_LEAD = "abcdefgh"
_LAPACK = OnHost("LAPACK does it")
_FEW = 8  # rows up to which a determinant is differentiated by its minors, exact for singular matrices too


def _check(operation: str, x: TensorType, *others: TensorType) -> TensorType:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(message(operation, "square matrices are required", show(x)))
    if any(one.dtype == np.float16 for one in (x, *others)):
        raise DtypeError(message(operation, "single or double precision is required", show(x, *others)))
    return TensorType(x.dtype if is_float(x.dtype) else FLOAT64, x.shape)


def multiply(a: Any, b: Any) -> Any:
    """Return the products of stacked matrices; leading axes broadcast."""
    lead, other = len(shape_of(a)) - 2, len(shape_of(b)) - 2
    rank = max(lead, other)
    return product(f"{_LEAD[rank - lead : rank]}xy,{_LEAD[rank - other : rank]}yz->{_LEAD[:rank]}xz", a, b)


def swapped(a: Any) -> Any:
    """Return stacked matrices transposed."""
    rank = len(shape_of(a))
    return transpose(a, permutation=(*range(rank - 2), rank - 1, rank - 2))


def _batch(
    op: Primitive, size: int, xs: Sequence[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    return op(*align(size, xs, flags))


def _matrices(draw: Draw) -> Any:
    rows, lead = draw.integer(1, 4), draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, rows), -0.5, 0.5) + 2 * np.eye(rows)


def _stated(
    name: str, evaluate: Callable[[Any], Any], doc: str, derivative: Any, source: str, scalar: bool
) -> Primitive:
    """State an operation on one stack of matrices; its result is a stack of matrices, or of numbers."""

    def rule(x: TensorType) -> TensorType:
        checked = _check(name, x)
        return TensorType(checked.dtype, x.shape[:-2]) if scalar else checked

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=derivative,
        batch=_batch,
        lowering=_LAPACK,
        source=source.format,
        samples=lambda draw: ((_matrices(draw),), {}),
    )


def _inverse_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``X X^-1 = 1``."""
    return -multiply(multiply(out, tangents[0]), out)


inverse = _stated(
    "inverse",
    np.linalg.inv,
    "the inverse of square matrices",
    Explicit(_inverse_tangent),
    "np.linalg.inv({0})",
    False,
)

# -- equations -------------------------------------------------------------------------------------------


def _solve_type(a: TensorType, b: TensorType) -> TensorType:
    _check("solve", a, b)
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError(
            message("solve", "the right-hand side must have a row for each equation", show(a, b))
        )
    dtype = promote(a, b)[0] if is_float(a.dtype) and is_float(b.dtype) else FLOAT64
    lead = broadcast("solve", a.shape[:-2], b.shape[:-2])
    return TensorType(dtype, (*lead, *b.shape[-2:]))


def _solve_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``A x = b``: ``dx = A^-1 (db - dA x)``."""
    (a, _), (da, db) = primals, tangents
    moved = None if da is None else -multiply(da, out)
    right = db if moved is None else moved if db is None else db + moved
    return multiply(inverse(a), right)


def _solve_samples(draw: Draw) -> Any:
    a = _matrices(draw)
    lead = draw.choice([a.shape[:-2], ()])
    return (a, draw.array((*lead, a.shape[-1], draw.integer(1, 2)))), {}


solve = primitive(
    name="solve",
    doc="x with a x = b, for square matrices a; the leading axes broadcast",
    type_rule=_solve_type,
    evaluate=np.linalg.solve,
    derivative=Explicit(_solve_tangent),
    batch=_batch,
    lowering=_LAPACK,
    source=lambda a, b: f"np.linalg.solve({a}, {b})",
    samples=_solve_samples,
)

# -- Cholesky factor -------------------------------------------------------------------------------------


def lower(a: Any, below: int = 0) -> Any:
    """Return what stands on and below a diagonal of stacked matrices, zeros elsewhere."""
    return where(np.tri(*shape_of(a)[-2:], k=below, dtype=bool), a, 0.0)


def _cholesky_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Return ``L low(L^-1 dA L^-T)``, where low halves the diagonal; only the lower half of dA is read."""
    below = lower(tangents[0], -1)
    symmetric = lower(tangents[0]) + swapped(below)
    factor = inverse(out)
    inner = multiply(multiply(factor, symmetric), swapped(factor))
    return multiply(out, (lower(inner) + lower(inner, -1)) * 0.5)


cholesky = primitive(
    name="cholesky",
    doc="the lower triangular L with L L^T = A, for symmetric positive definite A, whose lower half alone is read",
    type_rule=lambda x: _check("cholesky", x),
    evaluate=np.linalg.cholesky,
    derivative=Explicit(_cholesky_tangent),
    batch=_batch,
    lowering=_LAPACK,
    source="np.linalg.cholesky({0})".format,
    samples=lambda draw: ((_positive(draw),), {}),
)


def _positive(draw: Draw) -> Any:
    a = _matrices(draw)
    return a @ np.swapaxes(a, -1, -2)


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
    f"the determinant; the derivative is exact for singular matrices of up to {_FEW} rows",
    Explicit(lambda primals, tangents, out: _over_matrix(_cofactors(primals[0]) * tangents[0])),
    "np.linalg.det({0})",
    True,
)
log_determinant = _stated(
    "log_determinant",
    lambda x: np.linalg.slogdet(x)[1],
    "ln |det A|, without overflow",
    Explicit(lambda primals, tangents, out: _over_matrix(swapped(inverse(primals[0])) * tangents[0])),
    "np.linalg.slogdet({0})[1]",
    True,
)
determinant_sign = _stated(
    "determinant_sign",
    lambda x: np.linalg.slogdet(x)[0],
    "the sign of det A",
    NonDifferentiable("it is constant between singular matrices"),
    "np.linalg.slogdet({0})[0]",
    True,
)
