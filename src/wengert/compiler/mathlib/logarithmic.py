"""Logarithms: x = 2^e m with sqrt(1/2) <= m < sqrt 2, and log m from f = m - 1, which is exact.

In float32 a polynomial in f (Cody and Waite 1980); in float64 the series of artanh in s = f / (2 + f), with f kept
apart from its correction (Tang, *Table-driven implementation of the logarithm function*, 1990).
"""

from __future__ import annotations

import math

from wengert.compiler.mathlib.exponential import exp, exp2
from wengert.compiler.mathlib.terms import (
    Term,
    elementary,
    format_of,
    polynomial,
    quick_two_sum,
    two_product,
    two_sum,
)
from wengert.engine.kernels.tables import table

_BITS_OF_ROOT_HALF = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}


def exponent_and_fraction(x: Term) -> tuple[Term, Term]:
    """Return e, a float, and f = m - 1 for a positive x; a float32 number is not subnormal in float64."""
    form = format_of(x)
    root, bits_of_one = _BITS_OF_ROOT_HALF[x.kind.bits], form.bias << form.fraction
    unit = 2.0**form.fraction
    zero = x.number(unit + form.bias)
    if x.digits != 36:
        tiny = x < form.least
        x, zero = (x * unit).where(tiny, x), x.number(unit + form.bias + form.fraction).where(tiny, zero)
    shifted = x.bits() + (bits_of_one - root)
    m = ((shifted & ((1 << form.fraction) - 1)) + root).as_float()
    # The exponent becomes the last bits of a number whose unit in the last place is 1.
    e = (shifted.logical_shift(form.fraction) | x.number(unit).bits()).as_float()
    return e - zero, m - 1.0


def with_limits(x: Term, result: Term) -> Term:
    """Return a logarithm with its values at 0, infinity, NaN and negative numbers."""
    outside = x.number(-math.inf).where(x.equals(0.0), math.nan)
    outside = x.where(x > 0.0, outside)  # infinity is its own logarithm
    infinity = ((1 << (x.kind.bits - 1)) - 1) ^ ((1 << format_of(x).fraction) - 1)
    # As unsigned integers, the bits of all numbers except positive finite ones are outside this range.
    return result.where((x.bits() - 1).below(infinity - 1), outside)


def correction(f: Term, small: Term | None = None) -> Term:
    """Return log (1 + f) - f plus a small term."""
    square = f * f
    if f.digits == 24:
        tail = (square * f) * polynomial(f, table("LOG", 24))
        return square.muladd(-0.5, tail if small is None else tail + small)
    s = f / (f + 2.0)
    z = s * s
    half = square * 0.5
    series = z * polynomial(z, table("ARTANH", f.digits))
    if small is None:
        return s.muladd(half + series, -half)
    return s.muladd(half + series, small) - half


def log_of_sum(x: Term, low: Term | None = None) -> Term:
    """Return log (x + low) for a positive finite x and a low part of it."""
    e, f = exponent_and_fraction(x)
    first, last = table("LN2", x.precision)
    small = e * last
    if low is not None and x.digits != 36:
        small = small + low / x
    return e.muladd(first, f + correction(f, small))


@elementary()
def log(x: Term) -> Term:
    """Return log x = e ln 2 + f - f^2 / 2 + ..., the smallest terms first."""
    return with_limits(x, log_of_sum(x))


@elementary()
def log1p(x: Term) -> Term:
    """Return log (1 + x), corrected for the rounding error of 1 + x."""
    total, error = two_sum(x.number(1.0), x)
    result = with_limits(total, log_of_sum(total, error))
    return x.where(abs(x) < 2.0 ** -(format_of(x).fraction + 2), result)


def _log_to_base(x: Term, constants: str) -> Term:
    """Return e log 2 + log m with the logarithm of m in two parts before it is scaled."""
    e, f = exponent_and_fraction(x)
    first, last, two, rest_of_two = table(constants, x.precision)
    high, low = quick_two_sum(f, correction(f))
    scaled = high.muladd(first, high.muladd(last, low * first))
    if rest_of_two:
        scaled = e.muladd(rest_of_two, scaled)
    return with_limits(x, e.muladd(two, scaled))


@elementary()
def log2(x: Term) -> Term:
    """Return log2 x = e + log m / log 2."""
    return _log_to_base(x, "BASE_2")


@elementary()
def log10(x: Term) -> Term:
    """Return log10 x = e log10 2 + log m / log 10."""
    return _log_to_base(x, "BASE_10")


@elementary()
def logaddexp(x: Term, y: Term) -> Term:
    """Return log (exp x + exp y) = max(x, y) + log1p(exp(-|x - y|))."""
    excess = log1p(exp(-abs(x - y)))
    return (x + math.log(2)).where(x.equals(y), x.at_least(y) + excess)


@elementary()
def logaddexp2(x: Term, y: Term) -> Term:
    """Return log2 (2^x + 2^y) = max(x, y) + log1p(2^(-|x - y|)) / log 2."""
    excess = log1p(exp2(-abs(x - y)))
    return (x + 1.0).where(x.equals(y), excess.muladd(1 / math.log(2), x.at_least(y)))


# -- hyperbolic inverses ------------------------------------------------------------------------------------------


def _root_of_sum(high: Term, low: Term) -> tuple[Term, Term]:
    """Return the square root of high + low in two parts."""
    root = high.sqrt()
    residual = root.fma(-root, high) + low
    return root, (residual / (root + root)).where(high > 0.0, 0.0)


@elementary()
def arcsinh(x: Term) -> Term:
    """Return arsinh x = x + x^3 p(x^2) near 0, else log (|x| + sqrt(x^2 + 1)) in two parts; log 2 |x| far out."""
    size = abs(x)
    z = x * x
    near = (x * z).muladd(polynomial(z, table("ARSINH", x.digits)), x)
    far = size > 2.0**30
    tame = size.at_most(2.0**30)
    square, error = two_product(tame, tame)
    total, lost = two_sum(square, x.number(1.0))
    root, root_low = _root_of_sum(total, lost + error)
    argument, lost = quick_two_sum(root, tame)
    argument, low = size.where(far, argument), x.number(0.0).where(far, lost + root_low)
    result = log_of_sum(argument, low)
    result = (result + math.log(2)).where(far, result)
    result = size.where(~(size < math.inf), result)
    return near.where(size < 0.5, result).sign_of(x)


@elementary()
def arccosh(x: Term) -> Term:
    """Return arcosh x = log (1 + t + sqrt(t^2 + 2 t)) with t = x - 1, in two parts; log 2 x far out."""
    far = x > 2.0**30
    t = x.at_most(2.0**30) - 1.0
    square, error = two_product(t, t)
    total, lost = two_sum(t + t, square)
    root, root_low = _root_of_sum(total, lost + error)
    part, lost = two_sum(root, t)
    argument, more = two_sum(x.number(1.0), part)
    low = (lost + root_low) + more
    argument, low = x.where(far, argument), x.number(0.0).where(far, low)
    result = log_of_sum(argument, low)
    result = (result + math.log(2)).where(far, result)
    result = x.where(~(x < math.inf), result)
    return x.number(math.nan).where(x < 1.0, result)


@elementary()
def arctanh(x: Term) -> Term:
    """Return artanh x = x + x^3 p(x^2) near 0, else log (1 + 2 x / (1 - x)) / 2."""
    size = abs(x)
    z = x * x
    near = (x * z).muladd(polynomial(z, table("ARTANH_NEAR", x.digits)), x)
    one = x.number(1.0)
    below = one - size
    ratio = (size + size) / below
    ratio_low = ratio.fma(-below, size + size) / below
    argument, lost = two_sum(one, ratio)
    result = (log_of_sum(argument, lost + ratio_low) * 0.5).sign_of(x)
    result = near.where(size < 0.5, result)
    limit = x.number(math.inf).where(size.equals(1.0), math.nan).sign_of(x)
    return result.where(size < 1.0, limit)
