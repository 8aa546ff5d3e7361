"""Design of a Cooke triplet: exact rays through spherical surfaces, and curvatures that make the smallest spots.

A ray meets the sphere of curvature c at the distance that solves a quadratic equation, and refracts by
Snell's law in vector form, d' = μ d + (√(1 - μ²(1 - cos²θ)) - μ cosθ) n, with μ = n1/n2. The merit is the
mean squared distance of rays from their centroid in the image plane over three field angles and three wave
lengths, with prices for another focal length and for thin glass.

Sources: Welford, "Aberrations of Optical Systems" (1986), chapter 4; Kingslake and Johnson, "Lens Design
Fundamentals" (2010).
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

# Refractive indices at the C, d and F lines: crown SK16, flint F2.
CROWN = np.array([1.61727, 1.62041, 1.62756])
FLINT = np.array([1.61503, 1.62004, 1.63208])
AIR = np.ones(3)
MEDIA = (AIR, CROWN, AIR, FLINT, AIR, CROWN, AIR)
FOCAL = 50.0


def pupil(rays: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the entrance pupil on a spiral, of equal areas."""
    index = np.arange(rays) + 0.5
    r, angle = radius * np.sqrt(index / rays), np.pi * (1 + np.sqrt(5)) * index
    return r * np.cos(angle), r * np.sin(angle)


def refract(direction: np.ndarray, normal: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Return refracted directions; normals point along the ray, components come first."""
    cosine = np.sum(direction * normal, axis=0)
    return ratio * direction + (np.sqrt(1 - ratio**2 * (1 - cosine**2)) - ratio * cosine) * normal


def trace(design: np.ndarray, angles: np.ndarray, rays: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the points x and y in the image plane, with the axes field angle, wave length and ray.

    Args:
        design: six curvatures, then the six distances behind the surfaces.
        angles: the field angles in radians.
        rays: the number of rays.
        radius: the radius of the entrance pupil, at the first surface.
    """
    curvatures, distances = design[:6], design[6:]
    x, y = pupil(rays, radius)
    angles = angles[:, None, None]
    shift = np.sum(distances[:2]) * np.tan(angles)  # the beam is centred on the second lens
    shape = (len(angles), 3, rays)
    position = np.stack([np.broadcast_to(v, shape) for v in (x, y - shift, 0.0)])
    direction = np.stack([np.broadcast_to(v, shape) for v in (0.0, np.sin(angles), np.cos(angles))])
    axis = np.array([0.0, 0.0, 1.0])[:, None, None, None]
    for c, gap, before, after in zip(curvatures, distances, MEDIA[:-1], MEDIA[1:], strict=True):
        position = position - direction * position[2] / direction[2]  # to the tangent plane
        b = direction[2] - c * np.sum(position * direction, axis=0)
        a = c * (position[0] ** 2 + position[1] ** 2)
        position = position + direction * a / (b + np.sqrt(b**2 - c * a))
        direction = refract(direction, axis - c * position, (before / after)[:, None])
        position = position - gap * axis
    image = position - direction * position[2] / direction[2]
    return image[0], image[1]


def merit(design: np.ndarray, angles: np.ndarray, rays: int, radius: float) -> float:
    """Return the squared size of the spots in micrometres, and the prices of the constraints."""
    x, y = trace(design, angles, rays, radius)
    centre = np.mean(y, axis=(1, 2))
    spots = np.mean((x - np.mean(x)) ** 2 + (y - centre[:, None, None]) ** 2)
    scale = np.mean((centre - FOCAL * np.tan(angles)) ** 2)
    glass = np.minimum(design[6:11] - 1.5, 0)
    return 1e6 * (spots + 0.1 * scale + np.sum(glass**2))


START = np.array([1 / 22, -1 / 250, -1 / 25, 1 / 20, 1 / 110, -1 / 20, 3.0, 5.0, 1.6, 5.0, 3.0, 42.0])
SCALE = np.concatenate([np.full(6, 0.01), np.full(6, 1.0)])


def case() -> tuple[Callable[..., float], tuple]:
    """Return the merit and its arguments at a small size."""
    return lambda design: merit(design, np.array([0.2]), 3, 3.0), (START,)


def main(path: str = "lens_design.png") -> None:
    angles = np.radians([0.0, 10.0, 18.0])

    def goal(v: np.ndarray) -> float:
        return np.log(merit(SCALE * v, angles, 40, 5.0))

    fast = wg.jit(wg.value_and_grad(goal))
    found = minimize(fast, START / SCALE, jac=True, method="BFGS", options={"maxiter": 400})
    design = SCALE * found.x
    print(f"spot size (rms): {np.exp(fast(START / SCALE)[0] / 2):.0f} µm -> {np.exp(found.fun / 2):.1f} µm")
    print("radii / mm:", (1 / design[:6]).round(2), "distances / mm:", design[6:].round(2))

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    for row, values in zip(figure.subplots(2, 3), (START, design), strict=True):
        for axes, angle, x, y in zip(row, angles, *trace(values, angles, 300, 5.0), strict=True):
            for colour, u, v in zip(("C3", "C2", "C0"), x, y, strict=True):
                axes.plot(1e3 * u, 1e3 * (v - np.mean(y)), ".", color=colour, markersize=2)
            axes.set(title=f"{np.degrees(angle):.0f}°, µm", aspect="equal")
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
