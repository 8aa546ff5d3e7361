"""Prefetching: emitted where it pays, and without any other effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from tests.draws import examples
from wengert import nn, optim
from wengert.compiler.llvm.host import host
from wengert.compiler.schedule.layout import row_major
from wengert.compiler.schedule.prefetch import choose_prefetches
from wengert.engine.core import tree
from wengert.engine.core.dtypes import FLOAT32, INT64
from wengert.engine.core.errors import IndexingError
from wengert.engine.nest.expression import Apply, Buffer, Const, Guard, Load
from wengert.engine.nest.index import Computed, Dim, Index
from wengert.engine.nest.nest import Nest, Store

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float32") -> Any:
    return RNG.normal(size=shape).astype(dtype)


def asked_for(function: Callable[..., Any], *arguments: Any) -> int:
    """Return how many instructions ask for memory."""
    return wg.jit(function).llvm(*arguments).count("call void @llvm.prefetch")


def update(w: Any, x: Any, g: Any) -> Any:
    return w - 2 * (x.T @ g)


def rows(table: Any, index: Any) -> Any:
    return table[index] * 2


TABLE = normal(30_000, 32)
INDEX = RNG.integers(-30_000, 30_000, 100)


# -- where it pays ---------------------------------------------------------------------------------------


def test_rows_at_computed_places_are_asked_for() -> None:
    assert asked_for(rows, TABLE, INDEX) > 0
    assert asked_for(rows, TABLE[:100], INDEX % 100) == 0, "they are in the cache"
    assert asked_for(lambda table, index: table[:, index] * 2, TABLE, INDEX % 32) == 0, "these lie apart"
    assert asked_for(lambda table: table * 2, TABLE) == 0, "what lies in a row is foreseen"


LARGEST: dict[str, tuple[Callable[..., Any], tuple[int, tuple[int, int]]]] = {
    "of a small table": (lambda t, i: t[np.max(np.pad(i, ((1, 1), (0, 0))), axis=1)], (10, (20, 64))),
    "of a large table": (lambda t, i: t[np.max(i, axis=1)], (1 << 20, (100, 64))),
    "of joined rows": (lambda t, i: t[np.argmax(np.concatenate([i, i]), axis=1)], (64, (3, 64))),
}


@pytest.mark.parametrize("name", LARGEST)
def test_a_place_that_a_reduction_tells_is_not_computed_early(name: str) -> None:
    function, (size, shape) = LARGEST[name]
    check(function, normal(size), RNG.integers(0, 10, shape))


@pytest.mark.parametrize("columns", [64, 71])
def test_the_place_of_a_row_is_computed_once(columns: int) -> None:
    compiled, table, index = wg.jit(rows), normal(1000, columns), RNG.integers(-1000, 1000, 12)
    assert compiled.llvm(table, index).count("icmp ult i64") == 1  # whether it lies inside
    check(rows, table, index)


def test_what_a_busy_reduction_reads_from_memory_is_asked_for() -> None:
    x = np.zeros(1 << 23, "float32")
    assert asked_for(lambda x: np.sum(np.exp(x) * x), x) > 0
    assert asked_for(lambda x: np.sum(np.exp(x), axis=1), x.reshape(-1, 64)) > 0
    assert asked_for(lambda x: np.sum(x), x) == 0, "there is little to do for an element"
    assert asked_for(lambda x: np.exp(x) * x, x) == 0, "it writes as much as it reads"
    assert asked_for(lambda x: np.sum(np.exp(x) * x), x[: 1 << 21]) == 0, "a cache may hold it"
    assert asked_for(lambda x, y: np.sum(np.exp(y[:, None] * x)), x, x[:8]) == 0, "it is read again and again"


@pytest.mark.parametrize(("before", "found"), [(0, True), (1, False)])
def test_a_place_that_a_condition_must_see_to_first_is_not_read_early(before: int, found: bool) -> None:
    i, j = Dim(100), Dim(32)
    table, index, result = Buffer(FLOAT32, (30_000, 32)), Buffer(INT64, (100,)), Buffer(FLOAT32, (100, 32))
    place = Apply("position", (Load(index, (Index.of(i) + -before,)),), INT64, 30_000)
    row = Load(table, (Index.of(Computed(place, 30_000)), Index.of(j)))
    value = Guard(((Index.of(i) + -before, 100),), row, Const(0.0, FLOAT32))
    nest = Nest((i, j), (Store(result, (Index.of(i), Index.of(j)), value),))
    layouts = {buffer: row_major(buffer.shape) for buffer in (table, index, result)}
    assert bool(choose_prefetches(nest, j, (i, j), layouts, host()).runs) is found


# -- and has no other effect -----------------------------------------------------------------------------


@given(
    st.integers(1, 40),
    st.integers(1, 70),
    st.integers(1, 70),
    st.sampled_from(["float32", "float64", "int32"]),
    st.randoms(use_true_random=False),
)
@examples(25)
def test_updates(small: None, n: int, rows: int, columns: int, dtype: str, random: Any) -> None:
    rng = np.random.default_rng(random.randrange(2**32))
    w, x, g = (
        rng.integers(-9, 9, shape).astype(dtype) for shape in ((rows, columns), (n, rows), (n, columns))
    )
    check(update, w, x, g)
    check(lambda w, x, g: np.maximum(w, x.T @ g) + w.sum(axis=0), w, x, g)


@given(
    st.integers(1, 60),
    st.integers(1, 40),
    st.lists(st.integers(1, 5), max_size=2),
    st.sampled_from(["float32", "float64", "uint8", "int64"]),
    st.randoms(use_true_random=False),
)
@examples(25)
def test_rows(small: None, count: int, length: int, shape: list[int], dtype: str, random: Any) -> None:
    rng = np.random.default_rng(random.randrange(2**32))
    table = rng.integers(0, 100, (length, *shape)).astype(dtype)
    index = rng.integers(-length, length, count)
    check(rows, table, index)
    check(lambda table, index: np.sum(table[index] * 3, axis=0), table, index)
    check(lambda table, index: table[index[::-1]] + index.sum(), table, index)
    check(lambda table, index: np.concatenate([table[index], table[:1], table[index]]) * 2, table, index)
    check(lambda table, index: np.take(table, index % length, axis=0) * 2, table, index)


def test_training_with_drawn_examples(small: None) -> None:
    images, labels = RNG.integers(0, 255, (200, 9, 7)).astype(np.uint8), RNG.integers(0, 5, 200)
    optimiser = optim.adam(0.01)
    weights = [normal(63, 17), normal(17), normal(17, 5), normal(5)]

    def loss(weights: Any, x: Any, y: Any) -> Any:
        w, b, v, c = weights
        return nn.softmax_cross_entropy(nn.relu(x @ w + b) @ v + c, y)

    def step(carry: Any, images: Any, labels: Any, index: Any) -> Any:
        weights, state = carry
        x = images[index].reshape(len(index), -1) / np.float32(255)
        value, gradients = wg.value_and_grad(loss)(weights, x, labels[index])
        return optimiser.update(gradients, state, weights), value

    def epoch(carry: Any, images: Any, labels: Any, index: Any) -> Any:
        return wg.scan(lambda carry, row: step(carry, images, labels, row), carry, index)

    plain, index = (weights, optimiser.init(weights)), RNG.integers(-200, 200, (6, 31))
    compiled, values = wg.jit(epoch)(plain, images, labels, index)
    for row, value in zip(index, values, strict=True):
        plain, expected = step(plain, images, labels, row)
        assert value == pytest.approx(expected, rel=1e-4)
    for one, other in zip(tree.leaves(plain), tree.leaves(compiled), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_an_index_outside_is_told_of_once_it_is_read() -> None:
    compiled = wg.jit(rows)
    for place in (0, 57, 99):
        index = INDEX.copy()
        index[place] = 30_000
        with pytest.raises(IndexingError, match="30000"):
            compiled(TABLE, index)
    np.testing.assert_array_equal(compiled(TABLE, INDEX), rows(TABLE, INDEX))
