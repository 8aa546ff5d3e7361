"""Factorisations of matrices by columns and substitution, as nests in loops.

Each is one step of a block algorithm (`blocked`). A nest of a step runs along rows or columns; of a stack of
small matrices, along the matrices, with one of them in each lane. The loops are those of Crout: step j computes row j
and column j of the factors from the rows and columns before it, so that the rest of the matrix is read once.

Sources: Golub and Van Loan, "Matrix Computations" (2013), 3.2, 4.2, 5.2, 8.5. Rows are not moved while a matrix is
factorised: a list has their order, and a pivot is the first largest element in that order, as in LAPACK.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, FLOAT64, INT64, Dtype
from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.kernels import factorisation
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Guard, Iota, Load, Reduce, zero
from wengert.engine.nest.index import Computed, Dim, Index
from wengert.engine.nest.lowering import Operand, Pieces, Pointwise, Stage, Stages, Turns
from wengert.engine.ops.shape import move_batch
from wengert.engine.primitive import OF_PROGRAMS, Draw, Primitive, primitive

# -- expressions -----------------------------------------------------------------------------------------

_ZERO, _ONE = zero(FLOAT64), Const(np.float64(1), FLOAT64)


def _apply(operation: str, *operands: Expression, dtype: Dtype = FLOAT64) -> Expression:
    return Apply(operation, operands, dtype)


def _minus(x: Expression, y: Expression) -> Expression:
    return _apply("subtract", x, y)


def _times(x: Expression, y: Expression) -> Expression:
    return _apply("multiply", x, y)


def _over(x: Expression, y: Expression) -> Expression:
    return _apply("divide", x, y)


def _compared(operation: str, x: Expression | Index, y: Expression | Index) -> Expression:
    """Compare two numbers or two indices."""
    operands = (Iota(operand) if isinstance(operand, Index) else operand for operand in (x, y))
    return _apply(operation, *operands, dtype=BOOL)


def _where(condition: Expression, yes: Expression, no: Expression) -> Expression:
    return _apply("where", condition, yes, no, dtype=yes.dtype)


def _sum(dim: Dim, term: Expression, *conditions: tuple[Index, int]) -> Expression:
    """Return the sum of a term over a dimension, where conditions hold."""
    undecided = list[tuple[Index, int]]()
    for index, extent in conditions:
        low, high = index.bounds
        if high < 0 or low >= extent:
            return _ZERO
        if low < 0 or high >= extent:
            undecided.append((index, extent))
    body = Guard(tuple(undecided), term, _ZERO, absent=True) if undecided else term
    return Reduce("add", (dim,), body, FLOAT64) if dim.extent > 1 else body


def _before(k: Dim, j: Index) -> tuple[Index, int]:
    """Return the condition ``k < j``."""
    return j - Index.of(k) - 1, k.extent


def _after(k: Dim, j: Index) -> tuple[Index, int]:
    """Return the condition ``k > j``."""
    return Index.of(k) - j - 1, k.extent


# -- matrices and the buffers of a turn ------------------------------------------------------------------


class _Frame(NamedTuple):
    """The loops over the matrices of a stack, or over blocks of them."""

    counters: tuple[Dim, ...]
    lane: Dim
    """The matrix of a block; of extent 1 where each turn takes one."""
    matrix: tuple[Index, ...]
    """The leading indices of a matrix in operands and results."""

    def array(self, *shape: int, dtype: Dtype = FLOAT64) -> _Local:
        """Return an array of each matrix."""
        lanes = self.lane.extent > 1
        extents = (*shape, self.lane.extent) if lanes else shape
        return _Local(Buffer(dtype, extents, ordered=lanes), self.lane)

    def of(self, operand: Operand) -> Callable[..., Expression]:
        """Return the element of an operand at a row and a column."""
        return lambda *place: operand.at((*self.matrix, *place))

    def result(self, operand: Operand, dims: Sequence[Dim], *stores: _Stores) -> Stage:
        """Return the nest that stores elements of the result at rows and columns."""
        assert isinstance(operand.source, Buffer)
        written = tuple(((*self.matrix, *place), value) for place, value in stores)
        return operand.source, Pieces((*dims, self.lane), written)


_Stores = tuple[tuple[Index, ...], Expression]


class _Local(NamedTuple):
    """An array of each matrix of a block."""

    buffer: Buffer
    lane: Dim

    def _place(self, place: Sequence[Index]) -> tuple[Index, ...]:
        return (*place, Index.of(self.lane)) if self.lane.extent > 1 else tuple(place)

    def at(self, *place: Index) -> Expression:
        """Return an element."""
        return Load(self.buffer, self._place(place))

    def number(self, *place: Index, below: int) -> Index:
        """Return an element, a number of a row, as an index."""
        return Index.of(Computed(self.at(*place), below))

    def store(self, dims: Sequence[Dim], place: Sequence[Index], value: Expression) -> Stage:
        """Return the nest that stores one element at each point of some dimensions."""
        return self.buffer, Pieces((*dims, self.lane), ((self._place(place), value),))


def _frames(lead: Shape, lanes: int) -> list[_Frame]:
    """Return the loops over blocks of matrices, and over those that are less than a block."""
    if not lanes or not lead:
        counters = tuple(map(Dim, lead))
        return [_Frame(counters, Dim(1), tuple(map(Index.of, counters)))]
    blocks, remainder = divmod(lead[-1], lanes)
    frames: list[_Frame] = []
    for count, size, start in ((blocks, lanes, 0), (1, remainder, blocks * lanes)):
        if count * size:
            counters = (*map(Dim, lead[:-1]), Dim(count))
            *outer, block = map(Index.of, counters)
            lane = Dim(size)
            frames.append(_Frame(counters, lane, (*outer, block * lanes + Index.of(lane) + start)))
    return frames


def _in_frames(rule: Callable[..., Sequence[Stage]]) -> Pointwise:
    """Return the lowering that carries out a rule for each block of matrices."""

    def lowering(i: Any, result: Operand, *operands: Operand, lanes: int, **params: Any) -> Stages:
        remainder: Stages | None = None
        for frame in reversed(_frames(result.shape[:-2], lanes)):
            stages = rule(frame, result, *operands, **params)
            counters = tuple(sorted(frame.counters, key=lambda counter: -counter.extent))
            remainder = Stages(counters, tuple(stages), remainder)
        assert remainder is not None
        return remainder

    return Pointwise(lowering)


def _copy(frame: _Frame, operand: Operand, *, transposed: bool = False) -> tuple[_Local, Stage]:
    """Return a copy of the matrices of a block, which other nests make in its place, and its nest."""
    p, q = map(Dim, operand.shape[-2:])
    i, j = Index.of(p), Index.of(q)
    shape, place = ((q.extent, p.extent), (j, i)) if transposed else ((p.extent, q.extent), (i, j))
    local = frame.array(*shape)
    return local, local.store((p, q), place, frame.of(operand)(i, j))


# -- statements ------------------------------------------------------------------------------------------


def _stated(
    name: str,
    doc: str,
    shape: Callable[..., Shape],
    evaluate: Callable[..., Any],
    rule: Callable[..., Sequence[Stage]],
    samples: Callable[[Draw], Any],
) -> Primitive:
    """State a step of a block algorithm on stacks of matrices of float64 numbers with the same leading axes."""

    def types(*operands: TensorType, lanes: int, **params: Any) -> TensorType:
        lead = operands[0].shape[:-2]
        if any(operand.ndim < 2 or operand.shape[:-2] != lead for operand in operands):
            raise ShapeError(
                message(name, "stacks of matrices with the same leading axes are required", show(*operands))
            )
        if any(operand.dtype != FLOAT64 for operand in operands):
            raise DtypeError(message(name, "double precision is required", show(*operands)))
        return TensorType(FLOAT64, (*lead, *shape(*(operand.shape[-2:] for operand in operands))))

    def evaluated(*operands: Any, lanes: int, **params: Any) -> Any:
        arrays = list(map(np.asarray, operands))
        result = np.empty(types(*map(type_of, arrays), lanes=lanes).shape)
        for position in np.ndindex(result.shape[:-2]):
            result[position] = evaluate(*(array[position] for array in arrays), **params)
        return result

    def source(*operands: str, lanes: int, **params: Any) -> str:
        values = (value for key, value in params.items() if key != "requirement")
        return f"{name}({', '.join([*operands, *map(repr, values)])})"

    def drawn(draw: Draw) -> Any:
        operands, params = samples(draw)
        lead, lanes = draw.choice([((), 0), ((2,), 0), ((3,), 2), ((2, 2), 2)])
        return tuple(draw.array((*lead, 1, 1), 0.9, 1.1) * operand for operand in operands), {
            **params,
            "lanes": lanes,
        }

    return primitive(
        name=name,
        doc=doc,
        type_rule=types,
        evaluate=evaluated,
        derivative=OF_PROGRAMS,
        batch=lambda op, size, operands, batched, params: op(*move_batch(operands, batched, size), **params),
        lowering=_in_frames(rule),
        source=source,
        samples=drawn,
    )


def _square(draw: Draw) -> Any:
    rows = draw.integer(1, 5)
    return draw.array((rows, rows), -0.5, 0.5) + 2 * np.eye(rows)


# -- Cholesky factor -------------------------------------------------------------------------------------


def _cholesky(frame: _Frame, result: Operand, a: Operand, requirement: str) -> list[Stage]:
    """Compute row j of ``U = L^T``: ``u_j = (a_j - sum over k < j of u_kj u_k) / u_jj``."""
    u, copy = _copy(frame, a, transposed=True)
    rows = result.shape[-1]
    counter, i, k = Dim(rows), Dim(rows), Dim(rows)
    j, column, row = Index.of(counter), Index.of(i), Index.of(k)
    residual, pivot = frame.array(rows), frame.array()
    products = _sum(k, _times(u.at(row, j), u.at(row, column)), _before(k, j))
    square = residual.at(j)
    holds = _apply("logical_not", _compared("less_equal", square, _ZERO), dtype=BOOL)
    root = Apply("required", (_apply("sqrt", square), holds), FLOAT64, requirement=requirement)
    beside = _where(_compared("greater", column, j), _over(residual.at(column), pivot.at()), _ZERO)
    value = _where(_compared("equal", column, j), pivot.at(), beside)
    p, q = Dim(rows), Dim(rows)
    first, second = Index.of(p), Index.of(q)
    return [
        copy,
        Turns(
            counter,
            (
                residual.store((i,), (column,), _minus(u.at(j, column), products)),
                pivot.store((), (), root),
                u.store((i,), (j, column), value),
            ),
        ),
        frame.result(result, (p, q), ((first, second), u.at(second, first))),
    ]


def _positive(draw: Draw) -> Any:
    a = _square(draw)
    return (a @ a.T,), {"requirement": "sample: it must be positive definite"}


cholesky_by_rows = _stated(
    "cholesky_by_rows",
    "the lower triangular L with L L^T = A, or an error with the requirement on A",
    lambda a: a,
    factorisation.cholesky_by_rows,
    _cholesky,
    _positive,
)

# -- triangular equations --------------------------------------------------------------------------------


def _substitution(
    frame: _Frame, result: Operand, t: Operand, b: Operand, lower: bool, unit: bool
) -> list[Stage]:
    """Compute row i of the solution: ``x_i = (b_i - sum of t_ik x_k) / t_ii`` over the k before i, or after it."""
    rows, columns = result.shape[-2:]
    matrix, copy = _copy(frame, t)
    x, start = _copy(frame, b)
    counter, c, k = Dim(rows), Dim(columns), Dim(rows)
    i, column, row = Index.of(counter), Index.of(c), Index.of(k)
    condition = _before(k, i) if lower else _after(k, i)
    products = _sum(k, _times(matrix.at(i, row), x.at(row, column)), condition)
    value = _minus(x.at(i, column), products)
    solved = frame.array(columns)
    p, q = Dim(rows), Dim(columns)
    place = (Index.of(p), Index.of(q))
    return [
        copy,
        start,
        Turns(
            counter,
            (
                solved.store((c,), (column,), value if unit else _over(value, matrix.at(i, i))),
                x.store((c,), (i, column), solved.at(column)),
            ),
            reverse=not lower,
        ),
        frame.result(result, (p, q), (place, x.at(*place))),
    ]


def _equations(draw: Draw) -> Any:
    t = _square(draw)
    params = {"lower": draw.choice([False, True]), "unit": draw.choice([False, True])}
    return (t, draw.array((t.shape[-1], draw.integer(1, 3)))), params


substitution = _stated(
    "substitution",
    "x with T x = b, for a triangular T of which the other triangle, and with unit the diagonal, is not read",
    lambda t, b: b,
    factorisation.substitution,
    _substitution,
    _equations,
)

# -- LU factors ------------------------------------------------------------------------------------------


class _Elimination(NamedTuple):
    """The arrays of an elimination with partial pivoting; the rows of the matrix and of L stay where they are."""

    matrix: _Local
    lower: _Local
    """The columns of L."""
    upper: _Local
    """The rows of U."""
    order: _Local
    """The rows in their present order."""
    moved: _Local
    """The same after an exchange."""
    column: _Local
    """The remainder of a column of the matrix."""
    row: _Local
    across: _Local
    """The row of L of the pivot."""
    best: _Local
    """The place of the pivot in the order."""
    chosen: _Local
    """The row of the pivot."""
    pivot: _Local


def _lu(frame: _Frame, result: Operand, a: Operand) -> list[Stage]:
    """Compute column j of L and row j of U, and between them take the pivot from the rows that are left."""
    rows, columns = a.shape[-2:]
    steps = min(rows, columns)
    matrix, copy = _copy(frame, a)
    arrays = _Elimination(
        matrix,
        lower=frame.array(steps, rows),
        upper=frame.array(steps, columns),
        order=frame.array(rows, dtype=INT64),
        moved=frame.array(rows, dtype=INT64),
        column=frame.array(rows),
        row=frame.array(columns),
        across=frame.array(steps),
        best=frame.array(dtype=INT64),
        chosen=frame.array(dtype=INT64),
        pivot=frame.array(),
    )
    k, r, c = Dim(steps), Dim(rows), Dim(columns)
    step, row, column = Index.of(k), Index.of(r), Index.of(c)
    return [
        copy,
        arrays.lower.store((k, r), (step, row), _ZERO),
        arrays.upper.store((k, c), (step, column), _ZERO),
        arrays.order.store((r,), (row,), Iota(row)),
        _eliminated(arrays, rows, columns),
        *_packed(frame, result, arrays, rows, columns),
    ]


def _eliminated(arrays: _Elimination, rows: int, columns: int) -> Turns:
    """Return the steps of an elimination."""
    matrix, lower, upper, order, moved, column, row, across, best, chosen, pivot = arrays
    steps = min(rows, columns)
    counter, r, c, k, n = Dim(steps), Dim(rows), Dim(columns), Dim(steps), Dim(rows)
    j, i, at, term, place = (Index.of(dim) for dim in (counter, r, c, k, n))
    pivot_row = chosen.number(below=rows)
    above = _sum(k, _times(upper.at(term, j), lower.at(term, i)), _before(k, j))
    beside = _sum(k, _times(across.at(term), upper.at(term, at)), _before(k, j))
    size = _apply("absolute", column.at(order.number(place, below=rows)))
    left = _where(_compared("less", place, j), Const(np.float64(-1), FLOAT64), size)
    exchanged = _where(_compared("equal", Iota(i), best.at()), order.at(j), order.at(i))
    exchanged = _where(_compared("equal", i, j), chosen.at(), exchanged)
    divisor = _where(_compared("equal", pivot.at(), _ZERO), _ONE, pivot.at())  # all below it are 0 then
    turn = (
        column.store((r,), (i,), _minus(matrix.at(i, j), above)),
        best.store((), (), Reduce("argmax", (n,), left, INT64) if rows > 1 else zero(INT64)),
        chosen.store((), (), order.at(best.number(below=rows))),
        pivot.store((), (), column.at(pivot_row)),
        moved.store((r,), (i,), exchanged),
        order.store((r,), (i,), moved.at(i)),
        across.store((k,), (term,), lower.at(term, pivot_row)),
        row.store((c,), (at,), _minus(matrix.at(pivot_row, at), beside)),
        upper.store((c,), (j, at), _where(_compared("equal", at, j), pivot.at(), row.at(at))),
        lower.store((r,), (j, i), _over(column.at(i), divisor)),
    )
    return Turns(counter, turn)


def _packed(frame: _Frame, result: Operand, arrays: _Elimination, rows: int, columns: int) -> list[Stage]:
    """Return the nests that put the factors and the order together."""
    steps = min(rows, columns)
    p, q, last = Dim(rows), Dim(columns), Dim(rows)
    row, column, end = Index.of(p), Index.of(q), Index.of(last)
    below = arrays.lower.at(column, arrays.order.number(row, below=rows))
    above = arrays.upper.at(row, column)
    if columns > steps:
        below = Guard(((column, steps),), below, _ZERO)
    if rows > steps:
        above = Guard(((row, steps),), above, _ZERO)
    packed = _where(_compared("less", column, row), below, above)
    return [
        frame.result(result, (p, q), ((row, column), packed)),
        frame.result(result, (last,), ((end, Index(columns)), _apply("cast", arrays.order.at(end)))),
    ]


def _rectangular(draw: Draw) -> Any:
    return (draw.array((draw.integer(1, 5), draw.integer(1, 5)), -1, 1),), {}


lu_by_columns = _stated(
    "lu_by_columns",
    "L and U with P A = L U, with partial pivoting, in one matrix, and a column with the order of the rows; where all "
    "pivots of a column are zero, U has a zero on the diagonal",
    lambda a: (a[0], a[1] + 1),
    factorisation.lu_by_columns,
    _lu,
    _rectangular,
)

# -- Householder reflections -----------------------------------------------------------------------------


def _householder(frame: _Frame, result: Operand, a: Operand) -> list[Stage]:
    """Reflect column j onto its first axis, and the columns after it in the same mirror."""
    rows, columns = a.shape[-2:]
    matrix, copy = _copy(frame, a, transposed=True)
    taus = frame.array(columns)
    counter, c = Dim(columns), Dim(columns)
    j, column = Index.of(counter), Index.of(c)
    mirror, head, prepared = _mirror(frame, matrix, taus, j, rows)
    turn = (*prepared, *_reflected(frame, matrix, mirror, head, taus.at(j), j, (rows, columns)))
    p, q = Dim(rows), Dim(columns)
    place = (Index.of(p), Index.of(q))
    return [
        copy,
        taus.store((c,), (column,), _ZERO),
        Turns(counter, turn),
        frame.result(result, (p, q), (place, matrix.at(place[1], place[0]))),
        frame.result(result, (c,), ((Index(rows), column), taus.at(column))),
    ]


def _mirror(
    frame: _Frame, matrix: _Local, taus: _Local, j: Index, rows: int
) -> tuple[_Local, _Local, tuple[Stage, ...]]:
    """Return the vector of the reflection of column j, what it makes of the first element, and the nests of both.

    The largest element is the unit, so that squares neither overflow nor underflow. A column that has no elements
    below the diagonal is not reflected.
    """
    mirror, unit, squares, head, divisor = (frame.array(*shape) for shape in ((rows,), (), (), (), ()))
    r, n, m = Dim(rows), Dim(rows), Dim(rows)
    i, term, column = Index.of(r), Index.of(n), Index.of(m)
    left = _where(_compared("less", column, j), _ZERO, _apply("absolute", matrix.at(j, column)))
    largest = Reduce("maximum", (m,), left, FLOAT64) if rows > 1 else left
    scale = _where(_compared("equal", unit.at(), _ZERO), _ONE, unit.at())
    share, alpha = _over(matrix.at(j, term), scale), matrix.at(j, j)
    first = _over(alpha, scale)
    length = _times(scale, _apply("sqrt", _apply("add", _times(first, first), squares.at())))
    flat = _compared("equal", squares.at(), _ZERO)
    beta = _where(_compared("less", alpha, _ZERO), length, _apply("negative", length))
    tau = _where(flat, _ZERO, _over(_minus(head.at(), alpha), head.at()))
    below = _where(_compared("greater", i, j), _over(matrix.at(j, i), divisor.at()), _ZERO)
    stages = (
        unit.store((), (), largest),
        squares.store((), (), _sum(n, _times(share, share), _after(n, j))),
        head.store((), (), _where(flat, alpha, beta)),
        divisor.store((), (), _where(flat, _ONE, _minus(alpha, head.at()))),
        taus.store((), (j,), tau),
        mirror.store((r,), (i,), _where(_compared("equal", i, j), _ONE, below)),
    )
    return mirror, head, stages


def _reflected(
    frame: _Frame,
    matrix: _Local,
    mirror: _Local,
    head: _Local,
    tau: Expression,
    j: Index,
    shape: tuple[int, int],
) -> tuple[Stage, ...]:
    """Return the nests that reflect the columns after j, and store column j: its head, and the vector below."""
    rows, columns = shape
    c, r, n = Dim(columns), Dim(rows), Dim(rows)
    column, i, term = Index.of(c), Index.of(r), Index.of(n)
    shares = frame.array(columns)
    product = _times(tau, _sum(n, _times(matrix.at(column, term), mirror.at(term))))
    own = _where(_compared("greater", i, j), mirror.at(i), matrix.at(j, i))
    return (
        shares.store((c,), (column,), _where(_compared("greater", column, j), product, _ZERO)),
        matrix.store(
            (c, r), (column, i), _minus(matrix.at(column, i), _times(shares.at(column), mirror.at(i)))
        ),
        matrix.store((r,), (j, i), _where(_compared("equal", i, j), head.at(), own)),
    )


def _tall(draw: Draw) -> Any:
    columns = draw.integer(1, 4)
    return (draw.array((columns + draw.integer(0, 3), columns), -1, 1),), {}


householder_by_columns = _stated(
    "householder_by_columns",
    "R, below its diagonal the vectors v of reflections 1 - tau v v^T whose product is Q, and below them a row of tau; "
    "no fewer rows than columns",
    lambda a: (a[0] + 1, a[1]),
    factorisation.householder_by_columns,
    _householder,
    _tall,
)

# -- eigenvalues of symmetric matrices -------------------------------------------------------------------


class _Rotations(NamedTuple):
    """The arrays of Jacobi's method: of a matrix on its way to its eigenvalues, and of the rotations of a step."""

    matrix: _Local
    half: _Local
    """The matrix with only its rows rotated."""
    vectors: _Local
    """The eigenvectors, as rows."""
    turned: _Local
    values: _Local
    """The diagonal."""
    twice: _Local
    """Twice the element at which each row crosses the one that it is paired with."""
    tangent: _Local
    """Of the angle by which each row is rotated; the other row of a pair turns the other way."""
    cosine: _Local
    sine: _Local


def _jacobi(frame: _Frame, result: Operand, a: Operand, sweeps: int) -> list[Stage]:
    """Rotate pairs of rows and columns, disjoint ones at once, until the matrix is diagonal."""
    rows = a.shape[-1]
    steps = factorisation.pairings(rows)
    arrays = _Rotations(*(frame.array(*shape) for shape in [(rows, rows)] * 4 + [(rows,)] * 5))
    unit, partners = frame.array(), _Local(Buffer(INT64, (steps, rows)), Dim(1))
    p, q, m, n, s = Dim(rows), Dim(rows), Dim(rows), Dim(rows), Dim(steps)
    i, j, step, element = Index.of(p), Index.of(q), Index.of(s), frame.of(a)
    size = _apply("absolute", element(Index.of(m), Index.of(n)))
    start = _over(element(i, j), unit.at())
    counter = Dim(steps)
    return [
        partners.store((s, p), (step, i), _partner(step, i, rows)),
        unit.store((), (), _unit(Reduce("maximum", (m, n), size, FLOAT64))),
        arrays.matrix.store((p, q), (i, j), start),
        arrays.values.store((p,), (i,), arrays.matrix.at(i, i)),
        arrays.vectors.store((p, q), (i, j), _where(_compared("equal", i, j), _ONE, _ZERO)),
        Turns(Dim(sweeps), (Turns(counter, _rotated(arrays, partners, Index.of(counter), rows)),)),
        *_ascending(frame, result, arrays, unit, rows),
    ]


def _unit(largest: Expression) -> Expression:
    """Return what a matrix is divided by: 1, or the largest element where it is too large or too small."""
    low, high = (
        Const(np.float64(bound), FLOAT64)
        for bound in (factorisation.LEAST_SCALE, factorisation.LARGEST_SCALE)
    )
    within = _apply(
        "logical_and", _compared("less", low, largest), _compared("less", largest, high), dtype=BOOL
    )
    plain = _apply("logical_or", within, _compared("equal", largest, _ZERO), dtype=BOOL)
    return _where(plain, _ONE, largest)


def _partner(step: Index, row: Index, rows: int) -> Expression:
    """Return `factorisation.partners` of a step and a row."""

    def modulo(index: Index) -> Expression:
        return _apply("remainder", Iota(index), Const(np.int64(odd), INT64), dtype=INT64)

    odd = factorisation.pairings(rows)
    partner = modulo(step - row)
    if rows % 2:
        return partner
    partner = _where(_compared("equal", partner, row), Iota(Index(rows - 1)), partner)
    return _where(_compared("less", row, Index(odd)), partner, modulo(step * ((odd + 1) // 2)))


def _rotated(arrays: _Rotations, partners: _Local, step: Index, rows: int) -> tuple[Stage, ...]:
    """Return the nests that rotate all pairs of a step, as `factorisation.eigh_by_rotations` does."""
    matrix, half, vectors, turned, values, twice, tangent, cosine, sine = arrays
    p, q = Dim(rows), Dim(rows)
    i, j = Index.of(p), Index.of(q)
    partner, across = (partners.number(step, index, below=rows) for index in (i, j))
    gap, crossing = _minus(values.at(partner), values.at(i)), twice.at(i)
    first = _compared("less", i, partner)
    positive = _apply(
        "where", _compared("equal", gap, _ZERO), first, _compared("greater", gap, _ZERO), dtype=BOOL
    )
    squares = _apply("add", _times(gap, gap), _times(crossing, crossing))
    length = _apply("add", _apply("absolute", gap), _apply("sqrt", squares))
    least = Const(np.float64(factorisation.NEGLIGIBLE), FLOAT64)
    small = _compared("less", _apply("absolute", crossing), least)
    still = _apply("logical_or", small, _compared("equal", i, partner), dtype=BOOL)
    divisor = _where(still, _ONE, _where(positive, length, _apply("negative", length)))
    slope = tangent.at(i)
    change = _times(Const(np.float64(0.5), FLOAT64), _times(slope, crossing))

    def turn(of: _Local) -> Expression:
        """Return an element of a row, rotated."""
        return _minus(_times(cosine.at(i), of.at(i, j)), _times(sine.at(i), of.at(partner, j)))

    both = _minus(_times(cosine.at(j), half.at(i, j)), _times(sine.at(j), half.at(i, across)))
    both = _where(_compared("equal", i, across), _ZERO, both)
    return (
        twice.store((p,), (i,), _apply("add", matrix.at(i, partner), matrix.at(partner, i))),
        tangent.store((p,), (i,), _where(still, _ZERO, _over(crossing, divisor))),
        cosine.store((p,), (i,), _over(_ONE, _apply("sqrt", _apply("add", _ONE, _times(slope, slope))))),
        sine.store((p,), (i,), _times(slope, cosine.at(i))),
        values.store((p,), (i,), _minus(values.at(i), change)),
        half.store((p, q), (i, j), turn(matrix)),
        matrix.store((p, q), (i, j), _where(_compared("equal", i, j), values.at(i), both)),
        turned.store((p, q), (i, j), turn(vectors)),
        vectors.store((p, q), (i, j), turned.at(i, j)),
    )


def _ascending(frame: _Frame, result: Operand, arrays: _Rotations, unit: _Local, rows: int) -> list[Stage]:
    """Return the nests that store eigenvalues and eigenvectors in the order of the values, NaN last."""
    rank, order, keys = (frame.array(rows, dtype=dtype) for dtype in (INT64, INT64, FLOAT64))
    p, q, n = Dim(rows), Dim(rows), Dim(rows)
    i, j, k = map(Index.of, (p, q, n))
    value, infinity = arrays.values.at(i), Const(np.float64(np.inf), FLOAT64)
    ties = _apply(
        "logical_and", _compared("equal", keys.at(k), keys.at(i)), _compared("less", k, i), dtype=BOOL
    )
    before = _apply("logical_or", _compared("less", keys.at(k), keys.at(i)), ties, dtype=BOOL)
    increment, none = Const(np.int64(1), INT64), zero(INT64)
    place = _where(_compared("equal", rank.at(k), i), Iota(k), none)
    taken = order.number(j, below=rows)
    return [
        keys.store((p,), (i,), _where(_compared("equal", value, value), value, infinity)),
        rank.store((p,), (i,), Reduce("add", (n,), _where(before, increment, none), INT64)),
        order.store((p,), (i,), Reduce("add", (n,), place, INT64)),
        frame.result(result, (q,), ((Index(0), j), _times(arrays.values.at(taken), unit.at()))),
        frame.result(result, (p, q), ((i + 1, j), arrays.vectors.at(taken, i))),
    ]


def _symmetric(draw: Draw) -> Any:
    a = _square(draw)
    return (a + a.T,), {"sweeps": 8}


eigh_by_rotations = _stated(
    "eigh_by_rotations",
    "the eigenvalues of symmetric matrices, ascending, as a row above their eigenvectors, which are columns, by sweeps "
    "of Jacobi's rotations; of matrices with NaN or infinities, NaN",
    lambda a: (a[0] + 1, a[1]),
    factorisation.eigh_by_rotations,
    _jacobi,
    _symmetric,
)
