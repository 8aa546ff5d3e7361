"""Selection by masks is np.where, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.engine.kernels.elementwise import select

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 5e-324]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
@pytest.mark.parametrize("size", [0, 5, 10_000])
def test_select_is_where(dtype, size, rng):
    condition = rng.random(size) < 0.5
    with np.errstate(all="ignore"):
        x, y = (rng.choice(SPECIAL, size).astype(dtype) for _ in range(2))
    for a, b in [(x, y), (x, 0.0), (0.0, y), (x, -0.0), (x, np.float32(2)), (3, y), (x[:1], y), (x[::-1], y)]:
        expected, found = np.where(condition, a, b), select(condition, a, b)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_select_broadcasts_and_keeps_layouts(rng):
    condition, x = rng.random((60, 1, 80)) < 0.5, rng.random((60, 5, 80))
    for array in (x, x.transpose(0, 2, 1).copy().transpose(0, 2, 1), x[:, ::-1]):
        np.testing.assert_array_equal(select(condition, array, 1.0), np.where(condition, array, 1.0))


def test_select_of_scalars_and_of_conditions_that_are_not_boolean():
    assert select(np.True_, 1.0, 2.0) == 1.0
    np.testing.assert_array_equal(
        select(np.arange(6000), np.ones(6000), 0.0), np.minimum(np.arange(6000), 1.0)
    )
