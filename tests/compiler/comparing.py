"""What the tests of the compiler share: results against those of eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.core import tree

#: Units in the last place within which a single operation agrees with NumPy's.
FEW = 6.0


def eager(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what NumPy gives, without its warnings."""
    with np.errstate(all="ignore"):
        return function(*arguments)


def check(
    function: Callable[..., Any],
    *arguments: Any,
    ulp: float = FEW,
    scale: float = 0.0,
    compiled: Callable[..., Any] | None = None,
) -> Any:
    """Compare a compiled function with the same function in eager mode, and return the compiled one's results."""
    expected = eager(function, *arguments)
    found = (compiled or wg.jit(function))(*arguments)
    assert_same(found, expected, ulp, scale)
    return found


def assert_same(found: Any, expected: Any, ulp: float = FEW, scale: float = 0.0) -> None:
    """Compare containers leaf by leaf: kind of value, shape, dtype, and numbers.

    Integers and truth values are equal; NaN and infinities stand in the same places; other floats differ by ``ulp``
    units in the last place of themselves or of ``scale``, whichever is larger. With no ``scale``, zeros have the same
    sign.
    """
    leaves, structure = tree.flatten(found)
    others, other_structure = tree.flatten(expected)
    assert structure == other_structure
    for position, (one, other) in enumerate(zip(leaves, others, strict=True)):
        _assert_same_leaf(one, other, ulp, scale, f"result {position}")


def _assert_same_leaf(found: Any, expected: Any, ulp: float, scale: float, place: str) -> None:
    assert is_python_number(found) == is_python_number(expected), (place, type(found), type(expected))
    one, other = np.asarray(found), np.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape), place
    if one.dtype.kind != "f":
        np.testing.assert_array_equal(one, other, err_msg=place)
        return
    special = ~np.isfinite(other)
    np.testing.assert_array_equal(
        np.where(special | ~np.isfinite(one), one, 0), np.where(special, other, 0), place
    )
    unit = np.finfo(one.dtype)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(np.where(special, 0, other)), scale)
        wrong = ~special & ~(
            np.abs(one - other) <= ulp * np.maximum(size * unit.eps, unit.smallest_subnormal)
        )
    assert not wrong.any(), f"{place}: {one[wrong][:4]} instead of {other[wrong][:4]}"
    if not scale:
        zeros = other == 0
        np.testing.assert_array_equal(
            np.signbit(one[zeros]), np.signbit(other[zeros]), f"signs of zeros, {place}"
        )


def is_python_number(value: Any) -> bool:
    """Tell whether a value is a Python scalar and not one of NumPy's."""
    return type(value) in (bool, int, float)


def address(x: Any) -> int:
    """Return where the elements of an array begin."""
    return x.__array_interface__["data"][0]


def unaligned(x: Any) -> Any:
    """Return a copy whose elements begin at odd addresses."""
    raw = np.empty(x.nbytes + 1, np.uint8)[1:]
    found = raw.view(x.dtype).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned
    return found


def read_only(x: Any) -> Any:
    """Return a copy that cannot be written to."""
    found = x.copy()
    found.flags.writeable = False
    return found
