"""Donation: results in the memory of arguments, and the arrays that were given up for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import wengert as wg
from tests.compiler.comparing import address, assert_same, read_only, unaligned
from tests.draws import examples
from wengert.compiler.runtime.fastcall.reader import Reader
from wengert.engine.core.errors import ArgumentError


def donated(function: Callable[..., Any], *arguments: Any, donate: Any = 0) -> Any:
    """Compare a function with donated arguments with the same function in eager mode."""
    compiled = wg.jit(function, donate=donate)
    expected = function(*arguments)
    actual = compiled(*[x.copy() if isinstance(x, np.ndarray) else x for x in arguments])
    assert_same(actual, expected, ulp=200, scale=1.0)


IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: x * 2 + 1,
    "reversed": lambda x: x[::-1],
    "reversed sum": lambda x: x + x[::-1],
    "shifted": lambda x: np.concatenate([x[1:], x[:1]]),
    "shifted sum": lambda x: x + np.roll(x, 1, axis=0),
    "transposed": lambda x: x.T,
    "product": lambda x: x @ x,
    "product with its transpose": lambda x: np.tanh(x @ x.T) + x,
    "normalised": lambda x: x / np.sqrt(np.sum(x * x)),
    "centred": lambda x: x - x.mean(0),
    "softmax": lambda x: (
        np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
    ),
    "sorted": lambda x: np.sort(x, axis=0),
    "cumulative": lambda x: np.cumsum(x, axis=0),
    "gathered": lambda x: x[np.array([3, 3, 0, 1, 2, 8, 7, 6, 5])],
    "looped": lambda x: wg.fori_loop(0, 9, lambda i, c: c + x[i], x),
    "scanned": lambda x: wg.scan(lambda c, row: (c + row, c * row), x[0], x)[1],
    "chosen": lambda x: wg.cond(x[0, 0] > 0, lambda y: y[::-1], lambda y: y * x, x),
    "itself": lambda x: x,
    "constant": lambda x: np.ones((9, 9)),
    "several": lambda x: (x + 1, x[::-1] * 2, x.sum(), x.T + x),
    "old and new": lambda x: (x.T @ x, x, x * 3),
}


@pytest.mark.parametrize("function", IN_PLACE.values(), ids=IN_PLACE)
def test_a_result_in_the_place_of_an_argument(function: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(1).normal(size=(9, 9))
    donated(function, x)


PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "exchanged": lambda a, b: (b, a),
    "exchanged and scaled": lambda a, b: (b * 2, a - b),
    "exchanged and reversed": lambda a, b: (b[::-1], a[::-1]),
    "rotated sums": lambda a, b: (a + b[::-1], b + a[::-1]),
    "products": lambda a, b: (a @ b, b @ a),
    "one twice": lambda a, b: (a, a),
    "momentum": lambda a, b: (a - 0.1 * (0.9 * b + a), 0.9 * b + a),
    "loop": lambda a, b: wg.fori_loop(0, 5, lambda i, c: (c[1], c[0] + c[1][::-1]), (a, b)),
}


@pytest.mark.parametrize("function", PAIRS.values(), ids=PAIRS)
def test_results_in_the_places_of_two_arguments(function: Callable[[Any, Any], Any]) -> None:
    a, b = np.random.default_rng(2).normal(size=(2, 8, 8))
    donated(function, a, b, donate=(0, 1))


@given(st.data())
@examples(10)
def test_updates_of_drawn_arrays(data: st.DataObject) -> None:
    x = data.draw(hnp.arrays("float64", (6, 5), elements=st.floats(-2, 2, width=16)))
    y = data.draw(hnp.arrays("float64", (6, 5), elements=st.floats(-2, 2, width=16)))
    actual = UPDATES(x.copy(), y.copy())
    np.testing.assert_allclose(actual[0], y[::-1] * x.sum(0), atol=1e-12)
    np.testing.assert_allclose(actual[1], x - y, atol=1e-12)


UPDATES = wg.jit(lambda x, y: (y[::-1] * x.sum(0), x - y), donate=(0, 1))


@pytest.fixture(scope="module")
def update() -> Any:
    """Return a compiled step that takes a donated container and a batch."""

    def step(params: Any, x: Any) -> Any:
        return {"w": params["w"] - 0.1 * x, "b": params["b"] + x.sum()}, x.sum()

    return wg.jit(step, donate=0)


def test_memory_is_reused(update: Any) -> None:
    params = {"w": np.zeros(1000), "b": np.zeros(())}
    place = address(params["w"])
    for _ in range(3):
        params, total = update(params, np.ones(1000))
        assert address(params["w"]) == place
        assert params["w"].flags.writeable
    np.testing.assert_allclose(params["w"], -0.3)
    assert (float(params["b"]), total) == (3000.0, 1000.0)


def test_by_name_too() -> None:
    x = np.ones(10)
    actual = wg.jit(lambda x: x + 1, donate=0)(x=x)
    assert address(actual) == address(x)


def test_an_array_that_was_given_up_is_refused(update: Any) -> None:
    params, x = {"w": np.zeros(10), "b": np.zeros(())}, np.ones(10)
    new, _ = update(params, x)
    old = {"w": params["w"], "b": np.zeros(())}
    for call in (
        lambda: update(old, x),
        lambda: wg.jit(np.sum)(params["w"]),
        lambda: update(new, params["w"]),
    ):
        with pytest.raises(
            ArgumentError, match=r"donated belongs to the result.*; got f64\[10\]; use the returned array"
        ):
            call()
    with pytest.raises(ValueError, match="read-only"):
        params["w"][0] = 1.0
    update(new, x)


def test_a_function_called_before_refuses_it_as_well() -> None:
    total, x = wg.jit(np.sum), np.ones(10)
    assert [total(x), total(x)] == [10.0, 10.0]
    wg.jit(lambda x: x + 1, donate=0)(x)
    with pytest.raises(ArgumentError, match="donated"):
        total(x)


def test_of_two_threads_one_has_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    add: Any = wg.jit(lambda x: x + 1, donate=0)
    x = np.zeros(1000)
    for _ in range(3):
        x = add(x)
    both, actual = threading.Barrier(2), list[Any]()
    # Both have found the array free, and neither has given it up yet.
    monkeypatch.setattr(Reader, "_note_placed", lambda self: both.wait(10))  # pyright: ignore[reportUnknownLambdaType]

    def call() -> None:
        try:
            actual.append(add(x)[0])
        except ArgumentError as error:
            actual.append(str(error))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    number, error = sorted(actual, key=str)
    assert number == 4.0
    assert "use the returned array" in error


def test_an_array_made_at_the_place_of_one_that_was_given_up_is_not_refused(update: Any) -> None:
    for _ in range(50):
        update({"w": np.zeros(10), "b": np.zeros(())}, np.ones(10))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[::-1],
        np.asfortranarray,
        read_only,
        unaligned,
        lambda x: x.astype(">f8"),
        lambda x: x.view(np.memmap),
    ],
    ids=["reversed", "Fortran", "read-only", "unaligned", "swapped", "memmap"],
)
def test_what_cannot_be_given_up_is_refused(change: Callable[[Any], Any]) -> None:
    x = change(np.ones((4, 3)))
    with pytest.raises(
        ArgumentError, match=r"must be a writable, contiguous and aligned array; got .*pass np.array"
    ):
        wg.jit(lambda x: x + 1, donate=0)(x)
    np.testing.assert_array_equal(x, np.ones((4, 3)))


def test_what_is_shared_is_refused() -> None:
    compiled = wg.jit(lambda x, y: x + y, donate=0)
    x = np.ones(8)
    for other in (x, x[:], x.reshape(2, 4)[0]):
        with pytest.raises(ArgumentError, match="must not share memory with another one; got f64"):
            compiled(x[:4] if len(other) == 4 else x, other)
    np.testing.assert_array_equal(compiled(x[:4], x[4:]), np.full(4, 2.0))


def test_numbers_in_a_donated_container_stay_numbers() -> None:
    compiled = wg.jit(lambda state: {"x": state["x"] + state["n"], "n": state["n"] + 1}, donate=0)
    state: Any = {"x": np.zeros(3), "n": 1}
    for _ in range(3):
        state = compiled(state)
    assert state["n"] == 4
    np.testing.assert_array_equal(state["x"], np.full(3, 6.0))


def test_what_a_failed_call_was_given_is_refused_as_well() -> None:
    compiled = wg.jit(lambda x, i: (x * 2)[i] + x, donate=0)
    x = np.ones(3)
    with pytest.raises(IndexError):
        compiled(x, np.array([0, 1, 3]))
    with pytest.raises(ArgumentError, match="donated"):
        compiled(x, np.array([0, 1, 2]))
    np.testing.assert_array_equal(compiled(np.ones(3), np.array([0, 1, 2])), np.full(3, 3.0))


def test_nothing_is_given_up_inside_another_transform() -> None:
    x = np.ones(3)
    wg.grad(lambda x: np.sum(wg.jit(lambda x: x * 2, donate=0)(x)))(x)
    x[0] = 2.0
