"""A quasi-periodic oscillation in red noise: its spectrum by Whittle's likelihood, with standard errors.

The periodogram I_j of a stationary series is distributed as S(f_j) times an exponential variable, so -log L =
Σ_j log S(f_j) + I_j / S(f_j). The model S is a broad Lorentzian at zero, a narrow one at ν with the width γ,
and white noise; the parameters are logarithms. The inverse Hessian of -log L at the maximum gives the errors.

Sources: Whittle, "Estimation and information in stationary time series", Ark. Mat. 2 (1953); Vaughan, "A
Bayesian test for periodic signals in red noise", Mon. Not. R. Astron. Soc. 402 (2010).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

NAMES = ("red power", "red width", "power", "frequency", "width", "white noise")


def lorentzian(f: np.ndarray, power: float, centre: float, width: float) -> np.ndarray:
    return power / np.pi * width / ((f - centre) ** 2 + width**2)


def spectrum(parameters: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return the spectral density at the frequencies f."""
    red, red_width, power, centre, width, noise = np.exp(parameters)
    return lorentzian(f, red, 0.0, red_width) + lorentzian(f, power, centre, width) + noise


def periodogram(series: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies and the periodogram, without the mean and the Nyquist frequency."""
    transform = np.fft.rfft(series - np.mean(series))[1:-1]
    return np.fft.rfftfreq(len(series), dt)[1:-1], np.abs(transform) ** 2 * dt / len(series)


def simulate(parameters: np.ndarray, n: int, dt: float, rng: np.random.Generator) -> np.ndarray:
    """Return a Gaussian series with the spectrum, by random Fourier amplitudes."""
    f = np.fft.rfftfreq(n, dt)
    amplitudes = np.sqrt(spectrum(parameters, f) * n / dt / 2)
    return np.fft.irfft(amplitudes * (rng.standard_normal(len(f)) + 1j * rng.standard_normal(len(f))), n)


def negative_log_likelihood(parameters: np.ndarray, f: np.ndarray, power: np.ndarray) -> float:
    model = spectrum(parameters, f)
    return np.sum(np.log(model) + power / model)


TRUTH = np.log([1.0, 0.3, 0.6, 2.0, 0.1, 0.05])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    series = simulate(TRUTH, 64, 0.1, np.random.default_rng(0))
    return lambda p: negative_log_likelihood(p, *periodogram(series, 0.1)), (TRUTH + 0.1,)


def main(path: str = "spectral_estimation.png") -> None:
    dt, n = 0.1, 8192
    f, power = periodogram(simulate(TRUTH, n, dt, np.random.default_rng(0)), dt)

    def goal(parameters: np.ndarray) -> float:
        return negative_log_likelihood(parameters, f, power)

    start = TRUTH + np.array([0.5, -0.5, -0.5, 0.05, 0.5, 0.3])
    found = minimize(wg.jit(wg.value_and_grad(goal)), start, jac=True, method="BFGS", options={"gtol": 1e-3})
    errors = np.sqrt(np.diag(np.linalg.inv(wg.jit(wg.hessian(goal))(found.x))))
    for name, estimate, error, true in zip(NAMES, found.x, errors, TRUTH, strict=True):
        print(
            f"{name:12} {np.exp(estimate):.4f} ± {np.exp(estimate) * error:.4f}, the truth {np.exp(true):.4f}"
        )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.loglog(f, power, color="lightgrey", linewidth=0.5, label="periodogram")
    axes.loglog(f, spectrum(TRUTH, f), "k--", label="truth")
    axes.loglog(f, spectrum(found.x, f), label="estimate")
    axes.set(xlabel="frequency", ylabel="power density", ylim=(1e-3, 20))
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
