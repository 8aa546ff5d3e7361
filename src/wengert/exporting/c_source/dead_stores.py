"""Dead stores: what is stored, counted or added up, and read by nobody but itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from wengert.engine.nest.expression import Buffer, Const, computed, may_report
from wengert.engine.nest.nest import (
    Branch,
    Nest,
    Program,
    Step,
    Store,
    While,
    all_nests,
    all_steps,
    inner_blocks,
    map_blocks,
    reads,
    writes,
)


def certain(program: Program) -> set[Buffer]:
    """Return the conditions of loops that always hold."""
    steps = list(all_steps(program.steps))
    stores = [store for nest in all_nests(program.steps) for store in nest.stores]
    unsure = {store.buffer for store in stores if not (isinstance(store.value, Const) and store.value.value)}
    unsure.update(step.predicate for step in steps if isinstance(step, Branch))
    unsure.update(buffer for step in steps if not inner_blocks(step) for buffer in reads(step))
    return {step.predicate for step in steps if isinstance(step, While)} - unsure - program.outside()


def without_dead_stores(program: Program, unread: Collection[Buffer]) -> Program:
    """Return the program without the stores that neither a result nor an error nor a condition needs.

    The conditions ``unread`` always hold.
    """
    live, size = {*program.outputs, *program.inputs}, -1
    while size != len(live):
        size = len(live)
        for written, read, reports in _flows(program):
            if reports or written in live:
                live.update(buffer for buffer in read if written or buffer not in unread)

    def kept(steps: Iterable[Step]) -> tuple[Step, ...]:
        return tuple(inner for step in steps for inner in one(step))

    def one(step: Step) -> Iterator[Step]:
        if isinstance(step, Nest):
            stores = tuple(store for store in step.stores if store.buffer in live or _reports(store))
            if stores:
                yield replace(step, stores=stores)
        elif not inner_blocks(step):
            if not live.isdisjoint(writes(step)):
                yield step
        elif isinstance(changed := map_blocks(step, kept), While) or any(inner_blocks(changed)):
            yield changed

    return replace(program, steps=kept(program.steps))


def read_elsewhere(program: Program) -> set[Buffer]:
    """Return the buffers that something reads besides the stores into themselves."""
    return {buffer for written, read, _ in _flows(program) for buffer in read if buffer is not written}


def _flows(program: Program) -> Iterator[tuple[Buffer | None, Collection[Buffer], bool]]:
    """Yield what is written, None for a condition, with what is read for it, and whether that may report an error."""
    for step in all_steps(program.steps):
        if isinstance(step, Nest):
            for store in step.stores:
                read = [buffer for node in _nodes(store) for buffer in node.facts.buffers]
                yield store.buffer, read, _reports(store)
        elif isinstance(step, (Branch, While)):
            yield None, step.controls, True
        elif not inner_blocks(step):
            yield from ((buffer, reads(step), False) for buffer in writes(step))


def _nodes(store: Store) -> tuple[Any, ...]:
    return store.value, *computed(store.indices)


def _reports(store: Store) -> bool:
    return any(map(may_report, _nodes(store)))
