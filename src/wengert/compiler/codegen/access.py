"""Indices and elements of buffers as instructions: the base of `Evaluator`.

Values are numbered locally: an emitter remembers what it computed, to the end of the scope in which it did.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

from wengert.compiler.codegen.module_builder import ModuleBuilder
from wengert.compiler.llvm.ir_builder import I64, POINTER, SCALARS, Builder, Kind, Value, constant, constants
from wengert.compiler.schedule.layout import linear
from wengert.compiler.schedule.outline import NestArguments
from wengert.compiler.schedule.register_tile import stride as distance
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.strides import pair_place
from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Buffer, Expression, Load, Reduce, children, computed, indices_of
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term
from wengert.engine.nest.nest import Nest, Store

_LINE = 64
"""Bytes of a cache line, on most processors."""

#: The distance of a point from the counters of the loops, along the dimensions that are unrolled.
Offsets: TypeAlias = tuple[tuple[Dim, int], ...]


class Point(NamedTuple):
    """A point of a tile."""

    offsets: Offsets
    mask: Value | None = None
    """The lanes that exist, where some do not."""

    def offset(self, dim: Dim) -> int:
        """Return the offset along a dimension."""
        return next((offset for axis, offset in self.offsets if axis is dim), 0)


class Body(NamedTuple):
    """The function that a nest is written into."""

    builder: Builder
    functions: set[tuple[str, Kind]]
    """The elementary functions that it calls."""
    pointers: Mapping[Buffer, Value]
    starts: Mapping[Buffer, int]
    """The element of a buffer to which its pointer points, if it is not the first."""
    counters: Mapping[Dim, Value]
    """The counters of the loops around."""
    status: Value = Value("%status", POINTER)
    failed: str = ""
    """The block that returns after an error; without it, the function goes on."""
    note: Callable[[Buffer], str] = lambda buffer: ""
    """Tells LLVM of the access to an element which others it cannot be."""
    is_fixed: Callable[[Expression], bool] = lambda value: False
    """Whether no turn of the loop around changes a value, where the code is that of a turn."""

    @classmethod
    def of(cls, passed: NestArguments, module: ModuleBuilder) -> Body:
        """Return a function of the nest alone, with some arguments."""
        return cls(
            Builder(module.fast),
            module.part.functions,
            {buffer: Value(f"%b{n}", POINTER) for n, buffer in enumerate(passed.buffers)},
            dict(zip(passed.buffers, passed.starts, strict=True)),
            {dim: Value(f"%c{n}", I64) for n, dim in enumerate(passed.counters)},
        )


class Emitter(ABC):
    """Emits indices, loads and stores of a nest."""

    def __init__(self, nest: Nest, schedule: Schedule, body: Body, module: ModuleBuilder) -> None:
        self.body = body
        self.builder = body.builder
        self.functions = body.functions
        self.pointers = body.pointers
        self.counters = dict(body.counters)
        """The counters of the open loops, but for unrolled dimensions."""
        self.checks = module.checks
        self.layouts = module.layouts
        self.lanes = schedule.lanes
        self.width = schedule.width
        self.streams = schedule.prefetches.streams
        """The loads that are prefetched as they are read."""
        self.own_dims = frozenset(nest.own_dims())
        self.guarded: frozenset[Dim] = frozenset()
        """The dimensions of the conditions of the guards around the code."""
        self.tile: Mapping[Dim, int] = {}
        """The points that are computed together."""
        self.masked = 0
        """The elements of the last vector that exist, where it is not whole; else 0."""
        self.reduced: dict[tuple[int, Any], Value] = {}
        """The values of reductions, by node and point."""
        self.reports = True
        """Whether an index outside its array is an error."""
        self._known: list[dict[Any, Value]] = [{}]
        self._facts: dict[int, tuple[Expression, frozenset[Dim], bool]] = {}

    @abstractmethod
    def value(self, node: Expression, point: Point) -> Value:
        """Return the value of an expression: one number, or a vector where it depends on the lanes."""

    # -- scopes ------------------------------------------------------------------------------------------

    @contextmanager
    def using(self, **attributes: Any) -> Generator[None]:
        """Change attributes for a while."""
        current = vars(self)
        before = {name: current[name] for name in attributes}
        current.update(attributes)
        yield
        current.update(before)

    def scope(self) -> AbstractContextManager[None]:
        """Forget the values inside at the end: they do not dominate the code after it."""
        return self.using(_known=[*self._known, {}])

    def elsewhere(self, counters: Mapping[Dim, Value]) -> AbstractContextManager[None]:
        """Emit for a single point, in other turns of some loops; no value computed so far holds there."""
        return self.using(counters={**self.counters, **counters}, tile={}, _known=[{}])

    def wide(self, vectors: int) -> AbstractContextManager[None]:
        """Compute several vectors as one."""
        return self.using(width=self.width * vectors)

    def recall(self, key: Any) -> Value | None:
        """Return the value with a key that dominates this point, or None."""
        for scope in reversed(self._known):
            if key in scope:
                return scope[key]
        return None

    def remember(self, key: Any, value: Value) -> Value:
        """Enter a value by a key, to the end of the scope."""
        self._known[-1][key] = value
        return value

    # -- dependence --------------------------------------------------------------------------------------

    def dims(self, node: Expression) -> frozenset[Dim]:
        """Return the dimensions that a value depends on."""
        return self._dependence(node)[1]

    def _dependence(self, node: Expression) -> tuple[Expression, frozenset[Dim], bool]:
        """Return an expression, the dimensions that it depends on, and whether the lanes are one of them."""
        facts = self._facts.get(id(node))
        if facts is None:
            dims = {dim for index in indices_of(node) for dim in index.dims()}
            dims.update(*map(self.dims, children(node)))
            if isinstance(node, Reduce):
                dims -= set(node.dims)
            facts = self._facts[id(node)] = (node, frozenset(dims), self.lanes in dims)
        return facts

    def key(self, node: Expression, point: Point) -> tuple[int, Any]:
        """Return the key of the value of an expression at a point of a tile."""
        _, dims, vector = self._dependence(node)
        offsets = tuple(pair for pair in point.offsets if pair[0] in dims)
        # A reduction runs for the whole tile, whatever guards stand around it.
        masked = vector and not isinstance(node, Reduce)
        return id(node), (offsets, point.mask if masked else None)

    def dims_of(self, term: Term) -> frozenset[Dim]:
        """Return the dimensions that a term of an index depends on."""
        match term:
            case Computed():
                return self.dims(term.expression)
            case Digit():
                return frozenset[Dim]().union(*(self.dims_of(inner) for inner, _ in term.index.terms))
            case _:
                return frozenset((term,))

    # -- indices -----------------------------------------------------------------------------------------

    def index(self, index: Index, point: Point) -> Value:
        """Return an index as a number: a vector where it depends on the lanes."""
        key = ("index", index, point.offsets, point.mask)
        number = self.recall(key)
        if number is not None:
            return number
        total: Value | None = None
        fixed = index.offset
        for term, coefficient in index.terms:
            if isinstance(term, Dim):
                fixed += coefficient * point.offset(term)
                if term is self.lanes:
                    total = self._sum(total, self._strided(coefficient))
            value = self.term(term, point)
            if value is not None:
                total = self._sum(total, self.times(value, coefficient))
        if total is None:
            return constant(I64, fixed)
        if fixed:
            total = self.builder.binary("add", total, constant(total.kind, fixed))
        return self.remember(key, total)

    def _strided(self, stride: int) -> Value:
        """Return the distance of every lane from the first."""
        return constants(Kind("i64", self.width), [stride * lane for lane in range(self.width)])

    def term(self, term: Term, point: Point) -> Value | None:
        """Return the part of a term that is known only when the program runs."""
        match term:
            case Dim():
                counter = self.counters.get(term)
                assert counter is not None or term in self.own_dims, (
                    "a counter around a nest must be an argument of it"
                )
                return counter
            case Computed():
                return self.value(term.expression, point)
            case Digit():
                inner = self.index(term.index, point)
                digit = self.builder.binary("sdiv", inner, constant(inner.kind, term.divisor))
                return self.builder.binary("srem", digit, constant(inner.kind, term.modulus))

    def times(self, value: Value, factor: int) -> Value:
        """Return a number times a constant."""
        return value if factor == 1 else self.builder.binary("mul", value, constant(value.kind, factor))

    def _sum(self, x: Value | None, y: Value) -> Value:
        if x is None:
            return y
        x, y = self.aligned([x, y])
        return self.builder.binary("add", x, y)

    def aligned(self, values: Sequence[Value]) -> list[Value]:
        """Return the values, all as vectors if one of them is a vector."""
        lanes = max(value.kind.lanes for value in values)
        return [self.builder.widened(value, lanes) for value in values]

    # -- addresses ---------------------------------------------------------------------------------------

    def address(
        self, buffer: Buffer, indices: Sequence[Index], point: Point
    ) -> tuple[Value, int | None, Value | None]:
        """Return where an element lies, for the first of the lanes.

        The result is the address, the distance between neighbouring lanes in elements, and None; or, where a computed
        index differs from lane to lane, the address of the buffer, None, and the position of every lane.
        """
        layout = self.layouts[buffer]
        position = linear(layout, indices) - self.body.starts.get(buffer, 0)
        pointer = self.pointers[buffer]
        scalar = _memory_scalar(buffer.dtype)
        if any(not isinstance(t, Dim) and self.lanes in self.dims_of(t) for t, _ in position.terms):
            return pointer, None, self.index(position, point)
        fixed = position.offset
        stride = 0
        for term, coefficient in sorted(position.terms, key=lambda pair: self._depth(pair[0])):
            value = self.term(term, point)
            if not isinstance(term, Dim):
                assert value is not None
                pointer = self.builder.element(pointer, scalar, self.times(value, coefficient))
                continue
            fixed += coefficient * point.offset(term)
            if term is self.lanes:
                stride = coefficient
            if value is None:
                continue
            if layout.panel and indices[layout.lanes or 0].coefficient(term):
                coefficient *= layout.rows  # tiles begin where panels do
            pointer = self._moved(("address", pointer, value, coefficient), scalar, value, coefficient)
        if fixed:
            pointer = self._moved(("fixed", pointer, fixed), scalar, constant(I64, fixed))
        return pointer, stride, None

    def _moved(self, key: tuple[Any, ...], scalar: str, distance: Value, factor: int = 1) -> Value:
        """Return the address some elements from the one in a key."""
        address = self.recall(key)
        if address is not None:
            return address
        return self.remember(key, self.builder.element(key[1], scalar, self.times(distance, factor)))

    def _depth(self, term: Term) -> int:
        """Return how deep inside the loops a term changes: LLVM moves the first additions furthest out."""
        if not isinstance(term, Dim):
            return 1000
        return list(self.counters).index(term) if term in self.counters else -1

    # -- loads -------------------------------------------------------------------------------------------

    def load(self, node: Load, point: Point) -> Value:
        """Return an element: one number, or a vector where it depends on the lanes."""
        buffer = node.buffer
        pointer, stride, positions = self.address(buffer, node.indices, point)
        size = buffer.dtype.itemsize
        if stride == 0:
            kind = Kind(_memory_scalar(buffer.dtype))
            value = self.builder.load(pointer, kind, size, self.body.note(buffer))
        elif stride == 1:
            value = self._load_vector(pointer, buffer, point.mask)
            if node in self.streams and self._begins_line(point, size):
                ahead = self.streams[node]
                for start in range(ahead, ahead + self.width * size, _LINE):
                    self._prefetch(self.builder.element(pointer, "i8", constant(I64, start)))
        elif (dim := self._contiguous_dim(node, stride, point)) is not None:
            value = self._transposed(node, stride or 0, point, dim)
        elif stride == -1 and self._count(point):
            value = self._backwards(pointer, buffer, self._count(point))
        elif stride in (2, -2) and self._count(point) and (place := self._pair_place(node)) is not None:
            value = self._of_pairs(node, place, pointer, self._count(point), stride)
        else:
            value = self._gather(pointer, stride, positions, buffer, point.mask)
        if buffer.dtype.kind == "b":
            value = self.builder.convert("trunc", value, "i1")
        return value

    def prefetch(self, node: Load, point: Point, size: int, level: int) -> None:
        """Prefetch the lines of ``size`` bytes from an element on, up to a level of the caches."""
        b = self.builder
        pointer, _, _ = self.address(node.buffer, node.indices, point)
        for start in range(0, size, _LINE):
            self._prefetch(b.element(pointer, "i8", constant(I64, start)) if start else pointer, level)

    def prefetch_line(self, node: Load, point: Point) -> None:
        """Prefetch a vector of a tile, if it is the first of it in its line."""
        if self._begins_line(point, node.buffer.dtype.itemsize):
            self.prefetch(node, point, 1, level=1)

    def _begins_line(self, point: Point, size: int) -> bool:
        """Return whether no earlier vector of the tile lies in the same cache line."""
        return self.lanes is not None and point.offset(self.lanes) * size % _LINE == 0

    def _prefetch(self, line: Value, level: int = 1) -> None:
        self.builder.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.builder.do(f"call void @llvm.prefetch.p0({line}, i32 0, i32 {4 - level}, i32 1)")

    def _load_vector(self, pointer: Value, buffer: Buffer, mask: Value | None) -> Value:
        kind = Kind(_memory_scalar(buffer.dtype), self.width)
        size = buffer.dtype.itemsize
        if mask is None:
            return self.builder.load(pointer, kind, size)
        name, zero = f"llvm.masked.load.{kind.suffix}.p0", constant(kind, 0)
        return self.builder.call(name, pointer, _alignment(size), mask, zero, result=kind)

    def _gather(
        self, pointer: Value, stride: int | None, positions: Value | None, buffer: Buffer, mask: Value | None
    ) -> Value:
        """Load the lanes from different places; small elements one by one, unless some lanes do not exist."""
        b, width = self.builder, self.width
        scalar, size = _memory_scalar(buffer.dtype), buffer.dtype.itemsize
        kind = Kind(scalar, width)
        if mask is not None or size >= 4:
            positions = positions or self._strided(stride or 0)
            pointers = b.emit(f"getelementptr {scalar}, {pointer}, {positions}", Kind("ptr", width))
            lanes = constant(Kind("i1", width), 1) if mask is None else mask
            others = Value("poison", kind) if mask is None else constant(kind, 0)
            name = f"llvm.masked.gather.{kind.suffix}.v{width}p0"
            return b.call(name, pointers, _alignment(size), lanes, others, result=kind)
        result = Value("poison", kind)
        for lane in range(width):
            place = constant(I64, (stride or 0) * lane) if positions is None else b.extract(positions, lane)
            element = b.load(b.element(pointer, scalar, place), Kind(scalar), size)
            result = b.insert(result, element, lane)
        return result

    # -- pairs, and other elements side by side ----------------------------------------------------------

    def _pair_place(self, node: Load) -> int | None:
        return None if self.lanes is None else pair_place(self.layouts, node, self.lanes)

    def _count(self, point: Point) -> int:
        """Return how many lanes exist, from the first on; 0 where others do."""
        if point.mask is None:
            return self.width
        return self.masked if self.masked and point.mask == first_lanes(self.masked, self.width) else 0

    def _backwards(self, pointer: Value, buffer: Buffer, count: int) -> Value:
        """Load elements of which the first lane takes the last one."""
        start = self._at(pointer, buffer, 1 - count)
        lanes = [count - 1 - lane if lane < count else lane for lane in range(self.width)]
        return self.builder.shuffle(self._load_first(start, buffer, count), lanes)

    def _of_pairs(self, node: Load, place: int, pointer: Value, count: int, stride: int) -> Value:
        """Load as many pairs, and take one element of each."""
        buffer, width = node.buffer, self.width
        first = self._at(pointer, buffer, -place - (2 * (count - 1) if stride < 0 else 0))
        left = right = self._load_first(first, buffer, 2 * count)
        if 2 * count > width:
            right = self._load_first(self._at(first, buffer, width), buffer, 2 * count - width)
        places = [lane if stride > 0 or lane >= count else count - 1 - lane for lane in range(width)]
        return self.builder.shuffle(left, [2 * lane + place for lane in places], right)

    def _at(self, pointer: Value, buffer: Buffer, distance: int) -> Value:
        """Return the address some elements from another one."""
        if not distance:
            return pointer
        scalar = _memory_scalar(buffer.dtype)
        return self._moved(("fixed", pointer, distance), scalar, constant(I64, distance))

    def _load_first(self, pointer: Value, buffer: Buffer, count: int) -> Value:
        """Load a vector of which some elements exist, the first ones."""
        return self._load_vector(
            pointer, buffer, None if count >= self.width else first_lanes(count, self.width)
        )

    def store_joined(self, stores: Sequence[Store], values: Sequence[Value], point: Point) -> None:
        """Store values whose elements lie side by side, lane after lane, as whole vectors."""
        b, width, scalar = self.builder, self.width, _memory_scalar(stores[0].buffer.dtype)
        pointer, _, _ = self.address(stores[0].buffer, stores[0].indices, point)
        rows = [b.widened(value, width) for value in values]
        rows = self._riffled(rows) if len(rows) % 2 == 0 else [self._mixed(rows, n) for n in range(len(rows))]
        count = len(rows) * self._count(point)
        for number, row in enumerate(rows):
            start = b.element(pointer, scalar, constant(I64, number * width)) if number else pointer
            self._store_first(row, start, stores[0].buffer, count - number * width)

    def _riffled(self, rows: list[Value]) -> list[Value]:
        """Return the elements of as many vectors as a power of two lane after lane."""
        half, width = len(rows) // 2, self.width
        low = [width * (lane % 2) + lane // 2 for lane in range(width)]
        high = [place + width // 2 for place in low]
        # Each turn moves the bit of a place that tells the halves of the rows apart to its lower end.
        for _ in range(len(rows).bit_length() - 1):
            pairs = zip(rows[:half], rows[half:], strict=True)
            rows = [self.builder.shuffle(x, places, y) for x, y in pairs for places in (low, high)]
        return rows

    def _mixed(self, rows: list[Value], number: int) -> Value:
        """Return one vector of the elements of any number of vectors lane after lane."""
        width, count = self.width, len(rows)
        mixed = rows[0]
        for turn, row in enumerate(rows):
            places = [(number * width + lane) // count for lane in range(width)]
            owners = [(number * width + lane) % count for lane in range(width)]
            earlier = places if turn == 1 else range(width)
            lanes = [
                width + place if owner == turn else old
                for place, owner, old in zip(places, owners, earlier, strict=True)
            ]
            mixed = self.builder.shuffle(mixed, lanes, row) if turn else mixed
        return mixed

    def _store_first(self, value: Value, pointer: Value, buffer: Buffer, count: int) -> None:
        """Store the first elements of a vector, or all."""
        if count >= self.width:
            self.builder.store(value, pointer, buffer.dtype.itemsize)
        elif count > 0:
            self._store_vector(value, pointer, buffer, first_lanes(count, self.width))

    def joins(self, point: Point) -> bool:
        """Return whether elements of other stores lie side by side at a point, too."""
        return self._count(point) > 0

    # -- transposed loads --------------------------------------------------------------------------------

    def _contiguous_dim(self, node: Load, stride: int | None, point: Point) -> Dim | None:
        """Return a dimension, unrolled for a whole vector, along which the elements are contiguous."""
        layout = self.layouts[node.buffer]
        if stride is None or layout.size < self.width:
            return None
        for dim, count in self.tile.items():
            whole = point.offset(dim) // self.width < count // self.width
            free = dim is not self.lanes and dim not in self.guarded
            if free and whole and distance(self.layouts, node, dim) == 1:
                return dim
        return None

    def _transposed(self, node: Load, stride: int, point: Point, dim: Dim) -> Value:
        """Load a square block along the other dimension, and exchange rows and columns in registers."""
        others = tuple(pair for pair in point.offsets if pair[0] is not dim)
        block, column = divmod(point.offset(dim), self.width)
        key = ("block", id(node), others, block, point.mask)
        if self.recall((*key, 0)) is None:
            corner = Point((*others, (dim, block * self.width)), point.mask)
            rows = [self._row(node, stride * lane, lane, corner) for lane in range(self.width)]
            for number, value in enumerate(self._exchanged(rows)):
                self.remember((*key, number), value)
        value = self.recall((*key, column))
        assert value is not None
        return (
            value if point.mask is None else self.builder.select(point.mask, value, constant(value.kind, 0))
        )

    def _row(self, node: Load, distance: int, lane: int, corner: Point) -> Value:
        """Load the row of a lane; for a lane that does not exist, the beginning of the buffer."""
        b, scalar = self.builder, _memory_scalar(node.buffer.dtype)
        pointer, _, _ = self.address(node.buffer, node.indices, corner)
        row = b.element(pointer, scalar, constant(I64, distance))
        if corner.mask is not None:
            row = b.select(b.extract(corner.mask, lane), row, self.pointers[node.buffer])
        return b.load(row, Kind(scalar, self.width), node.buffer.dtype.itemsize)

    def _exchanged(self, rows: list[Value]) -> list[Value]:
        """Transpose a square of vectors: exchange off-diagonal blocks of one element, then two, four, ..."""
        b, width, step = self.builder, len(rows), 1
        while step < width:
            low = [lane if not lane & step else width + lane - step for lane in range(width)]
            high = [lane + step if not lane & step else width + lane for lane in range(width)]
            for row in range(width):
                if not row & step:
                    x, y = rows[row], rows[row + step]
                    rows[row], rows[row + step] = b.shuffle(x, low, y), b.shuffle(x, high, y)
            step *= 2
        return rows

    # -- stores ------------------------------------------------------------------------------------------

    def prepared(self, store: Store, point: Point) -> Value:
        """Return the value of a store, and compute its indices, before another store overwrites their operands."""
        for expression in computed(store.indices):
            self.value(expression, point)
        return self.value(store.value, point)

    def store(
        self, buffer: Buffer, indices: Sequence[Index], value: Value, point: Point, *, vector: bool
    ) -> None:
        """Store a value, or one value a lane."""
        b, mask = self.builder, point.mask
        scalar, size = _memory_scalar(buffer.dtype), buffer.dtype.itemsize
        if buffer.dtype.kind == "b":
            value = b.convert("zext", value, "i8")
        pointer, stride, positions = self.address(buffer, indices, point)
        if vector and value.kind.lanes == 1:
            value = b.splat(value, self.width)
        if not vector or (stride == 1 and mask is None):
            b.store(value, pointer, size, "" if vector else self.body.note(buffer))
        elif stride == 1 and mask is not None:
            self._store_vector(value, pointer, buffer, mask)
        else:
            positions = positions or self._strided(stride or 0)
            pointers = b.emit(f"getelementptr {scalar}, {pointer}, {positions}", Kind("ptr", self.width))
            lanes = mask or constant(Kind("i1", self.width), 1)
            name = f"llvm.masked.scatter.{value.kind.suffix}.v{self.width}p0"
            b.call(name, value, pointers, _alignment(size), lanes, result=None)

    def _store_vector(self, value: Value, pointer: Value, buffer: Buffer, mask: Value) -> None:
        b, size = self.builder, buffer.dtype.itemsize
        if mask == first_lanes(1, self.width):
            # LLVM 22 writes a truncated number untruncated, over its neighbours, under a mask of a single lane.
            b.store(b.extract(value, 0), pointer, size)
        else:
            name = f"llvm.masked.store.{value.kind.suffix}.p0"
            b.call(name, value, pointer, _alignment(size), mask, result=None)


def first_lanes(count: int, width: int) -> Value:
    """Return the mask of the first lanes of a vector."""
    return constants(Kind("i1", width), [lane < count for lane in range(width)])


def _alignment(size: int) -> Value:
    """Return the operand of a masked access for the alignment of its addresses: LLVM 22 reads this form, too."""
    return constant(Kind("i32"), size)


def _memory_scalar(dtype: Dtype) -> str:
    """Return the element type in memory: a truth value takes a byte."""
    return "i8" if dtype.kind == "b" else SCALARS[dtype]
