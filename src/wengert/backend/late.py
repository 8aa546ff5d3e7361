"""Results written late: those of one tile, while the reductions of the next one run.

The multiply-adds of a product need not wait for one another. A root or a quotient of the sums is waited for, and so is
what comes from memory, and meanwhile there would be nothing else to do. So a tile leaves its sums behind, and the next
one makes results of them, a vector after every few steps of its own sums (Lam, Software pipelining, 1988). Functions
such as exponentials are multiply-adds themselves, and would only get in the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wengert.backend.builder import I1, I64, POINTER, Kind, Value, constant
from wengert.backend.costs import DIVISION, weight
from wengert.backend.evaluate import Evaluator
from wengert.backend.state import Point
from wengert.nest.expression import (
    CHECKS,
    Apply,
    Expression,
    Guard,
    Load,
    Reduce,
    computed,
    free_dims,
    indices_of,
    loads,
    walk,
)
from wengert.nest.index import Dim
from wengert.nest.nest import Nest

_STEPS = 2
"""Steps of a reduction for each vector that is written meanwhile, at least."""
_TILES = 4
"""Whole tiles from which on it pays: the results of the last one are not hidden behind anything."""


def is_late(
    nest: Nest, lanes: Dim | None, width: int, tile: Mapping[Dim, int], unrolled: frozenset[Dim]
) -> bool:
    """Tell whether to write results late: if they are waited for, and the sums take long enough on their own."""
    nodes = _sums(nest)
    if lanes not in nest.dims or nest.sequential or len({node.dims for node in nodes}) != 1:
        return False
    results = [node for store in nest.stores for node in walk(store.value, Reduce)]
    slowest = max((weight(node.operation) for node in results if isinstance(node, Apply)), default=0)
    points = math.prod(tile.values())
    whole = math.prod(dim.extent // (tile.get(dim, 1) * (width if dim is lanes else 1)) for dim in nest.dims)
    return (
        whole >= _TILES
        and all(dim not in unrolled and dim.extent >= _STEPS * points for dim in nodes[0].dims[:1])
        and slowest == DIVISION
        and all(lanes in free_dims(node) and _is_plain(node) for node in nodes)
        and not any(store.along or store.combiner or any(computed(store.indices)) for store in nest.stores)
        and all(map(_is_known, results))
        and is_in_place(nest)
    )


def _sums(nest: Nest) -> list[Reduce]:
    return list(dict.fromkeys(node for node in nest.nodes() if isinstance(node, Reduce)))


def _is_plain(node: Reduce) -> bool:
    """Tell whether a reduction is a loop over all of its dimensions that gives a number."""
    inner = any(isinstance(one, (Reduce, Guard)) for one in walk(node.body))
    return not inner and not node.combiner.startswith("arg") and node.dtype.kind != "b"


def _is_known(node: Expression) -> bool:
    """Tell whether a node complains of nothing, and reads at places that the loops tell."""
    checks = isinstance(node, Apply) and node.operation in CHECKS
    return not checks and not any(computed(indices_of(node)))


def is_in_place(nest: Nest) -> bool:
    """Tell whether no point reads what another one writes."""
    places = {store.buffer: store.indices for store in nest.stores}
    read = [node for node in nest.nodes() if isinstance(node, Load) and node.buffer in places]
    return all(load.indices == places[load.buffer] for load in read)


def _bytes(kind: Kind) -> int:
    return kind.lanes * kind.bits // 8


class Late:
    """The sums that one tile left behind, and what writes its results.

    Args:
        evaluator: where the code stands: at the beginning of its function.
        nest: what is computed.
        tile: the points of a whole tile along each dimension; along the lanes, vectors.
    """

    def __init__(self, evaluator: Evaluator, nest: Nest, tile: Mapping[Dim, int]) -> None:
        self.evaluator = evaluator
        self.builder = evaluator.builder
        self.stores = nest.stores
        self.tile = tile
        self.points = math.prod(tile.values())
        found = [load for store in nest.stores for load in loads(store.value, Reduce)]
        afar = [load for load in found if evaluator.lanes in evaluator.dims(load)]
        self.read = list({(load.buffer, load.indices): load for load in afar}.values())
        nodes = _sums(nest)
        kinds = [evaluator.kind(node.dtype, evaluator.width) for node in nodes]
        rooms = [self._room(f"[{self.points} x {kind}]", _bytes(kind)) for kind in kinds]
        self.sums = list(zip(nodes, kinds, rooms, strict=True))
        self.places = {dim: self._room("i64", 8) for dim in nest.dims}
        self.waiting = self._room("i1", 1)
        self.builder.store(constant(I1, 0), self.waiting, 1)

    def _room(self, type_: str, align: int) -> Value:
        return self.builder.emit(f"alloca {type_}, align {align}", POINTER)

    def takes(self, points: Sequence[Point]) -> bool:
        """Tell whether these are the points of a whole tile."""
        return len(points) == self.points and all(point.mask is None for point in points)

    def keep(self, points: Sequence[Point]) -> None:
        """Leave the sums of a tile behind."""
        b, evaluator = self.builder, self.evaluator
        for point in points:
            number = constant(I64, self._number(point))
            for node, kind, room in self.sums:
                total = evaluator.reduced[evaluator.key(node, point)]
                b.store(total, b.element(room, str(kind), number), _bytes(kind))
        for dim, room in self.places.items():
            b.store(self._counter(dim), room, 8)
        b.store(constant(I1, 1), self.waiting, 1)

    def write_before(self, number: Value) -> None:
        """Write one result of the tile before, if there is one, and ask for what that of this tile reads."""
        evaluator, moves = self.evaluator, self._moves(number)
        with self.builder.only_if(self.builder.load(self.waiting, I1, 1)):
            self._write(number, moves)
        here = {dim: self._counter(dim) for dim in self.places}
        with evaluator.elsewhere(self._moved(here, moves)):
            for load in self.read:
                evaluator.fetch(load, Point(()), 1)

    def write_last(self) -> None:
        """Write the results of the last tile."""
        b = self.builder
        first, end = constant(I64, 0), constant(I64, self.points)
        with b.only_if(b.load(self.waiting, I1, 1)), b.loop(first, end) as number:
            self._write(number, self._moves(number))

    def _write(self, number: Value, moves: Mapping[Dim, Value]) -> None:
        b, evaluator, point = self.builder, self.evaluator, Point(())
        before = {dim: b.load(room, I64, 8) for dim, room in self.places.items()}
        with evaluator.elsewhere(self._moved(before, moves)):
            for node, kind, room in self.sums:
                total = b.load(b.element(room, str(kind), number), kind, _bytes(kind))
                evaluator.reduced[evaluator.key(node, point)] = total
            values = [evaluator.value(store.value, point) for store in self.stores]
            for store, value in zip(self.stores, values, strict=True):
                evaluator.store(store.buffer, store.indices, value, point, True)
        evaluator.reduced.clear()

    # -- points of a tile by their number ----------------------------------------------------------------

    def _counter(self, dim: Dim) -> Value:
        return self.evaluator.counters.get(dim) or constant(I64, 0)

    def _step(self, dim: Dim) -> int:
        return self.evaluator.width if dim is self.evaluator.lanes else 1

    def _number(self, point: Point) -> int:
        number = 0
        for dim, count in self.tile.items():
            number = number * count + point.offset(dim) // self._step(dim)
        return number

    def _moves(self, number: Value) -> dict[Dim, Value]:
        """Return how far a point is from the first of its tile."""
        b, moves, rest = self.builder, dict[Dim, Value](), number
        for dim, count in reversed(list(self.tile.items())):
            digit = b.binary("urem", rest, constant(I64, count))
            rest = b.binary("udiv", rest, constant(I64, count))
            moves[dim] = b.binary("mul", digit, constant(I64, self._step(dim)))
        return moves

    def _moved(self, counters: Mapping[Dim, Value], moves: Mapping[Dim, Value]) -> dict[Dim, Value]:
        moved = {dim: self.builder.binary("add", counters[dim], move) for dim, move in moves.items()}
        return {**counters, **moved}
