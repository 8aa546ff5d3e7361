"""`bounded_scan`: a scan whose number of turns is known only when it runs, and never more than a bound.

It is the loop behind reverse mode through `while_loop`. Forward, it keeps the residuals of each turn, and ends when the
condition does not hold; backward, it takes as many turns as were taken forward.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.engine.control.cond import choose
from wengert.engine.control.scan_primitive import (
    batch_scan,
    exchange,
    extend_scan,
    infer_scan,
    parts,
    pull_scan,
    reach,
)
from wengert.engine.control.subgraphs import (
    Flags,
    Values,
    active_inputs,
    batch_results,
    batched_outputs,
    batched_types,
    may_raise,
    memoized,
    repeat,
)
from wengert.engine.control.values import check_same_types, strong
from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.comparison import greater, less, logical_and, logical_not, require_end, where
from wengert.engine.ops.reduction import reduce_any, reduce_max
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.algebras import Algebra
from wengert.engine.transforms.staging import evaluate, stage

#: The length of a scan without rows that ends when it is done.
ENDLESS = 2**62


def _infer(
    turns: TensorType,
    *types: TensorType,
    body: Graph,
    constants: int,
    carries: int,
    length: int,
    reverse: bool,
    stops: bool = False,
) -> tuple[TensorType, ...]:
    check_same_types("bounded_scan", "the number of turns", [turns], [TensorType(INT64, ())])
    if stops:
        first = types[constants : constants + min(carries, 2)]
        expected = [TensorType(BOOL, ()), TensorType(INT64, ())]
        check_same_types("bounded_scan", "the first carries", first, expected)
    return infer_scan(*types, body=body, constants=constants, carries=carries, length=length, reverse=reverse)


def _evaluate(
    turns: Any,
    *operands: Any,
    body: Graph,
    constants: int,
    carries: int,
    length: int,
    reverse: bool,
    stops: bool = False,
) -> tuple[Any, ...]:
    fixed, carry, columns = parts(operands, constants, carries)
    rows = [np.zeros((length, *type_.shape), type_.dtype) for type_ in body.output_types[carries:]]
    positions = range(min(turns, length))
    for position in reversed(positions) if reverse else positions:
        if stops and not carry[0]:
            break
        results = evaluate(body, *fixed, *carry, *(column[position] for column in columns))
        carry = results[:carries]
        for row, result in zip(rows, results[carries:], strict=True):
            row[position] = result
    return (*carry, *rows)


def _extend(algebra: Algebra, primals: Values, extras: Values, **params: Any) -> Any:
    run = functools.partial(bounded_scan_primitive, primals[0])
    return extend_scan(run, algebra, primals[1:], extras[algebra.size :], **params)


def pull_bounded(primals: Values, active: Flags, *, stops: bool = False, **params: Any) -> Any:
    """Scan forward and keep the residuals; the pullback takes as many turns in the opposite direction."""
    turns = primals[0]

    def run_back(results: Values) -> Any:
        taken = ended(params["length"], results[0], results[1]) if stops else turns
        return functools.partial(bounded_scan_primitive, taken, stops=False)

    run = functools.partial(bounded_scan_primitive, turns, stops=stops)
    begins = greater(turns, 0)
    if stops:
        begins = logical_and(begins, primals[1 + params["constants"]])
    outputs, pullback = pull_scan(
        run, run_back, primals[1:], active[1:], near=[turns], begins=begins, **params
    )
    return outputs, lambda cotangents: [None, *pullback(cotangents)]


def ended(most: int, going: Any, value: Any, operation: str = "while_loop", limit: str = "most") -> Any:
    """Return a value of a loop that has ended, or have the program raise `LimitError`."""
    requirement = (
        f"the loop must end after {limit}={most} turns; give a larger number, or look at why it does not end"
    )
    return require_end(value, logical_not(going), operation=operation, requirement=requirement)


# -- batching --------------------------------------------------------------------------------------------


def batch_bounded(
    op: Primitive, size: int, operands: Values, batched: Flags, params: Mapping[str, Any]
) -> Any:
    """Run until all examples are done if they disagree; examples that are done stay the same."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    flags = active_inputs(functools.partial(batched_outputs, body), batched[1:], constants, carries)
    if not batched[0] and not (params.get("stops") and flags[constants]):
        return batch_scan(functools.partial(op, operands[0]), size, operands[1:], batched[1:], params)
    guarded, changes, added = until_all_done(size, operands, batched, params)
    results = op(*guarded, **{**params, **changes})[added:]
    rows = [*results[:carries], *map(exchange, results[carries:])]
    types = [*body.output_types[:carries], *map(strong, body.output_types[carries:])]
    return batch_results(rows, [True] * len(rows), size, types)


def no_turns_elsewhere(
    counts: Any, turns: Any, *operands: Any, body: Graph, constants: int, stops: bool = False, **params: Any
) -> tuple[Any, ...]:
    """Return the operands of a scan that takes no turn for examples that do not count."""
    if stops:  # before the first turn it reads its first carry, as whoever asks whether it has ended does
        going = logical_and(counts, operands[constants])
        return turns, *operands[:constants], going, *operands[constants + 1 :]
    return where(counts, turns, 0) if may_raise(body) else turns, *operands


def until_all_done(
    size: int, operands: Values, batched: Flags, params: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any], int]:
    """Return the operands of a scan of all examples, its parameters that differ, and how many carries it adds first."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    reverse, stops = params["reverse"], bool(params.get("stops"))
    groups, before = parts(operands[1:], constants, carries), parts(batched[1:], constants, carries)
    carried = [x if flag else repeat(x, size) for x, flag in zip(groups.carries, before.carries, strict=True)]
    columns = [exchange(x) if flag else x for x, flag in zip(groups.slices, before.slices, strict=True)]
    most = reduce_max(operands[0], axes=(0,)) if batched[0] else operands[0]
    first = most - 1 if reverse else np.int64(0)
    going = [reduce_any(carried[0], axes=(0,))] if stops else []
    added = len(going) + 1
    changes = {
        "body": _guarded(body, size, batched[0], before.constants, before.slices, carries, reverse, stops),
        "constants": 1 + constants,
        "carries": added + carries,
    }
    return [most, operands[0], *groups.constants, *going, first, *carried, *columns], changes, added


@memoized
def _guarded(
    body: Graph,
    size: int,
    differ: bool,
    shared: Flags,
    sliced: Flags,
    carries: int,
    reverse: bool,
    stops: bool,
) -> Graph:
    """Return the step that changes only the examples that take the turn.

    Its first constant is the number of turns, of each example where they ``differ``. Its first carries are whether any
    example goes on, if the scan stops, and the number of the row. ``shared`` and ``sliced`` say which constants and
    slices have an axis of examples. Rows of the other examples are what the step computes of their last state: a pass
    backward runs on them, too, and a matrix of zeros would be singular there.
    """
    constants, flags = len(shared), [*shared, *[True] * carries, *sliced]
    idle = Graph(body.inputs, (), (), body.inputs[constants : constants + carries])
    leading = 1 + stops

    def step(turns: Any, *values: Any) -> list[Any]:
        fixed, varying = values[:constants], values[constants:]
        number, carried = varying[leading - 1], varying[leading:]
        taken = less(number, turns)
        if stops:
            taken = logical_and(taken, carried[0])
        results = choose(size, taken, (body, idle), [*fixed, *carried], flags)
        going = [reduce_any(results[0], axes=(0,))] if stops else []
        return [*going, number - 1 if reverse else number + 1, *results]

    inputs = batched_types(body.input_types, size, flags)
    number, going = TensorType(INT64, ()), [TensorType(BOOL, ())] if stops else []
    turns = batched_types([number], size, [differ])
    return stage(step, [*turns, *inputs[:constants], *going, number, *inputs[constants:]])[0]


def _source(
    turns: str, *operands: str, body: Graph, constants: int, carries: int, reverse: bool, **params: Any
) -> str:
    fixed, carried, columns = (", ".join(part) for part in parts(operands, constants, carries))
    arguments = f"{turns}, [{fixed}], [{carried}], [{columns}]"
    return f"bounded_scan(body, {arguments}, length={params['length']}, reverse={reverse}, stops={params['stops']})"


bounded_scan_primitive = primitive(
    name="bounded_scan",
    doc=(
        "a scan over the first rows of its operands: the first operand is the number of turns, `length` at most. One "
        "that `stops` ends before a turn for which its first carry is false, and its second carry counts the turns. "
        "Stacked results of turns that do not happen are not specified"
    ),
    type_rule=_infer,
    evaluate=_evaluate,
    derivative=HigherOrder(
        extend=_extend,
        pull=pull_bounded,
        reach=lambda marks, stops=False, **params: reach(marks[1:], **params),
    ),
    batch=batch_bounded,
    lowering=ControlFlow(),
    source=_source,
    samples=None,
    unchecked=no_turns_elsewhere,
)
