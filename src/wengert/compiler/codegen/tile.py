"""What a nest does at one tile: reductions for all of its points, and the results that are made of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from wengert.compiler import scalars
from wengert.compiler.codegen.delayed_stores import Late
from wengert.compiler.codegen.emission_state import Point
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.codegen.reduction import Reduction, first_lanes
from wengert.compiler.schedule.delay_stores import is_in_place
from wengert.compiler.schedule.loop_order import load_dims
from wengert.compiler.schedule.schedule import Schedule
from wengert.nest.expression import Load, Reduce, loads
from wengert.nest.index import Dim
from wengert.nest.nest import Nest, Store


class Tile:
    """Writes the points of a tile that are computed together.

    Args:
        evaluator: where the code stands: at the beginning of its function.
        nest: what is computed.
        schedule: how.
    """

    def __init__(self, evaluator: Evaluator, nest: Nest, schedule: Schedule) -> None:
        self.evaluator = evaluator
        self.nest = nest
        self.schedule = schedule
        self.late = Late(evaluator, nest, schedule.tile) if schedule.delays_stores else None
        self.groups: dict[tuple[Dim, ...], list[Reduce]] = {}
        """The reductions, those over the same dimensions together."""
        for node in dict.fromkeys(node for node in nest.nodes() if isinstance(node, Reduce)):
            self.groups.setdefault(node.dims, []).append(node)
        nodes = itertools.chain(*self.groups.values())
        self.summed = [load_dims(load) for node in nodes for load in loads(node.body)]

    def write(self, counts: Mapping[Dim, int], masked: int) -> None:
        """Compute the points of a tile, and write their results or leave them for later.

        Args:
            counts: points along each dimension; along the lanes, vectors.
            masked: elements of the last vector that exist, if it is not whole; else 0.
        """
        if self._is_one(counts, masked):
            self._write_as_one()
            return
        points = self._points(counts, masked)
        late = self.late if self.late and self.late.takes(points) else None
        self.evaluator.tile = counts
        with self.evaluator.scope():
            for dims, nodes in self.groups.items():
                along = [store for store in self.nest.stores if store.along and store.along == dims]
                Reduction(self.evaluator, self.schedule, dims, nodes, points, along, late).run()
            if late:
                late.keep(points)
            else:
                self._write(points)
            self.evaluator.reduced.clear()

    def _is_one(self, counts: Mapping[Dim, int], masked: int) -> bool:
        """Tell whether there are as many whole vectors as are computed as one."""
        lanes, vectors = self.schedule.lanes, self.schedule.vectors
        if lanes is None or self.groups or masked:
            return False
        return vectors > 1 and counts[lanes] == vectors

    def _write_as_one(self) -> None:
        """Compute the vectors of a tile as one: each operation for all of them before the next."""
        self.evaluator.tile = {}
        with self.evaluator.scope(), self.evaluator.wide(self.schedule.vectors):
            self._write([Point(())])

    def finish(self) -> None:
        """Write what was left for later."""
        if self.late:
            self.late.write_last()

    # -- points ------------------------------------------------------------------------------------------

    def _points(self, counts: Mapping[Dim, int], masked: int) -> list[Point]:
        lanes, width = self.schedule.lanes, self.schedule.width
        ordered = sorted(counts.items(), key=lambda item: (-self._operands(item[0], counts), -item[1]))
        axes = [
            [(dim, n * (width if dim is lanes else 1)) for n in range(count)]
            for dim, count in ordered
            if count > 1 or (dim is lanes and masked)
        ]
        points: list[Point] = []
        for offsets in itertools.product(*axes):
            mask = None
            if masked and lanes is not None and lanes in counts:
                at = next(offset for dim, offset in offsets if dim is lanes)
                if at == (counts[lanes] - 1) * width:
                    mask = first_lanes(masked, width)
            points.append(Point(tuple(pair for pair in offsets if pair[1]), mask))
        return points

    def _operands(self, dim: Dim, counts: Mapping[Dim, int]) -> int:
        """Return how many elements a step of the reductions reads of an operand that follows a dimension, at most.

        The dimensions of the operand with the most come first: each of its elements is needed for a short while, and
        registers keep those of the others.
        """
        sizes = (math.prod(counts.get(one, 1) for one in dims) for dims in self.summed if dim in dims)
        return max(sizes, default=0)

    # -- results -----------------------------------------------------------------------------------------

    def _write(self, points: Sequence[Point]) -> None:
        last = [store for store in self.nest.stores if not store.along]
        # Written point by point, values need not wait in registers for those of the whole tile.
        together = [[point] for point in points] if is_in_place(self.nest) else [points]
        for some in together:
            for write in [self._prepared(store, point) for point in some for store in last]:
                write()

    def _prepared(self, store: Store, point: Point) -> Callable[[], None]:
        evaluator, lanes = self.evaluator, self.schedule.lanes
        value = evaluator.value(store.value, point)
        vector = lanes is not None and lanes in self.nest.dims
        if store.combiner:

            def accumulate() -> None:
                before = evaluator.value(Load(store.buffer, store.indices), point)
                dtype = store.buffer.dtype
                context = scalars.Context(evaluator.builder, dtype, dtype, 0, evaluator.functions)
                both = evaluator.aligned([before, evaluator.value(store.value, point)])
                total = scalars.emit(context, store.combiner, both)
                evaluator.store(store.buffer, store.indices, total, point, vector=vector)

            return accumulate
        return lambda: evaluator.store(store.buffer, store.indices, value, point, vector=vector)
