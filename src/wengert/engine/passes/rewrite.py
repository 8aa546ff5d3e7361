"""The walk along a graph that passes share: it keeps, changes or drops equations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var, map_graphs


class Rewrite:
    """A walk along a graph; subclasses rewrite each equation.

    Values keep their variables, so that what a pass does not touch is shared by the old graph and the new one.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants = dict(graph.constants)
        self.definitions: dict[Var, Equation] = {}
        """The equation that defines each value, as far as the walk has come."""
        self._replaced: dict[Var, Atom] = {}
        self._uniform: dict[Var, Any] = {}

    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        """Return an equation for the same outputs, or values already there that stand for them."""
        raise NotImplementedError

    def run(self) -> Graph:
        """Return the rewritten graph: the same object where nothing changes."""
        graph, equations = self.graph, list[Equation]()
        for equation in graph.equations:
            result = self.visit(self._substituted(equation))
            if isinstance(result, Equation):
                equations.append(result)
                self.definitions.update(dict.fromkeys(result.outputs, result))
            else:
                self._replaced.update(zip(equation.outputs, result, strict=True))
        same = len(equations) == len(graph.equations) and all(map(_is, equations, graph.equations))
        if same and len(self.constants) == len(graph.constants):
            return graph
        outputs = tuple(map(self._atom, graph.outputs))
        constants = tuple(self.constants.items())
        return replace(graph, constants=constants, equations=tuple(equations), outputs=outputs)

    def _atom(self, atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else self._replaced.get(atom, atom)

    def _substituted(self, equation: Equation) -> Equation:
        operands = tuple(map(self._atom, equation.operands))
        if all(map(_is, operands, equation.operands)):
            return equation
        return replace(equation, operands=operands)

    def known(self, atom: Atom) -> Any:
        """Return the value of a literal or a constant, None of anything else."""
        return atom.value if isinstance(atom, Literal) else self.constants.get(atom)

    def uniform(self, atom: Atom) -> Any:
        """Return the number that fills a literal or a constant, or None."""
        if isinstance(atom, Literal):
            return atom.value
        if atom not in self.constants:
            return None
        if atom not in self._uniform:
            self._uniform[atom] = _throughout(self.constants[atom])
        return self._uniform[atom]

    def definition(self, atom: Atom, primitive: str) -> Equation | None:
        """Return the equation that defines a value, if it is one of this primitive."""
        equation = None if isinstance(atom, Literal) else self.definitions.get(atom)
        return equation if equation is not None and equation.primitive == primitive else None


def _throughout(value: Any) -> Any:
    """Return the element that all elements equal, bit for bit; None where they differ."""
    if not value.size:
        return None
    first, last = value[(0,) * value.ndim], value[(-1,) * value.ndim]  # `flat` takes 32 axes at most
    if first.tobytes() != last.tobytes():
        return None
    return first if value.tobytes() == first.tobytes() * value.size else None


def _is(left: object, right: object) -> bool:
    return left is right


def is_zero(value: Any) -> bool:
    """Return whether an array is 0 throughout, without sign bits: adding it changes no sum that begins with 0."""
    first = _throughout(value)
    return first is not None and positive_zero(first)


def negative_zero(value: Any) -> bool:
    """Return whether a number is -0.0, in both parts of a complex one: adding it changes nothing."""
    return value == 0 and bool(
        np.signbit(value.real) and (not np.iscomplexobj(value) or np.signbit(value.imag))
    )


def positive_zero(value: Any) -> bool:
    """Return whether a number is 0, without a sign bit: subtracting it changes nothing."""
    return value == 0 and not (np.signbit(value.real) or np.signbit(value.imag))


def with_programs(equation: Equation, change: Callable[[Graph], Graph]) -> Equation:
    """Return an equation with each program inside it changed: the same object where nothing changes."""
    changed = {graph: change(graph) for graph in equation.graphs()}
    if all(new is graph for graph, new in changed.items()):
        return equation
    params = {name: map_graphs(changed.__getitem__, param) for name, param in equation.params.items()}
    return replace(equation, params=params)


def with_programs_inside(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """Return a graph with the programs inside its equations changed, each once: the same object where none changes."""
    change = functools.cache(change)
    equations = tuple(with_programs(equation, change) for equation in graph.equations)
    return graph if all(map(_is, equations, graph.equations)) else replace(graph, equations=equations)


def inlined(
    graph: Graph, operands: Sequence[Atom], location: str | None = None
) -> tuple[list[Equation], list[Atom]]:
    """Return the equations and the outputs of a graph with operands in the place of its inputs.

    Args:
        graph: the graph, whose constants the caller takes over.
        operands: what stands for the inputs.
        location: the user's line for all equations; by default each keeps its own.
    """
    replaced: dict[Var, Atom] = dict(zip(graph.inputs, operands, strict=True))

    def atom(value: Atom) -> Atom:
        return value if isinstance(value, Literal) else replaced.get(value, value)

    equations = [
        replace(
            equation,
            operands=tuple(map(atom, equation.operands)),
            location=equation.location if location is None else location,
        )
        for equation in graph.equations
    ]
    return equations, list(map(atom, graph.outputs))
