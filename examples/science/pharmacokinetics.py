"""Two-compartment pharmacokinetics with saturable elimination: a patient's parameters from concentrations in blood.

A dose D is absorbed from the gut at the rate ka, exchanges between blood and tissue, and leaves by Michaelis-
Menten kinetics: A' = -ka A, C' = ka A / V - Vm C / (Km + C) - k12 C + k21 P, P' = k12 C - k21 P. The
classical Runge-Kutta method integrates; the residuals are logarithms of concentrations. Gauss-Newton steps
with exact Jacobians, and log-normal priors, as in a population analysis, give the most probable parameters
and their errors.

Source: Gabrielsson and Weiner, "Pharmacokinetic and Pharmacodynamic Data Analysis" (2016).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

import wengert as wg

NAMES = ("ka", "V", "Vm", "Km", "k12", "k21")
TYPICAL = np.log([1.2, 20.0, 1.0, 1.5, 0.6, 0.4])
SPREAD = np.array([0.5, 0.3, 0.4, 0.5, 0.4, 0.4])


def rates(state: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Return the time derivatives of the amount in the gut and the concentrations in blood and tissue."""
    gut, blood, tissue = state
    ka, volume, fastest, half, to_tissue, back = parameters
    exchange = to_tissue * blood - back * tissue
    return np.array([-ka * gut, ka * gut / volume - fastest * blood / (half + blood) - exchange, exchange])


def concentrations(logarithms: np.ndarray, dose: float, times: np.ndarray, steps: int) -> np.ndarray:
    """Return the concentrations in blood at rising times, with some Runge-Kutta steps between."""
    parameters = np.exp(logarithms)
    state, before, blood = np.array([dose, 0.0, 0.0]), 0.0, []
    for time in times:
        h = (time - before) / steps
        for _ in range(steps):
            k1 = rates(state, parameters)
            k2 = rates(state + h / 2 * k1, parameters)
            k3 = rates(state + h / 2 * k2, parameters)
            k4 = rates(state + h * k3, parameters)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        before = time
        blood.append(state[1])
    return np.array(blood)


def residuals(
    logarithms: np.ndarray, dose: float, times: np.ndarray, measured: np.ndarray, noise: float, steps: int
) -> np.ndarray:
    """Return the standardised differences to the measurements and to the typical patient."""
    fit = np.log(concentrations(logarithms, dose, times, steps)) - np.log(measured)
    return np.concatenate([fit / noise, (logarithms - TYPICAL) / SPREAD])


def case() -> tuple[Callable[..., float], tuple]:
    """Return half the sum of squares and its arguments, the parameters and the dose, at a small size."""
    times = np.array([0.5, 1.0])

    def goal(logarithms: np.ndarray, dose: float) -> float:
        return 0.5 * np.sum(residuals(logarithms, dose, times, np.array([2.0, 2.5]), 0.2, 1) ** 2)

    return goal, (TYPICAL + 0.1, 100.0)


def main(path: str = "pharmacokinetics.png") -> None:
    rng = np.random.default_rng(3)
    times = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0])
    truth, noise = TYPICAL + SPREAD * rng.standard_normal(6), 0.08
    measured = concentrations(truth, 100.0, times, 8) * np.exp(noise * rng.standard_normal(len(times)))

    def difference(logarithms: np.ndarray) -> np.ndarray:
        return residuals(logarithms, 100.0, times, measured, noise, 4)

    found = least_squares(difference, TYPICAL, jac=wg.jacobian(difference))
    errors = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    for name, estimate, error, true in zip(NAMES, found.x, errors, truth, strict=True):
        print(
            f"{name:4} {np.exp(estimate):7.3f} ± {np.exp(estimate) * error:.3f}, the truth {np.exp(true):.3f}"
        )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    fine = np.linspace(0.1, 12, 120)
    for values, style, label in ((TYPICAL, ":", "typical"), (truth, "--", "truth"), (found.x, "-", "fit")):
        axes.plot(fine, concentrations(values, 100.0, fine, 2), style, label=label)
    axes.plot(times, measured, "ko", label="measured")
    axes.set(xlabel="time / h", ylabel="concentration / (mg/l)", yscale="log")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
