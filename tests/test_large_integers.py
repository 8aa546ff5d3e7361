"""Integers that 64 bits do not hold: as arguments, in programs and as directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import RangeError, WengertError

LARGE = 10**30
X = np.array([1.5, -2.0])

ARGUMENTS: dict[str, tuple[Any, Any, str]] = {
    "number": ((LARGE,), {}, rf"{LARGE} in argument 0 \(x\)"),
    "least": ((2**63,), {}, rf"{2**63} in argument 0 \(x\)"),
    "negative": ((-(2**63) - 1,), {}, rf"{-(2**63) - 1} in argument 0 \(x\)"),
    "second": ((X, LARGE), {}, rf"{LARGE} in argument 1 \(y\)"),
    "by name": ((X,), {"y": LARGE}, rf"{LARGE} in argument y"),
    "in containers": ((X, {"a": [0, (LARGE,)]}), {}, rf"{LARGE} in argument 1 \(y\)\['a'\]\[1\]\[0\]"),
    "very large": ((10**5000,), {}, r"one of 16610 bits in argument 0 \(x\)"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_argument_is_named(name: str) -> None:
    args, kwargs, named = ARGUMENTS[name]
    with pytest.raises(
        RangeError,
        match=rf"^jit: a Python integer must be one of 64 bits; got {named}; give a float, or name",
    ):
        wg.jit(lambda x, y=0: x)(*args, **kwargs)


def test_after_calls_that_were_served() -> None:
    compiled = wg.jit(lambda x, n: x * n)
    for _ in range(3):
        assert compiled(2.0, 3) == 6.0
        assert compiled(2.0, 2**63 - 1) == 2.0**64
        with pytest.raises(RangeError, match=r"in argument 1 \(n\)"):
            compiled(2.0, LARGE)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x + LARGE,
    "reflected": lambda x: LARGE * x,
    "function": lambda x: np.maximum(x, -LARGE),
    "choice": lambda x: np.where(x > 0, x, LARGE),
    "limits": lambda x: np.clip(x, -LARGE, LARGE),
    "write": lambda x: (lambda y: (y.__setitem__(0, LARGE), y)[1])(x * 1),
    "comparison": lambda x: (x < LARGE, x == LARGE, x > -LARGE),
    "comparison of integers": lambda x: ((x * 2).astype(int) < LARGE, (x * 2).astype(int) <= -LARGE),
    "comparison of unsigned ones": lambda x: np.abs(x).astype(np.uint64) + np.uint64(2**63) >= 2**63 + 1,
    "derivative": wg.grad(lambda x: np.sum(x * x * LARGE)),
    "checkpoint": lambda x: wg.checkpoint(lambda x, n: x * n)(x, LARGE),
    "batch": lambda x: wg.vmap(lambda x, n: x * n, in_axes=(0, None))(x, LARGE),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_programs_compute_with_them_as_numpy_does(name: str, dtype: Any) -> None:
    expected, found = PROGRAMS[name](X.astype(dtype)), wg.jit(PROGRAMS[name])(X.astype(dtype))
    for one, other in zip(np.atleast_2d(found), np.atleast_2d(expected), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


REFUSED: dict[str, Callable[[Any], Any]] = {
    "arithmetic of integers": lambda x: x.astype(int) + LARGE,
    "choice of integers": lambda x: np.where(x > 0, x.astype(int), LARGE),
    "beyond floats": lambda x: x * 10**5000,
    "carried": lambda x: wg.scan(lambda c, y: (c, c * y), LARGE, x)[1],
    "branch": lambda x: wg.cond(x[0] > 0, lambda: LARGE, lambda: 1),
    "joined": lambda x: np.stack([x[0], LARGE]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_programs_that_cannot_are_told(name: str) -> None:
    with pytest.raises(
        WengertError, match=r"(64 bits|int64|range of floats|numbers or booleans).*\[test_large"
    ):
        wg.jit(REFUSED[name])(X)


INTEGERS = [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_of_a_call_are_of_the_dtype_that_they_meet(dtype: Any) -> None:
    compiled = wg.jit(lambda x, n: x + n)
    x, limits = np.zeros(3, dtype), np.iinfo(dtype)
    for number in (limits.min, 0, min(limits.max, 2**63 - 1)):
        found = compiled(x, int(number))
        np.testing.assert_array_equal(found, x + number)
        assert found.dtype == dtype
    beyond = {limits.min - 1, -1 if limits.min == 0 else -(2**63), min(limits.max + 1, 2**63 - 1), 2**63 - 1}
    for number in (n for n in beyond if not limits.min <= n <= limits.max):
        with pytest.raises(OverflowError):
            x + number
        with pytest.raises(RangeError, match=rf"^add: .* one of {x.dtype}, from .*test_large_integers.py"):
            compiled(x, int(number))


def test_numbers_of_a_loop_are_of_the_dtype_that_they_meet() -> None:
    compiled = wg.jit(lambda x, n: wg.fori_loop(0, n, lambda i, x: x + i, x))
    x = np.zeros(2, np.int8)
    np.testing.assert_array_equal(compiled(x, 10), [45, 45])
    with pytest.raises(RangeError, match=r"^add: .* int8"):
        compiled(x, 200)


def test_comparisons_and_choices_take_any_number() -> None:
    compiled = wg.jit(lambda x, n: (x < n, x == n, x > -n))
    for one, other in zip(compiled(np.zeros(3, np.int8), 1000), (True, False, True), strict=True):
        np.testing.assert_array_equal(one, [other] * 3)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("bounds", [(0, 1000), (-(2**63), 2**63 - 1), (-1, 2), (2, 3)])
def test_bounds_take_any_number(dtype: Any, bounds: tuple[int, int]) -> None:
    x = np.arange(5).astype(dtype)
    found = wg.jit(np.clip)(x, *bounds)
    np.testing.assert_array_equal(found, np.clip(x, *bounds))
    assert found.dtype == dtype


@pytest.mark.parametrize(
    "function",
    [
        np.add,
        np.multiply,
        np.floor_divide,
        np.bitwise_and,
        np.left_shift,
        np.maximum,
        np.power,
        lambda x, n: n**x,
    ],
)
def test_operations_that_take_a_number_of_the_dtype(function: Any) -> None:
    compiled = wg.jit(lambda x, n: function(x, n))
    x = np.arange(1, 4, dtype=np.int8)
    np.testing.assert_array_equal(compiled(x, 2), function(x, 2))
    with pytest.raises(OverflowError):
        function(x, 1000)
    with pytest.raises(OverflowError):
        compiled(x, 1000)


def test_directions_are_floats() -> None:
    def double(x: Any) -> Any:
        return 2.0 * x

    assert wg.jvp(double, (1.0,), (LARGE,)) == (2.0, 2e30)
    assert wg.vjp(double, 1.0)[1](LARGE) == (2e30,)
    assert wg.linearize(double, 1.0)[1](LARGE) == 2e30
    assert wg.Dual(LARGE, LARGE).epsilon == 1e30
    (v := wg.Variable(1.0)).__mul__(2.0).backward(LARGE)
    assert v.grad == 2e30
    for wrong in (
        lambda: wg.jvp(double, (1.0,), (10**400,)),
        lambda: wg.Dual(10**400),
        lambda: wg.Dual(1.0, 10**400),
    ):
        with pytest.raises(RangeError, match="within the range of floats; got one of 1329 bits"):
            wrong()
