"""Sorts as native functions: lines become words, words are sorted, and words become the results."""

from __future__ import annotations

from collections.abc import Callable

from wengert.compiler.codegen import radix_sort, sorting_network
from wengert.compiler.codegen.module_builder import ModuleBuilder
from wengert.compiler.codegen.sort_words import Codec, resized
from wengert.compiler.codegen.sorting_network import Network
from wengert.compiler.llvm.ir_builder import I1, I64, POINTER, Builder, Kind, Value, constant, constants
from wengert.compiler.schedule.plan_sorts import SortPlan, plan_sort
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.nest import Sort

_ZERO = constant(I64, 0)
_X, _VALUES = Value("%x", POINTER), Value("%values", POINTER)
_POSITIONS, _MEMORY = Value("%positions", POINTER), Value("%memory", POINTER)
_PARAMETERS = "ptr %x, ptr %values, ptr %positions, ptr %memory"


def emit_sort(name: str, sort: Sort, module: ModuleBuilder) -> None:
    """Emit the function of a sort: it takes the addresses of the operand, values, positions and memory."""
    emitter = _SortEmitter(sort, plan_sort(sort, module.target), module)
    emitter.all_lines()
    emitter.builder.do("ret void")
    module.add(name, module.define(name, _PARAMETERS, emitter.builder))


class _Chunk(NamedTuple):
    """Elements that are read or written together."""

    element: Value
    """The number of the first in the array."""
    word: Value
    """The number of its word."""
    position: Value
    """The positions of the elements in their lines."""
    lanes: int


class _SortEmitter:
    """Emits the function of one sort."""

    def __init__(self, sort: Sort, plan: SortPlan, module: ModuleBuilder) -> None:
        self.sort, self.plan, self.module = sort, plan, module
        self.codec = Codec(sort.operand.dtype, plan.words)
        self.item = Kind(self.codec.memory)
        self.builder = b = Builder()
        self.word = Kind(plan.words.scalar, plan.lanes)
        self.place = Kind(f"i{plan.position_bits}", plan.lanes)
        self.repairs = self.codec.is_inexact and sort.values is not None
        offsets = (constant(I64, offset) for offset in plan.areas[:-1])
        self.words, self.others, self.places, self.other_places, self.counts = (
            b.element(_MEMORY, "i8", offset) for offset in offsets
        )

    # -- lines -------------------------------------------------------------------------------------------

    def all_lines(self) -> None:
        """Sort all lines."""
        b, plan, (outer, extent, inner) = self.builder, self.plan, self.plan.lines
        if not plan.beside:
            with b.loop(_ZERO, constant(I64, outer)) as group, b.loop(_ZERO, constant(I64, inner)) as column:
                self._line(b.binary("add", b.binary("mul", group, constant(I64, extent * inner)), column))
            return
        count, groups, apart = (outer, 1, extent) if inner == 1 else (inner, outer, 1)
        whole = count - count % plan.lanes
        with b.loop(_ZERO, constant(I64, groups)) as group:
            base = b.binary("mul", group, constant(I64, extent * inner))
            with b.loop(_ZERO, constant(I64, whole), plan.lanes) as first:
                start = b.binary("add", base, b.binary("mul", first, constant(I64, apart)))
                self._columns(start, apart, plan.lanes)
            if count > whole:
                start = b.binary("add", base, constant(I64, whole * apart))
                self._columns(start, apart, count - whole)

    def _line(self, start: Value) -> None:
        """Sort the words of one line, neighbours in a vector."""
        plan = self.plan
        extent, step = plan.lines.extent, plan.lines.inner
        whole = extent - extent % plan.lanes if step == 1 else 0

        def chunks(use: Callable[[_Chunk], Value | None]) -> Value | None:
            b, flags = self.builder, None
            for first, last, lanes in ((0, whole, plan.lanes), (whole, extent, 1)):
                if first < last:
                    flags = self._either(
                        flags,
                        self._looped(
                            first,
                            last,
                            lanes,
                            lambda i, n=lanes: use(
                                _Chunk(
                                    b.binary("add", start, b.binary("mul", i, constant(I64, step))),
                                    i,
                                    _counted(b, i, n),
                                    n,
                                )
                            ),
                        ),
                    )
            return flags

        if not plan.by_digits:
            self._fill(extent // plan.lanes)
        lost = chunks(self._read)
        words, places = self._sorted()
        chunks(lambda chunk: self._write(chunk, words, places))
        if lost is not None:
            with self.builder.only_if(lost):
                self._repair(start)

    def _columns(self, start: Value, apart: int, count: int) -> None:
        """Sort lines side by side, an element of each in a vector."""
        b, plan = self.builder, self.plan
        extent, step = plan.lines.extent, plan.lines.inner
        together = plan.lanes if apart == 1 and count == plan.lanes else 1

        def chunks(use: Callable[[_Chunk], Value | None]) -> Value | None:
            def row(i: Value) -> Value | None:
                base = b.binary("add", start, b.binary("mul", i, constant(I64, step)))
                word = b.binary("mul", i, constant(I64, plan.lanes))
                index = b.splat(i, together)

                def chunk(lane: Value) -> Value | None:
                    element = b.binary("add", base, b.binary("mul", lane, constant(I64, apart)))
                    return use(_Chunk(element, b.binary("add", word, lane), index, together))

                return chunk(_ZERO) if together > 1 else self._looped(0, count, 1, chunk)

            return self._looped(0, extent, 1, row)

        self._fill(extent)
        lost = chunks(self._read)
        words, places = self._sorted()
        chunks(lambda chunk: self._write(chunk, words, places))
        if lost is not None:
            with b.only_if(lost), b.loop(_ZERO, constant(I64, count)) as lane:
                self._repair(b.binary("add", start, b.binary("mul", lane, constant(I64, apart))))

    def _looped(self, first: int, last: int, step: int, use: Callable[[Value], Value | None]) -> Value | None:
        """Use chunks in a loop; return whether any use found something."""
        b = self.builder
        lost: list[Value] = [constant(I1, 0)] if self.repairs else []
        with b.loop(constant(I64, first), constant(I64, last), step, carried=lost) as i:
            flag = use(i)
            if flag is not None and lost:
                single = flag.kind.lanes == 1
                lost[0] = b.either(
                    lost[0], flag if single else b.intrinsic("vector.reduce.or", flag, result=I1)
                )
        return lost[0] if lost else None

    def _either(self, x: Value | None, y: Value | None) -> Value | None:
        return y if x is None else x if y is None else self.builder.either(x, y)

    # -- elements and words ------------------------------------------------------------------------------

    def _fill(self, first: int) -> None:
        """Write the largest word after the last one, up to whole tiles."""
        b, filler = self.builder, self.codec.filler(self.plan.lanes)
        for number in range(first, self.plan.vectors):
            for base, value in zip((self.words, self.places), filler, strict=False):
                b.store(
                    value, b.element(base, "i8", constant(I64, number * value.kind.bytes)), value.kind.bytes
                )

    def _read(self, chunk: _Chunk) -> Value | None:
        """Make words of elements; return which of them a word does not tell from others."""
        b = self.builder
        x = b.load(
            b.element(_X, self.item.scalar, chunk.element), self._wide(self.item, chunk), self.item.bytes
        )
        word, lost = self.codec.encode(b, x, chunk.position)
        b.store(word, b.element(self.words, self.word.scalar, chunk.word), self._alignment(word))
        if self.plan.words.pairs:
            place = resized(b, chunk.position, self.place.scalar)
            b.store(place, b.element(self.places, self.place.scalar, chunk.word), self._alignment(place))
        return lost if self.repairs else None

    def _write(self, chunk: _Chunk, words: Value, places: Value) -> None:
        """Write the elements of sorted words, and their positions."""
        b = self.builder
        kind = self._wide(self.word, chunk)
        word = b.load(b.element(words, kind.scalar, chunk.word), kind, kind.bytes)
        if self.sort.values is not None:
            address = b.element(_VALUES, self.item.scalar, chunk.element)
            b.store(self.codec.decode(b, word), address, self.item.bytes)
        if self.sort.positions is None:
            return
        if self.plan.words.pairs:
            kind = self._wide(self.place, chunk)
            place = b.load(b.element(places, kind.scalar, chunk.word), kind, kind.bytes)
            place = resized(b, place, "i64")
        else:
            place = self.codec.position(b, word)
        b.store(place, b.element(_POSITIONS, "i64", chunk.element), 8)

    def _wide(self, kind: Kind, chunk: _Chunk) -> Kind:
        return Kind(kind.scalar, chunk.lanes)

    def _alignment(self, value: Value) -> int:
        return value.kind.bytes

    # -- functions ---------------------------------------------------------------------------------------

    def _sorted(self) -> tuple[Value, Value]:
        """Sort the words; return where they are, and where the positions that go with them are."""
        b, plan = self.builder, self.plan
        if not plan.by_digits:
            network = Network(self.word, plan.words.pairs, plan.tile, plan.beside)
            self._helper(network.name, sorting_network.PARAMETERS, network.body)
            vectors, levels = constant(I64, plan.vectors), constant(I64, plan.levels)
            b.call(network.name, self.words, self.places, vectors, levels, result=None)
            return self.words, self.places
        name = radix_sort.radix_name(plan)
        self._helper(name, radix_sort.PARAMETERS, lambda: radix_sort.radix_body(plan))
        areas = (self.words, self.others, self.places, self.other_places, self.counts)
        b.call(name, *areas, constant(I64, plan.lines.extent), _ZERO, result=None)
        moved = b.compare("ne", b.load(self.counts, I64, 8), _ZERO)
        return b.select(moved, self.others, self.words), b.select(moved, self.other_places, self.places)

    def _repair(self, start: Value) -> None:
        """Write the zeros and NaNs of a line once more, in the order in which the operand has them."""
        name = f"sort.repair.{self.item.suffix}"
        self._helper(name, _REPAIR_PARAMETERS, lambda: _repair_body(self.item))
        b = self.builder
        x, values = (b.element(base, self.item.scalar, start) for base in (_X, _VALUES))
        step, count = constant(I64, self.plan.lines.inner), constant(I64, self.plan.lines.extent)
        b.call(name, x, values, step, count, result=None)

    def _helper(self, name: str, parameters: str, body: Callable[[], Builder]) -> None:
        """Emit a function that sorts share, unless it is there already."""
        if name not in self.module.shared:
            self.module.shared.add(name)
            self.module.add(name, self.module.define(name, parameters, body()))


def _counted(b: Builder, first: Value, lanes: int) -> Value:
    """Return the integers from the first on."""
    if lanes == 1:
        return first
    return b.binary("add", b.splat(first, lanes), constants(Kind("i64", lanes), range(lanes)))


# -- zeros and NaNs --------------------------------------------------------------------------------------

_REPAIR_PARAMETERS = "ptr %x, ptr %values, i64 %step, i64 %count"


def _repair_body(item: Kind) -> Builder:
    """Return the function that writes the zeros and the NaNs of a sorted line in the order of the operand.

    Its sorted values are right but for the signs of zeros and the bits of NaNs: the zeros come after the negative
    numbers, the NaNs at the end.
    """
    b, step, count = Builder(), Value("%step", I64), Value("%count", I64)
    zero = constant(item, 0.0)

    def element(i: Value) -> tuple[Value, Value]:
        x = b.load(b.element(_X, item.scalar, b.binary("mul", i, step)), item, item.bytes)
        return x, b.compare("uno", x, x)

    places = [_ZERO, count]
    with b.loop(_ZERO, count, carried=places) as i:
        x, is_nan = element(i)
        places[0] = b.binary("add", places[0], b.convert("zext", b.compare("olt", x, zero), "i64"))
        places[1] = b.binary("sub", places[1], b.convert("zext", is_nan, "i64"))
    with b.loop(_ZERO, count, carried=places) as i:
        x, is_nan = element(i)
        is_zero = b.compare("oeq", x, zero)
        with b.only_if(b.either(is_zero, is_nan)):
            goal = b.binary("mul", b.select(is_nan, places[1], places[0]), step)
            b.store(x, b.element(_VALUES, item.scalar, goal), item.bytes)
        places[0] = b.binary("add", places[0], b.convert("zext", is_zero, "i64"))
        places[1] = b.binary("add", places[1], b.convert("zext", is_nan, "i64"))
    b.do("ret void")
    return b
