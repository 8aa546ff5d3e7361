"""Print the time of the first call of compiled programs, without and with their entry in the disk cache.

A fresh process, its imports done, times tracing, differentiation, compilation or loading, and one step. The gradient of
a line is timed with the import of the compiler, as the processor's seconds. The figures are medians; a workload fails
above its limit. With `--scaling`, Python loops of growing length and their gradients are
compiled by Wengert and, where it is installed and they are short, by JAX; with `--write` too, the table in
docs/measurements.md is replaced.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from runners import wengert_runner
from tables import replace_table
from unrolled import PROGRAMS
from workloads import TRAININGS

import wengert as wg

RUNS = 5
SMALL = "a line"
SCRIPT = """
import time
import numpy as np
import wengert as wg
start = time.process_time()
wg.jit(wg.grad(lambda x: np.sum(np.sin(x) * x)))(np.ones(1000))
print(time.process_time() - start)
"""
LIMITS = {SMALL: (0.7, 0.3), "cnn": (1.0, 0.1), "rnn": (1.5, 0.15), "rnn unrolled": (1.5, 0.15)}
"""Seconds without and with the cache."""
LONG_RUNS = 3
"""Runs of a long loop."""
JAX_LENGTH = 100
"""Turns of the longest loop that JAX compiles: it unrolls all of them."""


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


def in_fresh_process(cache: str, *arguments: str) -> list[float]:
    """Return the numbers that this file prints for some arguments."""
    command = [sys.executable, *(("-c", SCRIPT) if arguments == (SMALL,) else (__file__, *arguments))]
    environment = {**os.environ, "WENGERT_CACHE": cache, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return list(map(float, done.stdout.split()))


def measure(workload: str) -> tuple[float, float]:
    """Return the median seconds without and with the cache."""
    cold, warm = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as cache:
            cold += in_fresh_process(cache, workload)
            warm += in_fresh_process(cache, workload)
    return statistics.median(cold), statistics.median(warm)


# -- loops of growing length --------------------------------------------------------------------


def unrolled_call(library: str, name: str, length: int) -> float:
    """Return the seconds of the first call of a loop and its gradient.

    They are the processor's, of all threads, which depend less on other programs of the machine.
    """
    program, arguments = PROGRAMS[name].make(length)
    step: Any
    if library == "jax":
        import jax

        step = jax.jit(jax.value_and_grad(program(jax.numpy)))
        jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))
    else:
        step = wg.jit(wg.value_and_grad(program(np)))
        wg.jit(lambda x: x + 1)(1.0)
    start = time.process_time()
    step(*arguments)
    return time.process_time() - start


def scaling_rows(libraries: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the rows of the table, and whether Wengert's first call is within the limit."""
    for name, program in PROGRAMS.items():
        for length in program.lengths:
            medians: list[float] = []
            for library in libraries[: 1 if length > JAX_LENGTH else None]:
                runs = [in_fresh_process("off", library, name, str(length))[0] for _ in range(LONG_RUNS)]
                medians.append(statistics.median(runs))
            ratio = (
                [f"{medians[-1] / medians[0]:.1f} x"] if len(medians) > 1 else [""] * (2 * len(libraries) - 2)
            )
            cells = [f"{length:,} {program.title}", *(f"{median:.2f}" for median in medians), *ratio]
            row = f"| {' | '.join(cells)} |"
            print(row, flush=True)
            yield row, length < program.lengths[-1] or medians[0] <= program.limit


def scaling(write: bool) -> bool:
    """Print the table of loops; return whether all are within their limits."""
    has_jax = importlib.util.find_spec("jax") is not None
    rows = list(scaling_rows(("wengert", "jax") if has_jax else ("wengert",)))
    if write:
        titles = ["program and its gradient", "Wengert, s", *(["JAX, s", "faster by"] if has_jax else [])]
        head = f"| {' | '.join(titles)} |\n|---|{'---:|' * (len(titles) - 1)}"
        replace_table("measurements.md", "unrolled", "\n".join([head, *(row for row, _ in rows)]))
    return all(within for _, within in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scaling", action="store_true", help="loops of growing length")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    arguments = parser.parse_args()
    if arguments.scaling:
        raise SystemExit(not scaling(arguments.write))
    failed = False
    for workload, limits in LIMITS.items():
        times = measure(workload)
        failed |= any(time > limit for time, limit in zip(times, limits, strict=True))
        texts = (f"{time:.3f} s (at most {limit})" for time, limit in zip(times, limits, strict=True))
        print(f"{workload}: first call {next(texts)}, from the disk cache {next(texts)}")
    raise SystemExit(failed)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [library, name, length]:
            print(unrolled_call(library, name, int(length)))
        case [workload] if not workload.startswith("-"):
            print(first_call(workload))
        case _:
            main()
