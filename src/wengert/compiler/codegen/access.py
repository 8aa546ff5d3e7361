"""Elements of buffers as instructions: addresses, loads along the lanes or across them, and stores."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.codegen.emission_state import Point, State
from wengert.compiler.llvm.ir_builder import I64, SCALARS, Kind, Value, constant, constants
from wengert.compiler.machine import costs
from wengert.compiler.schedule.layout import linear
from wengert.core.dtypes import Dtype
from wengert.nest.expression import Buffer, Load
from wengert.nest.index import Dim, Index, Term

_LINE = 64
"""Bytes that caches move together, on most processors."""


class Access(State):
    """Emits what reads and writes memory."""

    def address(
        self, buffer: Buffer, indices: Sequence[Index], point: Point
    ) -> tuple[Value, int | None, Value | None]:
        """Return where an element lies, for the first of the lanes.

        Returns:
            The address, the distance between neighbouring lanes in elements, and None; or, where a computed index
            differs from lane to lane, the address of the buffer, None, and the position of every lane.
        """
        layout = self.layouts[buffer]
        position = linear(layout, indices) - self.starts.get(buffer, 0)
        pointer = self.pointers[buffer]
        scalar = _memory_scalar(buffer.dtype)
        if any(not isinstance(t, Dim) and self.lanes in self.dims_of(t) for t, _ in position.terms):
            return pointer, None, self.index(position, point)
        fixed = position.offset
        stride = 0
        for term, coefficient in sorted(position.terms, key=lambda pair: self._depth(pair[0])):
            if isinstance(term, Dim):
                fixed += coefficient * point.offset(term)
                if term is self.lanes:
                    stride = coefficient
                counter = self.term(term, point)
                if counter is None:
                    continue
                if layout.panel and indices[layout.lanes or 0].coefficient(term):
                    coefficient = layout.rows  # tiles begin where panels do
                key = ("address", pointer, counter, coefficient)
                moved = self.recall(key)
                if moved is None:
                    moved = self.builder.element(pointer, scalar, self.times(counter, coefficient))
                    self.remember(key, moved)
                pointer = moved
            else:
                value = self.term(term, point)
                assert value is not None
                pointer = self.builder.element(pointer, scalar, self.times(value, coefficient))
        if fixed:
            key = ("fixed", pointer, fixed)
            moved = self.recall(key)
            if moved is None:
                moved = self.remember(key, self.builder.element(pointer, scalar, constant(I64, fixed)))
            pointer = moved
        return pointer, stride, None

    def _depth(self, term: Term) -> int:
        """Return how deep inside the loops a term changes: what is added first can be moved furthest out."""
        if not isinstance(term, Dim):
            return 1000
        return list(self.counters).index(term) if term in self.counters else -1

    def load(self, node: Load, point: Point) -> Value:
        """Return an element: one number, or a vector where it depends on the lanes."""
        buffer = node.buffer
        pointer, stride, positions = self.address(buffer, node.indices, point)
        size = buffer.dtype.itemsize
        if stride == 0:
            value = self.builder.load(pointer, Kind(_memory_scalar(buffer.dtype)), size)
        elif stride == 1:
            value = self._load_vector(pointer, buffer, point.mask)
            if node in self.streams and self._begins_line(point, size):
                ahead = costs.COSTS.stream_distance_bytes
                for start in range(ahead, ahead + self.width * size, _LINE):
                    self._ask_for(self.builder.element(pointer, "i8", constant(I64, start)))
        elif (across := self._across(node, stride, point)) is not None:
            value = self._transposed(node, stride or 0, point, across)
        else:
            value = self._gather(pointer, stride, positions, buffer, point.mask)
        if buffer.dtype.kind == "b":
            value = self.builder.convert("trunc", value, "i1")
        return value

    def fetch(self, node: Load, point: Point, size: int, level: int) -> None:
        """Ask for the lines that so many bytes from an element on lie in, up to a level of the caches."""
        b = self.builder
        pointer, _, _ = self.address(node.buffer, node.indices, point)
        for start in range(0, size, _LINE):
            self._ask_for(b.element(pointer, "i8", constant(I64, start)) if start else pointer, level)

    def _begins_line(self, point: Point, size: int) -> bool:
        """Tell whether no vector before this one in the tile lies in the same line of the cache."""
        return self.lanes is not None and point.offset(self.lanes) * size % _LINE == 0

    def _ask_for(self, line: Value, level: int = 1) -> None:
        self.builder.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.builder.do(f"call void @llvm.prefetch.p0({line}, i32 0, i32 {4 - level}, i32 1)")

    def _across(self, node: Load, stride: int | None, point: Point) -> Dim | None:
        """Return a dimension written out for a whole vector along which the elements lie next to one another."""
        layout = self.layouts[node.buffer]
        if stride is None or layout.size < self.width:
            return None
        position = linear(layout, node.indices)
        for dim, count in self.tile.items():
            whole = point.offset(dim) // self.width < count // self.width
            if dim is not self.lanes and dim not in self.guarded and position.coefficient(dim) == 1 and whole:
                return dim
        return None

    def _transposed(self, node: Load, stride: int, point: Point, dim: Dim) -> Value:
        """Read a square block along the other dimension, and exchange rows and columns in registers."""
        others = tuple(pair for pair in point.offsets if pair[0] is not dim)
        block, column = divmod(point.offset(dim), self.width)
        key = ("block", id(node), others, block, point.mask)
        first = self.recall((*key, 0))
        if first is None:
            corner = Point((*others, (dim, block * self.width)), point.mask)
            rows = [self._row(node, stride * lane, lane, corner) for lane in range(self.width)]
            for number, value in enumerate(self._exchanged(rows)):
                self.remember((*key, number), value)
        value = self.recall((*key, column))
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
                    rows[place] = b.shuffle(one, lanes, other)
            step *= 2
        return rows

    def _load_vector(self, pointer: Value, buffer: Buffer, mask: Value | None) -> Value:
        kind = Kind(_memory_scalar(buffer.dtype), self.width)
        size = buffer.dtype.itemsize
        if mask is None:
            return self.builder.load(pointer, kind, size)
        name, zero = f"llvm.masked.load.{kind.suffix}.p0", constant(kind, 0)
        return self.builder.call(name, pointer, _aligned(size), mask, zero, result=kind)

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
        every, nothing = constant(Kind("i1", width), 1), Value("poison", kind)
        name = f"llvm.masked.gather.{kind.suffix}.v{width}p0"
        return b.call(name, pointers, _aligned(size), every, nothing, result=kind)

    def _gather_lanes(
        self, pointer: Value, stride: int | None, positions: Value | None, buffer: Buffer, mask: Value | None
    ) -> Value:
        """Read lane by lane; a lane that is masked out reads where a lane that exists does."""
        b, width = self.builder, self.width
        scalar, size = _memory_scalar(buffer.dtype), buffer.dtype.itemsize
        if positions is None:
            positions = constants(Kind("i64", width), [(stride or 0) * lane for lane in range(width)])
        if mask is not None:
            kind = Kind(scalar, width)
            name, zero = f"llvm.masked.gather.{kind.suffix}.v{width}p0", constant(kind, 0)
            pointers = b.emit(f"getelementptr {scalar}, {pointer}, {positions}", Kind("ptr", width))
            return b.call(name, pointers, _aligned(size), mask, zero, result=kind)
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
        self, buffer: Buffer, indices: Sequence[Index], value: Value, point: Point, *, vector: bool
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
            b.call(name, value, pointer, _aligned(size), point.mask, result=None)
            return
        if positions is None:
            assert stride is not None
            positions = constants(Kind("i64", self.width), [stride * lane for lane in range(self.width)])
        pointers = b.emit(f"getelementptr {scalar}, {pointer}, {positions}", Kind("ptr", self.width))
        mask = point.mask or constant(Kind("i1", self.width), 1)
        name = f"llvm.masked.scatter.{value.kind.suffix}.v{self.width}p0"
        b.call(name, value, pointers, _aligned(size), mask, result=None)


def _first_lane(kind: Kind) -> Value:
    return constants(kind, [lane == 0 for lane in range(kind.lanes)])


def _aligned(size: int) -> Value:
    """Return the operand of a masked access that tells how addresses are aligned: LLVM 22 reads this form, too."""
    return constant(Kind("i32"), size)


def _memory_scalar(dtype: Dtype) -> str:
    """Return the element type in memory: truth values take a byte."""
    return "i8" if dtype.kind == "b" else SCALARS[dtype]
