"""Scatter-add fusion: an array plus values scattered into zeros adds the values in place, without the zeros."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.engine.ir.graph import Atom, Equation, Graph
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.rewrite import Rewrite, with_programs


def fuse_scatter_add(graph: Graph) -> Graph:
    """Return the graph with ``x + scatter_add(y, i)`` as ``add_at(x, y, i)``, the programs inside it included.

    As where eager mode adds to a buffer, an element that nothing is added to stays as it is, -0 too.
    """
    changed = _Sums(graph).run()
    return graph if changed is graph else eliminate_dead(changed)


class _Sums(Rewrite):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.uses = Counter(atom for equation in graph.equations for atom in equation.operands)
        self.uses.update(graph.outputs)

    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        if equation.primitive == "add":
            for x, addend in (equation.operands, equation.operands[::-1]):
                scattered = self.definition(addend, "scatter_add")
                if scattered and self.uses[addend] == 1 and x.type == addend.type:
                    return replace(equation, primitive="add_at", operands=(x, *scattered.operands))
        return with_programs(equation, fuse_scatter_add)
