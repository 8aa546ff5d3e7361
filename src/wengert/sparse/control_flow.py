"""Branches, loops and calls: what their results depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from wengert.core.shapes import Shape
from wengert.ir.graph import Equation, Graph
from wengert.sparse.accesses import UNKNOWN, Value, depending
from wengert.sparse.index_sets import EMPTY, IndexSets
from wengert.transforms.staging import stage

#: The turns after which a loop that may end at any time is taken to reach everything, if it still reaches more.
_MOST_TURNS = 16


class Walk(Protocol):
    """The walk along a graph."""

    sets: IndexSets

    def graph(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Return the values of the outputs of a graph."""
        ...


def either(sets: IndexSets, one: Value, other: Value) -> Value:
    """Return a value that is one of two."""
    if one.known is not None and other.known is not None and np.array_equal(one.known, other.known):
        return one
    given = [value.sets for value in (one, other) if value.sets is not None]
    return depending(sets.merge(*given)) if given else UNKNOWN


def _inlined(name: str) -> Callable[[Walk, Equation, Sequence[Value]], Sequence[Value]]:
    return lambda walk, equation, operands: walk.graph(equation.params[name], operands)


def _custom(walk: Walk, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
    """Follow the function itself: its derivative rule has been applied already."""
    params = equation.params
    types = [atom.type for atom in equation.operands]
    graph = params["graph"] or stage(params["call"].value, types)[0]
    return walk.graph(graph, operands)


def _cond(walk: Walk, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
    predicate, *given = operands
    branches = [equation.params["on_true"], equation.params["on_false"]]
    if predicate.known is not None:
        return walk.graph(branches[0 if predicate.known else 1], given)
    yes, no = (walk.graph(branch, given) for branch in branches)
    return [either(walk.sets, one, other) for one, other in zip(yes, no, strict=True)]


def _scan(walk: Walk, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
    """Follow the turns one by one."""
    params = equation.params
    body: Graph = params["body"]
    constants, count, length = params["constants"], params["carries"], params["length"]
    fixed, carries = operands[:constants], operands[constants : constants + count]
    columns = operands[constants + count :]
    stacked = [np.full((length, *type_.shape), EMPTY, np.int64) for type_ in body.output_types[count:]]
    known = [np.zeros((length, *type_.shape), type_.dtype) for type_ in body.output_types[count:]]
    certain = [True] * len(stacked)
    for turn in reversed(range(length)) if params["reverse"] else range(length):
        rows = [_row(column, turn) for column in columns]
        results = walk.graph(body, [*fixed, *carries, *rows])
        carries = results[:count]
        for position, result in enumerate(results[count:]):
            if result.known is not None:
                known[position][turn] = result.known
            else:
                certain[position] = False
            if result.sets is not None:
                stacked[position][turn] = result.sets
    rows = zip(stacked, known, certain, strict=True)
    return [*carries, *(Value(values) if flag else depending(sets) for sets, values, flag in rows)]


def _row(column: Value, turn: int) -> Value:
    known, sets = column
    if sets is not None:
        return depending(sets[turn])
    return column if known is None else Value(known[turn])


def _while(walk: Walk, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
    """Add what a turn adds until nothing changes: the loop may end after any turn."""
    params = equation.params
    tested, middle = params["tested"], params["tested"] + params["fixed"]
    fixed, carries = operands[tested:middle], list(operands[middle:])
    for _ in range(_MOST_TURNS):
        results = walk.graph(params["body"], [*fixed, *carries])
        grown = [_grown(walk.sets, old, new) for old, new in zip(carries, results, strict=True)]
        if all(after is before for after, before in zip(grown, carries, strict=True)):
            return carries
        carries = grown
    return _widened(walk.sets, [*fixed, *carries], [var.shape for var in equation.outputs])


def _widened(sets: IndexSets, inputs: Sequence[Value], shapes: Sequence[Shape]) -> list[Value]:
    """Let each result of a loop depend on whatever anything that its turns read depends on."""
    given = [value.sets.reshape(-1) for value in inputs if value.sets is not None]
    every = sets.reduce(np.concatenate(given), (0,)).reshape(())
    return [depending(np.broadcast_to(every, shape)) for shape in shapes]


def _grown(sets: IndexSets, old: Value, new: Value) -> Value:
    """Return a value that is the old or the new one; the same object if the new one adds nothing."""
    if old.known is not None:
        same = new.known is not None and np.array_equal(old.known, new.known)
        return old if same else either(sets, old, new)
    if new.sets is None:
        return old
    if old.sets is None:
        return new
    merged = sets.merge(old.sets, new.sets)
    changed = sets.lengths(merged) != sets.lengths(old.sets)
    return depending(np.where(changed, merged, old.sets)) if changed.any() else old


RULES: dict[str, Any] = {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
    "checkpoint": _inlined("program"),
    "custom_jvp": _custom,
    "custom_vjp": _custom,
}
