"""Products with sparse matrices in CSR format: the nonzero elements row by row, as in SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.errors import DtypeError, ShapeError, message
from wengert.core.shapes import shape_of, size
from wengert.ir.types import TensorType, promote, show
from wengert.kernels.sparse import product
from wengert.nest.lowering import Expansion, OnHost
from wengert.ops.arithmetic import add, multiply
from wengert.ops.indexing import check_bounds, gather, scatter_add
from wengert.ops.reduction import cumulative_sum, reduce_sum
from wengert.ops.shape import concatenate, move_batch, reshape, slice_, transpose
from wengert.primitive import Draw, Linear, Primitive, primitive

_FEW = 10_000
"""Products of elements up to which a loop is faster than a call of SciPy."""


def _product_type(
    x: TensorType,
    data: TensorType,
    columns: TensorType,
    pointers: TensorType,
    *,
    width: int,
    transposed: bool,
) -> TensorType:
    types = show(x, data, columns, pointers)
    if any(operand.dtype.kind not in "iu" for operand in (columns, pointers)):
        raise DtypeError(message("sparse_product", "columns and pointers must be integers", types))
    if not (data.ndim == columns.ndim == pointers.ndim == 1 and data.shape == columns.shape):
        requirement = "data, columns and pointers must be vectors, the first two of one length"
        raise ShapeError(message("sparse_product", requirement, types))
    height, width = _shape(pointers.shape[0] - 1, width, transposed)
    if x.shape[:1] != (width,):
        got = f"a sparse matrix of {height} rows and {width} columns, {show(x)}"
        raise ShapeError(message("matmul", "inner dimensions must agree", got))
    return TensorType(promote(x, data)[0], (height, *x.shape[1:]))


def _shape(rows: int, width: int, transposed: bool) -> tuple[int, int]:
    return (width, rows) if transposed else (rows, width)


def _rows(pointers: Any, count: int) -> Any:
    """Return the row of each element: the number of rows that end before it."""
    ends = slice_(pointers, index=((1, shape_of(pointers)[0] - 1, 1),))
    ones = np.ones(shape_of(ends), np.int64)
    ended = cumulative_sum(scatter_add(ones, ends, shape=(count + 1,)), axis=0, reverse=False)
    return slice_(ended, index=((0, count, 1),))


def _along(numbers: Any, rank: int) -> Any:
    """Return a vector reshaped to multiply the rows of an array."""
    return reshape(numbers, shape=(*shape_of(numbers), *(1,) * (rank - 1)))


def _inside(numbers: Any, count: int, name: str) -> Any:
    requirement = f"{name} must be from 0 up to {count - 1}"
    return check_bounds(numbers, count=count, operation="sparse_product", requirement=requirement)


def _written_out(x: Any, data: Any, columns: Any, pointers: Any, *, width: int, transposed: bool) -> Any:
    columns, pointers = (
        _inside(columns, width, "columns"),
        _inside(pointers, shape_of(data)[0] + 1, "ends of rows"),
    )
    rows = _rows(pointers, shape_of(data)[0])
    height, _ = _shape(shape_of(pointers)[0] - 1, width, transposed)
    read, written = (rows, columns) if transposed else (columns, rows)
    terms = multiply(_along(data, len(shape_of(x))), gather(x, read))
    return scatter_add(terms, written, shape=(height, *shape_of(x)[1:]))


def _length(x: TensorType, data: TensorType, columns: TensorType, pointers: TensorType) -> int:
    is_short = data.shape[0] * size(x.shape[1:]) <= _FEW
    return (
        8
        if is_short and all(operand.dtype.kind == "f" and operand.dtype.itemsize > 2 for operand in (x, data))
        else 0
    )


def _of_elements(
    cotangent: Any, x: Any, data: Any, columns: Any, pointers: Any, *, width: int, transposed: bool
) -> Any:
    """Return the cotangent of each element: that of the row it adds to, times the row of ``x`` that it multiplies."""
    rows = _rows(pointers, shape_of(data)[0])
    read, written = (rows, columns) if transposed else (columns, rows)
    products = multiply(gather(cotangent, written), gather(x, read))
    return reduce_sum(products, axes=tuple(range(1, len(shape_of(products)))))


def _of_operand(
    cotangent: Any, x: Any, data: Any, columns: Any, pointers: Any, *, width: int, transposed: bool
) -> Any:
    return sparse_product(cotangent, data, columns, pointers, width=width, transposed=not transposed)


def batch_csr(
    op: Primitive, count: int, xs: Sequence[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    """Batch an operation of an array and a CSR matrix: of one matrix as further columns, of many as diagonal blocks.

    A parameter ``width`` is the number of columns of the matrix; without one it is square.
    """
    if not any(flags[1:]):
        rank = len(shape_of(xs[0]))
        result = op(transpose(xs[0], permutation=(*range(1, rank), 0)), *xs[1:], **params)
        return transpose(result, permutation=(rank - 1, *range(rank - 1)))
    x, data, columns, pointers = move_batch(xs, flags, count)
    stored, rows = shape_of(data)[1], shape_of(pointers)[1] - 1
    width = params.get("width", rows)
    block = np.arange(count, dtype=np.int64)[:, None]
    starts = slice_(pointers, index=((0, count, 1), (0, rows, 1)))
    ends = np.full(1, count * stored, np.int64)
    result = op(
        _flat(x),
        _flat(data),
        _flat(add(columns, block * width)),
        concatenate(_flat(add(starts, block * stored)), ends, axis=0),
        **{**params, **({"width": count * width} if "width" in params else {})},
    )
    height, _ = _shape(rows, width, params["transposed"])
    return reshape(result, shape=(count, height, *shape_of(result)[1:]))


def _flat(x: Any) -> Any:
    """Return the first two axes as one."""
    count, extent, *rest = shape_of(x)
    return reshape(x, shape=(count * extent, *rest))


def _samples(draw: Draw) -> Any:
    height, width = draw.integer(0, 3), draw.integer(0, 3)
    stored = draw.integer(0, 4) if height and width else 0
    ends = np.sort(draw.integers((max(height - 1, 0),), 0, stored))
    pointers = np.concatenate([[0], ends, [stored] * (height > 0)]).astype(np.int64)
    transposed = draw.choice([False, True])
    x = draw.array((height if transposed else width, *draw.choice([(), (2,), (2, 1), (0,)])))
    columns = draw.integers((stored,), 0, max(width - 1, 0))
    return (x, draw.array((stored,)), columns, pointers), {"width": width, "transposed": transposed}


sparse_product = primitive(
    name="sparse_product",
    doc="the CSR matrix of ``width`` columns, or its transpose, times x: data and columns from pointers[i] to "
    "pointers[i + 1] are row i",
    type_rule=_product_type,
    evaluate=product,
    derivative=Linear(_of_operand, _of_elements, None, None, jointly=False),
    batch=batch_csr,
    lowering=OnHost("rows have lengths of their own", Expansion(_written_out, _length)),
    source=lambda x, data, columns, pointers, width, transposed: (
        f"sparse_product({x}, {data}, {columns}, {pointers}, {width}, {transposed})"
    ),
    samples=_samples,
)
