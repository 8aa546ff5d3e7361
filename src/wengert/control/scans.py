"""The primitive `scan`: a program carried out a fixed number of times, each time on the next slice of its operands."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.dependence import carried_along, settled, through
from wengert.control.programs import (
    Adjoint,
    adjoint,
    depends_on,
    for_all,
    mapped,
    part_of,
    pushed,
    repeated,
    select,
    spread,
    spread_through,
)
from wengert.control.values import strong, zeros
from wengert.core.shapes import shape_of
from wengert.ir.graph import Graph, Var
from wengert.ir.types import TensorType, type_of
from wengert.nest.lowering import HoldsPrograms
from wengert.ops.shape import transpose
from wengert.primitive import HigherOrder, Primitive, primitive
from wengert.transforms.staging import evaluate, stage


class Parts(NamedTuple):
    """The operands of a scan, or what belongs to each: constants, carries, and what is sliced."""

    constants: list[Any]
    carries: list[Any]
    slices: list[Any]


def parts(values: Iterable[Any], constants: int, carries: int) -> Parts:
    """Split what belongs to the operands of a scan."""
    every = list(values)
    stop = constants + carries
    return Parts(every[:constants], every[constants:stop], every[stop:])


def _type(
    *types: TensorType, body: Graph, constants: int, carries: int, length: int, reverse: bool, unroll: int
) -> tuple[TensorType, ...]:
    outputs = body.output_types
    stacked = (TensorType(one.dtype, (length, *one.shape)) for one in outputs[carries:])
    return (*outputs[:carries], *stacked)


def _evaluate(
    *operands: Any, body: Graph, constants: int, carries: int, length: int, reverse: bool, unroll: int
) -> tuple[Any, ...]:
    fixed, carry, columns = parts(operands, constants, carries)
    rows = [np.empty((length, *one.shape), one.dtype) for one in body.output_types[carries:]]
    for position in reversed(range(length)) if reverse else range(length):
        results = evaluate(body, *fixed, *carry, *(column[position] for column in columns))
        carry = results[:carries]
        for row, result in zip(rows, results[carries:], strict=True):
            row[position] = result
    return (*carry, *rows)


# -- which operands are followed -------------------------------------------------------------------------


def _active(body: Graph, flags: Sequence[bool], constants: int, carries: int) -> list[bool]:
    """Return which operands are active, the carries that a step makes active included."""
    return settled(functools.partial(through, body), flags, constants, carries)


def _reach(marks: Sequence[int], *, body: Graph, constants: int, carries: int, **params: Any) -> list[int]:
    given, found = carried_along(functools.partial(through, body), marks, constants, carries)
    return [*given[constants : constants + carries], *found[carries:]]


# -- forward ---------------------------------------------------------------------------------------------


def _sections(values: Sequence[Any], extras: Sequence[Any], *bounds: int) -> list[Any]:
    """Return the values of each section followed by the extras (None: none) of the same section."""
    result: list[Any] = []
    for start, stop in zip((0, *bounds), (*bounds, len(values)), strict=True):
        result += values[start:stop]
        result += [extra for extra in extras[start:stop] if extra is not None]
    return result


def _push(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    body: Graph,
    constants: int,
    carries: int,
    **params: Any,
) -> Any:
    """Carry the tangents along: the scan of the body pushed forward."""
    end = constants + carries
    active = _active(body, [tangent is not None for tangent in tangents], constants, carries)
    forced = active[constants:end] + [False] * (len(body.outputs) - carries)
    program, reached = pushed(body, active, forced)
    count = len(active)
    moving = [
        zeros(strong(type_)) if flag and tangent is None else tangent
        for tangent, flag, type_ in zip(tangents, active, body.input_types, strict=True)
    ]
    inputs = _sections(program.inputs[:count], spread(program.inputs[count:], active), constants, end)
    given = len(reached)
    outputs = _sections(program.outputs[:given], spread(program.outputs[given:], reached), carries)
    results = scan_primitive(
        *_sections(primals, moving, constants, end),
        body=part_of(program, inputs, outputs),
        constants=constants + sum(active[:constants]),
        carries=carries + sum(reached[:carries]),
        **params,
    )
    return _unsection(results, reached, carries)


def _unsection(
    results: Sequence[Any], reached: Sequence[bool], carries: int
) -> tuple[tuple[Any, ...], list[Any]]:
    """Take the results of a scan with tangents apart: outputs, tangents."""
    outputs: list[Any] = []
    tangents: list[Any] = []
    rest = list(results)
    for flags in (reached[:carries], reached[carries:]):
        count = len(flags) + sum(flags)
        mine, rest = rest[:count], rest[count:]
        outputs += mine[: len(flags)]
        tangents += spread(mine[len(flags) :], flags)
    return tuple(outputs), tangents


# -- reverse ---------------------------------------------------------------------------------------------


class _Residuals(NamedTuple):
    """The values of a step that the way back reads, by where they come from."""

    fixed: list[Var]
    """The same in each step: constants, and what is computed from them alone."""
    sliced: list[Var]
    """Slices that the scan takes anyway."""
    stacked: list[Var]
    """The rest: kept for each step."""

    def in_order(self) -> list[Var]:
        return self.fixed + self.sliced + self.stacked


def _residuals(way: Adjoint, constants: int, carries: int) -> _Residuals:
    inputs = parts(way.graph.inputs[: len(way.reached)], constants, carries)
    varying = depends_on(way.graph, inputs.carries + inputs.slices)
    needed = way.residuals()
    fixed = [var for var in needed if var not in varying]
    sliced = [var for var in needed if var in inputs.slices]
    return _Residuals(fixed, sliced, [var for var in needed if var in varying and var not in inputs.slices])


def _pull(
    primals: Sequence[Any],
    active: Sequence[bool],
    *,
    body: Graph,
    constants: int,
    carries: int,
    **params: Any,
) -> Any:
    """Scan forward, keeping what the way back reads; the pullback scans the other way round."""
    active = _active(body, active, constants, carries)
    way = adjoint(body, active)
    residuals = _residuals(way, constants, carries)
    inputs, outputs = way.graph.inputs[: len(active)], way.graph.outputs[: len(way.followed)]
    given = parts(primals, constants, carries)
    fixed = evaluate(part_of(way.graph, inputs[:constants], residuals.fixed), *given.constants)
    sliced = [given.slices[inputs[constants + carries :].index(var)] for var in residuals.sliced]
    forward = part_of(way.graph, inputs, (*outputs, *residuals.stacked))
    results = scan_primitive(*primals, body=forward, constants=constants, carries=carries, **params)
    types = list(map(type_of, results[: len(outputs)]))
    flags = parts(active, constants, carries)
    carrying = sum(flags.carries) + sum(flags.constants)
    back = {
        **params,
        "body": _backward(way, residuals, active, constants, carries),
        "constants": len(fixed),
        "carries": carrying,
        "reverse": not params["reverse"],
    }

    def walk(cotangents: Sequence[Any]) -> list[Any]:
        whole = [zeros(strong(t)) if one is None else one for one, t in zip(cotangents, types, strict=True)]
        carried = select(whole[:carries], flags.carries)
        rows = select(whole[carries:], way.followed[carries:])
        sums = [zeros(strong(t)) for t in select(body.input_types[:constants], flags.constants)]
        found = scan_primitive(*fixed, *carried, *sums, *sliced, *results[len(outputs) :], *rows, **back)
        of_carries, of_constants, of_slices = parts(found, len(carried), len(sums))
        return spread([*of_constants, *of_carries, *of_slices], active)

    return results[: len(outputs)], walk


def _backward(
    way: Adjoint, residuals: _Residuals, active: Sequence[bool], constants: int, carries: int
) -> Graph:
    """Return one step of the way back, to be scanned.

    Its constants are the fixed residuals; it carries the cotangents of the carries and the sums of those of the
    constants; it slices the other residuals and the cotangents of the stacked results; it gives those of the slices.
    """
    count, given = len(active), len(way.followed)
    arriving = way.graph.inputs[count:]
    step = part_of(way.graph, (*residuals.in_order(), *arriving), way.graph.outputs[given:])
    flags = parts(active, constants, carries)
    carrying, summing = sum(flags.carries), sum(flags.constants)
    types = way.graph.input_types[:count]

    def run(*values: Any) -> list[Any]:
        start = len(residuals.fixed)
        middle = start + carrying + summing
        end = middle + len(residuals.sliced) + len(residuals.stacked)
        carried, sums = values[start : start + carrying], values[start + carrying : middle]
        # A cotangent is carried for each active carry; a step reads those of the carries that it does not set anew.
        cotangents = select(spread(carried, flags.carries), way.followed[:carries])
        arrived = evaluate(step, *values[:start], *values[middle:end], *cotangents, *values[end:])
        found = spread(arrived, way.reached)
        totals = [
            total if one is None else total + one
            for total, one in zip(sums, select(found[:constants], flags.constants), strict=True)
        ]
        whole = [zeros(strong(t)) if one is None else one for one, t in zip(found, types, strict=True)]
        of = parts(whole, constants, carries)
        return [*select(of.carries, flags.carries), *totals, *select(of.slices, flags.slices)]

    carried_types = map(strong, select(types[constants : constants + carries], flags.carries))
    sum_types = map(strong, select(types[:constants], flags.constants))
    kept_types = [var.type for var in residuals.in_order()]
    start = len(residuals.fixed)
    row_types = [var.type for var in arriving[sum(way.followed[:carries]) :]]
    return stage(run, [*kept_types[:start], *carried_types, *sum_types, *kept_types[start:], *row_types])[0]


# -- batching --------------------------------------------------------------------------------------------


def _batch(
    op: Primitive, size: int, operands: Sequence[Any], batched: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    """Carry all examples along in each step."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    end = constants + carries
    flags = settled(functools.partial(spread_through, body), batched, constants, carries)
    forced = flags[constants:end] + [False] * (len(body.outputs) - carries)
    program, reached = mapped(body, size, flags, forced)
    given = parts(zip(operands, batched, flags, strict=True), constants, carries)
    columns = [_exchange(x) if before else x for x, before, _ in given.slices]
    carried = [repeated(x, size) if flag and not before else x for x, before, flag in given.carries]
    results = op(*(x for x, _, _ in given.constants), *carried, *columns, **{**params, "body": program})
    rows = [_exchange(x) if flag else x for x, flag in zip(results[carries:], reached[carries:], strict=True)]
    types = [*body.output_types[:carries], *map(strong, body.output_types[carries:])]
    return for_all((*results[:carries], *rows), reached, size, types)


def _exchange(value: Any) -> Any:
    """Exchange the axis of examples and the axis of steps, the first two."""
    return transpose(value, permutation=(1, 0, *range(2, len(shape_of(value)))))


def _source(*operands: str, body: Graph, constants: int, carries: int, length: int, **params: Any) -> str:
    fixed, carried, columns = (", ".join(part) for part in parts(operands, constants, carries))
    return f"scan(body, [{fixed}], [{carried}], [{columns}], length={length}, reverse={params['reverse']})"


scan_primitive = primitive(
    name="scan",
    doc=(
        "a program carried out `length` times: its operands are constants, values carried from step to step, and "
        "arrays sliced along their first axis; its results the last carries, and the other results of all steps stacked"
    ),
    type_rule=_type,
    evaluate=_evaluate,
    derivative=HigherOrder(_push, _pull, _reach),
    batch=_batch,
    lowering=HoldsPrograms(),
    source=_source,
    samples=None,
)
