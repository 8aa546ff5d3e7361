"""Bits, divisors and positions: integers against NumPy's, eager and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(5)
BYTES = RNG.integers(0, 256, (3, 5)).astype(np.uint8)
BITS = RNG.integers(0, 2, (3, 11))


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, 2])
def test_bits_are_packed_as_numpy_does(agrees: Any, axis: Any, order: str) -> None:
    agrees(lambda bits: np.packbits(bits, axis, order), BITS)
    agrees(lambda bits: np.packbits(bits, axis=axis, bitorder=order), BITS > 0)
    agrees(lambda x: np.unpackbits(x, axis, None, order), BYTES)


@pytest.mark.parametrize("count", [0, 3, 8, 30, 50, -3])
def test_the_number_of_bits(agrees: Any, count: int) -> None:
    agrees(lambda x: np.unpackbits(x, axis=1, count=count), BYTES)
    agrees(lambda x: np.unpackbits(x, count=count), BYTES[:1])


def test_what_holds_no_bits(agrees: Any) -> None:
    agrees(lambda x: np.packbits(x), np.ones(3))
    agrees(lambda x: np.unpackbits(x), np.arange(3))
    agrees(lambda x: np.packbits(x, bitorder="middle"), BITS)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", ("clip", "wrap")])
@pytest.mark.parametrize("order", ["C", "F"])
def test_positions(agrees: Any, mode: Any, order: Any) -> None:
    i, j = RNG.integers(0, 4, 6), RNG.integers(0, 5, 6)
    agrees(lambda i, j: np.ravel_multi_index((i, j), (4, 5), mode=mode, order=order), i, j)
    agrees(lambda i, j: np.ravel_multi_index((i, j), (3, 4), mode=mode, order=order), i, j + 3)
    agrees(lambda i: np.unravel_index(i, (2, 3, 4), order=order), RNG.integers(0, 24, (2, 3)))
    agrees(lambda i: np.unravel_index(i, (2, 3), order=order), np.array([5, 6]))


def test_batches_of_positions() -> None:
    places = RNG.integers(0, 12, (4, 3))
    for dim, actual in enumerate(wg.vmap(lambda i: np.unravel_index(i, (3, 4)))(places)):
        np.testing.assert_array_equal(actual, np.unravel_index(places, (3, 4))[dim])
    back = wg.vmap(lambda i, j: np.ravel_multi_index((i, j), (3, 4)))(*np.unravel_index(places, (3, 4)))
    np.testing.assert_array_equal(back, places)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_divisors_and_counts(agrees: Any, dtype: Any) -> None:
    x, y = RNG.integers(0, 40, (2, 3, 4)).astype(dtype)
    agrees(lambda x, y: (np.gcd(x, y), np.lcm(x, y), np.gcd(x, 6), np.bitwise_count(x)), x, y)
    agrees(lambda x: (np.gcd.reduce(x), np.lcm.accumulate(x % 5 + 1, axis=1)), x)


def test_neighbouring_numbers(check: Any) -> None:
    x, y = RNG.normal(size=(2, 3, 4))
    check(lambda x, y: (np.nextafter(x, y), np.spacing(x)), x, y, rtol=0.0)
    assert wg.grad(lambda x: np.nextafter(x, 5.0))(1.0) == 1.0
    assert wg.jit(np.nextafter)(np.float32(1.0), np.float32(2.0)) == np.nextafter(
        np.float32(1.0), np.float32(2.0)
    )
