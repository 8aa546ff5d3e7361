"""A Kalman smoother with a local linear trend: level and slope of a noisy series with gaps, and its three variances.

The state (level, slope) moves by x_t = F x_{t-1} + noise(Q), and y_t = H x_t + noise(R). The filter's
prediction errors give the likelihood; the Rauch-Tung-Striebel recursion runs backwards through the filtered
means and covariances. Where an observation is missing, the filter only predicts.

Sources: Rauch, Tung, Striebel, "Maximum likelihood estimates of linear dynamic systems", AIAA J. 3 (1965);
Durbin and Koopman, "Time Series Analysis by State Space Methods" (2012).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

F = np.array([[1.0, 1.0], [0.0, 1.0]])
H = np.array([1.0, 0.0])


def filtered(log_deviations: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the means and covariances of all states given the past, and the log-likelihood."""
    level, slope, noise = np.exp(2 * log_deviations)
    Q = np.diag(np.stack([level, slope]))
    means, covariances = np.zeros((len(y), 2)), np.zeros((len(y), 2, 2))
    m, P, likelihood = np.zeros(2), 100.0 * np.eye(2), 0.0
    for t in range(len(y)):
        m, P = F @ m, F @ P @ F.T + Q
        if np.isfinite(y[t]):
            S = H @ P @ H + noise
            error = y[t] - H @ m
            gain = P @ H / S
            m, P = m + gain * error, P - np.outer(gain, H @ P)
            likelihood -= 0.5 * (np.log(2 * np.pi * S) + error**2 / S)
        means[t], covariances[t] = m, P
    return means, covariances, likelihood


def smoothed(log_deviations: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and covariances of all states given the whole series."""
    means, covariances, _ = filtered(log_deviations, y)
    Q = np.diag(np.exp(2 * log_deviations[:2]))
    for t in range(len(y) - 2, -1, -1):
        predicted = F @ covariances[t] @ F.T + Q
        gain = np.linalg.solve(predicted, F @ covariances[t]).T
        means[t] += gain @ (means[t + 1] - F @ means[t])
        covariances[t] += gain @ (covariances[t + 1] - predicted) @ gain.T
    return means, covariances


def negative_log_likelihood(log_deviations: np.ndarray, y: np.ndarray) -> float:
    return -filtered(log_deviations, y)[2]


def simulate(count: int, deviations: tuple[float, float, float], rng: np.random.Generator) -> np.ndarray:
    """Return a level and observations of it with two gaps."""
    slope = np.cumsum(deviations[1] * rng.standard_normal(count))
    level = np.cumsum(slope + deviations[0] * rng.standard_normal(count))
    y = level + deviations[2] * rng.standard_normal(count)
    y[count // 3 : count // 3 + count // 8] = np.nan
    y[3 * count // 4 : 3 * count // 4 + count // 10] = np.nan
    return np.stack([level, y])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the likelihood less the roughness of the smoothed slope, and its arguments at a small size."""
    y = np.array([0.1, 0.4, np.nan, 1.2])

    def goal(log_deviations: np.ndarray) -> float:
        slopes = smoothed(log_deviations, y)[0][:, 1]
        return negative_log_likelihood(log_deviations, y) + np.sum(np.diff(slopes) ** 2)

    return goal, (np.array([-0.5, -1.0, -0.3]),)


def main(path: str = "kalman_smoother.png") -> None:
    truth = (0.3, 0.05, 1.0)
    level, y = simulate(240, truth, np.random.default_rng(1))
    gradient = wg.value_and_grad(lambda p: negative_log_likelihood(p, y))
    found = minimize(gradient, np.array([-1.0, -2.0, -0.5]), jac=True, method="BFGS")
    print(f"standard deviations {np.exp(found.x).round(3)}, the truth {truth}")
    means, covariances = smoothed(found.x, y)
    deviation = np.sqrt(covariances[:, 0, 0])
    print(
        f"{np.mean(np.abs(means[:, 0] - level) < 1.96 * deviation):.0%} of the levels lie inside the 95% band"
    )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(y, ".", color="grey", markersize=3, label="observations")
    axes.plot(level, "k", linewidth=0.8, label="true level")
    axes.plot(means[:, 0], label="smoothed level")
    band = means[:, 0] - 1.96 * deviation, means[:, 0] + 1.96 * deviation
    axes.fill_between(np.arange(len(y)), *band, alpha=0.3)
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
