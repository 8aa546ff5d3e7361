"""Cox's proportional hazards: effects of covariates on survival, from the partial likelihood.

The hazard of a patient with covariates x is h(t) exp(x · β) with an unknown h. The partial likelihood
multiplies, over the deaths, exp(x_i · β) / Σ_{j at risk} exp(x_j · β). With patients sorted by falling time,
the sums over those at risk are running sums. Newton's method takes a few steps; the inverse Hessian gives
standard errors, and Breslow's estimate the baseline.

Sources: Cox, "Regression models and life-tables", J. R. Stat. Soc. B 34 (1972); Breslow, discussion of it.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import wengert as wg


class Patients(NamedTuple):
    """Patients by falling time: the times, whether they died then, and covariates, one row a patient."""

    time: np.ndarray
    died: np.ndarray
    covariates: np.ndarray


def simulate(count: int, effects: np.ndarray, rng: np.random.Generator) -> Patients:
    """Return patients with Weibull survival, some of whom leave the study early."""
    x = np.stack([rng.integers(0, 2, count), rng.normal(0, 1, count), rng.normal(0, 1, count)], axis=1)
    survival = (rng.exponential(size=count) / np.exp(x @ effects)) ** (1 / 1.5)
    leaving = rng.exponential(1.5, count)
    time, died = np.minimum(survival, leaving), survival <= leaving
    order = np.argsort(-time)
    return Patients(time[order], died[order], x[order])


def negative_log_likelihood(effects: np.ndarray, patients: Patients, ridge: float = 0.0) -> float:
    """Return the negative logarithm of the partial likelihood; all times are distinct."""
    score = patients.covariates @ effects
    at_risk = np.logaddexp.accumulate(score)
    return np.sum((at_risk - score)[patients.died]) + 0.5 * ridge * np.sum(effects**2)


def breslow(effects: np.ndarray, patients: Patients) -> tuple[np.ndarray, np.ndarray]:
    """Return times and the cumulative baseline hazard."""
    at_risk = np.cumsum(np.exp(patients.covariates @ effects))
    steps = (patients.died / at_risk)[::-1]
    return patients.time[::-1], np.cumsum(steps)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    patients = simulate(12, np.array([0.8, -0.5, 0.0]), np.random.default_rng(0))
    return lambda b: negative_log_likelihood(b, patients, 0.1), (np.array([0.5, -0.2, 0.1]),)


def main(path: str = "cox_regression.png") -> None:
    truth = np.array([0.8, -0.5, 0.0])
    patients = simulate(600, truth, np.random.default_rng(2))

    def goal(effects: np.ndarray) -> float:
        return negative_log_likelihood(effects, patients)

    gradient, hessian = wg.jit(wg.grad(goal)), wg.jit(wg.hessian(goal))
    effects = np.zeros(3)
    for _ in range(6):
        effects = effects - np.linalg.solve(hessian(effects), gradient(effects))
    errors = np.sqrt(np.diag(np.linalg.inv(hessian(effects))))
    print(f"{np.sum(patients.died)} deaths among {len(patients.died)} patients")
    for name, effect, error, true in zip(("treatment", "age", "noise"), effects, errors, truth, strict=True):
        low, high = np.exp(effect - 1.96 * error), np.exp(effect + 1.96 * error)
        print(
            f"{name:10} hazard ratio {np.exp(effect):.2f} ({low:.2f} to {high:.2f}), the truth {np.exp(true):.2f}"
        )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    time, hazard = breslow(effects, patients)
    for treated in (0, 1):
        axes.step(time, np.exp(-hazard * np.exp(effects[0] * treated)), label=("control", "treated")[treated])
    axes.plot(time, np.exp(-(time**1.5)), "k:", label="control, true")
    axes.set(xlabel="time", ylabel="surviving", xlim=(0, 2))
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
