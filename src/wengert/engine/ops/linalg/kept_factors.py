"""Factors of a matrix that several operations share, of ``P A^T = L U`` with partial pivoting, and their operations.

They stand in compiled programs only. LAPACK stores arrays by columns, so it factorises the transpose where it lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import MatrixError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.kernels.lapack import routine
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import absolute, sign
from wengert.engine.ops.comparison import not_equal, where
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.exponential import exp, log
from wengert.engine.ops.linalg.square import (
    check_matrices,
    check_square,
    floating_dtype,
    matrices,
    solution_type,
)
from wengert.engine.ops.reduction import reduce_prod, reduce_sum
from wengert.engine.ops.shape import slice_, whole
from wengert.engine.primitive import OF_PROGRAMS, Draw, primitive

_BLOCK = 64  # the columns that LAPACK takes together


def _lapack(name: str, dtype: Any) -> Any:
    found = routine(name, dtype.char)
    assert found is not None  # without SciPy, no program has such operations
    return found


def _factors_type(a: TensorType) -> TensorType:
    check_square("lu_factors", a)
    return TensorType(floating_dtype(a), (*a.shape[:-2], a.shape[-1] + 1, a.shape[-1]))


def _factors(a: Any) -> Any:
    found = _factors_type(type_of(a))
    result = np.empty(found.shape, found.dtype)
    result[..., :-1, :] = a
    program = _lapack("getrf", result.dtype)
    for position in np.ndindex(result.shape[:-2]):
        packed = result[position]
        factors, packed[-1], _ = program(packed[:-1].T, overwrite_a=True)
        assert np.shares_memory(factors, packed) or not packed.size
    return result


lu_factors = primitive(
    name="lu_factors",
    doc="L and U with P A^T = L U, with partial pivoting, in one matrix, transposed; below it the row that each row "
    "was exchanged with",
    type_rule=_factors_type,
    evaluate=lambda a: _factors(np.asarray(a)),
    derivative=OF_PROGRAMS,
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="kept_factors({0})".format,
    samples=lambda draw: ((matrices(draw),), {}),
)


def _check_packed(operation: str, packed: TensorType) -> None:
    check_matrices(operation, packed)
    if packed.shape[-2] != packed.shape[-1] + 1:
        raise ShapeError(message(operation, "the factors of square matrices are required", show(packed)))


def _checked(operation: str, packed: Any) -> tuple[Any, Any]:
    """Return the factors, by columns, and the exchanges, or raise where a pivot is 0."""
    factors, exchanges = packed[:-1].T, packed[-1].real.astype(np.int32)
    if not factors.diagonal().all():
        raise MatrixError(message(operation, "Singular matrix", show(type_of(factors))))
    if exchanges.min() < 0 or exchanges.max() >= len(exchanges):  # LAPACK would read other memory
        raise MatrixError(message(operation, "exchanges of rows of the matrix are required", str(exchanges)))
    return factors, exchanges


def _solution_type(packed: TensorType, b: TensorType, transposed: bool) -> TensorType:
    _check_packed("lu_solution", packed)
    return solution_type("lu_solution", packed, b)


def _solution(packed: Any, b: Any, transposed: bool) -> Any:
    found = _solution_type(type_of(packed), type_of(b), transposed)
    packed = np.broadcast_to(packed, (*found.shape[:-2], *packed.shape[-2:])).astype(found.dtype, copy=False)
    result, b = np.empty(found.shape, found.dtype), np.broadcast_to(b, found.shape)
    program = _lapack("getrs", found.dtype)
    for position in np.ndindex(found.shape[:-2]):
        factors, exchanges = _checked("solve", packed[position])
        result[position] = program(factors, exchanges, b[position], trans=0 if transposed else 1)[0]
    return result


def _equations(draw: Draw) -> Any:
    a = matrices(draw)
    lead = draw.choice([a.shape[:-2], ()])
    b = draw.array((*lead, a.shape[-1], draw.integer(1, 2)))
    return (_factors(a), b), {"transposed": draw.choice([False, True])}


lu_solution = primitive(
    name="lu_solution",
    doc="x with A x = b, or with A^T x = b, from the factors of A; the leading axes broadcast",
    type_rule=_solution_type,
    evaluate=lambda packed, b, transposed: _solution(np.asarray(packed), np.asarray(b), transposed),
    derivative=OF_PROGRAMS,
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="solution_by_factors({0}, {1}, {transposed})".format,
    samples=_equations,
)


def _inverse_type(packed: TensorType) -> TensorType:
    _check_packed("lu_inverse", packed)
    return TensorType(floating_dtype(packed), (*packed.shape[:-2], packed.shape[-1], packed.shape[-1]))


def _inverse(packed: Any) -> Any:
    packed = np.asarray(packed, _inverse_type(type_of(packed)).dtype)
    result = packed[..., :-1, :].copy()
    program, rows = _lapack("getri", result.dtype), packed.shape[-1]
    for position in np.ndindex(result.shape[:-2]):
        _, exchanges = _checked("inverse", packed[position])
        found, _ = program(result[position].T, exchanges, lwork=_BLOCK * rows, overwrite_lu=True)
        assert np.shares_memory(found, result)
    return result


lu_inverse = primitive(
    name="lu_inverse",
    doc="the inverse of A, from the factors of A",
    type_rule=_inverse_type,
    evaluate=lambda packed: _inverse(np.asarray(packed)),
    derivative=OF_PROGRAMS,
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="inverse_by_factors({0})".format,
    samples=lambda draw: ((_factors(matrices(draw)),), {}),
)

# -- determinants ----------------------------------------------------------------------------------------


def _pivots(packed: Any) -> Any:
    lead, count = whole(shape_of(packed))[:-2], shape_of(packed)[-1]
    factors = slice_(packed, index=(*lead, (0, count, 1), (0, count, 1)))
    return reduce_sum(where(np.eye(count, dtype=bool), factors, 0.0), axes=(len(lead) + 1,))


def log_determinant(packed: Any) -> Any:
    """Return ``ln |det A|`` from the factors of A."""
    pivots = _pivots(packed)
    return reduce_sum(log(absolute(pivots)), axes=(len(shape_of(pivots)) - 1,))


def determinant_sign(packed: Any) -> Any:
    """Return the sign of ``det A`` from the factors of a real A: that of the pivots and of the exchanges."""
    count = shape_of(packed)[-1]
    exchanges = slice_(packed, index=(*whole(shape_of(packed))[:-2], count, (0, count, 1)))
    one = dtype_of(packed).type(1)
    turned = where(not_equal(exchanges, np.arange(count, dtype=one.dtype)), -one, one)
    signs = sign(_pivots(packed)) * turned
    return reduce_prod(signs, axes=(len(shape_of(signs)) - 1,))


def determinant(packed: Any) -> Any:
    """Return ``det A`` from the factors of a real A."""
    return determinant_sign(packed) * exp(log_determinant(packed))
