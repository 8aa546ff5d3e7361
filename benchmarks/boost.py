"""Gradients and Hessians of losses for gradient boosting against formulas in NumPy, on one thread.

The formulas are as a user writes them, in the dtype of the scores, as Wengert computes. The functions take turns in one
process, on one processor. Times are those that the process has had the processor for; a ratio is the median of the
ratios of neighbouring turns. With `--write` the table in docs/measurements.md is replaced.
"""

from __future__ import annotations

from typing import Any

from tables import write_measurements
from turns import Workload, compare  # before NumPy: it limits the threads

import numpy as np  # isort: skip

from wengert.boost import objective
from wengert.special import log_softmax


def logistic(score: Any, label: Any) -> Any:
    return np.logaddexp(0.0, score) - label * score


def logistic_formula(labels: Any, scores: Any) -> Any:
    p = 1.0 / (1.0 + np.exp(-scores))
    return p - labels, np.maximum(p * (1.0 - p), 1e-16)


def softmax(scores: Any, label: Any) -> Any:
    return -log_softmax(scores)[label.astype(int)]


def softmax_formula(labels: Any, scores: Any) -> Any:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    gradient = p.copy()
    gradient[np.arange(len(p)), labels.astype(int)] -= 1.0
    return gradient, np.maximum(2.0 * p * (1.0 - p), 1e-16)


def tweedie(score: Any, label: Any) -> Any:
    return 2.0 * np.exp(0.5 * score) + 2.0 * label * np.exp(-0.5 * score)


def tweedie_formula(labels: Any, scores: Any) -> Any:
    root = np.exp(0.5 * scores)
    return root - labels / root, np.maximum(0.5 * (root + labels / root), 1e-16)


def workloads() -> list[Workload]:
    rng = np.random.default_rng(0)
    cases = [
        ("logistic", objective(logistic), logistic_formula, 0),
        ("softmax of 5 classes", objective(softmax, hessian="bound"), softmax_formula, 5),
        ("Tweedie", objective(tweedie), tweedie_formula, 0),
    ]
    found: list[Workload] = []
    for name, ours, formula, classes in cases:
        for count in (1_000, 100_000, 1_000_000):
            for dtype in ("float32", "float64"):
                rows = count // classes if classes else count
                scores = rng.normal(size=(rows, classes) if classes else rows).astype(dtype)
                labels = rng.integers(0, classes or 2, rows).astype(dtype)
                title = f"{name}, {scores.size:,} scores, {dtype}"
                found.append(Workload(title, ours, {"NumPy": formula}, (labels, scores)))
    return found


def table(turns: int) -> str:
    lines = ["| loss | Wengert, µs | NumPy, µs | faster by |", "|---|---:|---:|---:|"]
    for workload in workloads():
        mine, others = compare(workload, turns)
        time, ratio = others["NumPy"]
        lines.append(f"| {workload.name} | {mine:,.1f} | {time:,.1f} | {ratio:.2f} x |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    write_measurements(__doc__, "boost", table)
