"""Bitonic sorting networks (Batcher, "Sorting networks and their applications", 1968) over vectors of words.

All comparisons put the smaller word first: a merge begins with the comparison of each word of the first half with its
mirror image in the second half, so words beyond the end, which would be the largest, are left out. A vector holds
neighbouring words of one line, or a word of each of several lines. Steps over short distances run in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.codegen.sort_words import Item, above, exchanged, merged
from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.engine.core.named_tuples import NamedTuple

_WORDS, _POSITIONS = Value("%words", POINTER), Value("%positions", POINTER)
_VECTORS, _LEVELS = Value("%vectors", I64), Value("%levels", I64)
PARAMETERS = "ptr %words, ptr %positions, i64 %vectors, i64 %levels"


class Network(NamedTuple):
    """A network: the words of a vector, and the vectors in registers."""

    kind: Kind
    pairs: bool
    tile: int
    beside: bool

    @property
    def name(self) -> str:
        """The name of the function."""
        facts = f"{self.kind.suffix}.{self.tile}{'.beside' * self.beside}{'.pairs' * self.pairs}"
        return f"sort.network.{facts}"

    @property
    def spread(self) -> int:
        """Words of a line in a vector."""
        return 1 if self.beside else self.kind.lanes

    def body(self) -> Builder:
        """Return the function that sorts vectors, whole tiles, in ``levels`` doublings of a tile."""
        b = Builder()
        with b.loop(constant(I64, 0), _VECTORS, self.tile) as first:
            vectors = self._load_tile(b, first)
            size = self.tile * self.spread
            for level in range(1, size.bit_length()):
                self._within(b, vectors, (1 << level) - 1)
                self._halve(b, vectors, 1 << level - 1)
            self._store_tile(b, first, vectors)
        with b.loop(constant(I64, 0), _LEVELS) as level:
            self._merge(b, level)
        b.do("ret void")
        return b

    # -- registers ---------------------------------------------------------------------------------------

    def _within(self, b: Builder, vectors: list[Item], mask: int) -> None:
        """Compare each word of a tile with the one whose number differs in the bits of the mask."""
        across, lanes = mask // self.spread, mask % self.spread
        for number in range(len(vectors)):
            partner = number ^ across
            if not across:
                vectors[number] = self._within_vector(b, vectors[number], lanes)
            elif number < partner:
                mirrored = self._permuted(b, vectors[partner], lanes)
                vectors[number], larger = exchanged(b, vectors[number], mirrored)
                vectors[partner] = self._permuted(b, larger, lanes)

    def _within_vector(self, b: Builder, x: Item, mask: int) -> Item:
        permuted, top = self._permuted(b, x, mask), 1 << mask.bit_length() - 1
        upper = [bool(lane & top) for lane in range(self.kind.lanes)]
        if not self.pairs:
            return merged(b, *exchanged(b, x, permuted), upper)
        bits = ", ".join(f"i1 {str(is_upper).lower()}" for is_upper in upper)
        swap = b.binary("xor", above(b, x, permuted), Value(f"<{bits}>", self.kind.of("i1")))
        return tuple(b.select(swap, q, p) for p, q in zip(x, permuted, strict=True))

    def _permuted(self, b: Builder, x: Item, mask: int) -> Item:
        if not mask:
            return x
        return tuple(b.shuffle(vector, [lane ^ mask for lane in range(self.kind.lanes)]) for vector in x)

    def _halve(self, b: Builder, vectors: list[Item], size: int) -> None:
        """Merge bitonic sequences of a size within a tile: compare at half the distance again and again."""
        while size > 1:
            size //= 2
            self._within(b, vectors, size)

    # -- memory ------------------------------------------------------------------------------------------

    def _addresses(self, b: Builder, number: Value) -> list[Value]:
        place = b.binary("mul", number, constant(I64, self.kind.bytes))
        return [b.element(base, "i8", place) for base in (_WORDS, _POSITIONS)[: 1 + self.pairs]]

    def _load(self, b: Builder, addresses: Sequence[Value]) -> Item:
        return tuple(b.load(address, self.kind, self.kind.bytes) for address in addresses)

    def _store(self, b: Builder, x: Item, addresses: Sequence[Value]) -> None:
        for value, address in zip(x, addresses, strict=True):
            b.store(value, address, self.kind.bytes)

    def _tile_addresses(self, b: Builder, first: Value) -> list[list[Value]]:
        starts = self._addresses(b, first)
        offsets = (constant(I64, self.kind.bytes * number) for number in range(self.tile))
        return [[b.element(start, "i8", offset) for start in starts] for offset in offsets]

    def _load_tile(self, b: Builder, first: Value) -> list[Item]:
        return [self._load(b, addresses) for addresses in self._tile_addresses(b, first)]

    def _store_tile(self, b: Builder, first: Value, vectors: Sequence[Item]) -> None:
        for x, addresses in zip(vectors, self._tile_addresses(b, first), strict=True):
            self._store(b, x, addresses)

    # -- merges ------------------------------------------------------------------------------------------

    def _merge(self, b: Builder, level: Value) -> None:
        """Merge sorted runs of ``tile << level`` vectors in pairs."""
        half = b.binary("shl", constant(I64, self.tile), level)
        self._mirror(b, half)
        with b.loop(constant(I64, 0), level) as count:
            self._compare_at(b, b.binary("lshr", half, b.binary("add", count, constant(I64, 1))))
        with b.loop(constant(I64, 0), _VECTORS, self.tile) as first:
            vectors = self._load_tile(b, first)
            self._halve(b, vectors, self.tile * self.spread)
            self._store_tile(b, first, vectors)

    def _mirror(self, b: Builder, half: Value) -> None:
        """Compare the vectors of each first half with their mirror images in the second half."""
        size = b.binary("shl", half, constant(I64, 1))
        with self._blocks(b, size) as base:
            end = b.binary("add", base, size)
            missing = b.binary("sub", end, _VECTORS)
            start = b.intrinsic("smax", missing, constant(I64, 0))
            last = b.binary("sub", end, constant(I64, 1))
            with b.loop(start, half) as place:
                low = self._addresses(b, b.binary("add", base, place))
                high = self._addresses(b, b.binary("sub", last, place))
                mirrored = self._permuted(b, self._load(b, high), self.spread - 1)
                smaller, larger = exchanged(b, self._load(b, low), mirrored)
                self._store(b, smaller, low)
                self._store(b, self._permuted(b, larger, self.spread - 1), high)

    def _compare_at(self, b: Builder, distance: Value) -> None:
        """Compare vectors at a distance: the first half of each bitonic sequence with the second."""
        with self._blocks(b, b.binary("shl", distance, constant(I64, 1))) as base:
            upper = b.binary("add", base, distance)
            count = b.intrinsic("smin", distance, b.binary("sub", _VECTORS, upper))
            with b.loop(constant(I64, 0), count) as place:
                low = self._addresses(b, b.binary("add", base, place))
                high = self._addresses(b, b.binary("add", upper, place))
                smaller, larger = exchanged(b, self._load(b, low), self._load(b, high))
                self._store(b, smaller, low)
                self._store(b, larger, high)

    def _blocks(self, b: Builder, size: Value):
        return b.loop(constant(I64, 0), _VECTORS, size)
