"""The graph: a frozen Wengert list, one equation a line, each value assigned once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar, TypeAlias, cast

from wengert.engine.core.records import record
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.types import TensorType


class Var:
    """A value of a graph: defined once, by an input, a constant or an equation.

    ``name`` is the user's name for it; the printer numbers unnamed values.
    """

    __slots__ = ("name", "type")

    def __init__(self, type_: TensorType, name: str = "") -> None:
        self.type = type_
        self.name = name

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return self.type.dtype

    @property
    def weak(self) -> bool:
        """Whether the value promotes as a Python scalar does."""
        return self.type.weak


@record(eq=True)
class Literal:
    """A scalar that stands in an equation itself: a Python number, or a NumPy scalar."""

    value: Any
    type: TensorType


Atom: TypeAlias = Var | Literal


@record
class Equation:
    """One line of the list: ``outputs = primitive[params](operands)``.

    ``primitive`` is the operation's name: a graph is data, and knows no evaluation.
    """

    primitive: str
    operands: tuple[Atom, ...]
    outputs: tuple[Var, ...]
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    location: str = ""
    """The user's own line, as ``file.py:12``."""

    def graphs(self) -> Iterator[Graph]:
        """Yield the graphs among the parameters: the programs that this line holds."""
        for param in self.params.values():
            yield from graphs_in(param)


def equations_of(graph: Graph, inside: bool = False) -> Iterator[tuple[Equation, bool]]:
    """Yield the equations of a graph and of inner graphs, each with whether it lies in an inner graph."""
    for equation in graph.equations:
        yield equation, inside
        for inner in equation.graphs():
            yield from equations_of(inner, True)


def graphs_in(param: Any) -> Iterator[Graph]:
    """Yield the graphs in a parameter."""
    if isinstance(param, Graph):
        yield param
    elif isinstance(param, tuple):
        for part in cast("tuple[Any, ...]", param):
            yield from graphs_in(part)


def map_graphs(change: Callable[[Graph], Graph], param: Any) -> Any:
    """Return a parameter with every graph in it changed."""
    if isinstance(param, Graph):
        return change(param)
    if type(param) is tuple:
        return tuple(map_graphs(change, part) for part in cast("tuple[Any, ...]", param))
    return param


@record(slots=False)
class Graph:
    """A program as a list of equations, with its inputs, constants and outputs.

    Example:
        >>> import numpy as np, wengert as wg
        >>> graph = wg.trace(lambda x: np.sin(x) * x)(np.float64(2.0))
        >>> print(graph)
        graph(x: f64[]) {
          v1: f64[] = sin(x)          # ...
          v2: f64[] = multiply(v1, x) # ...
          return v2
        }
    """

    writer: ClassVar[Callable[[Graph, bool], str]]
    """Writes a graph down; set by `wengert.engine.ir.printer`."""

    html_writer: ClassVar[Callable[[Graph], str]]
    """Writes a graph as HTML; set by `wengert.engine.ir.printer`."""

    inputs: tuple[Var, ...]
    constants: tuple[tuple[Var, Any], ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]
    derived: dict[Any, Any] = field(default_factory=dict[Any, Any], init=False)
    """Results of transforms of the graph. They may hold the graph itself, so they must be freed together with it."""

    def defined(self) -> Iterable[Var]:
        """Yield every value in the order of its definition."""
        yield from self.inputs
        for var, _ in self.constants:
            yield var
        for equation in self.equations:
            yield from equation.outputs

    @property
    def input_types(self) -> tuple[TensorType, ...]:
        """The types of the inputs."""
        return tuple(var.type for var in self.inputs)

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """The types of the outputs."""
        return tuple(atom.type for atom in self.outputs)

    def text(self, *, full: bool = False) -> str:
        """Return the graph as text that `wengert.engine.ir.parser.parse` reads back.

        Args:
            full: write down constants of any size; by default those of more than 4096 elements are summed up, and the
                text cannot be read back.
        """
        return type(self).writer(self, full)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return type(self).html_writer(self)
