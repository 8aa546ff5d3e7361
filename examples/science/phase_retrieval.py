"""Phase retrieval by Wirtinger flow: a complex image from the intensities of coded diffraction patterns.

A detector measures y_m = |F(d_m z)|² for known masks d_m, and loses the phases. The loss is the mean of
(|F(d_m z)|² - y_m)²; its Wirtinger gradient ∂f/∂z̄ leads from a spectral estimate, the dominant eigenvector
of Σ A* diag(y) A found by the power method, to the image, up to one phase.

Source: Candès, Li, Soltanolkotabi, "Phase retrieval via Wirtinger flow", IEEE Trans. Inf. Theory 61 (2015).
"""

import sys
from collections.abc import Callable

import numpy as np

import wengert as wg


def measure(image: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return the diffraction patterns |F(d z)|², one for each mask."""
    return np.abs(np.fft.fft2(masks * image, norm="ortho")) ** 2


def loss(image: np.ndarray, masks: np.ndarray, patterns: np.ndarray) -> float:
    return np.mean((measure(image, masks) - patterns) ** 2)


def octanary_masks(count: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return random masks with values of four phases and two magnitudes."""
    phases = rng.choice([1, -1, 1j, -1j], size=(count, n, n))
    magnitudes = rng.choice([np.sqrt(0.5), np.sqrt(3.0)], size=(count, n, n), p=[0.8, 0.2])
    return phases * magnitudes


def spectral_start(masks: np.ndarray, patterns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the dominant eigenvector of Σ A* diag(y) A, with the norm that the patterns have."""
    z = rng.standard_normal(masks.shape[1:]) + 1j * rng.standard_normal(masks.shape[1:])
    for _ in range(50):
        back = np.fft.ifft2(patterns * np.fft.fft2(masks * z, norm="ortho"), norm="ortho")
        z = np.sum(np.conj(masks) * back, axis=0)
        z /= np.linalg.norm(z)
    return z * np.sqrt(np.mean(np.sum(patterns, axis=(1, 2))))


def picture(n: int) -> np.ndarray:
    """Return a disc with a hole, of a phase that varies."""
    y, x = np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
    r = np.hypot(x, y)
    return ((r < 0.8) * (np.hypot(x - 0.2, y) > 0.25) * (1 - 0.5 * r)) * np.exp(1j * np.pi * x * y) + 0.1


def distance(z: np.ndarray, truth: np.ndarray) -> float:
    """Return the relative distance of two images, up to a phase."""
    phase = np.vdot(z, truth) / np.abs(np.vdot(z, truth))
    return np.linalg.norm(phase * z - truth) / np.linalg.norm(truth)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the loss and its arguments at a small size."""
    masks = octanary_masks(2, 4, np.random.default_rng(0))
    patterns = measure(picture(4), masks)
    return lambda z: loss(z, masks, patterns), (picture(4) + 0.1 * np.cos(np.arange(16.0)).reshape(4, 4),)


def main(path: str = "phase_retrieval.png") -> None:
    n, rng = 64, np.random.default_rng(0)
    truth = picture(n)
    masks = octanary_masks(12, n, rng)
    patterns = measure(truth, masks)
    start = z = spectral_start(masks, patterns, rng)
    gradient = wg.jit(wg.grad(lambda z: loss(z, masks, patterns)))
    rate = 0.05 * z.size / np.mean(np.abs(z) ** 2)
    distances = []
    for step in range(400):
        z = z - min(1 - np.exp(-step / 60), 0.8) * rate * np.conj(gradient(z))
        distances.append(distance(z, truth))
    print(
        f"relative distance to the image: {distance(start, truth):.3f} at the start, {distances[-1]:.1e} at the end"
    )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3), layout="constrained")
    images = (np.abs(truth), np.abs(start), np.abs(z))
    *pictures, curve = figure.subplots(1, 4)
    for axes, image, title in zip(
        pictures, images, ("image", "spectral estimate", "Wirtinger flow"), strict=True
    ):
        axes.imshow(image, cmap="gray", vmin=0, vmax=1)
        axes.set_title(title)
    curve.semilogy(distances)
    curve.set(xlabel="step", title="distance")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
