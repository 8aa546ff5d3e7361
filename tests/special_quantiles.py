"""References in mpmath for the quantiles of the distributions of incomplete gamma and beta functions.

A point is known by the logarithm of what it is to the end of its support, where the density is log-concave. So Newton's
method on the logarithm of the smaller tail converges from everywhere, and no digit is lost near an end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath

mp: Any = mpmath
Function = Callable[..., Any]
#: The relative step of differences.
_STEP = mp.mpf(2) ** -70
#: The first level of the double exponential formula has 2^-4 as its step.
_FIRST = 4


@functools.cache
def _nodes(precision: int, level: int) -> list[tuple[Any, Any]]:
    """Return the nodes and weights that a level adds to the double exponential formula for exponential decay."""
    step = mp.mpf(1) / 2**level
    end = int(mp.ceil((mp.log(precision) + 1) / step))
    added = [n * step for n in range(-end, end + 1) if level == _FIRST or n % 2]
    return [(w, w * (1 + mp.exp(-y))) for y in added for w in (mp.exp(y - mp.exp(-y)),)]


def _integral(energy: Function, slope: Any, curvature: Any) -> Any:
    """Return the integral of ``exp(-energy(w))`` over w > 0, for a convex energy with these derivatives at 0."""
    scale = 2 / (slope + mp.sqrt(slope * slope + 2 * curvature))
    total, last = mp.mpf(0), None
    for level in range(_FIRST, 12):
        total += sum(weight * mp.exp(-energy(scale * node)) for node, weight in _nodes(mp.mp.prec, level))
        value = total / 2**level
        if last is not None and abs(value - last) <= mp.sqrt(mp.eps) * value * mp.mpf(2) ** -10:
            return scale * value  # each level doubles the digits
        last = value
    raise mp.libmp.NoConvergence


def _series(first: Any, ratio: Function) -> Any:
    total, term, n = first, first, 0
    while abs(term) > mp.eps * abs(total):
        term *= ratio(n)
        total += term
        n += 1
    return total


def _expm1(w: Any) -> Any:
    return mp.expm1(w) if abs(w) < 1e-3 else mp.exp(w) - 1


def gamma_tails(u: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return the probabilities below and above ``x = e^u``, and the density of u."""
    x = mp.exp(u)
    density = mp.exp(a * u - x - mp.loggamma(a))
    if x < 1:
        below = density * _series(1 / a, lambda n: x / (a + n + 1))
    elif x < a:
        below = density * _integral(lambda w: a * w + x * _expm1(-w), a - x, x)
    else:
        above = density * _integral(lambda w: x * _expm1(w) - a * w, x - a, x)
        return 1 - above, above, density
    return below, 1 - below, density


def _beta_below(a: Any, b: Any, x: Any, y: Any, density: Any) -> Any:
    if x < 0.6 and b * x < 1:
        # x^a sum_n (1 - b)_n x^n / (n! (a + n))
        total, power, n = 1 / a, mp.mpf(1), 0
        while n < 3 or abs(power) > mp.eps * total:
            power *= (n + 1 - b) * x / (n + 1)
            n += 1
            total += power / (a + n)
            if not power:
                break
        return density * total / mp.power(y, b)
    return density * _integral(
        lambda w: a * w + (a + b) * mp.log(y + x * mp.exp(-w)), a * y - b * x, (a + b) * x * y
    )


def beta_tails(u: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Return the probabilities below and above ``x = 1 / (1 + e^-u)``, and the density of u."""
    x, y = 1 / (1 + mp.exp(-u)), 1 / (1 + mp.exp(u))
    size = a * mp.log(x) + b * mp.log(y)
    density = mp.exp(size + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b))
    is_left = (x < 0.6 and b * x < 1) or (x < a / (a + b) and not (y < 0.6 and a * y < 1))
    tail = _beta_below(a, b, x, y, density) if is_left else _beta_below(b, a, y, x, density)
    return (tail, 1 - tail, density) if is_left else (1 - tail, tail, density)


def _both(p: Any, q: Any) -> tuple[Any, Any]:
    return p, q


class Law(NamedTuple):
    """A distribution: where a point lies on a scale on which another distribution is known."""

    tails: Function
    """The probabilities below and above u, and the density, of u and the other distribution's shapes."""
    shapes: Function
    """These shapes, of the parameters."""
    start: Function
    """A number u in the middle or beyond the solution, of the probability above and these shapes."""
    point: Function
    """The point of u and the parameters."""
    tail: Function = _both
    """The probabilities below and above u, of those of the point."""


def _newton(law: Law, shape: Any, p: Any, q: Any, u: Any) -> Any:
    """Return u by Newton's method; the last step leaves the square of 1e-17."""
    for _ in range(200):
        below, above, density = _tails(law, mp.mp.prec, u, *shape)
        step = below / density * mp.log(p / below) if p < q else above / density * mp.log(above / q)
        u += step
        if abs(step) <= mp.mpf(10) ** -17 * min(1, below / density, above / density):
            return u
    raise mp.libmp.NoConvergence


@functools.lru_cache(64)
def _tails(law: Law, precision: int, *numbers: Any) -> tuple[Any, Any, Any]:
    return law.tails(*numbers)


@functools.lru_cache(64)
def _near(law: Law, shape: tuple[float, ...], p: float, q: float) -> Any:
    with mp.workdps(40):
        numbers = [mp.mpf(number) for number in shape]
        return _newton(law, numbers, mp.mpf(p), mp.mpf(q), law.start(mp.mpf(q), *numbers))


@functools.lru_cache(64)
def _solved(law: Law, precision: int, p: Any, q: Any, *parameters: Any) -> Any:
    if not (p > 0 and q > 0):
        raise ValueError
    below, above = law.tail(p, q)
    shape = law.shapes(*parameters)
    return _newton(law, shape, below, above, _near(law, tuple(map(float, shape)), float(below), float(above)))


def quantile(law: Law) -> Function:
    """Return the quantile, a function of the probabilities below and above, and of the parameters."""

    def exact(p: Any, q: Any, *parameters: Any) -> Any:
        return law.point(_solved(law, mp.mp.prec, p, q, *parameters), p < q, *parameters)

    return exact


def slopes(law: Law, sign: int) -> Function:
    """Return the derivatives of ``ppf`` (sign 1) or ``isf`` (-1) by the theorem of implicit functions."""

    def partial(position: int, *x: Any) -> Any:
        p, q = (x[0], 1 - x[0]) if sign > 0 else (1 - x[0], x[0])
        parameters = list(x[1:])
        u = _solved(law, mp.mp.prec, p, q, *parameters)
        density = _tails(law, mp.mp.prec, u, *law.shapes(*parameters))[2]
        is_left = p < q
        by_u = _difference(lambda v: law.point(v, is_left, *parameters), u)
        if position == 0:
            outer = _difference(lambda p: law.tail(p, 1 - p)[0], p if is_left else 1 - q)
            return sign * outer * by_u / density

        def moved(function: Function) -> Any:
            def at(number: Any) -> Any:
                return function(*parameters[: position - 1], number, *parameters[position:])

            return _difference(at, parameters[position - 1])

        # The smaller tail has the digits.
        tail, direction = (0, 1) if law.tail(p, q)[0] < law.tail(p, q)[1] else (1, -1)
        by_shape = direction * moved(lambda *parameters: law.tails(u, *law.shapes(*parameters))[tail])
        direct = moved(lambda *parameters: law.point(u, is_left, *parameters))
        return direct - by_u * by_shape / density

    return partial


def _difference(function: Function, x: Any) -> Any:
    step = _STEP * (abs(x) or 1)
    return (function(x + step) - function(x - step)) / (2 * step)


def smaller_tail(tails: Function, side: int) -> Function:
    """Return the derivatives of the probability of a side, from the smaller tail, which has the digits."""

    def partial(position: int, *x: Any) -> Any:
        below, above, *_ = tails(*x)
        tail = 0 if below < above else 1
        by_operand = _difference(lambda v: tails(*x[:position], v, *x[position + 1 :])[tail], x[position])
        return by_operand if tail == side else -by_operand

    return partial


def _logistic(u: Any, is_left: bool, *shape: Any) -> Any:
    return 1 / (1 + mp.exp(-u))


def _beta_start(q: Any, a: Any, b: Any) -> Any:
    return mp.log(a / b)


def _gamma_start(q: Any, a: Any) -> Any:
    """Return a bound of the upper quantile (Laurent and Massart, 2000), at which the tail falls as fast as e^x."""
    return mp.log(a + mp.sqrt(-2 * a * mp.log(q)) - mp.log(q)) if q < 0.5 else mp.log(a)


LAWS = {
    "gamma": Law(gamma_tails, lambda a: (a,), _gamma_start, lambda u, is_left, a: mp.exp(u)),
    "chi2": Law(gamma_tails, lambda df: (df / 2,), _gamma_start, lambda u, is_left, df: 2 * mp.exp(u)),
    "beta": Law(beta_tails, lambda a, b: (a, b), _beta_start, _logistic),
    "f": Law(
        beta_tails, lambda n, m: (n / 2, m / 2), _beta_start, lambda u, is_left, n, m: m / n * mp.exp(u)
    ),
    "t": Law(  # df / (df + t^2) has a distribution of beta
        beta_tails,
        lambda df: (df / 2, mp.mpf(1) / 2),
        _beta_start,
        lambda u, is_left, df: (-1 if is_left else 1) * mp.sqrt(df) * mp.exp(-u / 2),
        lambda p, q: (2 * min(p, q), abs(p - q)),
    ),
}
