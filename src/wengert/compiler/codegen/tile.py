"""The code of a tile of a nest: reductions for all of its points, and the results made of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from wengert.compiler import scalars
from wengert.compiler.codegen.access import Point, first_lanes
from wengert.compiler.codegen.delayed_stores import DelayedStores
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.codegen.reduction import Reduction
from wengert.compiler.llvm.ir_builder import Value
from wengert.compiler.schedule.delay_stores import is_in_place
from wengert.compiler.schedule.loop_order import load_dims
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.strides import joined_stores
from wengert.engine.nest.expression import Load, Reduce, loads
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest, Store


class Tile:
    """Emits the tiles of a nest, from the beginning of the evaluator's function."""

    def __init__(self, evaluator: Evaluator, nest: Nest, schedule: Schedule) -> None:
        self.evaluator = evaluator
        self.nest = nest
        self.schedule = schedule
        self.delayed = DelayedStores(evaluator, nest, schedule.tile) if schedule.delays_stores else None
        self.groups: dict[tuple[Dim, ...], list[Reduce]] = {}
        """The reductions, those over the same dimensions together."""
        for node in dict.fromkeys(node for node in nest.nodes() if isinstance(node, Reduce)):
            self.groups.setdefault(node.dims, []).append(node)
        lanes = schedule.lanes
        self.joined = joined_stores(nest, lanes, evaluator.layouts) if lanes in nest.dims and lanes else []
        nodes = itertools.chain(*self.groups.values())
        self.operand_dims = [load_dims(load) for node in nodes for load in loads(node.body)]

    def write(self, counts: Mapping[Dim, int], masked: int) -> None:
        """Compute the points of a tile, and store their results or delay the stores.

        ``counts`` are the points along each dimension; along the lanes, vectors. The last vector has ``masked``
        elements, if it is not whole.
        """
        evaluator, schedule, lanes = self.evaluator, self.schedule, self.schedule.lanes
        vectors = 0 if lanes is None or self.groups or masked else counts.get(lanes, 0)
        if schedule.vectors > 1 and vectors == schedule.vectors:
            # Several vectors as one: each operation for all of them before the next.
            evaluator.tile = {}
            with evaluator.scope(), evaluator.wide(schedule.vectors):
                self._store([Point(())])
            return
        points = self._points(counts, masked)
        delayed = self.delayed if self.delayed and self.delayed.takes(points) else None
        evaluator.tile, evaluator.masked = counts, masked
        with evaluator.scope():
            for load, point in itertools.product(schedule.prefetches.results, points):
                evaluator.prefetch_line(load, point)
            for dims, nodes in self.groups.items():
                along = [store for store in self.nest.stores if store.along and store.along == dims]
                Reduction(evaluator, self.nest, schedule, dims, nodes, points, along, delayed).run()
            if delayed:
                delayed.keep(points)
            else:
                self._store(points)
            evaluator.reduced.clear()

    def finish(self) -> None:
        """Store the results that are still delayed."""
        if self.delayed:
            self.delayed.store_last()

    # -- points ------------------------------------------------------------------------------------------

    def _points(self, counts: Mapping[Dim, int], masked: int) -> list[Point]:
        lanes, width = self.schedule.lanes, self.schedule.width
        ordered = sorted(counts.items(), key=lambda item: (-self._operands(item[0], counts), -item[1]))
        axes = [
            [(dim, n * (width if dim is lanes else 1)) for n in range(count)]
            for dim, count in ordered
            if count > 1 or (dim is lanes and masked)
        ]
        last = (
            (lanes, (counts[lanes] - 1) * width) if masked and lanes is not None and lanes in counts else None
        )
        return [
            Point(
                tuple(pair for pair in offsets if pair[1]),
                first_lanes(masked, width) if last in offsets else None,
            )
            for offsets in itertools.product(*axes)
        ]

    def _operands(self, dim: Dim, counts: Mapping[Dim, int]) -> int:
        """Return how many elements a reduction step loads of an operand that depends on a dimension, at most.

        The dimensions of the largest operand come first: each of its elements is needed for a short while, and
        registers keep those of the others.
        """
        sizes = (math.prod(counts.get(d, 1) for d in dims) for dims in self.operand_dims if dim in dims)
        return max(sizes, default=0)

    # -- results -----------------------------------------------------------------------------------------

    def _store(self, points: Sequence[Point]) -> None:
        last = [store for store in self.nest.stores if not store.along]
        # Point by point, values need not wait in registers for those of the whole tile.
        groups = [[point] for point in points] if is_in_place(self.nest) else [points]
        for group in groups:
            if self.joined:
                self._store_joined(last, group)
                continue
            for write in [self._prepared(store, point) for point in group for store in last]:
                write()

    def _store_joined(self, stores: Sequence[Store], points: Sequence[Point]) -> None:
        """Store the elements that lie side by side as whole vectors, all others one after the other."""
        evaluator = self.evaluator
        values = {(store, point): evaluator.prepared(store, point) for point in points for store in stores}
        for point in points:
            joined = self.joined if evaluator.joins(point) else []
            for group in joined:
                evaluator.store_joined(group, [values[store, point] for store in group], point)
            for store in stores:
                if not any(store in group for group in joined):
                    self._prepared(store, point)()

    def _prepared(self, store: Store, point: Point) -> Callable[[], None]:
        """Compute the value of a store, and return the function that emits the store."""
        evaluator, lanes = self.evaluator, self.schedule.lanes
        value = evaluator.prepared(store, point)
        vector = lanes is not None and lanes in self.nest.dims

        def write() -> None:
            total = self._accumulated(store, point) if store.combiner else value
            evaluator.store(store.buffer, store.indices, total, point, vector=vector)

        return write

    def _accumulated(self, store: Store, point: Point) -> Value:
        evaluator, dtype = self.evaluator, store.buffer.dtype
        before = evaluator.value(Load(store.buffer, store.indices), point)
        context = scalars.Context(evaluator.builder, dtype, dtype, 0, evaluator.functions)
        operands = evaluator.aligned([before, evaluator.value(store.value, point)])
        return scalars.emit(context, store.combiner, operands)
