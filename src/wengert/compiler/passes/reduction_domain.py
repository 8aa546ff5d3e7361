"""Maps that can move into the loop of a reduction: the nests of its operands, at the points of its domain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Load, Reduce, loads, walk
from wengert.engine.nest.index import Dim, Index, Term, follows
from wengert.engine.nest.nest import Nest, Store


def sums_over(nest: Nest) -> dict[tuple[Dim, ...], list[Reduce]]:
    """Return the sums of a nest that are without conditions, by the dimensions that they run over."""
    if nest.sequential or any(store.combiner for store in nest.stores):
        return {}
    found: dict[tuple[Dim, ...], list[Reduce]] = {}
    for node in nest.nodes():
        if isinstance(node, Reduce):
            found.setdefault(node.dims, []).append(node)
    return {dims: nodes for dims, nodes in found.items() if all(map(_is_plain_sum, nodes))}


def _is_plain_sum(node: Reduce) -> bool:
    return node.combiner == "add" and not _holds_more(node.body)


def is_map(nest: Nest) -> bool:
    """Return whether a nest computes each element from others without sums and conditions."""
    return not nest.sequential and not any(s.combiner or s.along or _holds_more(s.value) for s in nest.stores)


def _holds_more(expression: Expression) -> bool:
    """Return whether there is anything in an expression beside operations on elements."""
    return any(
        not all(index.is_affine for index in node.indices)
        if isinstance(node, Load)
        else not isinstance(node, (Apply, Const))
        for node in walk(expression)
    )


def matches(
    own: Collection[Dim],
    mine: Mapping[Buffer, tuple[Index, ...]],
    theirs: Iterable[Load],
    dims: Collection[Dim],
) -> Iterator[dict[Term, Index]]:
    """Yield the substitutions of dimensions under which two accesses of an array meet the same elements.

    Args:
        own: the dimensions to substitute.
        mine: their access to each array.
        theirs: the accesses along `dims`.
        dims: the dimensions that stand for them, each once.
    """
    for load in theirs:
        given = _same_points(own, mine[load.buffer], load.indices, dims) if load.buffer in mine else None
        if given is not None:
            yield given


def _same_points(
    own: Collection[Dim], mine: tuple[Index, ...], theirs: tuple[Index, ...], dims: Collection[Dim]
) -> dict[Term, Index] | None:
    """Return which of some dimensions others are, if both run through the same elements of an array."""
    given: dict[Dim, Dim] = {}
    for one, other in zip(mine, theirs, strict=True):
        dim, same = follows(one), follows(other)
        if dim is not None and same is not None and dim.extent == same.extent:
            given[dim] = same
        elif one != other:
            return None
    if set(own) != set(given) or set(given.values()) != set(dims) or len(given) != len(dims):
        return None
    return {dim: Index.of(same) for dim, same in given.items()}


def is_safe(sums: Nest, moved: Sequence[Store]) -> bool:
    """Return whether sums read only at hand what is written along them, and write nothing that this is made of."""
    places = {store.buffer: store.indices for store in moved}
    touched = {load.buffer for store in moved for load in loads(store.value)} | set(places)
    if touched & set(sums.writes()):
        return False
    shared = [node for node in sums.nodes() if isinstance(node, Load) and node.buffer in places]
    return all(load.indices == places[load.buffer] for load in shared)
