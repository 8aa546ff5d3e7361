"""Exported functions as WebAssembly in Node.js against the same functions, native with AVX2, on one thread.

Node.js and Python take turns. Times are those that a process has had the processor for; a ratio is the median of the
ratios of neighbouring turns. With `--write` the table in docs/export.md is replaced.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["WENGERT_THREADS"] = "1"  # before the library loads
os.environ["WENGERT_TARGET"] = "avx2"

import numpy as np
from tables import replace_table

import wengert as wg
from wengert import nn, optim

#: Calls in a turn, of the number that a line of standard input says; prints the microseconds of the processor.
TURNS = """
import {createInterface} from "node:readline";
const {load} = await import(process.argv[2]);
const f = await load(process.argv[3]);
for await (const line of createInterface({input: process.stdin})) {
  const before = process.cpuUsage();
  for (let call = Number(line); call > 0; --call) f.run();
  const {user, system} = process.cpuUsage(before);
  console.log(user + system);
}
"""


class Workload(NamedTuple):
    """A function with example arguments, and the bytes of the numbers that its module holds."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    numbers: int


def normal(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def bytes_of(container: Any) -> int:
    return sum(np.asarray(leaf).nbytes for leaf in wg.tree.leaves(container))


def prediction(model: Any, *shape: int) -> Workload:
    """Return the prediction of a network, which holds its weights as constants."""
    return Workload(wg.jit(lambda x: model(x)), (normal(*shape),), bytes_of(model))


def lenet() -> Any:
    """Return LeNet-5."""
    return nn.Chain(
        *(nn.Conv2D(1, 6, 5, padding=2, seed=0), nn.relu, nn.MaxPool2D(2)),
        *(nn.Conv2D(6, 16, 5, seed=1), nn.relu, nn.MaxPool2D(2), nn.Flatten()),
        *(nn.Dense(400, 120, seed=2), nn.relu, nn.Dense(120, 84, seed=3), nn.relu, nn.Dense(84, 10, seed=4)),
    )


def mlp() -> Any:
    return nn.Chain(nn.Dense(784, 128, seed=0), nn.relu, nn.Dense(128, 10, seed=1))


def training(model: Any, *shape: int) -> Workload:
    """Return a training step with Adam; it updates its state in place."""
    optimiser = optim.adam(1e-3)

    @wg.jit(donate=0)
    def step(state: Any, x: Any, labels: Any) -> Any:
        model, moments = state
        loss, gradient = wg.value_and_grad(lambda model: nn.softmax_cross_entropy(model(x), labels))(model)
        return optimiser.update(gradient, moments, model), loss

    labels = np.random.default_rng(0).integers(0, 10, shape[0])
    state = (model, optimiser.init(model))
    return Workload(step, (state, normal(*shape), labels), bytes_of(model))  # zeros take no bytes


def elementary() -> Workload:
    return Workload(
        wg.jit(wg.value_and_grad(lambda x: np.sum(np.exp(-x * x) * np.sin(x) + np.tanh(x)))),
        (normal(4096),),
        0,
    )


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "LeNet, prediction of an image": lambda: prediction(lenet(), 1, 1, 28, 28),
    "LeNet, prediction of 32 images": lambda: prediction(lenet(), 32, 1, 28, 28),
    "MLP 784-128-10, prediction of 32 images": lambda: prediction(mlp(), 32, 784),
    "LSTM of 32 units over 28 steps, prediction of 8 sequences": lambda: prediction(
        nn.LSTM(28, 32, seed=0), 8, 28, 28
    ),
    "MLP 784-128-10, step of Adam, batch of 32": lambda: training(mlp(), 32, 784),
    "LeNet, step of Adam, batch of 32": lambda: training(lenet(), 32, 1, 28, 28),
    "gradient of exp, sin and tanh of 4,096 numbers": elementary,
    "product of two matrices 256 x 256": lambda: Workload(
        wg.jit(np.matmul), (normal(256, 256), normal(256, 256)), 0
    ),
}


class Row(NamedTuple):
    """Microseconds of a call in Node.js, the share of native speed, and the bytes of the module beside its numbers."""

    name: str
    wasm: float
    share: float
    code: int


def measure(name: str, workload: Workload, turns: int, seconds: float) -> Row:
    """Return the times of a workload, after both sides have warmed up."""
    with tempfile.TemporaryDirectory() as folder:
        module = wg.export(workload.function, *workload.arguments).wasm(Path(folder, "f"))[0]
        Path(folder, "turns.mjs").write_text(TURNS)
        node = subprocess.Popen(
            ["node", "turns.mjs", "./f.mjs", str(module)], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        native = native_turn(workload)

        def foreign(calls: int) -> float:
            assert node.stdin is not None
            assert node.stdout is not None
            node.stdin.write(f"{calls}\n")
            node.stdin.flush()
            return float(node.stdout.readline())

        first = max(foreign(5) / 5, 1.0)
        calls = max(int(seconds * 1e6 / first), 1)
        foreign(calls), native(calls)
        pairs = [(foreign(calls) / calls, native(calls) / calls) for _ in range(turns)]
        node.terminate()
        share = statistics.median(ours / theirs for theirs, ours in pairs)
        wasm = statistics.median(theirs for theirs, _ in pairs)
        return Row(name, wasm, share, module.stat().st_size - workload.numbers)


def native_turn(workload: Workload) -> Callable[[int], float]:
    """Return a function that makes native calls, and returns the microseconds of the processor."""
    state, rest = workload.arguments[0], workload.arguments[1:]
    donates = len(rest) == 2
    if donates:
        state = wg.tree.map_tree(np.copy, state)

    def turn(calls: int) -> float:
        nonlocal state
        before = time.process_time()
        for _ in range(calls):
            result = workload.function(state, *rest)
            if donates:
                state = result[0]
        return 1e6 * (time.process_time() - before)

    return turn


def table(rows: list[Row]) -> str:
    lines = [f"| {row.name} | {row.wasm:,.0f} | {row.share:.2f} | {row.code / 1000:.1f} |" for row in rows]
    mean = statistics.geometric_mean(row.share for row in rows)
    head = [
        "| function | us a call | share of native speed | kB beside weights and state |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *lines, f"| geometric mean | | {mean:.2f} | |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1, help="of the processor, in a turn of Node.js")
    parser.add_argument("--write", action="store_true", help="write docs/export.md")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = [measure(name, make(), options.turns, options.seconds) for name, make in WORKLOADS.items()]
    print(table(rows))
    if options.write:
        replace_table("export.md", "webassembly", table(rows))


if __name__ == "__main__":
    main()
