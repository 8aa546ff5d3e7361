"""On which inputs each element of each value of a graph depends: a walk along its equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from wengert.engine.core.errors import WengertError
from wengert.engine.core.shapes import Shape, size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import ControlFlow, Elementwise, OnHost, Pointwise
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.engine.transforms.staging import stage
from wengert.sparse.accesses import UNKNOWN, Value, choose, combine, depending, evaluated, pointwise
from wengert.sparse.control_flow import RULES
from wengert.sparse.index_sets import IndexSets


class Dependence:
    """Finds the sets of inputs that the elements of values depend on.

    It is conservative: an element may have too many inputs, and never too few. An index that is not known reads every
    position along its axis, and a condition that is not known takes both branches. Derivatives pass through
    floating-point values only, so the graph should be that of a tangent or a cotangent.
    """

    def __init__(self, sets: IndexSets) -> None:
        self.sets = sets

    def graph(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Return the values of the outputs of a graph."""
        values = dict(zip(graph.inputs, inputs, strict=True))
        values.update((var, Value(array)) for var, array in graph.constants)

        def read(atom: Atom) -> Value:
            return (
                Value(np.asarray(atom.value, atom.type.dtype)) if isinstance(atom, Literal) else values[atom]
            )

        for equation in graph.equations:
            results = self.equation(equation, list(map(read, equation.operands)))
            values.update(zip(equation.outputs, results, strict=True))
        return list(map(read, graph.outputs))

    def equation(self, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the values of the results of an equation."""
        primitive, params, outputs = REGISTRY[equation.primitive], equation.params, equation.outputs
        if all(value.elements is not None for value in operands):
            return _known(primitive, operands, params, len(outputs))
        if isinstance(primitive.lowering, ControlFlow) and primitive.name in RULES:
            return RULES[primitive.name](self, equation, operands)
        if all(value.sets is None for value in operands) or not any(map(_size, outputs)):
            return [UNKNOWN] * len(outputs)
        if primitive.elementwise or isinstance(primitive.lowering, Elementwise):
            return [self._elementwise(primitive, outputs[0].shape, operands)]
        types = [atom.type for atom in equation.operands]
        if isinstance(primitive.lowering, Pointwise):
            sets = pointwise(self.sets, primitive.lowering, outputs[0].type, types, operands, params)
            if sets is not None:
                return [depending(sets)]
        program = _expansion(primitive)
        if program is not None:
            return self.graph(stage(lambda *xs: [program(*xs, **params)], types)[0], operands)
        return self._dense(equation, operands)

    def _elementwise(self, primitive: Primitive, shape: Shape, operands: Sequence[Value]) -> Value:
        if primitive.name == "where":
            sets = choose(self.sets, *operands)
        else:
            sets = combine(self.sets, primitive.name, operands)
        return UNKNOWN if sets is None else depending(np.broadcast_to(sets, shape))

    def _dense(self, equation: Equation, operands: Sequence[Value]) -> list[Value]:
        """Let each element of the results depend on all elements of the operands with the same leading indices."""
        levels = list(_leading_axes(equation))
        parts = [
            self._along(value.sets, [flags[position] for flags in levels])
            for position, value in enumerate(operands)
            if value.sets is not None
        ]
        lead = self.sets.merge(*parts)
        results: list[Value] = []
        for out in equation.outputs:
            core = out.shape[len(levels) :]
            shaped = np.broadcast_to(lead, out.shape[: len(levels)]).reshape(
                (*out.shape[: len(levels)], *(1,) * len(core))
            )
            results.append(depending(np.broadcast_to(shaped, out.shape)))
        return results

    def _along(self, numbers: Any, own: Sequence[bool]) -> Any:
        """Return the union over all axes of an operand but the leading ones that it has itself."""
        count = sum(own)
        united = self.sets.reduce(numbers, tuple(range(count, numbers.ndim)))
        extents = iter(united.shape[:count])
        return united.reshape([next(extents) if flag else 1 for flag in own])


def _size(var: Var) -> int:
    return size(var.shape)


def _expansion(primitive: Primitive) -> Callable[..., Any] | None:
    """Return the program of other operations that carries an operation out; None for one that mixes whole axes."""
    lowering = primitive.lowering
    if not isinstance(lowering, OnHost) or lowering.expansion is None or primitive.batch is batch_elementwise:
        return None
    return lowering.expansion.program


def _known(
    primitive: Primitive, operands: Sequence[Value], params: Mapping[str, Any], count: int
) -> list[Value]:
    """Return the results of an operation on known values."""
    results: list[Value] = []

    def compute() -> None:
        outputs = primitive.evaluate(*(value.elements for value in operands), **params)
        results.extend(map(Value, map(np.asarray, outputs if isinstance(outputs, tuple) else (outputs,))))

    return results if evaluated(compute) and len(results) == count else [UNKNOWN] * count


def _leading_axes(equation: Equation) -> Iterator[list[bool]]:
    """Yield, for each leading axis along which the results are stacked, which operands have it.

    An operation whose batch rule is that of elementwise operations works along leading axes. The type rule says how
    many there are: it takes the operands without one, too.
    """
    primitive = REGISTRY[equation.primitive]
    if primitive.batch is not batch_elementwise:
        return
    types = [atom.type for atom in equation.operands]
    results = [var.type for var in equation.outputs]
    while True:
        flags = _first_axis(primitive, types, results, equation.params)
        if flags is None:
            return
        yield flags
        types = [_inner(type_) if flag else type_ for type_, flag in zip(types, flags, strict=True)]
        results = list(map(_inner, results))


def _first_axis(
    primitive: Primitive,
    types: Sequence[TensorType],
    results: Sequence[TensorType],
    params: Mapping[str, Any],
) -> list[bool] | None:
    """Return which operands are stacked along their first axis; None if the results are not."""
    if not all(type_.shape for type_ in results):
        return None
    extents = (1, results[0].shape[0])
    fits = [bool(type_.shape) and type_.shape[0] in extents for type_ in types]
    rank = max((len(type_.shape) for type_ in compress(types, fits)), default=0)
    for flags in (fits, [flag and len(type_.shape) == rank for type_, flag in zip(types, fits, strict=True)]):
        if not any(flags):
            continue
        inner = [_inner(type_) if flag else type_ for type_, flag in zip(types, flags, strict=True)]
        try:
            inferred: Any = primitive.infer(*inner, **params)
        except WengertError:
            continue
        shapes = [type_.shape for type_ in ((inferred,) if isinstance(inferred, TensorType) else inferred)]
        if shapes == [type_.shape[1:] for type_ in results]:
            return flags
    return None


def _inner(type_: TensorType) -> TensorType:
    return type_._replace(shape=type_.shape[1:])
