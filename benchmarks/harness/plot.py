"""The picture of a comparison: accuracy, memory and time by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.contest import Trial
from harness.workloads import NETWORKS
from wengert.train.plots import new_figure, png
from wengert.train.reporters import counted


def comparison(trials: Sequence[Trial]) -> bytes:
    """Draw the test accuracy, or the loss, the new memory and the seconds of each epoch, for each network.

    A line is the mean over the seeds; the band around it reaches from the least to the greatest.
    """
    networks = list(dict.fromkeys(trial.network for trial in trials))
    threads = list(dict.fromkeys(trial.threads for trial in trials))
    figure, axes = new_figure(len(networks), 2 + len(threads), 4.5 * (2 + len(threads)), 3.4 * len(networks))
    contestants = dict.fromkeys(trial.contestant for trial in trials)
    colours = {contestant: f"C{number}" for number, contestant in enumerate(contestants)}
    for row, network in zip(axes, networks, strict=True):
        chosen = [trial for trial in trials if trial.network == network]
        score = "test accuracy" if NETWORKS[network].classifies else "test loss"
        _curves(row[0], chosen, threads[0], "test_score", colours)
        row[0].set(title=f"{NETWORKS[network].title}: {score}", xlabel="epoch")
        _curves(row[1], chosen, threads[0], "fresh", colours)
        row[1].set(title="bytes of new memory an epoch", xlabel="epoch")
        for axis, count in zip(row[2:], threads, strict=True):
            _curves(axis, chosen, count, "seconds", colours)
            axis.set(title=f"seconds an epoch, {counted(count, 'thread')}", xlabel="epoch")
            axis.set_yscale("log")
        row[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return png(figure)


def _curves(axis: Any, trials: Sequence[Trial], threads: int, field: str, colours: Any) -> None:
    for contestant, colour in colours.items():
        curves = [
            [getattr(epoch, field) for epoch in trial.epochs]
            for trial in trials
            if trial.threads == threads and trial.contestant == contestant
        ]
        if not curves:
            continue
        values: Any = np.array(curves)
        numbers = list(range(1, len(curves[0]) + 1))
        axis.plot(numbers, values.mean(axis=0), marker="o", markersize=3, color=colour, label=str(contestant))
        axis.fill_between(numbers, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15)
    axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axis.grid(alpha=0.3)
