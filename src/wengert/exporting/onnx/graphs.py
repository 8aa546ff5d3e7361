"""From the equations of a graph to nodes: by the lowering of each primitive, or by a program of other primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.passes.lower import compared_dtypes
from wengert.compiler.scalars import COMPARISONS
from wengert.engine.core.dtypes import is_complex
from wengert.engine.core.errors import UnsupportedError, line_of, located, message
from wengert.engine.core.notebooks import readable
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import Elementwise, OnHost
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.engine.transforms.staging import stage
from wengert.exporting.onnx.table import LOWERINGS, Call
from wengert.exporting.onnx.values import Value, Writer

_LONGEST = 4096
"""The largest number of operations of a program that is written out: some 12 equations."""


def write(writer: Writer, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
    """Write the equations of a graph, and return its outputs; refuse primitives without a form in ONNX."""
    values: dict[Var, Value] = dict(zip(graph.inputs, inputs, strict=True))
    values |= {var: writer.constant(value, var.dtype) for var, value in graph.constants}

    def value(atom: Atom) -> Value:
        return writer.constant(atom.value, atom.type.dtype) if isinstance(atom, Literal) else values[atom]

    for equation in graph.equations:
        writer.location = equation.location or writer.location
        try:
            results = _results(writer, equation, list(map(value, equation.operands)))
        except UnsupportedError as problem:
            if not equation.location or readable(equation.location) == line_of(str(problem)):
                raise
            raise UnsupportedError(located(str(problem), equation.location)) from None
        values.update(zip(equation.outputs, results, strict=True))
    return list(map(value, graph.outputs))


def has_form(primitive: Primitive) -> bool:
    """Return whether a primitive has a form in ONNX, of its own or by a program of other primitives."""
    form = primitive.lowering
    if isinstance(form, Elementwise) and form.program is not None:
        return True
    return primitive.name in LOWERINGS or (isinstance(form, OnHost) and form.expansion is not None)


def _results(writer: Writer, equation: Equation, operands: list[Value]) -> list[Value]:
    types = tuple(var.type for var in equation.outputs)
    operand_types = [atom.type for atom in equation.operands]
    for type_ in (*operand_types, *types):
        if is_complex(type_.dtype):
            requirement = "a model must have real numbers only"
            raise UnsupportedError(message("export", requirement, f"{equation.primitive} of {type_}"))
    if types and not any(size(type_.shape) for type_ in types) and equation.primitive in LOWERINGS:
        return [writer.constant(np.zeros(type_.shape, type_.dtype)) for type_ in types]
    lowering = LOWERINGS.get(equation.primitive)
    if lowering is None:
        return write(writer, _program(equation, operand_types), operands)
    form = REGISTRY[equation.primitive].lowering
    if isinstance(form, Elementwise):
        dtypes = form.dtypes(operand_types, types[0])
        dtypes = compared_dtypes(operand_types, dtypes) if equation.primitive in COMPARISONS else dtypes
        operands = [x.cast(dtype) for x, dtype in zip(operands, dtypes, strict=True)]
    lowered = lowering(Call(writer, types), *operands, **equation.params)
    results = [lowered] if isinstance(lowered, Value) else list(lowered)
    return [_of_type(result, type_) for result, type_ in zip(results, types, strict=True)]


def _of_type(value: Value, type_: TensorType) -> Value:
    """Return a result in the type of its equation: a Python number has its dtype from the operation."""
    assert np.broadcast_shapes(value.shape, type_.shape) == type_.shape, (value.shape, type_)
    return value.cast(type_.dtype).expand(type_.shape)


def _program(equation: Equation, types: Sequence[TensorType]) -> Graph:
    """Return the program of other primitives that stands for one without a lowering; refuse those without a program."""
    form = REGISTRY[equation.primitive].lowering
    program: Callable[..., Any] | None = None
    if isinstance(form, Elementwise):
        program = form.program
        types = [TensorType(equation.outputs[0].dtype, type_.shape) for type_ in types]
    reason = form.reason if isinstance(form, OnHost) else ""
    if isinstance(form, OnHost) and form.expansion is not None:
        length = form.expansion.length(*types)
        program = form.expansion.program if 0 < length <= _LONGEST else None
        reason = f"its program has about {length} operations, more than {_LONGEST}" if length else reason
    if program is None:
        requirement = "an operation without a form in ONNX cannot leave"
        raise UnsupportedError(message("export", requirement, equation.primitive, reason))
    return stage(lambda *values: [program(*values, **equation.params)], types)[0]
