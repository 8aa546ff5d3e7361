"""Gaussian-process regression: which kernel explains a series best, by the marginal likelihood.

With K the kernel matrix of the inputs and σ² the noise, -log p(y) = ½ yᵀ (K + σ² I)⁻¹ y + Σ log L_ii + n/2
log 2π, where L Lᵀ = K + σ² I. The kernels are the squared exponential, Matérn's of order 5/2, the rational
quadratic, and a sum of a trend and a season whose shape decays. Logarithms of the parameters are fitted by
BFGS.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2, 4 and 5.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

import wengert as wg

Kernel = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def squared_exponential(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.exp(2 * p[0] - cdist(a / np.exp(p[1]), b / np.exp(p[1]), "sqeuclidean") / 2)


def matern(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    r = np.sqrt(5) * cdist(a, b) / np.exp(p[1])
    return np.exp(2 * p[0]) * (1 + r + r**2 / 3) * np.exp(-r)


def rational_quadratic(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    square = cdist(a, b, "sqeuclidean") / np.exp(2 * p[1])
    return np.exp(2 * p[0]) * (1 + square / (2 * np.exp(p[2]))) ** -np.exp(p[2])


def periodic(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the kernel of functions of the period 1."""
    return np.exp(2 * p[0] - 2 * np.sin(np.pi * cdist(a, b)) ** 2 / np.exp(2 * p[1]))


def trend_and_season(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    decay = np.exp(-cdist(a, b, "sqeuclidean") / (2 * np.exp(2 * p[4])))
    return squared_exponential(p[:2], a, b) + periodic(p[2:4], a, b) * decay


KERNELS: dict[str, tuple[Kernel, np.ndarray]] = {
    "squared exponential": (squared_exponential, np.array([0.0, 0.0])),
    "Matérn 5/2": (matern, np.array([0.0, 0.0])),
    "rational quadratic": (rational_quadratic, np.array([0.0, 0.0, 0.0])),
    "trend and season": (trend_and_season, np.array([0.0, 1.0, -0.5, 0.0, 2.0])),
}


def negative_log_likelihood(parameters: np.ndarray, kernel: Kernel, x: np.ndarray, y: np.ndarray) -> float:
    """Return the negative logarithm of the marginal likelihood; the last parameter is that of the noise."""
    K = kernel(parameters[:-1], x, x) + np.exp(2 * parameters[-1]) * np.eye(len(x))
    factor = cho_factor(K, lower=True)
    logarithms = np.sum(np.log(np.diag(factor[0])))
    return 0.5 * y @ cho_solve(factor, y) + logarithms + 0.5 * len(x) * np.log(2 * np.pi)


def predict(
    parameters: np.ndarray, kernel: Kernel, x: np.ndarray, y: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation at new inputs."""
    factor = cho_factor(kernel(parameters[:-1], x, x) + np.exp(2 * parameters[-1]) * np.eye(len(x)))
    between = kernel(parameters[:-1], new, x)
    variance = np.diag(kernel(parameters[:-1], new, new)) - np.sum(
        between.T * cho_solve(factor, between.T), axis=0
    )
    return between @ cho_solve(factor, y), np.sqrt(np.maximum(variance, 0))


def series(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a series like monthly concentrations of carbon dioxide, of unit scale."""
    t = np.sort(rng.uniform(0, 10, count))
    y = 0.02 * t**2 - 0.4 + 0.5 * np.sin(2 * np.pi * t) + 0.15 * np.cos(4 * np.pi * t)
    return t[:, None], y + 0.1 * rng.standard_normal(count)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the sum over all kernels and its arguments at a small size."""
    x, y = series(7, np.random.default_rng(0))
    kernels = [kernel for kernel, _ in KERNELS.values()]

    def goal(*parameters: np.ndarray) -> float:
        pairs = zip(parameters, kernels, strict=True)
        return sum(negative_log_likelihood(p, kernel, x, y) for p, kernel in pairs)

    return goal, tuple(np.append(p, -1.0) for _, p in KERNELS.values())


def main(path: str = "gaussian_process.png") -> None:
    from matplotlib.figure import Figure

    x, y = series(120, np.random.default_rng(0))
    new = np.linspace(0, 13, 400)[:, None]
    figure = Figure(figsize=(10, 6), layout="constrained")
    for axes, (name, (kernel, start)) in zip(figure.subplots(2, 2).flat, KERNELS.items(), strict=True):
        goal = wg.jit(wg.value_and_grad(lambda p, kernel=kernel: negative_log_likelihood(p, kernel, x, y)))
        found = minimize(goal, np.append(start, -1.0), jac=True, method="BFGS", options={"gtol": 1e-3})
        noise = np.exp(found.x[-1])
        print(f"{name:20} log-likelihood {-found.fun:7.2f}, noise {noise:.3f}, {found.nit} iterations")
        mean, deviation = predict(found.x, kernel, x, y, new)
        axes.plot(x[:, 0], y, ".", color="grey", markersize=3)
        axes.plot(new[:, 0], mean)
        axes.fill_between(new[:, 0], mean - 2 * deviation, mean + 2 * deviation, alpha=0.3)
        axes.set(title=f"{name}: {-found.fun:.1f}", ylim=(-2, 5))
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
