"""Square matrices, stacked along leading axes: inverse, solution of equations, Cholesky factor, determinant.

Each tangent is an expression linear in the tangents of the operands, so reverse mode can transpose it (Giles,
"Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import FLOAT64, Dtype, dtype_of, is_complex, is_inexact, real_dtype
from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import TensorType, promote, show, type_of
from wengert.engine.kernels import triangular as kernels
from wengert.engine.memory import stacked
from wengert.engine.nest.lowering import Expansion, OnHost
from wengert.engine.ops.comparison import where
from wengert.engine.ops.complex import conjugate, real
from wengert.engine.ops.contraction import product
from wengert.engine.ops.elementwise import batch_elementwise, check_real
from wengert.engine.ops.linalg import unrolled as unrolled
from wengert.engine.ops.shape import transpose
from wengert.engine.primitive import MOST_AXES, Draw, Explicit, Linear, Primitive, primitive

_LEAD = "".join(map(chr, range(ord("À"), ord("À") + MOST_AXES)))  # names of the other axes


def check_matrices(operation: str, *types: TensorType) -> None:
    """Raise where operands have fewer than two axes, or half precision, which LAPACK lacks."""
    if any(operand.ndim < 2 for operand in types):
        raise ShapeError(message(operation, "matrices are required", show(*types)))
    if any(operand.dtype == np.float16 for operand in types):
        raise DtypeError(message(operation, "single or double precision is required", show(*types)))


def check_square(operation: str, x: TensorType) -> None:
    """Raise where an operand is not a stack of square matrices."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(message(operation, "square matrices are required", show(x)))
    check_matrices(operation, x)


def floating_dtype(*types: TensorType) -> Dtype:
    """Return the dtype of a result: integers count as float64."""
    dtype = promote(*types)[0]
    return dtype if all(is_inexact(operand.dtype) for operand in types) else np.result_type(dtype, FLOAT64)


def multiply(a: Any, b: Any) -> Any:
    """Return the products of stacked matrices; leading axes broadcast."""
    lead, right_lead = len(shape_of(a)) - 2, len(shape_of(b)) - 2
    rank = max(lead, right_lead)
    return product(
        f"{_LEAD[rank - lead : rank]}xy,{_LEAD[rank - right_lead : rank]}yz->{_LEAD[:rank]}xz", a, b
    )


def inner(a: Any, b: Any) -> Any:
    """Return the scalar products ``a_i^H b_i`` of the columns of ``a`` with those of ``b``."""
    lead = _LEAD[: len(shape_of(a)) - 2]
    return product(f"{lead}xi,{lead}xi->{lead}i", conjugate(a), b)


def swapped(a: Any) -> Any:
    """Return stacked matrices transposed."""
    rank = len(shape_of(a))
    return transpose(a, permutation=(*range(rank - 2), rank - 1, rank - 2))


def adjoint(a: Any) -> Any:
    """Return stacked matrices transposed and conjugated."""
    return conjugate(swapped(a))


def lower(a: Any, offset: int = 0) -> Any:
    """Return the lower triangle of stacked matrices, with zeros above the diagonal at ``offset``."""
    return where(np.tri(*shape_of(a)[-2:], k=offset, dtype=bool), a, 0.0)


def symmetric(a: Any, half: str = "L") -> Any:
    """Return the symmetric matrices with the lower or upper triangle of ``a``; of complex ones the Hermitian matrices.

    The diagonal of a Hermitian matrix is real, so the imaginary part of that of ``a`` is not read.
    """
    taken = np.tri(*shape_of(a)[-2:], dtype=bool)
    if is_complex(dtype_of(a)):
        a = where(np.eye(*shape_of(a)[-2:], dtype=bool), real(a), a)
    return where(taken if half == "L" else taken.T, a, adjoint(a))


# -- statements ------------------------------------------------------------------------------------------


def by_lapack(program: Callable[..., Any], length: Callable[..., int] = unrolled.length) -> OnHost:
    """Return the lowering of what LAPACK computes, and of few rows a program on the elements."""
    return OnHost("LAPACK computes it", Expansion(program, length))


def matrices(draw: Draw) -> Any:
    """Draw square matrices that have an inverse."""
    rows, lead = draw.integer(1, 4), draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, rows), -0.5, 0.5) + 2 * np.eye(rows)


def on_squares(
    name: str,
    evaluate: Callable[[Any], Any],
    lowering: OnHost,
    doc: str,
    derivative: Any,
    source: str,
    scalar: bool,
    is_real: bool = False,
) -> Primitive:
    """State an operation on one stack of matrices; its result is a stack of matrices, or of numbers, perhaps real."""

    def rule(x: TensorType) -> TensorType:
        check_square(name, x)
        dtype = real_dtype(floating_dtype(x)) if is_real else floating_dtype(x)
        return TensorType(dtype, x.shape[:-2] if scalar else x.shape)

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=derivative,
        batch=batch_elementwise,
        lowering=lowering,
        source=source.format,
        samples=lambda draw: ((matrices(draw),), {}),
        memory=stacked,
        unchecked=None if scalar else identity_elsewhere,
    )


def identity_elsewhere(counts: Any, a: Any, *others: Any, **params: Any) -> tuple[Any, ...]:
    """Return the operands with the identity, which has an inverse and factors, for examples that do not count."""
    if not (isinstance(a, Box) and a.owner is counts.owner):  # all examples share the matrix
        return a, *others
    return where(counts, a, np.eye(*shape_of(a)[-2:], dtype=dtype_of(a))), *others


def _inverse_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``X X^-1 = 1``."""
    return -multiply(multiply(out, tangents[0]), out)


inverse = on_squares(
    "inverse",
    np.linalg.inv,
    by_lapack(unrolled.inverse, lambda a: unrolled.length(a, a)),
    "the inverse of square matrices",
    Explicit(_inverse_tangent),
    "np.linalg.inv({0})",
    False,
)

# -- equations -------------------------------------------------------------------------------------------


def solution_type(operation: str, a: TensorType, b: TensorType) -> TensorType:
    """Return the type of the solutions for the right-hand sides ``b``, where ``a`` has a column for each unknown."""
    check_matrices(operation, b)
    if b.shape[-2] != a.shape[-1]:
        requirement = "the right-hand side must have a row for each equation"
        raise ShapeError(message(operation, requirement, show(a, b)))
    lead = broadcast(operation, a.shape[:-2], b.shape[:-2])
    return TensorType(floating_dtype(a, b), (*lead, *b.shape[-2:]))


def _solve_type(a: TensorType, b: TensorType) -> TensorType:
    check_square("solve", a)
    return solution_type("solve", a, b)


def _difference(b: Any, a: Any) -> Any:
    """Return ``b - a``, where None stands for zero."""
    return b if a is None else -a if b is None else b - a


def _solve_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``A x = b``: ``A dx = db - dA x``."""
    da, db = tangents
    return solve(primals[0], _difference(db, None if da is None else multiply(da, out)))


def _solve_samples(draw: Draw) -> Any:
    a = matrices(draw)
    lead = draw.choice([a.shape[:-2], ()])
    return (a, draw.array((*lead, a.shape[-1], draw.integer(1, 2)))), {}


solve = primitive(
    name="solve",
    doc="x with a x = b, for square matrices a; the leading axes broadcast",
    type_rule=_solve_type,
    evaluate=np.linalg.solve,
    derivative=Explicit(_solve_tangent, Linear(None, lambda cotangent, a, b: solve(swapped(a), cotangent))),
    batch=batch_elementwise,
    lowering=by_lapack(unrolled.solve),
    source="np.linalg.solve({0}, {1})".format,
    samples=_solve_samples,
    memory=stacked,
    unchecked=identity_elsewhere,
)

# -- Cholesky factor -------------------------------------------------------------------------------------


def _positive(draw: Draw) -> Any:
    a = matrices(draw)
    return a @ np.swapaxes(a, -1, -2)


def _cholesky_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Return ``L phi(L^-1 dA L^-H)``, where phi takes the lower half with half of the diagonal."""
    (da,) = tangents
    if not is_complex(dtype_of(out)):
        return cholesky_tangent(out, da)
    turned = solve(out, adjoint(solve(out, symmetric(da))))  # L^-1 (L^-1 dA)^H, which is Hermitian
    diagonal = np.eye(shape_of(out)[-1], dtype=bool)
    return multiply(out, lower(where(diagonal, 0.5 * turned, turned)))


def _cholesky_type(a: TensorType) -> TensorType:
    check_square("cholesky", a)
    return TensorType(floating_dtype(a), a.shape)


cholesky = primitive(
    name="cholesky",
    doc="the lower triangular L with L L^H = A, for Hermitian positive definite A; only the lower half is read",
    type_rule=_cholesky_type,
    evaluate=np.linalg.cholesky,
    derivative=Explicit(_cholesky_tangent),
    batch=batch_elementwise,
    lowering=by_lapack(unrolled.cholesky),
    source="np.linalg.cholesky({0})".format,
    memory=stacked,
    samples=lambda draw: ((_positive(draw),), {}),
    unchecked=identity_elsewhere,
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
        check_real(name, factor, right)
        check_square(name, factor)
        check_square(name, right)
        return TensorType(floating_dtype(factor, right), broadcast(name, factor.shape, right.shape))

    def evaluate(factor: Any, right: Any) -> Any:
        dtype = rule(type_of(factor), type_of(right)).dtype
        return kernel(np.asarray(factor, dtype), np.asarray(right, dtype))

    def samples(draw: Draw) -> Any:
        factor = matrices(draw)
        return (factor, draw.array((*draw.choice([factor.shape[:-2], ()]), *factor.shape[-2:]))), {}

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=derivative,
        batch=batch_elementwise,
        lowering=OnHost("its steps depend on one another", Expansion(program, unrolled.length)),
        source=f"{name}({{0}}, {{1}})".format,
        samples=samples,
    )


def _tangent_of_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``T L^T + L T^T = S``: ``dT L^T + L dT^T = dS - (T dL^T + dL T^T)``."""
    (factor, _), (moved, right) = primals, tangents
    half = None if moved is None else multiply(out, swapped(lower(moved)))
    return cholesky_tangent(factor, _difference(right, None if half is None else half + swapped(half)))


def _tangent_of_cotangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``(B + B^T) L = G``: ``(dB + dB^T) L = dG - (B + B^T) dL``."""
    (factor, _), (moved, right) = primals, tangents
    applied = None if moved is None else multiply(out + swapped(out), lower(moved))
    return cholesky_cotangent(factor, _difference(right, applied))


cholesky_tangent = _of_factor(
    "cholesky_tangent",
    kernels.tangent,
    unrolled.cholesky_tangent,
    "the lower triangular T with T L^T + L T^T = S; only the lower halves of L and of the symmetric S are read",
    Explicit(
        _tangent_of_tangent, Linear(None, lambda cotangent, factor, _: cholesky_cotangent(factor, cotangent))
    ),
)
cholesky_cotangent = _of_factor(
    "cholesky_cotangent",
    kernels.cotangent,
    unrolled.cholesky_cotangent,
    "the lower triangular B with (B + B^T) L = G on and below the diagonal; only the lower halves of L and G are read",
    Explicit(
        _tangent_of_cotangent, Linear(None, lambda cotangent, factor, _: cholesky_tangent(factor, cotangent))
    ),
)
