"""Training on ranks: sums of gradients, strong and weak scaling, and a model of their cost.

    python benchmarks/mpi.py sum                # 1 MB over 8 parts, on 1 and 2 ranks
    python benchmarks/mpi.py train              # the CNN at batch 800: ranks, threads, processes without exchange
    python benchmarks/mpi.py model --write      # all of it against a model of the cost: docs/cluster.md and .png

It needs ``pip install 'wengert[mpi,plot]'`` and idle processors. All settings take turns in each round; the figures are
medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mpi_model import Cost, Measured, Network
from tables import DOCS, replace_table

from wengert import fori_loop, jit, set_threads
from wengert.data import Dataset, digit_set
from wengert.parallel import Group
from wengert.parallel.launch import find_mpiexec
from wengert.parallel.layout import Layout
from wengert.parallel.mpi import load
from wengert.parallel.reduction import Reduction
from wengert.train import TASKS, Settings, train
from wengert.train.loop import make_steps

PARTS, FEW, RUNS, BATCH, STEPS = 8, 2, 50, 800, 4
RANKS = (1, 2, 3, 4)
WEAK = (1, 2, 4)
"""A batch of 800 for each of three ranks would need 24 micro-batches, which is no power of two."""
SMALL, LARGE = 1 << 13, 1 << 20
"""Bytes of the sums whose times give latency and bandwidth."""


def on_ranks(ranks: int, *arguments: Any) -> Any:
    """Run this program on some ranks, and return what the first one prints."""
    mpiexec = find_mpiexec()
    program = [sys.executable, __file__, "--rank", *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            mpiexec.command(ranks, program),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=mpiexec.environment(ranks, Path(folder)),
        )
    return json.loads(ran.stdout.strip().splitlines()[-1])


# -- on the ranks ----------------------------------------------------------------------------------------


def time_sum(group: Group, size: int) -> float:
    """Return the median seconds of a sum of float32 over the parts, packing included."""
    part = np.random.default_rng(0).standard_normal(size // 4).astype(np.float32)
    summands, times = [part] * len(group.share(PARTS)), []
    for _ in range(RUNS):
        group.any(False)  # begin together
        start = time.perf_counter()
        group.sum(summands, parts=PARTS)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def time_exchange(group: Group, size: int) -> float:
    """Return the median seconds of the exchange that ends such a sum; one rank exchanges with itself."""
    part = np.random.default_rng(0).standard_normal(size // 4).astype(np.float32)
    reduction = Reduction(Layout.of(part), PARTS, group.communicator or load().COMM_SELF)
    out, times = reduction.layout.buffer(), []
    for _ in range(RUNS):
        for number in group.share(PARTS):
            reduction.add(number, reduction.packed(part))
        group.any(False)
        start = time.perf_counter()
        reduction.finish(out)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def network(batch: int, threads: int, micro_batches: int, epochs: int) -> tuple[Settings, Dataset]:
    """Return the settings of the CNN, and images for epochs of `STEPS` steps."""
    digits, copies = digit_set(train=BATCH, test=100), -(-STEPS * batch // BATCH)
    images, labels = (
        np.concatenate([part] * copies)[: STEPS * batch]
        for part in (digits.train_images, digits.train_labels)
    )
    chosen = {"batch_size": batch, "threads": threads, "micro_batches": micro_batches}
    settings = TASKS["cnn"].settings("digits", epochs=epochs, **chosen)
    return settings, replace(digits, train_images=images, train_labels=labels)


def time_step(group: Group, batch: int, threads: int, micro_batches: int) -> float:
    """Return the median seconds of the CNN's training steps in an epoch, without the first epoch, which compiles."""
    settings, dataset = network(batch, threads, micro_batches, epochs=25)
    outcome = train(TASKS["cnn"], settings, dataset, group=group)
    return statistics.median(result.seconds / STEPS for result in outcome.history[1:])


def time_parts(group: Group, few: int, many: int) -> list[float]:
    """Return the median seconds of steps of two numbers of micro-batches of one size, which take turns."""
    times: dict[int, list[float]] = {few: [], many: []}
    made: dict[int, Any] = {}
    for _ in range(25):
        for parts, found in times.items():
            settings, dataset = network(BATCH // PARTS * parts, 1, parts, epochs=1)
            steps = made.setdefault(parts, make_steps(TASKS["cnn"], settings, dataset, compiled=True))
            outcome = train(TASKS["cnn"], settings, dataset, group=group, steps=steps)
            found.append(outcome.history[0].seconds / STEPS)
    return [statistics.median(found[1:]) for found in times.values()]


def time_alone(group: Group, batch: int, threads: int, micro_batches: int) -> list[float]:
    """Return the seconds of a step of each process, if all compute at the same time, but exchange nothing."""
    group.any(False)
    return sorted(group.gather(time_step(Group(), batch, threads, micro_batches)))


def time_in_cache(group: Group) -> float:
    """Return the seconds of a computation in the first-level cache, in all processes at the same time."""
    set_threads(1)
    waves = jit(lambda x: fori_loop(0, 2000, lambda _, x: x + np.sin(x), x))
    x, times = np.linspace(0.0, 1.0, 1000), []
    waves(x)
    group.any(False)
    for _ in range(RUNS):
        start = time.perf_counter()
        waves(x)
        times.append(time.perf_counter() - start)
    return max(group.gather(statistics.median(times)))


def gradient_bytes(group: Group) -> int:
    """Return the bytes that a step of the CNN sums."""
    model = TASKS["cnn"].build(np.random.default_rng(0))
    return Layout.of((np.float32(0), np.int64(0), model)).size


def on_rank(kind: str, *numbers: str) -> None:
    group = Group.from_mpi()
    measures = time_sum, time_exchange, time_step, time_parts, time_alone, time_in_cache, gradient_bytes
    result = {measure.__name__: measure for measure in measures}[kind](group, *map(int, numbers))
    if group.rank == 0:
        print(json.dumps(result))


# -- on the command line ---------------------------------------------------------------------------------


def medians(settings: dict[Any, tuple[Any, ...]], rounds: int) -> dict[Any, Any]:
    """Measure all settings in turn, some times, and return the median of each, or of each process."""
    found: defaultdict[Any, list[Any]] = defaultdict(list)
    for _ in range(rounds):
        for name, (ranks, *arguments) in settings.items():
            found[name].append(on_ranks(ranks, *arguments))
    return {name: np.median(values, axis=0).tolist() for name, values in found.items()}


def measured(rounds: int) -> Measured:
    """Measure what the model needs, and what it predicts."""
    settings: dict[Any, tuple[Any, ...]] = {
        "parts": (1, "time_parts", FEW, PARTS),
        "threads": (1, "time_step", BATCH, 2, 1),
        ("cache", 1): (1, "time_in_cache"),
        ("cache", 2): (2, "time_in_cache"),
        "call": (1, "time_exchange", SMALL),
        "small": (2, "time_exchange", SMALL),
        "large": (2, "time_exchange", LARGE),
    }
    for ranks in RANKS:
        settings["strong", ranks] = ranks, "time_step", BATCH, 1, PARTS
        if ranks > 1:
            settings["alone", ranks] = ranks, "time_alone", BATCH, 1, PARTS
    for ranks in WEAK[1:]:
        settings["weak", ranks] = ranks, "time_step", BATCH * ranks, 1, PARTS * ranks
    times = medians(settings, rounds)
    one = times["strong", 1]
    few, many = times["parts"]
    micro_batch = (many - few) / (PARTS - FEW)
    slowdown = {1: [1.0]} | {ranks: [each / one for each in times["alone", ranks]] for ranks in RANKS[1:]}
    rest, size = max(many - PARTS * micro_batch, 0.0), on_ranks(1, "gradient_bytes")
    cost = Cost(micro_batch, rest, times["call"], size, slowdown)
    per_byte = (times["large"] - times["small"]) / (LARGE - SMALL)
    latency = max(times["small"] - times["call"] - SMALL * per_byte, 0.0) / 2
    return Measured(
        cost,
        Network("shared memory", latency, 1 / per_byte),
        PARTS,
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        {ranks: one / times["strong", ranks] for ranks in RANKS},
        {1: 1.0} | {ranks: one / times["weak", ranks] for ranks in WEAK[1:]},
        one / times["threads"],
        2 * times["cache", 1] / times["cache", 2],
    )


def show_sums(rounds: int) -> None:
    times = medians({ranks: (ranks, "time_sum", 1 << 20) for ranks in (1, 2)}, rounds)
    for ranks, seconds in times.items():
        print(f"1 MB over {PARTS} parts on {ranks} ranks: {1e3 * seconds:.2f} ms")


def show_training(rounds: int) -> None:
    times = medians(
        {
            "one rank": (1, "time_step", BATCH, 1, PARTS),
            "two ranks": (2, "time_step", BATCH, 1, PARTS),
            "two processes that exchange nothing, a batch each": (2, "time_alone", BATCH, 1, PARTS),
            "one process with two threads": (1, "time_step", BATCH, 2, 1),
            "one process with two threads, in micro-batches": (1, "time_step", BATCH, 2, PARTS),
            "one process with one thread, the whole batch at once": (1, "time_step", BATCH, 1, 1),
        },
        rounds,
    )
    for name, seconds in times.items():
        each = seconds if isinstance(seconds, list) else [seconds]
        shown = " and ".join(f"{1e3 * value:.1f} ms a step" for value in each)
        print(f"{name}: {shown}, {sum(times['one rank'] / value for value in each):.2f} x one rank")


def show_model(rounds: int, write: bool) -> None:
    found = measured(rounds)
    print(found.table())
    if write:
        picture = "![Strong and weak scaling, measured here and predicted for 64 ranks](cluster.png)"
        replace_table("cluster.md", "ranks", f"{found.table()}\n\n{picture}")
        found.draw(DOCS / "cluster.png")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measure", choices=("sum", "train", "model"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--write", action="store_true", help="replace the figures and the picture in docs/cluster.md"
    )
    options = parser.parse_args()
    match options.measure:
        case "sum":
            show_sums(options.rounds)
        case "train":
            show_training(options.rounds)
        case _:
            show_model(options.rounds, options.write)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        on_rank(*sys.argv[2:])
    else:
        main()
