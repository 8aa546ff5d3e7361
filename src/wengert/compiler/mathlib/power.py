"""Powers: x^y = exp(y log |x|), with the logarithm and the product in two parts.

log m is the series of artanh in s = (m - 1) / (m + 1), whose first two terms are carried in double-double
arithmetic (Dekker, *A floating-point technique for extending the available precision*, 1971). The result's error is
that of the logarithm times y log |x|, at most 745. Exceptional cases are those of ISO C, annex F.
"""

from __future__ import annotations

import math

from wengert.compiler.mathlib.exponential import exp, exp_of_sum
from wengert.compiler.mathlib.logarithmic import correction, exponent_and_fraction
from wengert.compiler.mathlib.terms import (
    Term,
    elementary,
    format_of,
    nearest,
    polynomial,
    power_of_two,
    quick_two_sum,
    two_product,
)
from wengert.engine.kernels.tables import table


def _two_part_log(x: Term) -> tuple[Term, Term]:
    """Return log x in two parts, for a positive finite x."""
    e, f = exponent_and_fraction(x)
    first, last = table("LN2", 53)
    if x.digits == 36:
        return e.muladd(math.log(2), f + correction(f)), x.number(0.0)
    bottom, lost = quick_two_sum(x.number(2.0), f)
    inverse = 1.0 / bottom
    s = f * inverse
    s_low = (s.fma(-bottom, f) - s * lost) * inverse
    z, error = two_product(s, s)
    z_low = (s * 2.0).muladd(s_low, error)
    third, third_low = table("TWO_THIRDS")
    tail = z * polynomial(z, table("ARTANH_TAIL", 53))
    weight, lost = quick_two_sum(x.number(third), tail + third_low)
    cube, error = two_product(z, s)
    cube_low = z.muladd(s_low, z_low.muladd(s, error))
    term, error = two_product(cube, weight)
    term_low = cube.muladd(lost, cube_low.muladd(weight, error))
    high, low = quick_two_sum(s + s, term)
    low = low + (s_low.muladd(2.0, term_low))
    total, lost = quick_two_sum(e * first, high)
    # |e ln 2| exceeds |log m| unless e = 0, where the sum is exact.
    return quick_two_sum(total, e.muladd(last, low + lost))


def _integers(y: Term) -> tuple[Term, Term]:
    """Return where y is an integer and where it is an odd one."""
    form = format_of(y)
    size, unit = abs(y), 2.0**form.fraction
    small = size < unit
    shifted = (size + unit).where(small, size)
    whole = (shifted - unit).equals(size) | (size >= unit)
    odd = (shifted.bits() & 1).equals(1) & (size < 2 * unit)
    return whole, odd & whole


def _of_positive(x: Term, y: Term) -> Term:
    """Return exp(y log x) for positive finite numbers x."""
    high, low = _two_part_log(x)
    product = y * high
    if x.digits == 36:
        return exp(product)
    lost = y.muladd(low, y.fma(high, -product))
    return exp_of_sum(product, lost.where(abs(product) < 2.0**12, 0.0))


@elementary(inline=False, cost=30)
def power(x: Term, y: Term) -> Term:
    """Return x^y; 1 if x is 1 or y is 0, even for NaN; NaN for a negative x with a y that is not an integer."""
    number, size = x.number, abs(x)
    if x.kind.bits == 32:
        wide = (operand.convert("fpext", "double") for operand in (size, y))
        result = _of_positive(*wide).convert("fptrunc", "float")
    else:
        result = _of_positive(size, y)
    infinite = abs(y).equals(math.inf)
    grows = (y > 0.0) ^ (size < 1.0)
    limit = number(math.inf).where(grows, 0.0)
    result = limit.where(infinite | size.equals(0.0) | size.equals(math.inf), result)
    whole, odd = _integers(y)
    result = (-result).where((x.bits() < 0) & odd, result)
    undefined = ((x < 0.0) & (x > -math.inf) & ~whole & ~infinite) | x.is_nan() | y.is_nan()
    result = number(math.nan).where(undefined, result)
    is_one = x.equals(1.0) | y.equals(0.0) | (infinite & size.equals(1.0))
    return number(1.0).where(is_one, result)


@elementary(wide=True)
def hypot(x: Term, y: Term) -> Term:
    """Return sqrt(x^2 + y^2), scaled by a power of two where a square could overflow or underflow."""
    infinite = abs(x).equals(math.inf) | abs(y).equals(math.inf)
    if x.digits == 36:
        return x.number(math.inf).where(infinite, x.muladd(x, y * y).sqrt())
    half = format_of(x).bias // 2
    larger, shift = abs(x).at_least(abs(y)), 2.0 ** (half + 100)
    large, small = larger > 2.0 ** (half - 2), larger < 2.0 ** (60 - half)
    one, up, down = (x.number(factor) for factor in (1.0, shift, 1 / shift))
    scale, back = down.where(large, up.where(small, one)), up.where(large, down.where(small, one))
    u, v = x * scale, y * scale
    return x.number(math.inf).where(infinite, u.muladd(u, v * v).sqrt() * back)


@elementary()
def cbrt(x: Term) -> Term:
    """Return the cube root: of m = |x| 2^(-3 k), 0.35 < m < 2.83, from a polynomial for m^(-1/3).

    One step of a fourth-order iteration for y = m^(-1/3), then one of Newton's method for m y^2, whose residual is
    computed exactly.
    """
    size = abs(x)
    e, f = exponent_and_fraction(size)
    third, n = nearest(e, 1 / 3)
    remainder = e - third * 3.0
    two, half = x.number(2.0), x.number(0.5)
    m = (f + 1.0) * two.where(remainder > 0.0, half.where(remainder < 0.0, 1.0))
    y = polynomial(m, table("CBRT", 53))
    h = 1.0 - (m * y) * (y * y)
    y = y.muladd(h * h.muladd(h.muladd(14 / 81, 2 / 9), 1 / 3), y)
    root = m * (y * y)
    if x.digits != 36:
        square, error = two_product(root, root)
        residual = square.fma(-root, m) - error * root
        root = residual.muladd((y * y) * (1 / 3), root)
    result = (root * power_of_two(n, x)).sign_of(x)
    return result.where((size > 0.0) & (size < math.inf), x)
