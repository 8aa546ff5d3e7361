"""Colourings of sparse matrices: positions of one colour are derived from one product with the matrix.

Direct recovery: each nonzero element stands alone in the product that it is read from. Columns that share no row may
have one colour (Curtis, Powell and Reid, "On the estimation of sparse Jacobian matrices", 1974), and so may rows that
share no column. Both together cover matrices with dense rows and dense columns (Coleman and Verma, "The efficient
computation of sparse Jacobian matrices using automatic differentiation", 1998). A symmetric matrix needs a star
colouring: neighbours differ, and no path of four vertices has two colours (Gebremedhin, Manne and Pothen, "What color
is your Jacobian?", 2005).

The greedy algorithms hold the colours around a row, or a vertex, as the bits of an integer, so that they take a few
operations of Python for each nonzero element.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The colour of what is in no product.
NONE = -1


@dataclass(frozen=True, eq=False, slots=True)
class Colouring:
    """The colours of columns, of rows, or of both.

    A matrix is multiplied by one direction for each colour of its columns, and from the left by one for each colour of
    its rows.
    """

    columns: Any
    """The colour of each column, counted from 0; -1 for a column in no product. None where rows alone have colours."""
    rows: Any
    """The colour of each row, likewise; None where columns alone have colours."""
    symmetric: bool = False
    """Whether an element may be read as the one across the diagonal."""

    @property
    def column_count(self) -> int:
        """The number of colours of columns."""
        return _count(self.columns)

    @property
    def row_count(self) -> int:
        """The number of colours of rows."""
        return _count(self.rows)

    @property
    def count(self) -> int:
        """The number of all colours, which is that of products."""
        return self.column_count + self.row_count

    @property
    def direction(self) -> str:
        """``forward`` for colours of columns, ``reverse`` for colours of rows, ``both``."""
        if self.rows is None:
            return "forward"
        return "reverse" if self.columns is None else "both"


def _count(colours: Any) -> int:
    return 0 if colours is None or not len(colours) else int(colours.max()) + 1


# -- partial distance-2 colouring ------------------------------------------------------------------------


def colour_columns(pattern: Any) -> Any:
    """Return colours of the columns of a CSR pattern, such that no row has two nonzero elements of one colour.

    Columns without elements have none.
    """
    by_column = pattern.tocsc()
    return _best(by_column.indptr, by_column.indices, pattern.shape[0], _longest(pattern.indptr))


def colour_rows(pattern: Any) -> Any:
    """Return colours of the rows, such that no column has two nonzero elements of one colour."""
    return _best(pattern.indptr, pattern.indices, pattern.shape[1], _longest(pattern.tocsc().indptr))


def _longest(pointers: Any) -> int:
    return int(np.diff(pointers).max(initial=0))


def _best(pointers: Any, members: Any, count: int, least: int) -> Any:
    """Colour groups of which no two with a common member may have one colour; ``least`` colours are needed.

    The first free colour is taken, which is best for bands. Where that is not the best possible, the next free colour
    after the last one is, among fewer colours: on a grid each line then continues the cycle of the line before it.
    """
    sizes = np.diff(pointers)
    if least == np.count_nonzero(sizes):  # all of them meet in one place
        return np.where(sizes > 0, np.cumsum(sizes > 0) - 1, NONE)
    groups = _Groups(pointers, members, count)
    colours = groups.first_fit()
    low, high, limit = least, _count(colours), least
    while low < high:
        fewer = groups.next_fit(limit)
        if fewer is None:
            low = limit + 1
        else:
            colours, high = fewer, _count(fewer)
        limit = (low + high) // 2
    return colours


class _Groups:
    """Groups of members in the form of CSR, and greedy colourings of them in their order."""

    def __init__(self, pointers: Any, members: Any, count: int) -> None:
        listed: list[int] = members.tolist()
        starts: list[int] = pointers.tolist()
        self.groups = [listed[start:end] for start, end in itertools.pairwise(starts)]
        self.count = count

    def first_fit(self) -> Any:
        """Give each group the first colour that no group with a common member has."""
        taken = [0] * self.count
        colours = [NONE] * len(self.groups)
        for group, members in enumerate(self.groups):
            near = 0
            for member in members:
                near |= taken[member]
            bit = ~near & (near + 1)
            colours[group] = bit.bit_length() - 1 if members else NONE
            for member in members:
                taken[member] |= bit
        return np.array(colours, np.int64)

    def next_fit(self, limit: int) -> Any:
        """Give each group the next free colour after that of the last one, in a cycle; None if they do not suffice."""
        taken = [0] * self.count
        colours = [NONE] * len(self.groups)
        every, last = (1 << limit) - 1, 0
        for group, members in enumerate(self.groups):
            if not members:
                continue
            near = 0
            for member in members:
                near |= taken[member]
            free = every & ~near
            if not free:
                return None
            later = free >> last << last
            bit = (later or free) & -(later or free)
            last = bit.bit_length()
            colours[group] = last - 1
            for member in members:
                taken[member] |= bit
        return np.array(colours, np.int64)


# -- both directions -------------------------------------------------------------------------------------


def colour_both(pattern: Any) -> Colouring:
    """Return colours of the rows with most elements and of the columns for the other rows, or the same transposed.

    Rows of one colour share no column. Columns of one colour share no row, of those that have no colour.
    """
    flipped = pattern.T.tocsr()
    bound, dense = _densest(pattern)
    other_bound, other_dense = _densest(flipped)
    if other_bound < bound:
        rows, columns = _for_dense_rows(flipped, other_dense)
    else:
        columns, rows = _for_dense_rows(pattern, dense)
    return Colouring(columns, rows)


def _densest(pattern: Any) -> tuple[int, Any]:
    """Choose rows to be coloured themselves: the least number of colours that may do, and which rows these are."""
    lengths = np.diff(pattern.indptr)
    order = np.argsort(-lengths, kind="stable")
    choices: list[tuple[int, int]] = []
    for count in {
        0,
        *(1 << power for power in range(len(lengths).bit_length()) if 1 << power <= len(lengths)),
    }:
        longest = int(lengths[order[count]]) if count < len(lengths) else 0
        members = pattern[order[:count]].indices
        choices.append((longest + int(np.bincount(members).max(initial=0)), count))
    bound, count = min(choices, default=(0, 0))
    dense = np.zeros(len(lengths), bool)
    dense[order[:count]] = True
    return bound, dense


def _for_dense_rows(pattern: Any, dense: Any) -> tuple[Any, Any]:
    """Return the colours of columns for the sparse rows, and those of the dense rows; None for no colours."""
    if not dense.any():
        return colour_columns(pattern), None
    sparse_rows = _keep_rows(pattern, ~dense)
    return (colour_columns(sparse_rows) if sparse_rows.nnz else None), colour_rows(_keep_rows(pattern, dense))


def _keep_rows(pattern: Any, is_kept: Any) -> Any:
    """Return the pattern with other rows empty."""
    lengths = np.where(is_kept, np.diff(pattern.indptr), 0)
    chosen = np.repeat(is_kept, np.diff(pattern.indptr))
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return type(pattern)((pattern.data[chosen], pattern.indices[chosen], pointers), shape=pattern.shape)


def colour(pattern: Any, mode: str) -> Colouring:
    """Return colours of a CSR pattern for products from the right, from the left, from both sides, or the fewest.

    Args:
        pattern: the pattern.
        mode: ``forward``, ``reverse``, ``both`` or ``auto``.
    """
    ways = {
        "forward": (_longest(pattern.indptr), lambda: Colouring(colour_columns(pattern), None)),
        "reverse": (_longest(pattern.tocsc().indptr), lambda: Colouring(None, colour_rows(pattern))),
        "both": (min(_densest(pattern)[0], _densest(pattern.T.tocsr())[0]), lambda: colour_both(pattern)),
    }
    if mode != "auto":
        return ways[mode][1]()
    best: Colouring | None = None
    for bound, make in sorted(ways.values(), key=lambda way: way[0]):
        if best is None or bound < best.count:
            best = min([*([best] if best else []), make()], key=lambda colouring: colouring.count)
    assert best is not None
    return best


# -- symmetric matrices ----------------------------------------------------------------------------------


def colour_star(pattern: Any) -> Colouring:
    """Return a star colouring of the vertices of a symmetric CSR pattern: colours of its columns."""
    sizes = np.diff(pattern.indptr)
    colours = _Stars(pattern)(np.flatnonzero(sizes))
    if _count(colours) > sizes.max(initial=0):
        largest_first = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
        colours = min(colours, _Stars(pattern)(largest_first), key=_count)
    return Colouring(colours, None, True)


class _Stars:
    """The state of a greedy star colouring; sets of colours are the bits of integers."""

    def __init__(self, pattern: Any) -> None:
        count = pattern.shape[0]
        self.listed: list[int] = pattern.indices.tolist()
        self.starts: list[int] = pattern.indptr.tolist()
        self.bits = [0] * count
        """The colour of each vertex, as a bit; 0 without one."""
        self.once = [0] * count
        """The colours of the neighbours of each vertex."""
        self.twice = [0] * count
        """The colours that several neighbours have."""
        self.leaves = [0] * count
        """For a coloured vertex, the colours of those neighbours that have another neighbour of its colour."""

    def __call__(self, order: Any) -> Any:
        for vertex in order.tolist():
            near = [w for w in self.listed[self.starts[vertex] : self.starts[vertex + 1]] if w != vertex]
            taken = self._taken(vertex, near)
            self._give(vertex, near, ~taken & (taken + 1))
        return np.array([bit.bit_length() - 1 for bit in self.bits], np.int64)

    def _taken(self, vertex: int, near: Sequence[int]) -> int:
        """Return the colours that would make a neighbour alike, or a path of four vertices of two colours."""
        bits, once, leaves = self.bits, self.once, self.leaves
        taken, several = once[vertex], self.twice[vertex]
        for neighbour in near:
            bit = bits[neighbour]
            # The path vertex, other, x, y: none if other has no colour yet, but then other could not be coloured.
            taken |= leaves[neighbour] if bit and not bit & several else once[neighbour]
        return taken

    def _give(self, vertex: int, near: Sequence[int], bit: int) -> None:
        """Colour a vertex, and note what its neighbours see."""
        bits, once, twice, leaves = self.bits, self.once, self.twice, self.leaves
        bits[vertex] = bit
        several = twice[vertex]
        for neighbour in near:
            if bits[neighbour] & several:
                leaves[neighbour] |= bit
            if once[neighbour] & bit:
                if not twice[neighbour] & bit:
                    twice[neighbour] |= bit
                    self._note(neighbour, bit)
                if bits[neighbour]:
                    leaves[vertex] |= bits[neighbour]
            else:
                once[neighbour] |= bit

    def _note(self, centre: int, bit: int) -> None:
        """Note that a vertex has several neighbours of a colour, at each of them."""
        own = self.bits[centre]
        if own:
            for leaf in self.listed[self.starts[centre] : self.starts[centre + 1]]:
                if self.bits[leaf] == bit:
                    self.leaves[leaf] |= own
