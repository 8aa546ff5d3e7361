"""Integers that are affine functions of counters of loops: they take no memory, and indices made of them no check."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.engine.core.dtypes import INT64
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.nest.expression import Const
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.lowering import Grid, Source

#: Integers beyond are computed as others are.
_LARGEST = 1 << 40


def affine(source: Source) -> Index | None:
    """Return an integer as an affine function of counters; None if it is no such number."""
    if isinstance(source, Grid) and not source.strides and source.dtype == INT64:
        return source.offset
    if isinstance(source, Const) and source.dtype == INT64 and abs(int(source.value)) < _LARGEST:
        return Index(int(source.value))
    return None


def combined(operation: str, sources: Sequence[Source]) -> Grid | None:
    """Return the result of an operation on affine functions of counters if it is one, too."""
    if not any(isinstance(source, Grid) for source in sources):
        return None
    indices = [affine(source) for source in sources]
    result = (
        _result(operation, [index for index in indices if index is not None]) if None not in indices else None
    )
    if result is None or max(map(abs, result.bounds)) >= _LARGEST:
        return None
    return Grid(result, (), INT64)


def _result(operation: str, indices: Sequence[Index]) -> Index | None:
    match operation, indices:
        case "add", (x, y):
            return x + y
        case "subtract", (x, y):
            return x - y
        case "negative", (x,):
            return x * -1
        case "multiply", (x, y) if not y.terms:
            return x * y.offset
        case "multiply", (x, y) if not x.terms:
            return y * x.offset
        case _:
            return None


class Counter(NamedTuple):
    """A carry of a loop to which each turn adds the same number."""

    inside: Grid
    """Its value in a turn."""
    last: Const
    """Its value after the loop."""


def counters(equation: Equation, firsts: Sequence[Source], dim: Dim) -> dict[int, Counter]:
    """Return the carries of a scan to which each turn adds the same number.

    Args:
        equation: the scan.
        firsts: what its carries begin with.
        dim: counts its turns; downwards if the scan is reversed.
    """
    body: Graph = equation.params["body"]
    constants: int = equation.params["constants"]
    length = equation.params["length"]
    turn = Index(0, ((dim, 1),))
    turn = Index(length - 1) - turn if equation.params["reverse"] else turn
    added: dict[Atom, tuple[Atom, ...]] = {
        step.outputs[0]: step.operands for step in body.equations if step.primitive == "add"
    }
    found: dict[int, Counter] = {}
    for number, first in enumerate(firsts):
        carry: Var = body.inputs[constants + number]
        operands = added.get(body.outputs[number], ())
        steps = [x.value for x in operands if isinstance(x, Literal) and type(x.value) in (int, np.int64)]
        start = affine(first) if isinstance(first, Const) and carry.type.dtype == INT64 else None
        if start is None or not steps or carry not in operands or carry.type.shape:
            continue
        last = start.offset + int(steps[0]) * length
        if abs(last) < _LARGEST:
            last_value = Const(np.int64(last), INT64)
            found[number] = Counter(Grid(start + turn * int(steps[0]), (), INT64), last_value)
    return found


def stacked(source: Source, dim: Dim) -> Grid | None:
    """Return the values of an affine function in all turns of a loop as one array; None for other values."""
    if not isinstance(source, Grid):
        return None
    slope = source.offset.coefficient(dim)
    if not slope:
        return Grid(source.offset, (0, *source.strides), source.dtype)
    return Grid(source.offset - Index(0, ((dim, slope),)), (slope, *source.strides), source.dtype)
