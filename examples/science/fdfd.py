"""Inverse design of a lossy lens by finite-difference frequency-domain electrodynamics.

The field E_z of a line current obeys (∂x 1/s_x ∂x / s_x + ∂y 1/s_y ∂y / s_y + k² ε) E = -i k J; the complex
stretching s = 1 + i σ / k absorbs outgoing waves at the borders (a perfectly matched layer). The material has
the complex permittivity ε = 1 + ρ (4 + 0.1 i - 1), with densities ρ in [0, 1] from a sigmoid. The design
maximises |E|² at a focus.

Sources: Shin and Fan, "Choice of the perfectly matched layer boundary condition for frequency-domain
Maxwell's equations solvers", J. Comput. Phys. 231 (2012); Molesky and others, "Inverse design in
nanophotonics", Nat. Photonics 12 (2018).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

SILICON = 4 + 0.1j


def stretching(n: int, layer: int, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the complex stretching at the points of the grid, and halfway between them."""

    def at(position: np.ndarray) -> np.ndarray:
        depth = np.maximum(np.maximum(layer - position, position - (n - 1 - layer)), 0) / layer
        return 1 + 1j * strength * depth**2

    return at(np.arange(n)), at(np.arange(n + 1) - 0.5)


def second_derivative(n: int, step: float, layer: int) -> np.ndarray:
    """Return the matrix of 1/s d/dx (1/s d/dx), with zero fields outside."""
    s, half = stretching(n, layer, 5.0)
    difference = (np.eye(n + 1, n) - np.eye(n + 1, n, -1)) / step
    return np.diag(1 / s) @ -difference.T @ np.diag(1 / half) @ difference


def maxwell(shape: tuple[int, int], step: float, layer: int) -> np.ndarray:
    """Return the operator of empty space without its k² term."""
    nx, ny = shape
    return np.kron(second_derivative(nx, step, layer), np.eye(ny)) + np.kron(
        np.eye(nx), second_derivative(ny, step, layer)
    )


def solve(epsilon: np.ndarray, source: np.ndarray, k: float, operator: np.ndarray) -> np.ndarray:
    """Return the complex field."""
    system = operator + k**2 * np.diag(epsilon.ravel())
    return np.linalg.solve(system, -1j * k * source.ravel()).reshape(source.shape)


def permittivity(design: np.ndarray, region: tuple[slice, slice], shape: tuple[int, int]) -> np.ndarray:
    """Return ε of the grid: the material by the density in the region, vacuum elsewhere."""
    epsilon = np.ones(shape, complex)
    epsilon[region] += (SILICON - 1) / (1 + np.exp(-design))
    return epsilon


def focus_problem(
    shape: tuple[int, int], layer: int, step: float
) -> tuple[Callable[..., np.ndarray], Callable[..., float], tuple[int, int]]:
    """Return the field as a function of the design, the goal -log |E(focus)|², and the shape of designs."""
    nx, ny = shape
    region = (slice(nx // 3, nx // 2), slice(layer + 1, ny - layer - 1))
    focus = (nx - layer - 3, ny // 2)
    source = np.zeros(shape)
    source[layer + 1, ny // 2] = 1 / step**2
    k, operator = 2 * np.pi, maxwell(shape, step, layer)

    def field(design: np.ndarray) -> np.ndarray:
        return solve(permittivity(design, region, shape), source, k, operator)

    def goal(design: np.ndarray) -> float:
        return -np.log(np.abs(field(design)[focus]) ** 2)

    return field, goal, (region[0].stop - region[0].start, region[1].stop - region[1].start)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the goal and its arguments at a small size."""
    _, goal, size = focus_problem((9, 8), 2, 0.12)
    return goal, (np.sin(np.arange(np.prod(size))).reshape(size),)


def main(path: str = "fdfd.png") -> None:
    field, goal, size = focus_problem((30, 24), 6, 0.1)
    start = np.zeros(size)
    gradient = wg.value_and_grad(lambda v: goal(v.reshape(size)))
    found = minimize(
        gradient,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-6, 6)] * start.size,
        options={"maxiter": 10},
    )
    design = found.x.reshape(size)
    print(f"intensity at the focus grows by the factor {np.exp(goal(start) - found.fun):.2f}")
    print(f"{np.mean(np.abs(design) > 3):.0%} of the material's points are nearly solid or empty")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    panels = (np.abs(field(start)) ** 2, 1 / (1 + np.exp(-design)), np.abs(field(design)) ** 2)
    titles = ("intensity, half density", "density", "intensity, designed")
    for axes, panel, title in zip(figure.subplots(1, 3), panels, titles, strict=True):
        axes.imshow(np.minimum(panel.T, np.quantile(panel, 0.99)), cmap="magma")
        axes.set_title(title)
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
