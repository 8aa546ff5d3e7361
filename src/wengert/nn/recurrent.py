"""Recurrent layers: cells along sequences, stacked and in both directions, one `scan` for each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import static
from wengert.ir.types import show
from wengert.nn.cells import GRUCell, LSTMCell, RNNCell, State
from wengert.nn.checks import check_values, integers
from wengert.nn.initialisers import Initialiser, Seed, generator, glorot_uniform, orthogonal
from wengert.nn.loops import Plan, recur
from wengert.ops.comparison import less
from wengert.ops.indexing import check_bounds


@dataclasses.dataclass
class Recurrent:
    """What recurrent layers share: their cells, and how these run along a sequence.

    Called, a layer returns (examples, hidden), the state of the last layer after the last step; with
    ``sequence=True`` its states after all steps, (examples, steps, hidden). `run` takes and returns states. A
    bidirectional layer has the states of both directions side by side, (..., 2 hidden).
    """

    cells: tuple[Any, ...]
    """Layer after layer; of a bidirectional layer first the cell that goes forward, then the other."""
    bidirectional: bool = static()
    sequence: bool = static()
    truncate: int | None = static()
    checkpoint: int | None = static()

    @property
    def directions(self) -> int:
        """The number of cells of a layer."""
        return 2 if self.bidirectional else 1

    def initial_state(self, examples: int, dtype: Any = np.float32) -> Any:
        """Return the state of zeros from which a layer starts.

        Args:
            examples: the number of sequences.
            dtype: of the state.

        Returns:
            (layers x directions, examples, hidden), in the order of ``cells``; two such arrays ``(h, c)`` for an LSTM.
        """
        cell = self.cells[0]
        shape = (len(self.cells), examples, cell.hidden)
        return _unwrapped(tuple(np.zeros(shape, dtype) for _ in range(cell.parts)))

    def __call__(self, x: Any, lengths: Any = None) -> Any:
        """Apply the layer to (examples, steps, inputs), from a state of zeros.

        Args:
            x: (examples, steps, inputs).
            lengths: the number of steps of each example, where they differ: see `run`.
        """
        outputs, states = self._run(x, None, lengths, self.sequence)
        if self.sequence:
            return outputs
        last = [state[0] for state in states[-self.directions :]]
        return last[0] if len(last) == 1 else np.concatenate(last, axis=1)

    def run(self, x: Any, state: Any = None, lengths: Any = None) -> tuple[Any, Any]:
        """Run along sequences from a state, and return the outputs of all steps and the last state.

        The state that one call returns is what the next takes, for sequences that come in parts.

        Args:
            x: (examples, steps, inputs).
            state: what `initial_state` returns, or an earlier call; zeros by default.
            lengths: (examples,) integers from 0 to ``steps``. The steps beyond are padding: they leave the state
                alone, and outputs are zero there. By default all steps count.

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
        """Return the outputs of the last layer, None where ``every`` is false, and the last state of each cell."""
        name, x = type(self).__name__, operand(x)
        check_values(name, x, "examples, steps", 3, self.cells[0].inputs)
        if len(shape_of(x)) != 3:
            requirement = f"the input must be (examples, steps, {self.cells[0].inputs})"
            raise ShapeError(message(name, requirement, show(x), "wengert.vmap takes further axes"))
        active = None if lengths is None else _active(name, lengths, *shape_of(x)[:2])
        given = None if state is None else self._taken_apart(name, state, shape_of(x)[0])
        states: list[State] = []
        for first in range(0, len(self.cells), self.directions):
            emits = every or first + self.directions < len(self.cells)
            rows: list[Any] = []
            for number, cell in enumerate(self.cells[first : first + self.directions], first):
                start = self._start(cell, x, None if given is None else given[number])
                plan = Plan(number > first, emits, self.truncate, self.checkpoint)
                last, outputs = recur(cell, start, x, active, plan)
                states.append(last)
                rows.append(outputs)
            if emits:
                x = np.swapaxes(rows[0] if len(rows) == 1 else np.concatenate(rows, axis=2), 0, 1)
        return (x if every else None), states

    def _start(self, cell: Any, x: Any, given: State | None) -> State:
        dtype = np.result_type(dtype_of(x), dtype_of(cell.input_weight), dtype_of(cell.bias))
        if given is not None:
            return tuple(part.astype(dtype) if dtype_of(part) != dtype else part for part in given)
        return tuple(np.zeros((shape_of(x)[0], cell.hidden), dtype) for _ in range(cell.parts))

    def _taken_apart(self, name: str, state: Any, examples: int) -> list[State]:
        """Return the state of each cell."""
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


def _unwrapped(parts: Any) -> Any:
    return parts if len(parts) > 1 else parts[0]


def _active(name: str, lengths: Any, examples: int, steps: int) -> Any:
    """Return which steps of which examples count, (steps, examples, 1)."""
    lengths = operand(lengths)
    if dtype_of(lengths).kind not in "iu":
        raise DtypeError(message(name, "lengths must be integers", show(lengths)))
    if shape_of(lengths) != (examples,):
        raise ShapeError(message(name, f"lengths must be ({examples},), one for each example", show(lengths)))
    requirement = f"lengths must lie in [0, {steps}]"
    lengths = check_bounds(lengths, count=steps + 1, operation=name, requirement=requirement)
    return less(np.arange(steps)[:, np.newaxis, np.newaxis], np.reshape(lengths, (1, -1, 1)))


def _stacked(
    layer: str, make: Callable[[int], Any], sizes: tuple[int, int], layers: int, bidirectional: bool
) -> tuple[Any, ...]:
    """Make the cells of all layers; what enters one is what the layer before gives."""
    inputs, hidden = integers(layer, "inputs and hidden", sizes, 2, 1)
    (layers,) = integers(layer, "layers", layers, 1, 1)
    directions = 2 if bidirectional else 1
    return tuple(
        make(inputs if number < directions else directions * hidden) for number in range(layers * directions)
    )


def _block(layer: str, what: str, steps: int | None) -> int | None:
    return None if steps is None else integers(layer, what, steps, 1, 1)[0]


class RNN(Recurrent):
    """A recurrent layer, ``h_t = f(x_t W + h_{t-1} U + b)`` with ``h_0 = 0`` (Elman, 1990).

    Args:
        inputs: the number of values a step has.
        hidden: the number of values of the state.
        seed: of the weights: an integer or a generator.
        activation: ``f``; tanh by default.
        sequence: whether a call returns the states of all steps, or the last only.
        layers: the number of layers, each of which reads the states of the one before.
        bidirectional: whether each layer also runs from the last step to the first.
        truncate: the number of steps after which derivatives pass no further back (truncated backpropagation through
            time, Williams and Peng, 1990).
        checkpoint: the number of steps in a block of which reverse mode keeps the first state alone, and computes the
            others again: see `wengert.checkpoint`.
        initialise: draws the input weights; Glorot uniform by default.
        recurrent: draws the recurrent weights; Glorot uniform by default.

    Raises:
        ShapeError: a size is not a positive integer, or the input is not (examples, steps, inputs).

    Example:
        >>> import numpy as np
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
        rng = generator(seed)

        def make(width: int) -> RNNCell:
            options = {"initialise": initialise, "recurrent": recurrent}
            return RNNCell(width, hidden, seed=rng, activation=activation, **options)

        super().__init__(
            _stacked("RNN", make, (inputs, hidden), layers, bidirectional),
            bidirectional,
            sequence,
            _block("RNN", "truncate", truncate),
            _block("RNN", "checkpoint", checkpoint),
        )


class LSTM(Recurrent):
    """A layer of long short-term memory: see `LSTMCell` for its equations.

    Args:
        inputs: the number of values a step has.
        hidden: the number of values of the state's ``h`` and of its ``c``.
        seed: of the weights: an integer or a generator.
        forget_bias: what the forget gate's bias is at first; 1 keeps the memory.
        sequence: whether a call returns the states of all steps, or the last only.
        layers: the number of layers, each of which reads the states of the one before.
        bidirectional: whether each layer also runs from the last step to the first.
        truncate: the number of steps after which derivatives pass no further back.
        checkpoint: the number of steps in a block of which reverse mode keeps the first state alone.
        initialise: draws the input weights of each gate; Glorot uniform by default.
        recurrent: draws the recurrent weights of each gate; orthogonal by default.

    Raises:
        ShapeError: a size is not a positive integer, or the input is not (examples, steps, inputs).

    Example:
        >>> import numpy as np
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
        rng = generator(seed)

        def make(width: int) -> LSTMCell:
            options = {"initialise": initialise, "recurrent": recurrent}
            return LSTMCell(width, hidden, seed=rng, forget_bias=forget_bias, **options)

        super().__init__(
            _stacked("LSTM", make, (inputs, hidden), layers, bidirectional),
            bidirectional,
            sequence,
            _block("LSTM", "truncate", truncate),
            _block("LSTM", "checkpoint", checkpoint),
        )


class GRU(Recurrent):
    """A layer of gated recurrent units: see `GRUCell` for its equations.

    Args:
        inputs: the number of values a step has.
        hidden: the number of values of the state.
        seed: of the weights: an integer or a generator.
        reset_after: whether the reset gate acts after the recurrent product (PyTorch), or before it (the paper).
        sequence: whether a call returns the states of all steps, or the last only.
        layers: the number of layers, each of which reads the states of the one before.
        bidirectional: whether each layer also runs from the last step to the first.
        truncate: the number of steps after which derivatives pass no further back.
        checkpoint: the number of steps in a block of which reverse mode keeps the first state alone.
        initialise: draws the input weights of each gate; Glorot uniform by default.
        recurrent: draws the recurrent weights of each gate; orthogonal by default.

    Raises:
        ShapeError: a size is not a positive integer, or the input is not (examples, steps, inputs).

    Example:
        >>> import numpy as np
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
        rng = generator(seed)

        def make(width: int) -> GRUCell:
            options = {"initialise": initialise, "recurrent": recurrent}
            return GRUCell(width, hidden, seed=rng, reset_after=reset_after, **options)

        super().__init__(
            _stacked("GRU", make, (inputs, hidden), layers, bidirectional),
            bidirectional,
            sequence,
            _block("GRU", "truncate", truncate),
            _block("GRU", "checkpoint", checkpoint),
        )
