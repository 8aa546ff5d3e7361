"""Operands of products in panels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.comparing import check

RNG = np.random.default_rng(0)


def with_wider_numbers(w: Any, x: Any, g: Any) -> Any:
    """Return a product of 32-bit numbers in a sum of 64-bit ones, whose vectors have half the lanes."""
    return np.maximum(w, x.T @ g) + w.sum(axis=0, dtype=np.int64)


@pytest.mark.parametrize("columns", [37, 57, 64, 72, 120, 200])
@pytest.mark.parametrize("rows", [7, 24, 56])
def test_panels_suit_vectors_of_every_width(small: None, rows: int, columns: int) -> None:
    w, x, g = (RNG.integers(-9, 9, shape, np.int32) for shape in ((rows, columns), (6, rows), (6, columns)))
    check(with_wider_numbers, w, x, g)
