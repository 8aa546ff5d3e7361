"""Bits of integers, and the numbering of the positions of an array."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import BOOL, INT64, dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, message
from wengert.engine.core.shapes import axis_index, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import not_equal, where
from wengert.engine.ops.indexing import check_bounds
from wengert.engine.ops.shape import reshape
from wengert.numpy.joining import concatenate_
from wengert.numpy.reducing import sum_
from wengert.numpy.registry import implements, integers, rank_of, strong
from wengert.numpy.selecting import in_mode
from wengert.numpy.shaping import moveaxis, ravel

_BYTE = np.dtype(np.uint8)


def _weights(operation: str, bitorder: str) -> Any:
    """Return the power of two that each bit of a byte stands for."""
    if bitorder not in ("big", "little"):
        raise ArgumentError(message(operation, 'bitorder must be "big" or "little"', repr(bitorder)))
    weights = 2 ** np.arange(8, dtype=_BYTE)
    return weights[::-1].copy() if bitorder == "big" else weights


def _last(operation: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """Return an array with the given axis last, and the axis."""
    if axis is None or not rank_of(a):
        return ravel(a), 0
    axis = axis_index(operation, axis, rank_of(a))
    return moveaxis(a, axis, -1), axis


@implements(np.packbits)
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    a = operand(a)
    if dtype_of(a).kind not in "biu":
        raise DtypeError(message("packbits", "integers or truth values are required", show(a)))
    weights = _weights("packbits", bitorder)
    bits, axis = _last("packbits", a if dtype_of(a) == BOOL else not_equal(a, 0), axis)
    *lead, count = shape_of(bits)
    missing = -count % 8
    if missing:
        bits = concatenate_([bits, np.zeros((*lead, missing), BOOL)], -1)
    bits = reshape(bits, shape=(*lead, (count + missing) // 8, 8))
    return moveaxis(sum_(where(bits, weights, _BYTE.type(0)), -1, _BYTE), -1, axis)


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    a = operand(a)
    if dtype_of(a) != _BYTE:
        raise DtypeError(
            message("unpackbits", "an array of uint8 is required", show(a), "write a.astype(np.uint8)")
        )
    weights = _weights("unpackbits", bitorder)
    lines, axis = _last("unpackbits", a, axis)
    *lead, bytes_ = shape_of(lines)
    bits = strong(not_equal(reshape(lines, shape=(*lead, bytes_, 1)) & weights, 0), _BYTE)
    bits = reshape(bits, shape=(*lead, 8 * bytes_))
    if count is not None:
        wanted = operator.index(count)
        bits = bits[..., :wanted] if wanted < 8 * bytes_ else bits
        if (missing := wanted - 8 * bytes_) > 0:
            bits = concatenate_([bits, np.zeros((*lead, missing), _BYTE)], -1)
    return moveaxis(bits, -1, axis)


# -- positions -------------------------------------------------------------------------------------------


def _strides(operation: str, shape: Any, order: str) -> tuple[list[int], list[int]]:
    """Return the extents of an array and the number of elements from one position of each axis to the next."""
    extents = integers(shape)
    if order not in ("C", "F"):
        raise ArgumentError(message(operation, 'order must be "C" or "F"', repr(order)))
    if order == "C":
        return extents, [size(tuple(extents[axis + 1 :])) for axis in range(len(extents))]
    return extents, [size(tuple(extents[:axis])) for axis in range(len(extents))]


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    name = "ravel_multi_index"
    extents, strides = _strides(name, dims, order)
    parts = [operand(part) for part in multi_index]
    if len(parts) != len(extents):
        requirement = "there must be one array of positions for each axis"
        raise ArgumentError(message(name, requirement, f"{len(parts)} for {len(extents)} axes"))
    modes = [mode] * len(parts) if isinstance(mode, str) else list(mode)
    total: Any = np.int64(0)
    for part, extent, stride, how in zip(parts, extents, strides, modes, strict=True):
        place = in_mode(name, part, extent, how)
        if how == "raise":
            requirement = f"positions must lie in [0, {extent})"
            place = check_bounds(place, count=extent, operation=name, requirement=requirement)
        total = total + place * stride
    return total


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    name = "unravel_index"
    extents, strides = _strides(name, shape, order)
    indices = operand(indices)
    if dtype_of(indices).kind not in "biu":
        raise DtypeError(message(name, "integers are required", show(indices), "write i.astype(int)"))
    count = size(tuple(extents))
    requirement = f"positions must lie in [0, {count})"
    place = check_bounds(strong(indices, INT64), count=count, operation=name, requirement=requirement)
    return tuple(place // stride % extent for extent, stride in zip(extents, strides, strict=True))
