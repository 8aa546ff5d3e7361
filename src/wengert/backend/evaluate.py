"""Expressions as instructions: the value of an expression at one point of a tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wengert.backend import scalars
from wengert.backend.builder import I1, I64, SCALARS, Builder, Kind, Value, constant, constants
from wengert.backend.layout import Layout, linear
from wengert.dtypes import INT64 as _INT64
from wengert.nest.expression import (
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
    children,
    indices_of,
)
from wengert.nest.index import Computed, Dim, Index, Part


class Point(NamedTuple):
    """A point of a tile: how far it is from the counters of the loops, along the dimensions that are written out."""

    offsets: tuple[tuple[Dim, int], ...]
    mask: Value | None = None
    """The lanes that exist, where not all do."""

    def offset(self, dim: Dim) -> int:
        """Return the offset along a dimension."""
        return next((offset for one, offset in self.offsets if one is dim), 0)


@dataclass
class Checks:
    """What a program may complain of, a number for each: ``kind|operation|line``."""

    places: list[str] = field(default_factory=list[str])
    nan: bool = False
    """Whether to complain of NaN."""

    def number(self, place: str) -> int:
        """Return the number of a place, from 1."""
        if place not in self.places:
            self.places.append(place)
        return self.places.index(place) + 1


class Evaluator:
    """Emits expressions, remembering what the code so far has computed."""

    def __init__(
        self,
        builder: Builder,
        pointers: Mapping[Buffer, Value],
        layouts: Mapping[Buffer, Layout],
        lanes: Dim | None,
        width: int,
        functions: set[tuple[str, Kind]],
        report: Callable[[Value, str], None],
        known: frozenset[Dim],
    ) -> None:
        self.builder = builder
        self.pointers = pointers
        self.layouts = layouts
        self.lanes = lanes
        self.width = width
        self.functions = functions
        self.report = report
        self.known = known
        self.tile: Mapping[Dim, int] = {}
        """The points that are computed together."""
        self.counters: dict[Dim, Value] = {}
        """The loops that are open; a dimension that is written out has none."""
        self.reduced: dict[tuple[int, Any], Value] = {}
        """The values of reductions, by node and point."""
        self._known: list[dict[Any, Value]] = [{}]
        self._dims: dict[int, tuple[Expression, frozenset[Dim], bool]] = {}

    # -- scopes ------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Any:
        """Forget at the end what is computed inside: it need not be computed on every way there."""
        self._known.append({})
        yield
        self._known.pop()

    def _recall(self, key: Any) -> Value | None:
        for known in reversed(self._known):
            if key in known:
                return known[key]
        return None

    def _remember(self, key: Any, value: Value) -> Value:
        self._known[-1][key] = value
        return value

    # -- dependence --------------------------------------------------------------------------------------

    def dims(self, node: Expression) -> frozenset[Dim]:
        """Return the dimensions that a value depends on."""
        return self._facts(node)[1]

    def _facts(self, node: Expression) -> tuple[Expression, frozenset[Dim], bool]:
        known = self._dims.get(id(node))
        if known is None:
            found: set[Dim] = set()
            for index in indices_of(node):
                found.update(index.dims())
            for child in children(node):
                found |= self.dims(child)
            if isinstance(node, Reduce):
                found -= set(node.dims)
            known = self._dims[id(node)] = (node, frozenset(found), self.lanes in found)
        return known

    def key(self, node: Expression, point: Point) -> tuple[int, Any]:
        """Return what tells apart the values of an expression at the points of a tile."""
        _, dims, vector = self._facts(node)
        offsets = tuple(pair for pair in point.offsets if pair[0] in dims)
        # A reduction is carried out for the whole tile, whatever guards stand around it.
        masked = vector and not isinstance(node, Reduce)
        return id(node), (offsets, point.mask if masked else None)

    # -- expressions -------------------------------------------------------------------------------------

    def kind(self, dtype: Any, lanes: int) -> Kind:
        """Return the type of values of a dtype."""
        return Kind(SCALARS[dtype.name], lanes)

    def value(self, node: Expression, point: Point) -> Value:
        """Return the value of an expression: one number, or a vector where it depends on the lanes."""
        if isinstance(node, Const):
            return constant(self.kind(node.dtype, 1), node.value)
        key = self.key(node, point)
        if isinstance(node, Reduce):
            return self.reduced[key]
        known = self._recall(key)
        if known is None:
            known = self._remember(key, self._emit(node, point))
        return known

    def _emit(self, node: Expression, point: Point) -> Value:
        match node:
            case Load():
                return self._load(node, point)
            case Iota(index=index, dtype=dtype):
                number = self.index(index, point)
                return self._converted(number, dtype)
            case Apply():
                return self._apply(node, point)
            case Guard():
                return self._guard(node, point)
            case _:
                raise AssertionError(node)

    def _converted(self, number: Value, dtype: Any) -> Value:
        context = scalars.Context(self.builder, _INT64, dtype, 0, self.functions)
        return scalars.emit(context, "cast", [number])

    def _apply(self, node: Apply, point: Point) -> Value:
        operands = self.aligned([self.value(operand, point) for operand in node.operands])
        if node.operation == "position":
            return self._position(operands[0], node, point)
        before = node.operands[0].dtype if node.operation != "where" else node.operands[1].dtype
        context = scalars.Context(self.builder, before, node.dtype, node.param, self.functions)
        return scalars.emit(context, node.operation, operands)

    def aligned(self, values: Sequence[Value]) -> list[Value]:
        """Return the values all as vectors if one of them is."""
        lanes = max(value.kind.lanes for value in values)
        return [value if value.kind.lanes == lanes else self.builder.splat(value, lanes) for value in values]

    def _position(self, index: Value, node: Apply, point: Point) -> Value:
        """Count from the end where the index is negative; report it where it lies outside, and read inside instead."""
        b, extent = self.builder, node.param
        size = constant(index.kind, extent)
        zero = constant(index.kind, 0)
        wrapped = b.select(b.compare("slt", index, zero), b.binary("add", index, size), index)
        inside = b.compare("ult", wrapped, size)
        outside = b.negate(inside)
        if outside.kind.lanes > 1:
            if point.mask is not None:
                outside = b.both(outside, point.mask)
            outside = b.call(f"llvm.vector.reduce.or.{outside.kind.suffix}", outside, result=I1)
        self.report(outside, f"index||{node.location}")
        return b.select(inside, wrapped, zero)

    # -- guards ------------------------------------------------------------------------------------------

    def _guard(self, node: Guard, point: Point) -> Value:
        """Read inside only: by a branch where the condition is the same for all lanes, by a mask where it is not."""
        uniform: Value | None = None
        masks: Value | None = point.mask
        varying: Value | None = None
        for index, extent in node.conditions:
            inside = self._inside(index, extent, point)
            if inside is None:
                continue
            if inside.kind.lanes == 1:
                uniform = inside if uniform is None else self.builder.both(uniform, inside)
            else:
                varying = inside if varying is None else self._both(varying, inside)
        otherwise = self.value(node.otherwise, point)
        if varying is not None:
            masks = varying if masks is None else self._both(masks, varying)

        def inner() -> Value:
            value = self.value(node.body, point._replace(mask=masks))
            if varying is None or (_is_zero(node.otherwise) and self.vanishes(node.body)):
                return value
            yes, no, _ = self.aligned([value, otherwise, varying])
            return self.builder.select(varying, yes, no)

        return inner() if uniform is None else self._branch(uniform, inner, otherwise)

    def vanishes(self, node: Expression) -> bool:
        """Tell whether a product is zero in lanes that are masked out, as what is loaded there is."""
        factors = node.operands if isinstance(node, Apply) and node.operation == "multiply" else (node,)
        return all(isinstance(factor, Load) and self.lanes in self.dims(factor) for factor in factors)

    def _both(self, one: Value, other: Value) -> Value:
        known = self._recall(("both", one, other))
        return known or self._remember(("both", one, other), self.builder.both(one, other))

    def _branch(self, condition: Value, inner: Callable[[], Value], otherwise: Value) -> Value:
        b = self.builder
        yes, no, after = b.new_label("inside"), b.new_label("outside"), b.new_label("guarded")
        b.branch_if(condition, yes, no)
        b.label(yes)
        with self.scope():
            value = inner()
            if value.kind.lanes < otherwise.kind.lanes:
                value = b.splat(value, otherwise.kind.lanes)
        came = b.block
        b.branch(after)
        b.label(no)
        if value.kind.lanes > otherwise.kind.lanes:
            otherwise = b.splat(otherwise, value.kind.lanes)
        left = b.block
        b.branch(after)
        b.label(after)
        return b.emit(
            f"phi {value.kind} [ {value.text}, %{came} ], [ {otherwise.text}, %{left} ]", value.kind
        )

    def _inside(self, index: Index, extent: int, point: Point) -> Value | None:
        low, high = index.bounds
        if low >= 0 and high < extent:
            return None
        value = self.index(index, point)
        key = ("inside", value, extent)
        known = self._recall(key)
        return known or self._remember(key, self.builder.compare("ult", value, constant(value.kind, extent)))

    # -- indices -----------------------------------------------------------------------------------------

    def index(self, index: Index, point: Point) -> Value:
        """Return an index as a number: a vector where it depends on the lanes."""
        key = ("index", index, tuple(p for p in point.offsets), point.mask)
        known = self._recall(key)
        if known is not None:
            return known
        total: Value | None = None
        fixed = index.offset
        for term, coefficient in index.terms:
            if isinstance(term, Dim):
                fixed += coefficient * point.offset(term)
                if term is self.lanes:
                    steps = constants(
                        Kind("i64", self.width), [coefficient * lane for lane in range(self.width)]
                    )
                    total = steps if total is None else self._sum(total, steps)
            value = self._term(term, point)
            if value is not None:
                total = self._sum(total, self._times(value, coefficient))
        if total is None:
            return constant(I64, fixed)
        if fixed:
            total = self.builder.binary("add", total, constant(total.kind, fixed))
        return self._remember(key, total)

    def _term(self, term: Any, point: Point) -> Value | None:
        """Return the part of a term that is known only when the program runs."""
        if isinstance(term, Dim):
            counter = self.counters.get(term)
            assert counter is not None or term in self.known, (
                "a loop around the nest must be a parameter of it"
            )
            return counter
        if isinstance(term, Computed):
            return self.value(term.expression, point)
        assert isinstance(term, Part)
        b = self.builder
        inner = self.index(term.index, point)
        digit = b.binary("sdiv", inner, constant(inner.kind, term.divisor))
        return b.binary("srem", digit, constant(inner.kind, term.modulus))

    def _times(self, value: Value, factor: int) -> Value:
        return value if factor == 1 else self.builder.binary("mul", value, constant(value.kind, factor))

    def _sum(self, x: Value | None, y: Value) -> Value:
        if x is None:
            return y
        one, other = self.aligned([x, y])
        return self.builder.binary("add", one, other)

    # -- memory ------------------------------------------------------------------------------------------

    def address(
        self, buffer: Buffer, indices: Sequence[Index], point: Point
    ) -> tuple[Value, int | None, Value | None]:
        """Return where an element lies, for the first of the lanes.

        Returns:
            The address, the distance between neighbouring lanes in elements, and None; or, where a computed index
            differs from lane to lane, the address of the buffer, None, and the position of every lane.
        """
        layout = self.layouts[buffer]
        position = linear(layout, indices)
        pointer = self.pointers[buffer]
        scalar = _memory_scalar(buffer.dtype)
        if any(not isinstance(t, Dim) and self.lanes in _dims_of_term(self, t) for t, _ in position.terms):
            return pointer, None, self.index(position, point)
        fixed = position.offset
        stride = 0
        for term, coefficient in sorted(position.terms, key=lambda pair: self._depth(pair[0])):
            if isinstance(term, Dim):
                fixed += coefficient * point.offset(term)
                if term is self.lanes:
                    stride = coefficient
                counter = self._term(term, point)
                if counter is None:
                    continue
                if layout.panel and indices[layout.lanes or 0].coefficient(term):
                    coefficient = layout.rows  # tiles begin where panels do
                key = ("address", pointer, term, coefficient)
                moved = self._recall(key)
                if moved is None:
                    moved = self.builder.element(pointer, scalar, self._times(counter, coefficient))
                    self._remember(key, moved)
                pointer = moved
            else:
                value = self._term(term, point)
                assert value is not None
                pointer = self.builder.element(pointer, scalar, self._times(value, coefficient))
        if fixed:
            key = ("fixed", pointer, fixed)
            moved = self._recall(key)
            if moved is None:
                moved = self._remember(key, self.builder.element(pointer, scalar, constant(I64, fixed)))
            pointer = moved
        return pointer, stride, None

    def _depth(self, term: Any) -> int:
        """Return how deep inside the loops a term changes: what is added first can be moved furthest out."""
        if not isinstance(term, Dim):
            return 1000
        return list(self.counters).index(term) if term in self.counters else -1

    def _load(self, node: Load, point: Point) -> Value:
        buffer = node.buffer
        pointer, stride, positions = self.address(buffer, node.indices, point)
        size = buffer.dtype.itemsize
        if stride == 0:
            value = self.builder.load(pointer, Kind(_memory_scalar(buffer.dtype)), size)
        elif stride == 1:
            value = self._load_vector(pointer, buffer, point.mask)
        elif (across := self._across(node, stride, point)) is not None:
            value = self._transposed(node, stride or 0, point, across)
        else:
            value = self._gather(pointer, stride, positions, buffer, point.mask)
        if buffer.dtype.kind == "b":
            value = self.builder.convert("trunc", value, "i1")
        return value

    def _across(self, node: Load, stride: int | None, point: Point) -> Dim | None:
        """Return a dimension written out for a whole vector along which the elements lie next to one another."""
        layout = self.layouts[node.buffer]
        if stride is None or layout.size < self.width:
            return None
        position = linear(layout, node.indices)
        for dim, count in self.tile.items():
            whole = point.offset(dim) // self.width < count // self.width
            if dim is not self.lanes and position.coefficient(dim) == 1 and whole:
                return dim
        return None

    def _transposed(self, node: Load, stride: int, point: Point, dim: Dim) -> Value:
        """Read a square block along the other dimension, and exchange rows and columns in registers."""
        others = tuple(pair for pair in point.offsets if pair[0] is not dim)
        block, column = divmod(point.offset(dim), self.width)
        key = ("block", id(node), others, block, point.mask)
        first = self._recall((*key, 0))
        if first is None:
            corner = Point((*others, (dim, block * self.width)), point.mask)
            rows = [self._row(node, stride * lane, lane, corner) for lane in range(self.width)]
            for number, value in enumerate(self._exchanged(rows)):
                self._remember((*key, number), value)
        value = self._recall((*key, column))
        assert value is not None
        if point.mask is None:
            return value
        return self.builder.select(point.mask, value, constant(value.kind, 0))

    def _row(self, node: Load, distance: int, lane: int, corner: Point) -> Value:
        """Read the row of one lane; of a lane that does not exist, what begins the buffer."""
        b, scalar = self.builder, _memory_scalar(node.buffer.dtype)
        pointer, _, _ = self.address(node.buffer, node.indices, corner)
        row = b.element(pointer, scalar, constant(I64, distance))
        if corner.mask is not None:
            row = b.select(b.extract(corner.mask, lane), row, self.pointers[node.buffer])
        return b.load(row, Kind(scalar, self.width), node.buffer.dtype.itemsize)

    def _exchanged(self, rows: list[Value]) -> list[Value]:
        """Transpose a square of vectors: blocks off the diagonal change places, of one element, then two, four, ..."""
        b, width, step = self.builder, len(rows), 1
        while step < width:
            for row in range(width):
                if row & step:
                    continue
                one, other = rows[row], rows[row + step]
                low = [lane if not lane & step else width + lane - step for lane in range(width)]
                high = [lane + step if not lane & step else width + lane for lane in range(width)]
                for place, lanes in ((row, low), (row + step, high)):
                    mask = ", ".join(f"i32 {lane}" for lane in lanes)
                    text = f"shufflevector {one}, {other}, <{width} x i32> <{mask}>"
                    rows[place] = b.emit(text, one.kind)
            step *= 2
        return rows

    def _load_vector(self, pointer: Value, buffer: Buffer, mask: Value | None) -> Value:
        kind = Kind(_memory_scalar(buffer.dtype), self.width)
        size = buffer.dtype.itemsize
        if mask is None:
            return self.builder.load(pointer, kind, size)
        zero = constant(kind, 0)
        name = f"llvm.masked.load.{kind.suffix}.p0"
        self.builder.declared.add(f"declare {kind} @{name}(ptr, {mask.kind}, {kind})")
        return self.builder.emit(
            f"call {kind} @{name}(ptr align {size} {pointer.text}, {mask}, {zero})", kind
        )

    def _gather(
        self, pointer: Value, stride: int | None, positions: Value | None, buffer: Buffer, mask: Value | None
    ) -> Value:
        b, width = self.builder, self.width
        scalar, size = _memory_scalar(buffer.dtype), buffer.dtype.itemsize
        kind = Kind(scalar, width)
        if mask is not None or size < 4:
            return self._gather_lanes(pointer, stride, positions, buffer, mask)
        if positions is None:
            positions = constants(Kind("i64", width), [(stride or 0) * lane for lane in range(width)])
        pointers = b.emit(f"getelementptr {scalar}, {pointer}, {positions}", Kind("ptr", width))
        every = constant(Kind("i1", width), 1)
        name = f"llvm.masked.gather.{kind.suffix}.v{width}p0"
        b.declared.add(f"declare {kind} @{name}(<{width} x ptr>, <{width} x i1>, {kind})")
        return b.emit(
            f"call {kind} @{name}(<{width} x ptr> align {size} {pointers.text}, {every}, {kind} poison)", kind
        )

    def _gather_lanes(
        self, pointer: Value, stride: int | None, positions: Value | None, buffer: Buffer, mask: Value | None
    ) -> Value:
        """Read lane by lane; a lane that is masked out reads where a lane that exists does."""
        b, width = self.builder, self.width
        scalar, size = _memory_scalar(buffer.dtype), buffer.dtype.itemsize
        if positions is None:
            positions = constants(Kind("i64", width), [(stride or 0) * lane for lane in range(width)])
        if mask is not None:
            name = f"llvm.masked.gather.{Kind(scalar, width).suffix}.v{width}p0"
            kind = Kind(scalar, width)
            pointers = b.emit(f"getelementptr {scalar}, {pointer}, {positions}", Kind("ptr", width))
            b.declared.add(f"declare {kind} @{name}(<{width} x ptr>, <{width} x i1>, {kind})")
            zero = constant(kind, 0)
            return b.emit(
                f"call {kind} @{name}(<{width} x ptr> align {size} {pointers.text}, {mask}, {zero})", kind
            )
        result = Value("poison", Kind(scalar, width))
        for lane in range(width):
            at = (
                b.extract(positions, lane)
                if not positions.text.startswith("<")
                else constant(I64, (stride or 0) * lane)
            )
            one = b.load(b.element(pointer, scalar, at), Kind(scalar), size)
            result = b.insert(result, one, lane)
        return result

    def store(
        self, buffer: Buffer, indices: Sequence[Index], value: Value, point: Point, vector: bool
    ) -> None:
        """Write a value, or one value a lane."""
        b = self.builder
        scalar, size = _memory_scalar(buffer.dtype), buffer.dtype.itemsize
        if buffer.dtype.kind == "b":
            value = b.convert("zext", value, "i8")
        pointer, stride, positions = self.address(buffer, indices, point)
        if not vector:
            b.store(value, pointer, size)
            return
        if value.kind.lanes == 1:
            value = b.splat(value, self.width)
        if stride == 1:
            if point.mask is None:
                b.store(value, pointer, size)
                return
            if point.mask == _first_lane(point.mask.kind):
                # LLVM 22 writes a truncated number untruncated, over its neighbours, under a mask of a single lane.
                b.store(b.extract(value, 0), pointer, size)
                return
            name = f"llvm.masked.store.{value.kind.suffix}.p0"
            b.declared.add(f"declare void @{name}({value.kind}, ptr, {point.mask.kind})")
            b.do(f"call void @{name}({value}, ptr align {size} {pointer.text}, {point.mask})")
            return
        if positions is None:
            assert stride is not None
            positions = constants(Kind("i64", self.width), [stride * lane for lane in range(self.width)])
        pointers = b.emit(f"getelementptr {scalar}, {pointer}, {positions}", Kind("ptr", self.width))
        mask = point.mask or constant(Kind("i1", self.width), 1)
        name = f"llvm.masked.scatter.{value.kind.suffix}.v{self.width}p0"
        b.declared.add(f"declare void @{name}({value.kind}, <{self.width} x ptr>, {mask.kind})")
        b.do(f"call void @{name}({value}, <{self.width} x ptr> align {size} {pointers.text}, {mask})")


def _is_zero(node: Expression) -> bool:
    return isinstance(node, Const) and not node.value


def _dims_of_term(evaluator: Evaluator, term: Any) -> frozenset[Dim]:
    if isinstance(term, Computed):
        return evaluator.dims(term.expression)
    if isinstance(term, Part):
        return frozenset[Dim]().union(*(_dims_of_term(evaluator, inner) for inner, _ in term.index.terms))
    return frozenset((term,))


def _first_lane(kind: Kind) -> Value:
    return constants(kind, [lane == 0 for lane in range(kind.lanes)])


def _memory_scalar(dtype: Any) -> str:
    """Return the element type in memory: truth values take a byte."""
    return "i8" if dtype.kind == "b" else SCALARS[dtype.name]
