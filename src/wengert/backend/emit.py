"""A nest as a native function: loops, register tiles, reductions, and the share of each thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wengert.backend import scalars
from wengert.backend.builder import I64, POINTER, Builder, Kind, Value, constant, constants
from wengert.backend.evaluate import Checks, Evaluator, Point
from wengert.backend.layout import Layout, follows, linear
from wengert.backend.schedule import Schedule
from wengert.nest.expression import (
    Buffer,
    Const,
    Expression,
    Guard,
    Load,
    Reduce,
    indices_of,
    loads,
    walk,
)
from wengert.nest.index import Computed, Dim, Index
from wengert.nest.nest import Nest, Store

_SPLIT = 8
"""Partial results of a reduction along the lanes, so that its operations need not wait for one another."""


class Emitted(NamedTuple):
    """The text of a nest's function, and what calls to it need."""

    text: str
    buffers: tuple[Buffer, ...]
    counters: tuple[Dim, ...]
    parallel: bool
    tiles: int
    """Of the outermost dimension: what threads share."""


class _Level(NamedTuple):
    """A dimension of the nest as a loop: how many tiles, and what is left at the end."""

    dim: Dim
    step: int
    """Points of a tile; along the lanes, elements."""
    full: int
    """How many tiles are whole."""
    rest: int
    """Points beyond them; along the lanes, whole vectors."""
    masked: int
    """Elements beyond those, less than a vector."""

    @property
    def tiles(self) -> int:
        return self.full + bool(self.rest or self.masked)


def emit_nest(
    name: str,
    nest: Nest,
    schedule: Schedule,
    layouts: Mapping[Buffer, Layout],
    counters: Sequence[Dim],
    checks: Checks,
    functions: set[tuple[str, Kind]],
    declared: set[str],
    fast: str = "contract",
) -> Emitted:
    """Write the function of a nest.

    The function takes the status word, the first tile and the one after the last, the buffers, and the counters of the
    loops around the nest that it depends on.
    """
    emitter = _NestEmitter(nest, schedule, layouts, checks, functions, fast)
    return emitter.run(name, counters, declared)


class _NestEmitter:
    def __init__(
        self,
        nest: Nest,
        schedule: Schedule,
        layouts: Mapping[Buffer, Layout],
        checks: Checks,
        functions: set[tuple[str, Kind]],
        fast: str,
    ) -> None:
        self.nest = nest
        self.schedule = schedule
        self.layouts = layouts
        self.checks = checks
        self.builder = Builder(fast)
        self.buffers = tuple(dict.fromkeys((*nest.reads(), *nest.writes())))
        pointers = {buffer: Value(f"%b{n}", POINTER) for n, buffer in enumerate(self.buffers)}
        self.evaluator = Evaluator(
            self.builder,
            pointers,
            layouts,
            schedule.lanes,
            schedule.width,
            functions,
            self._report,
            _own_dims(nest),
        )
        self.functions = functions

    # -- the function ------------------------------------------------------------------------------------

    def run(self, name: str, counters: Sequence[Dim], declared: set[str]) -> Emitted:
        around = tuple(dim for dim in counters if dim in _all_dims(self.nest))
        for number, dim in enumerate(around):
            self.evaluator.counters[dim] = Value(f"%c{number}", I64)
        levels = [self._level(dim) for dim in self.schedule.order]
        parallel = bool(levels) and levels[0].dim not in self.nest.sequential and levels[0].tiles > 1
        if all(dim.extent for dim in self.nest.dims):
            self._levels(levels, 0, {}, parallel)
        self.builder.do("ret void")
        declared |= self.builder.declared
        parameters = ["ptr %status", "i64 %first", "i64 %last"]
        parameters += [f"ptr %b{n}" for n in range(len(self.buffers))]
        parameters += [f"i64 %c{n}" for n in range(len(around))]
        body = "\n".join(self.builder.lines)
        text = f"define internal void @{name}({', '.join(parameters)}) nounwind {{\n{body}\n}}\n"
        return Emitted(text, self.buffers, around, parallel, levels[0].tiles if levels else 1)

    def _report(self, outside: Value, place: str) -> None:
        """Note in the status word that an index lay outside."""
        b = self.builder
        bad, after = b.new_label("bad"), b.new_label("good")
        b.branch_if(outside, bad, after)
        b.label(bad)
        status = Value("%status", POINTER)
        before = b.load(status, I64, 8)
        number = constant(I64, self.checks.number(place))
        first = b.compare("eq", before, constant(I64, 0))
        b.store(b.select(first, number, before), status, 8)
        b.branch(after)
        b.label(after)

    # -- loops over the map dimensions -------------------------------------------------------------------

    def _level(self, dim: Dim) -> _Level:
        factor = self.schedule.tile.get(dim, 1)
        if dim is not self.schedule.lanes:
            full, rest = divmod(dim.extent, factor)
            return _Level(dim, factor, full, rest, 0)
        width = self.schedule.width
        vectors, masked = divmod(dim.extent, width)
        if masked and self._is_padded(dim):
            vectors, masked = vectors + 1, 0
        full, rest = divmod(vectors, factor)
        return _Level(dim, factor * width, full, rest, masked)

    def _is_padded(self, dim: Dim) -> bool:
        """Tell whether all that the lanes touch is filled up to whole vectors, and no one looks at what fills it."""
        if self.checks.nan:
            return False
        for node in self.nest.nodes():
            if isinstance(node, Load) and not self._padded_access(node.buffer, node.indices, dim):
                return False
            if getattr(node, "operation", "") == "position" and dim in self.evaluator.dims(node):
                return False
        return all(
            self._padded_access(store.buffer, store.indices, dim) and self._fills(store, dim)
            for store in self.nest.stores
        )

    def _fills(self, store: Store, dim: Dim) -> bool:
        """Tell whether what lies behind the elements that are stored is no element of the buffer."""
        lanes = self.layouts[store.buffer].lanes
        return lanes is not None and store.buffer.shape[lanes] == dim.extent

    def _padded_access(self, buffer: Buffer, indices: Any, dim: Dim) -> bool:
        layout = self.layouts[buffer]
        position = linear(layout, indices)
        if any(
            isinstance(term, Computed) and dim in self.evaluator.dims(term.expression)
            for term, _ in position.terms
        ):
            return False
        stride = position.coefficient(dim)
        if stride == 0:
            return all(
                isinstance(t, Dim) or dim not in t.index.dims()
                for t, _ in position.terms
                if not isinstance(t, Computed)
            )
        return stride == 1 and layout.lanes is not None and follows(indices[layout.lanes]) is dim

    def _levels(
        self, levels: Sequence[_Level], depth: int, counts: dict[Dim, int], parallel: bool = False
    ) -> None:
        """Open the loop of a level, for its whole tiles, then for what is left; inside the last one, do the work."""
        if depth == len(levels):
            self._tile(counts)
            return
        level, b = levels[depth], self.builder
        size = self.schedule.width if level.dim is self.schedule.lanes else 1
        start, stop = constant(I64, 0), constant(I64, level.full)
        last: Value | None = None
        if parallel:
            start, end = Value("%first", I64), Value("%last", I64)
            stop = b.intrinsic("smin", end, stop)
            last = b.compare("eq", end, constant(I64, level.tiles))
        if level.full:
            single = level.full == 1 and not parallel
            inner = {**counts, level.dim: level.step // size}
            if single:
                with self.evaluator.scope():
                    self._levels(levels, depth + 1, inner)
            else:
                with b.loop(start, stop) as tile, self.evaluator.scope():
                    counter = tile if level.step == 1 else b.binary("mul", tile, constant(I64, level.step))
                    self.evaluator.counters[level.dim] = counter
                    self._levels(levels, depth + 1, inner)
                    del self.evaluator.counters[level.dim]
        if level.rest or level.masked:
            self._rest(levels, depth, {**counts, level.dim: level.rest + bool(level.masked)}, last)

    def _rest(self, levels: Sequence[_Level], depth: int, counts: dict[Dim, int], last: Value | None) -> None:
        b, level = self.builder, levels[depth]
        after = ""
        if last is not None:
            yes, after = b.new_label("rest"), b.new_label("after")
            b.branch_if(last, yes, after)
            b.label(yes)
        with self.evaluator.scope():
            self.evaluator.counters[level.dim] = constant(I64, level.full * level.step)
            self._masked = level.masked if level.dim is self.schedule.lanes else self._masked
            self._levels(levels, depth + 1, counts)
            if level.dim is self.schedule.lanes:
                self._masked = 0
            del self.evaluator.counters[level.dim]
        if last is not None:
            b.branch(after)
            b.label(after)

    _masked = 0
    """Elements of the last vector that exist, where it is not whole."""

    # -- a tile ------------------------------------------------------------------------------------------

    def _points(self, counts: Mapping[Dim, int]) -> list[Point]:
        lanes, width = self.schedule.lanes, self.schedule.width
        axes = [
            [(dim, n * (width if dim is lanes else 1)) for n in range(count)]
            for dim, count in counts.items()
            if count > 1 or (dim is lanes and self._masked)
        ]
        points: list[Point] = []
        for offsets in itertools.product(*axes):
            mask = None
            if self._masked and lanes is not None and lanes in counts:
                at = next(offset for dim, offset in offsets if dim is lanes)
                if at == (counts[lanes] - 1) * width:
                    mask = self._mask(self._masked)
            points.append(Point(tuple(pair for pair in offsets if pair[1]), mask))
        return points

    def _mask(self, count: int) -> Value:
        width = self.schedule.width
        return constants(Kind("i1", width), [lane < count for lane in range(width)])

    def _tile(self, counts: Mapping[Dim, int]) -> None:
        points = self._points(counts)
        self.evaluator.tile = counts
        with self.evaluator.scope():
            for dims, nodes in self._reductions():
                self._reduce(dims, nodes, points)
            pending: list[Callable[[], None]] = []
            for store, point in itertools.product(self.nest.stores, points):
                pending.append(self._prepared(store, point))
            for write in pending:
                write()
            self.evaluator.reduced.clear()

    def _prepared(self, store: Any, point: Point) -> Callable[[], None]:
        evaluator, lanes = self.evaluator, self.schedule.lanes
        value = evaluator.value(store.value, point)
        if self.checks.nan and store.buffer.dtype.kind == "f":
            self._check_nan(value, store, point)
        vector = lanes is not None and lanes in self.nest.dims
        if store.combiner:

            def accumulate() -> None:
                before = evaluator.value(Load(store.buffer, store.indices), point)
                context = scalars.Context(
                    self.builder, store.buffer.dtype, store.buffer.dtype, 0, self.functions
                )
                both = evaluator.aligned([before, evaluator.value(store.value, point)])
                total = scalars.emit(context, store.combiner, both)
                evaluator.store(store.buffer, store.indices, total, point, vector)

            return accumulate
        return lambda: evaluator.store(store.buffer, store.indices, value, point, vector)

    def _check_nan(self, value: Value, store: Store, point: Point) -> None:
        """Report a NaN that was not one before the operation."""
        b = self.builder
        made = b.compare("uno", value, value)
        if not any(isinstance(node, Reduce) for node in walk(store.value)):
            for load in loads(store.value):
                if load.dtype.kind == "f":
                    operand = self.evaluator.value(load, point)
                    old, made = self.evaluator.aligned([b.compare("uno", operand, operand), made])
                    made = b.both(made, b.negate(old))
        if made.kind.lanes > 1:
            if point.mask is not None:
                made = b.both(made, point.mask)
            made = b.call(f"llvm.vector.reduce.or.{made.kind.suffix}", made, result=Kind("i1"))
        self._report(made, f"nan|{'/'.join(self.nest.origin)}|{self.nest.location}")

    def _reductions(self) -> list[tuple[tuple[Dim, ...], list[Reduce]]]:
        """Return the reductions of the nest, those over the same dimensions together."""
        groups: dict[tuple[Dim, ...], dict[int, Reduce]] = {}
        for node in self.nest.nodes():
            if isinstance(node, Reduce):
                groups.setdefault(node.dims, {})[id(node)] = node
        return [(dims, list(nodes.values())) for dims, nodes in groups.items()]

    # -- reductions --------------------------------------------------------------------------------------

    def _reduce(self, dims: tuple[Dim, ...], nodes: Sequence[Reduce], points: Sequence[Point]) -> None:
        _Reduction(self, dims, nodes, points).run()


@dataclass
class _Slot:
    """One accumulator: a reduction at a point of the tile, or a part of it."""

    node: Reduce
    point: Point
    part: int
    position: bool = False


class _Reduction:
    """The loops of one group of reductions for one tile."""

    def __init__(
        self, nest: _NestEmitter, dims: tuple[Dim, ...], nodes: Sequence[Reduce], points: Sequence[Point]
    ) -> None:
        self.outer = nest
        self.builder = nest.builder
        self.evaluator = nest.evaluator
        self.schedule = nest.schedule
        self.dims = dims
        lanes = nest.schedule.lanes
        self.inside = lanes is not None and lanes in dims
        found: dict[tuple[int, Any], tuple[Reduce, Point]] = {}
        for node, point in itertools.product(nodes, points):
            found.setdefault(self.evaluator.key(node, point), (node, point))
        self.wanted = found
        split = max(1, _SPLIT // len(found)) if self.inside else 1
        if self.inside and lanes is not None:
            split = min(split, max(1, lanes.extent // nest.schedule.width))
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
        values = self._loops(self._ordered(), [self._initial(slot) for slot in self.slots])
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
        return scalars.Context(self.builder, node.dtype, node.dtype, 0, self.outer.functions)

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
        offsets: tuple[Any, ...] = (),
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

        def body(counter: Value, carried: list[Value]) -> list[Value]:
            self.evaluator.counters[dim] = counter
            after = self._loops(rest, carried, offsets, part, mask)
            del self.evaluator.counters[dim]
            return after

        return self._carried(start, stop, 1, values, body)

    def _lane_loops(
        self, dim: Dim, rest: Sequence[Dim], values: list[Value], offsets: tuple[Any, ...]
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
            mask = self.outer._mask(tail)  # pyright: ignore[reportPrivateUsage]
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
            coefficient = index.coefficient(dim)
            others = [d for d in index.dims() if d is not dim and d in self.dims]
            if abs(coefficient) != 1 or others or not index.is_affine or self.schedule.lanes in index.dims():
                continue
            # 0 <= rest + c d < extent
            rest = self.evaluator.index(
                index.substitute(lambda t, d=dim: Index(0) if t is d else None), Point(())
            )
            if coefficient == 1:
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

    def _settled(self, index: Any) -> bool:
        """Tell whether the bounds of the loops see to a condition."""
        mine = [d for d in index.dims() if d in self.dims]
        return (
            len(mine) == 1
            and abs(index.coefficient(mine[0])) == 1
            and index.is_affine
            and self.schedule.lanes not in index.dims()
        )

    def _step(
        self, values: list[Value], offsets: tuple[Any, ...], part: int, mask: Value | None
    ) -> list[Value]:
        """Combine one more value with each accumulator."""
        after: list[Value] = []
        for number, (slot, value) in enumerate(zip(self.slots, values, strict=True)):
            if slot.part != part:
                after.append(value)
                continue
            point = Point((*slot.point.offsets, *offsets), mask or slot.point.mask)
            element = self.evaluator.value(self._body(slot.node), point)
            if element.kind.lanes < value.kind.lanes:
                element = self.builder.splat(element, value.kind.lanes)
            if mask is not None and not (
                slot.node.combiner == "add" and self.evaluator.vanishes(slot.node.body)
            ):
                element = self.builder.select(mask, element, self._initial(slot))
            if slot.node.combiner.startswith("arg"):
                after.append(self._best(slot, number, values, element, point))
            else:
                after.append(self._combined(slot.node, value, element))
        return after

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
        (dim,) = node.dims if node.dims else (None,)
        at = constant(I64, 0)
        if dim is not None:
            at = self.evaluator.index(Index.of(dim), point)
        at = b.splat(at, values[number].kind.lanes)
        return b.select(better, at, values[number])


def _conditions(nodes: Sequence[Reduce]) -> Iterator[tuple[Any, int]]:
    """Yield the conditions that a reduction's loops may see to: where they fail, there is nothing to add."""
    if len(nodes) == 1 and nodes[0].combiner == "add":
        body = nodes[0].body
        if isinstance(body, Guard) and isinstance(body.otherwise, Const) and not body.otherwise.value:
            yield from body.conditions


def _guarded_dims(node: Reduce) -> set[Dim]:
    return {dim for index, _ in _conditions([node]) for dim in index.dims()}


def _own_dims(nest: Nest) -> frozenset[Dim]:
    """Return the dimensions of a nest and of its reductions."""
    reduced = (dim for node in nest.nodes() if isinstance(node, Reduce) for dim in node.dims)
    return frozenset((*nest.dims, *reduced))


def _all_dims(nest: Nest) -> set[Dim]:

    found = set(nest.dims)
    indices = [index for store in nest.stores for index in store.indices]
    indices += [index for node in nest.nodes() for index in indices_of(node)]
    for index in indices:
        found.update(index.dims())
    return found
