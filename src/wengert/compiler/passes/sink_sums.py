"""Sums over a stack of rows move into the loop that fills the stack.

A loop that writes a row in each turn, for a sum over all rows after it, fills an array that may outgrow the cache, and
the sum reads the array from memory. Inside the loop, each turn adds its part to the total while the row is in the
cache. If nothing else reads the other rows, the loop keeps one row in the place of the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wengert.compiler.passes.independence import clearing
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer, Expression, Load, Reduce, Rewriter, loads
from wengert.engine.nest.index import Dim, Index, follows
from wengert.engine.nest.nest import Loop, Nest, Program, Step, Store, all_nests, reads, touched, writes
from wengert.engine.nest.rewrite import extract_sum, replace_loads


def sink_sums(program: Program, target: Target) -> Program:
    """Return the program with sums over large stacks moved into the loops that fill them."""
    return replace(program, steps=_sunk(program.steps, program.outside(), target))


def _sunk(steps: Sequence[Step], outside: set[Buffer], target: Target) -> tuple[Step, ...]:
    """Return steps with sums moved into loops; steps around them use the buffers `outside`."""
    done: list[Step] = []
    later = list(steps)
    while later:
        step, *later = later
        if isinstance(step, Loop):
            others = touched(prior for prior in steps if prior is not step)
            step = replace(step, steps=_sunk(step.steps, outside | others, target))
            for stack in dict.fromkeys(writes(step)):
                is_large = stack.size * stack.dtype.itemsize > target.level2
                if is_large and stack not in outside and not any(stack in reads(prior) for prior in done):
                    totals, step, later = _sink(step, later, stack)
                    done += map(clearing, totals)
        done.append(step)
    return tuple(done)


def _sink(loop: Loop, later: list[Step], stack: Buffer) -> tuple[list[Buffer], Loop, list[Step]]:
    """Move the sums over a stack into its loop, unless later steps read the stack in another way.

    Return the totals, the loop, and the later steps, which read the totals.
    """
    unchanged: tuple[list[Buffer], Loop, list[Step]] = [], loop, later
    row = _row_store(loop, stack)
    readers = [step for step in later if stack in reads(step)]
    sums = [parts for step in readers if (parts := _split(step, stack, loop.counter)) is not None]
    if row is None or not readers or len(sums) < len(readers):
        return unchanged
    written = {buffer for step in (loop, *later) for buffer in writes(step)} - {stack}
    if any(not written.isdisjoint(partial.reads()) for partial, _ in sums):
        return unchanged
    totals = [partial.stores[0].buffer for partial, _ in sums]
    rows = 2 * stack.size * stack.dtype.itemsize // loop.counter.extent
    if costs.leaves_loop(rows, sum(total.size * total.dtype.itemsize for total in totals)):
        return unchanged
    inside = (*loop.steps, *(partial for partial, _ in sums))
    remainders = dict(zip(readers, (remainder for _, remainder in sums), strict=True))
    return (
        totals,
        replace(loop, steps=_without_stack(inside, stack, row, loop.counter)),
        [remainders.get(step, step) for step in later],
    )


def _row_store(loop: Loop, stack: Buffer) -> Store | None:
    """Return the store that writes the row of each turn, if no other store of the loop writes to the stack."""
    stores = [store for nest in all_nests(loop.steps) for store in nest.stores if store.buffer is stack]
    is_direct = any(isinstance(step, Nest) and stack in step.writes() for step in loop.steps)
    is_row = is_direct and len(stores) == 1 and follows(stores[0].indices[0]) is loop.counter
    return stores[0] if is_row else None


def _split(step: Step, stack: Buffer, counter: Dim) -> tuple[Nest, Nest] | None:
    """Split a nest whose only use of a stack is a sum over its rows.

    The first nest adds the part of one turn to a total, and the second, the remainder, reads the total.
    """
    if not isinstance(step, Nest) or len(step.stores) != 1 or step.sequential or step.stores[0].combiner:
        return None
    rows = {load.indices[0] for load in loads(step.stores[0].value) if load.buffer is stack}
    sums = [node for node in step.reductions() if any(load.buffer is stack for load in loads(node.body))]
    if len(rows) != 1 or len(sums) != 1 or sums[0].combiner != "add":
        return None
    (node,), dim = sums, follows(rows.pop())
    if dim is None or dim not in node.dims or node.dims == (dim,):
        return None
    if not dim.extent == counter.extent == stack.shape[0]:
        return None
    partial, remainder = extract_sum(step, node, "add")
    return _of_turn(partial, dim, counter), remainder


def _of_turn(partial: Nest, dim: Dim, counter: Dim) -> Nest:
    """Return the part of a sum that belongs to one turn: a dimension of the sum becomes the counter of the loop."""

    def without_dim(node: Expression) -> Expression:
        if isinstance(node, Reduce) and dim in node.dims:
            return replace(node, dims=tuple(axis for axis in node.dims if axis is not dim))
        return node

    rewrite = Rewriter(without_dim, lambda term: Index(0, ((counter, 1),)) if term is dim else None)
    (store,) = partial.stores
    return replace(partial, stores=(replace(store, value=rewrite(store.value)),))


def _without_stack(steps: tuple[Step, ...], stack: Buffer, row: Store, counter: Dim) -> tuple[Step, ...]:
    """Keep one row in the place of the stack, if each turn reads its own row alone.

    The buffer of the row is one that the same nest stores the row to anyway, if there is one.
    """
    own = Index(0, ((counter, 1),))
    if any(
        load.indices[0] != own for nest in all_nests(steps) for load in nest.loads() if load.buffer is stack
    ):
        return steps
    copies = (
        store.buffer
        for step in steps
        if isinstance(step, Nest) and row in step.stores
        for store in step.stores
        if store.value is row.value and store.indices == row.indices[1:] and not store.combiner
    )
    copy = next(copies, None)
    buffer = copy or Buffer(stack.dtype, stack.shape[1:], stack.name)

    def in_row(store: Store) -> Store:
        return replace(store, buffer=buffer, indices=store.indices[1:]) if store.buffer is stack else store

    def with_row(step: Step) -> Step:
        step = replace_loads(step, {stack: lambda load: Load(buffer, load.indices[1:])})
        if not isinstance(step, Nest) or stack not in step.writes():
            return step
        stores = [store for store in step.stores if copy is None or store.buffer is not stack]
        return replace(step, stores=tuple(map(in_row, stores)))

    return tuple(map(with_row, steps))
