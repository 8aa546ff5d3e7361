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


def _joint_programs(graph: Graph) -> dict[int, tuple[Graph, Equation]]:
    """Return the programs of pairs of equations that are better carried out together, with the other of each."""
    made = {var: equation for equation in graph.equations for var in equation.outputs}
    found: dict[int, tuple[Graph, Equation]] = {}
    for equation in graph.equations:
        lowering = REGISTRY[equation.primitive].lowering
        if not isinstance(lowering, ControlFlow) or lowering.joint is None:
            continue
        first = equation.operands[0]
        earlier = None if isinstance(first, Literal) else made.get(first)
        if earlier is None or id(earlier) in found:
            continue
        programs = lowering.joint(earlier, equation)
        if programs is not None:
            found[id(earlier)], found[id(equation)] = (programs[0], equation), (programs[1], earlier)
    return found


def _expanded(graph: Graph) -> Graph:
    constants, equations = list(graph.constants), list[Equation]()
    replacements: dict[Var, Atom] = {}
    joint, further = _joint_programs(graph), dict[int, list[Atom]]()

    def atom(value: Atom) -> Atom:
        return value if isinstance(value, Literal) else replacements.get(value, value)

    for equation in graph.equations:
        operands = tuple(map(atom, equation.operands))
        written, other = joint.get(id(equation)) or (_program(equation), equation)
        if written is None:
            equations.append(with_programs(replace(equation, operands=operands), _expanded))
            continue
        operands = *operands, *further.get(id(other), ())
        copy, _ = stage(lambda *values, graph=written: evaluate(graph, *values), [x.type for x in operands])
        inner = _expanded(copy)
        more, results = inlined(inner, operands, equation.location)
        constants += inner.constants
        equations += more
        count = len(equation.outputs)
        replacements.update(zip(equation.outputs, results[:count], strict=True))
        further[id(equation)] = results[count:]
    return replace(
        graph,
        constants=tuple(constants),
        equations=tuple(equations),
        outputs=tuple(map(atom, graph.outputs)),
    )
