"""Comparisons of compiled results with those of eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.core import tree

#: Units in the last place within which a single operation agrees with NumPy's.
FEW = 6.0


def eager(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the results of NumPy, without its warnings."""
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
    actual = (compiled or wg.jit(function))(*arguments)
    assert_same(actual, expected, ulp, scale)
    return actual


def assert_same(actual: Any, expected: Any, ulp: float = FEW, scale: float = 0.0) -> None:
    """Compare containers leaf by leaf: kind of value, shape, dtype, and numbers.

    Integers and truth values are equal; NaN and infinities stand in the same places; other floats differ by ``ulp``
    units in the last place of themselves or of ``scale``, whichever is larger. With no ``scale``, zeros have the same
    sign.
    """
    leaves, structure = tree.flatten(actual)
    others, other_structure = tree.flatten(expected)
    assert structure == other_structure
    for position, (x, y) in enumerate(zip(leaves, others, strict=True)):
        _assert_same_leaf(x, y, ulp, scale, f"result {position}")


def _assert_same_leaf(actual: Any, expected: Any, ulp: float, scale: float, place: str) -> None:
    assert is_python_number(actual) == is_python_number(expected), (place, type(actual), type(expected))
    x, y = np.asarray(actual), np.asarray(expected)
    assert (x.dtype, x.shape) == (y.dtype, y.shape), place
    if x.dtype.kind == "c":
        _assert_same_leaf(x.real, y.real, ulp, scale, f"real part of {place}")
        _assert_same_leaf(x.imag, y.imag, ulp, scale, f"imaginary part of {place}")
        return
    if x.dtype.kind != "f":
        np.testing.assert_array_equal(x, y, err_msg=place)
        return
    special = ~np.isfinite(y)
    np.testing.assert_array_equal(np.where(special | ~np.isfinite(x), x, 0), np.where(special, y, 0), place)
    unit = np.finfo(x.dtype)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(np.where(special, 0, y)), scale)
        wrong = ~special & ~(np.abs(x - y) <= ulp * np.maximum(size * unit.eps, unit.smallest_subnormal))
    assert not wrong.any(), f"{place}: {x[wrong][:4]} instead of {y[wrong][:4]}"
    if not scale:
        zeros = y == 0
        np.testing.assert_array_equal(np.signbit(x[zeros]), np.signbit(y[zeros]), f"signs of zeros, {place}")


def is_python_number(value: Any) -> bool:
    """Return whether a value is a Python scalar and not a NumPy scalar."""
    return type(value) in (bool, int, float, complex)


def address(x: Any) -> int:
    """Return the address of the elements of an array."""
    return x.__array_interface__["data"][0]


def unaligned(x: Any) -> Any:
    """Return a copy whose elements begin at odd addresses."""
    raw = np.empty(x.nbytes + 1, np.uint8)[1:]
    actual = raw.view(x.dtype).reshape(x.shape)
    actual[...] = x
    assert not actual.flags.aligned
    return actual


def read_only(x: Any) -> Any:
    """Return a read-only copy."""
    actual = x.copy()
    actual.flags.writeable = False
    return actual


def oriented(stacked: Any) -> Any:
    """Return eigenvalues above eigenvectors, each with one of its two signs, whatever the method that computed them."""
    values, vectors = stacked[..., :1, :], stacked[..., 1:, :]
    weights = np.cos(np.arange(1.0, vectors.shape[-2] + 1))[:, None]
    along = np.sum(vectors * weights, axis=-2, keepdims=True)
    return np.concatenate([values, np.where(along < 0, -vectors, vectors)], axis=-2)
