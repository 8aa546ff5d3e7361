"""Problems with constraints: Hock and Schittkowski, "Test Examples for Nonlinear Programming Codes", 1981.

The numbers are those of the book; the least values are the published ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Standard(NamedTuple):
    """Minimise a function between bounds, with values that are zero and values that are not negative."""

    value: float
    """The published least value."""
    start: list[float]
    fun: Callable[[Any], Any]
    zero: Callable[[Any], list[Any]] | None = None
    positive: Callable[[Any], list[Any]] | None = None
    bounds: list[tuple[float | None, float | None]] | None = None

    @property
    def constraints(self) -> list[Any]:
        """The constraints for `wengert.optimize.minimize`."""
        limits = ((self.zero, 0.0, 0.0), (self.positive, 0.0, None))
        return [(lambda x, g=g: np.stack(g(x)), low, high) for g, low, high in limits if g is not None]


def rosenbrock(x: Any) -> Any:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def _five(x: Any) -> list[Any]:
    """The equations of the problems 78 to 81."""
    return [np.sum(x**2) - 10, x[1] * x[2] - 5 * x[3] * x[4], x[0] ** 3 + x[1] ** 3 + 1]


R3 = np.sqrt(3.0)
PROBLEMS: dict[int, Standard] = {
    1: Standard(0.0, [-2, 1], rosenbrock, bounds=[(None, None), (-1.5, None)]),
    3: Standard(0.0, [10, 1], lambda x: x[1] + 1e-5 * (x[1] - x[0]) ** 2, bounds=[(None, None), (0, None)]),
    4: Standard(8 / 3, [1.125, 0.125], lambda x: (x[0] + 1) ** 3 / 3 + x[1], bounds=[(1, None), (0, None)]),
    5: Standard(
        -R3 / 2 - np.pi / 3, [0, 0],
        lambda x: np.sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1,
        bounds=[(-1.5, 4), (-3, 3)],
    ),
    6: Standard(0.0, [-1.2, 1], lambda x: (1 - x[0]) ** 2, lambda x: [10 * (x[1] - x[0] ** 2)]),
    7: Standard(-R3, [2, 2], lambda x: np.log(1 + x[0] ** 2) - x[1], lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4]),
    9: Standard(
        -0.5, [0, 0], lambda x: np.sin(np.pi * x[0] / 12) * np.cos(np.pi * x[1] / 16), lambda x: [4 * x[0] - 3 * x[1]]
    ),
    10: Standard(
        -1.0, [-10, 10], lambda x: x[0] - x[1], None, lambda x: [-3 * x[0] ** 2 + 2 * x[0] * x[1] - x[1] ** 2 + 1]
    ),
    11: Standard(
        -8.498464223, [4.9, 0.1], lambda x: (x[0] - 5) ** 2 + x[1] ** 2 - 25, None, lambda x: [x[1] - x[0] ** 2]
    ),
    12: Standard(
        -30.0, [0, 0], lambda x: 0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1], None,
        lambda x: [25 - 4 * x[0] ** 2 - x[1] ** 2],
    ),
    14: Standard(
        9 - 2.875 * np.sqrt(7.0), [2, 2], lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
        lambda x: [x[0] - 2 * x[1] + 1], lambda x: [1 - 0.25 * x[0] ** 2 - x[1] ** 2],
    ),
    15: Standard(
        306.5, [-2, 1], rosenbrock, None, lambda x: [x[0] * x[1] - 1, x[0] + x[1] ** 2], [(None, 0.5), (None, None)]
    ),
    18: Standard(
        5.0, [2, 2], lambda x: 0.01 * x[0] ** 2 + x[1] ** 2, None,
        lambda x: [x[0] * x[1] - 25, x[0] ** 2 + x[1] ** 2 - 25], [(2, 50), (0, 50)],
    ),
    19: Standard(
        -6961.81381, [20.1, 5.84], lambda x: (x[0] - 10) ** 3 + (x[1] - 20) ** 3, None,
        lambda x: [(x[0] - 5) ** 2 + (x[1] - 5) ** 2 - 100, 82.81 - (x[1] - 5) ** 2 - (x[0] - 6) ** 2],
        [(13, 100), (0, 100)],
    ),
    21: Standard(
        -99.96, [-1, -1], lambda x: 0.01 * x[0] ** 2 + x[1] ** 2 - 100, None, lambda x: [10 * x[0] - x[1] - 10],
        [(2, 50), (-50, 50)],
    ),
    22: Standard(
        1.0, [2, 2], lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, None, lambda x: [2 - x[0] - x[1], x[1] - x[0] ** 2]
    ),
    23: Standard(
        2.0, [3, 1], lambda x: x[0] ** 2 + x[1] ** 2, None,
        lambda x: [
            x[0] + x[1] - 1, x[0] ** 2 + x[1] ** 2 - 1, 9 * x[0] ** 2 + x[1] ** 2 - 9,
            x[0] ** 2 - x[1], x[1] ** 2 - x[0],
        ],
        [(-50, 50)] * 2,
    ),
    24: Standard(
        -1.0, [1, 0.5], lambda x: ((x[0] - 3) ** 2 - 9) * x[1] ** 3 / (27 * R3), None,
        lambda x: [x[0] / R3 - x[1], x[0] + R3 * x[1], 6 - x[0] - R3 * x[1]], [(0, None)] * 2,
    ),
    27: Standard(
        0.04, [2, 2, 2], lambda x: 0.01 * (x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2, lambda x: [x[0] + x[2] ** 2 + 1]
    ),
    28: Standard(
        0.0, [-4, 1, 1], lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2, lambda x: [x[0] + 2 * x[1] + 3 * x[2] - 1]
    ),
    29: Standard(
        -16 * np.sqrt(2.0), [1, 1, 1], lambda x: -x[0] * x[1] * x[2], None,
        lambda x: [48 - x[0] ** 2 - 2 * x[1] ** 2 - 4 * x[2] ** 2],
    ),
    30: Standard(
        1.0, [1, 1, 1], lambda x: np.sum(x**2), None, lambda x: [x[0] ** 2 + x[1] ** 2 - 1],
        [(1, 10), (-10, 10), (-10, 10)],
    ),
    31: Standard(
        6.0, [1, 1, 1], lambda x: 9 * x[0] ** 2 + x[1] ** 2 + 9 * x[2] ** 2, None, lambda x: [x[0] * x[1] - 1],
        [(-10, 10), (1, 10), (-10, 1)],
    ),
    32: Standard(
        1.0, [0.1, 0.7, 0.2], lambda x: (x[0] + 3 * x[1] + x[2]) ** 2 + 4 * (x[0] - x[1]) ** 2,
        lambda x: [1 - x[0] - x[1] - x[2]], lambda x: [6 * x[1] + 4 * x[2] - x[0] ** 3 - 3], [(0, None)] * 3,
    ),
    34: Standard(
        -np.log(np.log(10.0)), [0, 1.05, 2.9], lambda x: -x[0], None,
        lambda x: [x[1] - np.exp(x[0]), x[2] - np.exp(x[1])], [(0, 100), (0, 100), (0, 10)],
    ),
    35: Standard(
        1 / 9, [0.5] * 3,
        lambda x: (
            9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
            + 2 * x[0] * x[1] + 2 * x[0] * x[2]
        ),
        None, lambda x: [3 - x[0] - x[1] - 2 * x[2]], [(0, None)] * 3,
    ),
    36: Standard(
        -3300.0, [10] * 3, lambda x: -x[0] * x[1] * x[2], None, lambda x: [72 - x[0] - 2 * x[1] - 2 * x[2]],
        [(0, 20), (0, 11), (0, 42)],
    ),
    37: Standard(
        -3456.0, [10] * 3, lambda x: -x[0] * x[1] * x[2], None,
        lambda x: [72 - x[0] - 2 * x[1] - 2 * x[2], x[0] + 2 * x[1] + 2 * x[2]], [(0, 42)] * 3,
    ),
    38: Standard(
        0.0, [-3, -1, -3, -1],
        lambda x: (
            rosenbrock(x[:2]) + 90 * (x[3] - x[2] ** 2) ** 2 + (1 - x[2]) ** 2
            + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2) + 19.8 * (x[1] - 1) * (x[3] - 1)
        ),
        bounds=[(-10, 10)] * 4,
    ),
    39: Standard(
        -1.0, [2] * 4, lambda x: -x[0], lambda x: [x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2]
    ),
    40: Standard(
        -0.25, [0.8] * 4, lambda x: -np.prod(x),
        lambda x: [x[0] ** 3 + x[1] ** 2 - 1, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]],
    ),
    42: Standard(
        28 - 10 * np.sqrt(2.0), [1] * 4, lambda x: np.sum((x - np.arange(1, 5)) ** 2),
        lambda x: [x[0] - 2, x[2] ** 2 + x[3] ** 2 - 2],
    ),
    43: Standard(
        -44.0, [0] * 4,
        lambda x: np.sum(x**2) + x[2] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3], None,
        lambda x: [
            8 - np.sum(x**2) - x[0] + x[1] - x[2] + x[3],
            10 - np.sum(x**2) - x[1] ** 2 - x[3] ** 2 + x[0] + x[3],
            5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3],
        ],
    ),
    48: Standard(
        0.0, [3, 5, -3, 2, -2], lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2,
        lambda x: [np.sum(x) - 5, x[2] - 2 * (x[3] + x[4]) + 3],
    ),
    71: Standard(
        17.0140173, [1, 5, 5, 1], lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], lambda x: [np.sum(x**2) - 40],
        lambda x: [np.prod(x) - 25], [(1, 5)] * 4,
    ),
    76: Standard(
        -4.681818181, [0.5] * 4,
        lambda x: (
            x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2 - x[0] * x[2] + x[2] * x[3]
            - x[0] - 3 * x[1] + x[2] - x[3]
        ),
        None,
        lambda x: [
            5 - x[0] - 2 * x[1] - x[2] - x[3], 4 - 3 * x[0] - x[1] - 2 * x[2] + x[3], x[1] + 4 * x[2] - 1.5
        ],
        [(0, None)] * 4,
    ),
    78: Standard(-2.91970041, [-2, 1.5, 2, -1, -1], np.prod, _five),
    80: Standard(
        0.0539498478, [-2, 2, 2, -1, -1], lambda x: np.exp(np.prod(x)), _five, None,
        [(-2.3, 2.3)] * 2 + [(-3.2, 3.2)] * 3,
    ),
}  # fmt: skip
