"""HIPS autograd: derivatives of small functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import autograd
import autograd.numpy as np
from workloads import workload

from runners.runner import Runner, repeat


def logarithm(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def kalman(noise: Any, y: Any, moves: Any, seen: Any) -> Any:
    mean, spread, total = np.zeros(4), np.eye(4), 0.0
    for observed in y:
        mean, spread = moves @ mean, moves @ spread @ moves.T + noise[0] * np.eye(4)
        error, innovation = observed - seen @ mean, seen @ spread @ seen.T + noise[1] * np.eye(2)
        gain = np.linalg.solve(innovation, seen @ spread).T
        total = total + error @ np.linalg.solve(innovation, error) + np.linalg.slogdet(innovation)[1]
        mean, spread = mean + gain @ error, spread - gain @ seen @ spread
    return 0.5 * total


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "gradient-ln": autograd.grad(logarithm, (0, 1)),
    "gradient-rosenbrock": autograd.grad(rosenbrock),
    "hessian-rosenbrock": autograd.hessian(rosenbrock),
    "hvp-rosenbrock": autograd.hessian_vector_product(rosenbrock),
    "kalman": autograd.value_and_grad(kalman),
}


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    return repeat(FUNCTIONS[name], workload(name).arguments, lambda value: value)
