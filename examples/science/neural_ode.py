"""A neural ordinary differential equation: the law of a spiral from noisy samples.

The unknown right-hand side of dy/dt = f(y) is a small network f(y) = W2 tanh(W1 y³ + b1) + b2. The classical
Runge-Kutta method integrates it from each sample over a short window, and Adam reduces the difference to the
samples that follow: gradients flow through the solver (discretise, then optimise).

Source: Chen, Rubanova, Bettencourt, Duvenaud, "Neural ordinary differential equations", NeurIPS (2018).
"""

import sys
from collections.abc import Callable

import numpy as np

import wengert as wg

Parameters = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def network(parameters: Parameters, y: np.ndarray) -> np.ndarray:
    """Return the right-hand side for states, one a row."""
    W1, b1, W2, b2 = parameters
    return np.tanh(y**3 @ W1 + b1) @ W2 + b2


def runge_kutta(
    f: Callable[[np.ndarray], np.ndarray], y: np.ndarray, dt: float, steps: int
) -> list[np.ndarray]:
    """Return the states after each step."""
    states = []
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + dt / 2 * k1)
        k3 = f(y + dt / 2 * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(y)
    return states


def spiral(y: np.ndarray) -> np.ndarray:
    """Return the true law."""
    return y**3 @ np.array([[-0.1, 2.0], [-2.0, -0.1]]).T


def loss(
    W1: np.ndarray, b1: np.ndarray, W2: np.ndarray, b2: np.ndarray, samples: np.ndarray, dt: float
) -> float:
    """Return the mean squared difference of windows; `samples` has the axes step, window and component."""
    states = runge_kutta(lambda y: network((W1, b1, W2, b2), y), samples[0], dt, len(samples) - 1)
    return np.mean((np.stack(states) - samples[1:]) ** 2)


def start(hidden: int, rng: np.random.Generator) -> Parameters:
    return rng.normal(0, 0.5, (2, hidden)), np.zeros(hidden), rng.normal(0, 0.1, (hidden, 2)), np.zeros(2)


def windows(path: np.ndarray, width: int) -> np.ndarray:
    """Return all windows of a path, with the axes step, window and component."""
    return np.stack([path[i : len(path) - width + i + 1] for i in range(width)])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the loss and its arguments at a small size."""
    rng = np.random.default_rng(0)
    samples = windows(np.stack(runge_kutta(spiral, np.array([1.5, 0.3]), 0.1, 6)), 3)
    return lambda *parameters: loss(*parameters, samples, 0.1), start(4, rng)


def adam(
    gradient: Callable[..., tuple], parameters: Parameters, rate: float, steps: int
) -> tuple[Parameters, list]:
    """Return parameters after steps of Adam, and the losses."""
    first, second = [0.0] * 4, [0.0] * 4
    losses = []
    for step in range(1, steps + 1):
        value, slopes = gradient(*parameters)
        losses.append(value)
        first = [0.9 * m + 0.1 * g for m, g in zip(first, slopes, strict=True)]
        second = [0.999 * v + 0.001 * g**2 for v, g in zip(second, slopes, strict=True)]
        moves = [
            m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
            for m, v in zip(first, second, strict=True)
        ]
        parameters = tuple(p - rate * (1 - step / steps) * m for p, m in zip(parameters, moves, strict=True))
    return parameters, losses


def main(path: str = "neural_ode.png") -> None:
    dt, rng = 0.025, np.random.default_rng(0)
    truth = np.stack(runge_kutta(spiral, np.array([2.0, 0.0]), dt, 400))
    samples = windows(truth + 0.005 * rng.standard_normal(truth.shape), 8)
    gradient = wg.jit(wg.value_and_grad(lambda *p: loss(*p, samples, dt), argnums=(0, 1, 2, 3)))
    parameters, losses = adam(gradient, start(24, rng), 0.02, 1500)
    learned = np.stack(runge_kutta(lambda y: network(parameters, y), np.array([2.0, 0.0]), dt, 400))
    error = np.sqrt(np.mean((learned - truth) ** 2))
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f}; error of the whole learned path: {error:.3f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(*truth.T, ".", markersize=3, label="truth")
    left.plot(*learned.T, label="learned, from the first state alone")
    left.legend()
    right.semilogy(losses)
    right.set(xlabel="step", ylabel="loss")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
