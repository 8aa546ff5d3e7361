"""Equations with banded matrices, stacked along leading axes.

A matrix is given by its diagonals, as in LAPACK: element ``[i, j]`` is ``bands[upper + i - j, j]``. Elements of the
corners, which lie outside the matrix, are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.kernels import banded as kernel
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.comparison import where
from wengert.engine.ops.contraction import Access, along, contract
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.linalg.square import check_matrices, solution_type
from wengert.engine.ops.shape import slice_, transpose, whole
from wengert.engine.primitive import Draw, Explicit, Linear, primitive


def check_bands(operation: str, bands: TensorType, lower: int, upper: int) -> None:
    """Raise `ShapeError` if the diagonals are not as many as they should be."""
    check_matrices(operation, bands)
    if bands.shape[-2] != lower + upper + 1:
        requirement = f"{lower} lower and {upper} upper diagonals are {lower + upper + 1} rows"
        raise ShapeError(message(operation, requirement, show(bands)))


def _type(bands: TensorType, b: TensorType, lower: int, upper: int) -> TensorType:
    check_bands("solve_banded", bands, lower, upper)
    return solution_type("solve_banded", bands, b)


def _evaluate(bands: Any, b: Any, lower: int, upper: int) -> Any:
    dtype = _type(type_of(bands), type_of(b), lower, upper).dtype
    return kernel.solve(np.asarray(bands, dtype), np.asarray(b, dtype), lower, upper)


def transposed_bands(bands: Any, lower: int, upper: int) -> Any:
    """Return the diagonals of the transposed matrix, which has ``upper`` of them below the main one."""
    rank, (rows, count) = len(shape_of(bands)), shape_of(bands)[-2:]
    row = np.arange(rows)[:, None]
    column = np.arange(count) + (row - lower)
    is_element = (column >= 0) & (column < count)
    first = (rank - 2, rank - 1, *range(rank - 2))
    taken = gather(transpose(bands, permutation=first), rows - 1 - row, np.where(is_element, column, 0))
    back = (*range(2, rank), 0, 1)
    return where(is_element, transpose(taken, permutation=back), 0.0)


def product(bands: Any, x: Any, lower: int, upper: int) -> Any:
    """Return ``A x`` for banded matrices A and matrices x."""
    (rows, count), columns = shape_of(bands)[-2:], shape_of(x)[-1]
    lead = broadcast("solve_banded", shape_of(bands)[:-2], shape_of(x)[:-2])
    rank = len(lead)

    def leading(shape: Sequence[int]) -> Access:
        axes = range(rank - len(shape), rank)
        return tuple(along(axis) if n != 1 else (0, ()) for axis, n in zip(axes, shape, strict=True))

    row, position, column = rank, rank + 1, rank + 2
    shifted = contract(
        bands,
        x,
        extents=(*lead, rows, count, columns),
        accesses=(
            (*leading(shape_of(bands)[:-2]), along(row), along(position)),
            (*leading(shape_of(x)[:-2]), along(position), along(column)),
        ),
        out=(*map(along, range(rank)), (0, ((row, 1), (position, 1))), along(column)),
        shape=(*lead, count + rows - 1, columns),
    )
    index = whole(shape_of(shifted))
    index[-2] = (upper, count, 1)
    return slice_(shifted, index=tuple(index))


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, lower: int, upper: int) -> Any:
    """Differentiate ``A x = b``: ``A dx = db - dA x``."""
    da, db = tangents
    if da is not None:
        moved = product(da, out, lower, upper)
        db = -moved if db is None else db - moved
    return solve_banded(primals[0], db, lower=lower, upper=upper)


def _samples(draw: Draw) -> Any:
    count, lead = draw.integer(1, 4), draw.choice([(), (2,), (1, 2)])
    lower, upper = draw.integer(0, 2), draw.integer(0, 2)
    bands = draw.array((*lead, lower + upper + 1, count), -0.5, 0.5)
    bands = bands + 3 * (np.arange(lower + upper + 1) == upper)[:, None]
    b = draw.array((*draw.choice([lead, ()]), count, draw.integer(1, 2)))
    return (bands, b), {"lower": lower, "upper": upper}


def _identity_elsewhere(counts: Any, bands: Any, b: Any, *, lower: int, upper: int) -> tuple[Any, Any]:
    """Return the operands with the identity for examples that do not count."""
    if not (isinstance(bands, Box) and bands.owner is counts.owner):  # all examples share the matrix
        return bands, b
    diagonal = (np.arange(lower + upper + 1) == upper)[:, None].astype(dtype_of(bands))
    return where(counts, bands, diagonal), b


solve_banded = primitive(
    name="solve_banded",
    doc="x with a x = b for banded matrices a, whose element [i, j] is bands[upper + i - j, j]; the leading axes "
    "broadcast",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=Explicit(
        _tangent,
        Linear(
            None,
            lambda cotangent, bands, b, lower, upper: solve_banded(
                transposed_bands(bands, lower, upper), cotangent, lower=upper, upper=lower
            ),
        ),
    ),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK solves it"),
    source="banded_solution({0}, {1}, {lower}, {upper})".format,
    samples=_samples,
    unchecked=_identity_elsewhere,
)
