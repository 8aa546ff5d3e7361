"""`checkpointed_scan`: a scan that reverse mode carries out again in parts, with a budget of memory for its states."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from wengert.boxes import running, state_of
from wengert.control.bounded_scan import batch_bounded, bounded_scan_primitive, until_all_done
from wengert.control.revolve import recomputing_adjoint
from wengert.control.scan_primitive import exchange, infer_scan, parts, push_scan, reach
from wengert.control.subgraphs import (
    Flags,
    Values,
    active_inputs,
    adjoint_graph,
    batch_graph,
    batch_results,
    cotangents_or_zeros,
    evaluate_jvp,
    or_zero,
    propagate,
    repeat,
    select,
    spread,
)
from wengert.control.values import strong
from wengert.core.dtypes import is_inexact
from wengert.core.errors import LimitError, message
from wengert.ir.graph import Graph
from wengert.ir.types import TensorType, type_of
from wengert.nest.lowering import ControlFlow
from wengert.primitive import HigherOrder, Primitive, primitive
from wengert.transforms.arguments import release
from wengert.transforms.reverse_mode import walk_back
from wengert.transforms.staging import evaluate, stage
from wengert.transforms.tape import Node, TapeTrace, boxes_of


def checkpoint_count(body: Graph, active: Flags, constants: int, carries: int, max_bytes: int) -> int:
    """Return how many states of a loop a budget holds, beside the residuals of one turn, or raise `LimitError`."""
    state = sum(map(_bytes, body.input_types[constants : constants + carries]))
    residuals = sum(_bytes(var.type) for var in adjoint_graph(body, active).residuals())
    count = (max_bytes - residuals) // max(state, 1)
    if count < 1:
        got = f"{max_bytes:,} for a state of {state:,} and residuals of {residuals:,} bytes of one turn"
        hint = f"give {state + residuals:,} or more; each further state saves turns"
        raise LimitError(
            message("max_bytes", "the budget must hold a state and the residuals of a turn", got, hint)
        )
    return count


def _bytes(type_: TensorType) -> int:
    size = type_.dtype.itemsize
    for extent in type_.shape:
        size *= extent
    return size


def _push(primals: Values, tangents: Values, **params: Any) -> Any:
    run = functools.partial(checkpointed_scan_primitive, primals[0])
    return push_scan(run, primals[1:], tangents[1:], **params)


def _pull(primals: Values, active: Flags, **params: Any) -> Any:
    """Scan without keeping anything; the pullback carries out the turns again."""
    outputs = checkpointed_scan_primitive(*primals, **params)
    return outputs, pullback_of(primals, active, **params)


def pullback_of(primals: Values, active: Flags, **params: Any) -> Any:
    """Return the function from the cotangents of a loop's results to those of its operands."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    flags = active_inputs(functools.partial(propagate, body), active[1:], constants, carries)

    def pullback(cotangents: Values) -> list[Any]:
        types = infer_scan(*map(type_of, primals[1:]), **params)
        given = cotangents_or_zeros(cotangents, [*map(strong, types)])
        results = checkpointed_adjoint_primitive(*primals, *given, active=tuple(flags), **params)
        return [None, *spread(results, flags)]

    return pullback


checkpointed_scan_primitive = primitive(
    name="checkpointed_scan",
    doc=(
        "a scan over the first rows of its operands: the first operand is the number of turns, `length` at most. "
        "Reverse mode keeps states of `max_bytes` altogether, and carries out the other turns again"
    ),
    type_rule=lambda turns, *types, **params: infer_scan(*types, **params),
    evaluate=lambda *operands, max_bytes, **params: bounded_scan_primitive.evaluate(
        *operands, stops=False, **params
    ),
    derivative=HigherOrder(_push, _pull, lambda marks, max_bytes, **params: reach(marks[1:], **params)),
    batch=batch_bounded,
    lowering=ControlFlow(),
    source=lambda *operands, max_bytes, **params: bounded_scan_primitive.source(
        *operands, stops=False, **params
    ),
    samples=None,
)


# -- the backward pass -----------------------------------------------------------------------------------
#
# The derivative of the backward pass of a loop is the backward pass of the loop's derivative. So no rule differentiates
# the recomputation itself, and each order keeps the budget.


def adjoint_program(*, active: Flags, max_bytes: int, **params: Any) -> Graph:
    """Return the graph of the backward pass."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    slots = checkpoint_count(body, active, constants, carries, max_bytes)
    return recomputing_adjoint(
        body, constants, carries, params["length"], params["reverse"], tuple(active), slots
    )


def _evaluate(*operands: Any, **params: Any) -> tuple[Any, ...]:
    return tuple(evaluate(adjoint_program(**params), *operands))


def _apart(values: Values, body: Graph) -> tuple[list[Any], list[Any]]:
    """Return the values for the operands of the loop, and those for the cotangents."""
    count = 1 + len(body.inputs)
    return list(values[:count]), list(values[count:])


class _Tangent:
    """The derivative of a loop in directions, recorded for reverse mode."""

    def __init__(self, operands: Values, directions: Values, active: Flags, params: Any) -> None:
        loop, _ = stage(
            lambda *values: checkpointed_scan_primitive(*values, **params), list(map(type_of, operands))
        )
        self.operands = [Node(x) if flag else None for x, flag in zip(operands, active, strict=True)]
        self.directions = [None if x is None else Node(x) for x in directions]
        with running(TapeTrace()) as self.trace:
            given = boxes_of(self.trace, operands, self.operands)
            along = [
                None if node is None else boxes_of(self.trace, [x], [node])[0]
                for x, node in zip(directions, self.directions, strict=True)
            ]
            results, tangents = evaluate_jvp(loop, given, along)
        inexact = [is_inexact(type_.dtype) for type_ in loop.output_types]
        self.results, self.tangents = select(results, inexact), select(tangents, inexact)

    def walk_back(self, cotangents: Values, of_tangents: Values) -> tuple[list[Any], list[Any]]:
        """Return the cotangents of the operands and of the directions, from those of the results and their tangents."""
        pairs = zip([*self.results, *self.tangents], [*cotangents, *of_tangents], strict=True)
        states = [(state_of(self.trace, x), cotangent) for x, cotangent in pairs if cotangent is not None]
        seeds = [(state.node, cotangent) for state, cotangent in states if state is not None]
        found = walk_back(seeds, [*self.operands, *self.directions])
        return found[: len(self.operands)], found[len(self.operands) :]


def _push_adjoint(primals: Values, tangents: Values, *, active: Flags, **params: Any) -> Any:
    (operands, cotangents), (along, changes) = (_apart(x, params["body"]) for x in (primals, tangents))
    flags = [False, *active]
    directions = [
        or_zero(x, strong(type_of(operand))) if flag else x
        for x, operand, flag in zip(along, operands, flags, strict=True)
    ]
    tangent = _Tangent(operands, directions, flags, params)
    moved, values = tangent.walk_back(changes, cotangents)
    types = [strong(type_of(operand)) for operand in select(operands, flags)]
    return tuple(map(or_zero, select(values, flags), types)), select(moved, flags)


def _pull_adjoint(primals: Values, wanted: Flags, *, active: Flags, **params: Any) -> Any:
    operands, cotangents = _apart(primals, params["body"])
    results = checkpointed_adjoint_primitive(*primals, active=active, **params)

    def pullback(given: Values) -> list[Any]:
        directions = [None, *spread(given, active)]
        tangent = _Tangent(operands, directions, wanted[: len(operands)], params)
        moved, _ = tangent.walk_back([None] * len(cotangents), cotangents)
        values = [None if x is None else release(tangent.trace, x) for x in tangent.tangents]
        return [*moved, *values]

    return results, pullback


def _batch_adjoint(
    op: Primitive, size: int, values: Values, batched: Flags, params: Mapping[str, Any]
) -> Any:
    """Give each active operand an axis of examples, so that each example has cotangents of its own."""
    body, active, carries = params["body"], params["active"], params["carries"]
    (operands, cotangents), (flags, given) = (_apart(x, body) for x in (values, batched))
    forced = [False, *active]
    operands = [
        repeat(x, size) if force and not flag else x
        for x, flag, force in zip(operands, flags, forced, strict=True)
    ]
    flags = list(map(max, flags, forced))
    cotangents = [x if flag else repeat(x, size) for x, flag in zip(cotangents, given, strict=True)]
    inexact = [is_inexact(type_.dtype) for type_ in body.output_types]
    count = sum(inexact[:carries])
    cotangents = [*cotangents[:count], *map(exchange, cotangents[count:])]
    if batched[0]:
        operands, changes, added = until_all_done(size, operands, flags, params)
        more = [False, *active[: params["constants"]], *[False] * added, *active[params["constants"] :]]
    else:
        operands, changes = _all_at_once(size, operands, flags, params)
        more = list(active)
    results = op(*operands, *cotangents, **{**params, **changes, "active": tuple(more)})
    sliced = sum(active[params["constants"] + carries :])
    results = [*results[: len(results) - sliced], *map(exchange, results[len(results) - sliced :])]
    return batch_results(results, [True] * len(results), size, map(strong, select(body.input_types, active)))


def _all_at_once(
    size: int, operands: Values, batched: Flags, params: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Return the operands of a scan of all examples, which take the same turns, and the parameters that differ."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    given, before = parts(operands[1:], constants, carries), parts(batched[1:], constants, carries)
    carried = [x if flag else repeat(x, size) for x, flag in zip(given.carries, before.carries, strict=True)]
    columns = [exchange(x) if flag else x for x, flag in zip(given.slices, before.slices, strict=True)]
    flags = [*before.constants, *[True] * carries, *before.slices]
    program, _ = batch_graph(body, size, flags, [True] * len(body.outputs))
    return [operands[0], *given.constants, *carried, *columns], {"body": program}


checkpointed_adjoint_primitive = primitive(
    name="checkpointed_adjoint",
    doc=(
        "the cotangents of the active operands of a `checkpointed_scan`: its operands are those of the scan, and a "
        "cotangent for each floating-point result"
    ),
    type_rule=lambda turns, *types, body, active, **params: tuple(
        map(strong, select(types[: len(active)], active))
    ),
    evaluate=_evaluate,
    derivative=HigherOrder(_push_adjoint, _pull_adjoint),
    batch=_batch_adjoint,
    lowering=ControlFlow(adjoint_program),
    source=lambda *operands, **params: f"checkpointed_adjoint(program, {', '.join(operands)})",
    samples=None,
)
