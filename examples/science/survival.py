"""Parametric survival analysis: the family that fits censored lifetimes best, and the median life with its error.

A failure at t adds log f(t) to the log-likelihood, a unit that still runs at t adds log S(t), with the
density f and the survival function S of the family. Akaike's criterion compares exponential, Weibull, log-
normal and gamma families. The error of the median follows from the inverse Hessian by the delta method.

Source: Lawless, "Statistical Models and Methods for Lifetime Data" (2003), chapters 4 and 5.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.optimize import minimize

import wengert as wg

# The number of shape parameters of each family; a scale follows, all as logarithms.
FAMILIES = {
    "exponential": (stats.expon, 0),
    "Weibull": (stats.weibull_min, 1),
    "log-normal": (stats.lognorm, 1),
    "gamma": (stats.gamma, 1),
}


def negative_log_likelihood(
    parameters: np.ndarray, family: stats.rv_continuous, times: np.ndarray, failed: np.ndarray
) -> float:
    *shapes, scale = np.exp(parameters)
    failures = family.logpdf(times[failed], *shapes, scale=scale)
    survivors = family.logsf(times[~failed], *shapes, scale=scale)
    return -np.sum(failures) - np.sum(survivors)


def log_median(parameters: np.ndarray, family: stats.rv_continuous) -> float:
    *shapes, scale = np.exp(parameters)
    return np.log(family.ppf(0.5, *shapes, scale=scale))


def simulate(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return times, and whether a unit failed then, of a test that ends."""
    lives = stats.weibull_min.rvs(2.2, scale=100.0, size=count, random_state=rng)
    ends = rng.uniform(60, 160, count)
    return np.minimum(lives, ends), lives <= ends


def case() -> tuple[Callable[..., float], tuple]:
    """Return the sum over all families and its arguments at a small size."""
    times, failed = simulate(8, np.random.default_rng(0))
    families = [family for family, _ in FAMILIES.values()]

    def goal(*parameters: np.ndarray) -> float:
        pairs = zip(parameters, families, strict=True)
        return sum(
            negative_log_likelihood(p, family, times, failed) + log_median(p, family) for p, family in pairs
        )

    return goal, tuple(np.log([1.3] * shapes + [80.0]) for _, shapes in FAMILIES.values())


def main(path: str = "survival.png") -> None:
    from matplotlib.figure import Figure

    times, failed = simulate(150, np.random.default_rng(0))
    print(f"{np.sum(failed)} of {len(times)} units failed")
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    order = np.argsort(times)
    at_risk = len(times) - np.arange(len(times))
    axes.step(times[order], np.cumprod(1 - failed[order] / at_risk), "k", where="post", label="Kaplan-Meier")
    fine = np.linspace(1, 160, 200)
    for name, (family, shapes) in FAMILIES.items():

        def goal(p: np.ndarray, family: stats.rv_continuous = family) -> float:
            return negative_log_likelihood(p, family, times, failed)

        start = np.log([1.0] * shapes + [np.mean(times)])
        found = minimize(
            wg.jit(wg.value_and_grad(goal)), start, jac=True, method="BFGS", options={"gtol": 1e-4}
        )
        median, slope = wg.value_and_grad(lambda p, family=family: log_median(p, family))(found.x)
        error = np.exp(median) * np.sqrt(slope @ np.linalg.solve(wg.hessian(goal)(found.x), slope))
        criterion = 2 * (shapes + 1) + 2 * found.fun
        print(f"{name:12} Akaike's criterion {criterion:.2f}, median life {np.exp(median):.1f} ± {error:.1f}")
        *shape, scale = np.exp(found.x)
        axes.plot(fine, family.sf(fine, *shape, scale=scale), label=name)
    axes.set(xlabel="hours", ylabel="surviving")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
