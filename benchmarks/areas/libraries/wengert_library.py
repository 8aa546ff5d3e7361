"""Wengert: NumPy's functions, compiled by `wg.jit`."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from areas.families import Case
from areas.libraries.library import Namespace, TransformingLibrary, scanned_recurrence
from wengert import nn, special


class WengertNamespace(Namespace):
    """NumPy, and Wengert's functions of networks and control flow."""

    scan, while_loop = staticmethod(wg.scan), staticmethod(wg.while_loop)
    relu, sigmoid, gelu, softplus = map(staticmethod, (nn.relu, nn.sigmoid, nn.gelu, nn.softplus))
    softmax, log_softmax = staticmethod(special.softmax), staticmethod(special.log_softmax)
    logsumexp = staticmethod(special.logsumexp)
    cross_entropy = staticmethod(nn.softmax_cross_entropy)
    conv, max_pool, average_pool = map(staticmethod, (nn.convolve, nn.max_pool, nn.average_pool))

    def conv_transposed(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        return nn.convolve_transposed(x, weight, stride=stride, padding=padding)

    def recurrence(self, kind: str, x: Any, inward: Any, weights: Any, bias: Any) -> Any:
        return scanned_recurrence(self, kind, x, inward, weights, bias)

    def segment_sum(self, values: Any, segments: Any, count: int) -> Any:
        total = wg.numpy.zeros((count, *values.shape[1:]), values.dtype)
        np.add.at(total, segments, values)
        return total

    def pad_by_one(self, x: Any) -> Any:
        return np.pad(x, 1)

    def median_of_odd(self, x: Any) -> Any:
        return np.median(x, axis=-1)

    def expm(self, a: Any) -> Any:
        return wg.scipy.linalg.expm(a)

    def solve_triangular(self, factor: Any, b: Any) -> Any:
        return wg.scipy.linalg.solve_triangular(factor, b, lower=True)


class Wengert(TransformingLibrary):
    """Wengert."""

    module, namespace = wg, WengertNamespace(np)

    def function(self, case: Case) -> Callable[..., Any]:
        return wg.jit(self.transformed(case), flush_subnormals=True)  # XLA always takes them as zero

    def forget(self) -> None:
        gc.collect()


LIBRARY = Wengert()
