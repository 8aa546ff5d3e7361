"""Indices of a nest: sums of dimensions times constants, and the quotients and remainders that a reshape makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeAlias

from wengert.engine.core.records import record


class Dim:
    """One loop of a nest, or of a program around it: a counter from 0 up to its extent.

    Two dimensions are the same only if they are the same object. One that goes through others in one line has them as
    its parts.
    """

    __slots__ = ("_parts", "extent", "name")

    def __init__(self, extent: int, name: str = "", parts: tuple[Dim, ...] = ()) -> None:
        self.extent = extent
        self.name = name
        self._parts = parts

    @property
    def parts(self) -> tuple[Dim, ...]:
        """The dimensions that this one goes through, the outermost first."""
        return self._parts or (self,)

    def __repr__(self) -> str:
        return f"{self.name or 'd'}:{self.extent}"


@record(eq=True)
class Digit:
    """``(index // divisor) % modulus``: one digit of an index in a mixed radix."""

    index: Index
    divisor: int
    modulus: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest value; of a negative index, which a guard keeps from use, that of the processor."""
        low, high = self.index.bounds
        if low >= 0 and high // self.divisor < self.modulus:
            return low // self.divisor, high // self.divisor
        return (1 - self.modulus if low < 0 else 0), self.modulus - 1


@record
class Computed:
    """An index that the program computes: the value of an expression, known to lie in ``[0, extent)``."""

    expression: Any
    extent: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest value."""
        return 0, max(self.extent - 1, 0)


#: The terms of an index.
Term: TypeAlias = "Dim | Digit | Computed"


@record(eq=True)
class Index:
    """``offset + sum coefficient * term``, an integer.

    Example:
        >>> i, j = Dim(4, "i"), Dim(3, "j")
        >>> print(Index.of(i) * 3 + Index.of(j) + 1)
        3 i + j + 1
    """

    offset: int
    terms: tuple[tuple[Term, int], ...] = ()

    @classmethod
    def of(cls, term: Term) -> Index:
        """Return the index that is one term."""
        if isinstance(term, Dim) and term.extent == 1:
            return cls(0)
        return cls(0, ((term, 1),))

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.offset + other, self.terms) if other else self
        if not other.terms:
            return self + other.offset
        sums = dict(self.terms)
        for term, coefficient in other.terms:
            sums[term] = sums.get(term, 0) + coefficient
        return Index(self.offset + other.offset, tuple((t, c) for t, c in sums.items() if c))

    def __mul__(self, factor: int) -> Index:
        if factor == 1:
            return self
        if factor == 0:
            return Index(0)
        return Index(self.offset * factor, tuple((t, c * factor) for t, c in self.terms))

    def __sub__(self, other: Index | int) -> Index:
        return self + (-other if isinstance(other, int) else other * -1)

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest value, each term taken by itself."""
        low = high = self.offset
        for term, coefficient in self.terms:
            first, last = (0, max(term.extent - 1, 0)) if isinstance(term, Dim) else term.bounds
            low += min(coefficient * first, coefficient * last)
            high += max(coefficient * first, coefficient * last)
        return low, high

    def digit(self, divisor: int, modulus: int) -> Index:
        """Return ``(self // divisor) % modulus``, as a sum of dimensions where it is one."""
        if modulus == 1:
            return Index(0)
        period = divisor * modulus
        # Multiples of the period do not count.
        reduced = Index(self.offset % period, tuple((t, c) for t, c in self.terms if c % period))
        coarse = Index(
            reduced.offset // divisor,
            tuple((t, c // divisor) for t, c in reduced.terms if c % divisor == 0),
        )
        fine = Index(reduced.offset % divisor, tuple((t, c) for t, c in reduced.terms if c % divisor))
        low, high = fine.bounds
        if low < 0 or high >= divisor:
            return Index.of(Digit(self, divisor, modulus))
        low, high = coarse.bounds
        if low < 0 or high >= modulus:
            # Digits are defined for non-negative indices.
            short = divisor == 1 and reduced.bounds[0] >= 0
            return Index.of(Digit(reduced if short else self, divisor, modulus))
        return coarse

    def at(self, value: Callable[[Dim | Computed], Any]) -> Any:
        """Return the index as a number, or an array of them, given those of its dimensions and computed terms.

        None stands for a number that is not known, and for an index that needs it.
        """
        total: Any = self.offset
        for term, coefficient in self.terms:
            is_digit = isinstance(term, Digit)
            number = term.index.at(value) if is_digit else value(term)
            if number is None:
                return None
            if is_digit:
                number = number // term.divisor % term.modulus
            total = total + coefficient * number
        return total

    def substitute(self, replace: Callable[[Term], Index | None]) -> Index:
        """Return the index with terms replaced; None keeps a term."""
        replaced = [_replaced(term, replace) for term, _ in self.terms]
        if all(new is None for new in replaced):
            return self
        result = Index(self.offset)
        for (term, coefficient), new in zip(self.terms, replaced, strict=True):
            result += (Index.of(term) if new is None else new) * coefficient
        return result

    def dims(self) -> Iterable[Dim]:
        """Yield the dimensions that the index depends on, those inside computed terms not."""
        for term, _ in self.terms:
            if isinstance(term, Dim):
                yield term
            elif isinstance(term, Digit):
                yield from term.index.dims()

    @property
    def is_affine(self) -> bool:
        """Whether all terms are dimensions."""
        return all(isinstance(term, Dim) for term, _ in self.terms)

    @property
    def only(self) -> Dim | None:
        """The dimension that the index follows, if it follows one and nothing else."""
        term = self.terms[0][0] if len(self.terms) == 1 else None
        return term if isinstance(term, Dim) else None

    def coefficient(self, dim: Dim) -> int:
        """Return what a dimension is multiplied by."""
        return next((c for t, c in self.terms if t is dim), 0)

    def __str__(self) -> str:
        return self.text(_plain)

    def text(self, name: Callable[[Term], str]) -> str:
        """Write the index, each term as ``name`` says."""
        parts = [f"{'' if c == 1 else f'{c} '}{name(t)}" for t, c in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset))
        return " + ".join(parts).replace("+ -", "- ")


def _replaced(term: Term, replace: Callable[[Term], Index | None]) -> Index | None:
    """Return what takes the place of a term, or of a term inside it; None if it stays."""
    new = replace(term)
    if new is None and isinstance(term, Digit):
        inner = term.index.substitute(replace)
        if inner is not term.index:
            return inner.digit(term.divisor, term.modulus)
    return new


def _plain(term: Term) -> str:
    if isinstance(term, Dim):
        return term.name or "d"
    if isinstance(term, Digit):
        return f"(({term.index}) / {term.divisor} % {term.modulus})"
    return "[...]"


def point_count(dims: Iterable[Dim]) -> int:
    """Return the number of points of some loops."""
    return math.prod(dim.extent for dim in dims)


def without_unit(dims: Iterable[Dim]) -> tuple[Dim, ...]:
    """Return the dimensions of more than one point."""
    return tuple(dim for dim in dims if dim.extent != 1)


def dims_of(indices: Iterable[Index]) -> set[Dim]:
    """Return the dimensions that indices follow, those inside computed terms not."""
    return {dim for index in indices for dim in index.dims()}


def condition_range(index: Index, extent: int) -> tuple[Dim, int, int] | None:
    """Return the dimension on which ``0 <= index < extent`` depends alone, and the range in which it holds.

    The range goes from its first value up to the one after its last, and may exceed the dimension.

    Example:
        >>> condition_range(Index.of(Dim(9, "i")) * 2 - 3, 4)
        (i:9, 2, 4)
    """
    term, coefficient = index.terms[0] if len(index.terms) == 1 else (None, 0)
    if not isinstance(term, Dim):
        return None
    first, last = sorted((-index.offset / coefficient, (extent - 1 - index.offset) / coefficient))
    return term, math.ceil(first), math.floor(last) + 1


def flatten(indices: Iterable[Index], shape: Iterable[int]) -> Index:
    """Return the position in row-major order of an element of an array."""
    position = Index(0)
    for index, extent in zip(indices, shape, strict=True):
        position = position * extent + index
    return position


def unflatten(position: Index, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """Return the indices of the element at a position in row-major order.

    Example:
        >>> i, j = Dim(4, "i"), Dim(6, "j")
        >>> print(*unflatten(flatten((Index.of(i), Index.of(j)), (4, 6)), (2, 2, 6)), sep=", ")
        ((6 i + j) / 12 % 2), ((6 i + j) / 6 % 2), j
    """
    indices: list[Index] = []
    for axis, extent in enumerate(shape):
        indices.append(position.digit(math.prod(shape[axis + 1 :]), extent))
    return tuple(indices)


def reshaped(indices: tuple[Index, ...], new: tuple[int, ...], old: tuple[int, ...]) -> tuple[Index, ...]:
    """Return where the element at ``indices`` of the reshaped array ``new`` stands in the array ``old``.

    The axes are taken in the smallest groups of equal size, so that what a reshape does not touch stays as it is.
    """
    result: list[Index] = []
    left, right = 0, 0
    while left < len(new) or right < len(old):
        start, begin = left, right
        product, old_size = 1, 1
        if left < len(new):
            product, left = new[left], left + 1
        if right < len(old):
            old_size, right = old[right], right + 1
        while product != old_size:
            if product < old_size and left < len(new):
                product, left = product * new[left], left + 1
            elif product > old_size and right < len(old):
                old_size, right = old_size * old[right], right + 1
            else:
                break
        position = flatten(indices[start:left], new[start:left])
        if right - begin == 1:
            result.append(position)
        else:
            result += unflatten(position, old[begin:right])
    return tuple(result)


def follows(index: Index, own: Collection[Dim] | None = None) -> Dim | None:
    """Return the dimension that an index is, or None; counters of loops around the nest, not its own, may be added."""
    terms = [(t, c) for t, c in index.terms if own is None or t in own or not isinstance(t, Dim)]
    if index.offset == 0 and len(terms) == 1:
        term, coefficient = terms[0]
        if coefficient == 1 and isinstance(term, Dim):
            return term
    return None
