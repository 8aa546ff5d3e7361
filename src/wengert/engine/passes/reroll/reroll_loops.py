"""Loop rerolling: equations that an unrolled Python loop repeats become a loop again, before the passes work on them.

A trace writes the operations of each turn of a Python loop, and reverse mode those of each turn backward. `repeats`
finds parts of the list with a period, by `signatures` alone; `roles` finds out where each turn takes its operands from:
the same value in each turn, a value of the same turn or of one before, or a row of an array, for instance of what an
earlier loop has stacked. Constants that differ become rows of a constant, and basic indices that differ become integer
arrays. Turns at either end that differ, such as the first with its known state, stay straight equations.
"""

from __future__ import annotations

import functools

from wengert.engine.ir.graph import Graph
from wengert.engine.machine import costs
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.reroll.plan import Plan
from wengert.engine.passes.reroll.write import IrregularError, Writer
from wengert.engine.passes.rewrite import with_programs_inside


def reroll_loops(graph: Graph) -> Graph:
    """Return a graph that computes the same values, with loops in the place of repeated equations.

    Programs inside its equations are rerolled too, the new loops' bodies among them.

    Example:
        >>> import wengert as wg
        >>> def decay(x):
        ...     for _ in range(200):
        ...         x = x - 0.01 * x
        ...     return x
        >>> print(reroll_loops(wg.trace(decay)(2.0)))
        graph(x: f64*[]) {
          v1: f64*[] = scan[body=graph(x1: f64*[]) {
            v1: f64*[] = multiply(0.01, x1) # ...
            v2: f64*[] = subtract(x1, v1)   # ...
            return v2
          }, constants=0, carries=1, length=200, reverse=False, unroll=1](x) # ...
          return v1
        }
    """

    @functools.cache
    def once(inner: Graph) -> Graph:
        return with_programs_inside(_with_loops(inner), once)

    return once(graph)


def _with_loops(graph: Graph) -> Graph:
    if len(graph.equations) < costs.COSTS.rerolled_equations:
        return graph
    graph = eliminate_dead(graph)
    excluded: set[int] = set()
    while True:
        plan = Plan(graph, excluded)
        if not plan.loops:
            return graph
        try:
            return eliminate_dead(Writer(graph, plan).run())
        except IrregularError as problem:
            if problem.loop is None:
                return graph
            excluded.add(problem.loop.chosen)
