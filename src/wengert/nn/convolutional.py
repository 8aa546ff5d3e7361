"""Layers of filters over signals, images and volumes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import static
from wengert.nn.checks import check_spatial, integers, setting
from wengert.nn.convolution import Size, convolve, convolve_transposed
from wengert.nn.initialisers import Initialiser, Seed, he_uniform


@dataclasses.dataclass(init=False)
class Convolution:
    """What `Conv1D`, `Conv2D` and `Conv3D` share: ``convolve(x, weight) + bias``.

    Args:
        channels: of the images.
        filters: the number of channels that come out.
        size: of the filters, one number or one for each spatial axis; so are stride, padding and dilation.
        seed: of the weights: an integer or a generator.
        stride: the step between positions.
        padding: the width of the border of zeros, or ``"same"`` or ``"valid"``: see `convolve`.
        dilation: the step between taps.
        groups: the channels and filters are split into so many groups.
        bias: whether to add a number to each filter's output, zero at first.
        initialise: draws the filters; He uniform by default.

    Raises:
        ArgumentError: the groups do not divide channels and filters.
        ShapeError: a number is not a positive integer.
    """

    rank: ClassVar[int]
    """The number of spatial axes."""

    weight: Any
    """(filters, channels / groups, ...)"""
    bias: Any
    stride: Any = static()
    padding: Any = static()
    dilation: Any = static()
    groups: int = static()

    def __init__(
        self,
        channels: int,
        filters: int,
        size: Size,
        *,
        seed: Seed,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        initialise: Initialiser = he_uniform,
    ) -> None:
        self._draw((channels, filters, groups), size, seed, bias, initialise)
        self.stride, self.padding, self.dilation = map(setting, (stride, padding, dilation))

    def _draw(self, counts: Any, size: Any, seed: Seed, bias: bool, initialise: Initialiser) -> None:
        name = type(self).__name__
        channels, filters, groups = integers(name, "channels, filters and groups", counts, 3, 1)
        sizes = integers(name, "size", size, self.rank, 1)
        if channels % groups or filters % groups:
            got = f"{channels} channels, {filters} filters, {groups} groups"
            raise ArgumentError(message(name, "groups must divide channels and filters", got))
        taps = math.prod(sizes)
        shape = (*self._planes(channels, filters, groups), *sizes)
        self.weight = initialise(seed, shape, channels // groups * taps, filters // groups * taps)
        self.bias = np.zeros(filters, np.float32) if bias else None
        self.groups = groups

    def _planes(self, channels: int, filters: int, groups: int) -> tuple[int, int]:
        return filters, channels // groups

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank, shape_of(self.weight)[1] * self.groups)
        return self._biased(convolve(x, self.weight, self.stride, self.padding, self.dilation, self.groups))

    def _biased(self, y: Any) -> Any:
        return y if self.bias is None else y + np.reshape(self.bias, (-1, *(1,) * self.rank))


@dataclasses.dataclass(init=False)
class TransposedConvolution(Convolution):
    """What `ConvTranspose1D`, `ConvTranspose2D` and `ConvTranspose3D` share: ``convolve_transposed(x, weight) + bias``.

    Args:
        channels: of the images.
        filters: the number of channels that come out.
        size: of the filters, one number or one for each spatial axis; so are stride, padding and dilation.
        seed: of the weights: an integer or a generator.
        stride: the step between the places of two inputs in the output.
        padding: the width of the border that is cut off, or ``"same"`` or ``"valid"``: see `convolve_transposed`.
        dilation: the step between taps.
        groups: the channels and filters are split into so many groups.
        output_padding: so much longer is the output.
        bias: whether to add a number to each filter's output, zero at first.
        initialise: draws the filters; He uniform by default.

    Raises:
        ArgumentError: the groups do not divide channels and filters.
        ShapeError: a number is not a positive integer.
    """

    output_padding: Any = static()

    def __init__(
        self,
        channels: int,
        filters: int,
        size: Size,
        *,
        seed: Seed,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        output_padding: Size = 0,
        bias: bool = True,
        initialise: Initialiser = he_uniform,
    ) -> None:
        self._draw((channels, filters, groups), size, seed, bias, initialise)
        self.stride, self.padding, self.dilation = map(setting, (stride, padding, dilation))
        self.output_padding = setting(output_padding)

    def _planes(self, channels: int, filters: int, groups: int) -> tuple[int, int]:
        return channels, filters // groups

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        check_spatial(type(self).__name__, x, self.rank, shape_of(self.weight)[0])
        settings = (self.stride, self.padding, self.dilation, self.groups, self.output_padding)
        return self._biased(convolve_transposed(x, self.weight, *settings))


class Conv1D(Convolution):
    """A layer of filters over signals (examples, channels, length): see `Convolution` for its settings.

    Example:
        >>> import numpy as np
        >>> Conv1D(1, 6, 3, seed=0)(np.ones((2, 1, 28), "f4")).shape
        (2, 6, 26)
    """

    rank = 1


class Conv2D(Convolution):
    """A layer of filters over images (examples, channels, height, width): see `Convolution` for its settings.

    Example:
        >>> import numpy as np
        >>> Conv2D(1, 6, 3, seed=0)(np.ones((2, 1, 28, 28), "f4")).shape
        (2, 6, 26, 26)
    """

    rank = 2


class Conv3D(Convolution):
    """A layer of filters over volumes (examples, channels, depth, height, width): see `Convolution` for its settings.

    Example:
        >>> import numpy as np
        >>> Conv3D(1, 6, 3, seed=0)(np.ones((2, 1, 8, 8, 8), "f4")).shape
        (2, 6, 6, 6, 6)
    """

    rank = 3


class ConvTranspose1D(TransposedConvolution):
    """A layer of transposed filters over signals (examples, channels, length), which enlarges them.

    `TransposedConvolution` lists its settings.

    Example:
        >>> import numpy as np
        >>> ConvTranspose1D(1, 6, 3, stride=2, seed=0)(np.ones((2, 1, 28), "f4")).shape
        (2, 6, 57)
    """

    rank = 1


class ConvTranspose2D(TransposedConvolution):
    """A layer of transposed filters over images (examples, channels, height, width), which enlarges them.

    `TransposedConvolution` lists its settings.

    Example:
        >>> import numpy as np
        >>> ConvTranspose2D(1, 6, 3, stride=2, seed=0)(np.ones((2, 1, 28, 28), "f4")).shape
        (2, 6, 57, 57)
    """

    rank = 2


class ConvTranspose3D(TransposedConvolution):
    """A layer of transposed filters over volumes (examples, channels, depth, height, width), which enlarges them.

    `TransposedConvolution` lists its settings.

    Example:
        >>> import numpy as np
        >>> ConvTranspose3D(1, 6, 3, stride=2, seed=0)(np.ones((2, 1, 8, 8, 8), "f4")).shape
        (2, 6, 17, 17, 17)
    """

    rank = 3
