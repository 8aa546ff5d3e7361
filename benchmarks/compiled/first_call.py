"""Print the time of the first call of a compiled training step, without and with its entry in the disk cache.

A fresh process, its imports done, times tracing, differentiation, compilation or loading, and one step. The figures are
medians; a workload fails above its limit.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from runners import wengert_runner
from workloads import TRAININGS

import wengert as wg

RUNS = 5
LIMITS = {"cnn": (1.0, 0.1), "rnn": (1.5, 0.15), "rnn unrolled": (1.5, 0.15)}
"""Seconds without and with the cache."""


def unrolled_rnn(parameters: Any, x: Any) -> Any:
    w, u, b, v, c = parameters
    h = np.zeros((len(x), 64), np.float32)
    for t in range(28):
        h = np.tanh(x[:, t] @ w + h @ u + b)
    return h @ v + c


def prepared(workload: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the step before compilation, and its arguments."""
    name, *unrolled = workload.split()
    if unrolled:
        wengert_runner.LOSSES[name] = wengert_runner.classification(unrolled_rnn)
    step, first = wengert_runner.training_step(name)
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (60_000, 28, 28), np.uint8)
    labels = rng.integers(0, 10, 60_000)
    return step, (first(), images, labels, np.arange(TRAININGS[name].batch))


def first_call(workload: str) -> float:
    """Return the seconds of the first call in this process."""
    step, arguments = prepared(workload)
    compiled = wg.jit(step, donate=(0,))  # imports the compiler
    start = time.perf_counter()
    compiled(*arguments)
    return time.perf_counter() - start


def in_fresh_process(workload: str, cache: str) -> float:
    command = [sys.executable, __file__, workload]
    environment = {**os.environ, "WENGERT_CACHE": cache}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return float(done.stdout)


def measure(workload: str) -> tuple[float, float]:
    """Return the median seconds without and with the cache."""
    cold, warm = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(in_fresh_process(workload, cache))
            warm.append(in_fresh_process(workload, cache))
    return statistics.median(cold), statistics.median(warm)


def main() -> None:
    failed = False
    for workload, limits in LIMITS.items():
        times = measure(workload)
        failed |= any(time > limit for time, limit in zip(times, limits, strict=True))
        texts = (f"{time:.3f} s (at most {limit})" for time, limit in zip(times, limits, strict=True))
        print(f"{workload}: first call {next(texts)}, from the disk cache {next(texts)}")
    raise SystemExit(failed)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(first_call(sys.argv[1]))
    else:
        main()
