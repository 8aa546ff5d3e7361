"""Factors of matrices, stacked along leading axes: eigenvalues and vectors, singular values and vectors, Q and R.

An operation has one result, so factors stand above one another in it, and `parts` takes them apart.

Eigenvectors of equal eigenvalues can be any basis of a subspace, so they have no derivative: ``1 / (w_j - w_i)`` is
infinite. It meets only what a program makes of the vectors, and 0 of it gives 0: eigenvalues and singular values, their
sums and norms have their derivatives at ties, too (of each value, that for the vectors found). A program that needs the
derivative of the vectors there gets what is not finite. Singular values are magnitudes: at 0 their derivative is 0.

Sources: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008);
Townsend, "Differentiating the singular value decomposition" (2016); Walter, Lehmann and Lamour, "On evaluating
higher-order derivatives of the QR decomposition" (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.dtypes import dtype_of
from wengert.core.errors import ShapeError, message
from wengert.core.shapes import Shape, shape_of
from wengert.ir.types import TensorType, show
from wengert.nest.lowering import OnHost
from wengert.ops.arithmetic import multiply_no_nan, reciprocal
from wengert.ops.comparison import equal, where
from wengert.ops.linalg import solve
from wengert.ops.matrices import (
    batch,
    check_matrices,
    check_square,
    floating_dtype,
    inner,
    lower,
    multiply,
    swapped,
    symmetric,
)
from wengert.ops.shape import concatenate, reshape, slice_, whole
from wengert.primitive import Draw, Explicit, Primitive, Samples, primitive


def parts(stacked: Any, *rows: int) -> list[Any]:
    """Return factors that stand above one another, by the number of rows of each."""
    start, found = 0, list[Any]()
    for count in rows:
        index = whole(shape_of(stacked))
        index[-2] = (start, count, 1)
        found.append(slice_(stacked, index=tuple(index)))
        start += count
    return found


def as_row(values: Any) -> Any:
    """Return numbers, one for each column, as a matrix of one row."""
    *lead, count = shape_of(values)
    return reshape(values, shape=(*lead, 1, count))


def as_numbers(row: Any) -> Any:
    """Return the numbers of a matrix of one row."""
    *lead, _, count = shape_of(row)
    return reshape(row, shape=(*lead, count))


def _stacked(*factors: Any) -> Any:
    return concatenate(*factors, axis=len(shape_of(factors[0])) - 2)


def _inverse_off_diagonal(x: Any) -> Any:
    """Return ``1 / x`` off the diagonal, and 0 on it."""
    here, number = np.eye(shape_of(x)[-1], dtype=bool), dtype_of(x).type
    return where(here, number(0), _inverse(where(here, number(1), x)))


def _inverse(x: Any) -> Any:
    """Return ``1 / x`` without a warning at 0: `multiply_no_nan` multiplies with it."""
    with np.errstate(divide="ignore"):
        return reciprocal(x)


def _stated(
    name: str,
    doc: str,
    shape: Callable[[TensorType], Shape],
    evaluate: Callable[..., Any],
    tangent: Callable[..., Any],
    source: str,
    samples: Samples,
    check: Callable[[str, TensorType], None] = check_matrices,
) -> Primitive:
    """State a factorisation: ``tangent(a, da, out, **params)`` is what ``da`` makes of it."""

    def rule(a: TensorType, **params: Any) -> TensorType:
        check(name, a)
        return TensorType(floating_dtype(a), (*a.shape[:-2], *shape(a)))

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=Explicit(
            lambda primals, tangents, out, **params: tangent(*primals, *tangents, out, **params)
        ),
        batch=batch,
        lowering=OnHost("LAPACK does it"),
        source=source.format,
        samples=samples,
    )


# -- eigenvalues of symmetric matrices -------------------------------------------------------------------


def _eigh(a: Any, half: Any) -> Any:
    values, vectors = np.linalg.eigh(a, half)
    return _stacked(as_row(values), vectors)


def _eigh_tangent(a: Any, da: Any, out: Any, half: Any) -> Any:
    """Return ``dw = diag S`` and ``dV = V (S_ij / (w_j - w_i))``, for ``S = V^T dA V``."""
    values, vectors = parts(out, 1, shape_of(a)[-1])
    image = multiply(symmetric(da, half), vectors)
    turned = multiply_no_nan(
        multiply(swapped(vectors), image), _inverse_off_diagonal(values - swapped(values))
    )
    return _stacked(as_row(inner(vectors, image)), multiply(vectors, turned))


def _eigvalsh_tangent(a: Any, da: Any, out: Any, half: Any) -> Any:
    """Return ``dw_i = v_i^T dA v_i``."""
    _, vectors = parts(eigh(a, half=half), 1, shape_of(a)[-1])
    return inner(vectors, multiply(symmetric(da, half), vectors))


def _apart(draw: Draw, rows: int, columns: int) -> Any:
    """Draw matrices whose eigenvalues, singular values and columns lie apart."""
    lead = draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, rows, columns), -0.5, 0.5) + 3 * np.eye(rows, columns) * np.arange(
        1, columns + 1
    )


def _square(draw: Draw) -> Any:
    rows = draw.integer(1, 4)
    return (_apart(draw, rows, rows),), {"half": draw.choice("LU")}


eigh = _stated(
    "eigh",
    "the eigenvalues of symmetric matrices, ascending, as a row above their eigenvectors, which are columns; one "
    "half of the matrices alone is read",
    lambda a: (a.shape[-1] + 1, a.shape[-1]),
    _eigh,
    _eigh_tangent,
    "stacked_eigh({0}, {half!r})",
    _square,
    check_square,
)
eigvalsh = _stated(
    "eigvalsh",
    "the eigenvalues of symmetric matrices, ascending; one half of the matrices alone is read",
    lambda a: a.shape[-1:],
    lambda a, half: np.linalg.eigvalsh(a, half),
    _eigvalsh_tangent,
    "np.linalg.eigvalsh({0}, {half!r})",
    _square,
    check_square,
)

# -- singular values -------------------------------------------------------------------------------------


def _svd(a: Any) -> Any:
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return _stacked(u, as_row(s), swapped(vt))


def _svd_tangent(a: Any, da: Any, out: Any) -> Any:
    """Differentiate ``A = U diag(s) V^T``.

    With ``M = U^T dA V``, its symmetric part over ``s_j - s_i`` as X and its skew part over ``s_j + s_i`` as Y::

        ds = diag M
        dU = U (X + Y) + (1 - U U^T) dA V / s
        dV = V (X - Y) + (1 - V V^T) dA^T U / s
    """
    rows, columns = shape_of(a)[-2:]
    u, s, v = parts(out, rows, 1, columns)
    image = multiply(da, v)
    turned = multiply(swapped(u), image)
    even, odd = (turned + swapped(turned)) * 0.5, (turned - swapped(turned)) * 0.5
    even = multiply_no_nan(even, _inverse_off_diagonal(s - swapped(s)))
    odd = multiply_no_nan(odd, _inverse_off_diagonal(s + swapped(s)))
    du, dv = multiply(u, even + odd), multiply(v, even - odd)
    if rows > columns:
        du = du + multiply_no_nan(image - multiply(u, turned), _inverse(s))
    if columns > rows:
        image_of_u = multiply(swapped(da), u)
        dv = dv + multiply_no_nan(image_of_u - multiply(v, swapped(turned)), _inverse(s))
    return _stacked(du, as_row(_of_values(as_numbers(s), u, image)), dv)


def _of_values(s: Any, u: Any, image: Any) -> Any:
    """Return ``u_i^T dA v_i``; 0 for a singular value of 0, the corner of a magnitude."""
    return where(equal(s, 0), dtype_of(s).type(0), inner(u, image))


def _svdvals_tangent(a: Any, da: Any, out: Any) -> Any:
    """Return ``ds_i = u_i^T dA v_i``."""
    rows, columns = shape_of(a)[-2:]
    u, _, v = parts(svd(a), rows, 1, columns)
    return _of_values(out, u, multiply(da, v))


def _rectangular(draw: Draw) -> Any:
    return (_apart(draw, draw.integer(1, 4), draw.integer(1, 4)),), {}


svd = _stated(
    "svd",
    "the factors of A = U diag(s) V^T above one another: U, the singular values as a row, descending, and V",
    lambda a: (a.shape[-2] + 1 + a.shape[-1], min(a.shape[-2:])),
    _svd,
    _svd_tangent,
    "stacked_svd({0})",
    _rectangular,
)
svdvals = _stated(
    "svdvals",
    "the singular values, descending",
    lambda a: (min(a.shape[-2:]),),
    lambda a: np.linalg.svd(a, compute_uv=False),
    _svdvals_tangent,
    "np.linalg.svd({0}, compute_uv=False)",
    _rectangular,
)

# -- orthogonal and triangular ---------------------------------------------------------------------------


def _check_tall(operation: str, a: TensorType) -> None:
    check_matrices(operation, a)
    if a.shape[-2] < a.shape[-1]:
        raise ShapeError(message(operation, "as many rows as columns are required", show(a)))


def _qr(a: Any) -> Any:
    return _stacked(*np.linalg.qr(a))


def _qr_tangent(a: Any, da: Any, out: Any) -> Any:
    """Return ``dQ = dA R^-1 + Q (W - M)`` and ``dR = (M - W) R``: M is ``Q^T dA R^-1``, W skew with M's lower half."""
    q, r = parts(out, *shape_of(a)[-2:])
    quotient = swapped(solve(swapped(r), swapped(da)))
    turned = multiply(swapped(q), quotient)
    below = lower(turned, -1)
    rest = turned - below + swapped(below)
    return _stacked(quotient - multiply(q, rest), multiply(rest, r))


def _tall(draw: Draw) -> Any:
    columns = draw.integer(1, 4)
    rows = max(2, columns + draw.integer(0, 2))  # the Q of a number is a sign
    return (_apart(draw, rows, columns),), {}


qr = _stated(
    "qr",
    "the factors of A = Q R above one another: Q with orthonormal columns, and R upper triangular; no fewer rows than "
    "columns",
    lambda a: (a.shape[-2] + a.shape[-1], a.shape[-1]),
    _qr,
    _qr_tangent,
    "np.concatenate(np.linalg.qr({0}), -2)",
    _tall,
    _check_tall,
)
