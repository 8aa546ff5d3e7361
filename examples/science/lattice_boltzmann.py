"""Topology optimisation of a channel: walls that guide a flow, by the lattice-Boltzmann method.

Nine populations f_i (D2Q9) relax towards the equilibrium w_i ρ (1 + 3 e·u + 9/2 (e·u)² - 3/2 u²) and stream
to neighbours. A body force drives a periodic channel between solid walls. A porosity field α(s) in [0, 1]
slows the flow, u ← (1 - α) u, where material stands. The design, of a given amount of material, sends as much
momentum as possible through the upper half of the outlet.

Sources: Qian, d'Humières, Lallemand, "Lattice BGK models for Navier-Stokes equation", Europhys. Lett. 17
(1992); Pingen, Evgrafov, Maute, "Topology optimization of flow domains using the lattice Boltzmann method",
Struct. Multidiscip. Optim. 34 (2007).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

E = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def equilibrium(density: np.ndarray, ux: np.ndarray, uy: np.ndarray) -> np.ndarray:
    along = E[:, 0, None, None] * ux + E[:, 1, None, None] * uy
    return W[:, None, None] * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * (ux**2 + uy**2))


def velocity(f: np.ndarray, open_share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the density and the velocity, slowed by the material."""
    density = np.sum(f, axis=0)
    ux, uy = np.tensordot(E.T, f, axes=1)
    return density, open_share * ux / density, open_share * uy / density


def step(f: np.ndarray, open_share: np.ndarray, force: float, tau: float) -> np.ndarray:
    """Collide, push, stream, and bounce off the walls above and below."""
    density, ux, uy = velocity(f, open_share)
    f = f + (equilibrium(density, ux + tau * force, uy) - f) / tau
    for i in range(9):
        f[i] = np.roll(f[i], E[i], axis=(0, 1))
    wall = np.zeros(f.shape[1:], bool)
    wall[:, [0, -1]] = True
    return np.where(wall, f[OPPOSITE], f)


def flow(
    design: np.ndarray, steps: int, force: float = 2e-4, tau: float = 0.8
) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocity after some steps from rest."""
    open_share = 1 / (1 + np.exp(4 * design))
    f = equilibrium(np.ones(design.shape), np.zeros(design.shape), np.zeros(design.shape))
    for _ in range(steps):
        f = step(f, open_share, force, tau)
    _, ux, uy = velocity(f, open_share)
    return ux, uy


def goal(design: np.ndarray, steps: int, share: float) -> float:
    """Return the flux through the lower part of the outlet minus that through the upper, and the price of material."""
    ux, _ = flow(design, steps)
    outlet = ux[-1]
    half = len(outlet) // 2
    material = np.mean(1 / (1 + np.exp(-4 * design)))
    return 100 * (np.sum(outlet[:half]) - np.sum(outlet[half:])) + 100 * (material - share) ** 2


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    return lambda design: goal(design, 2, 0.2), (0.5 * np.sin(np.arange(30.0)).reshape(6, 5) - 1,)


def main(path: str = "lattice_boltzmann.png") -> None:
    shape, steps = (48, 24), 120
    gradient = wg.value_and_grad(lambda v: goal(v.reshape(shape), steps, 0.2))
    start = np.full(shape, -1.0)
    bounds = [(-2, 2)] * start.size
    found = minimize(
        gradient, start.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 14}
    )
    design = found.x.reshape(shape)
    ux, uy = flow(design, steps)
    upper = np.sum(ux[-1, 12:]) / np.sum(np.abs(ux[-1]))
    print(f"goal {gradient(start.ravel())[0]:.2f} -> {found.fun:.2f}; {upper:.0%} of the flow leaves above")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    top.imshow(design.T, cmap="gray_r", origin="lower")
    top.set_title("material")
    bottom.imshow(np.hypot(ux, uy).T, cmap="magma", origin="lower")
    bottom.quiver(*np.mgrid[0:48:2, 0:24:2], ux[::2, ::2], uy[::2, ::2], color="w")
    bottom.set_title("speed")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
