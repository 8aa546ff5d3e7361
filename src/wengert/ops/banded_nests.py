"""Equations with banded matrices as nests in loops: a window of the unknowns moves along the diagonal.

The factors are those of LAPACK's ``gbtrf``. It exchanges rows step by step, and a step reaches as many rows as there
are diagonals: those of the right-hand side are scalars, which stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.dtypes import BOOL, INT64, Dtype
from wengert.core.shapes import Shape
from wengert.nest.expression import Apply, Buffer, Expression, Guard, Iota, Load, zero
from wengert.nest.index import Dim, Index
from wengert.nest.lowering import Operand, Pieces, Pointwise, Stage, Stages, Turns
from wengert.ops.elementwise import batch_elementwise
from wengert.ops.routines import banded_equations, lapack_banded_solution
from wengert.primitive import NonDifferentiable, primitive


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


def _solved(
    i: Any, result: Operand, factors: Operand, exchanges: Operand, b: Operand, lower: int, upper: int
) -> Stages:
    """Return the steps of ``L y = P b``, down, and of ``U x = y``, up."""
    assert isinstance(result.source, Buffer)
    counters = tuple(map(Dim, result.shape[:-1]))
    place = tuple(map(Index.of, counters))
    count, dtype, diagonal = result.shape[-1], result.dtype, lower + upper

    def packed(row: Index, distance: int) -> Expression:
        """Return the element of the factors in a column, so far below the diagonal, zero outside of the matrix."""
        column = (*_leading(factors.shape[:-2], place[:-1]), row, Index(diagonal + distance))
        return _element(lambda _: factors.at(column), row + distance, count)

    y = Buffer(dtype, (count,))
    down, pivot, j = _Window(lower + 1, dtype), Buffer(dtype, ()), Dim(count)
    row = Index.of(j)
    taken = Apply("cast", (exchanges.at((*_leading(exchanges.shape[:-1], place[:-1]), row)),), INT64)
    is_taken = [Apply("equal", (taken, Iota(row + k + 1)), BOOL) for k in range(lower + 1)]
    chosen = down.at(0)
    for k in range(1, lower + 1):
        chosen = _where(is_taken[k], down.at(k), chosen)
    first = Load(pivot, ())
    rows = [_where(is_taken[k], down.at(0), down.at(k)) for k in range(1, lower + 1)]
    rows = [_rest(x, packed(row, k), first) for k, x in enumerate(rows, 1)]

    def right(index: Index) -> Expression:
        return b.at((*_leading(b.shape[:-2], place[:-1]), place[-1], index))

    up, solved, c = _Window(diagonal + 1, dtype), Buffer(dtype, ()), Dim(count)
    column = Index.of(c)
    x = Load(solved, ())
    above = [_rest(up.at(k), packed(column, -k), x) for k in range(1, diagonal + 1)]
    known = [_element(lambda at: Load(y, (at,)), Index(count - 1 - k), count) for k in range(diagonal + 1)]
    return Stages(
        counters,
        (
            *down.start([_element(right, Index(k), count) for k in range(lower + 1)]),
            Turns(
                j,
                (
                    _stored(pivot, chosen),
                    _stored(y, first, row),
                    *down.moved(rows, _element(right, row + lower + 1, count)),
                ),
            ),
            *up.start(known),
            Turns(
                c,
                (
                    _stored(solved, Apply("divide", (up.at(0), packed(column, 0)), dtype)),
                    _stored(result.source, x, *place, column),
                    *up.moved(above, _element(lambda at: Load(y, (at,)), column - (diagonal + 1), count)),
                ),
                reverse=True,
            ),
        ),
    )


def _leading(shape: Shape, place: Sequence[Index]) -> tuple[Index, ...]:
    """Return the leading indices of an operand that broadcasts."""
    aligned = place[len(place) - len(shape) :]
    return tuple(at if extent > 1 else Index(0) for at, extent in zip(aligned, shape, strict=True))


banded_substitution = primitive(
    name="banded_substitution",
    doc="x with A x = b from the factors of a banded matrix A with few diagonals; b and x are transposed",
    type_rule=lapack_banded_solution.type_rule,
    evaluate=lapack_banded_solution.evaluate,
    derivative=NonDifferentiable("it stands in compiled programs only, whose derivatives are taken before"),
    batch=batch_elementwise,
    lowering=Pointwise(_solved),
    source="banded_substitution({0}, {1}, {2}, {lower}, {upper})".format,
    samples=banded_equations,
)
