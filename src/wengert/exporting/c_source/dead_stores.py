"""Dead stores: what is stored, counted or added up, and read by nobody but itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from wengert.engine.nest.expression import Buffer, Const, computed, may_report
from wengert.engine.nest.nest import (
    Branch,
    Nest,
    Program,
    Sort,
    Step,
    Store,
    While,
    all_steps,
    inner_blocks,
    map_blocks,
    reads,
    writes,
)


def certain(program: Program) -> set[Buffer]:
    """Return the conditions of loops that always hold."""
    conditions = {step.predicate for step in all_steps(program.steps) if isinstance(step, While)}
    steps = list(all_steps(program.steps))
    stores = [store for step in steps if isinstance(step, Nest) for store in step.stores]
    stored = {store.buffer for store in stores if isinstance(store.value, Const) and store.value.value}
    others = {store.buffer for store in stores if not (isinstance(store.value, Const) and store.value.value)}
    read = {step.predicate for step in steps if isinstance(step, Branch)}
    read.update(buffer for step in steps if not inner_blocks(step) for buffer in reads(step))
    return (conditions & stored) - others - read - program.outside()


def without_dead_stores(program: Program, unread: Collection[Buffer]) -> Program:
    """Return the program without the stores that neither a result nor an error nor a condition needs.

    The conditions ``unread`` always hold.
    """
    live = _live(program, unread)

    def kept(steps: Iterable[Step]) -> tuple[Step, ...]:
        return tuple(inner for step in steps for inner in one(step))

    def one(step: Step) -> Iterator[Step]:
        if isinstance(step, Nest):
            stores = tuple(store for store in step.stores if _is_needed(store, live))
            if stores:
                yield step if len(stores) == len(step.stores) else replace(step, stores=stores)
        elif isinstance(step, Sort):
            values, positions = (
                buffer if buffer in live else None for buffer in (step.values, step.positions)
            )
            if values or positions:
                yield replace(step, values=values, positions=positions)
        else:
            changed = map_blocks(step, kept)
            if isinstance(step, While) or not inner_blocks(step) or any(inner_blocks(changed)):
                yield changed

    return replace(program, steps=kept(program.steps))


def read_elsewhere(program: Program) -> set[Buffer]:
    """Return the buffers that something reads besides the stores into themselves."""
    read: set[Buffer] = set()
    for step in all_steps(program.steps):
        if isinstance(step, (Branch, While)):
            read.update(step.controls)
        elif isinstance(step, Nest):
            for store in step.stores:
                read.update(buffer for buffer in _buffers_of(store) if buffer is not store.buffer)
        elif not inner_blocks(step):
            read.update(reads(step))
    return read


def _live(program: Program, unread: Collection[Buffer]) -> set[Buffer]:
    """Return the buffers whose elements count."""
    live = {*program.outputs, *program.inputs}
    steps = list(all_steps(program.steps))
    for step in steps:
        if isinstance(step, (Branch, While)):
            live.update(buffer for buffer in step.controls if buffer not in unread)
    size = -1
    while size != len(live):
        size = len(live)
        for step in steps:
            if isinstance(step, Nest):
                for store in step.stores:
                    if _is_needed(store, live):
                        live.update(_buffers_of(store))
            elif not inner_blocks(step) and not live.isdisjoint(writes(step)):
                live.update(reads(step))
    return live


def _is_needed(store: Store, live: set[Buffer]) -> bool:
    return store.buffer in live or any(map(may_report, (store.value, *computed(store.indices))))


def _buffers_of(store: Store) -> Iterator[Buffer]:
    for node in (store.value, *computed(store.indices)):
        yield from node.facts.buffers
