"""JAX: `jax.numpy`, compiled by `jax.jit`."""

from __future__ import annotations

import os
from typing import Any

from areas.libraries.library import Namespace, TransformingLibrary, scanned_recurrence

if len(os.sched_getaffinity(0)) == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
from jax import lax, nn

jax.config.update("jax_enable_x64", True)
LAYOUTS = {1: ("NCH", "OIH", "NCH"), 2: ("NCHW", "OIHW", "NCHW"), 3: ("NCDHW", "OIDHW", "NCDHW")}


class JaxNamespace(Namespace):
    """`jax.numpy`, and functions of `jax.lax` and `jax.nn`."""

    scan = staticmethod(lax.scan)
    relu, sigmoid, softplus = map(staticmethod, (nn.relu, nn.sigmoid, nn.softplus))
    softmax, log_softmax, logsumexp = map(staticmethod, (nn.softmax, nn.log_softmax, nn.logsumexp))

    def while_loop(self, condition: Any, body: Any, start: Any) -> Any:
        return lax.while_loop(condition, body, start)

    def gelu(self, x: Any) -> Any:
        return nn.gelu(x, approximate=False)

    def cross_entropy(self, scores: Any, labels: Any) -> Any:
        return -jnp.mean(jnp.take_along_axis(nn.log_softmax(scores), labels[:, None], 1))

    def conv(
        self, x: Any, weight: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1
    ) -> Any:
        rank = x.ndim - 2
        return lax.conv_general_dilated(
            x,
            weight,
            [stride] * rank,
            [(padding, padding)] * rank,
            rhs_dilation=[dilation] * rank,
            dimension_numbers=LAYOUTS[rank],
            feature_group_count=groups,
        )

    def conv_transposed(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        rank, size = x.ndim - 2, weight.shape[-1]
        flipped = jnp.flip(jnp.swapaxes(weight, 0, 1), range(2, 2 + rank))
        return lax.conv_general_dilated(
            x,
            flipped,
            [1] * rank,
            [(size - 1 - padding,) * 2] * rank,
            lhs_dilation=[stride] * rank,
            dimension_numbers=LAYOUTS[rank],
        )

    def max_pool(self, x: Any, size: int) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, size, size), (1, 1, size, size), "VALID")

    def average_pool(self, x: Any, size: int) -> Any:
        return lax.reduce_window(x, 0.0, lax.add, (1, 1, size, size), (1, 1, size, size), "VALID") / size**2

    def recurrence(self, kind: str, x: Any, inward: Any, weights: Any, bias: Any) -> Any:
        return scanned_recurrence(self, kind, x, inward, weights, bias)

    def segment_sum(self, values: Any, segments: Any, count: int) -> Any:
        return jax.ops.segment_sum(values, segments, count)

    def pad_by_one(self, x: Any) -> Any:
        return jnp.pad(x, 1)

    def median_of_odd(self, x: Any) -> Any:
        return jnp.median(x, axis=-1)

    def expm(self, a: Any) -> Any:
        return jax.scipy.linalg.expm(a)

    def solve_triangular(self, factor: Any, b: Any) -> Any:
        return jax.scipy.linalg.solve_triangular(factor, b, lower=True)


class Jax(TransformingLibrary):
    """JAX."""

    module, namespace = jax, JaxNamespace(jnp)

    def array(self, value: Any) -> Any:
        return jnp.asarray(value)

    def wait(self, result: Any) -> None:
        jax.block_until_ready(result)

    def forget(self) -> None:
        jax.clear_caches()


LIBRARY = Jax()
