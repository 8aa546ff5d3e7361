"""The SABR model of an interest-rate smile: calibration to quotes, and hedge ratios.

dF = α F^β dW, dα = ν α dZ, d<W, Z> = ρ dt. Hagan's expansion gives the Black volatility of a strike K, σ(K) =
α / ((F K)^((1-β)/2) (1 + ...)) · z / χ(z) · (1 + ... T), with z = ν/α (F K)^((1-β)/2) log(F/K) and χ(z) =
log((√(1 - 2ρz + z²) + z - ρ) / (1 - ρ)). The quotient z/χ(z) tends to 1 at the money, where it is a series.

Source: Hagan, Kumar, Lesniewski, Woodward, "Managing smile risk", Wilmott Magazine (2002), equation 2.17.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

import wengert as wg


def skew(z: np.ndarray, rho: float) -> np.ndarray:
    """Return z / χ(z)."""
    small = np.abs(z) < 1e-4
    safe = np.where(small, 1.0, z)
    chi = np.log((np.sqrt(1 - 2 * rho * safe + safe**2) + safe - rho) / (1 - rho))
    return np.where(small, 1 - rho * z / 2 + (2 - 3 * rho**2) * z**2 / 12, safe / chi)


def volatility(
    parameters: np.ndarray, forward: float, strikes: np.ndarray, expiry: float, beta: float = 0.5
) -> np.ndarray:
    """Return Black volatilities of strikes for the parameters α, ρ, ν."""
    alpha, rho, nu = parameters
    geometric = (forward * strikes) ** ((1 - beta) / 2)
    moneyness = np.log(forward / strikes)
    square = ((1 - beta) * moneyness) ** 2
    time_term = (
        (1 - beta) ** 2 / 24 * alpha**2 / geometric**2
        + rho * beta * nu * alpha / (4 * geometric)
        + (2 - 3 * rho**2) / 24 * nu**2
    )
    level = alpha / (geometric * (1 + square / 24 + square**2 / 1920))
    return level * skew(nu / alpha * geometric * moneyness, rho) * (1 + time_term * expiry)


def constrained(x: np.ndarray) -> np.ndarray:
    """Return α > 0, |ρ| < 1, ν > 0 from free variables."""
    return np.array([np.exp(x[0]), np.tanh(x[1]), np.exp(x[2])])


def residuals(
    x: np.ndarray, forward: float, strikes: np.ndarray, quotes: np.ndarray, expiry: float
) -> np.ndarray:
    return volatility(constrained(x), forward, strikes, expiry) - quotes


FORWARD, EXPIRY = 0.03, 5.0
STRIKES = FORWARD + np.array([-0.02, -0.015, -0.01, -0.005, 0.0, 0.005, 0.01, 0.02, 0.03])
QUOTES = np.array([0.552, 0.452, 0.39, 0.347, 0.317, 0.297, 0.285, 0.276, 0.277])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the sum of squares and its arguments: free variables and the forward."""

    def goal(x: np.ndarray, forward: float) -> float:
        return 1e4 * np.sum(residuals(x, forward, STRIKES, QUOTES, EXPIRY) ** 2)

    return goal, (np.array([-2.9, -0.2, -0.9]), 0.0305)


def main(path: str = "sabr.png") -> None:
    def difference(x: np.ndarray) -> np.ndarray:
        return residuals(x, FORWARD, STRIKES, QUOTES, EXPIRY)

    found = least_squares(
        difference, np.array([-3.0, 0.0, -1.0]), jac=wg.jit(wg.jacobian(difference)), xtol=1e-12
    )
    best = constrained(found.x)
    print("alpha {:.4f}, rho {:.3f}, nu {:.3f}".format(*best), f"after {found.nfev} evaluations")
    print(f"largest error of a volatility: {100 * np.max(np.abs(found.fun)):.2f}%")
    backbone = wg.jacobian(lambda f: volatility(best, f, STRIKES, EXPIRY))(FORWARD)
    print("change of the volatilities with the forward:", backbone.round(1))

    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    fine = np.linspace(STRIKES[0], STRIKES[-1], 200)
    axes.plot(100 * STRIKES, 100 * QUOTES, "o", label="quotes")
    for shift in (-0.005, 0.0, 0.005):
        smile = volatility(best, FORWARD + shift, fine, EXPIRY)
        axes.plot(100 * fine, 100 * smile, label=f"forward {100 * (FORWARD + shift):.1f}%")
    axes.set(xlabel="strike / %", ylabel="Black volatility / %")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
