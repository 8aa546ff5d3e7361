from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.data import batches
from wengert.engine.core.errors import ArgumentError

counts, sizes = st.integers(0, 200), st.integers(1, 50)


@given(counts, sizes, st.booleans())
def test_every_sample_comes_once(n: int, size: int, shuffle: bool) -> None:
    drawn = list(batches(n, size, rng=np.random.default_rng(0), shuffle=shuffle))
    assert sorted(index for batch in drawn for index in batch) == list(range(n))
    assert all(len(batch) == size for batch in drawn[:-1])
    assert all(0 < len(batch) <= size for batch in drawn[-1:])


@given(counts, sizes)
def test_drop_last_leaves_whole_batches(n: int, size: int) -> None:
    kept = [batch.tolist() for batch in batches(n, size, rng=np.random.default_rng(0), drop_last=True)]
    everything = [batch.tolist() for batch in batches(n, size, rng=np.random.default_rng(0))]
    assert kept == everything[: n // size]
    assert all(len(batch) == size for batch in kept)


def test_the_order_is_the_generators() -> None:
    rng = np.random.default_rng(0)
    first, second = ([batch.tolist() for batch in batches(100, 10, rng=rng)] for _ in range(2))
    assert first != second
    assert first == [batch.tolist() for batch in batches(100, 10, rng=np.random.default_rng(0))]


def test_without_shuffling_the_order_is_kept() -> None:
    assert np.concatenate(list(batches(25, 10, rng=None, shuffle=False))).tolist() == list(range(25))


@pytest.mark.parametrize(("n", "size"), [(-1, 10), (10, 0)])
def test_impossible_sizes(n: int, size: int) -> None:
    with pytest.raises(ArgumentError, match=f"got n={n}, size={size}"):
        batches(n, size, rng=None, shuffle=False)


def test_shuffling_needs_a_generator() -> None:
    with pytest.raises(ArgumentError, match="shuffling needs rng"):
        batches(10, 5, rng=None)
