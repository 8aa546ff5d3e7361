"""Factorisations of one matrix by columns, and substitution: the steps of block algorithms, without LAPACK."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.core.errors import MatrixError

Array: TypeAlias = np.ndarray[Any, Any]


def cholesky_by_rows(a: Array, requirement: str) -> Array:
    """Return the lower triangular L with ``L L^T = A``, or raise the requirement that A be positive definite.

    Raises:
        MatrixError: a pivot is not positive.

    Example:
        >>> cholesky_by_rows(np.array([[4.0, 2.0], [2.0, 5.0]]), "it must be positive definite")
        array([[2., 0.],
               [1., 2.]])
    """
    factor = np.zeros_like(a)
    for j in range(len(a)):
        rest = a[j:, j] - factor[j:, :j] @ factor[j, :j]
        if rest[0] <= 0:
            raise MatrixError(requirement)
        factor[j, j] = np.sqrt(rest[0])
        factor[j + 1 :, j] = rest[1:] / factor[j, j]
    return factor


def substitution(t: Array, b: Array, lower: bool, unit: bool) -> Array:
    """Return x with ``T x = b`` for a triangular T; the other triangle, and with unit the diagonal, is not read.

    Example:
        >>> substitution(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([[2.0], [9.0]]), True, False)
        array([[1.],
               [2.]])
    """
    x = b.copy()
    count = len(t)
    for i in range(count) if lower else range(count - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, count)
        x[i] -= t[i, known] @ x[known]
        if not unit:
            with np.errstate(all="ignore"):
                x[i] /= t[i, i]
    return x


def lu_by_columns(a: Array) -> Array:
    """Return L and U with ``P A = L U`` in one matrix, with partial pivoting, and a column with the order of the rows.

    Example:
        >>> lu_by_columns(np.array([[1.0, 2.0], [4.0, 4.0]]))
        array([[4.  , 4.  , 1.  ],
               [0.25, 1.  , 0.  ]])
    """
    rows, columns = a.shape
    packed = np.concatenate([a, np.arange(rows, dtype=float)[:, None]], 1)
    for j in range(min(a.shape)):
        pivot = j + int(np.argmax(np.abs(packed[j:, j])))
        packed[[j, pivot]] = packed[[pivot, j]]
        if packed[j, j] != 0:
            packed[j + 1 :, j] /= packed[j, j]
            packed[j + 1 :, j + 1 : columns] -= np.outer(packed[j + 1 :, j], packed[j, j + 1 : columns])
    return packed


def householder_by_columns(a: Array) -> Array:
    """Return R, below its diagonal the vectors of reflections whose product is Q, and below them a row of factors.

    Example:
        >>> householder_by_columns(np.array([[3.0], [4.0]]))
        array([[-5. ],
               [ 0.5],
               [ 1.6]])
    """
    rows, columns = a.shape
    packed = np.concatenate([a, np.zeros((1, columns))])
    for j in range(columns):
        x = packed[j:rows, j]
        alpha, rest = x[0], float(np.linalg.norm(x[1:]))
        if rest == 0:
            continue
        beta = -np.copysign(np.hypot(alpha, rest), alpha)
        mirror = np.append(1.0, x[1:] / (alpha - beta))
        tau = (beta - alpha) / beta
        others = packed[j:rows, j + 1 :]
        others -= tau * np.outer(mirror, mirror @ others)
        packed[j:rows, j] = np.append(beta, mirror[1:])
        packed[rows, j] = tau
    return packed
