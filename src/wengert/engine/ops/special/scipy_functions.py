"""SciPy's special functions: primitives whose values SciPy computes, and whose derivatives stand here.

SciPy's functions are ufuncs, so NumPy hands their calls on boxes to `Array.__array_ufunc__`, which finds these by name.
They are differentiable in the argument, and in each parameter whose derivative this file can express; other derivatives
raise an error.

Source of the formulas: Olver et al., "NIST Digital Library of Mathematical Functions", https://dlmf.nist.gov.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.kernels import orthogonal
from wengert.engine.ops.arithmetic import absolute, floor, maximum, sign, size_to_compare
from wengert.engine.ops.comparison import equal, greater, isinf, less, logical_and, logical_not, where
from wengert.engine.ops.composition import composed
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp
from wengert.engine.ops.exponential import power as raised
from wengert.engine.ops.special.bessel import finite_or_zero, i0, i1, i_over_power
from wengert.engine.ops.special.error_and_gamma import erf, erfc, erfinv, lgamma
from wengert.engine.ops.special.orders import (
    hyp1f1_by_a,
    hyp1f1_by_b,
    hyp2f1_by_a,
    hyp2f1_by_b,
    hyp2f1_by_c,
    iv_order,
    ive_order,
    jv_order,
    kv_order,
    kve_order,
    yv_order,
    zeta_by_s,
)
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME, stated
from wengert.engine.ops.trigonometric import cos, cosh, sin, sinh
from wengert.engine.primitive import Point, Primitive

_ROOT_PI = math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
#: The arguments from which asymptotic series replace differences that cancel.
_LARGE, _FAR = 12.0, 7.0

# -- error functions and the normal distribution ---------------------------------------------------------


def _bell(x: Any) -> Any:
    """Return the density of the standard normal distribution."""
    return exp(-0.5 * (x * x)) / _ROOT_TWO_PI


@composed(lambda out, x: _bell(x), domain=(-2.0, 2.0))
def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal distribution."""
    return 0.5 * erfc(x * -math.sqrt(0.5))


def _inverse_mills(out: Any, x: Any) -> Any:
    """Return the density of the normal distribution over ndtr(x), in the left tail by Mills' asymptotic series."""
    is_far = less(x, -_LARGE)
    far, near = where(is_far, x, -_LARGE), where(is_far, 0.0, x)
    y, total = 1.0 / (far * far), 1.0
    for k in range(14, 0, -1):
        total = 1.0 - (2 * k - 1) * y * total
    return where(is_far, -far / total, exp(-0.5 * (near * near) - where(is_far, 0.0, out)) / _ROOT_TWO_PI)


log_ndtr = stated(
    "log_ndtr",
    _inverse_mills,
    doc="the logarithm of ndtr, also far in the tail",
    domain=(-3.0, 3.0),
)
ndtri = stated(
    "ndtri",
    lambda out, p: 1 / _bell(out),
    doc="the inverse of ndtr",
    domain=(0.05, 0.95),
    singular=[(0.0,), (1.0,)],
)
erfi = stated("erfi", lambda out, x: 2 / _ROOT_PI * exp(x * x), doc="-i erf(i x)", domain=(-2.0, 2.0))
erfcinv = stated(
    "erfcinv",
    lambda out, y: -0.5 * _ROOT_PI * exp(out * out),
    doc="the inverse of erfc",
    domain=(0.1, 1.9),
    singular=[(0.0,), (2.0,)],
)


def _asymptotic(x: Any, alternating: bool) -> Any:
    """Return ``sum_k (2k+1)!! (-+1)^k / (2 x^2)^k``, for large x; at 7 the last term is 1e-18."""
    y, total = (-0.5 if alternating else 0.5) / (x * x), 1.0
    for k in range(30, 0, -1):
        total = 1.0 + (2 * k + 1) * y * total
    return total


def _erfcx_slope(out: Any, x: Any) -> Any:
    """Return ``2 x erfcx(x) - 2 / sqrt(pi)``, by its asymptotic series where the terms cancel."""
    is_far = greater(x, _FAR)
    far = where(is_far, x, _FAR)
    return where(is_far, -_asymptotic(far, True) / (_ROOT_PI * (far * far)), 2 * x * out - 2 / _ROOT_PI)


erfcx = stated("erfcx", _erfcx_slope, doc="e^(x^2) erfc(x)", domain=(-1.5, 3.0))


def _dawson_slope(out: Any, x: Any) -> Any:
    """Return ``1 - 2 x dawsn(x)``, by its asymptotic series where the terms cancel."""
    is_far = greater(x * x, _FAR * _FAR)
    far = where(is_far, x, _FAR)
    return where(is_far, -0.5 * _asymptotic(far, False) / (far * far), 1 - 2 * x * out)


dawsn = stated(
    "dawsn", _dawson_slope, doc="Dawson's integral e^(-x^2) int_0^x e^(t^2) dt", domain=(-3.0, 3.0)
)
BY_NAME.update(erf=erf, erfc=erfc, erfinv=erfinv, ndtr=ndtr)

# -- exponential and trigonometric integrals -------------------------------------------------------------

expi = stated("expi", lambda out, x: exp(x) / x, doc="the exponential integral Ei(x)", singular=[(0.0,)])
exp1 = stated("exp1", lambda out, x: -exp(-x) / x, doc="the exponential integral E1(x)", singular=[(0.0,)])


def _over(function: Callable[[Any], Any], x: Any, sign_of_terms: float) -> Any:
    """Return sin x / x or sinh x / x, up to 1 by the Taylor series, whose derivatives are exact at 0."""
    is_near = less(size_to_compare(x), 1.0)
    near, away = where(is_near, x, 0.0), where(is_near, 1.0, x)
    square, series = near * near, 0.0
    for k in range(10, -1, -1):
        series = series * square + sign_of_terms**k / math.factorial(2 * k + 1)
    return where(is_near, series, function(away) / away)


_si = stated("si", lambda out, x: _over(sin, x, -1.0), doc="the sine integral", of="sici", part=0)
_ci = stated("ci", lambda out, x: cos(x) / x, doc="the cosine integral", of="sici", part=1, singular=[(0.0,)])
_shi = stated(
    "shi", lambda out, x: _over(sinh, x, 1.0), doc="the hyperbolic sine integral", of="shichi", part=0
)
_chi = stated(
    "chi",
    lambda out, x: cosh(x) / x,
    doc="the hyperbolic cosine integral",
    of="shichi",
    part=1,
    singular=[(0.0,)],
)


def _turn(x: Any) -> Any:
    """Return ``pi/2 x^2`` up to full turns: of x = n + f with n whole and 0 <= f < 1, the product n f is exact."""
    x = where(less(x, 0), -1.0 * x, 1.0 * x)  # not a magnitude, whose slope at 0 is 0
    n = floor(x)
    f = x - n
    parity, product = n - 2.0 * floor(0.5 * n), n * f
    return 0.5 * math.pi * (parity + 2.0 * (product - 2.0 * floor(0.5 * product + 0.5)) + f * f)


_fresnel_s = stated(
    "fresnel_s", lambda out, x: sin(_turn(x)), doc="the Fresnel integral S", of="fresnel", part=0
)
_fresnel_c = stated(
    "fresnel_c", lambda out, x: cos(_turn(x)), doc="the Fresnel integral C", of="fresnel", part=1
)
BY_NAME.update(
    sici=lambda x: (_si(x), _ci(x)),
    shichi=lambda x: (_shi(x), _chi(x)),
    fresnel=lambda x: (_fresnel_s(x), _fresnel_c(x)),
)

# -- Bessel functions ------------------------------------------------------------------------------------

_ORDER = ((0.5, 3.0), (0.5, 3.0))
#: SciPy's spherical functions of subnormal numbers are NaN.
_TINY = float(np.finfo(np.float64).tiny)
_AT_ZERO: list[Point] = [(1.0, 0.0)]


def _neighbours(
    function: Callable[..., Any], below: float, above: float, first: bool = False
) -> Callable[..., Any]:
    """Return the slope ``(below f_(v-1) + above f_(v+1)) / 2``; beside a pole at 0 one of these may overflow.

    There the slope is ``below f_(v-1) - v/x f_v`` for v > 0, and ``above f_(v+1) + v/x f_v`` for v < 0, of which the
    second term is the larger one. Functions of the first kind have the sign of ``gamma(v + 1)`` there, also where
    SciPy's infinity has the other one.
    """

    def slope(out: Any, v: Any, x: Any) -> Any:
        if first:
            is_pole = logical_and(less(v, 0), isinf(out))
            out = where(is_pole, _sign_of_gamma(where(is_pole, v, 0.0) + 1.0) * absolute(out), out)
        lower, upper = below * function(v - 1, x), above * function(v + 1, x)
        inward = where(greater(v, 0), lower, upper)
        return _beside_pole(out, absolute(1.0 * v), x, 0.5 * (lower + upper), inward)

    return slope


def _beside_pole(out: Any, order: Any, x: Any, slope: Any, regular: Any) -> Any:
    """Return a slope, and ``rest - order / x out`` where it is not finite, though x is below the order."""
    is_over = logical_and(less(size_to_compare(x), order), logical_not(less(absolute(slope), math.inf)))
    regular = where(less(absolute(out), math.inf), regular, 0.0)
    return where(is_over, regular - order / where(is_over, x, 1.0) * out, slope)


jv = stated(
    "jv",
    lambda out, v, x: jv_order(v, x),
    lambda out, v, x: _neighbours(jv, 1.0, -1.0, first=True)(out, v, x),
    doc="the Bessel function J_v(x)",
    domain=_ORDER,
    whole=1,
)
yv = stated(
    "yv",
    lambda out, v, x: yv_order(v, x),
    lambda out, v, x: _neighbours(yv, 1.0, -1.0)(out, v, x),
    doc="the Bessel function Y_v(x)",
    domain=_ORDER,
    whole=1,
    singular=_AT_ZERO,
)
iv = stated(
    "iv",
    lambda out, v, x: iv_order(v, x),
    lambda out, v, x: _neighbours(iv, 1.0, 1.0, first=True)(out, v, x),
    doc="the modified Bessel function I_v(x)",
    domain=_ORDER,
    whole=1,
)
kv = stated(
    "kv",
    lambda out, v, x: kv_order(v, x),
    lambda out, v, x: _neighbours(kv, -1.0, -1.0)(out, v, x),
    doc="the modified Bessel function K_v(x)",
    domain=_ORDER,
    whole=1,
    singular=_AT_ZERO,
)


def _scaled_slope(out: Any, v: Any, x: Any, alternating: bool, near: Any) -> Any:
    """Return the slope of a scaled modified function from Hankel's expansion of its logarithm, where a formula cancels.

    ``e^x K_v(x) = sqrt(pi / 2x) sum_k a_k x^-k`` with ``a_k = a_(k-1) (4v^2 - (2k-1)^2) / 8k``; I_v has alternating
    signs (DLMF 10.40). From the border on, the terms fall below the unit of rounding.
    """
    square_of_order = 4.0 * v * v
    is_far = greater(size_to_compare(x), 20.0 + square_of_order / 16)
    inverse = 1.0 / absolute(where(is_far, x, 20.0 + square_of_order / 16))
    inverse = -inverse if alternating else inverse
    total: Any = 1.0
    slope: Any = 0.5
    term: Any = 1.0
    for k in range(1, 41):
        term = term * inverse * (square_of_order - (2 * k - 1) ** 2) / (8.0 * k)
        total, slope = total + term, slope + (k + 0.5) * term
    return where(is_far, -out * (slope / total) / where(is_far, x, 1.0), near)


ive = stated(
    "ive",
    lambda out, v, x: ive_order(v, x),
    lambda out, v, x: _scaled_slope(out, v, x, True, 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - sign(x) * out),
    doc="e^-|x| I_v(x)",
    domain=_ORDER,
    whole=1,
)
kve = stated(
    "kve",
    lambda out, v, x: kve_order(v, x),
    lambda out, v, x: _scaled_slope(
        out, v, x, False, _neighbours(kve, -1.0, -1.0)(out, v, x) + finite_or_zero(out)
    ),
    doc="e^x K_v(x)",
    domain=_ORDER,
    whole=1,
    singular=_AT_ZERO,
)
BY_NAME["jn"] = BY_NAME["jv"]


def _whole(n: Any) -> Any:
    """Return a number without its fraction, as SciPy takes orders that must be whole."""
    n = 1.0 * n
    return where(less(n, 0), -floor(-n), floor(n))


yn = stated(
    "yn",
    None,
    lambda out, n, x: _neighbours(yn, 1.0, -1.0)(out, _whole(n), x),
    doc="the Bessel function Y_n(x) of a whole order",
    singular=_AT_ZERO,
)
kn = stated(
    "kn",
    None,
    lambda out, n, x: _neighbours(kn, -1.0, -1.0)(out, _whole(n), x),
    doc="the modified Bessel function K_n(x) of a whole order",
    singular=_AT_ZERO,
)

j0 = stated("j0", lambda out, x: -j1(x), doc="the Bessel function J_0(x)")
j1 = stated("j1", lambda out, x: 0.5 * (j0(x) - jv(2.0, x)), doc="the Bessel function J_1(x)")
y0 = stated("y0", lambda out, x: -y1(x), doc="the Bessel function Y_0(x)", singular=[(0.0,)])
y1 = stated(
    "y1",
    lambda out, x: _beside_pole(out, 1.0, x, 0.5 * (y0(x) - yv(2.0, x)), y0(x)),
    doc="the Bessel function Y_1(x)",
    singular=[(0.0,)],
)
BY_NAME.update(i0=i0, i1=i1)


def _i1e_over(x: Any, value: Any) -> Any:
    is_near = less(size_to_compare(x), 1.0)
    near, away = where(is_near, x, 0.0), where(is_near, 1.0, x)
    return where(is_near, exp(-absolute(near)) * i_over_power(near, order=1), value / away)


i0e = stated(
    "i0e",
    lambda out, x: _scaled_slope(out, 0.0, x, True, i1e(x) - sign(x) * out),
    doc="e^-|x| I_0(x); the derivative at 0 is 0",
    kinks=[(0.0,)],
)
i1e = stated(
    "i1e",
    lambda out, x: _scaled_slope(out, 1.0, x, True, i0e(x) - _i1e_over(x, out) - sign(x) * out),
    doc="e^-|x| I_1(x)",
)
k0 = stated("k0", lambda out, x: -k1(x), doc="the modified Bessel function K_0(x)", singular=[(0.0,)])
k1 = stated(
    "k1",
    lambda out, x: -0.5 * (k0(x) + kv(2.0, x)),
    doc="the modified Bessel function K_1(x)",
    singular=[(0.0,)],
)
k0e = stated(
    "k0e",
    lambda out, x: _scaled_slope(out, 0.0, x, False, finite_or_zero(out) - k1e(x)),
    doc="e^x K_0(x)",
    singular=[(0.0,)],
)
k1e = stated(
    "k1e",
    lambda out, x: _scaled_slope(out, 1.0, x, False, finite_or_zero(out) - k0e(x) - out / x),
    doc="e^x K_1(x)",
    singular=[(0.0,)],
)


def _sign_of_gamma(x: Any) -> Any:
    below = floor(where(less(x, 0), x, 0.0))
    return 1.0 - 2.0 * (below - 2.0 * floor(0.5 * below))


def struve_term(v: Any, x: Any) -> Any:
    """Return ``(x/2)^v / gamma(v + 3/2)``."""
    return raised(0.5 * x, 1.0 * v) * exp(-lgamma(v + 1.5)) * _sign_of_gamma(v + 1.5)


def _struve_slope(v: Any, x: Any) -> Any:
    """Return ``(H_(v-1) - H_(v+1) + t) / 2``; of v = 0 ``t - H_1``, as H_-1 has slopes that cancel those of t at 0."""
    is_zero = equal(v, 0)
    term, above = struve_term(v, x) / _ROOT_PI, struve(v + 1, x)
    order = where(is_zero, 1, v)
    below = struve(order - 1, x)
    return where(is_zero, 2 / math.pi - above, 0.5 * (below - above + term))


struve = stated(
    "struve",
    None,
    lambda out, v, x: _struve_slope(v, x),
    doc="the Struve function H_v(x)",
    domain=_ORDER,
)


def _spherical(kind: str, before: float, after: float, singular: Sequence[Point], doc: str) -> None:
    """State a spherical Bessel function with f_n' = (before n f_(n-1) + after (n + 1) f_(n+1)) / (2n + 1), and f_n'."""

    def slope(n: Any, x: Any) -> Any:
        x = x - where(less(size_to_compare(x), _TINY), stop_gradient(x), 0.0)  # 0, with the derivative of x
        below = where(n > 0, before * function(maximum(n - 1, 0), x), 0.0)
        value = (n * below + after * (n + 1) * function(n + 1, x)) / (2 * n + 1)
        return _beside_pole(function(n, x), n + 1.0, x, value, below) if singular else value

    function = stated(
        f"spherical_{kind}",
        None,
        lambda out, n, x: slope(n, x),
        doc=doc,
        singular=singular,
    )
    BY_NAME[f"_spherical_{kind}"], BY_NAME[f"_spherical_{kind}_d"] = function, slope


_spherical("jn", 1.0, -1.0, (), "the spherical Bessel function j_n(x)")
_spherical("yn", 1.0, -1.0, _AT_ZERO, "the spherical Bessel function y_n(x)")
_spherical("in", 1.0, 1.0, (), "the modified spherical Bessel function i_n(x)")
_spherical("kn", -1.0, -1.0, _AT_ZERO, "the modified spherical Bessel function k_n(x)")

_ai = stated("airy_ai", lambda out, x: _aip(x), doc="the Airy function Ai(x)", of="airy", part=0)
_aip = stated("airy_aip", lambda out, x: x * _ai(x), doc="the derivative of Ai(x)", of="airy", part=1)
_bi = stated("airy_bi", lambda out, x: _bip(x), doc="the Airy function Bi(x)", of="airy", part=2)
_bip = stated("airy_bip", lambda out, x: x * _bi(x), doc="the derivative of Bi(x)", of="airy", part=3)
BY_NAME["airy"] = lambda x: (_ai(x), _aip(x), _bi(x), _bip(x))

# -- hypergeometric functions and elliptic integrals -----------------------------------------------------

hyp1f1 = stated(
    "hyp1f1",
    lambda out, a, b, x: hyp1f1_by_a(a, b, x),
    lambda out, a, b, x: hyp1f1_by_b(a, b, x),
    lambda out, a, b, x: a / b * hyp1f1(a + 1, b + 1, x),
    doc="the confluent hypergeometric function 1F1(a; b; x)",
    whole=2,
)


def _next_hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return ``2F1(a + 1, b + 1; c + 1; x)``, for x < 0 by Pfaff's formula: there SciPy's value may have no digit."""
    is_left = less(x, 0)
    left, right = where(is_left, x, 0.0), where(is_left, 0.0, x)
    pfaff = raised(1.0 - left, -(a + 1.0)) * hyp2f1(a + 1, c - b, c + 1, left / (left - 1.0))
    return where(is_left, pfaff, hyp2f1(a + 1, b + 1, c + 1, right))


hyp2f1 = stated(
    "hyp2f1",
    lambda out, a, b, c, x: hyp2f1_by_a(a, b, c, x),
    lambda out, a, b, c, x: hyp2f1_by_b(a, b, c, x),
    lambda out, a, b, c, x: hyp2f1_by_c(a, b, c, x),
    lambda out, a, b, c, x: a * b / c * _next_hyp2f1(a, b, c, x),
    doc="the hypergeometric function 2F1(a, b; c; x)",
    whole=3,
    domain=((0.5, 2.0), (0.5, 2.0), (0.5, 2.0), (-0.6, 0.6)),
)
hyp0f1 = stated(
    "hyp0f1",
    None,
    lambda out, v, x: hyp0f1(v + 1, x) / v,
    doc="the confluent hypergeometric limit function 0F1(; v; x)",
)


def _near(m: Any, series: Callable[[Any], Any], formula: Callable[[Any], Any]) -> Any:
    """Return a power series for a small argument, where a formula cancels, and the formula elsewhere."""
    is_small = less(m * m, 0.01)
    return where(is_small, series(where(is_small, m, 0.0)), formula(where(is_small, 0.5, m)))


def _legendre_series(weight: Callable[[int, float], float], m: Any) -> Any:
    """Return ``pi/2 sum_n weight(n, c_n^2) m^(n-1)`` with ``c_n = (2n)! / (4^n n!^2)``."""
    total: Any = 0.0
    for n in range(18, 0, -1):
        total = total * m + weight(n, (math.comb(2 * n, n) / 4.0**n) ** 2)
    return 0.5 * math.pi * total


def ellipk_slope(m: Any) -> Any:
    """Return the derivative of the complete elliptic integral of the first kind."""
    return _near(
        m,
        lambda m: _legendre_series(lambda n, c: n * c, m),
        lambda m: (ellipe(m) / (1 - m) - ellipk(m)) / (2 * m),
    )


def ellipe_slope(m: Any) -> Any:
    """Return the derivative of the complete elliptic integral of the second kind."""
    return _near(
        m,
        lambda m: _legendre_series(lambda n, c: -n * c / (2 * n - 1), m),
        lambda m: (ellipe(m) - ellipk(m)) / (2 * m),
    )


ellipk = stated(
    "ellipk",
    lambda out, m: ellipk_slope(m),
    doc="the complete elliptic integral of the first kind, of the parameter m",
    domain=(-0.8, 0.8),
    singular=[(1.0,)],
)
ellipe = stated(
    "ellipe",
    lambda out, m: ellipe_slope(m),
    doc="the complete elliptic integral of the second kind, of the parameter m",
    domain=(-0.8, 0.8),
    singular=[(1.0,)],
)


# -- orthogonal polynomials ------------------------------------------------------------------------------


def _polynomial(name: str, *partials: Any, **statement: Any) -> Primitive:
    """State a function that is a polynomial where its degree is whole, and singular at -1 elsewhere."""
    scipys, own = f"eval_{name}", getattr(orthogonal, name)
    operands = ", ".join(f"{{{n}}}" for n in range(len(partials)))
    source = f"wengert.engine.kernels.orthogonal.{name}({operands})"
    return stated(scipys, *partials, of=scipys, by=own, source=source, **statement)


def _before(n: Any) -> Any:
    """Return the degree of the derivative of a function of degree n, which need not be whole."""
    return where(equal(n, 0), n, n - 1)


def _times_degree(n: Any, factor: Any, value: Any) -> Any:
    """Return a factor times a function of the degree before n; a constant has the derivative 0."""
    return where(equal(n, 0), 0.0, factor * value)


def _reflected(n: Any) -> Any:
    """Return the degree from -1/2 that has the same Legendre function."""
    return where(less(n, 0), -1 - n, n)


_ON_INTERVAL = ((1.0, 3.0), (-0.9, 0.9))
eval_legendre = _polynomial(
    "legendre",
    None,
    lambda out, n, x: _legendre_slope(_reflected(n), x),
    doc="the Legendre polynomial P_n(x)",
    domain=_ON_INTERVAL,
)


def _legendre_slope(n: Any, x: Any) -> Any:
    return _times_degree(n, 0.5 * (n + 1), eval_jacobi(_before(n), 1, 1, x))


eval_jacobi = _polynomial(
    "jacobi",
    None,
    None,
    None,
    lambda out, n, a, b, x: _times_degree(n, 0.5 * (n + a + b + 1), eval_jacobi(_before(n), a + 1, b + 1, x)),
    doc="the Jacobi polynomial P_n^(a, b)(x)",
    domain=((1.0, 3.0), (1.0, 3.0), (1.0, 3.0), (-0.9, 0.9)),
)
eval_gegenbauer = _polynomial(
    "gegenbauer",
    None,
    None,
    lambda out, n, a, x: _times_degree(n, 2 * a, eval_gegenbauer(_before(n), a + 1, x)),
    doc="the Gegenbauer polynomial C_n^(a)(x)",
    domain=((1.0, 3.0), (1.0, 3.0), (-0.9, 0.9)),
)
eval_chebyt = _polynomial(
    "chebyt",
    None,
    lambda out, n, x: _times_degree(n, absolute(n), eval_chebyu(_before(absolute(n)), x)),
    doc="the Chebyshev polynomial of the first kind T_n(x)",
    domain=_ON_INTERVAL,
)
eval_chebyu = _polynomial(
    "chebyu",
    None,
    lambda out, n, x: _times_degree(n, 2, eval_gegenbauer(_before(n), 2, x)),
    doc="the Chebyshev polynomial of the second kind U_n(x)",
    domain=_ON_INTERVAL,
)
eval_hermite = stated(
    "eval_hermite",
    None,
    lambda out, n, x: _times_degree(n, 2 * n, eval_hermite(_before(n), x)),
    doc="the physicists' Hermite polynomial H_n(x)",
)
eval_hermitenorm = stated(
    "eval_hermitenorm",
    None,
    lambda out, n, x: _times_degree(n, n, eval_hermitenorm(_before(n), x)),
    doc="the probabilists' Hermite polynomial He_n(x)",
)
eval_laguerre = stated(
    "eval_laguerre",
    None,
    lambda out, n, x: _times_degree(n, -1, eval_genlaguerre(_before(n), 1, x)),
    doc="the Laguerre polynomial L_n(x)",
)
eval_genlaguerre = stated(
    "eval_genlaguerre",
    None,
    None,
    lambda out, n, a, x: _times_degree(n, -1, eval_genlaguerre(_before(n), a + 1, x)),
    doc="the generalised Laguerre polynomial L_n^(a)(x)",
)


# -- zeta functions and exponential integrals of an order -------------------------------------------------

zeta = stated(
    "zeta",
    lambda out, x, q: zeta_by_s(x, q),
    lambda out, x, q: -x * zeta(x + 1, q),
    doc="the Hurwitz zeta function sum_k (k + q)^-x",
    whole=1,
    domain=((1.5, 4.0), (0.5, 3.0)),
)
BY_NAME["_zeta"] = BY_NAME["zeta"]  # the ufunc behind SciPy's function
expn = stated(
    "expn",
    None,
    lambda out, n, x: where(_whole(n) > 0, -expn(maximum(_whole(n) - 1, 0), x), -(1 + 1 / x) * out),
    doc="the generalised exponential integral E_n(x)",
)
