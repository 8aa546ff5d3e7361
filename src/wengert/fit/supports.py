"""Restricted parameters as functions of numbers that are free: each with the logarithm of its Jacobian determinant.

A density of the restricted parameter is, as a density of the free numbers, greater by this factor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def positive(z: Any) -> tuple[Any, Any]:
    """Return positive numbers, ``exp(z)``.

    Args:
        z: any real numbers, of any shape.

    Returns:
        ``(x, log_jacobian)``: numbers of the shape of z, and ``log |det dx/dz|``, which is one number. Add it to a log
        density of x for one of z; a likelihood has no such term.

    Example:
        >>> from wengert.fit import nuts
        >>> from wengert.random import key
        >>> def exponential(z):
        ...     x, log_jacobian = positive(z)
        ...     return -x + log_jacobian
        >>> samples = nuts(exponential, 0.0, key(0))
        >>> bool(abs(np.mean(np.exp(samples.draws)) - 1.0) < 0.1)
        True
    """
    return np.exp(z), np.sum(z)


def bounded(z: Any, lower: Any = 0.0, upper: Any = 1.0) -> tuple[Any, Any]:
    """Return numbers between bounds, ``lower + (upper - lower) / (1 + exp(-z))``.

    Args:
        z: any real numbers, of any shape; zero is the middle.
        lower: the lower bound, of a shape that broadcasts to that of z.
        upper: the upper bound.

    Returns:
        ``(x, log_jacobian)`` as of `positive`.

    Example:
        >>> x, log_jacobian = bounded(np.zeros(2), -1.0, 3.0)
        >>> x, float(log_jacobian)
        (array([1., 1.]), 0.0)
    """
    below, above = np.logaddexp(0.0, -z), np.logaddexp(0.0, z)
    width = upper - lower
    return lower + width * np.exp(-below), np.sum(np.log(width) - below - above)


def ordered(z: Any) -> tuple[Any, Any]:
    """Return increasing numbers: the first is that of z, and each further one is greater by ``exp(z)``.

    Args:
        z: any real numbers; the last axis is that of the order.

    Returns:
        ``(x, log_jacobian)`` as of `positive`.

    Example:
        >>> ordered(np.array([-1.0, 0.0, np.log(2.0)]))[0]
        array([-1.,  0.,  2.])
    """
    steps = np.concatenate([z[..., :1], np.exp(z[..., 1:])], axis=-1)
    return np.cumsum(steps, axis=-1), np.sum(z[..., 1:])


def simplex(z: Any) -> tuple[Any, Any]:
    """Return positive numbers whose sum is 1, by the softmax of isometric log-ratios (Egozcue and others, 2003).

    Args:
        z: any real numbers; the last axis has one element less than the simplex, and zeros give equal numbers.

    Returns:
        ``(x, log_jacobian)`` as of `positive`, the determinant for all elements of x but the last.

    Example:
        >>> simplex(np.zeros(3))[0]
        array([0.25, 0.25, 0.25, 0.25])
    """
    logits = z @ _sum_zero_basis(np.shape(z)[-1]).T
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    logs = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    return np.exp(logs), np.sum(np.sum(logs, axis=-1) + 0.5 * math.log(logs.shape[-1]))


def _sum_zero_basis(size: int) -> Any:
    """Return an orthonormal basis of the vectors of ``size + 1`` elements whose sum is zero, in columns (Helmert's)."""
    row, column = np.arange(size + 1)[:, None], np.arange(1, size + 1)
    entries = np.where(row < column, 1.0, np.where(row == column, -column, 0.0))
    return entries / np.sqrt(column * (column + 1.0))
