"""Exponentials, hyperbolic functions and the logistic function.

Reduction as in Cody and Waite, *Software Manual for the Elementary Functions* (1980): x = n ln 2 + r with
|r| <= ln 2 / 2 and ln 2 in two parts, the first of which times n is exact. exp r is 1 + r + r^2 q(r), q minimax; in
float32 one polynomial, whose last step is the only one that rounds much. Where a register is a table that its lanes
look up in one instruction, n is a multiple of 1/16 or 1/8, r is smaller by that factor, and the powers of 2 between 1
and 2 are looked up together with their rounding errors (Tang, *Table-driven implementation of the exponential function
in IEEE floating-point arithmetic*, 1989).
NaN has no meaningful n, but stays NaN in the product with any power of 2.
"""

from __future__ import annotations

import math

from wengert.compiler.mathlib import registers
from wengert.compiler.mathlib.terms import (
    Term,
    elementary,
    format_of,
    horner,
    nearest,
    polynomial,
    power_of_two,
    quick_two_sum,
)
from wengert.engine.kernels.tables import table

#: The scaling, as an exponent of 2, of results that may be subnormal before their last step.
_RESCUE = 64
#: The range of float64 arithmetic for a float32 result, as an exponent of 2: far beyond float32.
_NARROW = 200


def parts_of(x: Term) -> int:
    """Return the number of parts that n is divided into: the powers of 2 from 1 to 2 in a lookup table."""
    return registers.lanes(x) if registers.available(x) else 1


def reduced(x: Term, parts: int = 1) -> tuple[Term, Term, Term]:
    """Return r = x - (n / parts) ln 2, n / parts, and the integer n, correct in its low bits."""
    count, n = nearest(x, 1 / math.log(2), parts)
    high, low = table("LN2", x.precision)
    return count.muladd(-low, count.muladd(-high, x)), count, n


def confined(x: Term, unit: float) -> Term:
    """Return x limited to where 2^(x / unit) is neither 0 nor infinite, and a little beyond; NaN stays."""
    form = format_of(x)
    lowest, highest = -(form.bias + form.fraction + 1), form.bias + 1.25
    if x.digits == 36:
        lowest, highest = -_NARROW, _NARROW
    return x.at_least(lowest * unit).at_most(highest * unit)


def times_two_to(count: Term, n: Term, significand: Term, x: Term, unit: float) -> Term:
    """Return significand * 2^(n - 1), in two steps where 2^(x / unit) may be subnormal."""
    if registers.available(significand):
        return registers.scaled(significand, count - 1.0)
    form = format_of(significand)
    if significand.digits == 36:
        return significand * power_of_two(n - 1, significand)
    small = x < (4 - form.bias) * unit
    step = (n + _RESCUE).where(small, n)
    last = significand.number(2.0**-_RESCUE).where(small, 1.0)
    return (significand * power_of_two(step - 1, significand)) * last


def twice_exp(r: Term) -> Term:
    """Return 2 exp r for |r| <= ln 2 / 2."""
    if r.digits == 24:
        return horner(r, [2 * c for c in (1.0, 1.0, *table("EXP_SHORT", 24))])
    tail = polynomial(r, [2 * c for c in table("EXP", r.digits)])
    return (r * r).muladd(tail, r + r) + 2.0


def looked_up(r: Term, n: Term) -> Term:
    """Return 2^(n / parts) exp r up to a power of 2, as s (1 + q): q includes the rounding error of s."""
    parts, powers = parts_of(r), table("EXP_SIXTEENTHS" if r.digits == 24 else "EXP_EIGHTHS", r.digits)
    lost = table("LOST_ROOTS_OF_2", parts)
    correction = (r * r).muladd(polynomial(r, powers), r + registers.chosen(n, lost))
    root = registers.chosen(n, table("ROOTS_OF_2", parts))
    return root.muladd(correction, root)


def power(r: Term, count: Term, n: Term, x: Term, unit: float) -> Term:
    """Return 2^(n / parts) exp r; without a table 2^(n - 1) (2 exp r), so that no factor is infinite."""
    if registers.available(r):
        return registers.scaled(looked_up(r, n), count)
    return times_two_to(count, n, twice_exp(r), x, unit)


@elementary()
def exp(x: Term) -> Term:
    """Return exp x = 2^n exp r."""
    return power(*reduced(confined(x, math.log(2)), parts_of(x)), x, math.log(2))


def exp_of_sum(x: Term, low: Term, factor: tuple[Term, Term] | None = None) -> Term:
    """Return exp (x + low), times a factor in two parts if one is given, for a low part that is small everywhere."""
    r, count, n = reduced(confined(x, math.log(2)))
    r, error = quick_two_sum(r, low)
    first, last = quick_two_sum(x.number(2.0), r + r)
    tail = (r * r).muladd(polynomial(r, [2 * c for c in table("EXP", x.digits)]), last + (error + error))
    significand, lost = quick_two_sum(first, tail)
    if factor is not None:
        significand = significand.muladd(factor[0], significand.muladd(factor[1], lost * factor[0]))
    return times_two_to(count, n, significand, x, math.log(2))


@elementary()
def exp2(x: Term) -> Term:
    """Return 2^x = 2^n exp((x - n) ln 2)."""
    tame = confined(x, 1.0)
    count, n = nearest(tame, 1.0, parts_of(x))
    return power((tame - count) * math.log(2), count, n, x, 1.0)


@elementary()
def expm1(x: Term) -> Term:
    """Return exp x - 1 = 2 (2^(n - 1) (exp r - 1) + (2^(n - 1) - 1 / 2)); 2^n - 1 is exact while that 1 matters."""
    form = format_of(x)
    tame = x.at_least(-(form.fraction + 3) * math.log(2)).at_most((form.bias + 1.25) * math.log(2))
    r, _, n = reduced(tame)
    tail = (r * r) * polynomial(r, table("EXP", x.digits))
    half = power_of_two(n - 1, x)
    # |2^n - 1| exceeds |2^n r| unless n = 0, where the sum is exact.
    main, error = quick_two_sum(half - 0.5, half * r)
    result = main + half.muladd(tail, error)
    return x.where(abs(x) < 2.0 ** -(form.fraction + 2), result + result)


@elementary()
def tanh(x: Term) -> Term:
    """Return tanh |x| = e / (e + 2), e = exp(2 |x|) - 1; below 0.34, |x| + (e - 2 |x| - e tanh |x|) / 2."""
    size, e, tail, inverse = _of_double(x)
    ratio = e * inverse
    near = ratio.muladd(-e, tail).muladd(0.5, size)
    return near.where(size < 0.34, ratio).sign_of(x)


@elementary()
def tanh_slope(x: Term) -> Term:
    """Return 1 / cosh^2 x = q (2 - q) with q = 1 - tanh |x| = 2 / (e + 2), which tanh computes as well."""
    size, _, _, inverse = _of_double(x)
    q = inverse + inverse
    return x.number(0.0).where(abs(x) > size, q * (2.0 - q))


def _of_double(x: Term) -> tuple[Term, Term, Term, Term]:
    """Return |x|, e = exp(2 |x|) - 1, a part of it near 0, exp r - 1 - r, and 1 / (e + 2).

    Here 0 <= r < ln 2, so that e = 2^n - 1 + 2^n (exp r - 1) is a sum of positive terms.
    """
    form = format_of(x)
    size = abs(x).at_most((form.bias - 1.01) * math.log(2) / 2)  # the quotient is not subnormal
    double = size + size
    count, n = nearest(double.muladd(1 / math.log(2), -0.5), 1.0)
    high, low = table("LN2", x.precision)
    r = count.muladd(-low, count.muladd(-high, double))
    tail = (r * r) * polynomial(r, table("EXP_UP", x.digits))
    power = power_of_two(n, x)
    e = power.muladd(r + tail, power - 1.0)
    return size, e, tail, 1.0 / (e + 2.0)


@elementary()
def sinh(x: Term) -> Term:
    """Return sinh x = x + x^3 p(x^2) for |x| < 1, else h - 1 / (4 h) with h = exp |x| / 2."""
    z = x * x
    near = (x * z).muladd(polynomial(z, table("SINH", x.digits)), x)
    half = _half_exp(abs(x))
    return near.where(abs(x) < 1.0, (half - 0.25 / half).sign_of(x))


@elementary()
def cosh(x: Term) -> Term:
    """Return cosh x = h + 1 / (4 h) with h = exp |x| / 2."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


def _half_exp(x: Term) -> Term:
    """Return exp x / 2 for x >= 0, which is finite wherever cosh is."""
    form = format_of(x)
    if x.digits == 36:
        r, _, n = reduced(x.at_most(_NARROW * math.log(2)))
        return twice_exp(r) * power_of_two(n - 2, x)
    r, _, n = reduced(x.at_most((form.bias + 3) * math.log(2)))
    first, last = quick_two_sum(x.number(2.0), r + r)
    tail = (r * r).muladd(polynomial(r, [2 * c for c in table("EXP", x.digits)]), last)
    large = x > (form.bias - 1) * math.log(2)
    power = power_of_two((n - 8).where(large, n) - 2, x)
    return ((first + tail) * power) * x.number(256.0).where(large, 1.0)


@elementary()
def expit(x: Term) -> Term:
    """Return 1 / (1 + e) for x >= 0 and e - e q, q = e / (1 + e), for x < 0, with e = exp(-|x|)."""
    e = exp(-abs(x))
    inverse = 1.0 / (e + 1.0)
    return (e * inverse).muladd(-e, e).where(x < 0.0, inverse)


@elementary()
def expit_slope(x: Term) -> Term:
    """Return e / (1 + e)^2 with e = exp(-|x|), of the quotients that expit computes as well."""
    e = exp(-abs(x))
    inverse = 1.0 / (e + 1.0)
    return (e * inverse) * inverse
