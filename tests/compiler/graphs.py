"""Graphs compiled for this processor."""

from __future__ import annotations

from collections.abc import Mapping

from wengert.compiler.compiled import Compiled
from wengert.compiler.llvm.host import host
from wengert.compiler.unit import Options, Unit
from wengert.engine.ir.graph import Graph


def compile_graph(graph: Graph, places: Mapping[int, int] | None = None, *, check: str = "") -> Compiled:
    """Return a graph, the first pass included, on its way to native code."""
    return Compiled(Unit(graph, places or {}, host(), Options(check=check)))
