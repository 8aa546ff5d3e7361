"""Layers: dataclasses of arrays that can be called."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, ShapeError, message
from wengert.ir.types import show
from wengert.nn.checks import check_values, integers
from wengert.nn.convolution import average_pool, convolve, max_pool
from wengert.nn.initialisers import Initialiser, Seed, glorot_uniform, he_uniform
from wengert.shapes import shape_of
from wengert.tree import static


@dataclasses.dataclass(init=False)
class Dense:
    """An affine layer, ``y = x W + b``.

    Args:
        inputs: the number of values an example has.
        outputs: the number of values it gets.
        seed: of the weights: an integer or a generator.
        bias: whether to add ``b``, zero at first.
        initialise: draws the weights; Glorot uniform by default.

    Raises:
        ShapeError: a size is not a positive integer, or an example has another number of values.

    Example:
        >>> import numpy as np
        >>> Dense(3, 2, seed=0)(np.ones((5, 3), "f4")).shape
        (5, 2)
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        seed: Seed,
        bias: bool = True,
        initialise: Initialiser = glorot_uniform,
    ) -> None:
        inputs, outputs = integers("Dense", "inputs and outputs", (inputs, outputs), 2, 1)
        self.weight = initialise(seed, (inputs, outputs), inputs, outputs)
        self.bias = np.zeros(outputs, np.float32) if bias else None

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (..., inputs)."""
        check_values("Dense", x, "...", 1, shape_of(self.weight)[0])
        y = np.matmul(x, self.weight)
        return y if self.bias is None else y + self.bias


@dataclasses.dataclass(init=False)
class Conv2D:
    """A layer of filters over images: see `convolve`.

    Args:
        channels: of the images.
        filters: the number of channels that come out.
        size: of the filters, one number or (height, width).
        seed: of the weights: an integer or a generator.
        stride: the step between positions.
        padding: the width of the border of zeros.
        dilation: the step between taps.
        groups: the channels and filters are split into so many groups.
        bias: whether to add a number to each filter's output, zero at first.
        initialise: draws the filters; He uniform by default.

    Raises:
        ArgumentError: the groups do not divide channels and filters.
        ShapeError: a number is not a positive integer.

    Example:
        >>> import numpy as np
        >>> Conv2D(1, 6, 3, seed=0)(np.ones((2, 1, 28, 28), "f4")).shape
        (2, 6, 26, 26)
    """

    weight: Any
    bias: Any
    stride: Any = static()
    padding: Any = static()
    dilation: Any = static()
    groups: int = static()

    def __init__(
        self,
        channels: int,
        filters: int,
        size: int | tuple[int, int],
        *,
        seed: Seed,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        initialise: Initialiser = he_uniform,
    ) -> None:
        counts = integers("Conv2D", "channels, filters and groups", (channels, filters, groups), 3, 1)
        channels, filters, groups = counts
        height, width = integers("Conv2D", "size", size, 2, 1)
        if channels % groups or filters % groups:
            got = f"{channels} channels, {filters} filters, {groups} groups"
            raise ArgumentError(message("Conv2D", "groups must divide channels and filters", got))
        taps = height * width
        shape = (filters, channels // groups, height, width)
        self.weight = initialise(seed, shape, channels // groups * taps, filters // groups * taps)
        self.bias = np.zeros(filters, np.float32) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, height, width)."""
        y = convolve(x, self.weight, self.stride, self.padding, self.dilation, self.groups)
        return y if self.bias is None else y + np.reshape(self.bias, (-1, 1, 1))


@dataclasses.dataclass
class MaxPool2D:
    """The largest element of each window: see `max_pool`.

    Example:
        >>> import numpy as np
        >>> MaxPool2D(2)(np.ones((1, 6, 11, 11), "f4")).shape
        (1, 6, 5, 5)
    """

    size: Any = static()
    stride: Any = static(None)
    padding: Any = static(0)

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, height, width)."""
        return max_pool(x, self.size, self.stride, self.padding)


@dataclasses.dataclass
class AvgPool2D:
    """The mean of each window: see `average_pool`.

    Example:
        >>> import numpy as np
        >>> AvgPool2D(2)(np.ones((1, 6, 12, 12), "f4")).shape
        (1, 6, 6, 6)
    """

    size: Any = static()
    stride: Any = static(None)

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, height, width)."""
        return average_pool(x, self.size, self.stride)


@dataclasses.dataclass
class Flatten:
    """All values of an example in one axis.

    Example:
        >>> import numpy as np
        >>> Flatten()(np.ones((2, 3, 4))).shape
        (2, 12)
    """

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, ...)."""
        shape = shape_of(x)
        if not shape:
            raise ShapeError(message("Flatten", "the input must be (examples, ...)", show(x)))
        return np.reshape(x, (shape[0], math.prod(shape[1:])))


@dataclasses.dataclass
class Lambda:
    """A layer without arrays: a function of one argument.

    Example:
        >>> Lambda(abs)(-2.0)
        2.0
    """

    function: Callable[[Any], Any] = static()

    def __call__(self, x: Any) -> Any:
        """Apply the function."""
        return self.function(x)


@dataclasses.dataclass(init=False)
class Chain:
    """Layers one after the other; plain functions may stand among them.

    Raises:
        ArgumentError: something is no layer and no function.

    Example:
        >>> import numpy as np
        >>> Chain(Dense(3, 4, seed=0), np.tanh, Dense(4, 2, seed=1))(np.ones((5, 3), "f4")).shape
        (5, 2)
    """

    layers: tuple[Any, ...]

    def __init__(self, *layers: Callable[[Any], Any]) -> None:
        for layer in layers:
            if not callable(layer) or isinstance(layer, type):
                hint = "write Chain(*layers) for a list, and Flatten() for Flatten"
                raise ArgumentError(message("Chain", "layers and functions are needed", repr(layer), hint))
        self.layers = tuple(layer if dataclasses.is_dataclass(layer) else Lambda(layer) for layer in layers)

    def __call__(self, x: Any) -> Any:
        """Apply the layers in order."""
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: Any) -> Any:
        chosen: Any = self.layers[index]
        return Chain(*chosen) if isinstance(chosen, Sequence) else chosen
