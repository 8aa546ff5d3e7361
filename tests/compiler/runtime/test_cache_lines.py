"""Long arrays begin on a cache line: new results, and donated arrays, which are moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import address
from wengert.compiler.runtime.fastcall import reader
from wengert.engine.core.errors import ArgumentError

STEP = wg.jit(lambda x: x + 1, donate=0)
EXCHANGE = wg.jit(lambda x, y: (y * 2, x * 3), donate=(0, 1))


def beginning(offset: int, count: int, value: float = 0.0) -> Any:
    """Return an array that begins ``offset`` bytes after the beginning of a cache line."""
    raw = np.zeros(8 * count + 128, np.uint8)
    start = -address(raw) % 64 + offset
    x = raw[start : start + 8 * count].view(np.float64)
    x[:] = value
    return x


@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
def test_long_results(dtype: str) -> None:
    compiled = wg.jit(lambda x: x[::-1])
    x = np.arange(1_100_000).astype(dtype)  # too many for an entry
    for actual in [compiled(x) for _ in range(3)]:
        assert address(actual) % 64 == 0
        assert type(actual) is np.ndarray
        assert actual.flags.carray
        np.testing.assert_array_equal(actual, x[::-1])


@pytest.mark.parametrize(("offset", "count"), [(0, 5000), (16, 10), (16, 2**22 + 1)])
def test_a_donated_array_that_is_aligned_or_too_short_or_too_long_stays(offset: int, count: int) -> None:
    x = beginning(offset, count)
    actual = STEP(x)
    assert address(actual) == address(x)
    assert (actual[0], actual[-1]) == (1.0, 1.0)


def test_another_array_is_moved_once() -> None:
    x = beginning(16, 5000)
    once = STEP(x)
    assert address(once) % 64 == 0
    again = STEP(once)
    assert address(again) == address(once)
    np.testing.assert_array_equal(again, np.full(5000, 2.0))
    with pytest.raises(ArgumentError, match="donated"):
        STEP(x)


def test_arrays_that_are_new_in_each_call_are_moved_a_few_times_only() -> None:
    compiled = wg.jit(lambda x: x - 1, donate=0)
    given = [beginning(16, 5000) for _ in range(4)]
    stayed = [address(compiled(x)) == address(x) for x in given]
    assert stayed == [False, False, True, True]
    compiled(compiled(beginning(0, 5000)))
    assert address(compiled(x := beginning(16, 5000))) != address(x)


def test_two_arrays_are_moved_and_exchanged() -> None:
    x, y = EXCHANGE(beginning(16, 5000, 1.0), beginning(32, 5000, 5.0))
    np.testing.assert_array_equal(x, np.full(5000, 10.0))
    np.testing.assert_array_equal(y, np.full(5000, 3.0))
    assert address(x) % 64 == address(y) % 64 == 0


def test_an_array_without_a_result_in_its_memory_stays() -> None:
    x = beginning(16, 5000)
    assert wg.jit(np.sum, donate=0)(x) == 0.0
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0


def test_nothing_is_given_up_where_there_is_no_memory_for_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = beginning(16, 5000, 1.0), beginning(32, 5000, 5.0)
    left = [0]

    def empty(shape: Any, dtype: Any) -> Any:
        if not left:
            raise MemoryError
        left.pop()
        return np.empty(shape, dtype)

    compiled = wg.jit(lambda x, y: (y + 1, x + 1), donate=(0, 1))
    monkeypatch.setattr(reader, "empty", empty)
    with pytest.raises(MemoryError):
        compiled(x, y)
    monkeypatch.undo()
    x[0], y[0] = 7.0, 8.0
    actual = compiled(x, y)
    assert (actual[0][0], actual[1][0], actual[0][1], actual[1][1]) == (9.0, 8.0, 6.0, 2.0)
