"""Lowerings of reads and writes at integer arrays.

ONNX leaves the order of writes to one element open. So an array of positions in the flat array is made, and only
reductions that do not depend on the order, sum and maximum, write: the last of several writers is the largest number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.engine.core.dtypes import INT64
from wengert.engine.core.shapes import Shape, size
from wengert.exporting.onnx.shapes import joined, zeros
from wengert.exporting.onnx.table import Call, lowers
from wengert.exporting.onnx.values import Value


@lowers("gather")
def _gather(call: Call, x: Value, *indices: Value) -> Value:
    if len(indices) == 1:
        return x.at(indices[0])
    shape = np.broadcast_shapes(*(index.shape for index in indices))
    columns = [index.cast(INT64).expand(shape).reshape((*shape, 1)) for index in indices]
    return x.writer.node("GatherND", [x], call.result.shape, others=[joined(columns, len(shape))])


def _positions(indices: Sequence[Value], shape: Shape) -> Value:
    """Return the positions in the flat array of the leading axes; negative indices count from the end."""
    full = np.broadcast_shapes(*(index.shape for index in indices))
    total: Value | None = None
    for axis, index in enumerate(indices):
        index = index.cast(INT64)
        index = (index < 0).choose(index + shape[axis], index)
        index = index * size(shape[axis + 1 : len(indices)])
        total = index if total is None else total + index
    assert total is not None
    return total.expand(full).flat


def _elements(indices: Sequence[Value], shape: Shape) -> Value:
    """Return the positions of all elements that indices of the leading axes select."""
    count = size(shape[len(indices) :])
    lead = _positions(indices, shape)
    within = lead.writer.constant(np.arange(count), INT64)
    return (lead.reshape((*lead.shape, 1)) * count + within).flat


def _combined(target: Value, positions: Value, values: Value, reduction: str) -> Value:
    """Return a flat array with values combined into it at positions."""
    inputs = [target, positions, values.cast(target.dtype)]
    return target.writer.nodes(
        "ScatterElements", inputs, [(target.dtype, target.shape)], axis=0, reduction=reduction
    )[0]


lowers("scatter_add")(lambda call, y, *indices, shape: _added_into(zeros(call), y, indices))


lowers("add_at")(lambda call, x, y, *indices: _added_into(x, y, indices))


def _added_into(x: Value, y: Value, indices: Sequence[Value]) -> Value:
    if 0 in y.shape or 0 in x.shape:
        return x
    return _combined(x.flat, _elements(indices, x.shape), y.flat, "add").reshape(x.shape)


lowers("last_writer")(lambda call, *indices, shape: _writers(indices, shape).reshape(shape))


def _writers(indices: Sequence[Value], shape: Shape) -> Value:
    """Return for each position of the leading axes the number of the last write; -1 without a write."""
    writer = indices[0].writer
    nobody = writer.constant(-1, INT64).expand((size(shape[: len(indices)]),))
    positions = _positions(indices, shape)
    if not positions.shape[0]:
        return nobody
    numbers = writer.constant(np.arange(positions.shape[0]), INT64)
    return _combined(nobody, positions, numbers, "max")


@lowers("scatter")
def _scatter(call: Call, x: Value, y: Value, *indices: Value) -> Value:
    if 0 in y.shape or 0 in x.shape:
        return x
    last = _writers(indices, x.shape)
    count = size(x.shape[len(indices) :])
    rows = y.cast(x.dtype).reshape((-1 if not count else size(y.shape) // count, count))
    written = (last >= 0).reshape((*last.shape, 1))
    values = rows.at((last < 0).choose(0, last))
    return written.choose(values, x.reshape(values.shape)).reshape(x.shape)


lowers("check_bounds")(lambda call, x, **params: x.cast(INT64))
