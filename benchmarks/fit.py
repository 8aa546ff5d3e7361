"""The No-U-Turn samplers of Wengert, NumPyro and BlackJAX on one thread: 4 chains, 1,000 draws after 1,000 of warm-up.

The samplers take turns in one process (turns.py), with the same target of acceptance and Stan's windows. All compile
once; the first run includes this. With `--write` the table in docs/measurements.md is replaced.
"""

from __future__ import annotations

import argparse
import contextlib
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
    dense: bool = False


class Drawn(NamedTuple):
    """What a sampler returns."""

    draws: Any
    """Of shape (chains, draws, size)."""
    gradients: int
    """The number of gradients for these draws, without the warm-up."""


class Run(NamedTuple):
    """How long a sampler took, by the processor's clock, and the smallest effective sample size."""

    seconds: float
    effective: float
    gradients: int


CHAINS, DRAWS, WARMUP, TARGET = 4, 1000, 1000, 0.8
Sampler = Callable[[int], Drawn]


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


def correlated() -> Case:
    """Return a normal density of 20 numbers whose neighbours have the correlation 0.95."""
    place = np.arange(20)
    precision = np.linalg.inv(0.95 ** np.abs(place[:, None] - place))

    def logdensity(xp: Any) -> Callable[[Any], Any]:
        return lambda x: -0.5 * x @ precision @ x

    return Case("correlated normal, 20 parameters, dense masses", logdensity, np.zeros(20), dense=True)


def own_sampler(case: Case) -> Sampler:
    native = wg.jit(case.logdensity(np))

    def sample(seed: int) -> Drawn:
        samples = wg.fit.nuts(
            native,
            case.start,
            wg.random.key(seed),
            chains=CHAINS,
            draws=DRAWS,
            warmup=WARMUP,
            target=TARGET,
            dense=case.dense,
        )
        return Drawn(samples.vectors, int(np.sum(samples.leaps)))

    return sample


def numpyro_sampler(case: Case) -> Sampler:
    from numpyro.infer import MCMC, NUTS

    density, starts = case.logdensity(jnp), starts_of(case)
    chains = MCMC(
        NUTS(potential_fn=lambda p: -density(p), dense_mass=case.dense, target_accept_prob=TARGET),
        num_warmup=WARMUP,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )

    def sample(seed: int) -> Drawn:
        chains.run(jax.random.PRNGKey(seed), init_params=starts, extra_fields=("num_steps",))
        draws = np.asarray(chains.get_samples(group_by_chain=True))
        return Drawn(draws, int(np.sum(chains.get_extra_fields()["num_steps"])))

    return sample


def blackjax_sampler(case: Case) -> Sampler:
    """Return BlackJAX's window adaptation and sampler as one compiled function over all chains."""
    import blackjax

    density, starts = case.logdensity(jnp), starts_of(case)
    warmup = blackjax.window_adaptation(
        blackjax.nuts, density, is_mass_matrix_diagonal=not case.dense, target_acceptance_rate=TARGET
    )

    def chain(key: Any, start: Any) -> Any:
        for_warmup, for_draws = jax.random.split(key)
        (state, parameters), _ = warmup.run(for_warmup, start, num_steps=WARMUP)
        step = blackjax.nuts(density, **parameters).step

        def draw(state: Any, key: Any) -> Any:
            state, info = step(key, state)
            return state, (state.position, info.num_integration_steps)

        return jax.lax.scan(draw, state, jax.random.split(for_draws, DRAWS))[1]

    program = jax.jit(jax.vmap(chain))

    def sample(seed: int) -> Drawn:
        draws, steps = program(jax.random.split(jax.random.PRNGKey(seed), CHAINS), starts)
        return Drawn(np.asarray(draws), int(np.sum(steps)))

    return sample


def starts_of(case: Case) -> Any:
    return jnp.asarray(np.random.default_rng(0).uniform(-1.0, 1.0, (CHAINS, case.start.size)))


def samplers(case: Case) -> dict[str, Sampler]:
    """Return functions from a seed to draws, Wengert's first."""
    functions = {"wg.fit.nuts": own_sampler(case)}
    for name, make in (("NumPyro", numpyro_sampler), ("BlackJAX", blackjax_sampler)):
        with contextlib.suppress(ImportError):
            functions[name] = make(case)
    return functions


def run(sampler: Sampler, seed: int) -> Run:
    start = time.process_time()
    draws, gradients = sampler(seed)
    passed = time.process_time() - start
    return Run(passed, min(bulk_ess(draws[:, :, k]) for k in range(draws.shape[2])), gradients)


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
        share = statistics.median(1000 * turn.effective / turn.gradients for turn in times)
        pairs = list(zip(runs[own], times, strict=True))
        ratio = statistics.median(b.seconds / a.seconds for a, b in pairs)
        each = statistics.median((b.seconds / b.effective) / (a.seconds / a.effective) for a, b in pairs)
        cells = (
            f"{case.name} | {name} | {firsts[name].seconds:.1f} | {passed:.2f} | {rate:,.0f} | {share:.3g}"
        )
        rows.append(f"| {cells} | {' | ' if name == own else f'{ratio:.3g} x | {each:.3g} x'} |")
        print(rows[-1], flush=True)
    return rows


CASES: dict[str, Callable[[], Case]] = {
    "schools": schools,
    "regression": regression,
    "correlated": correlated,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"densities: {' '.join(CASES)}; all by default")
    parser.add_argument("--turns", type=int, default=3, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    arguments = parser.parse_args()
    columns = (
        "density | sampler | first run, s | s | least effective draws per s | and per 1,000 gradients | "
        "Wengert is faster by | and for each effective draw by"
    )
    lines = [f"| {columns} |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    for name in arguments.names or CASES:
        lines += measured(CASES[name](), arguments.turns)
    if arguments.write:
        replace_table("measurements.md", "sampling", "\n".join(lines))


if __name__ == "__main__":
    main()
