"""Unrolled factorisations and solutions of small matrices, as programs of operations on the elements.

For a matrix of few rows, a call of LAPACK takes many times as long as the arithmetic. Unrolled, a stack of matrices is
a loop over the stack with a matrix in each lane, and a single matrix is a sequence of scalar operations. The steps are
those of LAPACK: Gaussian elimination with partial pivoting, and Cholesky factorisation column by column. As in NumPy,
they run in float64, also for float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.dtypes import FLOAT64, Dtype, dtype_of
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import TensorType, show
from wengert.engine.ops.arithmetic import absolute, add, multiply, square, subtract
from wengert.engine.ops.comparison import (
    equal,
    greater,
    less,
    less_equal,
    logical_not,
    logical_or,
    logical_xor,
    require,
    where,
)
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.exponential import exp, log, sqrt
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, slice_, whole

#: The elements of stacked matrices, row by row; each has the leading axes.
Rows: TypeAlias = list[list[Any]]


def length(matrix: TensorType, *right: TensorType) -> int:
    """Return the approximate number of operations of an elimination with right-hand sides; 0 for integers."""
    rows, columns = matrix.shape[-1], sum(operand.shape[-1] for operand in right)
    is_known = all(operand.dtype.kind == "f" and all(operand.shape[-2:]) for operand in (matrix, *right))
    return rows * rows * (rows + columns) if is_known else 0


def cholesky(a: Any) -> Any:
    """Return the lower triangular L with ``L L^T = A``."""
    rows = _rows(a)
    factor: Rows = [[0.0] * len(rows) for _ in rows]
    failed: list[Any] = []
    for j in range(len(rows)):
        pivot = reduce(subtract, map(square, factor[j][:j]), rows[j][j])
        failed.append(less_equal(pivot, 0.0))
        factor[j][j] = sqrt(pivot)
        for i in range(j + 1, len(rows)):
            residual = reduce(subtract, map(multiply, factor[i][:j], factor[j][:j]), rows[i][j])
            factor[i][j] = residual / factor[j][j]
    result = _stacked(factor, _dtype(a))
    return _unless(result, failed, "Matrix is not positive definite", "cholesky", a)


def solve(a: Any, b: Any) -> Any:
    """Return x with ``A x = b``."""
    return _unless(*_solved(_rows(a), _rows(b), _dtype(a, b)), "solve", a, b)


def inverse(a: Any) -> Any:
    """Return the solution of ``A X = 1``."""
    rows = _rows(a)
    unit = [[np.float64(i == j) for j, _ in enumerate(rows)] for i, _ in enumerate(rows)]
    return _unless(*_solved(rows, unit, _dtype(a)), "inverse", a)


def determinant(a: Any) -> Any:
    """Return the product of the pivots, also where a partial product overflows or underflows."""
    pivots, is_odd = _pivots(a)
    first, *others = map(absolute, pivots)
    products = list(accumulate(others, multiply, initial=first))[1:]
    limits = np.finfo(np.float64)
    is_beyond = [logical_or(less(x, limits.tiny), greater(x, limits.max)) for x in products]
    size = where(reduce(logical_or, is_beyond), exp(_logarithm(pivots)), products[-1]) if others else first
    signed = where(_is_negative(pivots, is_odd), -size, size)
    return cast(where(_is_singular(pivots), 0.0, signed), dtype=_dtype(a))


def log_determinant(a: Any) -> Any:
    """Return the sum of the logarithms of the pivots."""
    return cast(_logarithm(_pivots(a)[0]), dtype=_dtype(a))


def determinant_sign(a: Any) -> Any:
    """Return the sign of the product of the pivots and of the row exchanges: -1, 0 or 1."""
    pivots, is_odd = _pivots(a)
    unit = _dtype(a).type(1)
    return where(_is_singular(pivots), 0 * unit, where(_is_negative(pivots, is_odd), -unit, unit))


def cholesky_tangent(factor: Any, right: Any) -> Any:
    """Return the lower triangular T with ``T L^T + L T^T = S``: ``L low(L^-1 S L^-T)``."""
    lower, s = _rows(factor), _symmetric(_rows(right))
    x = _transposed(_low(_between_inverses(lower, s)))
    t = [[_products(row[j : i + 1], x[j][j : i + 1]) for j, _ in enumerate(x)] for i, row in enumerate(lower)]
    return _stacked(t, _dtype(factor, right))


def cholesky_cotangent(factor: Any, right: Any) -> Any:
    """Return the lower triangular B with ``(B + B^T) L = G``: ``low(L^-T (W + W^T) L^-1)`` for ``W = low(L^T G)``."""
    upper, g = _transposed(_rows(factor)), _transposed(_rows(right))
    w = [[_products(row[i:], column[i:]) for column in g] for i, row in enumerate(upper)]
    # With rows and columns in reverse order, L^T is lower triangular.
    x = _reversed(_between_inverses(_reversed(upper), _reversed(_symmetric(w))))
    return _stacked(_low(x), _dtype(factor, right))


def solve_triangular(a: Any, b: Any, lower: bool, unit: bool) -> Any:
    """Return x with ``A x = b``, where only one triangle of A is read, and with ``unit`` not its diagonal."""
    rows, right = _rows(a), _rows(b)
    if unit:
        rows = [[np.float64(1) if i == j else x for j, x in enumerate(row)] for i, row in enumerate(rows)]
    if not lower:  # in reverse order, the upper triangle is a lower one
        rows, right = _reversed(rows), right[::-1]
    solutions = _substituted(rows, right)
    result = _stacked(solutions if lower else solutions[::-1], _dtype(a, b))
    if unit:  # of an A of one row, no element is read
        lead = broadcast("solve_triangular", shape_of(a)[:-2], shape_of(b)[:-2])
        return broadcast_to(result, shape=(*lead, *shape_of(b)[-2:]))
    failed = [equal(row[k], 0.0) for k, row in enumerate(rows)]
    return _unless(result, failed, "singular matrix", "solve_triangular", a, b)


# -- equations -------------------------------------------------------------------------------------------


def _solved(rows: Rows, right: Rows, dtype: Dtype) -> tuple[Any, list[Any], str]:
    """Return the solutions, the conditions of failure, and the message of failure."""
    count = len(rows)
    rows, _ = _eliminated([row + more for row, more in zip(rows, right, strict=True)], count)
    upper, right = [row[:count] for row in rows], [row[count:] for row in rows]
    # In reverse order, the upper triangle is a lower one.
    solutions = _substituted(_reversed(upper), right[::-1])[::-1]
    failed = [equal(row[k], 0.0) for k, row in enumerate(upper)]
    return _stacked(solutions, dtype), failed, "Singular matrix"


def _pivots(a: Any) -> tuple[list[Any], Any]:
    """Return the pivots, and whether the number of row exchanges is odd."""
    rows = _rows(a)
    rows, is_odd = _eliminated(rows, len(rows))
    return [row[k] for k, row in enumerate(rows)], is_odd


def _is_singular(pivots: Sequence[Any]) -> Any:
    return reduce(logical_or, [equal(pivot, 0.0) for pivot in pivots])


def _is_negative(pivots: Sequence[Any], is_odd: Any) -> Any:
    return reduce(logical_xor, [less(pivot, 0.0) for pivot in pivots], is_odd)


def _logarithm(pivots: Sequence[Any]) -> Any:
    total = reduce(add, [log(absolute(pivot)) for pivot in pivots])
    return where(_is_singular(pivots), -np.inf, total)


def _eliminated(rows: Rows, count: int) -> tuple[Rows, Any]:
    """Return the rows after elimination, undefined below the diagonal, and whether the number of exchanges is odd."""
    is_odd: Any = np.False_
    for k in range(count):
        for i in range(k + 1, count):
            is_larger = greater(absolute(rows[i][k]), absolute(rows[k][k]))
            pairs = list(zip(rows[k], rows[i], strict=True))
            rows[k] = [where(is_larger, y, x) for x, y in pairs]
            rows[i] = [where(is_larger, x, y) for x, y in pairs]
            is_odd = logical_xor(is_odd, is_larger)
        pivot = rows[k][k]
        divisor = where(equal(pivot, 0.0), 1.0, pivot)  # all elements below it are 0 then
        for i in range(k + 1, count):
            factor = rows[i][k] / divisor
            rows[i] = [y - factor * x for x, y in zip(rows[k], rows[i], strict=True)]
    return rows, is_odd


def _between_inverses(lower: Rows, s: Rows) -> Rows:
    """Return ``L^-1 S L^-T`` for a lower triangular L and a symmetric S."""
    return _substituted(lower, _transposed(_substituted(lower, s)))


def _substituted(lower: Rows, right: Rows) -> Rows:
    """Return x with ``L x = B`` for a lower triangular L."""
    columns: Rows = [[] for _ in right[0]]
    for i, row in enumerate(right):
        for solved, x in zip(columns, row, strict=True):
            products = map(multiply, lower[i][:i], solved)
            solved.append(reduce(subtract, products, x) / lower[i][i])
    return _transposed(columns)


def _unless(result: Any, failed: Sequence[Any], problem: str, operation: str, *operands: Any) -> Any:
    """Return the result, or raise the problem where a condition of failure holds."""
    holds = logical_not(reduce(logical_or, failed))
    holds = reshape(holds, shape=(*shape_of(holds), 1, 1))
    return require(result, holds, operation=operation, requirement=f"{problem}; got {show(*operands)}")


# -- elements --------------------------------------------------------------------------------------------


def _dtype(*operands: Any) -> Dtype:
    return np.result_type(*map(dtype_of, operands))


def _rows(a: Any) -> Rows:
    """Return the elements of stacked matrices."""
    *lead, rows, columns = shape_of(a)
    a = cast(a, dtype=FLOAT64)
    return [[slice_(a, index=(*whole(tuple(lead)), i, j)) for j in range(columns)] for i in range(rows)]


def _stacked(rows: Rows, dtype: Dtype) -> Any:
    """Return the stacked matrices of elements, some of which may be numbers."""
    lead = broadcast("stack", *(shape_of(x) for row in rows for x in row))

    def single(x: Any) -> Any:
        x = np.float64(x) if isinstance(x, float) else x
        return reshape(broadcast_to(x, shape=lead), shape=(*lead, 1, 1))

    joined = [concatenate(*map(single, row), axis=len(lead) + 1) for row in rows]
    return cast(concatenate(*joined, axis=len(lead)), dtype=dtype)


def _products(first: Sequence[Any], second: Sequence[Any]) -> Any:
    """Return ``sum over k of first[k] second[k]``."""
    return reduce(add, map(multiply, first, second)) if first else 0.0


def _transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def _reversed(rows: Rows) -> Rows:
    return [row[::-1] for row in reversed(rows)]


def _symmetric(rows: Rows) -> Rows:
    """Return the symmetric matrix of which these are the lower triangle."""
    return [[rows[max(i, j)][min(i, j)] for j, _ in enumerate(row)] for i, row in enumerate(rows)]


def _low(rows: Rows) -> Rows:
    """Return the lower triangle with half the diagonal."""
    return [
        [x / 2 if i == j else x if j < i else 0.0 for j, x in enumerate(row)] for i, row in enumerate(rows)
    ]
