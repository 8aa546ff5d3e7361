"""Integers under linear inequalities: whether there are any, by Fourier and Motzkin's elimination."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from wengert.engine.core.named_tuples import NamedTuple

Name = tuple[Any, Any]
"""What an unknown integer belongs to, and which of it: see `scopes`."""

#: An elimination that makes more inequalities than these proves nothing.
_MOST = 150
#: Of more sums that are not 0 than these the others are left out: each doubles the work.
_MOST_DIFFERENT = 3


class Affine(NamedTuple):
    """A sum of integers with factors, and a constant."""

    terms: Mapping[Name, int]
    constant: int

    def names(self) -> Iterable[Name]:
        """Return the integers in it."""
        return self.terms

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """Return the sum with ``factor`` times another one."""
        terms = dict(self.terms)
        for name, number in other.terms.items():
            terms[name] = terms.get(name, 0) + factor * number
        nonzero = {name: number for name, number in terms.items() if number}
        return Affine(nonzero, self.constant + factor * other.constant)

    def times(self, factor: int) -> Affine:
        """Return a multiple."""
        return Affine({}, 0).plus(self, factor)

    def shifted(self, number: int) -> Affine:
        """Return the sum with a number."""
        return Affine(self.terms, self.constant + number)

    def renamed(self, name: Callable[[Name], Name]) -> Affine:
        """Return the same sum of integers with other names, different ones for different ones."""
        return Affine({name(old): number for old, number in self.terms.items()}, self.constant)


class Different(NamedTuple):
    """That a sum is not 0."""

    sum: Affine

    def names(self) -> Iterable[Name]:
        """Return the integers in it."""
        return self.sum.terms

    def renamed(self, name: Callable[[Name], Name]) -> Different:
        """Return the same of integers with other names."""
        return Different(self.sum.renamed(name))


Fact = Affine | Different
"""What holds of integers: that a sum is at most 0, or that it is not 0."""


def constant(number: int) -> Affine:
    """Return a known number."""
    return Affine({}, number)


def unknown(name: Name) -> Affine:
    """Return the integer with a name."""
    return Affine({name: 1}, 0)


def equal_to(left: Affine, right: Affine) -> tuple[Affine, Affine]:
    """Return the inequalities of an equation."""
    return left.plus(right, -1), right.plus(left, -1)


def within(value: Affine, extent: int) -> tuple[Affine, Affine]:
    """Return the inequalities ``0 <= value < extent``."""
    return value.times(-1), value.shifted(1 - extent)


_Rows = dict[frozenset[tuple[Name, int]], int]


def contradict(facts: Iterable[Fact]) -> bool:
    """Return whether it is proven that no integers fulfil all facts.

    Example:
        >>> n = unknown(("a loop", "turn"))
        >>> (
        ...     contradict([n.shifted(-3), constant(4).plus(n, -1)]),
        ...     contradict([n.shifted(-4), constant(4).plus(n, -1)]),
        ... )
        (True, False)
    """
    found = list(facts)
    different = [fact.sum for fact in found if isinstance(fact, Different)][:_MOST_DIFFERENT]
    return _contradict([fact for fact in found if isinstance(fact, Affine)], different)


def _contradict(inequalities: Sequence[Affine], different: Sequence[Affine]) -> bool:
    if different:
        first, *others = different
        sides = first.shifted(1), first.times(-1).shifted(1)
        return all(_contradict([*inequalities, side], others) for side in sides)
    rows: _Rows = {}
    if not all(_add(rows, row) for row in inequalities):
        return True
    while rows:
        counts: dict[Name, list[int]] = {}
        for terms in rows:
            for name, number in terms:
                counts.setdefault(name, [0, 0])[number > 0] += 1
        name = min(counts, key=lambda x: counts[x][0] * counts[x][1] - sum(counts[x]))
        following = _without(rows, name)
        if following is None:
            return True
        if len(following) > _MOST:
            return False
        rows = following
    return False


def _add(rows: _Rows, row: Affine) -> bool:
    """Add an inequality in its least multiple, tightened to integers; return False where it holds for none."""
    divisor = math.gcd(*row.terms.values())
    if not divisor:
        return row.constant <= 0
    terms = frozenset((name, number // divisor) for name, number in row.terms.items())
    least = -(-row.constant // divisor)
    rows[terms] = max(least, rows.get(terms, least))
    return True


def _without(rows: _Rows, name: Name) -> _Rows | None:
    """Return what follows for the other integers; None for a contradiction."""
    following: _Rows = {}
    below: list[tuple[int, Affine]] = []
    above: list[tuple[int, Affine]] = []
    for terms, number in rows.items():
        row = Affine(dict(terms), number)
        factor = row.terms.get(name, 0)
        if factor:
            (above if factor > 0 else below).append((factor, row))
        else:
            following[terms] = number
    for up, upper in above:
        for down, lower in below:
            if not _add(following, upper.times(-down).plus(lower, up)):
                return None
    return following
