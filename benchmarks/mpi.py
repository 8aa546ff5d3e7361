"""Training on ranks: sums of gradients, strong and weak scaling, and a model of their cost.

    python benchmarks/mpi.py sum            # 1 MB over 8 parts, on 1 and 2 ranks
    python benchmarks/mpi.py train          # the CNN at batch 800: ranks against threads, strong and weak scaling
    python benchmarks/mpi.py model          # measured latency and bandwidth, and the prediction for 64 ranks

It needs ``pip install 'wengert[mpi]'`` and idle processors, one for each rank.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from wengert.data import digit_set
from wengert.parallel import Group
from wengert.parallel.launch import find_mpiexec
from wengert.train import TASKS, train
from wengert.train.loop import make_steps, parameter_count
from wengert.train.state import begin

PARTS, RUNS, BATCH = 8, 30, 800


def on_ranks(ranks: int, *arguments: Any) -> Any:
    """Run this program on some ranks, and return what the first one prints."""
    mpiexec = find_mpiexec()
    command = mpiexec.command(ranks, [sys.executable, __file__, "--rank", *map(str, arguments)])
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=mpiexec.environment())
    return json.loads(ran.stdout.strip().splitlines()[-1])


def time_sum(group: Group, size: int) -> float:
    """Return the median milliseconds of a sum of float32 over the parts."""
    part = np.random.default_rng(0).standard_normal(size // 4).astype(np.float32)
    summands, times = [part] * len(group.share(PARTS)), []
    for _ in range(RUNS):
        group.any(False)  # begin together
        start = time.perf_counter()
        group.sum(summands, parts=PARTS)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def time_steps(group: Group, batch: int, threads: int, micro_batches: int) -> float:
    """Return the examples per second of the CNN's training, without the first epoch, which compiles."""
    task, data = TASKS["cnn"], digit_set(train=8 * batch, test=100)
    chosen = {"batch_size": batch, "threads": threads, "micro_batches": micro_batches}
    settings = task.settings("digits", epochs=4, **chosen)
    steps = make_steps(task, settings, data, compiled=True, group=group)
    outcome = train(task, settings, data, group=group, steps=steps)
    return max(result.examples_per_second for result in outcome.history[1:])


def on_rank(kind: str, *numbers: str) -> None:
    group = Group.from_mpi()
    measure = {"sum": time_sum, "train": time_steps}[kind]
    result = measure(group, *map(int, numbers))
    if group.rank == 0:
        print(json.dumps(result))


def show_sums() -> None:
    for ranks in (1, 2):
        print(f"1 MB over {PARTS} parts on {ranks} ranks: {on_ranks(ranks, 'sum', 1 << 20):.2f} ms")


def show_training() -> None:
    one = on_ranks(1, "train", BATCH, 1, PARTS)
    whole = on_ranks(1, "train", BATCH, 2, 1)
    print(f"one rank: {one:,.0f} examples/s; one process with two threads: {whole:,.0f}")
    for ranks in (2, 3, 4):
        strong = on_ranks(ranks, "train", BATCH, 1, PARTS)
        weak = on_ranks(ranks, "train", BATCH * ranks // 8 * 8, 1, PARTS)
        shares = f"{strong / one:.2f} x one rank, {strong / whole:.2f} x two threads"
        print(f"{ranks} ranks: {strong:,.0f} examples/s, {shares}; weak scaling {weak / (ranks * one):.2f}")


def show_model() -> None:
    """Fit ``2 (P - 1) a + 2 bytes (P - 1) / P b`` to sums on two ranks, and predict a step on more.

    Each rank sends P - 1 slices and gets P - 1 results (latency a, b seconds a byte).
    """
    small, large = (on_ranks(2, "sum", size) / 1e3 for size in (1 << 13, 1 << 22))
    bandwidth = (large - small) / ((1 << 22) - (1 << 13))
    latency = max(small / 2 - bandwidth * (1 << 13) / 2, 0.0)
    step = BATCH / on_ranks(1, "train", BATCH, 1, PARTS)
    model = begin(TASKS["cnn"], TASKS["cnn"].settings("digits"), 1).model
    size = 4 * parameter_count(model)
    print(
        f"latency {1e6 * latency:.1f} µs, {1e-9 / bandwidth:.2f} GB/s, {size:,} bytes, step {1e3 * step:.1f} ms"
    )
    for ranks in (1, 2, 4, 16, 64):
        sending = 2 * (ranks - 1) * latency + 2 * size * (ranks - 1) / ranks * bandwidth
        print(f"{ranks:3} ranks: {step / (step / ranks + sending):5.1f} x one rank")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        on_rank(*sys.argv[2:])
    else:
        {"sum": show_sums, "train": show_training, "model": show_model}[sys.argv[1]]()
