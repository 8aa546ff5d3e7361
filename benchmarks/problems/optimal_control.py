"""Problems of optimal control, and their collocation by the trapezoidal rule, in one text for NumPy and CasADi.

The states and controls at the nodes are rows of one matrix; the last number is the duration where it is free. COPS:
Dolan, Moré and Munson, "Benchmarking optimization software with COPS 3.0", 2004. Kelly: "An introduction to
trajectory optimization", SIAM Review 59, 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Control(NamedTuple):
    """Minimise a cost of states and controls subject to ``x' = f(x, u)``, bounds, and values at both ends."""

    states: int
    controls: int
    nodes: int
    dynamics: Callable[[Any, Any, Any], list[Any]]
    """``(states, controls, functions) -> slopes``, rows each."""
    cost: Callable[[Any, Any, Any, Any], Any]
    """``(states, controls, step, functions) -> number``."""
    lower: list[float]
    """Of the states and the controls."""
    upper: list[float]
    first: list[float | None]
    last: list[float | None]
    guess: Callable[[Any], list[Any]]
    """``shares of the duration -> rows``."""
    duration: float | tuple[float, float, float]
    """The duration; where it is free, the lower bound, the guess and the upper bound."""
    value: float | None
    """The least cost of the continuous problem."""
    source: str

    @property
    def is_free(self) -> bool:
        """Whether the duration is a variable."""
        return isinstance(self.duration, tuple)

    @property
    def size(self) -> int:
        """The number of variables."""
        return (self.states + self.controls) * self.nodes + self.is_free

    def parts(self, x: Any) -> tuple[list[Any], list[Any], Any]:
        """Return the states, the controls and the step that a vector holds."""
        n, count = self.nodes, self.states + self.controls
        rows = [x[k * n : (k + 1) * n] for k in range(count)]
        duration = x[count * n] if self.is_free else self.duration
        return rows[: self.states], rows[self.states :], duration / (n - 1)

    def objective(self, x: Any, functions: Any = np) -> Any:
        """Return the cost."""
        states, controls, step = self.parts(x)
        return self.cost(states, controls, step, functions)

    def defects(self, x: Any, functions: Any = np) -> list[Any]:
        """Return by how much each step of each state differs from the trapezoidal rule."""
        states, controls, step = self.parts(x)
        slopes = self.dynamics(states, controls, functions)
        return [s[1:] - s[:-1] - 0.5 * step * (f[1:] + f[:-1]) for s, f in zip(states, slopes, strict=True)]

    def bounds(self) -> tuple[Any, Any]:
        """Return the bounds of the vector; the values at both ends are bounds, too."""
        low, high = (
            np.repeat(np.array(limits, float)[:, None], self.nodes, axis=1)
            for limits in (self.lower, self.upper)
        )
        for place, values in ((0, self.first), (-1, self.last)):
            for row, value in enumerate(values):
                if value is not None:
                    low[row, place] = high[row, place] = value
        ends = (
            [np.array([self.duration[0]]), np.array([self.duration[2]])]
            if self.is_free
            else [np.zeros(0)] * 2
        )  # type: ignore[index]
        return np.concatenate([low.ravel(), ends[0]]), np.concatenate([high.ravel(), ends[1]])

    def start(self) -> Any:
        """Return the guess, within the bounds."""
        shares = np.linspace(0.0, 1.0, self.nodes)
        rows = [np.broadcast_to(np.asarray(row, float), self.nodes) for row in self.guess(shares)]
        end = [np.array([self.duration[1]])] if self.is_free else []  # type: ignore[index]
        return np.clip(np.concatenate([*rows, *end]), *self.bounds())


def integral(values: Any, step: Any) -> Any:
    """Return the integral of values at the nodes by the trapezoidal rule."""
    inner = values[1:] + values[:-1]
    return 0.5 * step * (inner.sum() if isinstance(inner, np.ndarray) else _sum(inner))


def _sum(values: Any) -> Any:
    try:
        import casadi
    except ImportError:
        return values.sum()
    return casadi.sum1(values) if isinstance(values, (casadi.SX, casadi.MX)) else values.sum()


# -- the problems ---------------------------------------------------------------------------------------

G = 9.81


def cart_pole(x: Any, u: Any, m: Any) -> list[Any]:
    """Kelly's cart of 1 kg with a pole of 0.3 kg and 0.5 m."""
    (_, angle, speed, turn), (force,) = x, u
    heavy, light, length = 1.0, 0.3, 0.5
    s, c = m.sin(angle), m.cos(angle)
    below = heavy + light * s * s
    along = (length * light * s * turn**2 + force + light * G * c * s) / below
    around = -(length * light * c * s * turn**2 + force * c + (heavy + light) * G * s) / (length * below)
    return [speed, turn, along, around]


def goddard(x: Any, u: Any, m: Any) -> list[Any]:
    """COPS: a rocket with drag, scaled to the height, mass and gravity at the start."""
    (height, speed, mass), (thrust,) = x, u
    drag = 310.0 * speed**2 * m.exp(-500.0 * (height - 1.0))
    return [speed, (thrust - drag) / mass - 1.0 / height**2, -2.0 * thrust]


def steering(x: Any, u: Any, m: Any) -> list[Any]:
    """COPS: a particle with an acceleration of 100 whose angle is the control."""
    (_, _, along, up), (angle,) = x, u
    return [along, up, 100.0 * m.cos(angle), 100.0 * m.sin(angle)]


def brachistochrone(x: Any, u: Any, m: Any) -> list[Any]:
    """A bead on a wire, whose angle is the control."""
    (_, _, speed), (angle,) = x, u
    return [speed * m.sin(angle), speed * m.cos(angle), G * m.cos(angle)]


def _cycloid(width: float, depth: float) -> float:
    """Return the shortest time of a bead: the cycloid ``x = r (t - sin t), y = r (1 - cos t)``."""
    low, high = 1e-6, 2 * np.pi - 1e-6
    for _ in range(200):
        middle = 0.5 * (low + high)
        slope = (middle - np.sin(middle)) / (1 - np.cos(middle))
        low, high = (middle, high) if slope < width / depth else (low, middle)
    return float(low * np.sqrt(depth / (1 - np.cos(low)) / G))


INF = np.inf
PROBLEMS = {
    "brachistochrone": Control(
        3, 1, 500, brachistochrone, lambda x, u, h, m: 499 * h,
        [0, 0, 0, 0], [INF, INF, INF, np.pi], [0, 0, 0, None], [2, 2, None, None],
        lambda s: [2 * s, 2 * s, 5 * s, 0.8], (0.1, 1.0, 5.0), _cycloid(2.0, 2.0), "cycloid",
    ),
    "cart and pole": Control(
        4, 1, 1001, cart_pole, lambda x, u, h, m: integral(u[0] ** 2, h),
        [-2, -INF, -INF, -INF, -20], [2, INF, INF, INF, 20], [0, 0, 0, 0, None], [1, np.pi, 0, 0, None],
        lambda s: [s, np.pi * s, 0, 0, 0], 2.0, None, "Kelly",
    ),
    "Bryson and Denham": Control(
        2, 1, 2001, lambda x, u, m: [x[1], u[0]], lambda x, u, h, m: 0.5 * integral(u[0] ** 2, h),
        [-INF, -INF, -INF], [1 / 9, INF, INF], [0, 1, None], [0, -1, None],
        lambda s: [0, 1 - 2 * s, -2], 1.0, 4.0, "Bryson and Ho, 1975",
    ),
    "Goddard's rocket": Control(
        3, 1, 2001, goddard, lambda x, u, h, m: -x[0][2000],
        [1, 0, 0.6, 0], [INF, INF, 1, 3.5], [1, 0, 1, None], [None, None, 0.6, None],
        lambda s: [1, s * (1 - s), 1 - 0.4 * s, 1.75], (0.01, 0.2, 1.0), -1.01283, "COPS",
    ),
    "particle steering": Control(
        4, 1, 3999, steering, lambda x, u, h, m: 3998 * h,
        [-INF, -INF, -INF, -INF, -np.pi / 2], [INF, INF, INF, INF, np.pi / 2],
        [0, 0, 0, 0, None], [None, 5, 45, 0, None],
        lambda s: [45 * s, 5 * s, 45 * s, 0, 0], (0.01, 1.0, 10.0), 0.554577, "COPS",
    ),
}  # fmt: skip
