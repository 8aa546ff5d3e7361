"""Recurrent cells: one step of a recurrence, its weights side by side."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from wengert.core.shapes import shape_of
from wengert.core.tree import static
from wengert.nn.activations import sigmoid
from wengert.nn.checks import integers
from wengert.nn.initialisers import Initialiser, Seed, generator, glorot_uniform, orthogonal

State: TypeAlias = tuple[Any, ...]
"""What a cell carries from step to step, (examples, hidden) each; the first is the cell's output."""


def _weights(
    cell: str, sizes: Any, gates: int, seed: Seed, initialise: Initialiser, recurrent: Initialiser
) -> tuple[Any, Any]:
    """Draw the weights of all gates, each gate as a matrix of its own, and put them side by side."""
    inputs, hidden = integers(cell, "inputs and hidden", sizes, 2, 1)
    rng = generator(seed)
    drawn = [initialise(rng, (inputs, hidden), inputs, hidden) for _ in range(gates)]
    kept = [recurrent(rng, (hidden, hidden), hidden, hidden) for _ in range(gates)]
    return np.concatenate(drawn, axis=1), np.concatenate(kept, axis=1)


@dataclasses.dataclass
class Cell(ABC):
    """What all cells have: ``W`` (inputs, gates hidden), ``U`` (hidden, gates hidden) and ``b`` (gates hidden,)."""

    input_weight: Any
    hidden_weight: Any
    bias: Any

    @property
    def inputs(self) -> int:
        """The number of values a step has."""
        return shape_of(self.input_weight)[0]

    @property
    def hidden(self) -> int:
        """The number of values of the state."""
        return shape_of(self.hidden_weight)[0]

    @property
    def parts(self) -> int:
        """The number of arrays of the state."""
        return 1

    def project(self, x: Any) -> Any:
        """Return ``x W + b`` for (..., inputs): what of a step does not depend on the state."""
        return np.matmul(x, self.input_weight) + self.bias

    @abstractmethod
    def step(self, projected: Any, state: State) -> State:
        """Return the next state from a projected input and the state."""

    def __call__(self, x: Any, state: State) -> State:
        """Return the next state from an input (examples, inputs) and the state."""
        return self.step(self.project(x), state)


@dataclasses.dataclass(init=False)
class RNNCell(Cell):
    """A step of Elman's recurrence, ``h' = f(x W + h U + b)`` (Elman, 1990); the state is ``(h,)``.

    Args:
        inputs: the number of values a step has.
        hidden: the number of values of the state.
        seed: of the weights: an integer or a generator.
        activation: ``f``; tanh by default.
        initialise: draws the input weights; Glorot uniform by default.
        recurrent: draws the recurrent weights; Glorot uniform by default.

    Raises:
        ShapeError: a size is not a positive integer.

    Example:
        >>> import numpy as np
        >>> (h,) = RNNCell(3, 4, seed=0)(np.ones((2, 3), "f4"), (np.zeros((2, 4), "f4"),))
        >>> h.shape
        (2, 4)
    """

    activation: Callable[[Any], Any] = static()

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        seed: Seed,
        activation: Callable[[Any], Any] = np.tanh,
        initialise: Initialiser = glorot_uniform,
        recurrent: Initialiser = glorot_uniform,
    ) -> None:
        weights = _weights("RNN", (inputs, hidden), 1, seed, initialise, recurrent)
        self.input_weight, self.hidden_weight = weights
        self.bias = np.zeros(self.hidden, np.float32)
        self.activation = activation

    def step(self, projected: Any, state: State) -> State:
        """Return ``(h',)``."""
        return (self.activation(projected + np.matmul(state[0], self.hidden_weight)),)


@dataclasses.dataclass(init=False)
class LSTMCell(Cell):
    """A step of long short-term memory (Hochreiter and Schmidhuber, 1997; Gers et al., 2000); the state is ``(h, c)``.

    ``i, f, g, o = x W + h U + b``, side by side in this order, are the input gate, the forget gate, the candidate and
    the output gate::

        c' = sigmoid(f) c + sigmoid(i) tanh(g)
        h' = sigmoid(o) tanh(c')

    Args:
        inputs: the number of values a step has.
        hidden: the number of values of ``h`` and of ``c``.
        seed: of the weights: an integer or a generator.
        forget_bias: what the forget gate's bias is at first; 1 keeps the memory (Jozefowicz et al., 2015).
        initialise: draws the input weights of each gate; Glorot uniform by default.
        recurrent: draws the recurrent weights of each gate; orthogonal by default.

    Raises:
        ShapeError: a size is not a positive integer.

    Example:
        >>> import numpy as np
        >>> zero = np.zeros((2, 4), "f4")
        >>> h, c = LSTMCell(3, 4, seed=0)(np.ones((2, 3), "f4"), (zero, zero))
        >>> h.shape, c.shape
        ((2, 4), (2, 4))
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        seed: Seed,
        forget_bias: float = 1.0,
        initialise: Initialiser = glorot_uniform,
        recurrent: Initialiser = orthogonal,
    ) -> None:
        weights = _weights("LSTM", (inputs, hidden), 4, seed, initialise, recurrent)
        self.input_weight, self.hidden_weight = weights
        self.bias = np.zeros(4 * self.hidden, np.float32)
        self.bias[self.hidden : 2 * self.hidden] = forget_bias

    @property
    def parts(self) -> int:
        """The number of arrays of the state: ``h`` and ``c``."""
        return 2

    def step(self, projected: Any, state: State) -> State:
        """Return ``(h', c')``."""
        h, c = state
        i, f, g, o = np.split(projected + np.matmul(h, self.hidden_weight), 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c


@dataclasses.dataclass(init=False)
class GRUCell(Cell):
    """A step of the gated recurrent unit (Cho et al., 2014); the state is ``(h,)``.

    The weights of the reset gate, the update gate and the candidate stand side by side in this order. With
    ``[r_x, z_x, n_x] = x W + b`` and ``r = sigmoid(r_x + h U_r)``, ``z = sigmoid(z_x + h U_z)``::

        n  = tanh(n_x + r (h U_n + b_n))      reset_after=True:  PyTorch, cuDNN, Keras' default
        n  = tanh(n_x + (r h) U_n)            reset_after=False: the paper
        h' = (1 - z) n + z h

    Args:
        inputs: the number of values a step has.
        hidden: the number of values of the state.
        seed: of the weights: an integer or a generator.
        reset_after: whether the reset gate acts after the recurrent product, which then has a bias of its own.
        initialise: draws the input weights of each gate; Glorot uniform by default.
        recurrent: draws the recurrent weights of each gate; orthogonal by default.

    Raises:
        ShapeError: a size is not a positive integer.

    Example:
        >>> import numpy as np
        >>> (h,) = GRUCell(3, 4, seed=0)(np.ones((2, 3), "f4"), (np.zeros((2, 4), "f4"),))
        >>> h.shape
        (2, 4)
    """

    hidden_bias: Any
    """``b_n`` (hidden,), or None where the reset gate acts before the product."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        seed: Seed,
        reset_after: bool = True,
        initialise: Initialiser = glorot_uniform,
        recurrent: Initialiser = orthogonal,
    ) -> None:
        weights = _weights("GRU", (inputs, hidden), 3, seed, initialise, recurrent)
        self.input_weight, self.hidden_weight = weights
        self.bias = np.zeros(3 * self.hidden, np.float32)
        self.hidden_bias = np.zeros(self.hidden, np.float32) if reset_after else None

    def step(self, projected: Any, state: State) -> State:
        """Return ``(h',)``."""
        (h,) = state
        return (self._reset_after if self.hidden_bias is not None else self._reset_before)(projected, h)

    def _reset_after(self, projected: Any, h: Any) -> State:
        r, z, n = np.split(projected, 3, axis=-1)
        of_r, of_z, of_n = np.split(np.matmul(h, self.hidden_weight), 3, axis=-1)
        z = sigmoid(z + of_z)
        n = np.tanh(n + sigmoid(r + of_r) * (of_n + self.hidden_bias))
        return ((1 - z) * n + z * h,)

    def _reset_before(self, projected: Any, h: Any) -> State:
        gates = 2 * self.hidden
        r, z, n = np.split(projected, 3, axis=-1)
        of_r, of_z = np.split(np.matmul(h, self.hidden_weight[:, :gates]), 2, axis=-1)
        z = sigmoid(z + of_z)
        n = np.tanh(n + np.matmul(sigmoid(r + of_r) * h, self.hidden_weight[:, gates:]))
        return ((1 - z) * n + z * h,)
