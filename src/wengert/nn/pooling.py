"""Pooling in any number of dimensions: the largest element or the mean of each window."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import dtype_of, is_float
from wengert.core.errors import ShapeError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import show
from wengert.nn.checks import integers
from wengert.nn.convolution import Size, borders, padded, spatial_rank
from wengert.ops.comparison import where
from wengert.ops.contraction import Affine, along, contract
from wengert.ops.reduction import reduce_max, reduce_sum
from wengert.ops.shape import reshape, slice_, whole


class _Pooling(NamedTuple):
    """The padded images and, along each spatial axis, the size and the step of the windows and their number."""

    images: Any
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    positions: tuple[int, ...]


def _pooling(operation: str, x: Any, size: Any, stride: Any, padding: Any, fill: float) -> _Pooling:
    rank = spatial_rank(operation, x)
    sizes = integers(operation, "size", size, rank, 1)
    steps = sizes if stride is None else integers(operation, "stride", stride, rank, 1)
    widths = borders(operation, padding, shape_of(x)[2:], sizes, steps)
    if any(max(width) >= one for width, one in zip(widths, sizes, strict=True)):
        raise ShapeError(message(operation, f"padding must be less than the size {sizes}", str(padding)))
    x = padded(x, widths, fill)
    positions = tuple(
        (extent - one) // step + 1 for extent, one, step in zip(shape_of(x)[2:], sizes, steps, strict=True)
    )
    if min(positions) < 1:
        raise ShapeError(message(operation, f"the window {sizes} must fit into the image", show(x)))
    return _Pooling(x, sizes, steps, positions)


def _lowest(x: Any) -> float:
    """Return a value that no element of images is below."""
    dtype = dtype_of(x)
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min if dtype.kind in "iu" else False


def max_pool(x: Any, size: Size, stride: Size | None = None, padding: Size | str = 0) -> Any:
    """Return the largest element of each window; elements that tie share the derivative equally.

    Args:
        x: (examples, channels, height, width, ...).
        size: of the window, one number or one for each spatial axis.
        stride: the step between windows; by default their size. What does not fill a window is left out.
        padding: the width of the border, of values below all others, less than the size of the window; or ``"same"``,
            for ``ceil(extent / stride)`` windows; or ``"valid"``, none.

    Raises:
        ShapeError: the window does not fit, or lies in the border alone.

    Example:
        >>> import numpy as np
        >>> max_pool(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0]
        array([[ 5.,  7.],
               [13., 15.]])
    """
    x = operand(x)
    found = _pooling("max_pool", x, size, stride, padding, _lowest(x))
    x, sizes, steps, positions = found
    if sizes == steps:
        lead = shape_of(x)[:2]
        index = whole(shape_of(x))[:2] + [(0, n * one, 1) for n, one in zip(positions, sizes, strict=True)]
        blocks = [extent for pair in zip(positions, sizes, strict=True) for extent in pair]
        tiles = reshape(slice_(x, index=tuple(index)), shape=(*lead, *blocks))
        return reduce_max(tiles, axes=tuple(range(3, 3 + 2 * len(sizes), 2)))
    return reduce_max(_windows(found), axes=tuple(range(len(sizes))))


def _windows(pooling: _Pooling) -> Any:
    """Return the elements at each place of a window, the places along new leading axes."""
    x, sizes, steps, positions = pooling
    rank, lead = len(sizes), shape_of(x)[:2]
    windows: list[Affine] = [(0, ((axis, 1), (rank + 2 + axis, steps[axis]))) for axis in range(rank)]
    extents = (*sizes, *lead, *positions)
    return contract(
        x,
        extents=extents,
        accesses=((along(rank), along(rank + 1), *windows),),
        out=tuple(map(along, range(len(extents)))),
        shape=extents,
    )


def average_pool(
    x: Any,
    size: Size,
    stride: Size | None = None,
    padding: Size | str = 0,
    count_border: bool = True,
) -> Any:
    """Return the mean of each window.

    Args:
        x: (examples, channels, height, width, ...).
        size: of the window, one number or one for each spatial axis.
        stride: the step between windows; by default their size. What does not fill a window is left out.
        padding: the width of the border of zeros, less than the size of the window; or ``"same"``, for
            ``ceil(extent / stride)`` windows; or ``"valid"``, none.
        count_border: whether the zeros of the border count (PyTorch), or the mean is that of the image's elements
            in the window (Keras).

    Raises:
        ShapeError: the window does not fit, or lies in the border alone.

    Example:
        >>> import numpy as np
        >>> average_pool(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0]
        array([[ 2.5,  4.5],
               [10.5, 12.5]])
    """
    x = operand(x)
    found = _pooling("average_pool", x, size, stride, padding, 0)
    total = _sums(found)
    if count_border or shape_of(found.images) == shape_of(x):
        return total * (1 / math.prod(found.sizes))
    ones = np.ones((1, 1, *shape_of(x)[2:]), dtype_of(total))
    return total / _sums(_pooling("average_pool", ones, size, stride, padding, 0))


def _sums(pooling: _Pooling) -> Any:
    x, sizes, steps, positions = pooling
    rank, lead = len(sizes), shape_of(x)[:2]
    windows: list[Affine] = [(0, ((2 + axis, steps[axis]), (2 + rank + axis, 1))) for axis in range(rank)]
    return contract(
        x,
        extents=(*lead, *positions, *sizes),
        accesses=((along(0), along(1), *windows),),
        out=tuple(map(along, range(2 + rank))),
        shape=(*lead, *positions),
    )


def adaptive_max_pool(x: Any, size: Size) -> Any:
    """Return the largest element of each of so many windows as ``size`` says; ties share the derivative equally.

    Window i of m over an extent n goes from ``floor(i n / m)`` up to, without, ``ceil((i + 1) n / m)``.

    Args:
        x: (examples, channels, height, width, ...).
        size: of the result, one number or one for each spatial axis.

    Raises:
        ShapeError: the images are empty, or ``size`` is not positive.

    Example:
        >>> import numpy as np
        >>> adaptive_max_pool(np.arange(5.0).reshape(1, 1, 5), 3)[0, 0]
        array([1., 3., 4.])
    """
    x = operand(x)
    parts, inside, axes = _adaptive("adaptive_max_pool", x, size)
    return reduce_max(parts if inside is None else where(inside, parts, _lowest(x)), axes=axes)


def adaptive_average_pool(x: Any, size: Size) -> Any:
    """Return the mean of each of so many windows as ``size`` says: those of `adaptive_max_pool`.

    Args:
        x: (examples, channels, height, width, ...).
        size: of the result, one number or one for each spatial axis; 1 averages over all of an image.

    Raises:
        ShapeError: the images are empty, or ``size`` is not positive.

    Example:
        >>> import numpy as np
        >>> adaptive_average_pool(np.arange(5.0).reshape(1, 1, 5), 3)[0, 0]
        array([0.5, 2. , 3.5])
    """
    x = operand(x)
    parts, inside, axes = _adaptive("adaptive_average_pool", x, size)
    if inside is None:
        return reduce_sum(parts, axes=axes) * (1 / math.prod(shape_of(parts)[axis] for axis in axes))
    counts = np.sum(inside, axis=axes)
    return reduce_sum(where(inside, parts, 0), axes=axes) * (1 / counts).astype(_mean_dtype(x))


def _mean_dtype(x: Any) -> Any:
    return dtype_of(x) if is_float(dtype_of(x)) else np.float64


def _adaptive(operation: str, x: Any, size: Size) -> tuple[Any, Any, tuple[int, ...]]:
    """Return the windows along new axes, which of their elements count (None: all), and these axes.

    Windows of different extents are read as long as the longest.
    """
    rank = spatial_rank(operation, x)
    sizes = integers(operation, "size", size, rank, 1)
    lead, extents = shape_of(x)[:2], shape_of(x)[2:]
    if min(extents) < 1:
        raise ShapeError(message(operation, "the images must not be empty", show(x)))
    axes = tuple(range(3, 3 + 2 * rank, 2))
    if not any(extent % count for extent, count in zip(extents, sizes, strict=True)):
        blocks = [(count, extent // count) for extent, count in zip(extents, sizes, strict=True)]
        return reshape(x, shape=(*lead, *(one for pair in blocks for one in pair))), None, axes
    inside: Any = np.ones((1, 1), bool)
    for axis, (extent, count) in enumerate(zip(extents, sizes, strict=True)):
        starts: Any = np.arange(count) * extent // count
        lengths: Any = -(-(np.arange(count) + 1) * extent // count) - starts
        offsets: Any = np.arange(int(lengths.max()))
        x = np.take(x, np.minimum(starts[:, np.newaxis] + offsets, extent - 1), axis=2 + 2 * axis)
        inside = inside[..., np.newaxis, np.newaxis] & (offsets < lengths[:, np.newaxis])
    return x, inside, axes
