"""Smoothed-particle hydrodynamics of a rotating drop: the initial push that throws it at a target.

The density of particle i is ρ_i = Σ_j m W(|x_i - x_j|) with the cubic spline kernel W; the pressure is p = c²
(ρ - ρ0) with ρ0 at rest, and the acceleration is -Σ_j m (p_i/ρ_i² + p_j/ρ_j² + Π_ij) ∇W + g, with Monaghan's
artificial viscosity Π. A symplectic Euler method steps in time. The unknowns are the velocity and the spin of
the drop at the start.

Source: Monaghan, "Smoothed particle hydrodynamics", Annu. Rev. Astron. Astrophys. 30 (1992).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

SPACING = 0.1
LENGTH = 1.3 * SPACING
MASS = SPACING**2
SOUND = 4.0
GRAVITY = np.array([0.0, -1.0])


def kernel(r: np.ndarray) -> np.ndarray:
    """Return the cubic spline kernel in two dimensions."""
    q = r / LENGTH
    inner = 1 - 1.5 * q**2 + 0.75 * q**3
    return 10 / (7 * np.pi * LENGTH**2) * np.where(q < 1, inner, 0.25 * np.maximum(2 - q, 0) ** 3)


def kernel_slope(r: np.ndarray) -> np.ndarray:
    """Return dW/dr divided by r."""
    q = r / LENGTH
    outer = -0.75 * np.maximum(2 - q, 0) ** 2 / np.where(q < 1, 1.0, q)
    return 10 / (7 * np.pi * LENGTH**4) * np.where(q < 1, -3 + 2.25 * q, outer)


def acceleration(x: np.ndarray, v: np.ndarray, viscosity: float = 0.3) -> np.ndarray:
    between = x[:, None] - x
    square = np.sum(between**2, axis=-1)
    r = np.sqrt(square + 1e-12)
    density = MASS * np.sum(kernel(r), axis=1)
    pressure = SOUND**2 * (density - 1)
    approach = np.minimum(np.sum((v[:, None] - v) * between, axis=-1), 0)
    mu = LENGTH * approach / (square + 0.01 * LENGTH**2)
    push = (pressure / density**2)[:, None] + pressure / density**2
    push = push - 2 * viscosity * SOUND * mu / (density[:, None] + density)
    return GRAVITY - MASS * np.sum((push * kernel_slope(r))[:, :, None] * between, axis=1)


def simulate(x: np.ndarray, v: np.ndarray, dt: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(steps):
        v = v + dt * acceleration(x, v)
        x = x + dt * v
    return x, v


def drop(radius: float) -> np.ndarray:
    """Return particles of a disc around zero."""
    line = np.arange(-radius, radius + SPACING / 2, SPACING)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    return grid[np.sum(grid**2, axis=1) <= radius**2 + 1e-9]


def launch(push: np.ndarray, radius: float, dt: float, steps: int) -> np.ndarray:
    """Return the particles of a drop that starts with a velocity and a spin."""
    x = drop(radius)
    spin = np.stack([-x[:, 1], x[:, 0]], axis=1)
    return simulate(x, push[:2] + push[2] * spin, dt, steps)[0]


def miss(push: np.ndarray, target: np.ndarray, width: float, radius: float, dt: float, steps: int) -> float:
    """Return how far the drop is from the target, and how far its radius from a width."""
    x = launch(push, radius, dt, steps)
    centre = np.mean(x, axis=0)
    size = np.sqrt(np.mean(np.sum((x - centre) ** 2, axis=1)))
    return np.sum((centre - target) ** 2) + 10 * (size - width) ** 2


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    target = np.array([0.1, 0.0])
    return lambda push: miss(push, target, 0.1, 0.11, 0.01, 3), (np.array([0.5, 1.0, 2.0]),)


def main(path: str = "particle_hydrodynamics.png") -> None:
    target, width, radius, dt, steps = np.array([1.5, 0.5]), 0.4, 0.35, 0.01, 80
    gradient = wg.value_and_grad(lambda push: miss(push, target, width, radius, dt, steps))
    start = np.array([1.5, 1.0, 3.0])
    found = minimize(gradient, start, jac=True, method="BFGS", options={"maxiter": 12})
    print(f"{len(drop(radius))} particles; velocity {found.x[:2].round(3)}, spin {found.x[2]:.3f}")
    print(f"goal {gradient(start)[0]:.4f} -> {found.fun:.2e}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for count in range(0, steps + 1, steps // 4):
        axes.plot(*launch(found.x, radius, dt, count).T, "o", markersize=3, label=f"t = {count * dt:.1f}")
    axes.plot(*target, "k+", markersize=15)
    axes.set_aspect("equal")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
