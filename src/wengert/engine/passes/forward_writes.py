"""Write forwarding: drop a write of what the element holds, and make a write of an addition to a written zero.

Loops that add to ``c[i, j]`` turn by turn read and write one element, and so do their backward passes. A carry that no
turn changes any more becomes a constant of its loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.rewrite import Rewrite, positive_zero, with_programs_inside

#: Arrays of more elements are not compared.
_MOST_COMPARED = 1 << 12


def forward_writes(graph: Graph) -> Graph:
    """Return the graph without writes of elements that are known, the programs inside it included.

    The sum of a written zero and -0 is -0 here, as where it is the only term of a sum.
    """
    inside = with_programs_inside(graph, forward_writes)
    changed = _Forwarding(inside).run()
    return changed if changed is inside else eliminate_dead(changed)


class _Forwarding(Rewrite):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._uses = Counter(atom for equation in graph.equations for atom in equation.operands)

    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        match equation.primitive:
            case "add_at":
                return self._written(equation)
            case "scatter":
                return self._kept(equation)
            case "scan" | "bounded_scan":
                return self._with_invariants(equation)
            case _:
                return equation

    def _written(self, equation: Equation) -> Equation | Sequence[Atom]:
        """Write what is added to an element that has just become zero."""
        x, y, *indices = equation.operands
        before = self.definition(x, "scatter")
        if before is None or list(before.operands[2:]) != indices or any(i.type.shape for i in indices):
            return equation
        number = self.uniform(before.operands[1])
        if number is None or not positive_zero(number) or y.type.shape != before.operands[1].type.shape:
            return equation
        operands = (before.operands[0], y, *indices)
        return self._kept(replace(equation, primitive="scatter", operands=operands))

    def _kept(self, equation: Equation) -> Equation | Sequence[Atom]:
        """Drop a write of what was read from the same place; the other uses of that value check the index."""
        x, y, *indices = equation.operands
        read = self.definition(y, "gather")
        if read is None or list(read.operands) != [x, *indices] or self._uses[y] < 2:
            return equation
        return [x]

    def _with_invariants(self, equation: Equation) -> Equation | Sequence[Atom]:
        """Make constants of the carries of a loop that no turn changes."""
        params, body = equation.params, equation.params["body"]
        constants, carries = params["constants"], params["carries"]
        lead = len(equation.operands) - len(body.inputs)  # the number of turns
        # The first carries of a loop that stops say whether another turn follows, and count the turns.
        first = constants + (2 if params.get("stops") else 0)
        places = {
            place
            for place in range(first, constants + carries)
            if body.inputs[place] is body.outputs[place - constants]
            or _same(equation.operands[lead + place], self.constants, body, place - constants)
        }
        if not places:
            return equation

        def moved(values: Sequence[Atom]) -> list[Atom]:
            others = [x for n, x in enumerate(values) if n >= constants and n not in places]
            return [*values[:constants], *(values[n] for n in sorted(places)), *others]

        def others(results: Sequence[Atom]) -> tuple[Atom, ...]:
            return tuple(x for n, x in enumerate(results, constants) if n not in places)

        operands = equation.operands[lead:]
        self._replaced.update((equation.outputs[n - constants], operands[n]) for n in places)
        changed = replace(body, inputs=tuple(moved(body.inputs)), outputs=others(body.outputs))
        counts = {"constants": constants + len(places), "carries": carries - len(places)}
        return replace(
            equation,
            operands=(*equation.operands[:lead], *moved(operands)),
            outputs=others(equation.outputs),
            params={**params, "body": changed, **counts},
        )


def _same(operand: Atom, constants: Mapping[Var, Any], body: Graph, output: int) -> bool:
    """Return whether a carry begins with the very number that each turn gives it."""
    after = body.outputs[output]
    before = operand.value if isinstance(operand, Literal) else constants.get(operand)
    value = after.value if isinstance(after, Literal) else dict(body.constants).get(after)
    if before is None or value is None or operand.type[:2] != after.type[:2]:
        return False
    one, other = (np.asarray(x, after.type.dtype) for x in (before, value))
    return one.size <= _MOST_COMPARED and one.tobytes() == other.tobytes()
