"""`while_loop` and `fori_loop`: a step that runs as long as a condition holds."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, concrete, inside_transform, on_graph
from wengert.engine.control.bounded_scan import ENDLESS, ended, pull_bounded
from wengert.engine.control.carry import Carry, Staged
from wengert.engine.control.checkpointed_scan import pullback_of
from wengert.engine.control.cond import choose
from wengert.engine.control.last_block import counting
from wengert.engine.control.scan import scan_carry
from wengert.engine.control.subgraphs import (
    Flags,
    Values,
    active_inputs,
    batch_graph,
    batch_results,
    batched_outputs,
    batched_types,
    each_part,
    evaluate_batch,
    extended_graph,
    fixed_point,
    have_parts,
    memoized,
    or_zero,
    propagate,
    repeat,
    select,
    spread,
    subgraph,
    types_of_parts,
    unchecked_graph,
)
from wengert.engine.control.taped_while import pull_taped
from wengert.engine.control.tapes import recorder
from wengert.engine.control.values import check_same_types, checked_limit, largest, predicate, program_types
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import BOOL, INT64, dtype_of
from wengert.engine.core.errors import (
    DtypeError,
    GraphError,
    LimitError,
    UnsupportedError,
    located,
    message,
    user_location,
)
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.comparison import logical_and
from wengert.engine.ops.reduction import reduce_any
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.algebras import Algebra
from wengert.engine.transforms.closures import closes_over_graph
from wengert.engine.transforms.staging import evaluate, stage


@advising("wg.while_loop(condition, body, init)")
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    most: int | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Repeat a step as long as a condition holds: ``while cond_fun(val): val = body_fun(val)``.

    For known values this is a Python loop, which both modes differentiate. In a traced graph the functions are staged
    once. Reverse mode needs the largest number of turns there: it has room to keep what the derivative of each turn
    reads. Under `vmap` the loop runs until all examples are done; examples that are done keep their values.

    Args:
        cond_fun: takes the value and returns one truth value.
        body_fun: takes the value and returns the next value, with the same containers, shapes and dtypes.
        init_val: the initial value: a container of arrays and numbers.
        most: the largest number of turns.
        max_bytes: the memory for reverse mode. It keeps as many values as fit, and carries out the other turns again,
            as few as possible (Griewank's binomial checkpointing). The loop may take any number of turns.

    Returns:
        The first value for which the condition does not hold.

    Raises:
        ArgumentError: the value changes its containers, or a limit is not an integer from 0.
        ShapeError: the value changes its shape, or the condition is not a scalar.
        DtypeError: the value changes its dtype.
        LimitError: the condition still holds after ``most`` turns; compiled code raises it, too. Or ``max_bytes`` do
            not hold a value and what the derivative of one turn reads.
        UnsupportedError: reverse mode goes back through the loop in a traced graph, with neither of the limits.

    Example:
        >>> import wengert as wg
        >>> power = lambda x: while_loop(lambda v: v < 100, lambda v: v * x, 1.0)
        >>> power(3.0), wg.grad(power)(3.0)
        (243.0, 405.0)
    """
    return _while(cond_fun, body_fun, Carry("while_loop", init_val), *_limits("while_loop", most, max_bytes))


@advising("wg.fori_loop(start, stop, body, init) with body(i, value)")
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    most: int | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Repeat a step for each number of a range: ``for i in range(lower, upper): val = body_fun(i, val)``.

    With known bounds this is a `scan`, which both modes differentiate everywhere; with bounds that a traced graph does
    not know it is a `while_loop`, for which reverse mode needs the largest number of turns.

    Args:
        lower: the first number, an integer.
        upper: the number after the last.
        body_fun: takes the number and the value, and returns the next value.
        init_val: the initial value: a container of arrays and numbers. Its shapes and dtypes stay the same.
        most: the largest number of turns.
        max_bytes: the memory for reverse mode, as in `while_loop`.

    Returns:
        The value after the last step.

    Raises:
        ArgumentError: the value changes its containers, or a limit is not an integer from 0.
        ShapeError: the value changes its shape.
        DtypeError: a bound is not an integer, or the value changes its dtype.
        LimitError: the range has more than ``most`` numbers; compiled code raises it, too. Or ``max_bytes`` do not
            hold a value and what the derivative of one turn reads.

    Example:
        >>> fori_loop(1, 6, lambda i, factorial: factorial * i, 1)
        120
    """
    for bound in (lower, upper):
        if shape_of(bound) != () or dtype_of(bound).kind not in "iu":
            raise DtypeError(message("fori_loop", "bounds must be integers", show(lower, upper)))

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        number, value = state
        return number + 1, body_fun(number, value)

    first, last = concrete(lower), concrete(upper)
    most, max_bytes = _limits("fori_loop", most, max_bytes)
    if first is None or last is None:
        carry = Carry("fori_loop", (lower, init_val), counts=True)
        return _while(lambda state: state[0] < upper, step, carry, most, max_bytes)[1]
    count = max(int(last) - int(first), 0)
    if most is not None and count > most:
        raise LimitError(message("fori_loop", f"the range must have at most most={most} numbers", str(count)))
    carry = Carry("fori_loop", (int(first), init_val), counts=True)
    (_, value), _ = scan_carry(lambda state, _: (step(state), None), carry, None, count, max_bytes=max_bytes)
    return value


def _limits(name: str, most: int | None, max_bytes: int | None) -> tuple[int | None, int | None]:
    return checked_limit(name, "most", most), checked_limit(name, "max_bytes", max_bytes)


def _while(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    carry: Carry,
    most: int | None,
    max_bytes: int | None,
) -> Any:
    def test(*values: Any) -> list[Any]:
        return [predicate(carry.operation, cond_fun(tree.unflatten(carry.structure, values)))]

    def step(*values: Any) -> list[Any]:
        return carry.flatten(body_fun(tree.unflatten(carry.structure, values)))

    def stage_both() -> list[Staged]:
        body = carry.stage(step)
        return [body, stage(test, carry.types, carry.operation)]

    first = carry.value
    graphs = None
    if not any(map(on_graph, carry.leaves)) and closes_over_graph(cond_fun, body_fun):
        graphs = carry.stage_first(stage_both)
    if graphs is not None and not _may_begin(graphs[1], carry):
        return first
    turns = 0
    if graphs is None and not (max_bytes is not None and inside_transform()):
        turns, is_done = _run_in_python(cond_fun, body_fun, carry, most)
        if is_done:
            return carry.value
    (body, fixed), (condition, tested) = graphs or stage_both()
    limits = {"most": None if most is None else most - turns, "max_bytes": max_bytes}
    results = while_primitive(
        *tested,
        *fixed,
        *carry.leaves,
        condition=condition,
        body=body,
        tested=len(tested),
        fixed=len(fixed),
        **{name: limit for name, limit in limits.items() if limit is not None},
    )
    if most is not None:
        (going,) = evaluate(condition, *tested, *results)
        results = [ended(most, going, x, carry.operation) for x in results]
    return tree.unflatten(carry.structure, results)


def _run_in_python(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], carry: Carry, most: int | None
) -> tuple[int, bool]:
    """Take the turns of which the condition is known; return how many they are, and whether the loop has ended."""
    turns = 0
    while not any(map(on_graph, carry.leaves)):
        going = predicate(carry.operation, cond_fun(carry.value))
        if not isinstance(going, bool):
            break
        if not going:
            return turns, True
        if turns == most:
            ended(turns, going, 0, carry.operation)
        carry.step(body_fun(carry.value))
        turns += 1
    return turns, False


def _may_begin(condition: Staged, carry: Carry) -> bool:
    graph, captured = condition
    if any(map(on_graph, captured)):
        return True
    (going,) = evaluate(graph, *captured, *carry.leaves)
    return isinstance(predicate(carry.operation, going), Box) or bool(going)


# -- the primitive ---------------------------------------------------------------------------------------


_GOING, _NUMBER = TensorType(BOOL, ()), TensorType(INT64, ())


class Parts(NamedTuple):
    """The operands of a while loop, or a value for each operand."""

    tested: list[Any]
    """Those that the condition reads in addition to the carries."""
    fixed: list[Any]
    """Those that the body reads in addition to the carries."""
    carries: list[Any]


def parts(values: Iterable[Any], tested: int, fixed: int) -> Parts:
    """Split the operands of a while loop, or a value for each."""
    operands = list(values)
    return Parts(operands[:tested], operands[tested : tested + fixed], operands[tested + fixed :])


def _infer(
    *types: TensorType,
    condition: Graph,
    body: Graph,
    tested: int,
    fixed: int,
    most: int | None = None,
    max_bytes: int | None = None,
    taped: bool = False,
) -> tuple[TensorType, ...]:
    groups = parts(types, tested, fixed)
    going = program_types("while", condition, [*groups.tested, *groups.carries])
    if len(going) != 1 or going[0].shape or min(tested, fixed) < 0:
        raise GraphError(message("while", "the condition must be a scalar", show(*going)))
    results = program_types("while", body, [*groups.fixed, *groups.carries])
    check_same_types("while", "the results of the body", results, groups.carries)
    return results


def _evaluate(
    *operands: Any,
    condition: Graph,
    body: Graph,
    tested: int,
    fixed: int,
    most: int | None = None,
    max_bytes: int | None = None,
    taped: bool = False,
) -> tuple[Any, ...]:
    groups = parts(operands, tested, fixed)
    carry = groups.carries
    for _ in itertools.count() if most is None else range(most):
        if not evaluate(condition, *groups.tested, *carry)[0]:
            break
        carry = evaluate(body, *groups.fixed, *carry)
    return tuple(carry)


def _extend(
    algebra: Algebra,
    primals: Values,
    extras: Values,
    condition: Graph,
    body: Graph,
    tested: int,
    fixed: int,
    **params: Any,
) -> Any:
    """Carry the parts of elements of an algebra along; the condition does not read them."""
    count, outputs, size = len(body.inputs), len(body.outputs), algebra.size
    _, of_fixed, of_carries = parts(extras, tested * size, fixed * size)
    flags = have_parts([*of_fixed, *of_carries], count)
    active = active_inputs(functools.partial(propagate, body), flags, fixed, outputs)
    carrying = each_part(algebra, active[fixed:])
    reading = [part is not None for part in of_fixed]
    program, _ = extended_graph(body, algebra, [*reading, *carrying], carrying)
    extra, moving = program.inputs[count:], sum(reading)
    inputs = (*program.inputs[:fixed], *extra[:moving], *program.inputs[fixed:count], *extra[moving:])
    types = types_of_parts(algebra, body.output_types)
    groups = parts(primals, tested, fixed)
    results = while_primitive(
        *groups.tested,
        *groups.fixed,
        *select(of_fixed, reading),
        *groups.carries,
        *select(map(or_zero, of_carries, types), carrying),
        condition=subgraph(
            condition, (*condition.inputs, *map(Var, select(types, carrying))), condition.outputs
        ),
        body=subgraph(program, inputs, program.outputs),
        tested=tested,
        fixed=fixed + moving,
        **params,
    )
    return results[:outputs], spread(results[outputs:], carrying)


def _reach(marks: Sequence[int], *, body: Graph, tested: int, fixed: int, **params: Any) -> list[int]:
    input_marks, _ = fixed_point(functools.partial(propagate, body), marks[tested:], fixed, len(body.outputs))
    return input_marks[fixed:]


# -- reverse mode ----------------------------------------------------------------------------------------


def _pull(
    primals: Values,
    active: Flags,
    condition: Graph,
    body: Graph,
    tested: int,
    fixed: int,
    **limits: Any,
) -> Any:
    """Keep the residuals of each turn, of ``most`` or, where values are known, of as many as are counted."""
    if limits.get("taped") and recorder() is not None:
        return pull_taped(while_primitive, primals, active, condition, body, tested, fixed, **limits)
    if limits.get("max_bytes") is not None:
        return _recompute(primals, active, condition, body, tested, fixed, **limits)
    length = limits.get("most")
    if length is None:
        length = largest(_counted(primals, condition, body, tested, fixed)[0])
    if length is None:
        outputs = while_primitive(*primals, condition=condition, body=body, tested=tested, fixed=fixed)
        return outputs, functools.partial(_refuse, user_location())
    groups, flags = parts(primals, tested, fixed), parts(active, tested, fixed)
    (going,) = evaluate(condition, *groups.tested, *groups.carries)
    results, pullback = pull_bounded(
        [np.int64(length), *groups.tested, *groups.fixed, going, np.int64(0), *groups.carries],
        [False, *flags.tested, *flags.fixed, False, False, *flags.carries],
        body=_counting_step(condition, body, tested, fixed),
        constants=tested + fixed,
        carries=2 + len(body.outputs),
        length=length,
        reverse=False,
        stops=True,
    )

    def pull_back(cotangents: Values) -> list[Any]:
        pulled = pullback([None, None, *cotangents])
        return [*pulled[1 : 1 + tested + fixed], *pulled[3 + tested + fixed :]]

    return results[2:], pull_back


def _refuse(location: str, cotangents: Values) -> list[Any]:
    """Raise the error for a loop at a line of the user's; the walk back runs at another line."""
    requirement = "reverse mode in a traced graph needs the largest number of turns"
    hint = "write while_loop(cond, body, init, most=N) or max_bytes=N, or use scan, fori_loop, forward mode"
    text = message("while_loop", requirement, hint=hint)
    raise UnsupportedError(located(text, location) if location else text)


def _recompute(
    primals: Values,
    active: Flags,
    condition: Graph,
    body: Graph,
    tested: int,
    fixed: int,
    **limits: Any,
) -> Any:
    """Count the turns; the pullback carries them out again, with a budget for their states."""
    number, *outputs = _counted(primals, condition, body, tested, fixed, **limits)
    groups, flags = parts(primals, tested, fixed), parts(active, tested, fixed)
    if limits.get("most") is not None:
        number = ended(limits["most"], evaluate(condition, *groups.tested, *outputs)[0], number)
    pullback = pullback_of(
        [number, *groups.fixed, *groups.carries],
        [False, *flags.fixed, *flags.carries],
        body=body,
        constants=fixed,
        carries=len(body.outputs),
        length=ENDLESS,
        reverse=False,
        max_bytes=limits["max_bytes"],
    )
    return tuple(outputs), lambda cotangents: [*[None] * tested, *pullback(cotangents)[1:]]


def _counted(
    primals: Values, condition: Graph, body: Graph, tested: int, fixed: int, **limits: Any
) -> Sequence[Any]:
    """Return the number of steps, and the results."""

    def test(*values: Any) -> list[Any]:
        return evaluate(condition, *values[:tested], *values[tested + 1 :])

    start = np.int64(0)
    types = [*condition.input_types[:tested], type_of(start), *condition.input_types[tested:]]
    return while_primitive(
        *primals[: tested + fixed],
        start,
        *primals[tested + fixed :],
        condition=stage(test, types)[0],
        body=counting(body, fixed),
        tested=tested,
        fixed=fixed,
        **limits,
    )


@memoized
def _counting_step(condition: Graph, body: Graph, tested: int, fixed: int) -> Graph:
    """Return a step that also carries whether another one follows, and the number of steps."""

    def run(*values: Any) -> list[Any]:
        groups = parts(values, tested, fixed)
        _, number, *carries = groups.carries
        results = evaluate(body, *groups.fixed, *carries)
        (going,) = evaluate(condition, *groups.tested, *results)
        return [going, number + 1, *results]

    types = parts([*condition.input_types[:tested], *body.input_types], tested, fixed)
    return stage(run, [*types.tested, *types.fixed, _GOING, _NUMBER, *types.carries])[0]


# -- batching --------------------------------------------------------------------------------------------


def _batch(op: Primitive, size: int, operands: Values, batched: Flags, params: Mapping[str, Any]) -> Any:
    """Run until all examples are done if they disagree; examples that are done stay the same."""
    condition, body = params["condition"], params["body"]
    tested, fixed = params["tested"], params["fixed"]
    flags = parts(batched, tested, fixed)
    step = functools.partial(batched_outputs, body)
    active = active_inputs(step, batched[tested:], fixed, len(body.outputs))
    carrying = active[fixed:]
    test, (several,) = batch_graph(condition, size, [*flags.tested, *carrying])
    groups = parts(operands, tested, fixed)
    if several:
        carrying = [True] * len(carrying)
        test, program = _until_all_done(body, condition, size, flags.tested, flags.fixed)
        groups = groups._replace(fixed=[*groups.tested, *groups.fixed])
    else:
        program, _ = batch_graph(body, size, active, carrying)
    rows = zip(groups.carries, flags.carries, carrying, strict=True)
    started = [repeat(x, size) if flag and not before else x for x, before, flag in rows]
    updated = {**params, "condition": test, "body": program, "fixed": len(groups.fixed)}
    results = op(*groups.tested, *groups.fixed, *started, **updated)
    return batch_results(results, carrying, size, body.output_types)


@memoized
def _until_all_done(
    body: Graph, condition: Graph, size: int, testing: Flags, reading: Flags
) -> tuple[Graph, Graph]:
    """Return the condition that any example continues, and the body that changes only those that do."""
    tested, fixed = len(testing), len(reading)
    carrying = [True] * len(body.outputs)

    def going(values: Parts) -> Any:
        operands, batched = [*values.tested, *values.carries], [*testing, *carrying]
        return evaluate_batch(condition, size, operands, batched)[0][0]

    def test(*values: Any) -> list[Any]:
        return [reduce_any(going(parts(values, tested, 0)), axes=(0,))]

    idle = Graph(body.inputs, (), (), body.inputs[fixed:])

    def step(*values: Any) -> list[Any]:
        groups = parts(values, tested, fixed)
        operands, batched = [*groups.fixed, *groups.carries], [*reading, *carrying]
        return choose(size, going(groups), (body, idle), operands, batched)

    types = batched_types(condition.input_types, size, [*testing, *carrying])
    body_types = batched_types(body.input_types, size, [*reading, *carrying])
    return stage(test, types)[0], stage(step, [*types[:tested], *body_types])[0]


def _unchecked(counts: Any, operands: Values, params: dict[str, Any]) -> tuple[Values, dict[str, Any]]:
    """Have examples that do not count take no turn: they might never end."""
    changed = {"condition": _counting_and(params["condition"]), "tested": 1 + params["tested"]}
    return [counts, *operands], {**params, **changed}


@memoized
def _counting_and(condition: Graph) -> Graph:
    """Return the graph of ``counts and condition``, whose first input is ``counts``."""
    checked = unchecked_graph(condition)

    def run(counts: Any, *values: Any) -> list[Any]:
        return [logical_and(counts, *evaluate(checked, counts, *values))]

    return stage(run, checked.input_types)[0]


def _source(*operands: str, tested: int, fixed: int, most: int | None = None, **params: Any) -> str:
    first, second, carried = (", ".join(part) for part in parts(operands, tested, fixed))
    limit = "" if most is None else f", most={most}"
    return f"while_loop(condition, body, [{first}], [{second}], [{carried}]{limit})"


while_primitive = primitive(
    name="while",
    doc=(
        "a program that runs as long as a condition holds, `most` times at most: its operands are those of the "
        "condition, those of the body, and the carries, which are its results"
    ),
    type_rule=_infer,
    evaluate=_evaluate,
    derivative=HigherOrder(extend=_extend, pull=_pull, reach=_reach),
    batch=_batch,
    lowering=ControlFlow(),
    source=_source,
    samples=None,
    unchecked_programs=_unchecked,
    may_not_end=True,
)
