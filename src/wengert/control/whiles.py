"""The primitive `while`: a program carried out as long as another says so."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.branches import choose, cond_primitive
from wengert.control.dependence import carried_along, once, settled, through
from wengert.control.programs import (
    Flags,
    batch,
    batched_types,
    for_all,
    mapped,
    part_of,
    pushed,
    repeated,
    select,
    spread,
    spread_through,
)
from wengert.control.scans import scan_primitive
from wengert.control.values import largest, strong, zeros
from wengert.core.errors import UnsupportedError, message
from wengert.ir.graph import Graph, Var
from wengert.ir.types import TensorType, type_of
from wengert.nest.lowering import HoldsPrograms
from wengert.ops.reduction import reduce_any
from wengert.primitive import HigherOrder, Primitive, primitive
from wengert.transforms.staging import evaluate, stage


class Parts(NamedTuple):
    """The operands of a while, or what belongs to each."""

    tested: list[Any]
    """What the condition reads besides the carries."""
    fixed: list[Any]
    """What the body reads besides the carries."""
    carries: list[Any]


def parts(values: Iterable[Any], tested: int, fixed: int) -> Parts:
    """Split what belongs to the operands of a while."""
    every = list(values)
    return Parts(every[:tested], every[tested : tested + fixed], every[tested + fixed :])


def _evaluate(*operands: Any, condition: Graph, body: Graph, tested: int, fixed: int) -> tuple[Any, ...]:
    given = parts(operands, tested, fixed)
    carry = given.carries
    while evaluate(condition, *given.tested, *carry)[0]:
        carry = evaluate(body, *given.fixed, *carry)
    return tuple(carry)


# -- forward ---------------------------------------------------------------------------------------------


def _push(
    primals: Sequence[Any], tangents: Sequence[Any], condition: Graph, body: Graph, tested: int, fixed: int
) -> Any:
    """Carry the tangents along; the condition does not look at them."""
    flags = [tangent is not None for tangent in tangents[tested:]]
    active = settled(functools.partial(through, body), flags, fixed, len(body.outputs))
    moved, carrying = active[:fixed], active[fixed:]
    program, _ = pushed(body, active, carrying)
    count = fixed + len(carrying)
    extra = program.inputs[count:]
    moving = sum(moved)
    inputs = (*program.inputs[:fixed], *extra[:moving], *program.inputs[fixed:count], *extra[moving:])
    unread = tuple(Var(strong(type_)) for type_ in select(body.output_types, carrying))
    given, directions = parts(primals, tested, fixed), parts(tangents, tested, fixed)
    started = [
        zeros(strong(type_of(primal))) if tangent is None else tangent
        for primal, tangent in zip(given.carries, directions.carries, strict=True)
    ]
    results = while_primitive(
        *given.tested,
        *given.fixed,
        *select(directions.fixed, moved),
        *given.carries,
        *select(started, carrying),
        condition=part_of(condition, (*condition.inputs, *unread), condition.outputs),
        body=part_of(program, inputs, program.outputs),
        tested=tested,
        fixed=fixed + moving,
    )
    return results[: len(carrying)], spread(results[len(carrying) :], carrying)


def _reach(marks: Sequence[int], *, body: Graph, tested: int, fixed: int, condition: Graph) -> list[int]:
    given, _ = carried_along(functools.partial(through, body), marks[tested:], fixed, len(body.outputs))
    return given[fixed:]


# -- reverse ---------------------------------------------------------------------------------------------


def _pull(
    primals: Sequence[Any], active: Sequence[bool], condition: Graph, body: Graph, tested: int, fixed: int
) -> Any:
    """Count the steps, then walk back through a scan of as many in which those that are done stand still."""
    count = _count(primals, condition, body, tested, fixed)
    if count is not None:
        return scan_primitive.derivative.pull(  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType,reportUnknownVariableType]
            primals,
            active,
            body=_guarded_body(condition, body, tested, fixed),
            constants=tested + fixed,
            carries=len(body.outputs),
            length=count,
            reverse=False,
            unroll=1,
        )

    def walk(cotangents: Sequence[Any]) -> list[Any]:
        requirement = "reverse mode in a traced graph needs a number of steps that is known beforehand"
        hint = "use scan or fori_loop with a fixed number of steps, forward mode, or reverse mode outside of the graph"
        raise UnsupportedError(message("while_loop", requirement, hint=hint))

    outputs = while_primitive(*primals, condition=condition, body=body, tested=tested, fixed=fixed)
    return outputs, walk


def _count(primals: Sequence[Any], condition: Graph, body: Graph, tested: int, fixed: int) -> int | None:
    """Return the largest number of steps that any example takes; None where a graph does not know it."""

    def test(*values: Any) -> list[Any]:
        return evaluate(condition, *values[:tested], *values[tested + 1 :])

    def step(*values: Any) -> list[Any]:
        return [values[fixed] + 1, *evaluate(body, *values[:fixed], *values[fixed + 1 :])]

    start = np.int64(0)
    types = [*condition.input_types[:tested], type_of(start), *condition.input_types[tested:]]
    body_types = [*body.input_types[:fixed], type_of(start), *body.input_types[fixed:]]
    steps, *_ = while_primitive(
        *primals[: tested + fixed],
        start,
        *primals[tested + fixed :],
        condition=stage(test, types)[0],
        body=stage(step, body_types)[0],
        tested=tested,
        fixed=fixed,
    )
    return largest(steps)


def _guarded_body(condition: Graph, body: Graph, tested: int, fixed: int) -> Graph:
    """Return a step that changes nothing where the condition does not hold."""
    idle = Graph(body.inputs, (), (), body.inputs[fixed:])

    def run(*values: Any) -> Any:
        given = parts(values, tested, fixed)
        (going,) = evaluate(condition, *given.tested, *given.carries)
        return cond_primitive(going, *given.fixed, *given.carries, on_true=body, on_false=idle)

    return stage(run, [*condition.input_types[:tested], *body.input_types])[0]


# -- batching --------------------------------------------------------------------------------------------


def _batch(
    op: Primitive, size: int, operands: Sequence[Any], batched: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    """Go on until all examples are done, if they disagree; those that are done stand still meanwhile."""
    condition, body = params["condition"], params["body"]
    tested, fixed = params["tested"], params["fixed"]
    flags = parts(batched, tested, fixed)
    step = functools.partial(spread_through, body)
    settling = settled(step, batched[tested:], fixed, len(body.outputs))
    carrying = settling[fixed:]
    test, (several,) = mapped(condition, size, [*flags.tested, *carrying])
    given = parts(operands, tested, fixed)
    if several:
        carrying = [True] * len(carrying)
        test, program = _until_all_done(body, condition, size, flags.tested, flags.fixed)
        given = Parts(given.tested, [*given.tested, *given.fixed], given.carries)
    else:
        program, _ = mapped(body, size, settling, carrying)
    pairs = zip(given.carries, flags.carries, carrying, strict=True)
    started = [repeated(x, size) if flag and not before else x for x, before, flag in pairs]
    results = op(
        *given.tested,
        *given.fixed,
        *started,
        condition=test,
        body=program,
        tested=tested,
        fixed=len(given.fixed),
    )
    return for_all(results, carrying, size, body.output_types)


@once
def _until_all_done(
    body: Graph, condition: Graph, size: int, testing: Flags, reading: Flags
) -> tuple[Graph, Graph]:
    """Return the condition that some example goes on, and the body that changes only those that do."""
    tested, fixed = len(testing), len(reading)
    carrying = [True] * len(body.outputs)

    def going(values: Parts) -> Any:
        (found,), _ = batch(condition, size, [*values.tested, *values.carries], [*testing, *carrying])
        return found

    def test(*values: Any) -> list[Any]:
        return [reduce_any(going(parts(values, tested, 0)._replace(fixed=[])), axes=(0,))]

    idle = Graph(body.inputs, (), (), body.inputs[fixed:])

    def step(*values: Any) -> list[Any]:
        given = parts(values, tested, fixed)
        operands, batched = [*given.fixed, *given.carries], [*reading, *carrying]
        return choose(size, going(given), (body, idle), operands, batched)

    types = batched_types(condition.input_types, size, [*testing, *carrying])
    body_types: list[TensorType] = batched_types(body.input_types, size, [*reading, *carrying])
    return stage(test, types)[0], stage(step, [*types[:tested], *body_types])[0]


def _source(*operands: str, condition: Graph, body: Graph, tested: int, fixed: int) -> str:
    first, second, carried = (", ".join(part) for part in parts(operands, tested, fixed))
    return f"while_loop(condition, body, [{first}], [{second}], [{carried}])"


while_primitive = primitive(
    name="while",
    doc=(
        "a program carried out as long as a condition holds: its operands are what the condition reads, what the body "
        "reads, and the values carried from step to step, which are its results"
    ),
    type_rule=lambda *types, condition, body, tested, fixed: body.output_types,
    evaluate=_evaluate,
    derivative=HigherOrder(_push, _pull, _reach),
    batch=_batch,
    lowering=HoldsPrograms(),
    source=_source,
    samples=None,
)
