"""Consumer fusion: a nest that reads each element at the point that computes it joins the nest of that point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.compiler.passes.anti_dependences import written_copies
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Buffer, Expression, Load, Rewriter, loads, loads_of
from wengert.engine.nest.index import Dim, Index, Term
from wengert.engine.nest.nest import Nest, Step, Store, reads, writes
from wengert.engine.nest.rewrite import rewrite_store, substitute_dims


def fuse_consumers(steps: list[Step], retained: set[Buffer]) -> None:
    """Fuse consumers into nests; drop stores that no step reads and that need not stay."""
    _Merging(steps, retained).run()


class _Merging:
    """Steps that keep their positions while some are fused into others."""

    def __init__(self, steps: list[Step], retained: set[Buffer]) -> None:
        self.steps = steps
        self.retained = retained
        self.gone: set[int] = set()
        self.readers: dict[Buffer, set[int]] = {}
        """The positions of the steps that read a buffer."""
        self.writers: dict[Buffer, set[int]] = {}
        self.copied = written_copies(steps)
        for position in range(len(steps)):
            self._note(position)

    def run(self) -> None:
        for position, step in enumerate(self.steps):
            if position not in self.gone and isinstance(step, Nest) and not step.sequential:
                self._absorb(position, step)
        self.steps[:] = (step for position, step in enumerate(self.steps) if position not in self.gone)

    def _note(self, position: int) -> None:
        for buffer in reads(self.steps[position]):
            self.readers.setdefault(buffer, set()).add(position)
        for buffer in writes(self.steps[position]):
            self.writers.setdefault(buffer, set()).add(position)

    def _forget(self, position: int) -> None:
        for buffer in reads(self.steps[position]):
            self.readers[buffer].discard(position)
        for buffer in writes(self.steps[position]):
            self.writers[buffer].discard(position)

    def _absorb(self, position: int, producer: Nest) -> None:
        """Fuse the consumers of a nest into it, at its position or, where it must wait, at theirs."""
        after = position
        while (after := self._next_reader(producer, after)) is not None:
            consumer, between = self.steps[after], range(position + 1, after)
            stays = self._can_pass(consumer, between)
            together = stays or (self._can_pass(producer, between) and not self._is_soon(producer, between))
            merged = merged_nests(producer, consumer) if together and isinstance(consumer, Nest) else None
            if merged is None:
                continue
            position, gone = (position, after) if stays else (after, position)
            producer = merged
            self._replace(position, producer, gone)
        self._drop_dead_stores(position, producer)

    def _next_reader(self, producer: Nest, after: int) -> int | None:
        """Return the first step after a position that reads a result of a nest."""
        readers = (
            position
            for store in producer.stores
            for position in self.readers.get(store.buffer, ())
            if position > after
        )
        return min(readers, default=None)

    def _can_pass(self, step: Step, between: range) -> bool:
        """Return whether a step can move past the steps between: it has no dependence with them."""
        written = set(writes(step))
        disturbing = [self.writers.get(buffer, ()) for buffer in written.union(reads(step))]
        disturbing += [self.readers.get(buffer, ()) for buffer in written]
        return not any(position in between for positions in disturbing for position in positions)

    def _is_soon(self, step: Step, between: range) -> bool:
        """Return whether a step reads a buffer whose copy is written in between, so that it should run before."""
        copies = (position for buffer in reads(step) for position in self.copied.get(buffer, ()))
        return any(position in between for position in copies)

    def _replace(self, position: int, step: Step, gone: int) -> None:
        """Put a step in the place of another, and remove a second one."""
        for old in (position, gone):
            self._forget(old)
        self.steps[position] = step
        self.gone.add(gone)
        self._note(position)

    def _drop_dead_stores(self, position: int, nest: Nest) -> None:
        if len(nest.stores) == 1:
            return
        stores = tuple(
            store
            for store in nest.stores
            if store.buffer in self.retained or self.readers.get(store.buffer, set()) - {position}
        )
        if stores and len(stores) < len(nest.stores):
            self._forget(position)
            self.steps[position] = replace(nest, stores=stores)
            self._note(position)


def merged_nests(producer: Nest, consumer: Nest) -> Nest | None:
    """Return both nests as one, if the consumer reads each result at the point that computes it; else None."""
    made = {store.buffer: store for store in producer.stores}
    if made.keys().isdisjoint(consumer.reads()) or consumer.sequential:
        return None
    if producer.accumulates or consumer.accumulates or consumer.has_reductions:
        return None
    values = [store.value for store in consumer.stores]
    used = ((buffer, value) for value in values for buffer in value.facts.buffers if buffer in made)
    first = next((load for buffer, value in used for load in loads_of(buffer, value)), None)
    if first is None or set(made) & set(consumer.writes()):
        return None
    mapping = same_domain(made[first.buffer], first, producer, consumer)
    depths: dict[int, int] = {}
    if mapping is None or any(_depth(value, made, depths) > 2 * costs.COSTS.fused_depth for value in values):
        return None
    if _size(producer) < _size(consumer):  # the smaller one gets the dimensions of the other
        producer, mapping = _renamed(producer, mapping), {}
        made = {store.buffer: store for store in producer.stores}
    moved = Rewriter(replace_term=mapping.get, concerns=lambda facts: not facts.dims.isdisjoint(mapping))
    fits = True

    def change(node: Expression) -> Expression:
        nonlocal fits
        if isinstance(node, Load) and node.buffer in made:
            fits = fits and node.indices == made[node.buffer].indices
            return made[node.buffer].value
        return node

    inner = Rewriter(change, concerns=lambda facts: not made.keys().isdisjoint(facts.buffers))
    renamed = (rewrite_store(store, moved) if mapping else store for store in consumer.stores)
    stores = tuple(rewrite_store(store, inner) for store in renamed)
    overwritten = set(consumer.writes()) & set(producer.reads())
    if not fits or (overwritten and not _only_in_place(producer, stores, overwritten)):
        return None
    origin = (*producer.origin, *(name for name in consumer.origin if name != "copy"))
    return replace(producer, stores=(*producer.stores, *stores), origin=origin)


def _size(nest: Nest) -> int:
    """Return about how much there is to rewrite in a nest."""
    return sum(root.facts.depth + len(root.facts.buffers) for root in nest.roots())


def _depth(node: Expression, made: Mapping[Buffer, Store], depths: dict[int, int]) -> int:
    """Return the depth of an expression after loads give way to the values made."""
    if made.keys().isdisjoint(node.facts.buffers):
        return node.facts.depth
    if isinstance(node, Load) and node.buffer in made:
        return made[node.buffer].value.facts.depth
    if id(node) not in depths:
        depths[id(node)] = 1 + max(_depth(child, made, depths) for child in node.facts.children)
    return depths[id(node)]


def _renamed(producer: Nest, mapping: Mapping[Term, Index]) -> Nest:
    """Return a producer with the dimensions of a consumer that are mapped to its own."""
    substitution: dict[Term, Index] = {
        own: Index.of(theirs) for theirs, index in mapping.items() for own in index.dims()
    }
    return substitute_dims(producer, substitution)


def _only_in_place(producer: Nest, stores: Sequence[Store], overwritten: set[Buffer]) -> bool:
    targets = {store.buffer: store.indices for store in stores}
    reduced = any(overwritten.intersection(node.facts.buffers) for node in producer.reductions())
    return not reduced and all(
        load.indices == targets[load.buffer]
        for store in producer.stores
        for load in loads(store.value)
        if load.buffer in overwritten
    )


def same_domain(store: Store, load: Load, producer: Nest, consumer: Nest) -> dict[Term, Index] | None:
    """Return the producer's index for each dimension of the consumer, or None if they run through different points."""
    if len(producer.dims) != len(consumer.dims):
        return None
    mapping: dict[Term, Index] = {}
    for target, index in zip(store.indices, load.indices, strict=True):
        if len(target.terms) != len(index.terms) or target.offset or index.offset:
            return None
        pairs = zip(_by_coefficient(target), _by_coefficient(index), strict=True)
        for (mine, coefficient), (theirs, factor) in pairs:
            if not isinstance(mine, Dim) or not isinstance(theirs, Dim):
                return None
            if coefficient != factor or mine.extent != theirs.extent:
                return None
            if mapping.setdefault(theirs, Index.of(mine)) != Index.of(mine):
                return None
    return mapping if set(mapping) == set(consumer.dims) else None


def _by_coefficient(index: Index) -> list[tuple[Term, int]]:
    return sorted(index.terms, key=lambda pair: pair[1])
