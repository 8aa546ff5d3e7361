"""Fusion: cheap values are computed where they are used, and values used once never reach memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from wengert.compiler.passes.anti_dependences import written_copies
from wengert.compiler.passes.fuse_consumers import fuse_consumers, same_domain
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.costs import cost
from wengert.engine.nest.expression import (
    Buffer,
    Expression,
    Load,
    Reduce,
    children,
    computed,
    instantiate,
    loads,
    loads_of,
    walk,
)
from wengert.engine.nest.index import Dim, Index, dims_of, point_count
from wengert.engine.nest.limits import has_limits
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Nest,
    Program,
    Step,
    Store,
    While,
    all_nests,
    inner_blocks,
    map_blocks,
    reads,
    reads_whole,
    touched,
    writes,
)
from wengert.engine.nest.rewrite import bijection, rewrite_step, substitute_dims
from wengert.engine.nest.split import split_digits


def fuse(program: Program) -> Program:
    """Return the program with fewer nests and fewer buffers that computes the same.

    1. A producer goes into its consumers where computing it again costs less than a pass over memory; a reduction goes
       into a consumer that reads each of its results once (an epilogue).
    2. Consumers that read only the element that a nest computes become further stores of that nest.
    """
    retained = program.outside()
    count = Counter(buffer for nest in all_nests(program.steps) for buffer in nest.writes())
    mutable = {buffer for buffer, times in count.items() if times > 1}
    mutable |= retained & set(count) & set(program.inputs)
    block = _Fusion(list(program.steps), retained | mutable)
    block.run()
    used = {buffer for step in block.steps for buffer in reads(step)}
    constants = tuple(pair for pair in program.constants if pair[0] in used)
    return replace(program, steps=tuple(block.steps), constants=constants)


class _Definition(NamedTuple):
    """The producer that replaces a buffer."""

    position: int
    producer: Nest
    store: Store
    has_one_user: bool = False
    """Whether one step alone uses it: then the expression is shared, not copied."""


class _Fusion:
    """One list of steps; producers of this list are inlined here and in the steps inside it."""

    def __init__(self, steps: list[Step], retained: set[Buffer]) -> None:
        self.steps = steps
        self.retained = retained
        self.gone: set[int] = set()
        """The positions of producers that were inlined."""
        self.definitions: dict[Buffer, _Definition] = {}
        """The expressions that replace buffers in later steps; a step is rewritten once, in its turn."""
        self.readers: dict[Buffer, list[int]] = {}
        """The positions of steps that read a buffer."""
        self.writers: dict[Buffer, list[int]] = {}
        self.copied: dict[Buffer, list[int]] = {}
        """The positions of copies that are written into; they coalesce if nothing reads the buffer later."""

    def run(self) -> None:
        for position, step in enumerate(self.steps):
            for buffer in dict.fromkeys(reads(step)):
                self.readers.setdefault(buffer, []).append(position)
            for buffer in writes(step):
                self.writers.setdefault(buffer, []).append(position)
        self.copied = written_copies(self.steps)
        for position, step in enumerate(self.steps):
            step = self.steps[position] = _with_definitions(step, self.definitions)
            if isinstance(step, Nest):
                self.steps[position] = step = split_digits(step)
                if self._inline(position, step):
                    self.gone.add(position)
            elif inner_blocks(step):
                self.steps[position] = self._inside(step)
        self.steps[:] = (step for position, step in enumerate(self.steps) if position not in self.gone)
        self._remove_dead()
        self._hoist_scalars()
        fuse_consumers(self.steps, self.retained)
        self._remove_dead()

    def _inside(self, step: Step) -> Step:
        others = (near for n, near in enumerate(self.steps) if n not in self.gone and near is not step)
        retained = self.retained | touched(others)
        if isinstance(step, (Branch, While)):
            retained.update(step.controls)

        def fused(block: tuple[Step, ...]) -> tuple[Step, ...]:
            beside = (near for blocks in inner_blocks(step) if blocks is not block for near in blocks)
            inner = _Fusion(list(block), retained | touched(beside))
            inner.run()
            return tuple(inner.steps)

        return map_blocks(step, fused)

    # -- producers into consumers ------------------------------------------------------------------------

    def _inline(self, position: int, producer: Nest) -> bool:
        """Inline a producer into its consumers where that pays; return whether it was inlined."""
        store = producer.stores[0]
        if not self._is_definition(producer):
            return False
        uses = [(n, self.steps[n]) for n in self.readers.get(store.buffer, ()) if n > position]
        if not uses:
            return True
        if not all(self._may_move(producer, range(position + 1, n), step) for n, step in uses):
            return False
        last = uses[-1][0]
        if any(position < n < last for buffer in producer.reads() for n in self.copied.get(buffer, ())):
            return False
        is_deep = store.value.facts.depth > costs.COSTS.fused_depth
        if is_deep or any(_hides_lookups(store, step) for _, step in uses):
            return False
        if store.value.facts.has_reductions:
            worth = len(uses) == 1 and self._is_epilogue(store, uses[0][1])
        else:
            worth = self._is_cheap(store, [step for _, step in uses])
        if worth:
            self.definitions[store.buffer] = _Definition(position, producer, store, len(uses) == 1)
        return worth

    def _is_definition(self, nest: Nest) -> bool:
        store = nest.stores[0]
        if len(nest.stores) > 1 or store.buffer in self.retained or nest.sequential or store.combiner:
            return False
        if store.buffer in store.value.facts.buffers:
            return False
        if store.buffer.ordered and isinstance(store.value, Load):  # the copy puts elements in order
            return False
        return bijection(store.indices, store.buffer.shape, nest.dims)

    def _may_move(self, producer: Nest, between: range, consumer: Step) -> bool:
        store = producer.stores[0]
        read = set(store.value.facts.buffers)
        if any(n in between and n not in self.gone for buffer in read for n in self.writers.get(buffer, ())):
            return False
        written = read & set(writes(consumer))
        if not written:
            return store.buffer not in reads_whole(consumer)
        if not isinstance(consumer, Nest):
            return False
        # The producer may read an array that the consumer overwrites at the very element only, and in no reduction.
        merged = _with_definitions(consumer, {store.buffer: _Definition(0, producer, store)})
        assert isinstance(merged, Nest)
        return all(
            load.indices == target.indices
            for target in merged.stores
            if target.buffer in written
            for root in merged.roots()
            for load in loads(root)
            if load.buffer is target.buffer
        ) and not any(written.intersection(node.facts.buffers) for node in merged.reductions())

    def _is_epilogue(self, store: Store, step: Step, counters: tuple[Dim, ...] = ()) -> bool:
        """Return whether each result is read once, at a point where it can be computed."""
        if isinstance(step, Loop):
            readers = [inner for inner in step.steps if store.buffer in reads(inner)]
            return len(readers) == 1 and self._is_epilogue(store, readers[0], (*counters, step.counter))
        if not isinstance(step, Nest) or step.sequential or any(store.combiner for store in step.stores):
            return False
        inside = {id(load) for node in step.reductions() for load in loads_of(store.buffer, node.body)}
        reads_of_result = [load for reading in step.stores for load in loads_of(store.buffer, reading.value)]
        if len({load.indices for load in reads_of_result}) != 1 or any(
            id(load) in inside for load in reads_of_result
        ):
            return False
        if _reads_again(store, reads_of_result[0], counters):
            return False
        return bijection(reads_of_result[0].indices, store.buffer.shape, (*counters, *step.dims))

    def _is_cheap(self, store: Store, consumers: Sequence[Step]) -> bool:
        price = cost(store.value)
        size = max(store.buffer.size, 1)
        # Loops leave out the points at which a condition on them fails, where they see it.
        if price == 0 or (size > 1 and has_limits(store.value)):
            return True
        count = sum(_times_read(step, store.buffer) for step in consumers)
        # A gather of the value becomes one of each element that the value reads.
        gathers = (
            len(loads(store.value)) - 1 if any(_gathers(step, store.buffer) for step in consumers) else 0
        )
        is_far = size * store.buffer.dtype.itemsize >= costs.COSTS.far_array_bytes
        saved = costs.COSTS.far_memory_pass_work if is_far else costs.COSTS.memory_pass_work
        return price * (count - size) + gathers * costs.COSTS.gather_work * count <= saved * size

    def _remove_dead(self) -> None:
        changed = True
        while changed:
            used = self.retained | {buffer for step in self.steps for buffer in reads(step)}
            alive = [
                step
                for step in self.steps
                if not isinstance(step, Nest) or any(buffer in used for buffer in writes(step))
            ]
            changed = len(alive) < len(self.steps)
            self.steps[:] = alive

    def _hoist_scalars(self) -> None:
        """Compute scalars as early as possible: a late learning rate would separate nests that fuse.

        Each other step opens a slot. A scalar goes into the last slot with a step that must come before it.
        """
        slots: list[list[Step]] = [[]]
        written: dict[Buffer, int] = {}
        read: dict[Buffer, int] = {}
        for step in self.steps:
            mine, others = writes(step), reads(step)
            if isinstance(step, Nest) and all(buffer.size == 1 for buffer in mine):
                before = [written.get(buffer, 0) for buffer in (*mine, *others)]
                slot = max(before + [read.get(buffer, 0) for buffer in mine])
            else:
                slot = len(slots)
                slots.append([])
            slots[slot].append(step)
            written.update((buffer, max(slot, written.get(buffer, 0))) for buffer in mine)
            read.update((buffer, max(slot, read.get(buffer, 0))) for buffer in others)
        self.steps[:] = (step for slot in slots for step in slot)


def _reads_again(store: Store, load: Load, counters: Collection[Dim]) -> bool:
    """Return whether each turn would read the same operand of a sum again: the matrix of a product.

    One product for all turns reads it once, from panels.
    """
    if not counters:
        return False
    pairs = zip(store.indices, load.indices, strict=True)
    turns = {dim for target, index in pairs if {*index.dims()} & {*counters} for dim in target.dims()}
    sums = (node for node in walk(store.value) if isinstance(node, Reduce))
    return any(dims_of(read.indices).isdisjoint(turns) for node in sums for read in loads(node.body))


def _hides_lookups(store: Store, step: Step) -> bool:
    """Return whether a step computes an index that the inlined expression would not have, as of a broadcast value.

    An index outside the axis would pass unnoticed.
    """
    taken = store.value.facts.dims
    unread = [n for n, index in enumerate(store.indices) if taken.isdisjoint(index.dims())]
    return bool(unread) and any(
        any(True for _ in computed([load.indices[axis]]))
        for nest in all_nests([step])
        for root in nest.roots()
        for load in loads_of(store.buffer, root)
        for axis in unread
    )


def _gathers(step: Step, buffer: Buffer) -> bool:
    """Return whether a step reads a buffer at computed indices."""
    return any(
        any(True for _ in computed(load.indices))
        for nest in all_nests([step])
        for root in nest.roots()
        for load in loads_of(buffer, root)
    )


def _times_read(step: Step, buffer: Buffer) -> int:
    """Return how often the elements of a buffer are read in a step."""
    if isinstance(step, Nest):
        reads_at_a_point = sum(_reads_at_a_point(store.value, buffer) for store in step.stores)
        return point_count(step.dims) * reads_at_a_point
    match step:
        case Loop(counter=counter):
            trips = counter.extent
        case While():
            trips = costs.COSTS.while_turns
        case _:
            trips = 1
    return trips * sum(_times_read(inner, buffer) for block in inner_blocks(step) for inner in block)


def _reads_at_a_point(expression: Expression, buffer: Buffer) -> int:
    total = 0
    seen: set[int] = set()

    def visit(node: Expression, times: int) -> None:
        nonlocal total
        if id(node) in seen or buffer not in node.facts.buffers:
            return
        seen.add(id(node))
        if isinstance(node, Load) and node.buffer is buffer:
            total += times
        if isinstance(node, Reduce):
            times *= point_count(node.dims)
        for child in children(node):
            visit(child, times)

    visit(expression, 1)
    return total


def _with_definitions(step: Step, definitions: Mapping[Buffer, _Definition]) -> Step:
    """Return a step with the values of elements in place of loads of them."""
    used = {buffer: definitions[buffer] for buffer in reads(step) if buffer in definitions}
    if not used:
        return step
    step, own = _adapted(step, used) if isinstance(step, Nest) else (step, None)
    cache: dict[object, Expression] = {}

    def change(node: Expression) -> Expression:
        if not isinstance(node, Load) or node.buffer not in used:
            return node
        if node.buffer is own:
            return used[node.buffer].store.value
        key = (node.buffer, node.indices)
        element = cache.get(key)
        if element is None:
            element = cache[key] = _element(used[node.buffer].store, node)
        return element

    changed = rewrite_step(step, change, lambda facts: not used.keys().isdisjoint(facts.buffers))
    if isinstance(changed, Nest):
        origin, location = changed.origin, changed.location
        for definition in sorted(used.values(), key=lambda definition: definition.position):
            producer = definition.producer
            origin, location = (*producer.origin, *origin), location or producer.location
        changed = split_digits(replace(changed, origin=origin, location=location))
    return changed


def _adapted(nest: Nest, used: Mapping[Buffer, _Definition]) -> tuple[Nest, Buffer | None]:
    """Give a nest the dimensions of the largest value that it alone computes, which then goes in as it is.

    Otherwise each link of a chain of operations would rewrite the whole chain.
    """
    own = max(
        (definition for definition in used.values() if definition.has_one_user),
        key=lambda producer: producer.store.value.facts.depth,
        default=None,
    )
    if own is None or nest.sequential:
        return nest, None
    buffer = own.store.buffer
    loaded = [load for root in nest.roots() for load in loads_of(buffer, root)]
    mapping = same_domain(own.store, loaded[0], own.producer, nest)
    if mapping is None or any(load.indices != loaded[0].indices for load in loaded):
        return nest, None
    return substitute_dims(nest, mapping), buffer


def _element(store: Store, load: Load) -> Expression:
    """Return the value of a producer at the element that a load reads."""
    substitution: dict[Dim, Index] = {}
    for axis, (index, target) in enumerate(zip(load.indices, store.indices, strict=True)):
        terms = sorted(target.terms, key=lambda pair: -pair[1])
        for term, coefficient in terms:
            assert isinstance(term, Dim)
            whole = len(terms) == 1
            substitution[term] = index if whole else index.digit(coefficient, term.extent)
        assert terms or store.buffer.shape[axis] == 1
    return instantiate(store.value, list(substitution), list(substitution.values()))
