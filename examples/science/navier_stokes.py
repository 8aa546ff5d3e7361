"""Data assimilation (4D-Var) of two-dimensional turbulence: the initial vorticity from few later observations.

The vorticity of an incompressible flow obeys ω_t + u · ∇ω = ν ∇²ω, with u = (ψ_y, -ψ_x) and ∇²ψ = -ω, on a
periodic square. The pseudo-spectral method takes products in space and derivatives in Fourier space, cuts
wave numbers above two thirds, and steps by Heun's method with an integrating factor for the viscosity. The
goal compares the flow at points of a coarse grid at several times with observations, and prefers smooth
initial fields.

Sources: Orszag, "Numerical simulation of incompressible flows", Stud. Appl. Math. 50 (1971); Talagrand and
Courtier, "Variational assimilation of meteorological observations", Q. J. R. Meteorol. Soc. 113 (1987).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg


class Flow:
    """A periodic square of side 2π with n by n points."""

    def __init__(self, n: int, viscosity: float, dt: float) -> None:
        self.n, self.dt = n, dt
        self.kx = np.fft.fftfreq(n, 1 / n)[:, None]
        self.ky = np.fft.rfftfreq(n, 1 / n)[None, :]
        self.k2 = self.kx**2 + self.ky**2
        self.inverse = 1 / np.where(self.k2 == 0, 1, self.k2)
        self.kept = (np.abs(self.kx) < n / 3) & (self.ky < n / 3)
        self.decay = np.exp(-viscosity * dt * self.k2)

    def advection(self, w: np.ndarray) -> np.ndarray:
        """Return the transform of -u · ∇ω."""
        stream = w * self.inverse
        u, v = np.fft.irfft2(1j * self.ky * stream), np.fft.irfft2(-1j * self.kx * stream)
        wx, wy = np.fft.irfft2(1j * self.kx * w), np.fft.irfft2(1j * self.ky * w)
        return self.kept * -np.fft.rfft2(u * wx + v * wy)

    def step(self, w: np.ndarray) -> np.ndarray:
        first = self.advection(w)
        ahead = self.decay * (w + self.dt * first)
        return self.decay * (w + self.dt / 2 * first) + self.dt / 2 * self.advection(ahead)

    def run(self, vorticity: np.ndarray, steps: int, every: int) -> list[np.ndarray]:
        """Return the vorticity at every few steps."""
        w = self.kept * np.fft.rfft2(vorticity)
        fields = []
        for step in range(1, steps + 1):
            w = self.step(w)
            if step % every == 0:
                fields.append(np.fft.irfft2(w))
        return fields


def cost(
    initial: np.ndarray, flow: Flow, observations: list[np.ndarray], every: int, gap: int, smooth: float
) -> float:
    """Return half the squared differences to the observations, and the price of a rough initial field."""
    fields = flow.run(initial, every * len(observations), every)
    data = sum(np.sum((f[::gap, ::gap] - o) ** 2) for f, o in zip(fields, observations, strict=True))
    rough = np.mean(flow.k2 * np.abs(np.fft.rfft2(initial) / flow.n) ** 2)
    return 0.5 * data + 0.5 * smooth * rough


def random_vorticity(n: int, seed: int) -> np.ndarray:
    """Return a random field of unit variance whose energy lies in the largest scales."""
    flow = Flow(n, 0.0, 0.0)
    noise = np.fft.rfft2(np.random.default_rng(seed).standard_normal((n, n)))
    field = np.fft.irfft2(noise * np.exp(-((np.sqrt(flow.k2) - 3) ** 2)) * (flow.k2 > 0))
    return field / np.std(field)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the cost and its arguments at a small size."""
    flow = Flow(8, 1e-2, 0.05)
    observations = [np.sin(np.arange(16.0)).reshape(4, 4)]
    return lambda w: cost(w, flow, observations, 1, 2, 0.1), (random_vorticity(8, 0),)


def main(path: str = "navier_stokes.png") -> None:
    n, every, gap = 32, 15, 2
    flow = Flow(n, 1e-3, 0.04)
    truth = random_vorticity(n, 0)
    rng = np.random.default_rng(1)
    fields = flow.run(truth, 3 * every, every)
    observations = [f[::gap, ::gap] + 0.05 * rng.standard_normal((n // gap, n // gap)) for f in fields]

    gradient = wg.value_and_grad(lambda w: cost(w.reshape(n, n), flow, observations, every, gap, 1e-2))
    found = minimize(gradient, np.zeros(n * n), jac=True, method="L-BFGS-B", options={"maxiter": 40})
    analysis = found.x.reshape(n, n)
    error = np.linalg.norm(analysis - truth) / np.linalg.norm(truth)
    print(f"cost {gradient(np.zeros(n * n))[0]:.1f} -> {found.fun:.2f} in {found.nit} iterations")
    print(f"relative error of the initial vorticity: {error:.3f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    titles = ("truth", "analysis", "observations (last)")
    for axes, field, title in zip(
        figure.subplots(1, 3), (truth, analysis, observations[-1]), titles, strict=True
    ):
        axes.imshow(field, cmap="RdBu", vmin=-3, vmax=3)
        axes.set_title(title)
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
