"""Matrices that are made of vectors or of other matrices, under SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.numpy.registry import rank_of
from wengert.scipy.registry import array


def _vector(operation: str, x: Any) -> Any:
    """Return vectors along the last axis; a number counts as a vector."""
    x = array(x)
    if not rank_of(x):
        x = np.reshape(x, (1,))
    return x


def _taken(first: Any, second: Any, places: Any) -> Any:
    """Return the elements of two vectors, one after the other, at places."""
    lead = np.broadcast_shapes(shape_of(first)[:-1], shape_of(second)[:-1])
    both = [np.broadcast_to(x, (*lead, shape_of(x)[-1])) for x in (first, second)]
    return np.concatenate(both, -1)[..., places]


@substitutes("scipy.linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrix with the element ``c[i - j]`` below and ``r[j - i]`` above the diagonal.

    Example:
        >>> toeplitz([1, 2, 3], [1, 4])
        array([[1, 4],
               [2, 1],
               [3, 2]])
    """
    c = _vector("toeplitz", c)
    r = c.conj() if r is None else _vector("toeplitz", r)
    rows, columns = shape_of(c)[-1], shape_of(r)[-1]
    distance = np.subtract.outer(np.arange(rows), np.arange(columns))
    return _taken(c, r, np.where(distance >= 0, distance, rows - distance))


@substitutes("scipy.linalg.circulant")
def circulant(c: Any) -> Any:
    """Return the square matrix with the element ``c[(i - j) mod n]``.

    Example:
        >>> circulant([1, 2, 3])
        array([[1, 3, 2],
               [2, 1, 3],
               [3, 2, 1]])
    """
    c = _vector("circulant", c)
    count = shape_of(c)[-1]
    return c[..., np.subtract.outer(np.arange(count), np.arange(count)) % max(count, 1)]


@substitutes("scipy.linalg.hankel")
def hankel(c: Any, r: Any = None) -> Any:
    """Return the matrix with constant antidiagonals, from its first column and its last row.

    Example:
        >>> hankel([1, 2, 3], [3, 4])
        array([[1, 2],
               [2, 3],
               [3, 4]])
    """
    c = _vector("hankel", c)
    r = np.zeros_like(c) if r is None else _vector("hankel", r)
    rows, columns = shape_of(c)[-1], shape_of(r)[-1]
    place = np.add.outer(np.arange(rows), np.arange(columns))
    return _taken(c, r, np.where(place < rows, place, place + 1))


@substitutes("scipy.linalg.block_diag")
def block_diag(*arrs: Any) -> Any:
    """Return the matrix with matrices along its diagonal, and zeros elsewhere.

    Example:
        >>> block_diag([[1, 2]], 3)
        array([[1, 2, 0],
               [0, 0, 3]])
    """
    blocks = [np.atleast_2d(array(a)) for a in arrs] or [np.zeros((1, 0))]
    lead = np.broadcast_shapes(*(shape_of(a)[:-2] for a in blocks))
    total = sum(shape_of(a)[-1] for a in blocks)
    rows: list[Any] = []
    before = 0
    for a in blocks:
        height, width = shape_of(a)[-2:]
        a = np.broadcast_to(a, (*lead, height, width))
        sides = [np.zeros((*lead, height, n), a.dtype) for n in (before, total - before - width)]
        rows.append(np.concatenate([sides[0], a, sides[1]], -1))
        before += width
    return np.concatenate(rows, -2)


@substitutes("scipy.linalg.companion")
def companion(a: Any) -> Any:
    """Return the matrix whose eigenvalues are the roots of a polynomial.

    Raises:
        ShapeError: there are fewer than two coefficients.

    Example:
        >>> companion([1.0, -3.0, 2.0])
        array([[ 3., -2.],
               [ 1.,  0.]])
    """
    a = _vector("companion", a)
    count = shape_of(a)[-1] - 1
    if count < 1:
        raise ShapeError(message("companion", "at least two coefficients are required", show(a)))
    leading = concrete(a[..., 0])
    if leading is not None and not np.all(leading):
        raise ArgumentError(message("companion", "the first coefficient must not be 0", show(a)))
    first = -a[..., 1:] / (1.0 * a[..., :1])
    below = np.broadcast_to(np.eye(count - 1, count), (*shape_of(a)[:-1], count - 1, count))
    return np.concatenate([first[..., None, :], below.astype(first.dtype)], -2)


@substitutes("scipy.linalg.leslie")
def leslie(f: Any, s: Any) -> Any:
    """Return Leslie's matrix of a population: fecundities in the first row, survival rates below the diagonal.

    Raises:
        ShapeError: there is not one survival rate less than fecundities.

    Example:
        >>> leslie([0.1, 2.0], [0.5])
        array([[0.1, 2. ],
               [0.5, 0. ]])
    """
    f, s = _vector("leslie", f), _vector("leslie", s)
    count = shape_of(f)[-1]
    if shape_of(s)[-1] != count - 1 or count < 2:
        raise ShapeError(
            message("leslie", "s must have one element less than f, and at least one", show(f, s))
        )
    lead = np.broadcast_shapes(shape_of(f)[:-1], shape_of(s)[:-1])
    below = where(np.eye(count - 1, count, dtype=bool), s[..., :, None], np.zeros((), s.dtype))
    rows = (f[..., None, :], 1), (below, count - 1)
    return np.concatenate([np.broadcast_to(row, (*lead, extent, count)) for row, extent in rows], -2)


@substitutes("scipy.linalg.khatri_rao")
def khatri_rao(a: Any, b: Any) -> Any:
    """Return the matrix whose columns are the Kronecker products of the columns of two matrices.

    Raises:
        ShapeError: the columns do not agree.

    Example:
        >>> khatri_rao([[1, 2]], [[3, 4], [5, 6]])
        array([[ 3,  8],
               [ 5, 12]])
    """
    a, b = array(a), array(b)
    if rank_of(a) < 2 or rank_of(b) < 2 or shape_of(a)[-1] != shape_of(b)[-1]:
        raise ShapeError(message("khatri_rao", "matrices with as many columns are required", show(a, b)))
    products = a[..., :, None, :] * b[..., None, :, :]
    *lead, first, second, columns = shape_of(products)
    return np.reshape(products, (*lead, first * second, columns))


@substitutes("scipy.linalg.convolution_matrix")
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Return the matrix A with ``A @ v = np.convolve(a, v, mode)`` for vectors v of n elements.

    Raises:
        ShapeError: the vector is empty, n is less than 1, or the mode is unknown.

    Example:
        >>> convolution_matrix([1, 2], 2)
        array([[1, 0],
               [2, 1],
               [0, 2]])
    """
    a = _vector("convolution_matrix", a)
    count = shape_of(a)[-1]
    if not count or n < 1 or mode not in ("full", "same", "valid"):
        requirement = "a vector with elements, n >= 1 and a mode full, same or valid are required"
        raise ShapeError(message("convolution_matrix", requirement, f"{show(a)}, {n=}, {mode=}"))
    distance = np.subtract.outer(np.arange(count + n - 1), np.arange(n))
    inside = (distance >= 0) & (distance < count)
    full = where(inside, a[..., np.where(inside, distance, 0)], np.zeros((), a.dtype))
    shorter, longer = sorted((count, n))
    if mode == "valid":
        return full[..., shorter - 1 : longer, :]
    start = (shorter - 1) // 2 if mode == "same" else 0
    return full[..., start : start + longer, :] if mode == "same" else full
