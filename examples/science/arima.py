"""An ARIMA(2,1,1) model of a series: conditional likelihood, errors and a forecast.

The differences w_t = y_t - y_{t-1} follow w_t = μ + φ1 (w_{t-1} - μ) + φ2 (w_{t-2} - μ) + e_t + θ e_{t-1}
with independent normal e_t. Given the first values, the innovations e_t come one after another, and the
likelihood is that of e_t ~ N(0, σ²). A forecast sets later innovations to zero; its variance sums the squared
weights ψ_j of past innovations.

Source: Box, Jenkins, Reinsel, Ljung, "Time Series Analysis" (2015), chapters 5 and 7.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

import wengert as wg

NAMES = ("mean", "phi 1", "phi 2", "theta", "log sigma")


def innovations(w: np.ndarray, mean: float, phi: np.ndarray, theta: float) -> np.ndarray:
    """Return the innovations of differences; the first two are zero."""
    d = w - mean
    e = np.zeros(len(w))
    for t in range(2, len(w)):
        e[t] = d[t] - phi[0] * d[t - 1] - phi[1] * d[t - 2] - theta * e[t - 1]
    return e


def negative_log_likelihood(parameters: np.ndarray, w: np.ndarray) -> float:
    mean, phi, theta, log_sigma = parameters[0], parameters[1:3], parameters[3], parameters[4]
    e = innovations(w, mean, phi, theta)
    return -np.sum(norm.logpdf(e[2:], scale=np.exp(log_sigma)))


def simulate(parameters: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return a series of the model."""
    mean, phi, theta, log_sigma = parameters[0], parameters[1:3], parameters[3], parameters[4]
    e = np.exp(log_sigma) * rng.standard_normal(count + 100)
    d = np.zeros(count + 100)
    for t in range(2, len(d)):
        d[t] = phi[0] * d[t - 1] + phi[1] * d[t - 2] + e[t] + theta * e[t - 1]
    return np.cumsum(d[100:] + mean)


def forecast(parameters: np.ndarray, y: np.ndarray, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected values after the end of a series, and their standard deviations."""
    mean, phi, theta, log_sigma = parameters[0], parameters[1:3], parameters[3], parameters[4]
    w = np.diff(y)
    e = innovations(w, mean, phi, theta)
    d, psi = list(w - mean), [0.0, 1.0]
    for step in range(horizon):
        d.append(phi[0] * d[-1] + phi[1] * d[-2] + (theta * e[-1] if step == 0 else 0))
        psi.append(phi[0] * psi[-1] + phi[1] * psi[-2] + (theta if step == 0 else 0))
    weights = np.cumsum(psi[1:-1])
    return y[-1] + np.cumsum(np.array(d[-horizon:]) + mean), np.exp(log_sigma) * np.sqrt(
        np.cumsum(weights**2)
    )


TRUTH = np.array([0.2, 1.1, -0.5, 0.4, 0.0])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments, parameters and differences, at a small size."""
    w = np.diff(simulate(TRUTH, 8, np.random.default_rng(0)))
    return negative_log_likelihood, (np.array([0.0, 0.3, 0.1, 0.2, 0.1]), w)


def main(path: str = "arima.png") -> None:
    y = simulate(TRUTH, 640, np.random.default_rng(2))
    known, later = y[:600], y[600:]

    def goal(parameters: np.ndarray) -> float:
        return negative_log_likelihood(parameters, np.diff(known))

    bounds = [(None, None)] * 3 + [(-0.95, 0.95), (None, None)]
    found = minimize(wg.value_and_grad(goal), np.zeros(5), jac=True, method="L-BFGS-B", bounds=bounds)
    errors = np.sqrt(np.diag(np.linalg.inv(wg.hessian(goal)(found.x))))
    for name, estimate, error, true in zip(NAMES, found.x, errors, TRUTH, strict=True):
        print(f"{name:10} {estimate:6.3f} ± {error:.3f}, the truth {true}")
    expected, deviation = forecast(found.x, known, len(later))
    inside = np.mean(np.abs(later - expected) < 1.96 * deviation)
    print(f"{inside:.0%} of the later values lie inside the 95% band")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(np.arange(500, 640), y[500:], "k", linewidth=1, label="series")
    axes.plot(np.arange(600, 640), expected, label="forecast")
    band = expected - 1.96 * deviation, expected + 1.96 * deviation
    axes.fill_between(np.arange(600, 640), *band, alpha=0.3, label="95% band")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
