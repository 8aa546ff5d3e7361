"""Export a training step, and the likelihood of a Kalman filter with its gradient, as C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

RATE = 0.05


def mean_square_error(params: Any, x: Any, y: Any) -> Any:
    """Return the mean square error of a line."""
    return np.mean((x * params["slope"] + params["offset"] - y) ** 2)


@wg.jit(donate=0)
def step(params: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the parameters after a step of gradient descent, and the error before it."""
    value, gradient = wg.value_and_grad(mean_square_error)(params, x, y)
    return {name: params[name] - RATE * gradient[name] for name in params}, value


def negative_log_likelihood(logarithms: Any, observed: Any) -> Any:
    """Return -log p(observed) of a random walk that is seen with noise, by its Kalman filter.

    Args:
        logarithms: of the variances of the walk's steps and of the noise.
        observed: float64 (times,).
    """
    moved, noise = np.exp(logarithms[0]), np.exp(logarithms[1])

    def update(state: Any, y: Any) -> tuple[Any, Any]:
        mean, variance = state
        variance = variance + moved
        spread = variance + noise
        off = y - mean
        gain = variance / spread
        return (mean + gain * off, (1.0 - gain) * variance), 0.5 * (
            np.log(2 * np.pi * spread) + off**2 / spread
        )

    _, terms = wg.scan(update, (0.0, 10.0), observed)
    return np.sum(terms)


def main(folder: Path) -> None:
    """Write the files of both functions."""
    r = np.random.default_rng(0)
    params = {"slope": np.zeros(1), "offset": np.zeros(1)}
    wg.export(step, params, np.linspace(-1, 1, 20), np.zeros(20)).c(folder / "step")
    walk = np.cumsum(0.5 * r.normal(size=100)) + r.normal(size=100)
    wg.export(wg.value_and_grad(negative_log_likelihood), np.zeros(2), walk).c(folder / "likelihood")
    values = ", ".join(map(repr, walk.tolist()))
    (folder / "walk.h").write_text(f"static const double walk[{len(walk)}] = {{{values}}};\n")


if __name__ == "__main__":
    main(Path(__file__).parent)
