"""Standard problems with known solutions.

HS: Hock and Schittkowski, "Test Examples for Nonlinear Programming Codes", 1981, by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


class Standard(NamedTuple):
    fun: Callable[[Any], Any]
    x0: Any
    constraints: Any
    bounds: Any
    value: float
    """The least value."""


INF = np.inf
HS = {
    6: Standard(
        lambda x: (1 - x[0]) ** 2, [-1.2, 1.0], [(lambda x: 10 * (x[1] - x[0] ** 2), 0.0, 0.0)], None, 0.0
    ),
    7: Standard(
        lambda x: np.log(1 + x[0] ** 2) - x[1],
        [2.0, 2.0],
        [(lambda x: (1 + x[0] ** 2) ** 2 + x[1] ** 2, 4.0, 4.0)],
        None,
        -np.sqrt(3.0),
    ),
    35: Standard(
        lambda x: (
            9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
            + 2 * x[0] * x[1] + 2 * x[0] * x[2]
        ),
        [0.5, 0.5, 0.5],
        [(lambda x: x[0] + x[1] + 2 * x[2], None, 3.0)],
        (0.0, None),
        1 / 9,
    ),
    71: Standard(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        [1.0, 5.0, 5.0, 1.0],
        [(np.prod, 25.0, None), (lambda x: np.sum(x**2), 40.0, 40.0)],
        [(1.0, 5.0)] * 4,
        17.0140173,
    ),
    76: Standard(
        lambda x: (
            x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2
            - x[0] * x[2] + x[2] * x[3] - x[0] - 3 * x[1] + x[2] - x[3]
        ),
        [0.5] * 4,
        [
            (
                lambda x: {
                    "upper": np.stack([x[0] + 2 * x[1] + x[2] + x[3], 3 * x[0] + x[1] + 2 * x[2] - x[3]]),
                    "lower": x[1] + 4 * x[2],
                },
                {"upper": None, "lower": 1.5},
                {"upper": [5.0, 4.0], "lower": None},
            )
        ],
        (0.0, None),
        -4.681818181,
    ),
}  # fmt: skip


class Network(NamedTuple):
    """Variables in a container with arrays of two ranks, and a number."""

    weights: dict[str, Any]
    scale: float


NETWORK = Network({"in": np.array([[0.3, -0.2], [0.1, 0.4]]), "out": np.array([0.5, -0.5])}, 1.5)
INPUTS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, -0.5]])
TARGETS = np.array([1.0, -1.0, 0.5, 0.0])


def network_error(p: Network, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ p.weights["in"])
    penalty = np.sum(p.weights["in"] ** 2) + np.sum(p.weights["out"] ** 2)
    return np.mean((p.scale * hidden @ p.weights["out"] - y) ** 2) + 0.01 * penalty + 0.01 * p.scale**2


def network_residuals(p: Network, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ p.weights["in"])
    sizes = {name: 0.1 * value for name, value in p.weights.items()}
    return {"fit": p.scale * hidden @ p.weights["out"] - y, "sizes": sizes, "scale": 0.1 * p.scale}
