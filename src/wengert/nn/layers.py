"""Layers: dataclasses of arrays that can be called."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import static
from wengert.ir.types import show
from wengert.nn.checks import check_values, integers
from wengert.nn.initialisers import Initialiser, Seed, glorot_uniform
from wengert.nn.places import tell_place
from wengert.nn.stateful import apply, fold_key, initial_state


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

    Called, a chain applies its layers as they are after training, which those with a state refuse. `apply` takes and
    returns the state: None, or the state of each layer if any has one.

    Raises:
        ArgumentError: something is no layer and no function.
        ShapeError: a layer's input does not fit; the message names the layer.

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
        for number, layer in enumerate(self.layers):
            try:
                x = layer(x)
            except Exception as problem:
                tell_place(problem, f"layers[{number}]", layer)
                raise
        return x

    def initial_state(self) -> Any:
        """Return the state of each layer, or None where none has one."""
        states = tuple(map(initial_state, self.layers))
        return None if all(state is None for state in states) else states

    def apply(self, x: Any, state: Any = None, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Apply the layers in order, and return the output and the next state.

        Args:
            x: the input of the first layer.
            state: what `initial_state` returns, or the last call.
            training: whether the model is being trained.
            key: what random numbers are drawn from; each layer gets one of its own.

        Raises:
            ArgumentError: the state is not that of the layers, or a layer in training needs a key.
        """
        states = (None,) * len(self.layers) if state is None else state
        if not isinstance(states, Sequence) or len(states) != len(self.layers):
            requirement = f"the state must be a tuple of {len(self.layers)}, one for each layer"
            raise ArgumentError(
                message("Chain", requirement, repr(state), "start with nn.initial_state(model)")
            )
        after: list[Any] = []
        for number, (layer, one) in enumerate(zip(self.layers, states, strict=True)):
            try:
                x, one = apply(layer, x, one, training=training, key=fold_key(key, number))
            except Exception as problem:
                tell_place(problem, f"layers[{number}]", layer)
                raise
            after.append(one)
        return x, None if state is None else tuple(after)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: Any) -> Any:
        chosen: Any = self.layers[index]
        return Chain(*chosen) if isinstance(chosen, Sequence) else chosen
