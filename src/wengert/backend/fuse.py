"""Fusion: what is cheap to compute is computed where it is used, and what is used once never reaches memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.backend.costs import cost
from wengert.backend.merge import DEEP, merged_nests
from wengert.nest.expression import (
    Buffer,
    Expression,
    Load,
    Reduce,
    children,
    depth,
    instantiate,
    loads,
    walk,
)
from wengert.nest.index import Dim, Index
from wengert.nest.nest import (
    Loop,
    Nest,
    Program,
    Step,
    Store,
    all_steps,
    inner_blocks,
    reads,
    reads_whole,
    writes,
)
from wengert.nest.rewriting import bijection, buffers_read, can_pass, rewrite_step
from wengert.nest.split import split_digits

_PASS = 6  # what writing an element and reading it again costs, in operations


def fuse(program: Program) -> Program:
    """Return the program with fewer nests and fewer buffers that computes the same.

    1. A producer goes into its consumers where computing it again costs less than a pass over memory; a reduction goes
       into a consumer that reads each of its results once (an epilogue).
    2. Consumers that read just the element that a nest has at hand become further stores of that nest.
    """
    kept = program.outside()
    count = Counter(
        buffer for step in all_steps(program.steps) if isinstance(step, Nest) for buffer in writes(step)
    )
    mutable = {buffer for buffer, times in count.items() if times > 1} | (
        kept & set(count) & set(program.inputs)
    )
    block = _Fusion(list(program.steps), kept | mutable)
    block.run()
    used = {buffer for step in block.steps for buffer in reads(step)}
    constants = tuple(pair for pair in program.constants if pair[0] in used)
    return replace(program, steps=tuple(block.steps), constants=constants)


class _Fusion:
    """One list of steps; producers of this list are inlined here and in the steps inside it."""

    def __init__(self, steps: list[Step], kept: set[Buffer]) -> None:
        self.steps = steps
        self.kept = kept
        self.gone: set[int] = set()
        """The positions of producers that are in their consumers now."""
        self.readers: dict[Buffer, set[int]] = {}
        """The positions of steps that read a buffer, or did once."""
        self.writers: dict[Buffer, list[int]] = {}

    def run(self) -> None:
        for position, step in enumerate(self.steps):
            self._note_reads(position, step)
            for buffer in writes(step):
                self.writers.setdefault(buffer, []).append(position)
        for position, step in enumerate(self.steps):
            if isinstance(step, Nest):
                self.steps[position] = step = split_digits(step)
                if self._inline(position, step):
                    self.gone.add(position)
            elif inner_blocks(step):
                self.steps[position] = self._inside(step)
        self.steps[:] = (step for position, step in enumerate(self.steps) if position not in self.gone)
        self._remove_dead()
        self._hoist_scalars()
        self._merge_consumers()
        self._remove_dead()

    def _note_reads(self, position: int, step: Step) -> None:
        for buffer in reads(step):
            self.readers.setdefault(buffer, set()).add(position)

    def _inside(self, step: Step) -> Step:
        others = (one for n, one in enumerate(self.steps) if n not in self.gone and one is not step)
        outside = {b for other in others for b in (*reads(other), *writes(other))}
        blocks = []
        for steps in inner_blocks(step):
            others = {
                b
                for block in inner_blocks(step)
                if block is not steps
                for one in block
                for b in (*reads(one), *writes(one))
            }
            predicate = getattr(step, "predicate", None)
            inner = _Fusion(list(steps), self.kept | outside | others | ({predicate} if predicate else set()))
            inner.run()
            blocks.append(tuple(inner.steps))
        if isinstance(step, Loop):
            return replace(step, steps=blocks[0])
        names = ("yes", "no") if hasattr(step, "yes") else ("condition", "steps")
        return replace(step, **dict(zip(names, blocks, strict=True)))

    # -- producers into consumers ------------------------------------------------------------------------

    def _inline(self, position: int, producer: Nest) -> bool:
        """Put a producer into its consumers, where that pays; tell whether it is gone."""
        store = producer.stores[0]
        if not self._is_definition(producer):
            return False
        found = ((n, self.steps[n]) for n in sorted(self.readers.get(store.buffer, ())) if n > position)
        uses = [(n, step) for n, step in found if n not in self.gone and store.buffer in reads(step)]
        if not uses:
            return True
        if not all(self._may_move(store.value, store, range(position + 1, n), step) for n, step in uses):
            return False
        if depth(store.value) > DEEP or any(_is_looked_up(step, store.buffer) for _, step in uses):
            return False
        if any(isinstance(node, Reduce) for node in walk(store.value)):
            worth = len(uses) == 1 and self._is_epilogue(store, uses[0][1])
        else:
            worth = self._is_cheap(store, [step for _, step in uses])
        if worth:
            for n, step in uses:
                self.steps[n] = _with_definition(step, producer, store)
                self._note_reads(n, self.steps[n])
        return worth

    def _is_definition(self, nest: Nest) -> bool:
        store = nest.stores[0]
        if len(nest.stores) > 1 or store.buffer in self.kept or nest.sequential or store.combiner:
            return False
        if any(isinstance(node, Load) and node.buffer is store.buffer for node in walk(store.value)):
            return False
        return bijection(store.indices, store.buffer.shape, nest.dims)

    def _may_move(self, value: Expression, store: Store, between: range, consumer: Step) -> bool:
        read = buffers_read(value)
        if any(n in between and n not in self.gone for buffer in read for n in self.writers.get(buffer, ())):
            return False
        written = read & set(writes(consumer))
        if not written:
            return store.buffer not in reads_whole(consumer)
        if not isinstance(consumer, Nest):
            return False
        # What the consumer overwrites may be read at the very element only, and not in a reduction.
        merged = _with_definition(consumer, *_definition(value, store))
        assert isinstance(merged, Nest)
        return all(
            load.indices == target.indices
            for target in merged.stores
            if target.buffer in written
            for load in loads(target.value)
            if load.buffer is target.buffer
        ) and not any(written & buffers_read(node) for node in merged.nodes() if isinstance(node, Reduce))

    def _is_epilogue(self, store: Store, step: Step, counters: tuple[Dim, ...] = ()) -> bool:
        """Tell whether each result is read once, where it can be computed then and there."""
        if isinstance(step, Loop):
            readers = [one for one in step.steps if store.buffer in reads(one)]
            return len(readers) == 1 and self._is_epilogue(store, readers[0], (*counters, step.counter))
        if not isinstance(step, Nest) or step.sequential or any(one.combiner for one in step.stores):
            return False
        inside = {id(load) for node in step.nodes() if isinstance(node, Reduce) for load in loads(node.body)}
        found = [load for one in step.stores for load in loads(one.value) if load.buffer is store.buffer]
        if len({load.indices for load in found}) != 1 or any(id(load) in inside for load in found):
            return False
        return bijection(found[0].indices, store.buffer.shape, (*counters, *step.dims))

    def _is_cheap(self, store: Store, consumers: Sequence[Step]) -> bool:
        price = cost(store.value)
        if price == 0:
            return True
        size = max(store.buffer.size, 1)
        count = sum(_times_read(step, store.buffer) for step in consumers)
        return price * (count - size) <= _PASS * size

    def _remove_dead(self) -> None:
        changed = True
        while changed:
            used = self.kept | {buffer for step in self.steps for buffer in reads(step)}
            alive = [
                step
                for step in self.steps
                if not isinstance(step, Nest) or any(buffer in used for buffer in writes(step))
            ]
            changed = len(alive) < len(self.steps)
            self.steps[:] = alive

    def _hoist_scalars(self) -> None:
        """Compute scalars as soon as they can be: a learning rate that is late would part what belongs together."""
        for position, step in enumerate(self.steps):
            if isinstance(step, Nest) and all(buffer.size == 1 for buffer in step.writes()):
                first = position
                while first and can_pass(step, self.steps[first - 1 : first]):
                    first -= 1
                del self.steps[position]
                self.steps.insert(first, step)

    # -- consumers into producers ------------------------------------------------------------------------

    def _merge_consumers(self) -> None:
        position = 0
        while position < len(self.steps):
            producer = self.steps[position]
            if not isinstance(producer, Nest) or producer.sequential or not self._absorb(position, producer):
                position += 1

    def _absorb(self, position: int, producer: Nest) -> bool:
        """Take up the consumers of a nest that can become a part of it; tell whether it moved down to one of them."""
        start, after = position, position + 1
        while after < len(self.steps):
            consumer = self.steps[after]
            merged = merged_nests(producer, consumer) if isinstance(consumer, Nest) else None
            if merged is not None and isinstance(consumer, Nest):
                between = self.steps[position + 1 : after]
                if can_pass(consumer, between):
                    del self.steps[after]
                    self.steps[position] = producer = merged
                    continue
                if all(can_pass(step, (producer,)) for step in between):
                    self.steps[position : after + 1] = [*between, merged]
                    producer, position = merged, after - 1
            after += 1
        self.steps[position] = self._without_dead_stores(producer, position)
        return position > start

    def _without_dead_stores(self, nest: Nest, position: int) -> Nest:
        if len(nest.stores) == 1:
            return nest
        used = self.kept | {b for n, step in enumerate(self.steps) if n != position for b in reads(step)}
        stores = tuple(store for store in nest.stores if store.buffer in used)
        return replace(nest, stores=stores) if stores and len(stores) < len(nest.stores) else nest


def _is_looked_up(step: Step, buffer: Buffer) -> bool:
    """Tell whether a step computes an index of an axis with one element: what takes the load's place has no such index.

    It would not be noticed that it lies outside.
    """
    if 1 not in buffer.shape:
        return False
    nodes = (node for one in all_steps([step]) if isinstance(one, Nest) for node in one.nodes())
    return any(
        extent == 1 and not index.is_affine
        for node in nodes
        if isinstance(node, Load) and node.buffer is buffer
        for index, extent in zip(node.indices, buffer.shape, strict=True)
    )


def _definition(value: Expression, store: Store) -> tuple[Nest, Store]:
    dims = tuple(dict.fromkeys(dim for index in store.indices for dim in index.dims()))
    return Nest(dims, (replace(store, value=value),)), store


def _times_read(step: Step, buffer: Buffer) -> int:
    """Return how often the elements of a buffer are read in a step."""
    if isinstance(step, Nest):
        points = math.prod(dim.extent for dim in step.dims)
        total = 0
        for store in step.stores:
            total += points * _reads_at_a_point(store.value, buffer)
        return total
    trips = step.counter.extent if isinstance(step, Loop) else 1
    return trips * sum(_times_read(one, buffer) for block in inner_blocks(step) for one in block)


def _reads_at_a_point(expression: Expression, buffer: Buffer) -> int:
    total = 0
    seen: set[int] = set()

    def visit(node: Expression, times: int) -> None:
        nonlocal total
        if id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, Load) and node.buffer is buffer:
            total += times
        if isinstance(node, Reduce):
            times *= math.prod(dim.extent for dim in node.dims)
        for child in children(node):
            visit(child, times)

    visit(expression, 1)
    return total


def _with_definition(step: Step, producer: Nest, store: Store) -> Step:
    """Return a step with the value of an element in place of loads of it."""
    cache: dict[object, Expression] = {}

    def change(node: Expression) -> Expression:
        if isinstance(node, Load) and node.buffer is store.buffer:
            known = cache.get(node.indices)
            if known is None:
                known = cache[node.indices] = _element(store, node)
            return known
        return node

    changed = rewrite_step(step, change)
    if isinstance(changed, Nest):
        origin = (*producer.origin, *changed.origin)
        changed = split_digits(
            replace(changed, origin=origin, location=changed.location or producer.location)
        )
    return changed


def _element(store: Store, load: Load) -> Expression:
    """Return the value of a producer at the element that a load reads."""
    given: dict[Dim, Index] = {}
    for axis, (index, target) in enumerate(zip(load.indices, store.indices, strict=True)):
        terms = sorted(target.terms, key=lambda pair: -pair[1])
        for term, coefficient in terms:
            assert isinstance(term, Dim)
            whole = len(terms) == 1
            given[term] = index if whole else index.digit(coefficient, term.extent)
        assert terms or store.buffer.shape[axis] == 1
    return instantiate(store.value, list(given), list(given.values()))
