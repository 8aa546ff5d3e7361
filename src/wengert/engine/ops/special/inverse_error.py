"""The inverse of the logarithm of the normal distribution function, and Owen's T function, as compositions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.core.shapes import shape_of
from wengert.engine.kernels.quadrature import gauss_legendre
from wengert.engine.ops.comparison import greater, less, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp, expm1, log, sqrt
from wengert.engine.ops.reduction import reduce_sum
from wengert.engine.ops.shape import reshape
from wengert.engine.ops.special.scipy_functions import log_ndtr, ndtr, ndtri
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME

_LOG_TWO_PI = math.log(2 * math.pi)
#: Where the exponential of the argument is precise enough.
_FAR = -5.0
_STEPS = 5


def ndtri_exp(y: Any) -> Any:
    """Return x with ``ln Phi(x) = y``, for y < 0.

    Far in the left tail Newton's method starts from the asymptotic ``x^2 = -2 y - ln(2 pi x^2)``. The last two steps
    have derivatives, which are right up to the third order.
    """
    is_far, is_near = less(y, _FAR), greater(y, -0.5)
    middle = ndtri(exp(where(is_far, -1.0, where(is_near, -1.0, y))))
    near = -ndtri(-expm1(where(is_near, y, -0.3)))
    safe = where(is_far, y, 2 * _FAR)
    level = stop_gradient(safe)
    square = -2.0 * level
    x = -sqrt(square - log(square) - _LOG_TWO_PI)
    for step in range(_STEPS + 2):
        below = log_ndtr(x)
        slope = exp(-0.5 * (x * x) - 0.5 * _LOG_TWO_PI - below)
        x = x - (below - (level if step < _STEPS else safe)) / slope
    return where(is_far, x, where(is_near, near, middle))


def owens_t(h: Any, a: Any) -> Any:
    """Return Owen's T function, ``int_0^a exp(-h^2 (1 + t^2) / 2) / (1 + t^2) dt / (2 pi)``.

    Beyond a = 1 it follows from its value at ``(a h, 1 / a)`` (Patefield and Tandy, 2000, equation 2).
    """
    h = where(less(h, 0.0), -h, h)  # it is even in h
    is_steep = greater(a * a, 1.0)
    slope = where(is_steep, a, 1.0)
    flat = where(is_steep, 1.0 / slope, a)
    turned = where(is_steep, h * slope, h)
    shape = np.broadcast_shapes(shape_of(turned), shape_of(flat))
    turned, column = (reshape(x + np.zeros(shape), shape=(*shape, 1)) for x in (turned, flat))
    points, weights = gauss_legendre(64)
    t = column * points
    rising = 1.0 + t * t
    terms = exp(-0.5 * (turned * turned) * rising) / rising
    value = flat * reduce_sum(terms * weights, axes=(len(shape),)) / (2 * math.pi)
    side = where(less(slope, 0.0), -1.0, 1.0)
    upper, other = ndtr(-h), ndtr(-h * slope * side)
    return where(is_steep, side * (0.5 * (upper + other) - upper * other) - value, value)


BY_NAME.update(ndtri_exp=ndtri_exp, owens_t=owens_t)
