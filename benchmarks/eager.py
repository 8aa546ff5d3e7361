"""Gradients in eager mode against HIPS autograd, both in one run.

The two libraries take turns, so that a drift of the machine's speed affects both; a ratio is the median of the ratios
of neighbouring turns. Run `pip install -e '.[bench]'` first, then `python benchmarks/eager.py`; with `--write`
the table in docs/performance.md is replaced.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy loads its linear algebra
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import autograd
import autograd.numpy
import numpy as np
from tables import replace_table

import wengert as wg


class Workload(NamedTuple):
    """A scalar function for any NumPy, and the arguments of its gradient."""

    name: str
    function: Callable[[Any], Callable[..., Any]]
    arguments: tuple[Any, ...]


def rosenbrock(xp: Any) -> Callable[..., Any]:
    def f(x):
        return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return f


def mlp(xp: Any) -> Callable[..., Any]:
    def loss(parameters, x, y):
        for weight, bias in parameters[:-1]:
            x = xp.tanh(xp.dot(x, weight) + bias)
        weight, bias = parameters[-1]
        logits = xp.dot(x, weight) + bias
        logits = logits - xp.max(logits, axis=1, keepdims=True)
        return -xp.mean(xp.sum(y * (logits - xp.log(xp.sum(xp.exp(logits), axis=1, keepdims=True))), axis=1))

    return loss


def rnn(xp: Any) -> Callable[..., Any]:
    def loss(parameters, x, y):
        w, u, b, v = parameters
        h = np.zeros((x.shape[1], u.shape[0]))
        for t in range(x.shape[0]):
            h = xp.tanh(xp.dot(x[t], w) + xp.dot(h, u) + b)
        return xp.sum((xp.dot(h, v) - y) ** 2)

    return loss


def heat(xp: Any) -> Callable[..., Any]:
    def energy(u):
        for _ in range(200):
            inside = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            u = xp.concatenate((u[:1], inside, u[-1:]))
        return xp.sum(u * u)

    return energy


def workloads() -> list[Workload]:
    rng = np.random.default_rng(0)
    draw = rng.standard_normal
    sizes = [784, 256, 256, 10]
    layers = [(0.05 * draw(pair), np.zeros(pair[1])) for pair in itertools.pairwise(sizes)]
    images, targets = draw((128, 784)), np.eye(10)[rng.integers(0, 10, 128)]
    small = [(0.5 * draw(pair), np.zeros(pair[1])) for pair in ((8, 16), (16, 16), (16, 3))]
    cell = (0.1 * draw((28, 64)), 0.1 * draw((64, 64)), np.zeros(64), 0.1 * draw((64, 10)))
    return [
        Workload("Rosenbrock, n = 10", rosenbrock, (draw(10),)),
        Workload("Rosenbrock, n = 1,000", rosenbrock, (draw(1000),)),
        Workload("MLP 8-16-16-3, batch 4", mlp, (small, draw((4, 8)), np.eye(3)[[0, 1, 2, 1]])),
        Workload("MLP 784-256-256-10, batch 128", mlp, (layers, images, targets)),
        Workload("RNN of 28 steps, hidden 64, batch 1", rnn, (cell, draw((28, 1, 28)), draw((1, 10)))),
        Workload("RNN of 28 steps, hidden 64, batch 100", rnn, (cell, draw((28, 100, 28)), draw((100, 10)))),
        Workload("heat equation of 200 steps, n = 100", heat, (draw(100),)),
        Workload("heat equation of 200 steps, n = 100,000", heat, (draw(100_000),)),
    ]


def seconds(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function(*arguments)
    return (time.perf_counter() - start) / calls


def flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, list | tuple) else [value]


def compare(workload: Workload, turns: int) -> tuple[float, float, float]:
    """Return microseconds of Wengert and of autograd, and the median ratio of the second to the first."""
    ours, theirs = wg.grad(workload.function(np)), autograd.grad(workload.function(autograd.numpy))
    pairs = zip(flat(ours(*workload.arguments)), flat(theirs(*workload.arguments)), strict=True)
    for mine, other in pairs:  # the gradients must agree
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)
    calls = max(1, round(0.02 / seconds(theirs, workload.arguments, 3)))
    rows = [
        (seconds(ours, workload.arguments, calls), seconds(theirs, workload.arguments, calls))
        for _ in range(turns)
    ]
    mine, other = (statistics.median(column) * 1e6 for column in zip(*rows, strict=True))
    return mine, other, statistics.median(b / a for a, b in rows)


def table(turns: int) -> str:
    lines = [
        "| gradient | Wengert, µs | autograd, µs | Wengert is faster by |",
        "|---|---:|---:|---:|",
    ]
    for workload in workloads():
        mine, other, ratio = compare(workload, turns)
        lines.append(f"| {workload.name} | {mine:,.0f} | {other:,.0f} | {ratio:.2f} x |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=25, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/performance.md")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    text = table(arguments.turns)
    print(text)
    if arguments.write:
        replace_table("performance.md", "eager", text)


if __name__ == "__main__":
    main()
