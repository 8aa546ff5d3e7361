"""Threefry-2x32-20 gives the known answers of its authors, one counter at a time and many at once."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import DtypeError
from wengert.engine.kernels.threefry import threefry

# From the file kat_vectors of Random123, which belongs to the paper: counter, key, result.
KNOWN = [
    (0x0000000000000000, 0x0000000000000000, 0x6B20015999BA4EFE),
    (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x1CB996FCBB002BE7),
    (0x243F6A8885A308D3, 0x13198A2E03707344, 0xC4923A9C483DF7A0),
]


def words(values):
    return np.array(values, np.uint64)


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter, key, result):
    key, counter = np.uint64(key), np.uint64(counter)
    assert threefry(key, counter, ()) == result
    assert wg.jit(wg.random.threefry)(key, counter) == result


def test_known_answers_at_once():
    counters, keys, results = (words(column) for column in zip(*KNOWN, strict=True))
    np.testing.assert_array_equal(threefry(keys, counters, ()), results)
    np.testing.assert_array_equal(wg.jit(wg.random.threefry)(keys, counters), results)


def test_counters_follow_one_another():
    """Through the carry from the lower to the upper word, and from the end to the beginning."""
    key, first = np.uint64(7), words([2**32 - 2, 2**64 - 3])
    rows = threefry(key, first, (2, 3))
    assert rows.shape == (2, 2, 3)
    for start, row in zip(first, rows, strict=True):
        alone = [threefry(key, np.uint64((int(start) + i) % 2**64), ()) for i in range(6)]
        np.testing.assert_array_equal(row.ravel(), alone)


def test_a_bijection():
    assert len(np.unique(threefry(np.uint64(3), np.uint64(0), (100_000,)))) == 100_000


def test_half_of_the_bits_change_with_one():
    """With any bit of the key, as with any bit of the counter (avalanche)."""
    number, flipped = np.uint64(123), np.uint64(123) ^ (np.uint64(1) << np.arange(64, dtype=np.uint64))
    by_key = threefry(flipped, number, (500,)) ^ threefry(number, number, (500,))
    by_counter = threefry(np.arange(500, dtype=np.uint64)[:, None], flipped, ()) ^ threefry(
        np.arange(500, dtype=np.uint64)[:, None], number, ()
    )
    for changed in (by_key, by_counter):
        each = np.mean(np.bitwise_count(changed), axis=int(changed is by_key))
        assert np.all(np.abs(each - 32) < 5 * 4 / np.sqrt(500))


def test_only_words_of_64_bits():
    for key, counter in ((0, np.uint64(0)), (np.uint64(0), np.int64(0)), (np.float64(0), np.uint64(0))):
        with pytest.raises(DtypeError, match="uint64"):
            wg.random.threefry(key, counter)
        with pytest.raises(DtypeError, match="uint64"):
            wg.jit(wg.random.threefry)(key, counter)
