"""Inverses of the incomplete gamma and beta functions and of Student's distribution, and the quantiles of F.

Near an end of its support a quantile is a power of the probability to all digits. There it may underflow, and SciPy's
may be wrong; its slopes come from its logarithm. Elsewhere they come from the theorem of implicit functions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from wengert.engine.kernels.incomplete import beta_quantile, gamma_quantile
from wengert.engine.kernels.incomplete import f_quantile as f_kernel
from wengert.engine.kernels.student import student_quantile
from wengert.engine.ops.comparison import greater, less, logical_and, where
from wengert.engine.ops.exponential import exp, log
from wengert.engine.ops.special.densities import log_beta_density, log_f_density
from wengert.engine.ops.special.differences import digamma_difference
from wengert.engine.ops.special.error_and_gamma import digamma, lgamma
from wengert.engine.ops.special.gammas import beta_slope_of, betaln, incomplete_slope, student_density
from wengert.engine.ops.special.incomplete import betainc_slope, gammainc_slope, student_slope
from wengert.engine.ops.special.scipy_ufuncs import stated
from wengert.engine.primitive import Primitive

#: Below this logarithm a quantile is taken to be near the end.
_END = -650.0


def _end(a: Any, probability: Any, log_factor: Any, last: float = _END) -> tuple[Any, Any]:
    """Return whether ``(factor probability)^(1/a)`` is near 0, and its logarithm there."""
    is_inside = greater(probability, 0.0)
    log_x = (log(where(is_inside, probability, 1.0)) + log_factor) / a
    is_end = logical_and(is_inside, less(log_x, last))
    return is_end, where(is_end, log_x, last)


def _power_slope(is_end: Any, log_x: Any, a: Any, probability: Any) -> Any:
    """Return the slope of the power in the probability, the quantile over a times the probability."""
    return exp(log_x - log(a) - log(where(is_end, probability, 1.0)))


# -- the incomplete gamma function -----------------------------------------------------------------------


def _gamma_inverse(name: str, sign: int, doc: str) -> Primitive:
    def end(a: Any, y: Any) -> tuple[Any, Any, Any]:
        below = y if sign > 0 else 1.0 - y
        return (*_end(a, below, lgamma(a + 1.0)), below)

    def by_order(out: Any, a: Any, y: Any) -> Any:
        is_end, log_x, _ = end(a, y)
        x = where(is_end, 1.0, out)
        near = exp(log_x) * (digamma(a + 1.0) - log_x) / a
        return where(is_end, near, -gammainc_slope(a, x, order=1) / incomplete_slope(a, x))

    def by_probability(out: Any, a: Any, y: Any) -> Any:
        is_end, log_x, below = end(a, y)
        x = where(is_end, 1.0, out)
        return sign * where(is_end, _power_slope(is_end, log_x, a, below), 1 / incomplete_slope(a, x))

    return stated(
        name,
        by_order,
        by_probability,
        doc=doc,
        of=name,
        by=functools.partial(gamma_quantile, sign=sign),
        source=f"wengert.engine.kernels.incomplete.gamma_quantile({{0}}, {{1}}, {sign})",
        domain=((0.5, 3.0), (0.1, 0.9)),
    )


gammaincinv = _gamma_inverse("gammaincinv", 1, "the inverse of gammainc in x")
gammainccinv = _gamma_inverse("gammainccinv", -1, "the inverse of gammaincc in x")


# -- the incomplete beta function ------------------------------------------------------------------------


def _beta_end(a: Any, b: Any, below: Any) -> tuple[Any, Any]:
    return _end(a, below, log(a) + betaln(a, b))


def _rates(a: Any, b: Any, x: Any, y: Any, below: Any, above: Any) -> tuple[Any, Any]:
    """Return the slopes of ``ln(x / y)`` in a and b, at which I_x(a, b) keeps its value."""
    (is_left, log_x), (is_right, log_y) = _beta_end(a, b, below), _beta_end(b, a, above)
    is_lower = less(x, y)
    is_inner = where(is_left, False, where(is_right, False, True))
    x, y = where(is_inner, x, 0.5), where(is_inner, y, 0.5)
    smaller = where(less(x, y), x, y)
    size = exp(log_beta_density(a, b, x, y))

    def rate(order: tuple[int, int], at_left: Any, at_right: Any) -> Any:
        left = betainc_slope(a, b, where(is_lower, smaller, 0.5), order=order)
        right = betainc_slope(b, a, where(is_lower, 0.5, smaller), order=order[::-1])
        inner = where(is_lower, -left, right) / size
        return where(is_left, at_left, where(is_right, -at_right, inner))

    by_a, by_b = digamma_difference(a, b, order=0), digamma_difference(b, a, order=0)
    return (
        rate((1, 0), (1.0 / a - by_a - log_x) / a, -by_a / b),
        rate((0, 1), -by_b / a, (1.0 / b - by_b - log_y) / b),
    )


def _tails(p: Any, sign: int) -> tuple[Any, Any]:
    return (p, 1.0 - p) if sign > 0 else (1.0 - p, p)


def _beta_inverse(name: str, sign: int, doc: str, complement: Callable[..., Any]) -> Primitive:
    """State an inverse; 1 minus it, of which a result near 1 has no digits, is another inverse."""

    def by(position: int) -> Callable[..., Any]:
        def slope(out: Any, a: Any, b: Any, p: Any) -> Any:
            mirrored = complement(b, a, p)
            return out * mirrored * _rates(a, b, out, mirrored, *_tails(p, sign))[position]

        return slope

    def by_probability(out: Any, a: Any, b: Any, p: Any) -> Any:
        below, above = _tails(p, sign)
        (is_left, log_x), (is_right, log_y) = _beta_end(a, b, below), _beta_end(b, a, above)
        is_end = where(is_left, True, is_right)
        x, y = where(is_end, 0.5, out), where(is_end, 0.5, complement(b, a, p))
        inner = 1 / beta_slope_of(a, b, x, y)
        left, right = _power_slope(is_left, log_x, a, below), _power_slope(is_right, log_y, b, above)
        return sign * where(is_left, left, where(is_right, right, inner))

    return stated(
        name,
        by(0),
        by(1),
        by_probability,
        doc=doc,
        of=name,
        by=functools.partial(beta_quantile, sign=sign),
        source=f"wengert.engine.kernels.incomplete.beta_quantile({{0}}, {{1}}, {{2}}, {sign})",
        domain=((0.5, 3.0), (0.5, 3.0), (0.1, 0.9)),
    )


betaincinv = _beta_inverse(
    "betaincinv", 1, "the inverse of betainc in x", lambda b, a, p: betainccinv(b, a, p)
)
betainccinv = _beta_inverse(
    "betainccinv", -1, "the inverse of betaincc in x", lambda b, a, p: betaincinv(b, a, p)
)


# -- the F distribution ----------------------------------------------------------------------------------


def _f_slopes(sign: int) -> list[Callable[..., Any]]:
    """Return the partial derivatives of a quantile of F."""

    def shares(q: Any, n: Any, m: Any) -> tuple[Any, Any]:
        first, second = (betaincinv, betainccinv) if sign > 0 else (betainccinv, betaincinv)
        return first(0.5 * n, 0.5 * m, q), second(0.5 * m, 0.5 * n, q)

    def by_probability(out: Any, q: Any, n: Any, m: Any) -> Any:
        below, above = _tails(q, sign)
        (is_left, log_x), (is_right, log_y) = (
            _beta_end(0.5 * n, 0.5 * m, below),
            _beta_end(0.5 * m, 0.5 * n, above),
        )
        ratio = log(m) - log(n)
        inner = exp(-log_f_density(where(is_left, 1.0, where(is_right, 1.0, out)), n, m))
        left = _power_slope(is_left, log_x + ratio, 0.5 * n, below)
        right = _power_slope(is_right, ratio - log_y, 0.5 * m, above)
        return sign * where(is_left, left, where(is_right, right, inner))

    def by(position: int) -> Callable[..., Any]:
        def slope(out: Any, q: Any, n: Any, m: Any) -> Any:
            rates = _rates(0.5 * n, 0.5 * m, *shares(q, n, m), *_tails(q, sign))
            return out * (0.5 * rates[position] + (1.0 / m if position else -1.0 / n))

        return slope

    return [by_probability, by(0), by(1)]


def _f_inverse(name: str, sign: int, doc: str) -> Primitive:
    return stated(
        name,
        *_f_slopes(sign),
        doc=doc,
        by=functools.partial(f_kernel, sign=sign),
        source=f"wengert.engine.kernels.incomplete.f_quantile({{0}}, {{1}}, {{2}}, {sign})",
        domain=((0.1, 0.9), (0.5, 20.0), (0.5, 20.0)),
    )


f_quantile = _f_inverse("f_quantile", 1, "the quantile of F")
f_upper_quantile = _f_inverse("f_upper_quantile", -1, "the point above which F has a probability")


# -- Student's distribution ------------------------------------------------------------------------------

#: Below this logarithm of df / (df + t^2) SciPy's quantile loses its digits.
_FAR = -39.0


def _student_end(df: Any, p: Any) -> tuple[Any, Any]:
    """Return whether t is far out, and the logarithm of ``df / t^2`` there."""
    half = 0.5 * df
    log_factor = math.log(2) + lgamma(half + 1.0) + 0.5 * math.log(math.pi) - lgamma(half + 0.5)
    return _end(half, _outside(p), log_factor, _FAR)


def _outside(p: Any) -> Any:
    return where(less(p, 0.5), p, 1.0 - p)


def _student_by_df(out: Any, df: Any, p: Any) -> Any:
    is_far, log_z = _student_end(df, p)
    t, half = where(is_far, 1.0, out), 0.5 * df
    rise = 1.0 / half - digamma_difference(half, 0.5, order=0)
    far = 0.5 * out * (1.0 / df - 0.5 * (rise - log_z) / half)
    return where(is_far, far, -student_slope(df, t) / student_density(df, t))


def _student_by_probability(out: Any, df: Any, p: Any) -> Any:
    is_far, log_z = _student_end(df, p)
    t = where(is_far, 1.0, out)
    far = exp(-0.5 * (log_z + log(df)) - log(where(is_far, _outside(p), 1.0)))
    return where(is_far, far, 1 / student_density(df, t))


stdtrit = stated(
    "stdtrit",
    _student_by_df,
    _student_by_probability,
    doc="the inverse of stdtr in t, far out by a power of the probability",
    of="stdtrit",
    by=student_quantile,
    source="wengert.engine.kernels.student.student_quantile({0}, {1})",
    domain=((0.5, 3.0), (0.1, 0.9)),
)
