"""Delayed stores: where they pay, and that results keep every bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from tests.draws import examples
from wengert import nn
from wengert.compiler.llvm.host import host
from wengert.compiler.schedule import schedule
from wengert.compiler.schedule.layout import row_major
from wengert.compiler.schedule.schedule import choose_schedule
from wengert.engine.core import tree
from wengert.engine.core.dtypes import FLOAT32
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Apply, Buffer, Load, Reduce
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Nest, Store

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float32") -> Any:
    return RNG.normal(size=shape).astype(dtype)


def scaled(w: Any, v: Any, x: Any, g: Any) -> Any:
    """Return parameters and a mean square after a step, which has a root and a quotient."""
    gradient = x.T @ g
    v = 0.9 * v + 0.1 * gradient**2
    return w - 0.01 * gradient / (np.sqrt(v) + 1e-3), v


def arguments(rows: int, columns: int, terms: int, dtype: str = "float32") -> tuple[Any, ...]:
    w, x, g = (normal(*shape, dtype=dtype) for shape in ((rows, columns), (terms, rows), (terms, columns)))
    return w, normal(rows, columns, dtype=dtype) ** 2, x, g


def delays_stores(function: Callable[..., Any], *given: Any) -> bool:
    """Return whether a nest of a program writes its results late."""
    return "written late" in str(wg.jit(function).report(*given))


# -- where it pays ---------------------------------------------------------------------------------------


def test_roots_and_quotients_of_long_sums() -> None:
    assert delays_stores(scaled, *arguments(300, 256, 128))
    assert not delays_stores(scaled, *arguments(300, 256, 8)), "the sums are short"
    assert not delays_stores(scaled, *arguments(2, 16, 128)), "there is no tile after the first"


@pytest.mark.parametrize(
    "function",
    [
        lambda w, v, x, g: w - 0.1 * (x.T @ g) + v,
        lambda w, v, x, g: np.exp(w - x.T @ g) / v,
    ],
)
def test_nothing_to_wait_for_or_more_than_to_wait(function: Callable[..., Any]) -> None:
    assert not delays_stores(function, *arguments(300, 256, 128))


# -- results must not change -----------------------------------------------------------------------------


def compiled_at_once(function: Callable[..., Any], *given: Any) -> Any:
    """Return the results of a program without delayed stores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "delays_stores", lambda *_: False)
        return wg.jit(lambda *given: function(*given))(*given)


@pytest.mark.parametrize("columns", [256, 259, pytest.param(250, marks=pytest.mark.exhaustive), 272])
def test_what_lies_beside_a_result_stays(columns: int) -> None:
    w, v, x, g = arguments(61, columns, 128)
    room = np.full((2, w.size + 64), 7, np.float32)
    w, v = (row[32:-32].reshape(w.shape) for row in room)
    w[...], v[...] = 1, 2
    expected = scaled(w.copy(), v.copy(), x, g)
    found = wg.jit(scaled, donate=(0, 1))(w, v, x, g)
    assert delays_stores(scaled, *arguments(61, columns, 128))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert (room[:, :32] == 7).all()
    assert (room[:, -32:] == 7).all()


def ratio(x: Any, y: Any) -> Any:
    """Return the quotient of two sums that run side by side."""
    return (x @ y) / (np.square(x) @ np.square(y) + 1)


def with_rows(x: Any, y: Any, b: Any, c: Any) -> Any:
    return (x @ y + b) / (c[:, None] ** 2 + 1), np.maximum(x @ y, 0)


def concatenated(x: Any, y: Any, b: Any) -> Any:
    return (x @ y) / np.concatenate([b, abs(b[::-1])], axis=1)


def shrinking(x: Any, y: Any) -> Any:
    def step(c: Any, row: Any) -> tuple[Any, None]:
        return c / (1 + abs(row @ y)), None

    return wg.scan(step, np.ones((x.shape[1], y.shape[1]), x.dtype), x)[0]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "two sums": (ratio, (normal(61, 100), normal(100, 130))),
    "rows and columns": (with_rows, (normal(61, 100), normal(100, 130), normal(130), normal(61))),
    "truth values": (
        lambda x, y: (x @ y) / (1 + np.all(x[:, :, None] < y, axis=1)).astype("float32"),
        (normal(61, 100), normal(100, 130)),
    ),
    "a condition": (concatenated, (normal(61, 100), normal(100, 130), 1 + normal(61, 65) ** 2)),
    "batches": (lambda x, y: 1 / (2 + (x @ y) ** 2), (normal(3, 61, 100), normal(3, 100, 160))),
    "whole numbers": (
        lambda x, y: (x @ y) / 3,
        (RNG.integers(-9, 9, (61, 100)), RNG.integers(-9, 9, (100, 70))),
    ),
    "a transposed result": (
        lambda x, y: (1 / (1 + abs(x @ y))).T.copy(),
        (normal(61, 100), normal(100, 130)),
    ),
    "a loop around": (shrinking, (normal(4, 61, 100), normal(100, 256))),
    "columns that depend on the row": (
        lambda x, y: np.tril((x @ y) / (2 + abs(y[:1]))),
        (normal(70, 100), normal(100, 160)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    function, given = PROGRAMS[name]
    assert delays_stores(function, *given) is (name not in ("two sums", "truth values"))
    found = check(function, *given, ulp=200, scale=1.0)
    for one, other in zip(tree.leaves(found), tree.leaves(compiled_at_once(function, *given)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_sum_over_no_dimension_has_no_latency() -> None:
    i, j = Dim(64), Dim(256)
    x, y = (Buffer(FLOAT32, (64, 256)) for _ in range(2))
    at = Index.of(i), Index.of(j)
    value = Apply("sqrt", (Reduce("add", (), Load(x, at), FLOAT32),), FLOAT32)
    layouts = {buffer: row_major(buffer.shape) for buffer in (x, y)}
    assert not choose_schedule(Nest((i, j), (Store(y, at, value),)), layouts, host()).delays_stores


def test_the_last_tile_is_written_too() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "COSTS", replace(costs.COSTS, delayed_store_tiles=1))
        w, v, x, g = arguments(12, 64, 128)
        assert delays_stores(scaled, w, v, x, g)
        check(scaled, w, v, x, g, ulp=500, scale=10.0)


@pytest.mark.exhaustive
def test_a_network_with_a_partial_batch() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(nn.relu(x @ w) ** 2) / len(x)

    def step(w: Any, v: Any, x: Any) -> Any:
        g = wg.grad(loss)(w, x)
        v = 0.9 * v + 0.1 * g**2
        return w - 0.01 * g / (np.sqrt(v) + 1e-6), v

    w, v = normal(70, 130) / 8, np.ones((70, 130), "float32")
    for count in (128, 61):
        check(step, w, v, normal(count, 70), ulp=200, scale=1.0)


@given(
    st.integers(1, 40),
    st.integers(1, 150),
    st.integers(48, 130),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([1, 3]),
)
@examples(40)
def test_updates_have_the_same_bits(
    small: None, rows: int, columns: int, terms: int, dtype: str, n: int
) -> None:
    given, before = arguments(rows, columns, terms, dtype), wg.get_threads()
    wg.set_threads(n)
    try:
        actual = wg.jit(scaled)(*given)
        for left, right in zip(actual, compiled_at_once(scaled, *given), strict=True):
            np.testing.assert_array_equal(left, right)
        check(scaled, *given, ulp=500, scale=10.0, compiled=lambda *_: actual)
    finally:
        wg.set_threads(before)
