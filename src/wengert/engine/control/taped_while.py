"""Reverse mode through a while loop inside of another loop: it writes what the pass backward reads on a tape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from wengert.engine.control.scan_primitive import Residuals, backward_step, residuals_of, without_known
from wengert.engine.control.subgraphs import (
    Adjoint,
    Flags,
    Values,
    active_inputs,
    adjoint_graph,
    evaluate_if,
    memoized,
    or_zero,
    propagate,
    select,
    spread,
    subgraph,
)
from wengert.engine.control.tapes import COUNT, Tape, Threaded, free_of, have_room, tape_of, types_of_tapes
from wengert.engine.control.values import zeros
from wengert.engine.core.dtypes import INT64
from wengert.engine.ir.graph import Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ops.arithmetic import add
from wengert.engine.ops.comparison import greater_equal, less, logical_and
from wengert.engine.ops.indexing import gather, scatter
from wengert.engine.transforms.staging import evaluate, stage


def pull_taped(
    run: Callable[..., Any],
    primals: Values,
    active: Flags,
    condition: Graph,
    body: Graph,
    tested: int,
    fixed: int,
    **limits: Any,
) -> Any:
    """Run a while loop that writes a row of its tape in each turn; the pullback reads these rows in the other order.

    The loop ends before a turn for which a tape has no room: whoever began the tapes has the program raise an error.
    """
    count = len(body.outputs)
    flags = tuple(active_inputs(functools.partial(propagate, body), active[tested:], fixed, count))
    free = *free_of(primals[tested : tested + fixed]), *[False] * count
    tapes = _tapes(body, flags, free, fixed)
    threaded = Threaded(tapes, primals)
    results = run(
        *primals,
        *threaded.before,
        condition=_condition(condition, tuple(tapes)),
        body=_forward(body, flags, free, fixed),
        tested=tested,
        fixed=fixed,
        **limits,
    )
    start, end = threaded.before[0], results[count]
    final = threaded.end(results[count:])
    constants = _constants(body, flags, free, primals[tested : tested + fixed], less(start, end))
    types = list(map(type_of, results[:count]))

    def pullback(cotangents: Values) -> list[Any]:
        carrying, summing = flags[fixed:], flags[:fixed]
        carried = select([or_zero(x, t) for x, t in zip(cotangents, types, strict=True)], carrying)
        sums = list(map(zeros, select(body.input_types[:fixed], summing)))
        operands = *constants, *final[1:]
        pulled = run(
            start,
            *operands,
            end - 1,
            *carried,
            *sums,
            condition=_is_left([type_of(x) for x in (*carried, *sums)]),
            body=_backward(body, flags, free, fixed),
            tested=1,
            fixed=len(operands),
            **limits,
        )
        of_carries, of_sums = pulled[1 : 1 + len(carried)], pulled[1 + len(carried) :]
        return [*[None] * tested, *spread([*of_sums, *of_carries], flags)]

    return tuple(results[:count]), pullback


def _residuals(adjoint: Adjoint, free: Flags, fixed: int, carries: int) -> Residuals:
    """Return what the pass backward reads."""
    residuals = residuals_of(adjoint, fixed, carries)
    return without_known(residuals, adjoint, fixed, carries, free, ())[0]


def _constants(body: Graph, active: Flags, free: Flags, operands: Values, begins: Any) -> list[Any]:
    """Return what the pass backward reads that is the same in each turn, given the operands that are.

    It raises no error where no turn begins.
    """
    adjoint, fixed = adjoint_graph(body, active, free), len(operands)
    needed = _residuals(adjoint, free, fixed, len(body.outputs)).fixed
    return evaluate_if(begins, subgraph(adjoint.graph, adjoint.graph.inputs[:fixed], needed), operands)


def _tapes(body: Graph, active: Flags, free: Flags, fixed: int) -> list[Tape]:
    """Return the tape of a loop with a body, and those of the loops in it."""
    adjoint = adjoint_graph(body, active, free)
    kept = _residuals(adjoint, free, fixed, len(body.outputs)).stacked
    return [tape_of([var.type for var in kept]), *adjoint.tapes]


@memoized
def _condition(condition: Graph, tapes: tuple[Tape, ...]) -> Graph:
    """Return the condition that another turn follows, and that all tapes have room for it."""
    count, types = len(condition.inputs), types_of_tapes(tapes)

    def run(*values: Any) -> list[Any]:
        (going,) = evaluate(condition, *values[:count])
        return [logical_and(going, have_room(tapes, values[count:]))]

    return stage(run, [*condition.input_types, *types])[0]


@memoized
def _forward(body: Graph, active: Flags, free: Flags, fixed: int) -> Graph:
    """Return the body that writes on the tapes, too."""
    adjoint, count = adjoint_graph(body, active, free), len(body.outputs)
    kept = _residuals(adjoint, free, fixed, count).stacked
    inputs = adjoint.graph.inputs[: len(active)]
    outputs = adjoint.graph.outputs[:count]
    forward = subgraph(adjoint.graph, (*inputs, *adjoint.before), (*outputs, *adjoint.after, *kept))
    number, *arrays = map(Var, _tapes(body, active, free, fixed)[0].parts())
    written = {var: (array, Var(array.type)) for var, array in zip(kept, arrays, strict=True)}

    def write(variables: Sequence[Var]) -> list[Equation]:
        found = [(var, *written[var]) for var in variables if var in written]
        return [Equation(scatter.name, (before, var, number), (after,)) for var, before, after in found]

    equations = write(forward.inputs)
    for equation in forward.equations:  # a later one may write in the place of what is kept
        equations += [equation, *write(equation.outputs)]
    following = Var(COUNT)
    equations.append(Equation(add.name, (number, Literal(1, TensorType(INT64, (), True))), (following,)))
    return Graph(
        (*inputs, number, *arrays, *adjoint.before),
        forward.constants,
        tuple(equations),
        (*outputs, following, *(after for _, after in written.values()), *adjoint.after),
    )


@memoized
def _backward(body: Graph, active: Flags, free: Flags, fixed: int) -> Graph:
    """Return a turn of the pass backward, which first carries the number of its row."""
    adjoint = adjoint_graph(body, active, free)
    residuals = _residuals(adjoint, free, fixed, len(body.outputs))
    step = backward_step(adjoint, residuals, active, fixed, len(body.outputs))
    constants, kept = len(residuals.fixed), len(residuals.stacked)
    (own, *_), types = _tapes(body, active, free, fixed), list(step.input_types)
    first = constants + kept + len(adjoint.final)
    carried = types[constants + len(adjoint.final) : len(types) - kept]

    def run(*values: Any) -> list[Any]:
        known, arrays, inner = (
            values[:constants],
            values[constants : constants + kept],
            values[constants + kept : first],
        )
        number, *moving = values[first:]
        rows = (gather(array, number) for array in arrays)
        return [number - 1, *evaluate(step, *known, *inner, *moving, *rows)]

    inner_types = types[constants : constants + len(adjoint.final)]
    return stage(run, [*types[:constants], *own.parts()[1:], *inner_types, COUNT, *carried])[0]


def _is_left(types: Any) -> Graph:
    """Return the condition that a row is left."""
    return stage(lambda start, number, *_: [greater_equal(number, start)], [COUNT, COUNT, *types])[0]
