"""SciPy's elementary functions as compositions, which are native in compiled programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.ops.arithmetic import multiply_no_nan, square
from wengert.engine.ops.comparison import greater, less, logical_and, logical_or, where
from wengert.engine.ops.exponential import cbrt, exp, expit, expm1, log, log1p
from wengert.engine.ops.exponential import power as raised
from wengert.engine.ops.special.error_and_gamma import lgamma
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME
from wengert.engine.ops.trigonometric import hypot, sin

_ROOT_PI = math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
#: The arguments from which asymptotic series replace differences that cancel.
_LARGE, _FAR = 12.0, 7.0

# -- compositions: native in compiled programs -----------------------------------------------------------


def _named(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        BY_NAME[name] = function
        return function

    return enter


BY_NAME.update(cbrt=cbrt, expit=expit, expm1=expm1, log1p=log1p, exp2=lambda x: exp(x * math.log(2)))


@_named("exp10")
def _exp10(x: Any) -> Any:
    return exp(x * math.log(10))


@_named("cosm1")
def _cosm1(x: Any) -> Any:
    half = sin(0.5 * x)
    return -2 * (half * half)


@_named("exprel")
def _exprel(x: Any) -> Any:
    """Return (e^x - 1) / x, and its Taylor series near 0, whose derivatives are exact there."""
    is_small = less(x * x, 0.01)
    small, large = where(is_small, x, 0.0), where(is_small, 1.0, x)
    series: Any = 0.0
    for n in range(14, -1, -1):
        series = series * small + 1 / math.factorial(n + 1)
    is_infinite = large == np.inf
    ratio = expm1(large) / where(is_infinite, 1.0, large)
    return where(is_small, series, ratio)


def _transformed(x: Any, power: Any, logarithm: Any, exponential: Any) -> Any:
    """Return (x^l - 1) / l, from the logarithm of x where this cancels."""
    exponent = multiply_no_nan(power, logarithm)
    is_small = less(square(exponent), 0.01)
    near = where(is_small, logarithm, 0.0)
    close = near * _exprel(where(is_small, exponent, 0.0))
    return where(is_small, close, exponential / where(is_small, 1.0, power))


@_named("boxcox")
def _boxcox(x: Any, power: Any) -> Any:
    x = where(less(x, 0), np.nan, x + 0.0)  # without a negative zero
    return _transformed(x, power, log(x), raised(x, power * 1.0) - 1.0)


def boxcox_slope(x: Any, power: Any) -> Any:
    """Return the derivative of ``(x^l - 1) / l`` in l for x > 0, near 0 by a series."""
    logarithm = log(x)
    exponent = power * logarithm
    is_small = less(square(exponent), 0.25)
    small, large = where(is_small, exponent, 0.0), where(is_small, 1.0, exponent)
    series: Any = 0.0
    for k in range(14, -1, -1):
        series = series * small + 1 / (math.factorial(k) * (k + 2))
    return square(logarithm) * where(is_small, series, (exp(large) * (large - 1.0) + 1.0) / square(large))


@_named("boxcox1p")
def _boxcox1p(x: Any, power: Any) -> Any:
    logarithm = log1p(x)
    return _transformed(x, power, logarithm, expm1(power * logarithm))


def _log_inv_boxcox(y: Any, power: Any) -> Any:
    """Return ln(1 + l y) / l, by its series near l y = 0."""
    product = multiply_no_nan(power, y)
    is_small = less(square(product), 0.01)
    small, series = where(is_small, product, 0.0), 0.0
    for n in range(17, -1, -1):
        series = 1 / (n + 1) - series * small
    large, safe = where(is_small, 0.5, product), where(is_small, 1.0, power)
    return where(is_small, where(is_small, y, 0.0) * series, log1p(large) / safe)


@_named("inv_boxcox")
def _inv_boxcox(y: Any, power: Any) -> Any:
    """Return (1 + l y)^(1/l)."""
    return exp(_log_inv_boxcox(y, power))


@_named("inv_boxcox1p")
def _inv_boxcox1p(y: Any, power: Any) -> Any:
    """Return (1 + l y)^(1/l) - 1, by the series of ln(1 + l y) / (l y) near l y = 0."""
    return expm1(_log_inv_boxcox(y, power))


@_named("powm1")
def _powm1(x: Any, power: Any) -> Any:
    """Return x^p - 1, by the logarithm of x where this cancels."""
    exponent = multiply_no_nan(power, log(where(greater(x, 0.0), x, 1.0)))
    is_near = logical_and(greater(x, 0.0), less(square(exponent), 0.25))
    return where(is_near, expm1(where(is_near, exponent, 0.0)), raised(x, power * 1.0) - 1.0)


@_named("_log1mexp")
def log1mexp(x: Any) -> Any:
    """Return ln(1 - e^x) for x < 0, accurate for small and for large x."""
    is_near = greater(x, -math.log(2))
    return where(is_near, log(-expm1(where(is_near, x, -1.0))), log1p(-exp(where(is_near, -1.0, x))))


@_named("_cosine_cdf")
def _cosine_cdf(x: Any) -> Any:
    """Return (x + pi + sin x) / (2 pi) between -pi and pi, by a series near -pi."""
    from_left = where(less(x, -math.pi), 0.0, x + math.pi)
    small = where(less(from_left, 0.3), from_left, 0.0)
    squared, series = small * small, 0.0
    for n in range(8, 0, -1):
        series = squared * ((1.0 if n % 2 else -1.0) / math.factorial(2 * n + 1) + series)
    angle = where(less(from_left, 0.3), 1.0, from_left)
    inner = where(less(from_left, 0.3), small * series, angle - sin(angle))
    return where(greater(x, math.pi), 1.0, inner / (2 * math.pi))


@_named("pseudo_huber")
def _pseudo_huber(delta: Any, r: Any) -> Any:
    is_zero, is_infinite = delta * 1.0 == 0, r * r == np.inf
    ratio = where(is_infinite, 1.0, r) / where(is_zero, 1.0, delta)
    smooth = square(where(is_infinite, 1.0, r)) / (1 + hypot(ratio, 1.0))
    infinite = logical_or(less(delta, 0), logical_and(is_infinite, greater(delta, 0)))
    return where(infinite, np.inf, where(is_zero, 0.0, smooth))


@_named("huber")
def _huber(delta: Any, r: Any) -> Any:
    magnitude = where(less(r, 0), -r, r)
    inside = less(magnitude, delta)
    return where(less(delta, 0), np.inf, where(inside, 0.5 * square(r), delta * (magnitude - 0.5 * delta)))


@_named("loggamma")
def _loggamma(x: Any) -> Any:
    """Return the logarithm of the gamma function; of a negative number it is complex, and NaN here as in SciPy."""
    return where(less(x, 0), np.nan, lgamma(x))
