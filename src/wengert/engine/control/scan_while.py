"""`scan_while`: a step that runs as long as a condition holds, and leaves a result behind in each turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.boxes import on_graph, own
from wengert.engine.control.bounded_scan import bounded_scan_primitive, ended
from wengert.engine.control.carry import Carry
from wengert.engine.control.values import flatten_numbers, predicate, stack
from wengert.engine.core import tree
from wengert.engine.transforms.closures import closes_over_graph
from wengert.engine.transforms.staging import evaluate, stage


def scan_while(
    cond_fun: Callable[[Any], Any],
    f: Callable[[Any], tuple[Any, Any]],
    init: Any,
    *,
    most: int,
    operation: str = "scan_while",
    limit: str = "most",
) -> tuple[Any, Any, Any]:
    """Carry a value as long as a condition holds: ``while cond_fun(carry): carry, ys[n] = f(carry)``.

    Args:
        cond_fun: takes the carry and returns one truth value.
        f: takes the carry, and returns the next one and a result of this turn.
        init: the initial carry: a container of arrays and numbers. Its shapes and dtypes stay the same.
        most: the largest number of turns.
        operation: the name of the loop in errors.
        limit: the name of the largest number of turns in errors.

    Returns:
        ``(carry, turns, ys)``: the last carry, the number of turns, and their results, stacked along a new first axis:
        as many rows as turns where values are known, ``most`` of them in a traced graph and for the examples of `vmap`.
        Rows behind the last turn are not specified.

    Raises:
        LimitError: the condition still holds after ``most`` turns.

    Example:
        >>> carry, turns, ys = scan_while(lambda x: x < 9, lambda x: (2 * x, x), 1.0, most=10)
        >>> carry, turns, ys
        (16.0, 4, array([1., 2., 4., 8.]))
    """
    leaves = tree.leaves(init)
    if not any(map(on_graph, leaves)) and not closes_over_graph(cond_fun, f):
        results = _in_python(cond_fun, f, Carry(operation, init), most, limit)
        if results is not None:
            return results
    return _staged(cond_fun, f, Carry(operation, init), most, limit)


def _in_python(
    cond_fun: Callable[[Any], Any], f: Callable[[Any], Any], carry: Carry, most: int, limit: str
) -> tuple[Any, Any, Any] | None:
    """Return the results where each condition is known, and there is a turn."""
    rows: list[list[Any]] = []
    structure = None
    while isinstance(going := predicate(carry.operation, cond_fun(carry.value)), bool):
        if not going:
            stacked = [stack(column) for column in zip(*rows, strict=True)]
            return (carry.value, len(rows), tree.unflatten(structure, stacked)) if structure else None
        if len(rows) == most:
            ended(most, going, 0, carry.operation, limit)
        value, result = f(carry.value)
        carry.step(value)
        leaves, structure = flatten_numbers(carry.operation, "the result of a turn", result)
        rows.append(list(map(own, leaves)))
    return None


def _staged(
    cond_fun: Callable[[Any], Any], f: Callable[[Any], Any], carry: Carry, most: int, limit: str
) -> tuple[Any, Any, Any]:
    structures: list[tree.Structure] = []

    def test(*values: Any) -> list[Any]:
        return [predicate(carry.operation, cond_fun(tree.unflatten(carry.structure, values)))]

    def step(*values: Any) -> list[Any]:
        value, result = f(tree.unflatten(carry.structure, values))
        leaves, structure = flatten_numbers(carry.operation, "the result of a turn", result)
        structures.append(structure)
        return [*carry.flatten(value), *leaves]

    body, fixed = carry.stage(step)
    condition, tested = stage(test, carry.types, carry.operation)
    count, constants = len(carry.leaves), len(tested) + len(fixed)

    def turn(*values: Any) -> list[Any]:
        _, number, *carries = values[constants:]
        results = evaluate(body, *values[len(tested) : constants], *carries)
        (going,) = evaluate(condition, *values[: len(tested)], *results[:count])
        return [going, number + 1, *results]

    (going,) = evaluate(condition, *tested, *carry.leaves)
    operands = [*tested, *fixed, going, np.int64(0), *carry.leaves]
    types = [*condition.input_types[: len(tested)], *body.input_types[: len(fixed)]]
    numbers = [condition.output_types[0], stage(lambda: [np.int64(0)], [])[0].output_types[0]]
    program = stage(turn, [*types, *numbers, *carry.types])[0]
    going, turns, *results = bounded_scan_primitive(
        np.int64(most),
        *operands,
        body=program,
        constants=constants,
        carries=2 + count,
        length=most,
        reverse=False,
        stops=True,
    )
    turns, *carries = (ended(most, going, x, carry.operation, limit) for x in (turns, *results[:count]))
    ys = tree.unflatten(structures[-1], results[count:])
    return tree.unflatten(carry.structure, carries), turns, ys
