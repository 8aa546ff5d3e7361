"""Differential equations: Wengert, SciPy with differences, diffrax and CasADi's CVODES, on one thread.

The contestants take turns in one process (turns.py). The tolerances are the same; the error that a contestant reaches,
against a solution with tight tolerances, stands beside its time. With `--write` the table in docs/measurements.md is
replaced. Run `pip install scipy diffrax casadi` first; what is not installed is left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tables import replace_table
from turns import jax, jnp  # before NumPy: it limits the threads

import numpy as np  # isort: skip

os.environ["WENGERT_CACHE"] = "off"  # the first run compiles

import scipy.integrate

import wengert as wg

try:
    import diffrax
except ImportError:
    diffrax = None
try:
    import casadi
except ImportError:
    casadi = None

Rhs = Callable[..., Any]


class Problem(NamedTuple):
    """An initial value problem with parameters, and the gradient of the sum of the squares at its end."""

    name: str
    rhs: Callable[[Any], Rhs]
    """``module -> (t, y, p) -> dy/dt``"""
    start: Any
    parameters: Any
    stop: float
    rtol: float
    atol: float
    stiff: bool = False
    gradient: bool = False
    bandwidth: int = 0
    explicit: str = "Tsit5"


def lotka_volterra(xp: Any) -> Rhs:
    def rhs(t: Any, y: Any, p: Any) -> Any:
        return [p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]]

    return rhs


def van_der_pol(xp: Any) -> Rhs:
    return lambda t, y, p: [y[1], p[0] * ((1 - y[0] ** 2) * y[1]) - y[0]]


def robertson(xp: Any) -> Rhs:
    def rhs(t: Any, y: Any, p: Any) -> Any:
        slow, fast, destroyed = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] ** 2
        return [-slow + fast, slow - fast - destroyed, destroyed]

    return rhs


def lorenz(xp: Any) -> Rhs:
    return lambda t, y, p: [p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]]


def kepler(xp: Any) -> Rhs:
    def rhs(t: Any, y: Any, p: Any) -> Any:
        cube = (y[0] ** 2 + y[1] ** 2) ** 1.5
        return [y[2], y[3], -p[0] * y[0] / cube, -p[0] * y[1] / cube]

    return rhs


CELLS = 500


def brusselator(xp: Any) -> Rhs:
    def rhs(t: Any, y: Any, p: Any) -> Any:
        if xp is casadi:
            u, v = y[0::2], y[1::2]
            wide_u, wide_v = (xp.vertcat(edge, w, edge) for edge, w in ((1.0, u), (3.0, v)))
        else:
            u, v = y[0::2], y[1::2]
            wide_u, wide_v = xp.pad(u, 1, constant_values=1.0), xp.pad(v, 1, constant_values=3.0)
        rate = p[0] * (CELLS + 1) ** 2
        du = 1 + u * u * v - 4 * u + rate * (wide_u[2:] - 2 * u + wide_u[:-2])
        dv = 3 * u - u * u * v + rate * (wide_v[2:] - 2 * v + wide_v[:-2])
        if xp is casadi:
            return casadi.reshape(casadi.horzcat(du, dv).T, 2 * CELLS, 1)
        return xp.stack([du, dv], axis=1).reshape(-1)

    return rhs


def _brusselator_start() -> Any:
    x = np.arange(1, CELLS + 1) / (CELLS + 1)
    return np.stack([1 + np.sin(2 * np.pi * x), np.full(CELLS, 3.0)], axis=1).reshape(-1)


PROBLEMS = [
    Problem("Lotka-Volterra", lotka_volterra, np.array([10.0, 5.0]), np.array([1.1, 0.4, 0.1, 0.4]), 20, 1e-7, 1e-9),
    Problem(
        "Lotka-Volterra", lotka_volterra, np.array([10.0, 5.0]), np.array([1.1, 0.4, 0.1, 0.4]), 20, 1e-7, 1e-9,
        gradient=True,
    ),
    Problem("van der Pol, 1,000", van_der_pol, np.array([2.0, 0.0]), np.array([1e3]), 2000, 1e-6, 1e-8, stiff=True),
    Problem(
        "Robertson", robertson, np.array([1.0, 0.0, 0.0]), np.array([0.04, 1e4, 3e7]), 1e4, 1e-6, 1e-10, stiff=True,
        gradient=True,
    ),
    Problem("Lorenz", lorenz, np.ones(3), np.array([10.0, 28.0, 8 / 3]), 10, 1e-9, 1e-9, explicit="DOP853"),
    Problem(
        "Kepler, 10 revolutions", kepler, np.array([0.4, 0, 0, 2.0]), np.array([1.0]), 20 * np.pi, 1e-9, 1e-9,
        explicit="DOP853",
    ),
    Problem(
        "Brusselator, 1,000 unknowns", brusselator, _brusselator_start(), np.array([0.02]), 10, 1e-6, 1e-8, stiff=True,
        bandwidth=2,
    ),
]  # fmt: skip


def loss(y: Any) -> Any:
    """Return what is differentiated."""
    return (y * y).sum()


def of_wengert(problem: Problem, max_steps: int = 4000) -> Callable[[Any], Any]:
    method = "Rodas5P" if problem.stiff else problem.explicit
    settings: dict[str, Any] = {"rtol": problem.rtol, "atol": problem.atol, "max_steps": max_steps}

    def end(p: Any) -> Any:
        span = (0.0, problem.stop)
        result = wg.integrate.solve_ivp(
            problem.rhs(np), span, problem.start, method, [problem.stop], args=(p,), **settings
        )
        return result.y[:, 0]

    return wg.jit(wg.grad(lambda p: loss(end(p)))) if problem.gradient else wg.jit(end)


def of_scipy(problem: Problem) -> Callable[[Any], Any]:
    method = "LSODA" if problem.stiff else "DOP853" if problem.explicit == "DOP853" else "RK45"
    band = {"lband": problem.bandwidth, "uband": problem.bandwidth} if problem.bandwidth else {}

    def end(p: Any) -> Any:
        settings: dict[str, Any] = {"rtol": problem.rtol, "atol": problem.atol, "args": (p,), **band}
        return scipy.integrate.solve_ivp(
            problem.rhs(np), (0, problem.stop), problem.start, method, **settings
        ).y[:, -1]

    def differences(p: Any) -> Any:
        steps = np.diag(1e-4 * p)
        return np.array([(loss(end(p + h)) - loss(end(p - h))) / (2 * h.sum()) for h in steps])

    return differences if problem.gradient else end


def of_diffrax(problem: Problem) -> Callable[[Any], Any]:
    rhs = problem.rhs(jnp)
    term = diffrax.ODETerm(lambda t, y, p: jnp.asarray(rhs(t, y, p)))
    solver = (
        diffrax.Kvaerno5()
        if problem.stiff
        else diffrax.Dopri8()
        if problem.explicit == "DOP853"
        else diffrax.Tsit5()
    )
    start, control = jnp.asarray(problem.start), diffrax.PIDController(rtol=problem.rtol, atol=problem.atol)

    def end(p: Any) -> Any:
        return diffrax.diffeqsolve(
            term, solver, 0.0, problem.stop, None, start, p, stepsize_controller=control, max_steps=20_000
        ).ys[-1]

    function = jax.jit(jax.grad(lambda p: loss(end(p))) if problem.gradient else end)
    return lambda p: np.asarray(function(jnp.asarray(p)))


def of_casadi(problem: Problem) -> Callable[[Any], Any]:
    y, p = casadi.SX.sym("y", len(problem.start)), casadi.SX.sym("p", len(problem.parameters))
    slope = problem.rhs(casadi)(0.0, y, p)
    slope = casadi.vertcat(*slope) if isinstance(slope, list) else slope
    options = {"reltol": problem.rtol, "abstol": problem.atol, "max_num_steps": 100_000}
    if problem.gradient:
        options["quad_err_con"] = True
    equations = {"x": y, "p": p, "ode": slope}
    solver = casadi.integrator("solver", "cvodes", equations, 0.0, problem.stop, options)
    given = casadi.MX.sym("p", len(problem.parameters))
    end = solver(x0=problem.start, p=given)["xf"]
    result = casadi.gradient(casadi.dot(end, end), given) if problem.gradient else end
    function = casadi.Function("function", [given], [result])
    return lambda p: np.asarray(function(p)).reshape(-1)


def reference(problem: Problem) -> Any:
    """Return the result with tight tolerances."""
    tight = problem._replace(rtol=1e-10, atol=1e-3 * problem.atol, explicit="DOP853")
    return of_wengert(tight, 40_000)(problem.parameters)


def contestants(problem: Problem) -> dict[str, Callable[[Problem], Callable[[Any], Any]]]:
    found: dict[str, Any] = {"Wengert": of_wengert, "SciPy": of_scipy}
    if diffrax is not None and not problem.bandwidth:  # its Jacobians are dense
        found["diffrax"] = of_diffrax
    if casadi is not None:
        found["CasADi"] = of_casadi
    return found


def once(function: Callable[[Any], Any], p: Any) -> float:
    start = time.process_time()
    function(p)
    return time.process_time() - start


def measured(problem: Problem, turns: int) -> list[str]:
    """Return the rows of a problem."""
    exact, p = reference(problem), problem.parameters
    functions: dict[str, Callable[[Any], Any]] = {}
    firsts: dict[str, float] = {}
    for name, make in contestants(problem).items():
        start = time.process_time()
        functions[name] = make(problem)
        functions[name](p)
        firsts[name] = time.process_time() - start
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(turns):
        for name, function in functions.items():
            times[name].append(once(function, p))
    rows: list[str] = []
    for name, function in functions.items():
        error = np.linalg.norm(function(p) - exact) / np.linalg.norm(exact)
        ratio = statistics.median(b / a for a, b in zip(times["Wengert"], times[name], strict=True))
        title = f"{problem.name}{', gradient' if problem.gradient else ''}"
        cells = f"{title} | {name} | {firsts[name]:.2f} | {1e3 * statistics.median(times[name]):.3g} | {error:.1e}"
        rows.append(f"| {cells} | {'' if name == 'Wengert' else f'{ratio:.3g} x'} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="a part of the names of problems; all by default")
    parser.add_argument("--turns", type=int, default=7, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    arguments = parser.parse_args()
    lines = [
        "| problem | by | first run, s | ms | relative error | Wengert is faster by |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for problem in (problem for problem in PROBLEMS if arguments.part in problem.name):
        lines += measured(problem, arguments.turns)
    if arguments.write:
        replace_table("measurements.md", "differential equations", "\n".join(lines))


if __name__ == "__main__":
    main()
