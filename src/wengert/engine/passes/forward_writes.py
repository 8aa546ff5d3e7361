"""Write forwarding: drop a write of what the element holds, and make a write of an addition to a written zero.

Loops that add to ``c[i, j]`` turn by turn read and write one element, and so do their backward passes. A carry that no
turn changes any more becomes a constant of its loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.engine.ir.graph import Atom, Equation, Graph
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.rewrite import Rewrite, positive_zero, with_programs_inside


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
        # The first carries of a loop that stops say whether another turn follows, and count the turns.
        first = constants + (2 if params.get("stops") else 0)
        places = {
            place
            for place in range(first, constants + carries)
            if body.inputs[place] is body.outputs[place - constants]
        }
        if not places:
            return equation

        def moved(values: Sequence[Atom]) -> list[Atom]:
            others = [x for n, x in enumerate(values) if n >= constants and n not in places]
            return [*values[:constants], *(values[n] for n in sorted(places)), *others]

        def others(results: Sequence[Atom]) -> tuple[Atom, ...]:
            return tuple(x for n, x in enumerate(results, constants) if n not in places)

        lead = len(equation.operands) - len(body.inputs)  # the number of turns
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
