"""Convolution and pooling in any number of dimensions, on `contract`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from wengert.dtypes import dtype_of, is_float
from wengert.errors import ShapeError, message
from wengert.ir.types import show
from wengert.nn.checks import integers
from wengert.ops.contraction import Affine, along, contract
from wengert.ops.reduction import reduce_max
from wengert.ops.shape import concatenate, reshape, slice_, whole
from wengert.shapes import shape_of


def _spatial_rank(operation: str, x: Any) -> int:
    rank = len(shape_of(x)) - 2
    if rank < 1:
        requirement = "images must be (examples, channels, height, width), or with fewer or more spatial axes"
        raise ShapeError(message(operation, requirement, show(x)))
    return rank


def _pad(x: Any, padding: Sequence[int], fill: float) -> Any:
    if not any(padding):
        return x
    widths = [(0, 0), (0, 0), *((width, width) for width in padding)]
    return np.pad(x, widths, constant_values=fill)


def convolve(
    x: Any,
    weight: Any,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Any:
    """Correlate images with filters, as networks' "convolution" does.

    ``y[n, o, h, w] = sum_{i, k, l} x[n, i, h s + k d - p, w s + l d - p] weight[o, i, k, l]``, in any number of spatial
    dimensions, with zeros outside the image.

    Args:
        x: (examples, channels, height, width, ...).
        weight: (filters, channels / groups, filter height, filter width, ...).
        stride: the step ``s`` between positions, one or one for each spatial axis.
        padding: the width ``p`` of the border of zeros.
        dilation: the step ``d`` between the taps of the filter.
        groups: the channels and filters are split into so many independent groups.

    Returns:
        (examples, filters, ...), with ``(extent + 2 p - d (taps - 1) - 1) // s + 1`` along each spatial axis.

    Raises:
        ShapeError: channels and groups do not fit, or the filter is larger than the padded image.

    Example:
        >>> import numpy as np
        >>> convolve(np.ones((1, 1, 4, 4)), np.ones((1, 1, 3, 3)))[0, 0]
        array([[9., 9.],
               [9., 9.]])
    """
    rank = _spatial_rank("convolve", x)
    if len(shape_of(weight)) != rank + 2:
        raise ShapeError(message("convolve", "x and weight must have the same rank", show(x, weight)))
    steps = integers("convolve", "stride", stride, rank, 1)
    gaps = integers("convolve", "dilation", dilation, rank, 1)
    (groups,) = integers("convolve", "groups", groups, 1, 1)
    padded = _pad(x, integers("convolve", "padding", padding, rank, 0), 0)
    examples, channels, *extents = shape_of(padded)
    filters, per_group, *taps = shape_of(weight)
    if channels != per_group * groups or filters % groups:
        got = f"{show(x, weight)}, groups={groups}"
        raise ShapeError(
            message("convolve", "channels must be groups x weight.shape[1], and groups divide filters", got)
        )
    positions = [
        (extent - gap * (tap - 1) - 1) // step + 1
        for extent, tap, step, gap in zip(extents, taps, steps, gaps, strict=True)
    ]
    if min(positions) < 1:
        raise ShapeError(
            message("convolve", "the filter must fit into the padded image", show(padded, weight))
        )
    # Dimensions: example, group, filter of the group, channel of the group, positions..., taps...
    space, tap_space = range(4, 4 + rank), range(4 + rank, 4 + 2 * rank)
    channel: Affine = (0, ((1, per_group), (3, 1))) if groups > 1 else along(3)
    output: Affine = (0, ((1, filters // groups), (2, 1))) if groups > 1 else along(2)
    windows: list[Affine] = [
        (0, ((p, step), (t, gap))) for p, t, step, gap in zip(space, tap_space, steps, gaps, strict=True)
    ]
    return contract(
        padded,
        weight,
        extents=(examples, groups, filters // groups, per_group, *positions, *taps),
        accesses=((along(0), channel, *windows), (output, along(3), *map(along, tap_space))),
        out=(along(0), output, *map(along, space)),
        shape=(examples, filters, *positions),
    )


class _Pooling(NamedTuple):
    """The padded images and, along each spatial axis, the size and the step of the windows and their number."""

    images: Any
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    positions: tuple[int, ...]


def _pooling(operation: str, x: Any, size: Any, stride: Any, padding: Any = 0) -> _Pooling:
    rank = _spatial_rank(operation, x)
    sizes = integers(operation, "size", size, rank, 1)
    steps = sizes if stride is None else integers(operation, "stride", stride, rank, 1)
    widths = integers(operation, "padding", padding, rank, 0)
    if any(width >= one for width, one in zip(widths, sizes, strict=True)):
        raise ShapeError(message(operation, f"padding must be less than the size {sizes}", str(widths)))
    if any(widths):
        x = _pad(x, widths, -np.inf if is_float(dtype_of(x)) else np.iinfo(dtype_of(x)).min)
    positions = tuple(
        (extent - one) // step + 1 for extent, one, step in zip(shape_of(x)[2:], sizes, steps, strict=True)
    )
    if min(positions) < 1:
        raise ShapeError(message(operation, f"the window {sizes} must fit into the image", show(x)))
    return _Pooling(x, sizes, steps, positions)


def max_pool(
    x: Any,
    size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
) -> Any:
    """Return the largest element of each window; elements that tie share the derivative equally.

    Args:
        x: (examples, channels, height, width, ...).
        size: of the window, one number or one for each spatial axis.
        stride: the step between windows; by default their size. What does not fill a window is left out.
        padding: the width of the border, of values below all others; less than the size of the window.

    Raises:
        ShapeError: the window does not fit, or lies in the border alone.

    Example:
        >>> import numpy as np
        >>> max_pool(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0]
        array([[ 5.,  7.],
               [13., 15.]])
    """
    x, sizes, steps, positions = _pooling("max_pool", x, size, stride, padding)
    if sizes == steps:
        lead = shape_of(x)[:2]
        index = whole(shape_of(x))[:2] + [(0, n * one, 1) for n, one in zip(positions, sizes, strict=True)]
        blocks = [extent for pair in zip(positions, sizes, strict=True) for extent in pair]
        tiles = reshape(slice_(x, index=tuple(index)), shape=(*lead, *blocks))
        return reduce_max(tiles, axes=tuple(range(3, 3 + 2 * len(sizes), 2)))
    return reduce_max(_windows(x, sizes, steps, positions), axes=(0,))


def _windows(x: Any, sizes: Sequence[int], steps: Sequence[int], positions: Sequence[int]) -> Any:
    """Return the elements at each place of a window, along a new leading axis."""
    shape = shape_of(x)
    parts: list[Any] = []
    for offset in product(*map(range, sizes)):
        window = [(start, n, step) for start, n, step in zip(offset, positions, steps, strict=True)]
        part = slice_(x, index=(*whole(shape)[:2], *window))
        parts.append(reshape(part, shape=(1, *shape[:2], *positions)))
    return concatenate(*parts, axis=0)


def average_pool(x: Any, size: int | Sequence[int], stride: int | Sequence[int] | None = None) -> Any:
    """Return the mean of each window.

    Args:
        x: (examples, channels, height, width, ...).
        size: of the window, one number or one for each spatial axis.
        stride: the step between windows; by default their size.

    Raises:
        ShapeError: the window does not fit.

    Example:
        >>> import numpy as np
        >>> average_pool(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0]
        array([[ 2.5,  4.5],
               [10.5, 12.5]])
    """
    x, sizes, steps, positions = _pooling("average_pool", x, size, stride)
    rank, lead = len(sizes), shape_of(x)[:2]
    windows: list[Affine] = [(0, ((2 + axis, steps[axis]), (2 + rank + axis, 1))) for axis in range(rank)]
    total = contract(
        x,
        extents=(*lead, *positions, *sizes),
        accesses=((along(0), along(1), *windows),),
        out=tuple(map(along, range(2 + rank))),
        shape=(*lead, *positions),
    )
    return total * (1 / int(np.prod(sizes)))
