"""The graph: a frozen Wengert list, one equation a line, each value assigned once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from wengert.ir.types import TensorType
from wengert.shapes import Shape


class Var:
    """A value of a graph: defined once, by an input, a constant or an equation."""

    __slots__ = ("type",)

    def __init__(self, type_: TensorType) -> None:
        self.type = type_

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


@dataclass(frozen=True, slots=True)
class Literal:
    """A scalar that stands in an equation itself: a Python number, or a NumPy scalar."""

    value: Any
    type: TensorType


Atom: TypeAlias = Var | Literal


@dataclass(frozen=True, eq=False, slots=True)
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


@dataclass(frozen=True, eq=False)
class Graph:
    """A program as a list of equations, with its inputs, constants and outputs.

    Example:
        >>> import numpy as np, wengert as wg
        >>> graph = wg.trace(lambda x: np.sin(x) * x)(2.0)
        >>> [equation.primitive for equation in graph.equations]
        ['sin', 'multiply']
    """

    inputs: tuple[Var, ...]
    constants: tuple[tuple[Var, Any], ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]

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
