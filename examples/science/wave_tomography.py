"""Full-waveform inversion: a map of the speed of sound from recorded waves.

u_tt = c(x)² ∇²u + s, by second-order differences in time and space, with a sponge that damps waves at the
borders. Sources on two sides send a Ricker pulse (1 - 2 a) exp(-a), a = (π f (t - t0))², to receivers on the
others. The misfit is half the sum of the squared differences of the records; its gradient in the map is the
adjoint-state method.

Source: Tarantola, "Inversion of seismic reflection data in the acoustic approximation", Geophysics 49 (1984).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg


def laplacian(u: np.ndarray) -> np.ndarray:
    """Return the sum over four neighbours minus four times the value; fields outside are zero."""
    padded = np.pad(u, ((0, 0), (1, 1), (1, 1)))
    return padded[:, 2:, 1:-1] + padded[:, :-2, 1:-1] + padded[:, 1:-1, 2:] + padded[:, 1:-1, :-2] - 4 * u


def sponge(n: int, width: int, strength: float = 0.1) -> np.ndarray:
    """Return factors below one within some points of the border."""
    depth = np.maximum(width - np.minimum(np.arange(n), np.arange(n)[::-1]), 0) / width
    line = np.exp(-strength * depth**2)
    return line[:, None] * line


def ricker(steps: int, dt: float, frequency: float) -> np.ndarray:
    a = (np.pi * frequency * (np.arange(steps) * dt - 1.2 / frequency)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def records(
    speed: np.ndarray, sources: np.ndarray, receivers: np.ndarray, pulse: np.ndarray, dt: float
) -> np.ndarray:
    """Return the waves at the receivers with the axes time, source and receiver; the spacing of the grid is 1."""
    n = len(speed)
    shots = np.zeros((len(sources), n, n))
    shots[np.arange(len(sources)), sources[:, 0], sources[:, 1]] = 1
    damping = sponge(n, max(n // 6, 1))
    previous = current = np.zeros_like(shots)
    recorded = []
    for amplitude in pulse:
        following = (
            2 * current - damping * previous + dt**2 * (speed**2 * laplacian(current) + amplitude * shots)
        )
        previous, current = damping * current, damping * following
        recorded.append(current[:, receivers[:, 0], receivers[:, 1]])
    return np.array(recorded)


def column(n: int, row: int, count: int) -> np.ndarray:
    """Return points of the grid along a line."""
    return np.stack([np.full(count, row), np.linspace(n // 6, n - 1 - n // 6, count).astype(int)], axis=1)


def misfit(speed: np.ndarray, data: np.ndarray, *survey: np.ndarray) -> float:
    return 0.5 * np.sum((records(speed, *survey) - data) ** 2)


def phantom(n: int) -> np.ndarray:
    """Return a speed of one, with a slow and a fast body."""
    y, x = np.mgrid[0 : 1 : n * 1j, 0 : 1 : n * 1j]
    slow = np.exp(-((x - 0.4) ** 2 + (y - 0.45) ** 2) / 0.012)
    return 1 - 0.15 * slow + 0.15 * np.exp(-((x - 0.62) ** 2 + (y - 0.58) ** 2) / 0.008)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the misfit and its arguments at a small size."""
    n, dt = 7, 0.5
    survey = (column(n, 2, 1), column(n, 3, 3), np.array([1.0, 2.0, 1.0, 0.0]), dt)
    data = np.full((4, 1, 3), 0.1)
    return lambda speed: misfit(speed, data, *survey), (phantom(n),)


def main(path: str = "wave_tomography.png") -> None:
    n, dt, steps = 36, 0.6, 95
    truth = phantom(n)
    sources = np.concatenate([column(n, 6, 4), column(n, 6, 4)[:, ::-1]])
    receivers = np.concatenate([column(n, n - 7, 24), column(n, n - 7, 24)[:, ::-1]])
    survey = (sources, receivers, ricker(steps, dt, 0.12), dt)
    clean = records(truth, *survey)
    data = clean + 0.02 * np.std(clean) * np.random.default_rng(0).standard_normal(clean.shape)

    gradient = wg.value_and_grad(lambda v: misfit(v.reshape(n, n), data, *survey))
    start = np.ones(n * n)
    found = minimize(
        gradient, start, jac=True, method="L-BFGS-B", bounds=[(0.7, 1.3)] * n * n, options={"maxiter": 30}
    )
    speed = found.x.reshape(n, n)
    error = np.linalg.norm(speed - truth) / np.linalg.norm(1 - truth)
    print(
        f"misfit {gradient(start)[0]:.3f} -> {found.fun:.5f}; the noise alone has {misfit(truth, data, *survey):.5f}"
    )
    print(f"error of the map relative to the bodies: {error:.2f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axes, field, title in ((left, truth, "true speed"), (middle, speed, "recovered speed")):
        axes.imshow(field, cmap="RdBu", vmin=0.8, vmax=1.2)
        axes.plot(*survey[0].T[::-1], "k*")
        axes.plot(*survey[1].T[::-1], "kv", markersize=2)
        axes.set_title(title)
    right.imshow(data[:, 2], aspect="auto", cmap="gray")
    right.set(title="records of one source", xlabel="receiver", ylabel="step")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
