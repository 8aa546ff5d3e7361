"""SciPy's linear programs inside a followed program: the vertex solves the equations of the constraints that hold.

HiGHS finds them, and the values of whole variables, which are constant nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.array.substitutes import holds_box, in_place_of
from wengert.engine.boxes import boxed
from wengert.engine.core.dtypes import FLOAT64, INT64
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.ir.types import TensorType, show
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.comparison import greater_equal, require_end, where
from wengert.engine.ops.conversion import cast as to_dtype
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg import square
from wengert.engine.primitive import NonDifferentiable, primitive
from wengert.numpy.creation import asarray
from wengert.optimize.scipys import scipy_optimize

#: Vectors are rows: all operands have two axes, before which come those of a batch.
_SIGNATURE = "(one,n),(m,n),(one,m),(one,m),(one,n),(one,n)->(two,n)"


def _type(
    c: TensorType,
    A: TensorType,
    low: TensorType,
    high: TensorType,
    lower: TensorType,
    upper: TensorType,
    *,
    whole: tuple[int, ...],
) -> TensorType:
    types = c, A, low, high, lower, upper
    size, rows = len(whole), A.shape[-2] if len(A.shape) > 1 else None
    extents = [(1, size), (rows, size), (1, rows), (1, rows), (1, size), (1, size)]
    if [t.shape[-2:] for t in types] != extents or any(t.dtype.kind == "c" for t in types):
        requirement = "rows of n real numbers, a matrix of m rows, and rows of m limits are required"
        raise ShapeError(message("linear_program", requirement, show(*types)))
    lead = np.broadcast_shapes(*(t.shape[:-2] for t in types))
    return TensorType(FLOAT64, (*lead, 2, size))


def _evaluate(c: Any, A: Any, low: Any, high: Any, lower: Any, upper: Any, *, whole: tuple[int, ...]) -> Any:
    def one(c: Any, A: Any, low: Any, high: Any, lower: Any, upper: Any) -> Any:
        return _vertex(c[0], A, low[0], high[0], lower[0], upper[0], np.array(whole))

    each = cast("Any", np).vectorize(one, [FLOAT64], signature=_SIGNATURE)
    return each(*(np.asarray(x, FLOAT64) for x in (c, A, low, high, lower, upper)))


def _vertex(c: Any, A: Any, low: Any, high: Any, lower: Any, upper: Any, whole: Any) -> Any:
    """Return the numbers of the constraints that hold, and the variables; -1 where these are not a regular vertex."""
    optimize = scipy_optimize("linprog")
    rows = optimize.LinearConstraint(A, low, high) if len(A) else ()
    found = optimize.milp(c, integrality=whole, bounds=optimize.Bounds(lower, upper), constraints=rows)
    none = np.full((2, len(c)), -1.0)
    if found.x is None:
        return none
    is_whole = whole != 0
    x = cast("Any", np.where(is_whole, np.round(found.x), found.x))
    is_free, values, unit = ~is_whole, A @ x, np.eye(len(c))
    holds = np.concatenate(
        [
            _is_at(values, low) & (low != high),
            _is_at(values, high),
            _is_at(x, lower) & (lower != upper) & is_free,
            _is_at(x, upper) & is_free,
            is_whole,
        ]
    )
    numbers = np.flatnonzero(holds)
    if len(numbers) != len(c):
        return none
    matrix = np.concatenate([A, A, unit, unit, unit])[numbers]
    if np.linalg.cond(matrix) > 1e10:
        return none
    is_fixed = np.concatenate([low == high, low == high, lower == upper, lower == upper, is_whole])[numbers]
    multipliers = np.abs(np.linalg.solve(matrix.T, c))
    if np.any((multipliers <= 1e-9 * np.max(np.abs(c))) & ~is_fixed):  # another vertex is as good
        return none
    return np.stack([numbers, x])


def _is_at(values: Any, limits: Any) -> Any:
    return np.isfinite(limits) & (np.abs(values - limits) <= 1e-7 * (1 + np.abs(limits)))


vertex = primitive(
    name="linear_program",
    doc="the numbers of the constraints that hold at the vertex of a linear program, and the variables; -1 for none",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=NonDifferentiable("the constraints that hold are constant nearby"),
    batch=batch_elementwise,
    lowering=OnHost("HiGHS finds it"),
    source="linear_program({0}, {1}, {2}, {3}, {4}, {5}, {whole})".format,
    samples=None,
    parameters=("whole",),
)


def _solved(name: str, c: Any, A: Any, limits: Sequence[Any], bounds: Sequence[Any], whole: Any) -> Any:
    size = c.shape[0]
    rows = (row[None, :] for row in (*limits, *bounds))
    found = vertex(c[None, :], A, *rows, whole=tuple(int(w) for w in np.broadcast_to(whole, size)))
    is_vertex = greater_equal(found[0, 0], 0.0)
    unit = np.eye(size)
    first = cast("Any", np.arange(size)) + 2 * A.shape[0]
    numbers = where(is_vertex, to_dtype(found[0], dtype=INT64), first)
    matrix = boxed(np.concatenate([A, A, unit, unit, unit]))[numbers]
    rights = boxed(np.concatenate([*limits, *bounds, found[1]]))[numbers]
    x = square.solve(matrix, rights[:, None])[:, 0]
    requirement = (
        "a solution must exist, and be the only one, at which as many constraints hold as there are variables"
    )
    return require_end(x, is_vertex, operation=f"scipy.optimize.{name}", requirement=requirement)


def _result(c: Any, x: Any, **parts: Any) -> Any:
    result = scipy_optimize("linprog").OptimizeResult
    return result(x=x, fun=c @ x, success=True, status=0, message="the vertex of the program", **parts)


@in_place_of("scipy.optimize.linprog")
def _linprog(call: Any) -> Any:
    """Return SciPy's result with x, fun, slack and con."""
    given = (call.c, call.A_ub, call.b_ub, call.A_eq, call.b_eq, call.bounds)
    if not holds_box(*given):
        return NotImplemented
    c = asarray(call.c) * 1.0
    size = c.shape[0]
    above, equal = (
        _rows(matrix, right, size) for matrix, right in ((call.A_ub, call.b_ub), (call.A_eq, call.b_eq))
    )
    bounds: Any = (0, None) if call.bounds is None else call.bounds
    has_pairs = isinstance(bounds[0], (tuple, list)) or getattr(bounds[0], "shape", ()) != ()
    pairs = bounds if has_pairs else [bounds] * size
    ends = [
        np.stack([asarray(infinite if pair[place] is None else pair[place]) * 1.0 for pair in pairs])
        for place, infinite in enumerate((-np.inf, np.inf))
    ]
    A, high = (np.concatenate([one, other]) for one, other in zip(above, equal, strict=True))
    low = np.concatenate([np.full(above[1].shape, -np.inf), equal[1]])
    whole = 0 if call.integrality is None else call.integrality
    x = _solved("linprog", c, A, (low, high), ends, whole)
    return _result(c, x, slack=above[1] - above[0] @ x, con=equal[1] - equal[0] @ x)


def _rows(matrix: Any, right: Any, size: int) -> tuple[Any, Any]:
    if matrix is None:
        return np.zeros((0, size)), np.zeros(0)
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.atleast_2d(asarray(matrix) * 1.0), np.ravel(asarray(right) * 1.0)


@in_place_of("scipy.optimize.milp")
def _milp(call: Any) -> Any:
    """Return SciPy's result with x and fun; the derivatives are those with the whole variables held."""
    optimize = scipy_optimize("milp")
    many: Any = call.constraints or ()
    is_one = isinstance(many, optimize.LinearConstraint) or (len(many) == 3 and np.ndim(many[0]) == 2)
    rows: list[Any] = [
        (one.A, one.lb, one.ub) if isinstance(one, optimize.LinearConstraint) else one
        for one in ([many] if is_one else many)
    ]
    ends = (0.0, np.inf) if call.bounds is None else (call.bounds.lb, call.bounds.ub)
    if not holds_box(call.c, rows, ends):
        return NotImplemented
    c = asarray(call.c) * 1.0
    size = c.shape[0]
    parts = [_rows(A, np.zeros(1), size)[0] for A, _, _ in rows]
    A = np.concatenate([np.zeros((0, size)), *parts])
    limits = [
        np.concatenate(
            [
                np.zeros(0),
                *(
                    np.broadcast_to(asarray(row[place]) * 1.0, (len(part),))
                    for row, part in zip(rows, parts, strict=True)
                ),
            ]
        )
        for place in (1, 2)
    ]
    bounds = [np.broadcast_to(asarray(end) * 1.0, (size,)) for end in ends]
    return _result(
        c, _solved("milp", c, A, limits, bounds, 0 if call.integrality is None else call.integrality)
    )
