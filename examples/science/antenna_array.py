"""Low side lobes of a thinned antenna array: positions and phases of equal elements that steer a beam.

The array factor in the direction u = sin θ is AF(u) = Σ_n exp(i (2π x_n u + φ_n)), with positions in wave
lengths. The goal is a smooth maximum (the p-norm) of |AF|² over the side lobes, relative to the beam at u0,
with a price for elements that stand closer than half a wave length.

Sources: Balanis, "Antenna Theory" (2016), chapters 6 and 7; Unz, "Linear arrays with arbitrarily distributed
elements", IRE Trans. Antennas Propag. 8 (1960).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg


def array_factor(positions: np.ndarray, phases: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the complex array factor in each direction."""
    return np.sum(np.exp(1j * (2 * np.pi * np.outer(u, positions) + phases)), axis=1)


def side_lobe_level(
    positions: np.ndarray, phases: np.ndarray, u: np.ndarray, beam: float, p: float = 8.0
) -> float:
    """Return the p-norm of the power in the directions u, in decibels below the beam."""
    side = np.abs(array_factor(positions, phases, u)) ** 2
    main_lobe = np.abs(array_factor(positions, phases, np.array([beam]))[0]) ** 2
    return 10 * np.log10(np.mean((side / main_lobe) ** p) ** (1 / p))


def crowding(positions: np.ndarray) -> float:
    """Return the squared amounts by which neighbours are closer than half a wave length."""
    return np.sum(np.maximum(0.5 - np.diff(positions), 0) ** 2)


def goal(positions: np.ndarray, phases: np.ndarray, u: np.ndarray, beam: float) -> float:
    return side_lobe_level(positions, phases, u, beam) + 100 * crowding(positions)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    u = np.linspace(-1, 0.4, 12)
    positions = np.array([0.0, 0.55, 1.2, 1.62, 2.4])
    return lambda x, phases: goal(x, phases, u, 0.7), (positions, -2 * np.pi * 0.7 * positions + 0.1)


def main(path: str = "antenna_array.png") -> None:
    elements, beam, width = 24, 0.3, 0.075
    every = np.linspace(-1, 1, 1001)
    u = every[np.abs(every - beam) > width]
    positions = np.cumsum(np.full(elements, 0.58)) - 0.58
    start = np.concatenate([positions, -2 * np.pi * beam * positions])
    fast = wg.jit(wg.value_and_grad(lambda v: goal(v[:elements], v[elements:], u, beam)))
    found = minimize(fast, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x

    def decibels(v: np.ndarray) -> np.ndarray:
        power = np.abs(array_factor(v[:elements], v[elements:], every)) ** 2
        return 10 * np.log10(power / np.max(power) + 1e-6)

    outside = np.abs(every - beam) > width
    first, last = (np.max(decibels(v)[outside]) for v in (start, found))
    print(f"highest side lobe: {first:.1f} dB with equal gaps, {last:.1f} dB after the optimisation")
    print(f"smallest gap: {np.min(np.diff(found[:elements])):.2f} wave lengths")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(every, decibels(start), color="grey", linewidth=0.8, label="equal gaps")
    axes.plot(every, decibels(found), label="optimised")
    axes.set(xlabel="sin θ", ylabel="power / dB", ylim=(-40, 1))
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
