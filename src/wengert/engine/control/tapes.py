"""Tapes: where loops inside of others keep, in the order of all their turns, what the pass backward reads.

How many turns a loop takes inside of another may differ from turn to turn, so that a row for each turn of both would
need far more memory than the turns that happen. A tape has a row for each of these, in the order in which they happen.
It is an array that all loops around carry; a number that they carry, too, says how many rows are written. Of each loop
two of these numbers, before and after, are enough for the pass backward to find its rows.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.control.rereads import NOTHING, Array, Lasting
from wengert.engine.control.values import bytes_of, zeros
from wengert.engine.core.dtypes import INT64, Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape, size
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.comparison import less, logical_and, require_end
from wengert.engine.primitive import NonDifferentiable, Primitive, primitive
from wengert.engine.transforms.staging import GraphTrace

COUNT = TensorType(INT64, ())
#: The bytes of the arrays of a tape: the system gives memory for those that are written.
BYTES = 1 << 28


class Tape(NamedTuple):
    """The tape of a loop."""

    rows: int
    """How many turns it holds."""
    types: tuple[TensorType, ...]
    """The types of the values of a turn."""

    def parts(self) -> list[TensorType]:
        """Return the types of the values that stand for it: the number of rows that are written, and the arrays."""
        return [COUNT, *(TensorType(type_.dtype, (self.rows, *type_.shape)) for type_ in self.types)]


def tape_of(types: Sequence[TensorType]) -> Tape:
    """Return a tape for values of some types."""
    return Tape(BYTES // max(bytes_of(types), COUNT.dtype.itemsize), tuple(types))


def _unwritten_type(*near: TensorType, dtype: Dtype, shape: Shape) -> TensorType:
    return TensorType(dtype, shape)


def _batch_unwritten(op: Primitive, size: int, operands: Any, batched: Any, params: Mapping[str, Any]) -> Any:
    return op(*operands, dtype=params["dtype"], shape=(size, *params["shape"]))


unwritten = primitive(
    name="unwritten",
    doc="an array of which no element is specified before it is written, made where its operands are",
    type_rule=_unwritten_type,
    evaluate=lambda *near, dtype, shape: np.zeros(shape, dtype),
    derivative=NonDifferentiable("nothing of it is specified"),
    batch=_batch_unwritten,
    lowering=ControlFlow(),
    source=lambda *near, dtype, shape: f"np.zeros({shape}, np.{dtype})",
    samples=None,
)


def new_tape(tape: Tape, values: Sequence[Any]) -> list[Any]:
    """Return values that stand for a tape without a row, where others are."""
    number, *arrays = tape.parts()
    boxes = sorted((x for x in values if isinstance(x, Box)), key=lambda x: size(x.shape))
    near = [x for n, x in enumerate(boxes) if n == 0 or x.shape == ()]
    return [zeros(number), *(unwritten(*near, dtype=type_.dtype, shape=type_.shape) for type_ in arrays)]


def types_of_tapes(tapes: Sequence[Tape]) -> list[TensorType]:
    """Return the types of the values that stand for tapes."""
    return [type_ for tape in tapes for type_ in tape.parts()]


def have_room(tapes: Sequence[Tape], values: Sequence[Any]) -> Any:
    """Return whether each tape has a row that is not written, given the values that stand for them."""
    place, fine = 0, None
    for tape in tapes:
        free = less(values[place], tape.rows)
        fine = free if fine is None else logical_and(fine, free)
        place += 1 + len(tape.types)
    return fine


class Recorder:
    """The tapes of a graph under construction whose backward pass is to be written, too."""

    def __init__(self, trace: GraphTrace, free: Iterable[Any] = (), lasting: Lasting = NOTHING) -> None:
        self.trace, self.lasting = trace, lasting
        self._free = {trace.variable(box.state) for box in free}
        self.tapes: list[Tape] = []
        self.before: list[Any] = []
        """Their values when the graph begins: further inputs."""
        self.after: list[Any] = []
        """Their values when its forward pass ends: further results of this."""
        self.final: list[Any] = []
        """Their values when the forward passes of all loops around have ended: further inputs of its backward pass."""
        self.arrays: dict[Array, Any] = {}
        """Arrays when the loops that carry them have ended: further inputs of the backward pass, too."""

    def array(self, of: Array) -> Any:
        """Return the array that a loop around carries as it is when that loop has ended."""
        if of not in self.arrays:
            body, place = of
            self.arrays[of] = self.trace.new_input(body.output_types[place])
        return self.arrays[of]

    def is_free(self, value: Any) -> bool:
        """Return whether the pass backward has a value at no cost, because no loop around changes it."""
        if not isinstance(value, Box):
            return True
        return value.owner is self.trace and self.trace.variable(value.state) in self._free

    def add(self, tapes: Sequence[Tape]) -> slice:
        """Add tapes; return the place of their values."""
        types = types_of_tapes(tapes)
        self.tapes += tapes
        place = slice(len(self.before), len(self.before) + len(types))
        self.before += map(self.trace.new_input, types)
        self.after += self.before[place]
        self.final += map(self.trace.new_input, types)
        return place


_recorder: contextvars.ContextVar[Recorder | None] = contextvars.ContextVar("recorder", default=None)


def recorder() -> Recorder | None:
    """Return what keeps the tapes of the graph whose forward pass is being written; None outside of one."""
    return _recorder.get()


def free_of(values: Sequence[Any]) -> list[bool]:
    """Return which values the pass backward has at no cost, because no loop around changes them."""
    around = recorder()
    return [around is None or around.is_free(value) for value in values]


@contextlib.contextmanager
def recorded(found: Recorder | None) -> Generator[None]:
    """Have loops keep their tapes by a recorder."""
    token = _recorder.set(found)
    try:
        yield
    finally:
        _recorder.reset(token)


class Threaded:
    """Tapes that a graph writes into where it stands: those of the graph around, or new ones.

    Args:
        tapes: the tapes.
        values: those near which new tapes are made, as operands of the graph.
    """

    def __init__(self, tapes: Sequence[Tape], values: Sequence[Any]) -> None:
        self.tapes = tapes
        self.around = recorder() if tapes else None
        self.before: list[Any] = []
        if self.around is not None:
            self._place = self.around.add(tapes)
            self.before = self.around.before[self._place]
        else:
            for tape in tapes:
                self.before += new_tape(tape, values)

    def end(self, after: Sequence[Any]) -> list[Any]:
        """Note the values after the forward pass; return those that the pass backward reads."""
        if self.around is None:
            return list(after)
        self.around.after[self._place] = after
        return self.around.final[self._place]

    def checked(self, values: Sequence[Any], final: Sequence[Any]) -> list[Any]:
        """Return values that are wrong where a new tape is full: the program then raises `LimitError`.

        These are the results of the forward and of the backward pass, as a program may need either alone.
        """
        if self.around is not None or not self.tapes:
            return list(values)
        requirement = (
            "the loops inside of a loop must take fewer turns for reverse mode to keep what it reads"
        )
        fine = have_room(self.tapes, final)
        return [require_end(x, fine, operation="while", requirement=requirement) for x in values]
