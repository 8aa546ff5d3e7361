"""Recurrence: cells, which make one step, and layers, which run cells along sequences in one `scan` each."""

from __future__ import annotations

import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.control import checkpoint, scan, stop_gradient
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import map_tree, static
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import less, where
from wengert.engine.ops.indexing import check_bounds
from wengert.nn.activations import sigmoid
from wengert.nn.checks import check_values, integers
from wengert.nn.display import Displayed
from wengert.nn.initialisers import Initialiser, Seed, generator, glorot_uniform, orthogonal

State: TypeAlias = tuple[Any, ...]
"""The arrays that a cell carries from step to step, (examples, hidden) each; the first is the output of the cell."""

_TERMS = {
    "inputs": "the number of values of a step.",
    "hidden": "the number of values of the state.",
    "seed": "an integer or a generator, which draws the weights.",
    "activation": "``f``; tanh by default.",
    "forget_bias": "the first bias of the forget gate; 1 keeps the memory (Jozefowicz et al., 2015).",
    "reset_after": "whether the reset gate acts after the recurrent product, which then has a bias of its own.",
    "sequence": "whether a call returns the states after all steps, or the last one.",
    "layers": "the number of layers, each of which reads the states of the one before.",
    "bidirectional": "whether each layer also runs from the last step to the first.",
    "truncate": """the number of steps after which derivatives pass no further back (truncated backpropagation
    through time, Williams and Peng, 1990).""",
    "checkpoint": """the number of steps in a block. Reverse mode keeps the first state of each block, and
    computes the others again: see `wengert.checkpoint`.""",
    "initialise": "draws the input weights of each gate; Glorot uniform by default.",
    "recurrent": "draws the recurrent weights of each gate; orthogonal by default, but Glorot uniform for an RNN.",
}
_cell = documented(_TERMS, Raises="ShapeError: a size is not a positive integer.")
_layer = documented(
    _TERMS,
    Raises="ShapeError: a size is not a positive integer, or the input is not (examples, steps, inputs).",
)


# -- cells -----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Cell(Displayed, ABC):
    """A step of a recurrence, with weights ``W`` (inputs, n), ``U`` (hidden, n) and ``b`` (n,), n = gates x hidden."""

    input_weight: Any
    hidden_weight: Any
    bias: Any
    parts: ClassVar[int] = 1
    """The number of arrays of the state."""

    @property
    def inputs(self) -> int:
        """The number of values of a step."""
        return shape_of(self.input_weight)[0]

    @property
    def hidden(self) -> int:
        """The number of values of the state."""
        return shape_of(self.hidden_weight)[0]

    def _draw(
        self, gates: int, sizes: Any, seed: Seed, initialise: Initialiser, recurrent: Initialiser
    ) -> None:
        """Draw the weights of each gate as a matrix of its own, and put them side by side."""
        inputs, hidden = integers(type(self).__name__.removesuffix("Cell"), "inputs and hidden", sizes, 2, 1)
        rng = generator(seed)
        from_inputs = [initialise(rng, (inputs, hidden), inputs, hidden) for _ in range(gates)]
        from_state = [recurrent(rng, (hidden, hidden), hidden, hidden) for _ in range(gates)]
        self.input_weight = np.concatenate(from_inputs, axis=1)
        self.hidden_weight = np.concatenate(from_state, axis=1)
        self.bias = np.zeros(gates * hidden, np.float32)

    def project(self, x: Any) -> Any:
        """Return ``x W + b`` for (..., inputs), the part of a step that does not depend on the state."""
        return np.matmul(x, self.input_weight) + self.bias

    @abstractmethod
    def step(self, projected: Any, state: State) -> State:
        """Return the next state from a projected input and the state."""

    def __call__(self, x: Any, state: State) -> State:
        """Return the next state from an input (examples, inputs) and the state."""
        return self.step(self.project(x), state)


@_cell
@dataclasses.dataclass(init=False)
class RNNCell(Cell):
    """A step of Elman's recurrence, ``h' = f(x W + h U + b)`` (Elman, 1990); the state is ``(h,)``.

    Example:
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
        self._draw(1, (inputs, hidden), seed, initialise, recurrent)
        self.activation = activation

    def step(self, projected: Any, state: State) -> State:
        """Return ``(h',)``."""
        return (self.activation(projected + np.matmul(state[0], self.hidden_weight)),)


@_cell
@dataclasses.dataclass(init=False)
class LSTMCell(Cell):
    """A step of long short-term memory (Hochreiter and Schmidhuber, 1997; Gers et al., 2000); the state is ``(h, c)``.

    ``i, f, g, o = x W + h U + b``, side by side in this order, are the input gate, the forget gate, the candidate and
    the output gate::

        c' = sigmoid(f) c + sigmoid(i) tanh(g)
        h' = sigmoid(o) tanh(c')

    Example:
        >>> zero = np.zeros((2, 4), "f4")
        >>> h, c = LSTMCell(3, 4, seed=0)(np.ones((2, 3), "f4"), (zero, zero))
        >>> h.shape, c.shape
        ((2, 4), (2, 4))
    """

    parts = 2

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
        self._draw(4, (inputs, hidden), seed, initialise, recurrent)
        self.bias[self.hidden : 2 * self.hidden] = forget_bias

    def step(self, projected: Any, state: State) -> State:
        """Return ``(h', c')``."""
        h, c = state
        i, f, g, o = np.split(projected + np.matmul(h, self.hidden_weight), 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c


@_cell
@dataclasses.dataclass(init=False)
class GRUCell(Cell):
    """A step of the gated recurrent unit (Cho et al., 2014); the state is ``(h,)``.

    The weights of the reset gate, the update gate and the candidate stand side by side in this order. With
    ``[r_x, z_x, n_x] = x W + b`` and ``r = sigmoid(r_x + h U_r)``, ``z = sigmoid(z_x + h U_z)``::

        n  = tanh(n_x + r (h U_n + b_n))      reset_after=True:  PyTorch, cuDNN, Keras' default
        n  = tanh(n_x + (r h) U_n)            reset_after=False: the paper
        h' = (1 - z) n + z h

    Example:
        >>> (h,) = GRUCell(3, 4, seed=0)(np.ones((2, 3), "f4"), (np.zeros((2, 4), "f4"),))
        >>> h.shape
        (2, 4)
    """

    hidden_bias: Any
    """``b_n`` (hidden,); None where the reset gate acts before the product."""

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
        self._draw(3, (inputs, hidden), seed, initialise, recurrent)
        self.hidden_bias = np.zeros(self.hidden, np.float32) if reset_after else None

    def step(self, projected: Any, state: State) -> State:
        """Return ``(h',)``."""
        (h,) = state
        r_x, z_x, n_x = np.split(projected, 3, axis=-1)
        if self.hidden_bias is not None:
            r_h, z_h, n_h = np.split(np.matmul(h, self.hidden_weight), 3, axis=-1)
            z = sigmoid(z_x + z_h)
            n = np.tanh(n_x + sigmoid(r_x + r_h) * (n_h + self.hidden_bias))
        else:
            gates = 2 * self.hidden
            r_h, z_h = np.split(np.matmul(h, self.hidden_weight[:, :gates]), 2, axis=-1)
            z = sigmoid(z_x + z_h)
            n = np.tanh(n_x + np.matmul(sigmoid(r_x + r_h) * h, self.hidden_weight[:, gates:]))
        return ((1 - z) * n + z * h,)


# -- layers ----------------------------------------------------------------------------------------------


@dataclasses.dataclass(init=False)
class Recurrent(Displayed):
    """A stack of recurrent layers.

    A call returns the state of the last layer after the last step, (examples, hidden); with ``sequence=True`` its
    states after all steps, (examples, steps, hidden). `run` takes and returns states. A bidirectional layer has the
    states of both directions side by side, (..., 2 hidden).
    """

    cells: tuple[Any, ...]
    """Layer after layer; in a bidirectional layer the forward cell comes first."""
    bidirectional: bool = static()
    sequence: bool = static()
    truncate: int | None = static()
    checkpoint: int | None = static()

    def __init__(
        self,
        cell: Callable[..., Cell],
        inputs: int,
        hidden: int,
        seed: Seed,
        sequence: bool,
        layers: int,
        bidirectional: bool,
        truncate: int | None,
        checkpoint: int | None,
    ) -> None:
        name, rng = type(self).__name__, generator(seed)
        inputs, hidden = integers(name, "inputs and hidden", (inputs, hidden), 2, 1)
        (layers,) = integers(name, "layers", layers, 1, 1)
        self.bidirectional, self.sequence = bidirectional, sequence
        widths = [inputs, *[self.directions * hidden] * (layers - 1)]
        self.cells = tuple(cell(width, hidden, seed=rng) for width in widths for _ in range(self.directions))
        self.truncate, self.checkpoint = (
            None if steps is None else integers(name, setting, steps, 1, 1)[0]
            for setting, steps in (("truncate", truncate), ("checkpoint", checkpoint))
        )

    @property
    def directions(self) -> int:
        """The number of cells of a layer."""
        return 2 if self.bidirectional else 1

    def initial_state(self, examples: int, dtype: Any = np.float32) -> Any:
        """Return the state of zeros from which a layer starts.

        Args:
            examples: the number of sequences.
            dtype: the dtype of the state.

        Returns:
            (layers x directions, examples, hidden), in the order of ``cells``; two such arrays ``(h, c)`` for an LSTM.
        """
        cell = self.cells[0]
        shape = (len(self.cells), examples, cell.hidden)
        return _unwrapped(tuple(np.zeros(shape, dtype) for _ in range(cell.parts)))

    def __call__(self, x: Any, lengths: Any = None) -> Any:
        """Apply the layer, starting from a state of zeros.

        Args:
            x: (examples, steps, inputs).
            lengths: the number of steps of each example, if they differ: see `run`.
        """
        outputs, states = self._run(x, None, lengths, self.sequence)
        if self.sequence:
            return outputs
        last = [state[0] for state in states[-self.directions :]]
        return last[0] if len(last) == 1 else np.concatenate(last, axis=1)

    def run(self, x: Any, state: Any = None, lengths: Any = None) -> tuple[Any, Any]:
        """Run along sequences from a state, and return the outputs of all steps and the last state.

        To process a sequence in parts, pass the state that one call returns to the next.

        Args:
            x: (examples, steps, inputs).
            state: the result of `initial_state`, or the state that an earlier call returned; zeros by default.
            lengths: (examples,) integers from 0 to ``steps``. Further steps are padding: they do not change the state,
                and their outputs are zero. By default all steps count.

        Returns:
            The outputs (examples, steps, directions x hidden), and the state.

        Raises:
            ShapeError: the input, the state or the lengths do not fit.
            DtypeError: the lengths are not integers.
            OutOfRangeError: a length is out of range.
        """
        outputs, states = self._run(x, state, lengths, every=True)
        return outputs, _unwrapped(tuple(np.stack(column) for column in zip(*states, strict=True)))

    def _run(self, x: Any, state: Any, lengths: Any, every: bool) -> tuple[Any, list[State]]:
        """Return the outputs of the last layer (None unless ``every``), and the last state of each cell."""
        name, x = type(self).__name__, operand(x)
        check_values(name, x, "examples, steps", 3, self.cells[0].inputs)
        if len(shape_of(x)) != 3:
            requirement = f"the input must be (examples, steps, {self.cells[0].inputs})"
            raise ShapeError(message(name, requirement, show(x), "wengert.vmap takes further axes"))
        active = None if lengths is None else _active(name, lengths, *shape_of(x)[:2])
        initial = None if state is None else self._states_of_cells(name, state, shape_of(x)[0])
        states: list[State] = []
        for first in range(0, len(self.cells), self.directions):
            emits = every or first + self.directions < len(self.cells)
            outputs: list[Any] = []
            for number, cell in enumerate(self.cells[first : first + self.directions], first):
                start = self._start(cell, x, None if initial is None else initial[number])
                last, emitted = self._recur(cell, start, x, active, reverse=number > first, emits=emits)
                states.append(last)
                outputs.append(emitted)
            if emits:
                x = np.swapaxes(outputs[0] if len(outputs) == 1 else np.concatenate(outputs, axis=2), 0, 1)
        return (x if every else None), states

    def _start(self, cell: Any, x: Any, initial: State | None) -> State:
        dtype = np.result_type(dtype_of(x), dtype_of(cell.input_weight), dtype_of(cell.bias))
        if initial is not None:
            return tuple(part.astype(dtype) if dtype_of(part) != dtype else part for part in initial)
        return tuple(np.zeros((shape_of(x)[0], cell.hidden), dtype) for _ in range(cell.parts))

    def _states_of_cells(self, name: str, state: Any, examples: int) -> list[State]:
        cell = self.cells[0]
        expected = (len(self.cells), examples, cell.hidden)
        parts = (state,) if cell.parts == 1 else state
        if not isinstance(parts, Sequence) or len(parts) != cell.parts:  # pyright: ignore[reportUnknownArgumentType]
            requirement = f"the state must be {cell.parts} arrays {expected}"
            raise ArgumentError(message(name, requirement, type(state).__name__, "start with initial_state"))
        values = tuple(map(operand, parts))  # pyright: ignore[reportUnknownArgumentType]
        if any(shape_of(part) != expected for part in values):
            requirement = f"the state must be {expected}: layers x directions, examples, hidden"
            raise ShapeError(message(name, requirement, show(*values)))
        return [tuple(part[number] for part in values) for number in range(len(self.cells))]

    def _recur(
        self, cell: Cell, start: State, x: Any, active: Any, *, reverse: bool, emits: bool
    ) -> tuple[State, Any]:
        """Return the last state of a cell, and its outputs (steps, examples, hidden), or None unless ``emits``.

        Where ``active`` (steps, examples, 1) is false, a step does not count; None means that all steps count.
        """

        def step(state: State, row: Any) -> tuple[State, Any]:
            projected, counts, cut = row
            if cut is not None:
                state = tuple(where(cut, stop_gradient(part), part) for part in state)
            after = cell.step(projected, state)
            output = after[0] if counts is None else where(counts, after[0], 0.0)
            if counts is not None:
                after = tuple(where(counts, new, old) for new, old in zip(after, state, strict=True))
            return after, output if emits else None

        def block(state: State, rows: Any) -> tuple[State, Any]:
            x, *others = rows
            return scan(step, state, (cell.project(x), *others), reverse=reverse)

        cuts = _cuts(shape_of(x)[1], self.truncate, reverse)
        if self.checkpoint is None:
            return scan(step, start, (np.swapaxes(cell.project(x), 0, 1), active, cuts), reverse=reverse)
        # The inputs are projected block by block: their projection is larger than what a scan keeps.
        rows = (np.swapaxes(x, 0, 1), active, cuts)
        return _scan_blocks(checkpoint(block), start, rows, self.checkpoint, reverse)


def _unwrapped(parts: Any) -> Any:
    return parts if len(parts) > 1 else parts[0]


def _active(name: str, lengths: Any, examples: int, steps: int) -> Any:
    """Return whether each step of each example counts, (steps, examples, 1)."""
    lengths = operand(lengths)
    if dtype_of(lengths).kind not in "iu":
        raise DtypeError(message(name, "lengths must be integers", show(lengths)))
    if shape_of(lengths) != (examples,):
        raise ShapeError(message(name, f"lengths must be ({examples},), one for each example", show(lengths)))
    requirement = f"lengths must lie in [0, {steps}]"
    lengths = check_bounds(lengths, count=steps + 1, operation=name, requirement=requirement)
    return less(np.arange(steps)[:, np.newaxis, np.newaxis], np.reshape(lengths, (1, -1, 1)))


def _cuts(steps: int, truncate: int | None, reverse: bool) -> Any:
    """Return whether derivatives stop before each step, (steps, 1, 1); they never stop before the first."""
    if truncate is None:
        return None
    done = np.arange(steps)[:: -1 if reverse else 1]
    return ((done % truncate == 0) & (done > 0)).reshape(steps, 1, 1)


def _scan_blocks(block: Any, start: State, rows: Any, size: int, reverse: bool) -> tuple[State, Any]:
    """Scan blocks of steps, counted from where the scan starts; the last may be shorter."""
    steps = shape_of(rows[0])[0]
    count, remainder = divmod(steps, size)
    if not count:
        return block(start, rows)
    split = remainder if reverse else steps - remainder
    lower, upper = (map_tree(lambda row: row[:split], rows), map_tree(lambda row: row[split:], rows))
    full, last = (upper, lower) if reverse else (lower, upper)
    full = map_tree(lambda row: np.reshape(row, (count, size, *shape_of(row)[1:])), full)
    state, outputs = scan(block, start, full, reverse=reverse)
    outputs = map_tree(lambda row: np.reshape(row, (count * size, *shape_of(row)[2:])), outputs)
    if not remainder:
        return state, outputs
    state, more = block(state, last)
    pair = (more, outputs) if reverse else (outputs, more)
    return state, map_tree(lambda first, second: np.concatenate((first, second)), *pair)


@_layer
class RNN(Recurrent):
    """A recurrent layer, ``h_t = f(x_t W + h_{t-1} U + b)`` with ``h_0 = 0`` (Elman, 1990).

    Example:
        >>> RNN(28, 64, seed=0)(np.ones((5, 28, 28), "f4")).shape
        (5, 64)
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        seed: Seed,
        activation: Callable[[Any], Any] = np.tanh,
        sequence: bool = False,
        layers: int = 1,
        bidirectional: bool = False,
        truncate: int | None = None,
        checkpoint: int | None = None,
        initialise: Initialiser = glorot_uniform,
        recurrent: Initialiser = glorot_uniform,
    ) -> None:
        cell = functools.partial(RNNCell, activation=activation, initialise=initialise, recurrent=recurrent)
        super().__init__(cell, inputs, hidden, seed, sequence, layers, bidirectional, truncate, checkpoint)


@_layer
class LSTM(Recurrent):
    """A layer of long short-term memory: see `LSTMCell` for its equations.

    Example:
        >>> layer, x = LSTM(3, 8, seed=0), np.ones((2, 5, 3), "f4")
        >>> outputs, (h, c) = layer.run(x, lengths=np.array([5, 2]))
        >>> outputs.shape, h.shape, float(abs(outputs[1, 2:]).max())
        ((2, 5, 8), (1, 2, 8), 0.0)
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        seed: Seed,
        forget_bias: float = 1.0,
        sequence: bool = False,
        layers: int = 1,
        bidirectional: bool = False,
        truncate: int | None = None,
        checkpoint: int | None = None,
        initialise: Initialiser = glorot_uniform,
        recurrent: Initialiser = orthogonal,
    ) -> None:
        cell = functools.partial(
            LSTMCell, forget_bias=forget_bias, initialise=initialise, recurrent=recurrent
        )
        super().__init__(cell, inputs, hidden, seed, sequence, layers, bidirectional, truncate, checkpoint)


@_layer
class GRU(Recurrent):
    """A layer of gated recurrent units: see `GRUCell` for its equations.

    Example:
        >>> layer, x = GRU(3, 8, seed=0, layers=2, bidirectional=True), np.ones((2, 5, 3), "f4")
        >>> outputs, state = layer.run(x)
        >>> outputs.shape, state.shape
        ((2, 5, 16), (4, 2, 8))
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        seed: Seed,
        reset_after: bool = True,
        sequence: bool = False,
        layers: int = 1,
        bidirectional: bool = False,
        truncate: int | None = None,
        checkpoint: int | None = None,
        initialise: Initialiser = glorot_uniform,
        recurrent: Initialiser = orthogonal,
    ) -> None:
        cell = functools.partial(GRUCell, reset_after=reset_after, initialise=initialise, recurrent=recurrent)
        super().__init__(cell, inputs, hidden, seed, sequence, layers, bidirectional, truncate, checkpoint)
