"""Functions across frameworks: programs of NumPy's in PyTorch, JAX and PyTensor, and theirs in programs."""

from __future__ import annotations

from wengert.interop.jax import from_jax, to_jax
from wengert.interop.pytensor import as_op
from wengert.interop.torch import from_torch, to_torch

__all__ = ["as_op", "from_jax", "from_torch", "to_jax", "to_torch"]
__dir__ = __all__.copy
