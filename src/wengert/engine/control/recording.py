"""Recording: a function runs on its values, and its operations form a graph.

Staging runs a function on types alone. A recorder also computes the results of known operands, so Python's own control
flow works, and it records all operations of the function, even those on values that the function closes over. The
graph holds for these values only, and is never evaluated for others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from wengert.engine.boxes import concrete, recording, running
from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.ir.types import type_of
from wengert.engine.primitive import NonDifferentiable, Primitive
from wengert.engine.transforms.staging import GraphTrace


class RecordedState:
    """The state of a box of a recorder: a variable, and its value if known."""

    __slots__ = ("value", "var")

    def __init__(self, var: Var, value: Any) -> None:
        self.var = var
        self.value = value

    @property
    def shape(self) -> Shape:
        """The shape of the variable."""
        return self.var.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the variable."""
        return self.var.dtype

    @property
    def weak(self) -> bool:
        """Whether the variable promotes as a Python scalar does."""
        return self.var.weak


class Recorder(GraphTrace):
    """A trace that records operations and computes their results where it can."""

    name = "recorded function"
    traced: ClassVar[bool] = False

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute the result if the operands are known, and append an equation."""
        values = [concrete(operand) for operand in operands]
        if any(value is None for value in values):
            return super().process(primitive, operands, params)
        self.check_open(primitive.name)
        result = primitive(*values, **params)
        if not isinstance(result, tuple):
            if _needs_no_box(primitive, result):
                return result
            (var,) = self.append(primitive, tuple(map(self.atom, operands)), (type_of(result),), params)
            return self.box(RecordedState(var, result))
        results: tuple[Any, ...] = result  # pyright: ignore[reportUnknownVariableType]
        variables = self.append(primitive, tuple(map(self.atom, operands)), map(type_of, results), params)
        return tuple(
            self.box(RecordedState(var, value)) for var, value in zip(variables, results, strict=True)
        )

    def box(self, state: Any) -> Any:
        """Box a variable, or a variable with its value."""
        return super().box(RecordedState(state, None) if isinstance(state, Var) else state)

    def variable(self, state: Any) -> Var:
        """Return the variable of a box."""
        return state.var

    def concrete(self, state: Any) -> Any:
        """Return the value of a box, or None."""
        return state.value

    def argument(self, value: Any) -> Any:
        """Add an input to the graph and return its box, with the value if known."""
        var = Var(type_of(value))
        self.inputs.append(var)
        return self.box(RecordedState(var, concrete(value)))


def _needs_no_box(primitive: Primitive, value: Any) -> bool:
    if is_inexact(dtype_of(value)):
        return isinstance(primitive.derivative, NonDifferentiable)
    return shape_of(value) == ()


class Recorded(NamedTuple):
    """A function recorded as a graph."""

    graph: Graph
    captured: list[Any]
    """The values of other transforms that the function closes over: the graph's first inputs."""
    values: list[Any]
    """The values of the outputs, None if not known."""


def record(function: Callable[..., Sequence[Any]], arguments: Sequence[Any]) -> Recorded:
    """Run a function of flat arguments and record it as a graph."""
    with running(Recorder()) as trace, recording(trace):
        outputs = function(*map(trace.argument, arguments))
        graph = trace.finish(outputs)
        values = list(map(concrete, outputs))
    return Recorded(graph, trace.captured, values)
