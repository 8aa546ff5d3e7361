"""Special functions over their whole domains: draws of operands, references in mpmath, and errors in units of rounding.

An error is counted in units of rounding of what the function makes of rounded operands: ``eps (|f| + sum |x_i
df/dx_i|)`` for a value f, and the same of a derivative. So a number near a zero, or far out where a function turns
fast, is judged by what can be known there.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

import wengert as wg

Array = np.ndarray[Any, Any]
mp: Any = mpmath


class Draw(NamedTuple):
    """How an operand is drawn, after those before it: a function of a generator, these and how many; and its domain."""

    domain: str
    numbers: Callable[[np.random.Generator, list[Array], int], Array]


EPS = 2.0**-53
#: The relative step of differences.
STEP = mp.mpf(2) ** -80
#: Below, numbers have fewer digits.
LEAST = mp.mpf(2) ** -1021
#: Operands are moved by this for the conditioning.
MOVE = mp.mpf(2) ** -60


class Case(NamedTuple):
    """A function with its reference."""

    name: str
    function: Callable[..., Any]
    exact: Callable[..., Any]
    """The function on mpmath's numbers."""
    draws: tuple[Draw, ...]
    wrt: tuple[int, ...]
    """The operands in which it is differentiable."""
    limit: float
    """The largest error that a derivative may have."""
    values: bool
    """Whether the values are Wengert's own, and compared, too."""
    cost: int
    """By how much the number of draws is divided, because the reference is slow."""
    partial: Callable[..., Any] | None = None
    """The derivative by the operand of a position, of this and the operands; None for a difference of ``exact``."""


# -- draws -----------------------------------------------------------------------------------------------


def mixed(rng: np.random.Generator, count: int, *kinds: Callable[[int], Array]) -> Array:
    """Return numbers of each kind in turn, shuffled."""
    parts = [kind(-(-count // len(kinds))) for kind in kinds]
    every = np.concatenate(parts)
    return rng.permutation(every)[:count]


def positive(low: float = 1e-300, high: float = 1e15) -> Draw:
    """Draw positive numbers: of all sizes, of the order of 1, whole and half numbers, and numbers beside them."""

    def draw(rng: np.random.Generator, before: list[Array], count: int) -> Array:
        ends = math.log(low), math.log(high)
        middle = math.log(max(low, 1e-3)), math.log(min(high, 1e3))

        def halves(n: int) -> Array:
            return rng.integers(1, 40, n) / 2.0

        drawn = mixed(
            rng,
            count,
            lambda n: np.exp(rng.uniform(*ends, n)),
            lambda n: np.exp(rng.uniform(*middle, n)),
            halves,
            lambda n: halves(n) * (1 + rng.choice([-1, 1], n) * 2.0 ** -rng.integers(3, 52, n)),
        )
        return np.clip(drawn, low, high)

    return Draw(f"{low:g} to {high:g}", draw)


def real(high: float = 1e15, low: float = 1e-300) -> Draw:
    """Draw numbers of both signs."""
    size = positive(low, high)

    def draw(rng: np.random.Generator, before: list[Array], count: int) -> Array:
        return size.numbers(rng, before, count) * rng.choice([-1.0, 1.0], count)

    return Draw(f"±{size.domain}", draw)


def negative(size: Draw) -> Draw:
    return Draw(f"-({size.domain})", lambda *arguments: -size.numbers(*arguments))


def unit(low: float = 1e-300) -> Draw:
    """Draw numbers between 0 and 1, many of them beside the ends."""

    def draw(rng: np.random.Generator, before: list[Array], count: int) -> Array:
        return mixed(
            rng,
            count,
            lambda n: rng.uniform(0.0, 1.0, n),
            lambda n: np.exp(rng.uniform(math.log(low), 0.0, n)),
            lambda n: 1 - 2.0 ** -rng.uniform(1, 52, n),
        )

    return Draw("0 to 1", draw)


def interval() -> Draw:
    """Draw numbers between -1 and 1, many of them beside the ends and 0."""

    def draw(rng: np.random.Generator, before: list[Array], count: int) -> Array:
        return unit(1e-30).numbers(rng, before, count) * rng.choice([-1.0, 1.0], count)

    return Draw("-1 to 1", draw)


def whole(low: int, high: int) -> Draw:
    return Draw(
        f"whole, {low} to {high}",
        lambda rng, before, count: rng.integers(low, high, count, endpoint=True).astype(float),
    )


def degree(high: float) -> Draw:
    """Draw orders: whole, of both signs, small and fractional."""

    def draw(rng: np.random.Generator, before: list[Array], count: int) -> Array:
        return mixed(
            rng,
            count,
            lambda n: rng.integers(0, int(high), n, endpoint=True).astype(float),
            lambda n: rng.uniform(-high, high, n),
            lambda n: rng.uniform(-1.0, 1.0, n),
        )

    return Draw(f"±{high:g}", draw)


def beside(position: int, others: Draw, by: Callable[[list[Array]], Array] | None = None) -> Draw:
    """Draw numbers that differ from a centre by some of its square roots, and others."""

    def draw(rng: np.random.Generator, before: list[Array], count: int) -> Array:
        centre = before[position] if by is None else by(before)
        spread = np.sqrt(np.abs(before[position])) * rng.standard_normal(count) * 3
        near = np.abs(centre + spread)
        return np.where(rng.random(count) < 0.6, near, others.numbers(rng, before, count))

    return Draw(others.domain, draw)


def close(position: int, others: Draw) -> Draw:
    """Draw numbers that agree with another operand in some of their digits."""

    def draw(rng: np.random.Generator, before: list[Array], count: int) -> Array:
        near = before[position] * (1 + rng.choice([-1, 1], count) * 2.0 ** -rng.integers(1, 53, count))
        return np.where(rng.random(count) < 0.6, near, others.numbers(rng, before, count))

    return Draw(others.domain, draw)


def operands(case: Case, seed: int, count: int) -> list[Array]:
    rng = np.random.default_rng([seed, zlib.crc32(case.name.encode())])
    drawn: list[Array] = []
    for draw in case.draws:
        drawn.append(draw.numbers(rng, drawn, count))
    return drawn


# -- references ------------------------------------------------------------------------------------------


def _partial(exact: Callable[..., Any], x: Sequence[Any], position: int) -> Any:
    """Return a partial derivative by a central difference, with so many digits that it is exact to some twenty."""

    def at(side: int) -> Any:
        moved = list(x)
        moved[position] = x[position] * (1 + side * STEP) if x[position] else side * STEP
        return exact(*moved)

    width = 2 * STEP * (x[position] if x[position] else 1)
    return (at(1) - at(-1)) / width


def _partial_at(exact: Callable[..., Any], position: int, *x: Any) -> Any:
    return _partial(exact, x, position)


def _size(function: Callable[..., Any], x: Sequence[Any], value: Any) -> Any:
    """Return the size of what rounded operands make of a function."""
    size = abs(value)
    for position, number in enumerate(x):
        moved = list(x)
        moved[position] = number * (1 + MOVE)
        size += abs(function(*moved) - value) / MOVE
    return size


class Number(NamedTuple):
    """A number of the reference and the size of what rounded operands make of it."""

    value: Any
    size: Any


#: The digits with which a reference is computed, until two agree.
DIGITS = (45, 60, 120, 300, 700)
_REFUSALS = (ZeroDivisionError, ValueError, OverflowError, NotImplementedError, mp.libmp.NoConvergence)


def references(case: Case, x: Sequence[float], position: int | None) -> Number | None:
    """Return the value, or the derivative by an operand; None where the reference does not know it."""
    exact: Callable[..., Any] = case.exact
    if position is None:
        function = exact
    else:
        function = functools.partial(case.partial or functools.partial(_partial_at, exact), position)
    last: Number | None = None
    for digits in DIGITS:
        try:
            with mp.workdps(digits):
                operands = [mp.mpf(number) for number in x]
                whole = abs(case.exact(*operands))  # raises at a pole
                value = mp.mpmathify(function(*operands))
                if last and value and abs(value - last.value) <= 2.0**-60 * last.size:
                    return Number(mp.re(value), last.size)
                size = mp.mpmathify(_size(function, operands, value))
                if position is not None and 0 < whole < LEAST:
                    size *= LEAST / whole  # a slope made of a subnormal value has its digits
        except _REFUSALS:
            last = None
            continue
        is_known = mp.isfinite(value) and mp.isfinite(size) and not mp.im(value)
        last = Number(mp.re(value), mp.re(size)) if is_known else None
    return last if last and not last.value else None


def error(number: float, reference: Number) -> float:
    """Return an error in units of rounding; infinity for a NaN."""
    exact = reference.value
    if abs(exact) > mp.mpf(2) ** 1020:  # the number may overflow
        return 0.0 if number * float(mp.sign(exact)) >= 1e300 else math.inf
    if not math.isfinite(number):
        return math.inf
    return float(abs(mp.mpf(number) - exact) / (EPS * (reference.size + LEAST)))


# -- comparisons -----------------------------------------------------------------------------------------


def derivatives(case: Case, x: list[Array], mode: str) -> dict[int, Array]:
    """Return the derivatives by each operand: in ``reverse`` or ``forward`` mode, or ``compiled``."""

    def total(*numbers: Any) -> Any:
        return np.sum(case.function(*numbers))

    with np.errstate(all="ignore"):
        if mode == "forward":
            slopes: dict[int, Array] = {}
            for position in case.wrt:
                ways = [np.ones_like(number) * (n == position) for n, number in enumerate(x)]

                def of_one(number: Any, position: int = position) -> Any:
                    return case.function(*x[:position], number, *x[position + 1 :])

                slopes[position] = wg.jvp(of_one, (x[position],), (ways[position],))[1]
            return slopes
        gradient = wg.grad(total, argnums=case.wrt)
        gradient = wg.jit(gradient) if mode == "compiled" else gradient
        return dict(zip(case.wrt, gradient(*x), strict=True))


def _values(case: Case, x: list[Array]) -> Array:
    """Return the values inside of a transform, which are Wengert's."""
    n = case.wrt[0]

    def of_one(number: Any) -> Any:
        return case.function(*x[:n], number, *x[n + 1 :])

    with np.errstate(all="ignore"):
        return wg.jvp(of_one, (x[n],), (np.zeros_like(x[n]),))[0]


#: The modes of differentiation that are compared.
MODES = ("reverse", "forward", "compiled")


class Fault(NamedTuple):
    """A number that is off."""

    error: float
    case: str
    what: str
    operands: tuple[float, ...]
    got: float
    exact: float


def faults(case: Case, seed: int, count: int, modes: Sequence[str]) -> tuple[list[Fault], int]:
    """Return every comparison of a case, and how many numbers the reference does not know."""
    x = operands(case, seed, count)
    columns: list[tuple[int | None, str, Array]] = [(None, "value", _values(case, x))] if case.values else []
    for mode in modes:
        columns += [(n, f"{mode} {n}", column) for n, column in derivatives(case, x, mode).items()]
    found: list[Fault] = []
    unknown = 0
    for n in range(count):
        point = tuple(float(column[n]) for column in x)
        known = {position: references(case, point, position) for position, *_ in columns}
        unknown += sum(reference is None for reference in known.values())
        for position, what, column in columns:
            reference = known[position]
            if reference is not None:
                got, exact = float(column[n]), float(reference.value)
                found.append(Fault(error(got, reference), case.name, what, point, got, exact))
    return found, unknown
