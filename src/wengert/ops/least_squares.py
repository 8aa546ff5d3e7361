"""Pseudoinverses, and least squares; their derivatives hold where as many singular values are kept nearby.

Source: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
separate" (1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import dtype_of
from wengert.core.errors import ShapeError, message
from wengert.core.shapes import broadcast, shape_of
from wengert.ir.types import TensorType, show, type_of
from wengert.nest.lowering import OnHost
from wengert.ops.comparison import greater, logical_and, logical_not, where
from wengert.ops.decompositions import parts, svd
from wengert.ops.matrices import batch, check_matrices, floating_dtype, multiply, swapped
from wengert.ops.reduction import reduce_max
from wengert.ops.shape import reshape
from wengert.primitive import Draw, Explicit, primitive

_ROUNDING = 1e4
"""Values that are cut off below so many units of the last place are noise, and not looked at."""


def _pinv_type(a: TensorType, rcond: float) -> TensorType:
    check_matrices("pinv", a)
    return TensorType(floating_dtype(a), (*a.shape[:-2], a.shape[-1], a.shape[-2]))


def _pinv_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, rcond: float) -> Any:
    """Return ``dP = P P^T dA^T (1 - A P) + (1 - P A) dA^T P^T P - P dA P``."""
    a, da, p = primals[0], tangents[0], out
    back, normal = swapped(da), swapped(p)
    into = multiply(multiply(p, normal), back - multiply(multiply(back, a), p))
    beside = multiply(multiply(back - multiply(multiply(p, a), back), normal), p)
    return _with_cut(into + beside - multiply(multiply(p, da), p), a, da, rcond)


def _with_cut(tangent: Any, a: Any, da: Any, rcond: float, right: Any = None) -> Any:
    """Add to ``dP``, or ``dP b``, what singular values that are cut off though they are not 0 have to do with it.

    Between a value ``s`` that is kept and one ``t`` that is not, the symmetric part of ``U^T dA V`` counts
    ``1 / (s (s - t))`` times and the skew part ``1 / (s (s + t))`` times, instead of ``1 / s^2`` (Noferini, "A formula
    for the Frechet derivative of a generalized matrix function", 2017).
    """
    rows, columns = shape_of(a)[-2:]
    if rcond <= _ROUNDING * np.finfo(dtype_of(tangent)).eps or not (rows and columns):
        return tangent
    u, t, v = parts(svd(a), rows, 1, columns)
    largest = reduce_max(t, axes=(len(shape_of(t)) - 1,))
    kept = greater(t, reshape(largest, shape=(*shape_of(largest), 1)) * rcond)
    s, between = swapped(t), logical_and(swapped(kept), logical_not(kept))
    one = dtype_of(t).type(1)
    s, t = where(between, s, one), where(between, t, 0)
    turned = multiply(multiply(swapped(u), da), v)
    even = _symmetric_part(where(between, 1 / (s * (s - t)) - 1 / (s * s), 0)) * _symmetric_part(turned)
    odd = _symmetric_part(where(between, 1 / (s * (s + t)) - 1 / (s * s), 0)) * (turned - swapped(turned))
    change = multiply(multiply(v, swapped(even + odd)), swapped(u)) * 0.5
    return tangent + (change if right is None else multiply(change, right))


def _symmetric_part(x: Any) -> Any:
    """Return ``x + x^T``."""
    return x + swapped(x)


def _draw(draw: Draw) -> Any:
    rows, columns, lead = draw.integer(1, 4), draw.integer(1, 4), draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, columns), -0.5, 0.5) + 2 * np.eye(rows, columns)


pinv = primitive(
    name="pinv",
    doc="the pseudoinverse of matrices; singular values up to rcond times the largest count as 0",
    type_rule=_pinv_type,
    evaluate=np.linalg.pinv,
    derivative=Explicit(_pinv_tangent),
    batch=batch,
    lowering=OnHost("LAPACK does it"),
    source="np.linalg.pinv({0}, {rcond!r})".format,
    samples=lambda draw: ((_draw(draw),), {"rcond": 1e-12}),
)


def _lstsq_type(a: TensorType, b: TensorType, rcond: float) -> TensorType:
    check_matrices("lstsq", a, b)
    if a.shape[-2] != b.shape[-2]:
        raise ShapeError(
            message("lstsq", "the right-hand side must have a row for each equation", show(a, b))
        )
    lead = broadcast("lstsq", a.shape[:-2], b.shape[:-2])
    return TensorType(floating_dtype(a, b), (*lead, a.shape[-1], b.shape[-1]))


def _lstsq(a: Any, b: Any, rcond: float) -> Any:
    result = _lstsq_type(type_of(a), type_of(b), rcond)
    lead, x = result.shape[:-2], np.empty(result.shape, result.dtype)
    a, b = (np.broadcast_to(one, lead + np.shape(one)[-2:]) for one in (a, b))
    for one in np.ndindex(lead):
        x[one] = np.linalg.lstsq(a[one], b[one], rcond)[0]
    return x


def _lstsq_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, rcond: float) -> Any:
    """Return ``dx = P (db - dA x) + P P^T dA^T (b - A x) + (1 - P A) dA^T P^T x``, for the pseudoinverse P of A."""
    (a, b), (da, db), x = primals, tangents, out
    p = pinv(a, rcond=rcond)
    if da is None:
        return multiply(p, db)
    back, normal = swapped(da), swapped(p)
    beside = multiply(back, multiply(normal, x))
    moved = multiply(p, multiply(normal, multiply(back, b - multiply(a, x))) - multiply(da, x))
    moved = _with_cut(moved + beside - multiply(p, multiply(a, beside)), a, da, rcond, b)
    return moved if db is None else moved + multiply(p, db)


def _draw_equations(draw: Draw) -> Any:
    a = _draw(draw)
    lead = draw.choice([a.shape[:-2], ()])
    return (a, draw.array((*lead, a.shape[-2], draw.integer(1, 2)))), {"rcond": 1e-12}


lstsq = primitive(
    name="lstsq",
    doc="the x of least norm among those that make the sum of squares of b - a x least; singular values up to rcond "
    "times the largest count as 0; the leading axes broadcast",
    type_rule=_lstsq_type,
    evaluate=_lstsq,
    derivative=Explicit(_lstsq_tangent),
    batch=batch,
    lowering=OnHost("LAPACK does it"),
    source="stacked_lstsq({0}, {1}, {rcond!r})".format,
    samples=_draw_equations,
)
