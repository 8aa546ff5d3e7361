"""Restricted parameters as functions of numbers that are free: each with the logarithm of its Jacobian determinant.

A density of the restricted parameter is, as a density of the free numbers, greater by this factor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import SEQUENCE, dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, ScalarError, ShapeError, message
from wengert.engine.core.shapes import Shape, broadcast, shape_of
from wengert.engine.core.shapes import show as show_shape


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
    z = _array(z)
    return np.exp(z), np.sum(z)


def bounded(z: Any, lower: Any = 0.0, upper: Any = 1.0) -> tuple[Any, Any]:
    """Return numbers between bounds, ``lower + (upper - lower) / (1 + exp(-z))``.

    With one bound they are ``lower + exp(z)`` or ``upper - exp(-z)``, and z itself without bounds.

    Args:
        z: any real numbers, of any shape; zero is the middle of two bounds.
        lower: the lower bound, of a shape that broadcasts to that of z; ``-np.inf`` for none.
        upper: the upper bound; ``np.inf`` for none.

    Returns:
        ``(x, log_jacobian)`` as of `positive`.

    Raises:
        ArgumentError: a lower bound is not less than its upper bound, as far as both are known.
        ShapeError: the bounds do not broadcast to the shape of z.

    Example:
        >>> x, log_jacobian = bounded(np.zeros(2), -1.0, 3.0)
        >>> x, float(log_jacobian)
        (array([1., 1.]), 0.0)
        >>> bounded(np.zeros(2), -1.0, np.inf)[0]
        array([0., 0.])
    """
    z, lower, upper = _array(z), _array(lower), _array(upper)
    _check_bounds(shape_of(z), lower, upper)
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    has_both = has_lower & has_upper
    if (flags := concrete(has_both)) is not None and np.all(flags):
        return _between(z, lower, upper - lower)
    dtype = np.result_type(*(getattr(value, "dtype", value) for value in (z, lower, upper)))
    choose: Any = np.where
    width = choose(has_both, upper - lower, 1.0).astype(dtype)
    inside, logs = _between(z, choose(has_both, lower, 0.0).astype(dtype), width, np.positive)
    outside = choose(has_lower, lower + np.exp(z), choose(has_upper, upper - np.exp(-z), z))
    slopes = choose(has_both, logs, choose(has_lower, z, choose(has_upper, -z, 0.0)))
    return choose(has_both, inside, outside).astype(dtype)[()], np.sum(slopes).astype(dtype)


def _between(z: Any, lower: Any, width: Any, total: Any = np.sum) -> tuple[Any, Any]:
    below, above = np.logaddexp(0.0, -z), np.logaddexp(0.0, z)
    return lower + width * np.exp(-below), total(np.log(width) - below - above)


def _check_bounds(shape: Shape, lower: Any, upper: Any) -> None:
    """Raise an error unless the bounds broadcast to a shape, and the lower ones are less than the upper ones."""
    bounds = broadcast("bounded", shape_of(lower), shape_of(upper))
    if broadcast("bounded", shape, bounds) != shape:
        requirement = "the bounds must broadcast to the shape of z"
        raise ShapeError(message("bounded", requirement, f"{show_shape(bounds)} for {show_shape(shape)}"))
    low, high = concrete(lower), concrete(upper)
    if low is None or high is None or np.all(np.less(low, high)):
        return
    low, high = np.broadcast_arrays(low, high)
    place = np.unravel_index(np.argmin(np.less(low, high)), low.shape)
    got = f"{low[place]} and {high[place]}" + (f" at index {tuple(map(int, place))}" if place else "")
    hint = "exchange them, or give -np.inf or np.inf for a bound that is not there"
    raise ArgumentError(message("bounded", "a lower bound must be less than the upper bound", got, hint))


def _array(z: Any) -> Any:
    """Return a list of values as an array; arrays and numbers as they are."""
    return np.stack(z) if isinstance(z, SEQUENCE) else z


def _vector(name: str, z: Any) -> Any:
    """Return the numbers of a function that needs an axis of them."""
    z = _array(z)
    if not shape_of(z):
        raise ScalarError(message(name, "an array with at least one axis is needed", "a number"))
    return z


def ordered(z: Any) -> tuple[Any, Any]:
    """Return increasing numbers: the first is that of z, and each further one is greater by ``exp(z)``.

    Args:
        z: any real numbers; the last axis is that of the order.

    Returns:
        ``(x, log_jacobian)`` as of `positive`.

    Raises:
        ScalarError: z is a number.

    Example:
        >>> ordered(np.array([-1.0, 0.0, np.log(2.0)]))[0]
        array([-1.,  0.,  2.])
    """
    z = _vector("ordered", z)
    steps = np.concatenate([z[..., :1], np.exp(z[..., 1:])], axis=-1)
    return np.cumsum(steps, axis=-1), np.sum(z[..., 1:])


def simplex(z: Any) -> tuple[Any, Any]:
    """Return positive numbers whose sum is 1, by the softmax of isometric log-ratios (Egozcue and others, 2003).

    Args:
        z: any real numbers; the last axis has one element less than the simplex, and zeros give equal numbers.

    Returns:
        ``(x, log_jacobian)`` as of `positive`, the determinant for all elements of x but the last.

    Raises:
        ScalarError: z is a number.

    Example:
        >>> simplex(np.zeros(3))[0]
        array([0.25, 0.25, 0.25, 0.25])
    """
    z = _vector("simplex", z)
    basis = _sum_zero_basis(shape_of(z)[-1])
    logits = z @ (basis.astype(dtype_of(z)) if is_inexact(dtype_of(z)) else basis).T
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    logs = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    return np.exp(logs), np.sum(np.sum(logs, axis=-1) + 0.5 * math.log(logs.shape[-1]))


def _sum_zero_basis(size: int) -> Any:
    """Return an orthonormal basis of the vectors of ``size + 1`` elements whose sum is zero, in columns (Helmert's)."""
    row, column = np.arange(size + 1)[:, None], np.arange(1, size + 1)
    entries = np.where(row < column, 1.0, np.where(row == column, -column, 0.0))
    return entries / np.sqrt(column * (column + 1.0))
