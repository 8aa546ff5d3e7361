"""Elements as words that compare in NumPy's order, and back.

An integer is itself, an unsigned one with its top bit turned. A float is an integer of the same order: its bits,
of which those below the sign are turned where it is negative. -0 is 0, and NaN is the largest integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from wengert.compiler.llvm.ir_builder import SCALARS, Builder, Kind, Value, constant
from wengert.compiler.schedule.plan_sorts import Words
from wengert.engine.core.dtypes import BOOL, Dtype
from wengert.engine.core.named_tuples import NamedTuple


class Codec(NamedTuple):
    """The map between elements of a dtype and words."""

    dtype: Dtype
    words: Words

    @property
    def memory(self) -> str:
        """LLVM's type of an element in memory."""
        return "i8" if self.dtype == BOOL else SCALARS[self.dtype]

    @property
    def is_inexact(self) -> bool:
        """Whether a word does not say which zero or which NaN its element is."""
        return self.dtype.kind == "f"

    @property
    def is_float(self) -> bool:
        """Whether words are floats."""
        return not self.words.scalar.startswith("i")

    # -- from elements to words --------------------------------------------------------------------------

    def encode(self, b: Builder, x: Value, index: Value) -> tuple[Value, Value | None]:
        """Return words, and which of their elements are -0 or NaN; ``index`` holds the positions of the elements."""
        lost = None
        if self.is_inexact:
            key, lost = self._of_float(b, x)
        else:
            key = x
            if self.dtype.kind == "u":
                key = b.binary("xor", x, constant(x.kind, _lowest(x.kind.bits)))
        return (self._with_position(b, key, index) if self.words.index_bits else key), lost

    def _of_float(self, b: Builder, x: Value) -> tuple[Value, Value]:
        bits = b.convert("bitcast", x, x.kind.integer.scalar)
        is_nan = b.compare("uno", x, x)
        lost = b.either(is_nan, b.compare("eq", bits, constant(bits.kind, _lowest(bits.kind.bits))))
        plain = b.binary("fadd", x, constant(x.kind, 0.0))  # -0 + 0 = 0
        if self.is_float:
            return b.select(is_nan, constant(x.kind, np.inf), plain), lost
        key = _reordered(b, b.convert("bitcast", plain, bits.kind.scalar))
        return b.select(is_nan, constant(key.kind, _highest(key.kind.bits)), key), lost

    def _with_position(self, b: Builder, key: Value, index: Value) -> Value:
        scalar, room = self.words.scalar, self.words.index_bits
        high = b.convert("sext", key, scalar) if key.kind.scalar != scalar else key
        high = b.binary("shl", high, constant(high.kind, room))
        return b.binary("or", high, resized(b, index, scalar))

    def filler(self, lanes: int) -> tuple[Value, ...]:
        """Return the word that comes after all others, and its position."""
        kind = Kind(self.words.scalar, lanes)
        word = constant(kind, np.inf if self.is_float else _highest(kind.bits))
        return (word, constant(kind, _highest(kind.bits))) if self.words.pairs else (word,)

    # -- and back ----------------------------------------------------------------------------------------

    def decode(self, b: Builder, word: Value) -> Value:
        """Return the elements of words."""
        if self.is_float:
            return word
        bits = self.dtype.itemsize * 8
        key = word
        if self.words.index_bits:
            key = b.binary("ashr", word, constant(word.kind, self.words.index_bits))
        if key.kind.bits != bits:
            key = b.convert("trunc", key, f"i{bits}")
        if self.is_inexact:
            return b.convert("bitcast", _reordered(b, key), self.memory)
        if self.dtype.kind == "u":
            return b.binary("xor", key, constant(key.kind, _lowest(bits)))
        return key

    def position(self, b: Builder, word: Value) -> Value:
        """Return the positions that words hold."""
        low = b.convert("trunc", word, f"i{self.words.index_bits}")
        return b.convert("zext", low, "i64")


def _lowest(bits: int) -> int:
    return -1 << bits - 1


def _highest(bits: int) -> int:
    return (1 << bits - 1) - 1


def _reordered(b: Builder, bits: Value) -> Value:
    """Turn the bits of a float into an integer of the same order, or back."""
    width = bits.kind.bits
    sign = b.binary("ashr", bits, constant(bits.kind, width - 1))
    return b.binary("xor", bits, b.binary("and", sign, constant(bits.kind, _highest(width))))


def resized(b: Builder, x: Value, scalar: str) -> Value:
    """Return integers that are not negative with another number of bits."""
    wanted = x.kind.of(scalar)
    if wanted == x.kind:
        return x
    return b.convert("trunc" if wanted.bits < x.kind.bits else "zext", x, scalar)


# -- order -----------------------------------------------------------------------------------------------

Item: TypeAlias = tuple[Value, ...]
"""Words, and the positions that go with them, if any."""


def above(b: Builder, x: Item, y: Item) -> Value:
    """Return whether words, or else their positions, are larger than others."""
    is_float = x[0].kind.is_float
    larger = b.compare("ogt" if is_float else "sgt", x[0], y[0])
    if len(x) == 1:
        return larger
    tied = b.both(b.compare("eq", x[0], y[0]), b.compare("sgt", x[1], y[1]))
    return b.either(larger, tied)


def exchanged(b: Builder, x: Item, y: Item) -> tuple[Item, Item]:
    """Return the smaller and the larger of words, lane by lane."""
    pairs = list(zip(x, y, strict=True))
    if len(pairs) > 1:
        swap = above(b, x, y)
        return tuple(b.select(swap, q, p) for p, q in pairs), tuple(b.select(swap, p, q) for p, q in pairs)
    p, q = pairs[0]
    if p.kind.is_float:  # words that compare equal have the same bits
        low = b.select(b.compare("olt", p, q), p, q)
        return (low,), (b.select(b.compare("ogt", p, q), p, q),)
    return (b.intrinsic("smin", p, q),), (b.intrinsic("smax", p, q),)


def merged(b: Builder, low: Item, high: Item, upper: Sequence[bool]) -> Item:
    """Return the lanes of the second operand where ``upper`` is true, of the first elsewhere."""
    lanes = len(upper)
    places = [lane + lanes * is_upper for lane, is_upper in enumerate(upper)]
    return tuple(b.shuffle(p, places, q) for p, q in zip(low, high, strict=True))
