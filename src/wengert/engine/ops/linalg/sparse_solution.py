"""Solutions with sparse matrices in CSR format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show
from wengert.engine.kernels.sparse_factors import solution
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.linalg.sparse_products import batch_csr, sparse_product
from wengert.engine.ops.linalg.square import floating_dtype
from wengert.engine.primitive import Draw, Explicit, Linear, primitive


def _type(
    b: TensorType, data: TensorType, columns: TensorType, pointers: TensorType, *, transposed: bool
) -> TensorType:
    types = show(b, data, columns, pointers)
    if any(operand.dtype.kind not in "iu" for operand in (columns, pointers)):
        raise DtypeError(message("sparse_solve", "columns and pointers must be integers", types))
    if not (data.ndim == columns.ndim == pointers.ndim == 1 and data.shape == columns.shape):
        requirement = "data, columns and pointers must be vectors, the first two of one length"
        raise ShapeError(message("sparse_solve", requirement, types))
    if b.shape[:1] != (pointers.shape[0] - 1,):
        got = f"a sparse matrix of {pointers.shape[0] - 1} rows, {show(b)}"
        raise ShapeError(message("sparse_solve", "b must have a row for each row of the matrix", got))
    return TensorType(floating_dtype(data, b), b.shape)


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, *, transposed: bool) -> Any:
    """Differentiate ``A x = b``: ``A dx = db - dA x``."""
    _, data, columns, pointers = primals
    change, moved, *_ = tangents
    if moved is not None:
        width = shape_of(pointers)[0] - 1
        product = sparse_product(out, moved, columns, pointers, width=width, transposed=transposed)
        change = -product if change is None else change - product
    return sparse_solve(change, data, columns, pointers, transposed=transposed)


def _transposed(cotangent: Any, b: Any, data: Any, columns: Any, pointers: Any, *, transposed: bool) -> Any:
    return sparse_solve(cotangent, data, columns, pointers, transposed=not transposed)


def _samples(draw: Draw) -> Any:
    """Draw rows with a large element on the diagonal and, in some rows, one beside it."""
    count = draw.integer(0, 4)
    beside = draw.integers((count,), 0, 1) if count > 1 else np.zeros(count, np.int64)
    columns = [c for row in range(count) for c in (row, (row + 1) % count)[: 1 + beside[row]]]
    pointers = np.concatenate([[0], np.cumsum(1 + beside)]).astype(np.int64)
    diagonal = np.array([c == row for row in range(count) for c in (row, -1)[: 1 + beside[row]]], bool)
    data = draw.array((len(columns),), -0.5, 0.5) + 3 * diagonal
    b = draw.array((count, *draw.choice([(), (2,), (2, 1), (0,)])))
    transposed = draw.choice([False, True])
    return (b, data, np.array(columns, np.int64), pointers), {"transposed": transposed}


sparse_solve = primitive(
    name="sparse_solve",
    doc="x with A x = b for a square CSR matrix, or its transpose: data and columns from pointers[i] to "
    "pointers[i + 1] are row i",
    type_rule=_type,
    evaluate=solution,
    derivative=Explicit(_tangent, Linear(_transposed, None)),
    batch=batch_csr,
    lowering=OnHost("SciPy factorises sparse matrices"),
    source=lambda b, data, columns, pointers, transposed: (
        f"sparse_solution({b}, {data}, {columns}, {pointers}, {transposed})"
    ),
    samples=_samples,
)
