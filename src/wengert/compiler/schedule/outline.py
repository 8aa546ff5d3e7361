"""Outlining: one function carries out all nests with the same code, on other buffers and offsets.

The turns of a Python loop are such nests. A key lists everything that the code of a nest depends on, with dimensions,
buffers and expressions numbered in order of appearance; nests with equal keys have the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from wengert.compiler.schedule.layout import Layout, linear
from wengert.compiler.schedule.schedule import Schedule
from wengert.nest.expression import (
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Iota,
    Load,
    Reduce,
    indices_of,
    is_check,
)
from wengert.nest.index import Computed, Digit, Dim, Index
from wengert.nest.nest import Nest

#: Stands in the list before what is met for the first time, where otherwise there is its number.
_NEW = "new"


class NestArguments(NamedTuple):
    """The arguments of the function of a nest."""

    buffers: tuple[Buffer, ...]
    starts: tuple[int, ...]
    """The element of each buffer to which its pointer points."""
    counters: tuple[Dim, ...]
    """The counters of surrounding loops that the nest depends on."""


def nest_arguments(
    nest: Nest, width: int, layouts: Mapping[Buffer, Layout], counters: Iterable[Dim]
) -> NestArguments:
    """Return what is passed to the function of a nest, where ``counters`` are those of the loops around it.

    The pointer of a buffer points to where the nest begins in it, unless fewer than ``width`` elements follow there:
    for lanes that do not exist, as many are read from the pointer.
    """
    pairs = nest.accesses()
    least: dict[Buffer, int] = {}
    for buffer, indices in pairs:
        first = linear(layouts[buffer], indices).offset
        least[buffer] = min(first, least.get(buffer, first))
    buffers = tuple(dict.fromkeys((*nest.reads(), *nest.writes())))
    starts = tuple(_start(least.get(buffer, 0), width, layouts[buffer]) for buffer in buffers)
    dims = _all_dims(nest)
    return NestArguments(buffers, starts, tuple(dim for dim in counters if dim in dims))


def _start(first: int, width: int, layout: Layout) -> int:
    return 0 if first < 0 or layout.panel or first + width > layout.size else first


def _all_dims(nest: Nest) -> set[Dim]:
    """Return the dimensions of a nest, and those of the loops around it that it depends on."""
    found = set(nest.dims)
    indices = [index for store in nest.stores for index in store.indices]
    indices += [index for node in nest.nodes() for index in indices_of(node)]
    for index in indices:
        found.update(index.dims())
    return found


def outline_key(
    nest: Nest,
    schedule: Schedule,
    layouts: Mapping[Buffer, Layout],
    passed: NestArguments,
) -> tuple[Any, ...] | None:
    """Return the key that nests with the same code share; None for a nest with checks, which name their place.

    Args:
        nest: the nest.
        schedule: how it is carried out.
        layouts: of its buffers.
        passed: the arguments of its function.
    """
    if any(map(is_check, nest.nodes())):
        return None
    return _Likeness(layouts, passed).of(nest, schedule)


class _Likeness:
    def __init__(self, layouts: Mapping[Buffer, Layout], passed: NestArguments) -> None:
        self.layouts = layouts
        self.counters = passed.counters
        self.starts = dict(zip(passed.buffers, passed.starts, strict=True))
        self.elements: dict[tuple[int, tuple[Index, ...]], int] = {}
        self.found: list[Any] = []
        self.numbers: dict[int, int] = {}

    def of(self, nest: Nest, schedule: Schedule) -> tuple[Any, ...]:
        self._dims(self.counters)
        self._dims(nest.dims)
        self.found.append(len(nest.stores))
        for store in nest.stores:
            self.found += ["store", store.combiner]
            self._element(store.buffer, store.indices)
            self._dims(store.along)
            self._expression(store.value)
        for dims in (nest.sequential, schedule.unrolled):
            self.found.append(frozenset(map(self._number, dims)))
        self._schedule(schedule)
        return tuple(self.found)

    def _schedule(self, schedule: Schedule) -> None:
        lanes = None if schedule.lanes is None else self._number(schedule.lanes)
        tile = tuple((self._number(dim), count) for dim, count in schedule.tile.items())
        blocks = tuple((self._number(dim), size) for dim, size in schedule.blocks.items())
        runs = tuple(
            (self._number(dim), self._number(run.load), run.size, run.ahead)
            for dim, runs in schedule.prefetches.runs.items()
            for run in runs
        )
        streams = frozenset(
            (self._number(load), ahead) for load, ahead in schedule.prefetches.streams.items()
        )
        results = tuple(map(self._number, schedule.prefetches.results))
        self.found += [lanes, schedule.width, tile, blocks, runs, streams, results]
        self.found += [schedule.steps, schedule.delays_stores, schedule.vectors]
        self._dims(schedule.order)

    def _number(self, thing: object) -> int:
        return self.numbers.get(id(thing), -1)

    def _met(self, thing: object) -> bool:
        """Return whether something was met before, by its number; otherwise number it."""
        number = self.numbers.get(id(thing))
        if number is None:
            self.numbers[id(thing)] = len(self.numbers)
        self.found.append(_NEW if number is None else number)
        return number is not None

    def _dims(self, dims: Sequence[Dim]) -> None:
        self.found += ["dims", len(dims)]
        for dim in dims:
            if not self._met(dim):
                self.found.append(dim.extent)
                if dim.parts != (dim,):
                    self._dims(dim.parts)

    def _element(self, buffer: Buffer, indices: tuple[Index, ...]) -> None:
        """Note an element by its distance from where the nest begins, and the facts that single axes decide.

        An axis that a dimension follows from its beginning may be read beyond its end, where a layout filled it up;
        what may lie outside is read on a condition only; and two elements are the same one if their indices are.
        """
        layout = self.layouts[buffer]
        if not self._met(buffer):
            self.found += [buffer.dtype, buffer.shape, layout]
        self.found.append(linear(layout, indices).offset - self.starts[buffer])
        self.found.append(self.elements.setdefault((id(buffer), indices), len(self.elements)))
        for index, extent in zip(indices, buffer.shape, strict=True):
            low, high = index.bounds
            self.found += [index.offset == 0, low < 0, high >= extent]
            self._terms(index)

    def _index(self, index: Index) -> None:
        self.found.append(index.offset)
        self._terms(index)

    def _terms(self, index: Index) -> None:
        self.found.append(len(index.terms))
        for term, coefficient in index.terms:
            self.found.append(coefficient)
            match term:
                case Dim():
                    self._dims((term,))
                case Digit():
                    self.found += ["part", term.divisor, term.modulus]
                    self._index(term.index)
                case Computed():
                    self.found += ["computed", term.extent]
                    self._expression(term.expression)

    def _expression(self, node: Expression) -> None:
        if self._met(node):
            return
        match node:
            case Const():
                self.found += ["const", node.dtype, node.dtype.type(node.value).tobytes()]
            case Iota():
                self.found += ["iota", node.dtype]
                self._index(node.index)
            case Load():
                self.found.append("load")
                self._element(node.buffer, node.indices)
            case Apply():  # no check, so that what it requires and where it stands do not count
                self.found += [node.operation, node.dtype, node.param, len(node.operands)]
                for operand in node.operands:
                    self._expression(operand)
            case Guard():
                self.found += ["guard", len(node.conditions)]
                for index, extent in node.conditions:
                    self.found.append(extent)
                    self._index(index)
                self._expression(node.body)
                self._expression(node.otherwise)
            case Reduce():
                self.found += ["reduce", node.combiner, node.dtype]
                self._dims(node.dims)
                self._expression(node.body)
