"""The factors of ``A = L D L^T`` with the pivoting of Bunch and Kaufman, of matrices stacked along leading axes.

D has blocks of one or two rows; the order of the rows and the sizes of the blocks are constant nearby. With X the
change of A divided by L from both sides, that of D is the blocks of X on the diagonal, and that of L is L M, where M D
is the part of X below the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.kernels.schur import scipy_linalg
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.comparison import equal, logical_and, logical_not, where
from wengert.engine.ops.complex import real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg import square
from wengert.engine.ops.linalg.lu import section
from wengert.engine.ops.linalg.square import adjoint, check_square, floating_dtype, multiply, swapped
from wengert.engine.ops.linalg.triangular import solve_triangular
from wengert.engine.ops.shape import concatenate
from wengert.engine.primitive import Draw, Explicit, primitive


def _type(a: TensorType, lower: bool, hermitian: bool) -> TensorType:
    check_square("ldl", a)
    return TensorType(floating_dtype(a), (*a.shape[:-1], 2 * a.shape[-1] + 2))


def _evaluate(a: Any, lower: bool, hermitian: bool) -> Any:
    a = np.asarray(a)
    result = np.zeros(_type(type_of(a), lower, hermitian).shape, _type(type_of(a), lower, hermitian).dtype)
    rows = a.shape[-1]
    for position in np.ndindex(a.shape[:-2] if a.size else (0,)):
        program = scipy_linalg("ldl").ldl
        matrix = a[position].astype(result.dtype)
        if hermitian:
            np.fill_diagonal(matrix, np.real(np.diagonal(matrix)))
        factor, middle, order = program(matrix, lower, hermitian)
        packed = result[position]
        packed[:, :rows], packed[:, rows : 2 * rows] = factor[order], middle
        packed[:, 2 * rows] = order
        joined = np.diagonal(middle, 1) != 0
        packed[:, -1] = np.arange(rows) - np.append(False, joined)
    return result


def parts(packed: Any) -> tuple[Any, Any, Any, Any]:
    """Return the triangular factor with its rows in order, D, the order of the rows, and the block of each row."""
    rows = shape_of(packed)[-2]
    factor, middle = (section(packed, (0, rows), (k * rows, (k + 1) * rows)) for k in (0, 1))
    order, block = (section(packed, (0, rows), (2 * rows + k, 2 * rows + k + 1)) for k in (0, 1))
    if is_complex(dtype_of(packed)):
        order, block = real(order), real(block)
    return factor, middle, order, block


def exchange(order: Any) -> Any:
    """Return the matrix that puts rows into an order."""
    rows = shape_of(order)[-2]
    return cast(equal(order, np.arange(rows, dtype=dtype_of(order))), dtype=dtype_of(order))


def whole(a: Any, lower: bool, hermitian: bool) -> Any:
    """Return the Hermitian or symmetric matrix of which one triangle is read."""
    if hermitian:
        return square.symmetric(a, "L" if lower else "U")
    taken = np.tri(shape_of(a)[-1], dtype=bool)
    return where(taken if lower else taken.T, a, swapped(a))


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, lower: bool, hermitian: bool) -> Any:
    factor, middle, order, block = parts(out)
    turned: Callable[[Any], Any] = adjoint if hermitian else swapped
    exchanged = exchange(order)
    da = multiply(multiply(exchanged, whole(tangents[0], lower, hermitian)), swapped(exchanged))
    inner = solve_triangular(factor, da, lower=lower, unit=True)
    inner = turned(solve_triangular(factor, turned(inner), lower=lower, unit=True))
    together = equal(block, swapped(block))
    rows = shape_of(out)[-2]
    side = np.tri(rows, k=-1, dtype=bool) if lower else np.tri(rows, k=-1, dtype=bool).T
    beside = where(logical_and(side, logical_not(together)), inner, 0.0)
    last = section(block, (rows - 1, rows) if lower else (0, 1), (0, 1))
    is_last = logical_and(together, equal(block, last))  # nothing is beside it: it may be singular
    divisor = where(is_last, np.eye(rows, dtype=dtype_of(block)), middle)
    moved = multiply(factor, swapped(square.solve(swapped(divisor), swapped(beside))))
    still = section(out, (0, rows), (2 * rows, 2 * rows + 2)) * 0.0
    axis = len(shape_of(out)) - 1
    return concatenate(moved, where(together, inner, 0.0), still, axis=axis)


def _samples(draw: Draw) -> Any:
    rows, lead = draw.integer(1, 4), draw.choice([(), (2,)])
    a = draw.array((*lead, rows, rows), -0.3, 0.3)
    if draw.choice([False, True]):
        a = a + np.diag([2.0, -3.0, 4.0, -5.0][:rows])
    else:  # blocks of two rows
        a = a + 5 * np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])[:rows, :rows] + 3 * np.eye(rows) * (rows % 2)
    return (a,), {"lower": draw.choice([False, True]), "hermitian": draw.choice([False, True])}


ldl = primitive(
    name="ldl",
    doc="the factors of P A P^T = L D L^T in one matrix: L, D, a column with the order of the rows, and one with the "
    "block of each row; one triangle of A is read",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=Explicit(_tangent),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="packed_ldl({0}, {lower}, {hermitian})".format,
    samples=_samples,
)
