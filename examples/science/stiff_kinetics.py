"""The rate constants of a stiff reaction, over nine orders of magnitude, from noisy concentrations.

Robertson's autocatalysis A -> B, 2 B -> B + C, B + C -> A + C has the rates k1 A, k2 B², k3 B C: B appears within
a millisecond, and A lasts for hours. A Rosenbrock method integrates, and Levenberg-Marquardt fits the logarithms of
the constants with exact Jacobians J through its steps. With the variance s² of the residuals the covariance of the
estimates is P = s² (J' J)^-1, and that of a curve with the derivative D is D P D' (the delta method).

Sources: Robertson, "The solution of a set of reaction rate equations" (1966); Hairer and Wanner, "Solving ordinary
differential equations II" (1996); Bates and Watts, "Nonlinear regression analysis and its applications" (1988).
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

import wengert as wg

TRUTH = np.log([0.04, 3e7, 1e4])
SCALE = np.array([[1.0], [2.5e4], [1.0]])
"""The instrument shows 25,000 B: there is never more of B than a few hundred-thousandths."""


def rates(t: float, y: np.ndarray, k: np.ndarray) -> list:
    """Return the time derivatives of the concentrations."""
    a, b, c = y
    first, second, third = k[0] * a, k[1] * b**2, k[2] * b * c
    return [third - first, first - second - third, second]


def signals(logarithms: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the scaled concentrations at rising times, for the logarithms of the rate constants."""
    span, start, k = (0, times[-1]), [1.0, 0.0, 0.0], np.exp(logarithms)
    accuracy = {"rtol": 1e-7, "atol": 1e-11, "max_steps": 1000}
    return SCALE * wg.integrate.solve_ivp(rates, span, start, "Rodas5P", times, args=(k,), **accuracy).y


def residuals(logarithms: np.ndarray, times: np.ndarray, measured: np.ndarray) -> np.ndarray:
    return (signals(logarithms, times) - measured).ravel()


def covariance(jacobian: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """Return the covariance of the estimates from the Jacobian and the residuals there."""
    rows, columns = jacobian.shape
    return np.sum(difference**2) / (rows - columns) * np.linalg.inv(jacobian.T @ jacobian)


def case() -> tuple[Callable[..., float], tuple]:
    """Return half the sum of squares and its argument at a small size."""
    times = np.array([1e-4, 1e-2, 1.0])
    measured = np.array([[1.0, 1.0, 0.9], [0.1, 0.8, 0.7], [0.0, 0.0, 0.1]])
    return lambda logarithms: 0.5 * np.sum(residuals(logarithms, times, measured) ** 2), (TRUTH + 0.1,)


def main(path: str = "stiff_kinetics.png", records: int = 1000) -> None:
    rng, noise, curves, compiled = np.random.default_rng(3), 0.04, wg.jit(signals), wg.jit(residuals)
    times, fine = np.geomspace(1e-5, 1e5, 31), np.geomspace(1e-5, 1e6, 300)
    exact, start = curves(TRUTH, times), TRUTH + np.log([0.2, 5.0, 10.0])
    measured = exact + noise * rng.standard_normal((1 + records, *exact.shape))

    def fit(start: np.ndarray, record: np.ndarray) -> tuple[OptimizeResult, np.ndarray]:
        found = wg.optimize.least_squares(compiled, start, method="lm", args=(times, record))
        return found, covariance(found.jac, found.fun)

    begin = time.perf_counter()
    found, spread = fit(start, measured[0])
    print(f"{measured[0].size} measurements, {found.nfev} evaluations, {time.perf_counter() - begin:.1f} s")
    print(f"residuals (rms): {np.sqrt(np.mean(found.fun**2)):.3f}; the noise has {noise}")
    for row in zip((1, 2, 3), start, found.x, np.sqrt(np.diag(spread)), TRUTH, strict=True):
        print("log k{}: {:5.2f} -> {:5.2f} ± {:.2f}, the truth {:.2f}".format(*row))

    begin = time.perf_counter()
    others = [fit(found.x, record) for record in measured[1:]]
    print(f"{records:,} fits to other records: {time.perf_counter() - begin:.1f} s", end="; ")
    estimates = np.array([other.x for other, _ in others])
    errors = np.array([np.sqrt(np.diag(other)) for _, other in others])
    inside = np.mean(np.abs(estimates - TRUTH) < 1.96 * errors, axis=0)
    print("95% intervals with the truth:", " ".join(f"{share:.1%}" for share in inside))

    derivative = wg.jit(wg.jacobian(signals))(found.x, fine)
    width = 1.96 * np.sqrt(np.sum(derivative @ spread * derivative, axis=2))
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 100))
    edge = np.sqrt(5.99) * np.linalg.cholesky(spread[::2, ::2]) @ np.stack([circle.real, circle.imag])

    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    begun, fitted = curves(start, fine), curves(found.x, fine)
    for n, name in enumerate(("A", "25,000 B", "C")):
        left.plot(times, measured[0, n], ".", color=f"C{n}")
        left.plot(fine, fitted[n], color=f"C{n}", label=name)
        left.plot(fine, begun[n], ":", color=f"C{n}")
        left.fill_between(fine, fitted[n] - width[n], fitted[n] + width[n], color=f"C{n}", alpha=0.3)
    left.set(
        xscale="log",
        xlabel="time / s",
        ylabel="concentration",
        title="the fit with its 95% band; dotted: the start",
    )
    left.legend()
    right.plot(estimates[:, 0], estimates[:, 2], ".", color="0.7", markersize=3, label="other records")
    right.plot(*(found.x[::2, None] + edge), label="95% region of the fit")
    right.plot(*TRUTH[::2], "k+", label="truth")
    right.set(xlabel="log k1", ylabel="log k3", title="estimates of two of the constants")
    right.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
