"""SciPy's gamma and beta functions, and the distribution functions that they give, stated as in `scipy_functions`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.ops.arithmetic import floor, size_to_compare, square
from wengert.engine.ops.comparison import equal, less, logical_and, logical_not, logical_or, where
from wengert.engine.ops.exponential import exp
from wengert.engine.ops.special.densities import gamma_density, log_binomial_mass, log_student_density
from wengert.engine.ops.special.differences import digamma_difference
from wengert.engine.ops.special.error_and_gamma import digamma, lgamma
from wengert.engine.ops.special.incomplete import betainc_slope, gammainc_slope, student_slope
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME, stated
from wengert.engine.ops.trigonometric import cos, sin
from wengert.engine.primitive import Point

_ROOT_PI = math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
#: The arguments from which asymptotic series replace differences that cancel.
_LARGE, _FAR = 12.0, 7.0

# -- gamma functions -------------------------------------------------------------------------------------

_POLES: list[Point] = [(0.0,), (-1.0,)]

gamma = stated(
    "gamma",
    lambda out, x: out * digamma(x),
    doc="the gamma function, (x - 1)! of a whole number",
    singular=_POLES,
)


def _is_near_pole(x: Any) -> Any:
    return logical_and(less(x, 0.5), less(size_to_compare(x - floor(x + 0.5)), 0.05))


def _beside_zero(x: Any, tops: list[Any]) -> tuple[Any, Any]:
    """Return whether x, but no top, is near a pole of gamma, and ``prod gamma(tops)`` times the slope of 1 / gamma."""
    is_near = _is_near_pole(x)
    for top in tops:
        is_near = logical_and(is_near, logical_not(_is_near_pole(top)))
    x, size, sign = where(is_near, x, 0.0), 0.0, 1.0
    for top in tops:
        top = where(is_near, top, 1.0)
        below = floor(where(less(top, 0.0), top, 0.0))
        size, sign = size + lgamma(top), sign * (1.0 - 2.0 * (below - 2.0 * floor(0.5 * below)))
    angle = math.pi * (x - 2.0 * floor(0.5 * x))
    turned = cos(angle) - digamma(1.0 - x) * sin(angle) / math.pi
    return is_near, sign * exp(size + lgamma(1.0 - x)) * turned


def _beta_slope_in_first(out: Any, a: Any, b: Any) -> Any:
    """Return the slope of beta in a, also where a + b is a pole of gamma, so that beta is 0."""
    is_near, rise = _beside_zero(1.0 * a + b, [a, b])
    away = digamma_difference(where(is_near, 1.0, a), where(is_near, 1.0, b), order=0)
    return where(is_near, rise + out * digamma(where(is_near, a, 1.0)), -out * away)


def _poch_slope_in_first(out: Any, z: Any, m: Any) -> Any:
    """Return the slope of poch in z, also where z is a pole of gamma, so that poch is 0."""
    is_near, rise = _beside_zero(1.0 * z, [1.0 * z + m])
    away = digamma_difference(where(is_near, 1.0, z), where(is_near, 1.0, m), order=0)
    return where(is_near, rise + out * digamma(where(is_near, z + m, 1.0)), out * away)


beta = stated(
    "beta",
    _beta_slope_in_first,
    lambda out, a, b: _beta_slope_in_first(out, b, a),
    doc="gamma(a) gamma(b) / gamma(a + b)",
)
betaln = stated(
    "betaln",
    lambda out, a, b: -digamma_difference(a, b, order=0),
    lambda out, a, b: -digamma_difference(b, a, order=0),
    doc="ln |beta(a, b)|",
)
BY_NAME.update(gammaln=lgamma, psi=digamma, digamma=digamma)


def incomplete_slope(a: Any, x: Any) -> Any:
    """Return the slope of the incomplete gamma function, the gamma density."""
    return gamma_density(1.0 * a, 1.0 * x)


def _at_end(a: Any) -> Any:
    """Return ``x^(a-1)`` at x = 0."""
    return where(less(a, 1.0), np.inf, where(equal(a, 1.0), 1.0, 0.0))


gammainc = stated(
    "gammainc",
    lambda out, a, x: gammainc_slope(a, x, order=1),
    lambda out, a, x: incomplete_slope(a, x),
    doc="the regularised lower incomplete gamma function",
)
gammaincc = stated(
    "gammaincc",
    lambda out, a, x: -gammainc_slope(a, x, order=1),
    lambda out, a, x: -incomplete_slope(a, x),
    doc="the regularised upper incomplete gamma function",
)


def _beta_slope(a: Any, b: Any, x: Any) -> Any:
    """Return ``x^(a-1) (1-x)^(b-1) / beta(a, b)``."""
    return beta_slope_of(1.0 * a, 1.0 * b, 1.0 * x, 1.0 - x)


def beta_slope_of(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return the same of x and y = 1 - x."""
    is_left, is_right = equal(x, 0.0), equal(y, 0.0)
    is_end = logical_or(is_left, is_right)
    inside, complement = where(is_end, 0.5, x), where(is_end, 0.5, y)
    root = exp(0.5 * log_binomial_mass(a, b, inside, complement))
    inner = root * (a / (a + b) / inside) * (b / complement) * root
    return where(is_left, _at_end(a) * b, where(is_right, _at_end(b) * a, inner))


betainc = stated(
    "betainc",
    lambda out, a, b, x: betainc_slope(a, b, x, order=(1, 0)),
    lambda out, a, b, x: betainc_slope(a, b, x, order=(0, 1)),
    lambda out, a, b, x: _beta_slope(a, b, x),
    doc="the regularised incomplete beta function",
    domain=((0.5, 3.0), (0.5, 3.0), (0.1, 0.9)),
)
betaincc = stated(
    "betaincc",
    lambda out, a, b, x: -betainc_slope(a, b, x, order=(1, 0)),
    lambda out, a, b, x: -betainc_slope(a, b, x, order=(0, 1)),
    lambda out, a, b, x: -_beta_slope(a, b, x),
    doc="1 - betainc(a, b, x)",
    domain=((0.5, 3.0), (0.5, 3.0), (0.1, 0.9)),
)


def student_density(df: Any, t: Any) -> Any:
    """Return the density of Student's distribution."""
    return exp(log_student_density(1.0 * t, 1.0 * df))


stdtr = stated(
    "stdtr",
    lambda out, df, t: student_slope(df, t),
    lambda out, df, t: student_density(df, t),
    doc="the distribution function of Student's distribution of df degrees of freedom",
)
# -- distribution functions ------------------------------------------------------------------------------


#: The partial derivatives of distribution functions by their operands; None where a count has none.
DISTRIBUTIONS: dict[str, tuple[Callable[..., Any] | None, ...]] = {}


def _parameters(name: str, partials: Sequence[Any], inverse: str, doc: str, domain: Any) -> None:
    """State a distribution function, its complement and the inverse of one in the last operand, by partials."""
    DISTRIBUTIONS[name] = tuple(partials)
    sign, slope = -1.0 if inverse == f"{name}c" else 1.0, partials[-1]

    def state(name: str, make: Callable[[Any], Any], last: Any, doc: str, domain: Any) -> None:
        stated(name, *(p and make(p) for p in partials[:-1]), last, doc=doc, domain=domain)

    plain = cast("Any", lambda p: lambda out, *x: p(*x))
    negated = cast("Any", lambda p: lambda out, *x: -p(*x))
    inverted = cast("Any", lambda p: lambda out, *x: -p(*x[:-1], out) / slope(*x[:-1], out))

    state(name, plain, plain(slope), doc, domain)
    state(f"{name}c", negated, negated(slope), f"1 - {name}", domain)
    by_probability = cast("Any", lambda out, *x: sign / slope(*x[:-1], out))
    doc = f"the inverse of {inverse} in the last operand"
    state(f"{name}i", inverted, by_probability, doc, (*domain[:-1], (0.1, 0.9)))


def _f_parts(a: Any, b: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return the density of the incomplete beta function behind F, its variable, and ``1 / (b + a x)^2``."""
    whole = b + a * x
    share, complement = a * x / whole, b / whole
    return beta_slope_of(0.5 * a, 0.5 * b, share, complement), share, 1.0 / square(whole)


def _f_by(order: tuple[int, int], sign: float) -> Callable[..., Any]:
    def partial(a: Any, b: Any, x: Any) -> Any:
        density, share, scale = _f_parts(a, b, x)
        moved = sign * density * (a if order[1] else b) * x * scale
        return 0.5 * betainc_slope(0.5 * a, 0.5 * b, share, order=order) + moved

    return partial


def _density_of_f(a: Any, b: Any, x: Any) -> Any:
    density, _, scale = _f_parts(a, b, x)
    return density * a * b * scale


_WHOLE = (1, 3)
_parameters(
    "chdtr",
    (
        lambda v, x: 0.5 * gammainc_slope(0.5 * v, 0.5 * x, order=1),
        lambda v, x: 0.5 * incomplete_slope(0.5 * v, 0.5 * x),
    ),
    "chdtrc",
    "the distribution function of chi squared",
    ((0.5, 3.0), (0.5, 3.0)),
)
_parameters(
    "fdtr",
    (_f_by((1, 0), 1.0), _f_by((0, 1), -1.0), _density_of_f),
    "fdtr",
    "the distribution function of F",
    ((0.5, 3.0),) * 3,
)
_parameters(
    "pdtr",
    (None, lambda k, m: -incomplete_slope(floor(k) + 1.0, m)),
    "pdtr",
    "the distribution function of Poisson's distribution",
    (_WHOLE, (0.5, 3.0)),
)
_parameters(
    "bdtr",
    (None, None, lambda k, n, p: -_beta_slope(floor(k) + 1.0, n - floor(k), p)),
    "bdtr",
    "the distribution function of the binomial distribution",
    ((1, 3), (4, 6), (0.1, 0.9)),
)
_parameters(
    "nbdtr",
    (None, None, lambda k, n, p: _beta_slope(n, floor(k) + 1.0, p)),
    "nbdtr",
    "the distribution function of the negative binomial distribution",
    (_WHOLE, _WHOLE, (0.1, 0.9)),
)
for _sign, _name in ((1.0, "gdtr"), (-1.0, "gdtrc")):
    stated(
        _name,
        lambda out, a, b, x, sign=_sign: sign * x * incomplete_slope(b, a * x),
        lambda out, a, b, x, sign=_sign: sign * gammainc_slope(b, a * x, order=1),
        lambda out, a, b, x, sign=_sign: sign * a * incomplete_slope(b, a * x),
        doc="the incomplete gamma function of b at a x",
    )


poch = stated(
    "poch",
    _poch_slope_in_first,
    lambda out, z, m: out * digamma(z + m),
    doc="the rising factorial gamma(z + m) / gamma(z)",
)


def _reflected_slopes(n: Any, m: Any) -> tuple[Any, Any]:
    """Return the partial derivatives of ``beta(n + 1, m) sin(pi m) / pi``, where m is positive."""
    m = where(m > 0.25, m, 1.0)
    nearest = floor(m + 0.5)
    sign, angle = 1.0 - 2.0 * (nearest - 2.0 * floor(0.5 * nearest)), math.pi * (m - nearest)
    size, sine, cosine = sign * beta(n + 1.0, m), sin(angle) / math.pi, cos(angle)
    by_n = -size * digamma_difference(n + 1.0, m, order=0) * sine
    by_m = size * (cosine - digamma_difference(m, n + 1.0, order=0) * sine)
    return by_n, by_m


def _binom_slope(by_k: bool, out: Any, n: Any, k: Any) -> Any:
    """Return a slope of the binomial coefficient: beyond 0 and n, where it has zeros, by the reflection formula."""
    below, above = _reflected_slopes(n, -1.0 * k), _reflected_slopes(n, k - 1.0 * n)
    if by_k:
        inside = digamma_difference(k + 1.0, n - 2.0 * k, order=0)
        left, right = -below[1], above[1]
    else:
        inside = -digamma_difference(n + 1.0, -1.0 * k, order=0)
        left, right = below[0], above[0] - above[1]
    return where(k < -0.25, left, where(k - n > 0.25, right, out * inside))


binom = stated(
    "binom",
    lambda out, n, k: _binom_slope(False, out, n, k),
    lambda out, n, k: _binom_slope(True, out, n, k),
    doc="the binomial coefficient of n and k, also between whole numbers",
    domain=((3.0, 5.0), (0.5, 2.5)),
)
