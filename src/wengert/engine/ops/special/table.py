"""Further functions of SciPy's: a table of their derivatives, which SciPy's own functions give.

One primitive for each number of operands evaluates any of them. An operand without a derivative here raises an error.

Sources of the formulas: Olver et al., "NIST Digital Library of Mathematical Functions", https://dlmf.nist.gov, chapters
6, 9 to 14, 18, 19, 25, 28 and 30; Johnson, Kotz, Balakrishnan, "Continuous Univariate Distributions", volume 2 (1995).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.core.dtypes import FLOAT64, is_complex, is_inexact
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType, promote, show, type_of
from wengert.engine.kernels.quadrature import gauss_legendre
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import absolute, rint, size_to_compare
from wengert.engine.ops.comparison import equal, greater, less, where
from wengert.engine.ops.elementwise import batch_elementwise, check_real
from wengert.engine.ops.exponential import exp, log, sqrt
from wengert.engine.ops.exponential import power as raised
from wengert.engine.ops.special.compositions import boxcox_slope
from wengert.engine.ops.special.elliptic import complement_slope
from wengert.engine.ops.special.error_and_gamma import lgamma
from wengert.engine.ops.special.gammas import DISTRIBUTIONS, beta_slope_of, incomplete_slope, student_density
from wengert.engine.ops.special.incomplete import betainc_slope, gammainc_slope, student_slope
from wengert.engine.ops.special.orders import zeta_by_s
from wengert.engine.ops.special.scipy_functions import struve_term
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME, OfTypes, double, scipys, tangent_by
from wengert.engine.ops.trigonometric import cos, cosh, sin
from wengert.engine.primitive import Draw, Explicit, Primitive, primitive

Partial = Callable[..., Any]
Partials = tuple[Partial | None, ...]

_DEGREE = math.pi / 180
_ROOT_PI = math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


class _Functions:
    """Functions by SciPy's names."""

    def __getattr__(self, name: str) -> Any:
        if name not in BY_NAME:
            raise AttributeError(name)
        return BY_NAME[name]

    __getitem__ = __getattr__


_of: Any = _Functions()


def _part(name: str, part: int, *operands: Any) -> Any:
    return _EVALUATED[len(operands)](*operands, function=name, part=part)


def _in_last(count: int, partial: Partial) -> Partials:
    """Return the partials of a function of the last operand alone."""
    return (*(None,) * (count - 1), partial)


# -- derivatives of functions of one part ----------------------------------------------------------------


def _zeta_slope(s: Any) -> Any:
    """Return the derivative of Riemann's zeta function, left of 0 by its functional equation."""
    is_left = less(s, -0.5)
    right = zeta_by_s(where(is_left, 2.0, s), 1.0)
    t = 1.0 - where(is_left, s, -2.0)
    angle, zeta = 0.5 * math.pi * (1.0 - t), _of._zeta(t, 1.0)
    factor = 2.0 * exp(lgamma(t) - t * math.log(2 * math.pi))
    inner = (math.log(2 * math.pi) - _of.psi(t)) * zeta - zeta_by_s(t, 1.0)
    return where(is_left, factor * (sin(angle) * inner + 0.5 * math.pi * cos(angle) * zeta), right)


def _without_first(function: Partial, sign: float, x: Any) -> Any:
    """Return ``(f(x) - 1) / x`` of ``f = sum_k (sign x^2 / 4)^k / k!^2``, near 0 by the series."""
    is_near = less(size_to_compare(x), 1.0)
    near, away = where(is_near, x, 0.0), where(is_near, 1.0, x)
    series: Any = 0.0
    for k in range(10, 0, -1):
        series = series * (0.25 * near * near) + sign**k / math.factorial(k) ** 2
    return where(is_near, 0.25 * near * series, (function(away) - 1.0) / away)


def _struve_over(x: Any) -> Any:
    """Return ``H_0(x) / x``, which is ``2/pi (1 - x^2 / 9 + ...)`` near 0."""
    is_near = less(size_to_compare(x), 1e-3)
    away = where(is_near, 1.0, x)
    near = where(is_near, x, 0.0)
    series = 2 / math.pi * (1.0 - near * near / 9 * (1.0 - near * near / 25))
    return where(is_near, series, _of.struve(0.0, away) / away)


def _modified_struve_slope(v: Any, x: Any) -> Any:
    """Return ``(L_(v-1) + L_(v+1) + (x/2)^v / (sqrt(pi) gamma(v + 3/2))) / 2``, of v = 0 ``2/pi + L_1``."""
    is_zero = equal(v, 0)
    order, above = where(is_zero, 1, v), _of.modstruve(v + 1, x)
    below = _of.modstruve(order - 1, x) + struve_term(order, x) / _ROOT_PI
    return where(is_zero, 2 / math.pi + above, 0.5 * (below + above))


def _legendre_slope(m: Any, v: Any, x: Any) -> Any:
    """Return ``((v+m) (v-m+1) P^(m-1) - P^(m+1)) / (2 sqrt(1 - x^2))``, at an end of the interval from beside it."""
    beside = where(less(size_to_compare(x), 1.0), x, x * (1.0 - 2.0**-53))
    root = sqrt((1.0 - beside) * (1.0 + beside))
    root = where(equal(absolute(m), 1), sqrt((1.0 - x) * (1.0 + x)), root)  # infinite slopes
    factor = (v + m) * (v - m + 1.0)
    before = _of.lpmv(
        where(equal(factor, 0), m + 1, m - 1), v, beside
    )  # not of an order below -v, which is NaN
    return 0.5 * (factor * before - _of.lpmv(m + 1, v, beside)) / root


def _agm_slope(out: Any, a: Any, b: Any) -> Any:
    """Return the slope in b, as the mean is ``pi a / (2 K(1 - b^2 / a^2))``."""
    ratio = b / a
    square = ratio * ratio
    return -4 / math.pi * out * out * ratio / (a * a) * complement_slope(_of.ellipkm1(square), square)


def _kolmogorov_slope(x: Any) -> Any:
    """Return minus the density of Kolmogorov's distribution, by the one of its two series that converges fast."""
    is_left = less(x, 1.0)
    far, near = where(is_left, 1.0, x), where(is_left, where(less(x, 0.04), 1.0, x), 1.0)
    right: Any = 0.0
    left: Any = 0.0
    for k in range(1, 7):
        right = right - (-1) ** k * k * k * exp(-2.0 * k * k * far * far)
        exponent = (2 * k - 1) ** 2 * math.pi**2 / 8 / (near * near)
        left = left + exp(-exponent) * (2.0 * exponent - 1.0)
    left = where(less(x, 0.04), 0.0, left * _ROOT_TWO_PI / (near * near))
    return -where(is_left, left, 8.0 * far * right)


def _share_slope(y: Any, first: Any, last: Any, n: Any, a: Any) -> Any:
    """Return the slope in a of the share that some terms have in the sum of ``k^-a`` for k to n."""
    return (_of._harmonic_slope(first, last, a) - y * _of._harmonic_slope(1.0, n, a)) / _of._gen_harmonic(
        n, a
    )


def _besselpoly_slope(a: Any, power: Any, v: Any) -> Any:
    before = where(equal(v, 0), -_of.besselpoly(a, power + 1, 1.0), _of.besselpoly(a, power + 1, v - 1))
    return before - _of.besselpoly(a, power + 1, v + 1)


#: The partials, of the result and the operands.
_ROWS: dict[str, Partials] = {
    "sindg": (lambda y, x: _DEGREE * _of.cosdg(x),),
    "cosdg": (lambda y, x: -_DEGREE * _of.sindg(x),),
    "tandg": (lambda y, x: _DEGREE * (1.0 + y * y),),
    "cotdg": (lambda y, x: -_DEGREE * (1.0 + y * y),),
    "radian": tuple(
        lambda y, d, m, s, share=share: share + 0.0 * d for share in (_DEGREE, _DEGREE / 60, _DEGREE / 3600)
    ),
    "zetac": (lambda y, x: _zeta_slope(x),),
    "_riemann_zeta": (lambda y, x: _zeta_slope(x),),
    "agm": (lambda y, a, b: _agm_slope(y, b, a), lambda y, a, b: _agm_slope(y, a, b)),
    "hyperu": _in_last(3, lambda y, a, b, x: -a * _of.hyperu(a + 1, b + 1, x)),
    "modstruve": _in_last(2, lambda y, v, x: _modified_struve_slope(v, x)),
    "itstruve0": (lambda y, x: _of.struve(0.0, x),),
    "it2struve0": (lambda y, x: -_struve_over(x),),
    "itmodstruve0": (lambda y, x: _of.modstruve(0.0, x),),
    "besselpoly": (lambda y, a, power, v: _besselpoly_slope(a, power, v), None, None),
    "lpmv": _in_last(3, lambda y, m, v, x: _legendre_slope(m, v, x)),
    "eval_sh_jacobi": _in_last(
        4, lambda y, n, p, q, x: n * _of.eval_sh_jacobi(where(n > 0, n - 1, n), p + 2, q + 1, x)
    ),
    "wright_bessel": _in_last(3, lambda y, a, b, x: _of.wright_bessel(a, a + b, x)),
    "log_wright_bessel": _in_last(3, lambda y, a, b, x: exp(_of.log_wright_bessel(a, a + b, x) - y)),
    "kolmogorov": (lambda y, x: _kolmogorov_slope(x),),
    "smirnov": _in_last(2, lambda y, n, d: _of._smirnovp(n, d)),
    "_smirnovp": (None, None),
    "mathieu_a": _in_last(2, lambda y, m, q: _of._mathieu_a_slope(m, q)),
    "mathieu_b": _in_last(2, lambda y, m, q: _of._mathieu_b_slope(m, q)),
    "_mathieu_a_slope": (None, None),
    "_mathieu_b_slope": (None, None),
    "pro_cv": _in_last(3, lambda y, m, n, c: _of._pro_cv_slope(m, n, c)),
    "obl_cv": _in_last(3, lambda y, m, n, c: _of._obl_cv_slope(m, n, c)),
    "_pro_cv_slope": (None, None, None),
    "_obl_cv_slope": (None, None, None),
    "_kolmogc": (lambda y, x: -_kolmogorov_slope(x),),
    "_kolmogci": (lambda y, q: -1.0 / _kolmogorov_slope(y),),
    "_gen_harmonic": (None, lambda y, n, a: _of._harmonic_slope(1.0, n, a)),
    "_normalized_gen_harmonic": (None, None, None, lambda y, *operands: _share_slope(y, *operands)),
    "_harmonic_slope": (None,) * 3,
}

# -- derivatives of functions of several parts -----------------------------------------------------------


def _solution(name: str, count: int, curvature: Partial, unit: float = 1.0) -> tuple[Partials, Partials]:
    """Return the partials of a solution w of an equation of the second order, and of its slope.

    Args:
        name: SciPy's name.
        count: the number of operands, of which the last is the variable.
        curvature: w'' of the operands, w and w'.
        unit: of the variable; slopes count in radians.
    """

    def first(y: Any, *x: Any) -> Any:
        return unit * _part(name, 1, *x)

    def second(y: Any, *x: Any) -> Any:
        return unit * curvature(*x, _part(name, 0, *x), y)

    return _in_last(count, first), _in_last(count, second)


def _spheroidal(kind: str, part: str, sign: float, has_own: bool) -> Partial:
    """Return the curvature of a spheroidal function, whose characteristic value may be an operand: ``has_own``."""

    def curvature(m: Any, n: Any, c: Any, *rest: Any) -> Any:
        *given, x, w, slope = rest
        weight = 1.0 - sign * x * x if part == "rad1" else 1.0 - x * x
        own = given[0] if has_own else _of[f"{kind}_cv"](m, n, c)
        turned = sign if part == "ang1" else 1.0  # of c^2, where x is imaginary
        square = c * c * x * x
        if part == "ang1":
            return (2.0 * x * slope - (own - turned * square - m * m / weight) * w) / weight
        return (-2.0 * x * slope + (own - square + sign * m * m / (x * x - sign)) * w) / (x * x - sign)

    return curvature


def _legendre_curvature(m: Any, n: Any, x: Any, w: Any, slope: Any) -> Any:
    weight = (1.0 - x) * (1.0 + x)
    return (2.0 * x * slope - (n * (n + 1.0) - m * m / weight) * w) / weight


def _root(x: Any) -> Any:
    return sqrt(where(less(x, 0.0), 0.0, x))


def _scaled_airy(part: int) -> Partials:
    sign = 1.0 if part < 2 else -1.0

    def partial(y: Any, x: Any) -> Any:
        first = x * _part("airye", part - 1, x) if part % 2 else _part("airye", part + 1, x)
        return first + sign * _root(x) * y

    return (partial,)


def _fresnel_tail(name: str, sign: float) -> tuple[Partials, ...]:
    """Return the partials of F, which nothing reads, and of K: ``K' = -+2 i x K - (1 -+ i) / sqrt(2 pi)``."""
    half = 1 / _ROOT_TWO_PI

    def real(y: Any, x: Any) -> Any:
        return sign * 2.0 * x * _part(name, 3, x) - half

    def imaginary(y: Any, x: Any) -> Any:
        return -sign * (2.0 * x * _part(name, 2, x) - half)

    return (None,), (None,), (real,), (imaginary,)


ROWS: dict[str, tuple[Partials, ...]] = {
    "itairy": (
        (lambda y, x: _of.airy(x)[0],),
        (lambda y, x: _of.airy(x)[2],),
        (lambda y, x: _of.airy(-1.0 * x)[0],),
        (lambda y, x: _of.airy(-1.0 * x)[2],),
    ),
    "itj0y0": ((lambda y, x: _of.j0(x),), (lambda y, x: _of.y0(x),)),
    "iti0k0": ((lambda y, x: _of.i0(x),), (lambda y, x: _of.k0(x),)),
    "it2j0y0": ((lambda y, x: -_without_first(_of.j0, -1.0, x),), (lambda y, x: -_of.y0(x) / x,)),
    "it2i0k0": ((lambda y, x: _without_first(_of.i0, 1.0, x),), (lambda y, x: -_of.k0(x) / x,)),
    "airye": tuple(map(_scaled_airy, range(4))),
    "modfresnelp": _fresnel_tail("modfresnelp", 1.0),
    "modfresnelm": _fresnel_tail("modfresnelm", -1.0),
    "pbdv": _solution("pbdv", 2, lambda v, x, w, slope: (0.25 * x * x - v - 0.5) * w),
    "pbvv": _solution("pbvv", 2, lambda v, x, w, slope: (0.25 * x * x - v - 0.5) * w),
    "pbwa": _solution("pbwa", 2, lambda a, x, w, slope: (a - 0.25 * x * x) * w),
    **{
        f"{kind}_{part}{end}": _solution(
            f"{kind}_{part}{end}", 5 if end else 4, _spheroidal(kind, part, sign, bool(end))
        )
        for kind, sign in (("pro", 1.0), ("obl", -1.0))
        for part in ("ang1", "rad1")
        for end in ("", "_cv")
    },
    "lqn": _solution("lqn", 2, lambda n, x, w, slope: _legendre_curvature(0, n, x, w, slope)),
    "lqmn": _solution("lqmn", 3, lambda *operands: _legendre_curvature(*operands)),
}
for _letter, _value in (("c", "a"), ("s", "b")):

    def _own(m: Any, q: Any, value: str = f"mathieu_{_value}") -> Any:
        return _of[value](m, q)

    ROWS[f"mathieu_{_letter}em"] = _solution(
        f"mathieu_{_letter}em",
        3,
        lambda m, q, x, w, slope, own=_own: -(own(m, q) - 2.0 * q * cos(2.0 * _DEGREE * x)) * w,
        _DEGREE,
    )
    for _kind in "12":
        ROWS[f"mathieu_mod{_letter}em{_kind}"] = _solution(
            f"mathieu_mod{_letter}em{_kind}",
            3,
            lambda m, q, x, w, slope, own=_own: (own(m, q) - 2.0 * q * cosh(2.0 * x)) * w,
        )

# -- distributions and their inverses --------------------------------------------------------------------


def _normal_parts(mean: Any, deviation: Any, x: Any) -> tuple[Any, Any]:
    z = (x - mean) / deviation
    return z, exp(-0.5 * z * z) / (_ROOT_TWO_PI * deviation)


def _chi_density(x: Any, df: Any, nc: Any) -> Any:
    """Return the density of chi squared with a noncentrality."""
    is_central = less(nc, 1e-290)
    some = where(is_central, 1.0, nc)
    gap = sqrt(x) - sqrt(some)
    shape = exp((0.25 * df - 0.5) * log(x / some) - 0.5 * gap * gap)
    inner = 0.5 * shape * _of.ive(0.5 * df - 1.0, sqrt(x * some))
    return where(is_central, 0.5 * incomplete_slope(0.5 * df, 0.5 * x), inner)


def _chi_density_slope(x: Any, df: Any, nc: Any) -> Any:
    """Return the slope of the density in x, by the recurrence of Bessel functions."""
    density = _of._ncx2_pdf(x, df, nc)
    return 0.5 * ((nc * _of._ncx2_pdf(x, df + 2.0, nc) + (df - 2.0) * density) / x - density)


def _f_density_next(x: Any, dfn: Any, dfd: Any, nc: Any) -> Any:
    """Return the density of two degrees of freedom more, at the same share of the incomplete beta."""
    ratio = dfn / (dfn + 2.0)
    return ratio * _of._ncf_pdf(x * ratio, dfn + 2.0, dfd, nc)


def _f_density_slope(y: Any, x: Any, dfn: Any, dfd: Any, nc: Any) -> Any:
    """Return the slope of the density in x: a mean over Poisson's weights, whose mean is the noncentrality."""
    whole = dfn * x + dfd
    inner = (0.5 * dfn - 1.0 - (0.5 * dfd - 1.0) * dfn * x / dfd) * y + 0.5 * nc * _f_density_next(
        x, dfn, dfd, nc
    )
    return (inner * dfd / x - 2.0 * dfn * y) / whole


def _t_density_moment(t: Any, df: Any, nc: Any, power: int) -> Any:
    """Return the integral for the density with a further power of the root of chi squared over df, 1 or 2."""
    ratio = sqrt((df + power) / df)
    density = _of._nct_pdf(t * ratio, df + power, nc)
    if power == 2:
        return ratio * density
    factor = exp(lgamma(0.5 * df + 0.5) - lgamma(0.5 * df)) * sqrt(0.5 * (df + 1.0)) / (0.5 * df)
    return factor * density


def _f_by_noncentrality(dfn: Any, dfd: Any, nc: Any, x: Any) -> Any:
    """Return the slope as half a difference: two degrees of freedom more, at the same share of the incomplete beta."""
    return 0.5 * (_of.ncfdtr(dfn + 2.0, dfd, nc, x * dfn / (dfn + 2.0)) - _of.ncfdtr(dfn, dfd, nc, x))


def _t_by_noncentrality(df: Any, nc: Any, t: Any) -> Any:
    """Return the slope for df > 1, minus a multiple of the density of one degree less."""
    factor = exp(lgamma(0.5 * df - 0.5) - lgamma(0.5 * df)) * sqrt(0.5 * (df - 1.0))
    return -factor * _of._nct_pdf(t * sqrt((df - 1.0) / df), df - 1.0, nc)


def _beta_by(order: tuple[int, int]) -> Partial:
    return functools.partial(betainc_slope, order=order)


#: The partials of distribution functions, of the operands; those of the counts k are between whole numbers.
_DISTRIBUTIONS: dict[str, Partials] = {
    **DISTRIBUTIONS,
    "gamma": (lambda b, x: gammainc_slope(b, x, order=1), incomplete_slope),
    "beta": (_beta_by((1, 0)), _beta_by((0, 1)), lambda a, b, x: beta_slope_of(1.0 * a, 1.0 * b, x, 1.0 - x)),
    "gdtr": (
        lambda a, b, x: x * incomplete_slope(b, a * x),
        lambda a, b, x: gammainc_slope(b, a * x, order=1),
        lambda a, b, x: a * incomplete_slope(b, a * x),
    ),
    "poisson": (
        lambda k, m: -gammainc_slope(k + 1.0, m, order=1),
        lambda k, m: -incomplete_slope(k + 1.0, m),
    ),
    "binomial": (
        lambda k, n, p: (
            betainc_slope(k + 1.0, n - k, p, order=(0, 1)) - betainc_slope(k + 1.0, n - k, p, order=(1, 0))
        ),
        lambda k, n, p: -betainc_slope(k + 1.0, n - k, p, order=(0, 1)),
        lambda k, n, p: -beta_slope_of(k + 1.0, n - k, p, 1.0 - p),
    ),
    "negative binomial": (
        lambda k, n, p: betainc_slope(n, k + 1.0, p, order=(0, 1)),
        lambda k, n, p: betainc_slope(n, k + 1.0, p, order=(1, 0)),
        lambda k, n, p: beta_slope_of(1.0 * n, k + 1.0, p, 1.0 - p),
    ),
    "stdtr": (student_slope, student_density),
    "normal": (
        lambda m, s, x: -_normal_parts(m, s, x)[1],
        lambda m, s, x: -math.prod(_normal_parts(m, s, x)),
        lambda m, s, x: _normal_parts(m, s, x)[1],
    ),
    "chndtr": (_chi_density, None, lambda x, df, nc: -_chi_density(x, df + 2.0, nc)),
    "ncfdtr": (None, None, _f_by_noncentrality, lambda a, b, nc, x: _of._ncf_pdf(x, a, b, nc)),
    "nctdtr": (None, _t_by_noncentrality, lambda df, nc, t: _of._nct_pdf(t, df, nc)),
    "tukey": (  # the quantile of the lambda distribution
        lambda q, power: raised(q, power - 1.0) + raised(1.0 - q, power - 1.0),
        lambda q, power: boxcox_slope(q, power) - boxcox_slope(1.0 - q, power),
    ),
    "smirnov": (None, lambda n, d: _of._smirnovp(n, d)),
    "kolmogorov": (_kolmogorov_slope,),
}
#: Inverses of a distribution function in the operand of a place, which is the probability instead.
_INVERSES: dict[str, tuple[str, int]] = {
    "chdtriv": ("chdtr", 0),
    "gdtria": ("gdtr", 0),
    "gdtrib": ("gdtr", 1),
    "gdtrix": ("gdtr", 2),
    "btdtria": ("beta", 0),
    "btdtrib": ("beta", 1),
    "pdtrik": ("poisson", 0),
    "bdtrik": ("binomial", 0),
    "bdtrin": ("binomial", 1),
    "nbdtrik": ("negative binomial", 0),
    "nbdtrin": ("negative binomial", 1),
    "fdtridfd": ("fdtr", 1),
    "stdtridf": ("stdtr", 0),
    "nrdtrimn": ("normal", 0),
    "nrdtrisd": ("normal", 1),
    "chndtrix": ("chndtr", 0),
    "chndtrinc": ("chndtr", 2),
    "ncfdtri": ("ncfdtr", 3),
    "ncfdtrinc": ("ncfdtr", 2),
    "nctdtrit": ("nctdtr", 2),
    "nctdtrinc": ("nctdtr", 1),
    "tklmbda": ("tukey", 0),
    "smirnovi": ("smirnov", 1),
    "kolmogi": ("kolmogorov", 0),
}


_COUNTS = {"poisson", "binomial", "negative binomial"}


def _of_operands(partial: Partial | None) -> Partial | None:
    return partial and cast("Any", lambda y, *x: partial(*x))


def _inverted(distribution: str, place: int) -> Partials:
    """Return the partials of an inverse, by the theorem of implicit functions."""
    forward = _DISTRIBUTIONS[distribution]

    def partial(position: int) -> Partial | None:
        by, density = forward[position], forward[place]
        assert density is not None
        if by is None:
            return None

        def slope(y: Any, *x: Any) -> Any:
            x = (*x[:place], y, *x[place + 1 :])
            value = 1.0 / density(*x) if position == place else -by(*x) / density(*x)
            # below the probability of 0 the number k that a distribution counts stays 0
            return where(equal(y, 0), 0.0, value) if distribution in _COUNTS and not place else value

        return slope

    return tuple(map(partial, range(len(forward))))


_ROWS["_ncx2_pdf"] = (
    lambda y, x, df, nc: _chi_density_slope(x, df, nc),
    None,
    lambda y, x, df, nc: 0.5 * (_of._ncx2_pdf(x, df + 2.0, nc) - y),
)
_ROWS["_ncx2_sf"] = (
    lambda y, x, df, nc: -_of._ncx2_pdf(x, df, nc),
    None,
    lambda y, x, df, nc: _of._ncx2_pdf(x, df + 2.0, nc),
)
_ROWS["_ncf_pdf"] = (
    _f_density_slope,
    None,
    None,
    lambda y, x, dfn, dfd, nc: 0.5 * (_f_density_next(x, dfn, dfd, nc) - y),
)
_ROWS["_ncf_sf"] = (
    lambda y, x, dfn, dfd, nc: -_of._ncf_pdf(x, dfn, dfd, nc),
    None,
    None,
    lambda y, x, dfn, dfd, nc: -_f_by_noncentrality(dfn, dfd, nc, x),
)
_ROWS["_nct_pdf"] = (
    lambda y, t, df, nc: nc * _t_density_moment(t, df, nc, 1) - t * _t_density_moment(t, df, nc, 2),
    None,
    lambda y, t, df, nc: t * _t_density_moment(t, df, nc, 1) - nc * y,
)
_ROWS["_nct_sf"] = (
    lambda y, t, df, nc: -_of._nct_pdf(t, df, nc),
    None,
    lambda y, t, df, nc: -_t_by_noncentrality(df, nc, t),
)
for _name in ("chndtr", "ncfdtr", "nctdtr"):
    _ROWS[_name] = tuple(map(_of_operands, _DISTRIBUTIONS[_name]))
for _name, _inverse in _INVERSES.items():
    _ROWS[_name] = _inverted(*_inverse)
ROWS.update({name: (row,) for name, row in _ROWS.items()})

# -- slopes that SciPy lacks -----------------------------------------------------------------------------


def _mathieu(name: str, m: Any, q: Any) -> Any:
    """Return the slope of a characteristic value in q, the mean of ``2 cos 2x`` under the square of the function."""
    angles = np.arange(0.0, 360.0, 0.5)
    square = scipys(name)(np.asarray(m)[..., None], np.asarray(q)[..., None], angles)[0] ** 2
    return np.sum(square * 2 * np.cos(2 * _DEGREE * angles), -1) / np.sum(square, -1)


def _characteristic(name: str, sign: float, m: Any, n: Any, c: Any) -> Any:
    """Return the slope of a characteristic value in c, the mean of ``2 c x^2`` under the square of the function."""
    points, weights = gauss_legendre(240)
    operands = (np.asarray(x)[..., None] for x in (m, n, c))
    square = weights * scipys(name)(*operands, 2.0 * points - 1.0)[0] ** 2
    mean = np.sum(square * (2.0 * points - 1.0) ** 2, -1) / np.sum(square, -1)
    return sign * 2.0 * c * mean


def _second_kind(name: str, *operands: Any) -> tuple[Any, Any]:
    """Return Legendre functions of the second kind and their slopes, each of its own orders."""
    *orders, x = np.broadcast_arrays(*operands)
    largest = [int(np.max(order, initial=0)) for order in orders]
    values, slopes = scipys(name)(*largest, x)
    places = (*orders, *np.indices(x.shape))
    return values[places], slopes[places]


@np.vectorize
def _harmonic(first: float, last: float, a: float) -> float:
    """Return the slope in a of the sum of ``k^-a``."""
    k = np.arange(first, last + 1.0)
    return -float(np.sum(np.log(k) * k**-a))


_OWN: dict[str, Callable[..., Any]] = {
    "_harmonic_slope": functools.partial(_harmonic),
    "lqn": functools.partial(_second_kind, "lqn"),
    "lqmn": functools.partial(_second_kind, "lqmn"),
    "_mathieu_a_slope": functools.partial(_mathieu, "mathieu_cem"),
    "_mathieu_b_slope": functools.partial(_mathieu, "mathieu_sem"),
    "_pro_cv_slope": functools.partial(_characteristic, "pro_ang1", 1.0),
    "_obl_cv_slope": functools.partial(_characteristic, "obl_ang1", -1.0),
}


def _evaluation(name: str) -> Callable[..., Any]:
    from scipy.special import _ufuncs  # pyright: ignore[reportPrivateUsage]

    return _OWN[name] if name in _OWN else getattr(_ufuncs, name)


def parts_of(result: Any) -> list[Any]:
    """Return the real parts of a result: of complex numbers two."""
    leaves = cast("tuple[Any, ...]", result if isinstance(result, tuple) else (result,))
    return [p for x in leaves for p in ((x.real, x.imag) if np.iscomplexobj(x) else (x,))]


# -- the primitives --------------------------------------------------------------------------------------


def _type(*types: TensorType, function: str, part: int) -> TensorType:
    dtype, _ = promote(*types)
    if is_complex(dtype):
        hint = "take the derivative outside, or give it a rule: wg.custom_jvp"
        raise DtypeError(
            message(f"scipy.special.{function}", "real numbers are required", show(*types), hint)
        )
    return TensorType(dtype if is_inexact(dtype) else FLOAT64, broadcast(function, *(t.shape for t in types)))


def _evaluate(*operands: Any, function: str, part: int) -> Any:
    dtype = _type(*map(type_of, operands), function=function, part=part).dtype
    with np.errstate(all="ignore"):
        result = _evaluation(function)(*map(double, operands))
    return np.asarray(parts_of(result)[part], dtype)[()]


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, function: str, part: int) -> Any:
    return tangent_by(function, ROWS[function][part], primals, tangents, out)


#: Functions that samples show, and where their first operands are whole numbers.
_SHOWN: dict[int, tuple[str, tuple[tuple[int, int], ...]]] = {
    1: ("sindg", ()),
    2: ("agm", ()),
    3: ("radian", ()),
    4: ("eval_sh_jacobi", ((2, 4), (4, 6), (1, 2))),
    5: ("pro_ang1_cv", ((1, 1), (2, 2), (0, 0), (6, 6))),  # the characteristic value n (n + 1) of c = 0
}


def _stated(count: int) -> Primitive:
    name, whole = _SHOWN[count]

    def samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        shapes = draw.broadcastable(count)
        orders = [draw.integers(shape, *ends) for shape, ends in zip(shapes, whole, strict=False)]
        ends = (0.5, 3.0) if count < 5 else (0.1, 0.9)
        variables = [draw.array(shape, *ends) for shape in shapes[len(whole) :]]
        return (*orders, *variables), {"function": name, "part": 0}

    operands = ", ".join(f"{{{n}}}" for n in range(count))
    return primitive(
        name=f"scipy_function_of_{count}",
        doc=f"a part of a function of SciPy's of {count} real operands",
        type_rule=_type,
        evaluate=_evaluate,
        derivative=Explicit(_tangent),
        batch=batch_elementwise,
        lowering=OnHost("SciPy computes it"),
        source=f"wengert.engine.ops.special.table.evaluated({operands}, function={{function!r}}, part={{part}})".format,
        samples=samples,
        elementwise=True,
        operands=("a", "b", "c", "d", "x")[5 - count :],
        parameters=("function", "part"),
    )


_EVALUATED = {count: _stated(count) for count in _SHOWN}


def evaluated(*operands: Any, function: str, part: int) -> Any:
    """Return a real part of the result of a function."""
    return _EVALUATED[len(operands)](*operands, function=function, part=part)


# -- entries ---------------------------------------------------------------------------------------------


def _entry(name: str) -> OfTypes:
    def call(*operands: Any) -> Any:
        parts = tuple(evaluated(*operands, function=name, part=part) for part in range(len(ROWS[name])))
        return parts[0] if len(parts) == 1 else parts

    return OfTypes(call)


def _modified_fresnel(name: str, sign: float) -> OfTypes:
    def call(x: Any) -> Any:
        scaled = _part(name, 2, x) + 1j * _part(name, 3, x)
        # not SciPy's, whose imaginary part is wrong for x < 0
        return scaled * (_ROOT_PI * exp(sign * 1j * (x * x + 0.25 * math.pi))), scaled

    return OfTypes(call)


def _airye(x: Any) -> Any:
    """Return scaled Airy functions; for a large x of Bessel functions, whose slopes do not cancel."""
    check_real("scipy.special.airye", x)
    is_far = greater(x, 10.0)
    far, near = where(is_far, x, 10.0), where(is_far, 10.0, x)
    z, third, root = 2 / 3 * far * sqrt(far), far / math.sqrt(3), sqrt(far / 3)
    first = root / math.pi * _of.kve(1 / 3, z), -third / math.pi * _of.kve(2 / 3, z)
    # of I_v + I_-v = 2 I_v + 2/pi sin(pi v) K_v, of which the second term is beyond rounding
    second = 2.0 * root * _of.ive(1 / 3, z), 2.0 * third * _of.ive(2 / 3, z)
    values = enumerate((*first, *second))
    return tuple(where(is_far, value, _part("airye", part, near)) for part, value in values)


for _name in ROWS:
    BY_NAME[_name] = _entry(_name)
for _name, _sign in (("modfresnelp", 1.0), ("modfresnelm", -1.0)):
    BY_NAME[_name] = _modified_fresnel(_name, _sign)
_COMPOSED: dict[str, Callable[..., Any]] = {
    "jve": BY_NAME["jv"],  # of real arguments
    "yve": BY_NAME["yv"],
    "airye": _airye,
    "kelvin": lambda x: tuple(_of[a](x) + 1j * _of[b](x) for a, b in _KELVIN),
    "round": rint,
    "_kolmogp": _kolmogorov_slope,
    "eval_chebyc": lambda n, x: 2.0 * _of.eval_chebyt(n, 0.5 * x),
    "eval_chebys": lambda n, x: _of.eval_chebyu(n, 0.5 * x),
    "eval_sh_chebyt": lambda n, x: _of.eval_chebyt(n, 2.0 * x - 1.0),
    "eval_sh_chebyu": lambda n, x: _of.eval_chebyu(n, 2.0 * x - 1.0),
    "eval_sh_legendre": lambda n, x: _of.eval_legendre(n, 2.0 * x - 1.0),
}
_KELVIN = (("ber", "bei"), ("ker", "kei"), ("berp", "beip"), ("kerp", "keip"))
BY_NAME.update(_COMPOSED)
#: The names of this file.
IN_TABLE = {*ROWS, *_COMPOSED}
