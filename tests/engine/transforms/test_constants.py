"""Constants of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg


def test_constants_are_compared_by_bits() -> None:
    """A constant that changes after its first use, from zero to negative zero, is a new constant."""

    def function(x: Any) -> Any:
        constant = np.zeros(2)
        first = np.concatenate([x, constant])
        constant[:] = -0.0
        return first, np.concatenate([x, constant])

    for leaf, other in zip(wg.jit(function)(np.ones(1)), function(np.ones(1)), strict=True):
        np.testing.assert_array_equal(np.signbit(leaf), np.signbit(other))
