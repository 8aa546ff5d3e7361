"""Keys, the keys made of them, and the bits that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import Dtype, dtype_of
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import Shape, broadcast, shape_of
from wengert.ir.types import show
from wengert.numpy.registry import integers
from wengert.ops import random as functions
from wengert.ops.conversion import cast
from wengert.ops.random import UINT64

#: Where a draw takes its second blocks from: no array has so many elements that these are first ones, too.
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


def _word(operation: str, what: str, number: Any) -> Any:
    """Return one integer as uint64, the negative ones wrapped."""
    if isinstance(number, int) and not -(2**63) <= number <= _ALL:
        raise ArgumentError(message(operation, f"a {what} of 64 bits is required", str(number)))
    return _scalar(operation, what, unsigned(operation, number))


def _scalar(operation: str, what: str, number: Any) -> Any:
    if shape_of(number) != ():
        raise ShapeError(message(operation, f"one {what} is required", show(number), "use wg.vmap for many"))
    return number


def checked(operation: str, key: Any) -> Any:
    """Return a key, or raise what is wrong with it."""
    if getattr(key, "dtype", None) != UINT64:
        hint = "make one with wg.random.key(seed)"
        raise DtypeError(message(operation, "a key is required, which is a uint64", show(key), hint))
    return _scalar(operation, "key", key)


def shape_for(operation: str, shape: Any, *parameters: Any) -> Shape:
    """Return the shape of a draw, by default the one to which its parameters broadcast."""
    common = broadcast(operation, *map(shape_of, parameters))
    if shape is None:
        return common
    try:
        wanted = tuple(integers(shape))
    except TypeError:
        raise ShapeError(message(operation, "a shape consists of integers", repr(shape))) from None
    if any(extent < 0 for extent in wanted):
        raise ShapeError(message(operation, "a shape has no negative extents", str(wanted)))
    if common and broadcast(operation, wanted, common) != wanted:
        requirement = f"the parameters must broadcast to the shape {wanted}"
        raise ShapeError(message(operation, requirement, show(*parameters)))
    return wanted


def blocks(operation: str, key: Any, shape: Shape, first: Any = _FIRST) -> Any:
    """Return 64 random bits for each element of a shape."""
    return functions.threefry(checked(operation, key), first, shape=shape)


def narrowed(block: Any) -> Any:
    """Return 32 random bits made of 64."""
    return cast(block >> np.uint64(32) ^ block, dtype=np.dtype(np.uint32))


# -- public ----------------------------------------------------------------------------------------------


def key(seed: Any) -> Any:
    """Return the key that a seed stands for.

    Args:
        seed: an integer, 0 <= seed < 2^64, or -2^63 <= seed < 0; it may be a traced value.

    Returns:
        A uint64, which may be kept in arrays, saved and compared like any other.

    Raises:
        ArgumentError: the seed has more than 64 bits.
        DtypeError: the seed is no integer.

    Example:
        >>> int(key(7))
        7
    """
    return _word("key", "seed", seed)


def split(key: Any, count: int = 2) -> Any:
    """Return new keys, independent of one another; the old key should not be used again.

    Args:
        key: of `key`, `split` or `fold_in`.
        count: how many keys; or a shape.

    Returns:
        uint64 of the shape (count,): ``first, second = split(key)``.

    Example:
        >>> first, second = split(key(0))
        >>> bool(first != second)
        True
    """
    return blocks("split", key, shape_for("split", count))


def fold_in(key: Any, data: Any) -> Any:
    """Return a new key for a number, such as that of a step or of a layer.

    Args:
        key: of `key`, `split` or `fold_in`.
        data: an integer, which may be a traced value. Do not split the key as well: ``fold_in(key, i)`` is
            ``split(key, n)[i]``.

    Example:
        >>> bool(fold_in(key(0), 3) == split(key(0), 5)[3])
        True
    """
    return functions.threefry(checked("fold_in", key), _word("fold_in", "number", data), shape=())


def threefry(key: Any, counter: Any, shape: Any = ()) -> Any:
    """Return Threefry-2x32 of 20 rounds, of which all that is random here is made.

    A bijection of 64-bit numbers for each key, the first word in the upper half (Salmon, Moraes, Dror and Shaw, 2011:
    Parallel random numbers: as easy as 1, 2, 3).

    Args:
        key: uint64, of any shape.
        counter: uint64, of a shape that broadcasts with it.
        shape: for each of these, so many blocks: of ``counter, counter + 1, ...``

    Returns:
        uint64 of the shape of keys and counters, followed by ``shape``.

    Example:
        >>> import numpy as np
        >>> print(f"{threefry(np.uint64(0), np.uint64(0)):016x}")
        6b20015999ba4efe
    """
    return functions.threefry(key, counter, shape=shape_for("threefry", shape))


def bits(key: Any, shape: Any = (), dtype: Any = np.uint32) -> Any:
    """Draw random bits: unsigned integers, each as likely as any other.

    Args:
        key: of `key`, `split` or `fold_in`.
        shape: of the result.
        dtype: uint8, uint16, uint32 or uint64.

    Raises:
        DtypeError: it is none of these dtypes.

    Example:
        >>> print(bits(key(0), 2))
        [4070199207 4202968722]
    """
    wanted: Dtype = np.dtype(dtype)
    if wanted.kind != "u":
        raise DtypeError(message("bits", "an unsigned integer dtype is required", str(wanted)))
    block = blocks("bits", key, shape_for("bits", shape))
    return block if wanted == UINT64 else cast(narrowed(block), dtype=wanted)
