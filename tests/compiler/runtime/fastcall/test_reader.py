"""Calls like the last one: arguments that are read in place, and others."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import address, assert_same, read_only, unaligned
from tests.compiler.entries import where_there_are_entries
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.compiler import specialisation
from wengert.compiler.runtime import donation
from wengert.compiler.runtime.fastcall import reader
from wengert.compiler.specialisation import Specialisation
from wengert.engine.core.dtypes import SHORT_NAMES
from wengert.engine.core.errors import ArgumentError


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the function with the second call, as after many calls."""
    monkeypatch.setattr(specialisation, "CALLS_BEFORE_READER", 0)


class Pair(NamedTuple):
    """A container that entries do not support, so that calls reach the reader."""

    array: Any
    number: Any


def function(pair: Pair) -> Pair:
    return Pair(pair.array * 2 + pair.number, pair.array.sum() - pair.number)


X = np.arange(12, dtype=np.float32).reshape(3, 4)


class Slow:
    """Counts the calls whose arguments Python checks one by one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        call = Specialisation.__call__

        def counted(specialisation: Specialisation, leaves: Any) -> Any:
            self.calls += 1
            return call(specialisation, leaves)

        monkeypatch.setattr(Specialisation, "__call__", counted)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


def swapped(x: Any) -> Any:
    return x.astype(x.dtype.newbyteorder("S"))


LIKE_THE_LAST: dict[str, Pair] = {
    "others": Pair(X + 1, 3.0),
    "a part": Pair(np.arange(40, dtype=np.float32).reshape(10, 4)[3:6], 3.0),
    "read-only": Pair(read_only(X), 3.0),
    "a number of a class": Pair(X, float("nan")),
}
OTHERS: dict[str, Any] = {
    "strided": Pair(np.repeat(X, 2, 1)[:, ::2], 3.0),
    "Fortran": Pair(np.asfortranarray(X), 3.0),
    "unaligned": Pair(unaligned(X), 3.0),
    "swapped": Pair(swapped(X), 3.0),
    "float64": Pair(X.astype(np.float64), 3.0),
    "int32": Pair(X.astype(np.int32), 3.0),
    "wider": Pair(np.ones((3, 5), np.float32), 3.0),
    "longer": Pair(np.ones((4, 4), np.float32), 3.0),
    "flat": Pair(X.ravel(), 3.0),
    "another axis": Pair(X[None], 3.0),
    "one axis more": Pair(X[:, :, None], 3.0),
    "empty": Pair(X[:0], 3.0),
    "a number": Pair(X[1, 2], 3.0),
    "an array as the number": Pair(X, np.array(3.0)),
    "an integer": Pair(X, 3),
    "a truth value": Pair(X, True),
    "float64 as the number": Pair(X, np.float64(3.0)),
    "float32 as the number": Pair(X, np.float32(3.0)),
    "memmap": Pair(X.view(np.memmap), 3.0),
    "a tuple": (X, 3.0),
    "matrix": Pair(X.view(np.matrix), 3.0),
    "text": Pair("x", 3.0),
    "nothing": Pair(None, 3.0),
    "a list": Pair([1.0, 2.0], 3.0),
}


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("pair", (LIKE_THE_LAST | OTHERS).values(), ids=LIKE_THE_LAST | OTHERS)
def test_a_call_after_others_does_what_a_first_one_does(pair: Any) -> None:
    def any_pair(given: Any) -> Any:
        return function(Pair(*given))

    warm: Any = wg.jit(any_pair)
    for n in range(3):
        assert_same(warm(Pair(X + n, 1.0)), function(Pair(X + n, 1.0)), scale=100.0)
    actual, expected = outcome(lambda: warm(pair)), outcome(lambda: wg.jit(any_pair)(pair))
    assert_same(actual, expected)


@where_there_are_entries
@pytest.mark.parametrize("pair", LIKE_THE_LAST.values(), ids=LIKE_THE_LAST)
def test_what_is_read_where_it_lies(pair: Pair, slow: Slow) -> None:
    compiled: Any = wg.jit(function)
    compiled(Pair(X, 1.0))
    assert_same(compiled(pair), function(pair), scale=100.0)
    assert slow.calls == 1


@where_there_are_entries
@pytest.mark.parametrize("dtype", SHORT_NAMES, ids=str)
def test_numbers_of_numpys_and_arrays_without_axes(dtype: Any, slow: Slow) -> None:
    number = dtype.type(1)

    def double(pair: Pair) -> Pair:
        return Pair(pair.array + pair.number, pair.number)

    compiled: Any = wg.jit(double)
    for scalar in (number, number, np.array(number), read_only(np.array(number))):
        assert_same(compiled(Pair(X, scalar)), double(Pair(X, scalar[()])))
    assert slow.calls == 1


@where_there_are_entries
def test_static_arguments_and_those_by_name(slow: Slow) -> None:
    compiled: Any = wg.jit(lambda pair, power, *, scale: pair.array**power * scale, static_argnums=1)
    for power, scale, calls in ((2, 1.0, 1), (2, 3.0, 1), (2.0, 3.0, 2), (2, 3.0, 2), (2.0, 4.0, 2)):
        np.testing.assert_allclose(compiled(Pair(X, 0.0), power, scale=np.float32(scale)), X**2 * scale)
        assert slow.calls == calls


class Setting:
    """A static argument that cannot be compared with one of another hash."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Setting)
        assert self.number == other.number
        return True


def test_static_arguments_are_compared_where_their_hashes_are_equal() -> None:
    compiled: Any = wg.jit(lambda pair, setting: pair.array * setting.number, static_argnums=1)
    for number in (1, 2, 1, 2, 3, 3):
        np.testing.assert_array_equal(compiled(Pair(X, 0.0), Setting(number)), X * number)


def test_a_static_argument_without_a_hash_is_refused_after_others_too() -> None:
    compiled: Any = wg.jit(lambda pair, power: pair.array ** power[0], static_argnums=1)
    compiled(Pair(X, 0.0), (2,))
    with pytest.raises(ArgumentError, match="must be hashable; got list"):
        compiled(Pair(X, 0.0), [2])  # pyright: ignore[reportArgumentType]


# -- donated arguments -----------------------------------------------------------------------------------


@where_there_are_entries
def test_donated_arguments_are_read_where_they_lie(slow: Slow) -> None:
    compiled: Any = wg.jit(lambda state, x: (state * 2 + x, x.sum()), donate=0)
    state: Any = np.ones(3)
    place = 0
    for call in range(5):
        old, (state, total) = state, compiled(state, np.ones(3))
        assert total == 3.0
        assert not old.flags.writeable
        assert call == 0 or address(state) == place
        place = address(state)
    np.testing.assert_array_equal(state, np.full(3, 63.0))
    assert slow.calls == 1


@pytest.fixture
def add() -> Any:
    compiled: Any = wg.jit(lambda x, y: x + y, donate=0)
    for _ in range(3):
        compiled(np.ones(4), np.ones(4))
    return compiled


def test_what_was_given_up_is_refused(add: Any) -> None:
    x, y = np.ones(4), np.ones(4)
    add(x, y)
    for arguments in ((x, y), (np.ones(4), x)):
        with pytest.raises(ArgumentError, match=r"donated belongs to the result of that call; got f64\[4\]"):
            add(*arguments)


def test_what_is_shared_is_refused(add: Any) -> None:
    x = np.ones(8)
    for left, right in ((x[:4], x[:4]), (x[:4], x[3:7]), (x[3:7], x[:4]), (x[2:6], x[2:6])):
        with pytest.raises(ArgumentError, match=r"must not share memory with another one; got f64\[4\]"):
            add(left, right)
    np.testing.assert_array_equal(add(x[:4], x[4:]), np.full(4, 2.0))


def test_arrays_in_any_order_of_their_addresses() -> None:
    compiled: Any = wg.jit(lambda xs, y: ([x + y for x in xs], y + 1), donate=0)
    rng = np.random.default_rng(0)
    for turn in range(60):
        memory = np.zeros(44)
        places = rng.permutation(10)
        xs = [memory[4 * place : 4 * place + 3] for place in places[:9]]
        y = memory[4 * places[9] :][:3]
        if turn % 3:
            assert_same(compiled(xs, y), ([np.zeros(3)] * 9, np.ones(3)))
            continue
        shared = [*xs]
        shared[rng.integers(1, 9)] = (y, memory[4 * places[0] + 2 :][:3])[turn % 2]
        with pytest.raises(ArgumentError, match="must not share memory"):
            compiled(shared, y)


def test_two_donated_arguments_that_are_one_are_refused() -> None:
    swap: Any = wg.jit(lambda x, y: (y + 1, x + 2), donate=(0, 1))
    x, y = swap(*swap(np.zeros(4), np.zeros(4)))
    with pytest.raises(ArgumentError, match="must not share memory"):
        swap(x, x)
    np.testing.assert_array_equal(swap(x, y), np.array([[4.0], [5.0]]) + np.zeros(4))


@pytest.mark.parametrize("change", [read_only, unaligned, swapped, lambda x: np.repeat(x, 2)[::2]])
def test_what_cannot_be_given_up_is_refused(add: Any, change: Callable[[Any], Any]) -> None:
    with pytest.raises(ArgumentError, match="must be a writable, contiguous and aligned array"):
        add(change(np.ones(4)), np.ones(4))


def test_arrays_without_elements_and_without_axes() -> None:
    compiled: Any = wg.jit(lambda state: (state[0] * 2, state[1] + 1), donate=0)
    state: Any = (np.zeros((0, 3)), np.zeros(()))
    for _ in range(4):
        x, total = compiled(state)
        state = x, np.array(total)
    assert_same(state, (np.zeros((0, 3)), np.array(4.0)))


def test_long_arrays_are_moved_again_after_calls_that_moved_none() -> None:
    compiled: Any = wg.jit(lambda x: x + 1, donate=0)
    for _ in range(6):  # more than are moved in a row
        raw = np.zeros(8 * 5000 + 128, np.uint8)
        x: Any = raw[-address(raw) % 64 + 8 :][: 8 * 5000].view(np.float64)
        for _ in range(3):
            x = compiled(x)
        assert address(x) % 64 == 0
        np.testing.assert_array_equal(x, np.full(5000, 3.0))


def test_what_is_gone_is_forgotten() -> None:
    compiled: Any = wg.jit(lambda x: x + 1, donate=0)
    x = np.zeros(3)
    for _ in range(3 * donation._MANY):  # pyright: ignore[reportPrivateUsage]
        x = compiled(x)
    assert len(donation._given_up) <= 2 * donation._MANY  # pyright: ignore[reportPrivateUsage]


def test_several_threads() -> None:
    compiled: Any = wg.jit(function)
    wrong: list[float] = []

    def call(number: float) -> None:
        for _ in range(300):
            actual = compiled(Pair(X + np.float32(number), number))
            if not np.array_equal(actual.array, (X + np.float32(number)) * 2 + np.float32(number)):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(float(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_with_static_arguments_of_their_own() -> None:
    compiled: Any = wg.jit(lambda pair, power: pair.array * power, static_argnums=1)
    wrong: list[int] = []

    def call(power: int) -> None:
        for _ in range(2000):
            if compiled(Pair(X, 0.0), power)[0, 1] != power:
                wrong.append(power)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=call, args=(power,)) for power in (2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@where_there_are_entries
@pytest.mark.usefixtures("young_heap")
def test_a_thread_whose_function_is_not_kept_keeps_its_code() -> None:
    # Two threads that load it at the same time call `_native` itself; only one result stays in the cache.
    read = reader._native.__wrapped__()
    gc.collect()
    assert read([], 0, 0, 0, 0, 0) == 1
