"""Reductions of a tile: accumulators that stay in registers, carried through the loops over what is reduced."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.backend import scalars
from wengert.backend.builder import I64, Kind, Value, constant, constants
from wengert.backend.costs import arithmetic
from wengert.backend.evaluate import Evaluator
from wengert.backend.late import Late
from wengert.backend.schedule import Schedule
from wengert.backend.state import Offsets, Point
from wengert.nest.expression import Expression, Guard, Reduce, is_zero
from wengert.nest.index import Dim, Index, flatten
from wengert.nest.nest import Store

_SPLIT = 4
"""Partial results of a reduction along the lanes, so that its operations need not wait for one another."""
_MEANWHILE = 12
"""Operations that a processor carries out while an addition goes on."""


def first_lanes(count: int, width: int) -> Value:
    """Return the mask of the first lanes of a vector."""
    return constants(Kind("i1", width), [lane < count for lane in range(width)])


def _partial_results(nodes: Sequence[Reduce]) -> int:
    """Return in how many parts to reduce along the lanes: fewer where what is reduced takes time of its own."""
    work = max(arithmetic(node.body) for node in nodes)
    return min(_SPLIT, math.ceil(_MEANWHILE / (1 + work)))


@dataclass
class _Slot:
    """One accumulator: a reduction at a point of the tile, or a part of it."""

    node: Reduce
    point: Point
    part: int
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
        found: dict[tuple[int, Any], tuple[Reduce, Point]] = {}
        for node, point in itertools.product(nodes, points):
            found.setdefault(self.evaluator.key(node, point), (node, point))
        self.wanted = found
        split = max(1, _partial_results(nodes) // len(found)) if self.inside else 1
        if self.inside and lanes is not None:
            split = min(split, max(1, lanes.extent // schedule.width))
        self.split = split
        self.bodies: dict[Reduce, Expression] = {}
        self.bounded = list(_conditions(nodes))
        self.slots = [
            _Slot(node, point, part, position)
            for node, point in found.values()
            for part in range(split)
            for position in ((False, True) if node.combiner.startswith("arg") else (False,))
        ]

    def run(self) -> None:
        """Write the loops, and give the evaluator the values of the reductions."""
        dims, start = self._ordered(), [self._initial(slot) for slot in self.slots]
        values = self._in_parts(dims, start, self.late) if self.late else self._loops(dims, start)
        totals: dict[tuple[int, Any], Value] = {}
        for slot, value in zip(self.slots, values, strict=True):
            key = self.evaluator.key(slot.node, slot.point)
            if slot.node.combiner.startswith("arg"):
                if slot.position:
                    totals[key] = value
            else:
                totals[key] = value if key not in totals else self._combined(slot.node, totals[key], value)
        for key, (node, _) in self.wanted.items():
            value = totals[key]
            self.evaluator.reduced[key] = self._across(node, value) if self.inside else value

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
        dtype = (
            slot.node.dtype
            if slot.position or not slot.node.combiner.startswith("arg")
            else slot.node.body.dtype
        )
        return self.evaluator.kind(dtype, self.schedule.width if vector else 1)

    def _initial(self, slot: _Slot) -> Value:
        node = slot.node
        if slot.position:
            return constant(self._kind(slot), 0)
        number = scalars.neutral(node.combiner, node.body.dtype)
        if (
            node.combiner == "add"
            and node.dtype.kind == "f"
            and not isinstance(node.body, Guard)
            and all(dim.extent for dim in node.dims)
        ):
            number = -0.0
        return constant(self._kind(slot), number)

    def _context(self, node: Reduce) -> scalars.Context:
        return scalars.Context(self.builder, node.dtype, node.dtype, 0, self.evaluator.functions)

    def _combined(self, node: Reduce, x: Value, y: Value) -> Value:
        return scalars.emit(self._context(node), node.combiner, [x, y])

    def _across(self, node: Reduce, vector: Value) -> Value:
        """Combine the lanes of a vector, in halves."""
        b = self.builder
        while vector.kind.lanes > 1:
            lanes, half = vector.kind.lanes, vector.kind.lanes // 2
            kind = Kind(vector.kind.scalar, half)
            if half == 1:
                vector = self._combined(node, b.extract(vector, 0), b.extract(vector, 1))
                break
            parts: list[Value] = []
            for start in (0, half):
                mask = ", ".join(f"i32 {n}" for n in range(start, start + half))
                none = f"<{lanes} x {kind.scalar}> poison"
                parts.append(b.emit(f"shufflevector {vector}, {none}, <{half} x i32> <{mask}>", kind))
            vector = self._combined(node, *parts)
        return vector

    # -- loops -------------------------------------------------------------------------------------------

    def _loops(
        self,
        dims: Sequence[Dim],
        values: list[Value],
        offsets: Offsets = (),
        part: int = 0,
        mask: Value | None = None,
    ) -> list[Value]:
        """Carry accumulators through the loops over dimensions."""
        if not dims:
            return self._step(values, offsets, part, mask)
        dim, rest = dims[0], dims[1:]
        if dim is self.schedule.lanes:
            return self._lane_loops(dim, rest, values, offsets)
        bounds = self._bounds(dim)
        if dim in self.schedule.unrolled and bounds is None:
            for n in range(dim.extent):
                moved = (*offsets, (dim, n)) if n else offsets
                values = self._loops(rest, values, moved, part, mask)
            return values
        start, stop = bounds or (constant(I64, 0), constant(I64, dim.extent))
        return self._loop(
            dim, start, stop, values, lambda inner: self._loops(rest, inner, offsets, part, mask)
        )

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
        width = self.schedule.width
        vectors, tail = divmod(dim.extent, width)
        whole = vectors // self.split

        def body(counter: Value, carried: list[Value]) -> list[Value]:
            self.evaluator.counters[dim] = counter
            for part in range(self.split):
                moved = (*offsets, (dim, part * width)) if part else offsets
                carried = self._loops(rest, carried, moved, part)
            del self.evaluator.counters[dim]
            return carried

        step = self.split * width
        if whole == 1:
            values = body(constant(I64, 0), values)
        elif whole:
            values = self._carried(constant(I64, 0), constant(I64, whole * step), step, values, body)
        self.evaluator.counters[dim] = constant(I64, 0)
        for vector in range(whole * self.split, vectors):
            values = self._loops(rest, values, (*offsets, (dim, vector * width)), vector % self.split)
        if tail:
            mask = first_lanes(tail, width)
            values = self._loops(rest, values, (*offsets, (dim, vectors * width)), vectors % self.split, mask)
        del self.evaluator.counters[dim]
        return values

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

    def _step(self, values: list[Value], offsets: Offsets, part: int, mask: Value | None) -> list[Value]:
        """Combine one more value with each accumulator."""
        after: list[Value] = []
        for number, (slot, value) in enumerate(zip(self.slots, values, strict=True)):
            if slot.part != part:
                after.append(value)
                continue
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
                element = self.builder.select(mask, element, self._initial(slot))
            if slot.node.combiner.startswith("arg"):
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
            self.bodies[node] = Guard(left, node.body.body, node.body.otherwise)
        return self.bodies[node]

    def _best(self, slot: _Slot, number: int, values: list[Value], element: Value, point: Point) -> Value:
        """Keep the first largest (smallest) element, or the first NaN, and where it is."""
        b, node = self.builder, slot.node
        best = values[number - 1] if slot.position else values[number]
        sign = "gt" if node.combiner == "argmax" else "lt"
        kind = node.body.dtype.kind
        if kind == "f":
            better = b.compare("o" + sign, element, best)
            nan = b.both(b.compare("uno", element, element), b.negate(b.compare("uno", best, best)))
            better = b.either(better, nan)
        else:
            better = b.compare(("s" if kind == "i" else "u") + sign, element, best)
        if not slot.position:
            return b.select(better, element, best)
        position = flatten(map(Index.of, node.dims), (dim.extent for dim in node.dims))
        at = self.evaluator.index(position, point)
        at = b.splat(at, values[number].kind.lanes)
        return b.select(better, at, values[number])


def _conditions(nodes: Sequence[Reduce]) -> Iterator[tuple[Index, int]]:
    """Yield the conditions that a reduction's loops may see to: where they fail, there is nothing to add."""
    if len(nodes) == 1 and nodes[0].combiner == "add":
        body = nodes[0].body
        if isinstance(body, Guard) and is_zero(body.otherwise):
            yield from body.conditions


def _guarded_dims(node: Reduce) -> set[Dim]:
    return {dim for index, _ in _conditions([node]) for dim in index.dims()}
