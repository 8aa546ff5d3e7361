"""Equations, minima and fixed points with known solutions, many of them hard: what a solver may not get wrong.

The solutions are functions of a parameter p, near a point. An empty list says that there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RNG = np.random.default_rng(7)
MATRICES = {n: np.eye(n) + 0.3 * RNG.standard_normal((n, n)) / np.sqrt(n) for n in (2, 5, 20)}
TURNS = {n: np.linalg.qr(RNG.standard_normal((n, n)))[0] for n in (2, 5, 20)}
NEARLY_SINGULAR = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-6]])
SCALES = np.array([1e-3, 1.0, 1e3])


class Known(NamedTuple):
    """A problem for `root`, `minimum` or `fixed_point`."""

    kind: str
    fun: Callable[[Any, Any], Any]
    """``(x, p) -> values``."""
    solutions: Callable[[float, Any], list[Any]]
    """``(p, near) -> points``."""
    size: int = 0
    """The number of unknowns; 0 for one number."""
    farthest: float = 6.0
    """The power of ten of the distance of the farthest start."""


def _all(p: float, near: Any) -> list[Any]:
    return [np.full(np.shape(near), p)]


def _signs(value: Callable[[float], float]) -> Callable[[float, Any], list[Any]]:
    return lambda p, near: [value(p), -value(p)]


def _periodic(p: float, near: float) -> list[Any]:
    turns = 2 * np.pi * np.round(near / (2 * np.pi) + np.array([-1, 0, 1]))
    return [*(np.arcsin(p / 2) + turns), *(np.pi - np.arcsin(p / 2) + turns)]


def _troughs(p: float, near: Any) -> list[Any]:
    return [p + np.pi + 2 * np.pi * np.round((near - p - np.pi) / (2 * np.pi))]


def _none(p: float, near: Any) -> list[Any]:
    return []


def _powell(x: Any, p: Any) -> Any:
    a, b, c, d = x[0] - p, x[1] - p, x[2] - p, x[3] - p
    return np.stack([a + 10 * b, 5**0.5 * (c - d), (b - 2 * c) ** 2, 10**0.5 * (a - d) ** 2])


def _narrow(x: Any, p: Any) -> Any:
    """Return Powell's badly scaled function: a valley along a hyperbola, 1e5 times as steep across."""
    return (1e4 * x[0] * x[1] - p) ** 2 + (np.exp(-x[0]) + np.exp(-x[1]) - 1.0001) ** 2


def _narrow_ends(p: float, near: Any) -> list[Any]:
    """Return both zeros, and the lowest point of the hyperbola's other branch, where x is negative."""
    y, t = 9.0, -1e-2 * np.sqrt(p)
    for _ in range(60):
        y = -np.log(1.0001 - np.exp(-1e-4 * p / y))
        t = -1e-2 * np.sqrt(p + 1e-4 * (2 * np.exp(-t) - 1.0001) * np.exp(-t) / t)
    return [np.array([1e-4 * p / y, y]), np.array([y, 1e-4 * p / y]), np.array([t, t])]


def _beale(x: Any, p: Any) -> Any:
    powers = x[1] ** np.arange(1, 4)
    return np.sum((np.array([1.5, 2.25, 2.625]) - x[0] / p * (1 - powers)) ** 2)


def _pull(n: int, rate: float) -> Callable[[Any, Any], Any]:
    """Return a map with the fixed point p whose Jacobian is a rotation times a rate."""
    return lambda x, p: p + rate * (TURNS[n] @ (x - p))


def _rosenbrock(x: Any, p: Any) -> Any:
    return (p - x[0]) ** 2 + 100 * np.sum((x[1:] - x[:-1] ** 2) ** 2)


PROBLEMS: dict[str, Known] = {
    "exponential": Known("root", lambda x, p: np.exp(x) - p, lambda p, _: [np.log(p)]),
    "arc tangent": Known("root", lambda x, p: np.arctan(x - p), _all),
    "cube": Known("root", lambda x, p: x**3 - p, lambda p, _: [np.cbrt(p)]),
    "triple": Known("root", lambda x, p: (x - p) ** 3, _all),
    "double": Known("root", lambda x, p: (x - p) ** 2, _all),
    "triple, expanded": Known("root", lambda x, p: x**3 - 3 * p * x**2 + 3 * p**2 * x - p**3, _all),
    "fifth, expanded": Known(
        "root",
        lambda x, p: x**5 - 5 * p * x**4 + 10 * p**2 * x**3 - 10 * p**3 * x**2 + 5 * p**4 * x - p**5,
        _all,
    ),
    "saturation": Known("root", lambda x, p: np.tanh(x) - 1.0 + 0 * p, _none),
    "decay": Known("root", lambda x, p: p * np.exp(-x), _none),
    "decay behind a root": Known("root", lambda x, p: (x - p) * np.exp(-x), _all),
    "no root": Known("root", lambda x, p: x**2 + p, _none),
    "hardly no root": Known("root", lambda x, p: x**2 + 1e-14 * p, _none),
    "pole": Known("root", lambda x, p: 1 / x - p, lambda p, _: [1 / p]),
    "logarithm": Known("root", lambda x, p: np.log(x * x) - p, _signs(lambda p: np.exp(p / 2))),
    "tiny": Known("root", lambda x, p: x**2 - 1e-30 * p, _signs(lambda p: 1e-15 * np.sqrt(p))),
    "huge": Known("root", lambda x, p: x**3 - 1e36 * p, lambda p, _: [1e12 * np.cbrt(p)]),
    "logistic": Known(
        "root", lambda x, p: 1 / (1 + np.exp(-x)) - 0.3 * p, lambda p, _: [np.log(0.3 * p / (1 - 0.3 * p))]
    ),
    "sine": Known("root", lambda x, p: np.sin(x) - p / 2, _periodic),
    "near roots": Known("root", lambda x, p: (x - p) * (x - p - 1e-4), lambda p, _: [p, p + 1e-4]),
    "bad scales": Known(
        "root",
        lambda x, p: np.stack([x[0] - 1e6 * p, 1e9 * (x[1] ** 2 - 1e-12 * p)]),
        lambda p, _: [np.array([1e6 * p, sign * 1e-6 * np.sqrt(p)]) for sign in (-1, 1)],
        2,
    ),
    "nearly singular": Known("root", lambda x, p: NEARLY_SINGULAR @ (x - p) + (x - p) ** 3, _all, 2),
    "singular": Known("root", _powell, _all, 4),
    **{
        f"monotone {n}": Known("root", lambda x, p, n=n: MATRICES[n] @ (x - p) + (x - p) ** 3, _all, n)
        for n in MATRICES
    },
    **{
        f"exponentials {n}": Known("root", lambda x, p, n=n: np.exp(MATRICES[n] @ (x - p)) - 1.0, _all, n)
        for n in (5, 20)
    },
    "wells": Known("minimum", lambda x, p: (x**2 - p) ** 2, _signs(np.sqrt)),
    "wells and saddles": Known(
        "minimum",
        lambda x, p: (x[0] ** 2 - p) ** 2 + x[1] ** 4 - x[1] ** 2,
        lambda p, _: [np.array([a * np.sqrt(p), b * np.sqrt(0.5)]) for a in (-1, 1) for b in (-1, 1)],
        2,
    ),
    "valley": Known("minimum", _rosenbrock, lambda p, _: [np.array([p, p**2])], 2),
    "valley 5": Known("minimum", _rosenbrock, lambda p, _: [p ** 2.0 ** np.arange(5)], 5),
    "valley 10": Known("minimum", _rosenbrock, lambda p, _: [p ** 2.0 ** np.arange(10)], 10),
    "narrow valley": Known("minimum", _narrow, _narrow_ends, 2, 0.0),  # far away it is flat to rounding errors
    "Beale": Known("minimum", _beale, lambda p, _: [np.array([3 * p, 0.5])], 2),
    "squared singular": Known("minimum", lambda x, p: np.sum(_powell(x, p) ** 2), _all, 4),
    "Brown": Known(
        "minimum",
        lambda x, p: (x[0] - 1e6 * p) ** 2 + (x[1] - 2e-6) ** 2 + (x[0] * x[1] - 2 * p) ** 2,
        lambda p, _: [np.array([1e6 * p, 2e-6])],
        2,
    ),
    "quartic": Known("minimum", lambda x, p: (x - p) ** 4, _all),
    "well on a plain": Known("minimum", lambda x, p: -np.exp(-((x - p) ** 2)), _all),
    "slope without end": Known("minimum", lambda x, p: np.logaddexp(0.0, -p * x), _none),
    "slow growth": Known("minimum", lambda x, p: np.log1p((x - p) ** 2), _all),
    "waves": Known("minimum", lambda x, p: np.cos(x - p), _troughs),
    "steep": Known("minimum", lambda x, p: 1e12 * np.sum(SCALES * (x - p) ** 2), _all, 3),
    "shallow": Known("minimum", lambda x, p: 1e-8 * np.sum(SCALES * (x - p) ** 2), _all, 3),
    "bowl 20": Known("minimum", lambda x, p: np.sum(np.cosh((MATRICES[20] @ (x - p)) / 10)), _all, 20),
    "affine": Known("fixed_point", lambda x, p: 0.99 * x + 0.01 * p, _all),
    "nearly still": Known("fixed_point", lambda x, p: x + 1e-6 * (p - x), _all),
    "Heron": Known("fixed_point", lambda x, p: (x + p / x) / 2, _signs(np.sqrt)),
    "repelling": Known("fixed_point", lambda x, p: 2 * x - p, _all),
    "creeping": Known("fixed_point", lambda x, p: x + np.exp(-p * x), _none),
    "sublinear": Known("fixed_point", lambda x, p: x - 0.1 * np.tanh(x - p) ** 3, _all),
    "fast and slow": Known(
        "fixed_point", lambda x, p: p + np.array([0.1, 0.9999]) * (x - p), _all, 2
    ),
    **{f"turning {n}": Known("fixed_point", _pull(n, 0.7), _all, n) for n in (2, 20)},
    "turning slowly": Known("fixed_point", _pull(5, 0.99), _all, 5),
}  # fmt: skip


def starts_of(known: Known, p: float, rng: np.random.Generator, count: int) -> list[Any]:
    """Return starts up to 1e6 away from a solution, or from 0, and the symmetric ones 0 and 1."""
    shape = (known.size,) if known.size else ()
    centre = (known.solutions(p, np.zeros(shape)) or [np.zeros(shape)])[0]
    distances = 10.0 ** rng.uniform(-3, known.farthest, count)
    drawn = [np.asarray(centre + distance * rng.standard_normal(shape)) for distance in distances]
    return [*drawn, np.zeros(shape), np.ones(shape)]


def distance_to(known: Known, p: float, x: Any) -> tuple[float, Any]:
    """Return the distance to the nearest solution, relative to its elements or, where they are 0, to 1; and it."""
    best, nearest = np.inf, None
    for point in known.solutions(p, x):
        scale = np.where(np.asarray(point) == 0.0, 1.0, np.abs(point))
        distance = float(np.max(np.abs(x - point) / scale))
        if distance < best:
            best, nearest = distance, point
    return best, nearest


def slope_of(known: Known, p: float, near: Any) -> Any:
    """Return how the solution near a point moves with p, by differences of fourth order."""
    h, distances = 1e-4, [np.max(np.abs(near - point)) for point in known.solutions(p, near)]
    points = [known.solutions(p + k * h, near)[int(np.argmin(distances))] for k in (-2, -1, 1, 2)]
    return sum(w * point for w, point in zip((1, -8, 8, -1), points, strict=True)) / (12 * h)
