"""Copies of plain arrays: shared while an array does not change, and out of the reach of writes."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.engine.transforms.snapshots import Snapshots

LARGE = (80, 60)


def test_copies_are_shared_until_the_array_changes() -> None:
    snapshots, array = Snapshots(), np.ones(LARGE)
    first = snapshots.of(array)
    assert first is not array
    assert snapshots.of(array) is first
    array[0, 0] = np.nan
    second = snapshots.of(array)
    assert second is not first
    assert first[0, 0] == 1.0
    assert np.isnan(second[0, 0])


@pytest.mark.parametrize(
    "array",
    [np.ones(3), np.ones(LARGE, np.complex128), np.ones(LARGE)[::-1, ::2], np.asfortranarray(np.ones(LARGE))],
)
def test_a_copy_is_never_the_array(array: Any) -> None:
    snapshots = Snapshots()
    copies = [snapshots.of(array) for _ in range(3)]
    array[...] = 2.0
    assert all(np.all(copy == 1.0) for copy in copies)


def test_zeros_of_other_signs_are_other_values() -> None:
    snapshots, array = Snapshots(), np.zeros(LARGE)
    first = snapshots.of(array)
    array[1, 1] = -0.0
    assert snapshots.of(array) is not first


@pytest.mark.usefixtures("young_heap")
def test_copies_are_released() -> None:
    snapshots, array = Snapshots(), np.ones(LARGE)
    snapshots.of(array)
    gc.collect()
    assert all(copy is None or copy() is None for _, copy in snapshots._copies.values())  # pyright: ignore[reportPrivateUsage]


def test_gradients_keep_the_numbers_of_a_buffer_that_a_loop_overwrites() -> None:
    buffer = np.empty(LARGE)

    def f(x: Any) -> Any:
        for number in range(1, 5):
            buffer[...] = number
            x = x * buffer
        return np.sum(x)

    np.testing.assert_array_equal(wg.grad(f)(np.ones(LARGE)), np.full(LARGE, 24.0))
