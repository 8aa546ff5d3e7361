"""Rows of stacks are written where they stay.

A loop inside a loop stacks values of its turns, and the outer loop copies the stack into a row of a larger one. The
inner loop writes into the row itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Buffer, Expression, Load, Rewriter
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import (
    Loop,
    Nest,
    Program,
    Step,
    While,
    all_steps,
    count_uses,
    inner_blocks,
    map_blocks,
    map_nests,
    reads,
    writes,
)
from wengert.engine.nest.rewrite import rewrite_store


def stack_in_place(program: Program) -> Program:
    """Return the program without copies of stacks into rows of larger stacks."""
    uses = count_uses(program.steps)
    uses.update(program.outside())
    steps = _changed(program.steps, None, uses)
    return program if steps == program.steps else replace(program, steps=steps)


class _Row(NamedTuple):
    """A copy of a buffer into the row of another at the counter of a loop."""

    step: Nest
    source: Buffer
    target: Buffer
    lead: Index


def _changed(steps: tuple[Step, ...], counter: Dim | None, uses: Counter[Buffer]) -> tuple[Step, ...]:
    """Return steps, those of the turns of a loop with a counter, with rows written where they stay."""
    done: list[Step] = []
    for step in steps:
        inner = step.counter if isinstance(step, (Loop, While)) else None
        done.append(map_blocks(step, lambda block, inner=inner: _changed(block, inner, uses)))
    if counter is None:
        return tuple(done)
    inside = count_uses(done)
    rows = {row.source: row for step in done if (row := _row(step, counter)) is not None}
    users: dict[Buffer, list[Step]] = {}
    for step in done if rows else ():
        for buffer in {*reads(step), *writes(step)}:
            users.setdefault(buffer, []).append(step)
    rows = {
        source: row
        for source, row in rows.items()
        if inside[source] == uses[source]
        and len(users[row.target]) == 1
        and _is_made(source, row.step, users[source])
    }
    if not rows:
        return tuple(done)

    def moved(node: Expression) -> Expression:
        if isinstance(node, Load) and node.buffer in rows:
            row = rows[node.buffer]
            return Load(row.target, (row.lead, *node.indices))
        return node

    def rewritten(nest: Nest) -> list[Nest]:
        rewriter = Rewriter(moved)
        stores = [rewrite_store(store, rewriter) for store in nest.stores]
        stores = [
            replace(
                store, buffer=rows[store.buffer].target, indices=(rows[store.buffer].lead, *store.indices)
            )
            if store.buffer in rows
            else store
            for store in stores
        ]
        return [replace(nest, stores=tuple(stores))]

    copies = {row.step for row in rows.values()}
    for source, row in rows.items():
        uses[row.target] += uses.pop(source) - 2
    return map_nests([step for step in done if step not in copies], rewritten)


def _row(step: Step, counter: Dim) -> _Row | None:
    """Return a step as a copy into a row; None if it is no such step."""
    if not isinstance(step, Nest) or len(step.stores) != 1 or step.stores[0].combiner or not step.dims:
        return None
    store = step.stores[0]
    value, (lead, *indices) = store.value, store.indices or (Index(0),)
    if not isinstance(value, Load) or lead.only is not counter or value.indices != tuple(indices):
        return None
    if value.buffer.shape != store.buffer.shape[1:] or value.buffer.dtype != store.buffer.dtype:
        return None
    dims = [index.only for index in indices if index.only]
    if (
        value.buffer.ordered
        or store.buffer.ordered
        or set(dims) != set(step.dims)
        or len(dims) != len(step.dims)
    ):
        return None
    return _Row(step, value.buffer, store.buffer, lead)


def _is_made(source: Buffer, copy: Nest, users: Sequence[Step]) -> bool:
    """Return whether nests in loops of a turn alone use a buffer before the copy."""
    loops = users[:-1]
    inside = [step for step in all_steps(loops) if not inner_blocks(step)]
    return (
        users[-1] is copy
        and all(isinstance(step, (Loop, While)) for step in loops)
        and all(isinstance(step, Nest) or source not in {*reads(step), *writes(step)} for step in inside)
    )
