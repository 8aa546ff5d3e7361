"""Normalisation: of each example, of groups of channels, and over the batch."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.control import stop_gradient
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import dtype_of, is_float
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import static
from wengert.engine.ir.types import show
from wengert.nn.checks import integers
from wengert.nn.display import Displayed

_numpy: Any = np  # the stubs of np.mean give no element type
_TERMS = {
    "channels": "the number of channels of the input, its axis 1.",
    "epsilon": "keeps the quotient finite.",
    "affine": "whether to scale and shift; the weight starts as one, the bias as zero.",
}


def _moments(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the mean and the variance over axes, which stay with extent 1."""
    mean = _numpy.mean(x, axis=axes, keepdims=True)
    return mean, _numpy.mean(np.square(x - mean), axis=axes, keepdims=True)


def _standard(x: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    return (x - mean) / np.sqrt(variance + epsilon)


def _affine(shape: Any, affine: bool) -> tuple[Any, Any]:
    return (np.ones(shape, np.float32), np.zeros(shape, np.float32)) if affine else (None, None)


def _rescaled(y: Any, weight: Any, bias: Any) -> Any:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _along_channels(values: Any, x: Any) -> Any:
    """Return one value for each channel in a shape that broadcasts along axis 1."""
    return np.reshape(values, (-1, *(1,) * (len(shape_of(x)) - 2)))


def _channels_rescaled(y: Any, weight: Any, bias: Any) -> Any:
    return y if weight is None else _rescaled(y, _along_channels(weight, y), _along_channels(bias, y))


def _check_channels(layer: str, x: Any, channels: int) -> None:
    shape = shape_of(x)
    if len(shape) < 2 or shape[1] != channels:
        raise ShapeError(message(layer, f"the input must be (examples, {channels}, ...)", show(x)))


def _check_last(layer: str, x: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Check the extents of the last axes, and return these axes."""
    if shape_of(x)[-len(shape) :] != shape:
        expected = ", ".join(map(str, shape))
        raise ShapeError(message(layer, f"the input must be (..., {expected})", show(x)))
    return tuple(range(-len(shape), 0))


def _extents(layer: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    return integers(layer, "shape", shape, len(shape) if isinstance(shape, Sequence) else 1, 1)


_of_last_axes = functools.partial(
    documented, _TERMS, shape="the extents of the last axes, or the extent of the last one."
)


@_of_last_axes()
@dataclasses.dataclass(init=False)
class LayerNorm(Displayed):
    """Standardise each example over its last axes, then scale and shift it (Ba et al., 2016).

    ``y = (x - mean) / sqrt(variance + epsilon) * weight + bias``, with the biased variance.

    Raises:
        ShapeError: the last axes of an input have another shape.

    Example:
        >>> print(LayerNorm(2)(np.array([[1.0, 3.0], [5.0, 5.0]])).round(3))
        [[-1.  1.]
         [ 0.  0.]]
    """

    weight: Any
    bias: Any
    shape: tuple[int, ...] = static()
    epsilon: float = static()

    def __init__(self, shape: int | Sequence[int], *, epsilon: float = 1e-5, affine: bool = True) -> None:
        self.shape = _extents("LayerNorm", shape)
        self.weight, self.bias = _affine(self.shape, affine)
        self.epsilon = epsilon

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (..., *shape)."""
        x = operand(x)
        moments = _moments(x, _check_last("LayerNorm", x, self.shape))
        return _rescaled(_standard(x, *moments, self.epsilon), self.weight, self.bias)


@_of_last_axes(affine="whether to scale; the weight starts as one.")
@dataclasses.dataclass(init=False)
class RMSNorm(Displayed):
    """Divide each example by the root of its mean square over the last axes, then scale it (Zhang and Sennrich, 2019).

    ``y = x / sqrt(mean(x^2) + epsilon) * weight``.

    Raises:
        ShapeError: the last axes of an input have another shape.

    Example:
        >>> print(RMSNorm(2)(np.array([3.0, 4.0])).round(3))
        [0.849 1.131]
    """

    weight: Any
    shape: tuple[int, ...] = static()
    epsilon: float = static()

    def __init__(self, shape: int | Sequence[int], *, epsilon: float = 1e-5, affine: bool = True) -> None:
        self.shape = _extents("RMSNorm", shape)
        self.weight, _ = _affine(self.shape, affine)
        self.epsilon = epsilon

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (..., *shape)."""
        x = operand(x)
        square = _numpy.mean(np.square(x), axis=_check_last("RMSNorm", x, self.shape), keepdims=True)
        return _rescaled(x / np.sqrt(square + self.epsilon), self.weight, None)


@documented(
    _TERMS,
    groups="the number of groups: 1 standardises whole examples, ``channels`` is instance normalisation.",
)
@dataclasses.dataclass(init=False)
class GroupNorm(Displayed):
    """Standardise each example over groups of channels, then scale and shift each channel (Wu and He, 2018).

    Raises:
        ArgumentError: the groups do not divide the channels.
        ShapeError: a number is not a positive integer, or the input has another number of channels.

    Example:
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
        self.weight, self.bias = _affine(self.channels, affine)
        self.epsilon = epsilon

    def __call__(self, x: Any) -> Any:
        """Apply the layer to (examples, channels, ...)."""
        x = operand(x)
        _check_channels("GroupNorm", x, self.channels)
        examples, channels, *space = shape_of(x)
        parts = np.reshape(x, (examples, self.groups, channels // self.groups, *space))
        moments = _moments(parts, tuple(range(2, len(shape_of(parts)))))
        y = np.reshape(_standard(parts, *moments, self.epsilon), shape_of(x))
        return _channels_rescaled(y, self.weight, self.bias)


class BatchNormState(NamedTuple):
    """The running mean and variance of each channel.

    Args:
        mean: (channels,).
        variance: (channels,).

    Example:
        >>> BatchNorm(2).initial_state().mean
        array([0., 0.], dtype=float32)
    """

    mean: Any
    variance: Any


@documented(
    _TERMS,
    momentum="the weight of a batch in the running mean and variance, as in PyTorch; in Keras ``1 - momentum``.",
)
@dataclasses.dataclass(init=False)
class BatchNorm(Displayed):
    """Standardise each channel over the batch, then scale and shift it (Ioffe and Szegedy, 2015).

    In training the layer uses the mean and the variance of the batch, over examples and spatial axes, and updates the
    state: ``running = (1 - momentum) running + momentum batch``, with the unbiased variance. Otherwise it uses the
    state.

    Raises:
        ShapeError: a number is not a positive integer, the input has another number of channels, or training gets a
            single value in each channel.
        ArgumentError: the state is missing: the layer was called, not applied.

    Example:
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
        self.weight, self.bias = _affine(self.channels, affine)
        self.momentum, self.epsilon = momentum, epsilon

    def initial_state(self) -> BatchNormState:
        """Return mean zero and variance one."""
        return BatchNormState(np.zeros(self.channels, np.float32), np.ones(self.channels, np.float32))

    def __call__(self, x: Any) -> Any:
        """Raise `ArgumentError`: use `apply`."""
        hint = (
            "write y, state = nn.apply(model, x, state, training=...), with nn.initial_state(model) at first"
        )
        raise ArgumentError(message("BatchNorm", "the running mean and variance are needed", hint=hint))

    def apply(self, x: Any, state: Any, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Apply the layer to (examples, channels, ...), and return the output and the next state."""
        x = operand(x)
        _check_channels("BatchNorm", x, self.channels)
        if not isinstance(state, BatchNormState):
            requirement, hint = "the state must be a BatchNormState", "start with nn.initial_state(model)"
            raise ArgumentError(message("BatchNorm", requirement, type(state).__name__, hint))
        if training:
            mean, variance = _moments(x, (0, *range(2, len(shape_of(x)))))
            state = self._updated(x, state, mean, variance)
        else:
            mean, variance = (_along_channels(part, x) for part in state)
        y = _standard(x, mean, variance, self.epsilon)
        return _channels_rescaled(y, self.weight, self.bias), state

    def _updated(self, x: Any, state: BatchNormState, mean: Any, variance: Any) -> BatchNormState:
        count = int(np.prod(shape_of(x))) // self.channels
        if count < 2:
            requirement = "training needs more than one value in each channel"
            raise ShapeError(message("BatchNorm", requirement, show(x)))

        def updated(running: Any, batch: Any) -> Any:
            new = running + self.momentum * (np.reshape(stop_gradient(batch), (-1,)) - running)
            dtype = dtype_of(running)
            return new.astype(dtype) if is_float(dtype) and dtype_of(new) != dtype else new

        unbiased = variance * (count / (count - 1))
        return BatchNormState(updated(state.mean, mean), updated(state.variance, unbiased))
