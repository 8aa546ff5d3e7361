"""The nests of value and gradient that a page shows, with the loops and branches around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.compiler.jit import jit
from wengert.compiler.llvm.host import host
from wengert.compiler.pipeline import advance
from wengert.compiler.report import Report, report_of
from wengert.compiler.unit import Options, Unit
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of, is_float
from wengert.engine.core.errors import WengertError
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Graph
from wengert.engine.transforms.reverse_mode import vjp
from wengert.engine.transforms.substitution import attempt, current
from wengert.explorer.writer import ADJOINT

#: Operations of the largest derivative of a path that is compiled for the page.
COMPILED = 20_000


def compiled(graph: Graph, staged: Callable[[], Report] | None) -> dict[str, Any]:
    """Return the nests of value and gradient, or why there are none.

    Args:
        graph: the derivative along the path that the page shows.
        staged: describes the program of all paths; None if there is one path.
    """
    is_long = len(graph.equations) > COMPILED
    if staged is None and is_long:
        return {
            "problem": f"wg.jit compiles the derivative; with {len(graph.equations):,} operations it is left out here."
        }
    try:
        return _data(report_of(advance(Unit(graph, {}, host(), Options()))) if staged is None else staged())
    except WengertError as problem:
        if staged is not None and not is_long:
            return compiled(graph, None)
        return {"problem": f"The derivative cannot be compiled: {problem}"}


def staged_report(fun: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Report:
    """Describe the program that `wg.jit` makes of the values and adjoints of a function, with its loops and branches.

    The adjoints are those of the floating-point arguments, from ones at each floating-point result.
    """
    leaves, structure = tree.flatten((tuple(arguments), dict(options)))
    moving = [place for place, leaf in enumerate(leaves) if is_float(dtype_of(leaf))]

    def values_and_adjoints(*given: Any) -> tuple[Any, Any]:
        def results(*changed: Any) -> list[Any]:
            filled = list(given)
            for place, leaf in zip(moving, changed, strict=True):
                filled[place] = leaf
            positional, named = tree.unflatten(structure, filled)
            result = current(fun, positional, named)(*positional, **named)
            return [leaf for leaf in tree.flatten(result)[0] if is_float(dtype_of(leaf))]

        values, pullback = vjp(results, *(given[place] for place in moving))
        return values, pullback([np.ones(shape_of(value), dtype_of(value))[()] for value in values])

    return attempt(fun, lambda: jit(values_and_adjoints).report(*leaves), traces=True)


def _data(report: Report) -> dict[str, Any]:
    nests = [
        {
            "text": nest.text,
            "depth": len(nest.around),
            "heads": heads,
            "fused": list(nest.fused),
            "how": ", ".join(part for part in (nest.lanes, nest.tile) if part),
            "operations": nest.operations,
            "bytes": nest.bytes,
            "location": nest.location.replace(ADJOINT, ""),
        }
        for nest, heads in report.in_loops()
    ]
    return {"nests": nests, "hosts": list(report.hosts), "arena": report.arena, "lines": report.lines}
