"""Algebras over which a program can be evaluated: dual numbers, truncated power series, and that of the Laplacian.

An element ``x + sum_i x_i e_i`` is a value with parts; products of enough ``e_i`` are zero (a Weil algebra). A function
of numbers is a function of elements by its Taylor expansion, which then ends. So an operation that holds programs, such
as a loop, is the same operation over an algebra: of the programs over the algebra, carrying all parts. See Betancourt,
A Geometric Theory of Higher-Order Automatic Differentiation (2018).

In each of these algebras the highest part of a product of two elements pairs the parts of one with those of the other
in the opposite order. So transposition commutes with going to the algebra, up to that order: see `checkpointed_scan`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wengert.engine.boxes import Trace, running, state_of
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType
from wengert.engine.transforms.arguments import release
from wengert.engine.transforms.staging import evaluate

Values = Sequence[Any]


@dataclass(frozen=True)
class Algebra(ABC):
    """Numbers with parts, and the trace whose boxes hold them."""

    size: int
    """The number of parts of an element, in addition to its value."""

    @property
    def leading(self) -> tuple[tuple[int, ...], ...]:
        """The leading axes that each part has in addition to those of the value: none, or one of directions."""
        return ((),) * self.size

    def types(self, type_: TensorType) -> list[TensorType]:
        """Return the types of the parts of a value."""
        return [TensorType(type_.dtype, (*axes, *type_.shape)) for axes in self.leading]

    @abstractmethod
    def trace(self) -> Trace:
        """Return a trace whose boxes hold elements."""

    @abstractmethod
    def state(self, value: Any, parts: Values) -> Any:
        """Return the state of a box that holds an element; a part is None where it is zero."""

    @abstractmethod
    def parts(self, state: Any) -> Values:
        """Return the parts of an element, None where they are zero."""


def evaluate_over(
    algebra: Algebra, graph: Graph, values: Values, parts: Values
) -> tuple[list[Any], list[Any]]:
    """Return the values of a graph's outputs over an algebra, and the parts of all outputs.

    Each input has ``algebra.size`` parts; None is zero.
    """
    size = algebra.size
    with running(algebra.trace()) as trace:
        elements = [
            trace.box(algebra.state(value, own_parts))
            if any(part is not None for part in own_parts)
            else value
            for value, own_parts in zip(values, grouped(parts, len(values)), strict=True)
        ]
        outputs = evaluate(graph, *elements)
    states = [state_of(trace, output) for output in outputs]
    state_parts = [[None] * size if state is None else algebra.parts(state) for state in states]
    return [release(trace, output) for output in outputs], [part for group in state_parts for part in group]


def grouped(parts: Values, count: int) -> list[Values]:
    """Split the parts of ``count`` values into those of each."""
    size = len(parts) // count if count else 0
    return [parts[i * size : (i + 1) * size] for i in range(count)]
