"""Modified Bessel functions of the first kind, of orders 0 and 1.

Up to 20 a power series, whose terms have one sign, so that nothing cancels; beyond that Hankel's asymptotic expansion
(Abramowitz and Stegun, 9.6.10 and 9.7.1), whose least term is below the rounding error there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wengert.engine.ops.arithmetic import absolute, minimum
from wengert.engine.ops.comparison import less, less_equal, where
from wengert.engine.ops.composition import composed
from wengert.engine.ops.exponential import exp, sqrt

_BORDER = 20.0
_NEAR, _FAR = 44, 36
_LARGE = 1500.0  # the result is infinite from here on


def _nested(count: int, ratio: Callable[[int], Any]) -> Any:
    """Return ``1 + r(1) (1 + r(2) (1 + ...))``: a sum whose terms have the ratios r, without powers that underflow."""
    total: Any = 1.0
    for k in range(count, 0, -1):
        total = 1.0 + ratio(k) * total
    return total


def _series(a: Any, order: int) -> Any:
    """Return the power series at a >= 0, without the factor ``(a / 2)^order``."""
    z = 0.25 * a * a
    return _nested(_NEAR, lambda k: z * (1.0 / (k * (k + order))))


def _expansion(a: Any, order: int) -> Any:
    """Return the asymptotic expansion at a large a; the exponential is split, which delays its overflow."""
    a = minimum(a, _LARGE)
    inverse = 1.0 / a
    terms = _nested(_FAR, lambda k: inverse * (((2 * k - 1) ** 2 - 4 * order**2) / (8.0 * k)))
    half = exp(0.5 * a)
    return half * (terms / sqrt(2 * math.pi * a)) * half


def finite_or_zero(out: Any) -> Any:
    """Return a value, and 0 where it is infinite: there another term of its slope is, too."""
    return where(less(absolute(out), math.inf), out, 0.0)


@composed(lambda out, x: i1(x), domain=(-8.0, 8.0))  # pyright: ignore[reportGeneralTypeIssues] (each has the other)
def i0(x: Any) -> Any:
    """Return the modified Bessel function of the first kind of order 0.

    ``I0(x) = sum over k of (x^2 / 4)^k / k!^2``, with a relative error of at most 6 units of rounding in
    float64. Its derivative is `i1`.

    Args:
        x: a number or an array.

    Returns:
        A number or an array of the shape of ``x``.

    Example:
        >>> print(f"{i0(1.0):.6f}")
        1.266066
    """
    a = absolute(x)
    near = less_equal(a, _BORDER)
    return where(near, _series(where(near, a, 0.0), 0), _expansion(where(near, _BORDER, a), 0))


@composed(
    lambda out, x, order: x * i_over_power(x, order=order + 1),  # pyright: ignore[reportGeneralTypeIssues]
    domain=(-8.0, 8.0),
    params={"order": 1},
)
def i_over_power(x: Any, order: int) -> Any:
    """Return ``I_n(x) / x^n`` for an order n, which is even and whose derivatives do not cancel around 0.

    Args:
        x: a number or an array.
        order: n, a whole number from 0.

    Returns:
        A number or an array of the shape of ``x``.

    Example:
        >>> print(f"{i_over_power(0.0, order=1):.1f}")
        0.5
    """
    a = absolute(x)
    near = less_equal(a, _BORDER)
    outside = where(near, _BORDER, a)
    far = _expansion(outside, order)
    for _ in range(order):  # a power of a large number would overflow in single precision
        far = far / outside
    return where(near, _series(where(near, a, 0.0), order) / (2.0**order * math.factorial(order)), far)


@composed(lambda out, x: i0(x) - finite_or_zero(i_over_power(x, order=1)), domain=(-8.0, 8.0))
def i1(x: Any) -> Any:
    """Return the modified Bessel function of the first kind of order 1.

    ``I1(x) = x / 2 sum over k of (x^2 / 4)^k / (k! (k + 1)!)``, with a relative error of at most 6 units of rounding
    in float64. Its derivative is ``I0(x) - I1(x) / x``.

    Args:
        x: a number or an array.

    Returns:
        A number or an array of the shape of ``x``.

    Example:
        >>> print(f"{i1(1.0):.6f}")
        0.565159
    """
    a = absolute(x)
    near = less_equal(a, _BORDER)
    inside, outside = where(near, x, 0.0), where(near, _BORDER, a)
    far = _expansion(outside, 1)
    return where(near, 0.5 * inside * _series(inside, 1), where(less_equal(x, 0.0), -far, far))
