"""NumPy itself: matrix products by its linear algebra, and one pass over memory to compare a reduction with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from workloads import workload

from runners.runner import Runner, repeat


def chain(x: Any) -> Any:
    return np.sum(np.exp(-x * x) * np.sin(x) + np.sqrt(1 + x * x), dtype=np.float64)


class Unchecked(Runner):
    """A yardstick that computes something else."""

    def values(self) -> None:
        """Nothing to compare."""


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    arguments = workload(name).arguments
    if variant == "dot product":
        return Unchecked(lambda steps: [np.dot(*arguments, *arguments) for _ in range(steps)], 1)
    if name == "chain":
        return repeat(chain, arguments, lambda value: value)
    out = np.empty_like(arguments[0])
    return repeat(lambda a, b: np.matmul(a, b, out=out), arguments, lambda value: value)
