"""Lowerings of operations on shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL
from wengert.engine.core.shapes import Shape
from wengert.exporting.onnx.kernels import carrier
from wengert.exporting.onnx.table import Call, lowers
from wengert.exporting.onnx.values import Padded, Value

lowers("reshape")(lambda call, x, shape: x.reshape(shape))


lowers("transpose")(lambda call, x, permutation: x.transpose(permutation))


lowers("broadcast_to")(lambda call, x, shape: x.expand(shape))


@lowers("concatenate")
def _concatenate(call: Call, *xs: Value, axis: int) -> Value:
    pieces = [x.cast(call.result.dtype) for x in xs if x.shape[axis]]
    return pieces[0] if len(pieces) == 1 else joined(pieces, axis)


def joined(pieces: list[Value], axis: int) -> Value:
    """Return values one after the other along an axis."""
    shape = list(pieces[0].shape)
    shape[axis] = sum(piece.shape[axis] for piece in pieces)
    return pieces[0].writer.node("Concat", pieces, shape, axis=axis)


@lowers("side_by_side")
def _side_by_side(call: Call, x: Value, y: Value) -> Value:
    return joined([part.cast(call.result.dtype).reshape((*part.shape, 1)) for part in (x, y)], x.ndim)


def _ranges(index: Any) -> list[tuple[int, int, int]]:
    """Return a basic index with a range for each axis."""
    return [(entry, 1, 1) if isinstance(entry, int) else entry for entry in index]


@lowers("slice")
def _slice(call: Call, x: Value, index: Any) -> Value:
    starts, counts, steps = zip(*_ranges(index), strict=True) if index else ((), (), ())
    return x.taken(starts, counts, steps).reshape(call.result.shape)


def zeros(call: Call) -> Value:
    """Return zeros of the type of the result."""
    return call.writer.constant(0, call.result.dtype).expand(call.result.shape)


@lowers("embed")
def _embed(call: Call, x: Value, shape: Shape, index: Any) -> Value:
    """Return x with its elements apart, as the steps of the index say, and zeros around them."""
    if 0 in x.shape:
        return zeros(call)
    ranges = _ranges(index)
    x = x.reshape([count for _, count, _ in ranges])
    backwards = [count - 1 if step < 0 else 0 for _, count, step in ranges]
    x = x.taken(backwards, x.shape, [-1 if step < 0 else 1 for _, _, step in ranges])
    x = _apart(x, [abs(step) for _, _, step in ranges])
    before = [start if step > 0 else start + (count - 1) * step for start, count, step in ranges]
    after = [
        extent - first - inner
        for extent, first, inner in zip(call.result.shape, before, x.shape, strict=True)
    ]
    return padded(x, before, after)


def _apart(x: Value, steps: list[int]) -> Value:
    """Return the elements of each axis at a distance, with zeros between them."""
    if all(step == 1 or extent == 1 for step, extent in zip(steps, x.shape, strict=True)):
        return x
    wide = x.reshape([part for extent in x.shape for part in (extent, 1)])
    wide = padded(wide, [0] * wide.ndim, [part for step in steps for part in (0, step - 1)])
    x = wide.reshape([extent * step for extent, step in zip(x.shape, steps, strict=True)])
    counts = [extent - step + 1 for extent, step in zip(x.shape, steps, strict=True)]
    return x.taken([0] * x.ndim, counts, [1] * x.ndim)


def padded(x: Value, before: list[int], after: list[int], fill: Any = 0) -> Value:
    """Return a value with a number, zero most often, around it."""
    if not any([*before, *after]):
        return x
    writer = x.writer
    shape = [sum(parts) for parts in zip(before, x.shape, after, strict=True)]
    working = carrier("Pad", x.dtype) or x.dtype
    inputs = [x.cast(working), writer.numbers([*before, *after]), writer.constant(fill, working)]
    result = writer.nodes("Pad", inputs, [(working, tuple(shape))], mode="constant")[0].cast(x.dtype)
    if min(before) >= 0 and min(after) >= 0:
        writer.padded[result.name] = Padded(x, tuple(before), tuple(after), float(fill))
    return result


@lowers("place")
def _place(call: Call, x: Value, y: Value, index: Any) -> Value:
    """Return x with y written at the points of the leading axes up to the last that is not whole."""
    ranges = _ranges(index)
    if 0 in y.shape:
        return x
    parts = list(zip(ranges, x.shape, strict=True))
    lead = max((axis + 1 for axis, (part, extent) in enumerate(parts) if part != (0, extent, 1)), default=0)
    y = y.cast(x.dtype).reshape([count for _, count, _ in ranges])
    if not lead:
        return y
    border = _border(x, ranges)
    if border is not None:
        after = [n - start - count for (start, count, _), n in zip(ranges, x.shape, strict=True)]
        return padded(y, [start for start, _, _ in ranges], after, border)
    along = [start + step * np.arange(count) for start, count, step in ranges[:lead]]
    points = np.stack(np.meshgrid(*along, indexing="ij"), -1)
    return x.writer.nodes(
        "ScatterND", [x, x.writer.constant(points, np.dtype(np.int64)), y], [(x.dtype, x.shape)]
    )[0]


def _border(x: Value, ranges: list[tuple[int, int, int]]) -> Any:
    """Return the number that an array is filled with into which a block is written; else None."""
    if x.known is None or x.dtype == BOOL or any(step != 1 for _, _, step in ranges):
        return None
    first = x.known.reshape(-1)[0]
    is_filled = x.known.tobytes() == first.tobytes() * x.known.size
    return first if is_filled and not (first == 0 and np.signbit(first)) else None
