"""Options: Black-Scholes prices, sensitivities of all orders, and implied volatilities with their derivatives.

A call costs C = S Φ(d1) - K exp(-r T) Φ(d2) with d1, d2 = (log(S/K) + (r ± σ²/2) T) / (σ √T). Newton's method
inverts it for the implied volatility from Manaster and Koehler's start √(2 |log(S/K) + r T| / T), from which
it always converges. A calibration then finds a smooth surface σ(K, T) that reprices noisy quotes.

Sources: Black and Scholes, "The pricing of options and corporate liabilities", J. Polit. Econ. 81 (1973);
Manaster and Koehler, "The calculation of implied variances from the Black-Scholes model", J. Finance 37
(1982).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import norm

import wengert as wg

RATE = 0.02


def call(spot: float, strike: np.ndarray, expiry: np.ndarray, rate: float, sigma: np.ndarray) -> np.ndarray:
    spread = sigma * np.sqrt(expiry)
    d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * expiry) / spread
    return spot * norm.cdf(d1) - strike * np.exp(-rate * expiry) * norm.cdf(d1 - spread)


def implied_volatility(
    price: np.ndarray, spot: float, strike: np.ndarray, expiry: np.ndarray, rate: float, steps: int = 10
) -> np.ndarray:
    forward = np.log(spot / strike) + rate * expiry
    sigma = np.sqrt(2 * np.abs(forward) / expiry + 1e-4)
    for _ in range(steps):
        d1 = forward / (sigma * np.sqrt(expiry)) + sigma * np.sqrt(expiry) / 2
        vega = spot * np.sqrt(expiry) * norm.pdf(d1)
        sigma = sigma - (call(spot, strike, expiry, rate, sigma) - price) / vega
    return sigma


def surface(parameters: np.ndarray, spot: float, strike: np.ndarray, expiry: np.ndarray) -> np.ndarray:
    """Return σ(K, T): a hyperbola in the moneyness, whose level, slope and curvature change with time."""
    level, change, skew, curvature, centre = parameters
    moneyness = np.log(strike / spot) / np.sqrt(expiry) - centre
    return level + change * np.exp(-expiry) + skew * moneyness + np.sqrt(curvature**2 * moneyness**2 + 1e-3)


def quotes(spot: float) -> tuple[np.ndarray, np.ndarray]:
    """Return strikes and expiries of a market."""
    strike, expiry = np.meshgrid(spot * np.linspace(0.8, 1.2, 9), [0.25, 0.5, 1.0, 2.0])
    return strike.ravel(), expiry.ravel()


def case() -> tuple[Callable[..., float], tuple]:
    """Return a sum of implied volatilities and its arguments, prices, spot and rate, at a small size."""
    strike, expiry = np.array([90.0, 100.0, 115.0]), np.array([0.5, 1.0, 1.0])
    price = call(100.0, strike, expiry, RATE, np.array([0.25, 0.2, 0.18]))
    weights = np.array([1.0, 2.0, 3.0])

    def goal(price: np.ndarray, spot: float, rate: float) -> float:
        return np.sum(weights * implied_volatility(price, spot, strike, expiry, rate, steps=3))

    return goal, (price, 100.0, RATE)


def main(path: str = "black_scholes.png") -> None:
    def value(spot: float, sigma: float) -> float:
        return call(spot, 105.0, 1.0, RATE, sigma)

    delta, vega = wg.grad(value, argnums=(0, 1))(100.0, 0.2)
    gamma, vanna = wg.grad(wg.grad(value), argnums=(0, 1))(100.0, 0.2)
    print(
        f"price {value(100.0, 0.2):.4f}, delta {delta:.4f}, vega {vega:.4f}, gamma {gamma:.5f}, vanna {vanna:.5f}"
    )
    slope = wg.grad(lambda price: implied_volatility(price, 100.0, 105.0, 1.0, RATE))(value(100.0, 0.2))
    print(f"derivative of the implied volatility in the price: {slope:.6f}, one over vega: {1 / vega:.6f}")

    spot, rng = 100.0, np.random.default_rng(0)
    strike, expiry = quotes(spot)
    truth = np.array([0.18, 0.04, -0.05, 0.3, 0.02])
    price = call(spot, strike, expiry, RATE, surface(truth, spot, strike, expiry))
    price = price * (1 + 0.005 * rng.standard_normal(len(price)))

    def difference(parameters: np.ndarray) -> np.ndarray:
        return call(spot, strike, expiry, RATE, surface(parameters, spot, strike, expiry)) - price

    start = np.array([0.2, 0.0, 0.0, 0.2, 0.0])
    found = least_squares(difference, start, jac=wg.jit(wg.jacobian(difference)))
    print("surface:", found.x.round(3), "the truth:", truth)

    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    implied = implied_volatility(price, spot, strike, expiry, RATE)
    for time in np.unique(expiry):
        here = expiry == time
        (line,) = axes.plot(strike[here], surface(found.x, spot, strike[here], time), label=f"T = {time:g}")
        axes.plot(strike[here], implied[here], "o", color=line.get_color(), markersize=4)
    axes.set(xlabel="strike", ylabel="implied volatility")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
