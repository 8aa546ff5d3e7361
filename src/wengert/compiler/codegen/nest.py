"""A nest as a native function of a range of its tiles: the loops around them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wengert.compiler.codegen.emission_state import Checks, Point
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.codegen.tile import Tile
from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.machine import costs
from wengert.compiler.schedule.layout import Layout
from wengert.compiler.schedule.outline import NestArguments
from wengert.compiler.schedule.prefetch import computed_places
from wengert.compiler.schedule.row_padding import is_padded
from wengert.compiler.schedule.schedule import Schedule
from wengert.nest.expression import Buffer
from wengert.nest.index import Dim
from wengert.nest.nest import Nest


class _Range(NamedTuple):
    """The tiles of the outermost levels that a call carries out, at least one, counted along the last level first."""

    first: Value
    end: Value
    levels: int
    """How many levels they are tiles of."""


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
    passed: NestArguments,
    checks: Checks,
    functions: set[tuple[str, Kind]],
    declared: set[str],
    fast: str = "",
    *,
    shared: bool,
) -> tuple[str, int]:
    """Write the function of a nest.

    The function takes the status word, the first tile and the one after the last, and what is ``passed``. If the nest
    is not ``shared``, there is only one tile: everything.

    Returns:
        The text, and how many tiles threads share: those of the outermost dimensions, one after another.
    """
    emitter = _NestEmitter(nest, schedule, layouts, passed, checks, functions, fast)
    return emitter.run(name, declared, shared)


class _NestEmitter:
    def __init__(
        self,
        nest: Nest,
        schedule: Schedule,
        layouts: Mapping[Buffer, Layout],
        passed: NestArguments,
        checks: Checks,
        functions: set[tuple[str, Kind]],
        fast: str,
    ) -> None:
        self.nest = nest
        self.schedule = schedule
        self.layouts = layouts
        self.passed = passed
        self.checks = checks
        self.builder = Builder(fast)
        pointers = {buffer: Value(f"%b{n}", POINTER) for n, buffer in enumerate(passed.buffers)}
        self.evaluator = Evaluator(
            self.builder,
            pointers,
            layouts,
            schedule.lanes,
            schedule.width,
            functions,
            self._report,
            frozenset(nest.own_dims()),
        )
        self.evaluator.streams = schedule.prefetches.streams
        self.evaluator.starts = dict(zip(passed.buffers, passed.starts, strict=True))
        self.evaluator.counters |= {dim: Value(f"%c{n}", I64) for n, dim in enumerate(passed.counters)}
        self.places = tuple(dict.fromkeys(computed_places(nest)))

    # -- the function ------------------------------------------------------------------------------------

    def run(self, name: str, declared: set[str], shared: bool) -> tuple[str, int]:
        levels = [self._level(dim) for dim in self.schedule.order]
        among = self._shared(levels) if shared else 0
        tiles = math.prod(level.tiles for level in levels[:among])
        if all(dim.extent for dim in self.nest.dims):
            part = _Range(Value("%first", I64), Value("%last", I64), among) if tiles > 1 else None
            self.tile = Tile(self.evaluator, self.nest, self.schedule)
            self._levels(levels, 0, {}, part)
            self.tile.finish()
        self.builder.do("ret void")
        declared |= self.builder.declared
        parameters = ["ptr %status", "i64 %first", "i64 %last"]
        parameters += [f"ptr %b{n}" for n in range(len(self.passed.buffers))]
        parameters += [f"i64 %c{n}" for n in range(len(self.passed.counters))]
        body = "\n".join(self.builder.lines)
        # LLVM aligns the stack for vectors only if it is told to before it knows that registers are too few.
        aligned = " alignstack(64)" if self.schedule.lanes else ""
        text = f"define internal void @{name}({', '.join(parameters)}) nounwind{aligned} {{\n{body}\n}}\n"
        return text, tiles

    def _shared(self, levels: Sequence[_Level]) -> int:
        """Return how many of the outermost levels threads share: enough for even parts."""
        tiles = 1
        for count, level in enumerate(levels):
            if tiles >= costs.COSTS.even_tiles or level.dim in self.nest.sequential:
                return count
            tiles *= level.tiles
        return len(levels)

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
        if masked and is_padded(self.nest, dim, width, self.layouts):
            vectors, masked = vectors + 1, 0
        full, rest = divmod(vectors, factor)
        return _Level(dim, factor * width, full, rest, masked)

    def _levels(
        self, levels: Sequence[_Level], depth: int, counts: dict[Dim, int], part: _Range | None = None
    ) -> None:
        """Open the loop of a level, for its whole tiles, then for what is left; inside the last one, do the work."""
        if depth == len(levels):
            self.tile.write(counts, self._masked)
            return
        level, b = levels[depth], self.builder
        size = self.schedule.width if level.dim is self.schedule.lanes else 1
        start, stop = constant(I64, 0), constant(I64, level.full)
        last: Value | None = None
        below = math.prod(one.tiles for one in levels[depth + 1 : part.levels]) if part else 1
        if part and level.tiles > 1:
            start, end = self._outer(part, below)
            stop = b.intrinsic("smin", end, stop)
            last = b.compare("eq", end, constant(I64, level.tiles))
        if level.full:
            inner = {**counts, level.dim: level.step // size}
            if level.full == 1 and last is None:
                with self.evaluator.scope():
                    self._levels(levels, depth + 1, inner, self._inner(part, depth, below, None))
            else:
                self._fetch(level, start, first=True)
                with b.loop(start, stop) as tile, self.evaluator.scope():
                    counter = tile if level.step == 1 else b.binary("mul", tile, constant(I64, level.step))
                    self.evaluator.counters[level.dim] = counter
                    self._fetch(level, tile)
                    self._settle(level.dim, inner)
                    self._levels(levels, depth + 1, inner, self._inner(part, depth, below, tile))
                    del self.evaluator.counters[level.dim]
        if level.rest or level.masked:
            rest = {**counts, level.dim: level.rest + bool(level.masked)}
            self._rest(levels, depth, rest, last, part, below)

    def _fetch(self, level: _Level, tile: Value, *, first: bool = False) -> None:
        """Ask for what lies at computed places some turns of a loop ahead; before the loop, for the first turns."""
        runs = self.schedule.prefetches.runs.get(level.dim)
        if not runs:
            return
        b, evaluator, last = self.builder, self.evaluator, constant(I64, level.dim.extent - 1)
        begin = b.binary("mul", tile, constant(I64, level.step))
        for run in runs:
            ahead = run.ahead * level.step
            for offset in range(ahead) if first else range(ahead, ahead + level.step):
                point = b.intrinsic("smin", b.binary("add", begin, constant(I64, offset)), last)
                with evaluator.elsewhere({level.dim: point}), evaluator.unreported():
                    evaluator.fetch(run.load, Point(()), run.size, costs.COSTS.prefetch_cache_level)

    def _settle(self, dim: Dim, counts: Mapping[Dim, int]) -> None:
        """Compute the places that change with a loop and with none inside it, once for the loops inside.

        Along the lanes, and where a tile has several points, there are several places at a time.
        """
        for place in self.places:
            dims = self.evaluator.dims(place)
            single = all(counts.get(one, 1) == 1 for one in dims)
            if dim in dims and single and dims <= self.evaluator.counters.keys() - {self.schedule.lanes}:
                self.evaluator.value(place, Point(()))

    def _outer(self, part: _Range, below: int) -> tuple[Value, Value]:
        """Return the range of tiles of a level, each with so many tiles of the levels below."""
        if below == 1:
            return part.first, part.end
        b, each = self.builder, constant(I64, below)
        up = b.binary("add", part.end, constant(I64, below - 1))
        return b.binary("udiv", part.first, each), b.binary("udiv", up, each)

    def _inner(self, part: _Range | None, depth: int, below: int, tile: Value | None) -> _Range | None:
        """Return the range of tiles of the levels below, in a tile of this level; there may be only one."""
        if part is None or depth + 1 >= part.levels or below == 1:
            return None
        if tile is None:
            return part
        b, each = self.builder, constant(I64, below)
        before = b.binary("mul", tile, each)
        first = b.intrinsic("smax", b.binary("sub", part.first, before), constant(I64, 0))
        return _Range(first, b.intrinsic("smin", b.binary("sub", part.end, before), each), part.levels)

    def _rest(
        self,
        levels: Sequence[_Level],
        depth: int,
        counts: dict[Dim, int],
        last: Value | None,
        part: _Range | None,
        below: int,
    ) -> None:
        b, level = self.builder, levels[depth]
        after = ""
        if last is not None:
            yes, after = b.new_label("rest"), b.new_label("after")
            b.branch_if(last, yes, after)
            b.label(yes)
        with self.evaluator.scope():
            self.evaluator.counters[level.dim] = constant(I64, level.full * level.step)
            self._masked = level.masked if level.dim is self.schedule.lanes else self._masked
            tile = constant(I64, level.full) if level.full else None
            self._levels(levels, depth + 1, counts, self._inner(part, depth, below, tile))
            if level.dim is self.schedule.lanes:
                self._masked = 0
            del self.evaluator.counters[level.dim]
        if last is not None:
            b.branch(after)
            b.label(after)

    _masked = 0
    """Elements of the last vector that exist, where it is not whole."""
