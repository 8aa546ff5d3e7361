"""Normalisation: of each example, of groups of channels, and over the batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.array.array import operand
from wengert.control import stop_gradient
from wengert.core.dtypes import dtype_of, is_float
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import static
from wengert.ir.types import show
from wengert.nn.checks import integers

_numpy: Any = np  # the stubs of np.mean give no element type


def _moments(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the mean and the variance over axes, which are kept."""
    mean = _numpy.mean(x, axis=axes, keepdims=True)
    return mean, _numpy.mean(np.square(x - mean), axis=axes, keepdims=True)


def _standard(x: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    return (x - mean) / np.sqrt(variance + epsilon)


def _along_channels(values: Any, x: Any) -> Any:
    """Return one value for each channel in a shape that broadcasts along axis 1."""
    return np.reshape(values, (-1, *(1,) * (len(shape_of(x)) - 2)))


def _rescaled(y: Any, weight: Any, bias: Any) -> Any:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@dataclasses.dataclass(init=False)
class LayerNorm:
    """Standardise each example over its last axes, then scale and shift (Ba et al., 2016).

    ``y = (x - mean) / sqrt(variance + epsilon) * weight + bias``, the variance that of the values (divided by their
    number).

    Args:
        shape: of the last axes, or the extent of the last one.
        epsilon: keeps the quotient finite.
        affine: whether to scale and shift; the weight is one at first, the bias zero.

    Raises:
        ShapeError: the last axes of an input have another shape.

    Example:
        >>> import numpy as np
        >>> print(LayerNorm(2)(np.array([[1.0, 3.0], [5.0, 5.0]])).round(3))
        [[-1.  1.]
         [ 0.  0.]]
    """

    weight: Any
    bias: Any
    shape: tuple[int, ...] = static()
    epsilon: float = static()

    def __init__(self, shape: int | Sequence[int], *, epsilon: float = 1e-5, affine: bool = True) -> None:
        count = len(shape) if isinstance(shape, Sequence) else 1
        self.shape = integers("LayerNorm", "shape", shape, count, 1)
        self.weight = np.ones(self.shape, np.float32) if affine else None
        self.bias = np.zeros(self.shape, np.float32) if affine else None
        self.epsilon = epsilon

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (..., *shape)."""
        x, count = operand(x), len(self.shape)
        if shape_of(x)[-count:] != self.shape:
            form = ", ".join(map(str, self.shape))
            raise ShapeError(message("LayerNorm", f"the input must be (..., {form})", show(x)))
        moments = _moments(x, tuple(range(-count, 0)))
        return _rescaled(_standard(x, *moments, self.epsilon), self.weight, self.bias)


@dataclasses.dataclass(init=False)
class GroupNorm:
    """Standardise each example over groups of channels, then scale and shift each channel (Wu and He, 2018).

    Args:
        groups: how many; one group is all of an example, as many as channels is instance normalisation.
        channels: of the input.
        epsilon: keeps the quotient finite.
        affine: whether to scale and shift; the weight is one at first, the bias zero.

    Raises:
        ArgumentError: the groups do not divide the channels.
        ShapeError: a number is not a positive integer, or the input has other channels.

    Example:
        >>> import numpy as np
        >>> print(GroupNorm(2, 4)(np.array([[1.0, 3.0, 5.0, 5.0]])).round(3))
        [[-1.  1.  0.  0.]]
    """

    weight: Any
    bias: Any
    groups: int = static()
    channels: int = static()
    epsilon: float = static()

    def __init__(self, groups: int, channels: int, *, epsilon: float = 1e-5, affine: bool = True) -> None:
        self.groups, self.channels = integers("GroupNorm", "groups and channels", (groups, channels), 2, 1)
        if self.channels % self.groups:
            got = f"{groups} groups, {channels} channels"
            raise ArgumentError(message("GroupNorm", "groups must divide channels", got))
        self.weight = np.ones(self.channels, np.float32) if affine else None
        self.bias = np.zeros(self.channels, np.float32) if affine else None
        self.epsilon = epsilon

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        x = operand(x)
        _check_channels("GroupNorm", x, self.channels)
        examples, channels, *space = shape_of(x)
        parts = np.reshape(x, (examples, self.groups, channels // self.groups, *space))
        moments = _moments(parts, tuple(range(2, len(shape_of(parts)))))
        y = np.reshape(_standard(parts, *moments, self.epsilon), shape_of(x))
        if self.weight is None:
            return y
        return _rescaled(y, _along_channels(self.weight, x), _along_channels(self.bias, x))


def _check_channels(layer: str, x: Any, channels: int) -> None:
    shape = shape_of(x)
    if len(shape) < 2 or shape[1] != channels:
        raise ShapeError(message(layer, f"the input must be (examples, {channels}, ...)", show(x)))


class BatchNormState(NamedTuple):
    """The running mean and variance of each channel."""

    mean: Any
    variance: Any


@dataclasses.dataclass(init=False)
class BatchNorm:
    """Standardise each channel over the batch, then scale and shift it (Ioffe and Szegedy, 2015).

    In training, mean and variance are those of the batch, over examples and spatial axes, and the state moves towards
    them: ``running = (1 - momentum) running + momentum batch``, with the unbiased variance. Else they are the state's.

    Args:
        channels: of the input, its axis 1.
        momentum: the weight of a batch in the running mean and variance, PyTorch's; Keras' is ``1 - momentum``.
        epsilon: keeps the quotient finite.
        affine: whether to scale and shift; the weight is one at first, the bias zero.

    Raises:
        ShapeError: a number is not a positive integer, the input has other channels or one value a channel in training.
        ArgumentError: there is no state: the layer is not called but applied.

    Example:
        >>> import numpy as np
        >>> layer = BatchNorm(1)
        >>> y, state = layer.apply(np.array([[1.0], [3.0]]), layer.initial_state(), training=True)
        >>> print(y.round(3).ravel(), state.mean, state.variance)
        [-1.  1.] [0.2] [1.1]
        >>> print(layer.apply(np.array([[0.2], [2.2]]), state)[0].round(2).ravel())
        [-0.    1.91]
    """

    weight: Any
    bias: Any
    channels: int = static()
    momentum: float = static()
    epsilon: float = static()

    def __init__(
        self, channels: int, *, momentum: float = 0.1, epsilon: float = 1e-5, affine: bool = True
    ) -> None:
        (self.channels,) = integers("BatchNorm", "channels", channels, 1, 1)
        self.weight = np.ones(self.channels, np.float32) if affine else None
        self.bias = np.zeros(self.channels, np.float32) if affine else None
        self.momentum, self.epsilon = momentum, epsilon

    def initial_state(self) -> BatchNormState:
        """Return mean zero and variance one."""
        return BatchNormState(np.zeros(self.channels, np.float32), np.ones(self.channels, np.float32))

    def __call__(self, x: Any) -> Any:
        """Refuse: see `apply`."""
        hint = (
            "write y, state = nn.apply(model, x, state, training=...), with nn.initial_state(model) at first"
        )
        raise ArgumentError(message("BatchNorm", "the running mean and variance are needed", hint=hint))

    def apply(self, x: Any, state: Any, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Apply the layer to (examples, channels, ...), and return the output and the next state."""
        x = operand(x)
        _check_channels("BatchNorm", x, self.channels)
        if not isinstance(state, BatchNormState):
            hint = "start with nn.initial_state(model)"
            raise ArgumentError(
                message("BatchNorm", "the state must be a BatchNormState", type(state).__name__, hint)
            )
        if training:
            mean, variance = _moments(x, (0, *range(2, len(shape_of(x)))))
            state = self._moved(x, state, mean, variance)
        else:
            mean, variance = (_along_channels(part, x) for part in state)
        y = _standard(x, mean, variance, self.epsilon)
        if self.weight is None:
            return y, state
        return _rescaled(y, _along_channels(self.weight, x), _along_channels(self.bias, x)), state

    def _moved(self, x: Any, state: BatchNormState, mean: Any, variance: Any) -> BatchNormState:
        count = int(np.prod(shape_of(x))) // self.channels
        if count < 2:
            requirement = "training needs more than one value in each channel"
            raise ShapeError(message("BatchNorm", requirement, show(x)))
        batch = (mean, variance * (count / (count - 1)))
        return BatchNormState(
            *(
                _like(old + self.momentum * (np.reshape(stop_gradient(new), (-1,)) - old), old)
                for old, new in zip(state, batch, strict=True)
            )
        )


def _like(new: Any, old: Any) -> Any:
    """Return a value in the dtype of the one that it follows, so that a state keeps its types."""
    dtype = dtype_of(old)
    return new.astype(dtype) if is_float(dtype) and dtype_of(new) != dtype else new
