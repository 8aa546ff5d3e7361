"""Loads and stores of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg


def test_a_block_is_not_exchanged_where_an_index_differs_from_row_to_row(rng: Any) -> None:
    x, rows = rng.normal(size=(12, 12, 8)), rng.integers(0, 12, 8)

    def program(x: Any, rows: Any) -> Any:
        taken = x[:, rows, np.arange(8)].T
        return np.cumsum(taken, axis=1), taken + 1

    for found, expected in zip(wg.jit(program)(x, rows), program(x, rows), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)
