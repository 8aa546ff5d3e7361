"""A regression whose likelihood the ranks share, and chains of its posterior: the same bits on any number of ranks.

    python examples/ranks.py
    mpiexec -n 3 python examples/ranks.py

The second needs ``pip install 'wengert[mpi]'``.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy.optimize import minimize

import wengert as wg
from wengert.parallel import Group

PARTS, CHAINS = 8, 4
WEIGHTS = np.array([0.5, -1.0, 2.0])


def observations(part: int) -> tuple[Any, Any]:
    """Return the inputs and the outcomes of one part of the data; a rank makes, or reads, its own parts alone."""
    rng = np.random.default_rng(part)
    x = rng.standard_normal((250, len(WEIGHTS)))
    return x, (rng.random(250) < 1 / (1 + np.exp(-np.sum(x * WEIGHTS, axis=1)))).astype(float)


def loss(w: Any, x: Any, y: Any) -> Any:
    """Return the negative log-likelihood of a logistic regression."""
    z = np.sum(x * w, axis=1)
    return np.sum(np.logaddexp(0.0, z) - y * z)


def estimated(group: Group) -> Any:
    """Return the most probable weights under a normal prior, by SciPy's L-BFGS-B."""
    own = {part: observations(part) for part in group.share(PARTS)}
    slope = wg.jit(wg.value_and_grad(loss))

    def posterior(w: Any) -> tuple[Any, Any]:
        value, gradient = group.sum((slope(w, *part) for part in own.values()), parts=PARTS)
        return value + 0.5 * np.sum(w * w), gradient + w

    return minimize(posterior, np.zeros(len(WEIGHTS)), jac=True, method="L-BFGS-B").x


def sampled(group: Group, start: Any) -> Any:
    """Return draws (chains, draws, weights) of the posterior by the No-U-Turn sampler; each rank takes its chains."""
    x, y = (np.concatenate(arrays) for arrays in zip(*map(observations, range(PARTS)), strict=True))

    def logdensity(w: Any) -> Any:
        return -loss(w, x, y) - 0.5 * np.sum(w * w)

    def chain(key: Any) -> Any:
        return wg.fit.nuts(logdensity, start, key, chains=1, draws=200, warmup=200, progress=False).draws[0]

    return np.stack(group.all(chain, list(wg.random.split(wg.random.key(0), CHAINS))))


def main() -> None:
    """Print the weights, the means and deviations of the draws, and a hash of all bits."""
    wg.set_threads(1)  # each rank has a processor
    group = Group.from_mpi()
    weights = estimated(group)
    draws = sampled(group, weights)
    if group.rank == 0:
        print("most probable", weights.round(3))
        print("means", draws.mean(axis=(0, 1)).round(2), "deviations", draws.std(axis=(0, 1)).round(2))
        print("bits", hashlib.sha256(weights.tobytes() + draws.tobytes()).hexdigest()[:16])


if __name__ == "__main__":
    main()
