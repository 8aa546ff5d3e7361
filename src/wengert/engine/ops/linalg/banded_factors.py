"""Factors of a banded matrix that several operations share, ``P A = L U`` with partial pivoting, and the solution.

They stand in compiled programs only. A row of the packed factors is a column of LAPACK's; the exchanges of rows follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.errors import MatrixError, ShapeError, message
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.kernels.lapack import routine
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg.banded import check_bands
from wengert.engine.ops.linalg.square import check_matrices, floating_dtype, solution_type
from wengert.engine.primitive import OF_PROGRAMS, Draw, primitive


def _height(count: int, width: int) -> int:
    """Return the number of rows of the packed factors of a matrix of a size, each of a width."""
    return count + -(-count // width)


def _factors_type(bands: TensorType, lower: int, upper: int) -> TensorType:
    check_bands("banded_factors", bands, lower, upper)
    count, width = bands.shape[-1], 2 * lower + upper + 1
    return TensorType(floating_dtype(bands), (*bands.shape[:-2], _height(count, width), width))


def _factors(bands: Any, lower: int, upper: int) -> Any:
    found = _factors_type(type_of(bands), lower, upper)
    result, count = np.zeros(found.shape, found.dtype), bands.shape[-1]
    program = routine("gbtrf", found.dtype.char)
    assert program is not None  # without SciPy, no program has such operations
    for position in np.ndindex(found.shape[:-2]):
        packed = result[position]
        packed[:count, lower:] = bands[position].T
        factors, exchanges, _ = program(packed[:count].T, lower, upper, overwrite_ab=True)
        assert np.shares_memory(factors, packed)
        packed[count:].reshape(-1)[:count] = exchanges
    return result


def _samples(draw: Draw) -> Any:
    lower, upper = draw.integer(1, 2), draw.integer(1, 2)
    bands = draw.array((*draw.choice([(), (2,)]), lower + upper + 1, draw.integer(1, 4)), -0.5, 0.5)
    bands = bands + 3 * (np.arange(lower + upper + 1) == upper)[:, None]
    return bands, {"lower": lower, "upper": upper}


def _samples_of_factors(draw: Draw) -> Any:
    bands, params = _samples(draw)
    return (bands,), params


banded_factors = primitive(
    name="banded_factors",
    doc="L and U with P A = L U, with partial pivoting, of banded matrices A, whose element [i, j] is "
    "bands[upper + i - j, j]; below them the row that each row was exchanged with",
    type_rule=_factors_type,
    evaluate=lambda bands, lower, upper: _factors(np.asarray(bands), lower, upper),
    derivative=OF_PROGRAMS,
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="kept_banded_factors({0}, {lower}, {upper})".format,
    samples=_samples_of_factors,
)


def _solution_type(packed: TensorType, b: TensorType, lower: int, upper: int) -> TensorType:
    check_matrices("banded_solution", packed, b)
    count, width = b.shape[-2], 2 * lower + upper + 1
    if packed.shape[-2:] != (_height(count, width), width):
        raise ShapeError(
            message("banded_solution", "the factors of the matrix are required", show(packed, b))
        )
    square = TensorType(packed.dtype, (*packed.shape[:-2], count, count))
    return solution_type("banded_solution", square, b)


def _solution(packed: Any, b: Any, lower: int, upper: int) -> Any:
    if packed.ndim == b.ndim == 2 and packed.dtype == b.dtype and b.dtype.char in "fdFD" and b.size:
        return _single_solution(packed, b, lower, upper)
    found = _solution_type(type_of(packed), type_of(b), lower, upper)
    packed = np.broadcast_to(packed, (*found.shape[:-2], *packed.shape[-2:])).astype(found.dtype, copy=False)
    b = np.broadcast_to(b, found.shape).astype(found.dtype, copy=False)
    result = np.empty(found.shape, found.dtype)
    for position in np.ndindex(found.shape[:-2] if result.size else (0,)):
        result[position] = _single_solution(packed[position], b[position], lower, upper)
    return result


def _single_solution(packed: Any, b: Any, lower: int, upper: int) -> Any:
    count = len(b)
    if not packed[:count, lower + upper].all():
        raise MatrixError(message("solve_banded", "Singular matrix", show(type_of(b))))
    exchanges = packed[count:].ravel()[:count].real.astype(np.int32)
    if not 0 <= exchanges.min() <= exchanges.max() < count:  # LAPACK would read other memory
        raise MatrixError(message("solve_banded", "exchanges of rows of the matrix are required"))
    program = routine("gbtrs", b.dtype.char)
    assert program is not None
    return program(packed[:count].T, lower, upper, b, exchanges)[0]


def _samples_of_solution(draw: Draw) -> Any:
    bands, params = _samples(draw)
    b = draw.array((*draw.choice([bands.shape[:-2], ()]), bands.shape[-1], draw.integer(1, 2)))
    return (_factors(bands, **params), b), params


banded_solution = primitive(
    name="banded_solution",
    doc="x with A x = b, from the factors of a banded matrix A; the leading axes broadcast",
    type_rule=_solution_type,
    evaluate=lambda packed, b, lower, upper: _solution(np.asarray(packed), np.asarray(b), lower, upper),
    derivative=OF_PROGRAMS,
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="solution_by_banded_factors({0}, {1}, {lower}, {upper})".format,
    samples=_samples_of_solution,
)
