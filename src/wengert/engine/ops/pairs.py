"""Values side by side: how a compiled program writes the two parts of complex numbers into an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, promote, show
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.lowering import Operand, Pieces, Pointwise, converted
from wengert.engine.ops.shape import move_batch, reshape, slice_, whole
from wengert.engine.primitive import Draw, Linear, primitive


def _type(x: TensorType, y: TensorType) -> TensorType:
    if x.shape != y.shape:
        raise ShapeError(message("side_by_side", "two arrays of one shape are required", show(x, y)))
    # NumPy's stack makes arrays of Python's numbers first.
    return TensorType(promote(x._replace(weak=False), y._replace(weak=False))[0], (*x.shape, 2))


def _column(number: int) -> Any:
    def transposed(cotangent: Any, x: Any, y: Any) -> Any:
        index = whole(shape_of(cotangent))
        index[-1] = (number, 1, 1)
        return reshape(slice_(cotangent, index=tuple(index)), shape=shape_of(x))

    return transposed


def _lowering(i: Any, result: Operand, x: Operand, y: Operand) -> Pieces:
    dims = tuple(map(Dim, x.shape))
    mine = tuple(map(Index.of, dims))
    values = (converted(operand.at(mine), result.dtype) for operand in (x, y))
    return Pieces(dims, tuple(((*mine, Index(part)), value) for part, value in enumerate(values)))


def _samples(draw: Draw) -> Any:
    shape = draw.shape()
    return (draw.array(shape), draw.array(shape)), {}


side_by_side = primitive(
    name="side_by_side",
    doc="the elements of two arrays as pairs along a new last axis",
    type_rule=_type,
    evaluate=lambda x, y: np.stack([x, y], -1),
    derivative=Linear(_column(0), _column(1)),
    batch=lambda op, size_, xs, flags, params: op(*move_batch(xs, flags, size_)),
    lowering=Pointwise(_lowering),
    source="np.stack([{0}, {1}], -1)".format,
    samples=_samples,
)
