"""Two nests as one: a consumer that reads just the elements that the producer has at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wengert.nest.expression import Buffer, Expression, Load, Reduce, Rewriter, depth, loads
from wengert.nest.index import Dim, Index, Term
from wengert.nest.nest import Nest, Store
from wengert.nest.rewriting import buffers_read

DEEP = 64
"""Operations one inside another, from which on a value is stored and loaded: passes go down them by recursion."""


def merged_nests(producer: Nest, consumer: Nest) -> Nest | None:
    """Return both nests as one, if the consumer reads the producer's results where they are made, else None."""
    made = {store.buffer: store for store in producer.stores}
    if made.keys().isdisjoint(consumer.reads()) or consumer.sequential:
        return None
    if any(store.combiner for store in (*producer.stores, *consumer.stores)):
        return None
    if any(isinstance(node, Reduce) for node in consumer.nodes()):
        return None
    used = [load for store in consumer.stores for load in loads(store.value) if load.buffer in made]
    if not used or set(made) & set(consumer.writes()):
        return None
    mapping = _same_domain(made[used[0].buffer], used[0], producer, consumer)
    if mapping is None:
        return None
    moved = Rewriter(replace_term=mapping.get)
    values = {buffer: store.value for buffer, store in made.items()}
    fits = True

    def change(node: Expression) -> Expression:
        nonlocal fits
        if isinstance(node, Load) and node.buffer in made:
            fits = fits and node.indices == made[node.buffer].indices
            return values[node.buffer]
        return node

    inner = Rewriter(change)
    stores = tuple(
        replace(store, indices=tuple(map(moved.index, store.indices)), value=inner(moved(store.value)))
        for store in consumer.stores
    )
    overwritten = {b for store in consumer.stores for b in [store.buffer]} & set(producer.reads())
    if not fits or (overwritten and not _only_in_place(producer, stores, overwritten)):
        return None
    if any(depth(store.value) > 2 * DEEP for store in stores):
        return None
    origin = (*producer.origin, *(name for name in consumer.origin if name != "copy"))
    return replace(producer, stores=(*producer.stores, *stores), origin=origin)


def _only_in_place(producer: Nest, stores: Sequence[Store], overwritten: set[Buffer]) -> bool:
    targets = {store.buffer: store.indices for store in stores}
    reduced = any(overwritten & buffers_read(node) for node in producer.nodes() if isinstance(node, Reduce))
    return not reduced and all(
        load.indices == targets[load.buffer]
        for store in producer.stores
        for load in loads(store.value)
        if load.buffer in overwritten
    )


def _same_domain(store: Store, load: Load, producer: Nest, consumer: Nest) -> dict[Term, Index] | None:
    """Return the producer's index for each dimension of the consumer, or None if they run through different points."""
    if len(producer.dims) != len(consumer.dims):
        return None
    mapping: dict[Term, Index] = {}
    for target, index in zip(store.indices, load.indices, strict=True):
        if len(target.terms) != len(index.terms) or target.offset or index.offset:
            return None
        pairs = zip(_by_coefficient(target), _by_coefficient(index), strict=True)
        for (mine, coefficient), (theirs, other) in pairs:
            if not isinstance(mine, Dim) or not isinstance(theirs, Dim):
                return None
            if coefficient != other or mine.extent != theirs.extent:
                return None
            mapping[theirs] = Index.of(mine)
    return mapping if set(mapping) == set(consumer.dims) else None


def _by_coefficient(index: Index) -> list[tuple[Term, int]]:
    return sorted(index.terms, key=lambda pair: pair[1])
