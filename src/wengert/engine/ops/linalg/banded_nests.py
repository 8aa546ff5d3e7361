"""Equations with banded matrices as nests in loops: a window of the unknowns moves along the diagonal.

The factors are those of LAPACK's ``gbtrf``. It exchanges rows step by step, and a step reaches as many rows as there
are diagonals: those of the right-hand side are scalars, which stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.engine.core.dtypes import BOOL, INT64, Dtype
from wengert.engine.core.shapes import Shape
from wengert.engine.nest.expression import Apply, Buffer, Expression, Guard, Iota, Load, zero
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.lowering import Operand, Pieces, Pointwise, Stage, Stages, Turns
from wengert.engine.ops.linalg.routines import banded_equations, lapack_banded_solution
from wengert.engine.primitive import OF_PROGRAMS, primitive


class _Window:
    """The next elements of a vector: scalars that move along it."""

    def __init__(self, length: int, dtype: Dtype) -> None:
        self.scalars = [Buffer(dtype, ()) for _ in range(length)]
        self.changed = [Buffer(dtype, ()) for _ in range(length - 1)]

    def at(self, place: int) -> Expression:
        """Return an element."""
        return Load(self.scalars[place], ())

    def start(self, values: Sequence[Expression]) -> list[Stage]:
        """Return the nests that fill it."""
        return [_stored(buffer, value) for buffer, value in zip(self.scalars, values, strict=True)]

    def moved(self, values: Sequence[Expression], entering: Expression) -> list[Stage]:
        """Return the nests that change all elements but the first, and move the window by one element."""
        changed = [_stored(buffer, value) for buffer, value in zip(self.changed, values, strict=True)]
        follow = (*(Load(buffer, ()) for buffer in self.changed), entering)
        return [*changed, *self.start(follow)]


def _stored(buffer: Buffer, value: Expression, *place: Index) -> Stage:
    return buffer, Pieces((), ((place, value),))


def _where(condition: Expression, yes: Expression, no: Expression) -> Expression:
    return Apply("where", (condition, yes, no), yes.dtype)


def _rest(x: Expression, factor: Expression, y: Expression) -> Expression:
    """Return ``x - factor y``."""
    return Apply("subtract", (x, Apply("multiply", (factor, y), x.dtype)), x.dtype)


def _element(read: Any, index: Index, count: int) -> Expression:
    """Return an element of a vector, zero beyond its ends."""
    low, high = index.bounds
    if high < 0 or low >= count:
        return zero(read(Index(0)).dtype)
    value = read(index)
    return value if low >= 0 and high < count else Guard(((index, count),), value, zero(value.dtype))


class _System:
    """The factors of one matrix of a stack, one right-hand side, and its solution."""

    def __init__(
        self, result: Operand, factors: Operand, exchanges: Operand, b: Operand, lower: int, upper: int
    ) -> None:
        assert isinstance(result.source, Buffer)
        self.counters = tuple(map(Dim, result.shape[:-1]))
        self.place = tuple(map(Index.of, self.counters))
        self.operands = factors, exchanges, b
        self.x = result.source
        self.y = Buffer(result.dtype, (result.shape[-1],))
        self.count, self.dtype = result.shape[-1], result.dtype
        self.lower, self.diagonal = lower, lower + upper

    def packed(self, column: Index, distance: int) -> Expression:
        """Return the element of the factors in a column, so far below the diagonal; zero outside of the matrix."""
        factors = self.operands[0]
        place = (*_leading(factors.shape[:-2], self.place[:-1]), column, Index(self.diagonal + distance))
        return _element(lambda _: factors.at(place), column + distance, self.count)

    def exchanged(self, column: Index) -> Expression:
        """Return the row, from 1, that a row was exchanged with."""
        exchanges = self.operands[1]
        place = (*_leading(exchanges.shape[:-1], self.place[:-1]), column)
        return Apply("cast", (exchanges.at(place),), INT64)

    def right(self, row: Index) -> Expression:
        """Return an element of the right-hand side; zero outside of it."""
        b = self.operands[2]
        lead = (*_leading(b.shape[:-2], self.place[:-1]), self.place[-1])
        return _element(lambda at: b.at((*lead, at)), row, self.count)

    def between(self, row: Index) -> Expression:
        """Return an element of ``L^-1 P b``; zero outside of it."""
        return _element(lambda at: Load(self.y, (at,)), row, self.count)

    def down(self) -> list[Stage]:
        """Return the steps of ``L y = P b``."""
        window, pivot, counter = _Window(self.lower + 1, self.dtype), Buffer(self.dtype, ()), Dim(self.count)
        j, first = Index.of(counter), Load(pivot, ())
        taken = self.exchanged(j)
        chosen, rows = window.at(0), list[Expression]()
        for k in range(1, self.lower + 1):
            is_taken = Apply("equal", (taken, Iota(j + k + 1)), BOOL)
            chosen = _where(is_taken, window.at(k), chosen)
            left = _where(is_taken, window.at(0), window.at(k))
            rows.append(_rest(left, self.packed(j, k), first))
        turn = (
            _stored(pivot, chosen),
            _stored(self.y, first, j),
            *window.moved(rows, self.right(j + self.lower + 1)),
        )
        initial = [self.right(Index(k)) for k in range(self.lower + 1)]
        return [*window.start(initial), Turns(counter, turn)]

    def up(self) -> list[Stage]:
        """Return the steps of ``U x = y``."""
        window, solved, counter = (
            _Window(self.diagonal + 1, self.dtype),
            Buffer(self.dtype, ()),
            Dim(self.count),
        )
        j, x = Index.of(counter), Load(solved, ())
        above = [_rest(window.at(k), self.packed(j, -k), x) for k in range(1, self.diagonal + 1)]
        turn = (
            _stored(solved, Apply("divide", (window.at(0), self.packed(j, 0)), self.dtype)),
            _stored(self.x, x, *self.place, j),
            *window.moved(above, self.between(j - (self.diagonal + 1))),
        )
        initial = [self.between(Index(self.count - 1 - k)) for k in range(self.diagonal + 1)]
        return [*window.start(initial), Turns(counter, turn, reverse=True)]


def _solved(i: Any, result: Operand, *operands: Operand, lower: int, upper: int) -> Stages:
    factors, exchanges, b = operands
    system = _System(result, factors, exchanges, b, lower, upper)
    return Stages(system.counters, (*system.down(), *system.up()))


def _leading(shape: Shape, place: Sequence[Index]) -> tuple[Index, ...]:
    """Return the leading indices of an operand that broadcasts."""
    aligned = place[len(place) - len(shape) :]
    return tuple(at if extent > 1 else Index(0) for at, extent in zip(aligned, shape, strict=True))


banded_substitution = primitive(
    name="banded_substitution",
    doc="x with A x = b from the factors of a banded matrix A with few diagonals; b and x are transposed",
    type_rule=lapack_banded_solution.type_rule,
    evaluate=lapack_banded_solution.evaluate,
    derivative=OF_PROGRAMS,
    batch=lapack_banded_solution.batch,
    lowering=Pointwise(_solved),
    source="banded_substitution({0}, {1}, {2}, {lower}, {upper})".format,
    samples=banded_equations,
)
