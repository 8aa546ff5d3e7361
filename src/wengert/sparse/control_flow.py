"""Branches, loops and calls: what their results depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from wengert.engine.core.dtypes import is_inexact
from wengert.engine.core.shapes import Shape, size
from wengert.engine.ir.graph import Equation, Graph
from wengert.engine.ir.types import TensorType
from wengert.engine.transforms.staging import stage
from wengert.sparse.accesses import UNKNOWN, Value, depending
from wengert.sparse.index_sets import EMPTY, IndexSets

#: The turns after which a loop that may end at any time is taken to reach everything, if it still reaches more.
_MOST_TURNS = 16


#: The turns of a scan from which it pays to find out whether all of them read alike.
_FEW_TURNS = 6


class Walk(Protocol):
    """The walk along a graph."""

    sets: IndexSets

    def __init__(self, sets: IndexSets) -> None: ...

    def graph(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Return the values of the outputs of a graph."""
        ...


def either(sets: IndexSets, yes: Value, no: Value) -> Value:
    """Return a value that is one of two."""
    if yes.elements is not None and no.elements is not None and np.array_equal(yes.elements, no.elements):
        return yes
    operands = [value.sets for value in (yes, no) if value.sets is not None]
    return depending(sets.merge(*operands)) if operands else UNKNOWN


def _inlined(name: str) -> Callable[[Walk, Equation, Sequence[Value]], Sequence[Value]]:
    return lambda walk, equation, operands: walk.graph(equation.params[name], operands)


def _custom(walk: Walk, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
    """Follow the function itself: its derivative rule has been applied already."""
    params = equation.params
    types = [atom.type for atom in equation.operands]
    graph = params["graph"] or stage(params["call"].value, types)[0]
    return walk.graph(graph, operands)


def _cond(walk: Walk, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
    predicate, *arguments = operands
    branches = [equation.params["on_true"], equation.params["on_false"]]
    if predicate.elements is not None:
        return walk.graph(branches[0 if predicate.elements else 1], arguments)
    yes, no = (walk.graph(branch, arguments) for branch in branches)
    return [either(walk.sets, *pair) for pair in zip(yes, no, strict=True)]


def _scan(walk: Walk, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
    """Follow the turns one by one; where all of them read alike, by what the second one reads."""
    params = equation.params
    body: Graph = params["body"]
    constants, count, length = params["constants"], params["carries"], params["length"]
    fixed, carries = operands[:constants], operands[constants : constants + count]
    columns = operands[constants + count :]
    stacked = [_Stacked(length, type_) for type_ in body.output_types[count:]]
    turn_of: _Turn | None = None
    order = range(length)[::-1] if params["reverse"] else range(length)
    for done, turn in enumerate(order):
        inputs = [*fixed, *carries, *(_row(column, turn) for column in columns)]
        if done == 1 and length > _FEW_TURNS:
            turn_of = _common_turn(walk, body, inputs, constants, count)
        results = walk.graph(body, inputs) if turn_of is None else turn_of(walk.sets, inputs)
        carries = results[:count]
        for stack, result in zip(stacked, results[count:], strict=True):
            stack.set(turn, result)
    return [*carries, *(stack.value() for stack in stacked)]


class _Stacked:
    """A result of all turns of a scan."""

    def __init__(self, length: int, type_: TensorType) -> None:
        self._sets = np.full((length, *type_.shape), EMPTY, np.int64)
        self._known: Any = np.zeros((length, *type_.shape), type_.dtype)

    def set(self, turn: int, value: Value) -> None:
        """Set the result of a turn."""
        if value.elements is None:
            self._known = None
        elif self._known is not None:
            self._known[turn] = value.elements
        if value.sets is not None:
            self._sets[turn] = value.sets

    def value(self) -> Value:
        """Return the results of all turns."""
        return depending(self._sets) if self._known is None else Value(self._known)


class _Turn:
    """The inputs of one turn of a scan: for each element of the results, elements of the inputs.

    Args:
        body: the program of a turn.
        rows: a Boolean CSR array, with a row for each element of the results and a column for each one of the inputs.
    """

    def __init__(self, body: Graph, rows: Any) -> None:
        self._inputs = [var.shape for var in body.inputs]
        self._results = [type_.shape for type_ in body.output_types]
        self._reads = rows.indices
        self._groups = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        self._count = rows.shape[0]

    def __call__(self, sets: IndexSets, inputs: Sequence[Value]) -> list[Value]:
        """Return the results of a turn with given inputs."""
        operands = [
            np.full(size(shape), EMPTY) if value.sets is None else value.sets.reshape(-1)
            for value, shape in zip(inputs, self._inputs, strict=True)
        ]
        united = sets.unite(self._groups, np.concatenate(operands)[self._reads], self._count)
        ends = np.cumsum([size(shape) for shape in self._results])[:-1]
        parts = zip(np.split(united, ends), self._results, strict=True)
        return [depending(part.reshape(shape)) for part, shape in parts]


def _common_turn(
    walk: Walk, body: Graph, inputs: Sequence[Value], constants: int, count: int
) -> _Turn | None:
    """Return what a turn reads, if it does not change with what is known in one turn only; else None.

    What a turn with nothing known but the constants reads is enough for all turns. It is too much where a known
    position, such as a counter, tells one turn from another.
    """
    sizes = [size(var.shape) for var in body.inputs]
    starts = np.cumsum([0, *sizes])
    sets = IndexSets(int(starts[-1]))

    def rows(*, as_in_this_turn: bool) -> Any:
        values: list[Value] = []
        for place, (var, value) in enumerate(zip(body.inputs, inputs, strict=True)):
            carried = constants <= place < constants + count
            if value.elements is not None and (as_in_this_turn or place < constants):
                values.append(value)
            elif is_inexact(var.dtype) and (carried or value.sets is not None):
                every = sets.single(np.arange(starts[place], starts[place + 1]))
                values.append(Value(sets=every.reshape(var.shape)))
            else:
                values.append(UNKNOWN)
        results = zip(type(walk)(sets).graph(body, values), body.output_types, strict=True)
        numbers = [
            np.full(size(type_.shape), EMPTY) if value.sets is None else value.sets.reshape(-1)
            for value, type_ in results
        ]
        pattern = sets.rows(np.concatenate(numbers))
        pattern.sort_indices()
        return pattern

    here, anywhere = rows(as_in_this_turn=True), rows(as_in_this_turn=False)
    same = np.array_equal(here.indptr, anywhere.indptr) and np.array_equal(here.indices, anywhere.indices)
    return _Turn(body, anywhere) if same else None


def _row(column: Value, turn: int) -> Value:
    elements, sets = column
    if sets is not None:
        return Value(sets=sets[turn])  # though this row may depend on nothing
    return column if elements is None else Value(elements[turn])


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
    operands = [value.sets.reshape(-1) for value in inputs if value.sets is not None]
    every = sets.reduce(np.concatenate(operands), (0,)).reshape(())
    return [depending(np.broadcast_to(every, shape)) for shape in shapes]


def _grown(sets: IndexSets, old: Value, new: Value) -> Value:
    """Return a value that is the old or the new one; the same object if the new one adds nothing."""
    if old.elements is not None:
        same = new.elements is not None and np.array_equal(old.elements, new.elements)
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
