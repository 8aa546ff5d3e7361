"""Diagnostics of Markov chains: R-hat and the effective sample size.

The formulas are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2021).
"""

from __future__ import annotations

import functools
from statistics import NormalDist
from typing import Any, cast

import numpy as np


def r_hat(draws: Any) -> float:
    """Return the larger R-hat of rank-normalised split chains, of the draws and of their distances to the median.

    Args:
        draws: of one number, of shape (chains, draws).
    """
    if not np.all(np.isfinite(draws)):
        return np.nan
    chains = _split(draws)
    folded = np.abs(chains - np.median(chains))
    return max(_reduction(_normalised(chains)), _reduction(_normalised(folded)))


def bulk_ess(draws: Any) -> float:
    """Return the effective sample size for the centre of a distribution: of rank-normalised split chains."""
    return _effective_size(_normalised(_split(draws))) if np.all(np.isfinite(draws)) else np.nan


def tail_ess(draws: Any) -> float:
    """Return the effective sample size for the tails: the smaller for the quantiles of 5% and 95%."""
    if not np.all(np.isfinite(draws)):
        return np.nan
    limits = np.quantile(draws, [0.05, 0.95])
    return min(_effective_size(_split((draws <= limit).astype(float))) for limit in limits)


def mean_ess(draws: Any) -> float:
    """Return the effective sample size for the mean: of split chains."""
    return _effective_size(_split(draws)) if np.all(np.isfinite(draws)) else np.nan


def _split(draws: Any) -> Any:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normalised(draws: Any) -> Any:
    """Return normal scores of the ranks, those of equal numbers averaged (Blom's)."""
    _, places, counts = np.unique(draws, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    twice_ranks = 2 * ends - counts + 1
    return _scores(draws.size)[twice_ranks - 2][places.reshape(draws.shape)]


@functools.lru_cache(maxsize=8)
def _scores(count: int) -> Any:
    """Return the normal scores of the ranks 1, 1.5, 2, ..., count."""
    quantile = NormalDist().inv_cdf
    return np.array([quantile((twice / 2 - 0.375) / (count + 0.25)) for twice in range(2, 2 * count + 1)])


def _reduction(chains: Any) -> float:
    """Return the root of the ratio of the pooled variance to that within chains."""
    length = chains.shape[1]
    within = cast("Any", np.mean(np.var(chains, axis=1, ddof=1)))
    between = cast("Any", np.var(np.mean(chains, axis=1), ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else np.inf
    return float(np.sqrt((length - 1) / length + between / within))


def _effective_size(chains: Any) -> float:
    """Return the effective size by Geyer's initial monotone sequence of autocorrelations."""
    count, length = chains.shape
    total = count * length
    covariances = _autocovariances(chains)
    within = cast("Any", np.mean(covariances[:, 0]) * length / (length - 1))
    pooled = within * (length - 1) / length
    if count > 1:
        pooled = pooled + cast("Any", np.var(np.mean(chains, axis=1), ddof=1))
    if pooled == 0.0:
        return float(total)
    correlations = 1.0 - (within - np.mean(covariances, axis=0)) / pooled
    correlations[0] = 1.0
    even = length - length % 2
    pairs = correlations[:even].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    last = int(negative[0]) if len(negative) else len(pairs)
    sums = np.minimum.accumulate(pairs[:last])
    unpaired = max(float(correlations[2 * last]), 0.0) if 2 * last < length else 0.0
    time = max(-1.0 + 2.0 * float(np.sum(sums)) + unpaired, 1.0 / np.log10(total))
    return total / time


def _autocovariances(chains: Any) -> Any:
    """Return the autocovariance of each chain at each lag, by the FFT."""
    length = chains.shape[1]
    centred = chains - np.mean(chains, axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * length, axis=1)
    return np.fft.irfft(spectrum * np.conj(spectrum), 2 * length, axis=1)[:, :length] / length
