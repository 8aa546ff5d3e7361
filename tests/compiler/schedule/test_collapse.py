"""Short axes: loops that go through memory in one line are one loop, and others stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check

RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


def lanes(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """Return the lanes of every nest, as the report shows them."""
    return [nest.lanes for nest in wg.jit(function).report(*arguments).nests]


def layers(x: Any, index: Any, w: Any) -> Any:
    """Look up pictures as rows for products, whose layout is that of the vectors, without padding if 16 fit in."""
    rows = x[index].reshape(len(index), -1) * 2
    return rows @ w, rows.T @ rows


POINTS, PICTURES, ROWS = normal(1000, 3), normal(20, 7, 5), RNG.integers(0, 20, 12)

IN_ONE_LINE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elements": (lambda x: np.sqrt(abs(x)) * 2, (POINTS,)),
    "three axes": (lambda x: x * x + 1, (PICTURES,)),
    "rows that are looked up": (lambda x, i: x[i].reshape(len(i), -1) * 2, (PICTURES, ROWS)),
    "a sum of everything": (lambda x: np.sum(x * x), (POINTS,)),
    "a slice of whole rows": (lambda x: x[3:] * 2, (POINTS,)),
    "rows for a product": (layers, (normal(20, 8, 6), ROWS, normal(48, 20))),
}
IN_SEVERAL: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "another row added to each": (lambda x, y: x + y, (POINTS, normal(3))),
    "a slice of columns": (lambda x: x[:, :2] * 2, (POINTS,)),
    "columns and rows exchanged": (lambda x, y: x.T + y, (POINTS, normal(3, 1000))),
    "sums of rows": (lambda x: np.sum(x, 1), (POINTS,)),
    "positions": (lambda x: x * np.argmax(x, 0), (POINTS,)),
    "padding": (lambda x: np.pad(x, 1), (POINTS,)),
    "rows the other way": (lambda x: x[::-1] * 2, (POINTS,)),
    "rows for a product, padded": (layers, (normal(20, 10, 5), ROWS, normal(50, 20))),
}


@pytest.mark.parametrize("name", IN_ONE_LINE)
def test_one_loop(name: str) -> None:
    function, arguments = IN_ONE_LINE[name]
    check(function, *arguments, ulp=50, scale=1.0)
    assert any("*" in shown for shown in lanes(function, *arguments))


@pytest.mark.parametrize("name", IN_SEVERAL)
def test_several_loops(name: str) -> None:
    function, arguments = IN_SEVERAL[name]
    check(function, *arguments, ulp=50, scale=1.0)
    assert not any("*" in shown for shown in lanes(function, *arguments))


def turned(x: Any, axes: tuple[int, ...], start: int, step: int) -> Any:
    """Go through a part of an array in some order of its axes, and beside it in its own."""
    part = np.transpose(x, axes)[start::step]
    return np.exp(-part * part), np.sum(part), np.cumsum(part, 0), part.reshape(-1) * 2


@given(
    st.tuples(*[st.integers(1, 5)] * 3),
    st.permutations(range(3)),
    st.integers(0, 2),
    st.sampled_from([1, 2, -1]),
)
def test_drawn_orders(shape: tuple[int, ...], axes: list[int], start: int, step: int) -> None:
    check(turned, normal(*shape), tuple(axes), start, step, ulp=50, scale=1.0, compiled=_compiled)


_compiled = wg.jit(turned, static_argnums=(1, 2, 3))
