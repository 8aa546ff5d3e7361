"""A nest as a native function of a range of its tiles: the loops around a tile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from wengert.compiler.codegen.access import Body, Point
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.codegen.limits import Range, limited_nest
from wengert.compiler.codegen.module_builder import ModuleBuilder
from wengert.compiler.codegen.tile import Tile
from wengert.compiler.llvm.ir_builder import I64, Value, constant
from wengert.compiler.schedule.outline import NestArguments
from wengert.compiler.schedule.prefetch import computed_places
from wengert.compiler.schedule.row_padding import is_padded
from wengert.compiler.schedule.schedule import Schedule
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest


class _Range(NamedTuple):
    """The tiles of the outermost levels that a call computes, at least one; the last level counts fastest."""

    first: Value
    end: Value
    levels: int
    """The number of levels that the tiles span."""


class _Level(NamedTuple):
    """A dimension of the nest as a loop: its whole tiles, and the rest at the end."""

    dim: Dim
    step: int
    """Points of a tile; along the lanes, elements."""
    full: int
    """Whole tiles."""
    remainder: int
    """Points beyond them; along the lanes, whole vectors."""
    masked: int
    """Elements beyond those, less than a vector."""
    block: int = 0
    """For a loop over blocks, the tiles of a block; its own tiles are blocks."""

    @property
    def tiles(self) -> int:
        return self.full + bool(self.remainder or self.masked)


class _Window(NamedTuple):
    """The whole tiles of a dimension in a block, and whether the remainder follows them."""

    start: Value
    stop: Value
    is_last: Value


def emit_nest(
    name: str, nest: Nest, schedule: Schedule, passed: NestArguments, module: ModuleBuilder, *, shared: bool
) -> tuple[str, int]:
    """Emit the function of a nest, and return its text and how many tiles of its outer dimensions threads share.

    The function takes the status word, the first tile and the one after the last, and the arguments ``passed``. If the
    nest is not ``shared``, it is one tile.
    """
    return _NestEmitter(nest, schedule, passed, module).run(name, shared)


def write_nest(nest: Nest, schedule: Schedule, body: Body, module: ModuleBuilder) -> None:
    """Write a nest without dimensions into a function."""
    tile = Tile(Evaluator(nest, schedule, body, module), nest, schedule)
    tile.write({}, 0)
    tile.finish()


class _NestEmitter:
    def __init__(self, nest: Nest, schedule: Schedule, passed: NestArguments, module: ModuleBuilder) -> None:
        self.nest = nest
        self.schedule = schedule
        self.passed = passed
        self.module = module
        self.evaluator = Evaluator(nest, schedule, Body.of(passed, module), module)
        self.builder = self.evaluator.builder
        self.places = tuple(dict.fromkeys(computed_places(nest)))
        self.masked = 0
        """Elements of the last vector that exist, where it is not whole."""
        self.windows: dict[Dim, _Window] = {}
        """The tiles of the block around, for dimensions in blocks."""
        self.ranges: dict[Dim, Range] = {}
        """The points that count, where conditions leave some out."""

    # -- the function ------------------------------------------------------------------------------------

    def run(self, name: str, shared: bool) -> tuple[str, int]:
        levels = self._all_levels()
        among = self._shared(levels) if shared else 0
        tiles = math.prod(level.tiles for level in levels[:among])
        if all(dim.extent for dim in self.nest.dims):
            part = _Range(Value("%first", I64), Value("%last", I64), among) if tiles > 1 else None
            if not self.schedule.delays_stores:
                self._limit(levels)
            self.tile = Tile(self.evaluator, self.nest, self.schedule)
            self._levels(levels, 0, {}, part)
            self.tile.finish()
        self.builder.do("ret void")
        parameters = ["ptr %status", "i64 %first", "i64 %last"]
        parameters += [f"ptr %b{n}" for n in range(len(self.passed.buffers))]
        parameters += [f"i64 %c{n}" for n in range(len(self.passed.counters))]
        # LLVM must know that the stack is aligned for vectors before it knows that registers are too few.
        aligned = " alignstack(64)" if self.schedule.lanes else ""
        return self.module.define(name, ", ".join(parameters), self.builder, aligned), tiles

    def _limit(self, levels: Sequence[_Level]) -> None:
        limited = limited_nest(self.evaluator, self.nest)
        for level in levels:
            found = limited.range(level.dim) if level.tiles > 1 and not level.block else None
            if found is not None:
                self.ranges[level.dim] = found

    def _shared(self, levels: Sequence[_Level]) -> int:
        """Return the number of outermost levels that threads share: enough for even parts."""
        tiles = 1
        for count, level in enumerate(levels):
            in_block = level.dim in self.schedule.blocks and not level.block
            if tiles >= costs.COSTS.even_tiles or level.dim in self.nest.sequential or in_block:
                return count
            tiles *= level.tiles
        return len(levels)

    # -- loops over the map dimensions -------------------------------------------------------------------

    def _all_levels(self) -> list[_Level]:
        """Return the loops, the outermost first: those over blocks before all dimensions in blocks."""
        levels = [self._level(dim) for dim in self.schedule.order]
        blocks: list[_Level] = []
        for level in levels:
            size = self.schedule.blocks.get(level.dim, 0)
            if size:
                blocks.append(_Level(level.dim, 0, -(-level.full // size), 0, 0, size))
        return [*blocks, *levels]

    def _level(self, dim: Dim) -> _Level:
        factor = self.schedule.tile.get(dim, 1)
        if dim is not self.schedule.lanes:
            full, remainder = divmod(dim.extent, factor)
            return _Level(dim, factor, full, remainder, 0)
        width = self.schedule.width
        vectors, masked = divmod(dim.extent, width)
        if masked and is_padded(self.nest, dim, width, self.module.layouts):
            vectors, masked = vectors + 1, 0
        full, remainder = divmod(vectors, factor)
        return _Level(dim, factor * width, full, remainder, masked)

    def _levels(
        self, levels: Sequence[_Level], depth: int, counts: dict[Dim, int], part: _Range | None = None
    ) -> None:
        """Open the loop of a level, for its whole tiles, then for the rest; inside the last level, emit the tile."""
        if depth == len(levels):
            self.tile.write(counts, self.masked)
            return
        level, b = levels[depth], self.builder
        if level.block:
            self._blocks(levels, depth, counts, part)
            return
        size = self.schedule.width if level.dim is self.schedule.lanes else 1
        start, stop = constant(I64, 0), constant(I64, level.full)
        last: Value | None = None
        below = math.prod(inner.tiles for inner in levels[depth + 1 : part.levels]) if part else 1
        if part and level.tiles > 1:
            start, end = self._outer(part, below)
            stop = b.intrinsic("smin", end, stop)
            last = b.compare("eq", end, constant(I64, level.tiles))
        if window := self.windows.get(level.dim):
            start, stop, last = window
        if level.dim in self.ranges:
            start, stop, last = self._within(level, start, stop, last)
        if level.full:
            inner = {**counts, level.dim: level.step // size}
            if level.full == 1 and last is None:
                with self.evaluator.scope():
                    self._levels(levels, depth + 1, inner, self._inner(part, depth, below, None))
            else:
                self._prefetch(level, start, first=True)
                with b.loop(start, stop) as tile, self.evaluator.scope():
                    counter = tile if level.step == 1 else b.binary("mul", tile, constant(I64, level.step))
                    self.evaluator.counters[level.dim] = counter
                    self._prefetch(level, tile)
                    self._hoist_places(level.dim, inner)
                    self._levels(levels, depth + 1, inner, self._inner(part, depth, below, tile))
                    del self.evaluator.counters[level.dim]
        if level.remainder or level.masked:
            partial = {**counts, level.dim: level.remainder + bool(level.masked)}
            with nullcontext() if last is None else b.only_if(last):
                self._rest(levels, depth, partial, part, below)

    def _within(
        self, level: _Level, start: Value, stop: Value, last: Value | None
    ) -> tuple[Value, Value, Value]:
        """Return those of some tiles that hold points that count, and whether the rest does, too."""
        b, points = self.builder, self.ranges[level.dim]
        step = constant(I64, level.step)
        start = b.intrinsic("smax", start, b.binary("udiv", points.first, step))
        up = b.binary("add", points.end, constant(I64, level.step - 1))
        stop = b.intrinsic("smin", stop, b.binary("udiv", up, step))
        reached = b.compare("sgt", points.end, constant(I64, level.full * level.step))
        return start, stop, reached if last is None else b.both(last, reached)

    def _blocks(
        self, levels: Sequence[_Level], depth: int, counts: dict[Dim, int], part: _Range | None
    ) -> None:
        """Open the loop over the blocks of a dimension; the last one may have fewer tiles."""
        level, b = levels[depth], self.builder
        below = math.prod(inner.tiles for inner in levels[depth + 1 : part.levels]) if part else 1
        first, end = self._outer(part, below) if part else (constant(I64, 0), constant(I64, level.full))
        tiles = next(inner.full for inner in levels[depth + 1 :] if inner.dim is level.dim)
        with b.loop(first, end) as number, self.evaluator.scope():
            start = b.binary("mul", number, constant(I64, level.block))
            stop = b.binary("add", start, constant(I64, level.block))
            stop = b.intrinsic("smin", stop, constant(I64, tiles))
            is_last = b.compare("eq", number, constant(I64, level.full - 1))
            self.windows[level.dim] = _Window(start, stop, is_last)
            self._levels(levels, depth + 1, counts, self._inner(part, depth, below, number))
            del self.windows[level.dim]

    def _rest(
        self,
        levels: Sequence[_Level],
        depth: int,
        counts: dict[Dim, int],
        part: _Range | None,
        below: int,
    ) -> None:
        """Emit the points of a level that are less than a tile."""
        level = levels[depth]
        with self.evaluator.scope():
            self.evaluator.counters[level.dim] = constant(I64, level.full * level.step)
            is_lanes = level.dim is self.schedule.lanes
            self.masked = level.masked if is_lanes else self.masked
            tile = constant(I64, level.full) if level.full else None
            self._levels(levels, depth + 1, counts, self._inner(part, depth, below, tile))
            if is_lanes:
                self.masked = 0
            del self.evaluator.counters[level.dim]

    def _prefetch(self, level: _Level, tile: Value, *, first: bool = False) -> None:
        """Prefetch elements at computed places some turns ahead; before the loop, those of its first turns."""
        runs = self.schedule.prefetches.runs.get(level.dim)
        if not runs:
            return
        b, evaluator, last = self.builder, self.evaluator, constant(I64, level.dim.extent - 1)
        begin = b.binary("mul", tile, constant(I64, level.step))
        for run in runs:
            ahead = run.ahead * level.step
            for offset in range(ahead) if first else range(ahead, ahead + level.step):
                point = b.intrinsic("smin", b.binary("add", begin, constant(I64, offset)), last)
                with evaluator.elsewhere({level.dim: point}), evaluator.using(reports=False):
                    evaluator.prefetch(run.load, Point(()), run.size, costs.COSTS.prefetch_cache_level)

    def _hoist_places(self, dim: Dim, counts: Mapping[Dim, int]) -> None:
        """Compute the places that change with this loop and no inner one, once for the inner loops.

        Along the lanes, and where a tile has several points, there are several places at a time.
        """
        for place in self.places:
            dims = self.evaluator.dims(place)
            single = all(counts.get(place_dim, 1) == 1 for place_dim in dims)
            if dim in dims and single and dims <= self.evaluator.counters.keys() - {self.schedule.lanes}:
                self.evaluator.value(place, Point(()))

    def _outer(self, part: _Range, below: int) -> tuple[Value, Value]:
        """Return the range of tiles of a level, each of ``below`` tiles of the levels below."""
        if below == 1:
            return part.first, part.end
        b, size = self.builder, constant(I64, below)
        up = b.binary("add", part.end, constant(I64, below - 1))
        return b.binary("udiv", part.first, size), b.binary("udiv", up, size)

    def _inner(self, part: _Range | None, depth: int, below: int, tile: Value | None) -> _Range | None:
        """Return the range of tiles of the levels below, in a tile of this level; None where all are computed."""
        if part is None or depth + 1 >= part.levels or below == 1:
            return None
        if tile is None:
            return part
        b, size = self.builder, constant(I64, below)
        before = b.binary("mul", tile, size)
        first = b.intrinsic("smax", b.binary("sub", part.first, before), constant(I64, 0))
        return _Range(first, b.intrinsic("smin", b.binary("sub", part.end, before), size), part.levels)
