"""Results written late: those of one tile, while the reductions of the next one run.

A root or a quotient of a sum takes long to come, and so does what is read from memory; at the end of a tile there is
nothing else to do in the meantime. So a tile leaves its sums in memory, and the next one makes results of them, a
vector after every few steps of its own sums (Lam, Software pipelining, 1988). Functions such as exponentials are
multiply-adds themselves, and would only get in the way of those of the sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wengert.backend.afar import is_line
from wengert.backend.builder import I1, I64, POINTER, Value, constant
from wengert.backend.costs import DIVISION, weight
from wengert.backend.evaluate import Evaluator
from wengert.backend.layout import Layout
from wengert.backend.state import Point
from wengert.nest.expression import (
    Apply,
    Buffer,
    Guard,
    Load,
    Reduce,
    computed,
    free_dims,
    indices_of,
    is_check,
    loads,
    walk,
)
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Nest

_STEPS = 2
"""Steps of a reduction for each vector that is written meanwhile, at least."""
_TILES = 4
"""Whole tiles from which on it pays: the results of the last one are not hidden behind anything."""


def is_late(
    nest: Nest,
    lanes: Dim | None,
    width: int,
    tile: Mapping[Dim, int],
    unrolled: frozenset[Dim],
    layouts: Mapping[Buffer, Layout],
) -> bool:
    """Tell whether to write results late: if that is possible, and if they are waited for."""
    nodes = dict.fromkeys(node for node in nest.nodes() if isinstance(node, Reduce))
    if len(nodes) != 1 or lanes not in nest.dims or nest.sequential:
        return False
    (node,) = nodes
    if not node.dims or node.dims[0] in unrolled:
        return False
    points = math.prod(tile.values())
    whole = math.prod(dim.extent // (tile.get(dim, 1) * (width if dim is lanes else 1)) for dim in nest.dims)
    # Of loops that have no bounds and are not written out, the first dimension's is the outermost.
    pays = whole >= _TILES and node.dims[0].extent >= _STEPS * points and _is_waited_for(nest)
    return pays and _is_long_sum(node, lanes) and _may_wait(nest, layouts)


def _is_waited_for(nest: Nest) -> bool:
    """Tell whether the slowest operation on a sum is a division or a root."""
    results = (node for store in nest.stores for node in walk(store.value, Reduce))
    return max((weight(node.operation) for node in results if isinstance(node, Apply)), default=0) == DIVISION


def _is_long_sum(node: Reduce, lanes: Dim | None) -> bool:
    """Tell whether a reduction gives a vector of numbers, by loops that go all the way."""
    inner = any(isinstance(one, (Reduce, Guard)) for one in walk(node.body))
    return not inner and lanes in free_dims(node) and not node.finds_place and node.dtype.kind != "b"


def _may_wait(nest: Nest, layouts: Mapping[Buffer, Layout]) -> bool:
    """Tell whether results are the same wherever they are computed, and complain of nothing.

    What lies in panels is found from the first point of a tile only.
    """
    results = [node for store in nest.stores for node in walk(store.value, Reduce)]
    buffers = {node.buffer for node in results if isinstance(node, Load)}
    indices = [index for store in nest.stores for index in store.indices]
    indices += [index for node in results for index in indices_of(node)]
    return (
        is_in_place(nest)
        and not any(store.along or store.combiner for store in nest.stores)
        and not any(layouts[buffer].panel for buffer in (*buffers, *nest.writes()))
        and not any(map(is_check, results))
        and not any(computed(indices))
    )


def is_in_place(nest: Nest) -> bool:
    """Tell whether no point reads what another one writes."""
    written: dict[Buffer, set[tuple[Index, ...]]] = {}
    for store in nest.stores:
        written.setdefault(store.buffer, set()).add(store.indices)
    read = [node for node in nest.nodes() if isinstance(node, Load) and node.buffer in written]
    return all(written[load.buffer] == {load.indices} for load in read)


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
        lines = [load for load in found if is_line(load, evaluator.lanes, evaluator.layouts)]
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
