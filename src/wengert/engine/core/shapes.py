"""Shape arithmetic: broadcasting, axes, sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from wengert.engine.core.dtypes import SEQUENCE
from wengert.engine.core.errors import AxisError, IndexingError, ShapeError, message

Shape: TypeAlias = tuple[int, ...]


def shape_of(value: Any) -> Shape:
    """Return the shape of an array, a scalar or a box."""
    try:
        return value.shape
    except AttributeError:
        return () if isinstance(value, (bool, int, float, complex)) else np.shape(value)


def size(shape: Shape) -> int:
    """Return the number of elements of an array of this shape."""
    return math.prod(shape)


def show(shape: Shape) -> str:
    """Write a shape as NumPy does."""
    return str(tuple(shape))


def broadcast(operation: str, *shapes: Shape) -> Shape:
    """Return the shape to which all ``shapes`` broadcast, or raise `ShapeError`."""
    rank = max(map(len, shapes), default=0)
    result: list[int] = []
    for position in range(-rank, 0):
        extents = {shape[position] for shape in shapes if len(shape) >= -position} - {1}
        if len(extents) > 1:
            got = ", ".join(map(show, shapes))
            raise ShapeError(message(operation, "operands must broadcast together", got))
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def axis_index(operation: str, axis: Any, rank: int) -> int:
    """Return one axis counted from the front, or raise `IndexingError`."""
    try:
        position = operator.index(axis)
    except TypeError:
        got, hint = repr(axis), ""
        if hasattr(axis, "shape"):
            got, hint = type(axis).__name__, "several arrays are one argument: write [x, y] for x, y"
        raise IndexingError(message(operation, "an axis must be an integer", got, hint)) from None
    if not -rank <= position < rank:
        raise AxisError(message(operation, f"axis must lie in [{-rank}, {rank})", str(axis)))
    return position % rank


def axes_tuple(operation: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that ``axis`` names (None: all axes), sorted and without repetition."""
    if axis is None:
        return tuple(range(rank))
    named = list(cast("Iterable[Any]", axis)) if isinstance(axis, (tuple, list)) else [axis]
    axes = [axis_index(operation, index, rank) for index in named]
    if len(set(axes)) != len(axes):
        raise ShapeError(message(operation, "an axis may be named once only", repr(axis)))
    return tuple(sorted(axes))


def drop_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return ``shape`` without ``axes``."""
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def keep_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return ``shape`` with extent one at ``axes``."""
    extents = list(shape)
    for axis in axes:
        extents[axis] = 1
    return tuple(extents)


def resolve_reshape(shape: Shape, target: Any) -> Shape:
    """Return the shape of ``reshape(target)``, with the value for -1, or raise `ShapeError`."""
    extents = list(map(operator.index, target if isinstance(target, SEQUENCE) else [target]))
    count = math.prod(shape)
    if extents.count(-1) == 1 and (stated_size := -math.prod(extents)) and count % stated_size == 0:
        extents[extents.index(-1)] = count // stated_size
    if min(extents, default=0) < 0 or math.prod(extents) != count:
        got = f"{show(shape)} -> {target}"
        raise ShapeError(message("reshape", "the number of elements must stay the same", got))
    return tuple(extents)
