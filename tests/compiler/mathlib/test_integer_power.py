"""Powers of integers whose exponents a program computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError


def raised(x: Any, n: Any) -> Any:
    return x**n


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 17)])
def test_powers_are_numpys_and_wrap_as_they_do(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    low = -9 if dtype.startswith("i") else 0
    x, n = rng.integers(low, 9, shape).astype(dtype), rng.integers(0, 100, shape).astype(dtype)
    compiled = wg.jit(raised)
    actual = compiled(x, n)
    np.testing.assert_array_equal(actual, np.power(x, n))
    assert actual.dtype == np.power(x, n).dtype
    assert "numpy" not in str(compiled.nests(x, n))


def test_a_large_exponent_ends() -> None:
    compiled = wg.jit(raised)
    x, n = np.array([-1, 0, 1, 3]), np.array([2**62 + 1, 2**62, 2**63 - 1, 2**40])
    np.testing.assert_array_equal(compiled(x, n), np.power(x, n))


def test_a_negative_exponent_is_an_error() -> None:
    compiled = wg.jit(raised)
    x = np.arange(5)
    for n in (np.array([0, 1, -1, 2, 3]), np.int64(-2)):
        with pytest.raises(ValueError, match="to negative integer powers"):
            raised(x, n)
        with pytest.raises(
            ArgumentError, match=r"power: integers to negative integer powers are not allowed"
        ):
            compiled(x, n)
    np.testing.assert_array_equal(compiled(x, x), x**x)
