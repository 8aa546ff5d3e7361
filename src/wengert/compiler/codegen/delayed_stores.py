"""Results written late: those of one tile, while the reductions of the next one run.

A root or a quotient of a sum takes long to come, and so does what is read from memory; at the end of a tile there is
nothing else to do in the meantime. So a tile leaves its sums in memory, and the next one makes results of them, a
vector after every few steps of its own sums (Lam, Software pipelining, 1988). Functions such as exponentials are
multiply-adds themselves, and would only get in the way of those of the sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wengert.compiler.codegen.emission_state import Point
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.llvm.ir_builder import I1, I64, POINTER, Value, constant
from wengert.compiler.schedule.prefetch import is_contiguous
from wengert.nest.expression import (
    Guard,
    Reduce,
    loads,
)
from wengert.nest.index import Dim
from wengert.nest.nest import Nest


class Late:
    """The sums that one tile left in memory, and what writes its results.

    Args:
        evaluator: where the code stands: at the beginning of its function.
        nest: what is computed, with one reduction.
        tile: the points of a whole tile along each dimension; along the lanes, vectors.
    """

    def __init__(self, evaluator: Evaluator, nest: Nest, tile: Mapping[Dim, int]) -> None:
        self.evaluator = evaluator
        self.builder = evaluator.builder
        self.stores = nest.stores
        self.tile = tile
        self.points = math.prod(tile.values())
        found = [load for store in nest.stores for load in loads(store.value, Guard, Reduce)]
        lines = [load for load in found if is_contiguous(load, evaluator.lanes, evaluator.layouts)]
        self.wanted = list({(load.buffer, load.indices): load for load in lines}.values())
        """What is asked for ahead."""
        self.node = next(node for node in nest.nodes() if isinstance(node, Reduce))
        self.kind = evaluator.kind(self.node.dtype, evaluator.width)
        self.sums = self._on_stack(f"[{self.points} x {self.kind}]", self.kind.bytes)
        self.counters = {dim: self._on_stack("i64", 8) for dim in nest.dims}
        """Where the tile before began."""
        self.waiting = self._on_stack("i1", 1)
        self.builder.store(constant(I1, 0), self.waiting, 1)

    def _on_stack(self, type_: str, align: int) -> Value:
        return self.builder.emit(f"alloca {type_}, align {align}", POINTER)

    def takes(self, points: Sequence[Point]) -> bool:
        """Tell whether these are the points of a whole tile."""
        return len(points) == self.points and all(point.mask is None for point in points)

    def keep(self, points: Sequence[Point]) -> None:
        """Leave the sums of a tile in memory."""
        b, evaluator = self.builder, self.evaluator
        for point in points:
            total = evaluator.reduced[evaluator.key(self.node, point)]
            b.store(total, self._sum(constant(I64, self._number(point))), self.kind.bytes)
        for dim, slot in self.counters.items():
            b.store(self._counter(dim), slot, 8)
        b.store(constant(I1, 1), self.waiting, 1)

    def write_before(self, number: Value) -> None:
        """Write one result of the tile before, if there is one, and ask for what that of this tile reads."""
        evaluator, offsets = self.evaluator, self._offsets(number)
        with self.builder.only_if(self.builder.load(self.waiting, I1, 1)):
            self._write(number, offsets)
        here = {dim: self._counter(dim) for dim in self.counters}
        with evaluator.elsewhere(self._added(here, offsets)):
            for load in self.wanted:
                evaluator.fetch(load, Point(()), 1, level=1)

    def write_last(self) -> None:
        """Write the results of the last tile."""
        b = self.builder
        first, end = constant(I64, 0), constant(I64, self.points)
        with b.only_if(b.load(self.waiting, I1, 1)), b.loop(first, end) as number:
            self._write(number, self._offsets(number))

    def _write(self, number: Value, offsets: Mapping[Dim, Value]) -> None:
        b, evaluator, point = self.builder, self.evaluator, Point(())
        before = {dim: b.load(slot, I64, 8) for dim, slot in self.counters.items()}
        with evaluator.elsewhere(self._added(before, offsets)):
            total = b.load(self._sum(number), self.kind, self.kind.bytes)
            evaluator.reduced[evaluator.key(self.node, point)] = total
            values = [evaluator.value(store.value, point) for store in self.stores]
            for store, value in zip(self.stores, values, strict=True):
                evaluator.store(store.buffer, store.indices, value, point, vector=True)
        evaluator.reduced.clear()  # the sum of this tile is not known yet, and there is no other

    def _sum(self, number: Value) -> Value:
        return self.builder.element(self.sums, str(self.kind), number)

    # -- points of a tile and their numbers --------------------------------------------------------------

    def _counter(self, dim: Dim) -> Value:
        return self.evaluator.counters.get(dim) or constant(I64, 0)

    def _step(self, dim: Dim) -> int:
        return self.evaluator.width if dim is self.evaluator.lanes else 1

    def _number(self, point: Point) -> int:
        """Return the number of a point, whose digits are its offsets."""
        number = 0
        for dim, count in self.tile.items():
            number = number * count + point.offset(dim) // self._step(dim)
        return number

    def _offsets(self, number: Value) -> dict[Dim, Value]:
        """Return the offsets of the point with a number."""
        b, offsets, rest = self.builder, dict[Dim, Value](), number
        for dim, count in reversed(list(self.tile.items())):
            digit = b.binary("urem", rest, constant(I64, count))
            rest = b.binary("udiv", rest, constant(I64, count))
            offsets[dim] = b.binary("mul", digit, constant(I64, self._step(dim)))
        return offsets

    def _added(self, counters: Mapping[Dim, Value], offsets: Mapping[Dim, Value]) -> dict[Dim, Value]:
        sums = {dim: self.builder.binary("add", counters[dim], offset) for dim, offset in offsets.items()}
        return {**counters, **sums}
