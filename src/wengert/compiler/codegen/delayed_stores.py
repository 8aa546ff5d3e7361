"""Delayed stores: the results of one tile are computed and stored while the reductions of the next one run.

A root or a quotient has a long latency, and so has a load from memory; at the end of a tile nothing else is left to
run. So a tile leaves its sums in memory, and the next one makes results of them, a vector after every few steps of its
own sums (Lam, Software pipelining, 1988). A function such as an exponential is a chain of multiply-adds itself, and
would compete with those of the sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wengert.compiler.codegen.access import Point
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.llvm.ir_builder import I1, I64, POINTER, Value, constant
from wengert.compiler.schedule.prefetch import is_contiguous
from wengert.engine.nest.expression import Guard, Reduce, loads
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest


class DelayedStores:
    """The sums that the previous tile left in memory, and the code that stores its results.

    The ``evaluator`` is at the beginning of its function; the ``nest`` has one reduction. ``tile`` has the points of a
    whole tile along each dimension; along the lanes, vectors.
    """

    def __init__(self, evaluator: Evaluator, nest: Nest, tile: Mapping[Dim, int]) -> None:
        self.evaluator = evaluator
        self.builder = evaluator.builder
        self.stores = nest.stores
        self.tile = tile
        self.points = math.prod(tile.values())
        read = [load for store in nest.stores for load in loads(store.value, Guard, Reduce)]
        lines = [load for load in read if is_contiguous(load, evaluator.lanes, evaluator.layouts)]
        self.prefetched = list({(load.buffer, load.indices): load for load in lines}.values())
        self.node = next(node for node in nest.nodes() if isinstance(node, Reduce))
        self.kind = evaluator.kind(self.node.dtype, evaluator.width)
        self.sums = self._on_stack(f"[{self.points} x {self.kind}]", self.kind.bytes)
        self.counters = {dim: self._on_stack("i64", 8) for dim in nest.dims}
        """The first point of the previous tile."""
        self.pending = self._on_stack("i1", 1)
        self.builder.store(constant(I1, 0), self.pending, 1)

    def _on_stack(self, type_: str, align: int) -> Value:
        return self.builder.emit(f"alloca {type_}, align {align}", POINTER)

    def takes(self, points: Sequence[Point]) -> bool:
        """Return whether these are the points of a whole tile."""
        return len(points) == self.points and all(point.mask is None for point in points)

    def keep(self, points: Sequence[Point]) -> None:
        """Leave the sums of a tile in memory."""
        b, evaluator = self.builder, self.evaluator
        for point in points:
            total = evaluator.reduced[evaluator.key(self.node, point)]
            b.store(total, self._sum(constant(I64, self._number(point))), self.kind.bytes)
        for dim, slot in self.counters.items():
            b.store(self._counter(dim), slot, 8)
        b.store(constant(I1, 1), self.pending, 1)

    def store_previous(self, number: Value) -> None:
        """Store one result of the previous tile, if there is one, and prefetch the operands of this tile's result."""
        evaluator, offsets = self.evaluator, self._offsets(number)
        with self.builder.only_if(self.builder.load(self.pending, I1, 1)):
            self._store(number, offsets)
        here = {dim: self._counter(dim) for dim in self.counters}
        with evaluator.elsewhere(self._added(here, offsets)):
            for load in self.prefetched:
                evaluator.prefetch(load, Point(()), 1, level=1)

    def store_last(self) -> None:
        """Store the results of the last tile."""
        b = self.builder
        first, end = constant(I64, 0), constant(I64, self.points)
        with b.only_if(b.load(self.pending, I1, 1)), b.loop(first, end) as number:
            self._store(number, self._offsets(number))

    def _store(self, number: Value, offsets: Mapping[Dim, Value]) -> None:
        b, evaluator, point = self.builder, self.evaluator, Point(())
        previous = {dim: b.load(slot, I64, 8) for dim, slot in self.counters.items()}
        with evaluator.elsewhere(self._added(previous, offsets)):
            total = b.load(self._sum(number), self.kind, self.kind.bytes)
            evaluator.reduced[evaluator.key(self.node, point)] = total
            values = [evaluator.prepared(store, point) for store in self.stores]
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
        b, offsets, remainder = self.builder, dict[Dim, Value](), number
        for dim, count in reversed(list(self.tile.items())):
            digit = b.binary("urem", remainder, constant(I64, count))
            remainder = b.binary("udiv", remainder, constant(I64, count))
            offsets[dim] = b.binary("mul", digit, constant(I64, self._step(dim)))
        return offsets

    def _added(self, counters: Mapping[Dim, Value], offsets: Mapping[Dim, Value]) -> dict[Dim, Value]:
        sums = {dim: self.builder.binary("add", counters[dim], offset) for dim, offset in offsets.items()}
        return {**counters, **sums}
