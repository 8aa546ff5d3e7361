"""Enlargement of images by whole factors."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.docstrings import documented
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import static
from wengert.nn.checks import check_spatial, integers, setting
from wengert.nn.convolution import Size, Spatial, spatial_rank

_METHODS = ("nearest", "linear")
_TERMS = {
    "factor": "the factor ``f`` of the extents, one number or one for each spatial axis.",
    "method": """``"nearest"`` repeats each element; ``"linear"`` interpolates between the centres of the elements,
    along each axis (bilinear for images).""",
}


@documented(_TERMS, x="(examples, channels, height, width, ...).")
def upsample(x: Any, factor: Size, method: str = "nearest") -> Any:
    """Enlarge images.

    ``y[i] = (1 - w) x[j] + w x[j + 1]`` along each axis with ``j + w = (i + 1/2) / f - 1/2``, where the border goes on
    as its last element (``align_corners=False`` in PyTorch); or ``y[i] = x[i // f]``.

    Returns:
        (examples, channels, ...) with ``f extent`` along each spatial axis.

    Raises:
        ShapeError: there is no spatial axis, or a factor is not a positive integer.
        ArgumentError: the method does not exist.

    Example:
        >>> print(
        ...     upsample(np.array([[[0.0, 4.0]]]), 2)[0, 0],
        ...     upsample(np.array([[[0.0, 4.0]]]), 2, "linear")[0, 0],
        ... )
        [0. 0. 4. 4.] [0. 1. 3. 4.]
    """
    x = operand(x)
    rank = spatial_rank("upsample", x)
    _check_method("upsample", method)
    for axis, times in enumerate(integers("upsample", "factor", factor, rank, 1), 2):
        if times > 1:
            x = np.repeat(x, times, axis=axis) if method == "nearest" else _interpolated(x, axis, times)
    return x


def _check_method(name: str, method: str) -> None:
    if method not in _METHODS:
        raise ArgumentError(message(name, f"the method must be one of {', '.join(_METHODS)}", repr(method)))


def _interpolated(x: Any, axis: int, times: int) -> Any:
    """Interpolate along an axis: each of the ``times`` new places beside an element mixes two neighbours."""
    x = np.swapaxes(x, axis, -1)
    *lead, extent = shape_of(x)
    wide = np.concatenate([x[..., :1], x, x[..., -1:]], axis=-1)
    places: list[Any] = []
    for number in range(times):
        offset = (number + 0.5) / times - 0.5
        first, share = (0, 1 + offset) if offset < 0 else (1, offset)
        near, far = (wide[..., start : start + extent] for start in (first, first + 1))
        places.append((1 - share) * near + share * far)
    y = np.reshape(np.stack(places, axis=-1), (*lead, extent * times))
    return np.swapaxes(y, axis, -1)


@documented(_TERMS, Raises="ArgumentError: the method does not exist.")
@dataclasses.dataclass
class Upsampling(Spatial):
    """A layer that enlarges images: see `upsample`.

    Example:
        >>> Upsample1D(3)(np.ones((2, 1, 8), "f4")).shape
        (2, 1, 24)
        >>> Upsample2D((1, 2), "linear")(np.ones((2, 1, 8, 8), "f4")).shape
        (2, 1, 8, 16)
        >>> Upsample3D(2)(np.ones((2, 1, 2, 3, 4), "f4")).shape
        (2, 1, 4, 6, 8)
    """

    factor: Any = static(2)
    method: str = static("nearest")

    def __post_init__(self) -> None:
        self.factor = setting(self.factor)
        integers(type(self).__name__, "factor", self.factor, self.rank, 1)
        _check_method(type(self).__name__, self.method)

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank)
        return upsample(x, self.factor, self.method)


class Upsample1D(Upsampling, rank=1):
    """A layer that enlarges signals, (examples, channels, length)."""


class Upsample2D(Upsampling, rank=2):
    """A layer that enlarges images, (examples, channels, height, width)."""


class Upsample3D(Upsampling, rank=3):
    """A layer that enlarges volumes, (examples, channels, depth, height, width)."""
