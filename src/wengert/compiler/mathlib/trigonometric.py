"""Circular functions and their inverses.

x = n pi/2 + r with |r| <= pi/4, r in two parts, and polynomials for sin r and cos r; in float32, where x is moderate,
x = n pi + r and one polynomial. The inverses reduce their argument as Cody and Waite do, *Software Manual for the
Elementary Functions* (1980).
"""

from __future__ import annotations

import math

from wengert.compiler.mathlib.argument_reduction import reduction, unless_huge
from wengert.compiler.mathlib.terms import Term, elementary, format_of, polynomial, quick_two_sum
from wengert.engine.kernels.tables import table


def _sine_parts(high: Term, low: Term) -> tuple[Term, Term]:
    """Return sin(high + low) as high and the rest: low (1 - high^2 / 2) + high^3 p(high^2)."""
    z = high * high
    p = polynomial(z, table("SIN", high.digits))
    if high.digits == 53:
        low = low.muladd(z * -0.5, low)
    return high, (high * z).muladd(p, low)


def _cosine_parts(high: Term, low: Term) -> tuple[Term, Term]:
    """Return cos(high + low) as 1 - high^2 / 2, rounded, and the rest."""
    z = high * high
    p = polynomial(z, table("COS", high.digits))
    main, error = quick_two_sum(high.number(1.0), z * -0.5)
    return main, error + (z * z).muladd(p, high * -low)


def _circular(x: Term, quarter: int) -> Term:
    """Return sin(x + quarter pi/2) for a quarter of 0 or 1; -0 at -0, which a remainder in two parts loses."""
    if x.digits != 24 or not x.writer.has_fma:
        result = _by_quarters(x, quarter)
        return result if quarter else x.where(x.equals(0.0), result)
    quick = _by_halves(x, quarter)
    return unless_huge(x, [quick], lambda huge: [x.helper(HELPERS[quarter]).where(huge, quick)])[0]


def _by_halves(x: Term, quarter: int) -> Term:
    """Return (-1)^k sin r with |x| + quarter pi/2 = k pi + r, |r| <= pi/2, within 2 ulp of float32.

    The first difference is exact, its terms being multiples of 2^-23 or of one unit of a smaller x. The sine takes the
    sign of x, -0 at -0.
    """
    magic, size = format_of(x).magic, abs(x)
    shifted = size.muladd(1 / math.pi, -0.5) + magic if quarter else size.muladd(1 / math.pi, magic)
    k, n = shifted - magic, shifted.bits()
    count = k + 0.5 if quarter else k
    r = size
    for part in table("PI_IN_THREE"):
        r = count.fma(-part, r)
    z = r * r
    result = (r * z).muladd(polynomial(z, table("SIN_WIDE", 24)), r)
    negative = ((n ^ 1) if quarter else n) << (x.kind.bits - 1)
    sign = negative if quarter else (negative ^ x.bits()) & format_of(x).sign
    return (result.bits() ^ sign).as_float()


def _by_quarters(x: Term, quarter: int) -> Term:
    """Return sin(r + n pi/2) with x + quarter pi/2 = n pi/2 + r, |r| <= pi/4, r in two parts, for any x."""
    high, low, n = reduction(x)
    sine, cosine = _sine_parts(high, low), _cosine_parts(high, low)
    n = n + quarter if quarter else n
    odd = (n & 1).equals(1)
    result = cosine[0].where(odd, sine[0]) + cosine[1].where(odd, sine[1])
    negative = (n << (x.kind.bits - 2)) & format_of(x).sign
    return (result.bits() ^ negative).as_float()


#: The functions for numbers of any magnitude, which the float32 functions call.
HELPERS = ("sin_by_quarters", "cos_by_quarters")


@elementary(rare=True)
def sin_by_quarters(x: Term) -> Term:
    """Return sin x of large x."""
    return _by_quarters(x, 0)


@elementary(rare=True)
def cos_by_quarters(x: Term) -> Term:
    """Return cos x of large x."""
    return _by_quarters(x, 1)


@elementary()
def sin(x: Term) -> Term:
    """Return sin x; -0 at -0."""
    return _circular(x, 0)


@elementary()
def cos(x: Term) -> Term:
    """Return cos x = sin(x + pi/2)."""
    return _circular(x, 1)


@elementary(cost=30)
def tan(x: Term) -> Term:
    """Return tan x = sin r / cos r, or -cos r / sin r for odd n, each in two parts; -0 at -0."""
    high, low, n = reduction(x)
    sine, cosine = quick_two_sum(*_sine_parts(high, low)), quick_two_sum(*_cosine_parts(high, low))
    odd = (n & 1).equals(1)
    (top, top_low), (bottom, bottom_low) = (
        [a.where(odd, b) for a, b in zip(*pair, strict=True)] for pair in ((cosine, sine), (sine, cosine))
    )
    ratio = top / bottom
    residual = ratio.fma(-bottom, top) + ratio.muladd(-bottom_low, top_low)
    result = ratio + residual / bottom
    result = (-result).where(odd, result)
    return x.where(x.equals(0.0), result)


#: The largest quotient whose arctangent is a polynomial; its arctangent is a little above 1/2.
_DIRECT = 35 / 64

# -- inverses -----------------------------------------------------------------------------------------------------


def _arctangent(top: Term, bottom: Term) -> Term:
    """Return arctan(top / bottom) for two positive numbers of moderate size, or a top of 0.

    It is arctan t plus 0, pi/4 or pi/2 with t = top / bottom, (top - bottom) / (top + bottom) or -bottom / top.
    The middle range begins where the result exceeds 1/2, so that the errors of its two sums count for half.
    """
    number = top.number
    first, last = top > bottom * _DIRECT, bottom < top * _DIRECT
    dividend = (-bottom).where(last, (top - bottom).where(first, top))
    divisor = top.where(last, (top + bottom).where(first, bottom))
    t = dividend / divisor
    z = t * t
    tail = (t * z) * polynomial(z, table("ARCTAN", top.digits))
    high, low = table("PI", top.precision)
    base = number(high / 2).where(last, number(high / 4).where(first, 0.0))
    base_low = number(low / 2).where(last, number(low / 4).where(first, 0.0))
    main, error = quick_two_sum(base, t)
    return (main + (tail + (error + base_low))).where(first, t + tail)


@elementary()
def arctan(x: Term) -> Term:
    """Return arctan x; -0 at -0."""
    return _arctangent(abs(x).at_most(2.0**60), x.number(1.0)).sign_of(x)


@elementary(cost=30)
def arctan2(y: Term, x: Term) -> Term:
    """Return the angle of the point (x, y), with the signs of zero of ISO C, annex F."""
    number = x.number
    top, bottom = abs(y), abs(x)
    both = top.equals(math.inf) & bottom.equals(math.inf)
    top, bottom = number(1.0).where(both, top), number(1.0).where(both, bottom)
    larger = top.at_least(bottom)
    # A quotient of numbers far apart needs no care; sums of large numbers must not overflow.
    tiny = larger < format_of(x).least * 2.0**60
    scale = number(0.25).where(larger > 2.0 ** (format_of(x).bias - 1), number(2.0**60).where(tiny, 1.0))
    angle = _arctangent(top * scale, bottom * scale)
    angle = number(0.0).where(top.equals(0.0), angle)
    angle = number(math.pi / 2).where(top.equals(math.inf), angle)
    angle = number(0.0).where(bottom.equals(math.inf), angle)
    high, low = table("PI", x.precision)
    angle = (high - (angle - low)).where(x.bits() < 0, angle)
    return number(math.nan).where(x.is_nan() | y.is_nan(), angle.sign_of(y))


def _arcsine_parts(x: Term) -> tuple[Term, Term, Term]:
    """Return whether |x| <= 1/2, and arcsin t in two parts, t = |x| there and sqrt((1 - |x|) / 2) elsewhere."""
    size = abs(x)
    small = size <= 0.5
    z = (size * size).where(small, 0.5 - size * 0.5)
    t = size.where(small, z.sqrt())
    return small, t, (t * z) * polynomial(z, table("ARCSIN", x.digits))


@elementary()
def arcsin(x: Term) -> Term:
    """Return arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2) for x > 1/2."""
    small, t, tail = _arcsine_parts(x)
    high, low = table("PI", x.precision)
    far = high / 2 - (t * 2.0 - tail.muladd(-2.0, low / 2))
    return (t + tail).where(small, far).sign_of(x)


@elementary()
def arccos(x: Term) -> Term:
    """Return arccos x = pi/2 - arcsin x for |x| <= 1/2, else 2 arcsin sqrt((1 - |x|) / 2), or pi less that."""
    small, t, tail = _arcsine_parts(x)
    high, low = table("PI", x.precision)
    signed_tail = tail.sign_of(x)
    near = high / 2 - (t.sign_of(x) + (signed_tail - low / 2))
    twice, twice_tail = t + t, tail + tail
    far = (high - (twice + (twice_tail - low))).where(x < 0.0, twice + twice_tail)
    return near.where(small, far)
