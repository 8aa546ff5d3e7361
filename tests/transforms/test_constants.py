"""Constants of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg


def test_a_constant_is_told_by_its_bits() -> None:
    """One that changes after its first use, from zero to negative zero, is another."""

    def function(x: Any) -> Any:
        constant = np.zeros(2)
        first = np.concatenate([x, constant])
        constant[:] = -0.0
        return first, np.concatenate([x, constant])

    for one, other in zip(wg.jit(function)(np.ones(1)), function(np.ones(1)), strict=True):
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))
