"""`wengert.parallel.map`: its cost for many cheap items, and two workers against one.

Run `python benchmarks/parallel.py` on a quiet machine with at least two processors. One and two workers take turns, so
that a drift of the machine's speed affects both; a ratio is the median of the ratios of neighbouring turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy loads its linear algebra

import numpy as np

import wengert as wg
from wengert import parallel


def cheap(x: Any) -> Any:
    return np.sin(x) ** 2


def busy(rounds: int, x: Any) -> Any:
    """Compute for a time that is proportional to ``rounds``."""
    for _ in range(rounds):
        x = np.cos(x)
    return x.sum()


def seconds(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure_cheap(turns: int) -> None:
    """Print the cost of an item, with and without the start of the processes."""
    items = np.random.default_rng(0).standard_normal((10_000, 4))
    assert np.array_equal(parallel.map(cheap, items, workers=2), wg.vmap(cheap)(items))
    for name, vectorized in (("vectorized", True), ("item by item", False)):
        call = partial(parallel.map, cheap, workers=2, vectorized=vectorized)
        work = seconds(lambda: [cheap(x) for x in items])
        pairs = [(seconds(partial(call, items)), seconds(partial(call, items[:2]))) for _ in range(turns)]
        whole, start = (statistics.median(column) for column in zip(*pairs, strict=True))
        rest = statistics.median(a - b for a, b in pairs)
        print(
            f"10,000 cheap items, {name}: {whole / 10:.4f} ms an item; without the start of the processes "
            f"({start:.2f} s) {rest / 10:.4f} ms; the work alone, in a loop, {work / 10:.4f} ms"
        )


def measure_workers(turns: int, chunks: int, length: float) -> None:
    """Print the speed of two workers relative to one, for chunks of some seconds."""
    item = np.random.default_rng(0).standard_normal(10_000)
    rounds = max(int(100 * length / seconds(lambda: busy(100, item))), 1)
    items = np.broadcast_to(item, (chunks, item.size))
    call = partial(parallel.map, partial(busy, rounds), items, vectorized=False, chunk=1)
    ratios: list[float] = []
    for _ in range(turns):
        one, two = seconds(lambda: call(workers=1)), seconds(lambda: call(workers=2))
        ratios.append(one / two)
        print(
            f"{chunks} chunks of {length:g} s: one worker {one:.2f} s, two workers {two:.2f} s: {one / two:.2f} x"
        )
    print(f"median {statistics.median(ratios):.2f} x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--chunks", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1.0, help="the time of a chunk")
    chosen = parser.parse_args()
    measure_cheap(chosen.turns)
    measure_workers(chosen.turns, chosen.chunks, chosen.seconds)
