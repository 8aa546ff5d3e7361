"""Layers: dataclasses of arrays that can be called; chains of them, and layers with a state.

A layer that keeps a state, draws random numbers or behaves differently in training has ``apply(x, state, *, training,
key)``, which returns the output and the next state, and ``initial_state()``. Any other layer is a plain function.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np

from wengert import random
from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message, split_location
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import children, static
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import check_bounds
from wengert.engine.transforms.arguments import is_number
from wengert.nn.checks import check_values, integers, setting
from wengert.nn.display import Displayed
from wengert.nn.initialisers import Initialiser, Seed, glorot_uniform, normal
from wengert.numpy.selecting import take


@dataclasses.dataclass(init=False)
class Dense(Displayed):
    """An affine layer, ``y = x W + b``.

    Args:
        inputs: the number of values of an example.
        outputs: the number of values of its output.
        seed: an integer or a generator, which draws the weights.
        bias: whether to add ``b``, which starts as zero.
        initialise: draws the weights; Glorot uniform by default.

    Raises:
        ShapeError: a size is not a positive integer, or an example has another number of values.

    Example:
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
class Embedding(Displayed):
    """A vector for each symbol of a set: ``y[...] = weight[indices[...]]``.

    Args:
        count: the number of symbols; they are numbered from 0.
        size: the length of the vectors.
        seed: an integer or a generator, which draws the vectors.
        padding: the symbol of padding, if there is one: its vector is zero, and has no derivative.
        initialise: draws the vectors; normal with deviation 1 by default.

    Raises:
        ShapeError: a size is not a positive integer.
        ArgumentError: the padding is not in [0, count).
        DtypeError: the indices are not integers.
        OutOfRangeError: an index is not in [0, count).

    Example:
        >>> layer = Embedding(10, 4, seed=0, padding=0)
        >>> y = layer(np.array([[3, 1, 0]]))
        >>> y.shape, float(abs(y[0, 2]).max())
        ((1, 3, 4), 0.0)
    """

    weight: Any
    padding: int | None = static()

    def __init__(
        self,
        count: int,
        size: int,
        *,
        seed: Seed,
        padding: int | None = None,
        initialise: Initialiser = normal(1.0),  # noqa: B008
    ) -> None:
        count, size = integers("Embedding", "count and size", (count, size), 2, 1)
        if padding is not None and not 0 <= padding < count:
            requirement = f"padding must be a symbol, in [0, {count})"
            raise ArgumentError(message("Embedding", requirement, repr(padding)))
        self.weight = initialise(seed, (count, size), count, size)
        self.padding = padding
        if padding is not None:
            self.weight[padding] = 0

    def __call__(self, indices: Any) -> Any:
        """Return (..., size) for indices (...)."""
        indices = operand(indices)
        if dtype_of(indices).kind not in "iu":
            raise DtypeError(message("Embedding", "indices must be integers", show(indices)))
        count = shape_of(self.weight)[0]
        requirement = f"indices must lie in [0, {count})"
        checked = check_bounds(indices, count=count, operation="Embedding", requirement=requirement)
        rows = take(self.weight, checked, axis=0)
        if self.padding is None:
            return rows
        return where(np.expand_dims(indices == self.padding, -1), 0.0, rows)


@dataclasses.dataclass
class Flatten:
    """All values of an example in one axis.

    Example:
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

    Args:
        function: the function.

    Example:
        >>> Lambda(abs)(-2.0)
        2.0
    """

    function: Callable[[Any], Any] = static()

    def __call__(self, x: Any) -> Any:
        """Apply the function."""
        return self.function(x)


# -- layers with a state ---------------------------------------------------------------------------------


class Stateful(Protocol):
    """A layer whose output depends on more than its arrays and its input.

    Example:
        >>> from wengert import nn
        >>> layer: Stateful = nn.Dropout(0.5)
        >>> layer.apply(1.0, layer.initial_state())
        (1.0, None)
    """

    def initial_state(self) -> Any:
        """Return the state before training; None for a layer without a state."""
        ...

    def apply(self, x: Any, state: Any, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Return the output and the next state."""
        ...


def _is_stateful(layer: Any) -> TypeGuard[Stateful]:
    return hasattr(layer, "apply")


def initial_state(layer: Any) -> Any:
    """Return the state with which a layer or a model starts training.

    Args:
        layer: any layer. A `Chain` has a tuple with the state of each of its layers.

    Returns:
        A container of arrays, with None for layers without a state.

    Example:
        >>> from wengert import nn
        >>> initial_state(nn.Chain(nn.Dense(3, 2, seed=0), nn.relu)) is None
        True
        >>> initial_state(nn.Chain(nn.Dense(3, 2, seed=0), nn.BatchNorm(2)))[1].mean
        array([0., 0.], dtype=float32)
    """
    return layer.initial_state() if _is_stateful(layer) else None


def apply(layer: Any, x: Any, state: Any, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
    """Apply a layer or a model, and return its output and its next state.

    A layer without a method ``apply`` is called, and its state returned unchanged.

    Args:
        layer: a layer, a model, or a function of one argument.
        x: the input.
        state: the result of `initial_state`, or the state that the last call returned.
        training: whether the layer is being trained: `Dropout` drops, `BatchNorm` normalises by the batch.
        key: a key of `wengert.random`; None where training draws no random numbers.

    Returns:
        The output and the next state.

    Example:
        >>> from wengert import nn
        >>> layer = nn.BatchNorm(2)
        >>> y, state = apply(layer, np.array([[1.0, 2.0], [3.0, 6.0]]), initial_state(layer), training=True)
        >>> print(y.round(3).tolist(), state.mean)
        [[-1.0, -1.0], [1.0, 1.0]] [0.2 0.4]
    """
    if _is_stateful(layer):
        return layer.apply(x, state, training=training, key=key)
    return layer(x), state


# -- dropout ---------------------------------------------------------------------------------------------


def _check_rate(rate: float) -> float:
    if not 0 <= rate <= 1:
        raise ArgumentError(message("dropout", "the rate must lie in [0, 1]", repr(rate)))
    return float(rate)


def dropout(x: Any, rate: float, key: Any, shared: Any = ()) -> Any:
    """Set elements to zero, each with probability ``rate``, and divide the others by ``1 - rate``.

    The expected value of each element does not change. The same key drops the same elements.

    Args:
        x: an array of floating-point numbers.
        rate: a number in [0, 1].
        key: a key of `wengert.random`; use a new one for each call.
        shared: axes along which elements are dropped together: (2, 3) drops channels of images.

    Returns:
        An array of the shape of ``x``.

    Raises:
        ArgumentError: the rate is not a probability.

    Example:
        >>> from wengert import random
        >>> print(dropout(np.ones(6), 0.5, random.key(1)))
        [0. 2. 0. 0. 2. 2.]
    """
    x, rate = operand(x), _check_rate(rate)
    if rate == 0:
        return x
    shape = shape_of(x)
    axes = {axis % len(shape) for axis in setting(shared)}
    drawn_shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    drawn = random.uniform(key, drawn_shape, dtype=np.float32)
    return where(drawn < rate, 0.0, x / (1 - rate) if rate < 1 else 0.0 * x)


@dataclasses.dataclass
class Dropout:
    """Set elements to zero at random in training, and enlarge the others (Srivastava et al., 2014).

    See `dropout`. A call, and `apply` outside of training, returns the input.

    Args:
        rate: the probability that an element is dropped.
        shared: axes along which elements are dropped together: (2, 3) drops channels of images.

    Raises:
        ArgumentError: the rate is not a probability, or training lacks a key.

    Example:
        >>> from wengert import random
        >>> y, _ = Dropout(0.5).apply(np.ones(6), None, training=True, key=random.key(1))
        >>> print(y, Dropout(0.5)(np.ones(3)))
        [0. 2. 0. 0. 2. 2.] [1. 1. 1.]
    """

    rate: float = static(0.5)
    shared: Any = static(())

    def __post_init__(self) -> None:
        self.rate, self.shared = _check_rate(self.rate), setting(self.shared)

    def initial_state(self) -> None:
        """Return None: the layer has no state."""

    def __call__(self, x: Any) -> Any:
        """Return the input."""
        return x

    def apply(self, x: Any, state: Any = None, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Drop elements in training, and return the state unchanged."""
        if not training or self.rate == 0:
            return x, state
        if key is None:
            hint = "write nn.apply(model, x, state, training=True, key=wg.random.key(seed)), with a new key each time"
            raise ArgumentError(message("Dropout", "training needs a key", hint=hint))
        return dropout(x, self.rate, key, self.shared), state


# -- chains ----------------------------------------------------------------------------------------------


@dataclasses.dataclass(init=False)
class Chain(Displayed):
    """Layers one after the other; plain functions may stand among them.

    A call applies the layers as they are after training; layers that need a state refuse it. `apply` takes and returns
    the state: a tuple with the state of each layer, or None if no layer has one.

    Args:
        *layers: layers and functions of one argument.

    Raises:
        ArgumentError: an argument is neither a layer nor a function.
        ShapeError: the input of a layer does not fit; the message names the layer.

    Example:
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
        for number, layer in enumerate(self.layers):
            try:
                x = layer(x)
            except Exception as error:
                _locate(error, f"layers[{number}]", layer)
                raise
        return x

    def initial_state(self) -> Any:
        """Return the state of each layer, or None if no layer has one."""
        states = tuple(map(initial_state, self.layers))
        return None if all(state is None for state in states) else states

    def apply(self, x: Any, state: Any = None, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Apply the layers in order, and return the output and the next state.

        Args:
            x: the input of the first layer.
            state: the result of `initial_state`, or the state that the last call returned.
            training: whether the model is being trained.
            key: a key of `wengert.random`, of which each layer gets its own.

        Raises:
            ArgumentError: the state does not fit the layers, or a layer in training needs a key.
        """
        states = (None,) * len(self.layers) if state is None else state
        if not isinstance(states, Sequence) or len(states) != len(self.layers):
            requirement = f"the state must be a tuple of {len(self.layers)}, one for each layer"
            hint = "start with nn.initial_state(model)"
            raise ArgumentError(message("Chain", requirement, repr(state), hint))
        after: list[Any] = []
        for number, (layer, before) in enumerate(zip(self.layers, states, strict=True)):
            own_key = None if key is None else random.fold_in(key, number)
            try:
                x, new = apply(layer, x, before, training=training, key=own_key)
            except Exception as error:
                _locate(error, f"layers[{number}]", layer)
                raise
            after.append(new)
        return x, None if state is None else tuple(after)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: Any) -> Any:
        chosen: Any = self.layers[index]
        return Chain(*chosen) if isinstance(chosen, Sequence) else chosen


_ORIGIN = "origin_"
"""The attribute of an error that holds its first message, the path to the layer that raised it, and that layer."""


def _locate(error: Exception, step: str, layer: Any) -> None:
    """Add to an error the path to the layer that raised it; ``step`` is the step to the layer, such as ``layers[2]``.

    The error stays the same object. A shape or dtype error names the path in its message; others get a note.
    """
    if not isinstance(error, (ShapeError, DtypeError)):
        if not getattr(error, "__notes__", None):
            error.add_note(f"in {step}, {_described(layer)}")
        return
    text, path, description = getattr(error, _ORIGIN, None) or (str(error), "", _described(layer))
    path = f"{step}.{path}" if path else step
    setattr(error, _ORIGIN, (text, path, description))
    text, location = split_location(text)
    error.args = (f"{text.removesuffix('.')}; in {path}, {description}.{location}",)


def _described(layer: Any) -> str:
    """Return the name of a layer with the types of its own arrays, such as ``Dense(weight f32[3,2], bias f32[2])``."""
    name = type(layer).__name__
    if name == "Lambda":
        return getattr(layer.function, "__name__", name)
    arrays = [f"{name} {show(part)}" for name, part in (children(layer) or {}).items() if is_number(part)]
    return f"{name}({', '.join(arrays)})" if arrays else name
