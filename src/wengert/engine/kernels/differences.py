"""Differences of digamma and its derivatives at two points, which do not cancel where the points are close.

For positive points the recurrence moves both to Stirling's series. Each term of the sum and of the series is a power,
whose difference is ``x^-p expm1(-p ln(1 + h/x))``; all have one sign. The reflection formula serves left of 0.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.kernels.quadrature import elementwise
from wengert.engine.kernels.special import digamma, polygamma
from wengert.engine.kernels.tables import DIGAMMA_SERIES

Array: TypeAlias = np.ndarray[Any, Any]
_where: Any = np.where

#: The number of terms of the recurrence that lead to Stirling's series.
_STEPS = 13


def digamma_difference(x: Any, h: Any, order: int = 0) -> Any:
    """Return ``psi_order(x + h) - psi_order(x)`` for derivatives of digamma, to full relative accuracy.

    Example:
        >>> print(f"{digamma_difference(1.0, 1.0):.6f} {digamma_difference(1e15, 1.0):.6e}")
        1.000000 1.000000e-15
    """
    return elementwise(_difference, x, h, order=order)


def _difference(x: Array, h: Array, order: int) -> Array:
    end = x + h
    is_right, is_left = (x > 0) & (end > 0), (x < 0.5) & (end < 0.5)
    result = _right(_where(is_right, x, 1.0), _where(is_right, h, 1.0), order)
    if not is_right.all():
        result = _where(is_right, result, _direct(x, end, order))
        if not order:
            result = _where(is_left & ~is_right, _left(x, h), result)
        # For a whole h the cotangents of the reflection formula cancel, also beside two poles and between them.
        is_turned = is_left & ~is_right & (h == np.rint(h))
        turned = _right(_where(is_turned, 1 - x, 1.0), _where(is_turned, -h, 1.0), order)
        result = _where(is_turned, -turned if order % 2 else turned, result)
    return result


def _direct(x: Array, end: Array, order: int) -> Any:
    return polygamma(order, end) - polygamma(order, x) if order else digamma(end) - digamma(x)


def _fall(x: Array, growth: Array, power: int) -> Array:
    """Return ``(x e^growth)^-power - x^-power``."""
    return x ** float(-power) * np.expm1(-power * growth)


def _right(x: Array, h: Array, order: int) -> Array:
    sign = -1.0 if order % 2 else 1.0
    total = np.zeros_like(x)
    for _ in range(_STEPS):
        total = total - math.factorial(order) * _fall(x, np.log1p(h / x), order + 1)
        x = x + 1
    growth = np.log1p(h / x)
    total = total + (growth if order == 0 else -math.factorial(order - 1) * _fall(x, growth, order))
    total = total - 0.5 * math.factorial(order) * _fall(x, growth, order + 1)
    for j, term in enumerate(DIGAMMA_SERIES, 1):
        rising = math.prod(range(2 * j, 2 * j + order))
        total = total - term * rising * _fall(x, growth, 2 * j + order)
    return sign * total


def _left(x: Array, h: Array) -> Array:
    """Return the difference of the reflected points, and that of ``-pi cot(pi x)``."""
    mirrored = _right(_where(x < 0.5, 1 - x, 1.0), _where(x + h < 0.5, -h, 0.5), 0)
    return mirrored + math.pi * _sine(h) / (_sine(x) * _sine(x + h))


def _sine(x: Array) -> Array:
    """Return ``sin(pi x)``."""
    near = np.rint(x)
    return _where(near % 2, -1.0, 1.0) * np.sin(math.pi * (x - near))
