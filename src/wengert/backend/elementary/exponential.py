"""Exponentials and what is made of them: exp, exp2, expm1, tanh, the logistic function.

Reduction as in Cody and Waite, *Software Manual for the Elementary Functions* (1980): x = n ln 2 + r with
|r| <= ln 2 / 2 and ln 2 in two parts, the first of which times n is exact. exp r is 1 + r + r^2 q(r), q minimax.
"""

from __future__ import annotations

import math

from wengert.backend.elementary import tables
from wengert.backend.elementary.parts import Term, format_of, nearest, polynomial, quick_two_sum

#: Where a subnormal result begins to be possible, as an exponent of 2, and the scaling that makes it normal.
_RESCUE = 64


def reduced(x: Term) -> tuple[Term, Term]:
    """Return r = x - n ln 2 and the integer n, right in its low bits."""
    count, n = nearest(x, 1 / math.log(2))
    high, low = tables.LN2[min(format_of(x).fraction + 1, 53)]
    return count.muladd(-low, count.muladd(-high, x)), n


def scaled(significand: Term, n: Term, small: Term) -> Term:
    """Return significand * 2^(n - 1), in two steps where the result may be subnormal."""
    form = format_of(significand)
    step = (n + _RESCUE).where(small, n)
    power = ((step + (form.bias - 1)) << form.fraction).convert("bitcast", significand.kind.scalar)
    last = significand.writer.number(2.0**-_RESCUE).where(small, 1.0)
    return (significand * power) * last


def limits(x: Term) -> tuple[float, float, float]:
    """Return where exp is 0, where its result may be subnormal, and where it is infinite."""
    form = format_of(x)
    return (
        -(form.bias + form.fraction + 1) * math.log(2),
        (4 - form.bias) * math.log(2),
        (form.bias + 1.25) * math.log(2),
    )


def exp(x: Term) -> Term:
    """Exp x = 2^(n - 1) (2 + 2 r + 2 r^2 q(r)): twice, so that 2^(n - 1) is finite up to the largest result."""
    zero, small, infinite = limits(x)
    r, n = reduced(x.at_least(zero).at_most(infinite))
    twice = (r * r).muladd(polynomial(r, [2 * c for c in tables.EXP[x.writer.digits]]), r + r) + 2.0
    return scaled(twice, n, x < small)


def exp_of_sum(x: Term, low: Term, factor: tuple[Term, Term] | None = None) -> Term:
    """Return exp (x + low), times a factor in two parts if one is given, for a low part that is small everywhere."""
    zero, small, infinite = limits(x)
    r, n = reduced(x.at_least(zero).at_most(infinite))
    r, error = quick_two_sum(r, low)
    first, last = quick_two_sum(x.writer.number(2.0), r + r)
    rest = (r * r).muladd(polynomial(r, [2 * c for c in tables.EXP[x.writer.digits]]), last + (error + error))
    significand, lost = quick_two_sum(first, rest)
    if factor is not None:
        significand = significand.muladd(factor[0], significand.muladd(factor[1], lost * factor[0]))
    return scaled(significand, n, x < small)


def exp2(x: Term) -> Term:
    """2^x = 2^n exp((x - n) ln 2), the product in two parts."""
    form = format_of(x)
    x = x.at_least(-float(form.bias + form.fraction + 1)).at_most(form.bias + 1.25)
    count, n = nearest(x, 1.0)
    high, low = tables.LN2[min(form.fraction + 1, 53)]
    rest = x - count
    r = rest * math.log(2)
    twice = (r * r).muladd(polynomial(r, [2 * c for c in tables.EXP[x.writer.digits]]), r + r) + 2.0
    return scaled(twice, n, x < float(4 - form.bias))


def expm1_parts(x: Term) -> tuple[Term, Term, Term]:
    """Return r, exp r - 1 - r and the integer n."""
    r, n = reduced(x)
    return r, (r * r) * polynomial(r, tables.EXP[x.writer.digits]), n


def expm1(x: Term) -> Term:
    """Exp x - 1 = 2 (2^(n - 1) (exp r - 1) + (2^(n - 1) - 1 / 2)): 2^n less 1 is exact while that 1 matters."""
    form = format_of(x)
    least = -(form.fraction + 3) * math.log(2)
    r, rest, n = expm1_parts(x.at_least(least).at_most(limits(x)[2]))
    half = ((n + (form.bias - 1)) << form.fraction).convert("bitcast", x.kind.scalar)
    # |2^n - 1| exceeds |2^n r| unless n = 0, where the sum is exact.
    main, error = quick_two_sum(half - 0.5, half * r)
    result = main + half.muladd(rest, error)
    return x.where(abs(x) < 2.0 ** -(form.fraction + 2), result + result)


def tanh(x: Term) -> Term:
    """Tanh |x| = e / (e + 2) with e = exp(2 |x|) - 1; below 0.34, |x| + (e - 2 |x| - e tanh |x|) / 2.

    Here 0 <= r < ln 2, so that e = 2^n - 1 + 2^n (exp r - 1) is a sum of positive terms.
    """
    form = format_of(x)
    size = abs(x).at_most((form.fraction + 4) * math.log(2) / 2)
    double = size + size
    count, n = nearest(double.muladd(1 / math.log(2), -0.5), 1.0)
    high, low = tables.LN2[24 if x.kind.bits == 32 else 53]
    r = count.muladd(-low, count.muladd(-high, double))
    rest = (r * r) * polynomial(r, tables.EXP_UP[x.writer.digits])
    power = ((n + form.bias) << form.fraction).convert("bitcast", x.kind.scalar)
    e = power.muladd(r + rest, power - 1.0)
    ratio = e / (e + 2.0)
    near = ratio.muladd(-e, rest).muladd(0.5, size)
    return near.where(size < 0.34, ratio).sign_of(x)


def sinh(x: Term) -> Term:
    """Sinh x = x + x^3 p(x^2) for |x| < 1, else h - 1 / (4 h) with h = exp |x| / 2."""
    z = x * x
    near = (x * z).muladd(polynomial(z, tables.SINH[x.writer.digits]), x)
    half = _half_exp(abs(x))
    return near.where(abs(x) < 1.0, (half - 0.25 / half).sign_of(x))


def cosh(x: Term) -> Term:
    """Cosh x = h + 1 / (4 h) with h = exp |x| / 2."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


def _half_exp(x: Term) -> Term:
    """Return exp x / 2 for x >= 0, which is finite wherever cosh is."""
    form = format_of(x)
    r, n = reduced(x.at_most((form.bias + 3) * math.log(2)))
    first, last = quick_two_sum(x.writer.number(2.0), r + r)
    rest = (r * r).muladd(polynomial(r, [2 * c for c in tables.EXP[x.writer.digits]]), last)
    large = x > (form.bias - 1) * math.log(2)
    step = (n - 8).where(large, n)
    power = ((step + (form.bias - 2)) << form.fraction).convert("bitcast", x.kind.scalar)
    return ((first + rest) * power) * x.writer.number(256.0).where(large, 1.0)


def expit(x: Term) -> Term:
    """1 / (1 + e) for x >= 0, q = e / (1 + e) for x < 0, with e = exp(-|x|); left of -1, e - e q."""
    e = exp(-abs(x))
    ratio = x.writer.number(1.0).where(x >= 0.0, e) / (e + 1.0)
    return (e - e * ratio).where(x < -1.0, ratio)
