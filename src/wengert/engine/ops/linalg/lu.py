"""The factors of ``P A = L U`` with partial pivoting, of matrices stacked along leading axes.

Source of the derivative: de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using triangular
factorization" (2011). The order of the rows is constant nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.kernels.schur import scipy_linalg
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.comparison import equal
from wengert.engine.ops.complex import real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg.square import check_matrices, floating_dtype, lower, multiply, swapped
from wengert.engine.ops.linalg.triangular import solve_triangular
from wengert.engine.ops.shape import concatenate, slice_, whole
from wengert.engine.primitive import Draw, Explicit, primitive


def section(a: Any, rows: tuple[int, int], columns: tuple[int, int]) -> Any:
    """Return the part of stacked matrices between two rows and two columns."""
    index = whole(shape_of(a))
    index[-2:] = [(start, stop - start, 1) for start, stop in (rows, columns)]
    return slice_(a, index=tuple(index))


def _type(a: TensorType) -> TensorType:
    check_matrices("lu", a)
    return TensorType(floating_dtype(a), (*a.shape[:-1], a.shape[-1] + 2))


def _evaluate(a: Any) -> Any:
    result = np.zeros(_type(type_of(a)).shape, _type(type_of(a)).dtype)
    rows, columns = a.shape[-2:]
    for position in np.ndindex(a.shape[:-2]):
        order, exchanged = list(range(rows)), list[Any]()
        if rows and columns:
            program = scipy_linalg("lu").get_lapack_funcs("getrf", dtype=result.dtype)
            result[position][:, :columns], exchanged, _ = program(a[position].astype(result.dtype))
        for row, partner in enumerate(exchanged):
            order[row], order[partner] = order[partner], order[row]
        result[position][:, columns] = order
        result[position][: len(exchanged), columns + 1] = exchanged
    return result


def permutation(packed: Any) -> Any:
    """Return the matrix P with ``P A = L U``, of zeros and ones."""
    rows, columns = shape_of(packed)[-2:]
    order = real(section(packed, (0, rows), (columns - 2, columns - 1)))
    return cast(equal(order, np.arange(rows, dtype=float)), dtype=dtype_of(order))


def factors(packed: Any) -> tuple[Any, Any]:
    """Return L, with a diagonal of ones, and U."""
    rows, columns = shape_of(packed)[-2], shape_of(packed)[-1] - 2
    count = min(rows, columns)
    both = section(packed, (0, rows), (0, columns))
    left = lower(section(both, (0, rows), (0, count)), -1) + np.eye(rows, count, dtype=dtype_of(real(both)))
    above = section(both, (0, count), (0, columns))
    return left, above - lower(above, -1)


def _divided(x: Any, upper: Any) -> Any:
    """Return ``X U^-1``."""
    return swapped(solve_triangular(swapped(upper), swapped(x), lower=True, unit=False))


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Return ``dL = L low(F)`` strictly below and ``dU = up(F) U`` for ``F = L^-1 P dA U^-1``.

    Of a matrix that is not square, the rows and columns beyond follow from ``L2 U = A2`` and ``L U2 = A2``.
    """
    rows, columns = shape_of(out)[-2], shape_of(out)[-1] - 2
    count = min(rows, columns)
    left, upper = factors(out)
    da = multiply(permutation(out), tangents[0])
    square = section(left, (0, count), (0, count))
    corner = section(upper, (0, count), (0, count))
    inner = solve_triangular(square, section(da, (0, count), (0, count)), lower=True, unit=True)
    inner = _divided(inner, corner)
    below = lower(inner, -1)
    dl, du = multiply(square, below), multiply(inner - below, corner)
    change = dl + du
    rank = len(shape_of(out))
    if rows > columns:
        block = section(da, (count, rows), (0, count))
        block = _divided(block - multiply(section(left, (count, rows), (0, count)), du), corner)
        change = concatenate(change, block, axis=rank - 2)
    if columns > rows:
        block = section(da, (0, count), (count, columns))
        block = block - multiply(dl, section(upper, (0, count), (count, columns)))
        change = concatenate(change, solve_triangular(square, block, lower=True, unit=True), axis=rank - 1)
    still = section(out, (0, rows), (columns, columns + 2)) * 0.0
    return concatenate(change, still, axis=rank - 1)


def _samples(draw: Draw) -> Any:
    rows, columns, lead = (
        draw.integer(2, 4),
        draw.integer(2, 4),
        draw.choice([(), (2,)]),
    )  # of one row, U is A
    return (draw.array((*lead, rows, columns), -0.5, 0.5) + 3 * np.eye(rows, columns)[::-1],), {}


lu = primitive(
    name="lu",
    doc="the factors of P A = L U, with partial pivoting, in one matrix; then a column with the order of the rows, and "
    "one with the row that LAPACK exchanged each row with",
    type_rule=_type,
    evaluate=lambda a: _evaluate(np.asarray(a)),
    derivative=Explicit(_tangent),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="packed_lu({0})".format,
    samples=_samples,
)
