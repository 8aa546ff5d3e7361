"""A damped oscillator from samples at irregular times: a continuous state-space model by matrix exponentials.

dx = A x dt + noise, A = [[0, 1], [-ω², -2ζω]], observed as y = x1 + noise. Over a gap τ the state moves by Φ
= exp(A τ) and its covariance grows by Q(τ) = ∫ exp(A s) q bbᵀ exp(Aᵀ s) ds. Van Loan's exponential of the
block matrix [[-A, q bbᵀ], [0, Aᵀ]] τ gives both. The Kalman filter's prediction errors make the likelihood of
ω, ζ, q and the noise.

Sources: Van Loan, "Computing integrals involving the matrix exponential", IEEE Trans. Autom. Control 23
(1978); Jones, "Fitting a continuous time autoregression to discrete data" (1981).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.optimize import minimize

import wengert as wg

NAMES = ("frequency", "damping", "force", "noise")
B = np.diag([0.0, 1.0])


def dynamics(frequency: float, damping: float) -> np.ndarray:
    return np.array([[0.0, 1.0], [-(frequency**2), -2 * damping * frequency]])


def transition(A: np.ndarray, power: float, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the motion and the growth of the covariance over a gap."""
    blocks = expm(np.block([[-A, power * B], [np.zeros((2, 2)), A.T]]) * gap)
    motion = blocks[2:, 2:].T
    return motion, motion @ blocks[:2, 2:]


def negative_log_likelihood(parameters: np.ndarray, times: np.ndarray, y: np.ndarray) -> float:
    """Return the negative log-likelihood; the parameters are logarithms."""
    frequency, damping, force, noise = np.exp(parameters)
    A = dynamics(frequency, damping)
    m, P = np.zeros(2), solve_continuous_lyapunov(A, -(force**2) * B)  # the stationary covariance
    total, before = 0.0, times[0]
    for time, value in zip(times, y, strict=True):
        motion, growth = transition(A, force**2, time - before)
        m, P = motion @ m, motion @ P @ motion.T + growth
        S = P[0, 0] + noise**2
        error, gain = value - m[0], P[:, 0] / S
        m, P = m + gain * error, P - np.outer(gain, P[0])
        total += 0.5 * (np.log(2 * np.pi * S) + error**2 / S)
        before = time
    return total


def simulate(parameters: np.ndarray, times: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    frequency, damping, force, noise = np.exp(parameters)
    A, y = dynamics(frequency, damping), []
    x = rng.multivariate_normal(np.zeros(2), solve_continuous_lyapunov(A, -(force**2) * B))
    for gap in np.diff(times, prepend=times[0]):
        motion, growth = transition(A, force**2, gap)
        x = motion @ x + rng.multivariate_normal(np.zeros(2), (growth + growth.T) / 2)
        y.append(x[0] + noise * rng.standard_normal())
    return np.array(y)


TRUTH = np.log([1.5, 0.08, 0.5, 0.2])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    times, y = np.array([0.0, 0.7, 1.9]), np.array([0.3, -0.1, -0.5])
    return lambda p: negative_log_likelihood(p, times, y), (TRUTH + 0.1,)


def main(path: str = "state_space.png") -> None:
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.exponential(0.6, 150))
    y = simulate(TRUTH, times, rng)

    def goal(parameters: np.ndarray) -> float:
        return negative_log_likelihood(parameters, times, y)

    start = np.log([1.2, 0.3, 0.3, 0.4])
    found = minimize(wg.value_and_grad(goal), start, jac=True, method="BFGS", options={"gtol": 1e-2})
    for name, estimate, true in zip(NAMES, np.exp(found.x), np.exp(TRUTH), strict=True):
        print(f"{name:10} {estimate:.3f}, the truth {true:.3f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    top.plot(times, y, ".-", linewidth=0.5)
    top.set(xlabel="time", ylabel="observed")
    w = np.linspace(0.3, 4, 400)
    for values, style, label in ((TRUTH, "k--", "truth"), (found.x, "C1", "estimate")):
        frequency, damping, force, _ = np.exp(values)
        bottom.semilogy(
            w, force**2 / np.abs(frequency**2 - w**2 + 2j * damping * frequency * w) ** 2, style, label=label
        )
    bottom.set(xlabel="angular frequency", ylabel="power density")
    bottom.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
