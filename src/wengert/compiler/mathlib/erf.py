"""The error functions.

Near 0 a polynomial in x^2 times x. Else erfc x = exp(-x^2) p(q) / (x + c) with x^2 in two parts, where p is smooth
in q = (x - 3) / (x + 3) = 1 - 6 / (x + 3) over the whole range (that product is Cody's, *Rational Chebyshev
approximations for the error function*, 1969). In float32, erf x = 1 - exp(-x p(x)) has no division.
"""

from __future__ import annotations

import math

from wengert.compiler.mathlib.exponential import exp, exp_of_sum
from wengert.compiler.mathlib.logarithmic import log
from wengert.compiler.mathlib.terms import Term, elementary, polynomial, quick_two_sum, two_product, two_sum
from wengert.engine.kernels.tables import table


def _near(x: Term) -> Term:
    """Return erf x for |x| < 1."""
    digits = 24 if x.digits == 24 else 53
    return x.muladd(polynomial(x * x, table("ERF", digits)), x)


@elementary(cost=30)
def erf(x: Term) -> Term:
    """Return 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    size = abs(x)
    if x.digits == 24:
        tame = size.at_most(3.95)
        complement = exp(-(tame * polynomial(tame, table("ERF_TAIL", 24))))
    else:
        tame = size.at_most(6.0)
        inverse = 1.0 / (tame + 3.0)
        scaled = polynomial(1.0 - 6.0 * inverse, table("ERFC_NEAR", 53)) * inverse
        complement = exp(-(tame * tame)) * scaled
    return _near(x).where(size < 1.0, (1.0 - complement).sign_of(x))


@elementary(wide=True, cost=30)
def erfc(x: Term) -> Term:
    """Return erfc x = 1 - erf x without cancellation; for x < 0, 2 - erfc |x|."""
    size = abs(x)
    tame = size.at_most(28.0)
    powers = table("ERFC", 53) if x.digits == 53 else table("ERFC_SINGLE", 36)
    bottom, lost = two_sum(tame, x.number(0.5))
    inverse = 1.0 / bottom
    correction = polynomial((tame - 3.0) / (tame + 3.0), powers)
    p, p_low = quick_two_sum(x.number(39 / 64), correction)
    factor, error = two_product(p, inverse)
    error = factor.muladd(inverse.fma(-bottom, 1.0) - inverse * lost, p_low.muladd(inverse, error))
    square, square_low = two_product(tame, tame)
    # The factor goes into the exponential before its last step, which may make the result subnormal.
    tail = exp_of_sum(-square, -square_low, (factor, error))
    tail = (2.0 - tail).where(x < 0.0, tail)
    return (1.0 - _near(x)).where(size < 0.7, tail)


@elementary(wide=True, inline=False, cost=30)
def erfinv(y: Term) -> Term:
    """Return the x for which erf x = y: infinite at +-1 and NaN beyond.

    As in Giles, "Approximating the erfinv function" (2010), x / y is a polynomial in w = -log(1 - y^2); in the
    tails, x is the root of w times a polynomial in it.
    """
    size = abs(y)
    digits = y.digits
    w = -log((1.0 - size) * (size + 1.0))
    root = w.sqrt()
    correction = polynomial(w - 3.0, table("ERFINV", digits))
    first, last = quick_two_sum(y.number(23 / 16), correction)
    near = size.muladd(first, size * last)
    tail = root * polynomial(root - 4.2, table("ERFINV_TAIL", digits))
    result = near.where(w < 6.0, tail)
    result = y.number(math.inf).where(size.equals(1.0), result).sign_of(y)
    return y.number(math.nan).where(size > 1.0, result)
