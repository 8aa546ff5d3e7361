"""Functions that write into an array: into a box as NumPy does, but never a box into a plain array."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array import indexing
from wengert.engine.array.array import UFUNC_METHODS, Array, operand
from wengert.engine.array.ufunc_calls import fitting
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import implements, is_array, known, lost, rank_of, strong
from wengert.numpy.shaping import ravel

_HINT = "make the array with wengert.numpy.zeros (or wengert.numpy.array of it), which holds boxes"


def target_of(operation: str, array: Any) -> Array:
    """Return the box to write to, or raise an error for a plain array, which cannot hold boxes."""
    if not isinstance(array, Array):
        lost(operation, _HINT)
    return array


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    target = target_of("np.copyto", dst)
    values = _castable("np.copyto", src, target, casting)
    target[...] = values if where is True else np.where(where, values, target)


def _castable(operation: str, values: Any, target: Array, casting: str) -> Any:
    """Return values in the dtype of the target, or raise `DtypeError` where NumPy refuses the conversion."""
    number = dtype_of(operand(values)).type(0).item()
    if not is_array(values) and np.result_type(target.dtype, number) == target.dtype:
        return operand(values)
    return fitting(operation, operand(values), target, casting)


def _flat_write(target: Array, positions: Any, values: Any) -> None:
    flat = ravel(target.copy())
    flat[positions] = values
    target[...] = reshape(flat, shape=target.shape)


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    target = target_of("np.put", a)
    plain_take: Any = np.take
    indices = indexing.signed(known("np.put", operand(ind))).ravel()
    positions = plain_take(np.arange(target.size), indices, mode=mode)
    _flat_write(target, positions, np.resize(operand(v), positions.shape))


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    target = target_of("np.place", arr)
    if concrete(mask) is None and size(shape_of(operand(vals))) == 1:
        values = reshape(_castable("np.place", vals, target, "safe"), shape=())
        target[...] = np.where(reshape(operand(mask), shape=target.shape), values, target)
        return
    positions = np.flatnonzero(known("np.place", operand(mask)))
    if not positions.size:
        return
    values = _castable("np.place", vals, target, "safe")
    if not size(shape_of(values)):
        raise ShapeError(message("np.place", "there must be a value", show(values)))
    _flat_write(target, positions, np.resize(values, positions.shape))


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    target = target_of("np.putmask", a)
    values = _castable("np.putmask", values, target, "safe")
    repeated = np.resize(values, target.shape)
    target[...] = np.where(operand(mask), repeated, target)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    target = target_of("np.fill_diagonal", a)
    shape = target.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) != 1):
        requirement = "at least two axes are required, of one extent if more"
        raise ShapeError(message("np.fill_diagonal", requirement, show(a)))
    step = shape[1] + 1 if len(shape) == 2 else 1 + sum(size(shape[axis:]) for axis in range(1, len(shape)))
    stop = shape[1] ** 2 if len(shape) == 2 and not wrap else target.size
    positions = np.arange(target.size)[:stop:step]
    values = operand(val)
    if not size(shape_of(values)):
        raise ShapeError(message("np.fill_diagonal", "there must be a value", show(values)))
    _flat_write(target, positions, values if not rank_of(values) else np.resize(values, positions.shape))


def add_at(a: Any, indices: Any, b: Any) -> None:
    """Add at every position of an index, also at repeated ones; as `np.add.at`."""
    target = target_of("np.add.at", a)
    values = _as_added(target, operand(b))
    if not rank_of(values) and indexing.is_mask_without_value(indices, target.shape):
        target[...] = target.fitted(where(indices, target + values, target))
        return
    subscript = indexing.parse(target.shape, indices)
    target[...] = target.fitted(indexing.add(target, subscript, values))


def subtract_at(a: Any, indices: Any, b: Any) -> None:
    """Subtract at every position of an index, also at repeated ones; as `np.subtract.at`."""
    target = target_of("np.subtract.at", a)
    add_at(target, indices, -_as_added(target, operand(b)))


def _as_added(target: Array, values: Any) -> Any:
    """Return values in the dtype of the sums, since sums of narrow values may exceed the values' own dtype."""
    values = strong(values)
    if target.dtype.kind in "iu" and not is_inexact(dtype_of(values)):
        return strong(values, target.dtype)  # sums wrap around as in a wider dtype
    return strong(values, np.result_type(target.dtype, dtype_of(values)))


UFUNC_METHODS["add", "at"] = add_at
UFUNC_METHODS["subtract", "at"] = subtract_at
