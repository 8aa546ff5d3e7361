"""Keys, and the bits that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import Shape, broadcast, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops import random as functions
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.random import UINT64
from wengert.numpy.registry import integers

#: The counter of the first of the second blocks of a draw. No array has 2^63 elements, so first blocks end before it.
SECOND = np.uint64(2**63)
_FIRST = np.uint64(0)
_ALL = 2**64 - 1


def unsigned(operation: str, number: Any) -> Any:
    """Return integers as uint64: their lowest 64 bits."""
    if isinstance(number, int):
        return np.uint64(number & _ALL)
    number = operand(number)
    if dtype_of(number).kind not in "iu":
        raise DtypeError(message(operation, "integers are required", show(number)))
    return cast(number, dtype=UINT64)


def _scalar(operation: str, name: str, number: Any) -> Any:
    if shape_of(number) != ():
        raise ShapeError(message(operation, f"one {name} is required", show(number), "use wg.vmap for many"))
    return number


def _word(operation: str, name: str, number: Any) -> Any:
    """Return one integer as uint64; negative ones wrap."""
    if isinstance(number, int) and not -(2**63) <= number <= _ALL:
        raise ArgumentError(message(operation, f"a {name} of 64 bits is required", str(number)))
    return _scalar(operation, name, unsigned(operation, number))


def _checked(operation: str, key: Any) -> Any:
    if getattr(key, "dtype", None) != UINT64:
        hint = "make one with wg.random.key(seed)"
        got = show(key) if isinstance(key, int) or hasattr(key, "dtype") else type(key).__name__
        raise DtypeError(message(operation, "a key is required, which is a uint64", got, hint))
    return _scalar(operation, "key", key)


def shape_for(operation: str, shape: Any, *parameters: Any) -> Shape:
    """Return the shape of a draw; by default its parameters broadcast to it."""
    common = broadcast(operation, *map(shape_of, parameters))
    if shape is None:
        return common
    try:
        extents = tuple(integers(shape))
    except TypeError:
        raise ShapeError(message(operation, "a shape consists of integers", repr(shape))) from None
    if any(extent < 0 for extent in extents):
        raise ShapeError(message(operation, "a shape has no negative extents", str(extents)))
    if common and broadcast(operation, extents, common) != extents:
        requirement = f"the parameters must broadcast to the shape {extents}"
        raise ShapeError(message(operation, requirement, show(*parameters)))
    return extents


def blocks(operation: str, key: Any, shape: Shape, first: Any = _FIRST) -> Any:
    """Return 64 random bits for each element of a shape."""
    return functions.threefry(_checked(operation, key), first, shape=shape)


def narrowed(block: Any) -> Any:
    """Return 32 random bits for 64."""
    return cast(block >> np.uint64(32) ^ block, dtype=np.dtype(np.uint32))


# -- public ----------------------------------------------------------------------------------------------


def key(seed: Any) -> Any:
    """Return the key of a seed.

    Args:
        seed: an integer, 0 <= seed < 2^64, or -2^63 <= seed < 0; it may be a traced value.

    Returns:
        A uint64.

    Raises:
        ArgumentError: the seed has more than 64 bits.
        DtypeError: the seed is not an integer.

    Example:
        >>> int(key(7))
        7
    """
    return _word("key", "seed", seed)


def split(key: Any, count: int = 2) -> Any:
    """Return new, independent keys; do not use the old key again.

    Args:
        key: a key.
        count: the number of keys, or their shape.

    Returns:
        uint64 of the shape (count,): ``first, second = split(key)``.

    Example:
        >>> first, second = split(key(0))
        >>> bool(first != second)
        True
    """
    return blocks("split", key, shape_for("split", count))


def fold_in(key: Any, data: Any) -> Any:
    """Return a new key for a number, such as the number of a step or of a layer.

    Args:
        key: a key.
        data: an integer, which may be a traced value. Do not split the same key: ``fold_in(key, i)`` is
            ``split(key, n)[i]``.

    Returns:
        A uint64.

    Example:
        >>> bool(fold_in(key(0), 3) == split(key(0), 5)[3])
        True
    """
    return functions.threefry(_checked("fold_in", key), _word("fold_in", "number", data), shape=())


def threefry(key: Any, counter: Any, shape: Any = ()) -> Any:
    """Return Threefry-2x32 of 20 rounds, the source of all random numbers of this module.

    It is a bijection of 64-bit numbers for each key, the first word in the upper half (Salmon, Moraes, Dror and Shaw,
    2011: Parallel random numbers: as easy as 1, 2, 3).

    Args:
        key: uint64, of any shape.
        counter: uint64, of a shape that broadcasts with it.
        shape: the shape of the blocks ``counter, counter + 1, ...`` for each counter.

    Returns:
        uint64 of the shape of keys and counters, followed by ``shape``.

    Example:
        >>> print(f"{threefry(np.uint64(0), np.uint64(0)):016x}")
        6b20015999ba4efe
    """
    return functions.threefry(key, counter, shape=shape_for("threefry", shape))


def bits(key: Any, shape: Any = (), dtype: Any = np.uint32) -> Any:
    """Draw random bits: unsigned integers with equal probabilities.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: uint8, uint16, uint32 or uint64.

    Returns:
        Integers of the dtype.

    Raises:
        DtypeError: the dtype is another.

    Example:
        >>> print(bits(key(0), 2))
        [4070199207 4202968722]
    """
    dtype = np.dtype(dtype)
    if dtype.kind != "u":
        raise DtypeError(message("bits", "an unsigned integer dtype is required", str(dtype)))
    block = blocks("bits", key, shape_for("bits", shape))
    return block if dtype == UINT64 else cast(narrowed(block), dtype=dtype)
