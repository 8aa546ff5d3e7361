"""What operations on matrices share; matrices are the last two axes, stacked along the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import FLOAT64, Dtype, is_float
from wengert.core.errors import DtypeError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import TensorType, promote, show
from wengert.ops.comparison import where
from wengert.ops.contraction import product
from wengert.ops.elementwise import align
from wengert.ops.shape import transpose
from wengert.primitive import MOST_AXES, Primitive

_LEAD = "".join(map(chr, range(ord("À"), ord("À") + MOST_AXES)))  # names of the other axes


def check_matrices(operation: str, *types: TensorType) -> None:
    """Raise where operands are no matrices, or of half precision, which LAPACK has not."""
    if any(one.ndim < 2 for one in types):
        raise ShapeError(message(operation, "matrices are required", show(*types)))
    if any(one.dtype == np.float16 for one in types):
        raise DtypeError(message(operation, "single or double precision is required", show(*types)))


def check_square(operation: str, x: TensorType) -> None:
    """Raise where an operand is no stack of square matrices."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(message(operation, "square matrices are required", show(x)))
    check_matrices(operation, x)


def floating_dtype(*types: TensorType) -> Dtype:
    """Return the dtype of a result: integers count as float64."""
    return promote(*types)[0] if all(is_float(one.dtype) for one in types) else FLOAT64


def multiply(a: Any, b: Any) -> Any:
    """Return the products of stacked matrices; leading axes broadcast."""
    lead, other = len(shape_of(a)) - 2, len(shape_of(b)) - 2
    rank = max(lead, other)
    return product(f"{_LEAD[rank - lead : rank]}xy,{_LEAD[rank - other : rank]}yz->{_LEAD[:rank]}xz", a, b)


def inner(a: Any, b: Any) -> Any:
    """Return the scalar product of each column of ``a`` and that of ``b``."""
    lead = _LEAD[: len(shape_of(a)) - 2]
    return product(f"{lead}xi,{lead}xi->{lead}i", a, b)


def swapped(a: Any) -> Any:
    """Return stacked matrices transposed."""
    rank = len(shape_of(a))
    return transpose(a, permutation=(*range(rank - 2), rank - 1, rank - 2))


def lower(a: Any, offset: int = 0) -> Any:
    """Return the lower triangle of stacked matrices, zeros above the diagonal of that offset."""
    return where(np.tri(*shape_of(a)[-2:], k=offset, dtype=bool), a, 0.0)


def symmetric(a: Any, half: str = "L") -> Any:
    """Return the symmetric matrices that have the lower or upper triangle of ``a``."""
    taken = np.tri(*shape_of(a)[-2:], dtype=bool)
    return where(taken if half == "L" else taken.T, a, swapped(a))


def batch(
    op: Primitive, size: int, xs: Sequence[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    """Let the batch be the first of the leading axes."""
    return op(*align(size, xs, flags), **params)
