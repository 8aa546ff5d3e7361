"""Products with factors, Hessenberg matrices and general functions of matrices, under SciPy's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import type_of
from wengert.engine.ops.comparison import equal, less, require_end, where
from wengert.engine.ops.complex import imag, real
from wengert.engine.ops.linalg import square
from wengert.engine.ops.linalg.square import adjoint, check_square, multiply
from wengert.scipy.linalg.equations import checked
from wengert.scipy.linalg.factors import eig, qr


@substitutes("scipy.linalg.qr_multiply")
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """Return the product of c with the orthonormal factor of a, and the triangular factor.

    Raises:
        ArgumentError: the mode is neither "left" nor "right".

    Example:
        >>> product, r = qr_multiply(np.array([[3.0], [4.0]]), np.array([5.0, 0.0]))
        >>> np.abs(product), np.abs(r)
        (array([3.]), array([[5.]]))
    """
    if mode not in ("left", "right"):
        raise ArgumentError(message("qr_multiply", 'the mode must be "left" or "right"', repr(mode)))
    q, *rest = qr(a, mode="economic", pivoting=pivoting)
    q = np.conj(q) if conjugate else q
    (c,) = checked("qr_multiply", False, c)
    return (np.matmul(c, q) if mode == "right" else np.matmul(q, c), *rest)


@substitutes("scipy.linalg.hessenberg")
def hessenberg(a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return H, which is zero below its first subdiagonal, and with ``calc_q`` Q of ``a = Q H Q^H``.

    By Householder's reflections of one column after the other.

    Example:
        >>> h = hessenberg(np.array([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [4.0, 0.0, 2.0]]))
        >>> h[1:, 0].round(6) + 0.0
        array([-5.,  0.])
    """
    (h,) = checked("hessenberg", check_finite, a)
    check_square("hessenberg", type_of(h))
    count = shape_of(h)[-1]
    q: Any = np.broadcast_to(np.eye(count, dtype=dtype_of(h)), shape_of(h))
    for column in range(count - (1 if is_complex(dtype_of(h)) else 2)):  # LAPACK's last element is real, too
        x = h[..., column + 1 :, column]
        first, below = x[..., :1], np.sum(real(x[..., 1:] * np.conj(x[..., 1:])), -1, keepdims=True)
        is_done = equal(below, 0.0) if not is_complex(dtype_of(h)) else equal(below + imag(first) ** 2, 0.0)
        size = np.sqrt(where(is_done, 1.0, real(first * np.conj(first)) + below))
        last = where(less(real(first), 0.0), size, -size)
        factor = where(is_done, 0.0, (last - first) / last)
        vector = np.concatenate([np.ones_like(first), x[..., 1:] / where(is_done, 1.0, first - last)], -1)
        whole = np.concatenate([np.zeros_like(h[..., : column + 1, 0]), vector], -1)[..., None]
        turn = np.expand_dims(factor, -1) * multiply(whole, adjoint(whole))
        h = h - multiply(adjoint(turn), h)
        h, q = h - multiply(h, turn), q - multiply(q, turn)
    h = np.triu(h, -1)
    return (h, q) if calc_q else h


@substitutes("scipy.linalg.funm")
def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """Return a function of a matrix, ``V f(D) V^-1`` for its eigenvalues D and eigenvectors V.

    ``func`` takes an array of complex numbers.

    Raises:
        LimitError: eigenvalues are nearer than a thousandth of the largest one; or the function of a real matrix is not
            real: pass ``A.astype(complex)``.

    Example:
        >>> funm(np.array([[0.0, 1.0], [-2.0, -3.0]]), lambda x: x * x).round(6)
        array([[-2., -3.],
               [ 6.,  7.]])
    """
    (a,) = checked("funm", False, A)
    check_square("funm", type_of(a))
    values, vectors = eig(a)
    apart = np.abs(values[..., None] - values[..., None, :]) + np.diag(np.full(shape_of(a)[-1], np.inf))
    are_apart = np.all(np.min(apart, -1) > 1e-3 * np.max(np.abs(values), -1, keepdims=True))
    requirement = "the eigenvalues must differ, by a thousandth of the largest one"
    values = require_end(values, are_apart, operation="scipy.linalg.funm", requirement=requirement)
    found = square.solve(adjoint(vectors), adjoint(vectors * func(values)[..., None, :]))
    found = adjoint(found)
    if not is_complex(dtype_of(a)):
        size = np.max(np.abs(found))
        is_real = np.max(np.abs(imag(found))) <= 1e-9 * size
        requirement = "the function of a real matrix must be real; pass A.astype(complex)"
        found = require_end(real(found), is_real, operation="scipy.linalg.funm", requirement=requirement)
    return found if disp else (found, np.nan)
