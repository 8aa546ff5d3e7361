"""Writes and sums at index arrays: those without elements."""

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ops.indexing import add_at, scatter


@pytest.mark.parametrize("op", [scatter, add_at])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_index_arrays_without_elements(op, shape):
    indices = np.zeros(shape, np.int64)
    slopes = wg.grad(lambda x, y: np.sum(op(x, y, indices) ** 2), argnums=(0, 1))(
        np.arange(4.0), np.zeros(shape)
    )
    np.testing.assert_array_equal(slopes[0], 2 * np.arange(4.0))
    np.testing.assert_array_equal(slopes[1], np.zeros(shape))
