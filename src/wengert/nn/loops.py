"""A recurrence along a sequence: padding, truncation and checkpoints, in one `scan`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.control import checkpoint, scan, stop_gradient
from wengert.core.shapes import shape_of
from wengert.core.tree import map_tree
from wengert.nn.cells import Cell, State
from wengert.ops.comparison import where


class Plan(NamedTuple):
    """How a recurrence runs."""

    reverse: bool
    """From the last step to the first."""
    emits: bool
    """Whether the outputs of all steps are wanted."""
    truncate: int | None
    """The number of steps after which derivatives pass no further back."""
    block: int | None
    """The number of steps between two states that reverse mode keeps."""


def recur(cell: Cell, start: State, x: Any, active: Any, plan: Plan) -> tuple[State, Any]:
    """Carry a state through a sequence.

    Args:
        cell: what a step is.
        start: the first state.
        x: (examples, steps, inputs).
        active: (steps, examples, 1), which steps count, or None for all.
        plan: how to run.

    Returns:
        The last state, and the first part of all states (steps, examples, hidden), or None.
    """

    def one(state: State, row: Any) -> tuple[State, Any]:
        projected, counts, cut = row
        if cut is not None:
            state = tuple(where(cut, stop_gradient(part), part) for part in state)
        after = cell.step(projected, state)
        output = after[0] if counts is None else where(counts, after[0], 0.0)
        if counts is not None:
            after = tuple(where(counts, new, old) for new, old in zip(after, state, strict=True))
        return after, output if plan.emits else None

    def part(state: State, rows: Any) -> tuple[State, Any]:
        x, *others = rows
        return scan(one, state, (cell.project(x), *others), reverse=plan.reverse)

    cuts = _cuts(shape_of(x)[1], plan)
    if plan.block is None:
        return scan(one, start, (np.swapaxes(cell.project(x), 0, 1), active, cuts), reverse=plan.reverse)
    # The inputs are projected block by block: their projection is larger than what a scan keeps.
    return _in_blocks(part, start, (np.swapaxes(x, 0, 1), active, cuts), plan.block, plan.reverse)


def _cuts(steps: int, plan: Plan) -> Any:
    """Return before which steps derivatives stop, (steps, 1, 1); never before the first."""
    if plan.truncate is None:
        return None
    done = np.arange(steps)[:: -1 if plan.reverse else 1]
    return ((done % plan.truncate == 0) & (done > 0)).reshape(steps, 1, 1)


def _in_blocks(part: Any, start: State, rows: Any, size: int, reverse: bool) -> tuple[State, Any]:
    """Scan blocks of steps, each carried out by ``part``; reverse mode keeps their first states alone.

    Blocks are counted from where the scan starts; the last may be shorter.
    """
    block = checkpoint(part)
    steps = shape_of(rows[0])[0]
    whole, rest = divmod(steps, size)
    if not whole:
        return block(start, rows)
    split = rest if reverse else steps - rest
    lower, upper = (map_tree(lambda row: row[:split], rows), map_tree(lambda row: row[split:], rows))
    many, last = (upper, lower) if reverse else (lower, upper)
    many = map_tree(lambda row: np.reshape(row, (whole, size, *shape_of(row)[1:])), many)
    state, outputs = scan(block, start, many, reverse=reverse)
    outputs = map_tree(lambda row: np.reshape(row, (whole * size, *shape_of(row)[2:])), outputs)
    if not rest:
        return state, outputs
    state, more = block(state, last)
    pair = (more, outputs) if reverse else (outputs, more)
    return state, map_tree(lambda first, second: np.concatenate((first, second)), *pair)
