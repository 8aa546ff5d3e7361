"""Maps that can move into the loop of a reduction: the nests of its operands, at the points of its domain.

The domain of a reduction in a nest is the set of values of the nest's and the reduction's dimensions. An access map is
the indices with which a nest accesses an array, as functions of its dimensions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Load, Reduce, loads, walk
from wengert.engine.nest.index import Dim, Index, Term, follows
from wengert.engine.nest.nest import Nest, Store


def sums_over(nest: Nest) -> dict[tuple[Dim, ...], list[Reduce]]:
    """Return the sums of elementwise operands in a nest, by their dimensions, over which no other reduction runs.

    A nest that accumulates has no such sums.
    """
    if nest.sequential or nest.accumulates:
        return {}
    reductions: dict[tuple[Dim, ...], list[Reduce]] = {}
    for node in nest.reductions():
        reductions.setdefault(node.dims, []).append(node)
    return {
        dims: nodes
        for dims, nodes in reductions.items()
        if all(node.combiner == "add" and _is_elementwise(node.body) for node in nodes)
    }


def is_map(nest: Nest) -> bool:
    """Return whether each element that a nest stores is an elementwise function of loads."""
    return not nest.sequential and all(
        not store.combiner and not store.along and _is_elementwise(store.value) for store in nest.stores
    )


def _is_elementwise(expression: Expression) -> bool:
    """Return whether an expression has operations on elements and affine loads only."""
    return all(
        isinstance(node, (Apply, Const))
        or (isinstance(node, Load) and all(index.is_affine for index in node.indices))
        for node in walk(expression)
    )


def substitutions(
    dims: Collection[Dim],
    access_maps: Mapping[Buffer, tuple[Index, ...]],
    operands: Iterable[Load],
    domain: Collection[Dim],
) -> Iterator[dict[Term, Index]]:
    """Yield the substitutions of a map's dimensions that turn its access into that of an operand of a reduction.

    Each array of the map has one access map. The dimensions of the map correspond one to one to those of the
    reduction's domain.
    """
    for operand in operands:
        if (source := access_maps.get(operand.buffer)) is None:
            continue
        if (substitution := _substitution(dims, source, operand.indices, domain)) is not None:
            yield substitution


def _substitution(
    dims: Collection[Dim], source: tuple[Index, ...], target: tuple[Index, ...], domain: Collection[Dim]
) -> dict[Term, Index] | None:
    """Return the bijection from dimensions to a domain that turns one access map into another, or None."""
    bijection: dict[Dim, Dim] = {}
    for source_index, target_index in zip(source, target, strict=True):
        dim, image = follows(source_index), follows(target_index)
        if dim is not None and image is not None and dim.extent == image.extent:
            bijection[dim] = image
        elif source_index != target_index:
            return None
    if set(dims) != set(bijection) or set(bijection.values()) != set(domain) or len(bijection) != len(domain):
        return None
    return {dim: Index.of(image) for dim, image in bijection.items()}


def is_safe(reduction: Nest, stores: Sequence[Store]) -> bool:
    """Return whether stores can run in the loop of a reduction.

    The reduction loads the stored arrays at the element of the current turn only, and writes no array that the stores
    load or write.
    """
    access_maps = {store.buffer: store.indices for store in stores}
    arrays = {load.buffer for store in stores for load in loads(store.value)} | set(access_maps)
    return arrays.isdisjoint(reduction.writes()) and all(
        node.indices == access_maps[node.buffer]
        for node in reduction.nodes()
        if isinstance(node, Load) and node.buffer in access_maps
    )
