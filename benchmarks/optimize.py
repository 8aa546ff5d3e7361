"""Optimisation on one thread: Wengert's solvers, SciPy's with and without derivatives, jaxopt and optimistix.

The contestants take turns in one process (turns.py); libraries that are not installed are left out. All must find the
same solution, except where a case gives them a number of steps. With `--write` the table in docs/measurements.md is
replaced.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tables import replace_table
from turns import jax, jnp, seconds  # before NumPy: it limits the threads

import numpy as np  # isort: skip
import scipy.optimize
from scipy import integrate

import wengert as wg


class Case(NamedTuple):
    """A problem, and functions that return its solution, Wengert's first."""

    name: str
    contestants: dict[str, Callable[[], Any]]
    tolerance: float
    """The greatest relative difference of solutions."""
    most_turns: int = 100


def installed(name: str) -> Any:
    """Return a library for JAX, or None."""
    try:
        return importlib.import_module(name) if jax else None
    except ImportError:
        return None


# -- ten thousand fits -----------------------------------------------------------------------------------

T = np.linspace(0.0, 3.0, 50)


def decays(count: int) -> Any:
    rng = np.random.default_rng(0)
    height, rate = rng.uniform(1.0, 3.0, (count, 1)), rng.uniform(0.5, 2.0, (count, 1))
    return (
        height * np.exp(-rate * T) + rng.uniform(-0.5, 0.5, (count, 1)) + 0.01 * rng.normal(size=(count, 50))
    )


def misfit(xp: Any) -> Callable[[Any, Any], Any]:
    return lambda p, y: xp.mean((p[0] * xp.exp(-p[1] * T) + p[2] - y) ** 2)


def fits(count: int) -> Case:
    data, start = decays(count), np.array([1.0, 1.0, 0.0])

    def fit(y: Any) -> Any:
        return wg.optimize.lbfgs(misfit(np), start, (y,), gtol=1e-7, ftol=0.0).x

    whole = wg.jit(wg.vmap(fit))
    parts = wg.jit(lambda ys: wg.scan(lambda n, y: (n + 1, wg.vmap(fit)(y)), 0, ys)[1])
    batches = data.reshape(-1, 50, 50)
    contestants = {
        "wg.optimize.lbfgs, batches of 50": lambda: parts(batches).reshape(-1, 3),
        "wg.optimize.lbfgs, one batch": lambda: whole(data),
    }
    if jaxopt := installed("jaxopt"):
        solver = jaxopt.LBFGS(misfit(jnp), tol=1e-7, maxiter=200)
        run = jax.jit(jax.vmap(lambda y: solver.run(jnp.asarray(start), y).params))
        contestants["jaxopt.LBFGS"] = lambda: run(data).block_until_ready()
    if optimistix := installed("optimistix"):
        bfgs = optimistix.BFGS(rtol=1e-9, atol=1e-9)

        def minimised(y: Any) -> Any:
            found = optimistix.minimise(misfit(jnp), bfgs, jnp.asarray(start), y, max_steps=500, throw=False)
            return found.value

        run_bfgs = jax.jit(jax.vmap(minimised))
        contestants["optimistix.BFGS"] = lambda: run_bfgs(data).block_until_ready()
    return Case(f"{count:,} fits of 3 parameters to 50 points", contestants, 1e-3)


# -- one minimum -----------------------------------------------------------------------------------------


def rosenbrock(xp: Any) -> Callable[[Any], Any]:
    return lambda x: xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def minimum(size: int) -> Case:
    start, options = np.full(size, -0.5), {"maxiter": 50_000, "maxfun": 10**9, "ftol": 0.0, "gtol": 1e-6}
    native = wg.jit(lambda x: wg.optimize.lbfgs(rosenbrock(np), x, gtol=1e-6, ftol=0.0, maxiter=50_000).x)
    prepared = wg.jit(rosenbrock(np))

    def by(minimize: Any, fun: Any) -> Callable[[], Any]:
        return lambda: minimize(fun, start, method="L-BFGS-B", options=options).x

    contestants = {
        "wg.optimize.lbfgs": lambda: native(start),
        "wg.optimize.minimize": by(wg.optimize.minimize, prepared),
        "scipy, differences": by(scipy.optimize.minimize, rosenbrock(np)),
    }
    if jaxopt := installed("jaxopt"):
        solver = jaxopt.LBFGS(rosenbrock(jnp), tol=1e-6, maxiter=50_000)
        run = jax.jit(lambda x: solver.run(x).params)
        contestants["jaxopt.LBFGS"] = lambda: run(jnp.asarray(start)).block_until_ready()
    return Case(f"minimum of Rosenbrock's function of {size} variables", contestants, 1e-4)


# -- a curve, an integral --------------------------------------------------------------------------------


def peaks(x: Any, *p: Any) -> Any:
    return sum(p[n] * np.exp(-(((x - p[n + 1]) / p[n + 2]) ** 2)) for n in range(0, len(p), 3))


def curve(count: int) -> Case:
    x, rng = np.linspace(0.0, count, 100 * count), np.random.default_rng(1)
    truth = np.stack(
        [rng.uniform(1, 2, count), np.arange(count) + 0.5, rng.uniform(0.1, 0.3, count)], 1
    ).ravel()
    y, start = peaks(x, *truth) + 0.01 * rng.normal(size=x.size), truth + 0.03
    model = wg.jit(peaks)
    return Case(
        f"curve_fit of {count} peaks, {3 * count} parameters, {x.size} points",
        {
            "wg.optimize.curve_fit": lambda: wg.optimize.curve_fit(model, x, y, start)[0],
            "scipy, differences": lambda: scipy.optimize.curve_fit(peaks, x, y, start)[0],
        },
        1e-5,
    )


def integral() -> Case:
    def integrand(x: Any) -> Any:
        return np.exp(-x) * np.sin(50.0 * x) ** 2 / (1.0 + x**4)

    native = wg.optimize.low_level_callable(integrand)
    options = {"limit": 500}
    return Case(
        "quad of exp(-x) sin(50 x)² / (1 + x⁴) from 0 to 10",
        {
            "low_level_callable": lambda: integrate.quad(native, 0.0, 10.0, **options)[0],
            "scipy, Python function": lambda: integrate.quad(integrand, 0.0, 10.0, **options)[0],
        },
        1e-9,
    )


# -- many constraints ------------------------------------------------------------------------------------


def constrained(size: int, steps: int, *, is_pattern_known: bool) -> Case:
    """Return some steps of trust-constr with a constraint between neighbours.

    With differences SciPy approximates the Hessians by BFGS, so that its steps lead to another point. Where it is not
    told the pattern of the Jacobian, its matrices are dense.
    """
    target = np.cos(np.arange(size))

    def objective(x: Any) -> Any:
        return np.sum((x - target) ** 2) + np.sum((x[1:] * x[:-1]) ** 2)

    def limited(x: Any) -> Any:
        return x[1:] ** 2 + x[:-1] - 0.5 * np.sin(x[1:])

    start = np.full(size, 0.5)
    options = {"method": "trust-constr", "options": {"maxiter": steps, "gtol": 1e-6}}
    prepared = wg.jit(objective), [(wg.jit(limited), 0.2, 1.0)]
    pattern = wg.sparse_jacobian(limited).pattern(start).astype(float) if is_pattern_known else None
    theirs = scipy.optimize.NonlinearConstraint(limited, 0.2, 1.0, finite_diff_jac_sparsity=pattern)
    told = "" if is_pattern_known else ", SciPy without the pattern"
    return Case(
        f"{steps} steps of trust-constr, {size:,} variables and constraints{told}",
        {
            "wg.optimize.minimize": lambda: (
                wg.optimize.minimize(prepared[0], start, constraints=prepared[1], **options).x
            ),
            "scipy, differences": lambda: (
                scipy.optimize.minimize(objective, start, constraints=[theirs], **options).x
            ),
        },
        np.inf,
        100 if is_pattern_known else 1,
    )


# -- the table -------------------------------------------------------------------------------------------


def measured(case: Case, turns: int) -> list[str]:
    """Return the rows of one problem."""
    firsts: dict[str, float] = {}
    found: dict[str, Any] = {}
    for name, solve in case.contestants.items():
        begin = time.perf_counter()
        found[name] = np.asarray(solve())
        firsts[name] = time.perf_counter() - begin
    (own, solution), *others = found.items()
    for name, other in others:
        error = np.linalg.norm(other - solution) / np.linalg.norm(solution)
        assert error < case.tolerance, (case.name, name, error)
    times: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(min(turns, case.most_turns)):
        for name, solve in case.contestants.items():
            times[name].append(seconds(solve, (), 1))
    rows: list[str] = []
    for name, values in times.items():
        ratio = statistics.median(b / a for a, b in zip(times[own], values, strict=True))
        cells = f"{case.name} | {name} | {firsts[name]:.2f} | {1e3 * statistics.median(values):,.3g}"
        rows.append(f"| {cells} | {'' if name == own else f'{ratio:.3g} x'} |")
        print(rows[-1], flush=True)
    return rows


CASES: dict[str, Callable[[], Case]] = {
    "fits": lambda: fits(10_000),
    "minimum": lambda: minimum(100),
    "curve": lambda: curve(10),
    "integral": integral,
    "constrained": lambda: constrained(2_000, 30, is_pattern_known=True),
    "dense": lambda: constrained(2_000, 2, is_pattern_known=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"problems: {' '.join(CASES)}; all by default")
    parser.add_argument("--turns", type=int, default=5, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    arguments = parser.parse_args()
    lines = ["| problem | solver | first call, s | ms | Wengert is faster by |", "|---|---|---:|---:|---:|"]
    for name in arguments.names or CASES:
        lines += measured(CASES[name](), arguments.turns)
    if arguments.write:
        replace_table("measurements.md", "optimisation", "\n".join(lines))


if __name__ == "__main__":
    main()
