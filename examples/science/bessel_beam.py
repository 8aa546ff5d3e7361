"""The parameters of a Bessel-Gauss beam from a noisy camera picture.

The intensity of a beam of order m is I = a J_m(κ r)² exp(-2 r² / w²) + b, with r the distance to the centre
(x0, y0). Nonlinear least squares with the exact Jacobian finds a, κ, w, x0, y0 and b; the covariance is σ²
(JᵀJ)⁻¹.

Sources: Durnin, "Exact solutions for nondiffracting beams", J. Opt. Soc. Am. A 4 (1987); Gori and others,
"Bessel-Gauss beams", Opt. Commun. 64 (1987).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares
from scipy.special import jv

import wengert as wg

NAMES = ("amplitude", "wave number", "waist", "x", "y", "background")


def intensity(parameters: np.ndarray, x: np.ndarray, y: np.ndarray, order: int) -> np.ndarray:
    """Return the intensity at the points of the camera."""
    amplitude, wave_number, waist, x0, y0, background = parameters
    r = np.hypot(x - x0, y - y0)
    return amplitude * jv(order, wave_number * r) ** 2 * np.exp(-2 * r**2 / waist**2) + background


def pixels(n: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    line = np.linspace(-width / 2, width / 2, n)
    return np.meshgrid(line, line)


def residuals(
    parameters: np.ndarray, picture: np.ndarray, x: np.ndarray, y: np.ndarray, order: int
) -> np.ndarray:
    return (intensity(parameters, x, y, order) - picture).ravel()


TRUTH = np.array([5.0, 3.0, 2.5, 0.31, -0.17, 0.2])


def case() -> tuple[Callable[..., float], tuple]:
    """Return half the sum of squares and its arguments at a small size."""
    x, y = pixels(5, 4.0)
    picture = intensity(TRUTH, x, y, 1)
    return lambda p: 0.5 * np.sum(residuals(p, picture, x, y, 1) ** 2), (1.1 * TRUTH,)


def main(path: str = "bessel_beam.png") -> None:
    order, (x, y) = 1, pixels(80, 8.0)
    picture = np.random.default_rng(0).poisson(60 * intensity(TRUTH, x, y, order)) / 60

    def difference(parameters: np.ndarray) -> np.ndarray:
        return residuals(parameters, picture, x, y, order)

    start = np.array([3.0, 2.7, 3.0, 0.0, 0.0, 0.0])
    found = least_squares(difference, start, jac=wg.jit(wg.jacfwd(difference)))
    variance = 2 * found.cost / (x.size - len(start))
    errors = np.sqrt(variance * np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    print(f"{found.nfev} evaluations")
    for name, value, error, true in zip(NAMES, found.x, errors, TRUTH, strict=True):
        print(f"{name:12} {value:.4f} ± {error:.4f}, the truth {true:.4f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    fitted = intensity(found.x, x, y, order)
    left.imshow(picture)
    left.set_title("camera")
    middle.imshow(fitted)
    middle.set_title("fit")
    right.plot(x[0], picture[38], ".", markersize=3)
    right.plot(x[0], fitted[38])
    right.set_title("a row")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
