"""Molecular dynamics of a Lennard-Jones cluster: the icosahedron of 13 atoms, its vibrations and trajectories.

The energy is U = 4 Σ_{i<j} (r⁻¹² - r⁻⁶), the forces are -∇U, and the velocity Verlet method steps in time.
Quenches from random starts find the known minimum -44.326801; the Hessian there gives the vibrations. The
derivative of the mean kinetic energy of a trajectory in the temperature at its start runs through forces,
which are gradients themselves.

Sources: Verlet, "Computer experiments on classical fluids", Phys. Rev. 159 (1967); Hoare and Pal, "Physical
cluster mechanics", Adv. Phys. 20 (1971).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg


def energy(positions: np.ndarray) -> float:
    """Return the potential energy of atoms, one a row."""
    i, j = np.triu_indices(len(positions), 1)
    square = np.sum((positions[i] - positions[j]) ** 2, axis=1)
    return 4 * np.sum(square**-6 - square**-3)


def force(positions: np.ndarray) -> np.ndarray:
    return -wg.grad(energy)(positions)


def verlet(x: np.ndarray, v: np.ndarray, dt: float, steps: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return positions, velocities and the kinetic energies after each step."""
    kinetic, f = [], force(x)
    for _ in range(steps):
        v = v + dt / 2 * f
        x = x + dt * v
        f = force(x)
        v = v + dt / 2 * f
        kinetic.append(0.5 * np.sum(v**2))
    return x, v, kinetic


def mean_kinetic_energy(
    temperature: float, x: np.ndarray, directions: np.ndarray, dt: float, steps: int
) -> float:
    """Return the mean over a trajectory that starts at a minimum, with velocities of a temperature."""
    _, _, kinetic = verlet(x, np.sqrt(temperature) * directions, dt, steps)
    return sum(kinetic) / steps


def lattice(count: int) -> np.ndarray:
    """Return the points of a cubic lattice that are nearest to its middle."""
    points = np.stack(np.meshgrid(*[np.arange(-2.0, 3.0)] * 3), axis=-1).reshape(-1, 3)
    return 1.1 * points[np.argsort(np.sum((points - 0.1) ** 2, axis=1))[:count]]


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments, the temperature and the positions, at a small size."""
    directions = np.cos(np.arange(12.0)).reshape(4, 3)
    return lambda t, x: mean_kinetic_energy(t, x, directions, 0.01, 2), (0.3, lattice(4))


def main(path: str = "lennard_jones.png") -> None:
    atoms, rng = 13, np.random.default_rng(0)
    fast = wg.jit(wg.value_and_grad(lambda v: energy(v.reshape(atoms, 3))))
    quenches = []
    for _ in range(60):
        start = (lattice(atoms) + 0.4 * rng.standard_normal((atoms, 3))).ravel()
        quenches.append(minimize(fast, start, jac=True, method="BFGS"))
    best = min(quenches, key=lambda q: q.fun)
    print(f"lowest energy {best.fun:.6f}, the literature's -44.326801")
    curvature = np.linalg.eigvalsh(wg.jit(wg.hessian(lambda v: energy(v.reshape(atoms, 3))))(best.x))
    frequencies = np.sqrt(curvature[6:]) / (2 * np.pi)
    print(f"six zero modes: {np.max(np.abs(curvature[:6])):.0e}; lowest vibration {frequencies[0]:.4f}")

    x, directions = best.x.reshape(atoms, 3), rng.standard_normal((atoms, 3))
    directions = directions - np.mean(directions, axis=0)
    mean, slope = wg.value_and_grad(mean_kinetic_energy)(0.05, x, directions, 0.01, 150)
    print(f"mean kinetic energy {mean:.4f}, its derivative in the temperature {slope:.3f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist([q.fun for q in quenches], 30)
    left.set(xlabel="energy of a quench", ylabel="count")
    right.stem(frequencies)
    right.set(xlabel="mode", ylabel="frequency")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
