"""The orbit of a satellite around the oblate Earth, from ranges and directions that three stations see.

The acceleration is the gradient of the potential U = mu / r (1 - J2 (R / r)² (3 (z / r)² - 1) / 2). A station turns
with the Earth, and measures range, azimuth and elevation of the satellite over its horizon. Least squares with the
exact Jacobian H of the residuals, in units of the noise, give the state at the epoch; its covariance is
P = (H' H)^-1. The derivative F of the flow maps it to other times: F P F'.

Sources: Montenbruck and Gill, "Satellite orbits" (2000); Tapley, Schutz and Born, "Statistical orbit determination"
(2004).
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult

import wengert as wg

MU, RADIUS, J2, FLATTENING = 398600.4418, 6378.137, 1.08262668e-3, 1 / 298.257  # of the Earth, in km and s
TURN = 7.292115e-5  # radians a second
STATIONS = np.radians([[28.4, -80.6], [40.4, -4.2], [-31.0, 116.2]])  # latitudes and longitudes
NOISE = np.array([0.02, np.radians(0.02), np.radians(0.02)])  # of range, azimuth and elevation
TRUTH = np.array([7178.0, 0.0, 0.0, 0.0, 3.7, 6.47])


def potential(r: np.ndarray) -> float:
    """Return the potential of gravity with its second zonal harmonic."""
    square = np.sum(r**2)
    return MU / np.sqrt(square) * (1 - J2 * RADIUS**2 / square * (3 * r[2] ** 2 / square - 1) / 2)


def motion(t: float, state: np.ndarray) -> np.ndarray:
    """Return the velocity and the acceleration."""
    return np.concatenate([state[3:], wg.grad(potential)(state[:3])])


def orbit(state: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return positions and velocities at rising times, one a row."""
    accuracy = {"rtol": 1e-10, "atol": 1e-9, "max_steps": 5000}
    return wg.integrate.solve_ivp(motion, (0, times[-1]), state, "DOP853", times, **accuracy).y.T


def observe(positions: np.ndarray, times: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return range, azimuth and elevation, one row for each position, time and place of a station."""
    latitude, angle = places[:, 0], places[:, 1] + TURN * times
    sine, cosine = np.sin(latitude), np.cos(latitude)
    up = np.stack([cosine * np.cos(angle), cosine * np.sin(angle), sine], axis=1)
    east = np.stack([-np.sin(angle), np.cos(angle), np.zeros(len(times))], axis=1)
    squash = np.array([1.0, 1.0, (1 - FLATTENING) ** 2])
    sight = positions - RADIUS * up * squash / np.sqrt(np.sum(up**2 * squash, axis=1, keepdims=True))
    e, n, u = (np.sum(sight * axis, axis=1) for axis in (east, np.cross(up, east), up))
    level = np.hypot(e, n)
    return np.stack([np.hypot(level, u), np.arctan2(e, n), np.arctan2(u, level)], axis=1)


def residuals(state: np.ndarray, times: np.ndarray, places: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the differences to observations in units of the noise; azimuths differ by at most half a turn."""
    off = observe(orbit(state, times)[:, :3], times, places) - seen
    turned = np.arctan2(np.sin(off[:, 1:]), np.cos(off[:, 1:]))
    return (np.concatenate([off[:, :1], turned], axis=1) / NOISE).ravel()


def directions(states: np.ndarray) -> np.ndarray:
    """Return the unit vectors outwards, along the track and across it, as rows of matrices."""
    outwards, across = states[:, :3], np.cross(states[:, :3], states[:, 3:])
    axes = np.stack([outwards, np.cross(across, outwards), across], axis=1)
    return axes / np.linalg.norm(axes, axis=2, keepdims=True)


def case() -> tuple[Callable[..., float], tuple]:
    """Return half the sum of squares and its argument at a small size."""
    observed = np.array([300.0, 600.0]), STATIONS[:2], np.array([[3000.0, 1.0, 0.5]] * 2)
    return lambda state: 0.5 * np.sum(residuals(state, *observed) ** 2), (TRUTH,)


def main(path: str = "orbit_determination.png", records: int = 500) -> None:
    rng, flow, compiled = np.random.default_rng(0), wg.jit(orbit), wg.jit(residuals)
    times = np.arange(30.0, 86401.0, 30.0)
    true = flow(TRUTH, times)
    views = [observe(true[:, :3], times, np.tile(place, (len(times), 1))) for place in STATIONS]
    index, station = np.nonzero(np.stack([view[:960, 2] for view in views], axis=1) > np.radians(10))
    moments, places, exact = times[index], STATIONS[station], np.array(views)[station, index]
    seen = exact + NOISE * rng.standard_normal((1 + records, *exact.shape))

    def fit(start: np.ndarray, record: np.ndarray) -> OptimizeResult:
        return wg.optimize.least_squares(compiled, start, method="lm", args=(moments, places, record))

    start = TRUTH + np.array([40.0, 20.0, -40.0, 0.04, -0.02, 0.03])
    begin = time.perf_counter()
    found = fit(start, seen[0])
    print(f"{len(exact)} observations, {found.nfev} evaluations, {time.perf_counter() - begin:.1f} s")
    covariance, left_over = np.linalg.inv(found.jac.T @ found.jac), found.fun.reshape(exact.shape)
    print("residuals (rms) / noise:", np.sqrt(np.mean(left_over**2, axis=0)).round(2))
    table = np.array([start - TRUTH, found.x - TRUTH, np.sqrt(np.diag(covariance))])
    for name, row in zip(("start", "fit", "sigma"), table * np.repeat([1e3, 1e6], 3), strict=True):
        print(f"{name:5} (m, mm/s)", *(f"{value:9.1f}" for value in row))

    axes = directions(true)
    derivative = axes @ wg.jit(wg.jacobian(orbit))(found.x, times)[:, :3]
    sigma = 1e3 * np.sqrt(np.sum(derivative @ covariance * derivative, axis=2))
    others = [flow(fit(found.x, record).x, times) - true for record in seen[1:]]
    spread = np.sqrt(np.mean([np.sum(1e3 * axes * off[:, None, :3], axis=2) ** 2 for off in others], axis=0))
    for hour in (8, 24):
        one, other = (errors[120 * hour - 1, 1] for errors in (sigma, spread))
        print(f"along the track after {hour} h: ± {one:.1f} m, {records} other fits (rms) {other:.1f} m")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for n, name in enumerate(("range", "azimuth", "elevation")):
        left.plot(moments / 3600, left_over[:, n], ".", label=name)
    left.set(xlabel="time / h", ylabel="residual / noise", title="residuals")
    left.legend()
    for n, name in enumerate(("outwards", "along the track", "across")):
        right.plot(times / 3600, sigma[:, n], color=f"C{n}", label=name)
        right.plot(times[::45] / 3600, spread[::45, n], ".", color=f"C{n}")
    right.plot(moments / 3600, 0 * moments, "k|", label="observations")
    right.set(xlabel="time / h", ylabel="1 sigma of the position / m", title="dots: other fits (rms)")
    right.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
