"""Hamiltonian Monte Carlo of the two-dimensional φ⁴ field on a lattice: magnetisation across the phase transition.

The action S(φ) = Σ_x -2κ φ(x) Σ_μ φ(x + μ) + φ(x)² + λ (φ(x)² - 1)² defines the density exp(-S). A leapfrog
trajectory of H = p²/2 + S proposes a field, which is accepted with the probability min(1, exp(-ΔH)). The
identity <exp(-ΔH)> = 1 checks integrator and gradient.

Sources: Duane, Kennedy, Pendleton, Roweth, "Hybrid Monte Carlo", Phys. Lett. B 195 (1987); Montvay and
Münster, "Quantum Fields on a Lattice" (1994).
"""

import sys
from collections.abc import Callable

import numpy as np

import wengert as wg

Gradient = Callable[[np.ndarray, float], np.ndarray]


def action(field: np.ndarray, kappa: float, coupling: float = 0.5) -> float:
    neighbours = np.roll(field, 1, axis=0) + np.roll(field, 1, axis=1)
    square = field**2
    return np.sum(-2 * kappa * field * neighbours + square + coupling * (square - 1) ** 2)


def leapfrog(
    field: np.ndarray, momentum: np.ndarray, kappa: float, gradient: Gradient, step: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    momentum = momentum - step / 2 * gradient(field, kappa)
    for _ in range(steps - 1):
        field = field + step * momentum
        momentum = momentum - step * gradient(field, kappa)
    field = field + step * momentum
    return field, momentum - step / 2 * gradient(field, kappa)


def energy(field: np.ndarray, momentum: np.ndarray, kappa: float) -> float:
    return 0.5 * np.sum(momentum**2) + action(field, kappa)


def sample(
    field: np.ndarray, kappa: float, gradient: Gradient, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the last field, the mean fields of all turns, and the changes of the energy."""
    means, changes = [], []
    for _ in range(count):
        momentum = rng.standard_normal(field.shape)
        proposal, last = leapfrog(field, momentum, kappa, gradient, 0.12, 10)
        change = energy(proposal, last, kappa) - energy(field, momentum, kappa)
        if rng.random() < np.exp(-change):
            field = proposal
        means.append(np.mean(field))
        changes.append(change)
    return field, np.array(means), np.array(changes)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the energy after a leapfrog trajectory, and its arguments: field, momentum and κ, at a small size."""

    def goal(field: np.ndarray, momentum: np.ndarray, kappa: float) -> float:
        end, last = leapfrog(field, momentum, kappa, wg.grad(action), 0.2, 2)
        return energy(end, last, kappa) + np.sum(end)

    field = np.sin(np.arange(9.0)).reshape(3, 3)
    return goal, (field, np.cos(np.arange(9.0)).reshape(3, 3), 0.25)


def main(path: str = "hamiltonian_monte_carlo.png") -> None:
    rng, size = np.random.default_rng(0), 16
    gradient = wg.jit(wg.grad(action))
    kappas = np.linspace(0.22, 0.42, 9)
    field, magnetisation, fields, changes = rng.standard_normal((size, size)), [], [], []
    for kappa in kappas:
        field, _, _ = sample(field, kappa, gradient, 200, rng)
        field, means, change = sample(field, kappa, gradient, 600, rng)
        magnetisation.append(np.mean(np.abs(means)))
        fields.append(field)
        changes.append(change)
    every = np.concatenate(changes)
    print(
        f"accepted {np.mean(np.minimum(1, np.exp(-every))):.1%}; <exp(-ΔH)> = {np.mean(np.exp(-every)):.3f}"
    )
    print(
        "magnetisation:",
        dict(zip(kappas.round(2).tolist(), np.round(magnetisation, 3).tolist(), strict=True)),
    )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    left, *panels = figure.subplots(1, 3)
    left.plot(kappas, magnetisation, "o-")
    left.set(xlabel="κ", ylabel="|magnetisation|")
    for axes, index in zip(panels, (0, -1), strict=True):
        axes.imshow(fields[index], cmap="RdBu", vmin=-2, vmax=2)
        axes.set_title(f"a field at κ = {kappas[index]:.2f}")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
