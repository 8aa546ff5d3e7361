"""Elements that a turn of a loop writes for the next turn to read are carried in scalars, which stay in registers.

A recurrence such as ``y[i] = f(y[i - 1])`` would write each element and load it in the next turn, which waits for the
store: longer than the arithmetic takes in many loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import Buffer, Expression, Load
from wengert.engine.nest.index import Index, Term
from wengert.engine.nest.nest import (
    Loop,
    Nest,
    Program,
    Step,
    Store,
    all_nests,
    all_steps,
    inner_blocks,
    map_blocks,
    reads,
    writes,
)
from wengert.engine.nest.rewrite import replace_loads


def carry_elements(program: Program) -> Program:
    """Return the program with elements carried from one turn of a loop to the next."""
    known = {*program.inputs, *(buffer for buffer, _ in program.constants)}
    return replace(program, steps=_carried(program.steps, known))


def _carried(steps: Sequence[Step], known: AbstractSet[Buffer]) -> tuple[Step, ...]:
    """Return steps with elements carried; the buffers ``known`` are written before them."""
    done: list[Step] = []
    before = set(known)
    for step in steps:
        inner = step if isinstance(step, Loop) and step.shared else _inside(step, before)
        if isinstance(inner, Loop) and not inner.shared:
            for store in _stores(inner):
                if store.buffer in before:
                    first, inner = _carry(inner, store)
                    done += first
        done.append(inner)
        before.update(writes(step))
    return tuple(done)


def _inside(step: Step, before: AbstractSet[Buffer]) -> Step:
    return map_blocks(step, lambda block: _carried(block, before))


def _stores(loop: Loop) -> list[Store]:
    """Return the stores of single elements that each turn carries out, the only ones to their buffers."""
    nests = [step for step in loop.steps if isinstance(step, Nest) and not step.dims]
    stores = [
        store
        for nest in nests
        for store in nest.stores
        if store.buffer.shape and not store.combiner and not store.along
    ]
    if not stores:
        return []
    leaves = [step for step in all_steps(loop.steps) if not inner_blocks(step)]
    written = [buffer for step in leaves for buffer in _written(step)]
    whole = {buffer for step in leaves if not isinstance(step, Nest) for buffer in reads(step)}
    return [store for store in stores if written.count(store.buffer) == 1 and store.buffer not in whole]


def _written(step: Step) -> list[Buffer]:
    return [store.buffer for store in step.stores] if isinstance(step, Nest) else list(writes(step))


def _carry(loop: Loop, store: Store) -> tuple[list[Step], Loop]:
    """Return the steps before the loop and the loop, in which a scalar carries the element of a store."""
    buffer, counter = store.buffer, loop.counter
    back = 1 if loop.reverse else -1

    def earlier(term: Term) -> Index | None:
        return Index(back, ((counter, 1),)) if term is counter else None

    def begin(term: Term) -> Index | None:
        return Index(counter.extent - 1 if loop.reverse else 0) if term is counter else None

    before = tuple(index.substitute(earlier) for index in store.indices)
    start = tuple(index.substitute(begin) for index in before)
    is_moving = all(index.is_affine for index in store.indices) and before != store.indices
    is_inside = all(
        index.bounds[0] >= 0 and index.bounds[1] < extent
        for index, extent in zip(start, buffer.shape, strict=True)
    )
    users = [nest for nest in all_nests(loop.steps) if buffer in nest.reads() or store in nest.stores]
    is_short = all(operation_count(nest) <= costs.COSTS.inlined_nest_work for nest in users)
    is_read = any(
        load.buffer is buffer and _same(load.indices, before) for nest in users for load in nest.loads()
    )
    if not (counter.extent > 1 and is_moving and is_inside and is_short and is_read):
        return [], loop
    carry, following = (Buffer(buffer.dtype, (), buffer.name) for _ in range(2))

    def of_carry(load: Load) -> Expression:
        return Load(carry, ()) if _same(load.indices, before) else load

    def with_following(step: Step) -> Step:
        if isinstance(step, Nest) and store in step.stores:
            return replace(step, stores=(*step.stores, Store(following, (), store.value)))
        return step

    first = Nest((), (Store(carry, (), Load(buffer, start)),), location=loop.location)
    last = Nest((), (Store(carry, (), Load(following, ())),), location=loop.location)
    steps = (replace_loads(with_following(step), {buffer: of_carry}) for step in loop.steps)
    return [first], replace(loop, steps=(*steps, last))


def _same(one: Sequence[Index], other: Sequence[Index]) -> bool:
    """Return whether indices are equal, however their terms are ordered."""
    return all(not (x - y).terms and x.offset == y.offset for x, y in zip(one, other, strict=True))
