"""The two linear equations behind the derivatives of ``A = L L^T``.

* forward: ``T L^T + L T^T = S`` for the lower triangular T, where S is symmetric;
* reverse: ``(B + B^T) L = G`` on and below the diagonal, for the lower triangular B.

Each is the other transposed: ``<G, T> = <B, S>``. To find their solutions a few columns at a time, as the factor
itself is found, would be half the work, but has errors of the order of the condition of A; these have that of L.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.kernels.triangular import Array, Triangular

_ROWS = 128
"""Of a product of triangular matrices that are found together, up to their last column that is no zero."""


def tangent(factor: Array, right: Array) -> Array:
    """Return the lower triangular T with ``T L^T + L T^T = S``: ``L low(L^-1 S L^-T)``, low halving the diagonal.

    Args:
        factor: stacked matrices L, of which the lower triangle is read.
        right: stacked matrices S, of which the lower triangle is read; the leading axes broadcast.

    Example:
        >>> tangent(np.eye(2), np.array([[2.0, 0.0], [3.0, 4.0]]))
        array([[1., 0.],
               [3., 2.]])
    """
    x = _symmetric(_low(_stacked(factor, right)))
    equations = Triangular(factor, lower=True)
    equations.solve(x)
    equations.solve_symmetric(_transposed(x))
    x = _low(x)
    t = np.zeros_like(x)
    for start, stop in _rows(x):
        rows = np.tril(factor[..., start:stop, :stop], start)
        t[..., start:stop, :stop] = rows @ x[..., :stop, :stop]
    return t


def cotangent(factor: Array, right: Array) -> Array:
    """Return the lower triangular B with ``(B + B^T) L = G``: ``low(L^-T (W + W^T) L^-1)`` for ``W = low(L^T G)``.

    Args:
        factor: stacked matrices L, of which the lower triangle is read.
        right: stacked matrices G, of which the lower triangle is read; the leading axes broadcast.

    Example:
        >>> cotangent(np.eye(2), np.array([[2.0, 0.0], [3.0, 4.0]]))
        array([[1., 0.],
               [3., 2.]])
    """
    upper, g = _transposed(factor), np.tril(_stacked(factor, right))
    w = np.zeros_like(g)
    for start, stop in _rows(g):
        rows = np.triu(upper[..., start:stop, start:])
        w[..., start:stop, :stop] = rows @ g[..., start:, :stop]
    x = _symmetric(_low(w))
    equations = Triangular(upper, lower=False)
    equations.solve(x)
    equations.solve_symmetric(_transposed(x))
    return _low(_transposed(x))


def _stacked(factor: Array, right: Array) -> Array:
    return np.broadcast_to(right, np.broadcast_shapes(factor.shape, right.shape))


def _rows(x: Array) -> Iterator[tuple[int, int]]:
    rows = x.shape[-1]
    return ((start, min(start + _ROWS, rows)) for start in range(0, rows, _ROWS))


def _low(x: Array) -> Array:
    """Return the lower triangle with half the diagonal: of a symmetric matrix, what it is the symmetric part of."""
    low = np.tril(x)
    np.einsum("...ii->...i", low)[...] /= 2
    return low


def _symmetric(x: Array) -> Array:
    return x + _transposed(x)


def _transposed(x: Array) -> Any:
    return x.swapaxes(-1, -2)
