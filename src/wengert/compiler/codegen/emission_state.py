"""What the emission of a nest keeps track of: open loops, points of the tile, values known so far, indices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from wengert.compiler.llvm.ir_builder import I64, Builder, Kind, Value, constant, constants
from wengert.compiler.schedule.layout import Layout
from wengert.nest.expression import Buffer, Expression, Load, Reduce, children, indices_of
from wengert.nest.index import Computed, Digit, Dim, Index, Term

#: How far a point is from the counters of the loops, along the dimensions that are written out.
Offsets: TypeAlias = tuple[tuple[Dim, int], ...]


class Point(NamedTuple):
    """A point of a tile."""

    offsets: Offsets
    mask: Value | None = None
    """The lanes that exist, where not all do."""

    def offset(self, dim: Dim) -> int:
        """Return the offset along a dimension."""
        return next((offset for one, offset in self.offsets if one is dim), 0)


@dataclass
class Checks:
    """What a program may complain of, a number for each: ``check|what|line``."""

    places: list[str] = field(default_factory=list[str])

    def number(self, place: str) -> int:
        """Return the number of a place, from 1."""
        if place not in self.places:
            self.places.append(place)
        return self.places.index(place) + 1


class State(ABC):
    """Where the code that is written stands: the loops that are open, and what it has computed so far."""

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
        self.guarded: set[Dim] = set()
        """The dimensions on which it depends whether the code that is written is carried out."""
        self.tile: Mapping[Dim, int] = {}
        """The points that are computed together."""
        self.starts: Mapping[Buffer, int] = {}
        """The element of each buffer to which its pointer points, if it is not the first."""
        self.streams: frozenset[Load] = frozenset()
        """What is to be asked for ahead as it is read."""
        self.counters: dict[Dim, Value] = {}
        """The loops that are open; a dimension that is written out has none."""
        self.reduced: dict[tuple[int, Any], Value] = {}
        """The values of reductions, by node and point."""
        self._known: list[dict[Any, Value]] = [{}]
        self._dims: dict[int, tuple[Expression, frozenset[Dim], bool]] = {}

    # -- scopes ------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget at the end what is computed inside: it need not be computed on every way there."""
        self._known.append({})
        yield
        self._known.pop()

    def recall(self, key: Any) -> Value | None:
        """Return what is known under a key here, or None."""
        for known in reversed(self._known):
            if key in known:
                return known[key]
        return None

    def remember(self, key: Any, value: Value) -> Value:
        """Know a value under a key, to the end of the scope."""
        self._known[-1][key] = value
        return value

    @contextmanager
    def elsewhere(self, counters: Mapping[Dim, Value]) -> Generator[None]:
        """Stand at one point, at other turns of some loops, for a while: nothing computed so far is known there."""
        before = self.counters, self.tile, self._known
        self.counters, self.tile, self._known = {**self.counters, **counters}, {}, [{}]
        yield
        self.counters, self.tile, self._known = before

    @contextmanager
    def unreported(self) -> Generator[None]:
        """Say nothing of indices that lie outside: what is computed here is not read."""
        before: Callable[[Value, str], None] = self.report
        self.report = _say_nothing
        yield
        self.report = before

    @contextmanager
    def wide(self, vectors: int) -> Generator[None]:
        """Take several vectors for one, for a while."""
        before = self.width
        self.width *= vectors
        yield
        self.width = before

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

    def dims_of(self, term: Term) -> frozenset[Dim]:
        """Return the dimensions that a term of an index depends on."""
        if isinstance(term, Computed):
            return self.dims(term.expression)
        if isinstance(term, Digit):
            return frozenset[Dim]().union(*(self.dims_of(inner) for inner, _ in term.index.terms))
        return frozenset((term,))

    def aligned(self, values: Sequence[Value]) -> list[Value]:
        """Return the values all as vectors if one of them is."""
        lanes = max(value.kind.lanes for value in values)
        return [value if value.kind.lanes == lanes else self.builder.splat(value, lanes) for value in values]

    @abstractmethod
    def value(self, node: Expression, point: Point) -> Value:
        """Return the value of an expression: one number, or a vector where it depends on the lanes."""

    # -- indices -----------------------------------------------------------------------------------------

    def index(self, index: Index, point: Point) -> Value:
        """Return an index as a number: a vector where it depends on the lanes."""
        key = ("index", index, tuple(p for p in point.offsets), point.mask)
        known = self.recall(key)
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
            value = self.term(term, point)
            if value is not None:
                total = self._sum(total, self.times(value, coefficient))
        if total is None:
            return constant(I64, fixed)
        if fixed:
            total = self.builder.binary("add", total, constant(total.kind, fixed))
        return self.remember(key, total)

    def term(self, term: Term, point: Point) -> Value | None:
        """Return the part of a term that is known only when the program runs."""
        if isinstance(term, Dim):
            counter = self.counters.get(term)
            assert counter is not None or term in self.known, (
                "a loop around the nest must be a parameter of it"
            )
            return counter
        if isinstance(term, Computed):
            return self.value(term.expression, point)
        assert isinstance(term, Digit)
        b = self.builder
        inner = self.index(term.index, point)
        digit = b.binary("sdiv", inner, constant(inner.kind, term.divisor))
        return b.binary("srem", digit, constant(inner.kind, term.modulus))

    def times(self, value: Value, factor: int) -> Value:
        """Return a number times a constant."""
        return value if factor == 1 else self.builder.binary("mul", value, constant(value.kind, factor))

    def _sum(self, x: Value | None, y: Value) -> Value:
        if x is None:
            return y
        one, other = self.aligned([x, y])
        return self.builder.binary("add", one, other)


def _say_nothing(outside: Value, place: str) -> None:
    """Leave an index that lies outside unmentioned."""
