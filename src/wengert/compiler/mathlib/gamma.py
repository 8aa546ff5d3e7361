"""The logarithm of the gamma function, and its derivative.

On [1/2, 5/2] and [5/2, 25/2] polynomials in q = (x - c) / (x + c), where c is the geometric mean of the ends; beyond,
Stirling's series. The recurrence takes |x| < 1/2 to 1 + x, and the reflection formula x <= -1/2 to -x. Near the zeros
of the functions left of 0 the error is absolute: that of the terms that cancel.
"""

from __future__ import annotations

import math

from wengert.compiler.mathlib.logarithmic import correction, exponent_and_fraction, log
from wengert.compiler.mathlib.terms import (
    Term,
    elementary,
    format_of,
    polynomial,
    quick_two_sum,
    two_product,
    two_sum,
)
from wengert.engine.kernels.tables import MID, NEAR, STIRLING, table


def _ratio(x: Term, centre: float) -> Term:
    return (x - centre) / (x + centre)


def _fraction(x: Term) -> Term:
    """Return x less the nearest integer; 0 for numbers so large that they are integers."""
    form = format_of(x)
    fraction = x - ((x + form.magic) - form.magic)
    return fraction.where(abs(x) < 2.0 ** (form.fraction - 1), 0.0)


def _lgamma_tail(x: Term, digits: int) -> Term:
    """Return (x - 1/2) (log x - 1) + ... with the logarithm and the product in two parts, for x >= 25/2."""
    e, f = exponent_and_fraction(x)
    first, last = table("LN2", 53)
    high, low = two_sum(e * first, f)
    high, low = quick_two_sum(high, low + correction(f, e * last))
    inverse = 1.0 / x
    series = inverse * polynomial(inverse * inverse, table("LGAMMA_TAIL", digits)) + STIRLING
    product, error = two_product(x - 0.5, high - 1.0)
    result = product + (error + (x - 0.5).muladd(low, series))
    return x.number(math.inf).where(product.equals(math.inf), result)


def _product_of_sums(x: Term, x_low: Term, y: Term, y_low: Term) -> Term:
    """Return (x + x_low) (y + y_low), rounded nearly once, for a y that exceeds its small part."""
    first, last = quick_two_sum(y, y_low)
    return x.muladd(first, x.muladd(last, x_low * first))


@elementary(wide=True, inline=False, cost=30)
def lgamma(x: Term) -> Term:
    """Return log |Gamma(x)|, infinite at 0, -1, -2, ..."""
    number, digits = x.number, x.digits
    size = abs(x)
    small, reflected = size < 0.5, x <= -0.5
    t = (x + 1.0).where(small, size)
    above = x.where(small, t - 1.0)  # t - 1, exact
    below, lost = two_sum(above, number(-1.0))
    product, error = two_product(above, below)
    error = above.muladd(lost, error)
    correction = polynomial(_ratio(t, NEAR), table("LGAMMA", digits))
    near = _product_of_sums(product, error, number(9 / 16), correction)
    correction = polynomial(_ratio(t, MID), table("LGAMMA_MID", digits))
    mid = _product_of_sums(product, error, number(17 / 64), correction)
    far = _lgamma_tail(t.at_least(12.0), digits)
    value = near.where(t < 2.5, mid.where(t < 12.5, far))
    f = _fraction(t)
    sine = abs(f * polynomial(f * f, table("SINPI", digits)))
    argument = (t * sine * (1 / math.pi)).where(reflected, size)
    logarithm = log(argument)
    result = ((-value).where(reflected, value) - logarithm).where(small | reflected, value)
    return number(math.inf).where(size.equals(math.inf) | value.equals(math.inf), result + 0.0)


@elementary(wide=True, inline=False, cost=30)
def digamma(x: Term) -> Term:
    """Return the derivative of log Gamma(x), NaN at -1, -2, ... and -+inf at +-0."""
    number, digits = x.number, x.digits
    size = abs(x)
    small, reflected = size < 0.5, x <= -0.5
    t = (x + 1.0).where(small, size)
    high, low = table("DIGAMMA_ROOT")
    offset, error = two_sum(x.where(small, t - 1.0), number(1.0 - high))
    correction = polynomial(_ratio(t, NEAR), table("DIGAMMA", digits))
    near = _product_of_sums(offset, error - low, number(9 / 8), correction)
    mid = polynomial(_ratio(t, MID), table("DIGAMMA_MID", digits)) + 3 / 2
    inverse = 1.0 / t
    square = inverse * inverse
    tail = inverse.muladd(0.5, square * polynomial(square, table("DIGAMMA_TAIL", digits)))
    value = near.where(t < 2.5, mid.where(t < 12.5, log(t) - tail))
    f = _fraction(x)
    bent = f * polynomial(f * f, table("COTANGENT", digits)) - 1.0 / f
    bent = number(math.nan).where(f.equals(0.0), bent)
    added = (bent + inverse).where(reflected, -1.0 / x)
    return (value + added).where(small | reflected, value)
