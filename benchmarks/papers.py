"""The papers' networks with the papers' settings, and others, on MNIST: their accuracy, time and memory.

`WENGERT_DATA=... python benchmarks/papers.py [cnn] [cnn-fast] [rnn] [lstm] [gru] [autoencoder]`; with `--write` the
table in docs/results.md is replaced. One thread; several minutes in all.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy loads its linear algebra
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from tables import replace_table

from wengert.data import load
from wengert.train import TASKS, Task, task_named, train

SEEDS = (0, 1, 2)
CLASSIFIERS: dict[str, Task] = {
    "cnn": task_named("cnn"),
    "cnn-fast": task_named("cnn", "fast"),
    "rnn": task_named("rnn"),
    "lstm": task_named("lstm"),
    "gru": task_named("gru"),
}


class Watch:
    """Records the loss and the score of each step, and the result of each epoch."""

    def __init__(self, last_step: int | None = None) -> None:
        self.last_step = last_step
        self.losses: list[float] = []
        self.scores: list[float] = []
        self.epochs: list[Any] = []

    def on_steps(self, progress: Any, state: Any) -> None:
        self.losses.extend(progress.losses)
        self.scores.extend(progress.scores)
        if self.last_step is not None and progress.step >= self.last_step:
            raise KeyboardInterrupt  # ends the run, as Ctrl-C does

    def on_epoch(self, result: Any, state: Any) -> None:
        self.epochs.append(result)


def classifier(name: str, dataset: Any, compiled: bool) -> str:
    accuracies, seconds = [], []
    for seed in SEEDS:
        watch = Watch()
        task = CLASSIFIERS[name]
        settings = task.settings("mnist", epochs=5, seed=seed)
        train(task, settings, dataset, watch, compiled=compiled)
        accuracies.append(watch.epochs[-1].test_score)
        seconds += [epoch.seconds for epoch in watch.epochs]
        print(
            name,
            "seed",
            seed,
            f"{accuracies[-1]:.2%}",
            f"{np.median(seconds):.1f} s an epoch",
            file=sys.stderr,
        )
    text = " ".join(f"{accuracy:.2%}" for accuracy in accuracies)
    return f"{text}; mean {np.mean(accuracies):.2%} | {np.median(seconds):.1f}"


def autoencoder(dataset: Any, compiled: bool) -> str:
    errors = []
    for seed in SEEDS:
        watch = Watch(last_step=20_000)
        settings = TASKS["autoencoder"].settings("mnist", seed=seed)
        train(TASKS["autoencoder"], settings, dataset, watch, compiled=compiled)
        errors.append(float(np.mean(watch.losses[15_000:20_000])))
        print("autoencoder seed", seed, f"{errors[-1]:.2f}", file=sys.stderr)
    text = " ".join(f"{error:.2f}" for error in errors)
    return f"squared error over samples 15,001 to 20,000: {text} | -"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=[*CLASSIFIERS, "autoencoder"])
    parser.add_argument("--write", action="store_true", help="replace the table in docs/results.md")
    parser.add_argument("--eager", action="store_true", help="run each operation in NumPy")
    arguments = parser.parse_args()
    compiled = not arguments.eager
    dataset = load("mnist")
    lines = ["| network | result, seeds 0, 1, 2 | seconds an epoch |", "|---|---|---:|"]
    for name in arguments.networks:
        measured = (
            autoencoder(dataset, compiled) if name == "autoencoder" else classifier(name, dataset, compiled)
        )
        lines.append(f"| {name} | {measured} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = "\n".join(lines) + f"\n\nPeak memory of the process, data included: {peak:.0f} MB."
    print(text)
    if arguments.write:
        replace_table("results.md", "papers", text)


if __name__ == "__main__":
    main()
