"""Compute the tables of wengert/engine/kernels/tables.json and print that file (needs mpmath).

    python tools/elementary_coefficients.py > src/wengert/engine/kernels/tables.json

Every polynomial is minimax; see tools/minimax.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import mpmath as mp
from minimax import Function, fit, rounded, value


def split(number: Any, *bits: int, last: int = 53) -> list[float]:
    """Return parts of the given numbers of bits, and a last one, whose sum is the number."""
    rest, parts = mp.mpf(number), []
    for width in bits:
        unit = mp.mpf(2) ** (mp.floor(mp.log(abs(rest), 2)) + 1 - width)
        part = mp.nint(rest / unit) * unit
        parts.append(float(part))
        rest -= part
    return [*parts, float(rounded(rest, last))]


def words(number: Any, count: int) -> list[int]:
    """Return the first bits of a fraction as 64-bit words, after one word of zeros."""
    with mp.workprec(64 * count + 64):
        scaled = int(mp.floor(number() * mp.mpf(2) ** (64 * count)))
    return [0, *((scaled >> (64 * (count - 1 - i))) & (2**64 - 1) for i in range(count))]


# -- the functions: each returns the part that a polynomial approximates ------------------------------------------


def series(terms: Callable[[int], Any], start: int = 0, count: int = 60) -> Function:
    """Return a function by its power series, for arguments where a closed form would cancel."""
    coefficients = [terms(k) for k in range(start, start + count)]
    return lambda t: value(coefficients, t)


def odd_rest(function: Function) -> Function:
    """(function(x) - x) / x**3 as a function of x**2."""

    def rest(z: Any) -> Any:
        x = mp.sqrt(z)
        return (function(x) - x) / (x * z)

    return rest


def erfc_scaled(q: Any) -> Any:
    """exp(x**2) erfc(x) (x + 3) for x = 3 (1 + q) / (1 - q)."""
    x = 3 * (1 + q) / (1 - q)
    return mp.exp(x * x) * mp.erfc(x) * (x + 3)


def erfc_flat(q: Any) -> Any:
    """exp(x**2) erfc(x) (x + 1/2) - 39 / 64 for x = 3 (1 + q) / (1 - q): small, and so are its errors."""
    x = 3 * (1 + q) / (1 - q)
    return mp.exp(x * x) * mp.erfc(x) * (x + 0.5) - mp.mpf(39) / 64


def erfinv_near(w: Any) -> Any:
    """Return arerf y / y - 23 / 16 for w + 3 = -log(1 - y**2)."""
    y = mp.sqrt(-mp.expm1(-(w + 3)))
    return (mp.erfinv(y) / y if y else mp.sqrt(mp.pi) / 2) - mp.mpf(23) / 16


def erfinv_tail(r: Any) -> Any:
    """Return arerf y / r for r + 4.2 = sqrt(-log(1 - y**2))."""
    root = r + mp.mpf(4.2)
    return mp.erfinv(mp.sqrt(-mp.expm1(-root * root))) / root


NEAR, MID = mp.sqrt(1.25), mp.sqrt(31.25)  # the centres of [0.5, 2.5] and [2.5, 12.5]


def ratio_range(centre: Any) -> tuple[Any, Any]:
    """Return the range of q = (x - centre) / (x + centre) for the range of x about a centre."""
    edge = (mp.sqrt(5) - 1) / (mp.sqrt(5) + 1) * mp.mpf(1.0001)
    return -edge, edge


def lgamma_quotient(q: Any, centre: Any) -> Any:
    """Return log Gamma(x) / ((x - 1) (x - 2)) for x = centre (1 + q) / (1 - q)."""
    x = centre * (1 + q) / (1 - q)
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def stirling(z: Any) -> Any:
    """The remainder of Stirling's formula times x, for z = 1 / x**2."""
    if z < mp.mpf(10) ** -12:
        return mp.mpf(1) / 12 - z / 360 + z * z / 1260
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def digamma_quotient(q: Any) -> Any:
    """Return digamma over x - x0, its zero, for x = NEAR (1 + q) / (1 - q)."""
    x = NEAR * (1 + q) / (1 - q)
    return mp.digamma(x) / (x - DIGAMMA_ROOT)


def digamma_rest(z: Any) -> Any:
    """The remainder of log x - 1 / (2 x) - digamma x times x**2, for z = 1 / x**2."""
    x = 1 / mp.sqrt(z)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z


DIGAMMA_ROOT = mp.findroot(mp.digamma, 1.4616)


def exponential_rest() -> Function:
    """(exp r - 1 - r) / r**2."""
    return series(lambda k: 1 / mp.factorial(k), 2)


def polynomials() -> dict[str, tuple[Function, Function, Any, Any, tuple[int, ...]]]:
    """Return for each table the function, the weight of its error, the interval and the precisions."""
    half = mp.log(2) / 2 * mp.mpf(1.0001)
    quarter = mp.pi / 4 * mp.mpf(1.0001)
    low, high = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1
    ratio = (high / (2 + high)) ** 2 * mp.mpf(1.001)
    every = (24, 36, 53)
    return {
        # exp r = 1 + r + r^2 EXP(r)
        "EXP": (exponential_rest(), abs, -half, half, every),
        # the same where exp r itself is wanted, and not how far it is from 1
        "EXP_SHORT": (exponential_rest(), lambda r: r * r * mp.exp(-r), -half, half, {24: -28.0}),
        # exp r = 1 + r + r^2 EXP_SIXTEENTHS(r) for |r| <= log 2 / 32, and EXP_EIGHTHS for |r| <= log 2 / 16
        "EXP_SIXTEENTHS": (exponential_rest(), lambda r: r * r, -half / 16, half / 16, (24,)),
        "EXP_EIGHTHS": (exponential_rest(), lambda r: r * r, -half / 8, half / 8, {36: -36.0, 53: -57.0}),
        # log (1 + f) = f - f^2 / 2 + f^3 LOG(f)
        "LOG": (
            lambda f: (mp.log(1 + f) - f + f * f / 2) / f**3,
            lambda f: f**3 / mp.log(1 + f),
            low,
            high,
            (24,),
        ),
        # 2 artanh s = 2 s + s ARTANH(s^2) s^2
        "ARTANH": (
            series(lambda k: mp.mpf(2) / (2 * k + 3)),
            lambda z: z / 2,
            0,
            ratio,
            (36, 53),
        ),
        # erf x = x + x ERF(x^2), |x| < 1
        "ERF": (
            series(
                lambda k: 2 / mp.sqrt(mp.pi) * mp.mpf(-1) ** k / (mp.factorial(k) * (2 * k + 1)) - (k == 0)
            ),
            lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)) if z else mp.sqrt(mp.pi) / 2,
            0,
            1,
            (24, 53),
        ),
        # erf x = 1 - exp(-x ERF_TAIL(x)), 1 <= x < 4
        "ERF_TAIL": (lambda x: -mp.log(mp.erfc(x)) / x, lambda x: x * mp.erfc(x), 1, mp.mpf(3.95), (24,)),
        # exp(x^2) erfc(x) (x + 3) = ERFC_NEAR(q), q = (x - 3) / (x + 3), 1 <= x < 6, for erf only
        "ERFC_NEAR": (erfc_scaled, lambda q: mp.erfc(3 * (1 + q) / (1 - q)), -0.5, mp.mpf(1) / 3, (53,)),
        # exp(x^2) erfc(x) (x + 1/2) = 39 / 64 + ERFC(q), for erfc
        "ERFC": (erfc_flat, lambda q: 2, mp.mpf(-2.3) / 3.7, mp.mpf(24.5) / 30.5, (53,)),
        "ERFC_SINGLE": (erfc_flat, lambda q: 2, mp.mpf(-2.3) / 3.7, mp.mpf(7.5) / 13.5, (36,)),
        # arctan x = x + x^3 ARCTAN(x^2), |x| <= 35 / 64
        "ARCTAN": (
            series(lambda k: mp.mpf(-1) ** (k + 1) / (2 * k + 3), count=130),
            lambda z: z,
            0,
            mp.mpf(0.2993),
            every,
        ),
        # arcsin x = x + x^3 ARCSIN(x^2), |x| <= 1/2
        "ARCSIN": (odd_rest(mp.asin), lambda z: z, mp.mpf(10) ** -9, mp.mpf(0.25), every),
        # exp r = 1 + r + r^2 EXP_UP(r) for 0 <= r < log 2
        "EXP_UP": (exponential_rest(), lambda r: r * r / mp.expm1(r), mp.mpf(-0.0001), 2 * half, every),
        # sinh x = x + x^3 SINH(x^2)
        "SINH": (
            series(lambda k: 1 / mp.factorial(2 * k + 3)),
            lambda z: z * mp.sqrt(z) / mp.sinh(mp.sqrt(z)),
            0,
            1,
            every,
        ),
        # arsinh x = x + x^3 ARSINH(x^2), 0 < x < 1/2
        "ARSINH": (
            odd_rest(mp.asinh),
            lambda z: z * mp.sqrt(z) / mp.asinh(mp.sqrt(z)),
            mp.mpf(10) ** -9,
            mp.mpf(0.25),
            every,
        ),
        "ARTANH_NEAR": (
            odd_rest(mp.atanh),
            lambda z: z * mp.sqrt(z) / mp.atanh(mp.sqrt(z)),
            mp.mpf(10) ** -9,
            mp.mpf(0.25),
            every,
        ),
        # 2 artanh s = 2 s + 2/3 s^3 + s^5 ARTANH_TAIL(s^2)
        "ARTANH_TAIL": (
            series(lambda k: mp.mpf(2) / (2 * k + 5)),
            lambda z: z * z / 2 * 2**10,
            0,
            ratio,
            (53,),
        ),
        # m^(-1/3) roughly
        "CBRT": (
            lambda m: m ** (-mp.mpf(1) / 3),
            lambda m: m ** (mp.mpf(1) / 3) * mp.mpf(2) ** -49,
            0.35,
            2.83,
            (53,),
        ),
        # arerf y = y (23 / 16 + ERFINV(w - 3)), w = -log(1 - y^2) < 6
        "ERFINV": (erfinv_near, lambda w: 1, -3, 3, (36, 53)),
        # arerf y = r ERFINV_TAIL(r - 4.2), r = sqrt w
        "ERFINV_TAIL": (
            erfinv_tail,
            lambda r: 1 / erfinv_tail(r),
            mp.sqrt(6) - mp.mpf(4.2),
            mp.mpf(6.01) - mp.mpf(4.2),
            (36, 53),
        ),
        # log Gamma(x) = (x - 1) (x - 2) (9 / 16 + LGAMMA(q)), q = (x - c) / (x + c), 1/2 <= x <= 5/2
        "LGAMMA": (
            lambda q: lgamma_quotient(q, NEAR) - mp.mpf(9) / 16,
            lambda q: 2,
            *ratio_range(NEAR),
            (36, 53),
        ),
        # log Gamma(x) = (x - 1) (x - 2) (17 / 64 + LGAMMA_MID(q)), 5/2 <= x <= 25/2
        "LGAMMA_MID": (
            lambda q: lgamma_quotient(q, MID) - mp.mpf(17) / 64,
            lambda q: 1 / lgamma_quotient(q, MID),
            *ratio_range(MID),
            (36, 53),
        ),
        # log Gamma(x) = (x - 1/2) (log x - 1) + log(2 pi) / 2 - 1/2 + LGAMMA_TAIL(1 / x^2) / x
        "LGAMMA_TAIL": (stirling, lambda z: 1, 0, mp.mpf(12.49) ** -2, (36, 53)),
        # digamma x = (x - x0) (9 / 8 + DIGAMMA(q)), 1/2 <= x <= 5/2
        "DIGAMMA": (
            lambda q: digamma_quotient(q) - mp.mpf(9) / 8,
            lambda q: 1 / digamma_quotient(q),
            *ratio_range(NEAR),
            (36, 53),
        ),
        # digamma x = 3 / 2 + DIGAMMA_MID(q), 5/2 <= x <= 25/2
        "DIGAMMA_MID": (
            lambda q: mp.digamma(MID * (1 + q) / (1 - q)) - mp.mpf(3) / 2,
            lambda q: 1 / mp.digamma(MID * (1 + q) / (1 - q)),
            *ratio_range(MID),
            (36, 53),
        ),
        # digamma x = log x - 1 / (2 x) - DIGAMMA_TAIL(1 / x^2) / x^2
        "DIGAMMA_TAIL": (digamma_rest, lambda z: z, mp.mpf(10) ** -8, mp.mpf(12.49) ** -2, (36, 53)),
        # pi cot(pi f) = 1 / f - f COTANGENT(f^2), |f| <= 1/2
        "COTANGENT": (
            series(lambda k: 2 * mp.zeta(2 * k + 2), count=130),
            lambda z: mp.mpf(0.3),
            0,
            mp.mpf(0.25),
            (36, 53),
        ),
        # sin(pi f) = f SINPI(f^2), |f| <= 1/2
        "SINPI": (
            series(lambda k: (-1) ** k * mp.pi ** (2 * k + 1) / mp.factorial(2 * k + 1)),
            lambda z: 1 / mp.sincpi(mp.sqrt(z)) / mp.pi,
            0,
            mp.mpf(0.25),
            (36, 53),
        ),
        # sin r = r + r^3 SIN(r^2)
        "SIN": (
            series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3)),
            lambda z: z / mp.sinc(mp.sqrt(z)),
            0,
            quarter**2,
            every,
        ),
        # sin r = r + r^3 SIN_WIDE(r^2), |r| <= pi / 2
        "SIN_WIDE": (
            series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3)),
            lambda z: z / mp.sinc(mp.sqrt(z)),
            0,
            (mp.pi / 2 * (1 + mp.mpf(2) ** -12)) ** 2,
            {24: -27.0},
        ),
        # cos r = 1 - r^2 / 2 + r^4 COS(r^2)
        "COS": (
            series(lambda k: (-1) ** k / mp.factorial(2 * k + 4)),
            lambda z: z * z / mp.cos(mp.sqrt(z)),
            0,
            quarter**2,
            every,
        ),
    }


def constants() -> dict[str, Any]:
    """Return the tables that are not polynomials."""
    roots = {parts: [mp.mpf(2) ** (mp.mpf(n) / parts) for n in range(parts)] for parts in (16, 8)}
    near = {p: [rounded(root, bits) for root in roots[p]] for p, bits in ((16, 24), (8, 53))}
    lost = {
        p: [float(rounded(root / kept - 1, bits)) for root, kept in zip(roots[p], near[p], strict=True)]
        for p, bits in ((16, 24), (8, 53))
    }
    return {
        # log 2, in parts that an exponent multiplies exactly
        "LN2": {24: split(mp.log(2), 10, last=24), 53: split(mp.log(2), 32)},
        # pi / 2, in parts that the number of quadrants multiplies exactly
        "HALF_PI": {24: split(mp.pi / 2, 13, 13, 13, last=24), 53: split(mp.pi / 2, 38, 38)},
        "PI": {24: split(mp.pi, 24, last=24), 53: split(mp.pi, 53)},
        # for float32 where a product and a sum are rounded once
        "PI_IN_THREE": split(mp.pi, 24, 24, last=24),
        "TWO_THIRDS": split(mp.mpf(2) / 3, 53),
        "DIGAMMA_ROOT": split(DIGAMMA_ROOT, 53),
        "BASE_2": scales(2),
        "BASE_10": scales(10),
        # the bits of 2 / pi, 64 in a word, after one word of zeros
        "TWO_OVER_PI": words(lambda: 2 / mp.pi, 20),
        # 2^(n / parts), rounded to float32 or float64, and the relative error of that
        "ROOTS_OF_2": {p: [float(root) for root in near[p]] for p in near},
        "LOST_ROOTS_OF_2": lost,
    }


def scales(base: int) -> dict[int, list[float]]:
    """Return 1 / log base in two parts, then log 2 to the base: an exponent times its first part is exact."""
    return {
        bits: [
            *split(1 / mp.log(base), bits, last=bits),
            *(split(mp.log(2, base), bits - 12, last=bits) if base != 2 else [1.0, 0.0]),
        ]
        for bits in (24, 53)
    }


def main() -> None:
    """Print the file, one table a line."""
    tables: dict[str, Any] = {}
    for name, (function, weight, low, high, precisions) in polynomials().items():
        print(name, file=sys.stderr)
        targets = precisions if isinstance(precisions, dict) else dict.fromkeys(precisions)
        tables[name] = {bits: fit(function, weight, low, high, bits, targets[bits]) for bits in targets}
    tables |= constants()
    print(
        "{\n"
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(table)}" for name, table in tables.items())
        + "\n}"
    )


if __name__ == "__main__":
    main()
