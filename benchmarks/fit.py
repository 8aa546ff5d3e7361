"""The No-U-Turn samplers of Wengert and NumPyro on one thread: 4 chains of 1,000 draws after 1,000 of warm-up.

The samplers take turns in one process (turns.py). Both compile once; the first run includes this. With `--write` the
table in docs/performance.md is replaced.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tables import replace_table
from turns import jax, jnp  # before NumPy: it limits the threads

import numpy as np  # isort: skip
import wengert as wg
from wengert.fit.diagnostics import bulk_ess

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


class Case(NamedTuple):
    """A log density in the arrays of NumPy or JAX, and where chains start."""

    name: str
    logdensity: Callable[[Any], Callable[[Any], Any]]
    start: Any


class Run(NamedTuple):
    """How long a sampler took, by the processor's clock, and the smallest effective sample size."""

    seconds: float
    effective: float


def schools() -> Case:
    def logdensity(xp: Any) -> Callable[[Any], Any]:
        def density(p: Any) -> Any:
            mu, log_tau, z = p[0], p[1], p[2:]
            tau = xp.exp(log_tau)
            likelihood = -0.5 * xp.sum(((EFFECTS - mu - tau * z) / ERRORS) ** 2)
            prior = -0.5 * (mu / 5) ** 2 - xp.log1p((tau / 5) ** 2) - 0.5 * xp.sum(z**2)
            return likelihood + prior + log_tau

        return density

    return Case("eight schools, 10 parameters", logdensity, np.zeros(10))


def regression() -> Case:
    rng = np.random.default_rng(0)
    x, truth = rng.normal(size=(1000, 100)), 0.3 * rng.normal(size=100)
    y = (rng.random(1000) < 1 / (1 + np.exp(-x @ truth))) * 1.0

    def logdensity(xp: Any) -> Callable[[Any], Any]:
        def density(w: Any) -> Any:
            z = x @ w
            return xp.sum(y * z - xp.logaddexp(0.0, z)) - 0.5 * xp.sum(w**2)

        return density

    return Case("logistic regression, 100 parameters, 1,000 observations", logdensity, np.zeros(100))


def samplers(case: Case) -> dict[str, Callable[[int], Any]]:
    """Return functions from a seed to draws of shape (chains, draws, size), Wengert's first."""
    native = wg.jit(case.logdensity(np))
    functions = {"wg.fit.nuts": lambda seed: wg.fit.nuts(native, case.start, wg.random.key(seed)).vectors}
    try:
        from numpyro.infer import MCMC, NUTS
    except ImportError:
        return functions
    density, rng = case.logdensity(jnp), np.random.default_rng(0)
    starts = jnp.asarray(rng.uniform(-1.0, 1.0, (4, case.start.size)))
    chains = MCMC(
        NUTS(potential_fn=lambda p: -density(p)),
        num_warmup=1000,
        num_samples=1000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )

    def peer(seed: int) -> Any:
        chains.run(jax.random.PRNGKey(seed), init_params=starts)
        return np.asarray(chains.get_samples(group_by_chain=True))

    return functions | {"NumPyro": peer}


def run(sampler: Callable[[int], Any], seed: int) -> Run:
    start = time.process_time()
    draws = sampler(seed)
    passed = time.process_time() - start
    return Run(passed, min(bulk_ess(draws[:, :, k]) for k in range(draws.shape[2])))


def measured(case: Case, turns: int) -> list[str]:
    """Return the rows of one density."""
    functions = samplers(case)
    firsts = {name: run(sampler, 0) for name, sampler in functions.items()}
    runs: dict[str, list[Run]] = {name: [] for name in functions}
    for seed in range(1, turns + 1):
        for name, sampler in functions.items():
            runs[name].append(run(sampler, seed))
    own, rows = next(iter(functions)), []
    for name, times in runs.items():
        passed = statistics.median(turn.seconds for turn in times)
        rate = statistics.median(turn.effective / turn.seconds for turn in times)
        ratio = statistics.median(b.seconds / a.seconds for a, b in zip(runs[own], times, strict=True))
        cells = f"{case.name} | {name} | {firsts[name].seconds:.1f} | {passed:.2f} | {rate:,.0f}"
        rows.append(f"| {cells} | {'' if name == own else f'{ratio:.3g} x'} |")
        print(rows[-1], flush=True)
    return rows


CASES: dict[str, Callable[[], Case]] = {"schools": schools, "regression": regression}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"densities: {' '.join(CASES)}; all by default")
    parser.add_argument("--turns", type=int, default=3, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/performance.md")
    arguments = parser.parse_args()
    header = "| density | sampler | first run, s | s | least effective draws per s | Wengert is faster by |"
    lines = [header, "|---|---|---:|---:|---:|---:|"]
    for name in arguments.names or CASES:
        lines += measured(CASES[name](), arguments.turns)
    if arguments.write:
        replace_table("performance.md", "sampling", "\n".join(lines))


if __name__ == "__main__":
    main()
