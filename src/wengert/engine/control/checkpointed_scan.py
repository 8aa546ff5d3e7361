"""`checkpointed_scan`: a scan that reverse mode carries out again in parts, with a budget of memory for its states."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from wengert.engine.boxes import running, state_of
from wengert.engine.control.bounded_scan import (
    batch_bounded,
    bounded_scan_primitive,
    no_turns_elsewhere,
    until_all_done,
)
from wengert.engine.control.last_block import with_last_block
from wengert.engine.control.revolve import recomputing_adjoint
from wengert.engine.control.scan_primitive import (
    carries_of_residuals,
    exchange,
    extend_scan,
    infer_scan,
    parts,
    reach,
    stacked_residuals,
)
from wengert.engine.control.subgraphs import (
    Flags,
    Values,
    active_inputs,
    batch_graph,
    batch_results,
    cotangents_or_zeros,
    each_part,
    or_zero,
    propagate,
    repeat,
    select,
    spread,
    types_of_parts,
)
from wengert.engine.control.values import bytes_of, check_same_types, strong, zeros
from wengert.engine.core.dtypes import INT64, is_inexact
from wengert.engine.core.errors import LimitError, message
from wengert.engine.ir.graph import Equation, Graph
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.algebras import Algebra, evaluate_over, grouped
from wengert.engine.transforms.arguments import release
from wengert.engine.transforms.forward_mode import DUAL_NUMBERS
from wengert.engine.transforms.reverse_mode import walk_back
from wengert.engine.transforms.staging import evaluate, stage
from wengert.engine.transforms.tape import Node, TapeTrace, boxes_of


def _infer(
    turns: TensorType,
    *types: TensorType,
    body: Graph,
    constants: int,
    carries: int,
    length: int,
    reverse: bool,
    max_bytes: int,
) -> tuple[TensorType, ...]:
    check_same_types("checkpointed_scan", "the number of turns", [turns], [TensorType(INT64, ())])
    return infer_scan(*types, body=body, constants=constants, carries=carries, length=length, reverse=reverse)


def _infer_adjoint(
    turns: TensorType,
    *types: TensorType,
    body: Graph,
    constants: int,
    carries: int,
    length: int,
    reverse: bool,
    max_bytes: int,
    active: tuple[bool, ...],
) -> tuple[TensorType, ...]:
    operands, cotangents = types[: len(active)], types[len(active) :]
    results = _infer(
        turns,
        *operands,
        body=body,
        constants=constants,
        carries=carries,
        length=length,
        reverse=reverse,
        max_bytes=max_bytes,
    )
    wanted = [strong(type_) for type_ in results if is_inexact(type_.dtype)]
    check_same_types("checkpointed_adjoint", "the cotangents", cotangents, wanted)
    return tuple(map(strong, select(operands, active)))


#: States beside blocks of turns: all are cleared when a loop begins, and 64 are enough for 2,145 blocks run twice.
MOST_STATES = 64


def room(body: Graph, active: Flags, constants: int, carries: int, max_bytes: int) -> tuple[int, int]:
    """Return how many states of a loop a budget holds, beside the residuals of how many turns.

    The residuals take half of the budget, where a loop has neither slices nor stacked results, or those of one turn.

    Raises:
        LimitError: the budget does not hold a state and the residuals of a turn.
    """
    needed = carries_of_residuals(body, active, constants, carries)
    state = bytes_of(select(body.output_types[:carries], needed))
    residuals = bytes_of(stacked_residuals(body, active, constants, carries))
    in_blocks = len(body.inputs) == constants + carries and len(body.outputs) == carries
    largest = min(max_bytes // 2, max_bytes - state) // max(residuals, 1)
    block = max(1, largest) if in_blocks else 1
    count = (max_bytes - block * residuals) // max(state, 1)
    if block > 1:
        count = min(count, MOST_STATES)
    if count < 1:
        got = f"{max_bytes:,} for a state of {state:,} and residuals of {residuals:,} bytes of one turn"
        hint = f"give {state + residuals:,} or more; each further state saves turns"
        raise LimitError(
            message("max_bytes", "the budget must hold a state and the residuals of a turn", got, hint)
        )
    return count, block


def _extend(algebra: Algebra, primals: Values, extras: Values, **params: Any) -> Any:
    run = functools.partial(checkpointed_scan_primitive, primals[0])
    return extend_scan(run, algebra, primals[1:], extras[algebra.size :], **params)


def _pull(primals: Values, active: Flags, **params: Any) -> Any:
    """Scan without keeping anything; the pullback carries out the turns again."""
    outputs = checkpointed_scan_primitive(*primals, **params)
    return outputs, pullback_of(primals, active, **params)


def pullback_of(primals: Values, active: Flags, **params: Any) -> Any:
    """Return the function from the cotangents of a loop's results to those of its operands."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    flags = active_inputs(functools.partial(propagate, body), active[1:], constants, carries)
    needed = carries_of_residuals(body, flags, constants, carries)
    operands = list(primals)
    for place, (type_, flag) in enumerate(zip(body.output_types, needed, strict=False), 1 + constants):
        operands[place] = operands[place] if flag else zeros(type_)  # so that no loop around keeps it

    def pullback(cotangents: Values) -> list[Any]:
        types = _infer(*map(type_of, operands), **params)
        seeds = cotangents_or_zeros(cotangents, [*map(strong, types)])
        results = checkpointed_adjoint_primitive(*operands, *seeds, active=tuple(flags), **params)
        return [None, *spread(results, flags)]

    return pullback


checkpointed_scan_primitive = primitive(
    name="checkpointed_scan",
    doc=(
        "a scan over the first rows of its operands: the first operand is the number of turns, `length` at most. "
        "Reverse mode keeps states of `max_bytes` altogether, and carries out the other turns again"
    ),
    type_rule=_infer,
    evaluate=lambda *operands, max_bytes, **params: bounded_scan_primitive.evaluate(
        *operands, stops=False, **params
    ),
    derivative=HigherOrder(
        extend=_extend,
        pull=_pull,
        reach=lambda marks, max_bytes, **params: reach(marks[1:], **params),
    ),
    batch=batch_bounded,
    lowering=ControlFlow(),
    source=lambda *operands, max_bytes, **params: bounded_scan_primitive.source(
        *operands, stops=False, **params
    ),
    samples=None,
    unchecked=no_turns_elsewhere,
)


# -- the backward pass -----------------------------------------------------------------------------------
#
# The backward pass over an algebra is the backward pass of the loop over that algebra, with the parts of cotangents in
# the opposite order. So no rule differentiates the recomputation itself, and each order keeps the budget.


def adjoint_program(*, active: Flags, max_bytes: int, **params: Any) -> Graph:
    """Return the graph of the backward pass."""
    body, constants, carries = params["body"], params["constants"], params["carries"]
    slots, block = room(body, active, constants, carries, max_bytes)
    return recomputing_adjoint(
        body, constants, carries, params["length"], params["reverse"], tuple(active), slots, block
    )


def _joint(loop: Equation, adjoint: Equation) -> tuple[Graph, Graph] | None:
    """Return the programs of a loop that counts its turns and of the backward pass, where these share something."""
    params = adjoint.params
    if loop.primitive != "while" or params["reverse"]:
        return None
    names = "body", "active", "constants", "carries", "max_bytes"
    return with_last_block(loop, adjoint, *room(*(params[name] for name in names)))


def _apart(values: Values, body: Graph) -> tuple[list[Any], list[Any]]:
    """Return the values for the operands of the loop, and those for the cotangents."""
    count = 1 + len(body.inputs)
    return list(values[:count]), list(values[count:])


class _Extended:
    """A loop over an algebra, recorded for reverse mode."""

    def __init__(
        self, algebra: Algebra, operands: Values, extras: Values, active: Flags, params: Any
    ) -> None:
        loop, _ = stage(
            lambda *values: checkpointed_scan_primitive(*values, **params), list(map(type_of, operands))
        )
        self.operands = [Node(x) if flag else None for x, flag in zip(operands, active, strict=True)]
        self.extras = [None if x is None else Node(x) for x in extras]
        with running(TapeTrace()) as self.trace:
            boxes = boxes_of(self.trace, operands, self.operands)
            along = [
                None if node is None else boxes_of(self.trace, [x], [node])[0]
                for x, node in zip(extras, self.extras, strict=True)
            ]
            values, output_parts = evaluate_over(algebra, loop, boxes, along)
        results = zip(values, grouped(output_parts, len(values)), loop.output_types, strict=True)
        self.results = [
            [value, *value_parts] for value, value_parts, type_ in results if is_inexact(type_.dtype)
        ]

    def walk_back(self, cotangents: Sequence[Values]) -> list[list[Any]]:
        """Return the cotangents of each operand and its parts, from those of each result and its parts."""
        pairs = zip(itertools.chain(*self.results), itertools.chain(*cotangents), strict=True)
        states = [(state_of(self.trace, x), cotangent) for x, cotangent in pairs if cotangent is not None]
        seeds = [(state.node, cotangent) for state, cotangent in states if state is not None]
        adjoints = walk_back(seeds, [*self.operands, *self.extras])
        count = len(self.operands)
        return [
            [x, *cotangent_parts]
            for x, cotangent_parts in zip(adjoints[:count], grouped(adjoints[count:], count), strict=True)
        ]


def _extend_adjoint(
    algebra: Algebra, primals: Values, extras: Values, *, active: Flags, **params: Any
) -> Any:
    operands, cotangents = _apart(primals, params["body"])
    split = algebra.size * len(operands)
    flags = [False, *active]
    types = types_of_parts(algebra, map(type_of, operands))
    filled = [
        or_zero(part, type_) if flag else part
        for part, type_, flag in zip(extras[:split], types, each_part(algebra, flags), strict=True)
    ]
    loop = _Extended(algebra, operands, filled, flags, params)
    rows = zip(cotangents, grouped(extras[split:], len(cotangents)), strict=True)
    pulled = select(loop.walk_back([[*reversed(higher_parts), value] for value, higher_parts in rows]), flags)
    values = [
        or_zero(group[-1], strong(type_of(x)))
        for group, x in zip(pulled, select(operands, flags), strict=True)
    ]
    return tuple(values), [part for group in pulled for part in group[-2::-1]]


def _pull_adjoint(primals: Values, wanted: Flags, *, active: Flags, **params: Any) -> Any:
    operands, cotangents = _apart(primals, params["body"])
    results = checkpointed_adjoint_primitive(*primals, active=active, **params)

    def pullback(seeds: Values) -> list[Any]:
        directions = [None, *spread(seeds, active)]
        loop = _Extended(DUAL_NUMBERS, operands, directions, wanted[: len(operands)], params)
        moved = [value for value, _ in loop.walk_back([(None, cotangent) for cotangent in cotangents])]
        tangents = [tangent for _, tangent in loop.results]
        return [*moved, *(None if x is None else release(loop.trace, x) for x in tangents)]

    return results, pullback


def _batch_adjoint(
    op: Primitive, size: int, values: Values, batched: Flags, params: Mapping[str, Any]
) -> Any:
    """Give each active operand an axis of examples, so that each example has cotangents of its own."""
    body, active, carries = params["body"], params["active"], params["carries"]
    (operands, cotangents), (flags, cotangent_flags) = (_apart(x, body) for x in (values, batched))
    forced = [False, *active]
    operands = [
        repeat(x, size) if force and not flag else x
        for x, flag, force in zip(operands, flags, forced, strict=True)
    ]
    flags = list(map(max, flags, forced))
    cotangents = [x if flag else repeat(x, size) for x, flag in zip(cotangents, cotangent_flags, strict=True)]
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
    groups, before = parts(operands[1:], constants, carries), parts(batched[1:], constants, carries)
    carried = [x if flag else repeat(x, size) for x, flag in zip(groups.carries, before.carries, strict=True)]
    columns = [exchange(x) if flag else x for x, flag in zip(groups.slices, before.slices, strict=True)]
    flags = [*before.constants, *[True] * carries, *before.slices]
    program, _ = batch_graph(body, size, flags, [True] * len(body.outputs))
    return [operands[0], *groups.constants, *carried, *columns], {"body": program}


checkpointed_adjoint_primitive = primitive(
    name="checkpointed_adjoint",
    doc=(
        "the cotangents of the active operands of a `checkpointed_scan`: its operands are those of the scan, and a "
        "cotangent for each floating-point result"
    ),
    type_rule=_infer_adjoint,
    evaluate=lambda *operands, **params: tuple(evaluate(adjoint_program(**params), *operands)),
    derivative=HigherOrder(extend=_extend_adjoint, pull=_pull_adjoint),
    batch=_batch_adjoint,
    lowering=ControlFlow(adjoint_program, _joint),
    source=lambda *operands, **params: f"checkpointed_adjoint(program, {', '.join(operands)})",
    samples=None,
    unchecked=no_turns_elsewhere,
)
