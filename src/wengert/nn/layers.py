"""Layers: dataclasses of arrays that can be called."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control import scan
from wengert.errors import ArgumentError, ShapeError, message
from wengert.ir.types import show
from wengert.nn.convolution import average_pool, convolve, integers, max_pool
from wengert.nn.initialisers import Initialiser, Seed, generator, glorot_uniform, he_uniform
from wengert.shapes import shape_of
from wengert.tree import static


def _check_values(layer: str, x: Any, form: str, rank: int, values: int) -> None:
    """Check that an input has at least ``rank`` axes, and ``values`` values along the last."""
    shape = shape_of(x)
    if len(shape) < rank or shape[-1] != values:
        raise ShapeError(message(layer, f"the input must be ({form}, {values})", show(x)))


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
        _check_values("Dense", x, "...", 1, shape_of(self.weight)[0])
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


@dataclasses.dataclass(init=False)
class RNN:
    """A recurrent layer, ``h_t = f(x_t W + h_{t-1} U + b)`` with ``h_0 = 0`` (Elman, 1990).

    Args:
        inputs: the number of values a step has.
        hidden: the number of values of the state.
        seed: of the weights: an integer or a generator.
        activation: ``f``; tanh by default.
        sequence: whether to return the states of all steps, or the last only.
        initialise: draws the input weights; Glorot uniform by default.
        recurrent: draws the recurrent weights; Glorot uniform by default.

    Raises:
        ShapeError: a size is not a positive integer, or the input is not (examples, steps, inputs).

    Example:
        >>> import numpy as np
        >>> RNN(28, 64, seed=0)(np.ones((5, 28, 28), "f4")).shape
        (5, 64)
    """

    input_weight: Any
    hidden_weight: Any
    bias: Any
    activation: Callable[[Any], Any] = static()
    sequence: bool = static()

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        seed: Seed,
        activation: Callable[[Any], Any] = np.tanh,
        sequence: bool = False,
        initialise: Initialiser = glorot_uniform,
        recurrent: Initialiser = glorot_uniform,
    ) -> None:
        inputs, hidden = integers("RNN", "inputs and hidden", (inputs, hidden), 2, 1)
        rng = generator(seed)
        self.input_weight = initialise(rng, (inputs, hidden), inputs, hidden)
        self.hidden_weight = recurrent(rng, (hidden, hidden), hidden, hidden)
        self.bias = np.zeros(hidden, np.float32)
        self.activation, self.sequence = activation, sequence

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, steps, inputs)."""
        _check_values("RNN", x, "examples, steps", 3, shape_of(self.input_weight)[0])
        projected = np.swapaxes(np.matmul(x, self.input_weight) + self.bias, 0, 1)

        def step(state: Any, one: Any) -> tuple[Any, Any]:
            state = self.activation(one + np.matmul(state, self.hidden_weight))
            return state, (state if self.sequence else None)

        start = np.zeros((shape_of(x)[0], shape_of(self.bias)[0]), projected.dtype)
        last, states = scan(step, start, projected)
        return np.swapaxes(states, 0, 1) if self.sequence else last


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
