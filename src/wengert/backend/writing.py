"""Operations that NumPy would be called for, written out as programs of others where these are short.

A call takes some microseconds, and what is done for one small matrix some nanoseconds. Written out, an operation is
fused with what surrounds it, and the program can be kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from wengert.ir.graph import Atom, Equation, Graph, Literal, Var, map_graphs
from wengert.ir.types import TensorType
from wengert.nest.lowering import OnHost, WrittenOut
from wengert.passes.simplify import simplify
from wengert.primitive import REGISTRY
from wengert.transforms.staging import stage

_MOST = 256
"""Operations of a program that takes the place of one, at most: to compile so many takes half a second."""
_TOGETHER = 1024
"""The same of all of them."""


def write_out(graph: Graph) -> Graph:
    """Return the graph with the programs of operations in their places, if together they are short enough."""
    return simplify(_Writer(graph).run()) if _is_short(graph) else graph


def calls_numpy(graph: Graph) -> bool:
    """Tell whether operations are left to NumPy when others have been written out."""
    is_short = _is_short(graph)
    hosts = (one for one in _equations(graph) if isinstance(REGISTRY[one.primitive].lowering, OnHost))
    return any(not (is_short and _program(one)) for one in hosts)


def _is_short(graph: Graph) -> bool:
    """Tell whether there are programs for operations, and these are short enough together."""
    length = sum(small.length(*_types(one)) for one in _equations(graph) if (small := _program(one)))
    return 0 < length <= _TOGETHER


def _equations(graph: Graph) -> Iterator[Equation]:
    """Yield the equations of a graph and of those that they hold."""
    for equation in graph.equations:
        yield equation
        for inner in equation.graphs():
            yield from _equations(inner)


def _program(equation: Equation) -> WrittenOut | None:
    """Return the program of an operation, if there is one that is short enough."""
    lowering = REGISTRY[equation.primitive].lowering
    small = lowering.small if isinstance(lowering, OnHost) else None
    return small if small and 0 < small.length(*_types(equation)) <= _MOST else None


def _types(equation: Equation) -> list[TensorType]:
    return [atom.type for atom in equation.operands]


class _Writer:
    """A walk along a graph that writes another one."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants = list(graph.constants)
        self.equations: list[Equation] = []
        self.known: dict[Var, Atom] = {}
        """What stands for the values of the graph, and for the operands of the programs."""

    def run(self) -> Graph:
        for equation in self.graph.equations:
            operands = tuple(map(self._atom, equation.operands))
            if small := _program(equation):
                results = self._results(small.program, operands, equation)
                self.known.update(zip(equation.outputs, results, strict=True))
            else:
                params = {name: map_graphs(_written, param) for name, param in equation.params.items()}
                self.equations.append(replace(equation, operands=operands, params=params))
        outputs = tuple(map(self._atom, self.graph.outputs))
        return replace(
            self.graph, constants=tuple(self.constants), equations=tuple(self.equations), outputs=outputs
        )

    def _atom(self, atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else self.known.get(atom, atom)

    def _results(
        self, program: Callable[..., Any], operands: Sequence[Atom], equation: Equation
    ) -> list[Atom]:
        """Write down the program of an operation, under the user's line, and return its results."""

        def called(*values: Any) -> list[Any]:
            return [program(*values, **equation.params)]

        graph = simplify(stage(called, _types(equation))[0])
        self.known.update(zip(graph.inputs, operands, strict=True))
        self.constants += graph.constants
        for one in graph.equations:
            mine = tuple(map(self._atom, one.operands))
            self.equations.append(replace(one, operands=mine, location=equation.location))
        return list(map(self._atom, graph.outputs))


def _written(graph: Graph) -> Graph:
    return _Writer(graph).run()
