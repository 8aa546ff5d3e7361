"""Sums of squares: Moré, Garbow and Hillstrom, "Testing Unconstrained Optimization Software", ACM TOMS 7, 1981.

The numbers are those of the article; the least sums of squares are the published ones. The four problems whose Jacobian
has no full rank at the solution (13, 22, 33, 34) are left out, for such a minimum is not isolated or not certified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Squares(NamedTuple):
    """Residuals whose sum of squares is minimised."""

    values: tuple[float, ...]
    """The published local minima."""
    start: Any
    residuals: Callable[[Any], Any]


def _numbers(text: str) -> Any:
    return np.array(text.split(), float)


BARD = _numbers(".14 .18 .22 .25 .29 .32 .35 .39 .37 .58 .73 .96 1.34 2.10 4.39")
GAUSS = _numbers(".0009 .0044 .0175 .0540 .1295 .2420 .3521 .3989 .3521 .2420 .1295 .0540 .0175 .0044 .0009")
MEYER = _numbers("34780 28610 23650 19630 16370 13720 11540 9744 8261 7030 6005 5147 4427 3820 3307 2872")
KOWALIK = _numbers(".1957 .1947 .1735 .1600 .0844 .0627 .0456 .0342 .0323 .0235 .0246")
KOWALIK_U = _numbers("4 2 1 .5 .25 .167 .125 .1 .0833 .0714 .0625")
OSBORNE_1 = _numbers(
    ".844 .908 .932 .936 .925 .908 .881 .850 .818 .784 .751 .718 .685 .658 .628 .603 .580 .558 .538 .522 .506 .490 "
    ".478 .467 .457 .448 .438 .431 .424 .420 .414 .411 .406"
)
OSBORNE_2 = _numbers(
    "1.366 1.191 1.112 1.013 .991 .885 .831 .847 .786 .725 .746 .679 .608 .655 .616 .606 .602 .626 .651 .724 .649 .649 "
    ".694 .644 .624 .661 .612 .558 .533 .495 .500 .423 .395 .375 .372 .391 .396 .405 .428 .429 .523 .562 .607 .653 "
    ".672 .708 .633 .668 .645 .632 .591 .559 .597 .625 .739 .710 .729 .720 .636 .581 .428 .292 .162 .098 .054"
)
I10, I15, I16 = (np.arange(1.0, n + 1) for n in (10, 15, 16))
R = np.sqrt


def _helix(x: Any) -> Any:
    angle = np.arctan(x[1] / x[0]) / (2 * np.pi) + np.where(x[0] < 0, 0.5, 0.0)
    return np.stack([10 * (x[2] - 10 * angle), 10 * (R(x[0] ** 2 + x[1] ** 2) - 1), x[2]])


def _gulf(x: Any) -> Any:
    t = np.arange(1.0, 100) / 100
    y = 25 + (-50 * np.log(t)) ** (2 / 3)
    return np.exp(-(np.abs(y - x[1]) ** x[2]) / x[0]) - t


def _biggs(x: Any) -> Any:
    t = 0.1 * np.arange(1.0, 14)
    y = np.exp(-t) - 5 * np.exp(-10 * t) + 3 * np.exp(-4 * t)
    return x[2] * np.exp(-t * x[0]) - x[3] * np.exp(-t * x[1]) + x[5] * np.exp(-t * x[4]) - y


def _osborne_2(x: Any) -> Any:
    t = np.arange(65) / 10
    bells = sum(x[k + 1] * np.exp(-((t - x[k + 8]) ** 2) * x[k + 5]) for k in range(3))
    return OSBORNE_2 - x[0] * np.exp(-t * x[4]) - bells


def _watson(x: Any) -> Any:
    n = len(x)
    t = np.arange(1.0, 30)[:, None] / 29
    slopes, powers = np.arange(1, n) * t ** np.arange(n - 1), t ** np.arange(n)
    return np.concatenate([slopes @ x[1:] - (powers @ x) ** 2 - 1, np.stack([x[0], x[1] - x[0] ** 2 - 1])])


def _penalty_2(x: Any) -> Any:
    n, a = len(x), R(1e-5)
    i = np.arange(2.0, n + 1)
    e = np.exp(x / 10)
    return np.concatenate(
        [
            x[:1] - 0.2,
            a * (e[1:] + e[:-1] - np.exp(i / 10) - np.exp((i - 1) / 10)),
            a * (e[1:] - np.exp(-0.1)),
            np.sum(np.arange(n, 0, -1) * x**2)[None] - 1,
        ]
    )


def _integral_equation(x: Any) -> Any:
    n = len(x)
    t = np.arange(1, n + 1) / (n + 1)
    kernel = np.where(t[None] <= t[:, None], (1 - t[:, None]) * t[None], t[:, None] * (1 - t[None]))
    return x + kernel @ (x + t + 1) ** 3 / (2 * (n + 1))


def _boundary_values(x: Any) -> Any:
    n = len(x)
    t, padded = np.arange(1, n + 1) / (n + 1), np.pad(x, 1)
    return 2 * x - padded[:-2] - padded[2:] + (x + t + 1) ** 3 / (2 * (n + 1) ** 2)


def _banded(x: Any) -> Any:
    n = len(x)
    near = np.array(
        [[j != i and max(0, i - 5) <= j <= min(n - 1, i + 1) for j in range(n)] for i in range(n)], float
    )
    return x * (2 + 5 * x**2) + 1 - near @ (x * (1 + x))


def _tridiagonal(x: Any) -> Any:
    padded = np.pad(x, 1)
    return (3 - 2 * x) * x - padded[:-2] - 2 * padded[2:] + 1


def _chebyquad(x: Any) -> Any:
    n = len(x)
    y, before, now, means = 2 * x - 1, np.ones(n), 2 * x - 1, []
    for k in range(1, n + 1):
        integral = -1 / (k**2 - 1) if k % 2 == 0 else 0.0
        means.append(np.mean(now) - integral)
        before, now = now, 2 * y * now - before
    return np.stack(means)


def _bard(x: Any) -> Any:
    v = 16 - I15
    return BARD - (x[0] + I15 / (v * x[1] + np.minimum(I15, v) * x[2]))


def _kowalik(x: Any) -> Any:
    u = KOWALIK_U
    return KOWALIK - x[0] * (u**2 + u * x[1]) / (u**2 + u * x[2] + x[3])


def _brown_dennis(x: Any) -> Any:
    t = np.arange(1, 21) / 5
    return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2


def _osborne_1(x: Any) -> Any:
    t = 10.0 * np.arange(33)
    return OSBORNE_1 - (x[0] + x[1] * np.exp(-t * x[3]) + x[2] * np.exp(-t * x[4]))


def _trigonometric(x: Any) -> Any:
    n = len(x)
    return n - np.sum(np.cos(x)) + np.arange(1, n + 1) * (1 - np.cos(x)) - np.sin(x)


def _variably(x: Any) -> Any:
    total = np.sum(np.arange(1, len(x) + 1) * (x - 1))
    return np.concatenate([x - 1, np.stack([total, total**2])])


PROBLEMS: dict[int, Squares] = {
    1: Squares((0.0,), [-1.2, 1], lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])),
    2: Squares(
        (0.0, 48.9842), [0.5, -2],
        lambda x: np.stack(
            [-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]]
        ),
    ),
    3: Squares((0.0,), [0, 1], lambda x: np.stack([1e4 * x[0] * x[1] - 1, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001])),
    4: Squares((0.0,), [1, 1], lambda x: np.stack([x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2])),
    5: Squares((0.0,), [1, 1], lambda x: np.array([1.5, 2.25, 2.625]) - x[0] * (1 - x[1] ** np.arange(1, 4))),
    6: Squares((124.362,), [0.3, 0.4], lambda x: 2 + 2 * I10 - np.exp(I10 * x[0]) - np.exp(I10 * x[1])),
    7: Squares((0.0,), [-1, 0, 0], _helix),
    8: Squares((8.21487e-3,), [1, 1, 1], _bard),
    9: Squares((1.12793e-8,), [0.4, 1, 0], lambda x: x[0] * np.exp(-x[1] * ((8 - I15) / 2 - x[2]) ** 2 / 2) - GAUSS),
    10: Squares((87.9458,), [0.02, 4000, 250], lambda x: x[0] * np.exp(x[1] / (45 + 5 * I16 + x[2])) - MEYER),
    11: Squares((0.0,), [5, 2.5, 0.15], _gulf),
    12: Squares(
        (0.0,), [0, 10, 20],
        lambda x: np.exp(-I10 / 10 * x[0]) - np.exp(-I10 / 10 * x[1]) - x[2] * (np.exp(-I10 / 10) - np.exp(-I10)),
    ),
    14: Squares(
        (0.0,), [-3, -1, -3, -1],
        lambda x: np.stack(
            [
                10 * (x[1] - x[0] ** 2), 1 - x[0], R(90) * (x[3] - x[2] ** 2), 1 - x[2],
                R(10) * (x[1] + x[3] - 2), (x[1] - x[3]) / R(10),
            ]
        ),
    ),
    15: Squares((3.07505e-4,), [0.25, 0.39, 0.415, 0.39], _kowalik),
    16: Squares((85822.2,), [25, 5, -5, -1], _brown_dennis),
    17: Squares((5.46489e-5,), [0.5, 1.5, -1, 0.01, 0.02], _osborne_1),
    18: Squares((0.0, 5.65565e-3), [1, 2, 1, 1, 1, 1], _biggs),
    19: Squares((4.01377e-2,), [1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5], _osborne_2),
    20: Squares((2.28767e-3,), [0] * 6, _watson),
    21: Squares((0.0,), [-1.2, 1] * 5, lambda x: np.concatenate([10 * (x[1::2] - x[::2] ** 2), 1 - x[::2]])),
    23: Squares(
        (7.08765e-5,), I10, lambda x: np.concatenate([R(1e-5) * (x - 1), np.sum(x**2)[None] - 0.25])
    ),
    24: Squares((9.37629e-6,), [0.5] * 4, _penalty_2),
    25: Squares((0.0,), 1 - I10 / 10, _variably),
    26: Squares((0.0, 2.79506e-5), [0.1] * 10, _trigonometric),
    27: Squares(
        (0.0, 1.0), [0.5] * 10, lambda x: np.concatenate([x[:-1] + np.sum(x) - 11, np.prod(x)[None] - 1])
    ),
    28: Squares((0.0,), I10 / 11 * (I10 / 11 - 1), _boundary_values),
    29: Squares((0.0,), I10 / 11 * (I10 / 11 - 1), _integral_equation),
    30: Squares((0.0,), [-1] * 10, _tridiagonal),
    31: Squares((0.0,), [-1] * 10, _banded),
    32: Squares((10.0,), [1] * 10, lambda x: np.concatenate([x, np.zeros(10)]) - np.sum(x) / 10 - 1),
    35: Squares((3.51687e-3,), np.arange(1, 9) / 9, _chebyquad),
}  # fmt: skip
