"""The inputs of each element of a result: the accesses of a nest, at all points of its loops at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.shapes import Shape
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.expression import (
    CHECKS,
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
    computed,
    loads_of,
    walk,
)
from wengert.engine.nest.index import Computed, Dim, Index
from wengert.engine.nest.lowering import Definition, Operand, Pieces, Pointwise, Stages
from wengert.engine.primitive import NUMPYS_ERRORS, REGISTRY
from wengert.sparse.index_sets import EMPTY, IndexSets

#: The largest number of turns of a recurrence that are followed one by one.
_MOST_TURNS = 1 << 14
#: The operations that give zero where a factor is zero.
PRODUCTS = ("multiply", "multiply_no_nan", "logical_and")


class Value(NamedTuple):
    """Knowledge of a value: its elements, or the set of inputs that each element depends on.

    Of a value that depends on no input, and that is not known, both are None.
    """

    elements: Any = None
    sets: Any = None


UNKNOWN = Value()


def depending(sets: Any) -> Value:
    """Return a value with given sets, which may all be empty."""
    return Value(sets=sets) if sets.any() else UNKNOWN


class Reader:
    """The values of the expressions of a nest: arrays with an axis for each loop, of extent one where nothing changes.

    Args:
        sets: the sets of inputs.
        values: of the buffers.
        dims: the loops around the expressions; those of reductions follow them.
        roots: the expressions.
        fixed: the values of loops that are at one turn.
    """

    def __init__(
        self,
        sets: IndexSets,
        values: Mapping[Buffer, Value],
        dims: Sequence[Dim],
        roots: Iterable[Expression],
        fixed: Mapping[Dim, int] | None = None,
    ) -> None:
        self.sets = sets
        self.values = values
        self.fixed = fixed or {}
        inner = (
            dim for root in roots for node in walk(root) if isinstance(node, Reduce) for dim in node.dims
        )
        self.axes = {dim: axis for axis, dim in enumerate(dict.fromkeys((*dims, *inner)))}
        self._done: dict[int, tuple[Expression, Value]] = {}

    def __call__(self, node: Expression) -> Value:
        """Return the value of an expression."""
        if id(node) not in self._done:
            self._done[id(node)] = node, self._value(node)
        return self._done[id(node)][1]

    def _value(self, node: Expression) -> Value:
        match node:
            case Const(value=value):
                return Value(self._scalar(value))
            case Iota(index=index, dtype=dtype):
                number = self.index(index)
                return UNKNOWN if number is None else Value(number.astype(dtype))
            case Load():
                return self._load(node)
            case Guard():
                return self._guard(node)
            case Reduce(dims=dims, body=body):
                sets = self(body).sets
                axes = tuple(self.axes[dim] for dim in dims)
                return UNKNOWN if sets is None else Value(sets=self.sets.reduce(sets, axes))
            case Apply():
                return self._apply(node)

    def _scalar(self, number: Any) -> Any:
        return np.asarray(number).reshape((1,) * len(self.axes))

    # -- indices -----------------------------------------------------------------------------------------

    def index(self, index: Index) -> Any:
        """Return an index at all points, None if it is not known."""
        number = index.at(self._term)
        return None if number is None else self._scalar(0) + number

    def _term(self, term: Dim | Computed) -> Any:
        if isinstance(term, Computed):
            return self(term.expression).elements
        if term in self.fixed:
            return self._scalar(self.fixed[term])
        shape = [1] * len(self.axes)
        shape[self.axes[term]] = term.extent
        return np.arange(term.extent).reshape(shape)

    # -- expressions -------------------------------------------------------------------------------------

    def _load(self, node: Load) -> Value:
        elements, sets = self.values[node.buffer]
        array = elements if sets is None else sets
        if array is None or not array.size:
            return UNKNOWN
        places = [self._place(index, extent) for index, extent in zip(node.indices, array.shape, strict=True)]
        anywhere = tuple(axis for axis, place in enumerate(places) if place is None)
        if anywhere:
            if sets is None:
                return UNKNOWN
            array = self.sets.reduce(array, anywhere)
        taken = array[tuple(self._scalar(0) if place is None else place for place in places)]
        taken = taken if places else self._scalar(taken)
        return Value(taken) if sets is None else Value(sets=taken)

    def _place(self, index: Index, extent: int) -> Any:
        """Return positions along an axis; where a guard keeps them from use they may lie outside, and are moved."""
        place = self.index(index)
        low, high = index.bounds
        return place if place is None or 0 <= low <= high < extent else np.clip(place, 0, extent - 1)

    def _guard(self, node: Guard) -> Value:
        inside: Any = self._scalar(True)
        for index, extent in node.conditions:
            place = self.index(index)
            if place is None:
                return self._choice(UNKNOWN, self(node.body), self(node.otherwise))
            inside = inside & (place >= 0) & (place < extent)
        return self._choice(Value(inside), self(node.body), self(node.otherwise))

    def _choice(self, condition: Value, yes: Value, no: Value) -> Value:
        """Return one of two values by a condition, either if it is not known."""
        if condition.elements is not None and yes.elements is not None and no.elements is not None:
            return Value(np.where(condition.elements, yes.elements, no.elements))
        return self._joined(choose(self.sets, condition, yes, no))

    def _joined(self, sets: Any) -> Value:
        return UNKNOWN if sets is None else Value(sets=sets)

    def _apply(self, node: Apply) -> Value:
        values = [self(operand) for operand in node.operands]
        if node.operation == "where":
            return self._choice(*values)
        if node.operation in CHECKS:
            positions = values[0].elements
            if node.operation == "position" and positions is not None and not node.requirement:
                return Value(np.where(positions < 0, positions + node.param, positions))
            return values[0]
        if all(value.elements is not None for value in values):
            return self._evaluated(node, [value.elements for value in values])
        return self._joined(combine(self.sets, node.operation, values))

    def _evaluated(self, node: Apply, operands: Sequence[Any]) -> Value:
        if node.operation == "cast":
            with np.errstate(all="ignore"):
                return Value(operands[0].astype(node.dtype))
        if node.operation not in REGISTRY or node.param:
            return UNKNOWN
        return evaluated(lambda: REGISTRY[node.operation].evaluate(*operands))


def evaluated(compute: Any) -> Value:
    """Return a known value; unknown if its computation fails, which is an error of the call, not of this analysis."""
    try:
        with np.errstate(all="ignore"):
            return Value(np.asarray(compute()))
    except NUMPYS_ERRORS:
        return UNKNOWN


# -- scalar operations -----------------------------------------------------------------------------------


def choose(sets: IndexSets, condition: Value, yes: Value, no: Value) -> Any:
    """Return the sets of ``where``; None if it depends on nothing."""
    either = [value.sets for value in (yes, no) if value.sets is not None]
    if condition.sets is not None:
        return sets.merge(condition.sets, *either)
    if not either:
        return None
    if condition.elements is None:
        return sets.merge(*either)
    return np.where(condition.elements, *(EMPTY if value.sets is None else value.sets for value in (yes, no)))


def combine(sets: IndexSets, operation: str, values: Sequence[Value]) -> Any:
    """Return the sets of a scalar operation on values that broadcast; None if it depends on nothing."""
    depends = [value.sets for value in values if value.sets is not None]
    if not depends:
        return None
    merged = sets.merge(*depends)
    if operation in PRODUCTS:
        for value in values:
            if value.elements is not None and not np.all(value.elements):
                merged = np.where(value.elements != 0, merged, EMPTY)
    return merged


# -- results ---------------------------------------------------------------------------------------------


def pointwise(
    sets: IndexSets,
    lowering: Pointwise,
    out: TensorType,
    types: Sequence[TensorType],
    values: Sequence[Value],
    params: Mapping[str, Any],
) -> Any:
    """Return the sets of the elements of a result that the rule of a lowering defines; None if there is no such rule.

    ``types`` and ``values`` are those of the operands, ``params`` those of the operation.
    """
    dims = tuple(map(Dim, out.shape))
    buffers = [Buffer(type_.dtype, type_.shape) for type_ in types]
    result = Buffer(out.dtype, out.shape)
    inputs = dict(zip(buffers, values, strict=True))
    operands = map(Operand, types, buffers)
    indices = tuple(map(Index.of, dims))
    definition = lowering.rule(indices, Operand(out, result), *operands, **params)
    if isinstance(definition, Stages):
        return None
    if isinstance(definition, Definition):
        return _Definition(sets, inputs, definition, result, dims).sets()
    if isinstance(definition, Pieces):
        written = np.full(out.shape, EMPTY, np.int64)
        reader = Reader(sets, inputs, definition.dims, [value for _, value in definition.stores])
        for places, value in definition.stores:
            _write(reader, definition.dims, written, places, reader(value).sets, "assign")
        return written
    return _spread(Reader(sets, inputs, dims, [definition])(definition).sets, out.shape)


def _spread(sets: Any, shape: Shape) -> Any:
    """Return sets at the points of all loops as those of the elements of an array; reductions are done."""
    if sets is None:
        return np.full(shape, EMPTY, np.int64)
    return np.broadcast_to(sets.reshape(sets.shape[: len(shape)]), shape)


class _Definition:
    """The sets of a result that a nest of its own writes."""

    def __init__(
        self,
        sets: IndexSets,
        values: Mapping[Buffer, Value],
        definition: Definition,
        result: Buffer,
        dims: Sequence[Dim],
    ) -> None:
        self.index_sets = sets
        self.values = values
        self.definition = definition
        self.result = result
        self.dims = dims

    def sets(self) -> Any:
        """Return the sets of the elements of the result."""
        definition = self.definition
        written = np.full(self.result.shape, EMPTY, np.int64)
        if definition.initial is not None:
            first = definition.initial(tuple(map(Index.of, self.dims)))
            reader = Reader(self.index_sets, self.values, self.dims, [first])
            written = np.array(_spread(reader(first).sets, self.result.shape))
        for reader in self._readers(written):
            value = reader(definition.value).sets
            _write(reader, definition.dims, written, definition.indices, value, definition.combiner)
        return written

    def _readers(self, written: Any) -> Iterator[Reader]:
        """Yield one reader of all points, or one for each turn of a recurrence, which reads what is written."""
        definition = self.definition
        roots = [definition.value, *computed(definition.indices)]
        if not any(True for _ in loads_of(self.result, definition.value)):
            yield Reader(self.index_sets, self.values, definition.dims, roots)
            return
        turns = [dim for dim in definition.dims if dim in definition.sequential]
        if math.prod(dim.extent for dim in turns) > _MOST_TURNS:
            self._widen(written, roots)
            return
        for counts in itertools.product(*(range(dim.extent) for dim in turns)):
            values = {**self.values, self.result: Value(sets=written)}
            fixed = dict(zip(turns, counts, strict=True))
            yield Reader(self.index_sets, values, definition.dims, roots, fixed)

    def _widen(self, written: Any, roots: Sequence[Expression]) -> None:
        """Let each element depend on whatever any element of the result depends on."""
        reader = Reader(self.index_sets, {**self.values, self.result: UNKNOWN}, self.definition.dims, roots)
        operands = [written] if (value := reader(self.definition.value).sets) is None else [written, value]
        every = np.concatenate([numbers.reshape(-1) for numbers in operands])
        written[...] = self.index_sets.reduce(every, (0,))[0]


def _write(
    reader: Reader, dims: Sequence[Dim], written: Any, indices: Sequence[Index], value: Any, combiner: str
) -> None:
    """Write sets at indices; where an index is not known, at every position along its axis."""
    sets = reader.sets
    points = [1 if dim in reader.fixed else dim.extent for dim in dims]
    places = [reader.index(index) for index in indices]
    anywhere = tuple(axis for axis, place in enumerate(places) if place is None)

    def at_points(array: Any) -> Any:
        return np.broadcast_to(array.reshape(array.shape[: len(dims)]), points).reshape(-1)

    extents = [1 if axis in anywhere else extent for axis, extent in enumerate(written.shape)]
    target = np.zeros(math.prod(points), np.int64)
    for axis, place in enumerate(places):
        position = 0 if place is None else at_points(place)
        target = target * extents[axis] + position
    if value is None:
        united = np.full(math.prod(extents), EMPTY, np.int64)
    else:
        united = sets.unite(target, at_points(value), math.prod(extents))
    united = united.reshape(extents)
    if combiner == "assign" and not anywhere:
        touched = np.zeros(written.shape, bool)
        touched.reshape(-1)[target] = True
        written[touched] = united[touched]
    else:
        written[...] = sets.merge(written, united)
