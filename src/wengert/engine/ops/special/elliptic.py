"""Elliptic integrals and functions, Kelvin's functions and others of SciPy's, by their derivatives.

Sources: Olver et al., "NIST Digital Library of Mathematical Functions", chapters 10, 19, 22, https://dlmf.nist.gov;
Carlson, "Numerical computation of real or complex elliptic integrals", Numerical Algorithms 10 (1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.engine.kernels import carlson as kernels
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import floor, size_to_compare
from wengert.engine.ops.comparison import equal, isfinite, less, logical_not, where
from wengert.engine.ops.elementwise import elementwise
from wengert.engine.ops.exponential import exp, log, sqrt
from wengert.engine.ops.special.error_and_gamma import digamma, lgamma
from wengert.engine.ops.special.scipy_functions import ellipe, ellipe_slope, ellipk_slope
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME, stated
from wengert.engine.ops.trigonometric import cos, sin
from wengert.engine.primitive import Point


def _partial(place: int) -> Any:
    def slope(out: Any, x: Any, y: Any, z: Any, p: Any, exponents: Any, power: int) -> Any:
        return -exponents[place] * _integral((x, y, z, p), exponents, place, power)

    return slope


carlson = elementwise(
    "carlson",
    kernels.carlson,
    *map(_partial, range(4)),
    doc="Carlson's integral int_0^inf t^power prod_i (t + x_i)^(-exponents_i) dt",
    domain=((0.5, 3.0),) * 4,
    singular=[(-1.0, 1.0, 1.0, 1.0)],
    params={"exponents": (0.5, 0.5, 0.5, 1.0), "power": 0},
    lowering=OnHost("a quadrature computes it"),
    source="wengert.engine.kernels.carlson.carlson({0}, {1}, {2}, {3}, {exponents}, {power})",
)


def _integral(x: tuple[Any, ...], exponents: tuple[float, ...], place: int, power: int = 0) -> Any:
    """Return Carlson's integral with one of the exponents raised by 1."""
    raised = tuple(e + (n == place) for n, e in enumerate(exponents)) + (0.0,) * (4 - len(x))
    operands = [1.0 * value for value in x] + [1.0] * (4 - len(x))
    return carlson(*operands, exponents=raised, power=power)


def _symmetric(name: str, exponents: tuple[float, ...], factor: float, power: int = 0) -> None:
    """State one of SciPy's integrals; the principal values of negative operands have a derivative that is NaN."""

    def partial(place: int) -> Any:
        weight = factor * (exponents[place] if not power else 1.0)

        def slope(out: Any, *x: Any) -> Any:
            return weight * _integral(x, exponents, place, power)

        return slope

    doc = f"Carlson's symmetric integral R_{name[-1].upper()}"
    stated(name, *map(partial, range(len(exponents))), doc=doc)


_symmetric("elliprc", (0.5, 1.0), -0.5)
_symmetric("elliprf", (0.5, 0.5, 0.5), -0.5)
_symmetric("elliprd", (0.5, 0.5, 1.5), -1.5)
_symmetric("elliprj", (0.5, 0.5, 0.5, 1.0), -1.5)
_symmetric("elliprg", (0.5, 0.5, 0.5), 0.125, power=1)

# -- Legendre's integrals and Jacobi's functions ---------------------------------------------------------


def _incomplete(phi: Any, m: Any, kind: str) -> Any:
    """Return ``int_0^phi sin^2 / D^3`` (kind "f"), or of ``sin^2 / D``, with ``D^2 = 1 - m sin^2``.

    Whole turns of pi are those of the complete integrals.
    """
    phi, m = 1.0 * phi, 1.0 * m
    turns = floor(phi / math.pi + 0.5)
    s, c = sin(phi - turns * math.pi), cos(phi - turns * math.pi)
    square = 1.0 - m * s * s
    place = 1 if kind == "f" else 2
    inner = 0.5 * s**3 * _integral((c * c, square, 0.0 * square + 1.0), (0.5, 0.5, 0.5), place)
    has_turns = logical_not(equal(turns, 0.0))  # which may be a bool of Python's
    m = where(has_turns, m, 0.5)
    whole = 4.0 * turns * (ellipk_slope(m) if kind == "f" else -ellipe_slope(m))
    return where(equal(s, 0.0), 0.0, inner) + where(has_turns, whole, 0.0)


def _delta(phi: Any, m: Any) -> Any:
    return sqrt(1.0 - m * sin(phi) ** 2)


def complement_slope(out: Any, p: Any) -> Any:
    """Return the derivative of K(1 - p), also for a small p."""
    is_small = less(p, 0.5)
    q = where(is_small, p, 0.25)
    near = (out - ellipe(1.0 - q) / q) / (2.0 * (1.0 - q))
    return where(is_small, near, -ellipk_slope(1.0 - where(is_small, 0.75, p)))


_ON = ((0.5, 3.0), (-0.8, 0.8))
stated(
    "ellipkinc",
    lambda out, phi, m: 1.0 / _delta(phi, m),
    lambda out, phi, m: 0.5 * _incomplete(phi, m, "f"),
    doc="the incomplete elliptic integral of the first kind F(phi, m)",
    domain=_ON,
)
stated(
    "ellipeinc",
    lambda out, phi, m: _delta(phi, m),
    lambda out, phi, m: -0.5 * _incomplete(phi, m, "e"),
    doc="the incomplete elliptic integral of the second kind E(phi, m)",
    domain=_ON,
)
_doc = "the complete elliptic integral of the first kind K(1 - p)"
stated("ellipkm1", complement_slope, doc=_doc, domain=(0.1, 1.8), singular=[(0.0,)])


def _jacobi(part: int, by_u: Any, by_amplitude: Any, more: Any = None) -> Any:
    """State a part of Jacobi's functions by its derivatives in u, the amplitude and m, of (sn, cn, dn, m)."""

    def parts(u: Any, m: Any) -> tuple[Any, ...]:
        return (*(function(u, m) for function in _jacobis[:3]), 1.0 * m)

    def in_m(out: Any, u: Any, m: Any) -> Any:
        values = parts(u, m)
        turned = -0.5 * values[2] * _incomplete(_jacobis[3](u, m), m, "f")  # the amplitude, of a fixed u
        return by_amplitude(*values) * turned + (more(*values) if more else 0.0)

    doc, domain = "a part of Jacobi's elliptic functions", ((0.5, 1.3), (0.1, 0.9))
    slopes = (lambda out, u, m: by_u(*parts(u, m))), in_m  # pyright: ignore[reportUnknownVariableType]
    return stated(f"ellipj_{part}", *slopes, doc=doc, of="ellipj", part=part, domain=domain)


_jacobis: list[Any] = []
_jacobis += [
    _jacobi(0, lambda s, c, d, m: c * d, lambda s, c, d, m: c),
    _jacobi(1, lambda s, c, d, m: -s * d, lambda s, c, d, m: -s),
    _jacobi(
        2,
        lambda s, c, d, m: -m * s * c,
        lambda s, c, d, m: -m * s * c / d,
        lambda s, c, d, m: -0.5 * s * s / d,
    ),
    _jacobi(3, lambda s, c, d, m: d, lambda s, c, d, m: 1.0),
]
BY_NAME["ellipj"] = lambda u, m: tuple(function(u, m) for function in _jacobis)

# -- Kelvin's and other functions ------------------------------------------------------------------------


def _series_over(x: Any, value: Any, odd: int) -> Any:
    """Return ``ber'(x) / x``, or ``bei'(x) / x`` (odd = 1), up to 1 by the power series, for exact derivatives."""
    is_near = less(size_to_compare(x), 1.0)
    near, away = where(is_near, x, 0.0), where(is_near, 1.0, x)
    square = near * near
    fourth, series = square * square, 0.0
    for k in range(7, -odd, -1):
        degree = 4 * k + 2 * odd
        series = series * fourth + (-1) ** k * degree / (2.0**degree * math.factorial(degree // 2) ** 2)
    return where(is_near, series if odd else series * square, value / away)


def _over(x: Any, value: Any, odd: int) -> Any:
    """Return a value over x, -inf at 0."""
    is_zero = equal(x, 0.0)
    return where(is_zero, -math.inf, value / where(is_zero, 1.0, x))


def _kelvin(first: str, second: str, over: Any, singular: Sequence[Sequence[Point]]) -> None:
    """State a pair of functions, real and imaginary part of w with ``w'' = i w - w' / x``, and their derivatives.

    Args:
        first: the name of the real part.
        second: the name of the imaginary part.
        over: the quotient of a slope and x, of the real part (0) or the imaginary one (1).
        singular: for each function where its slope is not finite.
    """
    slopes = f"{first}p", f"{second}p"
    rules: dict[str, Any] = {
        first: lambda out, x: BY_NAME[slopes[0]](x),
        second: lambda out, x: BY_NAME[slopes[1]](x),
        slopes[0]: lambda out, x: -BY_NAME[second](x) - over(x, out, 0),
        slopes[1]: lambda out, x: BY_NAME[first](x) - over(x, out, 1),
    }
    for (name, rule), points in zip(rules.items(), singular, strict=True):
        stated(name, rule, doc=f"Kelvin's function {name}", singular=points)


_kelvin("ber", "bei", _series_over, [()] * 4)
_kelvin("ker", "kei", _over, [[(0.0,)], [(-1.0,)], [(0.0,)], [(0.0,)]])


def _reciprocal_slope(out: Any, x: Any) -> Any:
    """Return the derivative of 1 / gamma, left of 1/2 by reflection: it is finite at the poles of gamma."""
    is_left = less(x, 0.5)
    left, right = where(is_left, x, 0.0), where(is_left, 1.0, 1.0 * x)
    factor, angle = exp(lgamma(1.0 - left)), math.pi * (left - 2.0 * floor(0.5 * left))
    mirrored = factor * (cos(angle) - digamma(1.0 - left) * sin(angle) / math.pi)
    return where(is_left, mirrored, where(isfinite(right), -out * digamma(right), 0.0))


def log_over(z: Any, is_near: Any) -> Any:
    """Return ``log(z) / (1 - z)``, near 1 by the power series, whose derivatives are exact there."""
    w, series = where(is_near, z, 1.0) - 1.0, 0.0
    for k in range(24, 0, -1):
        series = series * -w - 1.0 / k
    away = where(is_near, 2.0, z)
    return where(is_near, series, log(away) / (1.0 - away))


def _dilogarithm_slope(out: Any, z: Any) -> Any:
    return log_over(z, less(size_to_compare(z - 1.0), 0.1))


stated("rgamma", _reciprocal_slope, doc="1 / gamma(x)")
stated(
    "gammasgn",
    lambda out, x: where(equal(x, x), 0.0, x),
    doc="the sign of the gamma function",
    kinks=[(0.0,)],
)
stated("spence", _dilogarithm_slope, doc="the dilogarithm int_1^z log t / (1 - t) dt", singular=[(0.0,)])
stated("wrightomega", lambda out, x: out / (1.0 + out), doc="Wright's omega, the solution of w + ln w = x")
