"""`scan`, `while_loop` and `fori_loop`: Python's own loops where values are known, programs where they are not."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from wengert.boxes import Box, concrete, on_graph, own
from wengert.control.carries import Carry
from wengert.control.closures import closes_over_graph
from wengert.control.programs import depends_on
from wengert.control.scans import scan_primitive
from wengert.control.values import flatten_numbers, predicate, stack
from wengert.control.whiles import while_primitive
from wengert.core import tree
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, ConcreteError, DtypeError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.ir.graph import Graph, Var
from wengert.ir.types import TensorType, show
from wengert.ops.shape import concatenate, slice_, whole
from wengert.transforms.staging import evaluate, provisionally, stage

Written = tuple[Graph, list[Any]]
"""A program, and the values that it closes over."""


def _foreseen(carry: Carry, write_down: Callable[[], list[Written]]) -> list[Written] | None:
    """Write the step of a loop down before its first turn; None where the loop is Python's own.

    A turn whose results depend on a graph makes the rest of the loop a program. Finding out by taking that turn would
    write the step down twice, and a loop inside it four times. The loop is Python's where its step does not depend on
    the graph, or asks for values that only a first turn has.
    """
    types, leaves = carry.types, carry.leaves
    try:
        with provisionally():
            programs = write_down()
    except ConcreteError:
        programs = []
    if any(_depends_on_graph(*program) for program in programs):
        return programs
    carry.types, carry.leaves = types, leaves
    return None


def _depends_on_graph(program: Graph, captured: Sequence[Any]) -> bool:
    met = [var for var, value in zip(program.inputs, captured, strict=False) if on_graph(value)]
    return not depends_on(program, met).isdisjoint(atom for atom in program.outputs if isinstance(atom, Var))


# -- scan ------------------------------------------------------------------------------------------------


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
) -> tuple[Any, Any]:
    """Carry a value through a sequence: ``carry, ys[i] = f(carry, xs[i])`` for i = 0, 1, ...

    Where values are known this is Python's own loop. In a traced graph ``f`` is written down once, and differentiated
    as a program: reverse mode keeps what each step needs and scans the other way round.

    Args:
        f: takes the carry and a slice of ``xs``, returns the next carry and a result of this step.
        init: the first carry: a container of arrays and numbers. Its shapes and dtypes stay the same.
        xs: a container of arrays that are sliced along their first axis, or None.
        length: the number of steps, where ``xs`` does not tell.
        reverse: go from the last slice to the first; the results keep the places of their slices.
        unroll: how many steps a compiler may write out in a row. Values do not depend on it.

    Returns:
        ``(carry, ys)``: the last carry, and the results of all steps stacked along a new first axis.

    Raises:
        ArgumentError: ``f`` does not return a pair, or the carry changes its containers, or lengths differ.
        ShapeError: the carry changes its shape.
        DtypeError: the carry changes its dtype.

    Example:
        >>> import numpy as np
        >>> scan(lambda total, x: (total + x, total * x), 0.0, np.array([1.0, 2.0, 3.0]))
        (np.float64(6.0), array([0., 2., 9.]))
    """
    return _scan(f, Carry("scan", init), xs, length, reverse, unroll)


def _scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    carry: Carry,
    xs: Any,
    length: int | None,
    reverse: bool = False,
    unroll: int = 1,
) -> tuple[Any, Any]:
    columns, structure = flatten_numbers("scan", "xs", xs)
    count = _length(columns, length)
    rows: list[list[Any]] = []
    results: tree.Structure | None = None

    def call(value: Any, row: Sequence[Any]) -> tuple[Any, list[Any]]:
        nonlocal results
        pair = f(value, tree.unflatten(structure, row))
        if not (isinstance(pair, tuple) and len(pair) == 2):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                message("scan", "the function must return a pair (carry, y)", type(pair).__name__)
            )
        found, results = flatten_numbers("scan", "what a step returns", pair[1])
        return pair[0], found

    def run(*values: Any) -> list[Any]:
        value, row = call(
            tree.unflatten(carry.structure, values[: len(carry.leaves)]), values[len(carry.leaves) :]
        )
        return [*carry.flatten(value), *row]

    types = [TensorType(dtype_of(column), shape_of(column)[1:]) for column in columns]
    foreseen = None
    if count > 1 and not any(map(on_graph, [*carry.leaves, *columns])) and closes_over_graph(f):
        foreseen = _foreseen(carry, lambda: [carry.stage(run, types)])
    order = range(count - 1, -1, -1) if reverse else range(count)
    for done, position in enumerate(order if foreseen is None else ()):
        if any(map(on_graph, [*carry.leaves, *(rows[-1] if rows else columns)])):
            rest = slice(0, count - done) if reverse else slice(done, count)
            columns = [column if not done else column[rest] for column in columns]
            break
        value, row = call(carry.value, [_row(column, position) for column in columns])
        carry.step(value)
        rows.append(list(map(own, row)))
    stacked = [stack(column) for column in zip(*(rows[::-1] if reverse else rows), strict=True)]
    if len(rows) < count or not count:
        (step,) = foreseen or [carry.stage(run, types)]
        later = _staged_scan(step, carry, columns, count - len(rows), reverse, unroll)
        stacked = [_join(*pair, reverse) for pair in zip(stacked, later, strict=True)] if rows else later
    assert results is not None
    return carry.value, tree.unflatten(results, stacked)


def _length(columns: Sequence[Any], length: int | None) -> int:
    if any(shape_of(column) == () for column in columns):
        raise ShapeError(message("scan", "xs must have a first axis to slice", show(*columns)))
    lengths = {shape_of(column)[0] for column in columns}
    if length is not None:
        lengths.add(operator.index(length))
    if len(lengths) != 1:
        requirement = (
            "xs and length must agree on the number of steps" if lengths else "xs or length is needed"
        )
        raise ArgumentError(
            message("scan", requirement, f"{sorted(lengths)} in {show(*columns)}" if lengths else "")
        )
    (count,) = lengths
    if count < 0:
        raise ArgumentError(message("scan", "length must not be negative", str(count)))
    return count


def _row(column: Any, position: int) -> Any:
    if not isinstance(column, Box):
        return column[position]
    return slice_(column, index=(position, *whole(column.shape[1:])))


def _join(earlier: Any, later: Any, reverse: bool) -> Any:
    return concatenate(later, earlier, axis=0) if reverse else concatenate(earlier, later, axis=0)


def _staged_scan(
    step: Written, carry: Carry, columns: Sequence[Any], length: int, reverse: bool, unroll: int
) -> list[Any]:
    """Write the steps down as one scan; the carry takes its last value, the stacked results are returned."""
    (body, captured), count = step, len(carry.leaves)
    if not body.outputs:
        return []
    results = scan_primitive(
        *captured,
        *carry.leaves,
        *columns,
        body=body,
        constants=len(captured),
        carries=count,
        length=length,
        reverse=reverse,
        unroll=unroll,
    )
    carry.leaves = list(results[:count])
    return list(results[count:])


# -- while_loop and fori_loop ----------------------------------------------------------------------------


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Repeat a step as long as a condition holds: ``while cond_fun(val): val = body_fun(val)``.

    Where values are known this is Python's own loop, and both modes of differentiation follow. In a traced graph the
    functions are written down once; forward mode goes through, reverse mode needs `scan` or `fori_loop`, whose number
    of steps is known. Under `vmap` the loop goes on until all examples are done, and those that are stand still.

    Args:
        cond_fun: takes the value and returns one truth value.
        body_fun: takes the value and returns the next one, of the same containers, shapes and dtypes.
        init_val: the first value: a container of arrays and numbers.

    Returns:
        The first value for which the condition does not hold.

    Raises:
        ArgumentError: the value changes its containers.
        ShapeError: the value changes its shape, or the condition is no scalar.
        DtypeError: the value changes its dtype.
        UnsupportedError: reverse mode goes back through the loop in a traced graph.

    Example:
        >>> import wengert as wg
        >>> power = lambda x: while_loop(lambda v: v < 100, lambda v: v * x, 1.0)
        >>> power(3.0), wg.grad(power)(3.0)
        (243.0, 405.0)
    """
    return _while(cond_fun, body_fun, Carry("while_loop", init_val))


def _while(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], carry: Carry) -> Any:
    def test(*values: Any) -> list[Any]:
        return [predicate(carry.operation, cond_fun(tree.unflatten(carry.structure, values)))]

    def step(*values: Any) -> list[Any]:
        return carry.flatten(body_fun(tree.unflatten(carry.structure, values)))

    def write_down() -> list[Written]:
        body = carry.stage(step)
        return [body, stage(test, carry.types, carry.operation)]

    first = carry.value
    programs = None
    if not any(map(on_graph, carry.leaves)) and closes_over_graph(cond_fun, body_fun):
        programs = _foreseen(carry, write_down)
    if programs is not None and not _may_begin(programs[1], carry):
        return first
    while programs is None and not any(map(on_graph, carry.leaves)):
        going = predicate(carry.operation, cond_fun(carry.value))
        if not isinstance(going, bool):
            break
        if not going:
            return carry.value
        carry.step(body_fun(carry.value))
    return _staged_while(programs or write_down(), carry)


def _may_begin(condition: Written, carry: Carry) -> bool:
    """Tell whether a condition holds at first, or is not known."""
    graph, captured = condition
    if any(map(on_graph, captured)):
        return True
    (going,) = evaluate(graph, *captured, *carry.leaves)
    return isinstance(predicate(carry.operation, going), Box) or bool(going)


def _staged_while(programs: Sequence[Written], carry: Carry) -> Any:
    (body, fixed), (condition, tested) = programs
    results = while_primitive(
        *tested,
        *fixed,
        *carry.leaves,
        condition=condition,
        body=body,
        tested=len(tested),
        fixed=len(fixed),
    )
    return tree.unflatten(carry.structure, results)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Repeat a step for each number of a range: ``for i in range(lower, upper): val = body_fun(i, val)``.

    With bounds that are known this is a `scan`, through which both modes of differentiation go everywhere; with bounds
    that a traced graph does not know it is a `while_loop`.

    Args:
        lower: the first number, an integer.
        upper: the number after the last.
        body_fun: takes the number and the value and returns the next value.
        init_val: the first value: a container of arrays and numbers. Its shapes and dtypes stay the same.

    Raises:
        DtypeError: a bound is no integer.
        ArgumentError, ShapeError, DtypeError: the value changes, as in `while_loop`.

    Example:
        >>> fori_loop(1, 6, lambda i, factorial: factorial * i, 1)
        120
    """
    for bound in (lower, upper):
        if shape_of(bound) != () or dtype_of(bound).kind not in "iu":
            raise DtypeError(message("fori_loop", "bounds must be integers", show(lower, upper)))

    def turn(state: tuple[Any, Any]) -> tuple[Any, Any]:
        number, value = state
        return number + 1, body_fun(number, value)

    first, last = concrete(lower), concrete(upper)
    if first is None or last is None:
        carry = Carry("fori_loop", (lower, init_val), counts=True)
        return _while(lambda state: state[0] < upper, turn, carry)[1]

    def step(state: tuple[Any, Any], _: None) -> tuple[Any, None]:
        return turn(state), None

    carry = Carry("fori_loop", (int(first), init_val), counts=True)
    (_, value), _ = _scan(step, carry, None, max(int(last) - int(first), 0))
    return value
