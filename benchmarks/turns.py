"""Libraries that take turns in one process, on one processor.

Times are those that the process has had the processor for; a ratio is the median of the ratios of neighbouring turns.
Import this before NumPy: it limits the libraries to one thread.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries load
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["WENGERT_THREADS"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = jnp = None
else:
    jax.config.update("jax_enable_x64", True)


class Workload(NamedTuple):
    """A function for each library, and its arguments; the names of peers that take arrays of JAX begin with JAX."""

    name: str
    wengert: Callable[..., Any]
    peers: dict[str, Callable[..., Any]]
    arguments: tuple[Any, ...]


def seconds(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        result = function(*arguments)
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()
    return (time.process_time() - start) / calls


def compare(workload: Workload, turns: int) -> tuple[float, dict[str, tuple[float, float]]]:
    """Return microseconds of Wengert, and those of each peer with the median ratio to Wengert's."""
    given = {
        name: tuple(map(jnp.asarray, workload.arguments)) if name.startswith("JAX") else workload.arguments
        for name in workload.peers
    }
    ours = np.asarray(workload.wengert(*workload.arguments))
    for name, peer in workload.peers.items():  # the results must agree
        error = np.linalg.norm(np.asarray(peer(*given[name])) - ours) / np.linalg.norm(ours)
        assert error < (1e-5 if ours.dtype.itemsize <= 4 or ours.dtype == np.complex64 else 1e-9), (
            workload.name,
            name,
            error,
        )

    def calls(function: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
        return max(1, round(0.01 / max(seconds(function, arguments, 2), 1e-7)))

    own_calls = calls(workload.wengert, workload.arguments)
    counts = {name: calls(peer, given[name]) for name, peer in workload.peers.items()}
    own: list[float] = []
    others: dict[str, list[float]] = {name: [] for name in workload.peers}
    for _ in range(turns):
        own.append(seconds(workload.wengert, workload.arguments, own_calls))
        for name, peer in workload.peers.items():
            others[name].append(seconds(peer, given[name], counts[name]))
    return statistics.median(own) * 1e6, {
        name: (
            statistics.median(times) * 1e6,
            statistics.median(b / a for a, b in zip(own, times, strict=True)),
        )
        for name, times in others.items()
    }
