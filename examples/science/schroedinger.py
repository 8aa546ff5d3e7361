"""Optimal control of a quantum particle: a force in time that lifts it to the first excited state.

The state obeys i dψ/dt = (-1/2 d²/dx² + V(x) - u(t) x) ψ in the anharmonic well V = x²/2 + x⁴/10. A step of
the split-step Fourier method is ψ ← exp(-i dt V/2) F⁻¹ exp(-i dt k²/2) F exp(-i dt V/2) ψ. The goal is the
infidelity 1 - |<ψ1|ψ(T)>|² plus a price for the energy of the pulse.

Sources: Feit, Fleck, Steiger, "Solution of the Schrödinger equation by a spectral method", J. Comput. Phys.
47 (1982); Khaneja and others, "Optimal control of coupled spin dynamics", J. Magn. Reson. 172 (2005).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg


def grid(points: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and wave numbers."""
    x = (np.arange(points) - points // 2) * (width / points)
    return x, 2 * np.pi * np.fft.fftfreq(points, width / points)


def well(x: np.ndarray) -> np.ndarray:
    return x**2 / 2 + x**4 / 10


def bound_states(x: np.ndarray, k: np.ndarray, count: int) -> np.ndarray:
    """Return the lowest eigenfunctions of the well, one a row, of unit norm."""
    kinetic = np.fft.ifft(k[:, None] ** 2 / 2 * np.fft.fft(np.eye(len(x)), axis=0), axis=0).real
    _, vectors = np.linalg.eigh(kinetic + np.diag(well(x)))
    return vectors[:, :count].T / np.sqrt(x[1] - x[0])


def propagate(pulse: np.ndarray, psi: np.ndarray, x: np.ndarray, k: np.ndarray, dt: float) -> np.ndarray:
    """Return the state after a pulse with one force for each step."""
    drift = np.exp(-0.5j * dt * k**2)
    for force in pulse:
        kick = np.exp(-0.5j * dt * (well(x) - force * x))
        psi = kick * np.fft.ifft(drift * np.fft.fft(kick * psi))
    return psi


def transfer(points: int, steps: int, duration: float) -> tuple[Callable[..., float], Callable[..., float]]:
    """Return the goal and the probability of the excited state, as functions of the pulse."""
    x, k = grid(points, 12.0)
    ground, excited = bound_states(x, k, 2)
    dt = duration / steps

    def probability(pulse: np.ndarray) -> float:
        psi = propagate(pulse, ground, x, k, dt)
        overlap = np.sum(excited * psi) * (x[1] - x[0])
        return np.abs(overlap) ** 2

    def goal(pulse: np.ndarray) -> float:
        return 1 - probability(pulse) + 1e-4 * np.sum(pulse**2) * dt

    return goal, probability


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    goal, _ = transfer(points=16, steps=6, duration=1.0)
    return goal, (np.sin(np.arange(6.0)),)


def main(path: str = "schroedinger.png") -> None:
    steps, duration = 150, 12.0
    goal, probability = transfer(64, steps, duration)
    time = (np.arange(steps) + 0.5) * duration / steps
    start = 0.3 * np.sin(1.2 * time) * np.sin(np.pi * time / duration)
    best = minimize(wg.value_and_grad(goal), start, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
    print(
        f"excited state: {probability(start):.3f} with the first pulse, {probability(best):.5f} with the best"
    )

    from matplotlib.figure import Figure

    x, k = grid(64, 12.0)
    ground, excited = bound_states(x, k, 2)
    final = propagate(best, ground, x, k, duration / steps)
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(time, start, label="first pulse")
    left.plot(time, best, label="best pulse")
    left.set(xlabel="time", ylabel="force")
    left.legend()
    right.plot(x, ground**2, ":", label="ground state")
    right.plot(x, np.abs(final) ** 2, label="after the pulse")
    right.plot(x, excited**2, "--", label="excited state")
    right.set(xlabel="x", ylabel="probability density")
    right.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
