"""Directions of migrating birds: a mixture of von Mises distributions on the circle.

The density is Σ_k π_k exp(κ_k cos(θ - μ_k)) / (2π I0(κ_k)), with weights π from a softmax. BFGS on the exact
gradient of the log-likelihood fits weights, means and concentrations; Akaike's criterion 2 (parameters) - 2
log L chooses the number of components.

Source: Mardia and Jupp, "Directional Statistics" (2000), sections 3.5 and 5.5.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import i0e, logsumexp

import wengert as wg


def log_density(parameters: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the log-density at angles; the rows of the parameters are scores, means and log κ of the components."""
    scores, means, log_kappa = parameters
    kappa = np.exp(log_kappa)
    components = kappa * (np.cos(angles[:, None] - means) - 1) - np.log(2 * np.pi * i0e(kappa))
    return logsumexp(components + scores - logsumexp(scores), axis=1)


def negative_log_likelihood(parameters: np.ndarray, angles: np.ndarray) -> float:
    return -np.sum(log_density(parameters, angles))


def start(components: int) -> np.ndarray:
    """Return equal weights, means around the circle, and moderate concentrations."""
    means = np.linspace(-np.pi, np.pi, components, endpoint=False) + 0.4
    return np.stack([np.zeros(components), means, np.full(components, 0.5)])


def simulate(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return angles of two flocks and of birds without a direction."""
    parts = rng.choice(3, count, p=[0.5, 0.3, 0.2])
    return rng.vonmises(np.array([-2.0, 0.6, 0.0])[parts], np.array([6.0, 12.0, 0.0])[parts])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    angles = simulate(8, np.random.default_rng(0))
    return lambda p: negative_log_likelihood(p, angles), (start(2),)


def main(path: str = "von_mises_mixture.png") -> None:
    angles = simulate(500, np.random.default_rng(0))
    fits = {}
    for components in (1, 2, 3, 4):
        shape = (3, components)
        goal = wg.jit(
            wg.value_and_grad(lambda v, shape=shape: negative_log_likelihood(v.reshape(shape), angles))
        )
        found = minimize(goal, start(components).ravel(), jac=True, method="BFGS", options={"gtol": 1e-3})
        criterion = 2 * (3 * components - 1) + 2 * found.fun
        fits[components] = (criterion, found.x.reshape(shape))
        print(f"{components} components: log-likelihood {-found.fun:.2f}, Akaike's criterion {criterion:.2f}")
    _, (scores, means, log_kappa) = min(fits.values(), key=lambda fit: fit[0])
    weights = np.exp(scores - logsumexp(scores))
    wrapped = (means + np.pi) % (2 * np.pi) - np.pi
    print(
        "weights", weights.round(2), "means", wrapped.round(2), "concentrations", np.exp(log_kappa).round(2)
    )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot(projection="polar")
    axes.hist(angles, 48, density=True, alpha=0.4)
    fine = np.linspace(-np.pi, np.pi, 400)
    for components, (_, parameters) in fits.items():
        axes.plot(fine, np.exp(log_density(parameters, fine)), label=f"{components}")
    axes.legend(title="components", loc="lower left")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
