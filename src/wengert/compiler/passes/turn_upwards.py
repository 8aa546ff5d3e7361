"""Nests whose points go down through memory go up: vectors of lanes are read and written in the order of the elements.

A loop of Python's that runs down, and each loop backwards of reverse mode, becomes a nest whose elements stand in
reverse. The points of a nest may be computed in any order, so it counts from the other end.
"""

from __future__ import annotations

from dataclasses import replace

from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Nest, Program, map_nests
from wengert.engine.nest.rewrite import substitute_dims


def turn_upwards(program: Program) -> Program:
    """Return the program with nests that go up through most of what they read and write."""
    return replace(program, steps=map_nests(program.steps, lambda nest: [_turned(nest)]))


def _turned(nest: Nest) -> Nest:
    down = [
        dim for dim in nest.dims if dim not in nest.sequential and dim.extent > 1 and _goes_down(nest, dim)
    ]
    if not down:
        return nest
    return substitute_dims(
        nest, {dim: Index.of(Dim(dim.extent, dim.name)) * -1 + (dim.extent - 1) for dim in down}
    )


def _goes_down(nest: Nest, dim: Dim) -> bool:
    """Return whether more rows are read and written downwards along a dimension than upwards."""
    steps = [indices[-1].coefficient(dim) for _, indices in nest.accesses() if indices]
    return sum(step < 0 for step in steps) > sum(step > 0 for step in steps)
