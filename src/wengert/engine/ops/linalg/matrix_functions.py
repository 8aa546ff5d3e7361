"""Functions of square matrices, stacked along leading axes, and the linear equation ``A X + X B = Q``.

The tangent of ``f(A)`` in a direction E is the upper right block of ``f([[A, E], [0, A]])`` (Mathias, "A chain rule for
matrix functions and applications", 1996). It is linear in E, and its transpose in E is the tangent at ``A^T``; its own
tangent is again the tangent of a matrix of blocks. So two primitives give derivatives of all orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.kernels import schur
from wengert.engine.kernels.expm import exponential
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import absolute
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg.square import (
    adjoint,
    check_matrices,
    check_square,
    floating_dtype,
    multiply,
    solve,
    swapped,
)
from wengert.engine.ops.reduction import reduce_max
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, slice_, whole
from wengert.engine.primitive import Draw, Explicit, Linear, Primitive, primitive

_REASON = "it is an algorithm of many products of matrices"


def _blocks(a: Any, e: Any) -> Any:
    """Return ``[[A, E], [0, A]]``."""
    rank = len(shape_of(a))
    upper = concatenate(a, e, axis=rank - 1)
    lower = concatenate(a * 0.0, a, axis=rank - 1)
    return concatenate(upper, lower, axis=rank - 2)


def _upper_right(blocks: Any) -> Any:
    index, rows = whole(shape_of(blocks)), shape_of(blocks)[-1] // 2
    index[-2], index[-1] = (0, rows, 1), (rows, rows, 1)
    return slice_(blocks, index=tuple(index))


def _size(e: Any) -> Any:
    """Return the largest magnitude in each matrix as a constant, 1 where it is 0."""
    *lead, rows, columns = shape_of(e)
    if not rows or not columns:
        return 1.0
    rank = len(lead) + 2
    largest = reduce_max(absolute(stop_gradient(e)), axes=(rank - 2, rank - 1))
    return reshape(where(equal(largest, 0), 1.0, largest), shape=(*lead, 1, 1))


def _draw(draw: Draw) -> Any:
    rows, lead = draw.integer(1, 3), draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, rows), -0.5, 0.5)


def _far_from_singular(draw: Draw) -> Any:
    a = _draw(draw)
    return a + 2 * np.eye(a.shape[-1])


def _stated(
    name: str, kernel: Callable[[Any], Any], doc: str, samples: Callable[[Draw], Any]
) -> tuple[Primitive, Primitive]:
    """State a function of matrices and its tangent."""

    def rule(a: TensorType) -> TensorType:
        check_square(name, a)
        return TensorType(floating_dtype(a), a.shape)

    def evaluate(a: Any) -> Any:
        return kernel(np.asarray(a)).astype(rule(type_of(a)).dtype)

    tangent = _tangent_stated(name, kernel, samples)
    function = primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=Explicit(lambda primals, tangents, out: tangent(primals[0], tangents[0])),
        batch=batch_elementwise,
        lowering=OnHost(_REASON),
        source=f"of_matrices(scipy.linalg.{name}, {{0}})".format,
        samples=lambda draw: ((samples(draw),), {}),
    )
    return function, tangent


def _tangent_stated(name: str, kernel: Callable[[Any], Any], samples: Callable[[Draw], Any]) -> Primitive:
    operation = f"{name}_tangent"

    def rule(a: TensorType, e: TensorType) -> TensorType:
        check_square(operation, a)
        check_square(operation, e)
        return TensorType(floating_dtype(a, e), broadcast(operation, a.shape, e.shape))

    def evaluate(a: Any, e: Any) -> Any:
        result = rule(type_of(a), type_of(e))
        a, e = (np.broadcast_to(np.asarray(x, result.dtype), result.shape) for x in (a, e))
        scale = _size(e)  # without it, a large direction would ask for needless squarings
        return (_upper_right(kernel(_blocks(a, e / scale))) * scale).astype(result.dtype)

    def derivative(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
        (a, e), (da, de) = primals, tangents
        if da is None:
            return tangent(a, de)
        shape, scale = shape_of(out), _size(e)
        a, da, e = (broadcast_to(x, shape=shape) for x in (a, da, e))
        de = e * 0.0 if de is None else broadcast_to(de, shape=shape)
        return _upper_right(tangent(_blocks(a, e / scale), _blocks(da, de / scale))) * scale

    def drawn(draw: Draw) -> Any:
        a = samples(draw)
        return (a, draw.array(a.shape)), {}

    tangent = primitive(
        name=operation,
        doc=f"the derivative of {name} at a in the direction e; the leading axes broadcast",
        type_rule=rule,
        evaluate=evaluate,
        derivative=Explicit(derivative, Linear(None, lambda cotangent, a, e: tangent(swapped(a), cotangent))),
        batch=batch_elementwise,
        lowering=OnHost(_REASON),
        source=f"derivative_of_matrices(scipy.linalg.{name}, {{0}}, {{1}})".format,
        samples=drawn,
    )
    return tangent


expm, expm_tangent = _stated("expm", exponential, "the exponential of square matrices", _draw)
logm, logm_tangent = _stated(
    "logm",
    schur.logarithm,
    "the principal logarithm of square matrices, which must be real for real ones",
    _far_from_singular,
)

# -- equations -------------------------------------------------------------------------------------------


def _sylvester_type(a: TensorType, b: TensorType, q: TensorType) -> TensorType:
    check_square("solve_sylvester", a)
    check_square("solve_sylvester", b)
    check_matrices("solve_sylvester", q)
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        requirement = "q must have a row for each row of a, and a column for each column of b"
        raise ShapeError(message("solve_sylvester", requirement, show(a, b, q)))
    lead = broadcast("solve_sylvester", a.shape[:-2], b.shape[:-2], q.shape[:-2])
    return TensorType(floating_dtype(a, b, q), (*lead, *q.shape[-2:]))


def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    result = _sylvester_type(type_of(a), type_of(b), type_of(q))
    lead = result.shape[:-2]
    a, b, q = (np.broadcast_to(x, (*lead, *np.shape(x)[-2:])) for x in (a, b, q))
    return schur.sylvester(a, b, q).astype(result.dtype)


def _sylvester_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Differentiate ``A X + X B = Q``: ``A dX + dX B = dQ - dA X - X dB``."""
    (a, b, _), (da, db, dq) = primals, tangents
    terms = [dq, None if da is None else -multiply(da, out), None if db is None else -multiply(out, db)]
    right = [term for term in terms if term is not None]
    return solve_sylvester(a, b, sum(right[1:], start=right[0]))


def _sylvester_samples(draw: Draw) -> Any:
    a, columns = _far_from_singular(draw), draw.integer(1, 3)
    b = draw.array((columns, columns), -0.5, 0.5) + 2 * np.eye(columns)
    return (a, b, draw.array((*draw.choice([a.shape[:-2], ()]), a.shape[-1], columns))), {}


solve_sylvester = primitive(
    name="solve_sylvester",
    doc="X with A X + X B = Q; the leading axes broadcast",
    type_rule=_sylvester_type,
    evaluate=_solve_sylvester,
    derivative=Explicit(
        _sylvester_tangent,
        Linear(None, None, lambda cotangent, a, b, q: solve_sylvester(swapped(a), swapped(b), cotangent)),
    ),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="stacked_sylvester({0}, {1}, {2})".format,
    samples=_sylvester_samples,
)


def _sqrtm_type(a: TensorType) -> TensorType:
    check_square("sqrtm", a)
    return TensorType(floating_dtype(a), a.shape)


sqrtm = primitive(
    name="sqrtm",
    doc="the principal square root of square matrices, which must be real for real ones",
    type_rule=_sqrtm_type,
    evaluate=lambda a: schur.root(np.asarray(a)).astype(_sqrtm_type(type_of(a)).dtype),
    # X X = A: X dX + dX X = dA
    derivative=Explicit(lambda primals, tangents, out: solve_sylvester(out, out, tangents[0])),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="of_matrices(scipy.linalg.sqrtm, {0})".format,
    samples=lambda draw: ((_far_from_singular(draw),), {}),
)

# -- polar decomposition ---------------------------------------------------------------------------------


def _polar_type(a: TensorType) -> TensorType:
    check_matrices("polar", a)
    if a.shape[-2] < a.shape[-1]:
        raise ShapeError(message("polar", "as many rows as columns are required", show(a)))
    return TensorType(floating_dtype(a), a.shape)


def _polar(a: Any) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return u @ vh


def _polar_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any) -> Any:
    """Return ``dU = U S + (1 - U U^H) dA P^-1``, where S is skew and solves ``S P + P S = U^H dA - dA^H U``."""
    p, turned = multiply(adjoint(out), primals[0]), multiply(adjoint(out), tangents[0])
    inside = multiply(out, solve_sylvester(p, p, turned - adjoint(turned)))
    beside = tangents[0] - multiply(out, turned)
    return inside + adjoint(solve(adjoint(p), adjoint(beside)))


def _tall(draw: Draw) -> Any:
    columns = draw.integer(2, 3)
    rows, lead = columns + draw.integer(0, 1), draw.choice([(), (2,)])
    return (draw.array((*lead, rows, columns), -0.5, 0.5) + 2 * np.eye(rows, columns),), {}


polar = primitive(
    name="polar",
    doc="the U with orthonormal columns of A = U P, P positive semidefinite; no fewer rows than columns",
    type_rule=_polar_type,
    evaluate=_polar,
    derivative=Explicit(_polar_tangent),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK computes it"),
    source="polar_factor({0})".format,
    samples=_tall,
)
