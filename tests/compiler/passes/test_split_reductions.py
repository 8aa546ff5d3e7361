"""Long sums: their errors stay small, and they are those of any number of threads."""

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

RNG = np.random.default_rng(6)
SUMS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean of squares": lambda x: np.mean((x - 1) ** 2),
    "a ratio of sums": lambda x: np.sum(x) / np.sum(x * x),
    "sum along the first axis": lambda x: np.sum(x, 0),
    "sum along the last axis": lambda x: np.sum(x, -1),
}


@pytest.mark.parametrize("shape", [(5_000_000,), (65_537,), (300_001, 3), (3, 70_001), (40, 40, 61)])
@pytest.mark.parametrize("name", SUMS)
def test_errors_stay_small(name: str, shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.1, np.float32)
    exact = SUMS[name](x.astype(float))
    np.testing.assert_allclose(wg.jit(SUMS[name])(x), exact, rtol=1e-4)


@pytest.mark.parametrize(
    ("shape", "part"),
    [
        ((64, 100, 300), "k<10 l<300"),
        ((6, 101, 300), "k<10 l<300"),
        ((3, 70_001), "k<4375"),
        ((2, 3, 5, 4096), "l<4096"),
        ((70_001, 3), "j<1365 k<3"),
    ],
)
def test_parts_lie_in_one_piece(shape: tuple[int, ...], part: str) -> None:
    """A partial sum goes along the rows, and few terms are left to the nest that adds up the parts."""
    x = RNG.normal(size=shape).astype(np.float32)
    w = RNG.normal(size=shape[-1]).astype(np.float32)

    def weighted(x: Any, w: Any) -> Any:
        return np.sum(x * w)

    compiled = wg.jit(weighted)
    parts, total = compiled.report(x, w).nests
    assert f"add({part}:" in parts.text
    assert total.operations <= parts.operations / 10
    np.testing.assert_allclose(compiled(x, w), np.sum(x.astype(float) * w), rtol=1e-3, atol=1e-1)


@pytest.mark.parametrize("rows", [31, 32, 143, 144, 300, 1001])
def test_sums_down_columns_take_some_rows_at_a_time(rows: int) -> None:
    a, y = RNG.normal(size=(rows, 300)), RNG.normal(size=rows)

    def weighted(a: Any, y: Any) -> Any:
        return np.tanh(a.T @ y / 16)

    text = str(wg.jit(weighted).nests(a, y))
    assert ("<8: (x1[" in text) == (rows >= 32)  # eight rows at a time,
    assert ("where(" in text) == (rows >= 144)  # of which a part adds up several
    check(weighted, a, y, ulp=50, scale=4.0)


def test_sums_down_columns_of_several_operands() -> None:
    """Sums over the same rows share the loops; what is written along them is written once."""
    x, y = RNG.normal(size=(2, 400, 300))

    def moments(x: Any, y: Any) -> Any:
        z = np.exp(x * y)
        return np.sum(z, 0), np.sum(z * x, 0), z

    terms = float(np.max(np.sum(np.abs(np.exp(x * y) * x), 0)))
    check(moments, x, y, ulp=100, scale=terms)


def reductions(x: Any) -> Any:
    return np.sum(x), np.sum(x * x, 0), np.mean(x, -1), np.max(x), np.min(x), np.argmin(x)


@pytest.mark.usefixtures("small")
@examples(20)
@given(st.lists(st.integers(1, 70), min_size=1, max_size=3), st.sampled_from(["float32", "float64", "int64"]))
def test_drawn_shapes(shape: list[int], dtype: str) -> None:
    x = (3 * np.random.default_rng(0).random(shape)).astype(dtype)
    check(reductions, x, ulp=100, scale=10.0)
