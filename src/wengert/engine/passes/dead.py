"""Dead code: equations and constants that no output depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from wengert.engine.ir.graph import Atom, Equation, Graph, Var


def eliminate_dead(graph: Graph) -> Graph:
    """Drop the equations and constants that no output depends on; inputs stay.

    Example:
        >>> from wengert.engine.ir.parser import parse
        >>> print(eliminate_dead(parse("graph(x: f64[]) { v1: f64[] = exp(x) return x }")))
        graph(x: f64[]) {
          return x
        }
    """
    live: set[Var] = set()
    retained: list[Equation] = []
    _mark(graph.outputs, live)
    for equation in reversed(graph.equations):
        if not live.isdisjoint(equation.outputs):
            retained.append(equation)
            _mark(equation.operands, live)
    constants = tuple((var, value) for var, value in graph.constants if var in live)
    if len(retained) == len(graph.equations) and len(constants) == len(graph.constants):
        return graph
    return replace(graph, constants=constants, equations=tuple(reversed(retained)))


def _mark(atoms: Iterable[Atom], live: set[Var]) -> None:
    live.update(atom for atom in atoms if isinstance(atom, Var))
