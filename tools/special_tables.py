"""Compute the tables of wengert/kernels/tables.py and print that file (needs mpmath).

    python tools/special_tables.py > src/wengert/kernels/tables.py

Every table is the Chebyshev interpolant of a smooth function, found in 60 digits, of the lowest degree that
is exact to 2^-57 of the function, and rewritten in powers of its variable. The variables keep singularities
away: seen through q = (x - c) / (x + c), a function that is singular on x <= 0 only is smooth on a range
[a, b] even if b is many times a, and c = sqrt(ab) centres that range at q = 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp

Function = Callable[[Any], Any]

HEADER = '''\
"""Polynomials of the special functions, lowest power first. Printed by tools/special_tables.py: do not edit."""

from __future__ import annotations
'''
LAST_DEGREE = 48
TOLERANCE = mp.mpf(2) ** -57


def chebyshev(function: Function, low: Any, high: Any) -> list[Any]:
    """Return Chebyshev coefficients on [low, high], cut where the rest no longer matters."""
    count = LAST_DEGREE + 1
    angles = [mp.pi * (2 * j + 1) / (2 * count) for j in range(count)]
    values = [function((low + high) / 2 + (high - low) / 2 * mp.cos(angle)) for angle in angles]
    coefficients = [
        mp.fsum(value * mp.cos(k * angle) for value, angle in zip(values, angles, strict=True)) * 2 / count
        for k in range(count)
    ]
    coefficients[0] /= 2
    smallest = min(map(abs, values))
    for degree in range(LAST_DEGREE):
        if mp.fsum(map(abs, coefficients[degree + 1 :])) < TOLERANCE * smallest:
            return coefficients[: degree + 1]
    raise ValueError(f"no degree below {LAST_DEGREE} is enough; split the range")


def times(polynomial: list[Any], slope: Any, constant: Any) -> list[Any]:
    """Multiply by ``slope * x + constant``."""
    return [constant * here + slope * below for here, below in zip([*polynomial, 0], [0, *polynomial], strict=True)]


def powers(coefficients: list[Any], low: Any, high: Any) -> list[Any]:
    """Rewrite a Chebyshev series on [low, high] in powers, by T[k+1] = 2 t T[k] - T[k-1]."""
    slope, constant = 2 / (high - low), -(high + low) / (high - low)
    previous, current = [mp.mpf(1)], [constant, slope]
    total = [mp.mpf(0)] * len(coefficients)
    for coefficient in coefficients:
        total = [
            old + coefficient * new
            for old, new in zip(total, previous + [mp.mpf(0)] * len(coefficients), strict=False)
        ]
        doubled = times(current, 2 * slope, 2 * constant)
        following = [new - old for new, old in zip(doubled, previous + [mp.mpf(0)] * len(doubled), strict=False)]
        previous, current = current, following
    return total


def fit(function: Function, low: Any, high: Any) -> list[float]:
    """Return the powers of a polynomial that equals ``function`` on [low, high] to double precision."""
    low, high = mp.mpf(low), mp.mpf(high)
    return [float(coefficient) for coefficient in powers(chebyshev(function, low, high), low, high)]


def fit_ratio(function: Function, centre: Any, low: Any, high: Any) -> list[float]:
    """Fit in the variable q = (x - centre) / (x + centre), for x in [low, high]."""
    low, high = ((mp.mpf(x) - centre) / (mp.mpf(x) + centre) for x in (low, high))
    return fit(lambda q: function(centre * (1 + q) / (1 - q)), low, high)


def erf_ratio(square: Any) -> Any:
    """Return erf(x) / x - 1 for x**2."""
    x = mp.sqrt(square)
    return mp.erf(x) / x - 1


def erfc_scaled(x: Any) -> Any:
    """Return exp(x**2) erfc(x) (x + 1/2), which is nearly constant."""
    return mp.exp(x * x) * mp.erfc(x) * (x + 0.5)


def erfinv_ratio(w: Any) -> Any:
    """Return erfinv(x) / x for w = -ln(1 - x**2), by Newton's iteration on ln erfc for x near 1."""
    x = mp.sqrt(-mp.expm1(-w))
    if w < 2:
        return mp.erfinv(x) / x
    rest = mp.exp(-w) / (1 + x)
    root = mp.sqrt(w)
    for _ in range(8):
        tail = mp.erfc(root)
        root += mp.log(tail / rest) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(root * root)
    return root / x


def lgamma_ratio(x: Any) -> Any:
    """Return ln Gamma(x) / ((x - 1) (x - 2))."""
    return mp.loggamma(x) / ((x - 1) * (x - 2))


@functools.cache
def digamma_root() -> Any:
    """Return the positive zero of digamma."""
    return mp.findroot(mp.digamma, 1.46)


def digamma_ratio(x: Any) -> Any:
    """Return digamma(x) / (x - x0), where x0 is the positive zero."""
    return mp.digamma(x) / (x - digamma_root())


def cotangent_rest(square: Any) -> Any:
    """Return (1 / r - pi cot(pi r)) / r for r**2."""
    r = mp.sqrt(square)
    return (1 / r - mp.pi * mp.cot(mp.pi * r)) / r


def stirling(power: int) -> list[float]:
    """Return the asymptotic series of ln Gamma (power 1) or of -digamma (power 0) in 1 / x**2."""
    return [float(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1) ** power)) for k in range(1, 8)]


def tables() -> Iterator[tuple[str, str, list[float]]]:
    """Yield the name, the meaning and the coefficients of each table."""
    low, high = mp.sqrt(1.25), mp.sqrt(31.25)
    yield "ERF", "erf(x) / x - 1 for |x| <= 1, in x^2", fit(erf_ratio, 0, 1)
    yield "ERFC", "exp(x^2) erfc(x) (x + 1/2) on [0.5, 28], in (x - 3) / (x + 3)", fit_ratio(erfc_scaled, 3, 0.5, 28)
    yield "ERFINV", "erfinv(x) / x for w = -ln(1 - x^2) <= 6, in w - 3", fit(lambda v: erfinv_ratio(v + 3), -3, 3)
    yield (
        "ERFINV_TAIL",
        "erfinv(x) / (x s) for s = sqrt(w) in [2.4, 6.1], in (s - 4) / (s + 4)",
        fit_ratio(lambda s: erfinv_ratio(s * s) / s, 4, 2.4, 6.1),
    )
    for name, meaning, ratio in (
        ("LGAMMA", "ln Gamma(x) / ((x - 1) (x - 2))", lgamma_ratio),
        ("DIGAMMA", "digamma(x) / (x - x0)", digamma_ratio),
    ):
        yield name, f"{meaning} on [0.5, 2.5], in (x - c) / (x + c) with c^2 = 1.25", fit_ratio(ratio, low, 0.5, 2.5)
        yield (
            f"{name}_MID",
            f"{meaning} on [2.5, 12.5], in (x - c) / (x + c) with c^2 = 31.25",
            fit_ratio(ratio, high, 2.5, 12.5),
        )
    yield "COTANGENT", "(1 / r - pi cot(pi r)) / r for |r| <= 1/2, in r^2", fit(cotangent_rest, 0, 0.25)
    yield "LGAMMA_TAIL", "Stirling's series of ln Gamma: B[2k] / (2k (2k - 1)), in 1 / x^2", stirling(1)
    yield "DIGAMMA_TAIL", "Stirling's series of -digamma: B[2k] / 2k, in 1 / x^2", stirling(0)


def main() -> None:
    mp.mp.dps = 60
    print(HEADER)
    for name, meaning, coefficients in tables():
        print(f"#: {meaning}\n{name} = (", *(f"    {coefficient!r}," for coefficient in coefficients), ")\n", sep="\n")
    root = digamma_root()
    print(f"#: The positive zero of digamma, as the sum of two doubles\nDIGAMMA_ROOT = ({float(root)!r}, {float(root - float(root))!r})")


if __name__ == "__main__":
    main()
