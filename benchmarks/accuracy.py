"""The error of each elementary derivative over its range, against mpmath, eager and compiled, in float64 and float32.

Run `pip install -e '.[dev]'` first, then `python benchmarks/accuracy.py [NAME ...]`; with `--write` the table in
docs/accuracy.md is replaced. An error is counted in units in the last place (ulp) of the true derivative at the
given floating-point number. Where a derivative is a sum of terms that cancel, the ulp is that of the terms.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
from tables import replace_table

import wengert as wg
from wengert import nn, special

DTYPES = ("float64", "float32")
DIGITS = 60
TINY, HUGE = 1e-30, 1e30


class Case(NamedTuple):
    """A function, its exact derivative, and where to compare them."""

    name: str
    function: Callable[[Any], Any]
    exact: Callable[[Any], Any]
    low: float
    high: float
    floor: Callable[[Any], Any] | None = None
    """The size of the terms of a sum that cancels."""
    limit: float = 8
    """The largest allowed error."""


def beside_zero(x: Any) -> Any:
    return np.stack([x, np.zeros_like(x)])


def softmax(x: Any) -> Any:
    return special.softmax(beside_zero(x), 0)[0]


def sinc_slope(x: Any) -> Any:
    return (mp.cospi(x) - mp.sincpi(x)) / x if x else mp.mpf(0)


def logistic(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def bell(x: Any) -> Any:
    return logistic(x) * logistic(-x)


def normal_density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def inverse_error(y: Any) -> Any:
    return mp.exp(mp.erfinv(y) ** 2) * mp.sqrt(mp.pi) / 2


def gaussian_bell(x: Any) -> Any:
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


_POSITIVE = (TINY, HUGE)
_ANY = (-HUGE, HUGE)
_OPEN = (-1 + 2.0**-22, 1 - 2.0**-22)

CASES: list[Case] = [
    Case("exp", np.exp, mp.exp, -87, 88),
    Case("exp2", np.exp2, lambda x: mp.log(2) * mp.mpf(2) ** x, -125, 127),
    Case("expm1", np.expm1, mp.exp, -87, 88),
    Case("log", np.log, lambda x: 1 / x, *_POSITIVE),
    Case("log2", np.log2, lambda x: 1 / (x * mp.log(2)), *_POSITIVE),
    Case("log10", np.log10, lambda x: 1 / (x * mp.log(10)), *_POSITIVE),
    Case("log1p", np.log1p, lambda x: 1 / (1 + x), -1 + 2.0**-22, HUGE),
    Case("sqrt", np.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), *_POSITIVE),
    Case("cbrt", np.cbrt, lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2), *_ANY),
    Case("reciprocal", np.reciprocal, lambda x: -1 / x**2, 1e-15, 1e15),
    Case("x ** 3", lambda x: x**3, lambda x: 3 * x**2, -1e12, 1e12),
    Case("x ** 2.5", lambda x: x**2.5, lambda x: mp.mpf(2.5) * x ** mp.mpf(1.5), 1e-20, 1e20),
    Case("2.5 ** x", lambda x: 2.5**x, lambda x: mp.log(2.5) * mp.mpf(2.5) ** x, -90, 90),
    Case("sin", np.sin, mp.cos, -1e4, 1e4),
    Case("cos", np.cos, lambda x: -mp.sin(x), -1e4, 1e4),
    Case("tan", np.tan, lambda x: 1 / mp.cos(x) ** 2, -1e4, 1e4),
    Case("arcsin", np.arcsin, lambda x: 1 / mp.sqrt(1 - x * x), *_OPEN),
    Case("arccos", np.arccos, lambda x: -1 / mp.sqrt(1 - x * x), *_OPEN),
    Case("arctan", np.arctan, lambda x: 1 / (1 + x * x), -1e15, 1e15),
    Case("arctan2(x, 1)", lambda x: np.arctan2(x, np.ones_like(x)), lambda x: 1 / (1 + x * x), -1e15, 1e15),
    Case("hypot(x, 1)", lambda x: np.hypot(x, 1), lambda x: x / mp.sqrt(1 + x * x), -1e15, 1e15),
    Case("sinh", np.sinh, mp.cosh, -88, 88),
    Case("cosh", np.cosh, mp.sinh, -88, 88),
    Case("tanh", np.tanh, lambda x: 4 * bell(2 * x), -40, 40),
    Case("arcsinh", np.arcsinh, lambda x: 1 / mp.sqrt(1 + x * x), -1e15, 1e15),
    Case("arccosh", np.arccosh, lambda x: 1 / mp.sqrt(x * x - 1), 1 + 2.0**-22, 1e15),
    Case("arctanh", np.arctanh, lambda x: 1 / (1 - x * x), *_OPEN),
    Case("sinc", np.sinc, sinc_slope, -100, 100, lambda x: 2 / max(1, abs(x)), 200),
    Case("logaddexp(x, 0)", lambda x: np.logaddexp(x, 0), logistic, -87, 87),
    Case("logaddexp2(x, 0)", lambda x: np.logaddexp2(x, 0), lambda x: logistic(x * mp.log(2)), -125, 125),
    Case("special.expit, nn.sigmoid", special.expit, bell, -87, 87),
    Case("special.log_expit", special.log_expit, lambda x: logistic(-x), -87, 87),
    Case("special.logit", special.logit, lambda p: 1 / (p * (1 - p)), TINY, 1 - 2.0**-22),
    Case("special.erf", special.erf, gaussian_bell, -9, 9, None, 80),
    Case("special.erfc", special.erfc, lambda x: -gaussian_bell(x), -9, 9, None, 80),
    Case("special.erfinv", special.erfinv, inverse_error, *_OPEN, None, 50),
    Case("special.gammaln", special.gammaln, mp.digamma, 1e-12, 1e15),
    Case("special.digamma", special.digamma, lambda x: mp.polygamma(1, x), 1e-12, 1e15),
    Case(
        "special.polygamma(1, x)", lambda x: special.polygamma(1, x), lambda x: mp.polygamma(2, x), 1e-8, 1e12
    ),
    Case("special.entr", special.entr, lambda x: -mp.log(x) - 1, *_POSITIVE, lambda x: 1),
    Case("special.softmax([x, 0])[0]", softmax, bell, -87, 87, logistic),
    Case(
        "special.log_softmax([x, 0])[0]",
        lambda x: special.log_softmax(beside_zero(x), 0)[0],
        lambda x: logistic(-x),
        *(-87, 87),
        lambda x: 1,
    ),
    Case("special.logsumexp([x, 0])", lambda x: special.logsumexp(beside_zero(x), 0), logistic, -87, 87),
    Case("nn.softplus", nn.softplus, logistic, -87, 87),
    Case("nn.silu", nn.silu, lambda x: logistic(x) + x * bell(x), -80, 80, lambda x: 2 * logistic(x)),
    Case(
        "nn.gelu",
        nn.gelu,
        lambda x: mp.ncdf(x) + x * normal_density(x),
        *(-12, 12),
        lambda x: 1,
    ),
    Case("nn.elu", nn.elu, lambda x: mp.exp(x) if x < 0 else mp.mpf(1), -87, 87),
]


def points(case: Case, dtype: str, count: int) -> np.ndarray:
    """Return numbers of a range: evenly spaced, and at geometric distances from 0 and from both ends."""
    low, high = case.low, case.high
    small = np.geomspace(TINY, 1, count // 4)
    ends = (edge - side * small * min(1.0, high - low) for edge, side in ((low, -1), (high, 1)))
    large = np.geomspace(max(low, 1.0), high, count // 4) if high > 1 else small
    every = np.concatenate([np.linspace(low, high, count // 4), small, -small, large, -large, *ends])
    rounded = np.unique(every.astype(dtype))
    return rounded[(rounded >= low) & (rounded <= high)]


def slopes(case: Case, x: np.ndarray, compiled: bool) -> Any:
    def total(x: Any) -> Any:
        return np.sum(case.function(x))

    with np.errstate(all="ignore"):
        return (wg.jit(wg.grad(total)) if compiled else wg.grad(total))(x)


def errors(case: Case, x: np.ndarray, derivatives: Any) -> list[float]:
    """Return the errors of derivatives in units in the last place."""
    limits = np.finfo(x.dtype)
    with mp.workdps(DIGITS):
        result: list[float] = []
        for number, slope in zip(x, derivatives, strict=True):
            at = mp.mpf(float(number))
            try:
                exact = case.exact(at)
            except ZeroDivisionError:  # the slope is infinite
                continue
            size = max(abs(exact), case.floor(at) if case.floor else 0)
            if size > float(limits.max):
                continue
            digit = mp.ldexp(1, max(mp.frexp(size)[1], limits.minexp + 1) - limits.nmant - 1)
            result.append(float(abs(mp.mpf(float(slope)) - exact) / digit))
        return result


def largest_errors(case: Case, dtype: str, count: int) -> dict[bool, tuple[float, float]]:
    """Return the largest error and its place, eager and compiled."""
    x = points(case, dtype, count)
    worst: dict[bool, tuple[float, float]] = {}
    for compiled in (False, True):
        sizes = errors(case, x, slopes(case, x, compiled))
        worst[compiled] = max(zip(sizes, map(float, x), strict=False))
    return worst


def table(cases: Sequence[Case], count: int) -> str:
    lines = [
        "| derivative of | from | to | float64 | float64, compiled | float32 | float32, compiled |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for case in cases:
        cells: list[str] = []
        for dtype in DTYPES:
            for worst, _ in largest_errors(case, dtype, count).values():
                cells.append(f"{worst:.1f}" if worst < 1e4 else f"{worst:.0e}")
        lines.append(f"| `{case.name}` | {case.low:.6g} | {case.high:.6g} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="words in the names of functions; all by default")
    parser.add_argument("--points", type=int, default=800, help="how many numbers to compare at, about")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/accuracy.md")
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.names or any(word in case.name for word in options.names)]
    text = table(chosen, options.points)
    if options.write and not options.names:
        replace_table("accuracy.md", "accuracy", text)


if __name__ == "__main__":
    main()
