"""Two solitons of the Korteweg-de Vries equation, found again from a noisy record of their collision.

u_t + u u_x + u_xxx = 0 on a periodic interval. In Fourier space û_t - i k³ û = -(i k / 2) F(u²); the
integrating factor exp(-i k³ t) removes the stiff linear term, and the classical Runge-Kutta method steps the
rest. A soliton of amplitude a at position c is u = a sech²(√(a/12) (x - c)), and moves at the speed a / 3.
The unknowns are two amplitudes and two positions.

Source: Trefethen, "Spectral Methods in MATLAB" (2000), program 27.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg


def solitons(x: np.ndarray, amplitudes: np.ndarray, positions: np.ndarray) -> np.ndarray:
    phase = np.sqrt(amplitudes[:, None] / 12) * (x - positions[:, None])
    return np.sum(amplitudes[:, None] / np.cosh(phase) ** 2, axis=0)


def evolve(u: np.ndarray, length: float, dt: float, steps: int, every: int) -> np.ndarray:
    """Return the field at every few steps, one record a row."""
    k = 2 * np.pi * np.fft.rfftfreq(len(u), length / len(u))
    half = np.exp(0.5j * dt * k**3)

    def slope(v: np.ndarray) -> np.ndarray:
        return -0.5j * dt * k * np.fft.rfft(np.fft.irfft(v) ** 2)

    v = np.fft.rfft(u)
    records = []
    for step in range(1, steps + 1):
        a = slope(v)
        b = slope(half * (v + a / 2))
        c = slope(half * v + b / 2)
        d = slope(half**2 * v + half * c)
        v = half**2 * (v + a / 6) + half * (b + c) / 3 + d / 6
        if step % every == 0:
            records.append(np.fft.irfft(v))
    return np.array(records)


def misfit(
    parameters: np.ndarray, x: np.ndarray, length: float, dt: float, steps: int, every: int, data: np.ndarray
) -> float:
    """Return the mean square of the difference to the data."""
    field = evolve(solitons(x, parameters[:2], parameters[2:]), length, dt, steps, every)
    return np.mean((field - data) ** 2)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the misfit and its arguments at a small size."""
    x = np.arange(16) * 0.5 - 4
    data = 0.1 * np.cos(x) * np.ones((2, 1))
    return lambda p: misfit(p, x, 8.0, 0.01, 2, 1, data), (np.array([6.0, 3.0, -1.0, 0.5]),)


def main(path: str = "korteweg_de_vries.png") -> None:
    points, length, dt, steps, every = 64, 20.0, 0.01, 180, 20
    x = (np.arange(points) - points // 2) * (length / points)
    truth = np.array([10.0, 4.0, -5.0, -1.0])
    clean = evolve(solitons(x, truth[:2], truth[2:]), length, dt, steps, every)
    data = clean + 0.3 * np.random.default_rng(0).standard_normal(clean.shape)

    goal = wg.value_and_grad(lambda p: misfit(p, x, length, dt, steps, every, data))
    found = minimize(goal, np.array([8.5, 5.0, -4.4, -0.5]), jac=True, method="BFGS")
    print(f"amplitudes and positions: {found.x.round(3)}, the truth: {truth}")
    print(
        f"misfit {found.fun:.4f} after {found.nit} iterations; variance of the noise {np.var(data - clean):.4f}"
    )

    from matplotlib.figure import Figure

    field = evolve(solitons(x, found.x[:2], found.x[2:]), length, dt, steps, every)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for row in range(0, len(field), 2):
        axes.plot(x, data[row] + 6 * row, ".", color="grey", markersize=3)
        axes.plot(x, field[row] + 6 * row, color="C0")
    axes.set(xlabel="x", ylabel="u, shifted upwards in time", title="records and the fitted collision")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
