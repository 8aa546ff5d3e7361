"""Loop collapsing: two loops that traverse every array they touch in one line become one loop.

The last axis of an array may be short, such as the three coordinates of each of a million points, and would leave most
of a vector register empty. Where every array of a nest lies in memory such that the next row begins where a row ends,
one loop runs through all rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from wengert.compiler.schedule.layout import Layout, linear
from wengert.engine.nest.expression import Buffer, Expression, Guard, Iota, Load, Reduce, Rewriter, indices_of
from wengert.engine.nest.index import Digit, Dim, Index, Term
from wengert.engine.nest.nest import Nest


def collapse_loops(nest: Nest, layouts: Mapping[Buffer, Layout]) -> Nest:
    """Return a nest with as few dimensions as can be.

    An index of the result may lie beyond its axis: only the position in memory counts, to which all indices lead.
    """
    accesses = dict(_accesses(nest))
    if any(_is_parted(buffer, layouts[buffer]) for buffer, _ in accesses.values()):
        return nest
    fixed = _fixed(nest)
    positions: list[Index] = [linear(layouts[buffer], indices) for buffer, indices in accesses.values()]
    while (pair := _pair(nest, positions, fixed)) is not None:
        outer, inner = pair
        joined = Dim(outer.extent * inner.extent, parts=(*outer.parts, *inner.parts))
        substitution: dict[Term, Index] = {outer: Index(0), inner: Index.of(joined)}
        nest = _rewritten(nest, pair, joined, substitution)
        positions = [position.substitute(substitution.get) for position in positions]
    return nest


def _is_parted(buffer: Buffer, layout: Layout) -> bool:
    """Return whether padding or other panels lie between the rows of a buffer."""
    rows = sum(extent > 1 for extent in buffer.shape) > 1
    return bool(layout.panel) or (rows and layout.size > buffer.size)


def _accesses(nest: Nest) -> Iterator[tuple[int, tuple[Buffer, Sequence[Index]]]]:
    """Yield the buffer and the indices of each store and load, with the identity of that object."""
    for store in nest.stores:
        yield id(store), (store.buffer, store.indices)
    for node in nest.nodes():
        if isinstance(node, Load):
            yield id(node), (node.buffer, node.indices)


def _fixed(nest: Nest) -> set[Dim]:
    """Return the dimensions whose own values count, not only the positions in memory."""
    fixed = set(nest.sequential)
    indices = [index for store in nest.stores for index in store.indices]
    for node in nest.nodes():
        if isinstance(node, Reduce) and node.returns_index:
            fixed.update(node.dims)  # the result is a position
        if isinstance(node, (Iota, Guard)):
            fixed.update(dim for index in indices_of(node) for dim in index.dims())
        elif isinstance(node, Load):
            indices += node.indices
    parts = (term for index in indices for term, _ in index.terms if isinstance(term, Digit))
    fixed.update(dim for part in parts for dim in part.index.dims())
    return fixed


def _pair(nest: Nest, positions: Sequence[Index], fixed: set[Dim]) -> tuple[Dim, Dim] | None:
    """Return two dimensions, the outer one first, that go through every array in one line."""
    holders = [nest.dims, *(node.dims for node in nest.nodes() if isinstance(node, Reduce))]
    for dims in dict.fromkeys(holders):
        for outer, inner in itertools.permutations((dim for dim in dims if dim not in fixed), 2):
            apart = any((outer in held) != (inner in held) for held in holders)
            if not apart and all(
                position.coefficient(outer) == position.coefficient(inner) * inner.extent
                for position in positions
            ):
                return outer, inner
    return None


def _rewritten(nest: Nest, pair: tuple[Dim, Dim], joined: Dim, substitution: Mapping[Term, Index]) -> Nest:
    outer, inner = pair

    def dims(old: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return tuple(joined if dim is inner else dim for dim in old if dim is not outer)

    def change(node: Expression) -> Expression:
        return replace(node, dims=dims(node.dims)) if isinstance(node, Reduce) else node

    rewrite = Rewriter(change, substitution.get)
    stores = tuple(
        replace(
            store,
            indices=tuple(map(rewrite.index, store.indices)),
            value=rewrite(store.value),
            along=dims(store.along),
        )
        for store in nest.stores
    )
    return replace(nest, dims=dims(nest.dims), stores=stores)
