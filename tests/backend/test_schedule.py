"""Schedules: how many sums go on at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.backend.target import host


@pytest.mark.parametrize(
    ("function", "sums"),
    [
        (np.sum, 4),
        (lambda x: np.sum(x * x), 4),
        (lambda x: np.sum((x - 0.3) ** 2), 3),
        (lambda x: np.sum(abs(2 * x - 1) * x * (1 - x)), 2),
        (lambda x: np.sum(np.exp(x)), 1),
        (lambda x: np.sum(np.exp(-x * x) * np.sin(x) + np.sqrt(1 + x * x)), 1),
    ],
)
def test_a_sum_goes_on_in_as_many_parts_as_its_latency_needs(
    function: Callable[[Any], Any], sums: int
) -> None:
    x = np.linspace(0, 1, 4096, dtype=np.float32)
    compiled = wg.jit(function)
    width = host().vector_bytes // 4
    found = compiled.llvm(x).count(f"phi <{width} x float> [ splat")
    assert found == sums, "one part where what is summed takes longer than a sum"
    np.testing.assert_allclose(compiled(x), function(x), rtol=1e-5)
