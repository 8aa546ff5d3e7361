"""Bundle adjustment: 50 cameras and 8,000 points from where the points appear in the pictures, by sparse least squares.

A camera has an axis and angle of rotation, a shift, a focal length and two coefficients of radial distortion, as in
the data sets "Bundle Adjustment in the Large": P = R X + t, p = -P / P_z, and the picture shows
f (1 + k1 |p|² + k2 |p|⁴) p. The Jacobian has 96,000 rows and 24,450 columns, and each row 12 elements that are not
zero. Levenberg's and Marquardt's steps factorise its normal equations, the points before the cameras.

Sources: Triggs and others, "Bundle adjustment: a modern synthesis" (2000); Agarwal and others, "Bundle adjustment in
the large" (2010).
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import wengert as wg


def rotations(r: np.ndarray) -> np.ndarray:
    """Return the matrices of rotations about axes r by the angles |r| (Rodrigues)."""
    angle = np.sqrt(np.sum(r * r, axis=1))[:, None, None]
    sine, versine = np.sinc(angle / np.pi), 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    cross = np.cross(r[:, None, :], np.eye(3))  # the rows are those of the transpose of r x
    return np.cos(angle) * np.eye(3) - sine * cross + versine * r[:, :, None] * r[:, None, :]


def project(cameras: np.ndarray, points: np.ndarray, camera: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return where cameras show points, one of each for an observation, in pixels."""
    turn, shift = rotations(cameras[:, :3])[camera], cameras[camera, 3:6]
    x = np.sum(turn * points[point][:, None, :], axis=2) + shift
    p = -x[:, :2] / x[:, 2:]
    square = np.sum(p * p, axis=1, keepdims=True)
    focal, k1, k2 = (cameras[camera, n : n + 1] for n in (6, 7, 8))
    return focal * (1 + k1 * square + k2 * square**2) * p


def residuals(scene: dict, camera: np.ndarray, point: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the differences between projections and observations, in pixels."""
    return project(scene["cameras"], scene["points"], camera, point) - seen


def towards_centre(place: np.ndarray) -> np.ndarray:
    """Return the rotation and the shift of a camera at a place that looks at the origin."""
    from scipy.spatial.transform import Rotation

    back = place / np.linalg.norm(place)
    right = np.cross([0.0, 0.0, 1.0], back)
    right = right / np.linalg.norm(right)
    turn = Rotation.from_matrix(np.stack([right, np.cross(back, right), back]))
    return np.concatenate([turn.as_rotvec(), -turn.apply(place)])


def survey(count: int, points: int, views: int = 6) -> tuple[dict, dict, tuple]:
    """Return a true scene, a start, and the observations with a noise of half a pixel.

    Cameras fly around a body like a star fruit, and each point is seen by neighbours.
    """
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * (np.arange(count) + 0.2 * rng.random(count)) / count
    places = np.stack([10 * np.cos(angle), 10 * np.sin(angle), 2 * np.sin(3 * angle)], 1)
    lens = np.array([800.0, -0.1, 0.02]) + np.array([40.0, 0.02, 0.01]) * rng.standard_normal((count, 3))
    cameras = np.concatenate([[towards_centre(place) for place in places], lens], axis=1)
    body = rng.standard_normal((points, 3))
    around = np.arctan2(body[:, 1], body[:, 0])
    body *= (2.5 + 0.4 * np.cos(5 * around)[:, None]) / np.linalg.norm(body, axis=1, keepdims=True)
    nearest = np.round(around / (2 * np.pi) * count).astype(int)
    camera = ((nearest[:, None] + np.arange(views) - views // 2) % count).ravel()
    point = np.repeat(np.arange(points), views)
    seen = project(cameras, body, camera, point) + 0.5 * rng.standard_normal((len(camera), 2))
    error = np.array([0.01] * 3 + [0.05] * 3 + [10.0, 0.02, 0.01]) * rng.standard_normal((count, 9))
    start = {"cameras": cameras + error, "points": body + 0.1 * rng.standard_normal((points, 3))}
    return {"cameras": cameras, "points": body}, start, (camera, point, seen)


def aligned(points: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return points after the similarity that brings them nearest to others: pictures do not show it (Umeyama)."""
    here, there = points - points.mean(0), truth - truth.mean(0)
    u, size, v = np.linalg.svd(here.T @ there)
    return here @ (u @ v) * (np.sum(size) / np.sum(here**2)) + truth.mean(0)


def case() -> tuple[Callable[..., float], tuple]:
    """Return half the sum of squares and its arguments at a small size."""
    _, start, observed = survey(3, 4, 3)

    def cost(cameras: np.ndarray, points: np.ndarray) -> float:
        return 0.5 * np.sum(residuals({"cameras": cameras, "points": points}, *observed) ** 2)

    return cost, (start["cameras"], start["points"])


def main(path: str = "bundle_adjustment.png", cameras: int = 50, points: int = 8000) -> None:
    truth, start, observed = survey(cameras, points)
    begin = time.perf_counter()
    found = wg.optimize.least_squares(residuals, start, method="lm", args=observed)
    seconds = time.perf_counter() - begin
    errors = [np.sqrt(np.mean(residuals(scene, *observed) ** 2)) for scene in (start, found.x)]
    print(f"{cameras} cameras, {points:,} points, {len(observed[0]):,} observations")
    print(f"{seconds:.1f} s, {found.nfev} evaluations")
    print(f"error of the projections (rms): {errors[0]:.2f} -> {errors[1]:.3f} pixels; the noise has 0.5")
    scenes = [aligned(scene["points"], truth["points"]) for scene in (start, found.x)]
    off = [np.linalg.norm(scene - truth["points"], axis=1) for scene in scenes]
    print(f"distance from the true points (median): {np.median(off[0]):.3f} -> {np.median(off[1]):.4f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axes, scene, title in ((left, scenes[0], "start"), (middle, scenes[1], "adjusted")):
        slab = np.abs(truth["points"][:, 2]) < 0.5
        axes.plot(*scene[slab, :2].T, ".", markersize=2)
        axes.set(title=f"{title}: a slice, from above", aspect="equal")
    for distances, name in zip(off, ("start", "adjusted"), strict=True):
        right.hist(distances, np.geomspace(1e-4, 1, 60), alpha=0.7, label=name)
    right.set(xscale="log", xlabel="distance from the true point", ylabel="points")
    right.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
