"""Lowerings of reductions, running sums and products, positions and orders."""

from __future__ import annotations

import math

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64
from wengert.exporting.onnx.kernels import carrier
from wengert.exporting.onnx.pooling import largest
from wengert.exporting.onnx.shapes import joined
from wengert.exporting.onnx.table import Call, Single, lowers, lowers_each
from wengert.exporting.onnx.values import Value

Axes = tuple[int, ...]


def _reduction(operator: str) -> Single:
    def lowering(call: Call, x: Value, axes: Axes) -> Value:
        if 0 in x.shape:
            return call.writer.constant(int(operator == "ReduceProd"), x.dtype).expand(call.result.shape)
        if x.dtype == BOOL:
            return _truth("ReduceMax" if operator in ("ReduceSum", "ReduceMax") else "ReduceMin")(
                call, x, axes
            )
        pooled = largest(x, axes) if operator == "ReduceMax" else None
        if pooled is not None or x.dtype.kind != "f" or operator not in ("ReduceMax", "ReduceMin"):
            return x.reduce(operator, axes) if pooled is None else pooled
        nans = x.unary("IsNaN", BOOL).cast(np.dtype(np.uint8))  # onnxruntime passes over them along some axes
        return (nans.reduce("ReduceMax", axes) > 0).choose(math.nan, x.reduce(operator, axes))

    return lowering


def _truth(operator: str) -> Single:
    def lowering(call: Call, x: Value, axes: Axes) -> Value:
        if 0 in x.shape:
            return call.writer.constant(operator == "ReduceMin").expand(call.result.shape)
        holds = x if x.dtype == BOOL else ~x.equals(0)
        return holds.cast(np.dtype(np.uint8)).reduce(operator, axes).cast(BOOL)

    return lowering


lowers_each(
    {
        "reduce_sum": "ReduceSum",
        "reduce_prod": "ReduceProd",
        "reduce_max": "ReduceMax",
        "reduce_min": "ReduceMin",
    },
    _reduction,
)
lowers_each({"reduce_any": "ReduceMax", "reduce_all": "ReduceMin"}, _truth)


def _position(operator: str) -> Single:
    """Return the lowering of the position of an extremum; a NaN is the extremum."""

    def lowering(call: Call, x: Value, axis: int) -> Value:
        def first(operator: str, x: Value) -> Value:
            return x.writer.node(operator, [x], call.result.shape, dtype=INT64, axis=axis, keepdims=0)

        if x.dtype.kind != "f":
            return first(operator, x.cast(np.dtype(np.uint8)) if x.dtype == BOOL else x)
        nans = x.unary("IsNaN", BOOL).cast(np.dtype(np.uint8))
        return (nans.reduce("ReduceMax", (axis,)) > 0).choose(first("ArgMax", nans), first(operator, x))

    return lowering


lowers_each({"argmax": "ArgMax", "argmin": "ArgMin"}, _position)


@lowers("cumsum")
def _running_sum(call: Call, x: Value, axis: int, reverse: bool) -> Value:
    place = x.writer.constant(axis, INT64)
    return x.writer.node("CumSum", [x], x.shape, others=[place], reverse=int(reverse))


@lowers("cumprod")
def _running_product(call: Call, x: Value, axis: int, reverse: bool) -> Value:
    """Multiply neighbours at doubling distances (Hillis and Steele, 1986)."""
    distance, extent = 1, x.shape[axis]
    while distance < extent:
        counts = [*x.shape[:axis], extent - distance, *x.shape[axis + 1 :]]
        starts = [0] * x.ndim
        starts[axis] = distance if reverse else 0
        earlier = x.taken(starts, counts, [1] * x.ndim)
        ones = x.like(1).expand([*x.shape[:axis], distance, *x.shape[axis + 1 :]])
        x = x * joined([earlier, ones] if reverse else [ones, earlier], axis)
        distance *= 2
    return x


@lowers("argsort")
def _positions(call: Call, x: Value, axis: int) -> Value:
    return _order(x, axis)


@lowers("sort")
def _sorted(call: Call, x: Value, axis: int) -> Value:
    return x.writer.node("GatherElements", [x], x.shape, others=[_order(x, axis)], axis=axis)


def _order(x: Value, axis: int) -> Value:
    """Take all elements from the smallest on; the operator orders equal ones by position."""
    count = x.writer.numbers([x.shape[axis]])

    def ordered(x: Value) -> Value:
        types = [(x.dtype, x.shape), (INT64, x.shape)]
        return x.writer.nodes("TopK", [x, count], types, axis=axis, largest=0, sorted=1)[1]

    def taken(x: Value, places: Value) -> Value:
        return x.writer.node("GatherElements", [x], x.shape, others=[places], axis=axis)

    if x.dtype == np.uint64:  # the operator has no kernel: integers that are less by 2^63
        return ordered((x ^ x.like(2**63)).cast(INT64))
    if x.dtype.kind != "f":
        working = carrier("TopK", x.dtype)
        assert working is not None
        return ordered(x.cast(working))
    nans = x.unary("IsNaN", BOOL)
    places = ordered(nans.choose(math.inf, x))
    behind = ordered(taken(nans.cast(np.dtype(np.int32)), places))  # what is NaN follows infinity
    return taken(places, behind)
