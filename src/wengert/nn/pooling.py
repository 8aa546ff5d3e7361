"""Pooling in any number of dimensions: the largest element or the mean of each window; functions and layers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import dtype_of, is_float
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import static
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.contraction import Affine, along, contract
from wengert.engine.ops.reduction import reduce_max, reduce_sum
from wengert.engine.ops.shape import reshape, slice_, whole
from wengert.nn.checks import check_spatial, integers, setting
from wengert.nn.convolution import Size, Spatial, borders, padded, spatial_rank

_TERMS = {
    "x": "(examples, channels, height, width, ...).",
    "size": "the extents of the window, one number or one for each spatial axis.",
    "stride": "the step between windows; ``size`` by default. Elements that do not fill a window are left out.",
    "padding": """the width of the border, less than ``size``: zeros for a mean, lowest values for a maximum;
    ``"same"``, for ``ceil(extent / stride)`` windows; or ``"valid"``, no border.""",
    "count_border": "whether the mean counts the zeros of the border (PyTorch), or the image alone (Keras).",
}
_pool = documented(
    _TERMS,
    Returns="(examples, channels, ...), with one element for each window.",
    Raises="ShapeError: the window does not fit into the image.",
)
_ADAPTIVE_SIZE = "the extents of the result, one number or one for each spatial axis."
_adaptive_pool = documented(
    _TERMS,
    size=_ADAPTIVE_SIZE,
    Returns="(examples, channels, *size).",
    Raises="ShapeError: the images are empty, or ``size`` is not positive.",
)


class _Windows(NamedTuple):
    """Padded images and, along each spatial axis, the size, the step and the number of the windows."""

    images: Any
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    positions: tuple[int, ...]


def _windows(operation: str, x: Any, size: Any, stride: Any, padding: Any, fill: float) -> _Windows:
    rank = spatial_rank(operation, x)
    sizes = integers(operation, "size", size, rank, 1)
    steps = sizes if stride is None else integers(operation, "stride", stride, rank, 1)
    widths = borders(operation, padding, shape_of(x)[2:], sizes, steps)
    if any(max(width) >= extent for width, extent in zip(widths, sizes, strict=True)):
        raise ShapeError(message(operation, f"padding must be less than the size {sizes}", str(padding)))
    x = padded(x, widths, fill)
    positions = tuple(
        (extent - span) // step + 1 for extent, span, step in zip(shape_of(x)[2:], sizes, steps, strict=True)
    )
    if min(positions) < 1:
        raise ShapeError(message(operation, f"the window {sizes} must fit into the image", show(x)))
    return _Windows(x, sizes, steps, positions)


def _lowest(x: Any) -> float:
    """Return a lower bound of all elements of images."""
    dtype = dtype_of(x)
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min if dtype.kind in "iu" else False


@_pool
def max_pool(x: Any, size: Size, stride: Size | None = None, padding: Size | str = 0) -> Any:
    """Return the largest element of each window; equal elements share the derivative equally.

    Example:
        >>> max_pool(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0]
        array([[ 5.,  7.],
               [13., 15.]])
    """
    x = operand(x)
    x, sizes, steps, positions = _windows("max_pool", x, size, stride, padding, _lowest(x))
    lead, rank = shape_of(x)[:2], len(sizes)
    if sizes == steps:
        index = whole(shape_of(x))[:2] + [(0, n * span, 1) for n, span in zip(positions, sizes, strict=True)]
        blocks = [extent for pair in zip(positions, sizes, strict=True) for extent in pair]
        tiles = reshape(slice_(x, index=tuple(index)), shape=(*lead, *blocks))
        return reduce_max(tiles, axes=tuple(range(3, 3 + 2 * rank, 2)))
    taps: list[Affine] = [(0, ((axis, 1), (rank + 2 + axis, steps[axis]))) for axis in range(rank)]
    extents = (*sizes, *lead, *positions)
    elements = contract(  # (taps..., examples, channels, positions...)
        x,
        extents=extents,
        accesses=((along(rank), along(rank + 1), *taps),),
        out=tuple(map(along, range(len(extents)))),
        shape=extents,
    )
    return reduce_max(elements, axes=tuple(range(rank)))


@_pool
def average_pool(
    x: Any, size: Size, stride: Size | None = None, padding: Size | str = 0, count_border: bool = True
) -> Any:
    """Return the mean of each window.

    Example:
        >>> average_pool(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 0]
        array([[ 2.5,  4.5],
               [10.5, 12.5]])
    """
    x = operand(x)
    windows = _windows("average_pool", x, size, stride, padding, 0)
    total = _sums(windows)
    if count_border or shape_of(windows.images) == shape_of(x):
        return total * (1 / math.prod(windows.sizes))
    ones = np.ones((1, 1, *shape_of(x)[2:]), dtype_of(total))
    return total / _sums(_windows("average_pool", ones, size, stride, padding, 0))


def _sums(windows: _Windows) -> Any:
    x, sizes, steps, positions = windows
    rank, lead = len(sizes), shape_of(x)[:2]
    taps: list[Affine] = [(0, ((2 + axis, steps[axis]), (2 + rank + axis, 1))) for axis in range(rank)]
    return contract(
        x,
        extents=(*lead, *positions, *sizes),
        accesses=((along(0), along(1), *taps),),
        out=tuple(map(along, range(2 + rank))),
        shape=(*lead, *positions),
    )


@_adaptive_pool
def adaptive_max_pool(x: Any, size: Size) -> Any:
    """Return the largest element of each window, for a result of a given size; equal elements share the derivative.

    Window i of m over an extent n goes from ``floor(i n / m)`` to before ``ceil((i + 1) n / m)``.

    Example:
        >>> adaptive_max_pool(np.arange(5.0).reshape(1, 1, 5), 3)[0, 0]
        array([1., 3., 4.])
    """
    x = operand(x)
    elements, inside, axes = _adaptive_windows("adaptive_max_pool", x, size)
    return reduce_max(elements if inside is None else where(inside, elements, _lowest(x)), axes=axes)


@_adaptive_pool
def adaptive_average_pool(x: Any, size: Size) -> Any:
    """Return the mean of each window, for a result of a given size; the windows are those of `adaptive_max_pool`.

    Example:
        >>> adaptive_average_pool(np.arange(5.0).reshape(1, 1, 5), 3)[0, 0]
        array([0.5, 2. , 3.5])
    """
    x = operand(x)
    elements, inside, axes = _adaptive_windows("adaptive_average_pool", x, size)
    if inside is None:
        return reduce_sum(elements, axes=axes) * (1 / math.prod(shape_of(elements)[axis] for axis in axes))
    dtype = dtype_of(x) if is_float(dtype_of(x)) else np.float64
    counts = np.sum(inside, axis=axes)
    return reduce_sum(where(inside, elements, 0), axes=axes) * (1 / counts).astype(dtype)


def _adaptive_windows(operation: str, x: Any, size: Size) -> tuple[Any, Any, tuple[int, ...]]:
    """Return the windows along new axes, a mask of their elements (None: all count), and these axes.

    All windows get the extent of the longest.
    """
    rank = spatial_rank(operation, x)
    sizes = integers(operation, "size", size, rank, 1)
    lead, extents = shape_of(x)[:2], shape_of(x)[2:]
    if min(extents) < 1:
        raise ShapeError(message(operation, "the images must not be empty", show(x)))
    axes = tuple(range(3, 3 + 2 * rank, 2))
    if not any(extent % count for extent, count in zip(extents, sizes, strict=True)):
        blocks = [(count, extent // count) for extent, count in zip(extents, sizes, strict=True)]
        return reshape(x, shape=(*lead, *(extent for block in blocks for extent in block))), None, axes
    inside: Any = np.ones((1, 1), bool)
    for axis, (extent, count) in enumerate(zip(extents, sizes, strict=True)):
        starts: Any = np.arange(count) * extent // count
        lengths: Any = -(-(np.arange(count) + 1) * extent // count) - starts
        offsets: Any = np.arange(int(lengths.max()))
        x = np.take(x, np.minimum(starts[:, np.newaxis] + offsets, extent - 1), axis=2 + 2 * axis)
        inside = inside[..., np.newaxis, np.newaxis] & (offsets < lengths[:, np.newaxis])
    return x, inside, axes


# -- layers ----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Pool(Spatial):
    """A layer that pools; its settings are those of the function."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            setattr(self, field.name, setting(getattr(self, field.name)))

    def _checked(self, x: Any) -> Any:
        check_spatial(type(self).__name__, x, self.rank)
        return x


@documented(_TERMS)
@dataclasses.dataclass
class MaxPool(_Pool):
    """A layer of `max_pool`.

    Example:
        >>> MaxPool1D(2)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 5)
        >>> MaxPool2D(2)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 5, 5)
        >>> MaxPool3D(2)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 5, 5, 5)
    """

    size: Any = static()
    stride: Any = static(None)
    padding: Any = static(0)

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        return max_pool(self._checked(x), self.size, self.stride, self.padding)


@documented(_TERMS)
@dataclasses.dataclass
class AvgPool(_Pool):
    """A layer of `average_pool`.

    Example:
        >>> AvgPool1D(2)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 5)
        >>> AvgPool2D(2)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 5, 5)
        >>> AvgPool3D(2)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 5, 5, 5)
    """

    size: Any = static()
    stride: Any = static(None)
    padding: Any = static(0)
    count_border: bool = static(True)

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        return average_pool(self._checked(x), self.size, self.stride, self.padding, self.count_border)


@documented(size=_ADAPTIVE_SIZE)
@dataclasses.dataclass
class AdaptiveMaxPool(_Pool):
    """A layer of `adaptive_max_pool`.

    Example:
        >>> AdaptiveMaxPool1D(4)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 4)
        >>> AdaptiveMaxPool2D(4)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 4, 4)
        >>> AdaptiveMaxPool3D(4)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 4, 4, 4)
    """

    size: Any = static()

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        return adaptive_max_pool(self._checked(x), self.size)


@documented(size=_ADAPTIVE_SIZE)
@dataclasses.dataclass
class AdaptiveAvgPool(_Pool):
    """A layer of `adaptive_average_pool`.

    Example:
        >>> AdaptiveAvgPool1D(4)(np.ones((1, 6, 11), "f4")).shape
        (1, 6, 4)
        >>> AdaptiveAvgPool2D(4)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 4, 4)
        >>> AdaptiveAvgPool3D(4)(np.ones((1, 6, 11, 11, 11), "f4")).shape
        (1, 6, 4, 4, 4)
    """

    size: Any = static()

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        return adaptive_average_pool(self._checked(x), self.size)


class MaxPool1D(MaxPool, rank=1):
    """The largest element of each window of signals, (examples, channels, length)."""


class MaxPool2D(MaxPool, rank=2):
    """The largest element of each window of images, (examples, channels, height, width)."""


class MaxPool3D(MaxPool, rank=3):
    """The largest element of each window of volumes, (examples, channels, depth, height, width)."""


class AvgPool1D(AvgPool, rank=1):
    """The mean of each window of signals, (examples, channels, length)."""


class AvgPool2D(AvgPool, rank=2):
    """The mean of each window of images, (examples, channels, height, width)."""


class AvgPool3D(AvgPool, rank=3):
    """The mean of each window of volumes, (examples, channels, depth, height, width)."""


class AdaptiveMaxPool1D(AdaptiveMaxPool, rank=1):
    """The largest element of each window of signals, for a result of a given length."""


class AdaptiveMaxPool2D(AdaptiveMaxPool, rank=2):
    """The largest element of each window of images, for a result of a given size."""


class AdaptiveMaxPool3D(AdaptiveMaxPool, rank=3):
    """The largest element of each window of volumes, for a result of a given size."""


class AdaptiveAvgPool1D(AdaptiveAvgPool, rank=1):
    """The mean of each window of signals, for a result of a given length."""


class AdaptiveAvgPool2D(AdaptiveAvgPool, rank=2):
    """The mean of each window of images, for a result of a given size."""


class AdaptiveAvgPool3D(AdaptiveAvgPool, rank=3):
    """The mean of each window of volumes, for a result of a given size."""
