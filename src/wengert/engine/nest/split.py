"""Dimension splitting: the digits that a reshape takes of a dimension become dimensions themselves."""

from __future__ import annotations

from collections.abc import Iterator

from wengert.engine.nest.expression import indices_of
from wengert.engine.nest.index import Computed, Digit, Dim, Index
from wengert.engine.nest.nest import Nest
from wengert.engine.nest.rewrite import substitute_dims


def split_digits(nest: Nest) -> Nest:
    """Return the nest with dimensions split where its indices take digits of them.

    ``x[f // 5, f % 5]`` for f < 15 becomes ``x[f1, f2]``, with ``f = 5 f1 + f2``: affine again.
    """
    if not _takes_digits(nest):
        return nest
    while (digit := next(_digits(nest), None)) is not None:
        dim, divisor = digit
        outer, inner = Dim(dim.extent // divisor, dim.name), Dim(divisor, dim.name)
        nest = substitute_dims(nest, {dim: Index.of(outer) * inner.extent + Index.of(inner)})
    return nest


def _takes_digits(nest: Nest) -> bool:
    return any(root.facts.has_digits for root in nest.roots()) or any(
        isinstance(term, Digit) for store in nest.stores for index in store.indices for term, _ in index.terms
    )


def _digits(nest: Nest) -> Iterator[tuple[Dim, int]]:
    """Yield a dimension of which a digit is taken, and where to split it."""
    mine = nest.own_dims()  # the counters of loops around the nest are not its to split
    for index in _indices(nest):
        for term, _ in index.terms:
            if isinstance(term, Digit):
                yield from (pair for pair in _split_of(term) if pair[0] in mine)


def _indices(nest: Nest) -> Iterator[Index]:
    for store in nest.stores:
        yield from store.indices
    for node in nest.nodes():
        yield from indices_of(node)


def _split_of(part: Digit) -> Iterator[tuple[Dim, int]]:
    for term, coefficient in part.index.terms:
        if isinstance(term, Digit):
            yield from _split_of(term)
        elif isinstance(term, Dim) and part.index.offset % max(coefficient, 1) == 0 and coefficient > 0:
            for point in (part.divisor * part.modulus, part.divisor):
                size, remainder = divmod(point, coefficient)
                if remainder == 0 and 1 < size < term.extent and term.extent % size == 0:
                    yield term, size


def is_affine(nest: Nest) -> bool:
    """Return whether every index is a sum of dimensions and computed terms."""
    return all(isinstance(term, (Dim, Computed)) for index in _indices(nest) for term, _ in index.terms)
