"""The libraries that `kinks.py` compares with Wengert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy
import jax
import torch
from kinks import Functions, Library

jax.config.update("jax_enable_x64", True)


class Torch:
    """NumPy's names for PyTorch's functions."""

    abs, sign, sqrt, cbrt = torch.abs, torch.sign, torch.sqrt, None
    log, hypot, arctan2, where, sort = torch.log, torch.hypot, torch.arctan2, torch.where, torch.sort
    arcsin, arccosh, prod, sum = torch.arcsin, torch.arccosh, torch.prod, torch.sum
    linalg = torch.linalg
    relu = torch.relu

    @staticmethod
    def maximum(x: Any, y: Any) -> Any:
        return torch.maximum(x, torch.as_tensor(y, dtype=x.dtype))

    @staticmethod
    def clip(x: Any, low: float, high: float) -> Any:
        return torch.clip(x, low, high)

    @staticmethod
    def max(x: Any) -> Any:
        return torch.amax(x)

    @staticmethod
    def std(x: Any) -> Any:
        return torch.std(x, correction=0)

    @staticmethod
    def first_sorted(x: Any) -> Any:
        return torch.sort(x, stable=True).values[0]


def by_torch(f: Callable[[Any], Any], x: Any) -> Any:
    at = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    f(at).backward()
    return None if at.grad is None else at.grad.numpy()


def torch_tangent(f: Callable[[Any], Any], x: Any, v: Any) -> Any:
    point, direction = (torch.tensor(value, dtype=torch.float64) for value in (x, v))
    return torch.func.jvp(f, (point,), (direction,))[1].numpy()


PEERS = (
    Library(
        "JAX",
        Functions(jax.numpy, relu=jax.nn.relu, first_sorted=lambda x: jax.numpy.sort(x)[0]),
        lambda f, x: jax.grad(f)(x),
        lambda f, x, v: jax.jvp(f, (x,), (v,))[1],
    ),
    Library("PyTorch", Torch, by_torch, torch_tangent),
    Library(
        "autograd",
        Functions(autograd.numpy, first_sorted=lambda x: autograd.numpy.sort(x)[0]),
        lambda f, x: autograd.grad(f)(x),
    ),
)
