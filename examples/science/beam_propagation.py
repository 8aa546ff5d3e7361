"""A mode sorter of light: phase masks that turn spots at separate places into Hermite-Gaussian modes of one beam.

A scalar field propagates over a distance z by the angular spectrum, E ← F⁻¹ exp(i z √(k² - kx² - ky²)) F E,
and each mask multiplies it by exp(i φ(x, y)). The masks maximise the mean efficiency |<target|E>|² over all
modes at once; light beyond the largest angle of the optics is lost.

Sources: Goodman, "Introduction to Fourier Optics" (2005), section 3.10; Fontaine and others, "Laguerre-
Gaussian mode sorter", Nat. Commun. 10 (2019).
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.polynomial.hermite import hermval
from scipy.optimize import minimize

import wengert as wg


def coordinates(n: int, pixel: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the pixels, in micrometres."""
    line = (np.arange(n) - (n - 1) / 2) * pixel
    return np.meshgrid(line, line, indexing="ij")


def mode(m: int, n: int, x: np.ndarray, y: np.ndarray, waist: float) -> np.ndarray:
    """Return the Hermite-Gaussian mode of the orders m and n, of unit power."""
    u, v = np.sqrt(2) * x / waist, np.sqrt(2) * y / waist
    field = hermval(u, np.eye(m + 1)[m]) * hermval(v, np.eye(n + 1)[n]) * np.exp(-(u**2 + v**2) / 2)
    return field / np.linalg.norm(field)


def propagator(
    n: int, pixel: float, wavelength: float, distance: float, aperture: float = 0.06
) -> np.ndarray:
    """Return the transfer function of free space, zero beyond the numerical aperture."""
    f = np.fft.fftfreq(n, pixel)
    sine = wavelength**2 * (f[:, None] ** 2 + f**2)
    phase = 2 * np.pi / wavelength * distance * np.sqrt(np.maximum(1 - sine, 0))
    return np.exp(1j * phase) * (sine < aperture**2)


def transmit(masks: np.ndarray, fields: np.ndarray, space: np.ndarray) -> np.ndarray:
    """Send fields through all masks, with free space behind each."""
    for mask in masks:
        fields = np.fft.ifft2(space * np.fft.fft2(np.exp(1j * mask) * fields))
    return fields


def loss(masks: np.ndarray, inputs: np.ndarray, targets: np.ndarray, space: np.ndarray) -> float:
    """Return one minus the mean efficiency."""
    overlaps = np.sum(np.conj(targets) * transmit(masks, inputs, space), axis=(-2, -1))
    return 1 - np.mean(np.abs(overlaps) ** 2)


def sorter(
    n: int, orders: list[tuple[int, int]], distance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the spots, the modes and the propagator between masks."""
    pixel, wavelength = 8.0, 1.55
    x, y = coordinates(n, pixel)
    radius, waist = 0.25 * n * pixel, 0.09 * n * pixel
    angles = 2 * np.pi * np.arange(len(orders)) / len(orders)
    spots = [mode(0, 0, x - radius * np.cos(a), y - radius * np.sin(a), waist) for a in angles]
    modes = [mode(i, j, x, y, 1.7 * waist) for i, j in orders]
    return np.array(spots), np.array(modes), propagator(n, pixel, wavelength, distance)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the loss and its arguments at a small size."""
    spots, modes, space = sorter(8, [(0, 0), (1, 0)], 200.0)
    return lambda masks: loss(masks, spots, modes, space), (np.sin(np.arange(128.0)).reshape(2, 8, 8),)


def main(path: str = "beam_propagation.png") -> None:
    n, planes = 48, 5
    orders = [(0, 0), (1, 0), (0, 1)]
    spots, modes, space = sorter(n, orders, 6000.0)
    fast = wg.jit(wg.value_and_grad(lambda v: loss(v.reshape(planes, n, n), spots, modes, space)))
    start = np.zeros(planes * n * n)
    found = minimize(fast, start, jac=True, method="L-BFGS-B", options={"maxiter": 70})
    masks = found.x.reshape(planes, n, n)
    output = transmit(masks, spots, space)
    table = np.abs(np.einsum("aij,bij->ab", np.conj(modes), output)) ** 2
    print(f"mean efficiency {1 - fast(start)[0]:.3f} without masks, {1 - found.fun:.3f} with {planes} masks")
    print("largest power in a wrong mode:", f"{np.max(table - np.diag(np.diag(table))):.4f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    for row, (spot, field) in zip(figure.subplots(3, 3), zip(spots, output, strict=True), strict=True):
        row[0].imshow(np.abs(spot) ** 2)
        row[1].imshow(np.abs(field) ** 2)
        row[2].imshow(np.angle(field), cmap="twilight")
    for axes, title in zip(figure.axes, ("input", "output power", "output phase"), strict=False):
        axes.set_title(title)
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
