"""Sparse Jacobians and Hessians against the dense ones, SciPy's differences by groups, and CasADi.

Calls take turns, so that a drift of the machine's speed affects all; each number is a median. CasADi evaluates its
expressions with its own interpreter, as it does where no C compiler is called. Run `pip install scipy casadi` first,
then `python benchmarks/sparse.py`; with `--write` the table in docs/measurements.md is replaced.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy loads its linear algebra
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.optimize._numdiff import approx_derivative, group_columns
from tables import replace_table

import wengert as wg

try:
    import casadi
except ImportError:  # the table then lacks its column
    casadi = None

TURNS = 30
SECONDS = 0.5
"""How long one contestant may take in all turns."""
MOST_DENSE = 2000
"""Unknowns from which the dense matrix takes too much memory for all directions at once."""


class Workload(NamedTuple):
    """A function of a vector for NumPy, the same for CasADi, and the point."""

    name: str
    function: Callable[[Any], Any]
    symbolic: Callable[[Any], Any]
    point: Any
    hessian: bool = False


def heat(side: int) -> Workload:
    """Nonlinear heat conduction on a square: five points an equation."""

    def function(u: Any) -> Any:
        v = np.pad(u.reshape(side, side), 1)
        middle, k = v[1:-1, 1:-1], 1 + v**2
        flow = 0.0
        for moved, other in (
            (v[:-2, 1:-1], k[:-2, 1:-1]),
            (v[2:, 1:-1], k[2:, 1:-1]),
            (v[1:-1, :-2], k[1:-1, :-2]),
            (v[1:-1, 2:], k[1:-1, 2:]),
        ):
            flow = flow + 0.5 * (k[1:-1, 1:-1] + other) * (moved - middle)
        return flow.reshape(-1)

    def symbolic(u: Any) -> Any:
        grid = casadi.reshape(u, side, side)
        v = casadi.SX.zeros(side + 2, side + 2)
        v[1:-1, 1:-1] = grid
        middle, k = v[1:-1, 1:-1], 1 + v**2
        flow = 0.0
        for rows, columns in ((slice(0, -2), slice(1, -1)), (slice(2, None), slice(1, -1))):
            flow += 0.5 * (k[1:-1, 1:-1] + k[rows, columns]) * (v[rows, columns] - middle)
            flow += 0.5 * (k[1:-1, 1:-1] + k[columns, rows]) * (v[columns, rows] - middle)
        return casadi.reshape(flow, side * side, 1)

    point = np.random.default_rng(0).normal(size=side**2)
    return Workload(f"heat equation, {side**2:,} cells", function, symbolic, point)


def band(count: int) -> Workload:
    """Three neighbours an equation (Broyden's tridiagonal function)."""

    def function(x: Any) -> Any:
        y = (3 - 2 * x) * x + 1
        y[1:] -= x[:-1]
        y[:-1] -= 2 * x[1:]
        return y

    def symbolic(x: Any) -> Any:
        before, after = casadi.vertcat(0, x[:-1]), casadi.vertcat(x[1:], 0)
        return (3 - 2 * x) * x + 1 - before - 2 * after

    point = np.linspace(-1, 1, count)
    return Workload(f"Broyden's tridiagonal function, {count:,}", function, symbolic, point)


def arrow(count: int) -> Workload:
    """A dense row, a dense column, and the diagonal."""

    def function(x: Any) -> Any:
        return np.concatenate([[x @ x], x[1:] ** 2 * x[0]])

    def symbolic(x: Any) -> Any:
        return casadi.vertcat(casadi.dot(x, x), x[1:] ** 2 * x[0])

    return Workload(f"arrowhead, {count:,}", function, symbolic, np.linspace(0.5, 1, count))


def valley(count: int) -> Workload:
    """The Hessian of Rosenbrock's function."""

    def function(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def symbolic(x: Any) -> Any:
        return casadi.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    point = np.linspace(-1, 1, count)
    return Workload(f"Hessian of Rosenbrock's function, {count:,}", function, symbolic, point, True)


def rocket_defects(xp: Any, z: Any, nodes: int) -> Any:
    """Return the defects of the trapezoidal rule for Goddard's rocket: altitude, speed, mass and thrust at each node.

    Dolan, More and Munson, "Benchmarking optimization software with COPS 3.0", 2004, problem 10.
    """
    h, v, m, thrust = (z[n * nodes : (n + 1) * nodes] for n in range(4))
    drag = 310.0 * v**2 * xp.exp(-500.0 * (h - 1.0))
    rise = (thrust - drag) / m - 1 / h**2
    half = 0.5 * 0.2 / (nodes - 1)
    return [
        h[1:] - h[:-1] - half * (v[1:] + v[:-1]),
        v[1:] - v[:-1] - half * (rise[1:] + rise[:-1]),
        m[1:] - m[:-1] + half / 0.5 * (thrust[1:] + thrust[:-1]),
    ]


def rocket(nodes: int, hessian: bool) -> Workload:
    """The constraints of an optimal control problem, and the Hessian of its Lagrangian."""
    multipliers = np.cos(np.arange(3.0 * (nodes - 1)))

    def function(z: Any) -> Any:
        defects = np.concatenate(rocket_defects(np, z, nodes))
        return np.sum(multipliers * defects) - z[nodes - 1] if hessian else defects

    def symbolic(z: Any) -> Any:
        defects = casadi.vertcat(*rocket_defects(casadi, z, nodes))
        return casadi.dot(multipliers, defects) - z[nodes - 1] if hessian else defects

    point = np.concatenate([np.full(nodes, value) for value in (1.005, 0.05, 0.8, 1.5)])
    name = "Hessian of the Lagrangian" if hessian else "constraints"
    point = point * (1 + 0.01 * np.sin(np.arange(4.0 * nodes)))
    return Workload(f"Goddard's rocket, {name}, {nodes:,} nodes", function, symbolic, point, hessian)


def masses(count: int) -> Workload:
    """The Hessian of the energy of a hanging chain of masses in space: springs between neighbours, and weight."""

    def function(x: Any) -> Any:
        places = np.pad(x.reshape(count, 3), ((1, 1), (0, 0))) + np.linspace(0.0, 1.0, count + 2)[:, None]
        stretch = np.sqrt(np.sum(np.diff(places, axis=0) ** 2, axis=1)) - 0.5 / count
        return 0.5 * count * np.sum(stretch**2) + np.sum(x.reshape(count, 3)[:, 2]) / count

    def symbolic(x: Any) -> Any:
        moved = casadi.reshape(x, 3, count).T
        padded = casadi.vertcat(casadi.SX.zeros(1, 3), moved, casadi.SX.zeros(1, 3))
        places = padded + casadi.repmat(casadi.DM(np.linspace(0.0, 1.0, count + 2)), 1, 3)
        steps = places[1:, :] - places[:-1, :]
        stretch = casadi.sqrt(casadi.sum2(steps**2)) - 0.5 / count
        return 0.5 * count * casadi.sum1(stretch**2) + casadi.sum1(moved[:, 2]) / count

    point = 0.01 * np.sin(np.arange(3.0 * count))
    return Workload(f"Hessian of a chain of {count:,} masses", function, symbolic, point, True)


SIZES = {heat: (30, 100), band: (1_000, 100_000), arrow: (1_000, 10_000), valley: (1_000, 100_000)}
WORKLOADS = [
    *(workload(size) for workload, sizes in SIZES.items() for size in sizes),
    *(rocket(nodes, hessian) for hessian in (False, True) for nodes in (250, 2_500)),
    *map(masses, (300, 3_000)),
]


def contestants(workload: Workload) -> tuple[dict[str, Callable[[], Any]], float, int]:
    """Return the calls to time, and how long Wengert took up to its first matrix, and the number of its colours."""
    x = workload.point
    start = time.perf_counter()
    derivative = (wg.sparse_hessian if workload.hessian else wg.sparse_jacobian)(workload.function)
    matrix = derivative(x)
    first = time.perf_counter() - start
    calls: dict[str, Callable[[], Any]] = {"sparse": lambda: derivative(x)}
    if len(x) <= MOST_DENSE:
        dense = wg.jit((wg.hessian if workload.hessian else wg.jacobian)(workload.function))
        np.testing.assert_allclose(matrix.toarray(), dense(x), rtol=1e-10, atol=1e-10)
        calls["dense"] = lambda: dense(x)
    function = wg.jit(wg.grad(workload.function) if workload.hessian else workload.function)
    pattern = derivative.pattern(x)
    if len(x) <= MOST_DENSE or derivative.colours(x).direction == "forward":
        structure = (pattern, group_columns(pattern))
        calls["differences"] = lambda: approx_derivative(function, x, method="2-point", sparsity=structure)
    if casadi is not None:
        calls["casadi"] = by_casadi(workload, matrix)
    return calls, first, derivative.colours(x).count


def by_casadi(workload: Workload, matrix: Any) -> Callable[[], Any]:
    """Return a call of CasADi's sparse derivative, without Python objects in between; check its values."""
    x = casadi.SX.sym("x", len(workload.point))
    value = workload.symbolic(x)
    result = casadi.hessian(value, x)[0] if workload.hessian else casadi.jacobian(value, x)
    function = casadi.Function("derivative", [x], [result])
    buffer, call = function.buffer()
    data = np.zeros(function.nnz_out(0))
    point = np.ascontiguousarray(workload.point)
    buffer.set_arg(0, memoryview(point))
    buffer.set_res(0, memoryview(data))
    call()
    np.testing.assert_allclose(np.sum(data), matrix.sum(), rtol=1e-9, atol=1e-9)
    kept = function, buffer, point, data  # CasADi holds addresses only

    def evaluate(kept: Any = kept) -> None:
        call()

    return evaluate


def medians(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median time of each call; the calls take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(TURNS):
        for name, call in calls.items():
            if sum(times[name]) < SECONDS:
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def shown(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"


def table(part: str) -> str:
    """Return the table of the workloads whose names contain a text."""
    columns = ["dense", "differences", "casadi"]
    lines = [
        "| | colours | first matrix | a call | dense, compiled | SciPy's differences by groups | CasADi |",
        "|---|---|---|---|---|---|---|",
    ]
    for workload in (w for w in WORKLOADS if part in w.name):
        calls, first, colours = contestants(workload)
        found = medians(calls)
        cells = [workload.name, str(colours), f"{first:.2f} s", shown(found["sparse"])]
        lines.append(f"| {' | '.join([*cells, *(shown(found.get(name)) for name in columns)])} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "part", nargs="?", default="", help="a part of the names of workloads; all by default"
    )
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    options = parser.parse_args()
    wg.set_threads(1)
    result = table(options.part)
    print(result)
    if options.write:
        replace_table("measurements.md", "sparse", result)
