"""Compute the tables of wengert/kernels/tables.json and print that file (needs mpmath).

    python tools/special_tables.py > src/wengert/engine/kernels/tables.json

Every polynomial interpolates a smooth function at Chebyshev nodes, in 60 digits, and has the lowest degree that
is exact to 2^-57 of the function. Its variable keeps singularities away: seen through q = (x - c) / (x + c), a
function that is singular on x <= 0 only is smooth on a range [a, b] even if b is many times a, and c = sqrt(ab)
makes the range symmetric in q.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp

Function = Callable[[Any], Any]

TOLERANCE = 2.0**-57
CHECKS = 300


def fit(function: Function, low: Any, high: Any) -> list[float]:
    """Return the coefficients of a polynomial that equals ``function`` on [low, high] to double precision."""
    low, high = mp.mpf(low), mp.mpf(high)
    truth = {x: function(x) for x in (low + (high - low) * (k + 0.5) / CHECKS for k in range(CHECKS))}
    for count in range(2, 50):
        exponents = range(count)
        nodes = [(low + high + (high - low) * mp.cospi((k + 0.5) / mp.mpf(count))) / 2 for k in exponents]
        vandermonde = mp.matrix([[x**k for k in exponents] for x in nodes])
        powers = mp.lu_solve(vandermonde, [function(x) for x in nodes])
        if all(abs(mp.fdot(powers, [x**k for k in exponents]) / y - 1) < TOLERANCE for x, y in truth.items()):
            return [float(power) for power in powers]
    raise ValueError("no low degree is enough: split the range")


def fit_ratio(function: Function, centre: Any, low: Any, high: Any) -> list[float]:
    """Fit in the variable q = (x - centre) / (x + centre), for x in [low, high]."""
    low, high = ((x - centre) / (x + centre) for x in (low, high))
    return fit(lambda q: function(centre * (1 + q) / (1 - q)), low, high)


def erf_rest(square: Any) -> Any:
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
    root = mp.sqrt(w)
    for _ in range(8):
        tail, wanted = mp.erfc(root), mp.exp(-w) / (1 + x)
        root += mp.log(tail / wanted) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(root * root)
    return root / x


def lgamma_ratio(x: Any) -> Any:
    """Return ln Gamma(x) / ((x - 1) (x - 2))."""
    return mp.loggamma(x) / ((x - 1) * (x - 2))


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


def bernoulli(divisor: Function) -> list[float]:
    """Return the Bernoulli numbers B[2k] over ``divisor(2k)``, for k from 1 to 7."""
    return [float(mp.bernoulli(n) / divisor(n)) for n in range(2, 16, 2)]


def tables() -> Iterator[tuple[str, str, list[float]]]:
    """Yield the name, the meaning and the coefficients of each table."""
    low, high, q = mp.sqrt(1.25), mp.sqrt(31.25), "(x - c) / (x + c)"
    lgamma, digamma = "ln Gamma(x) / ((x - 1) (x - 2))", "digamma(x) / (x - x0)"
    near, mid = f"on [0.5, 2.5], in {q} with c^2 = 1.25", f"on [2.5, 12.5], in {q} with c^2 = 31.25"
    erfc = f"exp(x^2) erfc(x) (x + 1/2) on [0.5, 28], in {q} with c = 3"
    erfinv = "erfinv(x) / x for w = -ln(1 - x^2) <= 6, in w - 3"
    tail = "erfinv(x) / (x s) for s = sqrt(w) in [2.4, 6.1], in (s - 4) / (s + 4)"
    yield "ERF", "erf(x) / x - 1 for |x| <= 1, in x^2", fit(erf_rest, 0, 1)
    yield "ERFC", erfc, fit_ratio(erfc_scaled, 3, 0.5, 28)
    yield "ERFINV", erfinv, fit(lambda shifted: erfinv_ratio(shifted + 3), -3, 3)
    yield "ERFINV_TAIL", tail, fit_ratio(lambda s: erfinv_ratio(s * s) / s, 4, 2.4, 6.1)
    yield "LGAMMA", f"{lgamma} {near}", fit_ratio(lgamma_ratio, low, 0.5, 2.5)
    yield "LGAMMA_MID", f"{lgamma} {mid}", fit_ratio(lgamma_ratio, high, 2.5, 12.5)
    yield "LGAMMA_TAIL", "Stirling's series of ln Gamma, in 1 / x^2", bernoulli(lambda n: n * (n - 1))
    yield "DIGAMMA", f"{digamma} {near}", fit_ratio(digamma_ratio, low, 0.5, 2.5)
    yield "DIGAMMA_MID", f"digamma(x) {mid}", fit_ratio(mp.digamma, high, 2.5, 12.5)
    yield "DIGAMMA_TAIL", "Stirling's series of -digamma, in 1 / x^2", bernoulli(lambda n: n)
    root = digamma_root()
    yield (
        "DIGAMMA_ROOT",
        "The positive zero x0 of digamma, as a sum",
        [float(root), float(root - float(root))],
    )
    yield "COTANGENT", "(1 / r - pi cot(pi r)) / r for |r| <= 1/2, in r^2", fit(cotangent_rest, 0, 0.25)


def main() -> None:
    """Print the file, one table a line."""
    mp.mp.dps = 60
    entries = ((name, {"meaning": meaning, "numbers": numbers}) for name, meaning, numbers in tables())
    print("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries) + "\n}")


if __name__ == "__main__":
    main()
