"""Gradients in eager mode against HIPS autograd, both in one run.

The two libraries take turns, so that a drift of the machine's speed affects both; a ratio is the median of the ratios
of neighbouring turns. Run `pip install -e '.[bench]'` first, then `python benchmarks/eager.py`; with `--write`
the table in docs/measurements.md is replaced.
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
from eager_operations import EXTENTS, OPERATIONS, REPETITIONS, Operation, program
from tables import replace_table

import wengert as wg

try:
    import torch
except ImportError:  # the table then lacks its columns
    torch = None
else:
    torch.set_num_threads(1)


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
    """Return the processor's time for a call, in which other programs of the machine have no part."""
    start = time.process_time()
    for _ in range(calls):
        function(*arguments)
    return (time.process_time() - start) / calls


def flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, list | tuple) else [value]


class Gradient(NamedTuple):
    """The gradient by one library, and its arguments."""

    call: Callable[..., Any]
    arguments: tuple[Any, ...]


def compare(gradients: list[Gradient], turns: int) -> list[tuple[float, float]]:
    """Return the median seconds of each gradient, and the median of the ratios to the first of neighbouring turns."""
    first, *others = ([*map(np.asarray, flat(call(*arguments)))] for call, arguments in gradients)
    for other in others:  # the gradients must agree
        for mine, theirs in zip(first, other, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
    counts = [max(1, round(0.01 / seconds(*gradient, 3))) for gradient in gradients]
    rows = [
        [seconds(*gradient, calls) for gradient, calls in zip(gradients, counts, strict=True)]
        for _ in range(turns)
    ]
    return [
        (statistics.median(column), statistics.median(row[position] / row[0] for row in rows))
        for position, column in enumerate(zip(*rows, strict=True))
    ]


def table(turns: int) -> str:
    lines = [
        "| gradient | Wengert, µs | autograd, µs | Wengert is faster by |",
        "|---|---:|---:|---:|",
    ]
    for name, function, arguments in workloads():
        ours, theirs = wg.grad(function(np)), autograd.grad(function(autograd.numpy))
        (mine, _), (other, ratio) = compare([Gradient(f, arguments) for f in (ours, theirs)], turns)
        lines.append(f"| {name} | {1e6 * mine:,.0f} | {1e6 * other:,.0f} | {ratio:.2f} x |")
    return "\n".join(lines)


# -- operations ------------------------------------------------------------------------------------------


def torch_gradient(function: Callable[[Any], Any], x: Any) -> Gradient:
    """Return the gradient of a function of torch, for the number that requires it."""

    def gradient(leaf: Any) -> Any:
        leaf.grad = None
        function(leaf).backward()
        return leaf.grad

    return Gradient(gradient, (torch.tensor(x, requires_grad=True),))


def gradients_of(operation: Operation, extent: int) -> list[Gradient]:
    """Return the gradient of a program of one operation, by each library."""
    x = np.random.default_rng(0).standard_normal((extent, extent))
    ours = wg.grad(program(operation, np, extent, np.asarray))
    theirs = autograd.grad(program(operation, autograd.numpy, extent, np.asarray))
    gradients = [Gradient(ours, (x,)), Gradient(theirs, (x,))]
    if torch is not None:
        gradients.append(torch_gradient(program(operation, torch, extent, torch.tensor), x))
    return gradients


def operations_table(turns: int) -> str:
    peers = ["autograd", *(["torch"] if torch is not None else [])]
    columns = [
        column
        for extent in EXTENTS
        for column in (
            f"{extent}²: Wengert, µs",
            *(f"{peer}, µs" for peer in peers),
            *(f"over {peer}" for peer in peers),
        )
    ]
    lines = [f"| {' | '.join(['operation', *columns])} |", f"|---{'|---:' * len(columns)}|"]
    ratios: list[list[list[float]]] = [[[] for _ in peers] for _ in EXTENTS]
    for operation in OPERATIONS:
        cells = [f"`{operation.name}`"]
        for extent, column in zip(EXTENTS, ratios, strict=True):
            measured = compare(gradients_of(operation, extent), turns)
            cells += [f"{1e6 * time / REPETITIONS:.1f}" for time, _ in measured]
            cells += [f"{ratio:.2f} x" for _, ratio in measured[1:]]
            for kept, (_, ratio) in zip(column, measured[1:], strict=True):
                kept.append(ratio)
        lines.append(f"| {' | '.join(cells)} |")
    blank = [""] * (1 + len(peers))
    means = [
        cell
        for column in ratios
        for cell in (*blank, *(f"{statistics.geometric_mean(kept):.2f} x" for kept in column))
    ]
    lines.append(f"| {' | '.join(['geometric mean', *means])} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=25, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/measurements.md")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name, make in {"eager": table, "operations": operations_table}.items():
        text = make(arguments.turns)
        print(text, end="\n\n")
        if arguments.write:
            replace_table("measurements.md", name, text)


if __name__ == "__main__":
    main()
