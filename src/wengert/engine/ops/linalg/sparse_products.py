"""Products with sparse matrices in CSR format: the nonzero elements row by row, as in SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import INT64
from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import TensorType, promote, show
from wengert.engine.kernels.sparse import product
from wengert.engine.nest.lowering import Expansion, OnHost
from wengert.engine.ops.arithmetic import add, multiply
from wengert.engine.ops.comparison import less, logical_or, not_equal, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import check_bounds, gather, scatter_add
from wengert.engine.ops.reduction import cumulative_sum, reduce_sum
from wengert.engine.ops.shape import concatenate, move_batch, reshape, slice_, transpose
from wengert.engine.primitive import Draw, Linear, Primitive, primitive

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


def _disorder(pointers: Any, count: int) -> Any:
    """Return how many ends of rows come before the end of the row before, or are not those of all elements."""
    rows = shape_of(pointers)[0] - 1
    starts = concatenate(np.zeros(1, np.int64), pointers, axis=0)
    ends = concatenate(pointers, np.full(1, count, np.int64), axis=0)
    is_inner = (np.arange(rows + 2) > 0) & (np.arange(rows + 2) <= rows)
    wrong = where(is_inner, less(ends, starts), not_equal(ends, starts))
    return reduce_sum(cast(wrong, dtype=INT64), axes=(0,))


def _follow(count: int) -> str:
    return f"the rows must begin at 0, follow one another and end at {count}"


def _checked_ends(operation: str, wrong: Any, count: int) -> Any:
    """Return numbers of wrong ends of rows, which must be 0."""
    return check_bounds(wrong, count=1, operation=operation, requirement=_follow(count))


def _column(operation: str, columns: Any, width: int) -> Any:
    requirement = f"columns must be from 0 up to {width - 1}"
    return check_bounds(columns, count=width, operation=operation, requirement=requirement)


def _along(numbers: Any, rank: int) -> Any:
    """Return a vector reshaped to multiply the rows of an array."""
    return reshape(numbers, shape=(*shape_of(numbers), *(1,) * (rank - 1)))


def _written_out(x: Any, data: Any, columns: Any, pointers: Any, *, width: int, transposed: bool) -> Any:
    """Return the product, with the checks of `kernels.sparse.inside`."""
    name, count = "sparse_product", shape_of(data)[0]
    columns = _column(name, columns, width)
    pointers = check_bounds(pointers, count=count + 1, operation=name, requirement=_follow(count))
    rows = add(_rows(pointers, count), _checked_ends(name, _disorder(pointers, count), count))
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
    # An index beyond its own block would be one of the next.
    columns = _column(op.name, columns, width)
    starts, first, last = (
        slice_(pointers, index=((0, count, 1), (start, length, 1)))
        for start, length in ((0, rows), (0, 1), (rows, 1))
    )
    wrong = logical_or(not_equal(first, 0), not_equal(last, stored))
    starts = add(starts, _checked_ends(op.name, cast(wrong, dtype=INT64), stored))
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
    count, extent, *trailing = shape_of(x)
    return reshape(x, shape=(count * extent, *trailing))


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
