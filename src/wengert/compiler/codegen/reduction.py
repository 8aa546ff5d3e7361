"""Reductions of a tile: accumulators in registers, carried through the loops over the reduced dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from wengert.compiler import scalars
from wengert.compiler.codegen.access import Offsets, Point, first_lanes
from wengert.compiler.codegen.delayed_stores import DelayedStores
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.codegen.limits import limited_reduction
from wengert.compiler.llvm.ir_builder import I64, Kind, Value, constant
from wengert.compiler.schedule.schedule import Schedule
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Apply, Expression, Guard, Reduce, is_zero
from wengert.engine.nest.index import Dim, Index, flatten
from wengert.engine.nest.nest import Nest, Store


class _Accumulator(NamedTuple):
    """A reduction at a point of the tile."""

    node: Reduce
    point: Point
    position: bool = False
    """Whether it holds the place of the best element; it follows the accumulator of that element."""


class Reduction:
    """The loops of one group of reductions for one tile."""

    def __init__(
        self,
        evaluator: Evaluator,
        nest: Nest,
        schedule: Schedule,
        dims: tuple[Dim, ...],
        nodes: Sequence[Reduce],
        points: Sequence[Point],
        along: Sequence[Store],
        delayed: DelayedStores | None = None,
    ) -> None:
        self.builder = evaluator.builder
        self.points = points
        self.along = along
        self.delayed = delayed
        self.evaluator = evaluator
        self.schedule = schedule
        self.dims = dims
        self.over_lanes = schedule.lanes is not None and schedule.lanes in dims
        self.width = schedule.width * (schedule.vectors if self.over_lanes else 1)
        self.bodies: dict[Reduce, Expression] = {}
        self.bounded = list(_conditions(nodes))
        self.limited = limited_reduction(evaluator, nest, nodes) if not (along or delayed) else None
        distinct: dict[tuple[int, Any], tuple[Reduce, Point]] = {}
        for node, point in itertools.product(nodes, points):
            distinct.setdefault(evaluator.key(node, point), (node, point))
        self.accumulators = [
            _Accumulator(node, point, position)
            for node, point in distinct.values()
            for position in ((False, True) if node.returns_index else (False,))
        ]

    def run(self) -> None:
        """Emit the loops, and give the evaluator the values of the reductions."""
        dims, values = self._ordered(), list(map(self._initial, self.accumulators))
        if self.delayed:
            self._interleaved(dims, values, self.delayed)
        else:
            self._loops(dims, values)
        for number, (node, point, _) in enumerate(self.accumulators):  # a place replaces the value before it
            self.evaluator.reduced[self.evaluator.key(node, point)] = self._total(number, values)

    def _total(self, number: int, values: Sequence[Value]) -> Value:
        """Return the value of a reduction from those of its lanes."""
        (node, _, position), value = self.accumulators[number], values[number]
        if position:
            place = self._place_of_best(node, values[number - 1], value) if self.over_lanes else value
            return self.builder.convert("sext", place, "i64") if place.kind.bits < 64 else place
        return self._across(node, value) if self.over_lanes and not node.returns_index else value

    def _ordered(self) -> list[Dim]:
        """Return the dimensions from the outermost loop to the innermost: bounded, others, lanes, unrolled."""
        lanes = self.schedule.lanes
        if any(
            accumulator.position for accumulator in self.accumulators
        ):  # the first of equal elements counts
            return list(self.dims)
        conditions = (index for node, _, _ in self.accumulators for index, _ in _conditions([node]))
        guarded = {dim for index in conditions for dim in index.dims()}
        unrolled = self.schedule.unrolled - guarded
        return sorted(self.dims, key=lambda dim: (dim in unrolled, dim is lanes, dim not in guarded))

    # -- accumulators ------------------------------------------------------------------------------------

    def _initial(self, accumulator: _Accumulator) -> Value:
        node, _, position = accumulator
        vector = self.over_lanes or self.schedule.lanes in self.evaluator.dims(node)
        lanes = self.width if vector else 1
        if position:  # of the size of the elements if that suffices: one mask chooses both
            few = math.prod(dim.extent for dim in node.dims) < 1 << 31
            return constant(Kind("i32" if few and node.body.dtype.itemsize <= 4 else "i64", lanes), 0)
        return self._neutral(
            node, self.evaluator.kind(node.body.dtype if node.returns_index else node.dtype, lanes)
        )

    def _neutral(self, node: Reduce, kind: Kind) -> Value:
        return constant(kind, scalars.neutral(node.combiner, node.body.dtype))

    def _combined(self, node: Reduce, x: Value, y: Value) -> Value:
        context = scalars.Context(self.builder, node.dtype, node.dtype, 0, self.evaluator.functions)
        return scalars.emit(context, node.combiner, [x, y])

    def _across(self, node: Reduce, vector: Value) -> Value:
        """Combine the lanes of a vector, in halves."""
        while vector.kind.lanes > 1:
            vector = self._combined(node, *self._halves(vector))
        return vector

    def _place_of_best(self, node: Reduce, best: Value, places: Value) -> Value:
        """Return the place of the best of all lanes, the first of equal ones."""
        b = self.builder
        while best.kind.lanes > 1:
            (x, y), (at_x, at_y) = self._halves(best), self._halves(places)
            equal = b.negate(self._is_better(node, x, y))
            second = b.either(self._is_better(node, y, x), b.both(equal, b.compare("slt", at_y, at_x)))
            best, places = b.select(second, y, x), b.select(second, at_y, at_x)
        return places

    def _halves(self, vector: Value) -> tuple[Value, Value]:
        b, half = self.builder, vector.kind.lanes // 2
        return b.window(vector, 0, half), b.window(vector, half, half)

    # -- loops: each changes the list of the accumulators' values ----------------------------------------

    def _loops(
        self, dims: Sequence[Dim], values: list[Value], offsets: Offsets = (), mask: Value | None = None
    ) -> None:
        """Emit the loops over dimensions."""
        if not dims:
            self._step(values, offsets, mask)
            return
        dim, *inner = dims
        if dim is self.schedule.lanes:
            self._lane_loops(dim, inner, values, offsets)
            return
        bounds = self._bounds(dim)
        if dim in self.schedule.unrolled and bounds is None:
            for n in range(dim.extent):
                self._loops(inner, values, (*offsets, (dim, n)) if n else offsets, mask)
            return
        steps = 1 if inner or bounds else self.schedule.steps
        whole = dim.extent - dim.extent % steps
        start, stop = bounds or (constant(I64, 0), constant(I64, whole))
        if whole:
            with self._loop(dim, start, stop, values, steps):
                for n in range(steps):
                    self._loops(inner, values, (*offsets, (dim, n)) if n else offsets, mask)
        self.evaluator.counters[dim] = constant(I64, whole)
        for n in range(dim.extent - whole):
            self._loops(inner, values, (*offsets, (dim, n)) if n else offsets, mask)
        del self.evaluator.counters[dim]

    @contextmanager
    def _loop(
        self, dim: Dim, start: Value, stop: Value, values: list[Value], step: int = 1
    ) -> Generator[None]:
        """Open the loop over a range of a dimension."""
        evaluator = self.evaluator
        with self.builder.loop(start, stop, step, values) as evaluator.counters[dim], evaluator.scope():
            yield
            del evaluator.counters[dim]

    def _interleaved(self, dims: Sequence[Dim], values: list[Value], delayed: DelayedStores) -> None:
        """Emit the loops in parts, and before each part store a result of the previous tile."""
        dim, *inner = dims
        b, steps = self.builder, dim.extent // delayed.points
        first, end = constant(I64, 0), constant(I64, delayed.points)
        with b.loop(first, end, carried=values) as number, self.evaluator.scope():
            delayed.store_previous(number)
            start = b.binary("mul", number, constant(I64, steps))
            with self._loop(dim, start, b.binary("add", start, constant(I64, steps)), values):
                self._loops(inner, values)
        with self._loop(dim, constant(I64, delayed.points * steps), constant(I64, dim.extent), values):
            self._loops(inner, values)

    def _lane_loops(self, dim: Dim, inner: Sequence[Dim], values: list[Value], offsets: Offsets) -> None:
        """Emit the loop along the lanes: several vectors at a time, then the rest in the first of them."""
        evaluator, width, start = self.evaluator, self.schedule.width, constant(I64, 0)
        turns, left = divmod(dim.extent, self.width)
        begin, end = start, constant(I64, turns * self.width)
        if turns > 1 and self.limited and (points := self.limited.range(dim)):
            b, step = self.builder, constant(I64, self.width)
            begin = b.binary("mul", b.binary("udiv", points.first, step), step)
            end = b.intrinsic("smin", end, points.end)
        if turns == 1:
            evaluator.counters[dim] = start
            with evaluator.scope(), evaluator.wide(self.schedule.vectors):
                self._loops(inner, values, offsets)
            del evaluator.counters[dim]
        elif turns:
            with (
                self._loop(dim, begin, end, values, self.width),
                evaluator.wide(self.schedule.vectors),
            ):
                self._loops(inner, values, offsets)
        if not left:
            return
        first = [self.builder.window(value, 0, width) for value in values]
        evaluator.counters[dim] = start
        for vector in range(left // width):
            self._loops(inner, first, (*offsets, (dim, turns * self.width + vector * width)))
        if tail := left % width:
            self._loops(inner, first, (*offsets, (dim, dim.extent - tail)), first_lanes(tail, width))
        del evaluator.counters[dim]
        values[:] = map(self._with_first, values, first)

    def _with_first(self, vector: Value, part: Value) -> Value:
        """Return a vector with its first lanes replaced."""
        lanes, count = vector.kind.lanes, part.kind.lanes
        if lanes == count:
            return part
        whole = self.builder.window(part, 0, lanes)
        return self.builder.shuffle(whole, (n if n < count else lanes + n for n in range(lanes)), vector)

    def _bounds(self, dim: Dim) -> tuple[Value, Value] | None:
        """Return the range of a loop in which the guard around the body holds, if the guard gives one."""
        start: Value | None = None
        stop: Value | None = None
        b = self.builder
        for index, extent in self.bounded:
            if dim not in {*index.dims()} or not self._is_bound(index):
                continue
            # 0 <= rest + c d < extent
            base = self.evaluator.index(
                index.substitute(lambda t, d=dim: Index(0) if t is d else None), Point(())
            )
            if index.coefficient(dim) == 1:
                low = b.binary("sub", constant(I64, 0), base)
                high = b.binary("sub", constant(I64, extent), base)
            else:
                low = b.binary("sub", base, constant(I64, extent - 1))
                high = b.binary("add", base, constant(I64, 1))
            start = low if start is None else b.intrinsic("smax", start, low)
            stop = high if stop is None else b.intrinsic("smin", stop, high)
        if start is None or stop is None:
            return self.limited.range(dim) if self.limited else None
        lower, upper = constant(I64, 0), constant(I64, dim.extent)
        return b.intrinsic("smax", start, lower), b.intrinsic("smin", stop, upper)

    def _is_bound(self, index: Index) -> bool:
        """Return whether the range of a loop implies a condition on an index."""
        reduced = [dim for dim in index.dims() if dim in self.dims]
        return (
            len(reduced) == 1
            and abs(index.coefficient(reduced[0])) == 1
            and index.is_affine
            and self.schedule.lanes not in {*index.dims()}
        )

    # -- a step of the loops -----------------------------------------------------------------------------

    def _step(self, values: list[Value], offsets: Offsets, mask: Value | None) -> None:
        """Combine one more value with each accumulator."""
        after: list[Value] = []
        for number, (accumulator, value) in enumerate(zip(self.accumulators, values, strict=True)):
            node, at, _ = accumulator
            point = Point((*at.offsets, *offsets), mask or at.mask)
            body = self._body(node)
            added = node.combiner == "add"
            masked = mask is not None and not (added and self.evaluator.vanishes(node.body))
            if added and not masked and (total := self._plus_products(body, value, point)):
                after.append(total)
                continue
            element = self.builder.widened(self.evaluator.value(body, point), value.kind.lanes)
            if masked and mask is not None:
                element = self.builder.select(mask, element, self._neutral(node, element.kind))
            if node.returns_index:
                after.append(self._best(accumulator, number, values, element, point))
            else:
                after.append(self._combined(node, value, element))
        self._write_along(offsets, mask)
        values[:] = after

    def _plus_products(
        self, body: Expression, value: Value, point: Point, *, negative: bool = False
    ) -> Value | None:
        """Return an accumulator and a product, rounded once; None where the body is anything else.

        Where enough sums hide the latency, the products of a sum are added one after the other.
        """
        evaluator = self.evaluator
        if factors := evaluator.factors(body, point):
            x, y = factors
            return evaluator.product_plus((self.builder.fneg(x) if negative else x, y), value)
        hidden = len(self.accumulators) >= costs.COSTS.latency_operations
        match body:
            case Apply(operation="add" | "subtract", operands=(left, right)) if (
                hidden and body.dtype.kind == "f"
            ):
                second = negative is not (body.operation == "subtract")
                total = self._plus_products(left, value, point, negative=negative)
                return total and self._plus_products(right, total, point, negative=second)
            case _:
                return None

    def _write_along(self, offsets: Offsets, mask: Value | None) -> None:
        """Emit the stores of every step of the loops: all values are computed before any is stored."""
        evaluator, lanes = self.evaluator, self.schedule.lanes
        pending: list[tuple[Store, Point, Value]] = []
        for store, point in itertools.product(self.along, self.points):
            at = Point((*point.offsets, *offsets), mask or point.mask)
            pending.append((store, at, evaluator.prepared(store, at)))
        for store, at, value in pending:
            evaluator.store(store.buffer, store.indices, value, at, vector=lanes is not None)

    def _body(self, node: Reduce) -> Expression:
        """Return the body of a reduction, without the conditions that the ranges of its loops imply."""
        if not self.bounded or not isinstance(node.body, Guard):
            return node.body
        left = tuple(pair for pair in node.body.conditions if not self._is_bound(pair[0]))
        if not left:
            return node.body.body
        if node not in self.bodies:
            self.bodies[node] = replace(node.body, conditions=left)
        return self.bodies[node]

    def _best(
        self, accumulator: _Accumulator, number: int, values: list[Value], element: Value, point: Point
    ) -> Value:
        """Keep the first largest (smallest) element, or the first NaN, and its place."""
        b, (node, _, position) = self.builder, accumulator
        best = values[number - 1] if position else values[number]
        better = self._is_better(node, element, best)
        if not position:
            return b.select(better, element, best)
        kind = values[number].kind
        place = self.evaluator.index(flatten(map(Index.of, node.dims), (d.extent for d in node.dims)), point)
        if kind.bits < 64:
            place = b.convert("trunc", place, kind.scalar)
        return b.select(better, b.widened(place, kind.lanes), values[number])

    def _is_better(self, node: Reduce, x: Value, y: Value) -> Value:
        """Return whether an element is larger (smaller) than another, or the only NaN."""
        b, sign = self.builder, "gt" if node.combiner == "argmax" else "lt"
        kind = node.body.dtype.kind
        if kind != "f":
            return b.compare(("s" if kind == "i" else "u") + sign, x, y)
        only = b.both(b.compare("uno", x, x), b.negate(b.compare("uno", y, y)))
        return b.either(b.compare("o" + sign, x, y), only)


def _conditions(nodes: Sequence[Reduce]) -> Iterator[tuple[Index, int]]:
    """Yield the conditions that the ranges of loops may imply: those of a sum that is zero where they fail."""
    if len(nodes) == 1 and nodes[0].combiner == "add":
        body = nodes[0].body
        if isinstance(body, Guard) and is_zero(body.otherwise):
            yield from body.conditions
