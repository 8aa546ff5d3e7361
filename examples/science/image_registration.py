"""Registration of two pictures: the rotation, scale, shear and shift that map one onto the other.

The moving picture is read at the points A x + b by cubic splines, and the mean of squared differences to the
fixed picture is the goal. From coarse to fine, both pictures are smoothed by Gaussian filters of falling
width, which widens the basin of attraction; BFGS minimises at each width from the last result.

Sources: Szeliski, "Image alignment and stitching", Found. Trends Comput. Graph. Vis. 2 (2006); Unser,
"Splines: a perfect fit for signal and image processing", IEEE Signal Process. Mag. 16 (1999).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.optimize import minimize

import wengert as wg


def transformed(parameters: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return where each pixel reads: a linear map around the middle and a shift, of six numbers."""
    middle = (np.array(shape) - 1) / 2
    points = np.indices(shape).reshape(2, -1) - middle[:, None]
    A = np.eye(2) + parameters[:4].reshape(2, 2)
    return (A @ points + (middle + 10 * parameters[4:])[:, None]).reshape(2, *shape)


def warp(parameters: np.ndarray, image: np.ndarray) -> np.ndarray:
    return map_coordinates(image, transformed(parameters, image.shape), order=3, mode="nearest")


def mismatch(parameters: np.ndarray, moving: np.ndarray, fixed: np.ndarray) -> float:
    return np.mean((warp(parameters, moving) - fixed) ** 2)


def phantom(n: int) -> np.ndarray:
    """Return a picture of ellipses, like a slice of a head."""
    y, x = np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
    image = np.zeros((n, n))
    ellipses = (
        (1.0, 0, 0, 0.6, 0.8),
        (-0.7, 0, 0, 0.54, 0.74),
        (0.5, 0.2, -0.2, 0.12, 0.3),
        (0.4, -0.2, 0.1, 0.15, 0.1),
    )
    for value, x0, y0, width, height in ellipses:
        image[((x - x0) / width) ** 2 + ((y - y0) / height) ** 2 < 1] += value
    return gaussian_filter(image, 0.02 * n)


def case() -> tuple[Callable[..., float], tuple]:
    """Return the mismatch and its arguments, parameters and the moving picture, at a small size."""
    moving, fixed = phantom(8), phantom(8)[::-1]
    return lambda p, m: mismatch(p, m, fixed), (np.array([0.05, 0.1, -0.08, 0.02, 0.03, -0.02]), moving)


def main(path: str = "image_registration.png") -> None:
    n, rng = 64, np.random.default_rng(0)
    truth = np.array([np.cos(0.3) * 1.1 - 1, -np.sin(0.3), np.sin(0.3), np.cos(0.3) - 1, 0.4, -0.3])
    moving = phantom(n)
    fixed = warp(truth, moving) + 0.05 * rng.standard_normal((n, n))
    found = np.zeros(6)
    for width in (6.0, 3.0, 1.0):
        smooth = gaussian_filter(moving, width), gaussian_filter(fixed, width)
        gradient = wg.value_and_grad(lambda p, smooth=smooth: mismatch(p, *smooth))
        result = minimize(gradient, found, jac=True, method="BFGS", options={"gtol": 1e-6})
        found = result.x
        print(
            f"width {width:g}: mismatch {gradient(np.zeros(6))[0]:.5f} -> {result.fun:.2e}, {result.nit} iterations"
        )
    difference = transformed(found, (n, n)) - transformed(truth, (n, n))
    error = np.sqrt(np.mean(np.sum(difference**2, axis=0)))
    print(f"error of the map: {error:.3f} pixels (rms)")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    panels = (moving, fixed, warp(found, moving), fixed - warp(found, moving))
    titles = ("moving", "fixed", "registered", "difference")
    for axes, panel, title in zip(figure.subplots(1, 4), panels, titles, strict=True):
        axes.imshow(panel, cmap="gray", vmin=-0.2, vmax=1)
        axes.set_title(title)
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
