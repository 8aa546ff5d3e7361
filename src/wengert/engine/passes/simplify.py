"""All passes that keep every value as it is, over and over until nothing changes."""

from __future__ import annotations

from wengert.engine.ir.graph import Graph
from wengert.engine.passes.algebra import apply_algebra
from wengert.engine.passes.common import merge_common
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.fold import fold_constants
from wengert.engine.passes.merge_passed import merge_passed
from wengert.engine.passes.rewrite import with_programs_inside


def simplify(graph: Graph) -> Graph:
    """Return a graph with the same inputs and outputs that computes the same values, bit for bit, with less work.

    The programs inside its equations are simplified too. Only what is exact in floating-point arithmetic is done:
    ``x * 1`` becomes ``x``, but ``x + 0``, ``x - x`` and ``0 * x`` stay, for the sake of -0, infinity and NaN.

    Example:
        >>> import wengert.engine.ops.arithmetic
        >>> from wengert.engine.ir.parser import parse
        >>> source = "graph(x: f64[]) { v1: f64[] = negative(x) v2: f64[] = negative(v1) return v2 }"
        >>> print(simplify(parse(source)))
        graph(x: f64[]) {
          return x
        }
    """
    graph = with_programs_inside(graph, simplify)
    while True:
        simpler = eliminate_dead(merge_passed(merge_common(apply_algebra(fold_constants(graph))), simplify))
        if simpler is graph:
            return graph
        graph = simpler
