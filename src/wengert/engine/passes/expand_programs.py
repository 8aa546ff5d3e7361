"""Expansion of operations that are stated as a program of other operations, such as the backward pass of a loop."""

from __future__ import annotations

from dataclasses import replace

from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var, equations_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.passes.rewrite import inlined, with_programs
from wengert.engine.passes.simplify import simplify
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.staging import evaluate, stage


def expand_programs(graph: Graph) -> Graph:
    """Return the graph with the programs of operations in their places, inner graphs included."""
    if all(_program(equation) is None for equation, _ in equations_of(graph)):
        return graph
    return simplify(_expanded(graph))


def _program(equation: Equation) -> Graph | None:
    lowering = REGISTRY[equation.primitive].lowering
    if not isinstance(lowering, ControlFlow) or lowering.program is None:
        return None
    return lowering.program(**equation.params)


def _expanded(graph: Graph) -> Graph:
    constants, equations = list(graph.constants), list[Equation]()
    replacements: dict[Var, Atom] = {}

    def atom(value: Atom) -> Atom:
        return value if isinstance(value, Literal) else replacements.get(value, value)

    for equation in graph.equations:
        operands = tuple(map(atom, equation.operands))
        written = _program(equation)
        if written is None:
            equations.append(with_programs(replace(equation, operands=operands), _expanded))
            continue
        copy, _ = stage(lambda *values, graph=written: evaluate(graph, *values), [x.type for x in operands])
        inner = _expanded(copy)
        more, results = inlined(inner, operands, equation.location)
        constants += inner.constants
        equations += more
        replacements.update(zip(equation.outputs, results, strict=True))
    return replace(
        graph,
        constants=tuple(constants),
        equations=tuple(equations),
        outputs=tuple(map(atom, graph.outputs)),
    )
