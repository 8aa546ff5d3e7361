"""The method of each sort, and the memory that it works in.

A sort reads a line of elements, makes a *word* of each, sorts the words, and writes the results. A word compares as its
element does in NumPy's order: NaN is the largest number, and the zeros are equal. Where positions are wanted, a word
holds the position below the element, so that no two words are equal; the position of an element of 64 bits is a number
of its own. Short lines are sorted by a network, longer ones digit by digit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.nest import Program, Sort, Step, map_blocks

_ALIGNMENT = 64
_BYTE = np.dtype(np.uint8)


class Words(NamedTuple):
    """The words that stand for the elements of a sort."""

    scalar: str
    """LLVM's type of a word: a signed integer, or a float that is not NaN."""
    bits: int
    """The bits of a word."""
    index_bits: int
    """The low bits that hold a position."""
    key_bits: int
    """The bits above that hold an element."""
    pairs: bool
    """Whether a position of its own goes with each word."""


class Lines(NamedTuple):
    """The lines of an array along an axis."""

    outer: int
    """The number of groups of lines that lie one after the other."""
    extent: int
    """The elements of a line."""
    inner: int
    """The number of lines of a group that begin next to each other: the distance of the elements of a line."""


class SortPlan(NamedTuple):
    """The schedule of a sort."""

    lines: Lines
    words: Words
    by_digits: bool
    """Whether the words are sorted digit by digit (LSD radix sort), not by a network."""
    beside: bool
    """Whether the lanes of a vector hold elements of different lines, not those of one line."""
    lanes: int
    """Words of a vector."""
    tile: int
    """Vectors that a network works on in registers: a power of two."""
    vectors: int
    """Vectors of a line in a network: whole tiles."""
    digit_bits: int
    """Bits of a digit."""

    @property
    def word_count(self) -> int:
        """The words that are sorted at a time."""
        return self.lines.extent if self.by_digits else self.vectors * self.lanes

    @property
    def digits(self) -> int:
        """The digits of a word."""
        return -(-self.words.key_bits // self.digit_bits)

    @property
    def levels(self) -> int:
        """The number of merges of runs in pairs, from runs of a tile."""
        return (self.vectors // self.tile - 1).bit_length()

    @property
    def areas(self) -> tuple[int, ...]:
        """The offsets of words, other words, positions, other positions and counts, then the size of it all."""
        copies = 2 if self.by_digits else 1
        words = _aligned(self.word_count * self.words.bits // 8)
        positions = _aligned(self.word_count * self.position_bits // 8) if self.words.pairs else 0
        counts = _aligned(4 * self.digits << self.digit_bits) if self.by_digits else 0
        sizes = (words, words * (copies - 1), positions, positions * (copies - 1), counts)
        return (0, *(sum(sizes[: n + 1]) for n in range(len(sizes))))

    @property
    def position_bits(self) -> int:
        """The bits of a position that goes with a word: those of a word in a network, whose lanes are alike."""
        return 32 if self.by_digits else self.words.bits


def plan_sorts(program: Program, target: Target) -> Program:
    """Return the program in which each sort has the memory that it works in."""

    def planned(step: Step) -> Step:
        if isinstance(step, Sort):
            return replace(step, memory=Buffer(_BYTE, (plan_sort(step, target).areas[-1],), "sorting"))
        return map_blocks(step, lambda block: tuple(map(planned, block)))

    return replace(program, steps=tuple(map(planned, program.steps)))


def plan_sort(sort: Sort, target: Target) -> SortPlan:
    """Return how a sort is carried out on a processor."""
    shape, axis = sort.operand.shape, sort.axis
    lines = Lines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    model, extent = costs.COSTS, lines.extent
    beside = _is_beside(sort, lines, target)
    by_itself = sort.positions is None
    most = model.network_bytes // sort.operand.dtype.itemsize if by_itself else model.network_positions
    by_digits = extent > most * (model.network_columns if beside else 1)
    words = _words(sort, extent, in_network=not by_digits)
    lanes = max(target.lanes(words.bits // 8), 1)
    needed = extent if beside else -(-extent // lanes)
    most = model.network_vectors // (2 if words.pairs else 1)
    tile = min(most, 1 << (needed - 1).bit_length())
    if not beside:
        tile = min(tile, max(1, model.network_words // lanes))
    vectors = -(-needed // tile) * tile
    digit = model.long_digit_bits if extent >= model.long_digit_words else 8
    digit = min(digit, words.key_bits)
    return SortPlan(lines, words, by_digits, beside and not by_digits, lanes, tile, vectors, digit)


def _is_beside(sort: Sort, lines: Lines, target: Target) -> bool:
    """Return whether the lines of an array are sorted side by side."""
    model = costs.COSTS
    lanes = target.lanes(sort.operand.dtype.itemsize)
    if lines.extent <= model.short_line_elements:
        return (lines.inner if lines.inner > 1 else lines.outer) > 1
    return lines.inner > 1 and lines.inner >= lanes // 2


def _words(sort: Sort, extent: int, *, in_network: bool) -> Words:
    dtype = sort.operand.dtype
    bits = dtype.itemsize * 8
    if sort.positions is None:
        is_float = in_network and dtype.kind == "f"
        return Words(("float" if bits == 32 else "double") if is_float else f"i{bits}", bits, 0, bits, False)
    if bits == 64:
        return Words("i64", 64, 0, 64, True)
    room = 16 if bits <= 16 and extent <= 1 << 16 else 32
    return Words(f"i{2 * room}", 2 * room, room, bits, False)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
