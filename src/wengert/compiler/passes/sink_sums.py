"""Sums over the turns of a loop carried out in the loop, while what they add up is at hand.

A loop that writes a row in each turn, for a sum over all rows that comes after it, fills an array that may outgrow the
cache and that the sum then reads from memory. Such sums move into the loop, each turn adding its part; the array goes
if nothing else reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from wengert.compiler.passes.independence import clearing
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer, Expression, Load, Reduce, Rewriter, loads
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import (
    Loop,
    Nest,
    Program,
    Step,
    Store,
    all_nests,
    reads,
    reads_whole,
    touched,
    writes,
)
from wengert.engine.nest.rewrite import extract_sum, replace_loads


def sink_sums(program: Program, target: Target) -> Program:
    """Return the program with sums over large stacks of rows moved into the loops that make them."""
    kept = program.outside()
    return replace(program, steps=_sunk(program.steps, kept, target))


def _sunk(steps: Sequence[Step], kept: set[Buffer], target: Target) -> tuple[Step, ...]:
    done = list(steps)
    for position, step in enumerate(done):
        if isinstance(step, Loop):
            outside = touched(other for other in done if other is not step)
            done[position] = replace(step, steps=_sunk(step.steps, kept | outside, target))
    position = 0
    while position < len(done):
        step = done[position]
        if isinstance(step, Loop):
            for buffer in dict.fromkeys(writes(step)):
                if buffer not in kept and buffer.size * buffer.dtype.itemsize > target.level2:
                    _sink(done, done.index(step), buffer)
                    step = next(
                        loop for loop in done if isinstance(loop, Loop) and loop.counter is step.counter
                    )
            position = done.index(step)
        position += 1
    return tuple(done)


def _sink(steps: list[Step], position: int, stack: Buffer) -> None:
    """Move all sums over a stack into the loop at a position, if all that reads the stack are such sums."""
    loop = steps[position]
    assert isinstance(loop, Loop)
    row = _row_store(loop, stack)
    readers = [n for n, step in enumerate(steps) if n != position and stack in reads(step)]
    if row is None or not readers or min(readers) < position:
        return
    split = [_split(steps[n], stack) for n in readers]
    if loop.counter.extent != stack.shape[0]:
        return
    inside = [partial for partial in split if partial is not None]
    if len(inside) < len(split) or any(stack in reads_whole(steps[n]) for n in readers):
        return
    made = {b for step in steps[position + 1 :] for b in writes(step)}
    changed = set(writes(loop)) - {stack}
    partials: list[Nest] = []
    for partial, node, dim, _ in inside:
        read = {load.buffer for load in loads(node.body)} - {stack}
        if read & made or read & changed:
            return
        partials.append(_in_turn(partial, dim, loop.counter))
    totals = [partial.stores[0].buffer for partial in partials]
    rows = 2 * stack.size * stack.dtype.itemsize // loop.counter.extent
    if costs.leaves_loop(rows, sum(total.size * total.dtype.itemsize for total in totals)):
        return
    for n, (_, _, _, rest) in zip(readers, inside, strict=True):
        steps[n] = rest
    steps[position] = replace(loop, steps=_without_stack((*loop.steps, *partials), stack, row, loop.counter))
    steps[position:position] = map(clearing, totals)


def _without_stack(steps: tuple[Step, ...], stack: Buffer, row: Store, counter: Dim) -> tuple[Step, ...]:
    """Keep the row of one turn alone, where no turn reads that of another: in a buffer that holds it anyway, if any."""
    here = Index(0, ((counter, 1),))
    loaded = (load for nest in all_nests(steps) for load in nest.loads() if load.buffer is stack)
    if any(load.indices[0] != here for load in loaded):
        return steps
    twins = [
        store
        for step in steps
        if isinstance(step, Nest) and row in step.stores
        for store in step.stores
        if store.value is row.value and store.indices == row.indices[1:] and not store.combiner
    ]
    kept = twins[0].buffer if twins else Buffer(stack.dtype, stack.shape[1:], stack.name)
    row_load: dict[Buffer, Callable[[Load], Expression]] = {stack: lambda load: Load(kept, load.indices[1:])}
    return tuple(_with_row(replace_loads(step, row_load), stack, kept, bool(twins)) for step in steps)


def _with_row(step: Step, stack: Buffer, kept: Buffer, stored: bool) -> Step:
    """Store the row of a turn in the buffer that is kept, unless it is stored there already."""
    if not isinstance(step, Nest):
        return step
    stores: list[Store] = []
    for store in step.stores:
        if store.buffer is not stack:
            stores.append(store)
        elif not stored:
            stores.append(replace(store, buffer=kept, indices=store.indices[1:]))
    return replace(step, stores=tuple(stores))


def _row_store(loop: Loop, stack: Buffer) -> Store | None:
    """Return the one store that writes the row of each turn."""
    rows = [store for nest in all_nests(loop.steps) for store in nest.stores if store.buffer is stack]
    direct = [
        store for step in loop.steps if isinstance(step, Nest) for store in step.stores if store in rows
    ]
    if len(rows) != 1 or len(direct) != 1:
        return None
    (store,) = rows
    return store if store.indices[0].terms == ((loop.counter, 1),) and not store.indices[0].offset else None


def _split(step: Step, stack: Buffer) -> tuple[Nest, Reduce, Dim, Nest] | None:
    """Split a sum over the rows into its accumulation and the nest that reads the total."""
    if not isinstance(step, Nest) or len(step.stores) != 1 or step.sequential or step.stores[0].combiner:
        return None
    inside = [load for store in step.stores for load in loads(store.value) if load.buffer is stack]
    nodes = [node for node in step.reductions() if any(load in loads(node.body) for load in inside)]
    if len(nodes) != 1 or nodes[0].combiner != "add":
        return None
    (node,) = nodes
    dims = {index.indices[0].terms for index in inside}
    if len(dims) != 1 or any(load.indices[0].offset for load in inside):
        return None
    (terms,) = dims
    if len(terms) != 1 or terms[0][1] != 1 or terms[0][0] not in node.dims or node.dims == (terms[0][0],):
        return None
    dim = terms[0][0]
    assert isinstance(dim, Dim)
    if dim.extent != stack.shape[0]:
        return None
    partial, rest = extract_sum(step, node, "add")
    return partial, node, dim, rest


def _in_turn(partial: Nest, dim: Dim, counter: Dim) -> Nest:
    """Return the part of a sum that belongs to one turn."""

    def change(node: Expression) -> Expression:
        if isinstance(node, Reduce) and dim in node.dims:
            return replace(node, dims=tuple(other for other in node.dims if other is not dim))
        return node

    rewrite = Rewriter(change, lambda term: Index(0, ((counter, 1),)) if term is dim else None)
    (store,) = partial.stores
    return replace(partial, stores=(replace(store, value=rewrite(store.value)),))
