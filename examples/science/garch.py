"""Volatility of returns: the likelihood of a GARCH(1,1) model with Student's t shocks.

The variance of a day follows h_t = ω + α r²_{t-1} + β h_{t-1}; the return r_t is √h_t times a shock with
Student's t distribution of unit variance and ν degrees of freedom. Free variables keep ω, α, β > 0, α + β < 1
and ν > 2. The inverse Hessian of the negative log-likelihood gives standard errors.

Sources: Bollerslev, "Generalized autoregressive conditional heteroskedasticity", J. Econometrics 31 (1986);
"A conditionally heteroskedastic time series model for speculative prices and rates of return", Rev. Econ.
Stat. 69 (1987).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.optimize import minimize

import wengert as wg

NAMES = ("variance", "alpha", "beta", "degrees of freedom")


def natural(x: np.ndarray) -> tuple[float, float, float, float]:
    """Return the long-run variance, α, β and ν of free variables."""
    persistence = 1 / (1 + np.exp(-x[1]))
    share = 1 / (1 + np.exp(-x[2]))
    return np.exp(x[0]), persistence * share, persistence * (1 - share), 2 + np.exp(x[3])


def variances(returns: np.ndarray, level: float, alpha: float, beta: float) -> np.ndarray:
    """Return the variance of each day, from the long-run variance at the start."""
    h = np.zeros(len(returns))
    h[0] = level
    for t in range(1, len(returns)):
        h[t] = level * (1 - alpha - beta) + alpha * returns[t - 1] ** 2 + beta * h[t - 1]
    return h


def negative_log_likelihood(x: np.ndarray, returns: np.ndarray) -> float:
    level, alpha, beta, freedom = natural(x)
    scale = np.sqrt(variances(returns, level, alpha, beta) * (freedom - 2) / freedom)
    return -np.sum(stats.t.logpdf(returns, freedom, scale=scale))


def simulate(level: float, alpha: float, beta: float, freedom: float, days: int, seed: int) -> np.ndarray:
    """Return returns of a model after a year of warming up."""
    shocks = stats.t.rvs(freedom, size=days + 250, random_state=seed) * np.sqrt((freedom - 2) / freedom)
    r, h = np.zeros(len(shocks)), level
    for t, shock in enumerate(shocks):
        r[t] = np.sqrt(h) * shock
        h = level * (1 - alpha - beta) + alpha * r[t] ** 2 + beta * h
    return r[250:]


START = np.array([0.0, 2.0, -2.0, 1.5])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    returns = simulate(1.2, 0.1, 0.85, 6.0, 6, seed=0)
    return lambda x: negative_log_likelihood(x, returns), (START,)


def main(path: str = "garch.png") -> None:
    truth = (1.2, 0.1, 0.85, 6.0)
    returns = simulate(*truth, 1000, seed=1)

    def goal(x: np.ndarray) -> float:
        return negative_log_likelihood(x, returns)

    found = minimize(wg.value_and_grad(goal), START, jac=True, method="BFGS", options={"gtol": 1e-3})
    estimates = np.array(natural(found.x))
    slopes = np.stack([wg.grad(lambda x, i=i: natural(x)[i])(found.x) for i in range(4)])
    errors = np.sqrt(np.diag(slopes @ np.linalg.inv(wg.hessian(goal)(found.x)) @ slopes.T))
    for name, estimate, error, true in zip(NAMES, estimates, errors, truth, strict=True):
        print(f"{name:18} {estimate:.3f} ± {error:.3f}, the truth {true}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(returns, color="grey", linewidth=0.5, label="returns")
    deviation = np.sqrt(variances(returns, *estimates[:3]))
    axes.plot(2 * deviation, "C3", linewidth=1, label="two standard deviations")
    axes.plot(-2 * deviation, "C3", linewidth=1)
    axes.set(xlabel="day", ylabel="return / %")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
