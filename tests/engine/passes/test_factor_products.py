"""Sums of products that share their other factors: one product of a sum, with the same values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.ir import Graph, verify
from wengert.engine.passes.factor_products import factor_products

RNG = np.random.default_rng(0)


def products(graph: Graph) -> int:
    """Return how many products a graph has, those in the programs inside it included."""
    inner = sum(products(body) for equation in graph.equations for body in equation.graphs())
    return inner + sum(equation.primitive == "contract" for equation in graph.equations)


def factored(function: Callable[..., Any], *args: Any) -> Graph:
    changed = factor_products(wg.jit(function).graph(*args))
    verify(changed)
    return changed


def whole(*shape: int) -> Any:
    """Return small integers, of which sums and products are exact in any order."""
    return RNG.integers(-4, 5, shape).astype(float)


def apart(h: Any, w: Any, *cuts: int) -> Any:
    """Return the sum of powers of parts of a product that is written anew for each of them."""
    places = (0, *cuts, w.shape[1])
    parts = [(h @ w)[:, a:b] for a, b in pairwise(places)]
    return sum(np.sum(part**2) * (n + 1) for n, part in enumerate(parts))


@given(st.integers(2, 6), st.integers(0, 3), st.booleans())
@examples(20)
def test_sums_of_any_order(count: int, others: int, swapped: bool) -> None:
    w = whole(4, 4)

    def total(xs: Any, ys: Any) -> Any:
        terms = [w @ x if swapped else x @ w for x in xs] + list(ys)
        order = np.random.default_rng(count + others).permutation(len(terms))
        result = terms[order[0]]
        for n in order[1:]:
            result = terms[n] + result if n % 2 else result + terms[n]
        return result

    xs, ys = tuple(whole(4, 4) for _ in range(count)), tuple(whole(4, 4) for _ in range(others))
    assert products(wg.jit(total).graph(xs, ys)) == count
    assert products(factored(total, xs, ys)) == 1
    np.testing.assert_array_equal(wg.jit(total)(xs, ys), total(xs, ys))


def test_derivatives_of_parts_are_one_product() -> None:
    h, w = whole(3, 5), whole(5, 12)
    slope = wg.grad(lambda h, w: apart(h, w, 3, 4, 9), argnums=(0, 1))
    assert products(wg.jit(slope).graph(h, w)) == 9
    assert products(factored(slope, h, w)) == 3
    for found, expected in zip(wg.jit(slope)(h, w), slope(h, w), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_loops_are_factored_inside() -> None:
    w, xs = whole(3, 9) / 8, whole(7, 2, 9) / 8

    def loss(w: Any, xs: Any) -> Any:
        def turn(h: Any, x: Any) -> Any:
            a, b, c = ((x + h @ w)[:, n : n + 3] for n in (0, 3, 6))
            h = np.tanh(a) * b + c
            return h, h

        return np.sum(wg.scan(turn, np.zeros((2, 3)), xs)[1] ** 2)

    slope = wg.grad(loss, argnums=(0, 1))
    assert products(factored(slope, w, xs)) == 3
    for found, expected in zip(wg.jit(slope)(w, xs), slope(w, xs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# -- what stays ------------------------------------------------------------------------------------------

STAYS: dict[str, Callable[..., Any]] = {
    "other factors": lambda x, y, w: x @ w + y @ w.T,
    "other sums": lambda x, y, w: x @ w + w @ y,
    "used twice": lambda x, y, w: (x @ w + y @ w, x @ w),
    "other results": lambda x, y, w: (x @ w)[:, :2] + (y @ w)[:, 2:],
    "a difference": lambda x, y, w: x @ w - y @ w,
}


@pytest.mark.parametrize("name", STAYS)
def test_other_sums_stay(name: str) -> None:
    given = whole(4, 4), whole(4, 4), whole(4, 4)
    graph = wg.jit(STAYS[name]).graph(*given)
    assert factor_products(graph) is graph


@pytest.mark.parametrize(("stop", "expected"), [(8, 3), (9, 4), (7, 4)])
def test_parts_with_a_gap_between_them_stay(stop: int, expected: int) -> None:
    """Where no part is, a product has no term: the zeros of a sum would meet an infinite weight there."""
    h, w = whole(3, 5), whole(5, 12)

    def loss(h: Any, w: Any) -> Any:
        return np.sum((h @ w)[:, :stop] ** 2) + np.sum((h @ w)[:, 8:] ** 3)

    slope = wg.grad(loss)
    assert products(factored(slope, h, w)) == expected - 1
    np.testing.assert_array_equal(wg.jit(slope)(h, w), slope(h, w))
