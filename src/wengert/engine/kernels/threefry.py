"""Threefry-2x32-20, a keyed bijection of 64-bit numbers, in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.core.shapes import Shape

#: The distances of the rotations, for four rounds each; an injection of the key follows every four rounds.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
INJECTIONS = 5
#: A constant of the third word of the key: no key has only zeros.
PARITY = 0x1BD11BDA
_WORD = np.uint64(32)


def threefry(key: Any, counter: Any, shape: Shape) -> Any:
    """Return the blocks of the counters ``counter, counter + 1, ...`` under a key, one for each element of ``shape``.

    Args:
        key: uint64, of any shape.
        counter: uint64, of a shape that broadcasts with it.
        shape: the shape of the blocks of each key.

    Returns:
        uint64 of the shape of the keys and counters, followed by ``shape``.
    """
    key, counter = (np.asarray(words, np.uint64) for words in (key, counter))
    trailing = (1,) * len(shape)
    key = key.reshape((*key.shape, *trailing))
    counters = counter.reshape((*counter.shape, *trailing))
    counters = counters + np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    full = np.broadcast_shapes(key.shape, counters.shape)
    with np.errstate(over="ignore"):  # NumPy warns where a scalar wraps, not where an array does
        return _encrypted(key, np.broadcast_to(counters, full))[()]


def _encrypted(key: Any, counters: Any) -> Any:
    """Return the blocks in the two halves of 64 bits, the first word in the upper one."""
    low, high = (key & np.uint64(0xFFFFFFFF)).astype(np.uint32), (key >> _WORD).astype(np.uint32)
    keys = (high, low, high ^ low ^ np.uint32(PARITY))
    first = np.array(counters >> _WORD, np.uint32)
    second = np.array(counters, np.uint32)
    first += keys[0]
    second += keys[1]
    rotated = np.empty_like(second)
    for injection in range(INJECTIONS):
        for distance in ROTATIONS[injection % 2]:
            first += second
            np.left_shift(second, np.uint32(distance), out=rotated)
            second >>= np.uint32(32 - distance)
            second |= rotated
            second ^= first
        first += keys[(injection + 1) % 3]
        second += keys[(injection + 2) % 3] + np.uint32(injection + 1)
    return first.astype(np.uint64) << _WORD | second
