"""Reductions of a tile: accumulators that stay in registers, carried through the loops over what is reduced."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wengert.compiler import scalars
from wengert.compiler.codegen.delayed_stores import Late
from wengert.compiler.codegen.emission_state import Offsets, Point
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.llvm.ir_builder import I64, Kind, Value, constant, constants
from wengert.compiler.schedule.schedule import Schedule
from wengert.nest.expression import Expression, Guard, Reduce, is_zero
from wengert.nest.index import Dim, Index, flatten
from wengert.nest.nest import Store


def first_lanes(count: int, width: int) -> Value:
    """Return the mask of the first lanes of a vector."""
    return constants(Kind("i1", width), [lane < count for lane in range(width)])


@dataclass
class _Slot:
    """One accumulator: a reduction at a point of the tile."""

    node: Reduce
    point: Point
    position: bool = False


class Reduction:
    """The loops of one group of reductions for one tile."""

    def __init__(
        self,
        evaluator: Evaluator,
        schedule: Schedule,
        dims: tuple[Dim, ...],
        nodes: Sequence[Reduce],
        points: Sequence[Point],
        along: Sequence[Store],
        late: Late | None = None,
    ) -> None:
        self.builder = evaluator.builder
        self.points = points
        self.along = along
        self.late = late
        self.evaluator = evaluator
        self.schedule = schedule
        self.dims = dims
        lanes = schedule.lanes
        self.inside = lanes is not None and lanes in dims
        self.width = schedule.width * (schedule.vectors if self.inside else 1)
        found: dict[tuple[int, Any], tuple[Reduce, Point]] = {}
        for node, point in itertools.product(nodes, points):
            found.setdefault(self.evaluator.key(node, point), (node, point))
        self.bodies: dict[Reduce, Expression] = {}
        self.bounded = list(_conditions(nodes))
        self.slots = [
            _Slot(node, point, position)
            for node, point in found.values()
            for position in ((False, True) if node.returns_index else (False,))
        ]

    def run(self) -> None:
        """Write the loops, and give the evaluator the values of the reductions."""
        dims, start = self._ordered(), [self._initial(slot) for slot in self.slots]
        values = self._in_parts(dims, start, self.late) if self.late else self._loops(dims, start)
        for number, slot in enumerate(self.slots):  # a place takes the place of the value before it
            key = self.evaluator.key(slot.node, slot.point)
            self.evaluator.reduced[key] = self._total(number, values)

    def _total(self, number: int, values: Sequence[Value]) -> Value:
        """Return what a reduction comes to, of what each lane came to."""
        slot, value = self.slots[number], values[number]
        if slot.position:
            place = self._place_of_best(slot.node, values[number - 1], value) if self.inside else value
            return self.builder.convert("sext", place, "i64") if place.kind.bits < 64 else place
        return self._across(slot.node, value) if self.inside and not slot.node.returns_index else value

    def _ordered(self) -> list[Dim]:
        """Return the dimensions as they are nested: bounded ones, others, the lanes, and those that are written out."""
        lanes = self.schedule.lanes
        if any(slot.position for slot in self.slots):  # the first of equal elements counts
            return list(self.dims)
        guarded = {d for slot in self.slots for d in _guarded_dims(slot.node)}
        unrolled = self.schedule.unrolled - guarded
        return sorted(self.dims, key=lambda d: (d in unrolled, d is lanes, d not in guarded))

    # -- accumulators ------------------------------------------------------------------------------------

    def _kind(self, slot: _Slot) -> Kind:
        vector = self.inside or self.schedule.lanes in self.evaluator.dims(slot.node)
        lanes = self.width if vector else 1
        if slot.position:  # half as long, more of them fill a vector
            return Kind("i32" if math.prod(dim.extent for dim in slot.node.dims) < 1 << 31 else "i64", lanes)
        return self.evaluator.kind(
            slot.node.body.dtype if slot.node.returns_index else slot.node.dtype, lanes
        )

    def _initial(self, slot: _Slot) -> Value:
        kind = self._kind(slot)
        return constant(kind, 0) if slot.position else self._neutral(slot.node, kind)

    def _neutral(self, node: Reduce, kind: Kind) -> Value:
        return constant(kind, scalars.neutral(node.combiner, node.body.dtype))

    def _context(self, node: Reduce) -> scalars.Context:
        return scalars.Context(self.builder, node.dtype, node.dtype, 0, self.evaluator.functions)

    def _combined(self, node: Reduce, x: Value, y: Value) -> Value:
        return scalars.emit(self._context(node), node.combiner, [x, y])

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

    # -- loops -------------------------------------------------------------------------------------------

    def _loops(
        self,
        dims: Sequence[Dim],
        values: list[Value],
        offsets: Offsets = (),
        mask: Value | None = None,
    ) -> list[Value]:
        """Carry accumulators through the loops over dimensions."""
        if not dims:
            return self._step(values, offsets, mask)
        dim, rest = dims[0], dims[1:]
        if dim is self.schedule.lanes:
            return self._lane_loops(dim, rest, values, offsets)
        bounds = self._bounds(dim)
        if dim in self.schedule.unrolled and bounds is None:
            for n in range(dim.extent):
                moved = (*offsets, (dim, n)) if n else offsets
                values = self._loops(rest, values, moved, mask)
            return values
        start, stop = bounds or (constant(I64, 0), constant(I64, dim.extent))
        return self._loop(dim, start, stop, values, lambda inner: self._loops(rest, inner, offsets, mask))

    def _loop(
        self,
        dim: Dim,
        start: Value,
        stop: Value,
        values: list[Value],
        inside: Callable[[list[Value]], list[Value]],
    ) -> list[Value]:
        """Carry accumulators through a range of a dimension."""

        def body(counter: Value, carried: list[Value]) -> list[Value]:
            self.evaluator.counters[dim] = counter
            after = inside(carried)
            del self.evaluator.counters[dim]
            return after

        return self._carried(start, stop, 1, values, body)

    def _in_parts(self, dims: Sequence[Dim], values: list[Value], late: Late) -> list[Value]:
        """Carry accumulators through the loops in parts, and before each write a result of the tile before."""
        dim, *rest = dims
        b, steps = self.builder, dim.extent // late.points

        def inside(carried: list[Value]) -> list[Value]:
            return self._loops(rest, carried)

        def part(number: Value, carried: list[Value]) -> list[Value]:
            late.write_before(number)
            start = b.binary("mul", number, constant(I64, steps))
            return self._loop(dim, start, b.binary("add", start, constant(I64, steps)), carried, inside)

        values = self._carried(constant(I64, 0), constant(I64, late.points), 1, values, part)
        left = constant(I64, late.points * steps)
        return self._loop(dim, left, constant(I64, dim.extent), values, inside)

    def _lane_loops(
        self, dim: Dim, rest: Sequence[Dim], values: list[Value], offsets: Offsets
    ) -> list[Value]:
        """Carry accumulators along the lanes: several vectors at a time, then what is left in the first of them."""
        evaluator, width, start = self.evaluator, self.schedule.width, constant(I64, 0)
        turns, left = divmod(dim.extent, self.width)

        def body(counter: Value, carried: list[Value]) -> list[Value]:
            evaluator.counters[dim] = counter
            with evaluator.scope(), evaluator.wide(self.schedule.vectors):
                carried = self._loops(rest, carried, offsets)
            del evaluator.counters[dim]
            return carried

        if turns == 1:
            values = body(start, values)
        elif turns:
            values = self._carried(start, constant(I64, turns * self.width), self.width, values, body)
        if not left:
            return values
        first = [self.builder.window(value, 0, width) for value in values]
        evaluator.counters[dim] = start
        for vector in range(left // width):
            first = self._loops(rest, first, (*offsets, (dim, turns * self.width + vector * width)))
        if tail := left % width:
            mask = first_lanes(tail, width)
            first = self._loops(rest, first, (*offsets, (dim, dim.extent - tail)), mask)
        del evaluator.counters[dim]
        return [self._with_first(value, part) for value, part in zip(values, first, strict=True)]

    def _with_first(self, vector: Value, part: Value) -> Value:
        """Return a vector with others in place of its first lanes."""
        lanes, count = vector.kind.lanes, part.kind.lanes
        if lanes == count:
            return part
        whole = self.builder.window(part, 0, lanes)
        return self.builder.shuffle(whole, (n if n < count else lanes + n for n in range(lanes)), vector)

    def _carried(
        self,
        start: Value,
        stop: Value,
        step: int,
        values: list[Value],
        body: Callable[[Value, list[Value]], list[Value]],
    ) -> list[Value]:
        """Write a loop that carries values; it may run no time at all."""
        b = self.builder
        head, inside, after = b.new_label("reduce"), b.new_label("body"), b.new_label("reduced")
        before = b.block
        b.branch(head)
        b.label(head)
        place = len(b.lines)
        counter = Value(b.fresh(), I64)
        carried = [Value(b.fresh(), value.kind) for value in values]
        b.branch_if(b.compare("slt", counter, stop), inside, after)
        b.label(inside)
        with self.evaluator.scope():
            results = body(counter, carried)
        following = b.binary("add", counter, constant(I64, step), "nsw")
        phis = [f"  {counter.text} = phi i64 [ {start.text}, %{before} ], [ {following.text}, %{b.block} ]"]
        for phi, first, last in zip(carried, values, results, strict=True):
            phis.append(
                f"  {phi.text} = phi {phi.kind} [ {first.text}, %{before} ], [ {last.text}, %{b.block} ]"
            )
        b.lines[place:place] = phis
        b.branch(head)
        b.label(after)
        return carried

    def _bounds(self, dim: Dim) -> tuple[Value, Value] | None:
        """Return the part of a loop in which the guard around the body holds, if that is a range."""
        start: Value | None = None
        stop: Value | None = None
        b = self.builder
        for index, extent in self.bounded:
            if dim not in {*index.dims()} or not self._settled(index):
                continue
            # 0 <= rest + c d < extent
            rest = self.evaluator.index(
                index.substitute(lambda t, d=dim: Index(0) if t is d else None), Point(())
            )
            if index.coefficient(dim) == 1:
                low = b.binary("sub", constant(I64, 0), rest)
                high = b.binary("sub", constant(I64, extent), rest)
            else:
                low = b.binary("sub", rest, constant(I64, extent - 1))
                high = b.binary("add", rest, constant(I64, 1))
            start = low if start is None else b.intrinsic("smax", start, low)
            stop = high if stop is None else b.intrinsic("smin", stop, high)
        if start is None or stop is None:
            return None
        return b.intrinsic("smax", start, constant(I64, 0)), b.intrinsic(
            "smin", stop, constant(I64, dim.extent)
        )

    def _settled(self, index: Index) -> bool:
        """Tell whether the bounds of the loops see to a condition."""
        mine = [d for d in index.dims() if d in self.dims]
        return (
            len(mine) == 1
            and abs(index.coefficient(mine[0])) == 1
            and index.is_affine
            and self.schedule.lanes not in {*index.dims()}
        )

    def _step(self, values: list[Value], offsets: Offsets, mask: Value | None) -> list[Value]:
        """Combine one more value with each accumulator."""
        after: list[Value] = []
        for number, (slot, value) in enumerate(zip(self.slots, values, strict=True)):
            point = Point((*slot.point.offsets, *offsets), mask or slot.point.mask)
            body = self._body(slot.node)
            added = slot.node.combiner == "add"
            masked = mask is not None and not (added and self.evaluator.vanishes(slot.node.body))
            if added and not masked and (factors := self.evaluator.factors(body, point)):
                after.append(self.evaluator.product_plus(factors, value))
                continue
            element = self.evaluator.value(body, point)
            if element.kind.lanes < value.kind.lanes:
                element = self.builder.splat(element, value.kind.lanes)
            if masked and mask is not None:
                element = self.builder.select(mask, element, self._neutral(slot.node, element.kind))
            if slot.node.returns_index:
                after.append(self._best(slot, number, values, element, point))
            else:
                after.append(self._combined(slot.node, value, element))
        self._write_along(offsets, mask)
        return after

    def _write_along(self, offsets: Offsets, mask: Value | None) -> None:
        """Write what is written at every step of the loops: all of it is computed before any is written."""
        evaluator, lanes = self.evaluator, self.schedule.lanes
        pending: list[tuple[Store, Point, Value]] = []
        for store, point in itertools.product(self.along, self.points):
            at = Point((*point.offsets, *offsets), mask or point.mask)
            pending.append((store, at, evaluator.value(store.value, at)))
        for store, at, value in pending:
            evaluator.store(store.buffer, store.indices, value, at, vector=lanes is not None)

    def _body(self, node: Reduce) -> Expression:
        """Return the body of a reduction, without the conditions that the bounds of its loops see to."""
        if not self.bounded or not isinstance(node.body, Guard):
            return node.body
        left = tuple(pair for pair in node.body.conditions if not self._settled(pair[0]))
        if not left:
            return node.body.body
        if node not in self.bodies:
            self.bodies[node] = replace(node.body, conditions=left)
        return self.bodies[node]

    def _best(self, slot: _Slot, number: int, values: list[Value], element: Value, point: Point) -> Value:
        """Keep the first largest (smallest) element, or the first NaN, and where it is."""
        b, node = self.builder, slot.node
        best = values[number - 1] if slot.position else values[number]
        better = self._is_better(node, element, best)
        if not slot.position:
            return b.select(better, element, best)
        kind = values[number].kind
        place = self.evaluator.index(flatten(map(Index.of, node.dims), (d.extent for d in node.dims)), point)
        if kind.bits < 64:
            place = b.convert("trunc", place, kind.scalar)
        if place.kind.lanes < kind.lanes:
            place = b.splat(place, kind.lanes)
        return b.select(better, place, values[number])

    def _is_better(self, node: Reduce, x: Value, y: Value) -> Value:
        """Tell whether one element is larger (smaller) than another, or the only NaN."""
        b, sign = self.builder, "gt" if node.combiner == "argmax" else "lt"
        kind = node.body.dtype.kind
        if kind != "f":
            return b.compare(("s" if kind == "i" else "u") + sign, x, y)
        only = b.both(b.compare("uno", x, x), b.negate(b.compare("uno", y, y)))
        return b.either(b.compare("o" + sign, x, y), only)


def _conditions(nodes: Sequence[Reduce]) -> Iterator[tuple[Index, int]]:
    """Yield the conditions that a reduction's loops may see to: where they fail, there is nothing to add."""
    if len(nodes) == 1 and nodes[0].combiner == "add":
        body = nodes[0].body
        if isinstance(body, Guard) and is_zero(body.otherwise):
            yield from body.conditions


def _guarded_dims(node: Reduce) -> set[Dim]:
    return {dim for index, _ in _conditions([node]) for dim in index.dims()}
