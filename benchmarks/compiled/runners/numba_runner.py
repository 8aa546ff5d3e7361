"""Numba: the loop over the chain written out, parallel and with fastmath, as its documents say for speed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numba
from workloads import workload

from runners.runner import Runner, repeat


@numba.njit(parallel=True, fastmath=True)
def chain(x: Any) -> Any:
    total = 0.0
    for i in numba.prange(x.size):
        v = x[i]
        total += math.exp(-v * v) * math.sin(v) + math.sqrt(1 + v * v)
    return total


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    numba.set_num_threads(threads)
    return repeat(chain, workload(name).arguments, lambda value: value)
