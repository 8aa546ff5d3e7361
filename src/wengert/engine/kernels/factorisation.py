"""Factorisations of one matrix by columns, and substitution: the steps of block algorithms, without LAPACK."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.errors import MatrixError

Array: TypeAlias = np.ndarray[Any, Any]

LEAST_SCALE, LARGEST_SCALE = 2.0**-100, 2.0**500
"""Where the largest element lies between them, rotations neither overflow nor lose what counts."""
NEGLIGIBLE = 2.0**-500
"""Elements up to this are zero beside the largest one."""


def cholesky_by_rows(a: Array, requirement: str) -> Array:
    """Return the lower triangular L with ``L L^T = A``, or raise the requirement that A be positive definite.

    Example:
        >>> cholesky_by_rows(np.array([[4.0, 2.0], [2.0, 5.0]]), "it must be positive definite")
        array([[2., 0.],
               [1., 2.]])
    """
    factor = np.zeros_like(a)
    for j in range(len(a)):
        column = a[j:, j] - factor[j:, :j] @ factor[j, :j]
        if column[0] <= 0:
            raise MatrixError(requirement)
        factor[j, j] = np.sqrt(column[0])
        factor[j + 1 :, j] = column[1:] / factor[j, j]
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
        solved = slice(0, i) if lower else slice(i + 1, count)
        x[i] -= t[i, solved] @ x[solved]
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
        alpha, norm = x[0], float(np.linalg.norm(x[1:]))
        if norm == 0:
            continue
        beta = -np.copysign(np.hypot(alpha, norm), alpha)
        mirror = np.append(1.0, x[1:] / (alpha - beta))
        tau = (beta - alpha) / beta
        others = packed[j:rows, j + 1 :]
        others -= tau * np.outer(mirror, mirror @ others)
        packed[j:rows, j] = np.append(beta, mirror[1:])
        packed[rows, j] = tau
    return packed


def eigh_by_rotations(a: Array, sweeps: int) -> Array:
    """Return the eigenvalues of a symmetric matrix, ascending, as a row above the eigenvectors, which are columns.

    Each step of a sweep rotates pairs of rows, and of columns, that have no row in common, such that the elements where
    they cross become zero.

    Example:
        >>> eigh_by_rotations(np.array([[2.0, 0.0], [0.0, 1.0]]), 1)
        array([[1., 2.],
               [0., 1.],
               [1., 0.]])
    """
    count = len(a)
    largest = np.abs(a).max()
    scale = 1.0 if LEAST_SCALE < largest < LARGEST_SCALE or largest == 0 else largest
    a, vectors, rows = a / scale, np.eye(count), np.arange(count)
    for step in range(sweeps * len(pairs := partners(count))):
        partner = pairs[step % len(pairs)]
        gap, twice = a[partner, partner] - a[rows, rows], a[rows, partner] + a[partner, rows]
        upper = np.where(gap == 0, rows < partner, gap > 0)
        length = np.abs(gap) + np.sqrt(gap * gap + twice * twice)
        zero = (np.abs(twice) < NEGLIGIBLE) | (rows == partner)
        tangent = np.where(zero, 0.0, twice / np.where(zero, 1.0, np.where(upper, length, -length)))
        cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
        sine = tangent * cosine
        values = a[rows, rows] - 0.5 * tangent * twice
        a = cosine[:, None] * a - sine[:, None] * a[partner]
        a = cosine * a - sine * a[:, partner]
        a[rows, partner] = 0.0
        a[rows, rows] = values
        vectors = cosine * vectors - sine * vectors[:, partner]
    order = np.argsort(np.diagonal(a), kind="stable")
    return np.concatenate([np.diagonal(a)[None, order] * scale, vectors[:, order]])


def partners(count: int) -> Array:
    """Return, for each step of a sweep, the row that each row is paired with, itself for none: all pairs once."""
    odd = pairings(count)
    rows, steps = np.arange(count), np.arange(odd)[:, None]
    partner = np.where(rows < odd, (steps - rows) % odd, steps * ((odd + 1) // 2) % odd)
    return np.where((partner == rows) & (count % 2 == 0), count - 1, partner)


def pairings(count: int) -> int:
    """Return the number of steps of a sweep."""
    return count - 1 + count % 2
