"""Loop-invariant code motion: what each turn of a loop would factorise, multiply or sum up anew is computed before it.

Operations on elements stay in the loop, where they are fused with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal
from wengert.engine.nest.lowering import ControlFlow, OnHost, Routine
from wengert.engine.passes.rewrite import inlined, with_programs_inside
from wengert.engine.passes.simplify import simplify
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.staging import evaluate, stage


def hoist_invariants(graph: Graph) -> Graph:
    """Return the graph with what no turn of a loop changes in front of it, out of inner loops first."""
    graph = with_programs_inside(graph, hoist_invariants)
    constants, equations = list(graph.constants), list[Equation]()
    for equation in graph.equations:
        fixed = _fixed(equation)
        hoisted = _hoisted(equation.params["body"], len(fixed)) if _turns(equation) else []
        if hoisted:
            before, loop = _split(equation, hoisted)
            operands, end = equation.operands, fixed.stop
            read = operands[fixed.start : end]
            copy, _ = stage(
                lambda *values, graph=before: evaluate(graph, *values), [atom.type for atom in read]
            )
            added, results = inlined(copy, read)
            constants += copy.constants
            equations += added
            equation = replace(loop, operands=(*operands[:end], *results, *operands[end:]))
        equations.append(equation)
    if len(equations) == len(graph.equations):
        return graph
    return replace(graph, constants=tuple(constants), equations=tuple(equations))


def _fixed(equation: Equation) -> range:
    """Return which operands of a loop its body reads as they are."""
    params = equation.params
    if equation.primitive == "while":
        return range(params["tested"], params["tested"] + params["fixed"])
    return range(params["constants"]) if equation.primitive == "scan" else range(0)


def _turns(equation: Equation) -> bool:
    """Return whether an equation is a loop that surely takes a turn, and so raises what its body raises."""
    if equation.primitive == "while":
        return _begins(equation)
    return equation.primitive == "scan" and equation.params["length"] > 1


def _begins(loop: Equation) -> bool:
    """Return whether the condition of a loop holds for the numbers that it begins with, whatever else it reads."""
    read = [atom for place, atom in enumerate(loop.operands) if place not in _fixed(loop)]
    condition = loop.params["condition"]
    added, results = inlined(condition, read)
    unknown = dict.fromkeys(atom for atom in read if not isinstance(atom, Literal))
    (going,) = simplify(Graph(tuple(unknown), condition.constants, tuple(added), tuple(results))).outputs
    return isinstance(going, Literal) and bool(going.value)


def _hoisted(body: Graph, constants: int) -> list[Equation]:
    """Return the equations of a body that are the same in each turn and worth an array, and those that they read."""
    fixed = {*body.inputs[:constants], *(var for var, _ in body.constants)}
    same: list[Equation] = []
    for equation in body.equations:
        if all(isinstance(atom, Literal) or atom in fixed for atom in equation.operands):
            same.append(equation)
            fixed.update(equation.outputs)
    needed, kept = set[Atom](), list[Equation]()
    for equation in reversed(same):
        if _is_heavy(equation) or not needed.isdisjoint(equation.outputs):
            kept.append(equation)
            needed.update(equation.operands)
    return kept[::-1]


def _is_heavy(equation: Equation) -> bool:
    """Return whether an operation takes more work than to read its result: an algorithm, or a sum."""
    lowering = REGISTRY[equation.primitive].lowering
    if isinstance(lowering, (OnHost, Routine, ControlFlow)):
        return True
    is_sum = equation.primitive == "contract" or equation.primitive.startswith("reduce_")
    read = max((size(atom.type.shape) for atom in equation.operands), default=0)
    return is_sum and size(equation.outputs[0].type.shape) <= read > 1


def _split(loop: Equation, hoisted: Sequence[Equation]) -> tuple[Graph, Equation]:
    """Return the program before a loop, of the constants of its body, and the loop that takes its results, too."""
    body, count = loop.params["body"], len(_fixed(loop))
    moved, taken = set(map(id, hoisted)), {atom for equation in hoisted for atom in equation.operands}
    left = tuple(equation for equation in body.equations if id(equation) not in moved)
    read = {*body.outputs, *(atom for equation in left for atom in equation.operands)}
    made = tuple(var for equation in hoisted for var in equation.outputs if var in read)
    constants = tuple((var, value) for var, value in body.constants if var in taken)
    before = Graph(body.inputs[:count], constants, tuple(hoisted), made)
    inner = replace(body, inputs=(*body.inputs[:count], *made, *body.inputs[count:]), equations=left)
    name = "fixed" if loop.primitive == "while" else "constants"
    params = {**loop.params, "body": inner, name: count + len(made)}
    return before, replace(loop, params=params)
