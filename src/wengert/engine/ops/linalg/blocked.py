"""Factorisations and equations of any size, as programs of products and of steps on a few rows or columns.

A matrix is divided recursively in halves until the blocks are small. Half of the work of each level is a product, which
the compiler carries out as it does all products; the rest is the same problem for two halves. So the Cholesky factor
and LU factors (Toledo, "Locality of reference in LU decomposition with partial pivoting", 1997), and triangular
equations. The reflections of QR factors are gathered in blocks ``1 - V T V^T`` (Schreiber and Van Loan, "A
storage-efficient WY representation for products of Householder transformations", 1989). As in NumPy, the programs run
in float64, also for float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import FLOAT64, INT64, Dtype, dtype_of
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import absolute, floor
from wengert.engine.ops.comparison import (
    equal,
    greater,
    isfinite,
    less,
    logical_and,
    logical_not,
    require,
    where,
)
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.exponential import exp, exp2, log, log2
from wengert.engine.ops.indexing import gather, scatter
from wengert.engine.ops.linalg.lu import section
from wengert.engine.ops.linalg.nests import (
    cholesky_by_rows,
    eigh_by_rotations,
    householder_by_columns,
    lu_by_columns,
    substitution,
)
from wengert.engine.ops.linalg.square import lower as lower_triangle
from wengert.engine.ops.linalg.square import multiply, swapped, symmetric
from wengert.engine.ops.reduction import reduce_all, reduce_any, reduce_max, reduce_prod, reduce_sum
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, slice_, whole

_LEAST_PIVOT = 2.0**-60
"""What stands for a pivot of zero, relative to the largest element."""


class Blocks:
    """The programs for blocks of a certain size.

    Args:
        rows: the most rows of a block of a triangular matrix that is not divided.
        columns: the most columns of LU factors and reflections that are computed in one loop.
        lanes: how many small matrices of a stack are factorised together, one in each lane; 0 for one at a time.
    """

    def __init__(self, rows: int, columns: int, lanes: int) -> None:
        self.rows = rows
        self.columns = columns
        self.lanes = lanes

    # -- Cholesky factor ---------------------------------------------------------------------------------

    def cholesky(self, a: Any) -> Any:
        """Return the lower triangular L with ``L L^T = A``."""
        requirement = f"cholesky: Matrix is not positive definite; got {show(a)}"
        return stacked(lambda a: self._cholesky(a, requirement), a)

    def _cholesky(self, a: Any, requirement: str) -> Any:
        count = shape_of(a)[-1]
        if count <= self.rows:
            return cholesky_by_rows(a, requirement=requirement, lanes=self.lanes)
        half = _half(count, self.rows)
        first, last = (0, half), (half, count)
        above = self._cholesky(section(a, first, first), requirement)
        beside = swapped(self._substituted(above, swapped(section(a, last, first)), True, False))
        complement = section(a, last, last) - multiply(beside, swapped(beside))
        below = self._cholesky(complement, requirement)
        zeros = np.zeros((*shape_of(a)[:-2], half, count - half))
        return _joined([[above, zeros], [beside, below]])

    def cholesky_tangent(self, factor: Any, right: Any) -> Any:
        """Return the lower triangular T with ``T L^T + L T^T = S``: ``L low(L^-1 S L^-T)``."""

        def program(factor: Any, right: Any) -> Any:
            factor, low = lower_triangle(factor), half_of_diagonal(right)
            inner = self._substituted(factor, low + swapped(low), True, False)
            inner = self._substituted(factor, swapped(inner), True, False)
            return multiply(factor, half_of_diagonal(inner))

        return stacked(program, factor, right)

    def cholesky_cotangent(self, factor: Any, right: Any) -> Any:
        """Return the lower triangular B with ``(B + B^T) L = G``: ``low(L^-T (W + W^T) L^-1)``, ``W = low(L^T G)``."""

        def program(factor: Any, right: Any) -> Any:
            upper = swapped(lower_triangle(factor))
            low = half_of_diagonal(multiply(upper, lower_triangle(right)))
            inner = self._substituted(upper, low + swapped(low), False, False)
            inner = self._substituted(upper, swapped(inner), False, False)
            return half_of_diagonal(inner)

        return stacked(program, factor, right)

    # -- triangular equations ----------------------------------------------------------------------------

    def solve_triangular(self, a: Any, b: Any, lower: bool, unit: bool) -> Any:
        """Return x with ``A x = b``, where only one triangle of A is read, and with ``unit`` not its diagonal."""
        x = stacked(lambda a, b: self._substituted(a, b, lower, unit), a, b)
        if unit:
            return x
        return unless(x, equal(diagonal(a), 0.0), "singular matrix", "solve_triangular", a, b)

    def _substituted(self, t: Any, b: Any, lower: bool, unit: bool) -> Any:
        count, columns = shape_of(b)[-2:]
        if count <= self.rows:
            return substitution(t, b, lower=lower, unit=unit, lanes=self.lanes)
        half, every = _half(count, self.rows), (0, columns)
        first, last = (0, half), (half, count)
        early, late = (first, last) if lower else (last, first)
        x = self._substituted(section(t, early, early), section(b, early, every), lower, unit)
        residual = section(b, late, every) - multiply(section(t, late, early), x)
        y = self._substituted(section(t, late, late), residual, lower, unit)
        return concatenate(*((x, y) if lower else (y, x)), axis=len(shape_of(b)) - 2)

    # -- LU factors --------------------------------------------------------------------------------------

    def lu(self, a: Any) -> tuple[Any, ...]:
        """Return L and U with ``P A = L U`` in one matrix, with a column that holds the order of the rows."""
        return (stacked(self._lu, a),)

    def _lu(self, a: Any) -> Any:
        rows, columns = shape_of(a)[-2:]
        if columns <= self.columns:
            return lu_by_columns(a, lanes=self.lanes)
        half = _half(columns, self.columns)
        packed = self._lu(section(a, (0, rows), (0, half)))
        left, order = section(packed, (0, rows), (0, half)), _order(packed)
        right = _taken(section(a, (0, rows), (half, columns)), order)
        every = (0, columns - half)
        above = self._substituted(
            section(left, (0, half), (0, half)), section(right, (0, half), every), True, True
        )
        beside = section(left, (half, rows), (0, half))
        below = self._lu(section(right, (half, rows), every) - multiply(beside, above))
        later = _order(below)
        beside = _taken(beside, later)
        numbers = section(packed, (0, rows), (half, half + 1))
        moved = _taken(section(numbers, (half, rows), (0, 1)), later)
        return _joined(
            [
                [section(left, (0, half), (0, half)), above, section(numbers, (0, half), (0, 1))],
                [beside, section(below, (0, rows - half), every), moved],
            ]
        )

    def solution(self, factors: Any, a: Any, b: Any, *, transposed: bool, operation: str = "solve") -> Any:
        """Return x with ``A x = b``, or with ``A^T x = b``, from the LU factors of A."""

        def program(packed: Any, b: Any) -> Any:
            count = shape_of(packed)[-2]
            both, order = section(packed, (0, count), (0, count)), _order(packed)
            if not transposed:
                y = self._substituted(both, _taken(b, order), True, True)
                return self._substituted(both, y, False, False)
            turned = swapped(both)
            y = self._substituted(turned, b, True, False)
            return _taken(self._substituted(turned, y, False, True), _inverse_order(order))

        (packed,) = factors
        x = cast(stacked(program, packed, b), dtype=np.result_type(dtype_of(a), dtype_of(b)))
        shown = (a, b) if operation == "solve" else (a,)
        return unless(x, equal(diagonal(packed), 0.0), "Singular matrix", operation, *shown)

    def inverse(self, factors: Any, a: Any) -> Any:
        """Return the inverse of A from its LU factors."""
        unit = np.eye(shape_of(a)[-1], dtype=dtype_of(a))
        return self.solution(factors, a, unit, transposed=False, operation="inverse")

    def cofactors(self, factors: Any, a: Any) -> Any:
        """Return ``det(A) A^-T`` from the LU factors of A, a pivot of zero replaced by one below its rounding error."""
        packed, *others = factors
        is_zero = logical_and(equal(packed, 0.0), np.eye(*shape_of(packed)[-2:], dtype=bool))
        rank = len(shape_of(packed))
        largest = reduce_max(absolute(cast(a, dtype=FLOAT64)), axes=(rank - 2, rank - 1))
        largest = where(logical_and(greater(largest, 0.0), isfinite(largest)), largest, 1.0)
        scale = reshape(exp2(floor(log2(largest))), shape=(*shape_of(a)[:-2], 1, 1))
        packed = where(is_zero, _LEAST_PIVOT * scale, packed)
        # The determinant may be too large or too small for a number where the cofactors are not.
        size = self.determinant((packed / scale, *others), FLOAT64)
        size = reshape(size, shape=(*shape_of(a)[:-2], 1, 1))
        result = size * (swapped(self.inverse((packed, *others), a)) * scale)
        powers = shape_of(a)[-1] - 1
        result = cast(result * scale ** (powers // 2) * scale ** (powers - powers // 2), dtype=dtype_of(a))
        has_zero = reduce_any(is_zero, axes=(rank - 2, rank - 1))
        beyond = logical_and(has_zero, logical_not(reduce_all(isfinite(result), axes=(rank - 2, rank - 1))))
        failed = reshape(beyond, shape=(*shape_of(beyond), 1))
        return unless(result, failed, "Too many pivots are zero", "cofactors", a)

    # -- determinants from LU factors --------------------------------------------------------------------

    def log_determinant(self, factors: Any, dtype: Dtype) -> Any:
        """Return ``ln |det A|``."""
        pivots = absolute(self._pivots(factors))
        total = reduce_sum(log(where(equal(pivots, 0.0), 1.0, pivots)), axes=(len(shape_of(pivots)) - 1,))
        return cast(where(_has_zero(pivots), -np.inf, total), dtype=dtype)

    def determinant_sign(self, factors: Any, dtype: Dtype) -> Any:
        """Return the sign of the determinant: of the pivots, and of the order of the rows; 0 for a singular matrix."""
        pivots = self._pivots(factors)
        negative = cast(less(pivots, 0.0), dtype=INT64)
        negative = reduce_sum(negative, axes=(len(shape_of(pivots)) - 1,))
        signed = 1.0 - 2.0 * cast((self._exchanges(factors) + negative) % 2, dtype=FLOAT64)
        return cast(where(_has_zero(pivots), 0.0, signed), dtype=dtype)

    def determinant(self, factors: Any, dtype: Dtype) -> Any:
        """Return the determinant, also where a partial product overflows or underflows."""
        pivots = self._pivots(factors)
        product = reduce_prod(absolute(pivots), axes=(len(shape_of(pivots)) - 1,))
        limits = np.finfo(np.float64)
        is_within = logical_and(greater(product, limits.tiny), less(product, limits.max))
        size = where(is_within, product, exp(self.log_determinant(factors, FLOAT64)))
        return cast(size * self.determinant_sign(factors, FLOAT64), dtype=dtype)

    def _pivots(self, factors: Any) -> Any:
        (packed,) = factors
        return diagonal(packed)

    def _exchanges(self, factors: Any) -> Any:
        """Return how many pairs of rows are exchanged."""
        (packed,) = factors
        count, rank = shape_of(packed)[-2], len(shape_of(packed))
        order = section(packed, (0, count), (count, count + 1))
        is_inverted = logical_and(
            greater(order, swapped(order)), np.triu(np.ones((count, count), dtype=bool))
        )
        return reduce_sum(cast(is_inverted, dtype=INT64), axes=(rank - 2, rank - 1))

    # -- Householder reflections -------------------------------------------------------------------------

    def qr(self, a: Any) -> Any:
        """Return Q, with orthonormal columns, above R."""
        return stacked(self._qr, a)

    def _qr(self, a: Any) -> Any:
        rows, columns = shape_of(a)[-2:]
        packed = self._reflected(a)
        both = section(packed, (0, rows), (0, columns))
        mirrors, taus = _mirrors(both), section(packed, (rows, rows + 1), (0, columns))
        first = swapped(section(mirrors, (0, columns), (0, columns)))
        moved = multiply(mirrors, self._gathered(mirrors, taus, first, transposed=False))
        square = section(both, (0, columns), (0, columns))
        upper = swapped(lower_triangle(swapped(square)))
        return concatenate(np.eye(rows, columns) - moved, upper, axis=len(shape_of(a)) - 2)

    def _reflected(self, a: Any) -> Any:
        """Return R, the vectors of the reflections below it, and below them their factors."""
        rows, columns = shape_of(a)[-2:]
        if columns <= self.columns:
            return householder_by_columns(a, lanes=self.lanes)
        half = _half(columns, self.columns)
        every, remaining = (0, rows), (0, columns - half)
        packed = self._reflected(section(a, every, (0, half)))
        mirrors = _mirrors(section(packed, every, (0, half)))
        right = section(a, every, (half, columns))
        taus = section(packed, (rows, rows + 1), (0, half))
        products = self._gathered(mirrors, taus, multiply(swapped(mirrors), right), transposed=True)
        right = right - multiply(mirrors, products)
        below = self._reflected(section(right, (half, rows), remaining))
        return concatenate(
            packed,
            concatenate(section(right, (0, half), remaining), below, axis=len(shape_of(a)) - 2),
            axis=len(shape_of(a)) - 1,
        )

    def _gathered(self, mirrors: Any, taus: Any, products: Any, *, transposed: bool) -> Any:
        """Return ``T x``, or ``T^T x``, for ``Q = 1 - V T V^T``: T^-1 has ``1 / tau`` and what is above in ``V^T V``.

        A reflection whose factor is 0 leaves a vector as it is.
        """
        is_none = equal(taus, 0.0)
        inverse = multiply(swapped(mirrors), mirrors)
        on_diagonal = np.eye(shape_of(mirrors)[-1], dtype=bool)
        inverse = where(on_diagonal, 1.0 / where(is_none, 1.0, taus), inverse)
        products = where(swapped(is_none), 0.0, products)
        inverse = where(logical_and(is_none, np.logical_not(on_diagonal)), 0.0, inverse)
        if transposed:
            inverse = swapped(inverse)
        x = self._substituted(inverse, products, transposed, False)
        return where(swapped(is_none), 0.0, x)

    # -- eigenvalues of symmetric matrices ---------------------------------------------------------------

    def eigh(self, a: Any, half: str) -> Any:
        """Return the eigenvalues, ascending, as a row above the eigenvectors, which are columns."""
        sweeps = _sweeps(shape_of(a)[-1])
        return stacked(lambda a: eigh_by_rotations(symmetric(a, half), sweeps=sweeps, lanes=self.lanes), a)

    def eigvalsh(self, a: Any, half: str) -> Any:
        """Return the eigenvalues, ascending."""
        *lead, rows = shape_of(a)[:-1]
        values = section(self.eigh(a, half), (0, 1), (0, rows))
        return reshape(values, shape=(*lead, rows))


def _sweeps(rows: int) -> int:
    """Return the sweeps of rotations after which no element off the diagonal is left.

    Hilbert's matrix and graded ones need almost as many, others half of them.
    """
    return 1 if rows <= 2 else 5 + rows // 2


def _has_zero(pivots: Any) -> Any:
    return reduce_any(equal(pivots, 0.0), axes=(len(shape_of(pivots)) - 1,))


# -- parts -----------------------------------------------------------------------------------------------


def stacked(program: Callable[..., Any], *operands: Any) -> Any:
    """Return the result of a program of stacks with one leading axis, or of single matrices, in float64."""
    lead = broadcast("stack", *(shape_of(operand)[:-2] for operand in operands))
    dtype = np.result_type(*map(dtype_of, operands))
    flat = (math.prod(lead),) if lead else ()
    stacks = list[Any]()
    for operand in operands:
        shape = shape_of(operand)[-2:]
        wide = cast(operand, dtype=FLOAT64) if dtype_of(operand) != FLOAT64 else operand
        wide = wide if shape_of(wide)[:-2] == lead else broadcast_to(wide, shape=(*lead, *shape))
        stacks.append(wide if lead == flat else reshape(wide, shape=(*flat, *shape)))
    result = program(*stacks)
    result = result if lead == flat else reshape(result, shape=(*lead, *shape_of(result)[-2:]))
    return result if dtype == FLOAT64 else cast(result, dtype=dtype)


def unless(result: Any, failed: Any, problem: str, operation: str, *operands: Any) -> Any:
    """Return the result, or raise the problem where a number of a matrix fails."""
    holds = logical_not(reduce_any(failed, axes=(len(shape_of(failed)) - 1,)))
    holds = reshape(holds, shape=(*shape_of(holds), 1, 1))
    return require(result, holds, operation=operation, requirement=f"{problem}; got {show(*operands)}")


def _half(count: int, block: int) -> int:
    """Return about half of a number of rows: a multiple of the rows of a block."""
    return block * -(-count // (2 * block))


def diagonal(a: Any) -> Any:
    """Return the diagonals of matrices with no fewer columns than rows."""
    *lead, rows, columns = shape_of(a)
    lines = reshape(a, shape=(*lead, rows * columns))
    return slice_(lines, index=(*whole(tuple(lead)), (0, rows, columns + 1)))


def _mirrors(packed: Any) -> Any:
    """Return the vectors of reflections from the part of a matrix below its diagonal."""
    rows, columns = shape_of(packed)[-2:]
    return lower_triangle(packed, -1) + np.eye(rows, columns)


def half_of_diagonal(a: Any) -> Any:
    """Return the lower triangle with half of the diagonal."""
    return where(np.eye(shape_of(a)[-1], dtype=bool), 0.5 * a, lower_triangle(a))


def _joined(parts: Sequence[Sequence[Any]]) -> Any:
    """Return matrices made of blocks."""
    rank = len(shape_of(parts[0][0]))
    return concatenate(*(concatenate(*row, axis=rank - 1) for row in parts), axis=rank - 2)


def _order(packed: Any) -> Any:
    """Return the order of the rows."""
    index = whole(shape_of(packed)[:-1])
    last = slice_(packed, index=(*index, shape_of(packed)[-1] - 1))
    return cast(last, dtype=INT64)


def _taken(a: Any, order: Any) -> Any:
    """Return the rows of matrices in an order."""
    if len(shape_of(order)) == 1:
        return gather(a, order)
    return gather(a, np.arange(shape_of(order)[0])[:, None], order)


def _inverse_order(order: Any) -> Any:
    """Return the place of each row in an order."""
    *lead, count = shape_of(order)
    numbers = np.broadcast_to(np.arange(count), (*lead, count)).copy()
    stacks = (np.arange(lead[0])[:, None],) if lead else ()
    return scatter(np.zeros_like(numbers), numbers, *stacks, order)
