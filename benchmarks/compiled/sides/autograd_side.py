"""HIPS autograd: derivatives of small functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import autograd
import autograd.numpy as np
from workloads import workload

from sides.runner import Runner, repeat


def logarithm(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "gradient-ln": autograd.grad(logarithm, (0, 1)),
    "gradient-rosenbrock": autograd.grad(rosenbrock),
    "hessian-rosenbrock": autograd.hessian(rosenbrock),
    "hvp-rosenbrock": autograd.hessian_vector_product(rosenbrock),
}


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    return repeat(FUNCTIONS[name], workload(name).arguments, lambda value: value)
