"""Recording: a program carried out and written down at once.

Staging runs a program on types alone. A recorder does so too, but also computes whatever depends on known values only,
so that Python's own control flow goes on working, and it is given all operations of the program, even those on values
that the program closes over. What it writes down holds for these values: it is carried out again for no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from wengert.boxes import concrete, recording, running
from wengert.core.dtypes import dtype_of, is_float
from wengert.core.shapes import Shape, shape_of
from wengert.ir.graph import Graph, Var
from wengert.ir.types import type_of
from wengert.primitive import NonDifferentiable, Primitive
from wengert.transforms.staging import GraphTrace


class Held:
    """The state of a box of a recorder: a variable, and its value where that is known."""

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
    """A trace that writes down what happens and computes what it can."""

    name = "recorded function"
    traced: ClassVar[bool] = False

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Carry out an operation where its operands are known, and write it down."""
        values = [concrete(operand) for operand in operands]
        if any(value is None for value in values):
            return super().process(primitive, operands, params)
        self.check_open(primitive.name)
        result = primitive(*values, **params)
        if not isinstance(result, tuple):
            if _needs_no_box(primitive, result):
                return result
            (var,) = self.append(primitive, tuple(map(self.atom, operands)), (type_of(result),), params)
            return self.box(Held(var, result))
        results: tuple[Any, ...] = result  # pyright: ignore[reportUnknownVariableType]
        variables = self.append(primitive, tuple(map(self.atom, operands)), map(type_of, results), params)
        return tuple(self.box(Held(var, value)) for var, value in zip(variables, results, strict=True))

    def box(self, state: Any) -> Any:
        """Box a variable, or a variable with its value."""
        return super().box(Held(state, None) if isinstance(state, Var) else state)

    def variable(self, state: Any) -> Var:
        """Return the variable of a box."""
        return state.var

    def concrete(self, state: Any) -> Any:
        """Return the value of a box, or None."""
        return state.value

    def argument(self, value: Any) -> Any:
        """Add an input to the graph and return its box, which knows the value if anyone does."""
        var = Var(type_of(value))
        self.inputs.append(var)
        return self.box(Held(var, concrete(value)))


def _needs_no_box(primitive: Primitive, value: Any) -> bool:
    """Tell whether a result needs no box: no derivative passes, and its value is known for good."""
    if is_float(dtype_of(value)):
        return isinstance(primitive.derivative, NonDifferentiable)
    return shape_of(value) == ()


class Recorded(NamedTuple):
    """A program written down."""

    graph: Graph
    captured: list[Any]
    """The values of other transforms that the program closed over: the graph's first inputs."""
    known: list[Any]
    """The values of the outputs; None for those that are not known."""


def record(function: Callable[..., Sequence[Any]], arguments: Sequence[Any]) -> Recorded:
    """Carry out a function of flat arguments and write it down as a graph."""
    with running(Recorder()) as trace, recording(trace):
        assert isinstance(trace, Recorder)
        outputs = function(*map(trace.argument, arguments))
        graph = trace.finish(outputs)
        known = list(map(concrete, outputs))
    return Recorded(graph, trace.captured, known)
