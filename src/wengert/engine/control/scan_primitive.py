"""The primitive behind `scan`, and the rules that other loops share with it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.control.invariant_reads import with_invariant_reads
from wengert.engine.control.lasting import lasting_reads
from wengert.engine.control.recomputed import computed_again
from wengert.engine.control.rereads import NOTHING, Array, Lasting, Reread, reading
from wengert.engine.control.rounding import Bits, decisive, differing
from wengert.engine.control.scopes import steps
from wengert.engine.control.subgraphs import (
    Adjoint,
    Flags,
    Values,
    active_inputs,
    adjoint_graph,
    batch_graph,
    batch_results,
    batched_outputs,
    dependents,
    each_part,
    evaluate_if,
    extended_graph,
    fixed_point,
    have_parts,
    may_raise,
    or_zero,
    propagate,
    read_inputs,
    repeat,
    select,
    spread,
    subgraph,
    types_of_parts,
    unchecked_graph,
)
from wengert.engine.control.tapes import Threaded, free_of, recorder
from wengert.engine.control.values import check_same_types, program_types, strong, zeros
from wengert.engine.core.errors import GraphError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.shape import transpose
from wengert.engine.primitive import HigherOrder, primitive
from wengert.engine.transforms.algebras import Algebra
from wengert.engine.transforms.staging import GraphTrace, evaluate, stage

# -- the primitive ---------------------------------------------------------------------------------------


Run = Callable[..., Any]
"""Carries out a scan: ``(*operands, **params) -> results``."""


class Parts(NamedTuple):
    """The operands of a scan, or a value for each operand."""

    constants: list[Any]
    carries: list[Any]
    slices: list[Any]


def parts(values: Iterable[Any], constants: int, carries: int) -> Parts:
    """Split the operands of a scan, or a value for each."""
    operands = list(values)
    stop = constants + carries
    return Parts(operands[:constants], operands[constants:stop], operands[stop:])


def infer_scan(
    *types: TensorType, body: Graph, constants: int, carries: int, length: int, reverse: bool, unroll: int = 1
) -> tuple[TensorType, ...]:
    """Return the types of the results of a scan."""
    groups = parts(types, constants, carries)
    if min(constants, carries, length) < 0 or any(type_.shape[:1] != (length,) for type_ in groups.slices):
        requirement = f"the slices must have {length} rows, and the operands be counted"
        raise GraphError(message("scan", requirement, show(*types)))
    rows = [TensorType(type_.dtype, type_.shape[1:]) for type_ in groups.slices]
    outputs = program_types("scan", body, [*groups.constants, *groups.carries, *rows])
    check_same_types("scan", "the first results of a step", outputs[:carries], groups.carries)
    stacked = (TensorType(type_.dtype, (length, *type_.shape)) for type_ in outputs[carries:])
    return (*outputs[:carries], *stacked)


def _evaluate(
    *operands: Any, body: Graph, constants: int, carries: int, length: int, reverse: bool, unroll: int = 1
) -> tuple[Any, ...]:
    fixed, carry, columns = parts(operands, constants, carries)
    rows = [np.empty((length, *type_.shape), type_.dtype) for type_ in body.output_types[carries:]]
    for position in reversed(range(length)) if reverse else range(length):
        results = evaluate(body, *fixed, *carry, *(column[position] for column in columns))
        carry = results[:carries]
        for row, result in zip(rows, results[carries:], strict=True):
            row[position] = result
    return (*carry, *rows)


def reach(marks: Sequence[int], *, body: Graph, constants: int, carries: int, **params: Any) -> list[int]:
    """Return the marks of the results of a scan, given those of its operands."""
    input_marks, results = fixed_point(functools.partial(propagate, body), marks, constants, carries)
    return [*input_marks[constants : constants + carries], *results[carries:]]


# -- algebras --------------------------------------------------------------------------------------------


def _sections(values: Values, extras: Values, *bounds: int) -> list[Any]:
    """Return the values of each section, followed by the extras (without None) of the same section."""
    size = len(extras) // max(len(values), 1)
    result: list[Any] = []
    for start, stop in zip((0, *bounds), (*bounds, len(values)), strict=True):
        result += values[start:stop]
        result += [extra for extra in extras[start * size : stop * size] if extra is not None]
    return result


def extend_scan(
    run: Run,
    algebra: Algebra,
    primals: Values,
    extras: Values,
    *,
    body: Graph,
    constants: int,
    carries: int,
    **params: Any,
) -> Any:
    """Carry the parts of elements of an algebra along in a scan that ``run`` carries out."""
    count, results, end = len(body.inputs), len(body.outputs), constants + carries
    step = functools.partial(propagate, body)
    active = active_inputs(step, have_parts(extras, count), constants, carries)
    carrying = [constants <= i < end and flag for i, flag in enumerate(active)]
    types = types_of_parts(algebra, body.input_types)
    moving = [
        or_zero(part, type_) if flag else part
        for part, type_, flag in zip(extras, types, each_part(algebra, carrying), strict=True)
    ]
    moving[algebra.size * end :] = _by_step(algebra, moving[algebra.size * end :])
    present = [part is not None for part in moving]
    forced = each_part(algebra, active[constants:end] + [False] * (results - carries))
    program, reached = extended_graph(body, algebra, present, forced)
    inputs = _sections(program.inputs[:count], spread(program.inputs[count:], present), constants, end)
    outputs = _sections(program.outputs[:results], spread(program.outputs[results:], reached), carries)
    split = algebra.size * carries
    values = run(
        *_sections(primals, moving, constants, end),
        body=subgraph(program, inputs, outputs),
        constants=constants + sum(present[: algebra.size * constants]),
        carries=carries + sum(reached[:split]),
        **params,
    )
    last, tail = carries + sum(reached[:split]), results + sum(reached[:split])
    moved = [*values[carries:last], *values[tail:]]
    moved = spread(moved, reached)
    return (*values[:carries], *values[last:tail]), [*moved[:split], *_by_step(algebra, moved[split:])]


def _by_step(algebra: Algebra, extras: Values) -> list[Any]:
    """Return parts of sequences with the axis of steps first and that of directions second, or the reverse."""
    leading = itertools.cycle(algebra.leading)
    return [
        exchange(part) if axes and part is not None else part
        for part, axes in zip(extras, leading, strict=False)
    ]


# -- reverse mode ----------------------------------------------------------------------------------------


class Residuals(NamedTuple):
    """The values of a step that the backward pass reads."""

    fixed: list[Var]
    """The same in each step: constants, and values computed from constants alone."""
    final: list[Var]
    """What the tapes hold after all steps."""
    arrays: dict[Array, Var]
    """Arrays after all steps of the loop that carries them."""
    rereads: list[Reread]
    """What is read of these instead of the arrays of the step."""
    sliced: list[Var]
    """Slices of the operands."""
    stacked: list[Var]
    """The others, kept for each step."""

    def in_order(self) -> list[Var]:
        """Return all of them as the backward pass takes them."""
        return self.fixed + self.final + [*self.arrays.values()] + self.sliced + self.stacked


def residuals_of(adjoint: Adjoint, constants: int, carries: int) -> Residuals:
    """Return what the backward pass of a loop reads, given its step with a backward pass."""
    inputs = parts(adjoint.graph.inputs[: len(adjoint.reached)], constants, carries)
    varying = dependents(adjoint.graph, inputs.carries + inputs.slices + adjoint.before)
    needed = adjoint.residuals()
    fixed = [var for var in needed if var not in varying]
    sliced = [var for var in needed if var in inputs.slices]
    stacked = [var for var in needed if var in varying and var not in inputs.slices]
    return Residuals(fixed, adjoint.final, adjoint.arrays, [], sliced, stacked)


#: A loop of more turns keeps its counters.
_MOST_NUMBERS = 1 << 20
#: A pass backward over known values is carried out while a program is traced if it has at most so many operations.
_MOST_CARRIED_OUT = 2_000


def without_known(
    residuals: Residuals,
    adjoint: Adjoint,
    constants: int,
    carries: int,
    free: Flags,
    counters: Collection[Var],
) -> tuple[Residuals, list[Var]]:
    """Return the residuals of a loop without those that a turn backward computes again, and the counters it needs.

    Args:
        residuals: all that the pass backward reads.
        adjoint: the step with its backward pass.
        constants: the number of operands that are the same in each turn.
        carries: the number of carries.
        free: the operands from which the pass backward reads at no cost.
        counters: carries that follow from the number of the turn.
    """
    graph, inputs = adjoint.graph, adjoint.graph.inputs[: len(adjoint.reached)]
    groups = parts(inputs, constants, carries)
    varying = dependents(graph, [*groups.carries, *groups.slices, *adjoint.before])
    forward = [var for equation in graph.equations[: adjoint.split] for var in equation.outputs]
    known = {var for var in (*groups.constants, *forward) if var not in varying}
    exact, bits = decisive(graph, adjoint.split), differing(graph.equations[: adjoint.split], inputs)
    rounded = [var for var in residuals.fixed if var in exact and bits[var] is Bits.OTHERS]
    given = {*known, *groups.slices, *counters}.difference(rounded)
    stacked, leaves, rereads = computed_again(
        graph, adjoint.split, [*residuals.stacked, *rounded], given, select(inputs, free), adjoint.rereads
    )
    same = (var for var in residuals.fixed if var not in rounded)
    fixed = dict.fromkeys([*same, *(var for var in leaves if var in known)])
    sliced = dict.fromkeys([*residuals.sliced, *(var for var in leaves if var in groups.slices)])
    numbers = [var for var in leaves if var in counters]
    arrays = {**{of: Var(array.type) for _, _, array, of in rereads}, **residuals.arrays}
    found = Residuals(list(fixed), residuals.final, arrays, rereads, [*sliced, *numbers], stacked)
    return found, numbers


def counters_of(body: Graph, adjoint: Adjoint, constants: int, firsts: Values) -> dict[Var, tuple[int, int]]:
    """Return the carries that begin with a known number and to which each turn adds another one, with both."""
    carries = parts(adjoint.graph.inputs[: len(adjoint.reached)], constants, len(firsts)).carries
    return {
        carries[n]: (int(firsts[n]), step)
        for n, step in steps(body, constants, len(firsts)).items()
        if isinstance(firsts[n], (int, np.integer))
    }


def free_operands(count: int, constants: int, carries: int) -> list[bool]:
    """Return which operands of a loop the pass backward reads at no cost where it has all operands: all but carries."""
    return [not constants <= place < constants + carries for place in range(count)]


def stacked_residuals(body: Graph, active: Flags, constants: int, carries: int) -> list[TensorType]:
    """Return the types of the residuals of a turn that a scan stacks whose operands are kept."""
    free = free_operands(len(active), constants, carries)
    adjoint = adjoint_graph(body, active, free)
    residuals = residuals_of(adjoint, constants, carries)
    residuals, _ = without_known(residuals, adjoint, constants, carries, free, ())
    return [var.type for var in residuals.stacked]


def carries_of_residuals(body: Graph, active: Flags, constants: int, carries: int) -> list[bool]:
    """Return which carries the residuals of any turn depend on: the pass backward reads no others."""
    needed = [False] * carries
    for free in ((), free_operands(len(active), constants, carries)):
        adjoint = adjoint_graph(body, active, free)
        read = [*adjoint.residuals(), *adjoint.after]
        found = parts(read_inputs(adjoint.graph, read), constants, carries).carries
        needed = list(map(max, needed, found))
    while True:
        outputs = select(body.outputs[:carries], needed)
        read = parts(read_inputs(body, outputs), constants, carries).carries
        grown = list(map(max, needed, read))
        if grown == needed:
            return grown
        needed = grown


def _read_backward(
    body: Graph,
    adjoint: Adjoint,
    primals: Values,
    constants: int,
    carries: int,
    free: Flags,
    begins: Any,
    params: Mapping[str, Any],
) -> tuple[Residuals, list[Any], list[Any]]:
    """Return the residuals of a loop, and the values of those that stay the same and of those that are slices."""
    counters: dict[Var, tuple[int, int]] = {}
    if not params["reverse"] and params["length"] <= _MOST_NUMBERS:
        counters = counters_of(body, adjoint, constants, primals[constants : constants + carries])
    residuals = residuals_of(adjoint, constants, carries)
    residuals, needed = without_known(residuals, adjoint, constants, carries, free, counters)
    numbers = {var: counters[var] for var in needed}
    length = params["length"]
    begins = begins if length else False
    known = _known_residuals(adjoint, residuals, numbers, primals, constants, carries, length, begins)
    return residuals, *known


def pull_scan(
    run: Run,
    run_back: Callable[[Values], Run],
    primals: Values,
    active: Flags,
    *,
    body: Graph,
    constants: int,
    carries: int,
    unread: Flags = (),
    near: Values = (),
    is_kept: bool = False,
    begins: Any = True,
    **params: Any,
) -> Any:
    """Scan forward and keep the residuals; the pullback scans in the opposite direction.

    Carries that are ``unread``, by the caller and by the pass backward, stay. New tapes are made ``near`` some values
    and the operands. Operands that are kept cost the pass backward nothing. No turn happens where none ``begins``.
    """
    active = active_inputs(functools.partial(propagate, body), active, constants, carries)
    free = _free(primals, constants, carries, is_kept)
    starts = () if is_kept or any(unread) else primals[constants : constants + carries]
    body, lasting = _read_before_and_after(body, starts, constants, params["length"])
    adjoint, sizes = adjoint_graph(body, active, free, lasting), (constants, carries)
    residuals, fixed, sliced = _read_backward(body, adjoint, primals, *sizes, free, begins, params)
    tapes, end = Threaded(adjoint.tapes, [*near, *primals]), constants + carries
    forward = _forward_step(adjoint, residuals, unread, constants, carries)
    last, count = carries + len(adjoint.after), len(adjoint.followed)
    operands = *primals[:end], *tapes.before, *primals[end:]
    results = run(*operands, **params, body=forward, constants=constants, carries=last)
    back_scan, final = run_back(results), tapes.end(results[carries:last])
    arrays = [_array(of, body, results) for of in residuals.arrays]
    results = *tapes.checked(results[:carries], final), *results[last:]
    types, flags = list(map(type_of, results[:count])), parts(active, constants, carries)
    back: dict[str, Any] = {
        **params,
        "body": backward_step(adjoint, residuals, active, constants, carries),
        "constants": len(fixed) + len(final) + len(arrays),
        "carries": sum(flags.carries) + sum(flags.constants),
        "reverse": not params["reverse"],
    }

    def pullback(cotangents: Values) -> list[Any]:
        filled = [or_zero(ct, type_) for ct, type_ in zip(cotangents, types, strict=True)]
        carried = select(filled[:carries], flags.carries)
        rows = select(filled[carries:], adjoint.followed[carries:])
        sums = list(map(zeros, select(body.input_types[:constants], flags.constants)))
        given = [*fixed, *final, *arrays, *carried, *sums, *sliced, *results[count:], *rows]
        made = tapes.checked(back_scan(*_staged_with(results, given, **back), **back), final)
        of_carries, of_constants, of_slices = parts(made, len(carried), len(sums))
        return spread([*of_constants, *of_carries, *of_slices], active)

    return results[:count], pullback


def _free(primals: Values, constants: int, carries: int, is_kept: bool) -> list[bool]:
    """Return which operands of a loop the pass backward reads at no cost; ``is_kept`` says that it has them all."""
    free = free_operands(len(primals), constants, carries)
    return free if is_kept else [flag and found for flag, found in zip(free, free_of(primals), strict=True)]


def _read_before_and_after(body: Graph, starts: Values, constants: int, length: int) -> tuple[Graph, Lasting]:
    """Return a loop's body in which loops inside read before them what they can, and what lasts to the end of all.

    Args:
        body: of the loop.
        starts: its carries before the first turn; none where it is a part of a loop, or does not carry all.
        constants: the number of operands that are the same in each turn.
        length: the largest number of turns.
    """
    around = recorder()
    if not starts or around is not None:
        return body, around.lasting if starts and around is not None else NOTHING
    body = with_invariant_reads(body, constants, length, _known(starts))
    return body, lasting_reads(body, constants, length, _known(starts))


def _known(values: Values) -> list[int | None]:
    """Return the integers among values that are known, None for the others."""
    return [int(x) if isinstance(x, (int, np.integer)) else None for x in values]


def _array(of: Array, body: Graph, results: Values) -> Any:
    """Return the array that the loop with a body, which has these results, or a loop around it, carries to its end."""
    loop, place = of
    if loop is body:
        return results[place]
    around = recorder()
    assert around is not None
    return around.array(of)


def _operations(body: Graph) -> int:
    """Return how many operations a step carries out, those of scans inside included."""
    inner = (
        equation.params.get("length", 1) * sum(map(_operations, equation.graphs()))
        for equation in body.equations
    )
    return len(body.equations) + sum(inner)


def _staged_with(
    results: Values, operands: list[Any], *, body: Graph, length: int, **params: Any
) -> list[Any]:
    """Return the operands of a long scan, one of which belongs to the program that is traced, if there is one.

    The derivative of a linear loop needs no value that only a run knows; NumPy would carry out each turn while the
    program is traced.

    Args:
        results: what the loop has made.
        operands: of the pass backward.
        body: its step.
        length: how many steps it has.
        params: its other parameters.
    """
    if length * _operations(body) <= _MOST_CARRIED_OUT:
        return operands
    owners = (result.owner for result in results if isinstance(result, Box))
    trace = next((owner for owner in owners if isinstance(owner, GraphTrace)), None)
    if trace is None or any(isinstance(operand, Box) for operand in operands):
        return operands
    place = next((n for n, operand in enumerate(operands) if shape_of(operand)), None)
    if place is not None:
        operands[place] = trace.constant(operands[place])
    return operands


def _forward_step(
    adjoint: Adjoint, residuals: Residuals, unread: Flags, constants: int, carries: int
) -> Graph:
    """Return one step of the forward scan: it carries the tapes, too, and returns residuals."""
    end = constants + carries
    inputs, outputs = adjoint.graph.inputs[: len(adjoint.reached)], [*adjoint.graph.outputs]
    for place in select(range(len(unread)), unread):
        outputs[place] = inputs[constants + place]
    return subgraph(
        adjoint.graph,
        (*inputs[:end], *adjoint.before, *inputs[end:]),
        (
            *outputs[:carries],
            *adjoint.after,
            *outputs[carries : len(adjoint.followed)],
            *residuals.stacked,
        ),
    )


def _known_residuals(
    adjoint: Adjoint,
    residuals: Residuals,
    numbers: Mapping[Var, tuple[int, int]],
    primals: Values,
    constants: int,
    carries: int,
    length: int,
    begins: Any,
) -> tuple[list[Any], list[Any]]:
    """Return the fixed residuals and the sliced ones, counters among them, without carrying out a turn."""
    inputs = adjoint.graph.inputs[: len(primals)]
    groups = parts(primals, constants, carries)
    program = subgraph(adjoint.graph, inputs[:constants], residuals.fixed)
    fixed = evaluate_if(begins, program, groups.constants)
    slices = dict(zip(inputs[constants + carries :], groups.slices, strict=True))
    turns = np.arange(length if numbers else 0)
    slices.update((var, first + step * turns) for var, (first, step) in numbers.items())
    return fixed, [slices[var] for var in residuals.sliced]


def backward_step(
    adjoint: Adjoint, residuals: Residuals, active: Flags, constants: int, carries: int
) -> Graph:
    """Return one step of the backward scan.

    Its constants are the fixed residuals and the tapes. It carries the cotangents of the carries and the sums of the
    cotangents of the constants. It slices the other residuals and the cotangents of the stacked results, and returns
    the cotangents of the slices.
    """
    count, followed_count = len(active), len(adjoint.followed)
    arriving = adjoint.graph.inputs[count:]
    graph = reading(adjoint.graph, residuals.rereads, residuals.arrays)
    step = subgraph(graph, (*residuals.in_order(), *arriving), graph.outputs[followed_count:])
    flags = parts(active, constants, carries)
    carrying, summing = sum(flags.carries), sum(flags.constants)
    types = adjoint.graph.input_types[:count]
    start = len(residuals.fixed) + len(residuals.final) + len(residuals.arrays)

    def run(*values: Any) -> list[Any]:
        middle = start + carrying + summing
        end = middle + len(residuals.sliced) + len(residuals.stacked)
        carried, sums = values[start : start + carrying], values[start + carrying : middle]
        # Each active carry has a cotangent; a step reads those of the carries that depend on its active inputs.
        cotangents = select(spread(carried, flags.carries), adjoint.followed[:carries])
        results = evaluate(step, *values[:start], *values[middle:end], *cotangents, *values[end:])
        cotangents = spread(results, adjoint.reached)
        terms = zip(sums, select(cotangents[:constants], flags.constants), strict=True)
        totals = [total if term is None else total + term for total, term in terms]
        of = parts(map(or_zero, cotangents, types), constants, carries)
        return [*select(of.carries, flags.carries), *totals, *select(of.slices, flags.slices)]

    carried_types = map(strong, select(types[constants : constants + carries], flags.carries))
    sum_types = map(strong, select(types[:constants], flags.constants))
    kept_types = [var.type for var in residuals.in_order()]
    row_types = [var.type for var in arriving[sum(adjoint.followed[:carries]) :]]
    return stage(run, [*kept_types[:start], *carried_types, *sum_types, *kept_types[start:], *row_types])[0]


# -- batching --------------------------------------------------------------------------------------------


def batch_scan(run: Run, size: int, operands: Values, batched: Flags, params: Mapping[str, Any]) -> Any:
    """Scan all examples at once."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    end = constants + carries
    flags = active_inputs(functools.partial(batched_outputs, body), batched, constants, carries)
    forced = flags[constants:end] + [False] * (len(body.outputs) - carries)
    program, reached = batch_graph(body, size, flags, forced)
    groups = parts(zip(operands, batched, flags, strict=True), constants, carries)
    columns = [exchange(x) if before else x for x, before, _ in groups.slices]
    carried = [repeat(x, size) if flag and not before else x for x, before, flag in groups.carries]
    results = run(*(x for x, _, _ in groups.constants), *carried, *columns, **{**params, "body": program})
    rows = [exchange(x) if flag else x for x, flag in zip(results[carries:], reached[carries:], strict=True)]
    types = [*body.output_types[:carries], *map(strong, body.output_types[carries:])]
    return batch_results((*results[:carries], *rows), reached, size, types)


def _unchecked(counts: Any, operands: Values, params: dict[str, Any]) -> tuple[Values, dict[str, Any]]:
    """Give the step one more constant: whether the example counts."""
    body = params["body"]
    if not may_raise(body):
        return operands, params
    changed = {**params, "body": unchecked_graph(body), "constants": 1 + params["constants"]}
    return [counts, *operands], changed


def exchange(value: Any) -> Any:
    """Return a value with its first two axes exchanged: those of examples and of steps."""
    return transpose(value, permutation=(1, 0, *range(2, len(shape_of(value)))))


def _source(*operands: str, body: Graph, constants: int, carries: int, length: int, **params: Any) -> str:
    fixed, carried, columns = (", ".join(part) for part in parts(operands, constants, carries))
    return f"scan(body, [{fixed}], [{carried}], [{columns}], length={length}, reverse={params['reverse']})"


scan_primitive = primitive(
    name="scan",
    doc=(
        "a program that runs `length` times: its operands are constants, carries, and arrays sliced along their first "
        "axis; its results are the last carries, and the other results of all steps, stacked"
    ),
    type_rule=infer_scan,
    evaluate=_evaluate,
    derivative=HigherOrder(
        extend=lambda algebra, primals, extras, **params: extend_scan(
            scan_primitive, algebra, primals, extras, **params
        ),
        pull=lambda primals, active, **params: pull_scan(
            scan_primitive, lambda results: scan_primitive, primals, active, **params
        ),
        reach=reach,
    ),
    batch=batch_scan,
    lowering=ControlFlow(),
    source=_source,
    samples=None,
    unchecked_programs=_unchecked,
)
