"""`scan`: a step that runs a fixed number of times, each time on the next slice of its operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, inside_transform, on_graph, own
from wengert.engine.control.carry import Carry, Staged
from wengert.engine.control.checkpointed_scan import checkpointed_scan_primitive
from wengert.engine.control.scan_primitive import scan_primitive
from wengert.engine.control.subgraphs import Values
from wengert.engine.control.values import checked_limit, flatten_numbers, stack
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import RETURNED, ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show
from wengert.engine.ops.shape import concatenate, slice_, whole
from wengert.engine.transforms.closures import closes_over_graph


@advising("wg.scan(f, init, xs) with f(carry, x) -> (carry, y)")
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
    *,
    max_bytes: int | None = None,
) -> tuple[Any, Any]:
    """Carry a value through a sequence: ``carry, ys[i] = f(carry, xs[i])`` for i = 0, 1, ...

    For known values this is a Python loop. In a traced graph ``f`` is staged once, and differentiated as a graph:
    reverse mode keeps the residuals of each step and scans in the opposite direction.

    Args:
        f: takes the carry and a slice of ``xs``, and returns the next carry and a result of this step.
        init: the initial carry: a container of arrays and numbers. Its shapes and dtypes stay the same.
        xs: a container of arrays, sliced along their first axis, or None.
        length: the number of steps; needed if ``xs`` is None.
        reverse: go from the last slice to the first; the results keep the positions of their slices.
        unroll: how many steps a compiler may unroll. It does not change the values.
        max_bytes: the memory for reverse mode. It keeps as many carries as fit, and carries out the other steps again,
            as few as possible (Griewank's binomial checkpointing).

    Returns:
        ``(carry, ys)``: the last carry, and the results of all steps stacked along a new first axis.

    Raises:
        ArgumentError: ``f`` does not return a pair, the carry changes its containers, or lengths differ.
        ShapeError: the carry changes its shape.
        DtypeError: the carry changes its dtype.
        LimitError: ``max_bytes`` do not hold a carry and what the derivative of one step reads.

    Example:
        >>> import numpy as np
        >>> scan(lambda total, x: (total + x, total * x), 0.0, np.array([1.0, 2.0, 3.0]))
        (np.float64(6.0), array([0., 2., 9.]))
    """
    limit = checked_limit("scan", "max_bytes", max_bytes)
    return scan_carry(f, Carry("scan", init), xs, length, reverse, unroll, limit)


def scan_carry(
    f: Callable[[Any, Any], tuple[Any, Any]],
    carry: Carry,
    xs: Any,
    length: int | None,
    reverse: bool = False,
    unroll: int = 1,
    max_bytes: int | None = None,
) -> tuple[Any, Any]:
    """Scan with a given carry."""
    columns, structure = flatten_numbers("scan", "xs", xs)
    count = _length(columns, length)
    rows: list[list[Any]] = []
    results: tree.Structure | None = None

    def call(value: Any, row: Values) -> tuple[Any, list[Any]]:
        nonlocal results
        pair = f(value, tree.unflatten(structure, row))
        if not (isinstance(pair, tuple) and len(pair) == 2):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _no_pair(pair)
        leaves, results = flatten_numbers("scan", "the result of a step", pair[1])
        return pair[0], leaves

    def run(*values: Any) -> list[Any]:
        split = len(carry.leaves)
        value, row = call(tree.unflatten(carry.structure, values[:split]), values[split:])
        return [*carry.flatten(value), *row]

    staged, stage_step = None, lambda: [carry.stage(run, list(map(_row_type, columns)))]
    if count and max_bytes is not None and inside_transform():
        staged = stage_step()
    elif count > 1 and not any(map(on_graph, [*carry.leaves, *columns])) and closes_over_graph(f):
        staged = carry.stage_first(stage_step)
    order = range(count - 1, -1, -1) if reverse else range(count)
    for done, position in enumerate(order if staged is None else ()):
        if any(map(on_graph, [*carry.leaves, *(rows[-1] if rows else columns)])):
            remainder = slice(0, count - done) if reverse else slice(done, count)
            columns = [column if not done else column[remainder] for column in columns]
            break
        value, row = call(carry.value, [_row(column, position) for column in columns])
        carry.step(value)
        rows.append(list(map(own, row)))
    stacked = [stack(column) for column in zip(*(rows[::-1] if reverse else rows), strict=True)]
    if len(rows) < count or not count:
        (step,) = staged or stage_step()
        later = _staged_scan(step, carry, columns, count - len(rows), reverse, unroll, max_bytes)
        pairs = zip(*(later, stacked) if reverse else (stacked, later), strict=True) if rows else ()
        stacked = [concatenate(*pair, axis=0) for pair in pairs] or later
    assert results is not None
    return carry.value, tree.unflatten(results, stacked)


def _no_pair(result: Any) -> ArgumentError:
    requirement = "the function must return a pair (carry, y)"
    hint = RETURNED if result is None else "return (carry, None) where nothing is collected"
    return ArgumentError(message("scan", requirement, type(result).__name__, hint))


def _length(columns: Values, length: int | None) -> int:
    if any(shape_of(column) == () for column in columns):
        raise ShapeError(message("scan", "xs must have a first axis to slice", show(*columns)))
    lengths = {shape_of(column)[0] for column in columns}
    if length is not None:
        lengths.add(operator.index(length))
    if not lengths:
        raise ArgumentError(message("scan", "xs or length is needed"))
    if len(lengths) > 1:
        got = f"{sorted(lengths)} in {show(*columns)}"
        raise ArgumentError(message("scan", "xs and length must agree on the number of steps", got))
    (count,) = lengths
    if count < 0:
        raise ArgumentError(message("scan", "length must not be negative", str(count)))
    return count


def _row_type(column: Any) -> TensorType:
    return TensorType(dtype_of(column), shape_of(column)[1:])


def _row(column: Any, position: int) -> Any:
    if not isinstance(column, Box):
        return column[position]
    return slice_(column, index=(position, *whole(column.shape[1:])))


def _staged_scan(
    step: Staged,
    carry: Carry,
    columns: Values,
    length: int,
    reverse: bool,
    unroll: int,
    max_bytes: int | None,
) -> list[Any]:
    """Add a scan to the graph; set the carry to its last value, and return the stacked results."""
    (body, captured), count = step, len(carry.leaves)
    if not body.outputs:
        return []
    operands = [*captured, *carry.leaves, *columns]
    params = {
        "body": body,
        "constants": len(captured),
        "carries": count,
        "length": length,
        "reverse": reverse,
    }
    if max_bytes is None:
        results = scan_primitive(*operands, **params, unroll=unroll)
    else:
        results = checkpointed_scan_primitive(np.int64(length), *operands, **params, max_bytes=max_bytes)
    carry.leaves = list(results[:count])
    return list(results[count:])
