"""Parts of arrays, one after another: windows, and a function of each line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import BOOL, dtype_of
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import axis_index, shape_of
from wengert.ir.types import show
from wengert.numpy.joining import stack
from wengert.numpy.registry import implements, integers, rank_of, strong
from wengert.numpy.shaping import moveaxis, read_only_view
from wengert.ops.contraction import along, contract
from wengert.ops.shape import reshape


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Return all windows of a shape, along new last axes, as `np.lib.stride_tricks.sliding_window_view`."""
    x = operand(x)
    if writeable:
        raise ArgumentError(message("sliding_window_view", "windows cannot be written to", "writeable=True"))
    extents, rank = integers(window_shape), rank_of(x)
    axes = (
        list(range(rank))
        if axis is None
        else [axis_index("sliding_window_view", one, rank) for one in integers(axis)]
    )
    if len(extents) != len(axes):
        requirement = "one extent is required for each axis, of the array or named"
        raise ArgumentError(message("sliding_window_view", requirement, f"{window_shape}, axis={axis}"))
    left = list(shape_of(x))
    for one, extent in zip(axes, extents, strict=True):
        if not 0 <= extent <= left[one]:
            requirement = "windows must not be longer than the array, nor of negative extent"
            raise ShapeError(message("sliding_window_view", requirement, f"{window_shape} of {show(x)}"))
        left[one] -= extent - 1

    def read(base: Any) -> Any:
        for one, extent in zip(axes, extents, strict=True):
            base = _windows(base, one, extent)
        return base

    layout: Any = np.lib.stride_tricks.sliding_window_view
    return read_only_view(x, read(x), read, lambda memory: layout(memory, extents, axes))


def _windows(x: Any, axis: int, extent: int) -> Any:
    """Return ``x[i + j]``, where j counts along a new last axis."""
    shape = shape_of(x)
    if dtype_of(x) == BOOL:
        return strong(_windows(strong(x, np.int8), axis, extent), BOOL)
    last = len(shape)
    extents = (*shape[:axis], shape[axis] - extent + 1, *shape[axis + 1 :], extent)
    access = tuple((0, ((axis, 1), (last, 1))) if one == axis else along(one) for one in range(last))
    out = tuple(map(along, range(last + 1)))
    return contract(x, extents=extents, accesses=(access,), out=out, shape=extents)


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to each line along an axis, one after another, as `np.apply_along_axis`."""
    arr = operand(arr)
    axis = axis_index("apply_along_axis", axis, rank_of(arr))
    lines = moveaxis(arr, axis, -1)
    lead = shape_of(lines)[:-1]
    if 0 in lead:
        raise ShapeError(message("apply_along_axis", "there must be a line at least", show(arr)))
    found = [operand(func1d(lines[where], *args, **kwargs)) for where in np.ndindex(lead)]
    rank, shape = rank_of(found[0]), shape_of(found[0])
    result = reshape(stack(found), shape=(*lead, *shape))
    for one in range(rank):
        result = moveaxis(result, len(lead) + one, axis + one)
    return result
