"""Lowerings of operations that hold programs: branches, loops, and programs with rules of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType
from wengert.exporting.onnx.elementwise import holds
from wengert.exporting.onnx.graphs import write
from wengert.exporting.onnx.table import Call, lowers
from wengert.exporting.onnx.values import Body, Value, Writer


@lowers("checkpoint")
def _checkpoint(call: Call, *operands: Value, program: Graph) -> Sequence[Value]:
    return write(call.writer, program, operands)


@lowers("custom_jvp", "custom_vjp")
def _custom(call: Call, /, *operands: Value, graph: Graph, **params: Any) -> Sequence[Value]:
    return write(call.writer, graph, operands)


def _body(writer: Writer, name: str, write_results: Callable[[], Sequence[Value]]) -> Body:
    """Write an inner graph, and return it."""
    with writer.inside(name) as body:
        for value in write_results():
            writer.output(value)
    return body


def _types(types: Sequence[TensorType]) -> list[Any]:
    return [(type_.dtype, type_.shape) for type_ in types]


def _converted(values: Sequence[Value], types: Sequence[TensorType]) -> list[Value]:
    """Return values in the dtypes of a loop: a Python number may be carried as another one."""
    return [value.cast(type_.dtype) for value, type_ in zip(values, types, strict=True)]


@lowers("cond")
def _cond(call: Call, predicate: Value, *operands: Value, on_true: Graph, on_false: Graph) -> Sequence[Value]:
    def branch(graph: Graph) -> Body:
        return _body(
            call.writer, "branch", lambda: _converted(write(call.writer, graph, operands), call.results)
        )

    condition = holds(predicate).reshape(())
    attributes = {"then_branch": branch(on_true), "else_branch": branch(on_false)}
    return call.writer.nodes("If", [condition], _types(call.results), **attributes)


@lowers("while")
def _while(
    call: Call, *operands: Value, condition: Graph, body: Graph, tested: int, fixed: int, **limits: Any
) -> Sequence[Value]:
    writer = call.writer
    reads, constants = operands[:tested], operands[tested : tested + fixed]
    carries = _converted(operands[tested + fixed :], call.results)

    def going(values: Sequence[Value]) -> Value:
        return holds(write(writer, condition, [*reads, *values])[0]).reshape(())

    def turn() -> list[Value]:
        writer.input(TensorType(INT64, ()), writer.fresh("turn"))
        writer.input(TensorType(BOOL, ()), writer.fresh("going"))
        inner = [writer.input(type_) for type_ in call.results]
        following = _converted(write(writer, body, [*constants, *inner]), call.results)
        return [going(following), *following]

    most = limits.get("most")
    limit = None if most is None else writer.constant(most, INT64)
    inputs = [limit, going(carries), *carries]
    return writer.nodes("Loop", inputs, _types(call.results), body=_body(writer, "turn", turn))


@lowers("scan")
def _scan(
    call: Call,
    *operands: Value,
    body: Graph,
    constants: int,
    carries: int,
    length: int,
    reverse: bool,
    **params: Any,
) -> Sequence[Value]:
    fixed, carried = operands[:constants], operands[constants : constants + carries]
    columns = operands[constants + carries :]
    types = call.results[:carries]
    start = _converted(carried, types)
    if not length:
        rows = (np.zeros(type_.shape, type_.dtype) for type_ in call.results[carries:])
        return [*start, *map(call.writer.constant, rows)]
    row_types = [type_._replace(shape=type_.shape[1:]) for type_ in call.results[carries:]]

    def turn(state: Sequence[Value], slices: Sequence[Value]) -> list[Value]:
        return _converted(write(call.writer, body, [*fixed, *state, *slices]), [*types, *row_types])

    if columns:
        return _sliced(call, turn, start, columns, reverse)
    return _counted(call, turn, start, length, reverse)


_Turn = Callable[[Sequence[Value], Sequence[Value]], list[Value]]


def _sliced(
    call: Call, turn: _Turn, start: Sequence[Value], columns: Sequence[Value], reverse: bool
) -> list[Value]:
    """Write a loop over the rows of arrays."""
    writer, carries = call.writer, len(start)

    def step() -> list[Value]:
        state = [writer.input(type_) for type_ in call.results[:carries]]
        slices = [writer.input(TensorType(column.dtype, column.shape[1:])) for column in columns]
        return turn(state, slices)

    inner = _body(writer, "step", step)
    direction = int(reverse)
    attributes: dict[str, Any] = {"scan_input_directions": [direction] * len(columns)}
    if len(call.results) > carries:
        attributes["scan_output_directions"] = [direction] * (len(call.results) - carries)
    return writer.nodes(
        "Scan",
        [*start, *columns],
        _types(call.results),
        body=inner,
        num_scan_inputs=len(columns),
        **attributes,
    )


def _counted(call: Call, turn: _Turn, start: Sequence[Value], length: int, reverse: bool) -> list[Value]:
    """Write a loop that reads no rows."""
    writer, carries = call.writer, len(start)

    def step() -> list[Value]:
        writer.input(TensorType(INT64, ()), writer.fresh("turn"))
        going = writer.input(TensorType(BOOL, ()), writer.fresh("going"))
        return [going, *turn([writer.input(type_) for type_ in call.results[:carries]], ())]

    body = _body(writer, "turn", step)
    inputs = [writer.constant(length, INT64), None, *start]
    results = writer.nodes("Loop", inputs, _types(call.results), body=body)
    return [*results[:carries], *(_reversed(x) if reverse else x for x in results[carries:])]


def _reversed(x: Value) -> Value:
    starts, steps = [0] * x.ndim, [1] * x.ndim
    starts[0], steps[0] = x.shape[0] - 1, -1
    return x.taken(starts, x.shape, steps)
